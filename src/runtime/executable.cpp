// Running a Code: kernels, branches and loops. What is recorded by a loop, and walked back, is in unwind_step.cpp.
#include "runtime/executable.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/stop.h"
#include "base/strides.h"
#include "plan/revolve.h"
#include "runtime/spilled.h"
#include "runtime/strided.h"

namespace anew {

void StridedPlace::copy(std::byte* const* table, std::byte* to) const {
  copy_array({to, type.dtype, type.shape, row_major(type.shape)}, {place.in(table), type.dtype, type.shape, strides});
}

void Code::enter(std::byte** table, std::byte* base) const {
  for (const Temporary& t : temporaries) table[t.storage] = base + t.offset;
  for (const Constant& c : constants)
    table[c.storage] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&c.bits));
  for (const Disk& d : disks) table[d.storage] = SpillScope::region(d.region);
}

void Code::run(std::byte** table) const {
  if (StepWatch::current) [[unlikely]]
    return run_watched(table, *StepWatch::current);
  for (const auto& step : steps) step->run(table, table + storages);
}

void Code::run_watched(std::byte** table, StepWatch& watch) const {
  using Clock = std::chrono::steady_clock;
  const StepWatch::Installed inside(watch.nested ? &watch : nullptr);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Clock::time_point before = Clock::now();
    steps[i]->run(table, table + storages);
    watch.ran(*this, i, std::chrono::duration<double, std::nano>(Clock::now() - before).count());
  }
}

// ---- kernels

void KernelStep::run(std::byte* const* table, std::byte** more) const {
  // Pointers of a kernel with many operands go into the free table, which has room for them.
  std::array<std::byte*, 16> near;
  std::byte** operands = operands_.size() <= near.size() ? near.data() : more;
  for (std::size_t i = 0; i < operands_.size(); ++i) operands[i] = operands_[i].in(table);
  std::byte* scratch = code_->scratch ? scratch_.in(table) : nullptr;
  if (code_->grain == 0) code_->run(operands, 0, code_->units, scratch);
  else
    parallel_for(code_->units, code_->grain,
                 [&](std::int64_t begin, std::int64_t end) { code_->run(operands, begin, end, scratch); });
  if (scratch) code_->finish(operands, scratch);
}

// ---- carries

std::size_t CarryMoves::source(std::size_t i, std::int64_t steps) const {
  std::int64_t cycle = 1;
  for (std::size_t k = from[i]; k != i; k = from[k]) ++cycle;
  for (steps %= cycle; steps > 0; --steps) i = from[i];
  return i;
}

CarryBuffers::CarryBuffers(const std::vector<CarryPlace>& carries, const CarryMoves& moves, std::byte* const* table,
                           std::int64_t steps, std::byte** pointers)
    : carries_(carries),
      moves_(moves),
      now_(pointers),
      next_(now_ + 2 * carries.size()),
      at_(next_ + 2 * carries.size()) {
  const std::size_t n = carries.size();
  for (std::size_t i = 0; i < n; ++i) {
    now_[moves.source(i, steps)] = carries[i].last.in(table);
    now_[moves.source(n + i, steps)] = moves.has_spare(i) ? carries[i].other.in(table) : nullptr;
    std::byte* first = carries[i].first.place.in(table);
    at_[i] = first == carries[i].last.in(table) ? first : nullptr;
  }
  arrange(now_);
  for (std::size_t i = 0; i < n; ++i)
    if (!at_[i]) carries[i].first.copy(table, now_[i]);
}

void CarryBuffers::bind_outputs(const Code& body, std::byte** in_body) const {
  for (std::size_t i = 0; i < carries_.size(); ++i)
    if (moves_.to_spare(i)) in_body[body.outputs[i]] = now_[moves_.from[i]];
}

void CarryBuffers::move() {
  for (std::size_t i = 0; i < moves_.from.size(); ++i) next_[i] = now_[moves_.from[i]];
  std::swap(now_, next_);
}

void CarryBuffers::settle(std::byte* const* table) {
  for (std::size_t i = 0; i < carries_.size(); ++i) {
    at_[i] = now_[i];
    next_[i] = carries_[i].last.in(table);
  }
  arrange(next_);
}

