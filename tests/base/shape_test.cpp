// Shapes and array types: how they are made, printed, compared and measured.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <vector>

#include "base/base.h"
#include "base/dtype.h"

namespace anew {
namespace {

constexpr std::int64_t big = std::int64_t{1} << 40;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(DType, Names) {
  const char* names[] = {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bf16", "f16", "f32", "f64"};
  const char* longs[] = {"bool",   "int8",   "int16",    "int32",   "int64",   "uint8",  "uint16",
                         "uint32", "uint64", "bfloat16", "float16", "float32", "float64"};
  const std::size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  ASSERT_EQ(all_dtypes.size(), std::size(names));
  for (std::size_t i = 0; i < all_dtypes.size(); ++i) {
    EXPECT_EQ(name_of(all_dtypes[i]), names[i]);
    EXPECT_EQ(long_name_of(all_dtypes[i]), longs[i]);
    EXPECT_EQ(size_of(all_dtypes[i]), sizes[i]);
  }
}

TEST(DType, Kinds) {
  for (DType d : {bf16, f16, f32, f64}) EXPECT_TRUE(is_float(d) && !is_integer(d) && is_signed(d)) << name_of(d);
  for (DType d : {i8, i16, i32, i64}) EXPECT_TRUE(!is_float(d) && is_integer(d) && is_signed(d)) << name_of(d);
  for (DType d : {u8, u16, u32, u64}) EXPECT_TRUE(!is_float(d) && is_integer(d) && !is_signed(d)) << name_of(d);
  EXPECT_FALSE(is_float(bool_) || is_integer(bool_));
  for (DType d : {bool_, i32, i64, u32, u64, f32, f64}) EXPECT_FALSE(is_stored(d)) << name_of(d);
  for (DType d : {i8, i16, u8, u16, bf16, f16}) EXPECT_EQ(size_of(computed_type(d)), 4u) << name_of(d);
}

TEST(DType, NumbersAndBits) {
  EXPECT_EQ(bits_of(i8, -1.0), 0xffu);
  EXPECT_EQ(bits_of(i8, std::int64_t{300}), 44u);  // integers wrap around, floats saturate
  EXPECT_EQ(bits_of(u8, 300.5), 0xffu);
  EXPECT_EQ(bits_of(u16, std::nan("")), 0u);
  EXPECT_EQ(number_of_bits<std::int64_t>(i16, 0x8000), -32768);
  for (DType d : all_dtypes)
    for (bool least : {true, false}) {
      const std::uint64_t bits = extreme_bits(d, least);
      if (d != u64 && d != i64) {
        EXPECT_EQ(bits_of(d, number_of_bits<double>(d, bits)), bits) << name_of(d);
      }
    }
}

TEST(Shape, Made) {
  const std::vector<int> ints = {2, 3};
  const std::vector<std::int64_t> longs = {2, 3};
  EXPECT_EQ(Shape({2, 3}), Shape(ints));
  EXPECT_EQ(Shape({2, 3}), Shape(longs));
  EXPECT_EQ(Shape({2, ints.size()}), Shape({2, 2}));
  EXPECT_EQ(Shape(5), Shape({5}));
  EXPECT_EQ(Shape().ndim(), 0);
  EXPECT_NE(Shape({2, 3}), Shape({2, 3, 1}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
  static_assert(Shape({2, 3, 4}).size() == 24 && Shape({2, 3})[-1] == 3);
}

TEST(Shape, Printed) {
  EXPECT_EQ(Shape().str(), "[]");
  EXPECT_EQ(Shape(5).str(), "[5]");
  EXPECT_EQ(Shape({5, 0, -1}).str(), "[5,0,-1]");
  std::ostringstream out;
  out << Shape({5, 4}) << ' ' << ShapeDtype{{5, 4}, f32} << ' ' << ShapeDtype{{}, bool_};
  EXPECT_EQ(out.str(), "[5,4] f32[5,4] bool[]");
}

TEST(Shape, Size) {
  EXPECT_EQ(Shape().size(), 1);
  EXPECT_EQ(Shape({2, 3, 4}).size(), 24);
  EXPECT_EQ(Shape({2, 0, 4}).size(), 0);
  EXPECT_EQ((ShapeDtype{{2, 3}, f64}.bytes()), 48u);
}

TEST(Shape, Edited) {
  Shape s = {2, 3};
  s.insert(0, 7);
  EXPECT_EQ(s, Shape({7, 2, 3}));
  s.insert(3, 8);
  EXPECT_EQ(s, Shape({7, 2, 3, 8}));
  s.insert(-2, 9);
  EXPECT_EQ(s, Shape({7, 2, 3, 9, 8}));
  s.erase(0);
  EXPECT_EQ(s, Shape({2, 3, 9, 8}));
  s.erase(-1);
  EXPECT_EQ(s, Shape({2, 3, 9}));
  s.erase(1);
  EXPECT_EQ(s, Shape({2, 9}));
  s[-1] = 4;
  EXPECT_EQ(s, Shape({2, 4}));
}

TEST(Shape, EditedOutOfRange) {
  EXPECT_EQ(error_of([] { Shape({2, 3}).insert(3, 1); }), "[shape] insert at 3 is out of range for [2,3]");
  EXPECT_EQ(error_of([] { Shape({2, 3}).insert(-4, 1); }), "[shape] insert at -4 is out of range for [2,3]");
  EXPECT_EQ(error_of([] { Shape({2, 3}).erase(2); }), "[shape] erase at 2 is out of range for [2,3]");
  EXPECT_EQ(error_of([] { Shape().erase(-1); }), "[shape] erase at -1 is out of range for []");
}

TEST(Shape, AtMostSixteenDimensions) {
  EXPECT_EQ(Shape(std::vector<int>(16, 1)).ndim(), 16);
  EXPECT_EQ(error_of([] {
              Shape(std::vector<int>(17, 1));
            }).find("[shape] an array has at most 16 dimensions; at shape_test.cpp:"),
            0u);
  EXPECT_EQ(error_of([] { Shape(std::vector<int>(16, 1)).insert(0, 1); }),
            "[shape] an array has at most 16 dimensions");
}

TEST(Shape, CheckedBytes) {
  EXPECT_EQ(checked_bytes({}, f32), 4u);
  EXPECT_EQ(checked_bytes({2, 3}, f64), 48u);
  EXPECT_EQ(checked_bytes({2, 0, 3}, f64), 0u);
  EXPECT_EQ(checked_bytes({2, -1}, f32), std::nullopt);
  EXPECT_EQ(checked_bytes({0, -1}, f32), std::nullopt);
  EXPECT_EQ(checked_bytes({big, big}, f32), std::nullopt);
  EXPECT_EQ(checked_bytes({big, big, 0}, f32), std::nullopt);
  EXPECT_EQ(checked_bytes({0, big}, f32), 0u);
  EXPECT_EQ(checked_bytes({std::numeric_limits<std::int64_t>::max()}, bool_), std::size_t{INT64_MAX});
  EXPECT_EQ(checked_bytes({std::numeric_limits<std::int64_t>::max()}, bf16), std::nullopt);
}

TEST(Shape, HashFollowsEquality) {
  Shape erased = {2, 3, 9};
  erased.erase(2);
  EXPECT_EQ(hash_value(erased), hash_value(Shape({2, 3})));
  EXPECT_NE(hash_value(Shape({2, 3})), hash_value(Shape({3, 2})));
  EXPECT_NE(hash_value(Shape({})), hash_value(Shape({0})));
  EXPECT_NE(hash_value(ShapeDtype{{2}, f32}), hash_value(ShapeDtype{{2}, f64}));
}

TEST(DType, GoesToAStream) {
  std::ostringstream out;
  out << f32 << " " << bool_ << " " << ShapeDtype{{2, 3}, bf16};
  EXPECT_EQ(out.str(), "f32 bool bf16[2,3]");
}

TEST(Shape, CopiesAllOfItsAxes) {
  Shape most;
  for (int n = 0; n <= Shape::max_ndim; ++n) {
    Shape copy = most, other{7, 7, 7, 7, 7, 7};
    other = most;
    EXPECT_EQ(copy, most);
    EXPECT_EQ(other, most);
    EXPECT_EQ(copy.ndim(), n);
    for (int i = 0; i < n; ++i) EXPECT_EQ(copy[i], i + 2);
    if (n < Shape::max_ndim) most.push_back(n + 2);
  }
  constexpr Shape known{2, 3, 4, 5, 6};
  static_assert(known[4] == 6 && known == Shape{2, 3, 4, 5, 6});
}

TEST(Literals, Bytes) { static_assert(1_KiB == 1024 && 3_MiB == 3 * 1024 * 1024 && 2_GiB == std::size_t{2} << 30); }

}  // namespace
}  // namespace anew
