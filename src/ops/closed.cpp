// Functions whose derivatives of every order are written down: made of other rows they would be right almost
// everywhere, but 0 / 0, 0 * inf or a difference of equal numbers where a formula of the whole has a value. Each row's
// tangent reads rows that are again such, so the limit is met in every order, forward and in reverse.
#include <anew/nn.h>
#include <anew/ops.h>
#include <anew/special.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/known_rows.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct OrderParams : ir::ParamsOf<OrderParams> {
  explicit OrderParams(int n = 0) : n(n) {}
  int n;
  static auto fields() { return std::tuple{ir::field("n", &OrderParams::n)}; }
};
struct XlogyParams : ir::ParamsOf<XlogyParams> {
  explicit XlogyParams(int n = 0, bool shifted = false) : n(n), shifted(shifted) {}
  int n;
  bool shifted;  // 1 + y in place of y
  static auto fields() {
    return std::tuple{ir::field("n", &XlogyParams::n), ir::field("shifted", &XlogyParams::shifted)};
  }
};

Array sinc_derivative(int n, const Array& x);
Array xlogy_derivative(const XlogyParams& q, const Array& x, const Array& y);
Array inverse_expm1(const Array& x);
Array squareplus_part(int n, const Array& x, const Array& b);
Array scaled_bessel(int n, const Array& x);

// (1 - x) (1 + x): 1 - x^2 without cancellation, and with a derivative that has none either.
Primitive one_minus_square_row() {
  Primitive p = elementwise_row("one_minus_square", 1, Accepts::floats, false, 3,
                                [](std::span<const Expr> x) { return (1.0 - x[0]) * (x[0] + 1.0); });
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{a.t[0] * (-2 * a.x[0])}; };
  p.samples = [] { return unary_samples(-2, 2); };
  return p;
}

// The n-th derivative of sin(pi x) / (pi x). From pi x g = sin(pi x), differentiated n times: x g_n = pi^(n-1)
// sin(pi x + n pi / 2) - n g_(n-1); near 0, where that cancels, the sum of powers. The sine is 0 at integers.
Expr sinc_expression(Expr x, int n) {
  if (x.dtype() != f64) return convert(sinc_expression(convert(x, f64), n), x.dtype());
  const double pi = std::numbers::pi;
  const int first = (n + 1) / 2, last = 22 + n;
  const Expr square = x * x;
  Expr near = like(x, 0);
  for (int m = last; m >= first; --m) {
    double c = (m % 2 == 0 ? 1.0 : -1.0) / (2 * m + 1);  // (-1)^m pi^2m (2m)! / ((2m + 1)! (2m - n)!)
    for (int i = 1; i <= 2 * m; ++i) c *= i <= 2 * m - n ? pi / i : pi;
    near = near * square + c;
  }
  if (n % 2 == 1) near = near * x;

  const Expr whole = round_even(x), f = (x - whole) * pi;
  const Expr odd = whole - 2.0 * floor(whole * 0.5) != 0.0;
  const Expr s = select(odd, -sin(f), sin(f)), c = select(odd, -cos(f), cos(f));
  const Expr turns[] = {s, c, -s, -c};
  Expr far = s / (x * pi);
  for (int k = 1; k <= n; ++k) far = (turns[k % 4] * std::pow(pi, k - 1) - far * static_cast<double>(k)) / x;
  return select(abs(x) < 1 + n / 3.0, near, select(abs(x) == infinity, like(x, 0), far));
}

// A kernel grows with the order of a derivative, so orders have an end.
template <class P>
void check_order(Primitive& p, int highest_order = 32) {
  p.infer = [op = p.name, infer = p.infer, highest_order](const ir::InferArgs& a) {
    const int n = a.params.as<P>().n;
    if (n < 0 || n > highest_order)
      fail(op, a.at, fmt::format("the order of a derivative is 0 to {}, got {}", highest_order, n));
    return infer(a);
  };
}

Primitive sinc_row() {
  Primitive p = elementwise_row("sinc", 1, Accepts::floats, false, 60, {});
  p.parse = &OrderParams::parse;
  check_order<OrderParams>(p);
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    int n = params.as<OrderParams>().n;
    return lower_elementwise(in, [n](std::span<const Expr> x) { return sinc_expression(x[0], n); });
  };
  p.jvp = [](const ir::JvpArgs& a) {
    return Arrays{a.t[0] * sinc_derivative(a.params->as<OrderParams>().n + 1, a.x[0])};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (int n : {0, 1, 2, 5})
      for (auto& s : unary_samples(-2, 2, make_params(OrderParams(n)))) out.push_back(s);
    return out;
  };
  return p;
}

