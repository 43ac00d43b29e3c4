// Fusion: kernels that can share a loop nest become one. A producer moves down to its consumer, never a consumer up, so
// that what is computed late stays late; but for reductions that shrink what they alone read. Invariants: bits never
// change, since every element is still made by the same operations and reductions keep their order; nothing that
// computes is evaluated more often than before: only copies, constants and indices are duplicated; live memory between
// the two places of a producer does not grow (by more than one part in 16: rows have statistics).
// Walks over the steps until nothing changes, mostly three; a kernel that has taken in its producers is one producer
// for those after it.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "passes/fuse_graph.h"
#include "passes/fuse_inline.h"

namespace anew::passes {
namespace {

// Beyond these a kernel compiles slowly and runs out of registers.
constexpr std::size_t most_loads = 64, most_puts = 64;
constexpr int most_weight = 16000;

using loops::Op;

class Fuser : FuseGraph {
 public:
  using FuseGraph::FuseGraph;

  // Whether steps have gone that were in the way of others, so that it may be worth another time.
  bool run() {
    find_parts();
    // A kernel that has moved down may have been in the way of an earlier one. Those that wait for a better place are
    // asked again when nothing else moves.
    for (bool waits : {true, false}) {
      waits_ = waits;
      for (std::size_t before = changes_ + 1; before != changes_;) {
        before = changes_;
        for (int g = first(); g < count(); g = next(g)) spread(g);
        find_ends();
        for (int c = first(); c < count(); c = next(c)) gather(c);
      }
    }
    const auto pieces = read_parts(*this);
    write(pieces);
    return !pieces.empty();
  }

 private:
  // ---- copies and constants: into every reader

  void spread(int g) {
    if (!can_move(g) || draft(g).puts().size() != 1) return;
    const bool copies = is_copy(draft(g));
    if ((!copies && !is_pattern(draft(g))) || !reads_final(g)) return;
    const StorageId made = draft(g).puts()[0].to.storage;
    if (copies && !copy_can_go(g)) return;
    std::vector<std::pair<int, Draft>> changed;
    for (int c : readers(made)) {
      std::optional<Draft> d = is_kernel(c) ? with_inlined(c, g) : std::nullopt;
      if (d) changed.emplace_back(c, std::move(*d));
      else if (copies) return;
    }
    changes_ += changed.size();
    for (auto& [c, d] : changed) {
      draft(c) = std::move(d);
      readers(made).erase(c);
      for (const DraftAccess& p : draft(g).loads()) add_reader(p.storage, c);
    }
    if (!is_temporary(made) || !readers(made).empty()) return;
    for (const DraftAccess& p : draft(g).loads())
      if (is_made_here(p.storage)) readers(p.storage).erase(g);
    if (!changed.empty()) take_over(g, changed.back().first);
    remove(g);
  }

  static bool is_copy(const Draft& d) {
    return d.nodes().size() == 1 && d.nodes()[0].op == Op::load && d.loads()[0].dtype == d.puts()[0].to.dtype;
  }
  // Indices and constants.
  static bool is_pattern(const Draft& d) {
    return std::all_of(d.nodes().begin(), d.nodes().end(), [](const loops::Node& n) {
      return n.op == Op::index || n.op == Op::constant || n.op == Op::convert;
    });
  }
  // Its source may live as long as the copy would, and nobody makes the source only for it: then that is fused into
  // the copy, and readers find their elements in order.
  bool copy_can_go(int g) {
    const StorageId from = draft(g).loads()[0].storage, made = draft(g).puts()[0].to.storage;
    if (!is_temporary(made) || readers(made).empty()) return false;
    if (!is_made_here(from)) return true;
    const int w = writer(from);
    if (w >= 0 && readers(from).size() == 1 && is_temporary(from) && can_move(w) &&
        draft(w).iterations() == draft(g).iterations())
      return false;
    const bool longer = *readers(from).rbegin() < *readers(made).rbegin();
    return !longer || !is_temporary(from) || storage(from).bytes <= storage(made).bytes;
  }

  // Step c with what g makes in place of its loads of it.
  std::optional<Draft> with_inlined(int c, int g) {
    std::vector<const Draft*> makers;
    for (const DraftAccess& p : draft(c).loads())
      makers.push_back(p.storage == draft(g).puts()[0].to.storage ? &draft(g) : nullptr);
    std::optional<Draft> out = inlined(draft(c), makers);
    if (out && out->loads().size() > std::max(most_loads, draft(c).loads().size())) return std::nullopt;
    return out;
  }

