// Types and names that are seldom used: integers of 64 bits and without a sign, coins, the stored types, in what is
// written once per type; other names of a function give its bits; factors of matrices with NaN.
#include <anew/anew.h>

#include <limits>

#include "ops/helpers.h"
#include "support/check_grads.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::filled;

template <class T>
using Limits = std::numeric_limits<T>;

TEST(RareTypes, UpdatesAtRepeatedPlaces) {
  Array at = array({2, 0, 2});
  for (DType d : {i32, i64, u32, f32, f64}) {
    SCOPED_TRACE(std::string(name_of(d)));
    Array x = array({1, 2, 3}, d), v = array({5, 7, 2}, d);
    expect_values(x.at(at).set(v), {7, 2, 2});
    expect_values(x.at(at).add(v), {8, 2, 10});
    expect_values(x.at(at).multiply(v), {7, 2, 30});
    expect_values(x.at(at).min(v), {1, 2, 2});
    expect_values(x.at(at).max(v), {7, 2, 5});
  }
  for (DType d : {bf16, f16}) expect_values(array({1, 2, 3}, d).at(at).set(array({5, 7, 2}, d)), {7, 2, 2});
  Array coins = array({true, false, false});
  expect_values(coins.at(at).set(array({true, false, true})), {0, 0, 1});
  // One place, not by an array: a box.
  expect_values(array({1, 2, 3}, i64).at(1).add(4), {1, 6, 3});
  expect_values(array({1, 2, 3}, u32).at(slice(1, none)).multiply(2), {1, 4, 6});
  // Sums and products wrap around.
  Array big = array(std::vector{Limits<std::int64_t>::max()});
  EXPECT_EQ(big.at(array({0})).add(array({std::int64_t{1}})).to_vector<std::int64_t>()[0], Limits<std::int64_t>::min());
  EXPECT_EQ(big.at(array({0})).multiply(array({std::int64_t{2}})).to_vector<std::int64_t>()[0], -2);
}

TEST(RareTypes, Segments) {
  Array ids = array({0, 2, 0, 2});
  auto extremes = [&]<class T>(T, DType d) {
    Array x = array({3, 5, 1, 4}, d);
    EXPECT_EQ(segment_max(x, ids, 3).to_vector<T>(), (std::vector<T>{3, Limits<T>::lowest(), 5}));
    EXPECT_EQ(segment_min(x, ids, 3).to_vector<T>(), (std::vector<T>{1, Limits<T>::max(), 4}));
    EXPECT_EQ(segment_sum(x, ids, 3).to_vector<T>(), (std::vector<T>{4, 0, 9}));
    EXPECT_EQ(segment_prod(x, ids, 3).to_vector<T>(), (std::vector<T>{3, 1, 20}));
  };
  extremes(std::int32_t{}, i32);
  extremes(std::int64_t{}, i64);
  extremes(std::uint32_t{}, u32);
}

TEST(RareTypes, RunningSumsAndProducts) {
  for (DType d : {i32, i64, u32}) {
    SCOPED_TRACE(std::string(name_of(d)));
    Array x = array({3, 1, 4, 2}, d);
    expect_values(cumsum(x), {3, 4, 8, 10});
    expect_values(cumprod(x), {3, 3, 12, 24});
    expect_values(cummax(x), {3, 3, 4, 4});
    expect_values(cummin(x, {}, true), {1, 1, 2, 2});
  }
}

TEST(RareTypes, WindowsOverTheRim) {
  for (DType d : {i32, i64, u32}) {
    SCOPED_TRACE(std::string(name_of(d)));
    Array x = array({3, 1, 4}, d);
    expect_values(lax::reduce_window_max(x, {2}, {1}, {{1, 1}}), {3, 3, 4, 4});
    expect_values(lax::reduce_window_min(x, {2}, {1}, {{1, 1}}), {3, 1, 1, 4});
    expect_values(lax::reduce_window_sum(x, {2}, {1}, {{1, 1}}), {3, 4, 5, 4});
  }
}

// What gather reads outside: a NaN, the least number, the largest without a sign, true.
TEST(RareTypes, ReadOutside) {
  auto outside = [](const Array& x) { return lax::gather(x, array({{1}, {9}}), {{}, {0}, {0}}, {1}); };
  EXPECT_EQ(outside(array({1, 2}, i64)).to_vector<std::int64_t>()[1], Limits<std::int64_t>::min());
  EXPECT_EQ(outside(array({1, 2}, u32)).to_vector<std::uint32_t>()[1], Limits<std::uint32_t>::max());
  EXPECT_EQ(outside(array({1, 2}, i32)).to_vector<std::int32_t>()[1], Limits<std::int32_t>::min());
  EXPECT_TRUE(std::isnan(outside(array({1, 2}, f64)).to_vector<double>()[1]));
  expect_values(outside(array({true, false})), {0, 1});
}

