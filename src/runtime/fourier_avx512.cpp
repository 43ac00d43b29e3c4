// Kernels of Fourier transforms with vectors of 64 bytes. Compiled for x86-64-v4.
#include "runtime/fourier_rows.h"

namespace anew {

template <>
const FourierKernels<float>* fourier_kernels<float, 64>() {
  return make_fourier_kernels<float, 64>();
}
template <>
const FourierKernels<double>* fourier_kernels<double, 64>() {
  return make_fourier_kernels<double, 64>();
}

}  // namespace anew
