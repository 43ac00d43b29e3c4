// The steps of a transform (Stockham's self-sorting form: each step reads one array and writes another, so that nothing
// has to be permuted), Bluestein's way for lengths with a large prime factor, and complex signals.
#include "runtime/fourier.h"

#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "runtime/fourier_signals.h"
#include "runtime/product.h"

namespace anew {

std::pair<double, double> root_of_unity(std::int64_t k, std::int64_t n) {
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
const FourierKernels<T>& fourier_kernels_here() {
  const Isa isa = product_isa();
#if defined(__x86_64__)
  if (isa == Isa::avx512) return *fourier_kernels<T, 64>();
  if (isa == Isa::avx2) return *fourier_kernels<T, 32>();
#endif
  (void)isa;
  return *fourier_kernels<T, 16>();
}
template const FourierKernels<float>& fourier_kernels_here();
template const FourierKernels<double>& fourier_kernels_here();

// x_k = w_k sum_j (x_j w_j) conj(w_(k-j)) with w_j = exp(-pi i j^2 / n): a convolution, of a length we choose. What w_j
// becomes is computed in f64 and rounded once.
template <class T>
struct FourierSteps<T>::Chirp {
  explicit Chirp(std::int64_t n) : n(n), steps(length(n)) {
    const std::int64_t m = steps.size();
    re.resize(n), im.resize(n);
    std::vector<double> x(static_cast<std::size_t>(m)), y = x, a = x, b = x, c = x, d = x;
    for (std::int64_t j = 0; j < n; ++j) {
      const auto [cos, sin] = root_of_unity(j * j % (2 * n), 2 * n);
      const auto at = static_cast<std::size_t>(j), mirror = static_cast<std::size_t>((m - j) % m);
      re[at] = static_cast<T>(cos), im[at] = static_cast<T>(-sin);
      x[at] = x[mirror] = cos / static_cast<double>(m);
      y[at] = y[mirror] = sin / static_cast<double>(m);
    }
    const FourierParts<double> done =
        FourierSteps<double>(m).run(1, x.data(), y.data(), 1, {a.data(), b.data()}, {c.data(), d.data()}, nullptr);
    kernel_re.assign(done.re, done.re + m);
    kernel_im.assign(done.im, done.im + m);
  }
  static std::int64_t length(std::int64_t n) {
    std::int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    return m;
  }
  std::size_t scratch() const { return 4 * scratch_bytes<T>(steps.size()); }
  void run(const T* from_re, const T* from_im, std::int64_t stride, FourierParts<T> to, std::byte* memory) const {
    const std::int64_t m = steps.size();
    Pieces pieces(memory);
    FourierParts<T> a{pieces.take<T>(m), pieces.take<T>(m)}, b{pieces.take<T>(m), pieces.take<T>(m)};
    for (std::int64_t j = 0; j < n; ++j) {
      const std::size_t at = j;
      const T x = from_re[j * stride], y = from_im[j * stride];
      a.re[j] = std::fma(x, re[at], -(y * im[at]));
      a.im[j] = std::fma(x, im[at], y * re[at]);
    }
    std::fill(a.re + n, a.re + m, T{0});
    std::fill(a.im + n, a.im + m, T{0});
    FourierParts<T> z = steps.run(1, a.re, a.im, 1, b, a, nullptr);
    for (std::int64_t j = 0; j < m; ++j) {
      const std::size_t at = j;
      const T x = z.re[j], y = z.im[j];
      z.re[j] = std::fma(x, kernel_re[at], -(y * kernel_im[at]));
      z.im[j] = std::fma(x, kernel_im[at], y * kernel_re[at]);
    }
    z = steps.run(1, z.im, z.re, 1, z.re == a.re ? b : a, z, nullptr);  // back: parts are exchanged
    for (std::int64_t j = 0; j < n; ++j) {
      const std::size_t at = j;
      to.re[j] = std::fma(z.im[j], re[at], -(z.re[j] * im[at]));
      to.im[j] = std::fma(z.im[j], im[at], z.re[j] * re[at]);
    }
  }
  std::int64_t n;
  FourierSteps steps;
  std::vector<T> re, im, kernel_re, kernel_im;
};

template <class T>
FourierSteps<T>::FourierSteps(std::int64_t n) : n_(n) {
  std::vector<int> radices;
  std::int64_t rest = n;
  // By eights, the last ones by fours: a two only where it is alone.
  for (int twos = std::countr_zero(static_cast<std::uint64_t>(n)); twos == 3 || twos > 4; twos -= 3)
    radices.push_back(8), rest /= 8;
  for (int r : {4, 2, 3, 5})
    for (; rest % r == 0; rest /= r) radices.push_back(r);
  for (int r = 7; r <= fourier_most_radix; r += 2)
    for (; rest % r == 0; rest /= r) radices.push_back(r);
  if (rest > 1) {
    chirp_ = std::make_unique<Chirp>(n);
    return;
  }
  std::int64_t length = n, stride = 1;
  for (int r : radices) {
    add_step(r, length / r, stride);
    length /= r, stride *= r;
  }
}

template <class T>
FourierSteps<T>::~FourierSteps() = default;

template <class T>
void FourierSteps<T>::add_step(int radix, std::int64_t parts, std::int64_t stride) {
  const bool narrow = stride < fourier_narrow && stride != 8;
  const std::int64_t repeat = narrow ? stride : 1, beside = narrow ? fourier_lanes<T> : 1, length = parts * radix;
  const std::int64_t count = parts > 1 ? parts * repeat : 0;
  const auto place = [&](std::int64_t i) { return (i - i % beside) * 2 * (radix - 1) + i % beside; };
  std::vector<T> factors(static_cast<std::size_t>(place((count + beside - 1) / beside * beside)));
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 1; k < radix; ++k) {
      const auto [c, s] = root_of_unity(i / repeat * k % length, length);
      const auto at = static_cast<std::size_t>(place(i) + (2 * k - 2) * beside);
      factors[at] = static_cast<T>(c), factors[at + static_cast<std::size_t>(beside)] = static_cast<T>(-s);
    }
  factors_.push_back(std::move(factors));
  std::vector<double> roots(static_cast<std::size_t>(2 * radix));
  for (int k = 0; k < radix; ++k) {
    const auto [c, s] = root_of_unity(k, radix);
    roots[static_cast<std::size_t>(k)] = c, roots[static_cast<std::size_t>(radix + k)] = s;
  }
  unit_roots_.push_back(std::move(roots));
  const double* u = unit_roots_.back().data();
  steps_.push_back({radix, parts, stride, repeat, beside, factors_.back().data(), u, u + radix});
}

template <class T>
std::size_t FourierSteps<T>::scratch() const {
  return chirp_ ? chirp_->scratch() : 0;
}

template <class T>
FourierParts<T> FourierSteps<T>::run(std::int64_t lanes, const T* re, const T* im, std::int64_t distance,
                                     FourierParts<T> a, FourierParts<T> b, std::byte* scratch) const {
  if (chirp_) {
    chirp_->run(re, im, distance, a, scratch);
    return a;
  }
  if (steps_.empty()) {
    std::copy_n(re, lanes, a.re);
    std::copy_n(im, lanes, a.im);
    return a;
  }
  const FourierKernels<T>& kernels = fourier_kernels_here<T>();
  for (const FourierStep<T>& s : steps_) {
    kernels.step(s, lanes, re, im, distance, a.re, a.im, 0);
    re = a.re, im = a.im, distance = lanes * s.stride * s.radix;
    std::swap(a, b);
  }
  return b;
}

template class FourierSteps<float>;
template class FourierSteps<double>;

template <class T>
FourierPlan<T>::FourierPlan(std::int64_t n) : steps_(n), lanes_(steps_.prime() ? 1 : signals_together<T>(n)) {}

template <class T>
std::size_t FourierPlan<T>::scratch() const {
  if (lanes_ > 1) return scratch_bytes<T>(4 * size() * lanes_);
  return steps_.prime() ? steps_.scratch() : scratch_bytes<T>(2 * size());
}

template <class T>
void FourierPlan<T>::transform_row(const T* re, std::int64_t re_stride, const T* im, std::int64_t im_stride,
                                   FourierParts<T> to, std::byte* memory) const {
  const std::int64_t n = size();
  FourierParts<T> first = to, second = to;
  if (!steps_.prime()) {
    T* work = Pieces(memory).take<T>(2 * n);
    second = {work, work + n};
    if (!steps_.ends_in_first()) std::swap(first, second);
  }
  if (re_stride != 1 || im_stride != 1) {
    for (std::int64_t j = 0; j < n; ++j) second.re[j] = re[j * re_stride], second.im[j] = im[j * im_stride];
    re = second.re, im = second.im;
  }
  steps_.run(1, re, im, 1, first, second, memory);
}

template <class T>
void FourierPlan<T>::transform(const FourierSignals<T>& re, const FourierSignals<T>& im, T* to_re, T* to_im,
                               std::byte* scratch) const {
  const std::int64_t n = size();
  if (as_rows(lanes_, re, im, n)) {
    for (std::int64_t l = 0; l < re.count; ++l) {
      const std::size_t at = l;
      transform_row(re.start[at], re.stride, im.start[at], im.stride, {to_re + l * n, to_im + l * n}, scratch);
    }
    return;
  }
  Pieces pieces(scratch);
  T* memory = pieces.take<T>(4 * n * lanes_);
  const FourierParts<T> a{memory, memory + n * lanes_}, b{memory + 2 * n * lanes_, memory + 3 * n * lanes_};
  const T *x = side_by_side(re), *y = side_by_side(im);
  const bool in_place = x && y && re.stride == im.stride;
  if (!in_place) {
    bring(re, n, b.re);
    bring(im, n, b.im);
  }
  const FourierParts<T> z = in_place ? steps_.run(lanes_, x, y, re.stride, a, b, nullptr)
                                     : steps_.run(lanes_, b.re, b.im, lanes_, a, b, nullptr);
  take_rows(n, re.count, z.re, to_re);
  take_rows(n, re.count, z.im, to_im);
}

template class FourierPlan<float>;
template class FourierPlan<double>;

template <class Plan>
std::shared_ptr<const Plan> fourier_plan(std::int64_t n) {
  static std::mutex& mutex = *new std::mutex;
  static auto& plans = *new std::map<std::int64_t, std::weak_ptr<const Plan>>;
  {
    std::lock_guard lock(mutex);
    if (auto it = plans.find(n); it != plans.end())
      if (auto plan = it->second.lock()) return plan;
  }
  auto plan = std::make_shared<const Plan>(n);
  std::lock_guard lock(mutex);
  std::erase_if(plans, [](const auto& entry) { return entry.second.expired(); });
  plans[n] = plan;
  return plan;
}
template std::shared_ptr<const FourierPlan<float>> fourier_plan(std::int64_t n);
template std::shared_ptr<const FourierPlan<double>> fourier_plan(std::int64_t n);
template std::shared_ptr<const RealFourierPlan<float>> fourier_plan(std::int64_t n);
template std::shared_ptr<const RealFourierPlan<double>> fourier_plan(std::int64_t n);

}  // namespace anew
