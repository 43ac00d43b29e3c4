// Loops within a number of bytes: where states are kept, and the step of their unwind in two, so that the residuals of
// a run of steps can be kept between its halves.
#include <anew/ops.h>

#include "base/saturate.h"
#include "control/loop.h"
#include "control/signature.h"

namespace anew {

LoopBudget LoopBudget::of(const Shape& numbers) { return {numbers[0], {numbers[1], numbers[2], numbers[3]}}; }

void require_budget(std::string_view op, const Shape& budget, std::int64_t length, const Location& at) {
  if (budget.ndim() == 0) return;
  constexpr std::int64_t most = std::int64_t{1} << 48;
  bool fits = budget.ndim() == 4;
  for (std::int64_t n : budget) fits = fits && n >= -1 && n <= most;
  require_fit(fits && budget[2] >= 0 && budget[3] >= 0 && budget[1] >= budget[3] &&
                  (length < 0 ? budget[0] == -1 : budget[0] >= length),
              op, "a budget fits no loop", at);
}

plan::RowPiece row_piece(const Type& t) {
  return {detail::saturated<std::int64_t>(t.bytes()), static_cast<std::int64_t>(size_of(t.dtype))};
}
ResidualBytes residual_bytes(const Types& residuals) {
  plan::RowPieces pieces;
  ResidualBytes b;
  for (const Type& t : residuals) {
    pieces.push_back(row_piece(t));
    b.stacked = saturating_add(b.stacked, pieces.back().bytes);
  }
  b.beside = plan::row_bytes(pieces);
  return b;
}

std::int64_t rows_within(const LoopBudget& b) {
  return b.bytes.residual == 0 ? b.steps : std::min(b.steps, b.bytes.memory / b.bytes.residual);
}

std::vector<std::int64_t> stops_within(const Shape& budget, std::int64_t length, bool on_disk) {
  const LoopBudget b = LoopBudget::of(budget);
  std::vector<std::int64_t> stops;
  if (on_disk)
    for (std::int64_t s = 0; s < length; s += rows_within(b)) stops.push_back(s);
  else
    for (std::int64_t s : plan::schedule_of(b.steps, b.bytes)->forward().stops)
      if (s < length) stops.push_back(s);
  if (stops.empty()) stops.push_back(0);
  return stops;
}

// Text may ask for any number of them, so they are counted, not listed.
std::int64_t slots_within(const Shape& budget, std::int64_t length, bool on_disk) {
  if (!on_disk) return std::ssize(stops_within(budget, length, false));
  const std::int64_t rows = rows_within(LoopBudget::of(budget));
  return std::max<std::int64_t>(1, length / std::max<std::int64_t>(rows, 1) + (rows > 0 && length % rows != 0));
}

namespace {

// Of the residuals between the halves of a step: which are inputs that both take, which depend on constants only and
// are computed again, and which are kept.
struct Between {
  std::vector<std::size_t> input;  // of the known half, or none
  Flags invariant, kept;
};
Between between(const Split& s, const Groups& known) {
  const auto none = static_cast<std::size_t>(-1);
  Flags constant(s.known.inputs.size());
  std::fill_n(constant.begin(), known.size(Role::constants), true);
  const Flags inv = invariant(s.known, constant);
  Between b;
  for (const ir::Atom& a : s.known.outputs) {
    const auto at = std::find(s.known.inputs.begin(), s.known.inputs.end(), a.is_var() ? a.var : -1);
    const auto i = static_cast<std::size_t>(at - s.known.inputs.begin());
    const bool passed =
        at != s.known.inputs.end() && (constant[i] || i >= known.size(Role::constants) + known.size(Role::carries));
    const bool again = !passed && (!a.is_var() || inv[static_cast<std::size_t>(a.var)]);
    b.input.push_back(passed ? i : none);
    b.invariant.push_back(again);
    b.kept.push_back(!passed && !again);
  }
  return b;
}

Arrays outputs_of(const ir::Program& p, const Flags& outputs, const Arrays& in) {
  ir::Program q = p;
  q.outputs = chosen(q.outputs, outputs);
  const ir::Dce d = ir::eliminate_dead_code(q, Flags(q.outputs.size(), true));
  return evaluate(d.program, chosen(in, d.used_inputs));
}

// A residual that only shows a constant or a row of an x is made of that in the second half: what is there anyway is
// not kept once more.
void keep_shown(Split& s, const Groups& known) {
  std::vector<const ir::Eqn*> maker(s.known.types.size());
  for (const ir::Eqn& e : s.known.eqns)
    for (ir::Var v : e.outputs) maker[static_cast<std::size_t>(v)] = &e;
  const std::size_t first = s.known.outputs.size() - static_cast<std::size_t>(s.residuals);
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.residuals); ++i) {
    ir::Atom& a = s.known.outputs[first + i];
    std::vector<const ir::Eqn*> shown;
    ir::Atom from = a;
    for (; from.is_var() && maker[static_cast<std::size_t>(from.var)]; from = shown.back()->inputs[0]) {
      const ir::Eqn* e = maker[static_cast<std::size_t>(from.var)];
      if (!e->primitive->facts.shows_operand || e->inputs.size() != 1) break;
      shown.push_back(e);
    }
    const auto at = std::find(s.known.inputs.begin(), s.known.inputs.end(), from.is_var() ? from.var : -1);
    const auto input = static_cast<std::size_t>(at - s.known.inputs.begin()), constants = known.size(Role::constants);
    if (shown.empty() || at == s.known.inputs.end() ||
        (input >= constants && input < constants + known.size(Role::carries)))
      continue;
    a = from;
    auto add = [&](const Type& t) {
      s.staged.types.push_back(t);
      return static_cast<ir::Var>(s.staged.types.size()) - 1;
    };
    const ir::Var old = std::exchange(s.staged.inputs[i], add(s.known.type(from)));
    ir::Var now = s.staged.inputs[i];
    std::vector<ir::Eqn> again;
    for (auto e = shown.rbegin(); e != shown.rend(); ++e) {
      again.push_back(**e);
      again.back().inputs = {now};
      again.back().outputs = {now = *e == shown.front() ? old : add(s.known.type((*e)->outputs[0]))};
    }
    s.staged.eqns.insert(s.staged.eqns.begin(), again.begin(), again.end());
  }
}

