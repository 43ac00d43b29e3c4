// Rows R63, R65, R67, D8, X5 and L1 to L9: cond, plain and under checkpoint (COND').
#include "conformance/conformance.h"
#include "control/higher_order.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

struct Branching : Conformance {};

TEST_F(Branching, R63) {
  for (const Policy& p : default_policies()) {
    auto both = checkpoint(
        [](Array x) {
          auto f = [](Array c) { return std::pair(sin(c), sin(c)); };
          return cond(x > 0, f, f, x);
        },
        p);
    Program lin = linear_program(both, array(4.0));
    EXPECT_EQ(lin.count("sin"), 0);
    EXPECT_EQ(lin.count("cos"), 4);
    flat::check_grads(
        [=](In x) {
          auto [a, b] = both(x[0]);
          return Arrays{a, b};
        },
        Arrays{array(3.0, f64)}, CheckGradsOptions{.modes = "rev"});
    auto one = checkpoint(
        [](Array x) { return cond(x > 0, [](Array c) { return sin(sin(c)); }, [](Array c) { return c; }, x); }, p);
    EXPECT_EQ(sines(linear_program(one, array(4.0))), std::pair(1, 2));
    flat::check_grads([=](In x) { return Arrays{one(x[0])}; }, Arrays{array(3.0, f64)},
                      CheckGradsOptions{.modes = "rev"});
  }
}

// Counts of JAX's policies: two sines and five products, wherever the checkpoint is.
TEST_F(Branching, R65) {
  auto layers = [](Array x, Array w) {
    for (int i = 0; i < 3; ++i) x = sin(dot(x, w));
    return x;
  };
  Array w = ones({5, 5});
  auto outside = [=](const Policy& p) {
    return checkpoint(
        [=](Array w) {
          Array x0 = ones({5}, w.dtype());
          return cond(sum(x0) > 0, [=](Array x) { return layers(x, w); }, [](Array x) { return x; }, x0);
        },
        p);
  };
  auto inside = [=](Array w) {
    Array x0 = ones({5}, w.dtype());
    auto f = checkpoint([=](Array x) { return layers(x, w); }, dots_saveable);
    return cond(sum(x0) > 0, f, [](Array x) { return x; }, x0);
  };
  for (const Program& p : {backward_program(outside(dots_saveable), w), backward_program(inside, w)}) {
    EXPECT_EQ(sines(p), std::pair(2, 3)) << p;
    EXPECT_EQ(p.count("dot_general"), 5) << p;
  }
  auto jitted = jit(outside(dots_saveable));
  flat::check_grads([=](In x) { return Arrays{jitted(x[0])}; }, Arrays{astype(w, f64)}, CheckGradsOptions{});
}

TEST_F(Branching, R67) {
  auto f = checkpoint([](Array x) { return cond(x > 0, [](Array c) { return sin(c); }, [](Array c) { return c; }, x); },
                      save_primitive("cos"));
  EXPECT_EQ(sines(linear_program(f, array(4.0))), std::pair(0, 0));
  flat::check_grads([=](In x) { return Arrays{f(x[0])}; }, Arrays{array(3.0, f64)}, CheckGradsOptions{.modes = "rev"});
}

TEST_F(Branching, D8) {
  auto f = [](In x) {
    auto branch = [](In y) { return Arrays{sin(y[0]), sin(y[1])}; };
    return flat::cond(x[0] > 0, branch, branch, Arrays{x[1], x[2]});
  };
  Program p = flat::make_program(f, Arrays{array(1.0), array(2.0), array(3.0)});
  auto equations = [](const ir::Program& q) {
    std::size_t n = 0;
    ir::for_each_program(q, [&](const ir::Program& r) { n += r.eqns.size(); });
    return n;
  };
  EXPECT_EQ(equations(*p.code()), 7u);
  ir::Dce all = ir::eliminate_dead_code(*p.code(), {true, true});
  EXPECT_EQ(equations(all.program), 7u);
  ir::Dce one = ir::eliminate_dead_code(*p.code(), {false, true});
  EXPECT_EQ(equations(one.program), 5u);
  EXPECT_EQ(one.used_inputs, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(ir::eliminate_dead_code(*p.code(), {false, false}).program.eqns.size(), 0u);
}

TEST_F(Branching, X5) {
  auto f = [](Array x) {
    Array predicate = x >= 0, operand = x + 1;
    return cond(predicate, [&](Array y) { return y + x; }, [&](Array y) { return y - x; }, operand);
  };
  EXPECT_EQ(make_program(f)(1.0).str(), R"({ lambda ; a:f32[]. let
    b:bool[] = ge a 0.0:f32[]
    c:f32[] = add a 1.0:f32[]
    d:i32[] = convert_element_type[new_dtype=int32] b
    e:f32[] = cond[
      branches=(
        { lambda ; f:f32[] g:f32[]. let h:f32[] = sub g f in (h,) }
        { lambda ; i:f32[] j:f32[]. let k:f32[] = add j i in (k,) }
      )
    ] d a c
  in (e,) })");
  Program p = make_program(f)(1.0);
  EXPECT_EQ(parse_program(p.str()).str(), p.str());
}

