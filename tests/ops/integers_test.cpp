// Integers that a user gives: right, or an Error that says so; never another number.
#include <anew/anew.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/dtype.h"
#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();

TEST(Integers, UnsignedOnesThatDoNotFit) {
  const std::string wider = "; hint: give the dtype i64, or convert the array beside it with astype(x, i64)";
  const std::string widest = "; hint: array(v, u64) holds it; floating-point numbers keep 53 bits of it";
  EXPECT_EQ(error_of([] { (void)array({3000000000u}); }), "[array] the number 3000000000 does not fit i32" + wider);
  EXPECT_EQ(error_of([] { (void)array({{1u, 3000000000u}}); }),
            "[array] the number 3000000000 does not fit i32" + wider);
  EXPECT_EQ(error_of([] { (void)Array(~0ull); }), "[array] the number 18446744073709551615 does not fit i64" + widest);
  EXPECT_EQ(error_of([] { (void)(ones({2}) + ~0ull); }),
            "[array] the number 18446744073709551615 does not fit i64" + widest);
  EXPECT_EQ(error_of([] { (void)array(std::vector<std::uint64_t>{1, 1ull << 63}, i64); }),
            "[array] the number 9223372036854775808 does not fit i64" + wider);
  EXPECT_EQ(array({3000000000u}, u32).item<std::int64_t>(), 3000000000);
  EXPECT_EQ(array(std::vector<unsigned>{3000000000u}).dtype(), u32);
  EXPECT_EQ(Array(3000000000u).item<std::int64_t>(), 3000000000);
  EXPECT_EQ((ones({}, u32) * 3000000000u).item<std::int64_t>(), 3000000000);
  EXPECT_EQ(array({Array(most), Array(1)}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{most, 1}));
  X64 scope;
  EXPECT_EQ(array({3000000000u}).item<std::int64_t>(), 3000000000);
}

TEST(Integers, OfEveryWidthOfC) {
  EXPECT_EQ(array(std::vector<long double>{0.1L, 2}).to_vector(), (std::vector<double>{0.1, 2}));
  EXPECT_EQ(array(std::vector<std::uint8_t>{255}).to_vector<int>(), std::vector<int>{255});
  EXPECT_EQ(array(1e20, f64).item<std::int64_t>(), most);
  EXPECT_EQ(array(NAN).item<int>(), 0);
}

TEST(Integers, DiagonalsBesideTheMatrix) {
  const Array x = ones({3, 4}), none = zeros({3, 4});
  for (std::int64_t far : {most, (std::int64_t{1} << 32) - 1, (std::int64_t{1} << 32), std::int64_t{4}}) {
    EXPECT_TRUE(array_equal(eye(3, 4, far), none)) << far;
    EXPECT_TRUE(array_equal(eye(3, 4, -far), none)) << far;
    EXPECT_TRUE(array_equal(tril(x, far), x)) << far;
    EXPECT_TRUE(array_equal(triu(x, far), none)) << far;
    EXPECT_TRUE(array_equal(tril(x, -far), none)) << far;
    EXPECT_TRUE(array_equal(triu(x, -far), x)) << far;
    EXPECT_TRUE(array_equal(tri(3, 4, far), x)) << far;
    EXPECT_EQ(diagonal(x, far).size(), 0) << far;
    EXPECT_EQ(diagonal(x, -far).size(), 0) << far;
  }
  EXPECT_TRUE(array_equal(eye(3, 4, least), none));
  EXPECT_TRUE(array_equal(tril(x, least), none));
  EXPECT_TRUE(array_equal(triu(x, least), x));
  EXPECT_EQ(diagonal(x, least).size(), 0);
  EXPECT_TRUE(array_equal(triu(x, 1), x - tril(x)));
  EXPECT_EQ(error_of([&] { (void)diag(ones({2}), most); }),
            "[diag] f32[2] on diagonal 9223372036854775807 makes an array that is too large");
  EXPECT_EQ(error_of([&] { (void)diag(ones({2}), least); }),
            "[diag] f32[2] on diagonal -9223372036854775808 makes an array that is too large");
}

