// Kernels of Fourier transforms with vectors of 16 bytes, for any machine.
#include "runtime/fourier_rows.h"

namespace anew {

template <>
const FourierKernels<float>* fourier_kernels<float, 16>() {
  return make_fourier_kernels<float, 16>();
}
template <>
const FourierKernels<double>* fourier_kernels<double, 16>() {
  return make_fourier_kernels<double, 16>();
}

}  // namespace anew
