// Small kernels in the body of a loop become one. Where a step of the loop is short, calls and what kernels hand to
// each other through memory cost more than the arithmetic; joined, it stays in registers. Kernels of one nest are
// joined whether or not they share anything, and a kernel over a few rows of such a nest is unrolled: what stacks rows,
// what works on all of them and what looks at one of them again are then one nest. Invariant: every element is made by
// the same operations as before; what a kernel reads of an earlier one is the value that was written there last.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "passes/fuse_draft.h"

namespace anew::passes {
namespace {

// Beyond these arithmetic counts, not calls; a kernel compiles slowly and runs out of registers.
constexpr std::int64_t most_elements = 4096, most_rows = 8;
constexpr int most_joined_weight = 800;
constexpr std::size_t most_joined_loads = 64, most_joined_puts = 64;

// Whether base + sum of coefficient * variable takes no value that the other takes, by where they begin and end.
bool apart(std::int64_t base_a, const std::vector<std::int64_t>& a, std::int64_t base_b,
           const std::vector<std::int64_t>& b, const Extents& extents) {
  auto range = [&](std::int64_t base, const std::vector<std::int64_t>& coefficients) {
    std::pair<std::int64_t, std::int64_t> r{base, base};
    for (std::size_t v = 0; v < extents.size(); ++v)
      (coefficients[v] < 0 ? r.first : r.second) += coefficients[v] * (extents[v] - 1);
    return r;
  };
  const auto [low_a, high_a] = range(base_a, a);
  const auto [low_b, high_b] = range(base_b, b);
  return high_a < low_b || high_b < low_a;
}

enum class Meeting { never, always, sometimes };
// Whether two accesses of one storage touch the same element: in no iterations, in the same one and no other, or else.
Meeting meeting(const DraftAccess& a, const DraftAccess& b, const Extents& extents) {
  if (a.dtype != b.dtype) return Meeting::sometimes;
  if (a.address == b.address) return Meeting::always;
  const Address &x = a.address, &y = b.address;
  return apart(x.base, x.coefficients, y.base, y.coefficients, extents) ? Meeting::never : Meeting::sometimes;
}
// Whether two accesses of one value keep to different places along a dimension, as stores of one kernel have to.
bool in_other_places(const DraftAccess& a, const DraftAccess& b, const Extents& extents) {
  for (std::size_t d = 0; d < a.index.size(); ++d) {
    const loops::Affine &f = a.index[d], &g = b.index[d];
    if (apart(f.constant, f.coefficients, g.constant, g.coefficients, extents)) return true;
  }
  return false;
}

// A step, or several that are joined.
struct Item {
  std::vector<int> steps;
  Extents nest;                // of what can be joined
  std::optional<Draft> draft;  // none: cannot be joined with anything
  std::set<StorageId> reads, writes;
};

bool disjoint(const std::set<StorageId>& a, const std::set<StorageId>& b) {
  return std::none_of(a.begin(), a.end(), [&](StorageId s) { return b.count(s) != 0; });
}
bool independent(const Item& a, const Item& b) {
  return disjoint(a.writes, b.reads) && disjoint(a.reads, b.writes) && disjoint(a.writes, b.writes);
}

class Joiner {
 public:
  explicit Joiner(Body& body) : b_(body) {}

  void run() {
    std::vector<Item> steps;
    for (int i = 0; i < std::ssize(b_.steps); ++i) steps.push_back(item(i));
    for (const Item& s : steps)
      if (s.draft)
        for (StorageId stack : stacks(s, s.nest)) nests_[s.nest].insert(stack);
    for (Item& s : steps) add(std::move(s));
    if (std::any_of(items_.begin(), items_.end(), [](const Item& i) { return i.steps.size() > 1; })) write();
  }

