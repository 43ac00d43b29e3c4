// One array instead of several. A reduction whose arithmetic reads several arrays that one kernel makes for it alone:
// the arithmetic goes into that kernel, which then hands over its result. Nothing is computed twice, and what each
// element goes through is the same.
#include <algorithm>

#include "passes/fuse_draft.h"

namespace anew::passes {
namespace {

class Hoisting {
 public:
  explicit Hoisting(Body& body) : b_(body), maker_(body.storages.size(), nobody), readers_(body.storages.size(), 0) {
    for (int i = 0; i < std::ssize(body.steps); ++i) {
      for (ValueId v : body.steps[i].out) {
        int& maker = maker_[storage(v)];
        maker = maker == nobody ? i : several;
      }
      std::vector<StorageId> seen;
      for (ValueId v : body.steps[i].in)
        if (std::find(seen.begin(), seen.end(), storage(v)) == seen.end()) {
          seen.push_back(storage(v));
          ++readers_[storage(v)];
        }
    }
  }

  void run() {
    for (Step& s : b_.steps)
      if (s.is_reduction()) try_one(s);
  }

 private:
  static constexpr int nobody = -1, several = -2;

  StorageId storage(ValueId v) const { return b_.values[v].storage; }

  void try_one(Step& reduction) {
    // The kernel that makes the last of its operands.
    int g = nobody;
    for (ValueId v : reduction.in) {
      if (maker_[storage(v)] == several) return;
      g = std::max(g, maker_[storage(v)]);
    }
    if (g == nobody || !b_.steps[g].is_elementwise()) return;
    Step& maker = b_.steps[g];
    if (maker.kernel().extents != reduction.kernel().extents) return;
    Draft above(b_, maker), below(b_, reduction);
    const loops::Node& reduced = below.nodes()[below.puts()[0].node];
    if (above.extents() != below.extents() || reduced.op == loops::Op::load) return;
    // What it reads of the maker's, each element in the iteration that makes it.
    std::vector<int> instead(below.loads().size(), -1);
    std::size_t saved = 0;
    for (std::size_t l = 0; l < instead.size(); ++l) {
      const DraftAccess& p = below.loads()[l];
      if (maker_[p.storage] != g) continue;
      const int put = put_of(above, p);
      if (put < 0) return;
      instead[l] = above.read_back(put);
      if (only_for_this(p.storage)) saved += b_.type(p.value).bytes();
    }
    Shape shape;
    for (std::int64_t n : below.extents()) shape.push_back(n);
    const Type type{shape, reduced.dtype};
    if (type.bytes() >= saved) return;
    const ValueId passed = b_.add_temporary(type, reduction.primitive, reduction.at, b_.values[reduction.out[0]].mark);
    maker_.add(g), readers_.add(1);
    // Stores that only the reduction read go, the one that it shall read comes.
    std::vector<StorageId> gone;
    for (std::size_t l = 0; l < instead.size(); ++l)
      if (instead[l] >= 0 && only_for_this(below.loads()[l].storage)) gone.push_back(below.loads()[l].storage);
    above.append(below.take_arithmetic(b_, passed), instead);
    for (std::size_t p = above.puts().size(); p-- > 0;)
      if (std::find(gone.begin(), gone.end(), above.puts()[p].to.storage) != gone.end()) above.drop_put(p);
    above.finish(b_, maker);
    below.finish(b_, reduction);
    if (reduction.made.empty()) return;
    maker.made.insert(maker.made.end(), reduction.made.begin(), std::prev(reduction.made.end()));
    reduction.made = {reduction.made.back()};
  }

  // Which put of the maker writes what a load reads, by the same iteration; -1: none.
  static int put_of(const Draft& maker, const DraftAccess& load) {
    for (int p = 0; p < std::ssize(maker.puts()); ++p) {
      const DraftAccess& to = maker.puts()[p].to;
      if (to.storage == load.storage && to.dtype == load.dtype && to.address == load.address) return p;
    }
    return -1;
  }

  bool only_for_this(StorageId s) const { return b_.storages[s].kind == Storage::Kind::temporary && readers_[s] == 1; }

  Body& b_;
  Table<StorageId, int> maker_;    // the step that writes each storage
  Table<StorageId, int> readers_;  // steps that read it
};

}  // namespace

void hoist(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) hoist(*nested);
  Hoisting(body).run();
}

}  // namespace anew::passes
