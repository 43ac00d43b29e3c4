// Measures the error of every math function in units of the last place and fails where one exceeds its bound.
//   ulp                            a short run, or with ANEW_LONG=1 in the environment the campaign of docs/accuracy.md
//   ulp f32 [stride [name...]]     every stride-th of the 2^32 floats, against our f64 functions
//   ulp f64 [points [name...]]     so many doubles, against MPFR
// f64 results are wrong by less than 2^-26 units of an f32 result, so they can judge those; lgamma, which f32 takes
// from f64, is judged by libm, and digamma and trigamma by MPFR on fewer points. Functions of two arguments are
// sampled.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "loops/instruction.h"
#include "loops/kernel.h"
#include "runtime/pool.h"
#include "support/ulps.h"
#include "ulp/mpfr_reference.h"
#include "ulp/points.h"

namespace anew::ulp {
namespace {

using loops::Math;

struct Worst {
  double error = 0, x = 0, y = 0;
  void take(double e, double at, double with) {
    if (!(e <= error)) error = e, x = at, y = with;
  }
};

double bound(Math m, bool wide) {
  if (!wide) return test::f32_bound(m);
  return m == Math::lgamma || m == Math::digamma || m == Math::trigamma ? 4 : 2;
}

// The gamma family is measured where it has no zeros between poles.
bool skipped(Math m, double x) {
  return (m == Math::lgamma || m == Math::digamma || m == Math::trigamma) && (x < 0 || x > 1e15);
}

void evaluate(Math m, DType dtype, void* out, const void* x, const void* y, std::int64_t n) {
  loops::math_instruction(m, dtype)(out, x, y, nullptr, n);
}

constexpr int block = 512;

// Floats by their bits: number i is pattern i * stride.
Worst measure_f32(Math m, std::uint64_t stride, std::uint64_t& points) {
  const bool sampled = loops::arity(m) == 2, by_mpfr = m == Math::digamma || m == Math::trigamma;
  if (by_mpfr) stride = std::max<std::uint64_t>(stride, 16381);
  points = ((1ull << 32) + stride - 1) / stride;
  if (sampled) points = std::max<std::uint64_t>(points / 16, 1u << 16);
  Worst worst;
  std::mutex mutex;
  parallel_for(static_cast<std::int64_t>(points), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    Worst here;
    Reference reference;
    Points random(static_cast<std::uint64_t>(begin));
    float x[block], y[block], got[block];
    double x64[block], y64[block], want[block];
    for (std::int64_t i = begin; i < end; i += block) {
      const auto n = static_cast<int>(std::min<std::int64_t>(block, end - i));
      for (int k = 0; k < n; ++k) {
        const auto u = static_cast<std::uint32_t>(static_cast<std::uint64_t>(i + k) * stride);
        x[k] = sampled ? static_cast<float>(random.next(m)) : std::bit_cast<float>(u);
        y[k] = static_cast<float>(sampled ? random.next(m) : 0);
        x64[k] = x[k], y64[k] = y[k];
      }
      evaluate(m, f32, got, x, y, n);
      if (m == Math::lgamma) {
        int sign = 0;
        for (int k = 0; k < n; ++k) want[k] = lgamma_r(x64[k], &sign);
      } else if (!by_mpfr) {
        evaluate(m, f64, want, x64, y64, n);
      }
      for (int k = 0; k < n; ++k) {
        if (skipped(m, x64[k])) continue;
        if (by_mpfr) want[k] = reference.rounded(m, x64[k], y64[k]);
        here.take(test::ulps(got[k], want[k]), x64[k], y64[k]);
      }
    }
    const std::lock_guard lock(mutex);
    worst.take(here.error, here.x, here.y);
  });
  return worst;
}

Worst measure_f64(Math m, std::uint64_t points) {
  Worst worst;
  std::mutex mutex;
  parallel_for(static_cast<std::int64_t>(points), 4096, [&](std::int64_t begin, std::int64_t end) {
    Worst here;
    Reference reference;
    Points random(static_cast<std::uint64_t>(begin) + 1);
    double x[block], y[block], got[block];
    for (std::int64_t i = begin; i < end; i += block) {
      const auto n = static_cast<int>(std::min<std::int64_t>(block, end - i));
      for (int k = 0; k < n; ++k) {
        do x[k] = random.next(m);
        while (skipped(m, x[k]));
        y[k] = loops::arity(m) == 2 ? random.next(m) : 0;
      }
      evaluate(m, f64, got, x, y, n);
      for (int k = 0; k < n; ++k) here.take(reference.error(m, got[k], x[k], y[k]), x[k], y[k]);
    }
    const std::lock_guard lock(mutex);
    worst.take(here.error, here.x, here.y);
  });
  return worst;
}

bool run(bool wide, std::uint64_t amount, const std::vector<std::string>& names) {
  bool fine = true;
  if (wide) fmt::print("| f64, {} points each | max ulp | at | s |\n|---|---|---|---|\n", amount);
  else fmt::print("| f32, every {}-th float | max ulp | at | points | s |\n|---|---|---|---|---|\n", amount);
  for (int i = 0; i < loops::math_count; ++i) {
    const auto m = static_cast<Math>(i);
    const std::string name(name_of(m));
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t points = amount;
    const Worst w = wide ? measure_f64(m, amount) : measure_f32(m, amount, points);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string at =
        loops::arity(m) == 2 ? fmt::format("{:.17g}, {:.17g}", w.x, w.y) : fmt::format("{:.17g}", w.x);
    const bool good = w.error <= bound(m, wide);
    if (wide) fmt::print("| {} | {:.3f} | {} | {:.0f} |", name, w.error, at, seconds);
    else fmt::print("| {} | {:.3f} | {} | {} | {:.0f} |", name, w.error, at, points, seconds);
    if (!good) fmt::print(" beyond its bound {}", bound(m, wide));
    fmt::print("\n");
    std::fflush(stdout);
    fine = fine && good;
  }
  return fine;
}

int main_of(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    const bool thorough = std::getenv("ANEW_LONG") != nullptr;
    const bool narrow = run(false, thorough ? 1 : 65537, {});
    return run(true, thorough ? 10'000'000 : 10'000, {}) && narrow ? 0 : 1;
  }
  const bool wide = arguments[0] == "f64";
  if (!wide && arguments[0] != "f32") {
    fmt::print(stderr, "usage: ulp [f32 [stride [name...]] | f64 [points [name...]]]\n");
    return 2;
  }
  const std::uint64_t amount = arguments.size() > 1 ? std::strtoull(arguments[1].c_str(), nullptr, 10)
                               : wide               ? 10'000'000
                                                    : 1;
  arguments.erase(arguments.begin(), arguments.begin() + std::min<std::ptrdiff_t>(2, std::ssize(arguments)));
  return run(wide, std::max<std::uint64_t>(amount, 1), arguments) ? 0 : 1;
}

}  // namespace
}  // namespace anew::ulp

int main(int argc, char** argv) { return anew::ulp::main_of({argv + 1, argv + argc}); }