// The two halves; `before` gives what the tape makes before the residuals, or else these are the first outputs of the
// step itself, which are known.
TapedStep taped(const ir::ProgramRef& step, const Groups& takes, std::size_t first, const FlatFunction& before,
                const Location& at) {
  const Groups known = takes.only({Role::constants, Role::carries, Role::xs});
  const Types types = step->input_types();
  Flags linear(types.size(), true), force(step->outputs.size(), true);
  std::fill_n(linear.begin(), known.size(), false);
  std::fill_n(force.begin(), first, false);
  Split s = split(step, linear, {.force = force});
  keep_shown(s, known);
  const ir::Program whole = s.known;  // known outputs of the way back, if any, stand between the first and residuals
  const std::size_t known_outputs = s.known.outputs.size() - static_cast<std::size_t>(s.residuals);
  s.known.outputs.erase(s.known.outputs.begin(), s.known.outputs.end() - s.residuals);
  const Between b = between(s, known);

  Types of_tape(types.begin(), types.begin() + static_cast<std::ptrdiff_t>(known.size()));
  Staged tape = stage(
      [&](std::span<const Array> in) {
        const Arrays all(in.begin(), in.end());
        Flags made(first, true);
        made.resize(before ? 0 : known_outputs);
        append(made, b.kept);
        const Arrays residuals = outputs_of(before ? s.known : whole, made, all);
        Arrays out = before ? before(in) : Arrays();  // of which the residuals' equations may have made all
        append(out, residuals);
        return out;
      },
      of_tape, "unwind", at);
  const Types rows = chosen(s.known.output_types(), b.kept);
  Lists<Type> of_back = takes.partition(types);
  of_back[Role::carries] = rows;
  Staged back = stage(
      [&](std::span<const Array> in) {
        Groups groups = takes;
        groups.size(Role::carries) = rows.size();
        const Lists<Array> given = groups.partition(in);
        // The known half's inputs, of which carries are not read.
        Arrays of_half = given[Role::constants];
        for (const Type& t : takes.partition(types)[Role::carries]) of_half.push_back(zeros_inside(t));
        append(of_half, given[Role::xs]);
        const Arrays again = merge(b.invariant, outputs_of(s.known, b.invariant, of_half)),
                     kept = merge(b.kept, given[Role::carries]);
        Arrays operands;
        for (std::size_t i = 0; i < b.kept.size(); ++i)
          operands.push_back(b.kept[i] ? kept[i] : b.invariant[i] ? again[i] : of_half[b.input[i]]);
        const Arrays linear_in = given.merge({Role::linear_constants, Role::linear_carries, Role::linear_xs});
        for (int i : s.staged_inputs) operands.push_back(linear_in[static_cast<std::size_t>(i) - known.size()]);
        const Arrays made = evaluate(s.staged, operands);
        Arrays out(step->outputs.size() - first);
        for (std::size_t k = 0; k < s.staged_outputs.size(); ++k)
          out[static_cast<std::size_t>(s.staged_outputs[k]) - first] = made[k];
        return out;
      },
      of_back.merge(takes.order()), "unwind", at);
  tape.program.constants = back.program.constants = 0;
  return {std::move(tape.program),
          ir::eliminate_dead_code(back.program, Flags(back.program.outputs.size(), true), true).program};
}

}  // namespace

TapedStep taped_step(const UnwindParams& p, const Location& at) {
  const LoopForm f = form_of(p);
  return taped(
      p.step, f.operands.only(f.parts.back().takes), 0,
      [&](std::span<const Array> in) { return evaluate(*p.advance, in); }, at);
}

TapedStep taped_step(const ir::ProgramRef& whole, const Groups& takes, std::size_t known, const Location& at) {
  return taped(whole, takes, known, nullptr, at);
}

}  // namespace anew
