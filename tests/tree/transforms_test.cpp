// Transformations of functions of trees: which types come back, which arguments are traced, how functions may be given
// and called, and that calls keep no state. Values are simple on purpose: derivatives themselves are tested with the
// rules.
#include <anew/anew.h>
#include <anew/stablehlo.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "trace/trace.h"

namespace {

using namespace anew;

struct Dense {
  Array w, b;
};
struct Net {
  std::vector<Dense> layers;
  std::map<std::string, Array> heads;
  int power = 1;
};
template <class T, class U>
concept Is = std::same_as<std::remove_cvref_t<T>, U>;

double at(const Array& x) { return x.item(); }
Array product(Array x, Array y) { return x * y; }
Array affine(const Dense& d, Array x) { return d.w * x + d.b; }

TEST(Grad, OfOneArgumentIsAValueOfItsType) {
  Is<Array> auto g = grad(product)(3.0, 4.0);
  EXPECT_EQ(at(g), 4);
  Is<Array> auto g1 = grad<1>(product)(3.0, 4.0);
  EXPECT_EQ(at(g1), 3);
  Is<Dense> auto d = grad(affine)({2.0, 1.0}, 5.0);
  EXPECT_EQ(at(d.w), 5);
  EXPECT_EQ(at(d.b), 1);
}

TEST(Grad, OfSeveralArgumentsIsATuple) {
  auto g = grad<0, 1>(affine)({2.0, 1.0}, 5.0);
  static_assert(Is<decltype(g), std::tuple<Dense, Array>>);
  EXPECT_EQ(at(std::get<0>(g).w), 5);
  EXPECT_EQ(at(std::get<1>(g)), 2);
  auto [y, x] = grad<1, 0>(product)(3.0, 4.0);
  EXPECT_EQ(at(y), 3);
  EXPECT_EQ(at(x), 4);
}

TEST(Grad, KeepsStaticFieldsAndStructure) {
  auto f = [](const Net& n, Array x) {
    for (const Dense& d : n.layers) x = d.w * x + d.b;
    for (int i = 1; i < n.power; ++i) x = x * x;
    return x * n.heads.at("out");
  };
  Net g = grad(f)({{{2.0, 0.0}, {3.0, 0.0}}, {{"out", 1.0}}, 2}, 1.0);
  EXPECT_EQ(g.power, 2);
  ASSERT_EQ(g.layers.size(), 2u);
  EXPECT_EQ(at(g.heads.at("out")), 36);
  EXPECT_EQ(at(g.layers[0].w), 2 * 6 * 3);
  EXPECT_EQ(at(g.layers[1].b), 2 * 6);
}

TEST(Grad, WithAux) {
  auto f = [](Array x, Array y) { return std::pair(x * y, std::vector<Array>{x + y, x}); };
  auto g = grad(f)(3.0, 4.0);
  static_assert(Is<decltype(g), std::pair<Array, std::vector<Array>>>);
  EXPECT_EQ(at(g.first), 4);
  EXPECT_EQ(at(g.second[0]), 7);
  auto vg = value_and_grad<0, 1>(f)(3.0, 4.0);
  static_assert(Is<decltype(vg), std::pair<std::pair<Array, std::vector<Array>>, std::tuple<Array, Array>>>);
  EXPECT_EQ(at(vg.first.first), 12);
  EXPECT_EQ(at(vg.first.second[1]), 3);
  auto plain = value_and_grad(product)(3.0, 4.0);
  static_assert(Is<decltype(plain), std::pair<Array, Array>>);
  EXPECT_EQ(at(plain.first), 12);
  EXPECT_EQ(at(plain.second), 4);
  auto none_aux = grad([](Array x) { return std::pair(x * x, none); })(3.0);
  static_assert(Is<decltype(none_aux), std::pair<Array, none_t>>);
}

struct Model {
  Array w;
  Array loss(Array x) const { return w * x; }
  Array quick(Array x) const noexcept { return w * x; }
};
struct Functor {
  double scale;
  Array operator()(Array x) const { return scale * x * x; }
};
Array with_default(Array x, int n = 3) { return n * x; }
template <class T>
T generic(T x) {
  return x * x;
}
Array taking_like(const ArrayLike& x) { return x.value * 2; }
Array taking_span(std::span<const Array> xs) { return xs[0] * xs[1]; }
Array quiet(Array x) noexcept { return x * x; }

TEST(Callables, OfEveryKind) {
  EXPECT_EQ(at(grad(&Model::loss)({2.0}, 3.0).w), 3);
  EXPECT_EQ(at(grad<1>(&Model::quick)({2.0}, 3.0)), 2);
  EXPECT_EQ(at(grad(Functor{2.0})(3.0)), 12);
  EXPECT_EQ(at(grad(std::function<Array(Array)>(Functor{2.0}))(3.0)), 12);
  EXPECT_EQ(at(grad(ANEW_FN(with_default))(2.0)), 3);
  EXPECT_EQ(at(grad(with_default)(2.0, 5)), 5);
  EXPECT_EQ(at(grad(ANEW_FN(generic))(2.0)), 4);
  EXPECT_EQ(at(grad([](auto x, auto n) { return n * x; })(2.0, 7)), 7);
  EXPECT_EQ(at(grad([](Array x, int n = 4) { return n * x; })(2.0)), 4);
  EXPECT_EQ(at(grad(taking_like)(2.0)), 2);
  EXPECT_EQ(at(grad(taking_span)({3.0, 4.0})[1]), 3);
  EXPECT_EQ(at(grad(quiet)(3.0)), 6);
  EXPECT_EQ(at(grad(ANEW_FN(sum))(2.0)), 1);
}

// With <cmath> these names are overloaded; the one of arrays is meant.
TEST(Transforms, NamesThatCHasToo) {
  const Array x = array({0.5, 1.0, 2.0});
  EXPECT_EQ(at(grad(sin)(0.5)), at(cos(array(0.5))));
  EXPECT_EQ(at(grad(grad(sin))(0.5)), at(-sin(array(0.5))));
  EXPECT_EQ(at(value_and_grad(log)(2.0).second), 0.5);
  EXPECT_EQ(at(grad<1>(atan2)(1.0, 2.0)), at(grad<1>(ANEW_FN(atan2))(1.0, 2.0)));
  EXPECT_TRUE(array_equal(vmap(exp)(x), exp(x)));
  EXPECT_TRUE(array_equal(vmap(pow)(x, x), pow(x, x)));
  EXPECT_TRUE(array_equal(jit(tanh)(x), tanh(x)));
  EXPECT_TRUE(array_equal(jit(hypot)(x, x), hypot(x, x)));
  EXPECT_TRUE(array_equal(jit(vmap(grad(sqrt)))(x), 0.5 / sqrt(x)));
  EXPECT_TRUE(array_equal(checkpoint(cosh)(x), cosh(x)));
  EXPECT_TRUE(array_equal(vjp(cos, x).second(ones(3)), -sin(x)));
  EXPECT_TRUE(array_equal(jvp(sin, x, ones(3)).second, cos(x)));
  EXPECT_TRUE(array_equal(linearize(sin, x).second(ones(3)), cos(x)));
  EXPECT_TRUE(array_equal(jacfwd(sin)(x), diag(cos(x))));
  EXPECT_TRUE(array_equal(jacrev(sin)(x), diag(cos(x))));
  EXPECT_EQ(hessian(sin)(array(0.5)).item<float>(), -std::sin(0.5f));
  EXPECT_TRUE(array_equal(map(floor, x), floor(x)));
  EXPECT_TRUE(array_equal(tree_map(sin, std::pair(x, x)).second, sin(x)));
  EXPECT_TRUE(array_equal(cond(x[0] < 1, sin, cos, x), sin(x)));
  EXPECT_TRUE(array_equal(associative_scan(fmax, x), cummax(x, 0)));
  EXPECT_NEAR(fixed_point(cos, array(1.0)).first.item(), 0.739085, 1e-5);
  EXPECT_EQ(make_program(sqrt)(x).str(), make_program(ANEW_FN(sqrt))(x).str());
  EXPECT_EQ(eval_shape(abs, x).shape(), Shape{3});
}

TEST(Callables, ResultsOfTransformationsAreCallables) {
  auto cube = [](Array x) { return x * x * x; };
  EXPECT_EQ(at(grad(grad(cube))(2.0)), 12);
  EXPECT_EQ(at(grad(checkpoint(cube))(2.0)), 12);
  EXPECT_EQ(at(grad(grad(checkpoint(grad(cube))))(2.0)), 6);
  auto loss = [](const Dense& d, Array x) { return d.w * x * x + d.b; };
  EXPECT_EQ(at(grad<1>(remat(loss))({2.0, 1.0}, 3.0)), 12);
  std::function<Array(Array)> erased = checkpoint(cube);
  EXPECT_EQ(at(erased(2.0)), 8);
}

TEST(Arguments, NumbersFollowTheParameter) {
  auto traced = [](const Array& x) { return !x.value()->concrete(); };
  auto program = make_program([](Array x, int n, double s) { return n * s * x; })(2.0, 3, 0.5);
  EXPECT_EQ(program.inputs().size(), 1u);
  EXPECT_EQ(make_program([](auto x, auto n) { return x * n; })(2.0, 3).inputs().size(), 1u);
  EXPECT_EQ(make_program([](auto x, auto n) { return x * n; })(2.0, 3.0f).inputs().size(), 2u);
  bool was_traced = false;
  (void)checkpoint([&](Array x) {
    was_traced = traced(x);
    return x;
  })(2);
  EXPECT_TRUE(was_traced);
}

TEST(Arguments, StaticOnesAreSeenAsTheyAre) {
  enum class Mode { twice, once };
  struct Options {
    std::string name;
    Mode mode;
  };
  auto f = [](Array x, const Options& o, auto op) { return op(o.mode == Mode::twice && o.name == "a" ? 2 * x : x); };
  auto cube = [](auto x) { return x * x * x; };
  EXPECT_EQ(at(grad(f)(1.0, Options{"a", Mode::twice}, cube)), 24);
  EXPECT_EQ(at(checkpoint(f)(1.0, Options{"b", Mode::twice}, cube)), 1);
}

// Every way to hand arguments to a function takes what a call takes.
enum class Sign { plus, minus };
template <class F, class S>
void take_static_argument(const F& f, const S& s, double want) {
  const Array x = ones(2);
  auto is = [&](const Array& y) { EXPECT_DOUBLE_EQ(at(y), want); };
  is(jit(f)(x, s));
  is(checkpoint(f)(x, s));
  is(remat(f)(x, s));
  EXPECT_FALSE(make_program(f)(x, s).str().empty());
  is(jit(f).compile(x, s)(x, s));
  EXPECT_GT(jit(f).plan(x, s).peak_bytes, 0u);
  EXPECT_GT(jit(f).plan(ANEW_ARGS(x, s)).peak_bytes, 0u);
  EXPECT_FALSE(jit(f).budget_curve(x, s).empty());
  EXPECT_GT(memory_report(jit(f), x, s).measured_bytes, 0u);
  EXPECT_GT(memory_report(jit(f), ANEW_ARGS(x, s)).measured_bytes, 0u);
  is(vjp(f, x, s).first);
  is(vjp(f, ANEW_ARGS(x, s)).first);
  is(linearize(f, x, s).first);
  is(linearize(f, ANEW_ARGS(x, s)).first);
  is(jvp(f, std::forward_as_tuple(x, s), std::tuple(x, none)).first);
  is(jvp(f, std::tuple(x, s), std::tuple(x, none)).first);
  EXPECT_LE(saved_residuals(f, x, s).size(), 1u);
  EXPECT_LE(saved_residuals(f, ANEW_ARGS(x, s)).size(), 1u);
  testing::internal::CaptureStdout();
  print_saved_residuals(f, x, s);
  print_saved_residuals(f, ANEW_ARGS(x, s));
  print_fwd_bwd(f, x, s);
  print_fwd_bwd(f, ANEW_ARGS(x, s));
  EXPECT_FALSE(testing::internal::GetCapturedStdout().empty());
  EXPECT_EQ(eval_shape(f, x, s).type().shape, Shape{});
  is(value_and_grad(f)(x, s).first);
  EXPECT_EQ(grad(f)(x, s).shape(), Shape{2});
  EXPECT_EQ(jacfwd(f)(x, s).shape(), Shape{2});
  EXPECT_EQ(jacrev(f)(x, s).shape(), Shape{2});
  EXPECT_EQ(hessian(f)(x, s).shape(), (Shape{2, 2}));
  check_grads(f, std::forward_as_tuple(x, s), {.rtol = 0.05});
  EXPECT_EQ(vmap(f)(ones({3, 2}), s).shape(), Shape{3});
  is(cond(true, f, f, x, s));
  is(switch_(1, branches(f, f), x, s));
  is(switch_(1, std::vector<F>{f, f}, x, s));
  is(named_call(f, "name")(x, s));
  auto [converted, captured] = closure_convert(f)(x, s);
  is(converted(x, s, captured));
  is(pure_callback(f, ShapeDtype{{}, f32}, x, s));
  EXPECT_EQ(std::get<0>(linear_transpose([&](Array y, const auto&) { return 2 * y; }, x, s)(x)).shape(), Shape{2});
  EXPECT_FALSE(to_stablehlo(f, x, s).empty());
}
TEST(Arguments, StringLiteralsAndTheirKinInEveryForm) {
  auto minus = [](Array x) { return -sum(sin(x)); };
  auto of_string = [=](Array x, std::string s) { return s == "plus" ? sum(sin(x)) : minus(x); };
  auto of_view = [=](Array x, std::string_view s) { return s == "plus" ? sum(sin(x)) : minus(x); };
  auto of_pointer = [=](const Array& x, const char* s) { return s[0] == 'p' ? sum(sin(x)) : minus(x); };
  auto of_any = [=](const Array& x, const auto& s) { return s[0] == 'p' ? sum(sin(x)) : minus(x); };
  auto of_sign = [=](Array x, Sign s) { return s == Sign::plus ? sum(sin(x)) : minus(x); };
  auto of_numbers = [=](Array x, const int* n) { return n[1] == 2 ? sum(sin(x)) : minus(x); };
  const double plus = at(sum(sin(ones(2))));
  const char* const pointer = "minus";
  char buffer[] = "plus";
  const int numbers[] = {1, 2, 3};
  take_static_argument(of_string, "plus", plus);
  take_static_argument(of_string, pointer, -plus);
  take_static_argument(of_string, buffer, plus);
  take_static_argument(of_view, "minus", -plus);
  take_static_argument(of_pointer, "plus", plus);
  take_static_argument(of_pointer, pointer, -plus);
  take_static_argument(of_any, "plus", plus);
  take_static_argument(of_any, pointer, -plus);
  take_static_argument(of_sign, Sign::minus, -plus);
  take_static_argument(of_numbers, numbers, plus);
}
TEST(Arguments, StringsOfACompiledFunctionAreToldApartByWhatTheySay) {
  auto f = [](Array x, const char* s) { return s && s[0] == 'p' ? x : -x; };
  char text[] = "plus";
  auto compiled = jit(f).compile(array(2.0), text);
  EXPECT_EQ(at(compiled(2.0, std::string("plus"))), 2);
  EXPECT_EQ(at(compiled(2.0, std::string_view("plus"))), 2);
  text[0] = 'm';
  EXPECT_THROW((void)compiled(2.0, text), Error);
  EXPECT_THROW((void)compiled(2.0, nullptr), Error);
  EXPECT_EQ(at(jit(f).compile(array(2.0), static_cast<const char*>(nullptr))(2.0, nullptr)), -2);
}

TEST(Results, VoidIsNoneAndNumbersAreArrays) {
  int calls = 0;
  Is<none_t> auto r = checkpoint([&](Array) { ++calls; })(1.0);
  (void)r;
  EXPECT_EQ(calls, 1);
  Is<Array> auto n = checkpoint([](Array) { return 2.5; })(1.0);
  EXPECT_EQ(at(n), 2.5);
  auto t = checkpoint([](Array x) { return std::tuple(x, 7, std::optional<Array>(), std::string("s")); })(1.0);
  EXPECT_EQ(std::get<1>(t), 7);
  EXPECT_EQ(std::get<3>(t), "s");
  EXPECT_FALSE(std::get<2>(t));
}

TEST(Vjp, GivesOneCotangentPerArgument) {
  auto [y, back] = vjp(product, 3.0, 4.0);
  EXPECT_EQ(at(y), 12);
  auto cts = back(1.0);
  static_assert(Is<decltype(cts), std::tuple<Array, Array>>);
  EXPECT_EQ(at(std::get<0>(cts)), 4);
  EXPECT_EQ(at(std::get<1>(cts)), 3);
  Is<Array> auto one = vjp([](Array x) { return x * x; }, 3.0).second(2.0);
  EXPECT_EQ(at(one), 12);
  auto [z, back2] =
      vjp([](Array x, int n, const Dense& d) { return std::pair(n * x, d.w * d.b); }, 3.0, 2, Dense{5.0, 7.0});
  static_assert(Is<decltype(z), std::pair<Array, Array>>);
  auto cts2 = back2({1.0, 10.0});
  static_assert(Is<decltype(cts2), std::tuple<Array, none_t, Dense>>);
  EXPECT_EQ(at(std::get<0>(cts2)), 2);
  EXPECT_EQ(at(std::get<2>(cts2).w), 70);
}

TEST(Vjp, AsAValue) {
  std::vector<Pullback<Array, Array>> backs;
  for (double x : {1.0, 2.0}) backs.push_back(vjp([](Array x) { return x * x; }, x).second);
  EXPECT_EQ(at(backs[1](1.0)), 4);
  auto copy = backs[0];
  EXPECT_EQ(at(std::move(copy)(1.0)), 2);
  EXPECT_EQ(at(backs[0](1.0)), 2);  // a copy that was used up leaves the others alone
}

TEST(Vjp, KeepsResidualsOnly) {
  std::weak_ptr<const Value> x_alive;
  auto back = [&] {
    Array x = ones({4}), y = ones({4});
    x_alive = x.shared_value();
    return vjp([](Dense d, Array y) { return d.w + d.b + y; }, Dense{x, x}, y).second;
  }();
  EXPECT_TRUE(x_alive.expired());
  EXPECT_EQ(std::get<0>(back(ones({4}))).w.shape(), Shape{4});
}

TEST(Vjp, NamesOfArguments) {
  Net net{{{ones({2}), ones({2})}}, {{"out", ones({2})}}, 1};
  Array x = ones({2});
  auto f = [](const Net& n, Array x) { return n.layers[0].w * x * n.heads.at("out"); };
  std::vector<std::string> paths;
  for (const Residual& r : vjp(f, ANEW_ARGS(net, x)).second.residuals())
    if (r.kind == Residual::Kind::argument) paths.push_back(r.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"net.layers[0].w", "net.heads['out']", "x"}));
  paths.clear();
  for (const Residual& r : linearize(f, net, x).second.residuals())
    if (r.kind == Residual::Kind::argument) paths.push_back(r.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"0.layers[0].w", "0.heads['out']", "1"}));
  paths.clear();
  for (const Residual& r : saved_residuals([](Array x, int n, Array y) { return x * y * n; }, x, 3, x))
    if (r.kind == Residual::Kind::argument) paths.push_back(r.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"0", "2"}));
}

