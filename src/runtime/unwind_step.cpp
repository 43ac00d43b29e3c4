// Walking the linear part of a loop, forward or back, over recorded states. The schedule is that of eager evaluation
// (plan/revolve.h), so the same steps run in the same order.
#include <algorithm>
#include <cstring>

#include "base/stop.h"
#include "plan/revolve.h"
#include "runtime/executable.h"
#include "runtime/spilled.h"
#include "runtime/strided.h"

namespace anew {
namespace {

class Unwinding {
 public:
  Unwinding(const UnwindStep& s, std::byte* const* table, std::byte** more)
      : s_(s),
        table_(table),
        length_(s.unwind.length),
        state_(more + CarryBuffers::size(s.linear_carries.size())),
        in_advance_(state_ + s.stacks.size()),
        in_step_(in_advance_ + s.advance->table),
        linear_(s.linear_carries, s.moves, table, number_of_steps(), more) {
    s.advance->enter(in_advance_, s.advance_base.in(table));
    s.step->enter(in_step_, s.step_base.in(table));
    for (std::size_t i = 0; i < s.constants.size(); ++i)
      in_advance_[s.advance->inputs[i]] = in_step_[s.step->inputs[i]] = s.constants[i].in(table);
    const std::size_t taken = static_cast<std::size_t>(s.unwind.taken());
    std::size_t linear = s.constants.size() + taken + s.xs.size();
    for (std::size_t i = 0; i < s.linear_constants.size(); ++i)
      in_step_[s.step->inputs[linear + i]] = s.linear_constants[i].in(table);
  }

  void run() {
    own_stacks();
    const plan::Rewind::Moves moves{.load = [&](std::int64_t r) { load(r); },
                                    .advance = [&](std::int64_t from, std::int64_t to) { advance(from, to); },
                                    .store = [&](std::int64_t r) { store(r); },
                                    .step = [&](std::int64_t i) { step(i); }};
    if (!s_.unwind.backward) plan::Rewind::forward(length_, moves);
    else if (s_.within && length_ > 0) back_within(*s_.within);
    else schedule().back(moves);
    linear_.settle(table_);
  }

 private:
  std::int64_t number_of_steps() {
    if (length_ < 0) length_ = read_integer(s_.step_count.place.in(table_), s_.step_count.type.dtype, 0);
    return length_;
  }

  // Kept states that somebody else reads are worked on in a copy; so are those that do not lie dense.
  void own_stacks() {
    for (const UnwindStep::Stack& k : s_.stacks) {
      if (k.from.place.in(table_) != k.at.place.in(table_)) k.from.copy(table_, k.at.place.in(table_));
    }
  }

  std::byte* row(std::size_t stack, std::int64_t r) const {
    return s_.stacks[stack].at.place.in(table_) + r * s_.stacks[stack].at.step;
  }
  void load(std::int64_t r) {
    for (std::size_t i = 0; i < s_.stacks.size(); ++i) state_[i] = row(i, r);
  }
  std::vector<std::int64_t> kept_steps() const {
    std::vector<std::int64_t> kept;
    for (std::int64_t r = 0; r < s_.slots; ++r)
      kept.push_back(
          read_integer(s_.kept_steps.place.in(table_), s_.kept_steps.type.dtype, r * s_.kept_steps.strides[0]));
    return kept;
  }

  // ---- within bytes
  void back_within(const UnwindStep::Within& w) {
    in_tape_ = in_step_ + s_.step->table;
    w.tape->enter(in_tape_, w.tape_base.in(table_));
    for (std::size_t i = 0; i < s_.constants.size(); ++i) in_tape_[w.tape->inputs[i]] = s_.constants[i].in(table_);
    const UnwindSpec& u = s_.unwind;
    std::vector<std::int64_t> stops = u.stops;
    if (u.length < 0) {
      (void)this->schedule();  // throws where the states are those of no loop
      stops = plan::sort_slots(kept_steps(), [&](std::int64_t a, std::int64_t b) { swap_slots(a, b); });
    }
    const std::shared_ptr<const plan::MixedSchedule> schedule =
        u.schedule ? u.schedule : std::make_shared<const plan::MixedSchedule>(plan::quick_schedule(length_, u.bytes));
    walk_back(*schedule, length_, {std::move(stops), length_},
              {.load = [&](std::int64_t r) { load_within(w, r); },
               .advance = [&](std::int64_t from, std::int64_t to) { advance(from, to); },
               .store =
                   [&](std::int64_t r) {
                     for (std::size_t i = 0; i < s_.stacks.size(); ++i)
                       if (s_.stacks[i].bytes) std::memcpy(state_within(w, i, r), state_[i], s_.stacks[i].bytes);
                   },
               .tape = [&](std::int64_t from, std::int64_t to, std::int64_t used) { tape(w, from, to, used); },
               .back =
                   [&](std::int64_t i, std::int64_t r, std::int64_t) {
                     step(i, pieces_.data() + r * u.residuals, static_cast<std::size_t>(u.residuals));
                   }});
  }
  std::byte* state_within(const UnwindStep::Within& w, std::size_t stack, std::int64_t r) const {
    return r < s_.slots ? row(stack, r) : w.pool.in(table_) + w.places.state(r, stack).offset;
  }
  void load_within(const UnwindStep::Within& w, std::int64_t r) {
    if (s_.unwind.spilled) return load_spilled(r);
    for (std::size_t i = 0; i < s_.stacks.size(); ++i) state_[i] = state_within(w, i, r);
  }
  void load_spilled(std::int64_t r) {
    for (std::size_t i = 0; i < s_.stacks.size(); ++i) {
      state_[i] = s_.stacks[i].buffers[0].in(table_);
      move_bytes(state_[i], row(i, r), s_.stacks[i].bytes);
    }
  }
  void swap_slots(std::int64_t a, std::int64_t b) const {
    for (std::size_t i = 0; i < s_.stacks.size(); ++i)
      std::swap_ranges(row(i, a), row(i, a) + s_.stacks[i].bytes, row(i, b));
  }
  void tape(const UnwindStep::Within& w, std::int64_t from, std::int64_t to, std::int64_t used) {
    w.places.place(used, to - from, places_);
    pieces_.clear();
    for (const plan::RowPlaces::Place& p : places_)
      pieces_.push_back((p.stack < 0 ? w.pool.in(table_) : row(static_cast<std::size_t>(p.stack), 0)) + p.offset);
    for (std::int64_t i = from; i < to; ++i) {
      for (int k = 0; k < s_.unwind.residuals; ++k)
        in_tape_[w.tape->outputs[s_.stacks.size() + static_cast<std::size_t>(k)]] =
            pieces_[static_cast<std::size_t>((i - from) * s_.unwind.residuals + k)];
      move_on(*w.tape, in_tape_, i);
    }
  }

