// Reading a Body into a FuseGraph, writing it back, and the bookkeeping between.
#include "passes/fuse_graph.h"

#include <unordered_map>

#include "base/base.h"

namespace anew::passes {
namespace {

// Of values that view the same elements in the same way, the first.
Table<ValueId, ValueId> same_values(const Body& body) {
  Table<ValueId, ValueId> same(body.values.size());
  std::unordered_multimap<std::size_t, ValueId> found;
  auto stride = [](const Value& v, int d) { return v.type.shape[d] == 1 ? 0 : v.strides[d]; };
  auto equal = [&](const Value& a, const Value& b) {
    if (a.storage != b.storage || a.offset != b.offset || !(a.type == b.type)) return false;
    for (int d = 0; d < a.type.shape.ndim(); ++d)
      if (stride(a, d) != stride(b, d)) return false;
    return true;
  };
  for (ValueId v : body.values.ids()) {
    const Value& value = body.values[v];
    std::size_t h = hash_value(value.type);
    hash_combine(h, value.storage.number);
    hash_combine(h, value.offset);
    for (int d = 0; d < value.type.shape.ndim(); ++d) hash_combine(h, stride(value, d));
    same[v] = v;
    auto [first, last] = found.equal_range(h);
    for (auto it = first; it != last; ++it)
      if (equal(body.values[it->second], value)) same[v] = it->second;
    if (same[v] == v) found.emplace(h, same[v]);
  }
  return same;
}

}  // namespace

FuseGraph::FuseGraph(Body& body)
    : body_(body),
      drafts_(body.steps.size()),
      writer_(body.storages.size(), nobody),
      last_writer_(body.storages.size(), nobody),
      readers_(body.storages.size()) {
  const Table<ValueId, ValueId> same = same_values(body_);
  for (Step& s : body_.steps) {
    is_kernel_.push_back(s.is<Kernel>());
    if (s.is<Kernel>())
      for (auto* list : {&s.in, &s.out})
        for (ValueId& v : *list) v = same[v];
    can_change_.push_back(is_kernel_.back() && !s.effects);
  }
  for (int s = -1; s < count(); ++s) next_.push_back(s + 1), previous_.push_back(s);
  for (int s = 0; s < count(); ++s)
    for (ValueId v : step(s).out) {
      int& w = writer(storage_of(v));
      w = w == nobody || w == s ? s : several;
      last_writer(storage_of(v)) = s;
    }
  for (int s = count() - 1; s >= 0; --s) {
    if (!is_kernel(s)) {
      for (ValueId v : step(s).in) add_reader(storage_of(v), s);
      continue;
    }
    draft(s) = Draft(body_, step(s));
    if (can_change(s)) drop_unread(s);
    draft(s).prune();
    for (const DraftAccess& p : draft(s).loads()) add_reader(p.storage, s);
    if (draft(s).puts().empty()) remove(s);
  }
}

void FuseGraph::drop_unread(int s) {
  for (std::size_t p = draft(s).puts().size(); p-- > 0;) {
    const StorageId to = draft(s).puts()[p].to.storage;
    if (is_temporary(to) && readers(to).empty()) draft(s).drop_put(p);
  }
}

bool FuseGraph::can_move(int g) {
  if (!can_change(g) || draft(g).reduces() || draft(g).iterations() == 0) return false;
  for (const Draft::Put& p : draft(g).puts())
    if (writer(p.to.storage) != g) return false;
  return true;
}

bool FuseGraph::reads_final(int g) {
  for (const DraftAccess& p : draft(g).loads())
    if (is_made_here(p.storage) && last_writer(p.storage) > g) return false;
  return true;
}

void FuseGraph::remove(int s) {
  const int before = previous_[s], after = next(s);
  next_[before + 1] = after;
  if (after < count()) previous_[after] = before;
}

void FuseGraph::lift(int c, int g) {
  remove(c);
  next_[(previous_[g]) + 1] = g;
  previous_[next(g)] = g;
  std::swap(step(g), step(c));
  std::swap(draft(g), draft(c));
  for (const DraftAccess& p : draft(g).loads())
    if (is_made_here(p.storage)) readers(p.storage).erase(c), readers(p.storage).insert(g);
  for (const Draft::Put& p : draft(g).puts()) writer(p.to.storage) = last_writer(p.to.storage) = g;
}

void FuseGraph::take_over(int g, int c) {
  step(c).flops += step(g).flops;
  step(g).made.insert(step(g).made.end(), step(c).made.begin(), step(c).made.end());
  step(c).made = std::move(step(g).made);
}

void FuseGraph::write(const std::map<int, std::vector<Draft>>& pieces) {
  std::map<int, int> at;  // where steps in pieces come to be
  int kept = 0;
  Table<StorageId, bool> written(body_.storages.size());
  for (int s = first(); s < count(); s = next(s)) {
    if (is_kernel(s)) draft(s).finish(body_, step(s));
    if (pieces.count(s)) at[kept] = s;
    for (ValueId v : step(s).out) written[storage_of(v)] = true;
    if (kept != s) body_.steps[kept] = std::move(step(s));
    ++kept;
  }
  body_.steps.resize(kept);
  if (!at.empty()) write_pieces(at, pieces);
  for (Value& v : body_.values)
    if (v.storage && is_temporary(v.storage) && !written[v.storage]) v.storage = {};
}

void FuseGraph::write_pieces(const std::map<int, int>& at, const std::map<int, std::vector<Draft>>& pieces) {
  std::vector<Step> steps;
  for (int i = 0; i < count(); ++i) {
    Step& whole = body_.steps[i];
    const auto it = at.find(i);
    if (it == at.end()) {
      steps.push_back(std::move(whole));
      continue;
    }
    for (const Draft& d : pieces.at(it->second)) {
      steps.push_back(whole);
      steps.back().flops *= static_cast<double>(d.iterations()) / static_cast<double>(draft(it->second).iterations());
      d.finish(body_, steps.back());
    }
  }
  body_.steps = std::move(steps);
}

}  // namespace anew::passes
