// Convolutions with JAX's names, defaults and options; 1 to 3 spatial dimensions and more.
#pragma once
#include <anew/array.h>

#include <string>

namespace anew {

// "SAME", "SAME_LOWER", "VALID", or (before, after) per spatial dimension.
class ConvPadding {
 public:
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  ConvPadding(const char* name);
  ConvPadding(const std::string& name);
  ConvPadding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> pairs);
  ConvPadding(Pairs pairs);
  ConvPadding(const ConvPadding&);
  ConvPadding(ConvPadding&&) noexcept;
  ConvPadding& operator=(const ConvPadding&);
  ConvPadding& operator=(ConvPadding&&) noexcept;
  ~ConvPadding();
  const std::string& name() const { return name_; }  // empty: pairs
  const Pairs& pairs() const { return pairs_; }

 private:
  std::string name_;
  Pairs pairs_;
};

// One letter per axis: N batch, C feature, O and I features of the kernel, anything else a spatial dimension, in the
// order of the kernel's. Empty: NC..., OI..., NC...
struct ConvDimensions {
  std::string lhs = {}, rhs = {}, out = {};
};
struct ConvOptions {
  Shape lhs_dilation = {}, rhs_dilation = {};  // empty: 1 everywhere
  ConvDimensions dimension_numbers = {};
  std::int64_t feature_group_count = 1, batch_group_count = 1;
  std::optional<DType> preferred_element_type = {};
};
Array conv_general_dilated(const ArrayLike& x, const ArrayLike& w, const Shape& strides, const ConvPadding& padding,
                           const ConvOptions& options = {});

// The convolution that undoes the shape of a strided one: x is spread out by the strides.
struct ConvTransposeOptions {
  Shape rhs_dilation = {};
  ConvDimensions dimension_numbers = {};  // empty: N...C, ...IO, N...C
  bool transpose_kernel = false;
};
Array conv_transpose(const ArrayLike& x, const ArrayLike& w, const Shape& strides, const ConvPadding& padding,
                     const ConvTransposeOptions& options = {});

// Of vectors, as NumPy's; mode is "full", "same" or "valid".
Array convolve(const ArrayLike& a, const ArrayLike& v, const std::string& mode = "full");
Array correlate(const ArrayLike& a, const ArrayLike& v, const std::string& mode = "valid");

namespace lax {
using anew::conv_general_dilated;
using anew::conv_transpose;
// What each place of the result sees, along its features: all places of the window for each feature of x.
Array conv_general_dilated_patches(const ArrayLike& x, const Shape& filter_shape, const Shape& strides,
                                   const ConvPadding& padding, const ConvOptions& options = {});
// A convolution with a kernel for each place of the result: w has its spatial axes, and one I for all of a patch.
Array conv_general_dilated_local(const ArrayLike& x, const ArrayLike& w, const Shape& strides,
                                 const ConvPadding& padding, const Shape& filter_shape,
                                 const ConvOptions& options = {});
}  // namespace lax
}  // namespace anew
