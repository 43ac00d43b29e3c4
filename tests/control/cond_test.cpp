// cond and switch_: values, what is traced, canonical form, residuals, derivatives of every kind, errors.
#include <anew/anew.h>

#include "support/check_grads.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;
using namespace checkpoint_policies;

Array sign_cond(const Array& x) {
  return cond(x > 0, [](Array x) { return sin(x); }, [](Array x) { return x * x; }, x);
}

TEST(Cond, ChoosesABranch) {
  EXPECT_FLOAT_EQ(sign_cond(2.0).item(), std::sin(2.0f));
  EXPECT_FLOAT_EQ(sign_cond(-2.0).item(), 4.0f);
  EXPECT_FLOAT_EQ(jit(sign_cond)(-3.0).item(), 9.0f);
  EXPECT_EQ(cond(3, [] { return 1; }, [] { return 2; }).item<int>(), 1) << "an integer predicate is true unless 0";
  EXPECT_EQ(cond(false, [] { return 1; }, [] { return 2; }).item<int>(), 2);
}

TEST(Cond, OneBranchRunsAllAreTraced) {
  int sines = 0, cosines = 0, traced = 0;
  Observer saved = set_observer([&](const ir::Primitive& p) {
    sines += p.name == "sin";
    cosines += p.name == "cos";
  });
  auto f = [&](Array x) { return ++traced, sin(x); };
  auto g = [&](Array x) { return ++traced, cos(x); };
  (void)cond(array(true), f, g, array(1.0));
  set_observer(saved);
  EXPECT_EQ(sines, 1);
  EXPECT_EQ(cosines, 0);
  EXPECT_EQ(traced, 2);
}

TEST(Cond, SwitchClampsItsIndex) {
  auto f = [](Array i) {
    return switch_(i, branches([](Array x) { return x; }, [](Array x) { return 2 * x; }, [](Array x) { return 3 * x; }),
                   array(5.0));
  };
  EXPECT_FLOAT_EQ(f(array(-7)).item(), 5);
  EXPECT_FLOAT_EQ(f(array(1)).item(), 10);
  EXPECT_FLOAT_EQ(f(array(2)).item(), 15);
  EXPECT_FLOAT_EQ(f(array(99)).item(), 15);
  EXPECT_FLOAT_EQ(f(array(std::int64_t{1} << 32, i64)).item(), 15) << "clamped before it is narrowed";
  EXPECT_FLOAT_EQ(jit(f)(array(1)).item(), 10);
  std::vector<Array (*)(const Array&)> same{[](const Array& x) { return x + 1; }, [](const Array& x) { return x + 2; }};
  EXPECT_FLOAT_EQ(switch_(1, same, array(1.0)).item(), 3);
  EXPECT_FLOAT_EQ(switch_(7, branches([](Array x) { return x + 1; }), array(1.0)).item(), 2) << "one branch is a call";
}

TEST(Cond, TreesAndCapturedArrays) {
  using Pair = std::pair<Array, std::vector<Array>>;
  Array w = array({1.0, 2.0}), v = array({3.0, 4.0});
  auto f = [&](Array x) {
    return cond(x > 0, [&](Array x) { return Pair(x * w, {x}); }, [&](Array x) { return Pair(x * v, {2 * x}); }, x);
  };
  Pair r = f(-1.0);
  EXPECT_EQ(r.first.to_vector(), (std::vector<double>{-3, -4}));
  EXPECT_EQ(r.second.at(0).item(), -2);
  auto g = [](Array w, Array v, Array x) { return sum(cond(x > 0, [&] { return w * x; }, [&] { return v * x * x; })); };
  auto [dw, dv, dx] = grad<0, 1, 2>(g)(w, v, -2.0);
  EXPECT_EQ(dw.to_vector(), (std::vector<double>{0, 0}));
  EXPECT_EQ(dv.to_vector(), (std::vector<double>{4, 4}));
  EXPECT_EQ(dx.item(), -28);
}

TEST(Cond, CanonicalForm) {
  // Equal operands are one; an output that every branch takes from one operand goes around; unused operands go away.
  auto f = [](In x) {
    auto on_true = [](In y) { return Arrays{sin(y[0]) * y[1], y[2], y[0]}; };
    auto on_false = [](In y) { return Arrays{cos(y[1]), y[2], y[0]}; };
    return flat::cond(x[0] > 0, on_true, on_false, Arrays{x[0], x[0], x[1]});
  };
  EXPECT_EQ(flat::make_program(f, Arrays{array(1.0), array(2.0)}).str(), R"({ lambda ; a:f32[] b:f32[]. let
    c:bool[] = gt a 0.0:f32[]
    d:i32[] = convert_element_type[new_dtype=int32] c
    e:f32[] = cond[
      branches=(
        { lambda ; f:f32[]. let g:f32[] = cos f in (g,) }
        { lambda ; h:f32[]. let i:f32[] = sin h; j:f32[] = mul i h in (j,) }
      )
    ] d a
  in (e, b, a) })");
}

