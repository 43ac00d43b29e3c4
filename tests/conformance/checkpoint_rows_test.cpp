// Rows R1 to R31: values, executions and counts of equations under checkpoint. Tests are named by the ids of the rows.
#include "conformance/conformance.h"
#include "ops/elementwise.h"

namespace anew::test {
namespace {

using Fn = std::function<Array(Array)>;

TEST_F(Conformance, R1) {
  for (const Policy& p : default_policies()) {
    auto g = checkpoint([](Array x) { return std::pair(sin(sin(x)), Array(3.0)); }, p);
    auto f = [g](Array x) { return g(x).first; };
    EXPECT_VALUE(f(2.0), 0.78907234);
    auto [y, L] = linearize(f, 2.0);
    EXPECT_VALUE(y, 0.78907234);
    Executions ran;
    EXPECT_VALUE(L(3.0), -0.76691736);
    EXPECT_EQ(ran["sin"], 1);
    EXPECT_EQ(ran["cos"], 2);
  }
}

TEST_F(Conformance, R2) {
  for (const Policy& p : default_policies()) {
    auto f = [p](Array x) {
      Array y = 2 * sin(x);
      return checkpoint([&](Array x) { return cos(x) * sin(y); }, p)(x);
    };
    auto [y, L] = linearize(f, 2.0);
    EXPECT_VALUE(y, -0.40343552);
    EXPECT_VALUE(L(3.0), -2.89942089);
  }
}

TEST_F(Conformance, R7) {
  for (const Policy& p : default_policies()) {
    auto g = checkpoint([](Array x) { return sin(sin(x)); }, p);
    auto f = jit(g);
    EXPECT_VALUE(f(2.0), 0.78907234);
    EXPECT_VALUE(grad(f)(2.0), -0.25563912);
    EXPECT_VALUE(jit(grad(g))(2.0), -0.25563912);
  }
}

TEST_F(Conformance, R10) {
  auto f = [](Array x) { return cos(sin(x)); };
  EXPECT_VALUE(grad(grad(f))(3.0), -0.95049338);
  for (const Policy& p : default_policies()) EXPECT_VALUE(grad(grad(checkpoint(f, p)))(3.0), -0.95049338);
}

TEST_F(Conformance, R12) {
  auto body = [](Array c, Array) { return std::pair(sin(c), none); };
  Array xs = arange(3.0);
  for (const Policy& p : default_policies()) {
    auto f = [=](Array x) { return scan(checkpoint(body, p), x, xs).first; };
    EXPECT_VALUE(f(4.0), -0.63391147);
    EXPECT_VALUE(grad(f)(4.0), -0.36753927);
    for (const Program& j : {linear_program(f, 4.0), backward_program(f, 4.0)}) {
      ASSERT_EQ(j.equations().size(), 1u) << j;
      EXPECT_EQ(j.equations()[0].primitive, "scan");
      EXPECT_GT(j.count("cos"), 0);
    }
  }
}

TEST_F(Conformance, R13) {
  for (const Policy& p : default_policies()) {
    auto f = checkpoint([](Array x, Array y) { return sin(x) * y; }, p);
    auto g = jit([f](Array y) { return f(2.0, y); });
    Executions ran;
    EXPECT_VALUE(grad(g)(3.0), 0.90929743);
    EXPECT_LE(ran["sin"], 1);
  }
}

Fn halves(const std::vector<Fn>& fs, const Policy* p) {
  if (fs.size() == 1) return fs[0];
  auto middle = fs.begin() + static_cast<std::ptrdiff_t>(fs.size() / 2);
  Fn a = halves({fs.begin(), middle}, p), b = halves({middle, fs.end()}, p);
  Fn both = [=](Array x) { return a(b(x)); };
  return p ? Fn(checkpoint(both, *p)) : both;
}
TEST_F(Conformance, R14) {
  std::vector<Fn> four(4, ANEW_FN(sin));
  Fn plain = halves(four, nullptr);
  for (const Policy& p : default_policies()) {
    Fn f = halves(four, &p);
    EXPECT_VALUE(f(4.0), -0.59230082);
    EXPECT_VALUE(grad(f)(4.0), -0.29613260);
    EXPECT_TRUE(same_bits(grad(f)(4.0), grad(plain)(4.0)));
  }
}

TEST_F(Conformance, R16) {
  for (const Policy& p : default_policies()) {
    auto f = jit([p](Array x) {
      Array y = 2 * x;
      return checkpoint([&] { return y; }, p)();
    });
    EXPECT_VALUE(f(3.0), 6);
  }
}

TEST_F(Conformance, R17) {
  using State = std::pair<Array, Array>;
  auto foo = [](State s, Array dt, Array c) { return State(s.first, s.second + c * c * s.first * dt); };
  for (const Policy& p : default_policies()) {
    auto loss = jit([=](Array c, Array dt) {
      State start(ones({128, 128}), zeros({128, 128}));
      auto step = [&](State s, none_t) { return std::pair(checkpoint(foo, p)(s, dt, c), none); };
      Array u = scan(step, start, none, {.length = 10}).first.first;
      return mean(square(u - zeros_like(u)));
    });
    EXPECT_VALUE(loss(1.0, 1 / std::sqrt(2.0)), 1.0);
    EXPECT_VALUE(grad(loss)(1.0, 1 / std::sqrt(2.0)), 0.0);
  }
}

TEST_F(Conformance, R19) {
  auto scanned = [](Array x) {
    return scan([](Array c, none_t) { return std::pair(c + 1, none); }, x, none, {.length = 1}).first;
  };
  for (const Policy& p : default_policies()) EXPECT_VALUE(grad(checkpoint(scanned, p))(1.0), 1.0);
}

// A primitive of the test's own: x + 1, whose tangent reads the output.
const ir::Primitive& add_one_row() {
  static const ir::Primitive row = [] {
    ir::Primitive p =
        elementwise_row("add_one", 1, Accepts::floats, false, 1, [](std::span<const Expr> x) { return x[0] + 1; });
    p.jvp = [](const ir::JvpArgs& a) { return Arrays{a.y[0] * a.t[0]}; };
    return p;
  }();
  return row;
}
Array add_one(Array x) { return bind1(add_one_row(), ir::no_params(), {x}, Location::current()); }
TEST_F(Conformance, R21) {
  auto count = [](Fn f, int forward, int backward) {
    auto g = checkpoint([f](Array x) { return add_one(f(x)); });
    Array v = zeros({1});
    Executions first;
    auto [y, pullback] = vjp(g, v);
    EXPECT_EQ(first["add_one"], forward);
    Executions second;
    pullback(v);
    EXPECT_EQ(second["add_one"], backward);
  };
  count(checkpoint(add_one), 2, 3);
  count(jit(add_one), 2, 2);
}

TEST_F(Conformance, R23) {
  for (const Policy& p : default_policies()) {
    auto f = jit([p] {
      std::vector<Array> seq{Array(0.0)};
      auto g = [&] {
        seq[0] = seq[0] + 1;
        return seq[0];
      };
      checkpoint(g, p)();
      return checkpoint([&] { return g(); }, p)();
    });
    std::string text = ERROR_OF(f());
    EXPECT_NE(text.find("unexpected tracer"), std::string::npos) << text;
    EXPECT_NE(text.find("global state"), std::string::npos) << text;
  }
}

TEST_F(Conformance, R26) {
  Fn squares[] = {[](Array x) { return x * x; }, jit([](Array x) { return x * x; })};
  for (const Fn& sq : squares) {
    auto with = [&](const Policy& p) {
      auto S = [](Array x) { return checkpoint_name(sin(x), "sin"); };
      return checkpoint(Fn([=](Array x) { return S(sq(S(x))); }), p);
    };
    std::pair<Policy, std::pair<int, int>> rows[] = {
        {everything_saveable, {0, 0}}, {nothing_saveable, {1, 2}}, {save_only_these_names("sin"), {0, 2}}};
    for (const auto& [p, counts] : rows) {
      auto f = with(p);
      auto [y, L] = linearize(f, 1.0);
      EXPECT_VALUE(y, 0.65037152);
      EXPECT_VALUE(L(2.0), 1.38143426);
      EXPECT_EQ(sines(L.program()), counts) << p;
      check_grads(f, array(3.0, f64));
    }
  }
}

template <class Product>
auto three_products(Product product, double scale = 1) {
  return [=](Array x) {
    for (int i = 0; i < 3; ++i) x = scale == 1 ? sin(product(x)) : sin(product(x) * scale);
    return x;
  };
}
TEST_F(Conformance, R28) {
  auto f = checkpoint(three_products([](Array x) { return dot(x, x); }), dots_saveable);
  Program j = linear_program(f, ones({2, 2}));
  EXPECT_EQ(j.count("sin"), 2);
  EXPECT_EQ(j.count("dot_general"), 6);
  check_grads(f, ones({2, 2}, f64));
}
TEST_F(Conformance, R29) {
  auto f =
      checkpoint(three_products([](Array x) { return einsum("ij,jk->ik", x, x); }), dots_with_no_batch_dims_saveable);
  Program j = linear_program(f, ones({2, 2}));
  EXPECT_EQ(j.count("sin"), 2);
  EXPECT_EQ(j.count("dot_general"), 6);
  check_grads(f, ones({2, 2}, f64));
}
TEST_F(Conformance, R31) {
  auto f = jit(checkpoint(three_products([](Array x) { return dot(x, x); }, 1e-3), dots_saveable));
  Program j = linear_program(f, ones({2, 2}));
  EXPECT_EQ(j.count("sin"), 2);
  EXPECT_EQ(j.count("dot_general"), 6);
  check_grads(f, ones({2, 2}, f64));
}

}  // namespace
}  // namespace anew::test
