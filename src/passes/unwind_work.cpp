// The way back of a loop: states made again by the schedule that runs, and one step back for each.
#include <algorithm>
#include <limits>

#include "control/loop.h"
#include "passes/assembler.h"
#include "passes/step_parts.h"
#include "plan/mixed.h"
#include "plan/revolve.h"

namespace anew::passes {
namespace {

// On the way back states between those that were kept are made again by the schedule that will run.
double advances_of(const Body& body, const Step& s) {
  const Unwind& u = *s.as<Unwind>();
  const double length = length_of(u.length);
  if (!u.backward) return length;
  if (u.carries == 0) return 0;
  if (u.residuals >= 0 && u.schedule) {
    const auto last = static_cast<double>(u.schedule->length() - u.schedule->forward().taped);
    const double again = static_cast<double>(u.schedule->extra_steps()) - length;
    return std::max(0.0, u.length == u.schedule->length() ? again + last : again);
  }
  const std::size_t first = static_cast<std::size_t>(u.constants + u.xs) + (u.length < 0 ? 2 : 0);
  const std::int64_t slots = body.type(s.in[first]).shape[0];
  return static_cast<double>(plan::extra_steps(static_cast<std::int64_t>(length), std::max<std::int64_t>(slots, 1))) -
         (length - 1);
}

}  // namespace

plan::RowPlaces row_places(const Body& body, const Step& step) {
  const Unwind& u = *step.as<Unwind>();
  const Body& tape = *step.bodies[2];
  plan::RowPieces states, pieces;
  for (std::size_t i = 0; i < tape.outputs.size(); ++i)
    (i < static_cast<std::size_t>(u.carries) ? states : pieces).push_back(row_piece(tape.type(tape.outputs[i])));
  if (u.spilled) return {0, {}, std::move(pieces)};
  const auto stack = static_cast<std::size_t>(u.constants + u.xs + (u.length < 0 ? 2 : 0));
  return {body.type(step.in[stack]).shape[0], std::move(states), std::move(pieces)};
}

void Unwind::count(const Body& outside, Step& s) {
  Parts parts(s);
  advance = parts.add(s.bodies[0]->bytes);
  step = parts.beside_last(s.bodies[1]->bytes);
  if (residuals >= 0) {
    tape = parts.beside_last(s.bodies[2]->bytes);
    const std::int64_t most = length < 0 ? std::numeric_limits<std::int32_t>::max() : length;
    const plan::MixedSchedule taken = schedule ? *schedule : plan::quick_schedule(most, bytes);
    pool = parts.add(static_cast<std::size_t>(row_places(outside, s).pool_bytes(taken, most)));
  }
  stacks.clear(), others.clear();
  auto stack = s.in.begin() + constants + xs + (length < 0 ? 2 : 0);
  for (std::size_t c = 0; c < own_stacks.size(); ++c, ++stack) {
    const std::size_t state = s.bodies[0]->type(s.bodies[0]->outputs[c]).bytes();
    Unwind::Stack& to = stacks.emplace_back();
    to.buffers[0] = parts.add(state);
    to.buffers[1] = parts.add(state);
    to.copy = parts.add(own_stacks[c] ? 0 : outside.type(*stack).bytes());
  }
  for (std::size_t c = 0; c < moves.carries(); ++c)
    others.push_back(parts.add(moves.has_spare(c) ? outside.type(s.out[c]).bytes() : 0));
}

double Unwind::time(const Body& outside, const Step& s, Near* near) const {
  double each = time_of(*s.bodies[1]);
  if (s.bodies.size() > 2) each += time_of(*s.bodies[2]);
  return time_to_begin(near) + (advances_of(outside, s) * time_of(*s.bodies[0]) + length_of(length) * each);
}

Part Unwind::plan_of(std::size_t body) const { return body == 0 ? advance : body == 1 ? step : tape; }
std::string Unwind::name_of(std::size_t body) const { return body == 0 ? "advance" : body == 1 ? "back" : "tape"; }

std::vector<Part> Unwind::buffers() const {
  std::vector<Part> parts;
  for (const Stack& s : stacks) parts.insert(parts.end(), {s.buffers[0], s.buffers[1], s.copy});
  parts.insert(parts.end(), others.begin(), others.end());
  parts.push_back(pool);
  return parts;
}

MadeStep Unwind::make(Assembler& to, std::size_t i, const Step& s) const {
  auto made = std::make_unique<UnwindStep>();
  made->at = s.at;
  made->unwind = *this;
  made->advance = to.nested(*s.bodies[0]);
  made->step = to.nested(*s.bodies[1]);
  made->advance_base = to.scratch(i, advance);
  made->step_base = to.scratch(i, step);
  std::size_t at = 0;
  for (int n = 0; n < constants; ++n) made->constants.push_back(to.place(s.in[at++]));
  for (int n = 0; n < xs; ++n) made->xs.push_back(to.rows(s.in[at++]));
  if (length < 0) {
    made->step_count = to.strided(s.in[at++]);
    made->kept_steps = to.strided(s.in[at++]);
  }
  for (std::size_t n = 0; n < stacks.size(); ++n) {
    const Unwind::Stack& parts = stacks[n];
    const ValueId stack = s.in[at++];
    made->slots = to.value(stack).type.shape[0];
    const std::size_t bytes = parts.buffers[0].bytes;
    const StackedPlace work{own_stacks[n] ? to.place(stack) : to.scratch(i, parts.copy),
                            static_cast<std::int64_t>(bytes)};
    made->stacks.push_back(
        {to.strided(stack), work, {to.scratch(i, parts.buffers[0]), to.scratch(i, parts.buffers[1])}, bytes});
  }
  for (int n = 0; n < linear_constants; ++n) made->linear_constants.push_back(to.place(s.in[at++]));
  for (int n = 0; n < linear_carries; ++n) {
    std::size_t c = n;
    made->linear_carries.push_back(to.carry(s.in[at++], s.out[c], to.scratch(i, others[c])));
  }
  made->moves = moves;
  while (at < s.in.size()) made->linear_xs.push_back(to.rows(s.in[at++]));
  for (std::size_t n = linear_carries; n < s.out.size(); ++n) made->linear_ys.push_back(to.rows(s.out[n]));
  if (residuals >= 0)
    made->within.emplace(UnwindStep::Within{row_places(to.body(), s), to.nested(*s.bodies[2]), to.scratch(i, tape),
                                            to.scratch(i, pool)});
  to.needs(CarryBuffers::size(made->linear_carries.size()) + static_cast<int>(made->stacks.size()) +
           made->advance->table + made->step->table + (made->within ? made->within->tape->table : 0));
  return made;
}

}  // namespace anew::passes
