// Kernels of Fourier transforms with vectors of 32 bytes, for AVX2 with FMA.
#if defined(__x86_64__)
#include "runtime/fourier_rows.h"

namespace anew {

template <>
const FourierKernels<float>* fourier_kernels<float, 32>() {
  return make_fourier_kernels<float, 32>();
}
template <>
const FourierKernels<double>* fourier_kernels<double, 32>() {
  return make_fourier_kernels<double, 32>();
}

}  // namespace anew
#endif
