// vmap, Jacobians, Hessians, linear_transpose and check_grads over trees.
#include <anew/anew.h>

#include "support/support.h"

namespace anew::test {
namespace {

struct Model {
  Array w, b;
};
Array affine(const Model& m, const Array& x) { return dot(m.w, x) + m.b; }
Array rosenbrock(Array x) { return 100 * square(x[1] - square(x[0])) + square(1 - x[0]); }

TEST(Vmap, MapsTreesAndSkipsStaticArguments) {
  Model m{fill({3}, 1), array(0.5)};
  Array xs = fill({4, 3}, 2);
  Array y = vmap(affine, {.in_axes = {no_axis, 0}})(m, xs);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(y[i], affine(m, xs[i])));
  auto scaled = [](Array x, int n, const std::string&) { return x * n; };
  EXPECT_TRUE(same_bits(vmap(scaled, {.in_axes = {1, no_axis, no_axis}})(xs, 3, "static"), transpose(xs) * 3));
  EXPECT_TRUE(same_bits(vmap(affine, {.in_axes = {none, 0}})(m, xs), y));
  EXPECT_TRUE(same_bits(vmap(scaled)(xs, 3, "static"), xs * 3));
  Model both = vmap([](Array x) { return Model{x * 2, sum(x)}; })(xs);
  EXPECT_TRUE(same_bits(both.w, xs * 2));
  EXPECT_EQ(both.b.shape(), Shape{4});
}

TEST(Vmap, OutAxes) {
  Array xs = fill({4, 3}, 2);
  auto [a, b] = vmap([](Array x) { return std::pair(x * 2, x); }, {.out_axes = {1, 0}})(xs);
  EXPECT_TRUE(same_bits(a, transpose(xs * 2)));
  EXPECT_TRUE(same_bits(b, xs));
  auto [shared, mapped] = vmap([](Array x, Array s) { return std::pair(s * 2, x * s); },
                               {.in_axes = {0, no_axis}, .out_axes = {no_axis, 0}})(xs, array(3.f));
  EXPECT_EQ(shared.item(), 6);
  EXPECT_EQ(mapped.shape(), (Shape{4, 3}));
}

TEST(Vmap, NoneIsAnAxisOfEverything) {
  Array xs = fill({4, 3}, 2);
  auto two = [](Array) { return array(2.f); };
  EXPECT_EQ(vmap(two, {.out_axes = none})(xs).shape(), Shape{});
  EXPECT_EQ(vmap(two, {.in_axes = 1, .out_axes = none})(xs).item(), 2);
  EXPECT_EQ(ERROR_OF((void)vmap(two, {.in_axes = none})(xs)), ERROR_OF((void)vmap(two, {.in_axes = {none}})(xs)));
  EXPECT_EQ(ERROR_OF((void)vmap(ANEW_FN(sin), {.out_axes = none})(xs)),
            ERROR_OF((void)vmap(ANEW_FN(sin), {.out_axes = no_axis})(xs)));
}

TEST(Vmap, ChunksChangeNoBit) {
  Model m{fill({3}, 1), array(0.5)};
  Array xs = fill({7, 3}, 2);
  auto f = [](const Model& m, const Array& x) { return std::pair(tanh(affine(m, x)), sin(x) * m.b); };
  for (int axis : {0, 1}) {
    Array given = axis == 0 ? xs : transpose(xs);
    auto whole = vmap(f, {.in_axes = {no_axis, axis}, .out_axes = {0, -1}})(m, given);
    for (int chunk : {1, 2, 3, 7, 100}) {
      auto parts = vmap(f, {.in_axes = {no_axis, axis}, .out_axes = {0, -1}, .chunk = chunk})(m, given);
      EXPECT_TRUE(same_bits(parts.first, whole.first) && same_bits(parts.second, whole.second)) << chunk;
    }
  }
  auto shared = vmap([](Array x, Array s) { return std::pair(s * 2, x * s); },
                     {.in_axes = {0, no_axis}, .out_axes = {no_axis, 0}, .chunk = 3})(xs, array(3.f));
  EXPECT_EQ(shared.first.item(), 6);
  EXPECT_TRUE(same_bits(shared.second, xs * 3));
  auto loss = [&](Array x) { return sum(vmap(ANEW_FN(sin), {.chunk = 3})(x)); };
  EXPECT_TRUE(same_bits(grad(loss)(xs), cos(xs)));
}

TEST(Vmap, Errors) {
  Array xs = fill({4, 3}, 2);
  auto f = [](Array x, Array y) { return std::pair(x, y); };
  EXPECT_EQ(ERROR_OF((void)vmap(f, {.in_axes = {0}})(xs, xs)),
            "[vmap] .in_axes has 1 axes for 2 arguments; hint: give one number for all, or one per group in order "
            "(anything for what holds no array)");
  EXPECT_EQ(ERROR_OF((void)vmap(f, {.out_axes = {0, 1, 2}})(xs, xs)),
            "[vmap] .out_axes has 3 axes for 2 elements of the result; hint: give one number for all, or one per group "
            "in order (anything for what holds no array)");
  EXPECT_EQ(ERROR_OF((void)vmap(f, {.chunk = 0})(xs, xs)), "[vmap] .chunk must be positive, got 0");
}

TEST(Jacobian, ShapesAndValues) {
  Array x = array({-1.2, 1.0}, f64);
  auto f = [](Array x) { return stack({x[0] * x[1], sin(x[0]), x[1]}); };
  Array want = array({{1.0, -1.2}, {std::cos(-1.2), 0.0}, {0.0, 1.0}}, f64);
  EXPECT_TRUE(allclose(jacfwd(f)(x), want, 1e-14, 1e-14));
  EXPECT_TRUE(allclose(jacrev(f)(x), want, 1e-14, 1e-14));
  EXPECT_TRUE(allclose(hessian(rosenbrock)(x), array({{1330.0, 480.0}, {480.0, 200.0}}, f64)));
  EXPECT_TRUE(allclose(jit(hessian(rosenbrock))(x), hessian(rosenbrock)(x)));
  EXPECT_TRUE(allclose(hessian(f)(x)[0], array({{0.0, 1.0}, {1.0, 0.0}}, f64)));
  Array matrix = fill({2, 3}, 1, f64);
  EXPECT_EQ(jacfwd(ANEW_FN(sin))(matrix).shape(), (Shape{2, 3, 2, 3}));
  EXPECT_EQ(jacrev([](Array x) { return sum(x); })(zeros({0, 2})).shape(), (Shape{0, 2}));
}

TEST(Jacobian, TreesAndSeveralArguments) {
  Array x = fill({3}, 1, f64);
  Model m{fill({3}, 2, f64), array(0.5, f64)};
  Model by_model = jacrev(affine)(m, x);
  EXPECT_TRUE(allclose(by_model.w, x));
  EXPECT_EQ(by_model.b.item(), 1);
  auto [dm, dx] = jacfwd<0, 1>(affine)(m, x);
  EXPECT_TRUE(allclose(dm.w, x));
  EXPECT_TRUE(allclose(dx, m.w));
  auto two = [](Array x, Array y) { return std::pair(x * y, sum(x)); };
  auto [by_x, by_y] = jacrev<0, 1>(two)(x, x);
  EXPECT_TRUE(allclose(by_x.first, diag(x)));
  EXPECT_TRUE(allclose(by_x.second, ones({3}, f64)));
  EXPECT_TRUE(allclose(by_y.second, zeros({3}, f64)));
  auto product = [](Array x, Array y) { return sum(x * x * y); };
  auto h = hessian<0, 1>(product)(x, x);
  EXPECT_TRUE(allclose(std::get<0>(std::get<1>(h)), 2 * diag(x)));
  EXPECT_TRUE(allclose(std::get<1>(std::get<1>(h)), zeros({3, 3}, f64)));
}

TEST(Hvp, TreesAlike) {
  auto f = [](const Model& m) { return sum(m.w * m.w * m.b); };
  Model m{fill({3}, 1, f64), array(2.0, f64)}, v{fill({3}, 2, f64), array(1.0, f64)};
  Model got = hvp(f)(m, v);
  EXPECT_TRUE(allclose(got.w, 2 * m.b * v.w + 2 * m.w * v.b));
  EXPECT_TRUE(allclose(got.b, sum(2 * m.w * v.w)));
  Array x = array({-1.2, 1.0}, f64), d = array({1.0, -2.0}, f64);
  EXPECT_TRUE(allclose(hvp(rosenbrock)(x, d), dot(hessian(rosenbrock)(x), d)));
  EXPECT_TRUE(allclose(jit(hvp(rosenbrock))(x, d), hvp(rosenbrock)(x, d)));
  auto two = [](Array x, Array y) { return sum(x * y * y); };
  auto [a, b] = hvp(two)(std::tuple{x, x}, std::tuple{d, d});
  EXPECT_TRUE(allclose(a, 2 * x * d));
  EXPECT_TRUE(allclose(b, 2 * x * d + 2 * x * d));
}

TEST(LinearTranspose, IsTheTranspose) {
  Array a = fill({2, 3}, 1, f64), ct = fill({2}, 4, f64);
  auto f = [&](Array x) { return dot(a, x); };
  EXPECT_TRUE(allclose(linear_transpose(f, ShapeDtype{{3}, f64})(ct), dot(transpose(a), ct)));
  auto two = [](Array x, Array y) { return 2 * x + flip(y); };
  auto [dx, dy] = linear_transpose(two, ct, ct)(ct);
  EXPECT_TRUE(same_bits(dx, 2 * ct));
  EXPECT_TRUE(same_bits(dy, flip(ct)));
  EXPECT_EQ(ERROR_OF((void)linear_transpose(ANEW_FN(sin), ct)(ct)),
            "[linear_transpose] the function is not linear: its derivative depends on where it is taken; hint: use vjp "
            "for functions that are not linear");
  EXPECT_EQ(ERROR_OF((void)linear_transpose([](Array x) { return x; }, ShapeDtype{{3}, i32})(array({1, 2, 3}))),
            "[linear_transpose] needs floating-point inputs, got i32[3]; hint: convert with astype(x, f32)");
}

TEST(CheckGrads, AcceptsRightAndRefusesWrongDerivatives) {
  Model m{fill({3}, 1), array(0.5)};
  EXPECT_NO_THROW(check_grads([](const Model& m) { return sum(sin(m.w)) * m.b; }, m));
  EXPECT_NO_THROW(check_grads([](Array x, Array y) { return x * tanh(y); },
                              std::tuple{fill({2}, 1, f64), array(2.0, f64)}, {.order = 3}));
  Array x = array({1.0, 2.0}, f64);
  auto wrong = [](Array x) { return sum(x * stop_gradient(x)); };
  EXPECT_EQ(ERROR_OF(check_grads(wrong, x, {.order = 1, .modes = "fwd", .step = 0.5})).substr(0, 76),
            "[check_grads] jvp of order 1 differs from differences: result 0 (f64[]), ele");
  EXPECT_EQ(ERROR_OF(check_grads(wrong, x, {.order = 1, .modes = "rev"})).substr(0, 54),
            "[check_grads] vjp of order 1 differs from differences:");
  EXPECT_EQ(ERROR_OF(check_grads(wrong, x, {.modes = "forward"})),
            "[check_grads] unknown mode \"forward\"; hint: modes are \"fwd\", \"rev\" or \"fwd,rev\"");
  EXPECT_EQ(ERROR_OF(check_grads([](Array x) { return x; }, array({1, 2}))),
            "[check_grads] no argument is floating-point");
}

}  // namespace
}  // namespace anew::test
