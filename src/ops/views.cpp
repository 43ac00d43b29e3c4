// Rows that move elements without changing them, all of them views: broadcast_in_dim, reshape, transpose, squeeze,
// slice, rev. All are linear: the tangent is the same operation, the cotangent the inverse one. Also iota, which has
// no operands.
#include <anew/ops.h>
#include <fmt/format.h>

#include "base/size.h"
#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"
#include "ops/view_params.h"

namespace anew {
namespace {

struct DimensionsParams : ir::ParamsOf<DimensionsParams> {  // of squeeze and rev
  explicit DimensionsParams(std::vector<int> d = {}) : dimensions(std::move(d)) {}
  std::vector<int> dimensions;
  static auto fields() { return std::tuple{ir::field("dimensions", &DimensionsParams::dimensions)}; }
};
struct IotaParams : ir::ParamsOf<IotaParams> {
  explicit IotaParams(int dimension = 0, DType dtype = i32, Shape shape = {})
      : dimension(dimension), dtype(dtype), shape(shape) {}
  int dimension;
  DType dtype;
  Shape shape;
  static auto fields() {
    return std::tuple{ir::field("dimension", &IotaParams::dimension), ir::field("dtype", &IotaParams::dtype),
                      ir::field("shape", &IotaParams::shape)};
  }
};

void check_dimensions(std::string_view op, const DimensionsParams& q, const Type& in, const Location& at) {
  for (auto d = q.dimensions.begin(); d != q.dimensions.end(); ++d) {
    if (*d < 0 || *d >= in.shape.ndim())
      throw Error(fmt::format("[{}] axis {} is out of range for {}", op, *d, in.str()), at);
    if (std::find(q.dimensions.begin(), d, *d) != d)
      throw Error(fmt::format("[{}] axis {} of {} is given twice", op, *d, in.str()), at);
  }
}

// A view of one operand with this output shape.
template <class P>
Primitive view_row(std::string name, Shape (*shape)(const P&, const Type&, const Location&)) {
  Primitive p;
  p.name = std::move(name);
  p.parse = &P::parse;
  p.infer = [op = p.name, shape](const ir::InferArgs& a) {
    require_count(op, 1, a.in, a.at);
    return Types{{shape(a.params.as<P>(), a.in[0], line_or(a.at)), a.in[0].dtype}};
  };
  p.facts.linear_in = {0};
  p.facts.shows_operand = true;
  return p;
}
// The tangent goes the way of the primal.
void same_for_tangent(Primitive& p, const Primitive& (*self)()) {
  p.jvp = [self](const ir::JvpArgs& a) { return Arrays{bind1(self(), a.params, {a.t[0]}, Location::current())}; };
}
std::vector<ir::Sample> samples_of(std::initializer_list<std::pair<Shape, ParamsRef>> list) {
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64})
    for (const auto& [shape, params] : list) out.push_back({params, {{{shape, d}}}});
  return out;
}

struct ShapeRows;

Primitive broadcasting();
Primitive reshaping();
Primitive transposition();
Primitive squeezing();
Primitive slicing();
Primitive reversal();
Primitive counting();

// The same views behind one more axis of this size in front.
BroadcastParams broadcast_behind(BroadcastParams p, std::int64_t size) {
  return BroadcastParams(with_front(p.broadcast_dimensions), with_front(size, p.shape));
}
ReshapeParams reshape_behind(ReshapeParams p, std::int64_t size) {
  return ReshapeParams(with_front(size, p.new_sizes));
}
TransposeParams transpose_behind(TransposeParams p, std::int64_t) { return TransposeParams(with_front(p.permutation)); }
DimensionsParams dimensions_behind(DimensionsParams p, std::int64_t) {
  return DimensionsParams(behind_front(p.dimensions));
}
SliceParams slice_behind(SliceParams p, std::int64_t size) {
  std::optional<Shape> strides = p.strides;
  if (strides) strides->insert(0, 1);
  SliceParams q(with_front(0, p.start_indices), with_front(size, p.limit_indices), strides);
  q.part = p.part;
  return q;
}

struct ShapeRows : Family {
  const Primitive& broadcast_in_dim = row(broadcasting(), broadcast_behind);
  const Primitive& reshape = row(reshaping(), reshape_behind);
  const Primitive& transpose = row(transposition(), transpose_behind);
  const Primitive& squeeze = row(squeezing(), dimensions_behind);
  const Primitive& slice = row(slicing(), slice_behind);
  const Primitive& rev = row(reversal(), dimensions_behind);
  const Primitive& iota = row(counting());
};

