// Real signals: those of even length as complex ones of half the length, of even and odd elements.
#include "runtime/fourier_signals.h"

namespace anew {

template <class T>
RealFourierPlan<T>::RealFourierPlan(std::int64_t n)
    : n_(n), steps_(n % 2 == 0 ? n / 2 : n), lanes_(steps_.prime() ? 1 : signals_together<T>(even() ? points() : n)) {
  for (std::int64_t k = 0; even() && k <= n / 4; ++k) {
    const auto [c, s] = root_of_unity(k, n);
    cos_.push_back(static_cast<T>(0.5 * c));
    sin_.push_back(static_cast<T>(-0.5 * s));
  }
}

// Two complex signals of so many points; where signals are alone, an even length needs one beside the result.
template <class T>
std::size_t RealFourierPlan<T>::scratch() const {
  if (lanes_ > 1) return scratch_bytes<T>(4 * lanes_ * (even() ? points() : n_));
  const std::size_t complex_signals = even() || steps_.prime() ? 1 : 2;
  return complex_signals * scratch_bytes<T>(2 * steps_.size()) + steps_.scratch();
}

template <class T>
void RealFourierPlan<T>::transform(const FourierSignals<T>& x, T* to_re, T* to_im, std::byte* scratch) const {
  if (!as_rows(lanes_, x, x, steps_.size())) return transform_lanes(x, to_re, to_im, scratch);
  for (std::int64_t l = 0; l < x.count; ++l)
    transform_row(x.start[static_cast<std::size_t>(l)], x.stride, {to_re + l * points(), to_im + l * points()},
                  scratch);
}

template <class T>
void RealFourierPlan<T>::inverse(const FourierSignals<T>& re, const FourierSignals<T>& im, T* to,
                                 std::byte* scratch) const {
  if (!as_rows(lanes_, re, im, steps_.size())) return inverse_lanes(re, im, to, scratch);
  for (std::int64_t l = 0; l < re.count; ++l) {
    const std::size_t at = l;
    inverse_row(re.start[at], re.stride, im.start[at], im.stride, to + l * n_, scratch);
  }
}

// One complex signal in `a`, which a convolution may overwrite, and steps need another one beside.
template <class T>
FourierParts<T> RealFourierPlan<T>::run_beside(const T* re, const T* im, FourierParts<T> a, Pieces pieces) const {
  if (steps_.prime()) return steps_.run(1, re, im, 1, a, a, pieces.take<std::byte>(0));
  const std::int64_t m = steps_.size();
  T* more = pieces.take<T>(2 * m);
  return steps_.run(1, re, im, 1, {more, more + m}, a, nullptr);
}

template <class T>
void RealFourierPlan<T>::transform_row(const T* x, std::int64_t stride, FourierParts<T> to, std::byte* memory) const {
  const std::int64_t m = steps_.size();
  Pieces pieces(memory);
  T* work = pieces.take<T>(2 * m);
  const FourierParts<T> a{work, work + m};
  if (even()) {
    const auto [first, second] = steps_.ends_in_first() ? std::pair(to, a) : std::pair(a, to);
    if (stride == 1) fourier_kernels_here<T>().split(m, x, second.re, second.im);
    else
      for (std::int64_t j = 0; j < m; ++j) second.re[j] = x[2 * j * stride], second.im[j] = x[(2 * j + 1) * stride];
    steps_.run(1, second.re, second.im, 1, first, second, pieces.take<std::byte>(0));
    return fourier_kernels_here<T>().unfold(m, 1, cos_.data(), sin_.data(), to.re, to.im);
  }
  for (std::int64_t j = 0; j < m; ++j) a.re[j] = x[j * stride], a.im[j] = 0;
  const FourierParts<T> z = run_beside(a.re, a.im, a, pieces);
  std::copy_n(z.re, points(), to.re);
  std::copy_n(z.im, points(), to.im);
}

template <class T>
void RealFourierPlan<T>::inverse_row(const T* re, std::int64_t re_stride, const T* im, std::int64_t im_stride, T* to,
                                     std::byte* memory) const {
  const std::int64_t m = steps_.size();
  Pieces pieces(memory);
  T* work = pieces.take<T>(2 * m);
  const FourierParts<T> a{work, work + m};
  const T scale = T(1) / static_cast<T>(m);
  if (even()) {
    const FourierParts<T> b{to, to + m};
    const auto [first, second] = steps_.ends_in_first() ? std::pair(a, b) : std::pair(b, a);
    fourier_kernels_here<T>().fold(m, 1, cos_.data(), sin_.data(), re, re_stride, im, im_stride, second.re, second.im);
    // With parts exchanged, there and back.
    steps_.run(1, second.im, second.re, 1, first, second, pieces.take<std::byte>(0));
    return fourier_kernels_here<T>().join(m, a.im, a.re, scale, to);
  }
  for (std::int64_t k = 0; k < points(); ++k) a.re[k] = re[k * re_stride], a.im[k] = im[k * im_stride];
  a.im[0] = 0;
  for (std::int64_t k = points(); k < m; ++k) a.re[k] = a.re[m - k], a.im[k] = -a.im[m - k];
  const FourierParts<T> z = run_beside(a.im, a.re, a, pieces);
  for (std::int64_t j = 0; j < m; ++j) to[j] = z.im[j] * scale;
}

template <class T>
void RealFourierPlan<T>::transform_lanes(const FourierSignals<T>& x, T* to_re, T* to_im, std::byte* memory) const {
  const std::int64_t lanes = lanes_, m = steps_.size(), size = lanes * (even() ? points() : n_);
  T* all = Pieces(memory).take<T>(4 * size);
  const FourierParts<T> a{all, all + size}, b{all + 2 * size, all + 3 * size};
  FourierParts<T> z;
  if (even()) {  // rows of `stage` in turn are real and imaginary parts
    T* stage = b.re;
    const T* from = side_by_side(x);
    if (!from) bring(x, n_, stage);
    const std::int64_t distance = from ? x.stride : lanes;
    const T* start = from ? from : stage;
    z = steps_.run(lanes, start, start + distance, 2 * distance, a, b, nullptr);
    fourier_kernels_here<T>().unfold(m, lanes, cos_.data(), sin_.data(), z.re, z.im);
  } else {
    bring(x, n_, b.re);
    std::fill_n(b.im, size, T(0));
    z = steps_.run(lanes, b.re, b.im, lanes, a, b, nullptr);
  }
  take_rows(points(), x.count, z.re, to_re);
  take_rows(points(), x.count, z.im, to_im);
}

template <class T>
void RealFourierPlan<T>::inverse_lanes(const FourierSignals<T>& re, const FourierSignals<T>& im, T* to,
                                       std::byte* memory) const {
  const std::int64_t lanes = lanes_, m = steps_.size(), size = lanes * (even() ? points() : n_);
  T* all = Pieces(memory).take<T>(4 * size);
  const FourierParts<T> a{all, all + size}, b{all + 2 * size, all + 3 * size};
  const T scale = T(1) / static_cast<T>(m);
  const T *x = side_by_side(re), *y = side_by_side(im);
  const bool in_place = x && y;
  if (!in_place || !even()) {
    bring(re, points(), b.re);
    bring(im, points(), b.im);
  }
  if (even()) {
    const FourierKernels<T>& kernels = fourier_kernels_here<T>();
    if (in_place) kernels.fold(m, lanes, cos_.data(), sin_.data(), x, re.stride, y, im.stride, a.re, a.im);
    else kernels.fold(m, lanes, cos_.data(), sin_.data(), b.re, lanes, b.im, lanes, a.re, a.im);
    const FourierParts<T> z = steps_.run(lanes, a.im, a.re, lanes, b, a, nullptr);
    return take_rows(n_, re.count, z.im, z.re, lanes, scale, to);
  }
  std::fill_n(b.im, lanes, T(0));
  for (std::int64_t k = points(); k < m; ++k)
    for (std::int64_t l = 0; l < lanes; ++l) {
      b.re[k * lanes + l] = b.re[(m - k) * lanes + l];
      b.im[k * lanes + l] = -b.im[(m - k) * lanes + l];
    }
  const FourierParts<T> z = steps_.run(lanes, b.im, b.re, lanes, a, b, nullptr);
  take_rows(n_, re.count, z.im, z.im + lanes, 2 * lanes, scale, to);
}

template class RealFourierPlan<float>;
template class RealFourierPlan<double>;

}  // namespace anew