 private:
  Item item(int i) const {
    Item out{{i}, {}, {}, {}, {}};
    const Step& s = b_.steps[i];
    for (ValueId v : s.in) out.reads.insert(b_.values[v].storage);
    for (ValueId v : s.out) out.writes.insert(b_.values[v].storage);
    if (!s.is_elementwise() || s.effects) return out;
    Draft d(b_, s);
    d.prune();
    if (d.iterations() == 0 || d.iterations() > most_elements || d.weight() > most_joined_weight) return out;
    out.nest = d.extents();
    out.draft = std::move(d);
    return out;
  }

  // What it reads and writes that has several rows of this nest.
  std::set<StorageId> stacks(const Item& item, const Extents& nest) const {
    std::set<StorageId> out;
    auto look = [&](const DraftAccess& p) {
      const std::size_t row = static_cast<std::size_t>(iterations(nest)) * size_of(p.dtype);
      if (b_.storages[p.storage].bytes >= 2 * row) out.insert(p.storage);
    };
    for (const DraftAccess& p : item.draft->loads()) look(p);
    for (const Draft::Put& p : item.draft->puts()) look(p.to);
    return out;
  }
  // The smallest nest of which this kernel does a few rows and another one a single row of the same array; its own, if
  // there is none.
  Extents rows_of(const Item& item) const {
    for (std::size_t k = item.nest.size(); k > 0; --k) {
      const Extents inner(item.nest.begin() + static_cast<std::ptrdiff_t>(k), item.nest.end());
      const auto others = nests_.find(inner);
      if (others != nests_.end() && iterations(item.nest) <= most_rows * iterations(inner) &&
          !disjoint(others->second, stacks(item, inner)))
        return inner;
    }
    return item.nest;
  }

  // Row by row over the inner variables of its nest.
  static std::optional<Draft> unrolled(const Draft& whole, const Extents& inner) {
    const std::size_t outer = whole.extents().size() - inner.size();
    Map map(whole.extents().size(), loops::Affine{std::vector<std::int64_t>(inner.size()), 0});
    for (std::size_t v = 0; v < inner.size(); ++v) map[outer + v].coefficients[v] = 1;
    std::optional<Draft> out;
    for (std::int64_t row = 0; row < whole.iterations() / iterations(inner); ++row) {
      std::int64_t rest = row;
      for (std::size_t v = outer; v-- > 0; rest /= whole.extents()[v]) map[v].constant = rest % whole.extents()[v];
      Draft one = whole;
      one.move_to(map, inner, std::vector<bool>(inner.size(), false));
      out = out ? appended(std::move(*out), one) : std::move(one);
      if (!out) return out;
    }
    return out;
  }

  // Both, one after the other, in one nest; none where an iteration reads what another one writes, or what was written
  // in parts is there in part.
  static std::optional<Draft> appended(Draft first, const Draft& next) {
    if (first.weight() + next.weight() > most_joined_weight) return std::nullopt;
    const Extents& nest = first.extents();
    std::vector<int> instead(next.loads().size(), -1);
    for (std::size_t l = 0; l < instead.size(); ++l) {
      bool is_made_here = false;
      for (std::size_t p = 0; p < first.puts().size(); ++p) {
        const DraftAccess &load = next.loads()[l], &put = first.puts()[p].to;
        if (load.storage != put.storage) continue;
        is_made_here = true;
        const Meeting m = meeting(load, put, nest);
        if (m == Meeting::sometimes) return std::nullopt;
        if (m == Meeting::always) instead[l] = first.read_back(p);
      }
      if (is_made_here && instead[l] < 0) return std::nullopt;
    }
    std::set<std::size_t, std::greater<>> overwritten;
    for (const Draft::Put& put : next.puts()) {
      if (loads(first, put.to.storage)) return std::nullopt;
      for (std::size_t p = 0; p < first.puts().size(); ++p) {
        const DraftAccess& before = first.puts()[p].to;
        if (before.storage != put.to.storage) continue;
        const Meeting m = meeting(put.to, before, nest);
        if (before.value != put.to.value) return std::nullopt;
        if (m == Meeting::always) overwritten.insert(p);
        else if (!in_other_places(put.to, before, nest)) return std::nullopt;
      }
    }
    for (std::size_t p : overwritten) first.drop_put(p);
    first.append(next, instead);
    if (first.loads().size() > most_joined_loads || first.puts().size() > most_joined_puts) return std::nullopt;
    return first;
  }
  static bool loads(const Draft& d, StorageId storage) {
    return std::any_of(d.loads().begin(), d.loads().end(),
                       [&](const DraftAccess& load) { return load.storage == storage; });
  }