// -x log(x); 0 at 0, -inf below.
Primitive entr_row() {
  Primitive p = elementwise_row("entr", 1, Accepts::floats, false, 14, [](std::span<const Expr> x) {
    const Expr y = -(x[0] * loops::log(x[0]));
    return select(x[0] == 0.0, like(x[0], 0), select(x[0] < 0.0, like(x[0], -infinity), y));
  });
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{a.t[0] * (-1 - log(a.x[0]))}; };
  p.samples = [] { return unary_samples(0.3, 2); };
  return p;
}

Expr inverse_power(Expr x, int n) {
  Expr y = x;
  for (int k = 1; k < n; ++k) y = y * x;
  return 1.0 / y;
}

// x log(y) for n = 0, x / y^n for n > 0; 0 where x is 0, unless y is nan. By x it is as if no number were special, so
// the derivative at x = 0 is log(y), -inf for y = 0; by y it is 0 where x is 0.
Primitive xlogy_row() {
  Primitive p = elementwise_row("xlogy", 2, Accepts::floats, false, 14, {});
  p.parse = &XlogyParams::parse;
  check_order<XlogyParams>(p);
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    const auto& q = params.as<XlogyParams>();
    return lower_elementwise(in, [n = q.n, shifted = q.shifted](std::span<const Expr> v) {
      const Expr x = v[0], y = v[1];
      const Expr z = n > 0     ? x * inverse_power(shifted ? y + 1.0 : y, n)
                     : shifted ? x * loops::log1p(y)
                               : x * loops::log(y);
      return select(x == 0.0, select(y == y, like(x, 0), y), z);
    });
  };
  p.jvp = [](const ir::JvpArgs& a) {
    const auto& q = a.params->as<XlogyParams>();
    const Array &x = a.x[0], &y = a.x[1], &s = a.t[0], &t = a.t[1];
    Array first, second;
    if (s.value())
      first = s * (q.n > 0 ? lax::integer_pow(q.shifted ? y + 1 : y, -q.n) : q.shifted ? log1p(y) : log(y));
    if (t.value()) {
      Array slope = xlogy_derivative(XlogyParams(q.n + 1, q.shifted), x, y);
      second = t * (q.n > 0 ? -q.n * slope : slope);
    }
    return Arrays{fitted(add_tangents(first, second), a.y[0])};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (const XlogyParams& q : {XlogyParams(0), XlogyParams(0, true), XlogyParams(1), XlogyParams(2, true)})
      for (ir::Sample s : binary_samples({-2, 2}, {0.3, 2})) {
        s.params = make_params(q);
        out.push_back(s);
      }
    return out;
  };
  return p;
}

// The larger is taken out of the root, so that squares do not overflow. At the origin, a corner, both derivatives are
// 1/2, those of max(|x|, |y|).
Primitive hypot_row() {
  Primitive p = elementwise_row("hypot", 2, Accepts::floats, false, 12, [](std::span<const Expr> v) {
    const Expr x = loops::abs(v[0]), y = loops::abs(v[1]);
    const Expr first = x >= y, large = select(first, x, y), small = select(first, y, x), ratio = small / large;
    const Expr h = select(large == 0.0, large, large * loops::sqrt(ratio * ratio + 1.0));
    const Expr known = select((x != x) | (y != y), x + y, h);
    return select((x == infinity) | (y == infinity), like(x, infinity), known);
  });
  p.jvp = [](const ir::JvpArgs& a) {
    Array origin = a.y[0] == 0, h = where(origin, 1, a.y[0]), first, second;
    if (a.t[0].value()) first = a.t[0] * where(origin, 0.5, a.x[0] / h);
    if (a.t[1].value()) second = a.t[1] * where(origin, 0.5, a.x[1] / h);
    return Arrays{fitted(add_tangents(first, second), a.y[0])};
  };
  p.samples = [] { return binary_samples({0.3, 2}, {-2, 2}); };
  return p;
}

