// The lower bound of remat_cut.h, at the moments where memory is fullest in the plain order.
#include <algorithm>

#include "plan/remat_cut.h"

namespace anew::plan {
namespace {

struct Moment {
  CutProblem problem;
  std::int64_t fixed = 0;  // bytes that kernel t reads, makes and needs
};

// Kernels that t depends on and those that depend on it, t among both.
std::pair<std::vector<char>, std::vector<char>> around(const RematGraph& g, int t) {
  std::vector<char> before(g.kernels.size()), after(g.kernels.size());
  before[t] = after[t] = true;
  for (int k = t; k >= 0; --k)
    if (before[k])
      for (int v : g.kernel(k).reads) before[g.value(v).maker] = true;
  for (int k = t; k < g.size(); ++k)
    if (after[k])
      for (int v : g.kernel(k).makes)
        for (int r : g.value(v).readers) after[r] = true;
  return {std::move(before), std::move(after)};
}

Moment moment_of(const RematGraph& g, int t) {
  const auto [before, after] = around(g, t);
  Moment m;
  CutProblem& p = m.problem;
  p.needed.assign(g.values.size(), false);
  p.free.assign(g.values.size(), false);
  p.rerun.assign(g.kernels.size(), 0.0);
  p.fetch.assign(g.values.size(), never);
  for (std::size_t v = 0; v < g.values.size(); ++v) {
    const RematValue& value = g.values[v];
    if (value.maker < 0 || (after[value.maker] && value.maker != t)) continue;
    p.needed[v] = (value.kept && before[value.maker]) ||
                  std::any_of(value.readers.begin(), value.readers.end(),
                              [&](int r) { return r != t && after[r] && !g.kernel(r).fetch; });
    if (value.fetch >= 0) p.fetch[v] = g.fetch_cost(static_cast<int>(v));
  }
  for (int k = 0; k < g.size(); ++k)
    if (before[k]) p.rerun[k] = g.kernel(k).repeatable ? g.kernel(k).cost : never;
  const RematKernel& kernel = g.kernel(t);
  m.fixed = kernel.scratch - most_reused(g, kernel);
  for (const std::vector<int>* values : {&kernel.reads, &kernel.makes})
    for (int v : *values) p.free[v] = true, m.fixed += g.bytes(v);
  return m;
}

constexpr double ratio = 1.2;  // between prices

}  // namespace

RematBounds::RematBounds(const RematGraph& g) : g_(g) {
  if (g.size() == 0) return;
  const Evaluation plain = evaluate(g, plain_sequence(g));
  const int around = g.size() <= 64 ? g.size() : std::clamp(4000 / g.size(), 1, 6);
  const double unit = g.total_cost() / static_cast<double>(std::max<std::int64_t>(1, plain.peak));
  for (int t = std::max(0, plain.at - around); t <= std::min(g.size() - 1, plain.at + around); ++t) {
    const Moment m = moment_of(g, t);
    ParametricCut cut(g, m.problem);
    for (double price = 1e-4 * unit; price < 200 * unit; price *= ratio) {
      cut.set_price(price);
      lines_.push_back({t, price, cut.value(), m.fixed});
    }
  }
}

RematBound RematBounds::within(std::int64_t budget) const {
  RematBound best;
  const Line* from = nullptr;
  const double rounding = 1e-12 * g_.total_cost();
  for (const Line& l : lines_)
    if (double extra = l.value - l.price * static_cast<double>(budget - l.fixed) - rounding; extra > best.extra)
      best = {extra, l.price}, from = &l;
  if (!from) return best;
  // Prices between, at the same t: a concave function of the price.
  const Moment m = moment_of(g_, from->t);
  const ParametricCut start(g_, m.problem);
  double low = from->price / ratio, high = from->price * ratio;
  for (int i = 0; i < 10; ++i) {
    ParametricCut cut = start;
    cut.set_price((low + high) / 2);
    const double extra = cut.value() - cut.price() * static_cast<double>(budget - from->fixed) - rounding;
    if (extra > best.extra) best = {extra, cut.price()};
    (cut.kept_bytes() > budget - from->fixed ? low : high) = cut.price();
  }
  return best;
}

}  // namespace anew::plan
