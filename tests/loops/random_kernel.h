// Random kernels: expressions of all operations and dtypes over random nests and index maps, and random reductions.
#pragma once
#include <optional>

#include "memory.h"

namespace anew::loops::test {

inline const std::vector<DType> all_types(all_dtypes.begin(), all_dtypes.end());

// A random expression over loads, indices and constants; every node may become an operand of a later one.
class Generator {
 public:
  explicit Generator(Random& g) : g_(g) {}

  Kernel kernel() {
    const int rank = static_cast<int>(uniform(g_, 0, 4));
    for (int v = 0; v < rank; ++v)
      k_.extents.push_back(uniform(g_, 0, 20) == 0                   ? 0
                           : v + 1 == rank && uniform(g_, 0, 3) == 0 ? uniform(g_, 100, 1300)
                                                                     : uniform(g_, 1, 9));
    k_.reduced.assign(k_.extents.size(), false);
    const std::int64_t loads = uniform(g_, 1, 4), more = uniform(g_, 1, 12), stores = uniform(g_, 0, 4) == 0 ? 2 : 1;
    for (std::int64_t i = 0; i < loads; ++i) add_load();
    for (std::int64_t i = 0; i < more; ++i) add_node();
    for (std::int64_t s = 0; s < stores; ++s) add_store(s == 0 ? static_cast<int>(nodes().size()) - 1 : any());
    k_.nodes = graph_.nodes;
    return k_;
  }

 private:
  std::vector<Node>& nodes() { return graph_.nodes; }
  int any() { return static_cast<int>(uniform(g_, 0, std::ssize(nodes()) - 1)); }
  Expr node(int id) { return {&graph_, id}; }
  // Some node of the type: an existing one, or a conversion.
  Expr of_type(DType d) {
    for (int tries = 0; tries < 4; ++tries)
      if (const int n = any(); nodes()[static_cast<std::size_t>(n)].dtype == d) return node(n);
    if (uniform(g_, 0, 3) == 0) return constant(graph_, d, static_cast<double>(uniform(g_, -40, 40)) / 8);
    return convert(node(any()), d);
  }

  // A map from the loop variables into an operand made to fit: steps, reversals, offsets, broadcasts.
  Access access(DType dtype, bool written) {
    const int rank = static_cast<int>(k_.extents.size());
    Access a{static_cast<int>(k_.operands.size()), {}};
    ShapeDtype type{{}, dtype};
    if (!written && uniform(g_, 0, 6) == 0) {
      k_.operands.push_back(type);
      return a;
    }
    std::vector<int> order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    if (uniform(g_, 0, 3) == 0) std::shuffle(order.begin(), order.end(), g_);
    for (int v : order) {
      if (!written && uniform(g_, 0, 5) == 0) continue;  // a broadcast
      const std::int64_t extent = std::max<std::int64_t>(k_.extents[static_cast<std::size_t>(v)], 1);
      const std::int64_t step = uniform(g_, 0, 7) == 0 ? pick(g_, std::vector<std::int64_t>{-2, -1, 2, 3}) : 1;
      const std::int64_t before = uniform(g_, 0, 7) == 0 ? 1 : 0;
      const std::int64_t reach = (step < 0 ? -step : step) * (extent - 1);
      a.index.push_back(affine(rank, v, step, before + (step < 0 ? reach : 0)));
      type.shape.push_back(before + reach + 1 + (uniform(g_, 0, 7) == 0 ? 2 : 0));
    }
    k_.operands.push_back(type);
    return a;
  }

  void add_load() {
    const DType d = pick(g_, all_types);
    k_.accesses.push_back(access(d, false));
    graph_.add({.op = Op::load, .dtype = d, .imm = k_.accesses.size() - 1});
  }

  void add_store(int n) {
    DType d = nodes()[static_cast<std::size_t>(n)].dtype;
    if (d == f32 && uniform(g_, 0, 5) == 0) d = pick(g_, std::vector<DType>{bf16, f16});
    Access to = access(d, true);
    k_.stores.push_back({n, std::move(to)});
  }

  // Chosen by a condition that machine code branches on: a node, or one that nobody else reads.
  void some_rare_case(Expr condition, DType d) {
    const Expr x = of_type(d);
    rarely(condition, is_float(d) && uniform(g_, 0, 1) ? fma(x, of_type(d), x) : x, of_type(d));
  }

