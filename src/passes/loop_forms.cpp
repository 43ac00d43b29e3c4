// Menus of loops, and the forms that are made of them.
#include "passes/loop_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ops/device_put.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "passes/rematerialize.h"
#include "passes/step_graph.h"
#include "plan/revolve.h"

namespace anew::passes {
namespace {

using Form = LoopForms::Form;
using Menu = std::vector<Form>;  // by falling bytes; the first keeps all
struct LoopMenu {
  Menu points;
  LoopFloor floor = {};
};

constexpr std::int64_t usual_length = 100;  // of a while
constexpr std::size_t most_inner = 5;

// One step of a Program that is a loop's, in seconds.
double time_of(const ir::Program& p) {
  std::vector<Strides> strides;
  for (const Type& t : p.input_types()) strides.push_back(row_major(t.shape));
  return modelled_time(*plan_program(p, strides).placed);
}

// The shares of all residuals that a loop may keep: evenly at first, then by a factor.
std::vector<double> shares() {
  std::vector<double> out;
  for (double s = 0.975; s > 0.3; s -= 0.025) out.push_back(s);
  for (double s = 0.3; s > 1e-9; s *= 0.85) out.push_back(s);
  return out;
}

// Only what no other beats in both; the price of a byte rises as less is kept.
Menu front(Menu points) {
  std::stable_sort(points.begin(), points.end(), [](const Form& a, const Form& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.time < b.time;
  });
  Menu out;
  for (Form& f : points)
    if (out.empty() || f.time < out.back().time) out.push_back(std::move(f));
  std::reverse(out.begin(), out.end());
  for (std::size_t i = 1; i < out.size(); ++i)
    out[i].price = std::max(out[i - 1].price, (out[i].time - out[i - 1].time) / (out[i - 1].bytes - out[i].bytes));
  return out;
}

template <class T>
void join(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Several menus together, one step down at a time; at most so many, the first and the last among them.
Menu together(const std::vector<LoopMenu>& menus, std::size_t most) {
  std::vector<std::pair<std::size_t, std::size_t>> steps;  // menu, point
  for (std::size_t m = 0; m < menus.size(); ++m)
    for (std::size_t i = 1; i < menus[m].points.size(); ++i) steps.push_back({m, i});
  std::stable_sort(steps.begin(), steps.end(), [&](const auto& a, const auto& b) {
    return menus[a.first].points[a.second].price < menus[b.first].points[b.second].price;
  });
  std::vector<std::size_t> at(menus.size());
  auto now = [&](double price) {
    Form f;
    f.price = price;
    for (std::size_t m = 0; m < menus.size(); ++m) {
      const Form& here = menus[m].points[at[m]];
      f.bytes += here.bytes;
      f.time += here.time;
      join(f.levels, here.levels);
      join(f.again, here.again);
    }
    return f;
  };
  Menu out{now(0)};
  const std::size_t every = std::max<std::size_t>(1, (steps.size() + most - 2) / std::max<std::size_t>(1, most - 1));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto [m, point] = steps[i];
    at[m] = point;
    if ((i + 1) % every == 0 || i + 1 == steps.size()) out.push_back(now(menus[m].points[point].price));
  }
  return out;
}

// Fewer forms of large Programs, which take longer to lower.
std::size_t most_forms(const ir::Program& p) {
  std::size_t equations = 1;
  ir::for_each_program(p, [&](const ir::Program& q) { equations += q.eqns.size(); });
  return std::clamp<std::size_t>(20'000 / equations, 16, 96);
}

class Menus {
 public:
  // `disk`: a folder for states of loops that are not inside of others, or nothing.
  Menus(int count, std::string disk) : levels_(static_cast<std::size_t>(count)), disk_(std::move(disk)) {}

  std::vector<LoopMenu> of(const ir::Program& p, const LoopsIn& loops) { return of(p, loops, 1, disk_); }

 private:
  // Of the loops in a Program that runs so often.
  std::vector<LoopMenu> of(const ir::Program& p, const LoopsIn& loops, double runs, const std::string& disk = {}) {
    std::vector<LoopMenu> out;
    auto add_inner = [&](const ir::Program& inner, const LoopsIn& there, double times) {
      for (LoopMenu& m : of(inner, there, times)) {
        m.floor.first = m.floor.second = -1;
        out.push_back(std::move(m));
      }
    };
    for (const LoopPair& pair : loops.pairs) {
      if (pair.kind == LoopPair::Kind::scans) out.push_back(of_scan(p, pair, disk));
      else if (pair.kind == LoopPair::Kind::whiles) out.push_back({of_while(p, pair)});
      else
        for (std::size_t k = 0; k < pair.whole.size(); ++k) add_inner(*pair.whole[k], pair.inner[k], 1);
    }
    for (const NestedLoops& n : loops.nested) {
      const ir::Eqn& e = p.eqns[n.equation];
      add_inner(*ir::nested_programs(e)[n.program], n.loops, runs_of(e));
    }
    for (LoopMenu& m : out) {
      m.floor.runs *= runs;
      for (Form& f : m.points) repeat(f, runs);
    }
    return out;
  }

  static void repeat(Form& f, double runs) {
    f.time *= runs;
    f.price *= runs;
    for (LoopForms::Again& a : f.again) {
      a.steps *= runs;
      a.time *= runs;
    }
  }
  static double runs_of(const ir::Eqn& e) {
    std::int64_t length = 1;
    if (auto* loop = e.params->if_a<LoopParams>()) length = loop->length;
    else if (auto* unwind = e.params->if_a<UnwindParams>()) length = unwind->length;
    return static_cast<double>(length < 0 ? usual_length : length);
  }

  LoopMenu of_scan(const ir::Program& p, const LoopPair& pair, const std::string& disk) {
    const LoopParams& loop = loop_of(p.eqns[pair.first].params);
    const auto steps = static_cast<double>(loop.length);
    double step = -1;
    Menu points;
    LoopFloor floor = floor_of(p, pair);
    for (Form inner : together(of(*pair.whole[0], pair.inner[0], 1), most_inner)) {
      LoopLevels levels = levels_;
      for (const auto& [number, level] : inner.levels) levels[static_cast<std::size_t>(number)] = level;
      const ScanBack b = scan_back(p, pair, share(with_levels(*pair.whole[0], pair.inner[0], levels)));
      if (step < 0) step = time_of(b.recorded.empty() ? *loop.body : *b.unwind.advance);
      repeat(inner, steps);
      floor.inside.push_back({inner.time, b.carry, b.least});
      const std::int64_t all = b.carry + loop.length * b.residual, least = b.carry + b.residual;
      inner.bytes = static_cast<double>(all);
      if (!inner.levels.empty()) inner.levels.push_back({pair.number, {all}});
      points.push_back(inner);
      if (!inner.levels.empty()) inner.levels.pop_back();
      if (b.residual == 0 || least >= all) continue;
      std::vector<std::int64_t> bytes{least};
      for (double share : shares()) bytes.push_back(b.carry + static_cast<std::int64_t>(share * steps) * b.residual);
      for (std::int64_t n : bytes)
        if (n >= least && n < all)
          for (Form& f : within(n, inner, b, p, pair, step, disk)) points.push_back(std::move(f));
    }
    floor.step = std::min(step, time_of(*loop.body));
    if (!has_floor(pair, loop)) floor.inside.clear();
    return {front(std::move(points)), std::move(floor)};
  }

  static LoopFloor floor_of(const ir::Program& p, const LoopPair& pair) {
    const LoopParams& back = loop_of(p.eqns[pair.second].params);
    LoopFloor floor{
        .length = back.length, .first = static_cast<int>(pair.first), .second = static_cast<int>(pair.second)};
    const ir::Program& step = *back.body;
    std::set<ir::Var> seen(step.inputs.begin(), step.inputs.end());
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      const ir::Atom& a = step.outputs[k];
      const auto bytes = detail::saturated<std::int64_t>(step.type(a).bytes());
      if (k < static_cast<std::size_t>(back.carries)) floor.back += bytes;
      else if (a.is_var() && seen.insert(a.var).second) floor.rows += bytes;
    }
    return floor;
  }
  // Steps of an unrolled loop are not run again as a whole, and what is moved to disk is not in memory.
  static bool has_floor(const LoopPair& pair, const LoopParams& loop) {
    bool moves = false;
    ir::for_each_program(*pair.whole[0], [&](const ir::Program& q) {
      for (const ir::Eqn& e : q.eqns) moves = moves || e.params->if_a<DevicePutParams>();
    });
    return loop.unroll == 1 && !moves;
  }

  // A scan that keeps so many bytes: in two parts, or as one; with states in memory, or in a file, then one for each
  // run of steps whose residuals fit.
  static Menu within(std::int64_t bytes, const Form& inner, const ScanBack& b, const ir::Program& p,
                     const LoopPair& pair, double step, const std::string& disk) {
    const ir::Eqn& e = p.eqns[pair.first];
    const std::int64_t length = loop_of(e.params).length;
    const plan::MixedSchedule schedule(length, {bytes - b.carry, b.carry, b.residual}, 1e6);
    const auto extra = static_cast<double>(schedule.extra_steps());
    Menu out;
    auto add = [&](LoopLevel level, double again, double more, double moves = 0) {
      Form& f = out.emplace_back(inner);
      f.bytes = static_cast<double>(bytes) + more;
      f.levels.push_back({pair.number, std::move(level)});
      f.time += again * step + moves;
      f.again.push_back({fmt::format("scan[{}]", length), e.at, again, again * step});
    };
    double rows = 0;  // that are made in two parts
    for (const auto& [eqn, from] : {std::pair(pair.first, loop_of(e.params).carries),
                                    std::pair(pair.second, loop_of(p.eqns[pair.second].params).carries)})
      for (std::size_t k = static_cast<std::size_t>(from); k < p.eqns[eqn].outputs.size(); ++k)
        if (eqn == pair.second || pair.kept[k]) rows += static_cast<double>(p.type(p.eqns[eqn].outputs[k]).bytes());
    const std::int64_t last = length - schedule.forward().taped;
    add({bytes}, extra, rows);
    if (rows > 0) add({bytes, true}, extra + static_cast<double>(last), 0);
    if (disk.empty() || b.carry == 0) return out;
    const std::int64_t together = rows_within({length, {std::max(bytes - b.carry, b.residual), 0, b.residual}});
    const auto state = static_cast<std::size_t>(b.carry);
    const double moves = modelled_time_to_write(state) + modelled_time_to_read(state);
    auto states = [&](std::int64_t steps) { return static_cast<double>((steps + together - 1) / together); };
    const std::int64_t first = length - together;
    if (first > 0) add({bytes, false, disk}, static_cast<double>(first), rows, states(first) * moves);
    if (rows > 0) add({bytes, true, disk}, static_cast<double>(length), 0, states(length) * moves);
    return out;
  }

  Menu of_while(const ir::Program& p, const LoopPair& pair) {
    const ir::Eqn& e = p.eqns[pair.first];
    const UnwindParams& u = p.eqns[pair.second].params->as<UnwindParams>();
    const LoopParams& w = loop_of(e.params);
    double state = 0;
    const Types types = w.body->output_types();
    for (int r : w.record) state += static_cast<double>(types[static_cast<std::size_t>(r)].bytes());
    const double step = time_of(*u.advance);
    const std::int64_t usual = plan::extra_steps(usual_length, default_checkpoints);
    Menu points{{.bytes = state * default_checkpoints}};
    for (std::int64_t slots : {48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1}) {
      const auto again = static_cast<double>(plan::extra_steps(usual_length, slots) - usual);
      const double time = again * step;
      points.push_back(
          {state * static_cast<double>(slots), time, 0, {{pair.number, {slots}}}, {{"while", e.at, again, time}}});
    }
    return front(std::move(points));
  }

  LoopLevels levels_;  // all as they are
  std::string disk_;
};

}  // namespace

LoopForms::LoopForms(const ir::Program& program, std::string disk) {
  program_ = eliminate_dead_code(without_calls(program));
  loops_ = find_loops(program_, kept_names(program_), count_);
  if (count_ == 0) {
    forms_.resize(1);
    return;
  }
  const bool bounded = disk.empty();  // residuals may come back from a file
  const std::vector<LoopMenu> menus = Menus(count_, std::move(disk)).of(program_, loops_);
  forms_ = together(menus, most_forms(program_));
  if (!bounded) return;
  std::vector<LoopFloor> floors;
  for (const LoopMenu& m : menus) floors.push_back(m.floor);
  bound_ = LoopBound(program_, std::move(floors));
}

ir::Program LoopForms::program(std::size_t form) const {
  LoopLevels levels(static_cast<std::size_t>(count_));
  for (const auto& [number, level] : forms_[form].levels) levels[static_cast<std::size_t>(number)] = level;
  return with_levels(program_, loops_, levels);
}

}  // namespace anew::passes
