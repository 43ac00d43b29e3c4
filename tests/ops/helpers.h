// Shared by the tests of ops: numbers of an array, deterministic inputs, the text of an error.
#pragma once
#include <anew/nn.h>
#include <anew/ops.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace anew::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

inline std::vector<double> values(const Array& x) { return x.to_vector<double>(); }

// Numbers in [lo, hi) that depend on the seed and the position only.
inline std::vector<double> numbers(std::int64_t n, std::uint64_t seed, double lo = -1, double hi = 1) {
  std::vector<double> out;
  std::uint64_t s = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::int64_t i = 0; i < n; ++i) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    out.push_back(lo + (hi - lo) * (static_cast<double>(s >> 11) * 0x1p-53));
  }
  return out;
}
inline Array filled(const Shape& shape, std::uint64_t seed, DType dtype = f64, double lo = -1, double hi = 1) {
  return array(numbers(shape.size(), seed, lo, hi), shape, dtype);
}

inline void expect_values(const Array& x, const std::vector<double>& want, double tolerance = 0) {
  std::vector<double> got = values(x);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << "element " << i;
    else if (std::isinf(want[i])) EXPECT_EQ(got[i], want[i]) << "element " << i;
    else
      EXPECT_LE(std::abs(got[i] - want[i]), tolerance * std::max(1.0, std::abs(want[i])))
          << "element " << i << " " << got[i];
  }
}

// The whole text of the error that f throws, without its place ("; at file:line (function)").
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_NE(e.file().find("test.cpp"), std::string::npos)
        << e.what();  // the place is the user's, never inside the library
    std::string text = e.what();
    std::size_t at = text.find("; at "), end = text.find("; hint: ");
    if (at != std::string::npos) text.erase(at, (end == std::string::npos ? text.size() : end) - at);
    return text;
  }
  return "no error";
}

}  // namespace anew::test
