// Discrete Fourier transforms of one length, f32 and f64: a plan holds the roots of unity and the order of the steps.
// Self-sorting steps of radix 8, 4, 2, 3, 5, 7 and other primes up to 61; a length with a larger prime is a convolution
// of powers of two (Bluestein). Real signals of even length are complex ones of half the length.
// Invariant: one fixed sequence of operations per length and point, on every machine, however many signals are
// transformed at once and however they lie in memory.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/fourier_kernels.h"
#include "runtime/workspace.h"

namespace anew {

// Up to fourier_lanes signals: element j of signal l is start[l][j * stride].
template <class T>
struct FourierSignals {
  std::array<const T*, fourier_lanes<T>> start;
  std::int64_t count, stride;
};

template <class T>
struct FourierParts {
  T *re, *im;
};

// What all plans are made of: the steps of one length, over signals that lie side by side.
template <class T>
class FourierSteps {
 public:
  explicit FourierSteps(std::int64_t n);
  ~FourierSteps();
  FourierSteps(const FourierSteps&) = delete;
  FourierSteps& operator=(const FourierSteps&) = delete;

  std::int64_t size() const { return n_; }
  // Point j of signal l is at j * distance + l; one signal only where the length has a large prime. The first step
  // writes to `a`, the next to `b` and so on; gives back which of them has the result.
  FourierParts<T> run(std::int64_t lanes, const T* re, const T* im, std::int64_t distance, FourierParts<T> a,
                      FourierParts<T> b, std::byte* scratch) const;
  bool ends_in_first() const { return chirp_ || steps_.empty() || steps_.size() % 2 == 1; }
  std::size_t scratch() const;
  bool prime() const { return chirp_ != nullptr; }

 private:
  struct Chirp;
  void add_step(int radix, std::int64_t parts, std::int64_t stride);

  std::int64_t n_;
  std::vector<FourierStep<T>> steps_;
  std::vector<std::vector<T>> factors_;          // of each step
  std::vector<std::vector<double>> unit_roots_;  // of each radix that is not known to the kernels: cos, then sin
  std::unique_ptr<Chirp> chirp_;
};

template <class T>
class FourierPlan {
 public:
  explicit FourierPlan(std::int64_t n);
  std::int64_t size() const { return steps_.size(); }
  // How many signals a call takes at most, and the bytes of scratch that it needs then.
  std::int64_t together() const { return lanes_; }
  std::size_t scratch() const;
  // z_k = sum over j of z_j exp(-2 pi i j k / n), each into a row of n elements; the operand is not changed. The
  // inverse, times n: with re and im exchanged.
  void transform(const FourierSignals<T>& re, const FourierSignals<T>& im, T* to_re, T* to_im,
                 std::byte* scratch) const;

 private:
  void transform_row(const T* re, std::int64_t re_stride, const T* im, std::int64_t im_stride, FourierParts<T> to,
                     std::byte* scratch) const;
  FourierSteps<T> steps_;
  std::int64_t lanes_;
};

// Transforms of real signals, to the n / 2 + 1 points that say it all, and back.
template <class T>
class RealFourierPlan {
 public:
  explicit RealFourierPlan(std::int64_t n);
  std::int64_t size() const { return n_; }
  std::int64_t together() const { return lanes_; }
  std::size_t scratch() const;
  // Into rows of n / 2 + 1 elements.
  void transform(const FourierSignals<T>& x, T* to_re, T* to_im, std::byte* scratch) const;
  // The inverse, into rows of n elements. What the mirror image would contradict is left out: imaginary parts of the
  // first point and, for even n, of the last.
  void inverse(const FourierSignals<T>& re, const FourierSignals<T>& im, T* to, std::byte* scratch) const;

 private:
  void transform_row(const T* x, std::int64_t stride, FourierParts<T> to, std::byte* scratch) const;
  void inverse_row(const T* re, std::int64_t re_stride, const T* im, std::int64_t im_stride, T* to,
                   std::byte* scratch) const;
  void transform_lanes(const FourierSignals<T>& x, T* to_re, T* to_im, std::byte* scratch) const;
  void inverse_lanes(const FourierSignals<T>& re, const FourierSignals<T>& im, T* to, std::byte* scratch) const;
  FourierParts<T> run_beside(const T* re, const T* im, FourierParts<T> a, Pieces pieces) const;
  std::int64_t points() const { return n_ / 2 + 1; }
  bool even() const { return n_ % 2 == 0; }

  std::int64_t n_;
  FourierSteps<T> steps_;  // of n / 2 points, or n where that is odd
  std::int64_t lanes_;
  std::vector<T> cos_, sin_;  // half of exp(-2 pi i k / n), for even n
};

// Plans are shared by all that hold them at the time.
template <class Plan>
std::shared_ptr<const Plan> fourier_plan(std::int64_t n);

}  // namespace anew
