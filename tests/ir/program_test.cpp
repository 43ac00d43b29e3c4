// Programs and params as values: equality and hash through renumbering, counts and walks through nested programs.
#include "ir/samples.h"

namespace anew::ir::testing::program_test {
namespace {

const Type scalar{{}, f32};

TEST(Program, TypesOfInputsAndOutputs) {
  Builder b;
  const Var x = b.input({{2, 3}, i32});
  b.p.outputs = {x, Literal::of(f64, 1.0)};
  EXPECT_EQ(b.p.input_types(), (std::vector<Type>{{{2, 3}, i32}}));
  EXPECT_EQ(b.p.output_types(), (std::vector<Type>{{{2, 3}, i32}, {{}, f64}}));
}

TEST(Program, EqualityLooksThroughNumbersOfVariablesAndLines) {
  Builder a, b;
  a.p.outputs = {a.add1(sin_row, {a.input(scalar)})};
  b.var({{9}, i32});
  b.p.outputs = {b.add1(sin_row, {b.input(scalar)})};
  b.p.eqns[0].at = Location();
  b.p.eqns[0].rule_of = &cos_row;
  EXPECT_TRUE(equal(a.p, b.p));
  EXPECT_EQ(hash_value(a.p), hash_value(b.p));
}

TEST(Program, EqualitySeesEverythingElse) {
  auto make = [] {
    Builder b;
    const Var x = b.input(scalar), y = b.input(scalar);
    b.p.outputs = {b.add1(mul_row, {x, y}), y, Literal::of(f32, 0.0)};
    return b.p;
  };
  const Program p = make();
  auto differs = [&](auto change) {
    Program q = make();
    change(q);
    EXPECT_FALSE(equal(p, q));
    EXPECT_NE(hash_value(p), hash_value(q));
  };
  differs([](Program& q) { q.constants = 1; });
  differs([](Program& q) { q.types[1] = {{}, f64}; });
  differs([](Program& q) { q.types[2] = {{}, f64}; });
  differs([](Program& q) { q.eqns[0].primitive = &sin_row; });
  differs([](Program& q) { std::swap(q.eqns[0].inputs[0], q.eqns[0].inputs[1]); });
  differs([](Program& q) { q.outputs.pop_back(); });
  differs([](Program& q) { q.outputs[1] = q.outputs[0]; });
  differs([](Program& q) { q.outputs[2] = Literal::of(f32, -0.0); });
  differs([](Program& q) { q.outputs[2] = Literal::of(i32, 0.0); });
  differs([](Program& q) { q.eqns[0].params = std::make_shared<PrecisionParams>(); });
}

TEST(Program, NestedProgramsCompareByStructure) {
  Builder n;
  n.p.outputs = {n.add1(sin_row, {n.input(scalar)})};
  EXPECT_TRUE(call_params(n.ref())->equals(*call_params(n.ref())));
  EXPECT_EQ(call_params(n.ref())->hash(), call_params(n.ref())->hash());
  EXPECT_TRUE(cond_params({n.ref(), n.ref()})->equals(*cond_params({n.ref(), n.ref()})));
  EXPECT_EQ(cond_params({n.ref()})->hash(), cond_params({n.ref()})->hash());
  Builder m = n;
  m.p.eqns[0].primitive = &cos_row;
  EXPECT_FALSE(call_params(n.ref())->equals(*call_params(m.ref())));
  EXPECT_FALSE(cond_params({n.ref(), n.ref()})->equals(*cond_params({n.ref(), m.ref()})));
  EXPECT_FALSE(cond_params({n.ref()})->equals(*cond_params({n.ref(), n.ref()})));
  EXPECT_FALSE(call_params(n.ref())->equals(*call_params(nullptr)));
  EXPECT_TRUE(call_params(nullptr)->equals(*call_params(nullptr)));
}

TEST(Program, CountsAndWalksEachObjectOnce) {
  Builder n;
  n.p.outputs = {n.add1(sin_row, {n.input(scalar)})};
  const ProgramRef shared = n.ref();
  Builder b;
  Var x = b.input(scalar);
  x = b.add1(sin_row, {x});
  x = b.add1(call_row, {x}, call_params(shared));
  x = b.add1(cond_row, {x}, cond_params({shared, n.ref()}));
  b.p.outputs = {x};
  EXPECT_EQ(count(b.p, "sin"), 3);
  EXPECT_EQ(count(b.p, "cos"), 0);
  std::vector<const Program*> seen;
  for_each_program(b.p, [&](const Program& p) { seen.push_back(&p); });
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], &b.p);
  EXPECT_EQ(seen[1], shared.get());
  EXPECT_EQ(nested_programs(b.p.eqns[0]).size(), 0u);
  EXPECT_EQ(nested_programs(b.p.eqns[1]).size(), 1u);
  EXPECT_EQ(nested_programs(b.p.eqns[2]).size(), 2u);
}

TEST(Params, AreAskedForTheirType) {
  PrecisionParams p;
  const Params& any = p;
  EXPECT_EQ(&any.as<PrecisionParams>(), &p);
  EXPECT_EQ(any.if_a<PrecisionParams>(), &p);
  EXPECT_EQ(any.if_a<CallParams>(), nullptr);
  try {
    any.as<CallParams>();
    FAIL() << "params of one row passed for those of another";
  } catch (const InternalError& e) {
    const std::string is = typeid(PrecisionParams).name(), wanted = typeid(CallParams).name();
    EXPECT_NE(std::string(e.what()).find("params are " + is + ", not " + wanted), std::string::npos) << e.what();
  }
}

TEST(Params, FloatsCompareByBits) {
  AllParams a, b;
  b.scale = -0.0;
  EXPECT_FALSE(a.equals(b));
  EXPECT_NE(a.hash(), b.hash());
  a.scale = b.scale = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(a.equals(b));
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_FALSE(a.equals(NoParams()));
  EXPECT_TRUE(no_params()->equals(NoParams()));
}

}  // namespace
}  // namespace anew::ir::testing::program_test
