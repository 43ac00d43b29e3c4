// Discrete Fourier transforms. There are no complex numbers here: what is complex is a pair (real part, imaginary part)
// of arrays of one shape. fft has no factor, ifft divides by the number of points, as in NumPy. A length n cuts the
// axis or fills it with zeros first.
#pragma once
#include <anew/array.h>

#include <utility>

namespace anew::fft {

using Complex = std::pair<Array, Array>;  // real, imaginary
using Lengths = OptionalShape;            // one per axis

Complex fft(const ArrayLike& re, const ArrayLike& im, std::optional<std::int64_t> n = {}, int axis = -1);
Complex ifft(const ArrayLike& re, const ArrayLike& im, std::optional<std::int64_t> n = {}, int axis = -1);
// Of real numbers: the first n / 2 + 1 of the n results, the others being their mirror image.
Complex rfft(const ArrayLike& x, std::optional<std::int64_t> n = {}, int axis = -1);
// Back to n real numbers; without n: twice the size less 2. Imaginary parts that a real signal cannot have are ignored.
Array irfft(const ArrayLike& re, const ArrayLike& im, std::optional<std::int64_t> n = {}, int axis = -1);

// Along several axes, {} being all of them; the real ones treat the last axis of the list as above.
Complex fftn(const ArrayLike& re, const ArrayLike& im, const Lengths& s = {}, const Axes& axes = {});
Complex ifftn(const ArrayLike& re, const ArrayLike& im, const Lengths& s = {}, const Axes& axes = {});
Complex rfftn(const ArrayLike& x, const Lengths& s = {}, const Axes& axes = {});
Array irfftn(const ArrayLike& re, const ArrayLike& im, const Lengths& s = {}, const Axes& axes = {});
Complex fft2(const ArrayLike& re, const ArrayLike& im, const Lengths& s = {}, const Axes& axes = {-2, -1});
Complex ifft2(const ArrayLike& re, const ArrayLike& im, const Lengths& s = {}, const Axes& axes = {-2, -1});
Complex rfft2(const ArrayLike& x, const Lengths& s = {}, const Axes& axes = {-2, -1});
Array irfft2(const ArrayLike& re, const ArrayLike& im, const Lengths& s = {}, const Axes& axes = {-2, -1});
// Of a signal whose transform is real: the first half of it, n numbers of its transform, and back.
Array hfft(const ArrayLike& re, const ArrayLike& im, std::optional<std::int64_t> n = {}, int axis = -1);
Complex ihfft(const ArrayLike& x, std::optional<std::int64_t> n = {}, int axis = -1);

// The frequencies of the results, in cycles per unit of the sample spacing d; and zero frequency in the middle.
Array fftfreq(std::int64_t n, double d = 1.0, DType dtype = default_float(), const Location& at = Location::current());
Array rfftfreq(std::int64_t n, double d = 1.0, DType dtype = default_float(), const Location& at = Location::current());
Array fftshift(const ArrayLike& x, const Axes& axes = {});
Array ifftshift(const ArrayLike& x, const Axes& axes = {});

}  // namespace anew::fft
