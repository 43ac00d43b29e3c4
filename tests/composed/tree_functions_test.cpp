// Functions of trees: paths, folds, stacking, one vector and back, vector arithmetic; errors name leaves.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/expect_error.h"

namespace tree_functions_test {

using namespace anew;
using test::expect_error;

struct Layer {
  Array w, b;
  int width = 3;
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Array> extra;
};
Model model(double start = 1) {
  Model m{{{full({2, 3}, start), full({3}, start + 1), 7}, {full({3, 1}, start + 2), full({1}, start + 3), 8}}, {}};
  m.extra["gain"] = array(start + 4);
  return m;
}
const std::vector<std::string> paths = {"layers[0].w", "layers[0].b", "layers[1].w", "layers[1].b", "extra['gain']"};

TEST(TreeFunctions, PathsNameLeaves) {
  EXPECT_EQ(tree_paths(model()), paths);
  EXPECT_EQ(tree_paths(Array(1.0)), std::vector<std::string>{""});
  EXPECT_EQ(tree_paths(std::vector<Layer>{{ones(1), ones(1)}}), (std::vector<std::string>{"[0].w", "[0].b"}));
  EXPECT_EQ(tree_paths(none), std::vector<std::string>{});
}

enum class Mode { train, test };
class Registered {
 public:
  Registered(Array w, int size) : w_(std::move(w)), size_(size) {}

