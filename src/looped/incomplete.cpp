// The incomplete gamma and beta functions and exponential integrals: sums and continued fractions, repeated until no
// element changes any more. All are computed in f64; elements that another formula computes take part with harmless
// numbers.
#include <anew/lax.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <anew/special.h>
#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "looped/by_forward.h"
#include "ops/promote.h"

namespace anew::special {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
// Terms below this part of a sum are left out: far below the last digit, since derivatives converge a little later.
constexpr double negligible = 1e-19;

// Repeats `body` on a carry whose last entry says by which part the result still changes. A sum of powers has at least
// `least` terms: at 0, where all but the first are 0, they are what its derivatives are made of.
Arrays repeated(const FlatFunction& body, Arrays carry, const Array& shape_of, int least = 0) {
  carry.push_back(ones_like(shape_of));
  auto goes_on = [least](std::span<const Array> c) {
    Array more = any(abs(c.back()) > negligible);
    return (least > 0 ? more | (c[0] < least) : more) & (c[0] < 20000);
  };
  return flat::while_loop(goes_on, body, carry);
}

// By which part a fraction changed: nothing, once it is a rounding error that may come back for ever.
Array still(const Array& factor) {
  Array change = stop_gradient(factor) - 1;
  return where(abs(change) < 5e-16, 0, change);
}

// log of x^a e^-x / gamma(a + 1). For large a by Stirling's formula, so that the large terms cancel before they are
// computed: a (log(1 + m) - m) with x = a (1 + m).
Array log_power_over_gamma(const Array& a, const Array& x) {
  Array large = a >= 10, safe_a = where(large, a, 10), safe_x = where(large, x, 10);
  Array m = (safe_x - safe_a) / safe_a, near = abs(m) < 0.3, small = where(near, m, 0);
  Array series = zeros_like(m);  // log(1 + m) - m = -m^2/2 + m^3/3 - ...
  for (int k = 34; k >= 2; --k) series = (series + (k % 2 == 0 ? -1.0 : 1.0) / k) * small;
  series = series * small;
  Array bend = where(near, series, log(where(near, 1, safe_x / safe_a)) - where(near, 0, m));
  Array u = 1 / safe_a, v = u * u;
  Array rest =
      u * (1.0 / 12 - v * (1.0 / 360 - v * (1.0 / 1260 - v * (1.0 / 1680 - v * (1.0 / 1188 - v * (691.0 / 360360))))));
  Array far = safe_a * bend - 0.5 * log(2 * std::numbers::pi * safe_a) - rest;
  Array direct_a = where(large, 1, a), direct_x = where(large, 1, x);
  return where(large, far, direct_a * log(direct_x) - direct_x - lgamma(direct_a + 1));
}

// Sum of x^n / ((a + 1) ... (a + n)), for x < a + 1 or so.
Array lower_sum(const Array& a, const Array& x) {
  Arrays c = repeated(
      [&](std::span<const Array> s) {
        Array n = s[0] + 1, term = s[1] * x / (a + n);
        return Arrays{n, term, s[2] + term, stop_gradient(term / (s[2] + term))};
      },
      {Array(zeros({}, f64)), ones_like(x), ones_like(x)}, x);
  return c[2];
}
// One step of Lentz's method, with partial numerator a and denominator b: new d and e, whose product is the factor.
std::pair<Array, Array> lentz(const Array& a, const Array& b, const Array& d, const Array& e) {
  Array u = a * d + b, v = b + a / e;
  return {1 / where(u == 0, 1e-300, u), where(v == 0, 1e-300, v)};
}
// Where a parameter is a whole number a fraction or a sum ends, but its derivative by the parameter does not: whether
// to go on is asked of a neighbour in the middle between two of them.
Array between_wholes(const Array& a) { return stop_gradient(floor(a) + 0.5); }

// The continued fraction of gamma(a, x) x^-a e^x, for x > a + 1 or so.
Array upper_fraction(const Array& a, const Array& x) {
  const Array beside = between_wholes(a), at = stop_gradient(x), b0 = x + 1 - a, c0 = at + 1 - beside;
  Array large = full_like(x, 1e300);
  Arrays c = repeated(
      [&](std::span<const Array> s) {
        Array n = s[0] + 1, b = s[4] + 2, c = s[7] + 2;
        auto [d, e] = lentz(n * (a - n), b, s[2], s[3]);
        auto [f, g] = lentz(n * (beside - n), c, s[5], s[6]);
        return Arrays{n, s[1] * (d * e), d, e, b, f, g, c, still(f * g)};
      },
      {Array(zeros({}, f64)), 1 / b0, 1 / b0, large, b0, 1 / c0, large, c0}, x);
  return c[1];
}

// P or Q for a > 0, x > 0, both finite.
Array incomplete_gamma(const Array& a, const Array& x, bool upper) {
  Array low = (x <= 1) | (x <= a), scale = log_power_over_gamma(a, x);
  Array low_a = where(low, a, 1), low_x = where(low, x, 0.5), high_a = where(low, 1, a), high_x = where(low, 3, x);
  Array p = exp(where(low, scale, 0)) * lower_sum(low_a, low_x);
  Array q = exp(where(low, 0, scale)) * (high_a * upper_fraction(high_a, high_x));
  return upper ? where(low, 1 - p, q) : where(low, p, 1 - q);
}
Array gamma_part(std::string_view op, const ArrayLike& a, const ArrayLike& x, bool upper) {
  auto [u, v] = both(op, a, x, true);
  PinLine pin(a.at, op);
  const DType d = type_of(strong(u, a.at)).dtype;
  Arrays all = broadcast_arrays({astype(u, f64), astype(v, f64)});
  Array inside = (all[0] > 0) & (all[1] > 0) & isfinite(all[0]) & isfinite(all[1]);
  Array y =
      elementwise_by_forward([upper](std::span<const Array> s) { return Arrays{incomplete_gamma(s[0], s[1], upper)}; },
                             {where(inside, all[0], 1), where(inside, all[1], 1)}, a.at);
  // At the ends: P is 0 at x = 0 and for a = inf, 1 for x = inf and for a = 0.
  const Array &p = all[0], &q = all[1];
  Array ends =
      where((p < 0) | (q < 0) | isnan(p) | isnan(q) | ((p == 0) & (q == 0)) | ((p == infinite) & (q == infinite)),
            not_a_number, where((q == 0) | (p == infinite), upper ? 1.0 : 0.0, upper ? 0.0 : 1.0));
  return astype(where(inside, y, ends), d);
}

// The continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2): factor, d and e after two
// steps.
std::array<Array, 3> beta_steps(const Array& a, const Array& b, const Array& x, const Array& n, const Array& d,
                                const Array& e) {
  Array m = 2 * n, one = ones_like(x);
  auto [f, g] = lentz(n * (b - n) * x / ((a + m - 1) * (a + m)), one, d, e);
  auto [h, k] = lentz(-(a + n) * (a + b + n) * x / ((a + m) * (a + m + 1)), one, f, g);
  return {f * g * (h * k), h, k};
}
Array beta_fraction(const Array& a, const Array& b, const Array& x) {
  const Array beside = between_wholes(b), p = stop_gradient(a), at = stop_gradient(x);
  auto first = [](const Array& u, const Array& v, const Array& z) {
    Array d = 1 - (u + v) * z / (u + 1);
    return 1 / where(d == 0, 1e-300, d);
  };
  Array d0 = first(a, b, x), one = ones_like(x);
  Arrays c = repeated(
      [&](std::span<const Array> s) {
        Array n = s[0] + 1;
        auto [factor, d, e] = beta_steps(a, b, x, n, s[2], s[3]);
        auto [other, f, g] = beta_steps(p, beside, at, n, s[4], s[5]);
        return Arrays{n, s[1] * factor, d, e, f, g, still(other)};
      },
      {Array(zeros({}, f64)), d0, d0, one, first(p, beside, at), one}, x);
  return c[1];
}
Array incomplete_beta(const Array& a, const Array& b, const Array& x) {
  Array swap = x > (a + 1) / (a + b + 2);
  Array u = where(swap, b, a), v = where(swap, a, b), z = where(swap, 1 - x, x);
  Array scale = u * where(swap, log1p(-x), log(x)) + v * where(swap, log(x), log1p(-x)) - betaln(a, b);
  Array y = exp(scale) * beta_fraction(u, v, z) / u;
  return where(swap, 1 - y, y);
}

// E1 for x > 0: the sum of powers up to 1, beyond it a continued fraction.
Array exponential_integral(const Array& x) {
  Array small = x <= 1, near = where(small, x, 0.5), far = where(small, 2, x);
  Array sum = zeros_like(x);
  for (int k = 24; k >= 1; --k) {
    double factorial = 1;
    for (int i = 2; i <= k; ++i) factorial *= i;
    sum = sum * near + (k % 2 == 0 ? -1.0 : 1.0) / (k * factorial);
  }
  Array low = sum * near - log(near) - std::numbers::egamma;
  return where(small, low, exp(-far) * upper_fraction(zeros_like(far), far));
}
// Ei for x > 0: the sum of powers up to 40, whose terms are all positive, beyond it the asymptotic one.
Array positive_integral(const Array& x) {
  Array small = x <= 40, near = where(small, x, 1), u = 1 / where(small, 50, x);
  Arrays c = repeated(
      [&](std::span<const Array> s) {
        Array n = s[0] + 1, power = s[1] * near / n, term = power / n;
        return Arrays{n, power, s[2] + term, stop_gradient(term / (s[2] + term))};
      },
      {Array(zeros({}, f64)), ones_like(x), zeros_like(x)}, x);
  Array tail = ones_like(x);
  for (int k = 35; k >= 1; --k) tail = tail * u * static_cast<double>(k) + 1;
  return where(small, c[2] + log(near) + std::numbers::egamma, exp(where(small, 1, x)) * u * tail);
}

Array of_one(const ArrayLike& x, const std::function<Array(Array)>& f, double lo, double otherwise) {
  Array a = float_array(x);
  PinLine pin(x.at);
  Array wide = astype(a, f64), inside = (wide > lo) & isfinite(wide);
  Array y =
      elementwise_by_forward([f](std::span<const Array> s) { return Arrays{f(s[0])}; }, {where(inside, wide, 1)}, x.at);
  return astype(where(inside, y, where(isnan(wide), wide, otherwise)), type_of(a).dtype);
}

}  // namespace

