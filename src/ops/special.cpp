// Rows of lgamma, digamma and polygamma, and of rounding away from zero. digamma is the derivative of lgamma and
// polygamma(n + 1) that of polygamma(n), so derivatives exist to any order.
#include <anew/nn.h>
#include <anew/ops.h>
#include <anew/special.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct PolygammaParams : ir::ParamsOf<PolygammaParams> {
  explicit PolygammaParams(int n = 1) : n(n) {}
  int n;
  static auto fields() { return std::tuple{ir::field("n", &PolygammaParams::n)}; }
};

Primitive plain(std::string name, Expr (*value)(Expr), Array (*tangent)(const Array& x, const Array& t), double flops,
                SampleRange sampled) {
  Primitive p = elementwise_row(std::move(name), 1, Accepts::floats, false, flops,
                                [value](std::span<const Expr> x) { return value(x[0]); });
  p.jvp = [tangent](const ir::JvpArgs& a) { return Arrays{tangent ? tangent(a.x[0], a.t[0]) : Array()}; };
  p.samples = [sampled] { return unary_samples(sampled.lo, sampled.hi); };
  return p;
}

Expr power(Expr x, int n) {
  Expr y = x;
  for (int bit = 30 - std::countl_zero(static_cast<unsigned>(n)); bit >= 0; --bit) {
    y = y * y;
    if (n >> bit & 1) y = y * x;
  }
  return y;
}

// n! zeta(n + 1, x) for x > 0: the first terms of the series, the rest by Euler and Maclaurin.
Expr scaled_zeta(Expr x, int n) {
  constexpr double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
  const double factorial = std::tgamma(n + 1.0);
  const int terms = 12 + n / 2;
  const Expr end = x + static_cast<double>(terms), u = 1.0 / end, square = u * u;
  Expr rest = like(x, 0);
  for (int j = std::size(bernoulli); j > 0; --j) {
    // B_2j (n + 2j - 1)! / (2j)!, over n!
    double c = bernoulli[j - 1];
    for (int i = 1; i < 2 * j; ++i) c *= n + i;
    for (int i = 1; i <= 2 * j; ++i) c /= i;
    rest = rest * square + c;
  }
  Expr sum = power(u, n) * (1.0 / n + u * (0.5 + u * rest));
  for (int k = terms; k-- > 0;) sum = sum + power(1.0 / (x + static_cast<double>(k)), n + 1);
  return sum * factorial;
}

// The n-th derivative of pi cot(pi x) is a polynomial in the cotangent: p_0 = c, p_(k+1) = -(1 + c^2) p_k'.
Expr cotangent_derivative(Expr x, int n) {
  std::vector<double> p = {0, 1};
  for (int k = 0; k < n; ++k) {
    std::vector<double> next(p.size() + 1);
    for (std::size_t i = 1; i < p.size(); ++i) {
      next[i - 1] -= static_cast<double>(i) * p[i];
      next[i + 1] -= static_cast<double>(i) * p[i];
    }
    p = std::move(next);
  }
  // Halves of a turn exactly: the cotangent is 0 there.
  const Expr f = x - round_even(x), size = abs(f), steep = size > 0.25;
  const Expr t = tan(select(steep, 0.5 - size, size) * std::numbers::pi), positive = select(steep, t, 1.0 / t);
  const Expr c = select(f < 0.0, -positive, positive);
  Expr y = like(x, p.back());
  for (std::size_t i = p.size() - 1; i-- > 0;) y = y * c + p[i];
  return y * std::pow(std::numbers::pi, n + 1);
}

Expr polygamma_expression(Expr x, int n) {
  if (n == 1) return trigamma(x);
  if (x.dtype() != f64) return convert(polygamma_expression(convert(x, f64), n), x.dtype());
  const double sign = n % 2 == 0 ? -1 : 1;  // psi^(n)(x) = (-1)^(n + 1) n! zeta(n + 1, x)
  const Expr negative = x < 0.0;
  const Expr y = scaled_zeta(select(negative, 1.0 - x, x), n);
  const Expr value = select(negative, -y - cotangent_derivative(x, n), y * sign);
  // A pole: inf for odd n; for even n it has another sign on each side.
  return select((x <= 0.0) & (x == floor(x)) & (x > -infinity), like(x, n % 2 == 0 ? nan : infinity), value);
}

Primitive polygamma_row() {
  Primitive p = elementwise_row("polygamma", 1, Accepts::floats, false, 60, {});
  p.parse = &PolygammaParams::parse;
  p.infer = [one = p.infer](const ir::InferArgs& a) {
    constexpr int most = 170;  // n! is a factor, and one more is beyond f64
    if (int n = a.params.as<PolygammaParams>().n; n < 1 || n > most)
      fail("polygamma", a.at, fmt::format("the order is from 1 to {}, got {}", most, n));
    return one(a);
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    int n = params.as<PolygammaParams>().n;
    return lower_elementwise(in, [n](std::span<const Expr> x) { return polygamma_expression(x[0], n); });
  };
  p.jvp = [](const ir::JvpArgs& a) {
    return Arrays{a.t[0] * special::polygamma(a.params->as<PolygammaParams>().n + 1, a.x[0])};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (int n : {1, 2, 3})
      for (auto& s : unary_samples(0.6, 4, make_params(PolygammaParams(n)))) out.push_back(s);
    return out;
  };
  return p;
}

Expr round_away(Expr x) {
  const Expr a = abs(x), below = floor(a), r = select(a - below >= 0.5, below + 1.0, below);
  return select(r == 0.0, x * 0.0, select(x < 0.0, -r, r));  // zeros keep their sign
}

struct SpecialRows : Family {
  const Primitive& lgamma = row(plain(
      "lgamma", [](Expr x) { return loops::lgamma(x); },
      [](const Array& x, const Array& t) { return t * anew::digamma(x); }, 60, {0.4, 5}));
  const Primitive& digamma = row(plain(
      "digamma", [](Expr x) { return loops::digamma(x); },
      [](const Array& x, const Array& t) { return t * special::polygamma(1, x); }, 60, {0.4, 5}));
  const Primitive& polygamma = row(polygamma_row());
  const Primitive& round_away_from_zero = row(plain("round_away_from_zero", round_away, nullptr, 6, {0.6, 1.4}));
};

Array apply(const Primitive& p, const ArrayLike& x) { return bind1(p, ir::no_params(), {as_float(x)}, x.at); }

}  // namespace

std::span<const Primitive* const> special_rows() { return rows<SpecialRows>().list(); }

Array lgamma(const ArrayLike& x) { return apply(rows<SpecialRows>().lgamma, x); }
Array digamma(const ArrayLike& x) { return apply(rows<SpecialRows>().digamma, x); }

namespace lax {
Array round(const ArrayLike& x, Rounding rounding) {
  check_operand(x.value, line_or(x.at));
  if (rounding == Rounding::to_nearest_even || !is_float(type_of(x.value).dtype)) return anew::round(x);
  return apply(rows<SpecialRows>().round_away_from_zero, x);
}
}  // namespace lax

Array special::polygamma(int n, const ArrayLike& x) {
  if (n < 0) throw Error(fmt::format("[polygamma] the order must not be negative, got {}", n), line_or(x.at));
  constexpr int most = 1000;  // its kernel grows with the order
  if (n > most) fail("polygamma", x.at, fmt::format("the order must be at most {}, got {}", most, n));
  if (n == 0) return anew::digamma(x);
  return bind1(rows<SpecialRows>().polygamma, make_params(PolygammaParams(n)), {as_float(x)}, x.at);
}

}  // namespace anew
