// checkpoint beyond its residual lists: warnings, tracing once, no stale trace, captured values, equality of
// bits under every policy with one, two and four threads.
#include "control/higher_order.h"
#include "runtime/pool.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::test {
namespace {

using namespace checkpoint_policies;
using Texts = std::vector<std::string>;

const char* const nothing_changes =
    "[checkpoint] this checkpoint changes nothing: the backward pass repeats none of its equations";
const char* const last_stage =
    "[checkpoint] this checkpoint saves no memory: it is the last stage (or the whole) of the differentiated function, "
    "so all that it recomputes is live again at once";

TEST(Warnings, OfABareProduct) {
  Warnings w;
  const int line = __LINE__ + 1;
  auto f = [](Array a, Array b) { return sum(sin(checkpoint([](Array a, Array b) { return matmul(a, b); })(a, b))); };
  (void)grad(f)(ones({2, 2}), ones({2, 2}));
  EXPECT_EQ(w.texts(), (Texts{nothing_changes}));
  EXPECT_EQ(w.list.at(0).line, line);
  EXPECT_EQ(w.list.at(0).file, __FILE__);
}
TEST(Warnings, OfTheLastStageAndTheWhole) {
  auto two = [](Array x) { return sin(sin(x)); };
  {
    Warnings w;
    (void)grad(checkpoint(two))(1.0);
    EXPECT_EQ(w.texts(), (Texts{last_stage}));
  }
  {
    Warnings w;
    (void)grad([&](Array x) { return checkpoint(two)(two(x)); })(1.0);
    EXPECT_EQ(w.texts(), (Texts{last_stage}));
  }
  {
    Warnings w;
    (void)grad([&](Array x) { return two(checkpoint(two)(x)); })(1.0);
    EXPECT_EQ(w.texts(), Texts{});
  }
}
TEST(Warnings, OfNamesThatMatchNothing) {
  auto f = [](Array x) { return sin(checkpoint_name(sin(sin(x)), "a")); };
  auto of = [&](const Policy& p) {
    Warnings w;
    (void)grad([&](Array x) { return sin(sin(checkpoint(f, p)(x))); })(1.0);
    return w.texts();
  };
  EXPECT_EQ(of(save_only_these_names("a")), Texts{});
  EXPECT_EQ(of(save_only_these_names("a", "b")),
            (Texts{"[checkpoint] policy save_only_these_names('a', 'b') mentions the name 'b', but no value in the "
                   "checkpointed function has it"}));
  EXPECT_EQ(of(any_of(dots_saveable, save_any_names_but_these("z"))),
            (Texts{"[checkpoint] policy any_of(dots_saveable, save_any_names_but_these('z')) mentions the name 'z', "
                   "but no value in the checkpointed function has it"}));
}
TEST(Warnings, CallingWithoutDifferentiatingIsSilent) {
  Warnings w;
  (void)checkpoint([](Array x) { return sin(x); }, save_only_these_names("q"))(1.0);
  (void)jvp(checkpoint([](Array x) { return sin(x); }, save_only_these_names("q")), 1.0, 1.0);
  EXPECT_EQ(w.texts(), Texts{});
}

TEST(Checkpoint, TracesOncePerCall) {
  Warnings quiet;
  int calls = 0;
  auto f = checkpoint([&](Array x) {
    ++calls;
    return sum(sin(sin(x)));
  });
  (void)grad(f)(ones({3}));
  EXPECT_EQ(calls, 1);
}
TEST(Checkpoint, NeverReusesAStaleTrace) {
  Warnings quiet;
  double scale = 2;
  Array w = 1.0;
  auto f = checkpoint([&](Array x) { return scale * sin(w * x); });
  auto j = jit(f);
  EXPECT_FLOAT_EQ(grad(f)(0.0).item<float>(), 2.f);
  EXPECT_FLOAT_EQ(j(1.0).item<float>(), 2 * std::sin(1.0f));
  scale = 3, w = 2.0;
  EXPECT_FLOAT_EQ(grad(f)(0.0).item<float>(), 6.f);
  EXPECT_FLOAT_EQ(j(1.0).item<float>(), 3 * std::sin(2.0f));
}
// An operand given twice is one input, a number none; what is passed through goes around.
TEST(Checkpoint, CanonicalForm) {
  auto f = [](Array x) {
    auto [y, z] = checkpoint([](Array a, Array b, Array c) { return std::pair(sin(a) * b * c, b); })(x, x, 2.0);
    return y + z;
  };
  EXPECT_EQ(make_program(f)(3.0).str(), R"({ lambda ; a:f32[]. let
    b:f32[] = checkpoint[
      differentiated=False
      policy=nothing_saveable
      program={ lambda ; c:f32[]. let
          d:f32[] = sin c
          e:f32[] = mul d c
          f:f32[] = mul e 2.0:f32[]
        in (f,) }
    ] a
    g:f32[] = add b a
  in (g,) })");
}
TEST(Checkpoint, EmptyName) {
  EXPECT_EQ(ERROR_OF((void)checkpoint_name(ones({2}), "")), "[checkpoint_name] the name is empty");
}

