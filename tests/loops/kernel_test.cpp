// Text, hash, builder and verifier of kernels.
#include "loops/kernel.h"

#include <gtest/gtest.h>

#include "loops/build.h"

namespace anew::loops::test {
namespace {

Kernel example() {
  // One statement each: the order in which C++ evaluates arguments is the compiler's.
  return elementwise({{{2, 3}, f32}, {{}, f32}}, [](Expr x, Expr y) {
    const Expr larger = x > y, power = exp(x), twice = x * 2.0;
    return select(larger, power, twice);
  });
}

TEST(Kernel, PrintsElementwise) {
  EXPECT_EQ(example().str(),
            "kernel #0:f32[2,3], #1:f32[], #2:f32[2,3]\n"
            "for i0 < 2, i1 < 3\n"
            "  %0:f32 = load #0[i0, i1]\n"
            "  %1:f32 = load #1[]\n"
            "  %2:bool = gt %0 %1\n"
            "  %3:f32 = exp %0\n"
            "  %4:f32 = constant 2\n"
            "  %5:f32 = mul %0 %4\n"
            "  %6:f32 = select %2 %3 %5\n"
            "  #2[i0, i1] = %6\n");
}

TEST(Kernel, PrintsReductionsAndMaps) {
  EXPECT_EQ(reduction({{4, 5, 6}, f64}, std::vector<int>{0, 2}, Combine::sum, f64).str(),
            "kernel #0:f64[4,5,6], #1:f64[5]\n"
            "for i0 < 4 reduced, i1 < 5, i2 < 6 reduced by sum\n"
            "  %0:f64 = load #0[i0, i1, i2]\n"
            "  #1[i1] = %0\n");
  EXPECT_EQ(copy(std::vector<std::int64_t>{3}, {{9, 2}, i32}, {affine(1, 0, -2, 8), affine(1, -1, 0, 1)}, {{5}, i32},
                 {affine(1, 0, 1, 2)})
                .str(),
            "kernel #0:i32[9,2], #1:i32[5]\n"
            "for i0 < 3\n"
            "  %0:i32 = load #0[-2*i0 + 8, 1]\n"
            "  #1[i0 + 2] = %0\n");
  EXPECT_EQ(generate({4},
                     [](Graph& g, std::span<const Expr> i) {
                       const Expr scaled = convert(i[0], f32) * 0.1;
                       return scaled + constant(g, f32, -1.0);
                     })
                .str(),
            "kernel #0:f32[4]\n"
            "for i0 < 4\n"
            "  %0:i64 = index i0\n"
            "  %1:f32 = convert %0\n"
            "  %2:f32 = constant 0.1\n"
            "  %3:f32 = mul %1 %2\n"
            "  %4:f32 = constant -1\n"
            "  %5:f32 = add %3 %4\n"
            "  #0[i0] = %5\n");
}

TEST(Kernel, EqualKernelsHashEqually) {
  const Kernel a = example(), b = example();
  EXPECT_EQ(a, b);
  EXPECT_EQ(hash_value(a), hash_value(b));
  Kernel c = a;
  c.nodes[4].imm ^= 1;
  EXPECT_FALSE(a == c);
  EXPECT_NE(hash_value(a), hash_value(c));
  Kernel d = reduction({{4, 5}, f32}, std::vector<int>{0}, Combine::sum, f32), e = d;
  e.combine = Combine::max;
  EXPECT_NE(hash_value(d), hash_value(e));
}

TEST(Kernel, ExpandReplacesEveryCall) {
  const Kernel k =
      expand(elementwise({{{8}, f32}, {{8}, f64}}, [](Expr x, Expr y) { return convert(tanh(x), f64) + tanh(y); }));
  verify(k);
  for (const Node& n : k.nodes) EXPECT_NE(n.op, Op::call);
  EXPECT_GT(k.nodes.size(), 20u);
}

TEST(Kernel, BuilderRefusesMixedTypes) {
  Graph g;
  const Expr x = constant(g, f32, 1.0), y = constant(g, f64, 1.0);
  auto text = [](auto f) -> std::string {
    try {
      f();
    } catch (const InternalError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(text([&] { x + y; }).find("[add] operands are f32 and f64"), std::string::npos);
  EXPECT_NE(text([&] { select(x, x, x); }).find("[select] condition is f32"), std::string::npos);
  Graph h;
  EXPECT_NE(text([&] { x + constant(h, f32, 1.0); }).find("[add] operands of different kernels"), std::string::npos);
  EXPECT_NE(text([&] {
              elementwise({{{2}, f32}, {{3}, f32}}, [](Expr a, Expr b) { return a + b; });
            }).find("[elementwise] shapes [2] and [3] differ"),
            std::string::npos);
}

// ---- verifier: one broken kernel and the first line of its message
struct Broken {
  std::string text;
  std::function<void(Kernel&)> damage;
};

std::string complaint(const Kernel& k) {
  try {
    verify(k);
  } catch (const InternalError& e) {
    const std::string text = e.what();
    const std::size_t from = text.find("[kernel] ");
    return from == std::string::npos ? text : text.substr(from + 9, text.find('\n', from) - from - 9);
  }
  return "";
}

TEST(Verify, AcceptsGoodKernels) {
  EXPECT_EQ(complaint(example()), "");
  EXPECT_EQ(complaint(reduction({{4, 5}, f32}, std::vector<int>{1}, Combine::argmax, i32)), "");
  EXPECT_EQ(complaint(elementwise({{{0, 3}, f32}}, [](Expr x) { return -x; })), "");
  // two variables as the digits of one dimension: a reshape
  EXPECT_EQ(complaint(copy(std::vector<std::int64_t>{2, 3}, {{2, 3}, f32}, {affine(2, 0), affine(2, 1)}, {{6}, f32},
                           {Affine{{3, 1}, 0}})),
            "");
}

TEST(Verify, NamesWhatIsWrong) {
  const std::vector<Broken> cases = {
      {"no store", [](Kernel& k) { k.stores.clear(); }},
      {"2 loop variables, 1 marks of reduction", [](Kernel& k) { k.reduced.pop_back(); }},
      {"i1 has extent -3", [](Kernel& k) { k.extents[1] = -3; }},
      {"access 0 names operand #7 of 3", [](Kernel& k) { k.accesses[0].operand = 7; }},
      {"access 0 has 1 indices, operand #0 has shape [2,3]", [](Kernel& k) { k.accesses[0].index.pop_back(); }},
      {"access 0 has 1 coefficients in dimension 1, the nest has 2 variables",
       [](Kernel& k) { k.accesses[0].index[1].coefficients.pop_back(); }},
      {"access 0 leaves operand #0 of shape [2,3]: dimension 1 reaches [1, 3]",
       [](Kernel& k) { k.accesses[0].index[1].constant = 1; }},
      {"access 0 leaves operand #0 of shape [2,3]: dimension 0 reaches [-1, 0]",
       [](Kernel& k) { k.accesses[0].index[0].constant = -1; }},
      {"%0 (load f32): no such access", [](Kernel& k) { k.nodes[0].imm = 9; }},
      {"%0 (load f64): operand of another type", [](Kernel& k) { k.nodes[0].dtype = f64; }},
      {"%2 (gt f32): a comparison is bool", [](Kernel& k) { k.nodes[2].dtype = f32; }},
      {"%2 (gt bool): reads a node that does not precede it", [](Kernel& k) { k.nodes[2].a = 5; }},
      {"%3 (call f32): no such function", [](Kernel& k) { k.nodes[3].imm = 99; }},
      {"%3 (call f32): wrong number of operands",
       [](Kernel& k) { k.nodes[3].imm = static_cast<std::uint64_t>(Math::pow); }},
      {"%5 (mul f32): wrong number of operands", [](Kernel& k) { k.nodes[5].b = -1; }},
      {"%5 (mul f32): operands of another type", [](Kernel& k) { k.nodes[5].b = 2; }},
      {"%5 (fma f32): wrong number of operands", [](Kernel& k) { k.nodes[5].op = Op::fma; }},
      {"%5 (and f32): bool or integers only", [](Kernel& k) { k.nodes[5].op = Op::and_; }},
      {"%5 (shl f32): integers only", [](Kernel& k) { k.nodes[5].op = Op::shl; }},
      {"%6 (select f32): the condition is not bool", [](Kernel& k) { k.nodes[6].a = 0; }},
      {"%6 (select f64): operands of another type", [](Kernel& k) { k.nodes[6].dtype = f64; }},
      {"%4 (index f32): an index is an integer", [](Kernel& k) { k.nodes[4] = {.op = Op::index, .dtype = f32}; }},
      {"%4 (index i8): an index has 4 or 8 bytes", [](Kernel& k) { k.nodes[4] = {.op = Op::index, .dtype = i8}; }},
      {"%4 (index i32): no such loop variable",
       [](Kernel& k) { k.nodes[4] = {.op = Op::index, .dtype = i32, .imm = 2}; }},
      {"%6 (bitcast f64): types of 4 or 8 bytes, equally large",
       [](Kernel& k) { k.nodes[6] = {.op = Op::bitcast, .dtype = f64, .a = 0}; }},
      {"store 0 of node %9", [](Kernel& k) { k.stores[0].node = 9; }},
      {"store 0 puts bool into operand #2 of f32", [](Kernel& k) { k.stores[0].node = 2; }},
      {"store 1 and store 0 may write one element of operand #2", [](Kernel& k) { k.stores.push_back(k.stores[0]); }},
      {"i0 is reduced, but nothing says how", [](Kernel& k) { k.reduced[0] = true; }},
      {"store 0 depends on i0, which is reduced", [](Kernel& k) { k.reduced[0] = true, k.combine = Combine::sum; }},
      {"store 0 does not depend on i1, so writes an element twice",
       [](Kernel& k) { k.stores[0].to.index[1].coefficients[1] = 0; }},
      {"store 0 may write an element of dimension 1 twice, by i1",
       [](Kernel& k) { k.stores[0].to.index[1].coefficients[0] = 1, k.operands[2].shape = {2, 4}; }},
      {"and of f32", [](Kernel& k) { k.combine = Combine::and_; }},
      {"a reduction has one store, not 2",
       [](Kernel& k) { k.combine = Combine::sum, k.stores.push_back(k.stores[0]); }},
  };
  for (const Broken& c : cases) {
    Kernel k = example();
    c.damage(k);
    EXPECT_EQ(complaint(k), c.text);
  }
  Kernel below = example();  // other rows of one operand
  below.operands[2].shape = {4, 3};
  below.stores.push_back(below.stores[0]);
  below.stores[1].to.index[0].constant = 2;
  EXPECT_NO_THROW(verify(below));
  EXPECT_EQ(complaint(reduction({{4, 0}, f32}, std::vector<int>{1}, Combine::argmax, i32)), "argmax of no elements");
  EXPECT_EQ(complaint(reduction({{4}, bool_}, std::vector<int>{0}, Combine::sum, bool_)), "sum of bool");
  EXPECT_EQ(complaint(elementwise({{{2}, bool_}}, [](Expr x) { return -x; })), "%1 (neg bool): no arithmetic on bool");
  EXPECT_EQ(complaint(elementwise({{{2}, i32}}, [](Expr x) { return sqrt(x); })), "%1 (sqrt i32): floats only");
}

}  // namespace
}  // namespace anew::loops::test