TEST(RareTypes, OperatorsThatRebind) {
  Array x = array({13, -6, 7});
  const Array before = x;
  x %= 8;
  expect_values(x, {5, 2, 7});
  x <<= 2;
  expect_values(x, {20, 8, 28});
  x >>= 1;
  expect_values(x, {10, 4, 14});
  x &= 6;
  expect_values(x, {2, 4, 6});
  x |= array({1, 1, 8});
  expect_values(x, {3, 5, 14});
  x ^= 1;
  expect_values(+x, {2, 4, 15});
  expect_values(array({-9}) >> 1, {-5});  // keeps the sign
  expect_values(before, {13, -6, 7});
}

// Both beside JAX in docs/conformance.md.
TEST(RareTypes, DivisorsOfZeroAndIndicesBeyondTheEnd) {
  expect_values(array({7, -7}) % 0, {7, -7});
  auto f = [](const Array& x) { return sum(x[array({1, 7})]); };
  expect_values(grad(f)(arange(3.0)), {0, 1, 1});
}

TEST(RareTypes, ConvolutionsOfIntegers) {
  for (auto [d, gives] : {std::pair(i32, f32), {i64, f64}, {u32, f32}}) {  // as in JAX
    SCOPED_TRACE(std::string(name_of(d)));
    const Array y = convolve(array({1, 2, 3}, d), array({1, 10}, d));
    EXPECT_EQ(y.dtype(), gives);
    expect_values(y, {1, 12, 23, 30});
  }
}

// Nothing is mapped over: the types are those of one example.
TEST(RareTypes, ConvolutionsOfNoExample) {
  auto f = [](Array x, Array w) { return conv_general_dilated(x, w, {1}, "VALID"); };
  EXPECT_EQ(vmap(f)(zeros({0, 2, 3, 5}), zeros({0, 4, 3, 2})).type().str(), "f32[0,2,4,4]");
}

TEST(OtherNames, GiveTheSameBits) {
  Array x = filled({5}, 1, f32), y = filled({5}, 2, f32);
  auto same = [](const Array& a, const Array& b) { EXPECT_TRUE(array_equal(a, b)) << a << b; };
  same(divide(x, y), x / y);
  same(true_divide(x, y), x / y);
  same(arctan2(x, y), atan2(x, y));
  same(mod(x, y), remainder(x, y));
  same(arcsin(x), asin(x));
  same(arccos(x), acos(x));
  same(arctan(x), atan(x));
  same(nn::swish(x), nn::silu(x));
  same(special::digamma(x), digamma(x));
  same(invert(array({5, 0})), array({-6, -1}));
  same(isfinite(array({5, 0})), array({true, true}));
  expect_values(degrees(array({0.0, std::numbers::pi}, f64)), {0, 180}, 1e-12);
  expect_values(radians(array({0.0, 180.0}, f64)), {0, std::numbers::pi}, 1e-12);
  expect_values(nn::hard_silu(array({-4.0, 0.0, 1.0, 4.0}, f64)), {0, 0, 2.0 / 3, 4}, 1e-12);
  EXPECT_NEAR(grad([](Array x) { return log10(x); })(array(2.0, f64)).item(), 1 / (2 * std::log(10.0)), 1e-12);
}

TEST(OtherNames, RowsOfArrays) {
  Array a = array(1), b = array(2.5f);
  Array x = array({{a, b}, {b, a}}, f64);
  EXPECT_EQ(x.type().str(), "f64[2,2]");
  expect_values(x, {1, 2.5, 2.5, 1});
  EXPECT_EQ(error_of([&] { (void)array({{a, b}, {b}}, f64); }), error_of([&] { (void)array({{a, b}, {b}}); }));
}

TEST(OtherNames, FactorsOfMatricesWithNaN) {
  Array x = array({{1.0, 2.0}, {NAN, 3.0}, {4.0, 5.0}}, f64);
  auto nan = [](const Array& y) { return all(isnan(y)).item<bool>(); };
  auto [u, s, vt] = linalg::svd(x, false);
  EXPECT_TRUE(nan(u) && nan(s) && nan(vt));
  EXPECT_TRUE(nan(linalg::svdvals(x)));
  auto [q, r] = linalg::qr(x);
  EXPECT_TRUE(nan(q));
  expect_values(r[1][0], {0});
  EXPECT_TRUE(nan(r[0]) && nan(r[1][1]));
}

// All three factors, the added vectors left out; products of them are free of their signs.
TEST(OtherNames, DerivativesOfSingularVectors) {
  auto f = [](const Array& x) {
    auto [u, s, vt] = linalg::svd(x, false);
    return matmul(u * sin(s), vt) + 0.1 * sum(square(u) * s);
  };
  for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}}) {
    SCOPED_TRACE(shape.str());
    test::check_grads([&](std::span<const Array> x) { return Arrays{f(x[0])}; }, Arrays{filled(shape, 3) * 2});
  }
}

}  // namespace
}  // namespace anew
