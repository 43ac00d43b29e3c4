// Fourier transforms: against each other and against small figures by hand, lengths, axes, adjoints, errors.
#include <anew/fft.h>
#include <anew/flat.h>

#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::filled;
using test::values;

void expect_transform(const Array& got, const Array& want, double tolerance = 1e-13) {
  ASSERT_EQ(got.type().str(), want.type().str());
  expect_values(got, values(want), tolerance);
}

TEST(Fft, SmallFigures) {
  auto [re, im] = fft::fft(array({1.0, 2.0, 3.0, 4.0}), zeros(4));
  expect_values(re, {10, -2, -2, -2});
  expect_values(im, {0, 2, 0, -2});
  auto [rre, rim] = fft::rfft(array({1, 2, 3, 4}));
  EXPECT_EQ(rre.type().str(), "f32[3]");
  expect_values(rre, {10, -2, -2});
  expect_values(rim, {0, 2, 0});
  expect_values(fft::irfft(rre, rim), {1, 2, 3, 4});
}

TEST(Fft, ThereAndBack) {
  for (std::int64_t n : {1, 2, 5, 6, 8, 67}) {
    Array re = filled({3, n}, 1), im = filled({3, n}, 2);
    auto [a, b] = fft::fft(re, im);
    auto [x, y] = fft::ifft(a, b);
    expect_transform(x, re);
    expect_transform(y, im);
    auto [c, d] = fft::rfft(re);
    expect_transform(fft::irfft(c, d, n), re);
  }
  Array re = filled({2, 3, 4}, 3), im = filled({2, 3, 4}, 4);
  auto [a, b] = fft::fftn(re, im);
  auto [x, y] = fft::ifftn(a, b);
  expect_transform(x, re);
  expect_transform(y, im);
  auto [c, d] = fft::rfftn(re, {}, {0, 2});
  EXPECT_EQ(c.type().str(), "f64[2,3,3]");
  expect_transform(fft::irfftn(c, d, Shape{2, 4}, {0, 2}), re);
}

TEST(Fft, SeveralAxesAreOneAfterTheOther) {
  Array re = filled({4, 5}, 5), im = filled({4, 5}, 6);
  auto [a, b] = fft::fft(re, im, {}, 0);
  auto [c, d] = fft::fft(a, b, {}, 1);
  auto [x, y] = fft::fftn(re, im);
  expect_transform(x, c);
  expect_transform(y, d);
}

TEST(Fft, LengthsCutOrFill) {
  Array x = filled({5}, 7), none = zeros({5}, f64);
  auto cut = fft::fft(x, none, 3), plain = fft::fft(x[slice(0, 3)], none[slice(0, 3)]);
  expect_transform(cut.first, plain.first);
  auto filled_up = fft::rfft(x, 8), padded = fft::rfft(pad(x, {{0, 3}}));
  expect_transform(filled_up.second, padded.second);
  auto two = fft::fftn(filled({3, 3}, 8), zeros({3, 3}, f64), Shape{4});
  EXPECT_EQ(two.first.type().str(), "f64[3,4]");
}

TEST(Fft, RealIsComplexWithoutImaginaryPart) {
  for (std::int64_t n : {7, 12}) {
    Array x = filled({n}, 9);
    auto [re, im] = fft::fft(x, zeros({n}, f64));
    auto [a, b] = fft::rfft(x);
    expect_transform(a, re[slice(0, n / 2 + 1)]);
    expect_transform(b, im[slice(0, n / 2 + 1)]);
  }
}

// The gradient of a loss in the frequency domain, by Parseval's theorem: sum |X|^2 = n sum x^2.
TEST(Fft, GradientByParseval) {
  Array re = filled({6}, 10), im = filled({6}, 11);
  Arrays g = flat::grad(
      [](std::span<const Array> z) {
        auto [a, b] = fft::fft(z[0], z[1]);
        return Arrays{sum(a * a + b * b)};
      },
      Arrays{re, im});
  expect_transform(g[0], 12 * re);
  expect_transform(g[1], 12 * im);
}

TEST(Fft, Frequencies) {
  expect_values(fft::fftfreq(5, 0.5, f64), {0, 0.4, 0.8, -0.8, -0.4}, 1e-15);
  expect_values(fft::fftfreq(4), {0, 0.25, -0.5, -0.25});
  expect_values(fft::rfftfreq(5, 1.0, f64), {0, 0.2, 0.4}, 1e-15);
  expect_values(fft::fftshift(arange(5)), {3, 4, 0, 1, 2});
  expect_values(fft::ifftshift(fft::fftshift(arange(5))), {0, 1, 2, 3, 4});
  EXPECT_EQ(fft::fftshift(zeros({2, 3}), 1).type().str(), "f32[2,3]");
}

TEST(Fft, Errors) {
  Array x = zeros({4}), y = zeros({3});
  EXPECT_EQ(error_of([&] { fft::fft(x, y); }), "[fft] real and imaginary parts differ: f32[4] and f32[3]");
  EXPECT_EQ(error_of([&] { fft::irfft(x, y); }), "[irfft] real and imaginary parts differ: f32[4] and f32[3]");
  EXPECT_EQ(error_of([&] { fft::rfft(x, 0); }), "[rfft] needs at least one point along the axis, got 0");
  EXPECT_EQ(error_of([&] { fft::rfft(zeros({0})); }), "[rfft] needs at least one point along the axis, got 0");
  EXPECT_EQ(error_of([&] { fft::irfft(zeros({1}), zeros({1})); }),
            "[irfft] needs at least one point along the axis, got 0");
  EXPECT_EQ(error_of([&] { fft::rfft(x, {}, 1); }), "[rfft] axis 1 is out of range for f32[4]");
  EXPECT_EQ(error_of([&] { fft::rfftn(x, Shape{2, 2}); }), "[rfftn] 2 lengths for the axes of f32[4]");
  EXPECT_EQ(error_of([&] { fft::rfftn(x, Shape{2, 2}, 0); }), "[rfftn] 2 lengths for 1 axes");
  EXPECT_EQ(error_of([&] { fft::rfftn(array(1.0)); }), "[rfftn] needs an axis, got f32[]");
  EXPECT_EQ(error_of([&] { fft::fftfreq(0); }), "[fftfreq] needs at least one point, got 0");
  EXPECT_EQ(error_of([&] { fft::rfftfreq(0); }), "[rfftfreq] needs at least one point, got 0");
}

// What no signal needs is not made, however long signals would be.
TEST(Fft, GradientsOfNoSignals) {
  const Array none = zeros({0, 2147483647});
  auto f = [](Array x) { return sum(fft::rfft(x).first); };
  EXPECT_EQ(grad(f)(none).shape(), none.shape());
}

}  // namespace
}  // namespace anew
