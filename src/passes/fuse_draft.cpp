// Drafts: from a step and back, equal nodes found by hash, nests replaced. Index nodes are the only ones that depend on
// the nest itself; all others depend on it through their loads.
#include "passes/fuse_draft.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "base/dtype.h"
#include "loops/build.h"
#include "loops/interpreter.h"

namespace anew::passes {
namespace {

using loops::Node;
using loops::Op;

int expanded_size(loops::Math m, DType dtype) {
  loops::Kernel k = loops::elementwise({ShapeDtype{{}, dtype}}, [&](loops::Expr x) {
    return loops::arity(m) == 2 ? loops::call(m, x, x) : loops::call(m, x);
  });
  return static_cast<int>(loops::expand(k).nodes.size());
}

int weight_of(const Node& n) {
  if (n.op != Op::call) return 1;
  using Table = std::array<std::array<int, loops::math_count>, 2>;
  static const Table table = [] {
    Table t;
    for (int m = 0; m < loops::math_count; ++m)
      for (DType d : {f32, f64}) t[d == f64][m] = expanded_size(static_cast<loops::Math>(m), d);
    return t;
  }();
  return table[n.dtype == f64][n.imm];
}

// A reduction of single elements is those elements.
bool joins_nothing(const loops::Kernel& k) {
  if (k.combine == loops::Combine::none || finds_position(k.combine)) return false;
  for (std::size_t v = 0; v < k.extents.size(); ++v)
    if (k.reduced[v] && k.extents[v] != 1) return false;
  return true;
}

// What a node with constant operands gives, by the interpreter, so with the bits it would have later.
Node folded(Node n, const std::vector<Node>& nodes) {
  loops::Kernel k;
  for (std::int32_t* x : {&n.a, &n.b, &n.c}) {
    if (*x < 0) continue;
    k.nodes.push_back(nodes[*x]);
    *x = static_cast<std::int32_t>(k.nodes.size()) - 1;
  }
  k.nodes.push_back(n);
  k.operands.push_back({{}, n.dtype});
  k.stores.push_back({static_cast<int>(k.nodes.size()) - 1, {0, {}}});
  std::uint64_t bits = 0;
  const loops::Operand out{&bits, nullptr};
  loops::run(k, std::span(&out, 1));
  return {.op = Op::constant, .dtype = n.dtype, .imm = bits};
}

// Operands by their new names.
int renamed(std::int32_t n, const std::vector<int>& names) { return n < 0 ? n : names[n]; }
Node renamed(Node n, const std::vector<int>& names) {
  n.a = renamed(n.a, names), n.b = renamed(n.b, names), n.c = renamed(n.c, names);
  return n;
}

}  // namespace

int NodeTable::add(std::vector<Node>& nodes, const Node& node) {
  const auto id = static_cast<std::int32_t>(nodes.size());
  auto slot_of = [&](const Node& n) {  // where it is, or would be
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = loops::hash_value(n) & mask;
    while (slots_[at] >= 0 && !(nodes[slots_[at]] == n)) at = (at + 1) & mask;
    return at;
  };
  if (slots_.size() < 2 * (nodes.size() + 1)) {
    slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), -1);
    for (std::size_t n = 0; n < nodes.size(); ++n) slots_[slot_of(nodes[n])] = static_cast<std::int32_t>(n);
  }
  const std::size_t at = slot_of(node);
  if (slots_[at] >= 0) return slots_[at];
  slots_[at] = id;
  nodes.push_back(node);
  return id;
}

