// Modules as text: functions, names, constants, loops, branches, checkpoints; what cannot be said. That XLA reads them
// and gives the same numbers is for tests/xla to show.
#include <anew/stablehlo.h>

#include "support/expect_error.h"
#include "support/support.h"

namespace anew::module_test {
namespace {

using test::expect_error;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

struct Layer {
  Array w, b;
};
struct Model {
  std::vector<Layer> layers;
  Array scale;
};

Array apply(const Model& m, Array x) {
  for (const Layer& l : m.layers) x = tanh(matmul(x, l.w) + l.b);
  return sum(x * m.scale);
}

TEST(StableHlo, WholeText) {
  const std::string text = to_stablehlo([](Array x, Array y) { return sin(x) * y; }, ones({2, 3}), 2 * ones(3));
  EXPECT_EQ(text, R"mlir(module @anew attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> loc("ones({2, 3})"), %arg1: tensor<3xf32> loc("2 * ones(3)")) -> (tensor<2x3xf32> {jax.result_info = ""}) {
    %0 = stablehlo.sine %arg0 : tensor<2x3xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
}
)mlir");
}

TEST(StableHlo, ArgumentsAndResultsHaveTheirPaths) {
  Model m{{{ones({3, 3}), zeros(3)}, {ones({3, 3}), zeros(3)}}, ones(3)};
  const Array x = ones({2, 3});
  const std::string text = to_stablehlo(value_and_grad(apply), m, x);
  for (const char* name : {"m.layers[0].w", "m.layers[1].b", "m.scale", "x"})
    EXPECT_TRUE(contains(text, "loc(\"" + std::string(name) + "\")")) << name;
  for (const char* name : {"[0]", "[1].layers[0].w", "[1].scale"})
    EXPECT_TRUE(contains(text, "jax.result_info = \"" + std::string(name) + "\"")) << name;
  // Qualified, and with options; names in text that cannot be split are numbers.
  EXPECT_TRUE(contains(anew::to_stablehlo(apply, {}, m, x), "loc(\"m.scale\")"));
  EXPECT_TRUE(
      contains(to_stablehlo([](Array a, Array) { return a; }, std::pair<Array, int>(x, 1).first, x), "loc(\"1\")"));
  const std::map<std::string, Array> named{{"a", x}};
  const std::string quotes = to_stablehlo([](Array a) { return a; }, named.at("a"));
  EXPECT_TRUE(contains(quotes, "loc(\"named.at(\\\"a\\\")\")")) << quotes;
}

TEST(StableHlo, AbstractAndStaticArguments) {
  auto f = [](Array x, int n) { return x * n; };
  const std::string text = to_stablehlo(f, ShapeDtype({4}, f64), 3);
  EXPECT_TRUE(contains(text, "%arg0: tensor<4xf64>") && !contains(text, "%arg1")) << text;
  EXPECT_TRUE(contains(text, "dense<3.0> : tensor<f64>")) << text;
  EXPECT_TRUE(contains(to_stablehlo([] { return arange(3); }), "@main() -> (tensor<3xi32>"));
}

TEST(StableHlo, DtypesAndNumbers) {
  auto all = [](Array a, Array b, Array c, Array d, Array e) {
    return std::tuple(a & true, b + 1, c - 7, d * 0.1, e / 3);
  };
  const std::string text = to_stablehlo(all, zeros(2, bool_), zeros(2, u8), zeros(2, i64), zeros(2, bf16), zeros(2));
  for (const char* part : {"tensor<2xi1>", "tensor<2xui8>", "tensor<2xi64>", "tensor<2xbf16>", "dense<true>",
                           "dense<1> : tensor<ui8>", "dense<7> : tensor<i64>", "dense<3.0> : tensor<f32>"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  // 0.1 in bf16, as digits that give it back.
  EXPECT_TRUE(contains(text, "dense<1.00097656e-01> : tensor<bf16>")) << text;
  auto special = [](Array x) { return where(x > 0, x, -std::numeric_limits<double>::infinity()); };
  EXPECT_TRUE(contains(to_stablehlo(special, ones(2)), "dense<0xFF800000> : tensor<f32>"));
}

TEST(StableHlo, CapturedArraysAreConstants) {
  const Array few = arange(4, f32).reshape({2, 2}), many = arange(20), flags = arange(20) > 3;
  auto f = [&](Array x) { return std::tuple(x + few, many, flags); };
  const std::string text = to_stablehlo(f, ones({2, 2}));
  EXPECT_TRUE(contains(text, "dense<[[0.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>")) << text;
  EXPECT_TRUE(contains(text, "dense<\"0x00000000010000000200000003")) << text;
  EXPECT_TRUE(contains(text, "dense<[false, false, false, false, true")) << text;
  EXPECT_TRUE(contains(to_stablehlo([](Array x) { return concatenate({x, zeros(0)}); }, ones(2)), "tensor<0xf32>"));
}

TEST(StableHlo, OneFunctionForEachProgram) {
  auto square_sum = jit([](Array x) { return sum(square(x)); }, {.name = "square_sum"});
  const std::string text = to_stablehlo([&](Array x) { return square_sum(x) + square_sum(2 * x); }, ones(3));
  EXPECT_EQ(count(text, "func.func private"), 1) << text;
  EXPECT_EQ(count(text, "call @square_sum("), 2) << text;
  // Others of the same name get numbers.
  auto named = [](const char* name, double k) { return jit([k](Array x) { return x * k; }, {.name = name}); };
  auto many = [&](Array x) {
    return named("f", 2)(x) + named("f_1", 3)(x) + named("f", 4)(x) + named("main", 5)(x) + named("<lambda>", 6)(x);
  };
  const std::string names = to_stablehlo(many, ones(3));
  for (const char* name : {"@f(", "@f_1(", "@f_2(", "@main_1(", "@lambda("})
    EXPECT_EQ(count(names, "func.func private " + std::string(name)), 1) << name << names;
}

TEST(StableHlo, Loops) {
  auto body = [](Array y, Array w) { return std::pair(tanh(matmul(y, w)), sum(y)); };
  auto f = [&](Array x, Array ws) { return scan(body, x, ws); };
  const std::string text = to_stablehlo(f, ones({2, 3}), ones({4, 3, 3}));
  EXPECT_EQ(count(text, "\"stablehlo.while\""), 1) << text;
  EXPECT_TRUE(contains(text, "@scan_body(%arg0: tensor<2x3xf32>, %arg1: tensor<3x3xf32>)")) << text;
  EXPECT_TRUE(contains(text, "tensor<4xf32>")) << text;
  // One without steps is no loop.
  EXPECT_FALSE(contains(to_stablehlo(f, ones({2, 3}), ones({0, 3, 3})), "while"));
  auto doubled = [](Array x) {
    return while_loop([](Array v) { return sum(v) < 100; }, [](Array v) { return 2 * v; }, x);
  };
  const std::string loop = to_stablehlo(doubled, ones(3));
  EXPECT_TRUE(contains(loop, "@while_condition") && contains(loop, "@while_body")) << loop;
}

// The walk back recomputes stretches of states: three loops inside each other, whatever the number of steps.
TEST(StableHlo, LoopsThatKeepFewStates) {
  auto f = [](Array x) {
    auto step = [](Array v, Array) { return std::pair(sin(v) * v, none); };
    return sum(scan(step, x, arange(100), {.checkpoints = 5}).first);
  };
  const std::string text = to_stablehlo(grad(f), ones(3));
  EXPECT_TRUE(contains(text, "@step_back")) << text;
  EXPECT_EQ(count(text, "\"stablehlo.while\""), 4);
  EXPECT_TRUE(contains(text, "tensor<5x3xf32>") && contains(text, "tensor<20x3xf32>")) << text;
}

TEST(StableHlo, Branches) {
  auto f = [](Array x, Array i) {
    return switch_(
        i, branches([](Array v) { return sin(v); }, [](Array v) { return cos(v); }, [](Array v) { return -v; }), x);
  };
  const std::string text = to_stablehlo(f, ones(3), Array(1));
  EXPECT_TRUE(contains(text, "\"stablehlo.case\"")) << text;
  EXPECT_EQ(count(text, "call @branch_"), 3) << text;
}

// Without it XLA would find the recomputed values equal to the first ones, and keep those.
TEST(StableHlo, CheckpointsHaveBarriers) {
  auto f = [](Array x) { return sum(checkpoint([](Array v) { return sin(sin(v)); })(x)); };
  EXPECT_FALSE(contains(to_stablehlo(f, ones(3)), "barrier"));
  EXPECT_EQ(count(to_stablehlo(grad(f), ones(3)), "stablehlo.optimization_barrier"), 1);
}

TEST(StableHlo, CustomRulesAreTheirFunctions) {
  auto f = custom_jvp(
      [](Array x) { return x * x; },
      [](std::tuple<Array> x, std::tuple<Array> t) { return std::pair(square(std::get<0>(x)), 3 * std::get<0>(t)); });
  EXPECT_TRUE(contains(to_stablehlo(f, ones(3)), "call @custom_jvp_call"));
  EXPECT_TRUE(contains(to_stablehlo(grad([&](Array x) { return sum(f(x)); }), ones(3)), "dense<3.0>"));
}

TEST(StableHlo, DrawsAreOurs) {
  auto f = [](Array key) { return random::uniform(key, {4}); };
  const std::string text = to_stablehlo(f, random::key(1));
  EXPECT_TRUE(contains(text, "stablehlo.shift_left") && contains(text, "stablehlo.xor")) << text;
  EXPECT_FALSE(contains(text, "rng")) << text;
}

TEST(StableHlo, WhatCannotBeSaid) {
  auto back = [](Array x) { return io_callback([](Array a) { return a; }, ShapeDtype{{2}, f32}, x); };
  expect_error([&] { (void)to_stablehlo(back, ones(2)); },
               {"[to_stablehlo] io_callback cannot be said", "module_test.cpp"});
  auto prints = [](Array x) {
    debug::print("{}", x);
    return x;
  };
  expect_error([&] { (void)to_stablehlo(jit(prints), ones(2)); },
               {"debug_print", "XLA cannot print", "module_test.cpp"});
  expect_error([] { (void)to_stablehlo([](Array x) { return linalg::svdvals(x); }, eye(3)); },
               {"svd", "module_test.cpp"});
}

}  // namespace
}  // namespace anew::module_test