TEST(Checkpoint, PoliciesSeeTypesParamsAndNames) {
  Warnings quiet;
  std::vector<std::string> seen;
  auto spy = [&](const PolicyQuery& q) {
    std::string line = std::string(q.primitive) + "|" + std::string(q.name) + "|" + std::string(q.params) + "|";
    for (const auto& t : q.input_types) line += t.str() + " ";
    line += "->";
    for (const auto& t : q.output_types) line += " " + t.str();
    seen.push_back(line);
    return false;
  };
  (void)grad(checkpoint([](Array w) { return sum(checkpoint_name(sin(matmul(w, w)), "h")); }, spy))(ones({2, 2}));
  ASSERT_GE(seen.size(), 4u);
  EXPECT_EQ(seen[0],
            "dot_general||dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=float32|f32[2,2] f32[2,2] -> "
            "f32[2,2]");
  EXPECT_EQ(seen[1], "sin|||f32[2,2] -> f32[2,2]");
  EXPECT_EQ(seen[2], "cos|||f32[2,2] -> f32[2,2]");
  EXPECT_EQ(seen[3], "name|h|name=h|f32[2,2] -> f32[2,2]");
}

// Promise 1 on a block with products, names, nesting, a skip and a scan, under twelve policies.
struct Block {
  Array w1, w2, b;
};
Array block(const Block& p, Array x) {
  Array h = checkpoint_name(tanh(matmul(x, p.w1) + p.b), "h");
  Array v = checkpoint([](Array h, Array w) { return nn::relu(matmul(h, w)) * nn::sigmoid(h); })(h, p.w2);
  Array s = nn::softmax(matmul(v, v.T()));
  return x + matmul(s, checkpoint_name(v, "v")) + h;
}
Array network(const Block& p, Array x, const std::optional<Policy>& policy) {
  auto f = [](const Block& p, Array x) { return block(p, x); };
  auto body = [&](Array c, none_t) { return std::pair(policy ? checkpoint(f, *policy)(p, c) : f(p, c), none); };
  x = body(x, none).first;
  x = scan(body, x, none, {.length = 3}).first;
  return mean(square(body(x, none).first));
}
std::vector<Policy> policies_to_compose() {
  return {
      everything_saveable,
      nothing_saveable,
      dots_saveable,
      dots_with_no_batch_dims_saveable,
      save_only_these_names("h"),
      save_only_these_names("h", "v"),
      save_any_names_but_these("h"),
      save_anything_except_these_names("v"),
      any_of(dots_saveable, save_only_these_names("v")),
      all_of(dots_saveable, not_(save_only_these_names("h"))),
      not_(dots_saveable),
      Policy("save cos and tanh", [](const PolicyQuery& q) { return q.primitive == "cos" || q.primitive == "tanh"; })};
}
TEST(Bits, AreThoseOfThePlainGradientUnderEveryPolicy) {
  Warnings quiet;
  Block p{fill({16, 16}, 1), fill({16, 16}, 2), fill({16}, 3)};
  Array x = fill({8, 16}, 4);
  auto gradient = [&](const std::optional<Policy>& policy) {
    return tree_leaves(grad([&](const Block& p) { return network(p, x, policy); })(p));
  };
  set_threads(1);
  Arrays want = gradient({});
  for (int n : {1, 2, 4}) {
    set_threads(n);
    EXPECT_TRUE(same_bits(gradient({}), want)) << n << " threads";
    for (const Policy& policy : policies_to_compose()) {
      EXPECT_TRUE(same_bits(gradient(policy), want)) << policy.str() << ", " << n << " threads";
      EXPECT_TRUE(
          same_bits(tree_leaves(grad(checkpoint([&](const Block& p) { return network(p, x, {}); }, policy))(p)), want))
          << "whole, " << policy.str();
      EXPECT_TRUE(same_bits(tree_leaves(jit(grad([&](const Block& p) { return network(p, x, policy); }))(p)), want))
          << "jit, " << policy.str();
    }
  }
  set_threads(2);
}

}  // namespace
}  // namespace anew::test