TEST(Linearize, TakesOneTangentPerArgument) {
  auto [y, f_lin] =
      linearize([](Array x, int n, const Dense& d) { return Dense{n * x * d.w, d.b}; }, 3.0, 2, Dense{5.0, 7.0});
  static_assert(Is<decltype(y), Dense>);
  Is<Dense> auto dy = f_lin(1.0, none, {10.0, 100.0});
  EXPECT_EQ(at(dy.w), 2 * (5 + 30));
  EXPECT_EQ(at(dy.b), 100);
  EXPECT_EQ(at(f_lin(1.0, 2, Dense{10.0, 100.0}).w), 70);
  EXPECT_GT(f_lin.residuals().size(), 0u);
  EXPECT_GT(f_lin.program().equations().size(), 0u);
}

TEST(Jvp, OfOneArgumentAndOfSeveral) {
  auto [y, dy] = jvp([](Array x) { return x * x; }, 3.0, 1.0);
  EXPECT_EQ(at(y), 9);
  EXPECT_EQ(at(dy), 6);
  auto [z, dz] = jvp(product, std::tuple{3.0, 4.0}, std::tuple{1.0, 10.0});
  EXPECT_EQ(at(z), 12);
  EXPECT_EQ(at(dz), 34);
  auto [u, du] =
      jvp([](Array x, int n) { return std::pair(n * x, n); }, std::tuple{Array(3.0), 2}, std::tuple{Array(1.0), none});
  EXPECT_EQ(at(du.first), 2);
  EXPECT_EQ(u.second, 2);
  auto first = [](std::tuple<Array, Array> t) { return std::get<0>(t) * std::get<1>(t); };
  EXPECT_EQ(at(jvp(first, std::tuple<Array, Array>(3.0, 4.0), std::tuple<Array, Array>(1.0, 0.0)).second), 4);
  EXPECT_EQ(at(jvp(affine, std::tuple{Dense{2.0, 1.0}, 3.0}, std::tuple{Dense{1.0, 1.0}, 0.0}).second), 4);
  std::pair<Array, Array> p(3.0, 4.0), dp(1.0, 0.0);  // a pair is one argument
  EXPECT_EQ(at(jvp([](std::pair<Array, Array> p) { return p.first * p.second; }, p, dp).second), 4);
}