Shape broadcast_shape(const BroadcastParams& p, const Type& in, const Location& at) {
  auto refuse = [&] {
    std::string dims;
    for (int d : p.broadcast_dimensions) dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d);
    fail("broadcast_in_dim", at,
         fmt::format("{} does not broadcast to shape {} along dimensions ({})", in.str(), p.shape.str(), dims));
  };
  if (static_cast<int>(p.broadcast_dimensions.size()) != in.shape.ndim()) refuse();
  int last = -1;
  for (int i = 0; i < in.shape.ndim(); ++i) {
    int d = p.broadcast_dimensions[static_cast<std::size_t>(i)];
    if (d <= last || d >= p.shape.ndim() || (in.shape[i] != 1 && in.shape[i] != p.shape[d])) refuse();
    last = d;
  }
  return p.shape;
}

Primitive broadcasting() {
  Primitive p = view_row<BroadcastParams>("broadcast_in_dim", broadcast_shape);
  p.view = [](const ir::Params& params, const Type& in, const ir::Strides& strides, const Type& out) {
    const auto& dims = params.as<BroadcastParams>().broadcast_dimensions;
    ir::View v;
    for (int i = 0; i < out.shape.ndim(); ++i) v.strides.push_back(0);
    for (int i = 0; i < in.shape.ndim(); ++i)
      if (in.shape[i] != 1) v.strides[dims[static_cast<std::size_t>(i)]] = strides[i];
    return std::optional(v);
  };
  same_for_tangent(p, []() -> const Primitive& { return rows<ShapeRows>().broadcast_in_dim; });
  p.transpose = [](const ir::TransposeArgs& a) {
    const auto& q = a.params->as<BroadcastParams>();
    const Shape& in = a.in[0].shape;
    std::vector<int> summed = axes_without(q.shape.ndim(), q.broadcast_dimensions), kept;
    for (int i = 0; i < in.ndim(); ++i) {
      int d = q.broadcast_dimensions[static_cast<std::size_t>(i)];
      if (in[i] == 1 && q.shape[d] != 1) summed.push_back(d);
      else kept.push_back(i);
    }
    Array ct = summed.empty() ? a.ct[0] : sum(a.ct[0], summed);
    return Arrays{kept.size() == static_cast<std::size_t>(in.ndim()) ? ct : lax::broadcast_in_dim(ct, in, kept)};
  };
  p.samples = [] {
    auto to = [](std::vector<int> d, Shape s) { return make_params(BroadcastParams(std::move(d), s)); };
    return samples_of({{{}, to({}, {2, 3})},
                       {{}, to({}, {})},
                       {{3}, to({1}, {2, 3})},
                       {{2}, to({0}, {2, 3})},
                       {{2, 1}, to({0, 1}, {2, 3})},
                       {{2, 1}, to({0, 2}, {2, 4, 3})},
                       {{3}, to({0}, {3, 1})},
                       {{0}, to({1}, {2, 0})},
                       {{1}, to({0}, {0})}});
  };
  return p;
}

Primitive reshaping() {
  Primitive p = view_row<ReshapeParams>("reshape", [](const ReshapeParams& q, const Type& in, const Location& at) {
    const bool exists = checked_bytes(q.new_sizes, in.dtype).has_value();
    if (!exists || q.new_sizes.size() != in.shape.size())
      throw Error(
          fmt::format("[reshape] {} has {} elements, shape {} has {}", in.str(), in.shape.size(), q.new_sizes.str(),
                      exists ? std::to_string(q.new_sizes.size()) : "too many or a negative size"),
          at);
    return q.new_sizes;
  });
  // Groups of old axes become groups of new ones of the same size; an old group must be one run of elements.
  p.view = [](const ir::Params&, const Type& in, const ir::Strides& strides,
              const Type& out) -> std::optional<ir::View> {
    ir::View v{0, row_major(out.shape)};
    if (in.shape.size() == 0) return v;
    Shape old, step;
    for (int i = 0; i < in.shape.ndim(); ++i)
      if (in.shape[i] != 1) old.push_back(in.shape[i]), step.push_back(strides[i]);
    for (int i = 0, o = 0; i < old.ndim();) {
      int first = i, from = o;
      std::int64_t have = old[i++], want = out.shape[o++];
      while (have != want)
        if (want < have) want *= out.shape[o++];
        else have *= old[i++];
      for (int k = first; k + 1 < i; ++k)
        if (step[k] != old[k + 1] * step[k + 1]) return std::nullopt;
      v.strides[o - 1] = step[i - 1];
      for (int k = o - 1; k > from; --k) v.strides[k - 1] = v.strides[k] * out.shape[k];
    }
    return v;
  };
  same_for_tangent(p, []() -> const Primitive& { return rows<ShapeRows>().reshape; });
  p.transpose = [](const ir::TransposeArgs& a) { return Arrays{anew::reshape(a.ct[0], a.in[0].shape)}; };
  p.samples = [] {
    auto to = [](Shape s) { return make_params(ReshapeParams(s)); };
    return samples_of({{{2, 6}, to({3, 4})},
                       {{2, 3}, to({6})},
                       {{1}, to({})},
                       {{}, to({1, 1})},
                       {{0, 3}, to({0})},
                       {{2, 1, 3}, to({1, 2, 3, 1})}});
  };
  return p;
}

