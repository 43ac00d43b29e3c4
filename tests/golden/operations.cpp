// The table of operations: one line per name in the golden files. An operation that is not here is not delivered yet;
// the runner counts its cases as skipped and says so.
#include <anew/indexing.h>
#include <anew/linalg.h>
#include <anew/nn.h>

#include <limits>

#include "golden/operation.h"

namespace anew::golden {

Operation one(std::function<Array(X, P)> f) {
  return [f = std::move(f)](X x, P p) { return Arrays{f(x, p)}; };
}
Operation unary(Array (*f)(const ArrayLike&)) {
  return [f](X x, P) { return Arrays{f(x.at(0))}; };
}

namespace {

Operation binary(Array (*f)(const ArrayLike&, const ArrayLike&)) {
  return [f](X x, P) { return Arrays{f(x.at(0), x.at(1))}; };
}
Operation reduction(Array (*f)(const ArrayLike&, const Axes&, bool)) {
  return [f](X x, P p) { return Arrays{f(x.at(0), p.axes(), p.keepdims())}; };
}
Operation spread(Array (*f)(const ArrayLike&, const Axes&, bool, double)) {
  return [f](X x, P p) { return Arrays{f(x.at(0), p.axes(), p.keepdims(), p.number("ddof", 0))}; };
}
Operation position(Array (*f)(const ArrayLike&, std::optional<int>, bool)) {
  return [f](X x, P p) { return Arrays{f(x.at(0), p.axis(), p.keepdims())}; };
}
Operation diagonals(Array (*f)(const ArrayLike&, std::int64_t)) {
  return [f](X x, P p) { return Arrays{f(x.at(0), p.integer("k", 0))}; };
}
Operation row_function(Array (*f)(const ArrayLike&, const Axes&)) {
  return [f](X x, P p) { return Arrays{f(x.at(0), p.axes("axis", -1))}; };
}
// One result.

Array divide_by_dtype(X x, P p) { return p.defined_by("lax.div") ? lax::div(x.at(0), x.at(1)) : x.at(0) / x.at(1); }

// With one input the case is a guarded square root, as its definition says.
Array where_of(X x, P p) {
  if (x.size() == 3) return where(x[0], x[1], x[2]);
  const Array& a = x.at(0);
  if (p.expression() == "jnp.where(x0 > 0, jnp.sqrt(jnp.where(x0 > 0, x0, 1.0)), 0.0)")
    return where(a > 0, sqrt(where(a > 0, a, 1.0)), 0.0);
  if (p.expression() == "jnp.where(x0 > 0, jnp.sqrt(x0), 0.0)") return where(a > 0, sqrt(a), 0.0);
  throw NotDelivered("where as " + p.expression());
}

Array norm_of(X x, P p) {
  if (!p.has("ord")) return linalg::norm(x.at(0), {}, p.axes(), p.keepdims());
  if (!p.is_text("ord")) return linalg::norm(x.at(0), p.number("ord", 2), p.axes(), p.keepdims());
  const std::string ord = p.text("ord");
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (ord == "fro" || ord == "nuc") return linalg::norm(x.at(0), ord.c_str(), p.axes(), p.keepdims());
  return linalg::norm(x.at(0), ord == "inf" ? inf : ord == "-inf" ? -inf : std::stod(ord), p.axes(), p.keepdims());
}

Array clip_of(X x, P p) {
  if (p.has("min") && p.has("max")) return clip(x.at(0), p.number("min", 0), p.number("max", 0));
  if (p.has("max")) return minimum(x.at(0), p.number("max", 0));
  return p.has("min") ? maximum(x.at(0), p.number("min", 0)) : x.at(0);
}

Array tensordot_of(X x, P p) {
  const Json& axes = p.raw("axes");
  if (!axes.is_array()) return tensordot(x.at(0), x.at(1), axes.get<int>());
  return tensordot(x.at(0), x.at(1), axes.at(0).get<std::vector<int>>(), axes.at(1).get<std::vector<int>>());
}

Array dot_general_of(X x, P p) {
  return lax::dot_general(x.at(0), x.at(1),
                          {.lhs_contracting = p.ints("lhs_contracting"),
                           .rhs_contracting = p.ints("rhs_contracting"),
                           .lhs_batch = p.ints("lhs_batch"),
                           .rhs_batch = p.ints("rhs_batch")});
}

Arrays split_of(X x, P p) {
  const auto axis = static_cast<int>(p.integer("axis", 0));
  if (p.is_list("indices_or_sections")) return split(x.at(0), p.integers("indices_or_sections"), axis);
  return split(x.at(0), p.integer("indices_or_sections"), axis);
}

Array repeat_of(X x, P p) {
  if (p.is_list("repeats")) return repeat(x.at(0), p.integers("repeats"), p.axis());
  return repeat(x.at(0), p.integer("repeats"), p.axis());
}

// One shift for several axes moves each of them by it.
Array roll_of(X x, P p) {
  if (p.is_list("axis") && !p.is_list("shift"))
    return roll(x.at(0), std::vector(p.ints("axis").size(), p.integer("shift")), p.ints("axis"));
  if (p.is_list("shift")) return roll(x.at(0), p.integers("shift"), p.ints("axis"));
  return roll(x.at(0), p.integer("shift"), p.axis());
}

// One number, one pair for all axes, or a pair per axis.
std::vector<std::pair<std::int64_t, std::int64_t>> pad_widths(const Array& x, const Json& width) {
  const auto axes = static_cast<std::size_t>(x.ndim());
  if (!width.is_array()) return {axes, {width.get<std::int64_t>(), width.get<std::int64_t>()}};
  if (!width.empty() && !width[0].is_array()) return {axes, width.get<std::pair<std::int64_t, std::int64_t>>()};
  return width.get<std::vector<std::pair<std::int64_t, std::int64_t>>>();
}

Array pad_of(X x, P p) {
  if (p.has("padding_config")) {
    std::vector<lax::Padding> config;
    for (const Json& c : p.raw("padding_config")) config.push_back(c.get<lax::Padding>());
    return lax::pad(x.at(0), x.at(1), config);
  }
  if (const std::string mode = p.text("mode", "constant"); mode != "constant")
    return pad(x.at(0), pad_widths(x.at(0), p.raw("pad_width")), PadMode(mode));
  return pad(x.at(0), pad_widths(x.at(0), p.raw("pad_width")), p.number("constant_values", 0));
}

Array slice_of(X x, P p) {
  return lax::slice(x.at(0), p.shape("start"), p.shape("limit"),
                    p.has("strides") ? std::optional(p.shape("strides")) : std::nullopt);
}

// The definitions of the two norms of layers, written as a user would.
Array layer_norm(X x, P p) {
  const Axes axis = p.axes("axis", -1);
  const Array& a = x.at(0);
  return (a - mean(a, axis, true)) * rsqrt(var(a, axis, true) + p.number("epsilon", 1e-5)) * x.at(1) + x.at(2);
}
Array rms_norm(X x, P p) {
  const Array& a = x.at(0);
  return a * rsqrt(mean(a * a, p.axes("axis", -1), true) + p.number("epsilon", 1e-6)) * x.at(1);
}

Array einsum_by_subscripts(X x, P p) {
  const std::string subscripts = p.text("subscripts");
  return einsum_of(subscripts, x);
}

std::int64_t columns(P p) { return p.integer("m", p.integer("n")); }

}  // namespace

namespace {

Operations common_operations() {
  return {
      {"sin", unary(sin)},
      {"cos", unary(cos)},
      {"tan", unary(tan)},
      {"asin", unary(asin)},
      {"acos", unary(acos)},
      {"atan", unary(atan)},
      {"sinh", unary(sinh)},
      {"cosh", unary(cosh)},
      {"tanh", unary(tanh)},
      {"asinh", unary(asinh)},
      {"acosh", unary(acosh)},
      {"atanh", unary(atanh)},
      {"exp", unary(exp)},
      {"exp2", unary(exp2)},
      {"expm1", unary(expm1)},
      {"log", unary(log)},
      {"log2", unary(log2)},
      {"log10", unary(log10)},
      {"log1p", unary(log1p)},
      {"sqrt", unary(sqrt)},
      {"rsqrt", unary(rsqrt)},
      {"cbrt", unary(cbrt)},
      {"square", unary(square)},
      {"abs", unary(abs)},
      {"sign", unary(sign)},
      {"floor", unary(floor)},
      {"ceil", unary(ceil)},
      {"trunc", unary(trunc)},
      {"erf", unary(erf)},
      {"erfc", unary(erfc)},
      {"logistic", unary(nn::sigmoid)},
      {"neg", unary(negative)},
      {"reciprocal", unary(reciprocal)},
      {"is_finite", unary(isfinite)},
      {"isnan", unary(isnan)},
      {"isinf", unary(isinf)},
      {"signbit", unary(signbit)},
      {"integer_pow", one([](X x, P p) { return lax::integer_pow(x.at(0), static_cast<int>(p.integer("y"))); })},
      {"logical_not", unary(logical_not)},
      {"bitwise_not", unary(bitwise_not)},
      {"population_count", unary(lax::population_count)},
      {"convert_element_type", one([](X x, P p) { return lax::convert_element_type(x.at(0), p.dtype("new_dtype")); })},

      {"add", binary(add)},
      {"sub", binary(subtract)},
      {"mul", binary(multiply)},
      {"div", one(divide_by_dtype)},
      {"pow", binary(power)},
      {"atan2", binary(atan2)},
      {"maximum", binary(maximum)},
      {"minimum", binary(minimum)},
      {"remainder", binary(remainder)},
      {"rem", binary(lax::rem)},
      {"logaddexp", binary(logaddexp)},
      {"hypot", binary(hypot)},
      {"floor_divide", binary(floor_divide)},
      {"copysign", binary(copysign)},
      {"nextafter", binary(nextafter)},
      {"xlogy", binary(xlogy)},
      {"xlog1py", binary(xlog1py)},
      {"bitwise_and", binary(bitwise_and)},
      {"bitwise_or", binary(bitwise_or)},
      {"bitwise_xor", binary(bitwise_xor)},
      {"shift_left", binary(left_shift)},
      {"shift_right_arithmetic", binary(right_shift)},
      {"shift_right_logical", binary(lax::shift_right_logical)},
      {"eq", binary(equal)},
      {"ne", binary(not_equal)},
      {"lt", binary(less)},
      {"le", binary(less_equal)},
      {"gt", binary(greater)},
      {"ge", binary(greater_equal)},
      {"logical_and", binary(logical_and)},
      {"logical_or", binary(logical_or)},
      {"logical_xor", binary(logical_xor)},

      {"where", one(where_of)},
      {"select_n", one([](X x, P) { return lax::select_n(x.at(0), Arrays(x.begin() + 1, x.end())); })},
      {"clamp", one([](X x, P) { return lax::clamp(x.at(0), x.at(1), x.at(2)); })},
      {"clip", one(clip_of)},

      {"sum", reduction(sum)},
      {"mean", reduction(mean)},
      {"prod", reduction(prod)},
      {"max", reduction(max)},
      {"min", reduction(min)},
      {"all", reduction(all)},
      {"any", reduction(any)},
      {"logsumexp", reduction(logsumexp)},
      {"var", spread(var)},
      {"std", spread(std)},
      {"argmax", position(argmax)},
      {"argmin", position(argmin)},
      {"norm", one(norm_of)},
      {"diff", one([](X x, P p) { return diff(x.at(0), static_cast<int>(p.integer("n", 1)), p.axis().value_or(-1)); })},

      {"dot", binary(dot)},
      {"matmul", binary(matmul)},
      {"vdot", binary(vdot)},
      {"inner", binary(inner)},
      {"outer", binary(outer)},
      {"kron", binary(kron)},
      {"cross", binary(cross)},
      {"tensordot", one(tensordot_of)},
      {"einsum", one(einsum_by_subscripts)},
      {"dot_general", one(dot_general_of)},

      {"reshape", one([](X x, P p) { return reshape(x.at(0), p.shape("shape")); })},
      {"transpose",
       one([](X x, P p) { return transpose(x.at(0), p.has("permutation") ? Axes(p.ints("permutation")) : Axes()); })},
      {"swapaxes", one([](X x, P p) { return swapaxes(x.at(0), *p.axis("axis1"), *p.axis("axis2")); })},
      {"moveaxis", one([](X x, P p) { return moveaxis(x.at(0), p.axes("source"), p.axes("destination")); })},
      {"squeeze", one([](X x, P p) { return squeeze(x.at(0), p.axes()); })},
      {"expand_dims", one([](X x, P p) { return expand_dims(x.at(0), p.axes()); })},
      {"broadcast_to", one([](X x, P p) { return broadcast_to(x.at(0), p.shape("shape")); })},
      {"broadcast_in_dim",
       one([](X x, P p) { return lax::broadcast_in_dim(x.at(0), p.shape("shape"), p.ints("broadcast_dimensions")); })},
      {"concatenate", one([](X x, P p) { return concatenate(x, p.axis().value_or(0)); })},
      {"stack", one([](X x, P p) { return stack(x, p.axis().value_or(0)); })},
      {"split", split_of},
      {"unstack", [](X x, P p) { return unstack(x.at(0), p.axis().value_or(0)); }},
      {"tile", one([](X x, P p) { return tile(x.at(0), p.shape("reps")); })},
      {"repeat", one(repeat_of)},
      {"flip", one([](X x, P p) { return flip(x.at(0), p.axes()); })},
      {"rev", one([](X x, P p) { return lax::rev(x.at(0), p.ints("dimensions")); })},
      {"roll", one(roll_of)},
      {"pad", one(pad_of)},
      {"triu", diagonals(triu)},
      {"tril", diagonals(tril)},
      {"diag", diagonals(diag)},
      {"trace", one([](X x, P p) { return trace(x.at(0), p.integer("offset", 0)); })},
      {"eye", one([](X, P p) { return eye(p.integer("n"), columns(p), p.integer("k", 0), p.run_dtype()); })},
      {"tri", one([](X, P p) { return tri(p.integer("n"), columns(p), p.integer("k", 0), p.run_dtype()); })},
      {"iota", one([](X, P p) { return lax::iota(p.shape("shape"), *p.axis("dimension"), p.run_dtype()); })},
      {"linspace", one([](X, P p) {
         return linspace(p.number("start", 0), p.number("stop", 0), p.integer("num", 50), p.run_dtype(),
                         p.flag("endpoint", true));
       })},
      {"arange", one([](X, P p) {
         return arange(p.number("start", 0), p.number("stop", 0), p.number("step", 1), p.run_dtype());
       })},
      {"slice", one(slice_of)},
      {"index", one([](X x, P p) { return x.at(0)[parse_index(p.text("index"))]; })},

      {"relu", unary(nn::relu)},
      {"relu6", unary(nn::relu6)},
      {"silu", unary(nn::silu)},
      {"softplus", unary(nn::softplus)},
      {"sigmoid", unary(nn::sigmoid)},
      {"elu", one([](X x, P p) { return nn::elu(x.at(0), p.number("alpha", 1)); })},
      {"selu", unary(nn::selu)},
      {"celu", one([](X x, P p) { return nn::celu(x.at(0), p.number("alpha", 1)); })},
      {"log_sigmoid", unary(nn::log_sigmoid)},
      {"soft_sign", unary(nn::soft_sign)},
      {"hard_tanh", unary(nn::hard_tanh)},
      {"hard_sigmoid", unary(nn::hard_sigmoid)},
      {"hard_silu", unary(nn::hard_silu)},
      {"mish", unary(nn::mish)},
      {"gelu", one([](X x, P p) { return nn::gelu(x.at(0), p.flag("approximate", true)); })},
      {"leaky_relu", one([](X x, P p) { return nn::leaky_relu(x.at(0), p.number("negative_slope", 0.01)); })},
      {"softmax", row_function(nn::softmax)},
      {"log_softmax", row_function(nn::log_softmax)},
      {"one_hot", one([](X x, P p) { return nn::one_hot(x.at(0), p.integer("num_classes")); })},
      {"layer_norm", one(layer_norm)},
      {"rms_norm", one(rms_norm)},
      {"glu", one([](X x, P p) { return nn::glu(x.at(0), p.axis().value_or(-1)); })},
      {"standardize",
       one([](X x, P p) { return nn::standardize(x.at(0), p.axes("axis", -1), p.number("epsilon", 1e-5)); })},
  };
}

}  // namespace

const Operations& operations() {
  static const Operations table = [] {
    Operations all = common_operations();
    for (auto part : {index_operations, linalg_operations, nn_operations, special_operations}) all.merge(part());
    return all;
  }();
  return table;
}

}  // namespace anew::golden
