// Running sums, products and extrema along an axis, and the linear recurrence h[i] = a[i] h[i-1] + b[i] that their
// derivatives are made of. It is linear in b, its transpose in b is the same recurrence backwards, and its tangent in a
// is the recurrence again, so all derivatives of all orders take time and memory in proportion to the array.
#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/gather.h"
#include "ops/promote.h"
#include "ops/rows.h"
#include "runtime/running.h"

namespace anew {
namespace {

struct RunningParams : ir::ParamsOf<RunningParams> {
  explicit RunningParams(int axis = 0, bool reverse = false) : axis(axis), reverse(reverse) {}
  int axis;
  bool reverse;
  static auto fields() {
    return std::tuple{ir::field("axis", &RunningParams::axis), ir::field("reverse", &RunningParams::reverse)};
  }
};
const RunningParams& running_params(const ParamsRef& p) { return p->as<RunningParams>(); }
RunningParams running_behind(RunningParams p, std::int64_t) { return RunningParams(p.axis + 1, p.reverse); }

void check_axis(std::string_view op, const RunningParams& q, const Type& in, const Location& at) {
  if (q.axis < 0 || q.axis >= in.shape.ndim())
    fail(op, at, fmt::format("axis {} is out of range for {}", q.axis, in.str()));
}

Array part(const Array& x, int axis, std::int64_t begin, std::int64_t end) {
  Shape start, limit = type_of(x).shape;
  for (int i = 0; i < limit.ndim(); ++i) start.push_back(0);
  start[axis] = begin;
  limit[axis] = end;
  return lax::slice(x, start, limit);
}
// Element i is that before i in the order of running (`ahead`: after i), and `edge` where there is none.
Array neighbour(const Array& x, const RunningParams& q, const Array& edge, bool ahead = false) {
  const Type type = type_of(x);
  const std::int64_t n = type.shape[q.axis];
  if (n == 0) return x;
  Shape one = type.shape;
  one[q.axis] = 1;
  Array rim = lax::broadcast_in_dim(edge, one, {});
  return q.reverse != ahead ? concatenate({part(x, q.axis, 1, n), rim}, q.axis)
                            : concatenate({rim, part(x, q.axis, 0, n - 1)}, q.axis);
}

Array recurrence(const Array& a, const Array& b, const RunningParams& q);

std::vector<ir::Sample> running_samples(int operands, double lo, double hi) {
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64})
    for (bool reverse : {false, true}) {
      auto add = [&](const Shape& s, int axis) {
        ir::Sample sample{make_params(RunningParams(axis, reverse)), {}};
        for (int i = 0; i < operands; ++i) sample.inputs.push_back({{s, d}, lo, hi});
        out.push_back(sample);
      };
      add({6}, 0);
      add({1}, 0);
      add({3, 4}, 0);
      add({3, 4}, 1);
      add({2, 3, 4}, 1);
      add({0}, 0);
      add({3, 0}, 0);
    }
  return out;
}

Primitive running(std::string name, Running kind) {
  Primitive p;
  p.name = std::move(name);
  p.parse = &RunningParams::parse;
  p.infer = [op = p.name](const ir::InferArgs& a) {
    require_count(op, 1, a.in, a.at);
    require(op, Accepts::numbers, a.in[0], a.at);
    if (is_stored(a.in[0].dtype)) fail(op, a.at, fmt::format("does not join {}", a.in[0].str()));
    check_axis(op, a.params.as<RunningParams>(), a.in[0], a.at);
    return Types{a.in[0]};
  };
  p.lower = [kind](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    return ir::Lowered{{},
                       [kind, q = params.as<RunningParams>()](std::span<const ir::Memory> in,
                                                              std::span<const ir::Memory> out, std::byte*) {
                         run_along(kind, strided(in[0]), q.axis, q.reverse, strided(out[0]));
                       }};
  };
  p.facts.flops_per_element = 1;
  p.samples = [] { return running_samples(1, -1.5, 1.5); };
  return p;
}

Primitive running_sum() {
  Primitive p = running("cumsum", Running::sum);
  p.jvp = [](const ir::JvpArgs& a) {
    return Arrays{cumsum(a.t[0], running_params(a.params).axis, running_params(a.params).reverse)};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    return Arrays{cumsum(a.ct[0], running_params(a.params).axis, !running_params(a.params).reverse)};
  };
  p.facts.linear_in = {0};
  return p;
}