  void add(Item step) {
    if (step.draft) {
      const Extents inner = rows_of(step);
      std::optional<Draft> rows = inner == step.nest ? std::nullopt : unrolled(*step.draft, inner);
      if (rows) step.draft = std::move(rows), step.nest = inner;
      // Either the step moves up to the last kernels of its nest, or these move down to it.
      std::size_t at = items_.size();
      while (at > 0 && !(items_[at - 1].draft && items_[at - 1].nest == step.nest)) --at;
      if (at > 0 && (stays_apart(step, at) || stays_apart(items_[at - 1], at)) && join(at - 1, step)) return;
    }
    items_.push_back(std::move(step));
  }
  // Whether the order of an item and those from `from` on does not matter.
  bool stays_apart(const Item& item, std::size_t from) const {
    return std::all_of(items_.begin() + static_cast<std::ptrdiff_t>(from), items_.end(),
                       [&](const Item& other) { return independent(item, other); });
  }
  bool join(std::size_t at, const Item& step) {
    std::optional<Draft> both = appended(*items_[at].draft, *step.draft);
    if (!both) return false;
    const bool up = stays_apart(step, at + 1);
    Item& first = items_[at];
    first.draft = std::move(both);
    first.steps.insert(first.steps.end(), step.steps.begin(), step.steps.end());
    first.reads.insert(step.reads.begin(), step.reads.end());
    first.writes.insert(step.writes.begin(), step.writes.end());
    const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(at);
    if (!up) std::rotate(begin, begin + 1, items_.end());
    return true;
  }

  // Temporaries that only the kernels of an item touch are gone.
  void drop_puts(Item& item) const {
    for (std::size_t p = item.draft->puts().size(); p-- > 0;) {
      const StorageId to = item.draft->puts()[p].to.storage;
      const bool read = std::any_of(items_.begin(), items_.end(),
                                    [&](const Item& other) { return &other != &item && other.reads.count(to) != 0; });
      if (b_.storages[to].kind == Storage::Kind::temporary && !read) item.draft->drop_put(p);
    }
    item.draft->prune();
  }

  void write() {
    std::vector<Step> steps;
    Table<StorageId, bool> written(b_.storages.size());
    for (Item& item : items_) {
      Step s = std::move(b_.steps[item.steps.back()]);
      if (item.steps.size() > 1) {
        std::vector<Step::Made> made;
        for (int i : item.steps) {
          const Step& one = i == item.steps.back() ? s : b_.steps[i];
          made.insert(made.end(), one.made.begin(), one.made.end());
          if (i != item.steps.back()) s.flops += one.flops;
        }
        s.made = std::move(made);
        drop_puts(item);
        if (item.draft->puts().empty()) continue;
        item.draft->finish(b_, s);
      }
      for (ValueId v : s.out) written[b_.values[v].storage] = true;
      steps.push_back(std::move(s));
    }
    b_.steps = std::move(steps);
    for (Value& v : b_.values)
      if (v.storage && b_.storages[v.storage].kind == Storage::Kind::temporary && !written[v.storage]) v.storage = {};
  }

  Body& b_;
  std::map<Extents, std::set<StorageId>> nests_;  // of all kernels, and of which arrays they touch rows
  std::vector<Item> items_;
};

void join_in(Body& body, bool in_loop, std::set<const Body*>& done) {
  if (!done.insert(&body).second) return;
  for (Step& s : body.steps)
    for (auto& nested : s.bodies) join_in(*nested, in_loop || s.is<Loop>() || s.is<Unwind>(), done);
  if (in_loop) Joiner(body).run();
}

}  // namespace

void join(Body& body) {
  std::set<const Body*> done;
  join_in(body, false, done);
}

}  // namespace anew::passes
