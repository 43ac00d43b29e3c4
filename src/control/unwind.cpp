// unwind: the linear part of a loop, walked forward or back over recorded states; the states in between are recomputed
// by a schedule that never holds more states than were recorded (plan/revolve.h).
#include <anew/ops.h>

#include "base/stop.h"
#include "control/loop.h"
#include "control/signature.h"
#include "plan/revolve.h"
#include "trace/donation.h"
#include "trace/watch.h"

namespace anew {
namespace {

Types infer_unwind(const ir::InferArgs& a) {
  const auto& p = a.params.as<UnwindParams>();
  auto check = [&](bool ok, std::string_view what = "operands do not fit the loop") {
    require_fit(ok, "unwind", what, a.at);
  };
  auto [in, out] = signature_of("unwind", "the step", p.step, a.at);
  auto [advance, advanced] = signature_of("unwind", "the body", p.advance, a.at);
  require_groups("unwind", {p.constants, p.carries, p.xs, p.linear_constants, p.linear_carries}, in.size(), a.at);
  check(static_cast<std::size_t>(p.linear_carries) <= out.size());
  const LoopForm f = form_of(p);
  Lists<Type> want = f.operands.only(f.parts.back().takes).partition(in), gives = f.results.partition(out);
  check(a.in.size() == f.operands.size());
  check(advance == want.merge({Role::constants, Role::carries, Role::xs}) && advanced == want[Role::carries],
        "the body does not fit the step");
  if (p.condition) {
    auto [types, decision] = signature_of("unwind", "the condition", p.condition, a.at);
    check(types == want.merge(f.parts[0].takes) && decision == Types{{{}, bool_}}, "the condition does not fit");
  }
  const bool has_rows = !want[Role::xs].empty() || !want[Role::linear_xs].empty() || !gives[Role::linear_ys].empty();
  check(p.condition ? p.length == -1 && !has_rows : p.length >= 0, "a scan has a length, a while has none");
  // One row for each step, or for each kept state.
  const Lists<Type> given = f.operands.partition(a.in);
  const Types &states = given[Role::carries], &counters = given[Role::counters];
  const Type& kept = states.empty() ? Type{} : states[0];
  const std::int64_t slots = kept.shape.ndim() > 0 ? kept.shape[0] : 0;
  check(states.empty() || slots >= 1, "there is no kept state");
  require_budget("unwind", p.budget, p.length, a.at);
  check(p.condition || p.budget.ndim() == 0 || states.empty() ||
            slots == slots_within(p.budget, p.length, !p.disk.empty()),
        "the kept states fit no budget");
  if (p.condition) {
    check(counters[0] == Type{{}, i32} && counters[1].shape.ndim() == 1 && counters[1].dtype == i32);
    check(states.empty() || counters[1].shape[0] == slots);
  }
  want[Role::counters] = counters;
  check(gives[Role::linear_carries] == want[Role::linear_carries]);
  for (Role r : {Role::xs, Role::linear_xs})
    for (Type& t : want[r]) t = stacked(t, p.length);
  for (Type& t : want[Role::carries]) t = stacked(t, slots);
  for (Type& t : gives[Role::linear_ys]) t = stacked(t, p.length);
  const Types all = want.merge(f.operands.order());
  check(std::equal(all.begin(), all.end(), a.in.begin(), a.in.end()));
  return gives.merge(f.results.order());
}

// One run: the operands in their groups, the state at hand, and the linear carry.
class Runner {
 public:
  Runner(const UnwindParams& p, std::span<const Array> x, const Location& at)
      : p_(p), f_(form_of(p)), x_(f_.operands.partition(x)), at_(at) {
    length_ = p.condition ? integer_of(x_[Role::counters][0]) : p.length;
    linear_ = x_[Role::linear_carries];
    for (const Type& t : f_.results.partition(p.step->output_types())[Role::linear_ys])
      ys_.push_back(empty_array(stacked(t, p.length), at));
    if (!p.backward || length_ <= 0) return;
    // States kept on the way back take the rows of those that are done with.
    const std::vector<std::size_t> at_state = f_.operands.positions()[Role::carries];
    for (std::size_t i = 0; i < at_state.size(); ++i) {
      x_[Role::carries][i] = Array();
      x_[Role::carries][i] = own(x[at_state[i]]);
    }
  }

  Arrays run() {
    const plan::Rewind::Moves moves{.load = [&](std::int64_t r) { load(r); },
                                    .advance = [&](std::int64_t from, std::int64_t to) { advance(from, to); },
                                    .store = [&](std::int64_t r) { store(r); },
                                    .step = [&](std::int64_t i) { step(i); }};
    if (!p_.backward) plan::Rewind::forward(length_, moves);
    else if (p_.budget.ndim() > 0 && !x_[Role::carries].empty() && length_ > 0) back_within();
    else schedule().back(moves);
    append(linear_, ys_);
    return std::move(linear_);
  }

