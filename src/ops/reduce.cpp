// Reductions: rows that join elements along axes, in the order of the Bits contract, and their user functions.
// Rows drop the axes; keepdims puts them back as size 1. bf16 and f16 are joined in f32 and rounded once.
#include <anew/lax.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct ReduceParams : ir::ParamsOf<ReduceParams> {
  explicit ReduceParams(std::vector<int> axes = {}) : axes(std::move(axes)) {}
  std::vector<int> axes;
  static auto fields() { return std::tuple{ir::field("axes", &ReduceParams::axes)}; }
};
struct ArgParams : ir::ParamsOf<ArgParams> {
  explicit ArgParams(std::vector<int> axes = {}, DType index_dtype = i32)
      : axes(std::move(axes)), index_dtype(index_dtype) {}
  std::vector<int> axes;
  DType index_dtype;
  static auto fields() {
    return std::tuple{ir::field("axes", &ArgParams::axes), ir::field("index_dtype", &ArgParams::index_dtype)};
  }
};

Shape reduced_shape(std::string_view op, const std::vector<int>& axes, const Type& in, const Location& at) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= in.shape.ndim() || (i > 0 && axes[i] <= axes[i - 1]))
      fail(op, at, fmt::format("axes must be ascending axes of {}", in.str()));
  Shape out;
  for (int i : axes_without(in.shape.ndim(), axes)) out.push_back(in.shape[i]);
  return out;
}

std::int64_t reduced_size(const std::vector<int>& axes, const Shape& shape) {
  std::int64_t n = 1;
  for (int a : axes) n *= shape[a];
  return n;
}

template <class P>
Primitive reduction_row(std::string name, loops::Combine combine, Accepts accepts) {
  Primitive p;
  p.name = std::move(name);
  p.parse = &P::parse;
  p.infer = [op = p.name, accepts](const ir::InferArgs& a) {
    require_count(op, 1, a.in, a.at);
    require(op, accepts, a.in[0], a.at);
    const auto& q = a.params.as<P>();
    DType out = a.in[0].dtype;
    if constexpr (std::is_same_v<P, ArgParams>) {
      out = q.index_dtype;
      if (q.axes.size() != 1 || (out != i32 && out != i64)) fail(op, a.at, "gives i32 or i64 positions along one axis");
    }
    const Shape shape = reduced_shape(op, q.axes, a.in[0], a.at);
    if constexpr (std::is_same_v<P, ArgParams>)
      if (a.in[0].shape[q.axes[0]] == 0)
        fail(op, a.at, fmt::format("of no elements: {} along an axis of size 0", a.in[0].str()));
    return Types{{shape, out}};
  };
  p.lower = [combine](const ir::Params& params, std::span<const Type> in, std::span<const Type> out) {
    const auto& axes = params.as<P>().axes;
    const DType d = in[0].dtype;
    const loops::Combine c = combine_of(combine, d);
    DType wide = is_float(d) ? computed_type(d) : finds_position(c) && d == bool_ ? i32 : d;
    return ir::Lowered{{loops::reduction(in[0], axes, c, out[0].dtype, [wide](Expr x) { return convert(x, wide); })},
                       {}};
  };
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array()}; };
  p.facts.flops_per_element = 1;
  p.facts.flops = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return static_cast<double>(in[0].shape.size());
  };
  return p;
}

std::vector<ir::Sample> reduce_samples(bool empty, std::initializer_list<DType> dtypes, double lo = -1, double hi = 1) {
  std::vector<ir::Sample> out;
  for (DType d : dtypes) {
    auto add = [&](Shape s, std::vector<int> axes) {
      out.push_back({make_params(ReduceParams(std::move(axes))), {{{s, d}, lo, hi}}});
    };
    add({}, {});
    add({5}, {0});
    add({2, 3}, {0});
    add({2, 3}, {1});
    add({2, 3, 4}, {0, 2});
    add({2, 3, 4}, {0, 1, 2});
    add({3, 0}, {0});
    if (empty) add({0, 3}, {0});
  }
  return out;
}

// ct over the kept axes, repeated along the reduced ones.
Array spread(const Array& ct, const std::vector<int>& axes, const Shape& shape) {
  return lax::broadcast_in_dim(ct, shape, axes_without(shape.ndim(), axes));
}

Array reduce(const Primitive& p, const Array& x, const std::vector<int>& axes,
             const Location& at = Location::current()) {
  return bind1(p, make_params(ReduceParams(axes)), {x}, at);
}