Primitive transposition() {
  Primitive p =
      view_row<TransposeParams>("transpose", [](const TransposeParams& q, const Type& in, const Location& at) {
        Shape out;
        std::vector<int> sorted = q.permutation;
        std::sort(sorted.begin(), sorted.end());
        if (sorted != axis_range(0, in.shape.ndim()))
          throw Error(fmt::format("[transpose] the axes are no permutation of those of {}", in.str()), at);
        for (int axis : q.permutation) out.push_back(in.shape[axis]);
        return out;
      });
  p.view = [](const ir::Params& params, const Type&, const ir::Strides& strides, const Type&) {
    ir::View v;
    for (int axis : params.as<TransposeParams>().permutation) v.strides.push_back(strides[axis]);
    return std::optional(v);
  };
  same_for_tangent(p, []() -> const Primitive& { return rows<ShapeRows>().transpose; });
  p.transpose = [](const ir::TransposeArgs& a) {
    return Arrays{anew::transpose(a.ct[0], sorting(a.params->as<TransposeParams>().permutation))};
  };
  p.samples = [] {
    auto by = [](std::vector<int> q) { return make_params(TransposeParams(std::move(q))); };
    return samples_of(
        {{{2, 3}, by({1, 0})}, {{2, 3, 4}, by({2, 0, 1})}, {{2, 0}, by({1, 0})}, {{}, by({})}, {{3}, by({0})}});
  };
  return p;
}

Primitive squeezing() {
  Primitive p =
      view_row<DimensionsParams>("squeeze", [](const DimensionsParams& q, const Type& in, const Location& at) {
        Shape out;
        check_dimensions("squeeze", q, in, at);
        for (int d : q.dimensions)
          if (in.shape[d] != 1) throw Error(fmt::format("[squeeze] axis {} of {} is not of size 1", d, in.str()), at);
        for (int i = 0; i < in.shape.ndim(); ++i)
          if (!contains(q.dimensions, i)) out.push_back(in.shape[i]);
        return out;
      });
  p.view = [](const ir::Params& params, const Type& in, const ir::Strides& strides, const Type&) {
    ir::View v;
    for (int i = 0; i < in.shape.ndim(); ++i)
      if (!contains(params.as<DimensionsParams>().dimensions, i)) v.strides.push_back(strides[i]);
    return std::optional(v);
  };
  same_for_tangent(p, []() -> const Primitive& { return rows<ShapeRows>().squeeze; });
  p.transpose = [](const ir::TransposeArgs& a) {
    const Shape& in = a.in[0].shape;
    return Arrays{
        lax::broadcast_in_dim(a.ct[0], in, axes_without(in.ndim(), a.params->as<DimensionsParams>().dimensions))};
  };
  p.samples = [] {
    auto of = [](std::vector<int> d) { return make_params(DimensionsParams(std::move(d))); };
    return samples_of({{{1, 3}, of({0})}, {{2, 1, 3, 1}, of({1, 3})}, {{1}, of({0})}, {{1, 0}, of({0})}});
  };
  return p;
}

