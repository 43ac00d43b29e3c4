// Making arrays: their types and values, what a trace sees of them, and neural network functions at known points.
#include "ops/helpers.h"
#include "trace/trace.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;

TEST(Creation, Types) {
  EXPECT_EQ(array({1, 2}).dtype(), i32);
  EXPECT_EQ(array({1, 2.5}).dtype(), f32);
  EXPECT_EQ(array({1., 2.}).dtype(), f32);
  EXPECT_EQ(array({1., 2.}, f64).dtype(), f64);
  EXPECT_EQ(array({true}).dtype(), bool_);
  EXPECT_EQ(array({{1, 2}, {3, 4}}, f64).type(), (ShapeDtype{{2, 2}, f64}));
  EXPECT_EQ(array(0.5, f64).type(), (ShapeDtype{{}, f64}));
  EXPECT_EQ(array(std::vector<double>{1, 2, 3, 4}, {2, 2}).type(), (ShapeDtype{{2, 2}, f64}));
  EXPECT_EQ(array(std::vector<std::int64_t>{1}).dtype(), i64);
  EXPECT_EQ(array(std::vector<bool>{true, false}).dtype(), bool_);
  EXPECT_EQ(array({{{1, 2}}, {{3, 4}}}).shape(), (Shape{2, 1, 2}));
  EXPECT_EQ(zeros({2, 3}).type(), (ShapeDtype{{2, 3}, f32}));
  EXPECT_EQ(zeros(5).shape(), Shape{5});
  EXPECT_EQ(full({2}, 3).dtype(), i32);
  EXPECT_EQ(full({2}, 3.5, f64).dtype(), f64);
  EXPECT_EQ(zeros_like(ones({2}, i64)).dtype(), i64);
  EXPECT_EQ(arange(3).dtype(), i32);
  EXPECT_EQ(arange(3.0).dtype(), f32);
  EXPECT_EQ(asarray(2.0).type(), (ShapeDtype{{}, f32}));
}

TEST(Creation, Values) {
  Array x = array({1., 2.});
  expect_values(array({x, 3 * x}), {1, 2, 3, 6});
  expect_values(array({x[0], 5.0, 7}), {1, 5, 7});
  expect_values(array({{x[0], 5.0}, {7, x[1]}}), {1, 5, 7, 2});
  expect_values(array({{1, 2.5}, {3, 4}}), {1, 2.5, 3, 4});
  expect_values(array({0.1}, f64), {0.1});
  expect_values(array({-1.5, 300.0, 1e10}, i32), {-1, 300, 2147483647});
  expect_values(full_like(array({1, 2}), 2.7), {2, 2});
  expect_values(full({2, 2}, array({1, 2})), {1, 2, 1, 2});
  expect_values(arange(1, 10, 3), {1, 4, 7});
  expect_values(arange(3, 0, -1), {3, 2, 1});
  expect_values(arange(1.0, 2.0, 0.25), {1, 1.25, 1.5, 1.75});
  expect_values(arange(3, 3), {});
  expect_values(arange(array(2) + 1), {0, 1, 2});
  expect_values(linspace(-1, 2, 4), {-1, 0, 1, 2}, 1e-6);
  expect_values(linspace(0, 1, 4, f64, false), {0, 0.25, 0.5, 0.75});
  expect_values(linspace(5, 6, 1), {5});
  expect_values(linspace(0, 0.1, 7)[-1], {0.1f});
  expect_values(eye(2), {1, 0, 0, 1});
  expect_values(identity(2, i32), {1, 0, 0, 1});
  expect_values(zeros({}), {0});
  expect_values(lax::iota({2, 3}, 0), {0, 0, 0, 1, 1, 1});
}

