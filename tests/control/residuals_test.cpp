// Residual lists of the acceptance programs, of nested checkpoints and of further programs: types, order and text.
#include <map>

#include "support/support.h"
#include "trace/trace.h"

namespace anew::test {
namespace {

using namespace checkpoint_policies;
using Lines = std::vector<std::string>;
using Fn = std::function<Array(Array)>;

Array g(Array W, Array x) {
  Array y = dot(W, x);
  return sin(y);
}
const std::string dot_line = std::to_string(__LINE__ - 3), sin_line = std::to_string(__LINE__ - 2);
Array f(Array W1, Array W2, Array W3, Array x) {
  x = g(W1, x);
  x = g(W2, x);
  x = g(W3, x);
  return x;
}
Array f2(Array W1, Array W2, Array W3, Array x) {
  x = checkpoint(g)(W1, x);
  x = checkpoint(g)(W2, x);
  x = checkpoint(g)(W3, x);
  return x;
}
Array f4(Array W1, Array W2, Array W3, Array x) {
  x = checkpoint_name(g(W1, x), "a");
  x = checkpoint_name(g(W2, x), "b");
  x = checkpoint_name(g(W3, x), "c");
  return x;
}
const std::string a_line = std::to_string(__LINE__ - 5);

template <class... A>
Lines kept(const A&... a) {
  return brief(saved_residuals(a...));
}
Lines plus(Lines a, const Lines& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Tutorial : testing::Test {
  Array W1 = ones({5, 4}), W2 = ones({6, 5}), W3 = ones({7, 6}), x = ones({4});
  Lines args{"f32[5,4] argument W1", "f32[6,5] argument W2", "f32[7,6] argument W3", "f32[4] argument x"};
  Warnings quiet;
};

TEST_F(Tutorial, Plain) {
  EXPECT_EQ(kept(f, ANEW_ARGS(W1, W2, W3, x)),
            plus(args, {"f32[5] sin", "f32[5] cos", "f32[6] sin", "f32[6] cos", "f32[7] cos"}));
  auto list = saved_residuals(f, ANEW_ARGS(W1, W2, W3, x));
  ASSERT_EQ(list.size(), 9u);
  EXPECT_EQ(list[0].text, "f32[5,4] from the argument W1");
  EXPECT_EQ(list[4].text, "f32[5] output of sin from residuals_test.cpp:" + sin_line + " (g)");
  EXPECT_EQ(list[5].text, "f32[5] output of cos from residuals_test.cpp:" + sin_line + " (g)");
  EXPECT_EQ(list[4].bytes, 20u);
}
TEST_F(Tutorial, EachStageCheckpointed) {
  EXPECT_EQ(kept(f2, ANEW_ARGS(W1, W2, W3, x)), plus(args, {"f32[5] sin", "f32[6] sin"}));
}
TEST_F(Tutorial, DotsPolicy) {
  auto f3 = checkpoint(f, dots_with_no_batch_dims_saveable);
  auto list = saved_residuals(f3, ANEW_ARGS(W1, W2, W3, x));
  EXPECT_EQ(brief(list), plus(args, {"f32[5] dot_general", "f32[6] dot_general", "f32[7] dot_general"}));
  ASSERT_EQ(list.size(), 7u);
  EXPECT_EQ(list[4].text, "f32[5] output of dot_general from residuals_test.cpp:" + dot_line + " (g)");
}
TEST_F(Tutorial, Names) {
  auto only_a = checkpoint(f4, save_only_these_names("a"));
  auto list = saved_residuals(only_a, ANEW_ARGS(W1, W2, W3, x));
  EXPECT_EQ(brief(list), plus(args, {"f32[5] named a"}));
  EXPECT_EQ(list.at(4).text, "f32[5] named 'a' from residuals_test.cpp:" + a_line + " (f4)");
}

Array layer(Array W, Array x) { return sin(dot(W, x)); }
Array predict(const std::vector<Array>& params, Array x, bool named) {
  for (std::size_t i = 0; i + 1 < params.size(); ++i) {
    x = layer(params[i], x);
    if (named) x = checkpoint_name(x, "layer" + std::to_string(i) + "_output");
  }
  return dot(params.back(), x);
}
Array loss(std::vector<Array> params, Array x, Array y) { return sum(square(predict(params, x, false) - y)); }
Array loss_named(std::vector<Array> params, Array x, Array y) { return sum(square(predict(params, x, true) - y)); }

struct Loss : testing::Test {
  std::vector<Array> params = std::vector<Array>(3, ones({4, 4}));
  Array x = ones({4}), y = ones({4});
  Lines args{"f32[4,4] argument params[0]", "f32[4,4] argument params[1]", "f32[4,4] argument params[2]",
             "f32[4] argument x"};
  Warnings quiet;
};
TEST_F(Loss, Plain) {
  EXPECT_EQ(kept(loss, ANEW_ARGS(params, x, y)),
            plus(args, {"f32[4] sin", "f32[4] cos", "f32[4] sin", "f32[4] cos", "f32[4] mul"}));
}
TEST_F(Loss, DotsPolicy) {
  EXPECT_EQ(kept(checkpoint(loss, dots_with_no_batch_dims_saveable), ANEW_ARGS(params, x, y)),
            plus(args, {"f32[4] argument y", "f32[4] dot_general", "f32[4] dot_general", "f32[4] dot_general"}));
}
TEST_F(Loss, Named) {
  EXPECT_EQ(kept(loss_named, ANEW_ARGS(params, x, y)),
            plus(args, {"f32[4] cos", "f32[4] named layer0_output", "f32[4] cos", "f32[4] named layer1_output",
                        "f32[4] mul"}));
}
TEST_F(Loss, NamedPolicy) {
  EXPECT_EQ(kept(checkpoint(loss_named, save_any_names_but_these("layer1_output")), ANEW_ARGS(params, x, y)),
            plus(args, {"f32[4] argument y", "f32[4] named layer0_output"}));
}

Fn chain(int n) {
  return [n](Array x) {
    for (int i = 0; i < n; ++i) x = sin(x);
    return x;
  };
}
Fn recursive_checkpoint(std::span<const Fn> funs) {
  if (funs.size() == 1) return funs[0];
  if (funs.size() == 2) return [f1 = funs[0], f2 = funs[1]](Array x) { return f1(f2(x)); };
  auto f1 = recursive_checkpoint(funs.first(funs.size() / 2)), f2 = recursive_checkpoint(funs.subspan(funs.size() / 2));
  return [=](Array x) { return f1(checkpoint(f2)(x)); };
}

TEST(Chains, PlainKeepsOneCosineEach) {
  for (int n : {1, 4, 8}) {
    EXPECT_EQ(kept(chain(n), 3.0), Lines(static_cast<std::size_t>(n), "f32[] cos"));
    Program back = vjp(chain(n), 3.0).second.program();
    EXPECT_EQ(back.count("mul"), n);
    EXPECT_EQ(back.count("sin") + back.count("cos"), 0);
  }
}
TEST(Chains, RecursiveCheckpointing) {
  for (int k = 2; k <= 6; ++k) {
    std::size_t n = std::size_t{1} << k;
    std::vector<Fn> sines(n, ANEW_FN(sin));
    Lines want{"f32[] argument 0"};
    want.resize(static_cast<std::size_t>(k - 1), "f32[] sin");
    want.resize(static_cast<std::size_t>(k + 1), "f32[] cos");
    Fn tree = recursive_checkpoint(sines);
    EXPECT_EQ(kept(tree, 3.0), want);
    // (n/2)(k-1) functions are evaluated again, but the last one of each of the n/2 - 1 recomputed stretches only for
    // its derivative: its value is not needed (the tutorial's listing for 8 has 5 sines).
    int half = static_cast<int>(n) / 2, executed = 0;
    auto pullback = vjp(tree, 3.0).second;
    Observer former = set_observer([&](const ir::Primitive& p) { executed += p.name == "sin"; });
    pullback(1.0);
    set_observer(former);
    EXPECT_EQ(executed, half * (k - 1) - (half - 1)) << n;
    EXPECT_TRUE(same_bits(grad(tree)(3.0), grad(chain(static_cast<int>(n)))(3.0)));
  }
}
TEST(Chains, WholeAndHalves) {
  Warnings quiet;
  auto two = chain(2);
  EXPECT_EQ(kept(checkpoint(chain(4)), 3.0), (Lines{"f32[] argument 0"}));
  EXPECT_EQ(kept([&](Array x) { return two(checkpoint(two)(x)); }, 3.0),
            (Lines{"f32[] argument 0", "f32[] cos", "f32[] cos"}));
  EXPECT_EQ(kept([&](Array x) { return checkpoint(two)(two(x)); }, 3.0),
            (Lines{"f32[] cos", "f32[] sin", "f32[] cos"}));
}

// Table 1.11: who decides when checkpoints are nested.
TEST(Nesting, OutermostPolicyDecides) {
  Warnings quiet;
  auto nested = [](Policy outer, Policy inner) {
    return checkpoint(Fn([inner](Array x) { return sin(checkpoint(chain(3), inner)(sin(x))); }), outer);
  };
  auto counts = [&](const Policy& p, const Policy& q) {
    Program back = vjp(nested(p, q), 3.0).second.program();
    return std::pair(back.count("sin"), back.count("cos"));
  };
  EXPECT_EQ(kept(nested(nothing_saveable, nothing_saveable), 3.0), (Lines{"f32[] argument 0"}));
  EXPECT_EQ(counts(nothing_saveable, nothing_saveable), std::pair(6, 5));
  EXPECT_EQ(kept(nested(nothing_saveable, everything_saveable), 3.0), (Lines{"f32[] argument 0"}));
  EXPECT_EQ(counts(nothing_saveable, everything_saveable), std::pair(4, 5));
  for (const Policy& q : {nothing_saveable, everything_saveable}) {
    EXPECT_EQ(kept(nested(everything_saveable, q), 3.0),
              (Lines{"f32[] cos", "f32[] checkpoint", "f32[] checkpoint", "f32[] checkpoint", "f32[] cos"}));
    EXPECT_EQ(counts(everything_saveable, q), std::pair(0, 0));
  }
}

// Seed 0.
auto stack_loss(auto body) {
  return [body](Array weights, Array x) {
    auto [y, _] = scan(body, x, weights);
    return sum(square(y));
  };
}
TEST(Stack, Residuals) {
  Warnings quiet;
  auto body = [](Array y, Array w) { return std::pair(nn::relu(matmul(y, w)), none); };
  Array weights = stack(std::vector<Array>(3, eye(2))), x = ones({1, 2});
  EXPECT_EQ(kept(stack_loss(body), ANEW_ARGS(weights, x)),
            (Lines{"f32[3,2,2] argument weights", "f32[3,1,2] scan", "bool[3,1,2] scan", "f32[1,2] mul"}));
  EXPECT_EQ(kept(stack_loss(checkpoint(body)), ANEW_ARGS(weights, x)),
            (Lines{"f32[3,2,2] argument weights", "f32[3,1,2] scan", "f32[1,2] mul"}));
  EXPECT_EQ(kept(stack_loss(checkpoint(body, dots_with_no_batch_dims_saveable)), ANEW_ARGS(weights, x)),
            (Lines{"f32[3,2,2] argument weights", "f32[3,1,2] scan", "f32[3,1,2] scan", "f32[1,2] mul"}));
  EXPECT_EQ(kept(checkpoint(stack_loss(body)), ANEW_ARGS(weights, x)),
            (Lines{"f32[3,2,2] argument weights", "f32[1,2] argument x"}));
  auto list = saved_residuals(stack_loss(body), ANEW_ARGS(weights, x));
  EXPECT_EQ(list.at(1).trips, 3);
  EXPECT_EQ(list.at(0).trips, 1);
}

// Of kept states there are as many as are kept; ys of the same loop are stacked over all steps.
TEST(Stack, TripsOfKeptStates) {
  auto f = [](Array x) {
    auto [c, ys] =
        scan([](Array c, none_t) { return std::pair(sin(c), sin(c)); }, x, none, {.length = 20, .checkpoints = 4});
    return c * sum(ys * ys);
  };
  std::map<std::string, std::int64_t> trips;
  for (const Residual& r : saved_residuals(f, 0.5)) trips[r.text.substr(0, r.text.find(" from"))] = r.trips;
  EXPECT_EQ(trips.at("f32[4] output of scan"), 4);
  EXPECT_EQ(trips.at("f32[20] output of scan"), 20);
  EXPECT_EQ(trips.at("f32[] output of scan"), 1);
  auto g = [](Array x) {
    return while_loop([](Array c) { return c > 0.1; }, [](Array c) { return sin(c) * 0.5; }, x, {.checkpoints = 4});
  };
  for (const Residual& r : saved_residuals(g, 0.5)) EXPECT_EQ(r.trips, r.text.starts_with("i32[] ") ? 1 : 4) << r.text;
}

// Seeds 1 and 2.
Array middle(Array y, Array w) { return matmul(y, w); }
TEST(Layers, BareProductSavesNothing) {
  Warnings quiet;
  auto with = [](auto mid) {
    return [mid](Array w1, Array w2, Array w3, Array x) {
      Array y1 = nn::relu(matmul(x, w1));
      Array y2 = nn::relu(mid(y1, w2));
      return sum(square(matmul(y2, w3)));
    };
  };
  Array w1 = eye(4), w2 = eye(4), w3 = eye(4), x = ones({1, 4});
  Lines want{"f32[4,4] argument w1", "f32[4,4] argument w2", "f32[4,4] argument w3",
             "f32[1,4] argument x",  "f32[1,4] relu",        "bool[1,4] gt",
             "f32[1,4] relu",        "bool[1,4] gt",         "f32[1,4] mul"};
  EXPECT_EQ(kept(with(middle), ANEW_ARGS(w1, w2, w3, x)), want);
  EXPECT_EQ(kept(with(checkpoint(middle)), ANEW_ARGS(w1, w2, w3, x)), want);
}
Array pipeline(Array w1, Array w2, Array x) { return sum(square(matmul(nn::relu(matmul(x, w1)), w2))); }
TEST(Layers, Pipeline) {
  Warnings quiet;
  Array w1 = eye(4), w2 = eye(4), x = ones({2, 4});
  Lines args{"f32[4,4] argument w1", "f32[4,4] argument w2", "f32[2,4] argument x"};
  EXPECT_EQ(kept(checkpoint(pipeline), ANEW_ARGS(w1, w2, x)), args);
  EXPECT_EQ(kept(checkpoint(pipeline, dots_with_no_batch_dims_saveable), ANEW_ARGS(w1, w2, x)),
            plus(args, {"f32[2,4] dot_general", "f32[2,4] dot_general"}));
  Lines all = plus(args, {"f32[2,4] relu", "bool[2,4] gt", "f32[2,4] mul"});
  EXPECT_EQ(kept(checkpoint(pipeline, everything_saveable), ANEW_ARGS(w1, w2, x)), all);
  EXPECT_EQ(kept(pipeline, ANEW_ARGS(w1, w2, x)), all);
}

// The tutorial's scan over layers.
using LayerParam = std::pair<Array, Array>;
std::pair<Array, none_t> dense(Array x, LayerParam p) { return {maximum(dot(x, p.first) + p.second, 0.), none}; }
TEST(ScanOverLayers, Residuals) {
  Warnings quiet;
  Array all_weights = ones({2, 2, 2}), all_biases = ones({2, 2}), x = array({1., 2.});
  auto net = [&](auto body) {
    return [&x, body](Array W, Array b) { return sum(scan(body, x, std::pair(W, b)).first); };
  };
  EXPECT_EQ(kept(net(dense), ANEW_ARGS(all_weights, all_biases)),
            (Lines{"f32[2,2,2] argument all_weights", "f32[2,2] scan", "f32[2,2] scan"}));
  EXPECT_EQ(
      kept(net(checkpoint(dense, dots_with_no_batch_dims_saveable)), ANEW_ARGS(all_weights, all_biases)),
      (Lines{"f32[2,2,2] argument all_weights", "f32[2,2] argument all_biases", "f32[2,2] scan", "f32[2,2] scan"}));
  EXPECT_EQ(kept(net(checkpoint(dense)), ANEW_ARGS(all_weights, all_biases)),
            (Lines{"f32[2,2,2] argument all_weights", "f32[2,2] argument all_biases", "f32[2,2] scan"}));
}

TEST(ScanOfSines, Sixteen) {
  Warnings quiet;
  auto sine = [](Array c, none_t) { return std::pair(sin(c), none); };
  auto loop = [](auto body, int n) { return [=](Array x) { return scan(body, x, none, {.length = n}).first; }; };
  EXPECT_EQ(kept(loop(sine, 16), 3.0), (Lines{"f32[16] scan"}));
  EXPECT_EQ(kept(loop(checkpoint(sine), 16), 3.0), (Lines{"f32[16] scan"}));
  auto four = [=](Array c, none_t) { return std::pair(loop(sine, 4)(c), none); };
  EXPECT_EQ(kept(loop(checkpoint(four), 4), 3.0), (Lines{"f32[4] scan"}));
  EXPECT_EQ(kept(checkpoint(loop(sine, 16)), 3.0), (Lines{"f32[] argument 0"}));
}

// One order everywhere, eagerly too.
TEST_F(Loss, PullbackHoldsTheSameList) {
  auto texts = [](const std::vector<Residual>& rs) {
    Lines out;
    for (const Residual& r : rs) out.push_back(r.text);
    return out;
  };
  auto [value, pullback] = vjp(loss, params, x, y);
  auto [value2, f_lin] = linearize(loss, params, x, y);
  Lines want = texts(saved_residuals(loss, params, x, y));
  EXPECT_EQ(texts(pullback.residuals()), want);
  EXPECT_EQ(texts(f_lin.residuals()), want);
  Program back = pullback.program();
  std::vector<ShapeDtype> in = back.inputs();
  ASSERT_EQ(in.size(), want.size() + 1);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(in[i].str(), pullback.residuals()[i].type.str());
}

TEST_F(Loss, Reasons) {
  auto plain = saved_residuals(loss, ANEW_ARGS(params, x, y));
  EXPECT_EQ(plain.at(5).reason.substr(0, plain.at(5).reason.find(';')), "derivative of sin");
  EXPECT_EQ(plain.at(4).reason.substr(0, plain.at(4).reason.find(';')), "operand of dot_general");
  EXPECT_NE(plain.at(5).reason.find("; read by mul for residuals_test.cpp:"), std::string::npos) << plain.at(5).reason;
  const int line = __LINE__ + 1;
  auto by_policy = saved_residuals(checkpoint(loss, dots_saveable), ANEW_ARGS(params, x, y));
  std::string place = "checkpoint at residuals_test.cpp:" + std::to_string(line);
  EXPECT_EQ(by_policy.at(0).reason.find("input of " + place), 0u) << by_policy.at(0).reason;
  EXPECT_EQ(by_policy.at(5).reason.find("policy dots_saveable of " + place), 0u) << by_policy.at(5).reason;
}

TEST(Reports, AnOperationPassedAsAValueHasTheLineOfTheTransformation) {
  Array (*plain)(const ArrayLike&) = anew::sin;
  std::function<Array(Array)> f = plain;
  const int line = __LINE__ + 1;
  auto total = [&](Array x) { return sum(checkpoint(f, everything_saveable)(x)); };
  auto list = saved_residuals(total, ones({3}));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].location.line, line);
}
TEST(Reports, Text) {
  const int line = __LINE__ + 1;
  auto h = [](Array x) { return sum(sin(x)); };
  EXPECT_EQ(flat::saved_residuals_text(saved_residuals(h, ones({3}))),
            "f32[3] output of cos from residuals_test.cpp:" + std::to_string(line) +
                " (<lambda>)  12 bytes\ntotal: 1 residual, 12 bytes\n");
}

}  // namespace
}  // namespace anew::test
