// Kernels behind a product run on its tiles as they are finished, while these are in the cache: a kernel that reads
// each element of the product where it writes, and writes nothing that the product still reads. The pass looks at
// memory as it is placed and leaves it as it is, so an epilogue never costs a byte; where memory that the product reads
// was given to what the kernel writes, there is none.
#include <algorithm>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

class Epilogues {
 public:
  explicit Epilogues(const Body& body) : b_(body) {}

  // May the kernel at i + 1 run on parts of what the call at i makes?
  bool attaches(std::size_t i) const {
    const Step &call = b_.steps[i], &s = b_.steps[i + 1];
    if (!call.is<Call>() || !call.as<Call>()->tiled || !s.is_elementwise() || s.effects) return false;
    const Value& product = value(call.out[0]);
    if (!product.dense() || product.type.shape.ndim() == 0 || product.type.shape.size() == 0) return false;
    return std::equal(s.kernel().extents.begin(), s.kernel().extents.end(), product.type.shape.begin(),
                      product.type.shape.end()) &&
           reads_where_it_writes(s, product) && writes_apart(s, i);
  }

 private:
  const Value& value(ValueId v) const { return b_.values[v]; }
  static bool same_place(const Value& a, const Value& b) {
    return a.storage == b.storage && a.strides == b.strides && a.offset == b.offset;
  }

  bool reads_where_it_writes(const Step& s, const Value& product) const {
    bool reads = false;
    for (const loops::Access& a : s.kernel().accesses) {
      const Value& x = value(s.in[a.operand]);
      if (x.storage != product.storage) continue;
      if (!is_identity(a.index, s.kernel().extents.size()) || !same_place(x, product)) return false;
      reads = true;
    }
    for (const loops::Store& t : s.kernel().stores)
      if (!is_identity(t.to.index, s.kernel().extents.size())) return false;
    return reads;
  }

  // Nothing over what the call at i works with; over the product itself only element by element.
  bool writes_apart(const Step& s, std::size_t i) const {
    const Step& call = b_.steps[i];
    const Value& product = value(call.out[0]);
    const auto scratch = static_cast<std::int64_t>(b_.scratch_offsets[i]);
    const Extent working{{}, scratch, scratch + static_cast<std::int64_t>(call.scratch)};
    for (ValueId out : s.out) {
      const Extent e = extent_of(b_, out);
      if (e.meets(working)) return false;
      for (ValueId v : call.in)
        if (e.meets(extent_of(b_, v))) return false;
      if (e.meets(extent_of(b_, call.out[0])) &&
          (!same_place(value(out), product) || size_of(value(out).type.dtype) != size_of(product.type.dtype)))
        return false;
    }
    return true;
  }

  const Body& b_;
};

}  // namespace

void attach_epilogues(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) attach_epilogues(*nested);
  const Epilogues epilogues(body);
  for (std::size_t i = 0; i + 1 < body.steps.size(); ++i)
    if (epilogues.attaches(i)) body.steps[++i].as<Kernel>()->on_tiles = true;
}

}  // namespace anew::passes