// t[i] = x[i] t[i-1] + y[i-1] dx[i]: no division, so it is right where factors are 0. The first element is apart, so
// that neither the first factor nor the last product is kept.
Primitive running_product() {
  Primitive p = running("cumprod", Running::product);
  p.jvp = [](const ir::JvpArgs& a) {
    const RunningParams& q = running_params(a.params);
    const std::int64_t n = type_of(a.x[0]).shape[q.axis];
    if (n < 2) return Arrays{a.t[0]};
    auto first = [&](const Array& x, std::int64_t size) {
      const std::int64_t all = type_of(x).shape[q.axis];
      return q.reverse ? part(x, q.axis, all - size, all) : part(x, q.axis, 0, size);
    };
    auto rest = [&](const Array& x) { return q.reverse ? part(x, q.axis, 0, n - 1) : part(x, q.axis, 1, n); };
    Array x = rest(a.x[0]), t = first(a.t[0], 1);
    std::vector<lax::Padding> behind(static_cast<std::size_t>(type_of(x).shape.ndim()), {0, 0, 0});
    behind[static_cast<std::size_t>(q.axis)] = q.reverse ? lax::Padding(n - 2, 0, 0) : lax::Padding(0, n - 2, 0);
    Array start = lax::pad(first(x, 1) * t, zero_like(t), behind);
    Array more = recurrence(x, first(a.y[0], n - 1) * rest(a.t[0]) + start, q);
    return Arrays{q.reverse ? concatenate({more, t}, q.axis) : concatenate({t, more}, q.axis)};
  };
  return p;
}

// All elements so far that reach the extremum share its tangent evenly: t[i] = s[i] t[i-1] + (1 - s[i]) dx[i], where s
// is 1 if x[i] does not reach it, 0 if it is a new one, and (k - 1) / k for the k-th that does. One array is kept.
Primitive extremum(std::string name, Running kind) {
  Primitive p = running(std::move(name), kind);
  p.jvp = [](const ir::JvpArgs& a) {
    const RunningParams& q = running_params(a.params);
    const Type type = type_of(a.y[0]);
    if (type.shape[q.axis] < 2) return Arrays{a.t[0]};
    Array same = astype(a.y[0] == neighbour(a.y[0], q, literal(type.dtype, 0.0)), type.dtype);
    Array reached = a.x[0] == a.y[0];
    Array count = recurrence(same, astype(reached, type.dtype), q);
    Array stays = (count - astype(reached, type.dtype)) / count;
    return Arrays{recurrence(stays, a.t[0] - stays * a.t[0], q)};
  };
  return p;
}

Primitive recurring() {
  Primitive p;
  p.name = "linear_recurrence";
  p.parse = &RunningParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_count("linear_recurrence", 2, a.in, a.at);
    if (!(a.in[0] == a.in[1]) || (a.in[0].dtype != f32 && a.in[0].dtype != f64))
      fail("linear_recurrence", a.at,
           fmt::format("needs two arrays of one floating type and shape, got {} and {}", a.in[0].str(), a.in[1].str()));
    check_axis("linear_recurrence", a.params.as<RunningParams>(), a.in[0], a.at);
    return Types{a.in[0]};
  };
  p.lower = [](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    return ir::Lowered{
        {},
        [q = params.as<RunningParams>()](std::span<const ir::Memory> in, std::span<const ir::Memory> out, std::byte*) {
          recur_along(strided(in[0]), strided(in[1]), q.axis, q.reverse, strided(out[0]));
        }};
  };
  p.jvp = [](const ir::JvpArgs& a) {
    const RunningParams& q = running_params(a.params);
    Array t = a.t[1];
    if (a.t[0].value()) t = add_tangents(a.t[0] * neighbour(a.y[0], q, zero_like(a.y[0])), t);
    return Arrays{recurrence(a.x[0], t, q)};
  };
  // g[i] = ct[i] + a[i+1] g[i+1]
  p.transpose = [](const ir::TransposeArgs& a) {
    const RunningParams& q = running_params(a.params);
    Array ahead = neighbour(a.x[0], q, zero_like(a.ct[0]), true);
    return Arrays{Array(), recurrence(ahead, a.ct[0], RunningParams(q.axis, !q.reverse))};
  };
  p.facts.linear_in = {1};
  p.facts.flops_per_element = 2;
  p.samples = [] { return running_samples(2, -1.5, 1.5); };
  return p;
}

