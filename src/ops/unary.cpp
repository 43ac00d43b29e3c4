// Elementwise functions of one operand: their rows, and the user functions beside them.
// A row says what it computes and its tangent; whether the tangent reads x or y decides what the backward pass keeps.
#include <anew/nn.h>
#include <anew/ops.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/erf_inv.h"
#include "ops/known_rows.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct IntegerPowParams : ir::ParamsOf<IntegerPowParams> {
  explicit IntegerPowParams(int y = 1) : y(y) {}
  int y;
  static auto fields() { return std::tuple{ir::field("y", &IntegerPowParams::y)}; }
};

using Tangent = Array (*)(const Array& x, const Array& y, const Array& t);

// `lo`, `hi`: where the laws sample it, inside the domain and away from kinks. Without a tangent it is zero.
struct UnaryRule {
  Expr (*value)(Expr x);
  Tangent tangent = nullptr;
  double flops = 1, lo = -2, hi = 2;
  Accepts accepts = Accepts::floats;
  bool gives_bool = false;
};

Primitive unary(std::string name, const UnaryRule& r) {
  Primitive p = elementwise_row(std::move(name), 1, r.accepts, r.gives_bool, r.flops,
                                [value = r.value](std::span<const Expr> x) { return value(x[0]); });
  p.jvp = [tangent = r.tangent](const ir::JvpArgs& a) {
    return Arrays{tangent ? tangent(a.x[0], a.y[0], a.t[0]) : Array()};
  };
  p.samples = [lo = r.lo, hi = r.hi, accepts = r.accepts] {
    if (accepts == Accepts::integers) return integer_samples(1, lo, hi, false);
    if (accepts == Accepts::logical) return integer_samples(1, lo, hi, true);
    return with_integers(unary_samples(lo, hi), accepts);
  };
  return p;
}

Primitive negation() {
  Primitive p = unary("neg", {.value = [](Expr x) { return -x; },
                              .tangent = [](auto&, auto&, const Array& t) { return -t; },
                              .accepts = Accepts::numbers});
  p.transpose = [](const ir::TransposeArgs& a) { return Arrays{-a.ct[0]}; };
  p.facts.linear_in = {0};
  return p;
}

// n is not 0.
Expr power_by_squaring(Expr x, int n) {
  unsigned k = n < 0 ? 0u - static_cast<unsigned>(n) : static_cast<unsigned>(n);  // the least int has no negative
  while (k % 2 == 0) x = x * x, k /= 2;
  Expr y = x;
  while (k /= 2) {
    x = x * x;
    if (k % 2 == 1) y = y * x;
  }
  return n < 0 ? like(y, 1) / y : y;
}

Primitive integer_power() {
  Primitive p = elementwise_row("integer_pow", 1, Accepts::numbers, false, 4, {});
  p.parse = &IntegerPowParams::parse;
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    int n = params.as<IntegerPowParams>().y;
    return lower_elementwise(
        in, [n](std::span<const Expr> x) { return n == 0 ? like(x[0], 1) : power_by_squaring(x[0], n); });
  };
  p.jvp = [](const ir::JvpArgs& a) {
    int n = a.params->as<IntegerPowParams>().y;
    if (n == 0) return Arrays{Array()};
    if (n == 1) return Arrays{a.t[0]};
    const bool least = n == std::numeric_limits<int>::min();
    return Arrays{a.t[0] * (n * (least ? lax::integer_pow(a.x[0], n) / a.x[0] : lax::integer_pow(a.x[0], n - 1)))};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (int n : {-3, -1, 0, 1, 2, 3, 5})
      for (auto& s : unary_samples(0.3, 2, make_params(IntegerPowParams(n)))) out.push_back(s);
    return out;
  };
  return p;
}

