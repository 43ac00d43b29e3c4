// The comparison rules, entry by entry. Only the worst entry is described: one line per failed array.
#include "golden/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace anew::golden {
namespace {

double smallest_normal(DType d) {
  return d == f32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
}

double largest_finite(const Numbers& n) {
  double largest = 0;
  for (double v : n.data)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  return largest;
}

double allowed(double w, double largest, DType dtype, const Rule& rule) {
  switch (rule.kind) {
    case Rule::Kind::exact: return 0;
    case Rule::Kind::array: return rule.tol * (std::abs(w) + largest);
    case Rule::Kind::element: return rule.tol * std::abs(w) + smallest_normal(dtype);
    case Rule::Kind::slope: return rule.tol * (std::abs(w) + 1);
  }
  return 0;
}

// How far past the allowed error: at most 1 is good.
double badness(double w, double g, double largest, DType dtype, const Rule& rule) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (std::isnan(w) || std::isnan(g)) return std::isnan(w) && std::isnan(g) ? 0 : inf;
  if (std::isinf(w) || std::isinf(g)) return w == g ? 0 : inf;
  if (rule.signed_zeros && w == 0 && g == 0) return std::signbit(w) == std::signbit(g) ? 0 : inf;
  if (w == g) return 0;
  if (is_float(dtype) && std::abs(w) < smallest_normal(dtype) && g == 0) return 0;  // a flushed subnormal
  double limit = allowed(w, largest, dtype, rule);
  return limit > 0 ? std::abs(g - w) / limit : inf;
}

std::string position(std::size_t flat, const Shape& shape) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.ndim()));
  auto rest = static_cast<std::int64_t>(flat);
  for (int d = shape.ndim() - 1; d >= 0; --d) {
    at[static_cast<std::size_t>(d)] = rest % shape[d];
    rest /= shape[d];
  }
  return fmt::format("[{}]", fmt::join(at, ","));
}

std::string type_difference(const Numbers& wanted, const Array& got) {
  ShapeDtype type{wanted.shape, wanted.dtype};
  return got.type() == type ? "" : fmt::format("type is {}, wanted {}", got.type().str(), type.str());
}

}  // namespace

std::string difference(const Numbers& wanted, const Array& got, const Rule& rule, const Numbers* either,
                       const std::vector<bool>* counts) {
  if (std::string t = type_difference(wanted, got); !t.empty()) return t;
  const Numbers g = to_numbers(got);
  const double largest = largest_finite(wanted), other_largest = either ? largest_finite(*either) : 0;
  std::size_t bad = 0, worst = 0;
  double worst_badness = 1;
  for (std::size_t i = 0; i < g.data.size(); ++i) {
    if (counts && !(*counts)[i]) continue;
    double b = badness(wanted.data[i], g.data[i], largest, wanted.dtype, rule);
    if (b > 1 && either) b = std::min(b, badness(either->data[i], g.data[i], other_largest, wanted.dtype, rule));
    if (b <= 1) continue;
    if (++bad == 1 || b > worst_badness) worst = i, worst_badness = b;
  }
  if (bad == 0) return "";
  return fmt::format("{} of {} entries; worst {}: got {:.17g}, wanted {:.17g} ({:.3g} times the tolerance)", bad,
                     g.data.size(), position(worst, g.shape), g.data[worst], wanted.data[worst], worst_badness);
}

std::string bit_difference(const Array& a, const Array& b) {
  const Numbers x = to_numbers(a), y = to_numbers(b);
  if (std::string t = type_difference(y, a); !t.empty()) return t;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    double u = x.data[i], v = y.data[i];
    if (std::isnan(u) && std::isnan(v)) continue;
    if (u == v && std::signbit(u) == std::signbit(v)) continue;
    return fmt::format("entry {}: {:.17g} and {:.17g}", position(i, x.shape), u, v);
  }
  return "";
}

}  // namespace anew::golden
