// How calls of jitted functions find their code: by types, structure and static values where the function has no state,
// by its Program where it has. Counted are calls of the user's function, which is how often it was traced.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "jit/compiled_program.h"
#include "support/support.h"
#include "transforms/remembered.h"

namespace anew {
namespace {

int traced = 0;

struct Layer {
  Array w, b;
};
enum class Kind { plain, doubled };
struct Options {
  bool square = false;
  int times = 1;
  std::string name = {};
  Kind kind = Kind::plain;
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Array> extra;
  std::optional<Array> shift = {};
  Options options = {};
};

Array apply(const Model& m, const Array& x) {
  ++traced;
  Array y = x;
  for (const Layer& l : m.layers) y = tanh(matmul(y, l.w) + l.b);
  for (const auto& [name, a] : m.extra) y = name == "minus" ? y - a : y + a;
  if (m.shift) y = y + *m.shift;
  if (m.options.square) y = y * y;
  for (int i = 0; i < m.options.times; ++i) y = y * (m.options.kind == Kind::doubled ? 2 : 1);
  return y;
}

Model model() {
  Model m;
  m.layers = {{ones({3, 3}) * 0.1, ones({3}) * 0.2}, {ones({3, 3}) * 0.3, ones({3}) * 0.4}};
  m.extra = {{"plus", ones({3}) * 0.5}};
  return m;
}

template <class F>
int traces(F f) {
  traced = 0;
  f();
  return traced;
}

TEST(Calls, AreFoundByTypesStructureAndStaticValues) {
  auto f = jit(apply);
  const Array x = ones({2, 3}) * 0.7;
  Model m = model();
  auto call = [&](const Model& given) {
    Array got = f(given, x), want = apply(given, x);
    EXPECT_TRUE(allclose(got, want));
    --traced;  // the eager call
  };
  EXPECT_EQ(traces([&] { call(m); }), 1);
  EXPECT_EQ(traces([&] { call(m), call(m); }), 0);
  m.layers[0].w = m.layers[0].w + 1;  // other values of the same types
  EXPECT_EQ(traces([&] { call(m); }), 0);
  // Each of these is another call: counts, keys, optionals, static values.
  std::vector<std::function<void(Model&)>> changes{
      [](Model& n) { n.layers.pop_back(); },           [](Model& n) { n.extra["minus"] = ones({3}); },
      [](Model& n) { n.shift = ones({3}); },           [](Model& n) { n.options.square = true; },
      [](Model& n) { n.options.times = 3; },           [](Model& n) { n.options.name = "other"; },
      [](Model& n) { n.options.kind = Kind::doubled; }};
  for (const auto& change : changes) {
    Model n = model();
    change(n);
    EXPECT_EQ(traces([&] { call(n); }), 1);
    EXPECT_EQ(traces([&] { call(n), call(m); }), 0);
  }
  Model key = model();  // the same leaves under another name
  key.extra = {{"minus", ones({3}) * 0.5}};
  EXPECT_EQ(traces([&] { call(key), call(key); }), 1);
  EXPECT_EQ(f.cache_size(), changes.size() + 2);
}

TEST(Calls, ConstantsMadeInsideArePartOfTheCode) {
  auto f = jit([](Array x) {
    ++traced;
    Array c = array({1.0, 2.0, 3.0}), key = random::key(1), grid = linspace(0, 1, 3);
    return x * c + random::uniform(key, {3}) + grid + grad([](Array y) { return y * y; })(0.5);
  });
  const Array x = ones({3}) + 1;
  Array first, second;
  EXPECT_EQ(traces([&] { first = f(x), second = f(x + 1); }), 1);
  EXPECT_TRUE(allclose(second - first, array({1.0, 2.0, 3.0})));
}

Array global;
TEST(Calls, ArraysOfTheSurroundingsAreLookedAtEachTime) {
  global = ones({3});
  auto f = jit([](Array x) { return ++traced, x + global; });
  const Array x = zeros({3}) + 1;
  EXPECT_EQ(static_cast<double>(f(x)[0]), 2);
  global = ones({3}) * 5;
  EXPECT_EQ(static_cast<double>(f(x)[0]), 6);
  EXPECT_EQ(f.cache_size(), 1u);
  global = {};
}

TEST(Calls, LayoutsOfSmallArgumentsAreOne) {
  const std::size_t before = jit([](Array x) { return x + 1; }).cache_size();
  auto without = jit([](Array x) { return ++traced, x * 2; });
  double scale = 3;
  auto closure = jit([&](Array x) { return x * scale; });
  EXPECT_EQ(
      traces([&] { (void)without(zeros({32})), (void)without(zeros({32}) + 1), (void)without(ones({2, 32})[1]); }), 1);
  (void)closure(zeros({32})), (void)closure(zeros({32}) + 1);
  const Array matrix = reshape(arange(6.0), {2, 3});
  EXPECT_TRUE(array_equal(closure(matrix.T()), matrix.T() * 3));
  EXPECT_TRUE(array_equal(closure(reshape(arange(6.0), {3, 2})), reshape(arange(6.0), {3, 2}) * 3));
  EXPECT_EQ(without.cache_size(), 1u);
  EXPECT_EQ(closure.cache_size(), 2u);  // f32[32], f32[3,2]
  // A large one is read where it lies, by code of its own.
  const Array large = zeros({1024, 512}) + arange(512.0);
  EXPECT_TRUE(array_equal(closure(large.T()), large.T() * 3));
  EXPECT_TRUE(array_equal(closure(zeros({512, 1024}) + 1), zeros({512, 1024}) + 3));
  EXPECT_EQ(closure.cache_size(), 4u);
  (void)before;
}

TEST(Calls, NumbersForArraysAreNotCompiledInto) {
  double scale = 3;
  auto closure = jit([&](Array x, Array dt) { return x * dt * scale; });
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(static_cast<float>(closure(2.0, i * 0.5)), static_cast<float>(2.0 * i * 0.5 * 3));
  EXPECT_EQ(closure.cache_size(), 1u);
}

TEST(Calls, WarnWhereAStaticNumberCausesTheTenthCompilation) {
  std::vector<Warning> seen;
  auto saved = set_warning_handler([&](const Warning& w) { seen.push_back(w); });
  auto f = jit([](Array x, int, double dt) { return x * dt; });
  const int line = __LINE__ - 1;
  for (int i = 0; i < 9; ++i) (void)f(ones({3}), 7, 0.1 * i);
  EXPECT_TRUE(seen.empty());
  for (int i = 9; i < 30; ++i) (void)f(ones({3}), 7, 0.1 * i);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(
      seen[0].text,
      "[jit] compiled 10 times because argument 2 is a C++ number, which is static: each of its values has code of "
      "its own; hint: pass it as an Array, or let the parameter be an Array");
  EXPECT_EQ(seen[0].line, line);
  double scale = 2;
  auto closure = jit([&](Array x, int n) { return x * n * scale; });
  for (int i = 0; i < 20; ++i) (void)closure(ones({3}), i), (void)closure(ones({3}), i);
  EXPECT_EQ(seen.size(), 2u);
  set_warning_handler(std::move(saved));
}

TEST(Calls, CachesAreBounded) {
  auto f = jit([](Array x, int n) { return x + n; });
  auto saved = set_warning_handler([](const Warning&) {});
  auto backend = compiled::backend();
  compiled::set_backend(compiled::Backend::interpreter);
  for (int i = 0; i < 300; ++i) (void)f(1.0, i);
  EXPECT_EQ(f.cache_size(), 256u);
  EXPECT_EQ(static_cast<double>(f(1.0, 0)), 1);  // gone, and made again
  double scale = 0;
  auto closure = jit([&](Array x) { return x * scale; });
  for (; scale < 300; ++scale) EXPECT_EQ(static_cast<double>(closure(2.0)), 2 * scale);
  EXPECT_EQ(closure.cache_size(), 256u);
  forget_remembered();
  double inner = 0;
  auto gradient = jit([&](Array x) { return grad([&](Array y) { return y * y * inner; })(x); });
  for (; inner < 600; ++inner) EXPECT_EQ(static_cast<double>(gradient(2.0)), 4 * inner);
  EXPECT_EQ(remembered_counts().size, remembered_counts().most);
  compiled::set_backend(backend);
  set_warning_handler(std::move(saved));
}

// ---- closures

TEST(Remembered, TransformationsOfAnEqualProgramAreMadeOnce) {
  forget_remembered();
  double scale = 2;
  Array w = ones({3}) * 0.5;
  int calls = 0;
  auto loss = [&](Array x) { return ++calls, sum(sin(x * w) * scale); };
  auto step = jit([&](Array x) {
    auto [value, g] = value_and_grad(loss)(x);
    Array h = hessian(loss)(x), j = vmap(grad(loss))(stack({x, g}));
    return std::tuple(value, g, h, j, hvp(loss)(x, g));
  });
  const Array x = arange(3.0);
  auto eager = [&](Array at) {
    auto [value, g] = value_and_grad(loss)(at);
    return std::tuple(value, g, hessian(loss)(at), vmap(grad(loss))(stack({at, g})), hvp(loss)(at, g));
  };
  auto same = [&](const Array& at) {
    auto got = step(at);
    auto want = eager(at);
    auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::vector<bool>{array_equal(std::get<I>(got), std::get<I>(want))...};
    };
    EXPECT_EQ(all(std::make_index_sequence<5>{}), std::vector<bool>(5, true));
  };
  same(x);
  const std::size_t made = remembered_counts().made;
  same(x + 1);
  w = w * 3;  // captured arrays are inputs
  same(x);
  EXPECT_EQ(remembered_counts().made, made);
  EXPECT_EQ(step.cache_size(), 1u);
  scale = 5;  // captured numbers are part of the Program
  same(x);
  EXPECT_GT(remembered_counts().made, made);
  EXPECT_EQ(step.cache_size(), 2u);
  calls = 0;
  (void)step(x);
  EXPECT_EQ(calls, 4);  // once per transformation that the function calls
}

TEST(Remembered, PullbacksAndLinearizations) {
  forget_remembered();
  double scale = 2;
  Array w = ones({3}) * 0.5;
  auto loss = [&](Array x, Array k) { return std::pair(sin(x * w) * scale, k * 2); };
  auto both = [&](Array x, Array ct) {
    auto [y, back] = vjp(loss, x, x * 2);
    auto [z, f_lin] = linearize(loss, x, ct);
    auto [gx, gk] = back(std::pair(ct, y.first));
    auto [tx, tk] = f_lin(ct, y.second);
    return std::tuple(y.first, y.second, gx, gk, tx, tk, z.second,
                      jacrev([&](Array a) { return loss(a, a).first; })(x));
  };
  auto step = jit(both);
  auto same = [&](const Array& x) {
    auto got = step(x, x + 1), want = both(x, x + 1);
    auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::vector<bool>{array_equal(std::get<I>(got), std::get<I>(want))...};
    };
    EXPECT_EQ(all(std::make_index_sequence<8>{}), std::vector<bool>(8, true));
  };
  same(arange(3.0));
  const std::size_t made = remembered_counts().made;
  w = w * 3;
  same(arange(3.0) + 1);
  EXPECT_EQ(remembered_counts().made, made);
  EXPECT_EQ(step.cache_size(), 1u);
}

