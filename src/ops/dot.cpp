// dot_general: the one row of all matrix products. Bilinear; cotangents are products of the same kind with ct on the
// left, followed by a transpose where the axes come out in another order.
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"
#include "runtime/dot_general.h"

namespace anew {
namespace ops {

// A list of axes that prints in square brackets, as dimension numbers do.
struct AxisList : std::vector<int> {
  using std::vector<int>::vector;
  AxisList(std::vector<int> v) : std::vector<int>(std::move(v)) {}
};
ir::ParamValue to_param(const AxisList& v) {
  ir::ParamList list{{}, true};
  for (int a : v) list.items.push_back(ir::to_param(a));
  return {std::move(list)};
}
bool from_param(const ir::ParamValue& p, AxisList& v) { return ir::from_param(p, static_cast<std::vector<int>&>(v)); }

using AxisLists = std::pair<AxisList, AxisList>;

}  // namespace ops

namespace {

struct DotParams : ir::ParamsOf<DotParams> {
  DotParams() = default;
  DotParams(const lax::DotDimensions& d, DType out)
      : dimension_numbers{{d.lhs_contracting, d.rhs_contracting}, {d.lhs_batch, d.rhs_batch}},
        preferred_element_type(out) {}
  std::pair<ops::AxisLists, ops::AxisLists>
      dimension_numbers;  // ((contracting of lhs, of rhs), (batch of lhs, of rhs))
  DType preferred_element_type = f32;
  lax::DotDimensions dimensions() const {
    const auto& [contracting, batch] = dimension_numbers;
    return {contracting.first, contracting.second, batch.first, batch.second};
  }
  static auto fields() {
    return std::tuple{ir::field("dimension_numbers", &DotParams::dimension_numbers),
                      ir::field("preferred_element_type", &DotParams::preferred_element_type)};
  }
};

bool valid(const std::vector<int>& contracting, const std::vector<int>& batch, int ndim) {
  std::vector<int> all = joined(contracting, batch);
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) == all.end() &&
         (all.empty() || (all.front() >= 0 && all.back() < ndim));
}

Types infer_dot(const ir::InferArgs& a) {
  require_count("dot_general", 2, a.in, a.at);
  const auto& p = a.params.as<DotParams>();
  const lax::DotDimensions d = p.dimensions();
  const Type &x = a.in[0], &y = a.in[1];
  if (is_stored(x.dtype))
    fail("dot_general", a.at, fmt::format("does not multiply {}", x.str()),
         fmt::format("products are made in {}", name_of(computed_type(x.dtype))));
  if (x.dtype != y.dtype || x.dtype != p.preferred_element_type)
    fail("dot_general", a.at,
         fmt::format("types differ: {}, {}, result {}", x.str(), y.str(), name_of(p.preferred_element_type)));
  if (!valid(d.lhs_contracting, d.lhs_batch, x.shape.ndim()) ||
      !valid(d.rhs_contracting, d.rhs_batch, y.shape.ndim()) || d.lhs_contracting.size() != d.rhs_contracting.size() ||
      d.lhs_batch.size() != d.rhs_batch.size())
    fail("dot_general", a.at, fmt::format("the dimension numbers do not fit {} and {}", x.str(), y.str()));
  auto match = [&](std::string_view what, const std::vector<int>& l, const std::vector<int>& r) {
    for (std::size_t i = 0; i < l.size(); ++i)
      if (x.shape[l[i]] != y.shape[r[i]])
        fail("dot_general", a.at,
             fmt::format("{} dimensions differ: {} axis {} has {}, {} axis {} has {}", what, x.str(), l[i],
                         x.shape[l[i]], y.str(), r[i], y.shape[r[i]]));
  };
  match("contracting", d.lhs_contracting, d.rhs_contracting);
  match("batch", d.lhs_batch, d.rhs_batch);
  Shape out;
  for (int i : d.lhs_batch) out.push_back(x.shape[i]);
  for (int i : axes_without(x.shape.ndim(), d.lhs_contracting, d.lhs_batch)) out.push_back(x.shape[i]);
  for (int i : axes_without(y.shape.ndim(), d.rhs_contracting, d.rhs_batch)) out.push_back(y.shape[i]);
  return {{out, x.dtype}};
}

// The cotangent of operand x of x . y. `x_first`: whether x was the left one.
Array operand_cotangent(const Array& ct, const Type& x, const Array& y, const std::vector<int>& x_contract,
                        const std::vector<int>& y_contract, const std::vector<int>& x_batch,
                        const std::vector<int>& y_batch, bool x_first) {
  int y_ndim = type_of(y).shape.ndim(), batch = static_cast<int>(x_batch.size());
  std::vector<int> x_kept = axes_without(x.shape.ndim(), x_contract, x_batch),
                   y_kept = axes_without(y_ndim, y_contract, y_batch);
  int from = batch + (x_first ? static_cast<int>(x_kept.size()) : 0);
  lax::DotDimensions d{axis_range(from, from + static_cast<int>(y_kept.size())), y_kept, axis_range(0, batch), y_batch};
  Array product = lax::dot_general(ct, y, d);
  std::vector<int> order = joined(x_batch, x_kept);  // of the axes of x in the product
  for (int i : sorting(y_contract)) order.push_back(x_contract[static_cast<std::size_t>(i)]);
  return transpose(product, sorting(order));
}

// Both operands mapped: one more batch dimension, the first. One mapped: its axis is one more of its free ones, the
// first of them. An element of the result is the same sum over the same contracted axes either way.
ir::Batched batch_dot(const ir::BatchArgs& a) {
  lax::DotDimensions d = a.params->as<DotParams>().dimensions();
  const bool left = a.mapped[0], right = a.mapped[1];
  if (left) d.lhs_contracting = behind_front(d.lhs_contracting);
  if (right) d.rhs_contracting = behind_front(d.rhs_contracting);
  if (left) d.lhs_batch = right ? with_front(d.lhs_batch) : behind_front(d.lhs_batch);
  if (right) d.rhs_batch = left ? with_front(d.rhs_batch) : behind_front(d.rhs_batch);
  Array y = lax::dot_general(a.x[0], a.x[1], d);
  if (left && right) return {{y}};
  const int batch = static_cast<int>(d.lhs_batch.size());
  const int of_lhs = type_of(a.x[0]).shape.ndim() - batch - static_cast<int>(d.lhs_contracting.size());
  return {{move_axis(y, left ? batch : batch + of_lhs, 0)}};
}

// Along batch dimensions and, where there are some, free ones of lhs: one matrix alone had better be packed once.
ir::Lowered::Cuts cuts_of(const lax::DotDimensions& d, int lhs_ndim) {
  ir::Lowered::Cuts cuts;
  for (std::size_t i = 0; i < d.lhs_batch.size(); ++i) cuts.push_back({d.lhs_batch[i], d.rhs_batch[i]});
  if (!cuts.empty())
    for (int axis : axes_without(lhs_ndim, d.lhs_contracting, d.lhs_batch)) cuts.push_back({axis, -1});
  return cuts;
}

ir::Lowered lower_dot(const ir::Params& params, std::span<const Type> types, std::span<const Type>) {
  const lax::DotDimensions dims = params.as<DotParams>().dimensions();
  auto dot_dims = [](const lax::DotDimensions& d) {
    return DotDims{d.lhs_batch, d.rhs_batch, d.lhs_contracting, d.rhs_contracting};
  };
  auto tiled = [d = dims, dot_dims](std::span<const ir::Memory> in, std::span<const ir::Memory> out, std::byte* scratch,
                                    ProductEpilogue* epilogue) {
    dot_general(in[0].type.dtype, {in[0].data, in[0].type.shape, in[0].strides},
                {in[1].data, in[1].type.shape, in[1].strides}, dot_dims(d), out[0].data, scratch, &out[0].strides,
                epilogue);
  };
  auto call = [tiled](auto in, auto out, std::byte* scratch) { tiled(in, out, scratch, nullptr); };
  auto writes = [d = dims, dot_dims, lhs = types[0].shape, rhs = types[1].shape](const ir::Strides& out) {
    return dot_writes(lhs, rhs, dot_dims(d), out);
  };
  auto scratch_of = [d = dims, dot_dims, dtype = types[0].dtype, lhs = types[0].shape,
                     rhs = types[1].shape](std::span<const ir::Strides> in) {
    const std::size_t bytes = dot_scratch_of(dtype, {nullptr, lhs, in[0]}, {nullptr, rhs, in[1]}, dot_dims(d));
    return ir::Scratch{bytes, bytes == 0};
  };
  return ir::Lowered{.kernels = {},
                     .call = call,
                     .scratch = dot_scratch(types[0].dtype, types[0].shape, types[1].shape, dot_dims(dims)),
                     .scratch_of = scratch_of,
                     .writes = writes,
                     .tiled = tiled,
                     .cuts = cuts_of(dims, types[0].shape.ndim())};
}

Primitive dot_row() {
  Primitive p;
  p.name = "dot_general";
  p.parse = &DotParams::parse;
  p.infer = infer_dot;
  p.lower = lower_dot;
  p.jvp = [](const ir::JvpArgs& a) {
    const auto& q = a.params->as<DotParams>();
    Array s = a.t[0].value() ? lax::dot_general(a.t[0], a.x[1], q.dimensions()) : Array();
    Array t = a.t[1].value() ? lax::dot_general(a.x[0], a.t[1], q.dimensions()) : Array();
    return Arrays{add_tangents(s, t)};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    const lax::DotDimensions d = a.params->as<DotParams>().dimensions();
    Arrays out(2);
    if (a.linear[0])
      out[0] = operand_cotangent(a.ct[0], a.in[0], a.x[1], d.lhs_contracting, d.rhs_contracting, d.lhs_batch,
                                 d.rhs_batch, true);
    if (a.linear[1])
      out[1] = operand_cotangent(a.ct[0], a.in[1], a.x[0], d.rhs_contracting, d.lhs_contracting, d.rhs_batch,
                                 d.lhs_batch, false);
    return out;
  };
  p.batch = batch_dot;
  p.facts.linear_in = {0, 1}, p.facts.product = true;
  p.facts.batched_dot = [](const ir::Params& q) { return !q.as<DotParams>().dimensions().lhs_batch.empty(); };
  p.facts.flops = [](const ir::Params& params, std::span<const Type> in, std::span<const Type> out) {
    double products = static_cast<double>(out[0].shape.size());
    for (int axis : params.as<DotParams>().dimensions().lhs_contracting)
      products *= static_cast<double>(in[0].shape[axis]);
    return 2 * products;
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType t : {f32, f64}) {
      auto add = [&](Shape x, Shape y, lax::DotDimensions d) {
        out.push_back({make_params(DotParams(d, t)), {{{x, t}}, {{y, t}}}});
      };
      add({3}, {3}, {{0}, {0}});
      add({2, 3}, {3}, {{1}, {0}});
      add({2, 3}, {3, 4}, {{1}, {0}});
      add({}, {}, {});
      add({2}, {3}, {});
      add({2, 3, 4}, {4, 3}, {{2, 1}, {0, 1}});
      add({2, 3, 4}, {2, 4, 5}, {{2}, {1}, {0}, {0}});
      add({3, 2, 4}, {4, 2}, {{2}, {0}, {1}, {1}});
      add({2, 0}, {0, 3}, {{1}, {0}});
    }
    return out;
  };
  return p;
}

struct DotRows : Family {
  const Primitive& dot_general = row(dot_row());
};
}  // namespace

std::span<const ir::Primitive* const> dot_rows() { return rows<DotRows>().list(); }

namespace lax {
Array dot_general(const ArrayLike& a, const ArrayLike& b, const DotDimensions& dimensions,
                  std::optional<DType> preferred_element_type) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  std::array<Array, 2> both{a.value, b.value};
  DType d = preferred_element_type.value_or(common_dtype(both));
  if (is_stored(d)) {  // multiplied and added in a wider type, rounded once
    PinLine pin(a.at);
    return convert_element_type(dot_general(a, b, dimensions, computed_type(d)), d);
  }
  return bind1(rows<DotRows>().dot_general, std::make_shared<const DotParams>(dimensions, d),
               {coerce(a.value, d, a.at), coerce(b.value, d, a.at)}, a.at);
}
}  // namespace lax
}  // namespace anew