  void add_node() {
    const std::int64_t kind = uniform(g_, 0, 9);
    const DType d = pick(g_, all_types);
    const std::vector<Op> binaries = {Op::add, Op::sub, Op::mul, Op::div, Op::rem};
    const std::vector<Op> comparisons = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
    const std::vector<Op> logicals = {Op::and_, Op::or_, Op::xor_};
    const std::vector<Op> shifts = {Op::shl, Op::shr_arith, Op::shr_logical};
    const std::vector<Op> roundings = {Op::sqrt, Op::floor, Op::ceil, Op::round_even, Op::trunc};
    if (kind == 0 && !k_.extents.empty()) {
      graph_.add({.op = Op::index,
                  .dtype = pick(g_, std::vector<DType>{i32, i64, u32, u64}),
                  .imm = static_cast<std::uint64_t>(uniform(g_, 0, std::ssize(k_.extents) - 1))});
    } else if (kind == 1) {
      binary(pick(g_, comparisons), of_type(d), of_type(d));
    } else if (kind == 2) {
      const Expr condition = of_type(bool_);
      if (uniform(g_, 0, 1)) select(condition, of_type(d), of_type(d));
      else
        for (int several = uniform(g_, 0, 3) ? 1 : 3; several > 0; --several) some_rare_case(condition, d);
    } else if (kind == 3) {
      convert(node(any()), d);
    } else if (kind == 4 && size_of(d) >= 4) {
      bitcast(of_type(d),
              pick(g_, size_of(d) == 4 ? std::vector<DType>{f32, i32, u32} : std::vector<DType>{f64, i64, u64}));
    } else if (d == bool_) {
      uniform(g_, 0, 3) ? binary(pick(g_, logicals), of_type(d), of_type(d)) : unary(Op::not_, of_type(d));
    } else if (kind == 5) {
      unary(pick(g_, std::vector<Op>{Op::neg, Op::abs}), of_type(d));
    } else if (kind <= 7) {
      binary(pick(g_, binaries), of_type(d), of_type(d));
    } else if (is_float(d)) {
      const std::int64_t which = uniform(g_, 0, 2);
      if (which == 0) fma(of_type(d), of_type(d), of_type(d));
      else if (which == 1) unary(pick(g_, roundings), of_type(d));
      else {
        const Math m = static_cast<Math>(uniform(g_, 0, math_count - 1));
        const Expr x = of_type(d);
        arity(m) == 1 ? call(m, x) : call(m, x, of_type(d));
      }
    } else {
      const std::int64_t which = uniform(g_, 0, 3);
      if (which == 0) unary(Op::popcount, of_type(d));
      else if (which == 1) unary(Op::not_, of_type(d));
      else if (which == 2) binary(pick(g_, logicals), of_type(d), of_type(d));
      else binary(pick(g_, shifts), of_type(d), of_type(d) & constant(graph_, d, std::int64_t{71}));
    }
  }

  Random& g_;
  Kernel k_;
  Graph graph_;
};

// ---- reductions
struct Case {
  ShapeDtype input;
  std::vector<int> axes;
};

inline Kernel random_reduction(Random& g, const Case& c, Combine combine) {
  const bool finds_index = finds_position(combine);
  DType result = finds_index ? pick(g, std::vector<DType>{i8, i32, i64, u32, u64}) : c.input.dtype;
  std::function<Expr(Expr)> body;
  const bool logical = combine == Combine::and_ || combine == Combine::or_;
  if (!logical && is_float(c.input.dtype) && uniform(g, 0, 2) == 0) {
    if (size_of(c.input.dtype) == 2 && !finds_index)
      body = [](Expr x) { return convert(x, f32) * 2.0; };  // f32 accumulation
    else body = [](Expr x) { return x * x + 0.25; };
  }
  return reduction(c.input, c.axes, combine, result, body);
}

inline std::vector<Combine> combines_of(DType d) {
  if (d == bool_) return {Combine::and_, Combine::or_, Combine::max, Combine::min, Combine::argmax, Combine::argmin};
  std::vector<Combine> all = {Combine::sum, Combine::product, Combine::max,
                              Combine::min, Combine::argmax,  Combine::argmin};
  if (!is_float(d)) all.insert(all.end(), {Combine::and_, Combine::or_});
  return all;
}

// Nothing where the search would have no elements.
inline std::optional<Kernel> random_reduction(Random& g) {
  Case c{{{}, pick(g, all_types)}, {}};
  const int rank = static_cast<int>(uniform(g, 0, 4));
  const std::int64_t large = uniform(g, 0, 2) ? uniform(g, 0, rank) : -1;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t limit = d == large ? (rank < 3 ? 3000 : 300) : 9;
    c.input.shape.push_back(uniform(g, 0, 30) == 0 ? 0 : uniform(g, 1, limit));
    if (uniform(g, 0, 1)) c.axes.push_back(d);
  }
  Combine combine = pick(g, combines_of(c.input.dtype));
  std::int64_t joined = 1;
  for (int axis : c.axes) joined *= c.input.shape[axis];
  if (joined == 0 && finds_position(combine)) return std::nullopt;
  return random_reduction(g, c, combine);
}

}  // namespace anew::loops::test
