// Derivative, dead code and batching of scan, while and unwind. What is true of a carry (it has a tangent, is needed,
// is mapped) is a fixpoint. What is recorded of a loop passes through every rule, so that a loop that keeps states can
// itself be differentiated forward and batched.
#include <anew/indexing.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "control/loop.h"
#include "transforms/vmap.h"

namespace anew {
namespace {

// ---- jvp
// Values and tangents group by group, as positions in a list of all values and then all tangents.
std::vector<std::size_t> grouped(const Roles& roles, const Lists<bool>& nonzero) {
  std::size_t value = 0, tangent = nonzero.merge(roles).size();
  std::vector<std::size_t> out;
  for (Role r : roles) {
    for (std::size_t i = 0; i < nonzero[r].size(); ++i) out.push_back(value++);
    for (std::size_t i = 0; i < count(nonzero[r]); ++i) out.push_back(tangent++);
  }
  return out;
}

// The derivative of a part. All parts take what any of them captured, in front of their constants.
ir::ProgramRef jvp_part(const LoopForm::Part& part, std::vector<JvpProgram>& j, std::size_t k,
                        const Lists<bool>& nonzero, const Location& at) {
  const Flags in = nonzero.merge(part.takes);
  if (part.is_condition())
    j[k].program = with_unused(*part.program, part.program->inputs.size(), chosen(part.program->input_types(), in));
  std::vector<std::size_t> inputs;
  const std::size_t own = in.size() + count(in);
  for (std::size_t i = own; i < j[k].program.inputs.size(); ++i) inputs.push_back(i);
  append(inputs, grouped(part.takes, nonzero));
  ir::Program p = rearranged(std::move(j[k].program), inputs,
                             part.is_condition() ? std::vector<std::size_t>{0} : grouped(part.gives, nonzero));
  std::size_t before = 0;
  for (std::size_t other = 0; other < j.size(); ++other) {
    const Types captured = types_of(j[other].captured, at);
    if (other != k) p = with_unused(std::move(p), before, captured);
    before += captured.size();
  }
  return share(std::move(p));
}

struct FormJvp {
  LoopForm form;
  Arrays operands;
  Lists<bool> nonzero;  // of the operands and results
};
FormJvp jvp_form(const LoopForm& f, std::span<const Array> x, std::span<const Array> t, const Location& at) {
  Flags given;
  for (const Array& dx : t) given.push_back(dx.value() != nullptr);
  std::vector<JvpProgram> j(f.parts.size());
  FormJvp r{f, {}, {}};
  r.nonzero = spread(f, given, [&](std::size_t k, const Flags& in, const Flags& out) {
    if (f.parts[k].is_condition()) return Flags{false};
    j[k] = jvp_program(f.parts[k].program, in, out);
    return j[k].nonzero;
  });
  for (const JvpProgram& part : j) append(r.operands, part.captured);
  for (std::size_t k = 0; k < f.parts.size(); ++k) r.form.parts[k].program = jvp_part(f.parts[k], j, k, r.nonzero, at);
  for (Groups* groups : {&r.form.operands, &r.form.results})
    for (Role role : groups->order()) groups->size(role) += count(r.nonzero[role]);
  r.form.operands.size(Role::constants) += r.operands.size();
  const Lists<Array> values = f.operands.partition(x), tangents = f.operands.partition(t);
  for (Role role : f.operands.order()) {
    append(r.operands, values[role]);
    for (std::size_t i = 0; i < values[role].size(); ++i)
      if (r.nonzero[role][i])
        r.operands.push_back(tangents[role][i].value() ? tangents[role][i] : zeros_inside(type_of(values[role][i])));
  }
  return r;
}

// Values and tangents of the results, apart again.
ir::Tangents ungrouped(const LoopForm& f, const FormJvp& j, const Arrays& made) {
  Lists<Array> got = j.form.results.partition(made);
  ir::Tangents result({});
  for (Role r : f.results.order()) {
    auto tangents = got[r].begin() + static_cast<std::ptrdiff_t>(f.results.size(r));
    append(result.y, {got[r].begin(), tangents});
    append(result.t, merge(j.nonzero[r], Arrays(tangents, got[r].end())));
  }
  return result;
}

}  // namespace

ir::Tangents jvp_loop(const ir::JvpArgs& a) {
  const LoopParams& p = loop_of(a.params);
  const LoopForm f = form_of(p);
  const FormJvp j = jvp_form(f, a.x, a.t, a.at);
  const Flags& carried = j.nonzero[Role::carries];
  LoopParams q = p;
  set_form(q, j.form);
  Flags recorded;  // tangents of the recorded carries, behind these
  for (int r : p.record) {
    recorded.push_back(carried[static_cast<std::size_t>(r)]);
    if (recorded.back())
      q.record.push_back(p.carries + static_cast<int>(std::count(carried.begin(), carried.begin() + r, true)));
  }
  const Arrays made = bind_loop(q, j.operands, a.at);
  ir::Tangents result = ungrouped(f, j, made);
  if (!p.records) return result;
  auto counters = made.begin() + static_cast<std::ptrdiff_t>(j.form.results.size());
  auto states = counters + (p.condition ? 2 : 0), tangents = states + std::ssize(p.record);
  append(result.y, {counters, tangents});
  result.t.resize(result.t.size() + static_cast<std::size_t>(states - counters));
  append(result.t, merge(recorded, Arrays(tangents, made.end())));
  return result;
}

ir::Tangents jvp_unwind(const ir::JvpArgs& a) {
  auto q = std::make_shared<UnwindParams>(a.params->as<UnwindParams>());
  const LoopForm f = form_of(*q);
  const FormJvp j = jvp_form(f, a.x, a.t, a.at);
  set_form(*q, j.form);
  return ungrouped(f, j, anew::bind(unwind_row(), q, j.operands, a.at));
}

// ---- dead code
namespace {

// Nothing is needed yet but these results.
Lists<bool> only_results(const LoopForm& f, const Flags& results) {
  Lists<bool> used;
  for (Role r : f.operands.order()) used[r].resize(f.operands.size(r));
  const Lists<bool> wanted = f.results.partition(results);
  for (Role r : f.results.order()) used[r] = wanted[r];
  return used;
}
bool same_parts(const LoopForm& a, const LoopForm& b) {
  return std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(),
                    [](const auto& x, const auto& y) { return x.program == y.program; });
}
bool all(const Flags& f) { return count(f) == f.size(); }

}  // namespace