struct UnaryRows : Family {
  const Primitive& neg = row(negation());
  const Primitive& sin = row(unary(
      "sin", {[](Expr x) { return loops::sin(x); }, [](auto& x, auto&, auto& t) { return t * anew::cos(x); }, 12}));
  const Primitive& cos = row(unary(
      "cos", {[](Expr x) { return loops::cos(x); }, [](auto& x, auto&, auto& t) { return -(t * anew::sin(x)); }, 12}));
  const Primitive& tan = row(unary("tan", {[](Expr x) { return loops::tan(x); },
                                           [](auto&, auto& y, auto& t) { return t + (t * y) * y; }, 16, -1.2, 1.2}));
  const Primitive& asin =
      row(unary("asin", {[](Expr x) { return loops::asin(x); },
                         [](auto& x, auto&, auto& t) { return t * anew::rsqrt(one_minus_square(x)); }, 16, -0.9, 0.9}));
  const Primitive& acos = row(
      unary("acos", {[](Expr x) { return loops::acos(x); },
                     [](auto& x, auto&, auto& t) { return -(t * anew::rsqrt(one_minus_square(x))); }, 16, -0.9, 0.9}));
  const Primitive& atan = row(unary("atan", {[](Expr x) { return loops::atan(x); },
                                             [](auto& x, auto&, auto& t) { return t / (1 + anew::square(x)); }, 16}));
  const Primitive& sinh = row(unary(
      "sinh", {[](Expr x) { return loops::sinh(x); }, [](auto& x, auto&, auto& t) { return t * anew::cosh(x); }, 16}));
  const Primitive& cosh = row(unary(
      "cosh", {[](Expr x) { return loops::cosh(x); }, [](auto& x, auto&, auto& t) { return t * anew::sinh(x); }, 16}));
  const Primitive& tanh = row(unary(
      "tanh", {[](Expr x) { return loops::tanh(x); }, [](auto&, auto& y, auto& t) { return t - (t * y) * y; }, 16}));
  const Primitive& asinh =
      row(unary("asinh", {[](Expr x) { return loops::asinh(x); },
                          [](auto& x, auto&, auto& t) { return t * anew::rsqrt(anew::square(x) + 1); }, 20}));
  const Primitive& acosh =
      row(unary("acosh", {[](Expr x) { return loops::acosh(x); },
                          [](auto& x, auto&, auto& t) { return t * anew::rsqrt(-one_minus_square(x)); }, 20, 1.3, 4}));
  const Primitive& atanh =
      row(unary("atanh", {[](Expr x) { return loops::atanh(x); },
                          [](auto& x, auto&, auto& t) { return t / one_minus_square(x); }, 20, -0.8, 0.8}));
  const Primitive& exp =
      row(unary("exp", {[](Expr x) { return loops::exp(x); }, [](auto&, auto& y, auto& t) { return t * y; }, 10}));
  const Primitive& exp2 = row(unary("exp2", {[](Expr x) { return loops::exp2(x); },
                                             [](auto&, auto& y, auto& t) { return (t * y) * std::numbers::ln2; }, 10}));
  const Primitive& log = row(
      unary("log", {[](Expr x) { return loops::log(x); }, [](auto& x, auto&, auto& t) { return t / x; }, 12, 0.3, 4}));
  const Primitive& log2 =
      row(unary("log2", {[](Expr x) { return loops::log2(x); },
                         [](auto& x, auto&, auto& t) { return (t / x) * std::numbers::log2e; }, 16, 0.3, 4}));
  const Primitive& log10 =
      row(unary("log10", {[](Expr x) { return loops::log10(x); },
                          [](auto& x, auto&, auto& t) { return (t / x) * std::numbers::log10e; }, 16, 0.3, 4}));
  const Primitive& log1p = row(unary("log1p", {[](Expr x) { return loops::log1p(x); },
                                               [](auto& x, auto&, auto& t) { return t / (x + 1); }, 14, -0.6, 4}));
  const Primitive& expm1 = row(unary(
      "expm1", {[](Expr x) { return loops::expm1(x); }, [](auto&, auto& y, auto& t) { return t * (y + 1); }, 12}));
  const Primitive& sqrt = row(unary("sqrt", {[](Expr x) { return loops::sqrt(x); },
                                             [](auto&, auto& y, auto& t) { return t * (0.5 / y); }, 4, 0.3, 4}));
  const Primitive& rsqrt =
      row(unary("rsqrt", {[](Expr x) { return loops::rsqrt(x); },
                          [](auto& x, auto& y, auto& t) { return t * (-0.5 * (y / x)); }, 6, 0.3, 4}));
  const Primitive& cbrt = row(
      unary("cbrt", {[](Expr x) { return loops::cbrt(x); },
                     [](auto&, auto& y, auto& t) { return t * ((1.0 / 3) * lax::integer_pow(y, -2)); }, 12, 0.3, 4}));
  const Primitive& abs = row(unary(
      "abs", {[](Expr x) { return is_signed(x.dtype()) ? loops::abs(x) : x; },
              [](auto& x, auto&, auto& t) { return lax::select_n(x >= 0, {-t, t}); }, 1, 0.2, 2, Accepts::numbers}));
  const Primitive& sign =
      row(unary("sign", {[](Expr x) {
                           Expr positive = select(x > 0, like(x, 1), x);  // keeps zeros and nan
                           return !is_signed(x.dtype()) ? positive : select(x < 0, like(x, -1), positive);
                         },
                         nullptr, 2, 0.2, 2, Accepts::numbers}));
  const Primitive& floor = row(unary("floor", {[](Expr x) { return loops::floor(x); }, nullptr, 1, 0.2, 0.8}));
  const Primitive& ceil = row(unary("ceil", {[](Expr x) { return loops::ceil(x); }, nullptr, 1, 0.2, 0.8}));
  const Primitive& round = row(unary("round", {[](Expr x) { return loops::round_even(x); }, nullptr, 1, 0.6, 1.4}));
  const Primitive& logistic = row(unary("logistic", {[](Expr x) { return loops::logistic(x); },
                                                     [](auto&, auto& y, auto& t) { return t * (y * (1 - y)); }, 14}));
  const Primitive& erf = row(unary("erf", {[](Expr x) { return loops::erf(x); },
                                           [](auto& x, auto&, auto& t) {
                                             return t * ((2 * std::numbers::inv_sqrtpi) * anew::exp(-anew::square(x)));
                                           },
                                           16}));
  const Primitive& erfc = row(unary(
      "erfc",
      {[](Expr x) { return loops::erfc(x); },
       [](auto& x, auto&, auto& t) { return t * ((-2 * std::numbers::inv_sqrtpi) * anew::exp(-anew::square(x))); },
       16}));
  const Primitive& erf_inv = row(unary(
      "erf_inv",
      {erf_inv_expression,
       [](auto&, auto& y, auto& t) { return t * ((0.5 / std::numbers::inv_sqrtpi) * anew::exp(anew::square(y))); }, 40,
       -0.9, 0.9}));
  const Primitive& square =
      row(unary("square", {[](Expr x) { return x * x; }, [](auto& x, auto&, auto& t) { return t * (2 * x); }, 1, -2, 2,
                           Accepts::numbers}));
  const Primitive& integer_pow = row(integer_power());
  const Primitive& relu =
      row(unary("relu", {[](Expr x) { return select(x <= 0, like(x, 0), x); },  // nan stays nan
                         [](auto& x, auto&, auto& t) { return lax::select_n(x > 0, {zero_like(t), t}); }, 1, 0.2, 2,
                         Accepts::numbers}));
  const Primitive& is_finite =
      row(unary("is_finite", {[](Expr x) { return loops::abs(x) < std::numeric_limits<double>::infinity(); }, nullptr,
                              2, -2, 2, Accepts::floats, true}));
  const Primitive& not_ = row(unary("not", {[](Expr x) { return ~x; }, nullptr, 1, 0, 2, Accepts::logical}));
  const Primitive& population_count =
      row(unary("population_count", {[](Expr x) { return popcount(x); }, nullptr, 1, 0, 9, Accepts::integers}));
};

