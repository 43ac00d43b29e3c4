// Random arrays for tests: the same numbers on every machine and in every order of tests, given a seed.
#pragma once
#include <anew/anew.h>

#include <random>
#include <string_view>
#include <vector>

namespace anew::test {

#if defined(__has_feature)
#define ANEW_TEST_FEATURE(x) __has_feature(x)
#else
#define ANEW_TEST_FEATURE(x) 0
#endif
// How often a randomized test repeats: less often where a sanitizer makes each time twenty times as long.
constexpr std::uint64_t repeats(std::uint64_t n) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || ANEW_TEST_FEATURE(address_sanitizer)
  return (n + 4) / 5;
#else
  return n;
#endif
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  Random(std::string_view name, std::uint64_t k) : engine_(k) {
    for (char c : name) engine_.seed(engine_() ^ static_cast<unsigned char>(c));
  }
  std::uint64_t bits() { return engine_(); }
  // std::uniform_real_distribution differs between libraries.
  double uniform(double lo, double hi) { return lo + (hi - lo) * (static_cast<double>(engine_() >> 11) * 0x1p-53); }

  // Uniform in [lo, hi); whole numbers for integers, which lo..hi then include; coins for bool.
  Array array(const ShapeDtype& type, double lo = -1, double hi = 1) {
    if (type.dtype == bool_) {
      std::vector<bool> v(static_cast<std::size_t>(type.shape.size()));
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = uniform(0, 1) < 0.5;
      return anew::array(v, type.shape);
    }
    std::vector<double> v(static_cast<std::size_t>(type.shape.size()));
    for (double& x : v) x = is_float(type.dtype) ? uniform(lo, hi) : std::floor(uniform(lo, hi + 1));
    return anew::array(v, type.shape, type.dtype);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace anew::test