ir::DceResult dce_loop(const ir::Eqn& e, const std::vector<bool>& used_outputs) {
  const LoopParams& p = loop_of(e.params);
  const LoopForm f = form_of(p);
  const std::size_t counters = f.results.size(), states = counters + (p.records && p.condition ? 2 : 0);
  Lists<bool> used = only_results(f, used_outputs);
  LoopParams q = p;
  q.records = std::find(used_outputs.begin() + static_cast<std::ptrdiff_t>(counters), used_outputs.end(), true) !=
              used_outputs.end();
  for (std::size_t i = 0; i < p.record.size(); ++i)
    if (used_outputs[states + i]) used[Role::carries][static_cast<std::size_t>(p.record[i])] = true;
  used = needed(f, std::move(used));
  const LoopForm fewer = narrowed(f, used);
  Flags inputs = used.merge(f.operands.order()), kept = used.merge(f.results.order());
  kept.insert(kept.end(), used_outputs.begin() + static_cast<std::ptrdiff_t>(counters), used_outputs.end());
  if (all(inputs) && all(kept) && same_parts(f, fewer)) return {e.params, inputs, kept};
  set_form(q, fewer);
  for (std::size_t i = counters; q.records && i < states; ++i) kept[i] = true;
  q.record.clear();
  const Flags& carried = used[Role::carries];
  for (std::size_t i = 0; i < p.record.size(); ++i)
    if (kept[states + i])
      q.record.push_back(static_cast<int>(std::count(carried.begin(), carried.begin() + p.record[i], true)));
  return {params_of(q), inputs, kept};
}

ir::DceResult dce_unwind(const ir::Eqn& e, const std::vector<bool>& used_outputs) {
  auto q = std::make_shared<UnwindParams>(e.params->as<UnwindParams>());
  const LoopForm f = form_of(*q);
  Lists<bool> used = only_results(f, used_outputs);
  used[Role::counters].assign(f.operands.size(Role::counters), true);
  used = needed(f, std::move(used));
  const LoopForm fewer = narrowed(f, used);
  const Flags inputs = used.merge(f.operands.order()), kept = used.merge(f.results.order());
  if (all(inputs) && all(kept) && same_parts(f, fewer)) return {e.params, inputs, kept};
  set_form(*q, fewer);
  return {q, inputs, kept};
}