  // ---- arithmetic: producers into their consumer

  void gather(int c) {
    if (!is_kernel(c) || draft(c).iterations() == 0) return;
    std::vector<int> tried;
    while (true) {
      // The smallest producer first, of equal ones the latest: what is copied is then small beside what it is added to.
      int g = -1;
      for (const DraftAccess& p : draft(c).loads()) {
        const int w = writer(p.storage);
        if (w < 0 || w == g || w == c || !is_kernel(w) || std::find(tried.begin(), tried.end(), w) != tried.end())
          continue;
        if (g < 0 || draft(w).weight() < draft(g).weight() || (draft(w).weight() == draft(g).weight() && w > g)) g = w;
      }
      if (g < 0) return;
      const int at = fuse_into(g, c);
      if (at < 0) {
        tried.push_back(g);
      } else {
        tried.clear();  // it may have been in the way of another
        c = at;
      }
    }
  }

  // The kernel that alone reads the only result of c, of as many iterations; -1: none.
  int only_reader(int c) {
    if (!is_kernel(c) || draft(c).reduces() || draft(c).puts().size() != 1) return -1;
    const StorageId made = draft(c).puts()[0].to.storage;
    if (!is_temporary(made) || readers(made).size() != 1 || writer(made) != c) return -1;
    const int r = *readers(made).begin();
    return is_kernel(r) && draft(r).iterations() == draft(c).iterations() ? r : -1;
  }
  // Chains of such kernels that end in a reduction.
  void find_ends() {
    feeds_reduction_.resize(count());
    for (int c = count() - 1; c >= 0; --c) {
      const int r = only_reader(c);
      feeds_reduction_[c] = r >= 0 && (draft(r).reduces() || feeds_reduction_[r]);
    }
  }
  // Whether c, once it holds the store of a value that `readers` still need, could not go on into its own reader. That
  // saves a write and a read, taking the producer in saves a read.
  bool would_stay(int c, const std::set<int>& readers) {
    if (feeds_reduction_[c]) return true;
    const int r = only_reader(c);
    const auto after = readers.upper_bound(c);
    return r >= 0 && after != readers.end() && *after < r;
  }

  // Where the kernel of both is; -1: they stay two.
  int fuse_into(int g, int c) {
    if (!can_move(g) || !reads_final(g)) return -1;
    const Draft &producer = draft(g), &consumer = draft(c);
    if (producer.iterations() != consumer.iterations()) return -1;
    if (producer.weight() + consumer.weight() > most_weight) return -1;
    std::size_t puts = consumer.puts().size(), loads = producer.loads().size() + consumer.loads().size();
    for (const Draft::Put& p : producer.puts()) {
      const std::set<int>& r = readers(p.to.storage);
      const auto after = r.upper_bound(g);
      if (after != r.end() && *after < c) return -1;
      const bool vanishes = is_temporary(p.to.storage) && r.size() == 1 && *r.begin() == c;
      if (!vanishes && waits_ && would_stay(c, r)) return -1;
      if (!vanishes) ++puts;
      if (r.count(c)) --loads;
    }
    if (consumer.reduces() && puts > 1) return -1;
    if (puts > most_puts || loads > most_loads) return -1;
    const bool lifts = next(g) != c && grows(g, c);
    if (lifts && !can_lift(g, c)) return -1;
    if (!merge(g, c)) return -1;
    if (!lifts) return c;
    lift(c, g);
    return g;
  }

  // Temporaries put together from copies and constants: they will be read through, so what they are copied from counts.
  void find_parts() {
    std::set<StorageId> others;
    for (int s = first(); s < count(); s = next(s)) {
      if (!is_kernel(s)) {
        for (ValueId v : step(s).out) others.insert(storage_of(v));
        continue;
      }
      for (const Draft::Put& p : draft(s).puts()) {
        if (writer(p.to.storage) != several || !is_temporary(p.to.storage)) continue;
        if (draft(s).nodes().size() != 1) others.insert(p.to.storage);
        for (const DraftAccess& from : draft(s).loads()) sources_[p.to.storage].insert(from.storage);
      }
    }
    for (StorageId s : others) sources_.erase(s);
  }