TEST(Cond, NumbersTakeTheTypeOfTheOtherBranch) {
  auto f = [](Array x) { return cond(x < 3, [] { return 2; }, [&] { return 2 * x; }); };
  EXPECT_EQ(f(array(1.0, f64)).type().str(), "f64[]");
  EXPECT_EQ(f(array(1.0, f64)).item<double>(), 2);
  EXPECT_EQ(f(4.0).type().str(), "f32[]");
}

std::vector<FlatFunction> programs() {
  auto chain = [](In x) { return Arrays{sin(sin(x[0])) * x[1], x[0]}; };
  auto square = [](In x) { return Arrays{x[0] * x[0] + exp(x[1]), exp(x[1])}; };
  auto constant = [](In x) { return Arrays{zeros_like(x[0]), tanh(x[0])}; };
  std::vector<FlatFunction> out;
  for (const auto& other : std::vector<FlatFunction>{square, constant})
    out.push_back([=](In x) { return flat::cond(sum(x[0]) > 0, chain, other, x); });
  out.push_back([=](In x) { return flat::switch_(astype(sum(x[0]) * 10, i32), {chain, square, constant}, x); });
  out.push_back([=](In x) {
    auto inner = [=](In y) { return flat::cond(sum(y[1]) > 0, square, constant, y); };
    return flat::cond(sum(x[0]) > 0, inner, chain, Arrays{x[1], x[1]});
  });
  out.push_back([=](In x) {
    auto body = [=](In c, In e) {
      Arrays y = flat::cond(sum(c[0]) > sum(e[0]), chain, square, Arrays{c[0], e[0]});
      return flat::ScanResult{{y[0]}, {y[1]}};
    };
    flat::ScanResult r = flat::scan(body, {x[0]}, {stack({x[1], x[0], -x[1]})});
    return Arrays{r.carry[0], r.ys[0]};
  });
  return out;
}

TEST(Cond, DerivativesToSecondOrder) {
  Random random(3);
  Warnings quiet;
  for (const FlatFunction& f : programs()) {
    for (int sign : {1, -1}) {
      Arrays x{sign * random.array({{3}, f64}) + sign * 0.2, random.array({{3}, f64})};
      flat::check_grads(f, x);
      for (const Policy& p : {nothing_saveable, everything_saveable})
        flat::check_grads([&](In in) { return flat::checkpoint(f, in, p); }, x);
    }
  }
}

TEST(Cond, EqualsTheBranchBitForBit) {
  // A cond between other uses of its operands adds to their cotangents in the order of plain code.
  Random random(4);
  Warnings quiet;
  auto branch = [](const Array& w, const Array& x) { return sin(w * x) * x + w; };
  auto other = [](const Array& w, const Array& x) { return w + x; };
  auto around = [](const Array& w, const Array& x, auto middle) { return sum(x * exp(w) + middle(w, x) * w + x * x); };
  auto with_cond = [=](Array w, Array x) {
    return around(w, x, [=](const Array& w, const Array& x) { return cond(sum(w) > -1e9, branch, other, w, x); });
  };
  auto plain = [=](Array w, Array x) { return around(w, x, branch); };
  Array w = random.array({{64}, f32}), x = random.array({{64}, f32});
  auto [a, b] = grad<0, 1>(plain)(w, x);
  auto [c, d] = grad<0, 1>(with_cond)(w, x);
  EXPECT_TRUE(same_bits(Arrays{a, b}, Arrays{c, d}));
  auto [e, f] = grad<0, 1>(checkpoint(with_cond))(w, x);
  EXPECT_TRUE(same_bits(Arrays{a, b}, Arrays{e, f}));
}

std::vector<std::string> residuals(const FlatFunction& f, const Arrays& x) {
  std::vector<std::string> out;
  for (const Residual& r : flat::saved_residuals(f, x)) {
    EXPECT_EQ(r.trips, 1);
    out.push_back(r.text.substr(0, r.text.find(" from /")));
  }
  return out;
}

TEST(Cond, ResidualsShareSlots) {
  Warnings quiet;
  Arrays x{array({1.0, 2.0, 3.0, 4.0})};
  auto f = [](In x) {
    return flat::cond(
        sum(x[0]) > 0, [](In y) { return Arrays{sin(sin(y[0]))}; }, [](In y) { return Arrays{y[0] * y[0]}; }, x);
  };
  std::vector<std::string> got = residuals(f, x);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_TRUE(got[0].starts_with("i32[] output of convert_element_type")) << got[0];
  EXPECT_TRUE(got[1].starts_with("f32[4] output of cond")) << got[1];
  EXPECT_TRUE(got[2].starts_with("f32[4] output of cond")) << got[2];
  got = residuals([&](In in) { return flat::checkpoint(f, in, nothing_saveable); }, x);
  EXPECT_EQ(got, (std::vector<std::string>{"f32[4] from the argument 0"}));
  // An operand that both branches need is not stored again, nor is the result of the cond.
  got = residuals(
      [](In x) {
        return flat::cond(
            sum(x[0]) > 0, [](In y) { return Arrays{exp(y[0])}; }, [](In y) { return Arrays{2 * y[0]}; }, x);
      },
      x);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_TRUE(got[1].starts_with("f32[4] output of cond")) << got[1];
  got = residuals(
      [](In x) {
        return flat::cond(
            sum(x[0]) > 0, [](In y) { return Arrays{y[0] * y[0]}; }, [](In y) { return Arrays{y[0] * y[0] * 2}; }, x);
      },
      x);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0], "f32[4] from the argument 0");
}