// log(1 - exp(-x)); by Maechler's rule the form that cancels less.
Primitive log1mexp_row() {
  Primitive p = elementwise_row("log1mexp", 1, Accepts::floats, false, 30, [](std::span<const Expr> x) {
    return select(x[0] < std::numbers::ln2, loops::log(-loops::expm1(-x[0])), loops::log1p(-loops::exp(-x[0])));
  });
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{a.t[0] * inverse_expm1(a.x[0])}; };
  p.samples = [] { return unary_samples(0.2, 3); };
  return p;
}
// 1 / (exp(x) - 1), the slope of log1mexp; its own is made of its value, so that no two exponentials overflow.
Primitive inverse_expm1_row() {
  Primitive p = elementwise_row("inverse_expm1", 1, Accepts::floats, false, 14, [](std::span<const Expr> x) {
    const Expr y = 1.0 / loops::expm1(x[0]);
    return select(x[0] == 0.0, like(x[0], infinity), y);  // -0 is no other end
  });
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{a.t[0] * -(a.y[0] * (1 + a.y[0]))}; };
  p.samples = [] { return unary_samples(0.2, 3); };
  return p;
}

// With h = sqrt(x^2 + b), n = 0: (x + h) / 2, 1: its slope (1 + x / h) / 2, 2: x / h, 3: 1 / h. Their slopes are
// products of the last two, which stay finite where x^2 overflows; below 0 the sum is b / (h - x), which does not
// cancel.
Primitive squareplus_row() {
  Primitive p = elementwise_row("squareplus", 2, Accepts::floats, false, 16, {});
  p.parse = &OrderParams::parse;
  check_order<OrderParams>(p, 3);
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    return lower_elementwise(in, [n = params.as<OrderParams>().n](std::span<const Expr> v) {
      const Expr x = v[0], b = v[1], large = loops::abs(x), root = loops::sqrt(b);
      const Expr first = large >= root, most = select(first, large, root), ratio = select(first, root, large) / most;
      const Expr h = select((most == 0.0) | (most == infinity), most, most * loops::sqrt(ratio * ratio + 1.0));
      if (n == 3) return 1.0 / h;
      const Expr sign = select(x < 0.0, like(x, -1), like(x, 1));
      const Expr turn = select(h == infinity, sign, select(h == 0.0, x, x / h));
      if (n == 2) return turn;
      const Expr whole = select(x < 0.0, b / (h - x), x + h) * 0.5;
      return n == 0 ? whole : select(h == infinity, (turn + 1.0) * 0.5, whole / h);
    });
  };
  p.jvp = [](const ir::JvpArgs& a) {
    const int n = a.params->as<OrderParams>().n;
    const Array &x = a.x[0], &b = a.x[1];
    const Array q = squareplus_part(3, x, b), r = squareplus_part(2, x, b);
    Array first, second;
    if (a.t[0].value())
      first = a.t[0] * (n == 0   ? squareplus_part(1, x, b)
                        : n == 1 ? 0.5 * b * (q * q * q)
                        : n == 2 ? b * (q * q * q)
                                 : -r * (q * q));
    if (a.t[1].value())
      second = a.t[1] * (n == 0   ? 0.25 * q
                         : n == 1 ? -0.25 * r * (q * q)
                         : n == 2 ? -0.5 * r * (q * q)
                                  : -0.5 * (q * q * q));
    return Arrays{fitted(add_tangents(first, second), a.y[0])};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (int n : {0, 1, 2, 3})
      for (ir::Sample s : binary_samples({-2, 2}, {0.5, 4})) {
        s.params = make_params(OrderParams(n));
        out.push_back(s);
      }
    return out;
  };
  return p;
}

// exp(-|x|) I_n(x), I_n the modified Bessel function: up to 30 the sum of powers, whose terms are all positive, beyond
// it the asymptotic one.
Expr bessel_expression(Expr x, int n) {
  if (x.dtype() != f64) return convert(bessel_expression(convert(x, f64), n), x.dtype());
  const Expr size = loops::abs(x), square = x * x * 0.25;
  Expr near = like(x, 1), far = like(x, 1);
  for (int k = 70; k > 0; --k) near = near * (square * (1.0 / (k * (k + n)))) + 1.0;
  for (int k = 1; k <= n; ++k) near = near * (x * (0.5 / k));
  const Expr inverse = 1.0 / size;
  for (int k = 30; k > 0; --k) far = far * (inverse * (((2 * k - 1) * (2 * k - 1) - 4.0 * n * n) / (8.0 * k))) + 1.0;
  far = far * loops::rsqrt(size * (2 * std::numbers::pi));
  if (n % 2 == 1) far = select(x < 0.0, -far, far);
  return select(size <= 30.0, near * loops::exp(-size), select(x == x, far, x));
}
// I_n' = (I_(n-1) + I_(n+1)) / 2; the sign is 0 at 0, where exp(-|x|) has a corner.
Primitive bessel_row() {
  Primitive p = elementwise_row("bessel_ie", 1, Accepts::floats, false, 200, {});
  p.parse = &OrderParams::parse;
  check_order<OrderParams>(p, 8);
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    return lower_elementwise(
        in, [n = params.as<OrderParams>().n](std::span<const Expr> x) { return bessel_expression(x[0], n); });
  };
  p.jvp = [](const ir::JvpArgs& a) {
    const int n = a.params->as<OrderParams>().n;
    const Array& x = a.x[0];
    Array mean = n == 0 ? scaled_bessel(1, x) : 0.5 * (scaled_bessel(n - 1, x) + scaled_bessel(n + 1, x));
    return Arrays{a.t[0] * (mean - sign(x) * a.y[0])};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (int n : {0, 1, 2})
      for (auto& s : unary_samples(0.3, 4, make_params(OrderParams(n)))) out.push_back(s);
    return out;
  };
  return p;
}