// The plain function, under checkpoint, and jitted.
template <class F>
std::vector<std::function<Array(Array)>> forms(F f) {
  return {f, checkpoint(f), jit(f), checkpoint(jit(f))};
}

TEST_F(Branching, L1) {
  auto g = [](Array x) {
    auto inner = [&](Array y) { return cond(x < 5, [](Array y) { return 3 * y; }, [](Array y) { return 4 * y; }, y); };
    return cond(x < 2, [](Array y) { return 2 * y; }, inner, x);
  };
  for (const auto& h : forms(g)) {
    EXPECT_EQ(h(1.0).item(), 2);
    EXPECT_EQ(h(3.0).item(), 9);
    EXPECT_EQ(h(6.0).item(), 24);
  }
}

TEST_F(Branching, L2AndL4) {
  auto f = [](Array x) { return cond(x < 3, [](Array) { return array(2.0); }, [](Array y) { return 2 * y; }, x); };
  for (const auto& h : forms(f)) {
    auto [y, dy] = jvp(h, 3.14, 3.14);
    EXPECT_NEAR(y.item(), 6.28, 1e-6);
    EXPECT_NEAR(dy.item(), 6.28, 1e-6);
    auto [z, dz] = jvp(h, 2.72, 2.72);
    EXPECT_EQ(z.item(), 2);
    EXPECT_EQ(dz.item(), 0);
    EXPECT_EQ(grad(h)(3.14).item(), 2);
    EXPECT_EQ(grad(h)(2.72).item(), 0);
  }
  auto wide = [](In x) {
    return flat::cond(
        x[0] < 3, [](In y) { return Arrays{full_like(y[0], 2)}; }, [](In y) { return Arrays{2 * y[0]}; }, x);
  };
  for (double at : {3.14, 2.72}) flat::check_grads(wide, Arrays{array(at, f64)}, CheckGradsOptions{});
}

TEST_F(Branching, L6) {
  auto f = [](Array x) {
    Array w = array({1.0, 2.0});
    return sum(cond(x[0] < 2, [&] { return w * x; }, [&] { return cos(sin(x)); }));
  };
  auto reference = [](Array x, bool first) { return first ? sum(array({1.0, 2.0}) * x) : sum(cos(sin(x))); };
  for (double at : {2.14, -2.14}) {
    Array x = at * ones({2});
    auto want = linearize([&](Array y) { return reference(y, at < 2); }, x);
    for (const auto& h : forms(f)) {
      auto [y, lin] = linearize(h, x);
      EXPECT_NEAR(y.item(), want.first.item(), 1e-6);
      EXPECT_NEAR(lin(x).item(), want.second(x).item(), 1e-6);
    }
  }
}

TEST_F(Branching, L8AndL9) {
  auto f = [](Array x) {
    return cond(
        x < 2, [](Array y) { return array({1.0, 2.0}) * y; }, [](Array y) { return array({3.0, 4.0}) * sin(y); }, x);
  };
  for (const auto& h : forms(f)) {
    EXPECT_EQ(h(1.0).to_vector(), (std::vector<double>{1, 2}));
    EXPECT_NEAR(h(4.0).to_vector()[1], 4 * std::sin(4.0), 1e-6);
  }
}

// The further golden: memory is the union over the branches.
TEST_F(Branching, Residuals) {
  auto f = [](Array x) {
    return cond(sum(x) > 0, [](Array y) { return sin(sin(y)); }, [](Array y) { return y * y; }, x);
  };
  auto list = saved_residuals(f, array({1.0, 2.0, 3.0, 4.0}));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].type.str(), "i32[]");
  for (std::size_t i : {1u, 2u}) {
    EXPECT_EQ(list[i].type.str(), "f32[4]");
    EXPECT_EQ(list[i].primitive, "cond");
  }
  list = saved_residuals(checkpoint(f), array({1.0, 2.0, 3.0, 4.0}));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].kind, Residual::Kind::argument);
}

}  // namespace
}  // namespace anew::test