TEST(Cond, Vmap) {
  Array x = array({-1.0, 0.5, 2.0}), w = array({1.0, 2.0});
  auto f = [](Array w, Array x) { return cond(x > 0, [&] { return sin(w) * x; }, [&] { return w * w; }); };
  Array y = vmap(f, {.in_axes = {no_axis, 0}})(w, x);
  Arrays rows;
  for (std::int64_t i = 0; i < 3; ++i) rows.push_back(f(w, x[i]));
  EXPECT_TRUE(same_bits(Arrays{y}, Arrays{stack(rows)}));
  auto g = [](Array w, Array p) { return cond(p > 0, [&] { return sin(w); }, [] { return array(1.0); }); };
  EXPECT_TRUE(same_bits(Arrays{vmap(g, {.in_axes = {0, no_axis}})(x, array(1.0))}, Arrays{sin(x)}));
  EXPECT_TRUE(same_bits(Arrays{vmap(g, {.in_axes = {0, no_axis}})(x, array(-1.0))}, Arrays{ones({3})}));
  auto h = [](Array i, Array x) {
    return switch_(i, branches([](Array x) { return x; }, [](Array x) { return x * x; }, [](Array x) { return -x; }),
                   x);
  };
  EXPECT_EQ(vmap(h)(array({-5, 1, 7}), x).to_vector(), (std::vector<double>{-1, 0.25, -2}));
}

TEST(Cond, ANanOfABranchNotTakenStaysThere) {
  auto f = [](Array x) { return cond(x > 0, [&] { return sqrt(x); }, [] { return array(0.0); }); };
  Array x = array({-1.0, 0.0, 4.0});
  EXPECT_EQ(vmap(grad(f))(x).to_vector(), (std::vector<double>{0, 0, 0.25}));
  EXPECT_EQ(grad([&](Array x) { return sum(vmap(f)(x)); })(x).to_vector(), (std::vector<double>{0, 0, 0.25}));
  EXPECT_EQ(jvp(vmap(f), x, ones({3})).second.to_vector(), (std::vector<double>{0, 0, 0.25}));
}

// ---- errors
TEST(CondErrors, Predicates) {
  auto id = [](In x) { return Arrays(x.begin(), x.end()); };
  Arrays x{array(1.0)};
  EXPECT_EQ(ERROR_OF((void)flat::cond(array({true, false}), id, id, x)),
            "[cond] the predicate must be a scalar, got bool[2]; hint: reduce it with all or any, or choose element by "
            "element with where");
  EXPECT_EQ(ERROR_OF((void)flat::cond(array(1.0), id, id, x)),
            "[cond] the predicate must be bool or an integer, got f32[]; hint: compare it, e.g. x > 0");
  EXPECT_EQ(ERROR_OF((void)flat::switch_(array(true), {id, id}, x)),
            "[switch_] the index must be an integer scalar, got bool[]; hint: for a bool use cond");
  EXPECT_EQ(ERROR_OF((void)flat::switch_(array({1, 2}), {id, id}, x)),
            "[switch_] the index must be an integer scalar, got i32[2]");
  EXPECT_EQ(ERROR_OF((void)flat::switch_(array(1), {}, x)),
            "[switch_] got no branches; hint: give at least one function");
}

TEST(CondErrors, BranchesDiffer) {
  auto one = [](In x) { return Arrays{x[0]}; };
  auto two = [](In x) { return Arrays{x[0], x[0]}; };
  auto vector = [](In x) { return Arrays{stack({x[0], x[0]})}; };
  auto wide = [](In x) { return Arrays{astype(x[0], f64)}; };
  Arrays x{array(1.0)};
  EXPECT_EQ(ERROR_OF((void)flat::cond(array(true), one, two, x)),
            "[cond] branches return different numbers of arrays: branch 0 (on_false) returns 2, branch 1 (on_true) "
            "returns 1; hint: all branches must return the same structure");
  EXPECT_EQ(ERROR_OF((void)flat::switch_(array(0), {one, one, vector}, x)),
            "[switch_] branches return different types: result 0 is f32[] in branch 0 but f32[2] in branch 2; hint: "
            "convert or reshape what a branch returns, so that all branches return the same types");
  EXPECT_EQ(ERROR_OF((void)flat::cond(array(true), one, wide, x)),
            "[cond] branches return different types: result 0 is f64[] in branch 0 (on_false) but f32[] in branch 1 "
            "(on_true); hint: convert or reshape what a branch returns, so that all branches return the same types");
}

}  // namespace
}  // namespace anew::test
