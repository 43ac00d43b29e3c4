// Transforms against the sum that defines them, for every length up to 130 and some beyond: powers, primes, products.
#include "runtime/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "runtime/lent_scratch.h"

namespace anew {
namespace {

// With exactly the scratch that it asks for.
template <class T>
void transform(const FourierPlan<T>& plan, T* re, T* im) {
  const LentScratch scratch(plan.scratch());
  plan.transform(re, im, scratch.data());
  EXPECT_TRUE(scratch.intact());
}

template <class T>
double worst_error(std::int64_t n) {
  const auto count = static_cast<std::size_t>(n);
  std::vector<T> re(count), im(count);
  for (std::size_t j = 0; j < count; ++j) {
    re[j] = static_cast<T>(std::sin(1.7 * static_cast<double>(j) + 1));
    im[j] = static_cast<T>(std::cos(0.9 * static_cast<double>(j * j % 101)));
  }
  const std::vector<T> x = re, y = im;
  transform(FourierPlan<T>(n), re.data(), im.data());
  double worst = 0;
  for (std::size_t k = 0; k < count; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(j * k % count) / static_cast<double>(n);
      sum += std::complex<double>(x[j], y[j]) * std::polar(1.0, angle);
    }
    worst = std::max(worst, std::abs(sum - std::complex<double>(re[k], im[k])));
  }
  return worst / std::sqrt(static_cast<double>(n));
}

TEST(Fourier, EveryLength) {
  for (std::int64_t n = 1; n <= 130; ++n) {
    EXPECT_LE(worst_error<double>(n), 2e-14) << n;
    EXPECT_LE(worst_error<float>(n), 2e-6) << n;
  }
  for (std::int64_t n : {256, 360, 511, 512, 1000, 1021, 1024, 2 * 67 * 3}) {
    EXPECT_LE(worst_error<double>(n), 5e-14) << n;
    EXPECT_LE(worst_error<float>(n), 4e-6) << n;
  }
}

TEST(Fourier, BackWithPartsExchanged) {
  for (std::int64_t n : {1, 8, 15, 67}) {
    const auto count = static_cast<std::size_t>(n);
    std::vector<double> re(count), im(count);
    for (std::size_t j = 0; j < count; ++j) re[j] = static_cast<double>(j), im[j] = 1;
    const FourierPlan<double> plan(n);
    transform(plan, re.data(), im.data());
    transform(plan, im.data(), re.data());
    for (std::size_t j = 0; j < count; ++j) {
      EXPECT_NEAR(re[j] / static_cast<double>(n), static_cast<double>(j), 1e-12);
      EXPECT_NEAR(im[j] / static_cast<double>(n), 1, 1e-12);
    }
  }
}

TEST(Fourier, MultiplesOfAQuarterAreExact) {
  std::vector<double> re{0, 1, 0, 0}, im(4);
  transform(FourierPlan<double>(4), re.data(), im.data());
  EXPECT_EQ(re, (std::vector<double>{1, 0, -1, 0}));
  EXPECT_EQ(im, (std::vector<double>{0, -1, 0, 1}));
}

}  // namespace
}  // namespace anew
