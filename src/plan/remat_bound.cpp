// The lower bound of remat_cut.h, at the moments where memory is fullest in the plain order.
#include <algorithm>

#include "plan/remat_cut.h"

namespace anew::plan {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Moment {
  CutProblem problem;
  std::int64_t fixed = 0;  // bytes that kernel t reads, makes and needs
};

// Kernels that t depends on and those that depend on it, t among both.
std::pair<std::vector<char>, std::vector<char>> around(const RematGraph& g, int t) {
  std::vector<char> before(g.kernels.size()), after(g.kernels.size());
  before[at(t)] = after[at(t)] = true;
  for (int k = t; k >= 0; --k)
    if (before[at(k)])
      for (int v : g.kernel(k).reads) before[at(g.value(v).maker)] = true;
  for (int k = t; k < g.size(); ++k)
    if (after[at(k)])
      for (int v : g.kernel(k).makes)
        for (int r : g.value(v).readers) after[at(r)] = true;
  return {std::move(before), std::move(after)};
}

Moment moment_of(const RematGraph& g, int t) {
  const auto [before, after] = around(g, t);
  Moment m;
  CutProblem& p = m.problem;
  p.needed.assign(g.values.size(), false);
  p.free.assign(g.values.size(), false);
  p.rerun.assign(g.kernels.size(), 0.0);
  for (std::size_t v = 0; v < g.values.size(); ++v) {
    const RematValue& value = g.values[v];
    if (value.maker < 0 || (after[at(value.maker)] && value.maker != t)) continue;
    p.needed[v] = (value.kept && before[at(value.maker)]) || std::any_of(value.readers.begin(), value.readers.end(),
                                                                         [&](int r) { return r != t && after[at(r)]; });
  }
  for (int k = 0; k < g.size(); ++k)
    if (before[at(k)]) p.rerun[at(k)] = g.kernel(k).repeatable ? g.kernel(k).cost : never;
  const RematKernel& kernel = g.kernel(t);
  m.fixed = kernel.scratch;
  for (const std::vector<int>* values : {&kernel.reads, &kernel.makes})
    for (int v : *values) p.free[at(v)] = true, m.fixed += g.bytes(v);
  for (const auto& [read, made] : kernel.reuses) m.fixed -= g.bytes(made);
  return m;
}

// The largest value of cut(price) - price * left, a concave function of the price.
RematBound bound_at(const RematGraph& g, int t, std::int64_t budget) {
  const Moment m = moment_of(g, t);
  const std::int64_t left = budget - m.fixed;
  RematBound best;
  ParametricCut low(g, m.problem);
  if (low.kept_bytes() <= left) return best;
  auto look = [&](const ParametricCut& cut) {
    const double value = cut.value() - cut.price() * static_cast<double>(left);
    if (value > best.extra) best = {value, cut.price()};
    return cut.kept_bytes() > left;
  };
  const double first = g.total_cost() / static_cast<double>(std::max<std::int64_t>(1, budget)) * 1e-4;
  double high = first;
  for (int i = 0; i < 40; ++i, high *= 2) {
    ParametricCut next = low;
    next.set_price(high);
    if (!look(next)) break;
    low = std::move(next);
  }
  for (int i = 0; i < 16; ++i) {
    ParametricCut middle = low;
    middle.set_price((low.price() + high) / 2);
    if (look(middle)) low = std::move(middle);
    else high = middle.price();
  }
  return best;
}

}  // namespace

RematBound bound_extra(const RematGraph& g, std::int64_t budget) {
  const Evaluation plain = evaluate(g, plain_sequence(g));
  RematBound best;
  if (plain.peak <= budget || g.size() == 0) return best;
  const int around = g.size() <= 64 ? g.size() : std::clamp(8000 / g.size(), 2, 10);
  for (int t = std::max(0, plain.at - around); t <= std::min(g.size() - 1, plain.at + around); ++t)
    if (RematBound b = bound_at(g, t, budget); b.extra > best.extra) best = b;
  return best;
}

}  // namespace anew::plan