TEST(Remembered, RulesOfUsersAreRunEachTime) {
  double factor = 2;
  auto f = custom_jvp([](Array x) { return sin(x); },
                      [&](auto p, auto t) { return std::pair(sin(get<0>(p)), get<0>(t) * factor); });
  auto g = jit([&](Array x) { return grad([&](Array y) { return f(y); })(x); });
  EXPECT_EQ(static_cast<double>(g(1.0)), 2);
  factor = 3;
  EXPECT_EQ(static_cast<double>(g(1.0)), 3);
}

TEST(Remembered, ProgramsThatUsersSeeDoNotChange) {
  auto f = [](Array x) { return grad([](Array y) { return sin(y) * y; })(x); };
  const std::string before = make_program(f)(1.0).str();
  EXPECT_EQ(make_program(jit(f))(1.0).count("remembered"), 0);
  (void)jit(f)(1.0);
  EXPECT_EQ(make_program(f)(1.0).str(), before);
}

// ---- names

Array stepped(const Array& x) { return sin(x) * 2; }
template <class T>
Array scaled(const Array& x) {
  return x * static_cast<double>(T(3));
}
struct Linear {
  Array w;
  Array run(const Array& x) const { return w * x; }
  static Array twice(const Array& x) { return x * 2; }
};

TEST(JitName, IsThatOfTheFunctionWhereItIsATemplateArgument) {
  EXPECT_EQ(jit<stepped>().options().name, "stepped");
  EXPECT_EQ(jit<&stepped>().options().name, "stepped");
  EXPECT_EQ((jit<scaled<std::pair<int, float>::first_type>>().options().name), "scaled");
  EXPECT_EQ(jit<&Linear::run>().options().name, "run");
  EXPECT_EQ(jit<Linear::twice>().options().name, "twice");
  EXPECT_EQ(jit<stepped>({.name = "step"}).options().name, "step");
  EXPECT_EQ(jit(stepped).options().name, "<lambda>");
  EXPECT_TRUE(array_equal(jit<stepped>()(ones(3)), jit(stepped)(ones(3))));
  EXPECT_TRUE(array_equal(jit<&Linear::run>()(Linear{ones(3) * 2}, ones(3)), ones(3) * 2));
}