struct ClosedRows : Family {
  const Primitive& one_minus_square = row(one_minus_square_row());
  const Primitive& sinc = row(sinc_row());
  const Primitive& entr = row(entr_row());
  const Primitive& xlogy = row(xlogy_row());
  const Primitive& hypot = row(hypot_row());
  const Primitive& log1mexp = row(log1mexp_row());
  const Primitive& inverse_expm1 = row(inverse_expm1_row());
  const Primitive& squareplus = row(squareplus_row());
  const Primitive& bessel_ie = row(bessel_row());
};
Array two(std::string_view op, const Primitive& p, const ParamsRef& params, const ArrayLike& a, const ArrayLike& b) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  std::array<Array, 2> both{a.value, b.value};
  Arrays x = operands(op, {a.value, b.value}, a.at, floating(common_dtype(both)));
  return anew::bind(p, params, x, a.at)[0];
}
Array sinc_derivative(int n, const Array& x) {
  return bind1(rows<ClosedRows>().sinc, make_params(OrderParams(n)), {x}, Location());
}
Array xlogy_derivative(const XlogyParams& q, const Array& x, const Array& y) {
  return bind1(rows<ClosedRows>().xlogy, make_params(q), {x, y}, Location());
}
Array inverse_expm1(const Array& x) {
  return bind1(rows<ClosedRows>().inverse_expm1, ir::no_params(), {x}, Location());
}
Array squareplus_part(int n, const Array& x, const Array& b) {
  return bind1(rows<ClosedRows>().squareplus, make_params(OrderParams(n)), {x, b}, Location());
}
Array scaled_bessel(int n, const Array& x) {
  return bind1(rows<ClosedRows>().bessel_ie, make_params(OrderParams(n)), {x}, Location());
}

}  // namespace

std::span<const Primitive* const> closed_rows() { return rows<ClosedRows>().list(); }
Array one_minus_square(const Array& x) {
  return bind1(rows<ClosedRows>().one_minus_square, ir::no_params(), {x}, Location());
}

Array sinc(const ArrayLike& x) {
  return bind1(rows<ClosedRows>().sinc, make_params(OrderParams()), {as_float(x)}, x.at);
}
Array hypot(const ArrayLike& a, const ArrayLike& b) {
  return two("hypot", rows<ClosedRows>().hypot, ir::no_params(), a, b);
}
Array xlogy(const ArrayLike& x, const ArrayLike& y) {
  return two("xlogy", rows<ClosedRows>().xlogy, make_params(XlogyParams()), x, y);
}
Array xlog1py(const ArrayLike& x, const ArrayLike& y) {
  return two("xlog1py", rows<ClosedRows>().xlogy, make_params(XlogyParams(0, true)), x, y);
}
Array nn::log1mexp(const ArrayLike& x) {
  return bind1(rows<ClosedRows>().log1mexp, ir::no_params(), {as_float(x)}, x.at);
}
Array nn::squareplus(const ArrayLike& x, const ArrayLike& b) {
  return two("squareplus", rows<ClosedRows>().squareplus, make_params(OrderParams()), x, b);
}
Array special::i0e(const ArrayLike& x) {
  return bind1(rows<ClosedRows>().bessel_ie, make_params(OrderParams()), {as_float(x)}, x.at);
}
Array special::i1e(const ArrayLike& x) {
  return bind1(rows<ClosedRows>().bessel_ie, make_params(OrderParams(1)), {as_float(x)}, x.at);
}
Array special::entr(const ArrayLike& x) { return bind1(rows<ClosedRows>().entr, ir::no_params(), {as_float(x)}, x.at); }

}  // namespace anew