Draft::Draft(const Body& body, const Step& step) {
  const loops::Kernel& k = step.kernel();
  if (!joins_nothing(k)) combine_ = k.combine;
  // Variables that run once: gone, but for reductions, whose order depends on which variable is the last.
  for (std::size_t v = 0; v < k.extents.size(); ++v) {
    if (k.extents[v] == 1 && !reduces()) continue;
    extents_.push_back(k.extents[v]);
    reduced_.push_back(reduces() && k.reduced[v]);
  }
  iterations_ = passes::iterations(extents_);
  Map map(k.extents.size(), loops::Affine{std::vector<std::int64_t>(extents_.size()), 0});
  for (std::size_t v = 0, i = 0; v < k.extents.size(); ++v) {
    if (k.extents[v] != 1) map[v].coefficients[i++] = 1;
    else if (reduces()) ++i;
  }
  auto place = [&](const loops::Access& access) {
    std::vector<loops::Affine> index;
    for (const loops::Affine& f : access.index) index.push_back(compose(f, map, extents_.size()));
    return place_of(body, step.operand(access.operand), std::move(index));
  };
  std::vector<int> names;
  for (const Node& old : k.nodes) {
    const Node n = renamed(old, names);
    if (n.op == Op::index) {
      names.push_back(add_index(map[n.imm], n.dtype));
      continue;
    }
    if (n.op != Op::load) {
      names.push_back(add(n));
      continue;
    }
    const DraftAccess from = place(k.accesses[n.imm]);
    const Storage& s = body.storages[from.storage];
    if (s.kind == Storage::Kind::literal)
      names.push_back(add({.op = Op::constant, .dtype = n.dtype, .imm = s.literal.bits}));
    else names.push_back(add_load(from));
  }
  for (const loops::Store& s : k.stores) puts_.push_back({renamed(s.node, names), place(s.to)});
}

DraftAccess Draft::place_of(const Body& body, ValueId id, std::vector<loops::Affine> index) const {
  const Value& value = body.values[id];
  Address address = address_of(value, index, extents_.size());
  return {id, value.storage, value.type.dtype, std::move(index), std::move(address)};
}

Draft Draft::over_nest_of(const Draft& other) {
  Draft d;
  d.extents_ = other.extents_;
  d.iterations_ = other.iterations_;
  d.reduced_ = other.reduced_;
  return d;
}

std::vector<Node> Draft::take_nodes() {
  table_.clear();
  weight_ = 0;
  return std::exchange(nodes_, {});
}

int Draft::add(const Node& node) {
  auto is_constant = [&](std::int32_t x) { return x < 0 || nodes_[x].op == Op::constant; };
  if (node.a >= 0 && is_constant(node.a) && is_constant(node.b) && is_constant(node.c))
    return add(folded(node, nodes_));
  const std::size_t before = nodes_.size();
  const int id = table_.add(nodes_, node);
  if (nodes_.size() > before) weight_ += weight_of(node);
  return id;
}

int Draft::add_load(const DraftAccess& place) {
  std::size_t l = 0;
  while (l < loads_.size() &&
         !(loads_[l].storage == place.storage && loads_[l].dtype == place.dtype && loads_[l].address == place.address))
    ++l;
  if (l == loads_.size()) loads_.push_back(place);
  return add({.op = Op::load, .dtype = place.dtype, .imm = l});
}

int Draft::add_index(const loops::Affine& f, DType dtype) {
  int sum = -1;
  auto number = [&](std::int64_t n) { return add({.op = Op::constant, .dtype = dtype, .imm = bits_of(dtype, n)}); };
  auto join = [&](int term) { sum = sum < 0 ? term : add({.op = Op::add, .dtype = dtype, .a = sum, .b = term}); };
  for (std::size_t v = 0; v < f.coefficients.size(); ++v) {
    const std::int64_t c = f.coefficients[v];
    if (c == 0) continue;
    const int i = add({.op = Op::index, .dtype = dtype, .imm = v});
    join(c == 1 ? i : add({.op = Op::mul, .dtype = dtype, .a = i, .b = number(c)}));
  }
  if (f.constant != 0 || sum < 0) join(number(f.constant));
  return sum;
}

bool Draft::has_index() const {
  for (const Node& n : nodes_)
    if (n.op == Op::index) return true;
  return false;
}

void Draft::move_to(const Map& map, const Extents& extents, const std::vector<bool>& reduced) {
  const bool same = extents == extents_ && is_identity(map, extents.size());
  reduced_ = reduced;
  if (same) return;
  extents_ = extents;
  iterations_ = passes::iterations(extents);
  auto move = [&](DraftAccess& p) {
    for (loops::Affine& f : p.index) f = compose(f, map, extents.size());
    p.address = compose(p.address, map, extents.size());
  };
  for (DraftAccess& p : loads_) move(p);
  for (Put& p : puts_) move(p.to);
  if (!has_index()) return;
  const std::vector<Node> before = take_nodes();
  std::vector<int> names;
  for (const Node& old : before) {
    const Node n = renamed(old, names);
    names.push_back(n.op == Op::index ? add_index(map[n.imm], n.dtype) : add(n));
  }
  for (Put& p : puts_) p.node = renamed(p.node, names);
}