TEST(JitName, IsInProgramsAndResiduals) {
  auto named = jit(stepped, {.name = "step"});
  EXPECT_EQ(make_program([&](Array x) { return named(x); })(ones(3)).str(), R"({ lambda ; a:f32[3]. let
    b:f32[3] = jit[
      name=step
      program={ lambda ; c:f32[3]. let
          d:f32[3] = sin c
          e:f32[3] = mul d 2.0:f32[]
        in (e,) }
    ] a
  in (b,) })");
  const auto kept = saved_residuals([&](Array x) { return sin(named(x)); }, ones(3));
  EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [](const Residual& r) {
    return r.text.find("output of jitted function 'step'") != std::string::npos;
  }));
}

// ---- what a thread found last

TEST(KnownCalls, ArgumentsAreLookedAtWhereTheyAre) {
  auto f = jit(apply);
  const Model m = model();
  const Array x = ones({3});
  const Array want = f(m, x);
  EXPECT_EQ(traces([&] {
              for (int i = 0; i < 3; ++i) EXPECT_TRUE(test::same_bits(f(m, x), want));
              EXPECT_TRUE(test::same_bits(f(Model(m), ones({3})), want));
            }),
            0);
  EXPECT_EQ(m.layers.size(), 2u);
  EXPECT_TRUE(m.layers[0].w.value());
}