Array gammainc(const ArrayLike& a, const ArrayLike& x) { return gamma_part("gammainc", a, x, false); }
Array gammaincc(const ArrayLike& a, const ArrayLike& x) { return gamma_part("gammaincc", a, x, true); }

Array betainc(const ArrayLike& a, const ArrayLike& b, const ArrayLike& x) {
  for (const ArrayLike* v : {&a, &b, &x}) check_operand(v->value, line_or(a.at));
  std::array<Array, 3> given{a.value, b.value, x.value};
  const DType d = floating(common_dtype(given));
  PinLine pin(a.at);
  Arrays all = broadcast_arrays({coerce(a.value, f64, a.at), coerce(b.value, f64, a.at), coerce(x.value, f64, a.at)});
  const Array &p = all[0], &q = all[1], &z = all[2];
  Array valid = (p > 0) & (q > 0) & isfinite(p) & isfinite(q), inside = valid & (z > 0) & (z < 1);
  Array y = elementwise_by_forward([](std::span<const Array> s) { return Arrays{incomplete_beta(s[0], s[1], s[2])}; },
                                   {where(inside, p, 1), where(inside, q, 1), where(inside, z, 0.5)}, a.at);
  Array ends = where(valid & (z == 0), 0, where(valid & (z == 1), 1, full_like(z, not_a_number)));
  return astype(where(inside, y, ends), d);
}