  void store(std::int64_t r) {
    for (std::size_t i = 0; i < s_.stacks.size(); ++i)
      if (s_.stacks[i].bytes) std::memcpy(row(i, r), state_[i], s_.stacks[i].bytes);
  }
  std::int64_t place(std::int64_t step) const { return s_.unwind.reverse ? length_ - 1 - step : step; }

  // `taken`: the state at hand, or a row of residuals.
  void set_inputs(const Code& code, std::byte** table, std::int64_t step, std::byte* const* taken,
                  std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) table[code.inputs[s_.constants.size() + i]] = taken[i];
    for (std::size_t i = 0; i < s_.xs.size(); ++i)
      table[code.inputs[s_.constants.size() + count + i]] = s_.xs[i].place.in(table_) + place(step) * s_.xs[i].step;
  }

  // The state moves to whichever of its two buffers it is not in.
  void advance(std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) move_on(*s_.advance, in_advance_, i);
  }
  void move_on(const Code& code, std::byte** table, std::int64_t i) {
    check_stop("unwind", i, s_.at);
    set_inputs(code, table, i, state_, s_.stacks.size());
    for (std::size_t k = 0; k < s_.stacks.size(); ++k) {
      std::byte* first = s_.stacks[k].buffers[0].in(table_);
      table[code.outputs[k]] = state_[k] == first ? s_.stacks[k].buffers[1].in(table_) : first;
    }
    code.run(table);
    for (std::size_t k = 0; k < s_.stacks.size(); ++k) state_[k] = table[code.outputs[k]];
  }

  void step(std::int64_t i) { step(i, state_, s_.stacks.size()); }
  void step(std::int64_t i, std::byte* const* taken, std::size_t count) {
    check_stop("unwind", i, s_.at);
    const Code& code = *s_.step;
    set_inputs(code, in_step_, i, taken, count);
    std::size_t at = s_.constants.size() + count + s_.xs.size() + s_.linear_constants.size();
    for (std::size_t k = 0; k < s_.linear_carries.size(); ++k) in_step_[code.inputs[at + k]] = linear_.state(k);
    linear_.bind_outputs(code, in_step_);
    at += s_.linear_carries.size();
    for (std::size_t k = 0; k < s_.linear_xs.size(); ++k)
      in_step_[code.inputs[at + k]] = s_.linear_xs[k].place.in(table_) + place(i) * s_.linear_xs[k].step;
    for (std::size_t k = 0; k < s_.linear_ys.size(); ++k)
      in_step_[code.outputs[s_.linear_carries.size() + k]] =
          s_.linear_ys[k].place.in(table_) + place(i) * s_.linear_ys[k].step;
    code.run(in_step_);
    linear_.move();
  }

  plan::Rewind schedule() const {
    if (s_.stacks.empty() || s_.unwind.length >= 0) return {length_, s_.stacks.empty() ? 0 : s_.slots};
    return {length_, kept_steps()};
  }

  const UnwindStep& s_;
  std::byte* const* table_;
  std::int64_t length_;
  std::byte** state_;  // where the state at hand lies, per carry
  std::byte **in_advance_, **in_step_, **in_tape_ = nullptr;
  std::vector<plan::RowPlaces::Place> places_;
  std::vector<std::byte*> pieces_;  // of the rows that are kept
  CarryBuffers linear_;
};

}  // namespace

void UnwindStep::run(std::byte* const* table, std::byte** more) const { Unwinding(*this, table, more).run(); }

}  // namespace anew
