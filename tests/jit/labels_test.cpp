// Who a value of a plan belongs to: the argument it was made with, forward and backward, and the calls it lies in. And
// the names of arguments in errors.
#include <fmt/format.h>

#include <map>
#include <set>

#include "support/support.h"

namespace anew::labels_test {
namespace {

struct Layer {
  Array w, b;
};
using Layers = std::vector<Layer>;
struct Model {
  Layers layers;
};
Array apply(const Layer& layer, const Array& x) { return sin(matmul(x, layer.w) + layer.b); }
Array network(const Layers& layers, Array x) {
  for (const Layer& layer : layers) x = apply(layer, x);
  return mean(square(x));
}
Array checkpointed(const Layers& layers, Array x) {
  for (const Layer& layer : layers) x = checkpoint(apply)(layer, x);
  return mean(square(x));
}
Layers make_layers(std::size_t n) { return Layers(n, {ShapeDtype{{64, 64}, f32}, ShapeDtype{{64}, f32}}); }
const ShapeDtype batch{{256, 64}, f32};

std::set<std::string> paths(const MemoryPlan& plan) {
  std::set<std::string> out;
  for (const LiveValue& v : plan.live)
    if (!v.path.empty()) out.insert(v.path);
  return out;
}

TEST(PlanLabels, NameTheArgumentThatAValueWasMadeWith) {
  const Layers layers = make_layers(4);
  const MemoryPlan plan = jit(value_and_grad(network)).plan(ANEW_ARGS(layers, batch));
  const std::set<std::string> found = paths(plan);
  for (const char* path : {"layers[0].b", "layers[1].b", "layers[2].b", "layers[3].b"})
    EXPECT_TRUE(found.contains(path)) << path << "\n" << plan;
  for (const LiveValue& v : plan.live) EXPECT_TRUE(v.scratch || !v.path.empty()) << plan;
  // Without names arguments have numbers.
  EXPECT_TRUE(paths(jit(value_and_grad(network)).plan(layers, batch)).contains("0[1].b")) << plan;
}

// Each gradient is that of its own parameter; what is made of gradients says so, what updates a parameter is its own.
TEST(PlanLabels, GradientsAreThoseOfTheirParameters) {
  auto step = [](const Layers& layers, Array x) {
    Layers g = grad(network)(layers, x);
    Array norm = 0.0;
    for (const Layer& layer : g) norm = norm + sum(square(layer.w));
    return tree_map([&](Array p, Array d) { return p - d / norm; }, layers, g);
  };
  const Layers layers = make_layers(3);
  const MemoryReport r = memory_report(jit(step), ANEW_ARGS(layers, batch));
  std::set<std::string> gradients;
  for (const MemoryReport::Step& s : r.steps)
    if (s.what == "dot_general" && s.type == "f32[64,64]") gradients.insert(s.path);
  EXPECT_EQ(gradients, (std::set<std::string>{"d layers[0].w", "d layers[1].w", "d layers[2].w"})) << r;
  std::vector<std::string> norms, updates;
  for (const MemoryReport::Step& s : r.steps) {
    if (s.what == "square, reduce_sum") norms.push_back(s.path);
    if (s.what == "div, sub") updates.push_back(s.path);
  }
  EXPECT_EQ(norms, (std::vector<std::string>{"d layers[0].w", "d layers[1].w", "d layers[2].w"})) << r;
  EXPECT_EQ(updates[1], "layers[0].b") << r;
}

TEST(PlanLabels, CopiesOfParametersAreThatParameter) {
  auto half = [](const Layers& layers, Array x) {
    Layers low = tree_map([](Array p) { return p.astype(bf16); }, layers);
    return network(low, x.astype(bf16)).astype(f32);
  };
  const Layers layers = make_layers(3);
  const MemoryPlan plan = jit(grad(half)).plan(ANEW_ARGS(layers, batch));
  std::set<std::string> activations;
  for (const LiveValue& v : plan.live)
    if (v.type == ShapeDtype{{256, 64}, bf16} && !v.backward) activations.insert(v.path);
  EXPECT_TRUE(activations.contains("layers[0].b")) << plan;
  EXPECT_TRUE(activations.contains("layers[1].b")) << plan;
}

TEST(PlanLabels, CallsAreCounted) {
  const Layers layers = make_layers(4);
  const MemoryPlan plan = jit(grad(checkpointed)).plan(ANEW_ARGS(layers, batch));
  std::map<std::string, std::string> callers;  // by path
  for (const LiveValue& v : plan.live) callers.emplace(v.path, v.callers);
  for (int i = 0; i < 3; ++i) {
    const std::string path = fmt::format("layers[{}].b", i);
    ASSERT_TRUE(callers.contains(path)) << plan;
    EXPECT_TRUE(callers[path].starts_with(fmt::format("checkpoint {} of labels_test.cpp:", i))) << plan;
    EXPECT_TRUE(callers[path].ends_with(" (checkpointed)")) << plan;
  }
}

// What a backward pass makes, and what it recomputes, is in the call that it is the derivative of.
TEST(PlanLabels, BackwardPassesAreInTheirCalls) {
  const Layers layers = make_layers(3);
  const MemoryReport r = memory_report(jit(grad(checkpointed)), ANEW_ARGS(layers, batch));
  int backward = 0;
  for (const MemoryReport::Step& s : r.steps) {
    const std::size_t at = s.path.find("layers[");
    if (at == std::string::npos || s.callers.empty()) continue;
    EXPECT_TRUE(s.callers.starts_with(fmt::format("checkpoint {} of", s.path[at + 7]))) << s.path << " " << s.callers;
    backward += s.path.starts_with("d ");
  }
  EXPECT_GE(backward, 6) << r;
}

TEST(PlanLabels, InLoopsAndInTheirReverse) {
  auto rnn = [](const Layer& p, Array xs) {
    auto cell = [&](Array h, Array x) { return std::pair(tanh(matmul(h, p.w) + x + p.b), none); };
    return sum(scan(cell, zeros({32, 64}), xs).first);
  };
  const Layer p = make_layers(1)[0];
  const MemoryReport r = memory_report(jit(grad(rnn)), ANEW_ARGS(p, ShapeDtype{{10, 32, 64}, f32}));
  std::set<std::string> found;
  for (const MemoryReport::Step& s : r.steps)
    if (s.depth > 0 && s.what != "copy") {
      found.insert(s.path);
      EXPECT_TRUE(s.callers.starts_with("scan 0 of labels_test.cpp:")) << s.what << " " << s.callers << "\n" << r;
    }
  EXPECT_TRUE(found.contains("p.w") || found.contains("p.b")) << r;
  EXPECT_TRUE(found.contains("d p.w")) << r;
}

TEST(JitErrors, LeavesAreNamed) {
  Layers layers(2, {ones({64, 64}), ones({64})});
  auto c = jit(network).compile(layers, ones({2, 64}));
  layers[1].w = ones({64, 63});
  EXPECT_EQ(
      ERROR_OF(c(layers, ones({2, 64}))),
      "[compile] argument 0, [1].w was f32[64,64] when the function was compiled, is f32[64,63] now; hint: compile "
      "once for each set of types, or call jit(f), which does");
  layers[1].w = Array();
  const std::string hint =
      "; hint: `Array x;` is no array yet, one that was moved from is none any more: assign one first";
  EXPECT_EQ(ERROR_OF(c(layers, ones({2, 64}))), "[compile] argument 0, [1].w is an uninitialised Array" + hint);
  EXPECT_EQ(ERROR_OF((void)jit(network).plan(ANEW_ARGS(layers, ones({2, 64})))),
            "[plan] argument layers, [1].w is an uninitialised Array" + hint);
  auto f = [](const Model& m, Array x) { return network(m.layers, x); };
  EXPECT_EQ(ERROR_OF((void)jit(f).compile(Model{layers}, ones({2, 64}))),
            "[compile] argument 0, layers[1].w is an uninitialised Array" + hint);
}

}  // namespace
}  // namespace anew::labels_test