// ---- vmap
namespace {

// A batched Program whose outputs are kept only by examples for which the condition holds: its first `kept` outputs are
// else the inputs from `begin` on. The condition reads the Program's first inputs.
ir::Program guard(const ir::Program& p, const ir::Program& condition, std::size_t kept, std::size_t begin) {
  Staged s = stage(
      [&](std::span<const Array> in) {
        Array holds = evaluate(condition, in.first(condition.inputs.size()))[0];
        Arrays out = evaluate(p, in);
        for (std::size_t i = 0; i < kept; ++i) {
          Array which = holds;
          if (Shape shape = type_of(out[i]).shape; shape.ndim() > 1) which = lax::broadcast_in_dim(holds, shape, {0});
          out[i] = lax::select_n(which, {in[begin + i], out[i]});
        }
        return out;
      },
      p.input_types(), "vmap", Location::current());
  s.program.constants = 0;
  return std::move(s.program);
}

struct FormBatch {
  LoopForm form;
  Arrays operands;
  Lists<bool> mapped;  // operands and results
};
FormBatch batch_form(const LoopForm& f, std::span<const Array> x, const Flags& mapped, const ir::BatchArgs& a) {
  std::vector<BatchedProgram> b(f.parts.size());
  FormBatch r{f, {}, {}};
  r.mapped = spread(f, mapped, [&](std::size_t k, const Flags& in, const Flags& out) {
    b[k] = batch_program(f.parts[k].program, in, a.size, out);
    return b[k].mapped;
  });
  // Examples end at different steps: those that have ended keep their carries.
  const bool guarded = f.has_condition() && b[0].mapped[0];
  if (std::string io = guarded ? ir::find_io(*f.body()) : ""; !io.empty())
    throw Error(
        fmt::format("[while_loop] Effects not supported in vmap of while_loop where the condition is mapped: {}", io),
        a.at, "move the call out of the loop: examples that have ended would still call");
  for (std::size_t k = 0; k < f.parts.size(); ++k) {
    LoopForm::Part& part = r.form.parts[k];
    if (guarded && part.is_condition()) {
      auto any_left = [&](std::span<const Array> in) { return Arrays{any(evaluate(b[0].program, in)[0])}; };
      part.program = share(stage(any_left, b[0].program.input_types(), "vmap", a.at).program);
    } else if (guarded) {
      std::size_t begin = 0;
      for (Role role : part.takes) {
        if (role == part.gives[0]) break;
        begin += r.mapped[role].size();
      }
      part.program = share(guard(b[k].program, b[0].program, r.mapped[part.gives[0]].size(), begin));
    } else {
      part.program = share(std::move(b[k].program));
    }
  }
  const Lists<Array> values = f.operands.partition(x);
  const Lists<bool> before = f.operands.partition(mapped);
  for (Role role : f.operands.order())
    for (std::size_t i = 0; i < values[role].size(); ++i) {
      const bool is_mapped = r.mapped[role][i];
      Array v = is_mapped && !before[role][i] ? repeat_in_front(values[role][i], a.size) : values[role][i];
      const bool stack = std::find(f.stacks.begin(), f.stacks.end(), role) != f.stacks.end();
      r.operands.push_back(is_mapped && stack ? move_axis(v, 0, 1) : v);
    }
  return r;
}

// The mapped axis of stacks of results goes back to the front.
Arrays with_axis_in_front(const LoopForm& f, const FormBatch& b, Arrays made) {
  std::size_t at = 0;
  for (Role r : f.results.order())
    for (bool mapped : b.mapped[r]) {
      if (mapped && !is_carried(r)) made[at] = move_axis(made[at], 1, 0);
      ++at;
    }
  return made;
}

}  // namespace

ir::Batched batch_loop(const ir::BatchArgs& a) {
  LoopParams p = loop_of(a.params);
  const LoopForm f = form_of(p);
  const FormBatch b = batch_form(f, a.x, a.mapped, a);
  set_form(p, b.form);
  Arrays out = with_axis_in_front(f, b, bind_loop(p, b.operands, a.at));
  Flags mapped = b.mapped.merge(f.results.order());
  mapped.resize(out.size() - p.record.size());  // counters are those of all examples
  for (int r : p.record) {
    mapped.push_back(b.mapped[Role::carries][static_cast<std::size_t>(r)]);
    if (mapped.back()) out[mapped.size() - 1] = move_axis(out[mapped.size() - 1], 1, 0);
  }
  return {std::move(out), mapped};
}

ir::Batched batch_unwind(const ir::BatchArgs& a) {
  auto q = std::make_shared<UnwindParams>(a.params->as<UnwindParams>());
  const LoopForm f = form_of(*q);
  Lists<bool> mapped = f.operands.partition(a.mapped);
  Lists<Array> x = f.operands.partition(a.x);
  // A loop in a branch that only some examples take: those have counted the same steps, the others none.
  Array longest;
  Arrays& counters = x[Role::counters];
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (!mapped[Role::counters][i]) continue;
    Type one = type_of(counters[i]);
    one.shape.erase(0);
    if (a.size > 0 && !longest.value()) longest = argmax(counters[0], 0);
    counters[i] = a.size == 0 ? zeros(one.shape, one.dtype) : take(counters[i], longest, 0, "clip");
    mapped[Role::counters][i] = false;
  }
  const Roles& order = f.operands.order();
  const FormBatch b = batch_form(f, x.merge(order), mapped.merge(order), a);
  set_form(*q, b.form);
  return {with_axis_in_front(f, b, anew::bind(unwind_row(), q, b.operands, a.at)), b.mapped.merge(f.results.order())};
}

}  // namespace anew
