// Literals: bits, conversions, and the shortest text that reads back.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/dtype.h"
#include "ir/decimal.h"
#include "ir/samples.h"

namespace anew::ir::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Literal, Text) {
  EXPECT_EQ(Literal::of(f32, 2.0).str(), "2.0:f32[]");
  EXPECT_EQ(Literal::of(f32, std::int64_t{2}).str(), "2.0:f32[]");
  EXPECT_EQ(Literal::of(i32, std::int64_t{1}).str(), "1:i32[]");
  EXPECT_EQ(Literal::of(i32, std::int64_t{-7}).str(), "-7:i32[]");
  EXPECT_EQ(Literal::of(u32, std::int64_t{4294967295}).str(), "4294967295:u32[]");
  EXPECT_EQ(Literal::of(i64, std::numeric_limits<std::int64_t>::min()).str(), "-9223372036854775808:i64[]");
  EXPECT_EQ(Literal::of(bool_, 1.0).str(), "True:bool[]");
  EXPECT_EQ(Literal::of(bool_, std::int64_t{0}).str(), "False:bool[]");
  EXPECT_EQ(Literal::of(f64, infinity).str(), "inf:f64[]");
  EXPECT_EQ(Literal::of(f16, -infinity).str(), "-inf:f16[]");
  EXPECT_EQ(Literal::of(bf16, -std::nan("")).str(), "nan:bf16[]");
  EXPECT_EQ(Literal::of(f32, -0.0).str(), "-0.0:f32[]");
  EXPECT_EQ(Literal::of(f32, 0.1).str(), "0.1:f32[]");
  EXPECT_EQ(Literal::of(f64, 0.1f).str(), "0.10000000149011612:f64[]");
  EXPECT_EQ(Literal::of(bf16, 3.14159).str(), "3.14:bf16[]");
  EXPECT_EQ(Literal::of(f16, 65504.0).str(), "65500.0:f16[]");
  EXPECT_EQ(Literal::of(f32, 1e-4).str(), "1e-04:f32[]");
  EXPECT_EQ(Literal::of(f32, 1.5e-5).str(), "1.5e-05:f32[]");
  EXPECT_EQ(Literal::of(f64, 1e15).str(), "1000000000000000.0:f64[]");
  EXPECT_EQ(Literal::of(f64, 1e16).str(), "1e+16:f64[]");
  EXPECT_EQ(Literal::of(f64, 5e-324).str(), "5e-324:f64[]");
  EXPECT_EQ(Literal::of(f32, 123456.789).str(), "123456.79:f32[]");
}

TEST(Literal, ConversionsSaturate) {
  EXPECT_EQ(Literal::of(i32, 1e10).as_integer(), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(Literal::of(i32, std::nan("")).as_integer(), 0);
  EXPECT_EQ(Literal::of(i32, -2.7).as_integer(), -2);
  EXPECT_EQ(Literal::of(f32, 0.1).as_double(), static_cast<double>(0.1f));
  EXPECT_EQ(Literal::of(f16, 1e6).as_double(), infinity);
  EXPECT_EQ(Literal::of(bool_, 0.5).as_double(), 1.0);
  EXPECT_EQ(Literal::of(f32, -3.9).as_integer(), -3);
  EXPECT_EQ(Literal::of(i64, -1.0).as_double(), -1.0);
}

TEST(Literal, ANanIsANan) {
  EXPECT_EQ(Literal::of(f32, std::nan("")), Literal::of(f32, -std::nan("1")));
  EXPECT_FALSE(Literal::of(f32, 0.0) == Literal::of(f32, -0.0));
}

// All of the two-byte floats, and many of the others: text gives the same number back.
TEST(Literal, TextReadsBack) {
  auto check = [](double v, DType dtype) {
    if (!std::isfinite(v)) return;
    const std::string text = float_text(v, dtype);
    const std::optional<double> back = read_float(text, dtype);
    ASSERT_TRUE(back.has_value()) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*back), std::bit_cast<std::uint64_t>(v)) << text;
  };
  for (unsigned bits = 0; bits < 0x10000; ++bits)
    for (DType dtype : {bf16, f16}) check(float_of_bits(dtype, bits), dtype);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    check(std::bit_cast<float>(static_cast<std::uint32_t>(random())), f32);
    check(std::bit_cast<double>(random()), f64);
  }
}

}  // namespace
}  // namespace anew::ir::testing
