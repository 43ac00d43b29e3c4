// A family of rows: primitives that share their rules, made together in one file. A row enters its family's list by
// being made, so there is no second list to keep; rows are never destroyed, since user code may run before main and
// after it.
#pragma once
#include <deque>
#include <span>
#include <vector>

#include "ir/primitive.h"
#include "trace/trace.h"

namespace anew {

class Family {
 public:
  Family();
  ~Family();
  const Primitive& row(Primitive p) { return add(p); }
  // A row of one operand that vmap keeps, with parameters that say the same behind one more axis in front.
  template <class P>
  const Primitive& row(Primitive p, P (*behind)(P, std::int64_t size)) {
    Primitive& r = add(p);
    r.batch = [&r, behind](const ir::BatchArgs& a) {
      ParamsRef params = std::make_shared<const P>(behind(a.params->as<P>(), a.size));
      return ir::Batched{anew::bind(r, params, a.x, a.at)};
    };
    return r;
  }
  std::span<const Primitive* const> list() const { return list_; }

 private:
  Primitive& add(Primitive& p);  // moved from
  std::deque<Primitive> rows_;   // addresses are stable
  std::vector<const Primitive*> list_;
};

// The one value of a struct of rows: a Family with a member per row.
template <class Rows>
const Rows& rows() {
  static const Rows& made = *new Rows;
  return made;
}

template <class P>
ParamsRef make_params(P p) {
  return std::make_shared<const P>(std::move(p));
}

}  // namespace anew