TEST(Scan, CarriesAndOutputsAreTrees) {
  struct State {
    Array h, c;
  };
  auto body = [](const State& s, const std::pair<Array, Array>& x) {
    return std::pair(State{s.h + x.first, s.c * x.second}, std::vector<Array>{s.h, s.c});
  };
  auto [last, ys] = scan(body, State{zeros({}), ones({})}, std::pair(array({1., 2., 3.}), array({2., 2., 2.})));
  static_assert(Is<decltype(last), State> && Is<decltype(ys), std::vector<Array>>);
  EXPECT_EQ(at(last.h), 6);
  EXPECT_EQ(at(last.c), 8);
  EXPECT_EQ(ys[1].to_vector(), (std::vector<double>{1, 2, 4}));
}

TEST(Scan, NumbersAreArraysAndNoneIsNothing) {
  auto count = [](auto carry, Array x) {
    return std::pair(std::pair(carry.first + x, carry.second + 1), 2.0 * carry.first);
  };
  auto [last, ys] = scan(count, std::pair(Array(0.0), 0), array({1., 2., 3.}));
  static_assert(Is<decltype(last), std::pair<Array, Array>> && Is<decltype(ys), Array>);
  EXPECT_EQ(at(last.first), 6);
  EXPECT_EQ(at(last.second), 3);
  EXPECT_EQ(ys.to_vector(), (std::vector<double>{0, 2, 6}));
  auto [doubled, nothing] = scan([](Array c, none_t) { return std::pair(2 * c, none); }, 1.0, none, {.length = 5});
  static_assert(Is<decltype(nothing), none_t>);
  EXPECT_EQ(at(doubled), 32);
  auto [c, sevens] = scan([](none_t, Array x) { return std::pair(none, 7 * x); }, none, array({1., 2.}));
  EXPECT_EQ(sevens.to_vector(), (std::vector<double>{7, 14}));
}