  // Whether moving g down to c keeps more alive in between than it saves: what nobody but g would read until c, against
  // what g makes.
  bool grows(int g, int c) {
    std::size_t longer = 0, later = 0;
    std::set<StorageId> read;
    for (const DraftAccess& p : draft(g).loads()) {
      if (const auto parts = sources_.find(p.storage); parts != sources_.end())
        read.insert(parts->second.begin(), parts->second.end());
      else read.insert(p.storage);
    }
    for (StorageId s : read)
      if (is_temporary(s) && !readers(s).empty() && *readers(s).rbegin() < c) longer += storage(s).bytes;
    for (const Draft::Put& p : draft(g).puts())
      if (is_temporary(p.to.storage)) later += storage(p.to.storage).bytes;
    return longer > later + later / 16;
  }

  // Whether the reduction c may instead go up to g, the only maker of what it alone reads: nothing else that it needs
  // is made in between, and its result is no larger than what vanishes, so nothing is alive that was not before.
  bool can_lift(int g, int c) {
    if (!draft(c).reduces() || !can_change(c)) return false;
    const StorageId result = draft(c).puts()[0].to.storage;
    std::size_t vanishes = 0;
    for (const Draft::Put& p : draft(g).puts()) vanishes += storage(p.to.storage).bytes;
    for (const DraftAccess& p : draft(c).loads())
      if (is_made_here(p.storage) && last_writer(p.storage) > g) return false;
    return writer(result) == c && storage(result).bytes <= vanishes;
  }

  bool merge(int g, int c) {
    const Draft& producer = draft(g);
    Draft& consumer = draft(c);
    // Every load of what g makes must read it through one map, or an element would be computed twice.
    std::vector<int> put_of(consumer.loads().size(), -1);
    std::optional<Match> m;
    for (std::size_t l = 0; l < put_of.size(); ++l) {
      const DraftAccess& p = consumer.loads()[l];
      for (std::size_t k = 0; k < producer.puts().size(); ++k)
        if (producer.puts()[k].to.storage == p.storage) put_of[l] = static_cast<int>(k);
      if (put_of[l] < 0) continue;
      const DraftAccess& from = producer.puts()[put_of[l]].to;
      if (from.dtype != p.dtype) return false;
      if (!m) m = match(from.address, producer.extents(), p.address, consumer.extents());
      if (!m || !m->bijective) return false;
      Address read = p.address;
      std::size_t rank = consumer.extents().size();
      for (const Cut& cut : m->cuts) read = compose(read, map_of(cut, rank), rank + 1), ++rank;
      if (!(read == compose(from.address, m->map, rank))) return false;
    }
    for (const Cut& cut : m->cuts) consumer.cut(cut);
    Draft merged = std::move(draft(g));
    merged.move_to(m->map, consumer.extents(), consumer.reduced());
    std::vector<int> instead(put_of.size(), -1);
    for (std::size_t l = 0; l < put_of.size(); ++l)
      if (put_of[l] >= 0) instead[l] = merged.read_back(put_of[l]);
    for (const DraftAccess& p : merged.loads())
      if (is_made_here(p.storage)) readers(p.storage).erase(g), readers(p.storage).insert(c);
    for (std::size_t k = merged.puts().size(); k-- > 0;) {
      const StorageId made = merged.puts()[k].to.storage;
      readers(made).erase(c);
      writer(made) = c;
      last_writer(made) = c;
      if (is_temporary(made) && readers(made).empty()) merged.drop_put(k), writer(made) = nobody;
    }
    merged.append(consumer, instead);
    consumer = std::move(merged);
    take_over(g, c);
    remove(g);
    ++changes_;
    return true;
  }

  std::vector<bool> feeds_reduction_;
  std::map<StorageId, std::set<StorageId>> sources_;
  std::size_t changes_ = 0;
  bool waits_ = true;
};

void fuse_all(Body& body, std::unordered_set<const Body*>& done) {
  if (!done.insert(&body).second) return;
  for (Step& s : body.steps)
    for (auto& nested : s.bodies) fuse_all(*nested, done);
  while (Fuser(body).run()) {
  }
}

}  // namespace

void fuse(Body& body) {
  std::unordered_set<const Body*> done;
  fuse_all(body, done);
}

}  // namespace anew::passes
