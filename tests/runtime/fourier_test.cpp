// Transforms against the sum that defines them, for every length up to 300 and some beyond: powers, primes, products;
// alone and with others, however they lie, with every width of vectors: the same bits.
#include "runtime/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/lent_scratch.h"
#include "runtime/product.h"

namespace anew {
namespace {

template <class T>
std::vector<T> noise(std::int64_t n, int seed) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t j = 0; j < x.size(); ++j)
    x[j] =
        static_cast<T>(std::sin(1.7 * static_cast<double>(j * j % 1009) + 1.3 * seed + 0.01 * static_cast<double>(j)));
  return x;
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
struct Complex {
  std::vector<T> re, im;
  bool operator==(const Complex& o) const { return same_bits(re, o.re) && same_bits(im, o.im); }
};

// `count` signals of n elements each: one after the other in memory, or side by side.
enum class Lie { rows, columns, every_other };
template <class T>
struct Laid {
  Laid(const std::vector<T>& x, std::int64_t n, Lie lie) : count(static_cast<std::int64_t>(x.size()) / n), lie(lie) {
    memory.resize(2 * x.size() + 1);
    row = lie == Lie::rows ? n : lie == Lie::columns ? 1 : 2 * n;
    stride = lie == Lie::rows ? 1 : lie == Lie::columns ? count : 2;
    for (std::int64_t l = 0; l < count; ++l)
      for (std::int64_t j = 0; j < n; ++j)
        memory[static_cast<std::size_t>(l * row + j * stride)] = x[static_cast<std::size_t>(l * n + j)];
  }
  FourierSignals<T> some(std::int64_t first, std::int64_t most) const {
    FourierSignals<T> out{{}, std::min(most, count - first), stride};
    for (std::int64_t l = 0; l < out.count; ++l)
      out.start[static_cast<std::size_t>(l)] = memory.data() + (first + l) * row;
    return out;
  }
  std::int64_t count, row, stride;
  Lie lie;
  std::vector<T> memory;
};

// With exactly the scratch that they ask for, together as the plan likes or else one by one.
template <class T>
Complex<T> transformed(const FourierPlan<T>& plan, const Complex<T>& z, Lie lie = Lie::rows, bool alone = false,
                       std::optional<Lie> im_lie = {}) {
  const Laid<T> re(z.re, plan.size(), lie), im(z.im, plan.size(), im_lie.value_or(lie));
  Complex<T> out{z.re, z.im};
  const std::int64_t most = alone ? 1 : plan.together();
  for (std::int64_t l = 0; l < re.count; l += most) {
    const LentScratch scratch(plan.scratch());
    plan.transform(re.some(l, most), im.some(l, most), out.re.data() + l * plan.size(), out.im.data() + l * plan.size(),
                   scratch.data());
    EXPECT_TRUE(scratch.intact()) << plan.size();
  }
  return out;
}
template <class T>
Complex<T> transformed(const RealFourierPlan<T>& plan, const std::vector<T>& x, Lie lie = Lie::rows,
                       bool alone = false) {
  const Laid<T> all(x, plan.size(), lie);
  const std::int64_t most = alone ? 1 : plan.together(), half = plan.size() / 2 + 1;
  const auto size = static_cast<std::size_t>(all.count * half);
  Complex<T> out{std::vector<T>(size), std::vector<T>(size)};
  for (std::int64_t l = 0; l < all.count; l += most) {
    const LentScratch scratch(plan.scratch());
    plan.transform(all.some(l, most), out.re.data() + l * half, out.im.data() + l * half, scratch.data());
    EXPECT_TRUE(scratch.intact()) << plan.size();
  }
  return out;
}
template <class T>
std::vector<T> inverted(const RealFourierPlan<T>& plan, const Complex<T>& z, Lie lie = Lie::rows, bool alone = false,
                        std::optional<Lie> im_lie = {}) {
  const std::int64_t most = alone ? 1 : plan.together(), half = plan.size() / 2 + 1;
  const Laid<T> re(z.re, half, lie), im(z.im, half, im_lie.value_or(lie));
  std::vector<T> out(static_cast<std::size_t>(re.count * plan.size()));
  for (std::int64_t l = 0; l < re.count; l += most) {
    const LentScratch scratch(plan.scratch());
    plan.inverse(re.some(l, most), im.some(l, most), out.data() + l * plan.size(), scratch.data());
    EXPECT_TRUE(scratch.intact()) << plan.size();
  }
  return out;
}

// exp(-2 pi i k / n) in long double.
class Roots {
 public:
  explicit Roots(std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) {
      const long double angle =
          -2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
      cos.push_back(std::cos(angle)), sin.push_back(std::sin(angle));
    }
  }
  std::vector<long double> cos, sin;
};
struct Errors {
  double complex, real, inverse;
};
// The largest error of a point, in units of the root of the sum of squares times epsilon.
template <class T>
Errors errors(std::int64_t n, std::int64_t step = 1) {
  const Complex<T> z{noise<T>(n, 1), noise<T>(n, 2)};
  const Complex<T> got = transformed(FourierPlan<T>(n), z), half = transformed(RealFourierPlan<T>(n), z.re);
  const std::vector<T> back = inverted(RealFourierPlan<T>(n), half);
  const Roots w(n);
  const auto count = static_cast<std::size_t>(n);
  long double complex = 0, real = 0, inverse = 0;
  for (std::size_t k = 0; k < count; k += static_cast<std::size_t>(step)) {
    long double re = 0, im = 0, x = 0, y = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t at = j * k % count;
      x += z.re[j] * w.cos[at], y += z.re[j] * w.sin[at];
      re -= z.im[j] * w.sin[at], im += z.im[j] * w.cos[at];
    }
    complex = std::max(complex, std::hypot(x + re - got.re[k], y + im - got.im[k]));
    if (k < half.re.size()) real = std::max(real, std::hypot(x - half.re[k], y - half.im[k]));
    inverse = std::max<long double>(inverse, std::abs(back[k] - z.re[k]));
  }
  const long double unit = std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<long double>(n));
  return {static_cast<double>(complex / unit), static_cast<double>(real / unit),
          static_cast<double>(inverse / std::numeric_limits<T>::epsilon())};
}
template <class T>
void expect_small(std::int64_t n, double most, std::int64_t step = 1) {
  const Errors e = errors<T>(n, step);
  EXPECT_LE(e.complex, most) << n;
  EXPECT_LE(e.real, most) << n;
  EXPECT_LE(e.inverse, most) << n;
}

