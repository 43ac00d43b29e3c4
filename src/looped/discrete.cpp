// Distributions of whole numbers, and functions of samples.
#include <anew/lax.h>
#include <anew/numpy.h>
#include <anew/special.h>
#include <anew/stats.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "looped/by_forward.h"
#include "looped/distributions.h"

namespace anew::stats {
namespace {

constexpr double without_end = std::numeric_limits<double>::infinity();
constexpr double not_defined = std::numeric_limits<double>::quiet_NaN();
using P = const ArrayLike&;

Array whole(const Array& k) { return floor(k) == k; }
// The logarithm of a probability of 0, but nan of nan.
Array no_chance(const Array& k) { return where(isnan(k), k, -without_end); }
// The logarithm of the number of ways to choose k of n.
Array log_choices(const Array& n, const Array& k) { return -special::betaln(1 + n - k, 1 + k) - log1p(n); }

}  // namespace

namespace bernoulli {
Array logpmf(P k, P p, P loc) {
  PinLine pin(k.at);
  Arrays s = float_operands("bernoulli.logpmf", {&k, &p, &loc});
  Array x = s[0] - s[2], good = (s[1] >= 0) & (s[1] <= 1);
  Array y = where((x == 0) | (x == 1), xlogy(x, s[1]) + xlog1py(1 - x, -s[1]), no_chance(x));
  return where(good, y, not_defined);
}
Array pmf(P k, P p, P loc) {
  PinLine pin(k.at);
  return exp(logpmf(k, p, loc));
}
Array cdf(P k, P p) {
  PinLine pin(k.at);
  Arrays s = float_operands("bernoulli.cdf", {&k, &p});
  Array y = where(s[0] < 0, 0, where(s[0] < 1, 1 - s[1], 1));
  return where((s[1] >= 0) & (s[1] <= 1) & ~isnan(s[0]), y, not_defined);
}
Array ppf(P q, P p) {
  PinLine pin(q.at);
  Arrays s = float_operands("bernoulli.ppf", {&q, &p});
  Array good = (s[1] >= 0) & (s[1] <= 1) & (s[0] >= 0) & (s[0] <= 1);
  return where(good, where(s[0] <= 1 - s[1], 0, 1), not_defined);
}
}  // namespace bernoulli

namespace binom {
Array logpmf(P k, P n, P p, P loc) {
  PinLine pin(k.at);
  Arrays s = float_operands("binom.logpmf", {&k, &n, &p, &loc});
  Array x = s[0] - s[3], inside = (x >= 0) & (x <= s[1]) & whole(x);
  Array good = (s[2] >= 0) & (s[2] <= 1), safe = where(inside, x, 0);
  Array y = log_choices(where(inside, s[1], 1), safe) + xlogy(safe, s[2]) + xlog1py(s[1] - safe, -s[2]);
  return where(good, where(inside, y, no_chance(x)), not_defined);
}
Array pmf(P k, P n, P p, P loc) {
  PinLine pin(k.at);
  return exp(logpmf(k, n, p, loc));
}
}  // namespace binom

namespace betabinom {
Array logpmf(P k, P n, P a, P b, P loc) {
  PinLine pin(k.at);
  Arrays s = float_operands("betabinom.logpmf", {&k, &n, &a, &b, &loc});
  Array x = s[0] - s[4], inside = (x >= 0) & (x <= s[1]) & whole(x), safe = where(inside, x, 0);
  Array y = log_choices(where(inside, s[1], 1), safe) +
            special::betaln(safe + s[2], where(inside, s[1], 1) - safe + s[3]) - special::betaln(s[2], s[3]);
  Array good = (s[1] >= 0) & (s[2] > 0) & (s[3] > 0);
  return where(good, where(inside, y, no_chance(x)), not_defined);
}
Array pmf(P k, P n, P a, P b, P loc) {
  PinLine pin(k.at);
  return exp(logpmf(k, n, a, b, loc));
}
}  // namespace betabinom

namespace geom {
Array logpmf(P k, P p, P loc) {
  PinLine pin(k.at);
  Arrays s = float_operands("geom.logpmf", {&k, &p, &loc});
  Array x = s[0] - s[2], inside = (x >= 1) & whole(x);
  return where(inside, xlog1py(where(inside, x, 1) - 1, -s[1]) + log(s[1]), no_chance(x));
}
Array pmf(P k, P p, P loc) {
  PinLine pin(k.at);
  return exp(logpmf(k, p, loc));
}
}  // namespace geom

namespace nbinom {
Array logpmf(P k, P n, P p, P loc) {
  PinLine pin(k.at);
  Arrays s = float_operands("nbinom.logpmf", {&k, &n, &p, &loc});
  Array x = s[0] - s[3], inside = (x >= 0) & whole(x), safe = where(inside, x, 0);
  Array y = lgamma(safe + s[1]) - lgamma(s[1]) - lgamma(safe + 1) + xlogy(s[1], s[2]) + xlog1py(safe, -s[2]);
  return where(inside, y, no_chance(x));
}
Array pmf(P k, P n, P p, P loc) {
  PinLine pin(k.at);
  return exp(logpmf(k, n, p, loc));
}
}  // namespace nbinom

namespace poisson {
Array logpmf(P k, P mu, P loc) {
  PinLine pin(k.at);
  Arrays s = float_operands("poisson.logpmf", {&k, &mu, &loc});
  Array x = s[0] - s[2], inside = (x >= 0) & whole(x), safe = where(inside, x, 0);
  return where(inside, xlogy(safe, s[1]) - lgamma(safe + 1) - s[1], no_chance(x));
}
Array pmf(P k, P mu, P loc) {
  PinLine pin(k.at);
  return exp(logpmf(k, mu, loc));
}
Array cdf(P k, P mu, P loc) {
  PinLine pin(k.at);
  Arrays s = float_operands("poisson.cdf", {&k, &mu, &loc});
  Array x = floor(s[0] - s[2]), inside = x >= 0;
  return where(inside, special::gammaincc(where(inside, x, 0) + 1, s[1]), where(isnan(x), x, 0));
}
// Of mu below 300 the sum of -p log p, else the expansion in 1 / mu.
static Array entropy_value(const Array& mu) {
  Array large = mu >= 300, m = where(large, 1, mu), u = 1 / where(large, mu, 300);
  Array slowly = 1.0 / 12 + u * (1.0 / 24 + u * (19.0 / 360 + u * (9.0 / 80 + u * (863.0 / 2520))));
  Array far = 0.5 * log(2 * std::numbers::pi * std::numbers::e / u) - u * slowly;
  Arrays y = flat::fori_loop(zeros({}, i32), literal_integer(i32, 600),
                             [&](std::span<const Array> s) {
                               // Of a probability of 0 a number, not -inf: times 0 it is nothing.
                               Array k = astype(s[0], f64), logp = maximum(xlogy(k, m) - m - lgamma(k + 1), -1e4);
                               return Arrays{s[1] - exp(logp) * logp};
                             },
                             {zeros_like(m)});
  return where(large, far, y[0]);
}
Array entropy(P mu, P loc) {
  Arrays s = float_operands("poisson.entropy", {&mu, &loc});
  PinLine pin(mu.at);
  Array wide = astype(s[0], f64), inside = wide >= 0;
  Array y = elementwise_by_forward([](std::span<const Array> x) { return Arrays{entropy_value(x[0])}; },
                                   {where(inside, wide, 1)}, mu.at);
  return astype(where(inside, y, std::numeric_limits<double>::quiet_NaN()), type_of(s[0]).dtype);
}
}  // namespace poisson

namespace multinomial {
Array logpmf(P x, P n, P p) {
  PinLine pin(x.at);
  for (const ArrayLike* v : {&x, &n, &p}) check_operand(v->value, line_or(x.at));
  std::array<Array, 3> all_of{x.value, n.value, p.value};
  const DType d = floating(common_dtype(all_of));
  Array k = coerce(x.value, d, x.at), total = coerce(n.value, d, x.at), q = coerce(p.value, d, x.at);
  if (type_of(k).shape.ndim() == 0 || type_of(q).shape.ndim() == 0)
    fail("multinomial.logpmf", x.at, fmt::format("needs vectors, got {} and {}", type_of(k).str(), type_of(q).str()));
  Array y = lgamma(total + 1) + sum(xlogy(k, q) - lgamma(k + 1), -1);
  return where(sum(k, -1) == total, y, -without_end);
}
Array pmf(P x, P n, P p) {
  PinLine pin(x.at);
  return exp(logpmf(x, n, p));
}
}  // namespace multinomial

Array sem(const ArrayLike& x, std::optional<int> axis, double ddof, bool keepdims) {
  Array a = float_array(x);
  const Type type = type_of(a);
  PinLine pin(x.at);
  if (!axis) return anew::std(a, {}, keepdims, ddof) / std::sqrt(static_cast<double>(type.shape.size()));
  const int i = checked_axis("sem", *axis, type.shape.ndim(), type, x.at);
  return anew::std(a, i, keepdims, ddof) / std::sqrt(static_cast<double>(type.shape[i]));
}

static Array ranks(const Array& a, std::string_view method) {
  const std::int64_t n = type_of(a).shape[0];
  const DType d = default_float();
  if (n == 0) return zeros({0}, d);
  Array order = argsort(a), sorted = take(a, order, 0), place = lax::iota({n}, 0, default_int());
  if (method == "ordinal") return zeros({n}, d).at(order).set(astype(place + 1, d));
  if (method == "dense") {
    Array fresh = (place == 0) | (sorted != roll(sorted, 1));
    return zeros({n}, d).at(order).set(astype(cumsum(astype(fresh, default_int())), d));
  }
  Array least = searchsorted(sorted, a, "left") + 1, most = searchsorted(sorted, a, "right");
  if (method == "min") return astype(least, d);
  if (method == "max") return astype(most, d);
  return (astype(least, d) + astype(most, d)) * 0.5;
}
Array rankdata(const ArrayLike& x, std::string_view method, std::optional<int> axis) {
  Array a = checked(x);
  if (method != "average" && method != "min" && method != "max" && method != "dense" && method != "ordinal")
    fail("rankdata", x.at, fmt::format("no method \"{}\"", method), "methods are average, min, max, dense, ordinal");
  PinLine pin(x.at);
  if (!axis) return ranks(ravel(a), method);
  const int i = checked_axis("rankdata", *axis, type_of(a).shape.ndim(), type_of(a), x.at);
  if (type_of(a).shape.size() == 0) return zeros(type_of(a).shape, default_float());
  return apply_along_axis([&](const Array& line) { return ranks(line, method); }, i, a);
}

std::pair<Array, Array> mode(const ArrayLike& x, std::optional<int> axis, bool keepdims) {
  Array a = checked(x);
  if (type_of(a).shape.ndim() == 0 && (!axis || *axis == 0 || *axis == -1)) return {a, ones({}, default_int())};
  if (!axis) {
    auto [value, count] = mode(ravel(a), 0);
    Shape ones;
    for (int i = 0; i < type_of(a).shape.ndim(); ++i) ones.push_back(1);
    return keepdims ? std::pair(reshape(value, ones), reshape(count, ones)) : std::pair(value, count);
  }
  const Type type = type_of(a);
  const int i = checked_axis("mode", *axis, type.shape.ndim(), type, x.at);
  const std::int64_t n = type.shape[i];
  PinLine pin(x.at);
  if (n == 0) {
    Shape shape = type.shape;
    shape[i] = 1;
    if (!keepdims) shape.erase(i);
    return {full(shape, std::numeric_limits<double>::quiet_NaN(), floating(type.dtype)), zeros(shape, default_int())};
  }
  // Of sorted elements: how many equal ones end here. The first that has the most is the least of those.
  Array sorted = sort(a, i), before = roll(sorted, 1, i), place = lax::iota(type.shape, i, default_int());
  Array start = cummax(where((place == 0) | (sorted != before), place, 0), i), run = place - start + 1;
  Array last = argmax(run, i, true);
  Array value = take_along_axis(sorted, last, i), count = take_along_axis(run, last, i);
  if (keepdims) return {value, count};
  return {squeeze(value, i), squeeze(count, i)};
}

}  // namespace anew::stats
