// Rules of cond, branch by branch. What is true of an output in one branch (nonzero, unknown, mapped) is made true in
// all. Residuals of the branches share slots by type, so that memory is the union over branches and not their sum; what
// is offloaded has slots of its own.
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "control/cond.h"
#include "control/nested_rules.h"
#include "control/offloaded.h"
#include "ops/device_put.h"
#include "transforms/jvp.h"
#include "transforms/split.h"
#include "transforms/vmap.h"

namespace anew {
namespace {

using Flags = std::vector<bool>;

const std::vector<ir::ProgramRef>& branches_of(const ParamsRef& p) { return p->as<CondParams>().branches; }

void merge(Flags& a, const Flags& b) {
  if (a.empty()) a.resize(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) a[i] = a[i] || b[i];
}

// ---- split
// Every branch cut so that all stage the same outputs: those unknown in any branch and, with a policy, those that
// every branch can make again.
struct Cut {
  std::vector<Split> splits;
  Flags unknown;                    // per output
  std::vector<int> staged_outputs;  // of every branch
};

Cut cut(const std::vector<ir::ProgramRef>& branches, const Flags& unknown, const std::optional<Policy>& policy) {
  Cut c;
  std::size_t outputs = branches[0]->outputs.size();
  std::vector<std::size_t> staged_in(outputs);  // how many branches stage it
  for (const ir::ProgramRef& p : branches) {
    const Split& s =
        c.splits.emplace_back(split(p, unknown, {.policy = policy, .all_instantiated = policy.has_value()}));
    merge(c.unknown, s.unknown_outputs);
    for (int i : s.staged_outputs) ++staged_in[static_cast<std::size_t>(i)];
  }
  Flags force(outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    force[i] = c.unknown[i] || staged_in[i] == branches.size();
    if (force[i]) c.staged_outputs.push_back(static_cast<int>(i));
  }
  for (std::size_t b = 0; b < branches.size(); ++b)
    if (c.splits[b].staged_outputs != c.staged_outputs)
      c.splits[b] = split(branches[b], unknown, {.policy = policy, .force = force});
  return c;
}

// Where the staged half of each branch finds its residuals: in a slot, which is an output of the known cond, or in an
// operand that is handed on.
struct Residuals {
  struct Slot {
    Type type;
    std::vector<int> residual;  // per branch: which of its residuals is here; -1: none
    bool offloaded;
  };
  std::vector<Slot> slots;
  std::vector<std::size_t> handed_on;   // known inputs
  std::vector<std::vector<int>> place;  // per branch and residual: a slot, or slots + a place in handed_on
};

Residuals place_residuals(const Cut& c) {
  std::size_t n = c.splits.size();
  Residuals r;
  r.place.resize(n);
  auto atom = [&](std::size_t b, std::size_t i) {
    const ir::Program& p = c.splits[b].known;
    return p.outputs[p.outputs.size() - static_cast<std::size_t>(c.splits[b].residuals) + i];
  };
  auto offloaded = [&](std::size_t b, std::size_t i) {
    const ir::Program& p = c.splits[b].known;
    return gives_host(p, p.outputs.size() - static_cast<std::size_t>(c.splits[b].residuals) + i);
  };
  // Integers have slots of their own: the numbers of steps of a loop must not stand for those of another branch's,
  // where vmap runs both and one was not taken. There they are zero.
  auto take_slot = [&](std::size_t b, std::size_t i, const Type& type, bool may_add, bool offloaded = false) {
    auto free = std::find_if(r.slots.begin(), r.slots.end(), [&](const auto& s) {
      return s.type == type && s.offloaded == offloaded && !is_integer(type.dtype) && s.residual[b] < 0;
    });
    if (free == r.slots.end()) {
      if (!may_add) return false;
      free = r.slots.insert(free, {type, std::vector<int>(n, -1), offloaded});
    }
    free->residual[b] = static_cast<int>(i);
    r.place[b][i] = static_cast<int>(free - r.slots.begin());
    return true;
  };
  // First what a branch computes. An operand costs nothing where a slot is left in every branch that keeps it.
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> operands;  // known input -> who keeps it
  for (std::size_t b = 0; b < n; ++b) {
    const ir::Program& p = c.splits[b].known;
    r.place[b].resize(static_cast<std::size_t>(c.splits[b].residuals));
    for (std::size_t i = 0; i < r.place[b].size(); ++i) {
      ir::Atom a = atom(b, i);
      auto in = std::find(p.inputs.begin(), p.inputs.end(), a.var);
      if (in == p.inputs.end()) take_slot(b, i, p.type(a), true, offloaded(b, i));
      else operands[static_cast<std::size_t>(in - p.inputs.begin())].emplace_back(b, i);
    }
  }
  for (const auto& [input, keepers] : operands) {
    Residuals before = r;
    bool fits = true;
    for (auto [b, i] : keepers)
      fits = fits && take_slot(b, i, c.splits[b].known.type(c.splits[b].known.inputs[input]), false);
    if (fits) continue;
    r = std::move(before);
    for (auto [b, i] : keepers) r.place[b][i] = -1 - static_cast<int>(r.handed_on.size());
    r.handed_on.push_back(input);
  }
  for (auto& places : r.place)
    for (int& at : places)
      if (at < 0) at = static_cast<int>(r.slots.size()) - 1 - at;
  return r;
}

// The known half: outputs known in every branch, then the slots. A branch fills a slot that it does not own: with the
// output that the owners have there, where that is one, so that the slot is this output; otherwise with zeros, which
// are only a view of a number. Those of a slot that is offloaded are moved too, for it to lie on disk.
BranchPrograms known_branches(const Cut& c, const Residuals& r) {
  BranchPrograms out;
  std::size_t n = c.splits.size();
  std::vector<std::vector<ir::Atom>> known(n);  // per branch: outputs that are known in all
  for (std::size_t b = 0; b < n; ++b) {
    const Split& s = c.splits[b];
    std::size_t next = 0;
    for (std::size_t i = 0; i < c.unknown.size(); ++i) {
      if (s.unknown_outputs[i]) continue;
      if (!c.unknown[i]) known[b].push_back(s.known.outputs[next]);
      ++next;
    }
  }
  auto residual = [&](std::size_t b, int i) {
    const ir::Program& p = c.splits[b].known;
    return p.outputs[p.outputs.size() - static_cast<std::size_t>(c.splits[b].residuals - i)];
  };
  std::vector<int> is_output;  // per slot: the known output that all owners have there
  for (const Residuals::Slot& slot : r.slots) {
    is_output.push_back(-1);
    for (std::size_t k = 0; k < known[0].size() && is_output.back() < 0; ++k) {
      bool all = true;
      for (std::size_t b = 0; b < n; ++b)
        all = all && (slot.residual[b] < 0 || residual(b, slot.residual[b]) == known[b][k]);
      if (all && c.splits[0].known.type(known[0][k]) == slot.type) is_output.back() = static_cast<int>(k);
    }
  }
  for (std::size_t b = 0; b < n; ++b) {
    const ir::Program& p = c.splits[b].known;
    auto fill = [&](std::span<const Array> in) {
      ir::Program whole = p;
      whole.outputs = known[b];
      for (const Residuals::Slot& slot : r.slots)
        whole.outputs.push_back(slot.residual[b] < 0 ? ir::Atom(ir::Literal{}) : residual(b, slot.residual[b]));
      Arrays made = evaluate(whole, in);
      for (std::size_t k = 0; k < r.slots.size(); ++k) {
        const Residuals::Slot& slot = r.slots[k];
        if (slot.residual[b] >= 0) continue;
        Array& here = made[known[b].size() + k];
        here = is_output[k] < 0 ? zeros_inside(slot.type) : made[static_cast<std::size_t>(is_output[k])];
        if (slot.offloaded) here = bind1(device_put_row(), device_put_params(true), {here}, Location::current());
      }
      return made;
    };
    out.push_back(stage(fill, p.input_types(), "cond", Location::current()).program);
  }
  return out;
}

// The staged half of branch b, as a function of the slots, of what is handed on and of the inputs in `inputs`.
ir::Program staged_branch(const Split& s, const std::vector<int>& place, const Types& types,
                          const std::vector<int>& inputs, std::size_t residual_inputs) {
  ir::Program p = s.staged;
  std::vector<ir::Var> vars(types.size(), -1);
  for (std::size_t i = 0; i < place.size(); ++i) vars[static_cast<std::size_t>(place[i])] = s.staged.inputs[i];
  for (std::size_t k = 0; k < s.staged_inputs.size(); ++k) {
    auto at = std::find(inputs.begin(), inputs.end(), s.staged_inputs[k]) - inputs.begin();
    vars[residual_inputs + static_cast<std::size_t>(at)] = s.staged.inputs[place.size() + k];
  }
  for (std::size_t i = 0; i < vars.size(); ++i) {
    if (vars[i] >= 0) continue;
    vars[i] = static_cast<ir::Var>(p.types.size());
    p.types.push_back(types[i]);
  }
  p.inputs = vars;
  return p;
}

}  // namespace

Arrays split_cond(const ir::SplitArgs& a) {
  const std::vector<ir::ProgramRef>& branches = branches_of(a.params);
  SplitTrace& trace = a.trace;
  if (trace.unknown(a.in[0])) {  // nothing can be known before the branch is
    Arrays operands;
    for (const Array& x : a.in) operands.push_back(trace.staged(x));
    return bind_under(&trace.staging(), cond_row(), a.params, operands, a.at);
  }
  std::span<const Array> in = a.in.subspan(1);
  Flags unknown;
  Arrays known_in;
  for (const Array& x : in) {
    unknown.push_back(trace.unknown(x));
    if (!unknown.back()) known_in.push_back(trace.known(x));
  }
  Cut c = cut(branches, unknown, trace.policy());
  Residuals r = place_residuals(c);
  Arrays known_out, staged_in, staged_out;
  {
    TraceScope scope(trace.parent());
    known_out = bind_cond(known_branches(c, r), trace.known(a.in[0]), known_in, a.at);
  }
  staged_in.assign(known_out.end() - static_cast<std::ptrdiff_t>(r.slots.size()), known_out.end());
  for (std::size_t i : r.handed_on) staged_in.push_back(known_in[i]);
  std::size_t residual_inputs = staged_in.size();
  std::vector<int> inputs;  // of the original, that the staged half of a branch takes
  for (const Split& s : c.splits) inputs.insert(inputs.end(), s.staged_inputs.begin(), s.staged_inputs.end());
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  for (int i : inputs) staged_in.push_back(trace.staged(in[static_cast<std::size_t>(i)]));
  Types types;
  for (const Array& x : staged_in) types.push_back(type_of(x));
  BranchPrograms staged;
  for (std::size_t b = 0; b < branches.size(); ++b)
    staged.push_back(staged_branch(c.splits[b], r.place[b], types, inputs, residual_inputs));
  {
    TraceScope scope(&trace.staging());
    staged_out = bind_cond(std::move(staged), trace.staged(a.in[0]), staged_in, a.at);
  }
  Arrays out(c.unknown.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!c.unknown[i]) out[i] = known_out[next++];
  for (std::size_t k = 0; k < staged_out.size(); ++k) {
    Array& y = out[static_cast<std::size_t>(c.staged_outputs[k])];
    if (!y.value()) y = trace.unknown(staged_out[k]) ? staged_out[k] : trace.staging().lift(staged_out[k], a.at);
    else if (trace.unknown(staged_out[k])) y = trace.both(y, staged_out[k]);
  }
  return out;
}

ir::Tangents jvp_cond(const ir::JvpArgs& a) {
  const std::vector<ir::ProgramRef>& branches = branches_of(a.params);
  Flags nonzero, nonzero_out;
  Arrays in(a.x.begin() + 1, a.x.end());
  for (const Array& dx : a.t.subspan(1)) {
    nonzero.push_back(dx.value() != nullptr);
    if (dx.value()) in.push_back(dx);
  }
  std::vector<JvpProgram> j;
  for (const ir::ProgramRef& p : branches) merge(nonzero_out, j.emplace_back(jvp_program(p, nonzero)).nonzero);
  std::vector<Staged> both;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    if (j[b].nonzero != nonzero_out) j[b] = jvp_program(branches[b], nonzero, nonzero_out);
    both.push_back({std::move(j[b].program), std::move(j[b].captured)});
    ir::Program& p = both.back().program;  // captured arrays come first in a Staged
    p.constants = static_cast<int>(both.back().constants.size());
    std::rotate(p.inputs.begin(), p.inputs.end() - p.constants, p.inputs.end());
  }
  Joined joined = join_captured(std::move(both), in);
  return values_and_tangents(bind_cond(std::move(joined.branches), a.x[0], joined.inputs, a.at), nonzero_out);
}

