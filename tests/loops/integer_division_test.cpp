// Stored floats and conversions, number by number.
#include "loops/integer_division.h"

#include <gtest/gtest.h>

#include "loops/vec.h"

namespace anew::loops::test {
namespace {

// Every finite 16-bit float converts to f32 and back, and a float rounds to the nearer neighbour, ties to even.
template <class Decode, class Encode>
void check_all(Decode decode, Encode encode, std::uint16_t infinity) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float x = decode(static_cast<std::uint16_t>(h));
    if (x != x) {
      const float back = decode(encode(x));
      ASSERT_TRUE(back != back) << h;
      continue;
    }
    ASSERT_EQ(encode(x), h);
  }
  for (std::uint16_t h = 0; h < infinity; ++h) {
    const double low = decode(h), high = h + 1 == infinity ? 2 * low - decode(static_cast<std::uint16_t>(h - 1))
                                                           : decode(static_cast<std::uint16_t>(h + 1));
    const auto middle = static_cast<float>((low + high) / 2);  // exact: one more bit
    const auto even = static_cast<std::uint16_t>(h + (h & 1));
    ASSERT_EQ(encode(middle), even) << h;
    ASSERT_EQ(encode(std::nextafter(middle, 0.0f)), h);
    ASSERT_EQ(encode(std::nextafter(middle, INFINITY)), h + 1);
    ASSERT_EQ(encode(-middle), even | 0x8000);
  }
}

TEST(Number, Bf16) { check_all(float_of_bf16, bf16_of_float, 0x7f80); }
TEST(Number, F16) { check_all(float_of_f16, f16_of_float, 0x7c00); }

// Floats of every exponent, around the places where a stored type rounds; nans of both signs too.
TEST(Number, VectorsRoundAsNumbersDo) {
  for (DType d : {bf16, f16})
    for (std::uint64_t high = 0; high < 0x100000; ++high) {
      float x[lanes], got[lanes];
      constexpr std::uint32_t low[lanes] = {0, 1, 0x7ff, 0x800, 0x801, 0xffe, 0xfff, 0x555};
      for (int k = 0; k < lanes; ++k) x[k] = std::bit_cast<float>(static_cast<std::uint32_t>(high << 12) | low[k]);
      store<float>(got, rounded(d, load<float>(x)));
      for (int k = 0; k < lanes; ++k)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(got[k]), std::bit_cast<std::uint32_t>(rounded(d, x[k])))
            << std::hexfloat << x[k];
    }
}

TEST(Number, FloatsToIntegersSaturate) {
  EXPECT_EQ(convert_number<std::int32_t>(3e9f), INT32_MAX);
  EXPECT_EQ(convert_number<std::int32_t>(-3e9f), INT32_MIN);
  EXPECT_EQ(convert_number<std::int32_t>(2147483648.0f), INT32_MAX);
  EXPECT_EQ(convert_number<std::int32_t>(-2147483648.0f), INT32_MIN);
  EXPECT_EQ(convert_number<std::int32_t>(-1.9f), -1);
  EXPECT_EQ(convert_number<std::uint32_t>(-1.9f), 0u);
  EXPECT_EQ(convert_number<std::uint32_t>(4294967296.0), UINT32_MAX);
  EXPECT_EQ(convert_number<std::uint32_t>(4294967295.0), UINT32_MAX);
  EXPECT_EQ(convert_number<std::int64_t>(9.3e18), INT64_MAX);
  EXPECT_EQ(convert_number<std::int64_t>(-INFINITY), INT64_MIN);
  EXPECT_EQ(convert_number<std::int64_t>(NAN), 0);
  EXPECT_TRUE(convert_number<bool>(NAN));
  EXPECT_TRUE(convert_number<bool>(1e-45f));
  EXPECT_FALSE(convert_number<bool>(-0.0f));
}

TEST(Number, IntegerDivision) {
  EXPECT_EQ(divide(7, 0), -1);
  EXPECT_EQ(remainder(7, 0), 7);
  EXPECT_EQ(divide(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(remainder(INT32_MIN, -1), 0);
  EXPECT_EQ(divide(-7, 2), -3);
  EXPECT_EQ(remainder(-7, 2), -1);
  EXPECT_EQ(divide(7u, 0u), UINT32_MAX);
}

}  // namespace
}  // namespace anew::loops::test