Array exp1(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = float_array(x);
  Array y = of_one(a, exponential_integral, 0, not_a_number);
  return where(a == 0, infinite, where(a == infinite, 0, y));
}
Array expi(const ArrayLike& x) {
  PinLine pin(x.at);
  Array a = float_array(x), negative = a < 0;
  Array above = of_one(where(negative, 1, a), positive_integral, 0, infinite);
  Array below = -exp1(where(negative, -a, 1));
  return where(a == 0, -infinite, where(negative, below, above));
}
// By recurrence from E1: E(n + 1) = (e^-x - x E(n)) / n.
Array expn(int n, const ArrayLike& x) {
  constexpr int most = 50;
  if (n < 0 || n > most) fail("expn", x.at, fmt::format("the order is 0 to {}, got {}", most, n));
  Array a = float_array(x);
  PinLine pin(x.at);
  if (n == 0) return where(a < 0, not_a_number, exp(-a) / a);
  if (n == 1) return exp1(a);
  auto f = [n](const Array& v) {
    Array small = v <= 1, near = where(small, v, 0.5), far = where(small, 2, v);
    Array y = exponential_integral(near), e = exp(-near);
    for (int k = 1; k < n; ++k) y = (e - near * y) / static_cast<double>(k);
    // E(n) = x^(n - 1) gamma(1 - n, x)
    Array large = exp(-far) * upper_fraction(full_like(far, 1.0 - n), far);
    return where(small, y, large);
  };
  Array y = of_one(a, f, 0, not_a_number);
  return where(a == 0, 1.0 / (n - 1), where(a == infinite, 0, y));
}

