// Loops that keep less for their way back. The equations of a Program are bound again one by one; where one is half of
// a pair, what takes its place is bound instead. A scan of which not all residuals are kept runs in two parts, as loops
// within bytes do (control/loop_split.cpp): the first records states, the second stacks residuals; the way back is a
// scan over these, then an unwind.
#include <anew/ops.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "control/cond.h"
#include "ops/view_params.h"
#include "passes/loop_pairs.h"

namespace anew::passes {
namespace {

bool any_level(const LoopsIn& loops, const LoopLevels& levels) {
  auto inside = [&](const LoopsIn& l) { return any_level(l, levels); };
  for (const LoopPair& p : loops.pairs)
    if ((p.number >= 0 && levels[static_cast<std::size_t>(p.number)].keeps >= 0) ||
        std::any_of(p.inner.begin(), p.inner.end(), inside))
      return true;
  return std::any_of(loops.nested.begin(), loops.nested.end(), [&](const NestedLoops& n) { return inside(n.loops); });
}

ir::ProgramRef leveled(const ir::ProgramRef& p, const LoopsIn& loops, const LoopLevels& levels) {
  return any_level(loops, levels) ? share(with_levels(*p, loops, levels)) : p;
}

std::vector<std::size_t> first_numbers(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

// Of a loop that goes back, with rows of residuals in place of carries.
Roles order_of_back() {
  return {Role::constants, Role::linear_constants, Role::linear_carries, Role::carries, Role::xs, Role::linear_xs};
}
ir::ProgramRef loop_back(const ir::Program& step, Groups takes, std::size_t rows) {
  takes.size(Role::carries) = rows;
  return share(rearranged(step, takes.positions().merge(order_of_back()), first_numbers(step.outputs.size())));
}

// What a step of both scans takes.
Groups takes_of(const LoopParams& f, const LoopParams& r, const LoopPair& pair) {
  const LoopForm first = form_of(f), second = form_of(r);
  const auto outputs = static_cast<int>(first.results.size());
  const auto sunk =
      static_cast<std::size_t>(std::count_if(pair.made.begin(), pair.made.end(), [&](int i) { return i >= outputs; }));
  const auto made =
      static_cast<std::size_t>(std::count_if(pair.made.begin(), pair.made.end(), [](int i) { return i >= 0; })) - sunk;
  return {{Role::constants, first.operands.size(Role::constants)},
          {Role::carries, first.operands.size(Role::carries)},
          {Role::xs, first.operands.size(Role::xs)},
          {Role::linear_constants, second.operands.size(Role::constants) - sunk},
          {Role::linear_carries, second.operands.size(Role::carries)},
          {Role::linear_xs, second.operands.size(Role::xs) - made}};
}

// A step, of which a policy says what its second half takes from the first: the rest is in a checkpoint there.
ir::ProgramRef under(const Policy& policy, const ir::ProgramRef& whole, const Groups& takes, std::size_t kept,
                     const Location& at) {
  if (policy == checkpoint_policies::everything_saveable) return whole;
  const std::size_t known = takes.only({Role::constants, Role::carries, Role::xs}).size();
  Flags linear(whole->inputs.size(), true), force(whole->outputs.size(), true);
  std::fill_n(linear.begin(), known, false);
  std::fill_n(force.begin(), kept, false);
  const Split s = split(whole, linear, {.policy = policy, .force = force});
  CheckpointParams c;
  c.differentiated = true;
  c.policy = policy;
  c.program = share(s.staged);
  const auto params = std::make_shared<const CheckpointParams>(std::move(c));
  Staged both = stage(
      [&](std::span<const Array> in) {
        const Arrays made = evaluate(s.known, in.first(known));
        Arrays operands(made.end() - s.residuals, made.end());
        for (int i : s.staged_inputs) operands.push_back(in[static_cast<std::size_t>(i)]);
        const Arrays later = anew::bind(checkpoint_row(), params, operands, at);
        Arrays out(whole->outputs.size());
        std::size_t next = 0;
        for (std::size_t i = 0; i < out.size(); ++i)
          if (!s.unknown_outputs[i]) out[i] = made[next++];
        for (std::size_t k = 0; k < later.size(); ++k)
          if (Array& x = out[static_cast<std::size_t>(s.staged_outputs[k])]; !x.value()) x = later[k];
        return out;
      },
      whole->input_types(), "unwind_loops", at);
  both.program.constants = 0;
  return share(std::move(both.program));
}

// A scan and its reverse, where the second goes back over what the first recorded and stacked.
class CutScan {
 public:
  CutScan(const ir::Program& p, const LoopPair& pair, const ir::ProgramRef& whole, const LoopLevel& level)
      : pair_(pair),
        f_(loop_of(p.eqns[pair.first].params)),
        r_(loop_of(p.eqns[pair.second].params)),
        takes_(takes_of(f_, r_, pair)),
        back_(scan_back(p, pair, whole, level.policy)) {
    if (level.states) {
      states_kept_ = static_cast<int>(level.keeps);
      cut_ = f_.length;
      return;
    }
    const LoopBudget there{
        f_.length,
        {std::max(level.keeps - back_.carry, back_.residual), level.disk.empty() ? back_.carry : 0, back_.residual}};
    bytes_ = level.keeps;
    disk_ = level.disk;
    budget_ = there.numbers();
    cut_ = level.as_one     ? f_.length
           : !disk_.empty() ? f_.length - rows_within(there)
                            : plan::schedule_of(f_.length, there.bytes)->forward().taped;
  }

  // What the first equation gives, without what nobody keeps.
  Arrays first(const Arrays& in, const Location& at) {
    const LoopForm f = form_of(f_);
    in_ = f.operands.partition(in);
    Lists<Array> now = in_;
    Groups gives{{Role::carries, f.results.size(Role::carries)},
                 {Role::ys, count(pair_.kept) - f.results.size(Role::carries)}};
    Arrays early, late;
    if (cut_ > 0) {
      now[Role::xs] = early_rows(in_[Role::xs], at);
      const Arrays made = bind_loop(recording(), now.merge(f.operands.order()), at);
      const auto results = static_cast<std::ptrdiff_t>(gives.size());
      states_.assign(made.begin() + results, made.end());
      const Lists<Array> given = gives.partition(made);
      now[Role::carries] = given[Role::carries];
      early = given[Role::ys];
    }
    if (cut_ < f_.length) {
      now[Role::xs] = late_rows(in_[Role::xs], at);
      LoopParams q = f_;
      q.length = f_.length - cut_;
      q.body = back_.tape;
      const Arrays made = bind_loop(q, now.merge(f.operands.order()), at);
      rows_.assign(made.begin() + static_cast<std::ptrdiff_t>(gives.size()), made.end());
      const Lists<Array> given = gives.partition(made);
      now[Role::carries] = given[Role::carries];
      late = given[Role::ys];
    }
    Arrays out = now[Role::carries];
    append(out, together(early, late));
    return merge(pair_.kept, out);
  }

  Arrays second(const Arrays& in, const Location& at) const {
    const LoopForm r = form_of(r_);
    Arrays read;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (pair_.made[i] < 0) read.push_back(in[i]);
    const Roles linear{Role::linear_constants, Role::linear_carries, Role::linear_xs};
    Lists<Array> now = takes_.only(linear).partition(read);
    for (Role role : {Role::constants, Role::xs}) now[role] = in_[role];
    const Groups gives{{Role::linear_carries, r.results.size(Role::carries)},
                       {Role::linear_ys, r.results.size(Role::ys)}};
    Arrays early, late;
    if (cut_ < f_.length) {
      const Lists<Array> given = gives.partition(bind_over_rows(now, at));
      now[Role::linear_carries] = given[Role::linear_carries];
      late = given[Role::linear_ys];
    }
    if (cut_ > 0) {
      auto u = std::make_shared<UnwindParams>(back_.unwind);
      u->length = cut_;
      if (u->carries > 0 && !states_kept_) u->budget = budget_, u->disk = disk_;
      for (Role role : {Role::xs, Role::linear_xs}) now[role] = early_rows(now[role], at);
      now[Role::carries] = states_;
      const Lists<Array> given =
          gives.partition(anew::bind(unwind_row(), u, now.merge(form_of(*u).operands.order()), at));
      now[Role::linear_carries] = given[Role::linear_carries];
      early = given[Role::linear_ys];
    }
    Arrays out = now[Role::linear_carries];
    append(out, together(early, late));
    return out;
  }

 private:
  LoopParams recording() const {
    LoopParams q = f_;
    q.length = cut_;
    q.body = back_.recording;
    if (back_.recorded.empty()) return q;
    if (states_kept_) {
      q.checkpoints = states_kept_;
    } else {
      q.memory = bytes_;
      q.budget = budget_;
      q.disk = disk_;
    }
    q.records = true;
    q.record = back_.recorded;
    return q;
  }
  // The scan back over the residuals that were stacked.
  Arrays bind_over_rows(const Lists<Array>& now, const Location& at) const {
    Lists<Array> in = now;
    in[Role::carries] = rows_;
    for (Role role : {Role::xs, Role::linear_xs}) in[role] = late_rows(now[role], at);
    LoopParams q = r_;
    q.constants = back_.constants;
    q.length = f_.length - cut_;
    q.body = back_.over_rows;
    return bind_loop(q, in.merge(order_of_back()), at);
  }
  // Rows of the steps before the cut, and of those behind it.
  Arrays early_rows(const Arrays& stacks, const Location& at) const { return rows_of_part(stacks, !f_.reverse, at); }
  Arrays late_rows(const Arrays& stacks, const Location& at) const { return rows_of_part(stacks, f_.reverse, at); }
  Arrays rows_of_part(const Arrays& stacks, bool low, const Location& at) const {
    const std::int64_t border = f_.reverse ? f_.length - cut_ : cut_;
    Arrays out;
    for (const Array& x : stacks)
      out.push_back(cut_ == 0 || cut_ == f_.length ? x
                    : low                          ? part_of_rows(x, 0, border, at)
                                                   : part_of_rows(x, border, f_.length, at));
    return out;
  }
  Arrays together(const Arrays& early, const Arrays& late) const {
    if (cut_ == 0) return late;
    if (cut_ == f_.length) return early;
    Arrays out;
    for (std::size_t i = 0; i < early.size(); ++i)
      out.push_back(f_.reverse ? concatenate(Arrays{late[i], early[i]}) : concatenate(Arrays{early[i], late[i]}));
    return out;
  }

  const LoopPair& pair_;
  const LoopParams &f_, &r_;
  Groups takes_;
  ScanBack back_;
  int states_kept_ = 0;               // 0: bytes say what is kept
  std::int64_t bytes_ = 0, cut_ = 0;  // steps that record
  Shape budget_;
  std::string disk_;
  Lists<Array> in_;  // of the first equation
  Arrays states_, rows_;
};

// A cond and the one that goes back through its branches: the branches with both halves, cut again.
class CutCond {
 public:
  CutCond(const ir::Program& p, const LoopPair& pair, const std::vector<ir::ProgramRef>& whole) : pair_(pair) {
    const ir::Eqn& e = p.eqns[pair.first];
    Types types = whole[0]->input_types();
    types.insert(types.begin(), p.type(e.inputs[0]));
    const std::size_t known = e.inputs.size();
    Staged s = stage(
        [&](std::span<const Array> in) {
          BranchPrograms branches;
          for (const ir::ProgramRef& b : whole) branches.push_back(*b);
          return bind_cond(std::move(branches), in[0], in.subspan(1), e.at);
        },
        types, "unwind_loops", e.at);
    s.program.constants = 0;
    Flags unknown(types.size(), true), force(s.program.outputs.size(), true);
    std::fill_n(unknown.begin(), known, false);
    std::fill_n(force.begin(), count(pair.kept), false);
    // Slices of what the branches take are made again, not handed on.
    halves_ = split(s.program, unknown, {.policy = checkpoint_policies::everything_saveable, .force = force});
  }
  Arrays first(const Arrays& in) {
    in_ = in;
    const Arrays made = evaluate(halves_.known, in);
    residuals_.assign(made.end() - halves_.residuals, made.end());
    return merge(pair_.kept, Arrays(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(count(pair_.kept))));
  }
  Arrays second(const Arrays& in) const {
    Arrays read, operands = residuals_;
    read = in_;
    for (std::size_t i = 1; i < in.size(); ++i)
      if (pair_.made[i] < 0) read.push_back(in[i]);
    for (int i : halves_.staged_inputs) operands.push_back(read[static_cast<std::size_t>(i)]);
    const Arrays made = evaluate(halves_.staged, operands);
    const std::size_t kept = count(pair_.kept);
    Arrays out(halves_.unknown_outputs.size() - kept);
    for (std::size_t k = 0; k < made.size(); ++k)
      if (const auto i = static_cast<std::size_t>(halves_.staged_outputs[k]); i >= kept) out[i - kept] = made[k];
    return out;
  }

 private:
  const LoopPair& pair_;
  Split halves_;
  Arrays in_, residuals_;
};

class Rewriting {
 public:
  Rewriting(const ir::Program& p, const LoopsIn& loops, const LoopLevels& levels)
      : p_(p), levels_(levels), first_(p.eqns.size()), second_(p.eqns.size()), params_(p.eqns.size()) {
    for (const NestedLoops& n : loops.nested) {
      if (!any_level(n.loops, levels)) continue;
      ParamsRef& params = params_[n.equation];
      if (!params) params = p.eqns[n.equation].params;
      ir::Eqn e = p.eqns[n.equation];
      e.params = params;
      std::vector<ir::ProgramRef> programs = ir::nested_programs(e);
      programs[n.program] = leveled(programs[n.program], n.loops, levels);
      params = params->with_programs(programs);
    }
    for (const LoopPair& pair : loops.pairs) add(pair);
  }

  ir::Program run() {
    Staged s =
        stage([&](std::span<const Array> in) { return bind_all(in); }, p_.input_types(), "unwind_loops", Location());
    s.program.constants = p_.constants;
    return std::move(s.program);
  }

 private:
  using Half = std::function<Arrays(const Arrays&, const Location&)>;

  void add(const LoopPair& pair) {
    LoopLevel level;
    if (pair.number >= 0) level = levels_[static_cast<std::size_t>(pair.number)];
    bool inside = false;
    for (const LoopsIn& l : pair.inner) inside = inside || any_level(l, levels_);
    if (level.keeps < 0 && !inside) return;
    if (pair.kind == LoopPair::Kind::whiles) {
      ParamsRef& params = params_[pair.first];
      LoopParams q = loop_of(params ? params : p_.eqns[pair.first].params);
      q.checkpoints = static_cast<int>(level.keeps);
      params = params_of(q);
      return;
    }
    std::vector<ir::ProgramRef> whole;
    for (std::size_t k = 0; k < pair.whole.size(); ++k) whole.push_back(leveled(pair.whole[k], pair.inner[k], levels_));
    if (pair.kind == LoopPair::Kind::conds) {
      auto both = std::make_shared<CutCond>(p_, pair, whole);
      first_[pair.first] = [both](const Arrays& in, const Location&) { return both->first(in); };
      second_[pair.second] = [both](const Arrays& in, const Location&) { return both->second(in); };
    } else {
      constexpr std::int64_t everything = std::int64_t{1} << 48;
      if (level.keeps < 0) level.keeps = everything;
      auto both = level.sunk ? std::make_shared<CutScan>(p_, *pair.sunk, pair.sunk->whole[0], level)
                             : std::make_shared<CutScan>(p_, pair, whole[0], level);
      first_[pair.first] = [both](const Arrays& in, const Location& at) { return both->first(in, at); };
      second_[pair.second] = [both](const Arrays& in, const Location& at) { return both->second(in, at); };
    }
  }

  Arrays bind_all(std::span<const Array> in) {
    Arrays env(p_.types.size());
    auto read = [&](const ir::Atom& a) {
      return a.is_var() ? env[static_cast<std::size_t>(a.var)] : make_literal(a.literal);
    };
    for (std::size_t i = 0; i < in.size(); ++i) env[static_cast<std::size_t>(p_.inputs[i])] = in[i];
    for (std::size_t i = 0; i < p_.eqns.size(); ++i) {
      const ir::Eqn& e = p_.eqns[i];
      Arrays operands;
      for (const ir::Atom& a : e.inputs) operands.push_back(read(a));
      const RuleScope scope(e.rule_of, e.at, e.mark);
      const Half& half = first_[i] ? first_[i] : second_[i];
      const Arrays made =
          half ? half(operands, e.at) : anew::bind(*e.primitive, params_[i] ? params_[i] : e.params, operands, e.at);
      for (std::size_t k = 0; k < made.size(); ++k) env[static_cast<std::size_t>(e.outputs[k])] = made[k];
    }
    Arrays out;
    for (const ir::Atom& a : p_.outputs) out.push_back(read(a));
    return out;
  }

  const ir::Program& p_;
  const LoopLevels& levels_;
  std::vector<Half> first_, second_;
  std::vector<ParamsRef> params_;  // of equations that stay, where they are others
};

}  // namespace

// Of a step, where all residuals are kept: those that only the loop makes, each once.
static std::int64_t stacked_bytes(const LoopParams& f, const LoopPair& pair) {
  const LoopForm form = form_of(f);
  std::set<ir::Var> seen(f.body->inputs.begin(), f.body->inputs.end());
  for (std::size_t i : form.operands.positions()[Role::carries]) seen.erase(f.body->inputs[i]);
  std::int64_t bytes = 0;
  for (int i : pair.made) {
    if (i < 0 || i >= std::ssize(f.body->outputs)) continue;
    const ir::Atom& a = f.body->outputs[static_cast<std::size_t>(i)];
    if (a.is_var() && seen.insert(a.var).second) bytes += detail::saturated<std::int64_t>(f.body->type(a).bytes());
  }
  return bytes;
}

ScanBack scan_back(const ir::Program& p, const LoopPair& pair, const ir::ProgramRef& whole, const Policy& policy) {
  const LoopParams &f = loop_of(p.eqns[pair.first].params), &r = loop_of(p.eqns[pair.second].params);
  const LoopForm form = form_of(f);
  Lists<bool> used;
  for (Role role : {Role::constants, Role::carries, Role::xs}) used[role].resize(form.operands.size(role));
  used[Role::ys].resize(form.results.size(Role::ys));
  for (int i : pair.made)
    if (i >= 0 && i < std::ssize(f.body->outputs)) used[Role::ys][static_cast<std::size_t>(i - f.carries)] = true;
  const Flags recorded = needed(form, std::move(used))[Role::carries];

  const Groups takes = takes_of(f, r, pair);
  Lists<std::size_t> in = takes.positions();
  in[Role::carries] = chosen(in[Role::carries], recorded);
  std::vector<std::size_t> outputs = first_numbers(whole->outputs.size());
  outputs.erase(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(count(pair.kept)));
  ScanBack b{};
  b.unwind.constants = f.constants;
  b.unwind.xs = static_cast<int>(takes.size(Role::xs));
  b.unwind.carries = static_cast<int>(count(recorded));
  b.unwind.linear_constants = static_cast<int>(takes.size(Role::linear_constants));
  b.unwind.linear_carries = r.carries;
  b.unwind.length = f.length;
  b.unwind.reverse = f.reverse;
  b.unwind.backward = true;
  // Carries come first in both; of the whole step, loops inside are those that keep residuals.
  b.unwind.advance = share(rearranged(*whole, in.merge({Role::constants, Role::carries, Role::xs}),
                                      chosen(form.results.positions()[Role::carries], recorded)));
  const Location& at = p.eqns[pair.first].at;
  const ir::ProgramRef both = under(policy, whole, takes, count(pair.kept), at);
  b.unwind.step = share(rearranged(*both, in.merge(takes.order()), outputs));
  b.recording = share(rearranged(*f.body, first_numbers(f.body->inputs.size()),
                                 chosen(first_numbers(f.body->outputs.size()), pair.kept)));
  const Types carries = form.operands.partition(f.body->input_types())[Role::carries];
  for (std::size_t i = 0; i < carries.size(); ++i) {
    if (!recorded[i]) continue;
    b.recorded.push_back(static_cast<int>(i));
    b.carry += detail::saturated<std::int64_t>(carries[i].bytes());
  }
  const TapedStep taped = taped_step(both, takes, count(pair.kept), at);
  b.over_rows = loop_back(taped.back, takes, taped.tape.outputs.size() - count(pair.kept));
  b.tape = share(taped.tape);
  b.constants = static_cast<int>(takes.size(Role::constants) + takes.size(Role::linear_constants));
  const Types made = taped_step(b.unwind, at).tape.output_types();
  const ResidualBytes residual = residual_bytes({made.begin() + std::ssize(b.recorded), made.end()});
  b.residual = residual.beside;
  b.least = std::min(residual.stacked, stacked_bytes(f, pair));
  return b;
}

ir::Program with_levels(const ir::Program& p, const LoopsIn& loops, const LoopLevels& levels) {
  if (!any_level(loops, levels)) return p;
  return Rewriting(p, loops, levels).run();
}

}  // namespace anew::passes