void Draft::cut(const Cut& cut) {
  Extents extents = extents_;
  apply(cut, extents);
  std::vector<bool> reduced = reduced_;
  reduced.insert(reduced.begin() + static_cast<std::ptrdiff_t>(cut.variable), reduced_[cut.variable]);
  move_to(map_of(cut, extents_.size()), extents, reduced);
}

void Draft::append(const Draft& next, const std::vector<int>& instead) {
  std::vector<int> names;
  names.reserve(next.nodes_.size());
  for (const Node& old : next.nodes_) {
    const Node n = renamed(old, names);
    if (n.op != Op::load) names.push_back(add(n));
    else if (instead[n.imm] >= 0) names.push_back(instead[n.imm]);
    else names.push_back(add_load(next.loads_[n.imm]));
  }
  for (const Put& p : next.puts_) puts_.push_back({renamed(p.node, names), p.to});
  combine_ = next.combine_;
}

int Draft::read_back(std::size_t p) {
  const int n = puts_[p].node;
  const DType type = puts_[p].to.dtype;
  if (nodes_[n].dtype == type) return n;
  return add({.op = Op::convert, .dtype = type, .a = n});
}

Draft Draft::take_arithmetic(const Body& body, ValueId through) {
  const int rank = static_cast<int>(extents_.size());
  std::vector<loops::Affine> identity;
  for (int v = 0; v < rank; ++v) identity.push_back(loops::affine(rank, v));
  Draft arithmetic = over_nest_of(*this);
  arithmetic.reduced_.assign(extents_.size(), false);
  arithmetic.append(*this, std::vector<int>(loads_.size(), -1));
  arithmetic.combine_ = loops::Combine::none;
  arithmetic.puts_[0].to = place_of(body, through, std::move(identity));
  take_nodes(), loads_.clear();
  puts_[0].node = add_load(arithmetic.puts_[0].to);
  return arithmetic;
}

std::vector<bool> Draft::used() const {
  std::vector<bool> used(nodes_.size());
  for (const Put& p : puts_) used[p.node] = true;
  for (std::size_t n = nodes_.size(); n-- > 0;)
    if (used[n])
      for (std::int32_t x : {nodes_[n].a, nodes_[n].b, nodes_[n].c})
        if (x >= 0) used[x] = true;
  return used;
}

void Draft::prune() {
  const std::vector<bool> needed = used();
  if (std::find(needed.begin(), needed.end(), false) == needed.end()) return;
  const std::vector<Node> old = take_nodes();
  const std::vector<DraftAccess> loads = std::exchange(loads_, {});
  std::vector<int> names(old.size(), -1);
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (!needed[i]) continue;
    Node n = renamed(old[i], names);
    names[i] = n.op == Op::load ? add_load(loads[n.imm]) : add(n);
  }
  for (Put& p : puts_) p.node = renamed(p.node, names);
}

void Draft::finish(const Body& body, Step& step) const {
  loops::Kernel& k = step.kernel();
  k = {};
  k.extents = extents_;
  k.reduced = reduced_;
  k.combine = combine_;
  step.in.clear(), step.out.clear();
  const std::vector<bool> needed = used();
  auto operand = [&](std::vector<ValueId>& list, ValueId value) {
    std::size_t k = 0;
    while (k < list.size() && list[k] != value) ++k;
    if (k == list.size()) list.push_back(value);
    return static_cast<int>(k);
  };
  std::vector<int> names(nodes_.size(), -1);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!needed[i]) continue;
    Node n = renamed(nodes_[i], names);
    if (n.op == Op::load) {
      const DraftAccess& p = loads_[n.imm];
      n.imm = k.accesses.size();
      k.accesses.push_back({operand(step.in, p.value), p.index});
    }
    names[i] = static_cast<int>(k.nodes.size());
    k.nodes.push_back(n);
  }
  for (const Put& p : puts_)
    k.stores.push_back(
        {renamed(p.node, names), {static_cast<int>(step.in.size()) + operand(step.out, p.to.value), p.to.index}});
  for (ValueId v : step.in) k.operands.push_back(body.type(v));
  for (ValueId v : step.out) k.operands.push_back(body.type(v));
}

}  // namespace anew::passes