Array hyp1f1(const ArrayLike& a, const ArrayLike& b, const ArrayLike& x) {
  for (const ArrayLike* v : {&a, &b, &x}) check_operand(v->value, line_or(a.at));
  std::array<Array, 3> given{a.value, b.value, x.value};
  const DType d = floating(common_dtype(given));
  PinLine pin(a.at);
  Arrays all = broadcast_arrays({coerce(a.value, f64, a.at), coerce(b.value, f64, a.at), coerce(x.value, f64, a.at)});
  auto f = [](std::span<const Array> s) {
    // Kummer: for x < 0 exp(x) M(b - a, b, -x), whose terms do not alternate.
    Array negative = s[2] < 0, p = where(negative, s[1] - s[0], s[0]), z = abs(s[2]);
    const Array& q = s[1];
    const Array beside = between_wholes(p), by = stop_gradient(q), at = stop_gradient(z);
    Arrays c = repeated(
        [&](std::span<const Array> t) {
          Array n = t[0] + 1, term = t[1] * (p + n - 1) / (q + n - 1) * z / n;
          Array other = t[3] * (beside + n - 1) / (by + n - 1) * at / n, sum = t[4] + other;
          return Arrays{n, term, t[2] + term, other, sum, other / where(sum == 0, 1, sum)};
        },
        {Array(zeros({}, f64)), ones_like(z), ones_like(z), ones_like(z), ones_like(z)}, z, 12);
    return Arrays{c[2] * exp(where(negative, s[2], 0))};
  };
  Array good = isfinite(all[0]) & isfinite(all[1]) & isfinite(all[2]) & ~((all[1] <= 0) & (all[1] == floor(all[1])));
  Array y = elementwise_by_forward(f, {where(good, all[0], 1), where(good, all[1], 1), where(good, all[2], 1)}, a.at);
  return astype(where(good, y, not_a_number), d);
}

}  // namespace anew::special

namespace anew::lax {
Array igamma(const ArrayLike& a, const ArrayLike& x) { return special::gammainc(a, x); }
Array igammac(const ArrayLike& a, const ArrayLike& x) { return special::gammaincc(a, x); }
Array igamma_grad_a(const ArrayLike& a, const ArrayLike& x) {
  auto [p, q] = both("igamma_grad_a", a, x, true);
  PinLine pin(a.at);
  Arrays all = broadcast_arrays({strong(p, a.at), strong(q, a.at)});
  FlatFunction f = [](std::span<const Array> s) { return Arrays{special::gammainc(s[0], s[1])}; };
  return flat::jvp(f, all, Arrays{ones_like(all[0]), zeros_like(all[1])}).second[0];
}
// The derivative of a draw of the gamma distribution by its shape: what keeps its distribution function.
Array random_gamma_grad(const ArrayLike& a, const ArrayLike& x) {
  auto [p, q] = both("random_gamma_grad", a, x, true);
  PinLine pin(a.at);
  return -igamma_grad_a(p, q) / exp((p - 1) * log(q) - q - lgamma(p));
}
Array betainc(const ArrayLike& a, const ArrayLike& b, const ArrayLike& x) { return special::betainc(a, b, x); }
}  // namespace anew::lax
