// Walking the linear part of a loop, forward or back, over recorded states. The schedule is that of eager evaluation
// (plan/revolve.h), so the same steps run in the same order.
#include <cstring>

#include "base/stop.h"
#include "plan/revolve.h"
#include "runtime/executable.h"
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
        linear_(s.linear_carries, table, number_of_steps(), more) {
    s.advance->enter(in_advance_, s.advance_base.in(table));
    s.step->enter(in_step_, s.step_base.in(table));
    for (std::size_t i = 0; i < s.constants.size(); ++i)
      in_advance_[s.advance->inputs[i]] = in_step_[s.step->inputs[i]] = s.constants[i].in(table);
    std::size_t linear = s.constants.size() + s.stacks.size() + s.xs.size();
    for (std::size_t i = 0; i < s.linear_constants.size(); ++i)
      in_step_[s.step->inputs[linear + i]] = s.linear_constants[i].in(table);
  }

  void run() {
    own_stacks();
    const plan::Rewind::Moves moves{.load = [&](std::int64_t r) { load(r); },
                                    .advance = [&](std::int64_t from, std::int64_t to) { advance(from, to); },
                                    .store = [&](std::int64_t r) { store(r); },
                                    .step = [&](std::int64_t i) { step(i); }};
    if (s_.unwind.backward) schedule().back(moves);
    else plan::Rewind::forward(length_, moves);
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
  void store(std::int64_t r) {
    for (std::size_t i = 0; i < s_.stacks.size(); ++i)
      if (s_.stacks[i].bytes) std::memcpy(row(i, r), state_[i], s_.stacks[i].bytes);
  }
  std::int64_t place(std::int64_t step) const { return s_.unwind.reverse ? length_ - 1 - step : step; }

  void set_inputs(const Code& code, std::byte** table, std::int64_t step) const {
    for (std::size_t i = 0; i < s_.stacks.size(); ++i) table[code.inputs[s_.constants.size() + i]] = state_[i];
    for (std::size_t i = 0; i < s_.xs.size(); ++i)
      table[code.inputs[s_.constants.size() + s_.stacks.size() + i]] =
          s_.xs[i].place.in(table_) + place(step) * s_.xs[i].step;
  }

  // The state moves to whichever of its two buffers it is not in.
  void advance(std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      check_stop("unwind", i, s_.at);
      set_inputs(*s_.advance, in_advance_, i);
      for (std::size_t k = 0; k < s_.stacks.size(); ++k) {
        std::byte* first = s_.stacks[k].buffers[0].in(table_);
        in_advance_[s_.advance->outputs[k]] = state_[k] == first ? s_.stacks[k].buffers[1].in(table_) : first;
      }
      s_.advance->run(in_advance_);
      for (std::size_t k = 0; k < s_.stacks.size(); ++k) state_[k] = in_advance_[s_.advance->outputs[k]];
    }
  }

  void step(std::int64_t i) {
    check_stop("unwind", i, s_.at);
    const Code& code = *s_.step;
    set_inputs(code, in_step_, i);
    std::size_t at = s_.constants.size() + s_.stacks.size() + s_.xs.size() + s_.linear_constants.size();
    for (std::size_t k = 0; k < s_.linear_carries.size(); ++k) {
      in_step_[code.inputs[at + k]] = linear_.state(k);
      if (!s_.linear_carries[k].in_place) in_step_[code.outputs[k]] = linear_.next(k);
    }
    at += s_.linear_carries.size();
    for (std::size_t k = 0; k < s_.linear_xs.size(); ++k)
      in_step_[code.inputs[at + k]] = s_.linear_xs[k].place.in(table_) + place(i) * s_.linear_xs[k].step;
    for (std::size_t k = 0; k < s_.linear_ys.size(); ++k)
      in_step_[code.outputs[s_.linear_carries.size() + k]] =
          s_.linear_ys[k].place.in(table_) + place(i) * s_.linear_ys[k].step;
    code.run(in_step_);
    linear_.swap();
  }

  plan::Rewind schedule() const {
    if (s_.stacks.empty() || s_.unwind.length >= 0) return {length_, s_.stacks.empty() ? 0 : s_.slots};
    std::vector<std::int64_t> kept;
    for (std::int64_t r = 0; r < s_.slots; ++r)
      kept.push_back(
          read_integer(s_.kept_steps.place.in(table_), s_.kept_steps.type.dtype, r * s_.kept_steps.strides[0]));
    return {length_, kept};
  }

  const UnwindStep& s_;
  std::byte* const* table_;
  std::int64_t length_;
  std::byte** state_;  // where the state at hand lies, per carry
  std::byte **in_advance_, **in_step_;
  CarryBuffers linear_;
};

}  // namespace

void UnwindStep::run(std::byte* const* table, std::byte** more) const { Unwinding(*this, table, more).run(); }

}  // namespace anew
