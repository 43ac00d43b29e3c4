// The table of elementwise functions, by their names in tests/data/goldens/special_points.json.
#include <anew/anew.h>

#include "laws/functions.h"

namespace anew::test {
namespace {

using X = std::span<const Array>;
using One = Array (*)(const ArrayLike&);
using Two = Array (*)(const ArrayLike&, const ArrayLike&);

ElementwiseFunction one(std::string name, One f, double lo = -2, double hi = 2, std::string same_as = "") {
  return {std::move(name), 1, [f](X x) { return f(x[0]); }, lo, hi, 0, 0, std::move(same_as)};
}
ElementwiseFunction two(std::string name, Two f, double lo = -2, double hi = 2, double second_lo = 0.3,
                        double second_hi = 2, std::string same_as = "") {
  return {std::move(name), 2, [f](X x) { return f(x[0], x[1]); }, lo, hi, second_lo, second_hi, std::move(same_as)};
}
template <class F>
ElementwiseFunction with(std::string name, F f, double lo = -2, double hi = 2) {
  return {std::move(name), 1, [f](X x) { return f(x[0]); }, lo, hi};
}

}  // namespace

const std::vector<ElementwiseFunction>& elementwise_functions() {
  static const std::vector<ElementwiseFunction> table = {
      one("negative", negative),
      one("sin", sin),
      one("cos", cos),
      one("tan", tan, -1, 1),
      one("asin", asin, -0.9, 0.9),
      one("acos", acos, -0.9, 0.9),
      one("atan", atan),
      one("arcsin", arcsin, -0.9, 0.9, "asin"),
      one("arccos", arccos, -0.9, 0.9, "acos"),
      one("arctan", arctan, -2, 2, "atan"),
      one("sinh", sinh),
      one("cosh", cosh),
      one("tanh", tanh),
      one("asinh", asinh),
      one("acosh", acosh, 1.3, 4),
      one("atanh", atanh, -0.8, 0.8),
      one("exp", exp),
      one("exp2", exp2),
      one("expm1", expm1),
      one("log", log, 0.3, 4),
      one("log2", log2, 0.3, 4),
      one("log10", log10, 0.3, 4),
      one("log1p", log1p, -0.6, 4),
      one("sqrt", sqrt, 0.3, 4),
      one("rsqrt", rsqrt, 0.3, 4),
      one("cbrt", cbrt, 0.3, 4),
      one("square", square),
      one("reciprocal", reciprocal, 0.3, 2),
      one("erf", erf),
      one("erfc", erfc),
      one("erf_inv", erf_inv, -0.9, 0.9),
      one("lgamma", lgamma, 0.4, 4),
      one("digamma", digamma, 0.4, 4),
      one("abs", abs, 0.2, 2),
      one("sign", sign, 0.2, 2),
      one("floor", floor, 0.2, 0.8),
      one("ceil", ceil, 0.2, 0.8),
      one("round", round, 0.6, 1.4),
      one("trunc", trunc, 0.2, 0.8),
      one("degrees", degrees),
      one("radians", radians),
      one("sinc", sinc),
      with("nan_to_num", [](const Array& x) { return nan_to_num(x); }),
      with(
          "lax::round", [](const Array& x) { return lax::round(x, lax::Rounding::away_from_zero); }, 0.6, 1.4),
      one("nn::relu", nn::relu, 0.2, 2),
      one("nn::relu6", nn::relu6, 0.2, 2),
      one("nn::sigmoid", nn::sigmoid),
      one("nn::log_sigmoid", nn::log_sigmoid),
      one("nn::softplus", nn::softplus),
      one("nn::silu", nn::silu),
      one("nn::swish", nn::swish, -2, 2, "nn::silu"),
      one("nn::mish", nn::mish),
      with("nn::gelu", [](const Array& x) { return nn::gelu(x); }),
      with("nn::gelu exact", [](const Array& x) { return nn::gelu(x, false); }),
      with("nn::elu", [](const Array& x) { return nn::elu(x); }),
      one("nn::selu", nn::selu),
      with("nn::celu", [](const Array& x) { return nn::celu(x); }),
      with(
          "nn::leaky_relu", [](const Array& x) { return nn::leaky_relu(x); }, 0.2, 2),
      one("nn::soft_sign", nn::soft_sign, 0.2, 2),
      one("nn::hard_tanh", nn::hard_tanh, -0.9, 0.9),
      one("nn::hard_sigmoid", nn::hard_sigmoid),
      one("nn::hard_silu", nn::hard_silu),
      one("nn::hard_swish", nn::hard_swish, -2, 2, "nn::hard_silu"),
      one("nn::log1mexp", nn::log1mexp, 0.2, 3),
      with("nn::squareplus", [](const Array& x) { return nn::squareplus(x); }),
      one("special::gammaln", special::gammaln, 0.4, 4, "lgamma"),
      one("special::gamma", special::gamma, 0.4, 4),
      one("special::gammasgn", special::gammasgn, 0.4, 4),
      one("special::digamma", special::digamma, 0.4, 4, "digamma"),
      with(
          "special::polygamma 1", [](const Array& x) { return special::polygamma(1, x); }, 0.6, 4),
      with(
          "special::polygamma 2", [](const Array& x) { return special::polygamma(2, x); }, 0.6, 4),
      one("special::factorial", special::factorial, 0.4, 4),
      one("special::erf", special::erf, -2, 2, "erf"),
      one("special::erfc", special::erfc, -2, 2, "erfc"),
      one("special::erfinv", special::erfinv, -0.9, 0.9, "erf_inv"),
      one("special::ndtr", special::ndtr),
      one("special::expit", special::expit),
      one("special::logit", special::logit, 0.2, 0.8),
      one("special::entr", special::entr, 0.3, 2),
      one("special::bessel_i0e", special::bessel_i0e, 0.3, 4),
      with(
          "lax::integer_pow -2", [](const Array& x) { return lax::integer_pow(x, -2); }, 0.3, 2),
      with("lax::integer_pow 0", [](const Array& x) { return lax::integer_pow(x, 0); }),
      with("lax::integer_pow 1", [](const Array& x) { return lax::integer_pow(x, 1); }),
      with("lax::integer_pow 2", [](const Array& x) { return lax::integer_pow(x, 2); }),
      with("lax::integer_pow 3", [](const Array& x) { return lax::integer_pow(x, 3); }),

      two("add", add),
      two("subtract", subtract),
      two("multiply", multiply),
      two("divide", divide),
      two("true_divide", true_divide, -2, 2, 0.3, 2, "divide"),
      two("lax::div", lax::div, -2, 2, 0.3, 2, "divide"),
      two("floor_divide", floor_divide, 0.2, 0.9, 1, 2),
      two("remainder", remainder, 0.2, 0.9, 1, 2),
      two("mod", mod, 0.2, 0.9, 1, 2, "remainder"),
      two("fmod", fmod, 0.2, 0.9, 1, 2),
      two("lax::rem", lax::rem, 0.2, 0.9, 1, 2, "fmod"),
      two("power", power, 0.3, 2),
      two("pow", pow, 0.3, 2, 0.3, 2, "power"),
      two("maximum", maximum, 0, 0.9, 1, 2),
      two("minimum", minimum, 0, 0.9, 1, 2),
      two("fmax", fmax, 0, 0.9, 1, 2),
      two("fmin", fmin, 0, 0.9, 1, 2),
      two("atan2", atan2, 0.3, 2),
      two("arctan2", arctan2, 0.3, 2, 0.3, 2, "atan2"),
      two("hypot", hypot, 0.3, 2),
      two("logaddexp", logaddexp),
      two("copysign", copysign, 0.3, 2),
      two("heaviside", heaviside, 0.3, 2),
      two("xlogy", xlogy),
      two("special::xlogy", special::xlogy, -2, 2, 0.3, 2, "xlogy"),
      two("xlog1py", xlog1py),
      two("special::xlog1py", special::xlog1py, -2, 2, 0.3, 2, "xlog1py"),
      two("special::beta", special::beta, 0.4, 4),
      two("special::betaln", special::betaln, 0.4, 4),
      two("special::rel_entr", special::rel_entr, 0.3, 2),
      two("special::kl_div", special::kl_div, 0.3, 2),
  };
  return table;
}

}  // namespace anew::test
