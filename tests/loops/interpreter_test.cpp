// The block interpreter against the scalar reference, bit for bit: random kernels, shapes, strides and dtypes.
#include "loops/interpreter.h"

#include "memory.h"

namespace anew::loops::test {
namespace {

const std::vector<DType> all_types = {bool_, i32, i64, u32, bf16, f16, f32, f64};

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
                  .dtype = pick(g_, std::vector<DType>{i32, i64, u32}),
                  .imm = static_cast<std::uint64_t>(uniform(g_, 0, std::ssize(k_.extents) - 1))});
    } else if (kind == 1) {
      binary(pick(g_, comparisons), of_type(d), of_type(d));
    } else if (kind == 2) {
      select(of_type(bool_), of_type(d), of_type(d));
    } else if (kind == 3) {
      convert(node(any()), d);
    } else if (kind == 4 && size_of(d) >= 4) {
      bitcast(of_type(d), d == f32 ? pick(g_, std::vector<DType>{i32, u32}) : d == f64 ? i64 : d == i64 ? f64 : f32);
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

TEST(Interpreter, RandomKernelsEqualTheReference) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Random g(seed);
    const Kernel k = Generator(g).kernel();
    SCOPED_TRACE(seed);
    check(k, g, seed % 4 == 0);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Interpreter, ScalarsBesideArrays) {
  const Kernel k = elementwise({{{3, 5}, f32}, {{}, f32}}, [](Expr x, Expr y) { return x * y + 1.0; });
  std::vector<float> x(15), out(15), y = {3};
  for (int i = 0; i < 15; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
  run(k, std::vector<Operand>{{x.data()}, {y.data()}, {out.data()}});
  for (int i = 0; i < 15; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(3 * i + 1));
}

TEST(Interpreter, ABroadcastElementSurvivesAllBlocks) {
  const ShapeDtype t{{5000}, f32};
  const Kernel k = elementwise({t, t}, [](Expr x, Expr y) {
    const Expr first = y * 2.0, second = first + 1.0, third = second * second;
    return third - x;
  });
  std::vector<float> x(5000, 1.0f), out(5000), y = {3};
  const std::int64_t nowhere[] = {0};
  run(k, std::vector<Operand>{{x.data()}, {y.data(), nowhere}, {out.data()}});
  for (float v : out) ASSERT_EQ(v, 48.0f);
}

TEST(Interpreter, TurnedOperandsEqualTheReference) {
  Random g(3);
  for (Shape shape : {Shape{40, 300}, Shape{3, 20, 130}, Shape{9, 128}}) {
    const std::vector<std::int64_t> extents(shape.begin(), shape.end());
    const int rank = shape.ndim();
    std::vector<Affine> same, reversed;
    Shape turned;
    for (int d = 0; d < rank; ++d)
      same.push_back(affine(rank, d)), reversed.push_back(affine(rank, rank - 1 - d)),
          turned.push_back(shape[rank - 1 - d]);
    check(copy(extents, {turned, f32}, reversed, {shape, f32}, same), g, true);
    check(copy(extents, {shape, f64}, same, {turned, f64}, reversed), g, true);
  }
}

TEST(Interpreter, InPlace) {
  const Kernel k = elementwise({{{2000}, f32}}, [](Expr x) { return (x + 1.0) * x; });
  std::vector<float> x(2000, 2.0f);
  run(k, std::vector<Operand>{{x.data()}, {x.data()}});
  for (float v : x) ASSERT_EQ(v, 6.0f);
}

TEST(Interpreter, CopiesPartsOfAPad) {
  const ShapeDtype in{{2, 3}, i32}, out{{4, 7}, i32};
  const Kernel background = fill(out);
  const Kernel inside = copy(std::vector<std::int64_t>{2, 3}, in, {affine(2, 0), affine(2, 1)}, out,
                             {affine(2, 0, 1, 1), affine(2, 1, 2, 1)});
  std::vector<std::int32_t> x = {1, 2, 3, 4, 5, 6}, y(28), nine = {9};
  run(background, std::vector<Operand>{{nine.data()}, {y.data()}});
  run(over(inside, {in, {{}, i32}, out}, std::vector<int>{0, 2}),
      std::vector<Operand>{{x.data()}, {nine.data()}, {y.data()}});
  EXPECT_EQ(y, (std::vector<std::int32_t>{9, 9, 9, 9, 9, 9, 9, 9, 1, 9, 2, 9, 3, 9,
                                          9, 4, 9, 5, 9, 6, 9, 9, 9, 9, 9, 9, 9, 9}));
}

TEST(Interpreter, GeneratesFromIndices) {
  const Kernel eye = generate({3, 4}, [](Graph& g, std::span<const Expr> i) {
    return select(i[0] == i[1], constant(g, f32, 1.0), constant(g, f32, 0.0));
  });
  std::vector<float> y(12);
  run(eye, std::vector<Operand>{{y.data()}});
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(y[i], i / 4 == i % 4 ? 1.0f : 0.0f);
}

TEST(Interpreter, CallersFloatModeDoesNotMatter) {
#if defined(__SSE__)
  const Kernel k = elementwise({{{9}, f32}}, [](Expr x) { return x * 0.5; });
  std::vector<float> x(9, 1e-38f), y(9);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  run(k, std::vector<Operand>{{x.data()}, {y.data()}});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & 0x8040u, 0x8040u);
  for (float v : y) EXPECT_EQ(v, 1e-38f * 0.5f);
#endif
}

TEST(Interpreter, NamesAMissingOperand) {
  const Kernel k = elementwise({{{9}, f32}}, [](Expr x) { return -x; });
  EXPECT_THROW(run(k, std::vector<Operand>{{nullptr}}), InternalError);
}

}  // namespace
}  // namespace anew::loops::test
