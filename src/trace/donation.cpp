// Operands given away.
#include "trace/donation.h"

#include <algorithm>

namespace anew {
namespace {

thread_local Donation* current = nullptr;

bool own_memory(const Value& v) { return v.concrete() && v.buffer && v.buffer->unique(); }

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

}  // namespace anew