TEST(Integers, PaddingsStridesAndDilations) {
  const Array x = ones({1, 1, 5}), w = ones({1, 1, 3});
  auto conv = [&](std::int64_t before, std::int64_t after, std::int64_t stride = 1, std::int64_t dilation = 1) {
    return error_of(
        [&] { (void)conv_general_dilated(x, w, {stride}, {{before, after}}, {.lhs_dilation = {dilation}}); });
  };
  EXPECT_EQ(conv(most, 0), "[conv_general_dilated] padding (9223372036854775807, 0) is too large");
  EXPECT_EQ(conv(most, most), "[conv_general_dilated] padding (9223372036854775807, 9223372036854775807) is too large");
  EXPECT_EQ(conv(least, 1), "[conv_general_dilated] padding (-9223372036854775808, 1) is too large");
  EXPECT_EQ(conv(0, 0, most),
            "[conv_general_dilated] strides and dilations are at least 1 and below 2^31, got [9223372036854775807]");
  EXPECT_EQ(conv(0, 0, 1, most),
            "[conv_general_dilated] strides and dilations are at least 1 and below 2^31, got [9223372036854775807]");
  EXPECT_THROW((void)pad(x, {{most, most}}), Error);
  EXPECT_THROW((void)lax::pad(x, 0.0, {{most, most, most}, {0, 0, 0}, {0, 0, 0}}), Error);
  EXPECT_THROW((void)repeat(x, most, 2), Error);
  EXPECT_TRUE(array_equal(roll(arange(5), least, 0), roll(arange(5), least % 5, 0)));
}

TEST(Integers, OrdersAndCounts) {
  EXPECT_EQ(error_of([] { (void)diff(ones({3}), -1); }), "[diff] the order is -1, the least is 0");
  EXPECT_EQ(diff(zeros({0}), 1000000000).size(), 0);  // at once
  EXPECT_EQ(diff(ones({3}), 1000000000).size(), 0);
  EXPECT_EQ(error_of([] { (void)arange(std::numeric_limits<double>::infinity()); }),
            "[arange] from 0 to inf by 1 there are too many numbers to count");
  EXPECT_EQ(error_of([] { (void)arange(NAN); }), "[arange] from 0 to nan by 1 there are too many numbers to count");
  EXPECT_THROW((void)linspace(0, 1, most), Error);
  EXPECT_THROW((void)fori_loop(least, most, [](Array, Array c) { return c + ones({3}); }, zeros({2})), Error);
}

TEST(Integers, AxesAndIndicesOutOfRange) {
  const Array x = ones({2, 3});
  EXPECT_THROW((void)sum(x, std::int64_t{1} << 32), Error);
  EXPECT_THROW((void)sum(x, ~0ull), Error);
  EXPECT_THROW((void)x[~0ull], Error);
  EXPECT_THROW((void)zeros(~0ull), Error);
  EXPECT_THROW((void)zeros({2, ~0ull}), Error);
  EXPECT_EQ((x[slice(0, ~0ull)]).shape(), (Shape{2, 3}));
}

TEST(Integers, ElementsOfEveryType) {
  for (DType d : all_dtypes)
    visit(d, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::is_class_v<T>) {
        const std::vector<T> v{T{0}, T{1}, extreme<T>(true), extreme<T>(false)};
        const Array x = array(v);
        EXPECT_EQ(x.dtype(), d);
        EXPECT_EQ(x.to_vector<T>(), v) << name_of(d);
        if constexpr (!std::is_same_v<T, bool>) {
          EXPECT_TRUE(std::equal(v.begin(), v.end(), x.data<T>().begin())) << name_of(d);
        }
      }
    });
  EXPECT_EQ(error_of([] { (void)ones({2}, i8).data<std::uint8_t>(); }),
            "data<u8>() of an array i8[2]; hint: data() takes the exact type; to_vector<T>() converts");
  const std::string hint = "; hint: give the dtype i64, or convert the array beside it with astype(x, i64)";
  EXPECT_EQ(error_of([] { (void)(ones({2}, i8) + 128); }), "[array] the number 128 does not fit i8" + hint);
  EXPECT_EQ(error_of([] { (void)array({256}, u8); }), "[array] the number 256 does not fit u8" + hint);
}