struct CumulativeRows : Family {
  const Primitive& sum = row(running_sum(), running_behind);
  const Primitive& product_ = row(running_product(), running_behind);
  const Primitive& max = row(extremum("cummax", Running::max), running_behind);
  const Primitive& min = row(extremum("cummin", Running::min), running_behind);
  const Primitive& recurrence = row(mapped(recurring()));

 private:
  static Primitive mapped(Primitive p);
};
Primitive CumulativeRows::mapped(Primitive p) {
  p.batch = [](const ir::BatchArgs& a) {
    return ir::Batched{anew::bind(rows<CumulativeRows>().recurrence,
                                  make_params(running_behind(running_params(a.params), 0)), all_mapped(a), a.at)};
  };
  return p;
}

Array recurrence(const Array& a, const Array& b, const RunningParams& q) {
  return bind1(rows<CumulativeRows>().recurrence, make_params(q), {a, b}, Location::current());
}

// Without axis: of the flat array. bool counts as integers; stored types run in a wider type and are rounded once.
struct Along {
  Array x;
  int axis;
};
Along along(std::string_view op, const ArrayLike& x, std::optional<int> axis) {
  check_operand(x.value, line_or(x.at));
  Array a = strong(x.value, x.at);
  const Type type = type_of(a);
  a = coerce(a, type.dtype == bool_ ? default_int() : computed_type(type.dtype), x.at);
  if (!axis) return {ravel(ArrayLike(a, x.at)), 0};
  return {a, checked_axis(op, *axis, type.shape.ndim(), type, x.at)};
}

Array bind_running(std::string_view op, const Primitive& p, const ArrayLike& x, std::optional<int> axis, bool reverse) {
  PinLine pin(x.at, op);
  Along l = along(op, x, axis);
  Array y = bind1(p, make_params(RunningParams(l.axis, reverse)), {l.x}, x.at);
  const DType d = type_of(x.value).dtype;
  return is_stored(d) ? coerce(y, d, x.at) : y;
}

}  // namespace

std::span<const Primitive* const> cumulative_rows() { return rows<CumulativeRows>().list(); }

Array cumsum(const ArrayLike& x, std::optional<int> axis, bool reverse) {
  return bind_running("cumsum", rows<CumulativeRows>().sum, x, axis, reverse);
}
Array cumprod(const ArrayLike& x, std::optional<int> axis, bool reverse) {
  return bind_running("cumprod", rows<CumulativeRows>().product_, x, axis, reverse);
}
Array cummax(const ArrayLike& x, std::optional<int> axis, bool reverse) {
  return bind_running("cummax", rows<CumulativeRows>().max, x, axis, reverse);
}
Array cummin(const ArrayLike& x, std::optional<int> axis, bool reverse) {
  return bind_running("cummin", rows<CumulativeRows>().min, x, axis, reverse);
}

// Sums of exp(x - m) with the running maximum m, scaled down where m grows; m itself needs no derivative.
Array cumlogsumexp(const ArrayLike& x, std::optional<int> axis, bool reverse) {
  PinLine pin(x.at);
  Along l = along("cumlogsumexp", x, axis);
  const DType given = type_of(x.value).dtype, d = type_of(l.x).dtype;
  Array a = coerce(l.x, floating(d), x.at);
  if (type_of(a).shape.size() == 0) return coerce(a, is_float(given) ? given : floating(given), x.at);
  const RunningParams q(l.axis, reverse);
  Array top = cummax(stop_gradient(a), l.axis, reverse), zero = zero_like(a);
  Array before = neighbour(top, q, zero), m = where(isfinite(top), top, zero);
  Array scale = exp(where(before == top, zero, before - top));
  Array y = m + log(recurrence(scale, exp(a - m), q));
  return coerce(y, is_float(given) ? given : type_of(a).dtype, x.at);
}

Array linear_recurrence(const ArrayLike& a, const ArrayLike& b, int axis, bool reverse) {
  PinLine pin(a.at);
  Arrays both = operands("linear_recurrence", {a.value, b.value}, a.at);
  const Type type = type_of(type_of(both[0]).shape.ndim() ? both[0] : both[1]);
  int i = checked_axis("linear_recurrence", axis, type.shape.ndim(), type, a.at);
  const DType given = floating(type.dtype);
  for (Array& x : both) x = broadcast_to(coerce(x, computed_type(given), a.at), type.shape);
  Array y = recurrence(both[0], both[1], RunningParams(i, reverse));
  return coerce(y, given, a.at);
}

}  // namespace anew