TEST(Shapes, AbstractArraysWhereverArraysAre) {
  ShapeDtype m{{2, 3}, f32}, v{{3}, f32};
  auto f = [](const Dense& d, Array x) { return std::pair(matmul(d.w, x) + d.b, x); };
  auto out = eval_shape(f, Dense{m, ShapeDtype{{2}, f32}}, v);
  static_assert(Is<decltype(out), std::pair<Array, Array>>);
  EXPECT_EQ(out.first.shape(), Shape{2});
  EXPECT_EQ(out.second.shape(), Shape{3});
  EXPECT_EQ(eval_shape([](auto x) { return x; }, v).dtype(), f32);
  Program p = make_program(f)({m, ShapeDtype{{2}, f32}}, v);
  EXPECT_EQ(p.inputs().size(), 3u);
  EXPECT_EQ(p.count("dot_general"), 1);
}

TEST(CheckpointName, NamesEveryArrayOfATree) {
  auto f = [](Array x) {
    Dense d = checkpoint_name(Dense{x, x * x}, "d");
    return d.w * checkpoint_name(d.b, std::string("e"));
  };
  EXPECT_EQ(make_program(f)(2.0).count("name"), 3);
}

TEST(Jit, HasTheResultsOfTheFunctionAndACache) {
  auto step = jit(value_and_grad(affine));
  auto r = step({2.0, 1.0}, 5.0);
  static_assert(Is<decltype(r), std::pair<Array, Dense>>);
  EXPECT_EQ(at(r.first), 11);
  EXPECT_EQ(at(r.second.w), 5);
  EXPECT_EQ(step.cache_size(), 1u);
  (void)step({3.0, 1.0}, 5.0);
  EXPECT_EQ(step.cache_size(), 1u);
}

