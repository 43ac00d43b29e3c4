// Convolutions that gather each element of x once: what the outputs of a tile see of x, padding and holes included, is
// copied to a dense box, and their sums run over windows of it (`window_product`). For layouts in which channels are
// neighbours (values, cotangents of inputs), or in which the rows of the output that are neighbours are neighbours in x
// too (gradients of weights). Invariant: the order of sums is that of convolution.h.
#pragma once
#include "runtime/convolution.h"
#include "runtime/product.h"

namespace anew {

// How rows and k are cut: a tile is a piece of each of the last three dimensions of rows, its box that of so many k.
struct WindowCut {
  std::int64_t third = 1, second = 1, line = 0;  // of output positions, as they lie in memory
  std::int64_t depth = 0;                        // of k
  bool possible() const { return line > 0; }
};
// The largest boxes that fit, and give so many threads something to do. Whether there are any for a kernel that tiles
// gather is said by shape.
WindowCut cut_windows(const ConvShape& shape, std::size_t element, int threads);

// `kernel` is the matrix (k, feature) of the first group, `kernel_group` leads to the next one; if its data is null,
// tiles gather it from w.
template <class T>
void convolve_windows(const ConvShape& shape, const WindowCut& cut, const T* x, const T* w, Matrix<T> kernel,
                      std::int64_t kernel_group, T* out);

}  // namespace anew