 private:
  Array w_;
  int size_;
  ANEW_TREE(Registered, w_, size_);
};
struct Many {
  Array w = 1.0;
  int width = 2;
  std::string name = "n";
  double rate = 0.5;
  bool on = true;
  Mode mode = Mode::train;
  const char* text = "t";
  std::string_view view = "v";
  Shape shape = {2};
  Policy policy = checkpoint_policies::automatic;
  std::vector<int> list = {1, 2};
  std::vector<bool> bits = {true};
  std::optional<int> maybe = {};
  std::map<std::string, unsigned> counts = {{"a", 1}};
  std::pair<Array, std::array<long, 2>> pair = {2.0, {3, 4}};
  std::set<int> set = {1};
  Axes axes = 1;
  std::vector<Registered> inner = {{1.0, 5}};
  std::function<Array(Array)> f = {};  // cannot be compared
  void (*pointer)() = nullptr;
};
// Each function of several trees, and of each what it calls the second.
template <class T>
void refuse_different(const T& a, const T& b, std::string_view path, std::string_view of_a, std::string_view of_b) {
  using test::expect_error;
  auto says = [&](std::string_view op, std::string_view one, std::string_view other) {
    const std::string p(path);
    std::string text = "[" + std::string(op) + "] " + p + ", which is no array, is ";
    if (of_a.empty()) text += "not the same in the " + std::string(other) + " as in the " + std::string(one);
    else
      text += std::string(of_b) + " in the " + std::string(other) + " and " + std::string(of_a) + " in the " +
              std::string(one);
    return text + "; ";
  };
  const Location here = Location::current();
  const std::string add = says("tree_add", "first tree", "second tree"),
                    sub = says("tree_sub", "first tree", "second tree"),
                    axpy = says("tree_axpy", "first tree", "second tree"),
                    dot = says("tree_dot", "first tree", "second tree"),
                    map = says("tree_map", "first one", "tree number 2"),
                    stack = says("tree_stack", "first one", "tree number 1"),
                    update = says("update", "tree of parameters", "gradient"),
                    apply = says("apply_updates", "tree of parameters", "tree of updates");
  const std::string hint = "hint: give both the same value, or make it an Array";
  expect_error([&] { (void)tree_add(a, b, here); }, {add, hint});
  expect_error([&] { (void)tree_sub(a, b, here); }, {sub, hint});
  expect_error([&] { (void)tree_axpy(2.0, a, b, here); }, {axpy, hint});
  expect_error([&] { (void)tree_dot(a, b, here); }, {dot, hint});
  expect_error([&] { (void)tree_stack(std::vector{a, b, a}, here); }, {stack, hint});
  auto first = [](const Array& x, const Array&, const Array&) { return x; };
  auto named = [](const std::string&, const Array& x, const Array&, const Array&) { return x; };
  expect_error([&] { (void)tree_map(first, a, a, b); }, {map, hint});
  expect_error([&] { (void)tree_map_with_path(named, a, a, b); }, {map, hint});
  const optim::Optimizer opt = optim::sgd(0.1);
  expect_error([&] { (void)opt.update(b, opt.init(a), a, here); }, {update, hint});
  expect_error([&] { (void)optim::apply_updates(a, b, here); }, {apply, hint});
}
TEST(TreeFunctions, StaticValuesAreTheSame) {
  const Many a;
  EXPECT_EQ(tree_add(a, Many()).width, 2);
  EXPECT_EQ(tree_stack(std::vector{a, a}).name, "n");
  const std::string other = "t";  // the same text elsewhere
  Many moved;
  moved.text = other.c_str();
  moved.f = [](Array x) { return x; };
  EXPECT_EQ(tree_sub(a, moved).width, 2);
  auto change = [&](auto f, std::string_view path, std::string_view of_a, std::string_view of_b) {
    Many b;
    f(b);
    SCOPED_TRACE(path);
    refuse_different(a, b, path, of_a, of_b);
  };
  change([](Many& m) { m.width = -3; }, "width", "2", "-3");
  change([](Many& m) { m.name = "N"; }, "name", "'n'", "'N'");
  change([](Many& m) { m.rate = 0.25; }, "rate", "0.5", "0.25");
  change([](Many& m) { m.on = false; }, "on", "true", "false");
  change([](Many& m) { m.mode = Mode::test; }, "mode", "0", "1");
  change([](Many& m) { m.text = "T"; }, "text", "'t'", "'T'");
  change([](Many& m) { m.text = nullptr; }, "text", "", "");
  change([](Many& m) { m.view = "w"; }, "view", "'v'", "'w'");
  change([](Many& m) { m.shape = {3}; }, "shape", a.shape.str(), Shape{3}.str());
  change([](Many& m) { m.policy = checkpoint_policies::dots_saveable; }, "policy", "automatic", "dots_saveable");
  change([](Many& m) { m.list[1] = 5; }, "list[1]", "2", "5");
  change([](Many& m) { m.list.push_back(5); }, "list", "2 elements", "3 elements");
  change([](Many& m) { m.bits[0] = false; }, "bits[0]", "true", "false");
  change([](Many& m) { m.maybe = 5; }, "maybe", "none", "a value");
  change([](Many& m) { m.counts["a"] = 2; }, "counts['a']", "1", "2");
  change([](Many& m) { m.counts = {{"b", 1}}; }, "counts", "with key 'a'", "with key 'b'");
  change([](Many& m) { m.counts["b"] = 2; }, "counts", "1 elements", "2 elements");
  change([](Many& m) { m.pair.second[1] = 5; }, "pair[1][1]", "4", "5");
  change([](Many& m) { m.set = {2}; }, "set", "", "");
  change([](Many& m) { m.axes = 0; }, "axes", "", "");
  change([](Many& m) { m.inner = {{1.0, 6}}; }, "inner[0].size_", "5", "6");
  change([](Many& m) { m.pointer = [] {}; }, "pointer", "", "");
  refuse_different(std::vector{Layer{1.0, 1.0, 3}}, std::vector{Layer{1.0, 1.0, 4}}, "[0].width", "3", "4");
}

TEST(TreeFunctions, MapWithPath) {
  std::vector<std::string> seen;
  Model m = tree_map_with_path(
      [&](const std::string& path, const Array& a, const Array& b) {
        seen.push_back(path);
        return path.ends_with(".w") ? a : a + b;
      },
      model(), model());
  EXPECT_EQ(seen, paths);
  EXPECT_EQ((m.layers[0].w[{0, 0}].item()), 1);
  EXPECT_EQ(m.layers[0].b[0].item(), 4);
  EXPECT_EQ(m.layers[1].width, 8);
}

TEST(TreeFunctions, Reduce) {
  EXPECT_EQ(tree_reduce([](std::int64_t n, const Array& a) { return n + a.size(); }, model(), 0), 14);
  EXPECT_EQ(tree_reduce([](const Array& s, const Array& a) { return s + sum(a); }, model(), 0).item(),
            6 + 6 + 9 + 4 + 5);
  EXPECT_EQ(tree_reduce([](const Array& s, const Array& a) { return sum(s) + sum(a); }, model()).item(), 30);
  expect_error([&] { (void)tree_reduce([](Array s, Array) { return s; }, std::vector<Array>{}); },
               {"tree_reduce", "no leaves"});
}

TEST(TreeFunctions, StackAndUnstack) {
  Model s = tree_stack(std::vector{model(1), model(11), model(21)});
  EXPECT_EQ(s.layers[0].w.shape(), (Shape{3, 2, 3}));
  EXPECT_EQ(s.extra["gain"].to_vector(), (std::vector<double>{5, 15, 25}));
  EXPECT_EQ(s.layers[1].width, 8);
  std::vector<Model> back = tree_unstack(s);
  ASSERT_EQ(back.size(), 3u);
  EXPECT_TRUE(array_equal(back[1].layers[1].b, model(11).layers[1].b));
  EXPECT_EQ(back[2].layers[0].width, 7);

  expect_error([&] { (void)tree_stack(std::vector<Model>{}); }, {"tree_stack", "no tree"});
  Model other = model();
  other.layers[1].w = ones({4, 1});
  expect_error([&] { (void)tree_stack(std::vector{model(), other}); },
               {"tree_stack", "layers[1].w is f32[4,1] in tree 1 and f32[3,1]"});
  other.layers[1].w = Array();
  expect_error([&] { (void)tree_stack(std::vector{model(), other}); },
               {"layers[1].w of tree 1 is an uninitialised Array"});
  other.layers.pop_back();
  expect_error([&] { (void)tree_stack(std::vector{model(), other}); }, {"tree_stack", "layers[1].w"});
  expect_error([&] { (void)tree_unstack(model()); },
               {"tree_unstack", "layers[0].b is f32[3] and layers[0].w is f32[2,3]"});
  expect_error([&] { (void)tree_unstack(Array(1.0)); }, {"tree_unstack", "the array is a scalar"});
}

TEST(TreeFunctions, StackedLayersScan) {
  std::vector<Layer> layers{{ones({2, 2}), ones(2)}, {2 * ones({2, 2}), zeros(2)}};
  auto [y, ys] =
      scan([](Array x, const Layer& l) { return std::pair(dot(x, l.w) + l.b, none); }, ones(2), tree_stack(layers));
  Array z = ones(2);
  for (const Layer& l : layers) z = dot(z, l.w) + l.b;
  EXPECT_TRUE(array_equal(y, z));
}

TEST(TreeFunctions, RavelAndBack) {
  Model m = model();
  auto [v, unravel] = ravel_tree(m);
  EXPECT_EQ(v.type(), (ShapeDtype{{14}, f32}));
  Model twice = unravel(v * 2);
  EXPECT_TRUE(array_equal(twice.layers[1].w, m.layers[1].w * 2));
  EXPECT_EQ(twice.layers[1].width, 8);
  EXPECT_EQ(unravel(astype(v, f64)).layers[0].w.dtype(), f64);  // one dtype: the vector's
  expect_error([&] { (void)unravel(ones(3)); }, {"ravel_tree", "14 elements", "f32[3]"});
  expect_error([&] { (void)unravel(Array()); }, {"uninitialised"});
  m.layers[0].b = Array();
  expect_error([&] { (void)ravel_tree(m); }, {"ravel_tree", "layers[0].b", "uninitialised"});
}

TEST(TreeFunctions, RavelConvertsMixedDtypes) {
  std::tuple t(array({1.5, 2.5}, bf16), array({3, 4}, i32), array(0.1, f64));
  auto [v, unravel] = ravel_tree(t);
  EXPECT_EQ(v.dtype(), f64);
  auto [a, b, c] = unravel(v);
  EXPECT_EQ(a.type(), (ShapeDtype{{2}, bf16}));
  EXPECT_EQ(b.type(), (ShapeDtype{{2}, i32}));
  EXPECT_EQ(c.item(), 0.1);
  EXPECT_EQ(ravel_tree(std::vector<Array>{}).first.shape(), Shape{0});
}

TEST(TreeFunctions, RavelIsDifferentiable) {
  auto f = [](const Model& m) {
    auto [v, unravel] = ravel_tree(m);
    return sum(v * v) + sum(unravel(v * 3).layers[1].w);
  };
  Model g = grad(f)(model());
  EXPECT_EQ((g.layers[0].w[{0, 0}].item()), 2);
  EXPECT_EQ((g.layers[1].w[{0, 0}].item()), 9);
  EXPECT_TRUE(array_equal(jit(grad(f))(model()).layers[1].w, g.layers[1].w));
  check_grads(f, model());
}

TEST(TreeFunctions, VectorArithmetic) {
  Model a = model(1), b = model(2);
  EXPECT_EQ(tree_add(a, b).layers[1].b.item(), 9);
  EXPECT_EQ(tree_sub(a, b).layers[1].b.item(), -1);
  EXPECT_EQ(tree_scale(0.5, a).extra["gain"].item(), 2.5);
  EXPECT_EQ(tree_axpy(10, a, b).extra["gain"].item(), 56);
  EXPECT_EQ(tree_dot(a, b).item(), 6 * 2 + 3 * 6 + 3 * 12 + 20 + 30);
  EXPECT_FLOAT_EQ(tree_norm(a).item<float>(), std::sqrt(6 + 12 + 27 + 16 + 25.0));
  EXPECT_EQ(tree_norm(tree_zeros_like(a)).item(), 0);
  EXPECT_EQ(tree_norm(none).item(), 0);
  EXPECT_EQ(tree_add(ones(2), ones(2)).to_vector(), (std::vector<double>{2, 2}));
}

TEST(TreeFunctions, MultiplesKeepDtypes) {
  std::tuple t(ones(2, bf16), ones(2, f64));
  auto [a, b] = tree_scale(array(0.5, f32), t);
  EXPECT_EQ(a.dtype(), bf16);
  EXPECT_EQ(b.dtype(), f64);
  auto [c, d] = tree_axpy(array(0.5, f64), t, t);
  EXPECT_EQ(c.dtype(), bf16);
  EXPECT_EQ(d.dtype(), f64);
  EXPECT_EQ(tree_norm(ones(4, f16) * 200).item(), 400);  // 160000 is no f16
  EXPECT_EQ(tree_dot(ones(4, bf16), ones(4, bf16)).dtype(), f32);
}

TEST(TreeFunctions, ErrorsNameLeaves) {
  Model a = model(), b = model();
  b.layers[1].w = ones({1, 1});
  expect_error([&] { (void)tree_add(a, b); },
               {"tree_add", "layers[1].w is f32[3,1] in one tree and f32[1,1]", "tree_functions_test.cpp"});
  expect_error([&] { (void)tree_dot(a, b); }, {"tree_dot", "layers[1].w"});
  b.layers[1].w = Array();
  expect_error([&] { (void)tree_sub(a, b); }, {"tree_sub", "layers[1].w of the second tree is an uninitialised Array"});
  expect_error([&] { (void)tree_norm(b); }, {"tree_norm", "layers[1].w of the tree"});
  expect_error([&] { (void)tree_scale(ones(2), a); }, {"tree_scale", "f32[2], not a scalar"});
  b.layers.pop_back();
  expect_error([&] { (void)tree_axpy(1.0, a, b); }, {"tree_axpy", "layers[1].w"});
}

TEST(TreeFunctions, TransformationsNameUninitialisedLeaves) {
  Model m = model();
  m.layers[1].b = Array();
  auto loss = [](const Model& m, Array x) { return sum(m.layers[0].w) + sum(m.extra.at("gain")) * x; };
  expect_error([&] { (void)grad(loss)(m, 1.0); }, {"uninitialised", "argument 0, layers[1].b"});
  expect_error([&] { (void)jit(loss)(m, 1.0); }, {"uninitialised", "argument 0, layers[1].b"});
  expect_error([&] { (void)vjp(loss, ANEW_ARGS(m, Array(1.0))); }, {"uninitialised", "argument 0, layers[1].b"});
  expect_error([&] { (void)vmap(loss, {.in_axes = {no_axis, 0}})(m, ones(3)); },
               {"uninitialised", "argument 0, layers[1].b"});
  expect_error([&] { (void)checkpoint(loss)(m, 1.0); }, {"uninitialised", "argument 0, layers[1].b"});
  expect_error([&] { (void)jit(grad(loss))(m, 1.0); }, {"uninitialised", "argument 0, layers[1].b"});
  m = model();
  m.layers[1].b = zeros(1, i32);
  expect_error([&] { (void)grad(loss)(m, 1.0); }, {"i32[1] for argument 0, layers[1].b"});
}

TEST(TreeFunctions, AxesPerLeaf) {
  auto f = [](const Layer& l, Array x) { return dot(x, l.w) + l.b; };
  Layer layer{reshape(arange(12.0), {2, 3, 2}), ones(2)};  // three matrices along axis 1
  Array x = ones({3, 2});
  Array y = vmap(f, {.in_axes = {Layer{1, no_axis}, 0}})(layer, x);
  ASSERT_EQ(y.shape(), (Shape{3, 2}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(array_equal(y[i], f(Layer{layer.w[{slice(), i}], layer.b}, x[i])));
  Layer axes = tree_map_with_path([](const std::string& path, Array) { return path == "w" ? 1 : no_axis; }, layer);
  EXPECT_TRUE(array_equal(vmap(f, {.in_axes = {axes, 0}})(layer, x), y));
  // Of results too.
  auto both = [](const Layer& l) { return Layer{l.w * 2, l.b * 2}; };
  Layer out = vmap(both, {.in_axes = {Layer{1, no_axis}}, .out_axes = {Layer{-1, 0}}})(layer);
  EXPECT_EQ(out.w.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(out.b.shape(), (Shape{3, 2}));

  expect_error([&] { (void)vmap(f, {.in_axes = {Layer{3, no_axis}, 0}})(layer, x); },
               {"3 is not an axis of f32[2,3,2]", "argument 0, w"});
  expect_error([&] { (void)vmap(f, {.in_axes = {Layer{0, no_axis}, 0}})(layer, x); },
               {"different sizes", "argument 0, w"});
  expect_error([&] { (void)vmap(f, {.in_axes = {Layer{1, Array()}, 0}})(layer, x); },
               {"b of the tree of axes is an uninitialised"});
  expect_error([&] { (void)vmap(f, {.in_axes = {Layer{1, 0.5}, 0}})(layer, x); }, {"b of the tree of axes is f32[]"});
  expect_error([&] { (void)vmap(f, {.in_axes = {model(), 0}})(layer, x); }, {"w of the tree of axes"});
  auto g = [](const Model& m) { return m.extra.at("gain") * 2; };
  Model no_layers{{}, {{"gain", 0}}};
  expect_error([&] { (void)vmap(g, {.in_axes = {no_layers}})(model()); },
               {"vmap", "tree of axes number 0 in .in_axes", "layers[0].w"});
}

TEST(TreeStr, ALinePerLeaf) {
  EXPECT_EQ(tree_str(array({1.0, 2.0})), "[1. 2.]");
  EXPECT_EQ(tree_str(std::pair(array(1), std::map<std::string, Array>{{"a", Array()}})),
            "[0]: 1\n[1]['a']: no array yet");
  EXPECT_EQ(tree_str(std::vector<Array>{}), "");
}

}  // namespace tree_functions_test
