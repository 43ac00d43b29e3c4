// The steps of a transform (Stockham's self-sorting form: each step reads one array and writes another, so that nothing
// has to be permuted), and Bluestein's way for lengths with a large prime factor.
#include "runtime/fourier.h"

#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>

#include "runtime/workspace.h"

namespace anew {
namespace {

constexpr int largest_radix = 61;

// exp(2 pi i k / n) for 0 <= k < n. Reduced to an eighth of the circle in integers, so that mirror images are exact.
std::pair<double, double> root(std::int64_t k, std::int64_t n) {
  std::int64_t eighths = 8 * k;  // of a circle of 8 n
  const bool below = eighths > 4 * n;
  if (below) eighths = 8 * n - eighths;
  const bool left = eighths > 2 * n;
  if (left) eighths = 4 * n - eighths;
  const bool steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  const double angle = std::numbers::pi / 4 * (static_cast<double>(eighths) / static_cast<double>(n));
  double c = std::cos(angle), s = std::sin(angle);
  if (steep) std::swap(c, s);
  return {left ? -c : c, below ? -s : s};
}

template <class T>
struct Complexes {
  T *re, *im;
};

// One step of radix R (0: `radix`): `length` points that are `stride` apart become `radix` interleaved transforms.
template <int R, class T>
void step(int radix, std::int64_t length, std::int64_t stride, const T* roots_re, const T* roots_im, Complexes<T> from,
          Complexes<T> to) {
  const int r = R == 0 ? radix : R;
  const std::int64_t parts = length / r, n = length * stride;
  std::array<T, R == 0 ? largest_radix : R> x{}, y{};
  for (std::int64_t p = 0; p < parts; ++p)
    for (std::int64_t q = 0; q < stride; ++q) {
      for (int j = 0; j < r; ++j) {
        const std::size_t at = j;
        x[at] = from.re[q + stride * (p + j * parts)];
        y[at] = from.im[q + stride * (p + j * parts)];
      }
      auto put = [&](int k, T re, T im) {
        const std::int64_t w = p * k * stride, at = q + stride * (r * p + k);
        to.re[at] = re * roots_re[w] - im * roots_im[w];
        to.im[at] = re * roots_im[w] + im * roots_re[w];
      };
      if constexpr (R == 2) {
        put(0, x[0] + x[1], y[0] + y[1]);
        put(1, x[0] - x[1], y[0] - y[1]);
      } else if constexpr (R == 4) {
        const T even_re = x[0] + x[2], even_im = y[0] + y[2], odd_re = x[1] + x[3], odd_im = y[1] + y[3];
        const T a_re = x[0] - x[2], a_im = y[0] - y[2], b_re = x[1] - x[3], b_im = y[1] - y[3];
        put(0, even_re + odd_re, even_im + odd_im);
        put(1, a_re + b_im, a_im - b_re);
        put(2, even_re - odd_re, even_im - odd_im);
        put(3, a_re - b_im, a_im + b_re);
      } else {
        using Sum = std::conditional_t<R == 0, double, T>;  // long sums
        const std::int64_t turn = n / r;
        for (int k = 0; k < r; ++k) {
          Sum re = x[0], im = y[0];
          for (int j = 1; j < r; ++j) {
            const std::size_t at = j;
            const Sum c = roots_re[j * k % r * turn], s = roots_im[j * k % r * turn], a = x[at], b = y[at];
            re = std::fma(a, c, std::fma(-b, s, re));
            im = std::fma(a, s, std::fma(b, c, im));
          }
          put(k, static_cast<T>(re), static_cast<T>(im));
        }
      }
    }
}

}  // namespace

// x_k = w_k sum_j (x_j w_j) conj(w_(k-j)) with w_j = exp(-pi i j^2 / n): a convolution, of a length we choose.
template <class T>
struct FourierPlan<T>::Chirp {
  explicit Chirp(std::int64_t n) : n(n), plan(power(n)) {
    const std::int64_t m = plan.size();
    re.resize(n), im.resize(n);
    kernel_re.resize(static_cast<std::size_t>(m)), kernel_im.resize(static_cast<std::size_t>(m));
    for (std::int64_t j = 0; j < n; ++j) {
      const auto [c, s] = root(j * j % (2 * n), 2 * n);
      const auto at = static_cast<std::size_t>(j), mirror = static_cast<std::size_t>((m - j) % m);
      re[at] = c, im[at] = -s;
      kernel_re[at] = kernel_re[mirror] = c / static_cast<double>(m);
      kernel_im[at] = kernel_im[mirror] = s / static_cast<double>(m);
    }
    std::vector<std::byte> memory(plan.scratch() + scratch_alignment);
    plan.transform(kernel_re.data(), kernel_im.data(), aligned(memory.data()));
  }
  static std::byte* aligned(std::byte* p) {
    return p + (scratch_alignment - reinterpret_cast<std::uintptr_t>(p) % scratch_alignment) % scratch_alignment;
  }
  static std::int64_t power(std::int64_t n) {
    std::int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    return m;
  }
  std::size_t scratch() const { return 2 * scratch_bytes<double>(plan.size()) + plan.scratch(); }
  void transform(T* x, T* y, std::byte* memory) const {
    const std::int64_t m = plan.size();
    Pieces pieces(memory);
    double *a = pieces.take<double>(m), *b = pieces.take<double>(m);
    std::byte* rest = pieces.take<std::byte>(0);
    std::fill(a, a + m, 0.0);
    std::fill(b, b + m, 0.0);
    for (std::int64_t j = 0; j < n; ++j) {
      const std::size_t at = j;
      a[j] = x[j] * re[at] - y[j] * im[at];
      b[j] = x[j] * im[at] + y[j] * re[at];
    }
    plan.transform(a, b, rest);
    for (std::int64_t j = 0; j < m; ++j) {
      const std::size_t at = j;
      const double c = a[j] * kernel_re[at] - b[j] * kernel_im[at];
      b[j] = a[j] * kernel_im[at] + b[j] * kernel_re[at];
      a[j] = c;
    }
    plan.transform(b, a, rest);  // back
    for (std::int64_t j = 0; j < n; ++j) {
      const std::size_t at = j;
      x[j] = static_cast<T>(a[j] * re[at] - b[j] * im[at]);
      y[j] = static_cast<T>(a[j] * im[at] + b[j] * re[at]);
    }
  }
  std::int64_t n;
  FourierPlan<double> plan;
  std::vector<double> re, im, kernel_re, kernel_im;
};

template <class T>
FourierPlan<T>::FourierPlan(std::int64_t n) : n_(n) {
  std::int64_t rest = std::max<std::int64_t>(n, 1);
  for (int r : {4, 2, 3, 5})
    for (; rest % r == 0; rest /= r) radices_.push_back(r);
  for (int r = 7; r <= largest_radix; r += 2)
    for (; rest % r == 0; rest /= r) radices_.push_back(r);
  if (rest > 1) {
    chirp_ = std::make_unique<Chirp>(n);
    return;
  }
  for (std::int64_t k = 0; k < n; ++k) {
    const auto [c, s] = root(k, n);
    cos_.push_back(static_cast<T>(c));
    sin_.push_back(static_cast<T>(-s));
  }
}

template <class T>
FourierPlan<T>::~FourierPlan() = default;

template <class T>
std::size_t FourierPlan<T>::scratch() const {
  return n_ < 2 ? 0 : chirp_ ? chirp_->scratch() : scratch_bytes<T>(2 * n_);
}

template <class T>
void FourierPlan<T>::transform(T* re, T* im, std::byte* memory) const {
  if (n_ < 2) return;
  if (chirp_) return chirp_->transform(re, im, memory);
  T* scratch = Pieces(memory).take<T>(2 * n_);
  Complexes<T> from{re, im}, to{scratch, scratch + n_};
  std::int64_t length = n_, stride = 1;
  for (int r : radices_) {
    auto run = r == 4 ? step<4, T> : r == 2 ? step<2, T> : r == 3 ? step<3, T> : r == 5 ? step<5, T> : step<0, T>;
    run(r, length, stride, cos_.data(), sin_.data(), from, to);
    length /= r, stride *= r;
    std::swap(from, to);
  }
  if (from.re == re) return;
  std::copy(from.re, from.re + n_, re);
  std::copy(from.im, from.im + n_, im);
}

template class FourierPlan<float>;
template class FourierPlan<double>;

}  // namespace anew
