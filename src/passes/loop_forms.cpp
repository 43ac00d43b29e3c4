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
using Menu = std::vector<Form>;  // by rising time; the first keeps all
struct LoopMenu {
  Menu points;
  LoopFloor floor = {};
};

constexpr std::int64_t usual_length = 100;  // of a while
constexpr std::size_t most_inner = 5;

// A step of a loop: seconds, and bytes of its arena.
struct Cost {
  double time = 0, bytes = 0;
};
Cost cost_of(const ir::ProgramRef& step, int constants, int carries) {
  LoopParams q;
  q.constants = constants;
  q.carries = carries;
  q.body = step;
  q.length = 2;  // bodies of loops are lowered in their own way
  Types types = step->input_types();
  std::vector<Strides> strides;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i >= static_cast<std::size_t>(constants + carries)) types[i].shape.insert(0, q.length);
    strides.push_back(row_major(types[i].shape));
  }
  Staged loop = stage([&](std::span<const Array> in) { return bind_loop(q, Arrays(in.begin(), in.end()), Location()); },
                      types, "unwind_loops", Location());
  const Planned planned = plan_program(loop.program, strides, {}, true);
  Cost cost;
  for (const Step& s : planned.steps->steps)
    if (s.is<Loop>()) cost.time = modelled_time(*s.bodies[0]);
  for (const Step& s : planned.placed->steps)
    if (s.is<Loop>()) cost.bytes = static_cast<double>(s.bodies[0]->bytes);
  return cost;
}
Cost cost_of(const LoopParams& loop) { return cost_of(loop.body, loop.constants, loop.carries); }
// Of an unwind, where a state does not take the place of another.
Cost cost_of(const ir::ProgramRef& step) { return cost_of(step, static_cast<int>(step->inputs.size()), 0); }

// The shares of all residuals that a loop may keep: evenly at first, then by a factor.
std::vector<double> shares() {
  std::vector<double> out;
  for (double s = 0.975; s > 0.3; s -= 0.025) out.push_back(s);
  for (double s = 0.3; s > 1e-9; s *= 0.85) out.push_back(s);
  return out;
}

// Numbers of states that a scan may keep: all that are few, then by a factor.
std::vector<std::int64_t> numbers_of_states(std::int64_t length) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 1; n < length; n = std::max(n + 1, n + n / 8)) out.push_back(n);
  return out;
}

// Whether a form is what one would write: states alone, or all that a policy keeps of each step.
bool as_by_hand(const Form& f) {
  return !f.levels.empty() && (f.levels.back().second.states || f.levels.back().second.whole);
}

bool on_disk(const Form& f) { return !f.levels.empty() && !f.levels.back().second.disk.empty(); }

// Whether a form takes the last steps back from their residuals, and the others as an unwind.
bool in_parts(const Form& f) {
  return !f.levels.empty() && !f.levels.back().second.states && !f.levels.back().second.as_one;
}