// Formulas become equations, data becomes a captured constant, numbers become literals.
TEST(Creation, OfContainers) {
  const std::array<double, 3> three{1, 2, 3};
  EXPECT_EQ(array(three).type(), (ShapeDtype{{3}, f64}));
  EXPECT_EQ(array(three, f32).to_vector<double>(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(array(std::span(three).last(2)).to_vector<double>(), (std::vector<double>{2, 3}));
  const std::vector<std::vector<float>> rows{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(array(rows).type(), (ShapeDtype{{2, 3}, f32}));
  EXPECT_EQ(array(rows).to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(array(std::vector<std::array<std::array<int, 2>, 1>>(3)).type(), (ShapeDtype{{3, 1, 2}, i32}));
  EXPECT_EQ(array(std::vector<std::vector<bool>>{{true}, {false}}).type(), (ShapeDtype{{2, 1}, bool_}));
  EXPECT_EQ(array(std::vector<std::vector<double>>{}).type(), (ShapeDtype{{0, 0}, f64}));
  EXPECT_EQ(array(std::vector<std::vector<double>>(2)).type(), (ShapeDtype{{2, 0}, f64}));
  EXPECT_EQ(error_of([] { array(std::vector<std::vector<int>>{{1, 2}, {3}}); }), "[array] rows of different lengths");
  []<class T>(T) { static_assert(!requires(T t) { array(t); }); }(std::string("text"));
}

TEST(Creation, UnderATrace) {
  auto f = [](std::span<const Array> x) {
    return Arrays{x[0] + zeros({3}) + array({1., 2., 3.}) * arange(3.0) + 2 * ones_like(x[0])};
  };
  std::array<ShapeDtype, 1> types{ShapeDtype{{3}, f32}};
  Staged s = stage(f, types, "test", Location::current());
  EXPECT_EQ(s.constants.size(), 1u);
  int creating = 0;
  for (const ir::Eqn& e : s.program.eqns)
    creating += e.primitive->name == "broadcast_in_dim" || e.primitive->name == "iota";
  EXPECT_EQ(creating, 3);
}

TEST(Creation, Errors) {
  const std::string hint = "; hint: give the dtype i64, or convert the array beside it with astype(x, i64)";
  EXPECT_EQ(error_of([] { (void)array(std::vector<double>{1, 2, 3}, {2, 2}); }),
            "[array] 3 numbers do not fill shape [2,2]");
  EXPECT_EQ(error_of([] { (void)array({{1, 2}, {3}}); }), "[array] rows of different lengths");
  EXPECT_EQ(error_of([] { (void)zeros({2, -1}); }), "[zeros] negative size in shape [2,-1]");
  EXPECT_EQ(error_of([] { (void)arange(0, 3, 0); }), "[arange] the step is 0");
  EXPECT_EQ(error_of([] { (void)array({1l, 5000000000}); }),
            std::string("[array] the number 5000000000 does not fit i32") + hint);
  EXPECT_EQ(error_of([] { (void)array({5000000000}, u32); }),
            std::string("[array] the number 5000000000 does not fit u32") + hint);
  EXPECT_EQ(array({5000000000}, i64).item<std::int64_t>(), 5000000000);
  EXPECT_EQ(error_of([] { (void)linspace(0, 1, -1); }), "[linspace] -1 points");
}

TEST(Nn, KnownPoints) {
  Array x = array({-2., 0., 3.}, f64);
  auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  expect_values(nn::relu(x), {0, 0, 3});
  expect_values(nn::relu6(array({-1., 3., 8.})), {0, 3, 6});
  expect_values(nn::sigmoid(x), {sigmoid(-2), 0.5, sigmoid(3)}, 1e-15);
  expect_values(nn::silu(x), {-2 * sigmoid(-2), 0, 3 * sigmoid(3)}, 1e-15);
  expect_values(nn::softplus(x), {std::log1p(std::exp(-2.0)), std::log(2.0), std::log1p(std::exp(3.0))}, 1e-15);
  expect_values(nn::log_sigmoid(x), {std::log(sigmoid(-2)), std::log(0.5), std::log(sigmoid(3))}, 1e-14);
  expect_values(nn::gelu(x, false), {-0.04550026389635842, 0, 2.99595030590511}, 1e-14);
  expect_values(nn::gelu(x), {-0.04540230591222494, 0, 2.996362607918227}, 1e-14);
  expect_values(nn::elu(x), {std::expm1(-2), 0, 3}, 1e-15);
  expect_values(nn::leaky_relu(x), {-0.02, 0, 3}, 1e-15);
  expect_values(nn::hard_tanh(x), {-1, 0, 1});
  expect_values(nn::soft_sign(x), {-2.0 / 3, 0, 0.75}, 1e-15);
  expect_values(nn::hard_sigmoid(x), {1.0 / 6, 0.5, 1}, 1e-15);
  expect_values(sum(nn::softmax(array({{1., 2.}, {1000., 0.}}, f64)), 1), {1, 1}, 1e-15);
  expect_values(nn::softmax(array({{0., 0.}, {0., 0.}}), {0, 1}), {0.25, 0.25, 0.25, 0.25});
  expect_values(exp(nn::log_softmax(array({1., 2., 3.}, f64))), test::values(nn::softmax(array({1., 2., 3.}, f64))),
                1e-15);
  expect_values(nn::one_hot(array({0, 2, 5}), 3), {1, 0, 0, 0, 0, 1, 0, 0, 0});
  expect_values(nn::glu(array({2., 0.})), {1});
  expect_values(nn::standardize(array({1., 3.}, f64), -1, 0), {-1, 1}, 1e-14);
  EXPECT_EQ(error_of([] { (void)nn::one_hot(array({0}), -1); }), "[one_hot] -1 classes");
}

// Everything a composite binds is reported at its caller's line.
TEST(Nn, CompositesPinTheirCallersLine) {
  int line = 0;
  auto f = [&](std::span<const Array> x) {
    line = __LINE__ + 1;
    return Arrays{nn::softmax(x[0])};
  };
  std::array<ShapeDtype, 1> types{ShapeDtype{{2, 3}, f32}};
  Staged s = stage(f, types, "test", Location::current());
  for (const ir::Eqn& e : s.program.eqns) EXPECT_EQ(static_cast<int>(e.at.line()), line) << e.primitive->name;
}

}  // namespace
}  // namespace anew
