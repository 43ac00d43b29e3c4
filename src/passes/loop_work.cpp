// scan and while. A condition never runs beside its body, so they share memory.
#include <algorithm>

#include "passes/assembler.h"
#include "passes/step_parts.h"

namespace anew::passes {
namespace {

// States that go to a file and come back.
double time_on_disk(const Body& body, const Step& s) {
  const Loop& loop = *s.as<Loop>();
  if (loop.disk.empty() || loop.record.empty()) return 0;
  std::size_t bytes = 0;
  for (auto v = s.out.end() - std::ssize(loop.record); v != s.out.end(); ++v) bytes += body.type(*v).bytes();
  const auto slots = static_cast<double>(std::max<std::int64_t>(loop.slots, 1));
  const auto state = static_cast<std::size_t>(static_cast<double>(bytes) / slots);
  return slots * (modelled_time_to_write(state) + modelled_time_to_read(state));
}

}  // namespace

void Loop::count(const Body& outside, Step& s) {
  Parts parts(s);
  const bool decides = s.bodies.size() > 1;
  body = parts.add(s.bodies[0]->bytes);
  condition = parts.beside_last(decides ? s.bodies[1]->bytes : 0);
  decision = parts.add(decides ? 1 : 0);
  others.clear();
  for (std::size_t c = 0; c < moves.carries(); ++c)
    others.push_back(parts.add(moves.has_spare(c) ? outside.type(s.out[c]).bytes() : 0));
}

double Loop::time(const Body& outside, const Step& s, Near* near) const {
  const double decides = s.bodies.size() > 1 ? time_of(*s.bodies[1]) : 0;
  return time_to_begin(near) + time_on_disk(outside, s) + length_of(length) * (time_of(*s.bodies[0]) + decides);
}

Part Loop::plan_of(std::size_t k) const { return k == 0 ? body : condition; }
std::string Loop::name_of(std::size_t k) const { return k == 0 ? "body" : "condition"; }
std::vector<Part> Loop::buffers() const { return others; }

MadeStep Loop::make(Assembler& to, std::size_t i, const Step& s) const {
  const std::size_t k = constants, c = carries;
  auto made = std::make_unique<LoopStep>();
  made->name = s.primitive->name;
  made->at = s.at;
  made->loop = *this;
  made->body = to.nested(*s.bodies[0]);
  made->body_base = to.scratch(i, body);
  made->condition_base = to.scratch(i, condition);
  made->decision = to.scratch(i, decision);
  if (s.bodies.size() > 1) made->condition = to.nested(*s.bodies[1]);
  for (std::size_t n = 0; n < k; ++n) made->constants.push_back(to.place(s.in[n]));
  for (std::size_t n = 0; n < c; ++n)
    made->carries.push_back(to.carry(s.in[k + n], s.out[n], to.scratch(i, others[n])));
  made->moves = moves;
  for (std::size_t n = k + c; n < s.in.size(); ++n) made->xs.push_back(to.rows(s.in[n]));
  std::size_t out = s.bodies[0]->outputs.size();
  for (std::size_t n = c; n < out; ++n) made->ys.push_back(to.rows(s.out[n]));
  if (records && made->condition) {
    made->step_count = to.place(s.out[out++]);
    made->kept_steps = to.place(s.out[out++]);
  }
  for (std::size_t n = 0; n < record.size(); ++n) made->states.push_back(to.rows(s.out[out++]));
  for (const StackedPlace& state : made->states)
    if (spilled) to.region_of(StorageId{state.place.storage})->owner = {made->name, disk, s.at};
  if (counter >= 0) {
    made->counter = to.strided(s.in[k + counter]);
    if (end_constant >= 0) made->end = to.strided(s.in[end_constant]);
  }
  to.needs(CarryBuffers::size(c) + made->body->table + (made->condition ? made->condition->table : 0));
  return made;
}

}  // namespace anew::passes
