// Discrete Fourier transforms along the last axis, as equations.
#pragma once
#include "trace/trace.h"

namespace anew {

Arrays bind_fft(const Array& re, const Array& im, const Location& at);
Arrays bind_rfft(const Array& x, const Location& at);
Array bind_irfft(const Array& re, const Array& im, std::int64_t n, const Location& at);

}  // namespace anew