Arrays transpose_cond(const ir::TransposeArgs& a) {
  const std::vector<ir::ProgramRef>& branches = branches_of(a.params);
  if (a.linear[0]) throw InternalError("[cond] is not linear in its index");
  std::size_t inputs = a.in.size() - 1;
  Flags linear(a.linear.begin() + 1, a.linear.end());
  const Present present{a.x.subspan(1), a.ct, a.accumulated.subspan(1)};  // operands of the new equation
  // Cotangents of the inputs in each branch, accumulated upon what there is. Where only other branches have one it is
  // zero: added behind the branch, so that each is transposed once.
  std::vector<Staged> staged;
  std::vector<Flags> found;
  Types types = types_of(present.operands(), a.at);
  for (const ir::ProgramRef& p : branches) {
    Flags& has = found.emplace_back();
    auto pull_back = [&](std::span<const Array> in) {
      const std::vector<Arrays> given = present.lists(in);
      Arrays out;
      for (const Array& y :
           transpose_program(p, {a.params, given[1], given[0], a.in.subspan(1), linear, given[2], a.at})) {
        has.push_back(y.value() != nullptr);
        if (y.value()) out.push_back(y);
      }
      return out;
    };
    staged.push_back(stage(pull_back, types, "transpose", a.at));
  }
  Flags nonzero;
  for (const Flags& has : found) merge(nonzero, has);
  for (std::size_t b = 0; b < branches.size(); ++b) {
    if (found[b] == nonzero) continue;
    std::size_t captured = staged[b].constants.size();
    auto fill = [&](std::span<const Array> in) {
      Arrays made = evaluate(staged[b].program, in), out;
      std::size_t next = 0;
      for (std::size_t i = 0; i < inputs; ++i)
        if (nonzero[i]) out.push_back(found[b][i] ? made[next++] : zeros_inside(a.in[i + 1]));
      return out;
    };
    staged[b].program = stage(fill, staged[b].program.input_types(), "transpose", a.at).program;
    staged[b].program.constants = static_cast<int>(captured);
  }
  Joined j = join_captured(std::move(staged), present.operands());
  Arrays made = bind_cond(std::move(j.branches), a.x[0], j.inputs, a.at), out(a.in.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs; ++i)
    if (nonzero[i]) out[i + 1] = made[next++];
  return out;
}

