// A loop alone by its schedule, loops together by a price.
#include "passes/loop_bound.h"

#include <algorithm>

#include "plan/mixed.h"
#include "plan/revolve.h"

namespace anew::passes {
namespace {

// A loop, with the loops inside of it in one way: it takes `least`, or keeps `bytes` less when its way back begins and
// takes `most`.
struct Choice {
  double least, most, bytes;
  double at(double price) const { return std::min(most, least + price * bytes); }
};
std::vector<Choice> choices(const LoopFloor& loop, std::int64_t bytes) {
  std::vector<Choice> out;
  for (const LoopFloor::Inside& in : loop.inside) {
    if (in.states) {  // one of them is at hand, and the first may be an argument
      const std::int64_t fit = in.carry == 0 ? loop.length : std::clamp<std::int64_t>(bytes / in.carry, 1, loop.length);
      const auto again = static_cast<double>(plan::extra_steps(loop.length, fit) - (loop.length - 1));
      const double time = loop.runs * (in.time + loop.step * again);
      out.push_back({time, time, 0});
      continue;
    }
    const plan::LoopBytes there{std::max(bytes - loop.back, in.residual), in.carry, in.residual};
    const std::int64_t fit =
        std::max<std::int64_t>(0, bytes - loop.back) / std::max<std::int64_t>(1, in.residual + loop.rows);
    const std::int64_t steps = std::max(plan::MixedSchedule::least_extra_steps(loop.length, there), loop.length - fit);
    const std::int64_t kept = std::max<std::int64_t>(0, loop.length - steps);  // each spares a step
    const double least = in.time + loop.step * static_cast<double>(steps);
    out.push_back({loop.runs * least, loop.runs * (least + loop.step * static_cast<double>(kept)),
                   static_cast<double>(kept) * static_cast<double>(in.residual)});
  }
  return out;
}
double least(const std::vector<Choice>& choices, double price) {
  double out = choices.empty() ? 0 : choices[0].at(price);
  for (const Choice& c : choices) out = std::min(out, c.at(price));
  return out;
}

// Equations that one depends on, and those that depend on it; it is among both.
std::pair<std::vector<char>, std::vector<char>> around(const ir::Program& p, int equation) {
  std::vector<char> before(p.eqns.size()), after(p.eqns.size()), wanted(p.types.size()), made(p.types.size());
  auto any = [](const auto& vars, const std::vector<char>& of) {
    return std::any_of(vars.begin(), vars.end(), [&](const ir::Atom& a) { return a.is_var() && of[a.var]; });
  };
  for (int i = equation; i >= 0; --i) {
    const ir::Eqn& e = p.eqns[i];
    before[i] = i == equation || std::any_of(e.outputs.begin(), e.outputs.end(), [&](ir::Var v) { return wanted[v]; });
    for (const ir::Atom& a : e.inputs)
      if (before[i] && a.is_var()) wanted[a.var] = true;
  }
  for (int i = equation; i < std::ssize(p.eqns); ++i) {
    after[i] = i == equation || any(p.eqns[i].inputs, made);
    for (ir::Var v : p.eqns[i].outputs) made[v] = after[i];
  }
  return {std::move(before), std::move(after)};
}

}  // namespace

LoopBound::LoopBound(const ir::Program& program, std::vector<LoopFloor> loops) : loops_(std::move(loops)) {
  for (const LoopFloor& begins : loops_) {
    if (begins.second < 0) continue;
    const auto [before, after] = around(program, begins.second);
    Moment m{begins.back, {}};
    for (std::size_t i = 0; i < loops_.size(); ++i)
      if (loops_[i].second >= 0 && before[loops_[i].first] && after[loops_[i].second]) m.loops.push_back(i);
    if (m.loops.size() > 1) moments_.push_back(std::move(m));
  }
}

double LoopBound::within(std::int64_t bytes) const {
  std::vector<std::vector<Choice>> of;
  double all = 0;
  for (const LoopFloor& loop : loops_) {
    of.push_back(choices(loop, bytes));
    all += least(of.back(), 0);
  }
  double best = std::max(0.0, all);
  for (const Moment& m : moments_) {
    double others = all;
    std::vector<double> prices;  // at which a loop rather runs again
    for (std::size_t i : m.loops) {
      others -= least(of[i], 0);
      for (const Choice& c : of[i])
        if (c.bytes > 0) prices.push_back((c.most - c.least) / c.bytes);
    }
    for (double price : prices) {
      double here = others - price * static_cast<double>(std::max<std::int64_t>(0, bytes - m.back));
      for (std::size_t i : m.loops) here += least(of[i], price);
      best = std::max(best, here);
    }
  }
  return best;
}

}  // namespace anew::passes