TEST(KnownCalls, TwoFunctionsInTurnWithOneKey) {
  auto f = jit([](Array x) { return x + 1; }), g = f;
  auto h = jit([](Array x) { return x + 2; });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(f(1.0).item(), 2.0);
    EXPECT_EQ(h(1.0).item(), 3.0);
    EXPECT_EQ(g(1.0).item(), 2.0);
  }
  // One after the other, where the memory of the first may be that of the second.
  for (double n : {1.0, 2.0, 3.0}) {
    auto made = std::make_unique<Jit<Array (*)(const Array&)>>(n == 2.0 ? stepped : Linear::twice, JitOptions{},
                                                               Location::current());
    EXPECT_TRUE(test::same_bits((*made)(ones(2)), n == 2.0 ? stepped(ones(2)) : ones(2) * 2));
  }
}

Array count_down(const Array& x);
const auto& counting_down() {
  static const auto& f = *new auto(jit(count_down));
  return f;
}
Array below(const Array& x) { return x.item() > 0 ? counting_down()(x - 1) + 1 : x; }
Array count_down(const Array& x) { return io_callback(below, ShapeDtype{{}, f32}, x) * 1; }

TEST(KnownCalls, AFunctionThatIsCalledWhileItRuns) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(counting_down()(full({}, 3.0)).item(), 3.0);
}

}  // namespace
}  // namespace anew