Array apply(const Primitive& p, const Array& x, const Location& at) { return bind1(p, ir::no_params(), {x}, at); }

// Functions with real values: integers become floats.
Array of_float(const Primitive& p, const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return apply(p, as_operand(x.value, floating(type_of(x.value).dtype), x.at), x.at);
}
// Functions that keep integers.
Array of_number(const Primitive& p, const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return apply(p, x.value, x.at);
}
// Rounding leaves integers and bools alone.
Array of_fraction(const Primitive& p, const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return is_float(type_of(x.value).dtype) ? apply(p, x.value, x.at) : x.value;
}

}  // namespace

std::span<const ir::Primitive* const> unary_rows() { return rows<UnaryRows>().list(); }

Array operator-(const ArrayLike& a) { return of_number(rows<UnaryRows>().neg, a); }
Array operator~(const ArrayLike& a) { return bitwise_not(a); }
Array negative(const ArrayLike& x) { return of_number(rows<UnaryRows>().neg, x); }
Array sin(const ArrayLike& x) { return of_float(rows<UnaryRows>().sin, x); }
Array cos(const ArrayLike& x) { return of_float(rows<UnaryRows>().cos, x); }
Array tan(const ArrayLike& x) { return of_float(rows<UnaryRows>().tan, x); }
Array asin(const ArrayLike& x) { return of_float(rows<UnaryRows>().asin, x); }
Array acos(const ArrayLike& x) { return of_float(rows<UnaryRows>().acos, x); }
Array atan(const ArrayLike& x) { return of_float(rows<UnaryRows>().atan, x); }
Array arcsin(const ArrayLike& x) { return asin(x); }
Array arccos(const ArrayLike& x) { return acos(x); }
Array arctan(const ArrayLike& x) { return atan(x); }
Array sinh(const ArrayLike& x) { return of_float(rows<UnaryRows>().sinh, x); }
Array cosh(const ArrayLike& x) { return of_float(rows<UnaryRows>().cosh, x); }
Array tanh(const ArrayLike& x) { return of_float(rows<UnaryRows>().tanh, x); }
Array asinh(const ArrayLike& x) { return of_float(rows<UnaryRows>().asinh, x); }
Array acosh(const ArrayLike& x) { return of_float(rows<UnaryRows>().acosh, x); }
Array atanh(const ArrayLike& x) { return of_float(rows<UnaryRows>().atanh, x); }
Array exp(const ArrayLike& x) { return of_float(rows<UnaryRows>().exp, x); }
Array exp2(const ArrayLike& x) { return of_float(rows<UnaryRows>().exp2, x); }
Array expm1(const ArrayLike& x) { return of_float(rows<UnaryRows>().expm1, x); }
Array log(const ArrayLike& x) { return of_float(rows<UnaryRows>().log, x); }
Array log2(const ArrayLike& x) { return of_float(rows<UnaryRows>().log2, x); }
Array log10(const ArrayLike& x) { return of_float(rows<UnaryRows>().log10, x); }
Array log1p(const ArrayLike& x) { return of_float(rows<UnaryRows>().log1p, x); }
Array sqrt(const ArrayLike& x) { return of_float(rows<UnaryRows>().sqrt, x); }
Array rsqrt(const ArrayLike& x) { return of_float(rows<UnaryRows>().rsqrt, x); }
Array cbrt(const ArrayLike& x) { return of_float(rows<UnaryRows>().cbrt, x); }
Array erf(const ArrayLike& x) { return of_float(rows<UnaryRows>().erf, x); }
Array erfc(const ArrayLike& x) { return of_float(rows<UnaryRows>().erfc, x); }
Array erf_inv(const ArrayLike& x) { return of_float(rows<UnaryRows>().erf_inv, x); }
Array sign(const ArrayLike& x) { return of_number(rows<UnaryRows>().sign, x); }
Array floor(const ArrayLike& x) { return of_fraction(rows<UnaryRows>().floor, x); }
Array ceil(const ArrayLike& x) { return of_fraction(rows<UnaryRows>().ceil, x); }
Array round(const ArrayLike& x) { return of_fraction(rows<UnaryRows>().round, x); }
Array bitwise_not(const ArrayLike& x) {
  PinLine pin(x.at);
  return of_number(rows<UnaryRows>().not_, x);
}
Array invert(const ArrayLike& x) { return bitwise_not(x); }

