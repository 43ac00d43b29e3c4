// See tile_parts.h.
#include "passes/tile_parts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/dtype.h"

namespace anew::passes {

Numbers rows_of(const loops::Kernel& k) {
  std::size_t r = 0;
  while (r < k.extents.size() && !k.reduced[r]) ++r;
  if (std::find(k.reduced.begin() + static_cast<std::ptrdiff_t>(r), k.reduced.end(), false) != k.reduced.end())
    return {};
  return {k.extents.begin(), k.extents.begin() + static_cast<std::ptrdiff_t>(r)};
}

std::int64_t stride_of(const loops::Access& a, const Strides& strides, std::size_t v) {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < a.index.size(); ++d) sum += a.index[d].coefficients[v] * strides[static_cast<int>(d)];
  return sum;
}

loops::Kernel widened(const loops::Kernel& k) {
  const std::vector<loops::Affine>& index = k.stores[0].to.index;
  const Shape& shape = k.operands[static_cast<std::size_t>(k.stores[0].to.operand)].shape;
  loops::Kernel out = k;
  auto used = [&](const loops::Affine& f) {
    return std::any_of(f.coefficients.begin(), f.coefficients.end(), [](std::int64_t c) { return c != 0; });
  };
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (used(index[d]) || shape[static_cast<int>(d)] != 1 || d > out.extents.size()) continue;
    const auto at = static_cast<std::ptrdiff_t>(d);
    out.extents.insert(out.extents.begin() + at, 1);
    out.reduced.insert(out.reduced.begin() + at, false);
    auto widen = [&](loops::Access& a) {
      for (loops::Affine& f : a.index) f.coefficients.insert(f.coefficients.begin() + at, 0);
    };
    for (loops::Access& a : out.accesses) widen(a);
    for (loops::Store& s : out.stores) widen(s.to);
    for (loops::Node& n : out.nodes) n.imm += n.op == loops::Op::index && n.imm >= d;
  }
  return out;
}

loops::Kernel restricted(const loops::Kernel& k, std::size_t rows, std::int64_t tile) {
  loops::Kernel out = k;
  const auto gone = static_cast<std::ptrdiff_t>(rows - 1);
  out.extents.erase(out.extents.begin(), out.extents.begin() + gone);
  out.reduced.erase(out.reduced.begin(), out.reduced.begin() + gone);
  out.extents[0] = tile;
  auto cut = [&](loops::Access& a) {
    for (loops::Affine& f : a.index) f.coefficients.erase(f.coefficients.begin(), f.coefficients.begin() + gone);
  };
  for (loops::Access& a : out.accesses) cut(a);
  for (loops::Store& s : out.stores) cut(s.to);
  for (loops::Node& n : out.nodes)
    if (n.op == loops::Op::index) n.imm -= rows - 1;
  return out;
}

Shape touched(const loops::Kernel& k, int operand, Shape shape) {
  Shape most = shape;
  for (int d = 0; d < most.ndim(); ++d) most[d] = 0;
  const bool empty = std::find(k.extents.begin(), k.extents.end(), 0) != k.extents.end();
  for (const loops::Access& a : k.accesses) {
    if (a.operand != operand) continue;
    for (int d = 0; d < shape.ndim(); ++d) {
      std::int64_t high = a.index[d].constant;
      for (std::size_t v = 0; v < k.extents.size(); ++v)
        high += std::max<std::int64_t>(0, a.index[d].coefficients[v] * (k.extents[v] - 1));
      most[d] = std::max(most[d], high + 1);
    }
  }
  return empty ? shape : most;
}

namespace {

bool is_own_or_scalar(const loops::Kernel& k, const loops::Access& a) {
  return a.index.empty() || is_identity(a.index, k.extents.size());
}

}  // namespace

bool has_any_shape(const loops::Kernel& k) {
  const bool reduces = k.combine != loops::Combine::none;
  auto numbers_row = [](const loops::Node& n) { return n.op == loops::Op::index; };
  auto fine = [&](const loops::Access& a) { return is_own_or_scalar(k, a); };
  if (std::any_of(k.nodes.begin(), k.nodes.end(), numbers_row) ||
      !std::all_of(k.accesses.begin(), k.accesses.end(), fine))
    return false;
  if (!reduces)
    return std::all_of(k.stores.begin(), k.stores.end(),
                       [&](const loops::Store& s) { return is_identity(s.to.index, k.extents.size()); });
  const DType made = k.nodes[static_cast<std::size_t>(k.stores[0].node)].dtype;
  return !loops::finds_position(k.combine) && std::find(k.reduced.begin(), k.reduced.end(), false) == k.reduced.end() &&
         computed_type(made) == made && k.operands[static_cast<std::size_t>(k.stores[0].to.operand)].dtype == made;
}

