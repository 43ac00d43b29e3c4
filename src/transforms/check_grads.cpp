// check_grads: derivatives against central differences along one random direction, forward (jvp) and reverse
// (<tangent, pullback(ct)>), to any order; order n + 1 checks the derivative as a function of its own. Integer and bool
// arguments and results are left alone. Differences are taken in f64 of values in their own dtype.
#include <anew/ops.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

#include "trace/trace.h"

namespace anew::flat {
namespace {

struct Tolerance {
  double absolute, relative;
};

struct Checker {
  bool forward, reverse;
  double step;
  Tolerance tolerance;
  int order;  // of the derivative that is being checked
  std::mt19937_64 engine;
  Location at;

  Arrays direction(std::span<const Array> like);
  void compare(const std::vector<double>& got, const std::vector<double>& want, double scale, std::string_view mode,
               const std::string& what) const;
  void run(const FlatFunction& f, const Arrays& x, int orders);
};

bool differentiable(const Array& x) { return is_float(type_of(x).dtype); }
std::vector<double> numbers(const Array& x) { return astype(x, f64).to_vector<double>(); }

// By the coarsest floating-point dtype.
double coarsest(std::span<const Array> xs, double so_far) {
  for (const Array& x : xs) {
    DType d = type_of(x).dtype;
    if (is_float(d)) so_far = std::max(so_far, d == f64 ? 1e-5 : d == f32 ? 2e-3 : d == f16 ? 1e-2 : 1e-1);
  }
  return so_far;
}

Array moved(const Array& x, const Array& t, double step) {
  if (!differentiable(x)) return x;
  return astype(astype(x, f64) + astype(t, f64) * step, type_of(x).dtype);
}

// Sums over all floating-point leaves of a[i] * b[i], and of their sizes.
struct Product {
  double value = 0, size = 0;
};
Product inner_product(std::span<const Array> a, const std::vector<std::vector<double>>& b) {
  Product p;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!differentiable(a[i])) continue;
    auto x = numbers(a[i]);
    for (std::size_t k = 0; k < x.size(); ++k) p.value += x[k] * b[i][k], p.size += std::abs(x[k] * b[i][k]);
  }
  return p;
}
std::vector<std::vector<double>> numbers_of(std::span<const Array> xs) {
  std::vector<std::vector<double>> out;
  for (const Array& x : xs) out.push_back(differentiable(x) ? numbers(x) : std::vector<double>{});
  return out;
}

Arrays Checker::direction(std::span<const Array> like) {
  Arrays out;
  for (const Array& x : like) {
    if (!differentiable(x)) {
      out.push_back(zeros_like(x));
      continue;
    }
    std::vector<double> v(static_cast<std::size_t>(type_of(x).shape.size()));
    for (double& e : v) e = static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
    out.push_back(array(v, type_of(x).shape, type_of(x).dtype));
  }
  return out;
}

// `scale` makes up for sums: their error is that of their terms.
void Checker::compare(const std::vector<double>& got, const std::vector<double>& want, double scale,
                      std::string_view mode, const std::string& what) const {
  double worst = 1;
  std::size_t at_entry = got.size();
  for (std::size_t i = 0; i < got.size(); ++i) {
    bool got_nan = std::isnan(got[i]), want_nan = std::isnan(want[i]);
    if ((got_nan && want_nan) || got[i] == want[i]) continue;
    double bound = (tolerance.absolute + tolerance.relative * std::abs(want[i])) * scale;
    double excess = std::abs(got[i] - want[i]) / bound;
    if (got_nan || want_nan) excess = std::numeric_limits<double>::infinity();
    if (!(excess > worst)) continue;
    worst = excess;
    at_entry = i;
  }
  if (at_entry == got.size()) return;
  throw Error(fmt::format("[check_grads] {} of order {} differs from differences: {}element {} is {:.9g}, "
                          "differences give {:.9g} ({:.3g} times the tolerance)",
                          mode, order, what, at_entry, got[at_entry], want[at_entry], worst),
              at);
}

void Checker::run(const FlatFunction& f, const Arrays& x, int orders) {
  const Arrays t = direction(x), y = f(x);
  Arrays ahead, behind;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ahead.push_back(moved(x[i], t[i], step / 2));
    behind.push_back(moved(x[i], t[i], -step / 2));
  }
  const Arrays above = f(ahead), below = f(behind);
  std::vector<std::vector<double>> slope(y.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    if (differentiable(y[i])) slope[i] = numbers((astype(above[i], f64) - astype(below[i], f64)) / step);
  if (forward) {
    Arrays dy = flat::jvp(f, x, t, at).second;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (differentiable(y[i]))
        compare(numbers(dy[i]), slope[i], 1, "jvp", fmt::format("result {} ({}), ", i, type_of(y[i]).str()));
  }
  const Arrays ct = direction(y);
  if (reverse) {
    Arrays back = flat::linearize(f, x, {at, {}}).second.pullback(ct, at);
    Product want = inner_product(ct, slope);
    compare({inner_product(t, numbers_of(back)).value}, {want.value}, 1 + want.size, "vjp", "<direction, cotangent>, ");
  }
  if (orders < 2) return;
  ++order;
  if (forward) {
    std::size_t n = x.size();
    auto derivative = [&](std::span<const Array> in) { return flat::jvp(f, in.first(n), in.subspan(n), at).second; };
    Arrays both = x;
    both.insert(both.end(), t.begin(), t.end());
    run(derivative, both, orders - 1);
  }
  if (reverse) {
    auto derivative = [&](std::span<const Array> in) {
      return flat::linearize(f, in, {at, {}}).second.pullback(ct, at);
    };
    run(derivative, x, orders - 1);
  }
  --order;
}

}  // namespace

void check_grads(const FlatFunction& f, std::span<const Array> x, const CheckGradsOptions& options,
                 const Location& at) {
  detail::check_function(f, at);
  bool forward = false, reverse = false;
  for (std::string_view rest = options.modes; !rest.empty();) {
    std::string_view mode = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), mode.size() + 1));
    if (mode != "fwd" && mode != "rev")
      throw Error(fmt::format("[check_grads] unknown mode \"{}\"", mode), at,
                  "modes are \"fwd\", \"rev\" or \"fwd,rev\"");
    (mode == "fwd" ? forward : reverse) = true;
  }
  Arrays strong;
  bool any = false;
  for (const Array& a : x) {
    check_operand(a, at);
    strong.push_back(fresh_alias(a));
    any = any || differentiable(a);
  }
  if (!any) throw Error("[check_grads] no argument is floating-point", at);
  const Arrays y = f(strong);
  for (const Array& a : y) check_operand(a, at);
  {
    PinLine pin(at);
    numbers_of(strong), numbers_of(y);  // are known: differences are taken now
  }
  double by_dtype = coarsest(y, coarsest(strong, 1e-5));
  Tolerance tolerance{options.atol.value_or(by_dtype), options.rtol.value_or(by_dtype)};
  // Rounding of the values, divided by the step, must stay below the tolerance.
  double step = options.step.value_or(by_dtype <= 1e-5 ? 1e-4 : by_dtype <= 2e-3 ? 1e-3 : 1e-1);
  Checker{forward, reverse, step, tolerance, 1, std::mt19937_64(options.seed), at}.run(f, strong, options.order);
}

}  // namespace anew::flat
