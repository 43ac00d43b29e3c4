// Patches of a convolution, convolutions whose kernel differs from place to place, and products of groups of rows.
#include <anew/convolution.h>
#include <anew/lax.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>

#include "ops/promote.h"

namespace anew::lax {
namespace {

// The letters of one operand, where nothing is said: NC and the spatial axes, or OI and these.
std::string letters_of(const std::string& given, const char* first, int ndim) {
  if (!given.empty()) return given;
  std::string out = first;
  for (int i = 0; i < ndim - 2; ++i) out += static_cast<char>('0' + i);
  return out;
}

struct Letters {
  std::string lhs, rhs, out;
};
Letters letters(std::string_view op, const ConvDimensions& d, const Shape& x, const Shape& window, const Location& at) {
  if (x.ndim() < 3 || window.ndim() != x.ndim() - 2)
    fail(op, at,
         fmt::format("needs a batch with features and spatial axes, and a window of these, got {} and {}", x.str(),
                     window.str()));
  Letters l{letters_of(d.lhs, "NC", x.ndim()), letters_of(d.rhs, "OI", x.ndim()), letters_of(d.out, "NC", x.ndim())};
  auto has = [&](const std::string& s, const char* two) {
    return s.size() == static_cast<std::size_t>(x.ndim()) && s.find(two[0]) != s.npos && s.find(two[1]) != s.npos;
  };
  if (!has(l.lhs, "NC") || !has(l.rhs, "OI") || !has(l.out, "NC"))
    fail(op, at,
         fmt::format("dimension_numbers \"{}\", \"{}\", \"{}\" are not one letter per axis, with N and C, O and I",
                     l.lhs, l.rhs, l.out));
  return l;
}

}  // namespace

// By a kernel that is 1 at one place of the window, for each feature and place.
Array conv_general_dilated_patches(const ArrayLike& x, const Shape& filter_shape, const Shape& strides,
                                   const ConvPadding& padding, const ConvOptions& options) {
  constexpr std::string_view op = "conv_general_dilated_patches";
  Array a = float_array(x);
  const Letters l = letters(op, options.dimension_numbers, type_of(a).shape, filter_shape, x.at);
  if (options.feature_group_count != 1 || options.batch_group_count != 1)
    fail(op, x.at, "takes no feature_group_count and no batch_group_count");
  const std::int64_t features = type_of(a).shape[static_cast<int>(l.lhs.find('C'))], places = filter_shape.size();
  PinLine pin(x.at);
  Shape kernel = filter_shape;
  kernel.insert(0, 1);
  kernel.insert(0, features * places);
  Array w = reshape(broadcast_to(eye(places, type_of(a).dtype), {features, places, places}), kernel);
  w = moveaxis(w, Axes{0, 1}, Axes{static_cast<int>(l.rhs.find('O')), static_cast<int>(l.rhs.find('I'))});
  ConvOptions o = options;
  o.dimension_numbers = {l.lhs, l.rhs, l.out};
  o.feature_group_count = features;
  return conv_general_dilated(a, w, strides, padding, o);
}

Array conv_general_dilated_local(const ArrayLike& x, const ArrayLike& w, const Shape& strides,
                                 const ConvPadding& padding, const Shape& filter_shape, const ConvOptions& options) {
  constexpr std::string_view op = "conv_general_dilated_local";
  Array a = float_array(x), kernel = float_array(w);
  const Letters l = letters(op, options.dimension_numbers, type_of(a).shape, filter_shape, x.at);
  PinLine pin(x.at);
  Array patches = conv_general_dilated_patches(a, filter_shape, strides, padding, options);
  const Shape sp = type_of(patches).shape, sk = type_of(kernel).shape;
  // One batch axis per spatial letter, in the order of the result's.
  std::vector<int> of_patches, of_kernel;
  for (int i = 0; i < sp.ndim(); ++i) {
    const char c = l.out[static_cast<std::size_t>(i)];
    if (c == 'N' || c == 'C') continue;
    of_patches.push_back(i);
    of_kernel.push_back(static_cast<int>(l.rhs.find(c)));
  }
  const int c = static_cast<int>(l.out.find('C')), i = static_cast<int>(l.rhs.find('I'));
  bool fits = sk.ndim() == sp.ndim() && sk[i] == sp[c];
  for (std::size_t k = 0; fits && k < of_patches.size(); ++k) fits = sk[of_kernel[k]] == sp[of_patches[k]];
  if (!fits)
    fail(op, x.at,
         fmt::format("the kernel {} does not fit patches {}: it has one for each place of the result, of all features "
                     "of a patch",
                     sk.str(), sp.str()));
  Array y = dot_general(patches, kernel, {{c}, {i}, of_patches, of_kernel});  // spatial axes, N, O
  return moveaxis(y, Axes{-2, -1}, Axes{static_cast<int>(l.out.find('N')), c});
}

// Rows of a group are multiplied by the matrix of that group; rows behind the last group give zeros.
Array ragged_dot(const ArrayLike& a, const ArrayLike& b, const ArrayLike& group_sizes) {
  for (const ArrayLike* operand : {&a, &b, &group_sizes}) check_operand(operand->value, line_or(a.at));
  const DType dtype = common_dtype(Arrays{a.value, b.value});
  Array x = coerce(a.value, dtype, a.at), w = coerce(b.value, dtype, a.at);
  Array sizes = strong(group_sizes.value, line_or(a.at));
  const Type tx = type_of(x), tw = type_of(w), ts = type_of(sizes);
  if (tx.shape.ndim() != 2 || tw.shape.ndim() != 3 || ts.shape.ndim() != 1 || !is_integer(ts.dtype) ||
      tx.shape[1] != tw.shape[1] || tw.shape[0] != ts.shape[0])
    throw Error(
        fmt::format("[ragged_dot] needs rows (m, k), matrices (groups, k, n) and as many sizes of groups, got {}, "
                    "{} and {}",
                    tx.str(), tw.str(), ts.str()),
        line_or(a.at));
  PinLine pin(a.at);
  Array end = cumsum(sizes), row = expand_dims(astype(arange(tx.shape[0]), ts.dtype), 1);
  Array inside = (row < end) & (row >= end - sizes);  // (m, groups)
  Array y = zeros({tx.shape[0], tw.shape[2]}, dtype);
  for (std::int64_t g = 0; g < tw.shape[0]; ++g)
    y = y + matmul(where(inside[{anew::slice(), anew::slice(g, g + 1)}], x, 0), w[{g}]);
  return y;
}

}  // namespace anew::lax