Primitive summation() {
  auto p = reduction_row<ReduceParams>("reduce_sum", loops::Combine::sum, Accepts::numbers);
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{sum(a.t[0], a.params->as<ReduceParams>().axes)}; };
  p.transpose = [](const ir::TransposeArgs& a) {
    return Arrays{spread(a.ct[0], a.params->as<ReduceParams>().axes, a.in[0].shape)};
  };
  p.facts.linear_in = {0};
  p.samples = [] { return reduce_samples(true, {f32, f64}); };
  return p;
}

// All elements that reach the extremum share its tangent evenly; one bool mask and the counts are kept.
Primitive extremum(std::string name, loops::Combine combine) {
  auto p = reduction_row<ReduceParams>(std::move(name), combine, Accepts::anything);
  p.jvp = [](const ir::JvpArgs& a) {
    const auto& axes = a.params->as<ReduceParams>().axes;
    Array reached = a.x[0] == spread(a.y[0], axes, type_of(a.x[0]).shape);
    Array count = sum(astype(reached, type_of(a.y[0]).dtype), axes);
    return Arrays{sum(lax::select_n(reached, {zero_like(a.t[0]), a.t[0]}), axes) / count};
  };
  p.samples = [] { return reduce_samples(false, {f32, f64}); };
  return p;
}

// The last axis is multiplied by halves, as dual numbers: right where factors are 0, and no division.
Array product_tangent(Array p, Array t) {
  auto part = [](const Array& x, std::int64_t begin, std::int64_t end) {
    Shape start, limit = type_of(x).shape;
    for (int i = 0; i < limit.ndim(); ++i) start.push_back(0);
    start[-1] = begin;
    limit[-1] = end;
    return lax::slice(x, start, limit);
  };
  for (std::int64_t n; (n = type_of(p).shape[-1]) > 1;) {
    std::int64_t half = n / 2;
    Array a = part(p, 0, half), b = part(p, half, 2 * half), s = part(t, 0, half), u = part(t, half, 2 * half);
    Array product = a * b, tangent = s * b + a * u;
    if (n % 2 == 1) {
      product = concatenate({product, part(p, n - 1, n)}, -1);
      tangent = concatenate({tangent, part(t, n - 1, n)}, -1);
    }
    p = product;
    t = tangent;
  }
  return t;
}

Primitive product() {
  auto p = reduction_row<ReduceParams>("reduce_prod", loops::Combine::product, Accepts::numbers);
  p.jvp = [](const ir::JvpArgs& a) {
    const auto& axes = a.params->as<ReduceParams>().axes;
    const Shape& shape = type_of(a.x[0]).shape;
    std::vector<int> kept = axes_without(shape.ndim(), axes);
    Shape flat = type_of(a.y[0]).shape;
    std::int64_t n = reduced_size(axes, shape);
    if (n == 0) return Arrays{Array()};
    flat.push_back(n);
    auto rows_last = [&](const Array& x) { return reshape(transpose(x, joined(kept, axes)), flat); };
    Array t = product_tangent(rows_last(a.x[0]), rows_last(a.t[0]));
    return Arrays{reshape(t, type_of(a.y[0]).shape)};
  };
  p.samples = [] { return reduce_samples(true, {f32, f64}, 0.5, 1.5); };
  return p;
}

Primitive logical(std::string name, loops::Combine combine) {
  auto p = reduction_row<ReduceParams>(std::move(name), combine, Accepts::logical);
  p.samples = [] { return reduce_samples(true, {bool_, i32}, 0, 2); };
  return p;
}

Primitive position(std::string name, loops::Combine combine) {
  auto p = reduction_row<ArgParams>(std::move(name), combine, Accepts::anything);
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64, i32})
      for (const Shape& s : {Shape{3, 4}, Shape{5}, Shape{3, 0}})
        for (int axis = 0; axis < s.ndim() && s[axis] > 0; ++axis)
          out.push_back({make_params(ArgParams({axis})), {{{s, d}, -9, 9}}});
    return out;
  };
  return p;
}

// Behind one more axis the reduced axes come in the same order, so every sum keeps its own.
template <class P>
P behind(P p, std::int64_t) {
  p.axes = behind_front(p.axes);
  return p;
}

struct ReduceRows : Family {
  const Primitive& sum = row(summation(), behind<ReduceParams>);
  const Primitive& max = row(extremum("reduce_max", loops::Combine::max), behind<ReduceParams>);
  const Primitive& min = row(extremum("reduce_min", loops::Combine::min), behind<ReduceParams>);
  const Primitive& prod = row(product(), behind<ReduceParams>);
  const Primitive& and_ = row(logical("reduce_and", loops::Combine::and_), behind<ReduceParams>);
  const Primitive& or_ = row(logical("reduce_or", loops::Combine::or_), behind<ReduceParams>);
  const Primitive& argmax = row(position("argmax", loops::Combine::argmax), behind<ArgParams>);
  const Primitive& argmin = row(position("argmin", loops::Combine::argmin), behind<ArgParams>);
};