loops::Kernel in_blocks(const loops::Kernel& k) {
  const std::int64_t n = std::accumulate(k.extents.begin(), k.extents.end(), std::int64_t{1}, std::multiplies<>());
  const Shape shape{n / loops::row_block, loops::row_block};
  loops::Kernel out = k;
  out.extents = {shape[0], shape[1]};
  out.reduced = {false, k.combine != loops::Combine::none};
  auto reshape = [&](loops::Access& a) {
    if (a.index.empty()) return;
    a.index = {{{1, 0}, 0}, {{0, 1}, 0}};
    out.operands[static_cast<std::size_t>(a.operand)].shape = shape;
  };
  for (loops::Access& a : out.accesses) reshape(a);
  for (loops::Store& s : out.stores) {
    if (k.combine == loops::Combine::none) {
      reshape(s.to);
      continue;
    }
    s.to.index = {{{1, 0}, 0}};
    out.operands[static_cast<std::size_t>(s.to.operand)].shape = {shape[0]};
  }
  return out;
}

loops::Kernel sum_of_blocks(const loops::Kernel& sum, const Type& blocks) {
  loops::Kernel k;
  k.operands = {blocks, sum.operands[static_cast<std::size_t>(sum.stores[0].to.operand)]};
  k.extents = {blocks.shape[0]};
  k.reduced = {true};
  k.combine = sum.combine;
  k.nodes = {{.op = loops::Op::load, .dtype = blocks.dtype, .imm = 0}};
  k.accesses = {{0, {{{1}, 0}}}};
  k.stores = {{0, sum.stores[0].to}};
  k.stores[0].to.operand = 1;
  return k;
}

void move_to_readers(Body& body) {
  auto touches = [&](const std::vector<ValueId>& list, ValueId v) {
    return std::any_of(list.begin(), list.end(),
                       [&](ValueId w) { return body.values[w].storage == body.values[v].storage; });
  };
  std::vector<Step>& steps = body.steps;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const Step& s = steps[i];
    if (!s.is<Call>() || s.as<Call>()->cuts.empty() || s.effects) continue;
    auto changes = [&](const Step& t) {
      return std::any_of(s.in.begin(), s.in.end(), [&](ValueId v) { return touches(t.out, v); });
    };
    std::size_t r = i + 1;
    while (r < steps.size() && !touches(steps[r].in, s.out[0]) && !changes(steps[r])) ++r;
    if (r == steps.size() || !steps[r].is<Kernel>() || !touches(steps[r].in, s.out[0])) continue;
    const auto from = steps.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(from, from + 1, steps.begin() + static_cast<std::ptrdiff_t>(r));
  }
}

bool no_larger(const Body& body, std::size_t begin, std::size_t end, std::size_t scratch) {
  const Table<StorageId, Span> spans = spans_of(body);
  const int first = static_cast<int>(begin), last = static_cast<int>(end) - 1;
  std::set<StorageId> all;
  for (std::size_t k = begin; k < end; ++k)
    for (const auto* list : {&body.steps[k].in, &body.steps[k].out})
      for (ValueId v : *list)
        if (body.storage_of(v).kind == Storage::Kind::temporary) all.insert(body.values[v].storage);
  std::size_t together = scratch, most = 0;
  for (StorageId s : all)
    if (spans[s].first < first || spans[s].last > last) together += body.storages[s].bytes;
  for (int k = first; k <= last; ++k) {
    const Step& step = body.steps[static_cast<std::size_t>(k)];
    std::size_t live = 0;
    std::multiset<std::size_t> ending, starting;  // bytes of what a kernel may write over, and of what it writes
    for (StorageId s : all) {
      if (spans[s].first > k || spans[s].last < k) continue;
      live += body.storages[s].bytes;
      if (spans[s].last == k) ending.insert(body.storages[s].bytes);
      if (spans[s].first == k) starting.insert(body.storages[s].bytes);
    }
    for (std::size_t bytes : starting)
      if (auto it = ending.find(bytes); step.is<Kernel>() && it != ending.end()) {
        live -= bytes;
        ending.erase(it);
      }
    most = std::max(most, live);
  }
  return together <= most;
}

}  // namespace anew::passes
