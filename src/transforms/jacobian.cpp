// Jacobians, Hessians and the transposes of linear functions: linear maps applied to all unit vectors at once (vmap),
// so that the function itself runs once per argument (jacfwd) or once per result (jacrev).
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>

#include "transforms/arguments.h"
#include "transforms/jvp.h"
#include "transforms/linearize.h"
#include "transforms/remembered.h"
#include "transforms/vmap.h"

namespace anew::flat {
namespace {

void check_float(std::string_view op, std::string_view what, const Type& t, const Location& at) {
  if (!is_float(t.dtype))
    throw Error(fmt::format("[{}] needs floating-point {}, got {}", op, what, t.str()), at,
                "convert with astype(x, f32)");
}

// All unit vectors of a type: [n, shape...].
Array basis(const Type& t, const Location& at) {
  PinLine line(at);
  Shape shape = t.shape;
  shape.insert(0, t.shape.size());
  return reshape(eye(t.shape.size(), t.dtype), shape);
}

Shape followed_by(Shape a, const Shape& b) {
  for (std::int64_t n : b) a.push_back(n);
  return a;
}

Arrays with(std::span<const Array> x, std::size_t i, const Array& instead) {
  Arrays out(x.begin(), x.end());
  out[i] = instead;
  return out;
}

// Derivative of result `which` alone with respect to all of x, rows in front.
Arrays rows_of(const FlatFunction& f, std::span<const Array> x, std::size_t which, const Location& at) {
  auto only = [&](std::span<const Array> in) {
    Arrays y = f(in);
    if (which >= y.size()) throw Error("[hessian] is defined for functions with a scalar output, got none", at);
    return Arrays{y[which]};
  };
  auto [y, linear] = flat::linearize(only, x, {at, {}});
  Type t = type_of(y[0]);
  check_float("jacrev", "results", t, at);
  auto back = [&, &linear = linear](std::span<const Array> ct) { return linear.pullback(ct, at); };
  if (t.shape.ndim() == 0) return back(Arrays{make_literal(ir::Literal::of(t.dtype, 1.0))});
  Arrays out = call_batched(back, Arrays{basis(t, at)}, {{0}, t.shape.size()}, {0}, at);
  PinLine line(at);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = reshape(out[i], followed_by(t.shape, type_of(x[i]).shape));
  return out;
}

// A transformation of f at x, where the current trace remembers.
template <class T>
Arrays remembered_at(std::string_view name, const FlatFunction& f, std::span<const Array> x, const Location& at,
                     T transform) {
  return remembered(
      {name}, f, types_of(x, at), x, {},
      [&](const FlatFunction& g, std::span<const Array> in, std::span<const Array>) { return transform(g, in, at); },
      at);
}

// Numbers that vary are arrays of the default dtype.
Arrays checked_arguments(std::string_view op, std::span<const Array> x, const Location& at) {
  if (x.empty()) throw Error(fmt::format("[{}] there is no array to differentiate by", op), at);
  Arrays out;
  for (const Array& a : x) {
    check_operand(a, at);
    check_float(op, "inputs", type_of(a), at);
    out.push_back(strong(a, at));
  }
  return out;
}

}  // namespace

Arrays jacfwd(const FlatFunction& f, std::span<const Array> given, const Location& at) {
  detail::check_function(f, at);
  const Arrays x = checked_arguments("jacfwd", given, at);
  if (remembering()) return remembered_at("jacfwd", f, x, at, jacfwd);
  std::vector<Arrays> columns;  // by input, then by output
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto of_one = [&](std::span<const Array> in) { return f(with(x, i, in[0])); };
    auto push = [&](std::span<const Array> t) { return flat::jvp(of_one, Arrays{x[i]}, t, at).second; };
    Type t = type_of(x[i]);
    Arrays out = call_batched(push, Arrays{basis(t, at)}, {{0}, t.shape.size()}, {-1}, at);
    PinLine line(at);
    for (Array& dy : out) {
      check_float("jacfwd", "results", type_of(dy), at);
      Shape shape = type_of(dy).shape;
      shape.erase(shape.ndim() - 1);
      dy = reshape(dy, followed_by(shape, t.shape));
    }
    columns.push_back(std::move(out));
  }
  Arrays result;
  for (std::size_t o = 0; !columns.empty() && o < columns[0].size(); ++o)
    for (const Arrays& c : columns) result.push_back(c[o]);
  return result;
}

Arrays jacrev(const FlatFunction& f, std::span<const Array> given, const Location& at) {
  detail::check_function(f, at);
  const Arrays x = checked_arguments("jacrev", given, at);
  if (remembering()) return remembered_at("jacrev", f, x, at, jacrev);
  Arrays result;
  std::size_t results = 1;  // known when f has been called
  auto counted = [&](std::span<const Array> in) {
    Arrays y = f(in);
    results = y.size();
    if (y.empty()) throw Error("[jacrev] the function gives no array", at);
    return y;
  };
  for (std::size_t o = 0; o < results; ++o) {
    Arrays row = rows_of(counted, x, o, at);
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

Arrays hessian(const FlatFunction& f, std::span<const Array> given, const Location& at) {
  detail::check_function(f, at);
  const Arrays x = checked_arguments("hessian", given, at);
  if (remembering()) return remembered_at("hessian", f, x, at, hessian);
  return flat::jacfwd([&](std::span<const Array> in) { return rows_of(f, in, 0, at); }, x, at);
}

Arrays hvp(const FlatFunction& f, std::span<const Array> x, std::span<const Array> v, const Location& at) {
  Arrays point(x.begin(), x.end());
  for (Array& a : point) a = strong(a, at);
  return flat::jvp([&](std::span<const Array> in) { return flat::grad(f, in, nullptr, at); }, point, v, at).second;
}

// The pullback at a point that it must not look at.
Arrays linear_transpose(const FlatFunction& f, std::span<const ShapeDtype> types, std::span<const Array> ct,
                        const Location& at) {
  for (const Type& t : types)
    if (!checked_bytes(t.shape, t.dtype))
      throw Error(fmt::format("[linear_transpose] an array of type {} is too large (or has a negative size)", t.str()),
                  at);
  for (const Type& t : types) check_float("linear_transpose", "inputs", t, at);
  auto back = [&](std::span<const Array> in) {
    auto [y, linear] = flat::linearize(f, in, {at, {}});
    check_count(ct.size(), y.size(), "[linear_transpose] cotangents", at);
    for (std::size_t i = 0; i < y.size(); ++i)
      if (const Type t = type_of(y[i]); is_float(t.dtype))
        matching(ct[i], t, "[linear_transpose] the cotangent must have the type of the output", at);
    return linear.pullback(ct, at);
  };
  Staged s = stage(back, types, "linear_transpose", at);
  ir::Dce d = ir::eliminate_dead_code(s.program, std::vector<bool>(s.program.outputs.size(), true));
  Arrays constants;
  for (std::size_t i = 0; i < d.used_inputs.size(); ++i) {
    if (!d.used_inputs[i]) continue;
    if (i >= s.constants.size())
      throw Error("[linear_transpose] the function is not linear: its derivative depends on where it is taken", at,
                  "use vjp for functions that are not linear");
    constants.push_back(s.constants[i]);
  }
  return evaluate(d.program, constants);
}

}  // namespace anew::flat