TEST(Calls, FromSeveralThreadsAndInsideThemselves) {
  auto square = checkpoint([](const Dense& d) { return std::pair(d.w * d.w, d); });
  std::vector<std::thread> threads;
  std::array<double, 4> got{};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) got[t] += at(square({1.0 * t, 0.0}).first);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(got, (std::array<double, 4>{0, 50, 200, 450}));

  std::function<Array(Array, int)> power;
  auto wrapped = checkpoint([&](Array x, int n) { return n == 0 ? Array(1.0) : x * power(x, n - 1); });
  power = wrapped;
  EXPECT_EQ(at(wrapped(2.0, 5)), 32);
  EXPECT_EQ(at(grad(wrapped)(2.0, 3)), 12);
}

TEST(Calls, ExceptionsOfTheFunctionPassThrough) {
  struct Stop {};
  auto f = checkpoint([](Array x, bool stop) {
    if (stop) throw Stop();
    return x * x;
  });
  EXPECT_THROW((void)grad(f)(2.0, true), Stop);
  EXPECT_EQ(at(grad(f)(2.0, false)), 4);
  EXPECT_THROW((void)scan(
                   [](Array c, Array) -> std::pair<Array, none_t> {
                     throw Stop();
                     return {c, none};
                   },
                   1.0, ones({2})),
               Stop);
  EXPECT_EQ(at(Array(2.0) * 3), 6);
}