Primitive slicing() {
  Primitive p = view_row<SliceParams>("slice", [](const SliceParams& q, const Type& in, const Location& at) {
    Shape out;
    bool ok = q.start_indices.ndim() == in.shape.ndim() && q.limit_indices.ndim() == in.shape.ndim() &&
              (!q.strides || q.strides->ndim() == in.shape.ndim());
    for (int i = 0; ok && i < in.shape.ndim(); ++i) {
      std::int64_t start = q.start_indices[i], limit = q.limit_indices[i];
      ok = 0 <= start && start <= limit && limit <= in.shape[i] && q.stride(i) > 0;
      if (ok) out.push_back(limit == start ? 0 : (limit - start - 1) / q.stride(i) + 1);
    }
    if (!ok)
      throw Error(fmt::format("[slice] from {} to {} by {} is not inside {}", q.start_indices.str(),
                              q.limit_indices.str(), q.strides ? q.strides->str() : "1", in.str()),
                  at);
    return out;
  });
  p.view = [](const ir::Params& params, const Type& in, const ir::Strides& strides, const Type&) {
    const auto& q = params.as<SliceParams>();
    ir::View v;
    for (int i = 0; i < in.shape.ndim(); ++i) {
      v.offset += q.start_indices[i] * strides[i];
      // A stride that leaves one element may be any number.
      v.strides.push_back((CheckedSize(strides[i]) * q.stride(i)).value().value_or(strides[i]));
    }
    return std::optional(v);
  };
  same_for_tangent(p, []() -> const Primitive& { return rows<ShapeRows>().slice; });
  p.transpose = [](const ir::TransposeArgs& a) {
    const auto& q = a.params->as<SliceParams>();
    std::vector<lax::Padding> config;
    for (int i = 0; i < a.in[0].shape.ndim(); ++i) {
      std::int64_t n = type_of(a.ct[0]).shape[i], start = q.start_indices[i];
      std::int64_t end = n == 0 ? start : start + (n - 1) * q.stride(i) + 1;
      config.emplace_back(start, a.in[0].shape[i] - end, q.stride(i) - 1);
    }
    const Array zero = q.part ? literal(type_of(a.ct[0]).dtype, -0.0) : zero_like(a.ct[0]);
    return Arrays{lax::pad(a.ct[0], zero, config)};
  };
  p.samples = [] {
    auto part = [](Shape s, Shape l, std::optional<Shape> k = {}) { return make_params(SliceParams(s, l, k)); };
    return samples_of({{{6}, part({1}, {5}, Shape{2})},
                       {{3, 4}, part({1, 0}, {3, 2})},
                       {{3, 4}, part({0, 1}, {3, 4}, Shape{2, 3})},
                       {{5}, part({2}, {2})},
                       {{}, part({}, {})}});
  };
  return p;
}

Primitive reversal() {
  Primitive p = view_row<DimensionsParams>("rev", [](const DimensionsParams& q, const Type& in, const Location& at) {
    check_dimensions("rev", q, in, at);
    return in.shape;
  });
  p.view = [](const ir::Params& params, const Type& in, const ir::Strides& strides, const Type&) {
    ir::View v{0, strides};
    if (in.shape.size() == 0) return std::optional(v);
    for (int d : params.as<DimensionsParams>().dimensions) {
      v.offset += (in.shape[d] - 1) * strides[d];
      v.strides[d] = -strides[d];
    }
    return std::optional(v);
  };
  same_for_tangent(p, []() -> const Primitive& { return rows<ShapeRows>().rev; });
  p.transpose = [](const ir::TransposeArgs& a) {
    return Arrays{bind1(rows<ShapeRows>().rev, a.params, {a.ct[0]}, Location::current())};
  };
  p.samples = [] {
    auto of = [](std::vector<int> d) { return make_params(DimensionsParams(std::move(d))); };
    return samples_of({{{5}, of({0})}, {{2, 3}, of({0, 1})}, {{2, 3}, of({1})}, {{0, 3}, of({0})}});
  };
  return p;
}

Primitive counting() {
  Primitive p;
  p.name = "iota";
  p.parse = &IotaParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    const auto& q = a.params.as<IotaParams>();
    require_count("iota", 0, a.in, a.at);
    if (q.dimension < 0 || q.dimension >= q.shape.ndim() || q.dtype == bool_)
      fail("iota", a.at, fmt::format("along axis {} of {}", q.dimension, Type{q.shape, q.dtype}.str()));
    return Types{{q.shape, q.dtype}};
  };
  p.lower = [](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    const auto& q = params.as<IotaParams>();
    return ir::Lowered{{loops::generate(q.shape,
                                        [&](loops::Graph&, std::span<const Expr> i) {
                                          return convert(i[static_cast<std::size_t>(q.dimension)], q.dtype);
                                        })},
                       {}};
  };
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array()}; };
  p.facts.shows_operand = true;
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {i32, f32, f64})
      for (const Shape& s : {Shape{3}, Shape{2, 3}, Shape{0, 2}})
        out.push_back({make_params(IotaParams(s.ndim() - 1, d, s)), {}});
    return out;
  };
  return p;
}

}  // namespace