// By rising time: only what no other beats in both, behind the first, which is the loop as it is; the price of a byte
// rises as less is kept. Bytes are estimates, so what one would write by hand stays where it is beaten by less than
// `slack`, and so does what lies in a file. Of a loop that stacks rows nobody knows whether its parts, put together,
// take memory of their own or lie in that of a result: forms in parts are counted without it, and beat only their like.
Menu front(Menu points, double slack, bool stacks) {
  auto beats = [&](const Form& a, const Form& b) {
    if (stacks && in_parts(a) && !in_parts(b)) return false;
    const double more = as_by_hand(b) || (on_disk(b) && !on_disk(a)) ? slack : 0;
    return a.time <= b.time && a.bytes + more <= b.bytes && (a.time < b.time || a.bytes < b.bytes || &a < &b);
  };
  Menu out{points[0]};
  for (std::size_t i = 1; i < points.size(); ++i)
    if (std::none_of(points.begin(), points.end(), [&](const Form& f) { return beats(f, points[i]); }))
      out.push_back(points[i]);
  std::stable_sort(out.begin() + 1, out.end(), [](const Form& a, const Form& b) { return a.time < b.time; });
  Form best = out[0];  // the smallest so far
  for (Form& f : out) {
    f.price = best.price;
    if (f.bytes >= best.bytes) continue;
    f.price = std::max(best.price, (f.time - best.time) / (best.bytes - f.bytes));
    best = f;
  }
  return out;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Several menus together, one step down at a time; about so many, the first and the last among them, and wherever time
// has grown by `factor`: with few states it grows by far more from one to the next than with many.
Menu together(const std::vector<LoopMenu>& menus, std::size_t most, double factor = 1e300) {
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
      append(f.levels, here.levels);
      append(f.again, here.again);
    }
    return f;
  };
  Menu out{now(0)};
  const std::size_t every = std::max<std::size_t>(1, (steps.size() + most - 2) / std::max<std::size_t>(1, most - 1));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto [m, point] = steps[i];
    at[m] = point;
    const bool last = i + 1 == steps.size();
    if (Form f = now(menus[m].points[point].price);
        (i + 1) % every == 0 || last || (out.back().time > 0 && f.time > factor * out.back().time))
      out.push_back(std::move(f));
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
    Scan scan{p, pair, cost_of(loop), cost_of(loop_of(p.eqns[pair.second].params))};
    Menu points;
    LoopFloor floor = floor_of(p, pair);
    floor.step = scan.forward.time;
    for (Form inner : together(of(*pair.whole[0], pair.inner[0], 1), most_inner)) {
      LoopLevels levels = levels_;
      for (const auto& [number, level] : inner.levels) levels[static_cast<std::size_t>(number)] = level;
      const ir::ProgramRef whole = share(with_levels(*pair.whole[0], pair.inner[0], levels));
      repeat(inner, static_cast<double>(loop.length));
      add_forms(scan, inner, whole, disk, points, floor);
    }
    if (!has_floor(pair, loop)) floor.inside.clear();
    double state = 0;
    for (int k = 0; k < loop.carries; ++k)
      state += static_cast<double>(p.type(p.eqns[pair.first].outputs[static_cast<std::size_t>(k)]).bytes());
    for (Form& f : points) f.bytes += static_cast<double>(floor.back);
    return {front(std::move(points), 3 * state, stacks_rows(scan)), std::move(floor)};
  }

  // A scan, and what a step of it takes: there, back, there where states are kept, and there again for a state.
  struct Scan {
    const ir::Program& p;
    const LoopPair& pair;
    Cost forward, back, recording = {}, step = {};
    const ir::Eqn& eqn() const { return p.eqns[pair.first]; }
    std::int64_t length() const { return loop_of(eqn().params).length; }
  };
  // Of a step in other parts, loops inside of it among them: seconds more than as it is, where residuals are kept and
  // where it runs again for them; bytes of the larger part.
  struct Parts {
    double kept, again, scratch;
  };
  static Parts parts_of(const Scan& scan, const ScanBack& b) {
    const LoopParams& f = loop_of(scan.eqn().params);
    const Cost tape = cost_of(b.tape, f.constants, f.carries),
               back = cost_of(b.over_rows, b.constants, b.unwind.linear_carries);
    const double more = tape.time + back.time - scan.forward.time - scan.back.time;
    return {more, more + scan.recording.time, std::max(tape.bytes, back.bytes)};
  }

  // With the loops inside in one way: all residuals of a step kept, or those of a policy; or none.
  static void add_forms(Scan& scan, Form inner, const ir::ProgramRef& whole, const std::string& disk, Menu& points,
                        LoopFloor& floor) {
    const Policy* policies[] = {&checkpoint_policies::everything_saveable, &checkpoint_policies::dots_saveable,
                                &checkpoint_policies::dots_with_no_batch_dims_saveable,
                                &checkpoint_policies::nothing_saveable};
    const auto steps = static_cast<double>(scan.length());
    std::int64_t kept = -1;  // by the policies before, at least
    for (const Policy* policy : policies) {
      const ScanBack b = scan_back(scan.p, scan.pair, whole, *policy);
      const bool first = kept < 0;
      if (!first && b.residual > kept + kept / 16) continue;  // as many of others may be made faster
      kept = first ? b.residual : std::min(kept, b.residual);
      if (first) {
        const LoopParams& f = loop_of(scan.eqn().params);
        scan.recording = cost_of(b.recording, f.constants, f.carries);
        scan.step = b.recorded.empty() ? scan.forward : cost_of(b.unwind.advance);
        floor.step = std::min({floor.step, scan.step.time, scan.recording.time});
      }
      const Parts parts = parts_of(scan, b);
      floor.inside.push_back({steps * parts.kept, b.carry, b.least});
      add_within(scan, inner, b, {.policy = *policy}, parts, disk, points);
      if (!first) continue;
      add_states(scan, inner, b, false, points, floor);
      if (const LoopPair* sunk = scan.pair.sunk.get())
        add_states(scan, inner, scan_back(scan.p, *sunk, sunk->whole[0]), true, points, floor);
    }
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

  // What is fused in another way may take less time than it did; that is no reason to pay for anything else with it.
  static Form& add(const Scan& scan, const Form& inner, LoopLevel level, double bytes, double steps, double time,
                   Menu& points) {
    Form& f = points.emplace_back(inner);
    f.bytes = bytes;
    f.levels.push_back({scan.pair.number, std::move(level)});
    f.time = std::max(0.0, time);
    f.again.push_back({fmt::format("scan[{}]", scan.length()), scan.eqn().at, steps, std::max(0.0, time - inner.time)});
    return f;
  }

  // States alone, as users' checkpoints have it. Every step is made again where it is taken back.
  static void add_states(const Scan& scan, const Form& inner, const ScanBack& b, bool sunk, Menu& points,
                         LoopFloor& floor) {
    const std::int64_t length = scan.length();
    const Cost step = cost_of(b.unwind.step);
    const double anyway =
        static_cast<double>(length) * (scan.recording.time + step.time - scan.forward.time - scan.back.time);
    const double besides = std::max(step.bytes, scan.step.bytes) + (sunk ? 0 : sunk_bytes(scan));
    floor.inside.push_back({anyway, b.carry, b.carry, true});
    for (std::int64_t n : numbers_of_states(length)) {
      const auto again = static_cast<double>(plan::extra_steps(length, n) - (length - 1));
      add(scan, inner, {.keeps = n, .states = true, .sunk = sunk}, static_cast<double>(n * b.carry) + besides,
          static_cast<double>(length) + again, anyway + again * scan.step.time, points);
      if (b.recorded.empty()) return;
    }
  }
  // Of what the way back could make at each step.
  static double sunk_bytes(const Scan& scan) {
    double bytes = 0;
    const ir::Eqn& e = scan.p.eqns[scan.pair.second];
    for (std::size_t k = 0; scan.pair.sunk && k < e.inputs.size(); ++k)
      if (scan.pair.sunk->made[k] != scan.pair.made[k]) bytes += static_cast<double>(scan.p.type(e.inputs[k]).bytes());
    return bytes;
  }

  // Whether the scans stack anything but residuals: rows that are made in two parts where the loop is.
  static bool stacks_rows(const Scan& scan) {
    for (const std::size_t eqn : {scan.pair.first, scan.pair.second}) {
      const ir::Eqn& e = scan.p.eqns[eqn];
      for (auto k = static_cast<std::size_t>(loop_of(e.params).carries); k < e.outputs.size(); ++k)
        if ((eqn == scan.pair.second || scan.pair.kept[k]) && scan.p.type(e.outputs[k]).bytes() > 0) return true;
    }
    return false;
  }

  // States and residuals of steps, in so many bytes: from all residuals down to those of one step.
  static void add_within(const Scan& scan, Form inner, const ScanBack& b, LoopLevel level, const Parts& parts,
                         const std::string& disk, Menu& points) {
    const std::int64_t length = scan.length(), all = b.carry + length * b.residual, least = b.carry + b.residual;
    const auto steps = static_cast<double>(length);
    if (inner.levels.empty() && level.policy == checkpoint_policies::everything_saveable) {
      points.push_back(inner);
      points.back().bytes = static_cast<double>(all) + parts.scratch;
    } else {
      level.keeps = all;
      level.whole = true;
      add(scan, inner, level, static_cast<double>(all) + parts.scratch, steps, steps * parts.kept, points);
      level.whole = false;
    }
    if (b.residual == 0 || least >= all) return;
    std::vector<std::int64_t> bytes{least};
    for (double share : shares()) bytes.push_back(b.carry + static_cast<std::int64_t>(share * steps) * b.residual);
    for (std::int64_t n : bytes) {
      if (n < least || n >= all) continue;
      level.keeps = n;
      add_keeping(scan, inner, b, level, parts, disk, points);
    }
  }

  // A scan that keeps so many bytes: in two parts, or as one; with states in memory, or in a file, then one for each
  // run of steps whose residuals fit.
  static void add_keeping(const Scan& scan, const Form& inner, const ScanBack& b, LoopLevel level, const Parts& parts,
                          const std::string& disk, Menu& points) {
    const std::int64_t length = scan.length();
    const plan::MixedSchedule schedule(length, {level.keeps - b.carry, b.carry, b.residual}, 1e6);
    const double bytes = static_cast<double>(level.keeps) + parts.scratch;
    const bool one = stacks_rows(scan) && level.policy == checkpoint_policies::everything_saveable;
    // Steps whose residuals are made on the way back, and those that only lead to such.
    auto add_one = [&](bool as_one, const std::string& folder, std::int64_t recorded, std::int64_t passed,
                       double moves) {
      level.as_one = as_one;
      level.disk = folder;
      const auto again = static_cast<double>(recorded), past = static_cast<double>(passed);
      const double time =
          again * parts.again + static_cast<double>(length - recorded) * parts.kept + past * scan.step.time;
      add(scan, inner, level, bytes, again + past, time, points).time += moves;
    };
    const std::int64_t recorded = schedule.forward().taped, passed = schedule.extra_steps() - recorded;
    add_one(false, {}, recorded, passed, 0);
    if (one) add_one(true, {}, length, passed, 0);
    if (disk.empty() || b.carry == 0) return;
    const std::int64_t together = rows_within({length, {std::max(level.keeps - b.carry, b.residual), 0, b.residual}});
    const auto state = static_cast<std::size_t>(b.carry);
    const double moves = modelled_time_to_write(state) + modelled_time_to_read(state);
    auto states = [&](std::int64_t steps) { return static_cast<double>((steps + together - 1) / together); };
    const std::int64_t first = length - together;
    if (first > 0) add_one(false, disk, first, 0, states(first) * moves);
    if (one) add_one(true, disk, length, 0, states(length) * moves);
  }

  Menu of_while(const ir::Program& p, const LoopPair& pair) {
    const ir::Eqn& e = p.eqns[pair.first];
    const UnwindParams& u = p.eqns[pair.second].params->as<UnwindParams>();
    const LoopParams& w = loop_of(e.params);
    double state = 0;
    const Types types = w.body->output_types();
    for (int r : w.record) state += static_cast<double>(types[static_cast<std::size_t>(r)].bytes());
    const double step = cost_of(u.advance).time;
    const std::int64_t usual = plan::extra_steps(usual_length, default_checkpoints);
    Menu points{{.bytes = state * default_checkpoints}};
    for (std::int64_t slots : {48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1}) {
      const auto again = static_cast<double>(plan::extra_steps(usual_length, slots) - usual);
      const double time = again * step;
      points.push_back(
          {state * static_cast<double>(slots), time, 0, {{pair.number, {slots}}}, {{"while", e.at, again, time}}});
    }
    return front(std::move(points), 0, false);
  }

  LoopLevels levels_;  // all as they are
  std::string disk_;
};

}  // namespace

LoopForms::LoopForms(const ir::Program& program, std::string disk) {
  // Between a loop and its way back a batch may stand that moved from axis to axis and back.
  program_ = eliminate_dead_code(simplify_around_names(eliminate_dead_code(without_calls(program))));
  loops_ = find_loops(program_, kept_names(program_), count_);
  if (count_ == 0) {
    forms_.resize(1);
    return;
  }
  const bool bounded = disk.empty();  // residuals may come back from a file
  const std::vector<LoopMenu> menus = Menus(count_, std::move(disk)).of(program_, loops_);
  forms_ = together(menus, most_forms(program_), 1.25);
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