 private:
  plan::Rewind schedule() const {
    const Arrays& stacks = x_[Role::carries];
    if (stacks.empty()) return {length_, 0};
    if (!p_.condition) return {length_, stacks[0].shape()[0]};
    return {length_, kept_steps()};
  }
  std::vector<std::int64_t> kept_steps() const {
    std::vector<std::int64_t> kept;
    const Array& steps = x_[Role::counters][1];
    for (std::int64_t r = 0; r < steps.shape()[0]; ++r) kept.push_back(integer_of(row_of(steps, r)));
    return kept;
  }
  // Within bytes: residuals of runs of steps are kept, states in slots by their step; those past the stacks by handle.
  void back_within() {
    const LoopBudget budget = LoopBudget::of(p_.budget);
    const bool on_disk = !p_.disk.empty();
    const TapedStep taped = taped_step(p_, at_);
    std::vector<std::int64_t> stops;
    if (p_.condition) {
      (void)schedule();  // throws where the states are those of no loop
      stops = plan::sort_slots(kept_steps(), [&](std::int64_t a, std::int64_t b) { swap_slots(a, b); });
    } else {
      stops = stops_within(p_.budget, length_, on_disk);
    }
    const plan::MixedSchedule schedule = p_.condition || on_disk ? plan::quick_schedule(length_, budget.bytes)
                                                                 : *plan::schedule_of(budget.steps, budget.bytes);
    std::vector<Arrays> states;
    Arrays rows;  // stacks of residuals, which lie dense
    const std::int64_t slots = x_[Role::carries][0].shape()[0];
    walk_back(
        schedule, length_, {stops, length_},
        {.load =
             [&](std::int64_t r) { r < slots ? load(r) : void(state_ = states[static_cast<std::size_t>(r - slots)]); },
         .advance = [&](std::int64_t from, std::int64_t to) { advance(from, to); },
         .store =
             [&](std::int64_t r) {
               if (r < slots) return store(r);
               states.resize(static_cast<std::size_t>(r - slots));
               states.push_back(state_);
             },
         .tape = [&](std::int64_t from, std::int64_t to, std::int64_t) { tape(taped.tape, from, to, rows); },
         .back =
             [&](std::int64_t i, std::int64_t row, std::int64_t) {
               state_.clear();
               for (const Array& stack : rows) state_.push_back(row_of(stack, row));
               if (row == 0) rows.clear();
               step(taped.back, i);
             }});
  }
  void tape(const ir::Program& program, std::int64_t from, std::int64_t to, Arrays& rows) {
    rows.assign(program.outputs.size() - state_.size(), Array());
    for (std::int64_t i = from; i < to; ++i) {
      check_stop("unwind", i, at_);
      Arrays made = evaluate(program, operands(f_.parts[f_.parts.size() - 2], i));
      const auto carries = static_cast<std::ptrdiff_t>(state_.size());
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const Array& made_here = made[state_.size() + k];
        if (!rows[k].value()) rows[k] = stack_for(made_here, to - from, at_);
        write_row(rows[k], i - from, made_here);
      }
      state_.assign(made.begin(), made.begin() + carries);
    }
  }
  void swap_slots(std::int64_t a, std::int64_t b) {
    for (const Array& stack : x_[Role::carries]) {
      const Array first = row_of(stack, a), kept = empty_array(stacked(type_of(first), 1), at_);
      write_row(kept, 0, first);
      write_row(stack, a, row_of(stack, b));
      write_row(stack, b, row_of(kept, 0));
    }
  }
  // A stack that may be written: the operand itself where nobody else reads it, else a copy.
  static Array own(const Array& stack) {
    if (donated(stack) && stack.value()->offset == 0 && is_row_major(stack.shape(), stack.value()->strides))
      return stack;
    Array copy = empty_array(type_of(stack), Location::current());
    for (std::int64_t r = 0; r < stack.shape()[0]; ++r) write_row(copy, r, row_of(stack, r));
    return copy;
  }
  void load(std::int64_t r) {
    state_.clear();
    for (const Array& stack : x_[Role::carries]) state_.push_back(row_of(stack, r));
  }
  void store(std::int64_t r) {
    for (std::size_t i = 0; i < state_.size(); ++i) write_row(x_[Role::carries][i], r, state_[i]);
  }
  std::int64_t place(std::int64_t step) const { return p_.reverse ? length_ - 1 - step : step; }
  // What a part takes at a step.
  Arrays operands(const LoopForm::Part& part, std::int64_t step) const {
    Arrays in;
    for (Role r : part.takes)
      for (const Array& x : r == Role::carries ? state_ : r == Role::linear_carries ? linear_ : x_[r])
        in.push_back(r == Role::xs || r == Role::linear_xs ? row_of(x, place(step)) : x);
    return in;
  }
  void advance(std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      check_stop("unwind", i, at_);
      state_ = evaluate(*p_.advance, operands(f_.parts[f_.parts.size() - 2], i));
    }
  }
  void step(std::int64_t i) { step(*p_.step, i); }
  void step(const ir::Program& program, std::int64_t i) {
    check_stop("unwind", i, at_);
    const Arrays in = operands(f_.parts.back(), i);
    const watch::Turn turn("unwind", place(i), at_);
    linear_.clear();
    Lists<Array> made = f_.results.partition(evaluate(program, in));
    for (std::size_t k = 0; k < ys_.size(); ++k) write_row(ys_[k], place(i), made[Role::linear_ys][k]);
    linear_ = std::move(made[Role::linear_carries]);
  }

  const UnwindParams& p_;
  LoopForm f_;
  Lists<Array> x_;
  Location at_;
  std::int64_t length_;
  Arrays state_, linear_, ys_;
};

}  // namespace

const ir::Primitive& unwind_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "unwind",
      .infer = infer_unwind,
      .parse = &UnwindParams::parse,
      .run = [](const ParamsRef& p, std::span<const Array> x,
                const Location& at) { return Runner(p->as<UnwindParams>(), x, at).run(); },
      .jvp = jvp_unwind,
      .transpose = transpose_unwind,
      .batch = batch_unwind,
      .facts = {.holds_programs = true},
      .split = split_unwind,
      .dce = dce_unwind,
  };
  return row;
}

}  // namespace anew