Array abs(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return type_of(x.value).dtype == bool_ ? x.value : of_number(rows<UnaryRows>().abs, x);
}
Array square(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return type_of(x.value).dtype == bool_ ? apply(rows<UnaryRows>().square, coerce(x.value, i32, x.at), x.at)
                                         : of_number(rows<UnaryRows>().square, x);
}
Array isfinite(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  if (is_float(type_of(x.value).dtype)) return of_number(rows<UnaryRows>().is_finite, x);
  return full(type_of(x.value).shape, ArrayLike(true, x.at));
}
Array logical_not(const ArrayLike& x) { return apply(rows<UnaryRows>().not_, coerce(x.value, bool_, x.at), x.at); }

namespace nn {
Array relu(const ArrayLike& x) { return of_number(rows<UnaryRows>().relu, x); }
Array sigmoid(const ArrayLike& x) { return of_float(rows<UnaryRows>().logistic, x); }
}  // namespace nn

namespace lax {
Array population_count(const ArrayLike& x) {  // of the bits that the number shows
  check_operand(x.value, line_or(x.at));
  return apply(rows<UnaryRows>().population_count, strong(x.value, x.at), x.at);
}
Array integer_pow(const ArrayLike& x, int y) {
  check_operand(x.value, line_or(x.at));
  if (y == 1) return x.value;
  if (y == 2) return anew::square(x);
  return bind1(rows<UnaryRows>().integer_pow, make_params(IntegerPowParams(y)), {x.value}, x.at);
}
}  // namespace lax
}  // namespace anew