void CarryBuffers::arrange(std::byte* const* to) {
  for (std::size_t i = 0; i < carries_.size(); ++i) {
    if (!at_[i] || at_[i] == to[i] || carries_[i].bytes == 0) continue;
    std::byte** const end = at_ + carries_.size();
    std::byte** const there = std::find(at_ + i + 1, end, to[i]);  // those before are where they shall be
    if (there == end) {
      std::memcpy(to[i], at_[i], carries_[i].bytes);
    } else {
      std::swap_ranges(at_[i], at_[i] + carries_[i].bytes, to[i]);
      *there = at_[i];
    }
    at_[i] = to[i];
  }
}

// ---- loops

std::int64_t LoopStep::known_length(std::byte* const* table) const {
  if (loop.length >= 0) return loop.length;
  if (loop.counter < 0) return -1;
  std::int64_t from = read_integer(counter.place.in(table), counter.type.dtype, 0);
  std::int64_t to = end.place.storage < 0 ? loop.end_literal : read_integer(end.place.in(table), end.type.dtype, 0);
  return plan::count_steps(from, to);
}

void LoopStep::bind_step(const CarryBuffers& state, std::int64_t row, std::byte* const* table,
                         std::byte** in_body) const {
  for (std::size_t i = 0; i < carries.size(); ++i) in_body[body->inputs[constants.size() + i]] = state.state(i);
  state.bind_outputs(*body, in_body);
  for (std::size_t i = 0; i < xs.size(); ++i)
    in_body[body->inputs[constants.size() + carries.size() + i]] = xs[i].place.in(table) + row * xs[i].step;
  for (std::size_t i = 0; i < ys.size(); ++i)
    in_body[body->outputs[carries.size() + i]] = ys[i].place.in(table) + row * ys[i].step;
}

bool LoopStep::goes_on(const CarryBuffers& state, std::byte* const* table, std::byte** in_condition) const {
  for (std::size_t i = 0; i < carries.size(); ++i)
    in_condition[condition->inputs[constants.size() + i]] = state.state(i);
  std::byte* yes = decision.in(table);
  in_condition[condition->outputs[0]] = yes;
  condition->run(in_condition);
  return *yes != std::byte{0};
}

void LoopStep::run(std::byte* const* table, std::byte** more) const {
  std::byte** in_body = more + CarryBuffers::size(carries.size());
  std::byte** in_condition = in_body + body->table;
  const std::int64_t known = known_length(table);
  // Which states are recorded follows from the length; read before a carry is overwritten.
  plan::Recorder recorder = !loop.records        ? plan::Recorder()
                            : loop.stops.empty() ? plan::Recorder(known, loop.slots)
                                                 : plan::Recorder(loop.stops);
  CarryBuffers state(carries, moves, table, known, more);
  auto write = [&](std::int64_t row) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const int c = loop.record[i];
      move_bytes(states[i].place.in(table) + row * states[i].step, state.state(c), carries[c].bytes);
    }
  };

  body->enter(in_body, body_base.in(table));
  if (condition) condition->enter(in_condition, condition_base.in(table));
  for (std::size_t i = 0; i < constants.size(); ++i) {
    in_body[body->inputs[i]] = constants[i].in(table);
    if (condition) in_condition[condition->inputs[i]] = constants[i].in(table);
  }
  const StopScope::Asked asked_to_stop;
  std::int64_t step = 0;
  for (;; ++step) {
    if (asked_to_stop()) [[unlikely]]
      stopped(name, step, at);
    if (condition ? !goes_on(state, table, in_condition) : step == loop.length) break;
    if (const std::int64_t slot = recorder.slot_for(step); slot >= 0) write(slot);
    bind_step(state, loop.reverse ? loop.length - 1 - step : step, table, in_body);
    body->run(in_body);
    state.move();
  }
  if (loop.records) {
    if (loop.fill)
      for (std::int64_t row : recorder.unused())
        for (const StackedPlace& s : states)
          std::memset(s.place.in(table) + row * s.step, 0, static_cast<std::size_t>(s.step));
    if (step == 0) write(0);
    if (condition) {
      const auto count = static_cast<std::int32_t>(step);
      std::memcpy(step_count.in(table), &count, sizeof count);
      std::memcpy(kept_steps.in(table), recorder.steps().data(), recorder.steps().size() * sizeof(std::int32_t));
    }
  }
  state.settle(table);
}

}  // namespace anew