template <class F>
std::string message_without_place(F f) {
  try {
    f();
  } catch (const Error& e) {
    std::string text = e.what();
    std::size_t place = text.find("; at "), hint = text.find("; hint: ");
    if (place == text.npos) return text;
    std::string where = text.substr(place + 5, hint == text.npos ? hint : hint - place - 5);
    return text.substr(0, place) + (where.starts_with("transforms_test.cpp:") ? "" : "; at " + where) +
           (hint == text.npos ? "" : text.substr(hint));
  }
  return "nothing was thrown";
}

TEST(Errors, CotangentsTangentsAndCarriesOfAnotherStructure) {
  using V = std::vector<Array>;
  auto f = [](V v) { return V{v[0] * v[1], v[0]}; };
  auto [y, back] = vjp(f, V{1.0, 2.0});
  EXPECT_EQ(message_without_place([&back = back] { back(V{1.0}); }),
            "[vjp] the cotangent has 1 leaves and the output has 2, which do not correspond: cotangent[1] is missing");
  auto [z, f_lin] = linearize(f, V{1.0, 2.0});
  EXPECT_EQ(
      message_without_place([&f_lin = f_lin] { f_lin(V{1.0, 2.0, 3.0}); }),
      "[linearize] the tangent has 3 leaves and the argument has 2, which do not correspond: tangent[2] is too much");
  EXPECT_EQ(message_without_place([&] { (void)jvp(f, V{1.0, 2.0}, V{1.0}); }),
            "[jvp] the tangent has 1 leaves and the argument has 2, which do not correspond: tangent[1] is missing");
  const auto twice = linear_transpose([](Array x) { return 2 * x; }, ShapeDtype{{3}, f32});
  EXPECT_EQ(message_without_place([&] { (void)twice(ones(2)); }),
            "[linear_transpose] the cotangent must have the type of the output: got f32[2], expected f32[3]");
  auto grow = [](V c, Array x) {
    c.push_back(x);
    return std::pair(c, none);
  };
  EXPECT_EQ(message_without_place([&] { (void)scan(grow, V{1.0}, ones({3})); }),
            "[scan] the carry has 2 leaves and the initial carry has 1, which do not correspond: carry[1] is too much; "
            "hint: the body must return a carry of the same structure as it takes");
}

TEST(Errors, PlainValuesOfACarryDoNotChange) {
  struct State {
    Array x;
    int steps;
    std::string name;
  };
  auto body = [](const State& s, Array x) { return std::pair(State{s.x + x, s.steps + 1, s.name}, none); };
  EXPECT_EQ(message_without_place([&] { (void)scan(body, State{0.0, 0, "s"}, ones({3})); }),
            "[scan] the body changes carry.steps, a plain C++ value, from 0 to 1; only arrays change from step to "
            "step; hint: "
            "make it an Array, or keep it out of the carry");
  auto good = [](const State& s, Array x) { return std::pair(State{s.x + x, s.steps, s.name}, none); };
  State last = scan(good, State{0.0, 5, "s"}, ones({3})).first;
  EXPECT_EQ(last.steps, 5);
  EXPECT_EQ(at(last.x), 3);
}

}  // namespace