// The reduced axes back as size 1.
Array restored(const Array& y, const std::vector<int>& axes, const Shape& shape, bool keepdims) {
  if (!keepdims || axes.empty()) return y;
  Shape kept = shape;
  for (int a : axes) kept[a] = 1;
  return lax::broadcast_in_dim(y, kept, axes_without(shape.ndim(), axes));
}

Array reduced(std::string_view op, const Primitive& p, const ArrayLike& x, const Array& operand, const Axes& axis,
              bool keepdims, bool may_be_empty) {
  const Type type = type_of(operand);
  std::vector<int> axes = checked_axes(op, axis, type, x.at);
  if (!may_be_empty && reduced_size(axes, type.shape) == 0)
    fail(op, x.at, fmt::format("of no elements: {} along axes of size 0", type.str()));
  PinLine pin(x.at, op);
  Array y = axes.empty() ? operand : reduce(p, operand, axes, x.at);
  return restored(y, axes, type.shape, keepdims);
}

// bool counts as integers; those of the default types at least, so that sums of i8 are i32, and with x64 i64.
Array countable(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  const DType d = type_of(x.value).dtype;
  const DType least = is_signed_integer(d) || d == bool_ ? default_int() : default_uint();
  return !is_float(d) && size_of(d) < size_of(least) ? coerce(x.value, least, x.at) : strong(x.value, x.at);
}
Array index_of(std::string_view op, const Primitive& p, const ArrayLike& x, std::optional<int> axis, bool keepdims) {
  Array operand = checked(x);
  const Type type = type_of(operand);
  PinLine pin(x.at, op);
  if (!axis) operand = ravel(operand);
  int a = axis ? checked_axis(op, *axis, type.shape.ndim(), type, x.at) : 0;
  if (type_of(operand).shape[a] == 0)
    fail(op, x.at, fmt::format("of no elements: {} along an axis of size 0", type.str()));
  Array y = bind1(p, make_params(ArgParams({a}, default_int())), {operand}, x.at);
  return restored(y, axis ? std::vector<int>{a} : axis_range(0, type.shape.ndim()), type.shape, keepdims);
}

}  // namespace

std::span<const ir::Primitive* const> reduce_rows() { return rows<ReduceRows>().list(); }

Array sum(const ArrayLike& x, const Axes& axis, bool keepdims) {
  return reduced("sum", rows<ReduceRows>().sum, x, countable(x), axis, keepdims, true);
}
Array prod(const ArrayLike& x, const Axes& axis, bool keepdims) {
  return reduced("prod", rows<ReduceRows>().prod, x, countable(x), axis, keepdims, true);
}
Array max(const ArrayLike& x, const Axes& axis, bool keepdims) {
  return reduced("max", rows<ReduceRows>().max, x, checked(x), axis, keepdims, false);
}
Array min(const ArrayLike& x, const Axes& axis, bool keepdims) {
  return reduced("min", rows<ReduceRows>().min, x, checked(x), axis, keepdims, false);
}
// Of no elements what joins nothing: -inf, inf.
Array lax::reduce_max(const ArrayLike& x, const Axes& axes) {
  return reduced("reduce_max", rows<ReduceRows>().max, x, checked(x), axes, false, true);
}
Array lax::reduce_min(const ArrayLike& x, const Axes& axes) {
  return reduced("reduce_min", rows<ReduceRows>().min, x, checked(x), axes, false, true);
}
Array all(const ArrayLike& x, const Axes& axis, bool keepdims) {
  return reduced("all", rows<ReduceRows>().and_, x, coerce(x.value, bool_, x.at), axis, keepdims, true);
}
Array any(const ArrayLike& x, const Axes& axis, bool keepdims) {
  return reduced("any", rows<ReduceRows>().or_, x, coerce(x.value, bool_, x.at), axis, keepdims, true);
}
Array argmax(const ArrayLike& x, std::optional<int> axis, bool keepdims) {
  return index_of("argmax", rows<ReduceRows>().argmax, x, axis, keepdims);
}
Array argmin(const ArrayLike& x, std::optional<int> axis, bool keepdims) {
  return index_of("argmin", rows<ReduceRows>().argmin, x, axis, keepdims);
}

}  // namespace anew