TEST(Fourier, EveryLength) {
  for (std::int64_t n = 1; n <= 300; ++n) {
    expect_small<double>(n, 8);
    expect_small<float>(n, 8);
  }
}
TEST(Fourier, LongLengths) {
  for (std::int64_t n :
       {360, 511, 512, 1000, 1009, 1018, 1021, 1024, 2 * 67 * 3, 2048, 3125, 4096, 4097, 5041, 7 * 1024}) {
    expect_small<double>(n, 12, 7);
    expect_small<float>(n, 12, 7);
  }
  expect_small<double>(1 << 16, 16, 9973);
  expect_small<float>(100000, 16, 9973);
}

// A signal has its bits alone and among others, as a row, a column or with gaps, with every width of vectors.
template <class T>
void expect_same_bits(std::int64_t n) {
  const Isa best = product_isa();
  const std::int64_t half = n / 2 + 1;
  const FourierPlan<T> plan(n);
  const RealFourierPlan<T> real(n);
  const std::int64_t count = fourier_lanes<T> + fourier_lanes<T> / 2 + 2;
  const Complex<T> z{noise<T>(count * n, 3), noise<T>(count * n, 4)};
  const Complex<T> h{noise<T>(count * half, 5), noise<T>(count * half, 6)};
  const Complex<T> want = transformed(plan, z, Lie::rows, true), want_real = transformed(real, z.re, Lie::rows, true);
  const std::vector<T> want_back = inverted(real, h, Lie::rows, true);
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (!has_isa(isa)) continue;
    set_product_isa(isa);
    for (Lie lie : {Lie::rows, Lie::columns, Lie::every_other})
      for (bool alone : {false, true}) {
        EXPECT_EQ(transformed(plan, z, lie, alone), want) << n;
        EXPECT_EQ(transformed(plan, z, lie, alone, Lie::every_other), want) << n;
        EXPECT_EQ(transformed(real, z.re, lie, alone), want_real) << n;
        EXPECT_TRUE(same_bits(inverted(real, h, lie, alone), want_back)) << n;
        EXPECT_TRUE(same_bits(inverted(real, h, lie, alone, Lie::rows), want_back)) << n;
      }
  }
  set_product_isa(best);
}
TEST(Fourier, BitsDependOnTheSignalAlone) {
  for (std::int64_t n = 1; n <= 130; ++n) {
    expect_same_bits<double>(n);
    expect_same_bits<float>(n);
  }
  for (std::int64_t n : {224, 243, 256, 300, 343, 512, 600, 1000, 1024, 2048, 2187, 3000, 4096}) {
    expect_same_bits<double>(n);
    expect_same_bits<float>(n);
  }
}

TEST(Fourier, BackWithPartsExchanged) {
  for (std::int64_t n : {1, 8, 15, 67}) {
    const FourierPlan<double> plan(n);
    const Complex<double> z{noise<double>(n, 7), noise<double>(n, 8)},
        there = transformed(plan, z), back = transformed(plan, Complex<double>{there.im, there.re});
    for (std::size_t j = 0; j < z.re.size(); ++j) {
      EXPECT_NEAR(back.im[j] / static_cast<double>(n), z.re[j], 1e-14);
      EXPECT_NEAR(back.re[j] / static_cast<double>(n), z.im[j], 1e-14);
    }
  }
}

TEST(Fourier, MultiplesOfAQuarterAreExact) {
  const Complex<double> z = transformed(FourierPlan<double>(4), Complex<double>{{0, 1, 0, 0}, {0, 0, 0, 0}});
  EXPECT_EQ(z.re, (std::vector<double>{1, 0, -1, 0}));
  EXPECT_EQ(z.im, (std::vector<double>{0, -1, 0, 1}));
}

TEST(Fourier, PlansAreShared) {
  const auto a = fourier_plan<FourierPlan<double>>(48), b = fourier_plan<FourierPlan<double>>(48);
  EXPECT_EQ(a, b);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::int64_t n = 1; n < 60; ++n) EXPECT_EQ(fourier_plan<RealFourierPlan<float>>(n)->size(), n);
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace anew
