// conv_general_dilated: the one row of all convolutions, a product that packs through an index map. Bilinear; both
// cotangents are convolutions with changed dimension numbers: that of x dilates ct by the strides, that of w takes the
// batch for channels. The functions a user calls are in composed/convolutions.cpp.
#include "runtime/convolution.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include <limits>

#include "base/dtype.h"
#include "base/saturate.h"
#include "ops/batch.h"
#include "ops/conv_params.h"
#include "ops/elementwise.h"
#include "ops/rows.h"

namespace anew {
namespace {

const Primitive& conv_row();

// ---- axes that are merged and split. A dimension of groups * n elements is (group, element), row-major.

Shape with_axis(Shape shape, int axis, std::initializer_list<std::int64_t> sizes) {
  shape.erase(axis);
  for (std::int64_t n : sizes) shape.insert(axis++, n);
  return shape;
}
// The axis in front of all others goes into axis `dim` (counted without it), between its groups and their elements.
Array merge_front(const Array& x, int dim, std::int64_t groups) {
  const Shape shape = type_of(x).shape;
  const std::int64_t front = shape[0], size = shape[dim + 1];
  Shape parts = with_axis(shape, dim + 1, {groups, size / groups});
  Shape merged = shape;
  merged[dim + 1] = front * size;
  merged.erase(0);
  return reshape(move_axis(reshape(x, parts), 0, dim + 1), merged);
}
// The reverse: `count` elements between groups become an axis in front.
Array split_front(const Array& x, int dim, std::int64_t count, std::int64_t groups) {
  const Shape shape = type_of(x).shape;
  const std::int64_t size = shape[dim] / count;
  Shape result = shape;
  result[dim] = size;
  result.insert(0, count);
  return reshape(move_axis(reshape(x, with_axis(shape, dim, {groups, count, size / groups})), dim + 1, 0), result);
}

// ---- type

std::int64_t window_count(std::int64_t padded, std::int64_t window, std::int64_t stride) {
  return padded < window ? 0 : (padded - window) / stride + 1;
}

bool names_axes(std::vector<int> axes, int ndim) {
  std::sort(axes.begin(), axes.end());
  return axes == axis_range(0, ndim);
}

// What a user may give as padding, stride or dilation: offsets made of these stay within i64.
constexpr std::int64_t furthest = std::numeric_limits<std::int32_t>::max();

Types infer_convolution(const ir::InferArgs& a) {
  constexpr std::string_view op = "conv_general_dilated";
  require_count(op, 2, a.in, a.at);
  const auto& p = a.params.as<ConvParams>();
  const Type &x = a.in[0], &w = a.in[1];
  auto refuse = [&](const std::string& what) { fail(op, a.at, what); };
  require(op, Accepts::numbers, x, a.at);
  const int ndim = x.shape.ndim(), spatial = ndim - 2;
  if (x.dtype != w.dtype || is_stored(x.dtype)) refuse(fmt::format("types do not fit: {} and {}", x.str(), w.str()));
  if (ndim < 2 || w.shape.ndim() != ndim || !names_axes(p.lhs(), ndim) || !names_axes(p.rhs(), ndim) ||
      !names_axes(p.out(), ndim))
    refuse(fmt::format("the dimension numbers do not fit {} and {}", x.str(), w.str()));
  if (p.window_strides.ndim() != spatial || p.lhs_dilation.ndim() != spatial || p.rhs_dilation.ndim() != spatial ||
      static_cast<int>(p.padding.size()) != spatial)
    refuse(fmt::format("strides, padding and dilations need one entry for each of {} spatial dimensions", spatial));
  for (const Shape* s : {&p.window_strides, &p.lhs_dilation, &p.rhs_dilation})
    for (std::int64_t n : *s)
      if (n < 1 || n > furthest)
        refuse(fmt::format("strides and dilations are at least 1{}, got {}", n < 1 ? "" : " and below 2^31", s->str()));
  const std::int64_t batch = x.shape[p.lhs()[0]], channels = x.shape[p.lhs()[1]], features = w.shape[p.rhs()[0]],
                     inner = w.shape[p.rhs()[1]], groups = p.feature_group_count, batches = p.batch_group_count;
  if (groups < 1 || batches < 1 || (groups > 1 && batches > 1))
    refuse(fmt::format("one of feature_group_count and batch_group_count may be more than 1, got {} and {}", groups,
                       batches));
  if (channels % groups != 0 || channels / groups != inner)
    refuse(fmt::format("{} has {} input features in {} groups, the kernel {} takes {}", x.str(), channels, groups,
                       w.str(), inner));
  if (features % groups != 0 || features % batches != 0)  // one of them is 1
    refuse(fmt::format("{} output features of {} do not divide into {} groups", features, w.str(), groups * batches));
  if (batch % batches != 0) refuse(fmt::format("a batch of {} does not divide into {} groups", batch, batches));
  Shape out = x.shape;
  out[p.out()[0]] = batch / batches;
  out[p.out()[1]] = features;
  for (int i = 0; i < spatial; ++i) {
    const auto s = static_cast<std::size_t>(i + 2);
    const auto [before, after] = p.padding[static_cast<std::size_t>(i)];
    if (saturating_abs(before) > furthest || saturating_abs(after) > furthest)
      refuse(fmt::format("padding ({}, {}) is too large", before, after));
    const std::int64_t padded =
        saturating_add(saturating_add(dilated(x.shape[p.lhs()[s]], p.lhs_dilation[i]), before), after);
    if (padded < 0) refuse(fmt::format("padding ({}, {}) removes more than there is of {}", before, after, x.str()));
    out[p.out()[s]] = window_count(padded, dilated(w.shape[p.rhs()[s]], p.rhs_dilation[i]), p.window_strides[i]);
  }
  return {{out, x.dtype}};
}

// ---- value

ConvShape conv_shape(const ConvParams& p, const ir::Memory& x, const ir::Memory& w, const ir::Memory& out) {
  const auto &l = p.lhs(), &r = p.rhs(), &o = p.out();
  ConvShape s;
  s.groups = p.feature_group_count * p.batch_group_count;
  s.batch = out.type.shape[o[0]];
  s.channels = w.type.shape[r[1]];
  s.features = out.type.shape[o[1]] / s.groups;
  s.x_batch = x.strides[l[0]];
  s.x_channel = x.strides[l[1]];
  s.x_group = p.batch_group_count > 1 ? s.batch * s.x_batch : s.channels * s.x_channel;
  s.w_feature = w.strides[r[0]];
  s.w_channel = w.strides[r[1]];
  s.w_group = s.features * s.w_feature;
  s.out_batch = out.strides[o[0]];
  s.out_feature = out.strides[o[1]];
  s.out_group = s.features * s.out_feature;
  for (int i = 0; i < p.spatial(); ++i) {
    const auto d = static_cast<std::size_t>(i + 2);
    s.spatial.push_back({out.type.shape[o[d]], w.type.shape[r[d]], x.type.shape[l[d]], p.window_strides[i],
                         p.padding[static_cast<std::size_t>(i)].first, p.lhs_dilation[i], p.rhs_dilation[i],
                         x.strides[l[d]], w.strides[r[d]], out.strides[o[d]]});
  }
  return s;
}

// ---- derivatives

std::vector<int> swapped(std::vector<int> axes) {
  std::swap(axes[0], axes[1]);
  return axes;
}

struct Sizes {
  std::int64_t x, w, out;  // dilated
  std::int64_t before;
};
Sizes sizes_of(const ConvParams& p, int i, const Shape& x, const Shape& w, const Shape& out) {
  const auto d = static_cast<std::size_t>(i + 2);
  return {dilated(x[p.lhs()[d]], p.lhs_dilation[i]), dilated(w[p.rhs()[d]], p.rhs_dilation[i]),
          dilated(out[p.out()[d]], p.window_strides[i]), p.padding[static_cast<std::size_t>(i)].first};
}

// ct, dilated by the strides, against the reversed kernel with its features exchanged.
Array x_cotangent(const ConvParams& p, const Array& ct, const Type& x, Array w) {
  ConvParams q = p;
  const Shape w_shape = type_of(w).shape;
  const std::int64_t groups = p.feature_group_count * p.batch_group_count;
  for (int i = 0; i < p.spatial(); ++i) {
    const Sizes s = sizes_of(p, i, x.shape, w_shape, type_of(ct).shape);
    const std::int64_t before = s.w - s.before - 1;
    q.padding[static_cast<std::size_t>(i)] = {before, s.x + s.w - 1 - s.out - before};
  }
  if (groups > 1) w = merge_front(split_front(w, p.rhs()[0], groups, 1), p.rhs()[1], 1);
  q.dimension_numbers = {p.out(), swapped(p.rhs()), p.lhs()};
  q.window_strides = p.lhs_dilation;
  q.lhs_dilation = p.window_strides;
  q.feature_group_count = groups;
  q.batch_group_count = 1;
  Array y = bind_convolution(ct, lax::rev(w, std::vector<int>(p.rhs().begin() + 2, p.rhs().end())), q);
  if (p.batch_group_count > 1) y = merge_front(split_front(y, p.lhs()[1], groups, 1), p.lhs()[0], 1);
  return y;
}

// x against ct, dilated by the strides: the batch is summed over, input features are the batch.
Array w_cotangent(const ConvParams& p, const Array& ct, const Array& x, const Type& w) {
  ConvParams q = p;
  for (int i = 0; i < p.spatial(); ++i) {
    const Sizes s = sizes_of(p, i, type_of(x).shape, w.shape, type_of(ct).shape);
    q.padding[static_cast<std::size_t>(i)] = {s.before, s.out + s.w - s.x - s.before - 1};
  }
  q.dimension_numbers = {swapped(p.lhs()), swapped(p.out()), swapped(p.rhs())};
  q.window_strides = p.rhs_dilation;
  q.rhs_dilation = p.window_strides;
  std::swap(q.feature_group_count, q.batch_group_count);
  return bind_convolution(x, ct, q);
}

// ---- vmap: the mapped axis joins the batch, the output features or, with both operands mapped, the groups.
ir::Batched batch_convolution(const ir::BatchArgs& a) {
  ConvParams p = a.params->as<ConvParams>();
  const std::int64_t groups = p.feature_group_count, batches = p.batch_group_count;
  const int x_batch = p.lhs()[0], x_feature = p.lhs()[1], w_feature = p.rhs()[0], y_batch = p.out()[0],
            y_feature = p.out()[1];
  if (!a.mapped[1])
    return {{split_front(bind_convolution(merge_front(a.x[0], x_batch, batches), a.x[1], p), y_batch, a.size, 1)}};
  if (!a.mapped[0])
    return {{split_front(bind_convolution(a.x[0], merge_front(a.x[1], w_feature, groups * batches), p), y_feature,
                         a.size, groups * batches)}};
  if (a.size == 0) {  // no groups at all: nothing to compute, in the shape of nothing
    Types one;
    for (const Array& operand : a.x) {
      one.push_back(type_of(operand));
      one.back().shape.erase(0);
    }
    const Type y = infer_convolution({p, one, a.at})[0];
    return {{zeros(with_front(0, y.shape), y.dtype)}};
  }
  Array x = merge_front(a.x[0], batches > 1 ? x_batch : x_feature, 1), w = merge_front(a.x[1], w_feature, 1);
  (batches > 1 ? p.batch_group_count : p.feature_group_count) *= a.size;
  return {{split_front(bind_convolution(x, w, p), y_feature, a.size, 1)}};
}

// ---- the row

ConvParams plain_params(int spatial) {
  ConvParams p;
  for (int i = 0; i < spatial; ++i) {
    p.window_strides.push_back(1);
    p.lhs_dilation.push_back(1);
    p.rhs_dilation.push_back(1);
    p.padding.emplace_back(0, 0);
  }
  const std::vector<int> axes = axis_range(0, spatial + 2);
  p.dimension_numbers = {axes, axes, axes};
  return p;
}

std::vector<ir::Sample> conv_samples() {
  std::vector<ir::Sample> out;
  for (DType t : {f32, f64}) {
    auto add = [&](Shape x, Shape w, const ConvParams& p) { out.push_back({make_params(p), {{{x, t}}, {{w, t}}}}); };
    const ConvParams line = plain_params(1), plane = plain_params(2);
    add({2, 3}, {4, 3}, plain_params(0));
    add({2, 3, 5}, {4, 3, 2}, line);
    add({0, 3, 5}, {4, 3, 2}, line);
    add({2, 3, 1}, {4, 3, 2}, line);  // no window fits
    ConvParams p = line;              // NHC, HIO
    p.dimension_numbers = {{0, 2, 1}, {2, 1, 0}, {0, 2, 1}};
    p.window_strides = {2};
    p.padding = {{1, 2}};
    add({2, 6, 3}, {3, 3, 2}, p);
    p = line;
    p.lhs_dilation = {2};
    p.rhs_dilation = {2};
    p.padding = {{2, -1}};
    add({1, 2, 4}, {3, 2, 2}, p);
    p = line;
    p.feature_group_count = 2;
    add({2, 4, 4}, {6, 2, 2}, p);
    p = line;
    p.batch_group_count = 2;
    add({4, 2, 4}, {6, 2, 2}, p);
    p = plane;
    p.window_strides = {2, 1};
    p.padding = {{1, 0}, {0, 1}};
    add({2, 2, 4, 3}, {3, 2, 2, 2}, p);
    add({1, 2, 2, 3, 2}, {2, 2, 1, 2, 2}, plain_params(3));
  }
  return out;
}

Primitive convolution_primitive() {
  Primitive p;
  p.name = "conv_general_dilated";
  p.parse = &ConvParams::parse;
  p.infer = infer_convolution;
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type> out) {
    const auto& q = params.as<ConvParams>();
    auto call = [q](std::span<const ir::Memory> x, std::span<const ir::Memory> y, std::byte* scratch) {
      convolution(x[0].type.dtype, conv_shape(q, x[0], x[1], y[0]), x[0].data, x[1].data, y[0].data, scratch);
    };
    auto shape = [q, x = in[0], w = in[1], y = out[0]](const ir::Strides& of_x, const ir::Strides& of_w) {
      return conv_shape(q, {nullptr, x, of_x}, {nullptr, w, of_w}, {nullptr, y, row_major(y.shape)});
    };
    auto scratch_of = [shape, dtype = in[0].dtype](std::span<const ir::Strides> strides) {
      const ConvScratch s = convolution_scratch(dtype, shape(strides[0], strides[1]));
      return ir::Scratch{s.bytes, s.optional};
    };
    const ConvShape dense = shape(row_major(in[0].shape), row_major(in[1].shape));
    return ir::Lowered{
        .kernels = {}, .call = call, .scratch = most_convolution_scratch(in[0].dtype, dense), .scratch_of = scratch_of};
  };
  p.jvp = [](const ir::JvpArgs& a) {
    const auto& q = a.params->as<ConvParams>();
    return Arrays{add_tangents(a.t[0].value() ? bind_convolution(a.t[0], a.x[1], q) : Array(),
                               a.t[1].value() ? bind_convolution(a.x[0], a.t[1], q) : Array())};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    const auto& q = a.params->as<ConvParams>();
    return Arrays{a.linear[0] ? x_cotangent(q, a.ct[0], a.in[0], a.x[1]) : Array(),
                  a.linear[1] ? w_cotangent(q, a.ct[0], a.x[0], a.in[1]) : Array()};
  };
  p.batch = batch_convolution;
  p.facts.linear_in = {0, 1}, p.facts.product = true;
  p.facts.batched_dot = [](const ir::Params&) { return true; };
  // An element of the result joins one filter, products with padding included.
  p.facts.flops = [](const ir::Params& params, std::span<const Type> in, std::span<const Type> out) {
    const double filters = static_cast<double>(in[1].shape[params.as<ConvParams>().rhs()[0]]);
    if (filters == 0) return 0.0;
    return 2 * static_cast<double>(out[0].shape.size()) * static_cast<double>(in[1].shape.size()) / filters;
  };
  p.samples = conv_samples;
  return p;
}

struct ConvRows : Family {
  const Primitive& conv_general_dilated = row(convolution_primitive());
};
const Primitive& conv_row() { return rows<ConvRows>().conv_general_dilated; }

}  // namespace

std::span<const ir::Primitive* const> convolution_rows() { return rows<ConvRows>().list(); }

Array bind_convolution(const Array& x, const Array& w, ConvParams p, const Location& at) {
  return bind1(conv_row(), make_params(std::move(p)), {x, w}, at);
}

}  // namespace anew
