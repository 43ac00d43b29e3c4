// Arguments for measuring f64 functions: a quarter any bits, a quarter close to places where a function or its formula
// changes (zeros, poles, thresholds), the rest of moderate size on linear and logarithmic scales.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

#include "loops/kernel.h"

namespace anew::ulp {

class Points {
 public:
  explicit Points(std::uint64_t seed) : g_(seed * 0x9e3779b97f4a7c15u + 12345) {}
  double next(loops::Math) {
    const std::uint64_t r = g_();
    const int kind = static_cast<int>(r & 15), scale = static_cast<int>(r >> 8 & 63);
    const double sign = (r >> 4 & 1) != 0 ? -1 : 1;
    if (kind < 4) return std::bit_cast<double>(g_());
    if (kind < 8) {
      static constexpr double places[] = {0.25,
                                          0.5,
                                          0.84,
                                          1,
                                          1.4616321449683623,
                                          1.5,
                                          2,
                                          2.5,
                                          10,
                                          22,
                                          28,
                                          100,
                                          709.782712893384,
                                          745,
                                          1024,
                                          1074,
                                          0x1p28,
                                          0x1p30,
                                          std::numbers::sqrt2,
                                          std::numbers::ln2 / 2,
                                          std::numbers::sqrt2 / 2};
      const std::uint64_t which = g_() % 32;
      const double place = which < std::size(places) ? places[which]
                           : which < 26              ? static_cast<double>(g_() % 64) * std::numbers::pi / 4
                                                     : static_cast<double>(g_() % 200) * std::numbers::ln2 / 2;
      return sign * (place + std::ldexp(normal_(g_) * place, -scale));
    }
    if (kind < 11) return sign * std::ldexp(1 + uniform_(g_), scale * 2 - 64);
    static constexpr double sizes[] = {0.5, 1, 3, 30, 300};
    return normal_(g_) * sizes[kind - 11];
  }

 private:
  std::mt19937_64 g_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

}  // namespace anew::ulp
