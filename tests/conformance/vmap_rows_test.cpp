// Rows R8, R42, L17 and E7: checkpoints, names and scans under vmap; R72: the log of what a checkpoint keeps; the
// further goldens of cond. Tests are named by the ids of the rows.
#include <cstdlib>

#include "conformance/conformance.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

TEST_F(Conformance, R8) {
  Array x = arange(3.0);
  std::vector<double> value{0, 0.74562414, 0.78907234}, slope{1, 0.36003949, -0.25563912};
  for (const Policy& p : default_policies()) {
    auto g = checkpoint([](Array x) { return sin(sin(x)); }, p);
    std::vector<double> y = vmap(g)(x).to_vector();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], value[i], near);
    for (const Array& j : {jacfwd(g)(x), jacrev(g)(x)}) {
      ASSERT_EQ(j.type().str(), "f32[3,3]");
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t k = 0; k < 3; ++k)
          EXPECT_NEAR((j[{i, k}].item()), i == k ? slope[static_cast<std::size_t>(i)] : 0, near);
    }
  }
}

TEST_F(Conformance, R42) {
  auto f = vmap(checkpoint([](Array x) { return checkpoint_name(2 * x, "y") + 1; }, save_only_these_names("y")));
  Array x = reshape(arange(6.0), {2, 3});
  EXPECT_TRUE(array_equal(f(x), 2 * x + 1));
  EXPECT_TRUE(array_equal(grad([f](Array x) { return sum(f(x)); })(x), full({2, 3}, 2.0)));
}

// L11's loop under vmap, every choice of mapped axes.
TEST_F(Conformance, L17) {
  Random random(5);
  Array d = random.array({{2}, f32});
  auto loop = [d](In x) {
    auto body = [&](In c, In a) {
      Array b = cos(sum(sin(a[0])) + sum(cos(c[0])) + sum(d));
      return flat::ScanResult{{sin(c[0] * b)}, {b}};
    };
    flat::ScanResult r = flat::scan(body, {x[0]}, {x[1]});
    return Arrays{r.carry[0], r.ys[0]};
  };
  std::vector<FlatFunction> loops{loop, [&](In x) { return flat::jit(loop, x, {}); }};
  for (const Policy& p : {nothing_saveable, everything_saveable})
    loops.push_back([=](In x) { return flat::checkpoint(loop, x, p); });
  for (int c_axis : {no_axis, 0, 1}) {
    for (int as_axis : {no_axis, 0, 1, 2}) {
      if (c_axis == no_axis && as_axis == no_axis) continue;
      auto with_batch = [&](Shape s, int axis) {
        if (axis != no_axis) s.insert(axis, 7);
        return random.array({s, f32});
      };
      Arrays x{with_batch({4}, c_axis), with_batch({5, 3}, as_axis)};
      for (const FlatFunction& f : loops) {
        Arrays got = flat::vmap(f, x, {.in = {c_axis, as_axis}});
        for (std::int64_t k = 0; k < 7; ++k) {
          auto example = [&](const Array& a, int axis) { return axis == no_axis ? a : moveaxis(a, axis, 0)[k]; };
          Arrays want = loop(Arrays{example(x[0], c_axis), example(x[1], as_axis)});
          EXPECT_TRUE(same_bits(Arrays{got[0][k], got[1][k]}, want)) << c_axis << " " << as_axis;
        }
      }
    }
  }
}

TEST_F(Conformance, E7) {
  auto f = checkpoint([](Array x) { return lax::dot_general(x, x, {}); });
  EXPECT_VALUE(hessian(f)(1.0), 2.0);
  EXPECT_VALUE(grad(grad(f))(1.0), 2.0);
}

TEST_F(Conformance, R72) {
  auto log = [](const Policy& p) {
    auto f = checkpoint([](Array x) { return cos(sum(sin(x))); }, p);
    setenv("ANEW_LOG", "residuals", 1);
    testing::internal::CaptureStderr();
    (void)grad(f)(arange(3.0));
    unsetenv("ANEW_LOG");
    return testing::internal::GetCapturedStderr();
  };
  auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  std::string none_saved = log(nothing_saveable);
  EXPECT_TRUE(has(none_saved, "remat-decorated function saving inputs with shapes:\n  f32[3]\n")) << none_saved;
  EXPECT_FALSE(has(none_saved, "intermediates")) << none_saved;
  std::string all = log(Policy("always", [](const PolicyQuery&) { return true; }));
  EXPECT_FALSE(has(all, "saving inputs")) << all;
  EXPECT_TRUE(has(all, "remat-decorated function saving these intermediates:")) << all;
  EXPECT_TRUE(has(all, "f32[3] output of cos from ")) << all;
  EXPECT_TRUE(has(all, "f32[] output of sin from ")) << all;
  std::string cosines = log(save_primitive("cos"));
  EXPECT_TRUE(has(cosines, "remat-decorated function saving inputs with shapes:")) << cosines;
  EXPECT_TRUE(has(cosines, "and saving these intermediates:")) << cosines;
  EXPECT_TRUE(has(cosines, "output of cos")) << cosines;
  EXPECT_FALSE(has(cosines, "output of sin")) << cosines;
  (void)grad(checkpoint([](Array x) { return sum(sin(x)); }))(arange(3.0));  // silent without the variable
}

// Dead code in the jvp of a scan whose body has a rule with constants.
TEST_F(Conformance, D6) {
  Array weights = arange(3.0);
  auto f = [=](In x) { return Arrays{x[0] * weights}; };
  auto rule = [=](In x, In t) { return std::pair(Arrays{x[0] * weights}, Arrays{t[0] * weights}); };
  auto loop = [=](In x) {
    auto body = [&](In c, In) { return flat::ScanResult{flat::custom_jvp(f, rule, c), {}}; };
    return flat::scan(body, {x[0]}, {}, {.length = 2}).carry;
  };
  auto both = [=](In x) {
    auto [y, dy] = flat::jvp(loop, x.first(1), x.subspan(1));
    return Arrays{y[0], dy[0]};
  };
  Arrays x{arange(3.0), ones({3})};
  Program p = flat::make_program(both, x);
  std::size_t constants = p.constants().size();
  auto used = [&](std::vector<bool> outputs) {
    std::vector<bool> all = ir::eliminate_dead_code(*p.code(), outputs).used_inputs;
    return std::vector<bool>(all.begin() + static_cast<std::ptrdiff_t>(constants), all.end());
  };
  EXPECT_EQ(used({true, true})[1], true);
  EXPECT_EQ(used({true, false}), (std::vector<bool>{true, false}));
  // The tangent alone: a linear loop, which needs no primal value.
  EXPECT_EQ(used({false, true}), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace anew::test
