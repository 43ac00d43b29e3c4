// Discrete Fourier transforms of one length, f32 and f64: a plan holds the roots of unity and the order of the steps.
// Self-sorting steps of radix 4, 2, 3, 5 and other primes up to 61; a length with a larger prime is a convolution of
// powers of two (Bluestein), in f64. Invariant: one fixed sequence of operations per length, on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace anew {

template <class T>
class FourierPlan {
 public:
  explicit FourierPlan(std::int64_t n);
  ~FourierPlan();
  FourierPlan(const FourierPlan&) = delete;
  FourierPlan& operator=(const FourierPlan&) = delete;

  std::int64_t size() const { return n_; }
  // z_k = sum over j of z_j exp(-2 pi i j k / n), in place. The inverse, times n: with re and im exchanged.
  void transform(T* re, T* im, std::byte* scratch) const;
  std::size_t scratch() const;  // bytes

 private:
  struct Chirp;
  std::int64_t n_;
  std::vector<int> radices_;
  std::vector<T> cos_, sin_;  // exp(-2 pi i k / n)
  std::unique_ptr<Chirp> chirp_;
};

}  // namespace anew
