// Operands given away.
#include "trace/donation.h"

#include <algorithm>

namespace anew {
namespace {

thread_local Donation* current = nullptr;

bool own_memory(const Value& v) { return v.concrete() && v.buffer && v.buffer->unique(); }

// Whose values were given away.
class Taker final : public Trace {
 public:
  explicit Taker(const Location& line) {
    alive = false;
    took = true;
    at = line;
  }
  Arrays process(const Request&) override { throw InternalError("an equation of arrays that were given away"); }
  std::string_view what() const override { return "jit"; }
};

}  // namespace

Donation::Donation(std::span<const Array> operands) : outer_(current) {
  if (!current_trace())
    for (const Array& x : operands)
      if (x.value() && x.shared_value().use_count() == 1 && own_memory(*x.value())) given_.push_back(x.value());
  current = this;
}
Donation::~Donation() { current = outer_; }

bool donated(const Array& x) {
  // The giver's handle, and that of a list it was copied to on its way.
  if (!current || x.shared_value().use_count() > 2 || !own_memory(*x.value())) return false;
  return std::find(current->given_.begin(), current->given_.end(), x.value()) != current->given_.end();
}

bool held_by_caller_alone(const Array& x) {
  const Value& v = *x.value();
  return x.shared_value().use_count() <= 2 && own_memory(v) && !v.buffer->borrowed();
}

Array take_memory(const Array& x, const Location& at) {
  Value& v = const_cast<Value&>(*x.value());
  Array taken = make_concrete(v.type, std::exchange(v.buffer, {}), v.offset, v.strides);
  v.dense.array = {};
  v.trace = std::make_shared<Taker>(at);
  return taken;
}

}  // namespace anew