std::span<const ir::Primitive* const> shape_rows() { return rows<ShapeRows>().list(); }

Array reshape(const ArrayLike& x, const Shape& wanted) {
  check_operand(x.value, line_or(x.at));
  const Type type = type_of(x.value);
  Shape shape = wanted;
  int open = -1;
  CheckedSize known = 1;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (shape[i] >= 0) known = known * shape[i];
    else if (shape[i] == -1 && open < 0) open = i;
    else fail("reshape", x.at, fmt::format("{} to shape {}: at most one size may be -1", type.str(), wanted.str()));
  }
  if (open >= 0) {
    const std::int64_t rest = known.value().value_or(0);
    if (rest == 0 || type.shape.size() % rest != 0)
      fail("reshape", x.at,
           fmt::format("{} has {} elements, which shape {} cannot hold", type.str(), type.shape.size(), wanted.str()));
    shape[open] = type.shape.size() / rest;
  }
  if (shape == type.shape) return strong(x.value, x.at);
  return bind1(rows<ShapeRows>().reshape, make_params(ReshapeParams(shape)), {strong(x.value, x.at)}, x.at);
}

Array transpose(const ArrayLike& x, const Axes& axes) {
  check_operand(x.value, line_or(x.at));
  const Type type = type_of(x.value);
  std::vector<int> order;
  if (axes.all())
    for (int i = type.shape.ndim(); i-- > 0;) order.push_back(i);
  else
    for (int a : axes.list()) order.push_back(checked_axis("transpose", a, type.shape.ndim(), type, x.at));
  if (order == axis_range(0, type.shape.ndim())) return strong(x.value, x.at);
  return bind1(rows<ShapeRows>().transpose, make_params(TransposeParams(order)), {x.value}, x.at);
}

Array squeeze(const ArrayLike& x, const Axes& axis) {
  check_operand(x.value, line_or(x.at));
  const Type type = type_of(x.value);
  std::vector<int> axes;
  if (!axis.all()) axes = checked_axes("squeeze", axis, type, x.at);
  else
    for (int i = 0; i < type.shape.ndim(); ++i)
      if (type.shape[i] == 1) axes.push_back(i);
  if (axes.empty()) return strong(x.value, x.at);
  return bind1(rows<ShapeRows>().squeeze, make_params(DimensionsParams(axes)), {x.value}, x.at);
}

Array part_of_rows(const Array& x, std::int64_t begin, std::int64_t end, const Location& at) {
  Shape start, limit = type_of(x).shape;
  for (int d = 0; d < limit.ndim(); ++d) start.push_back(0);
  start[0] = begin;
  limit[0] = end;
  SliceParams p(start, limit);
  p.part = true;
  return bind1(rows<ShapeRows>().slice, make_params(p), {x}, at);
}

namespace lax {

Array broadcast_in_dim(const ArrayLike& x, const Shape& shape, const std::vector<int>& dimensions) {
  check_operand(x.value, line_or(x.at));
  if (type_of(x.value).shape == shape && dimensions == axis_range(0, shape.ndim())) return strong(x.value, x.at);
  return bind1(rows<ShapeRows>().broadcast_in_dim, make_params(BroadcastParams(dimensions, shape)),
               {strong(x.value, x.at)}, x.at);
}

Array slice(const ArrayLike& x, const Shape& start, const Shape& limit, const OptionalShape& strides) {
  bool by_one = !strides || std::all_of(strides->begin(), strides->end(), [](auto s) { return s == 1; });
  return bind1(rows<ShapeRows>().slice, make_params(SliceParams(start, limit, by_one ? std::nullopt : strides)),
               {x.value}, x.at);
}

Array rev(const ArrayLike& x, const std::vector<int>& dimensions) {
  return bind1(rows<ShapeRows>().rev, make_params(DimensionsParams(dimensions)), {x.value}, x.at);
}

Array iota(const Shape& shape, int dimension, DType dtype, const Location& at) {
  return bind1(rows<ShapeRows>().iota, make_params(IotaParams(dimension, dtype, shape)), {}, at);
}

}  // namespace lax
}  // namespace anew
