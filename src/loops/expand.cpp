// Replaces calls by their expressions: the templates of the math headers instantiated with Expr. Code generation
// compiles the result; the block interpreter's native instructions are the same templates, so both give the same bits.
// Stored types stay calls of f32 inside, rounded once at the end, like every other operation on them.
#include <algorithm>
#include <unordered_map>

#include "loops/build.h"

namespace anew::loops {

// The vocabulary of math.h for Expr.
inline bool any(Expr) { return true; }
inline Expr both(Expr x, Expr y) { return x & y; }
inline Expr either(Expr x, Expr y) { return x | y; }
inline Expr bits(Expr x) { return bitcast(x, x.dtype() == f64 ? i64 : i32); }
inline Expr real(Expr x) { return bitcast(x, x.dtype() == i64 ? f64 : f32); }
inline Expr to_f64(Expr x) { return convert(x, f64); }
inline Expr to_f32(Expr x) { return convert(x, f32); }
inline Expr to_i32(Expr x) { return convert(x, i32); }
inline Expr add_bits(Expr x, Expr y) { return x + y; }
inline Expr shl(Expr x, int n) { return shl(x, like(x, n)); }
inline Expr shr_arith(Expr x, int n) { return shr_arith(x, like(x, n)); }
inline Expr shr_logical(Expr x, int n) { return shr_logical(x, like(x, n)); }
Expr scale(Expr y, Expr n);
Expr scale(Expr y, Expr n, Expr integer);
Expr scale_normal(Expr y, Expr n, Expr integer);

}  // namespace anew::loops

#include "loops/math_function.h"

namespace anew::loops {

namespace {

Expr scaled(Expr y, Expr n) {
  return {&y.graph(), y.graph().add({.op = Op::scale, .dtype = y.dtype(), .a = y.id(), .b = n.id()})};
}

// Equal nodes are one: a sine and a cosine of one angle reduce it once.
void merge_equal(Kernel& kernel) {
  struct Hash {
    std::size_t operator()(const Node& n) const { return hash_value(n); }
  };
  std::unordered_map<Node, int, Hash> known;
  known.reserve(kernel.nodes.size());
  std::vector<Node> kept;
  std::vector<int> renamed;
  auto at = [&](std::int32_t n) { return n < 0 ? n : renamed[n]; };
  for (Node node : kernel.nodes) {
    node.a = at(node.a), node.b = at(node.b), node.c = at(node.c);
    const auto [found, is_new] = known.try_emplace(node, static_cast<int>(kept.size()));
    if (is_new) kept.push_back(node);
    renamed.push_back(found->second);
  }
  kernel.nodes = std::move(kept);
  for (Store& store : kernel.stores) store.node = at(store.node);
}

}  // namespace

Expr scale(Expr y, Expr n) { return y.graph().scales ? scaled(y, n) : math64::scale_twice(y, n); }
Expr scale(Expr y, Expr n, Expr integer) { return y.graph().scales ? scaled(y, n) : math::scale_twice(y, integer); }
Expr scale_normal(Expr y, Expr n, Expr integer) {
  return y.graph().scales ? scaled(y, n) : y * math::power_of_two(y, integer);
}

Kernel expand(const Kernel& kernel, bool scales) {
  Graph graph;
  graph.scales = scales;
  std::vector<int> renamed;
  auto at = [&](std::int32_t n) { return n < 0 ? n : renamed[n]; };
  for (Node node : kernel.nodes) {
    node.a = at(node.a), node.b = at(node.b), node.c = at(node.c);
    // Half of a loop variable is one of half the width.
    if (node.op == Op::convert && (node.dtype == i32 || node.dtype == u32) && graph.nodes[node.a].op == Op::index)
      node = {.op = Op::index, .dtype = node.dtype, .imm = graph.nodes[node.a].imm};
    if (node.op != Op::call) {
      renamed.push_back(graph.add(node));
      continue;
    }
    const bool wide = node.dtype == f64;
    const Expr x = convert(Expr(&graph, node.a), wide ? f64 : f32);
    const Expr y = node.b < 0 ? x : convert(Expr(&graph, node.b), wide ? f64 : f32);
    const auto m = static_cast<Math>(node.imm);
    renamed.push_back(convert(wide ? math_function<true>(m, x, y) : math_function<false>(m, x, y), node.dtype).id());
  }
  Kernel out = kernel;
  out.nodes = std::move(graph.nodes);
  for (Store& store : out.stores) store.node = at(store.node);
  merge_equal(out);
  return out;
}

}  // namespace anew::loops
