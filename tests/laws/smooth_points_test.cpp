// Smooth functions have smooth derivatives, also where a formula of theirs changes or has a kink inside: at 0, at whole
// numbers, at the ends of series. Each derivative up to the third, forward and in reverse, of every elementwise
// function of one operand, and of those of more operands by one of them, is held to differences of the one before it,
// taken beside the point. A point is alone in its array: a loop that goes on until no element changes must not be led
// by others.
#include <anew/anew.h>
#include <fmt/format.h>

#include <set>

#include "laws/functions.h"

namespace anew::test {
namespace {

using Smooth = std::function<Array(const Array&)>;

struct SmoothFunction {
  std::string name;
  Smooth f;
};

// By one of several operands, and what the table of elementwise functions has not.
std::vector<SmoothFunction> more_smooth_functions() {
  using namespace special;
  return {
      {"special::i0", [](const Array& x) { return special::i0(x); }},
      {"special::i1", [](const Array& x) { return special::i1(x); }},
      {"special::exp1", [](const Array& x) { return exp1(x); }},
      {"special::expi", [](const Array& x) { return expi(x); }},
      {"special::expn 2", [](const Array& x) { return expn(2, x); }},
      {"special::spence", [](const Array& x) { return spence(x); }},
      {"special::dawsn", [](const Array& x) { return dawsn(x); }},
      {"special::erfcx", [](const Array& x) { return erfcx(x); }},
      {"special::log_ndtr", [](const Array& x) { return log_ndtr(x); }},
      {"special::ndtri", [](const Array& x) { return ndtri(x); }},
      {"special::multigammaln", [](const Array& x) { return multigammaln(x, 3); }},
      {"special::sici first", [](const Array& x) { return sici(x).first; }},
      {"special::sici second", [](const Array& x) { return sici(x).second; }},
      {"special::fresnel first", [](const Array& x) { return fresnel(x).first; }},
      {"special::fresnel second", [](const Array& x) { return fresnel(x).second; }},
      {"special::bessel_jn 0", [](const Array& x) { return bessel_jn(x, 2)[0]; }},
      {"special::bessel_jn 2", [](const Array& x) { return bessel_jn(x, 2)[2]; }},
      {"special::hyp1f1 a", [](const Array& x) { return hyp1f1(x, 1.6, 0.7); }},
      {"special::hyp1f1 b", [](const Array& x) { return hyp1f1(0.7, x, -0.7); }},
      {"special::hyp1f1 x", [](const Array& x) { return hyp1f1(0.7, 1.6, x); }},
      {"special::gammainc a", [](const Array& x) { return gammainc(x, 1.0); }},
      {"special::gammainc x", [](const Array& x) { return gammainc(2.0, x); }},
      {"special::gammaincc a", [](const Array& x) { return gammaincc(x, 1.0); }},
      {"special::betainc a", [](const Array& x) { return betainc(x, 3.0, 0.5); }},
      {"special::betainc b", [](const Array& x) { return betainc(3.0, x, 0.5); }},
      {"special::betainc x", [](const Array& x) { return betainc(2.0, 3.0, x); }},
      {"special::boxcox x", [](const Array& x) { return boxcox(x, 0.0); }},
      {"special::boxcox lambda", [](const Array& x) { return boxcox(2.0, x); }},
      {"special::boxcox1p x", [](const Array& x) { return boxcox1p(x, 0.5); }},
      {"special::boxcox1p lambda", [](const Array& x) { return boxcox1p(-0.7, x); }},
      {"special::poch a", [](const Array& x) { return poch(x, 2.5); }},
      {"special::poch m", [](const Array& x) { return poch(2.5, x); }},
      {"special::beta", [](const Array& x) { return beta(x, 2.0); }},
      {"special::betaln", [](const Array& x) { return betaln(x, 8.0); }},
      {"special::zeta x", [](const Array& x) { return zeta(x, 2.0); }},
      {"special::zeta q", [](const Array& x) { return zeta(2.0, x); }},
      {"special::xlogy x", [](const Array& x) { return special::xlogy(x, 2.0); }},
      {"special::xlogy both", [](const Array& x) { return special::xlogy(x, x); }},
      {"special::xlog1py both", [](const Array& x) { return special::xlog1py(x, x); }},
      {"special::rel_entr", [](const Array& x) { return rel_entr(x, 2.0); }},
      {"special::kl_div", [](const Array& x) { return kl_div(2.0, x); }},
      {"logaddexp", [](const Array& x) { return logaddexp(x, 2 * x - x * x); }},
      {"logaddexp2", [](const Array& x) { return logaddexp2(x, 1.0); }},
      {"logsumexp", [](const Array& x) { return anew::logsumexp(stack({x, -x, 0 * x}), 0); }},
      {"nn::log_softmax", [](const Array& x) { return nn::log_softmax(stack({x, x * x}), 0)[0]; }},
      {"hypot", [](const Array& x) { return hypot(2.0, x); }},
      {"atan2", [](const Array& x) { return atan2(x, 1.0); }},
      {"power 2.5", [](const Array& x) { return power(x, 2.5); }},
      {"power of 2", [](const Array& x) { return power(2.0, x); }},
      {"stats::norm::ppf", [](const Array& x) { return stats::norm::ppf(x); }},
      {"stats::norm::logcdf", [](const Array& x) { return stats::norm::logcdf(x); }},
      {"stats::t::logpdf", [](const Array& x) { return stats::t::logpdf(x, 3.0); }},
      {"stats::cauchy::cdf", [](const Array& x) { return stats::cauchy::cdf(x); }},
      {"stats::logistic::logpdf", [](const Array& x) { return stats::logistic::logpdf(x); }},
      {"stats::logistic::sf", [](const Array& x) { return stats::logistic::sf(x); }},
      {"stats::vonmises::logpdf", [](const Array& x) { return stats::vonmises::logpdf(x, 1.0); }},
  };
}

// What has a corner at one of the points; docs/conformance.md says which slope it has there. poch by its first operand
// has a pole below its zero at 0: nan, as in JAX.
const std::set<std::string> with_corners = {
    "abs",           "nn::relu",         "nn::relu6",     "nn::leaky_relu", "nn::soft_sign",
    "nn::hard_tanh", "nn::hard_sigmoid", "nn::hard_silu", "special::poch a"};

Smooth derivative(const Smooth& f, bool forward) {
  return [=](const Array& x) {
    FlatFunction flat = [&](std::span<const Array> z) { return Arrays{f(z[0])}; };
    const Arrays at{x}, one{ones_like(x)};
    return forward ? flat::jvp(flat, at, one).second[0] : flat::linearize(flat, at).second.pullback(one)[0];
  };
}

struct Difference {
  double value, error;
};
// By Richardson's rule, of steps h / 2, h and 2 h; not where f is infinite, or has no derivative there.
std::optional<Difference> difference(const Smooth& f, double x) {
  const double h = 2e-3 * std::max(1.0, std::abs(x) / 4);
  const Array steps = array({-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0});
  const std::vector<double> y = f(x + steps * h).to_vector<double>();
  for (double v : y)
    if (!std::isfinite(v)) return {};
  const double wide = (y[6] - y[0]) / (4 * h), mid = (y[5] - y[1]) / (2 * h), near = (y[4] - y[2]) / h;
  const double less = (4 * mid - wide) / 3, more = (4 * near - mid) / 3, best = (16 * more - less) / 15;
  const double rounding = 3e-13 * (std::abs(y[1]) + std::abs(y[3]) + std::abs(y[5])) / h;
  const Difference d{best, 10 * (std::abs(more - less) + rounding + 1e-9 * std::abs(best) + 1e-10)};
  if (d.error > 1e-3 * (1 + std::abs(best))) return {};
  return d;
}

// What is wrong, a line for each.
std::string check(const SmoothFunction& s) {
  std::string wrong;
  Smooth f = s.f;
  for (int order = 1; order <= 3; ++order) {
    const Smooth forward = derivative(f, true), reverse = derivative(f, false);
    for (double x : {0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 4.0, 7.0, 10.0}) {
      const std::optional<Difference> d = std::isfinite(s.f(array(x)).item<double>()) ? difference(f, x) : std::nullopt;
      if (!d) continue;
      const double fwd = forward(array(x)).item<double>(), rev = reverse(array(x)).item<double>();
      if (!(std::abs(fwd - d->value) <= d->error && std::abs(rev - d->value) <= d->error))
        wrong += fmt::format("\n  derivative {} at {}: {} forward, {} in reverse, differences give {} +- {:.1g}", order,
                             x, fwd, rev, d->value, d->error);
    }
    f = forward;
  }
  return wrong;
}

TEST(SmoothPoints, DerivativesAreDifferencesOfTheOneBefore) {
  const X64 wide;
  std::vector<SmoothFunction> all = more_smooth_functions();
  for (const ElementwiseFunction& e : elementwise_functions())
    if (e.arity == 1 && e.same_as.empty()) all.push_back({e.name, [f = e.f](const Array& x) { return f(Arrays{x}); }});
  for (const SmoothFunction& s : all) {
    const std::string wrong = check(s);
    if (with_corners.count(s.name)) EXPECT_NE(wrong, "") << s.name << " is smooth";
    else EXPECT_EQ(wrong, "") << s.name;
  }
}

}  // namespace
}  // namespace anew::test