// A number that an unsigned dtype does not hold, on either side, wherever numbers become elements.
TEST(Integers, NegativeOnesDoNotFitUnsignedTypes) {
  const std::string hint = "; hint: give the dtype i64, or convert the array beside it with astype(x, i64)";
  for (DType d : {u8, u16, u32, u64}) {
    const Array x = array({0, 1, 200}, d);
    const auto text = [&](std::string_view op) {
      return "[" + std::string(op) + "] the number -1 does not fit " + std::string(name_of(d)) + hint;
    };
    const std::pair<std::string_view, std::function<Array()>> calls[] = {
        {"array", [&] { return x > -1; }},
        {"array", [&] { return -1 == x; }},
        {"array", [&] { return x + (-1); }},
        {"array", [&] { return x - (-1); }},
        {"array", [&] { return x * -1; }},
        {"array", [&] { return maximum(x, -1); }},
        {"array", [&] { return minimum(-1, x); }},
        {"array", [&] { return floor_divide(x, -1); }},
        {"array", [&] { return array({1, -1}, d); }},
        {"array", [&] { return array(std::vector<int>{1, -1}, d); }},
        {"full", [&] { return full({2}, -1, d); }},
        {"full_like", [&] { return full_like(x, -1); }},
        {"arange", [&] { return arange(-1, 3, 1, d); }},
        {"array", [&] { return where(x > 0, x, -1); }},
        {"clip", [&] { return clip(x, -1, 100); }},
        {"array", [&] { return x.at(0).set(-1); }},
        {"array", [&] { return x.at(0).add(-1); }},
        {"array", [&] { return searchsorted(x, -1); }},
        {"array", [&] { return pad(x, 1, -1); }},
    };
    for (const auto& [op, call] : calls)
      EXPECT_EQ(error_of([&] { (void)call(); }), text(op)) << op << " " << name_of(d);
    EXPECT_EQ(error_of([&] { (void)jit([](Array y) { return y + (-1); })(x); }), text("array"));
    test::expect_values(arange(3, -1, -1, d), {3, 2, 1, 0});
  }
  test::expect_values(arange(254, 258, 1, u8), {254, 255, 0, 1});  // as JAX counts
  EXPECT_EQ(array(~0ull, u64).item<std::uint64_t>(), ~0ull);
}

TEST(Integers, OfNarrowTypesIndexLongAxes) {
  const Array table = arange(300, f32);
  test::expect_values(table[array({-1, 100}, i8)], {299, 100});
  test::expect_values(table[array({200, 255}, u8)], {200, 255});
  test::expect_values(table[array(std::vector<std::uint64_t>{1, ~0ull})], {1, 299});
  test::expect_values(dynamic_slice(table, {array(-2, i8)}, {2}), {298, 299});
  test::expect_values(take(table, array({200}, u8)), {200});
  test::expect_values(sum(nn::one_hot(array({200, 44}, u8), 300), 0)[array({44, 200, 255}, u8)], {1, 1, 0});
  test::expect_values(table.at(array({-1}, i8)).set(5)[slice(298, none)], {298, 5});
  EXPECT_FLOAT_EQ(nn::softmax_cross_entropy(zeros({300}), array(200, u8)).item<float>(), std::log(300.f));
}

TEST(Integers, BytesOfAPlan) {
  const ShapeDtype large{{std::int64_t{1} << 60}, f32};
  auto f = [](std::vector<Array> x) { return sum(x[0]); };
  EXPECT_EQ(error_of([&] { (void)jit(f).plan(std::vector<Array>(7, Array(large))); }),
            "[jit] the arrays of the program are more bytes than can be counted");
}

// The least int, which has no negative, is an exponent like any other.
TEST(Integers, PowersByTheLeastInt) {
  constexpr int least = std::numeric_limits<int>::min();
  const Array x = array({1.0, -1.0, 2.0, 0.5});
  EXPECT_TRUE(array_equal(lax::integer_pow(x, least), array({1.0, 1.0, 0.0, INFINITY})));
  EXPECT_EQ(grad([](Array x) { return lax::integer_pow(x, least); })(-1.0).item(), -static_cast<double>(least));
  EXPECT_EQ(grad([](Array x) { return lax::integer_pow(x, least); })(1.0).item(), static_cast<double>(least));
}

}  // namespace
}  // namespace anew
