// The list of a family's rows.
#include "ops/family.h"

namespace anew {

Family::Family() = default;
Family::~Family() = default;

Primitive& Family::add(Primitive& p) {
  rows_.push_back(std::move(p));
  list_.push_back(&rows_.back());
  return rows_.back();
}

}  // namespace anew