ir::Batched batch_cond(const ir::BatchArgs& a) {
  const std::vector<ir::ProgramRef>& branches = branches_of(a.params);
  std::span<const Array> x = a.x.subspan(1);
  Flags mapped(a.mapped.begin() + 1, a.mapped.end()), out_mapped;
  if (!a.mapped[0]) {
    std::vector<BatchedProgram> batched;
    for (const ir::ProgramRef& p : branches)
      merge(out_mapped, batched.emplace_back(batch_program(p, mapped, a.size)).mapped);
    BranchPrograms all;
    for (std::size_t b = 0; b < branches.size(); ++b) {
      if (batched[b].mapped != out_mapped) batched[b] = batch_program(branches[b], mapped, a.size, out_mapped);
      all.push_back(std::move(batched[b].program));
    }
    return {bind_cond(std::move(all), a.x[0], x, a.at), out_mapped};
  }
  for (const ir::ProgramRef& p : branches)
    if (std::string io = ir::find_io(*p); !io.empty())
      throw Error(fmt::format("[cond] Effects not supported in vmap of cond where the index is mapped: {}", io), a.at,
                  "move the call out of the branches: under vmap all of them run");
  // Every example its own branch: all are computed, and each output is chosen. To a derivative, what a branch reads in
  // the examples of other branches is constant, so that a NaN of a branch not taken stays there.
  const Array& index = a.x[0];
  std::vector<Arrays> made;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    Array taken = index == static_cast<std::int64_t>(b);
    if (b == 0) taken = index <= 0;
    else if (b + 1 == branches.size()) taken = index >= static_cast<std::int64_t>(b);
    Arrays in;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Array whole = mapped[i] ? x[i] : repeat_in_front(x[i], a.size);
      if (is_float(type_of(whole).dtype)) {
        Shape shape = type_of(whole).shape;
        whole = lax::select_n(lax::broadcast_in_dim(taken, shape, {0}), {stop_gradient(whole), whole});
      }
      in.push_back(whole);
    }
    BatchedProgram p =
        batch_program(branches[b], Flags(x.size(), true), a.size, Flags(branches[b]->outputs.size(), true));
    made.push_back(evaluate(p.program, in));
  }
  Arrays out;
  for (std::size_t i = 0; i < made[0].size(); ++i) {
    Array which = branches.size() == 2 ? index > 0 : index;
    Arrays cases;
    for (const Arrays& y : made) cases.push_back(y[i]);
    out.push_back(lax::select_n(lax::broadcast_in_dim(which, type_of(made[0][i]).shape, {0}), cases));
  }
  return {out};
}

ir::DceResult dce_cond(const ir::Eqn& e, const std::vector<bool>& used_outputs) {
  const std::vector<ir::ProgramRef>& branches = branches_of(e.params);
  Flags used;
  for (const ir::ProgramRef& p : branches) merge(used, ir::eliminate_dead_code(p, used_outputs).used_inputs);
  auto params = std::make_shared<CondParams>();
  bool same = std::find(used.begin(), used.end(), false) == used.end();
  for (const ir::ProgramRef& p : branches) {
    ir::ProgramRef q = ir::eliminate_dead_code(p, used_outputs, true).program;
    same = same && q == p;
    ir::Program fewer = *q;
    fewer.inputs.clear();
    for (std::size_t i = 0; i < used.size(); ++i)
      if (used[i]) fewer.inputs.push_back(q->inputs[i]);
    params->branches.push_back(share(std::move(fewer)));
  }
  used.insert(used.begin(), true);
  if (same) return {e.params, used, used_outputs};
  return {params, used, used_outputs};
}

}  // namespace anew
