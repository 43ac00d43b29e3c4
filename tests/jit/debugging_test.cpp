// debug_nans and debug_infs: the operation that made the first one, wherever it runs; disable_jit; names of scopes.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "support/expect_error.h"
#include "support/support.h"

namespace anew::debugging_test {
namespace {

using test::expect_error;

Array negative() { return array({1.0, -1.0, 2.0}); }
Array log_sum(Array x) { return sum(log(x)); }
constexpr int log_line = __LINE__ - 1;

std::string line(int n) { return "debugging_test.cpp:" + std::to_string(n); }

TEST(DebugNans, OffAtTheStart) {
  EXPECT_FALSE(debug_nans_enabled());
  EXPECT_FALSE(debug_infs_enabled());
  EXPECT_FALSE(jit_disabled());
  EXPECT_TRUE(std::isnan(log_sum(negative()).item()));
  EXPECT_TRUE(std::isnan(jit(log_sum)(negative()).item()));
}

TEST(DebugNans, ScopesNestAndEnd) {
  {
    const DebugNans on;
    EXPECT_TRUE(debug_nans_enabled());
    {
      const DebugNans off(false);
      EXPECT_FALSE(debug_nans_enabled());
      EXPECT_NO_THROW(log(negative()));
    }
    EXPECT_TRUE(debug_nans_enabled());
  }
  EXPECT_FALSE(debug_nans_enabled());
  EXPECT_FALSE(debug_nans());
  EXPECT_THROW(log(negative()), Error);
  EXPECT_TRUE(debug_nans(false));
}

TEST(DebugNans, AnOperationAtOnce) {
  const DebugNans on;
  expect_error([] { log_sum(negative()); },
               {"[log] made a NaN", "f32[3] has it at [1]", "operand is -1", line(log_line)});
  expect_error([] { return zeros({}) / zeros({}); }, {"[div] made a NaN", "operands are 0 and 0"});
  expect_error([] { return matmul(full({2, 2}, std::numeric_limits<float>::infinity()), zeros({2, 2})); },
               {"[dot_general] made a NaN", "f32[2,2] has it at [0,0]"});
  for (DType d : {bf16, f16, f64}) EXPECT_THROW(log(negative().astype(d)), Error) << d;
  expect_error([] { return log(negative()[Index{slice(1, none)}]); }, {"has it at [0]"});
  expect_error([] { return linalg::cholesky(array({{1.0, 2.0}, {2.0, 1.0}})); }, {"[cholesky] made a NaN"});
}

TEST(DebugNans, OfNansAreNoNews) {
  const DebugNans on;
  Array x = array({std::nan(""), 1.0});
  EXPECT_NO_THROW(log_sum(x * 2));
  EXPECT_NO_THROW(jit(log_sum)(x));
  EXPECT_NO_THROW(full({2}, std::nan("")) + 1);
  EXPECT_NO_THROW(scan([](Array c, Array y) { return std::pair(c + y, c); }, full({}, 0.0), x).first.item());
  EXPECT_THROW(jit([](Array a) { return log(a) - log(-a); })(x), Error);  // another one
}

TEST(DebugNans, CompiledCodeIsRunAgain) {
  const DebugNans on;
  for (int i = 0; i < 3; ++i)
    expect_error([] { jit(log_sum)(negative()); }, {"[log] made a NaN", "operand is -1", line(log_line)});
  EXPECT_EQ(jit(log_sum)(ones({3})).item(), 0);
  auto compiled = jit(log_sum).compile(negative());
  expect_error([&] { compiled(negative()); }, {"[log] made a NaN", line(log_line)});
  auto donated = jit([](Array x) { return log(x); }, {.donate = {0}});
  expect_error([&] { donated(negative()); }, {"[log] made a NaN"});
  auto both = donated.compile(negative());
  expect_error([&] { both(negative()); }, {"[log] made a NaN", "operand is -1"});
  // Two functions with one Program have each its own line.
  auto other = [](Array x) { return sum(log(x)); };
  const int there = __LINE__ - 1;
  expect_error([&] { jit(other)(negative()); }, {line(there)});
}

TEST(DebugNans, WhatIsNotTakenInCompiledCodeIsNoError) {
  const DebugNans on;
  auto masked = [](Array x) { return sum(where(x > 0, log(x), 0.0)); };
  EXPECT_NO_THROW(jit(masked)(negative()));
  EXPECT_THROW(masked(negative()), Error);
  // The one that got out is named, not the first.
  auto f = [](Array x) {
    Array a = where(x > 0, log(x), 0.0);
    return sqrt(-a - 5.0);
  };
  expect_error([&] { jit(f)(negative()); }, {"[sqrt] made a NaN"});
}

TEST(DebugNans, FunctionsOfTheLibraryAreLookedAtWhenTheyAreDone) {
  const DebugNans on;
  EXPECT_NO_THROW(special::xlogy(zeros({3}), zeros({3})));
  // A NaN that was given, beside one that is not taken.
  auto beside = [](Array x, Array given) { return where(x != 0, given, log(x)); };
  EXPECT_NO_THROW(jit(beside)(array({2.0, -1.0}), array({std::nan(""), 0.0})));
  EXPECT_NO_THROW(nanmean(array({std::nan(""), 1.0})));
  EXPECT_NO_THROW(linalg::norm(negative()));
  EXPECT_NO_THROW(special::ndtri(array({0.0, 0.5, 1.0})));
  EXPECT_NO_THROW(grad([](Array x) { return sum(special::xlogy(x, x)); })(ones({3})));
  expect_error([] { return special::logit(array({2.0, 0.5})); }, {"made a NaN"});
}

TEST(DebugNans, Derivatives) {
  const DebugNans on;
  auto f = [](Array x) { return sum(where(x > 0, sqrt(x), 0.0)); };
  const int there = __LINE__ - 1;
  auto expected = {std::string_view("for the derivative of sqrt"), std::string_view("operands are 0 and inf")};
  expect_error([&] { return grad(f)(array({0.0, 1.0})); }, expected);
  expect_error([&] { return jit(grad(f))(array({0.0, 1.0})); }, expected);
  expect_error([&] { return grad(jit(f))(array({0.0, 1.0})); }, {"derivative of sqrt", line(there)});
  expect_error([&] { return vmap([](Array x) { return log(x); })(negative()); }, {"[log] made a NaN"});
  expect_error([&] { return grad(checkpoint(f))(array({0.0, 1.0})); }, {"derivative of sqrt"});
}

TEST(DebugNans, LoopsNameTheStep) {
  const DebugNans on;
  auto count = [](Array c, Array x) { return std::pair(c - 1, log(c) + x); };
  auto scanned = [&](Array a, Array b) { return scan(count, a, b).second; };
  expect_error([&] { return scanned(full({}, 3.0), ones({6})); }, {"[log]", "operand is -1", "in step 4 of scan at"});
  expect_error([&] { return jit(scanned)(full({}, 3.0), ones({6})); }, {"[log]", "operand is -1", "in step 4 of scan"});
  auto loop = [](Array a) {
    return while_loop([](Array c) { return c > -3; }, [](Array c) { return where(c > -1, c - 1, log(c)); }, a);
  };
  expect_error([&] { return jit(loop)(full({}, 3.0)); }, {"[log]", "in step 4 of while"});
  auto branch = [](Array a) { return cond(sum(a) > 0, [](Array x) { return x; }, [](Array x) { return log(x); }, a); };
  expect_error([&] { return branch(full({2}, -3.0)); }, {"[log]", "operand is -3"});
  expect_error([&] { return jit(branch)(full({2}, -3.0)); }, {"[log]", "operand is -3"});
  auto powers = [](Array x) { return fori_loop(0, 3, [](Array, Array y) { return sqrt(y * 0.0); }, x); };
  expect_error([&] { return grad(powers)(1.0); }, {"[mul] made a NaN", "for the derivative of ", "in step 2 of "});
  expect_error([&] { return jit(grad(powers))(1.0); }, {"[mul] made a NaN", "for the derivative of ", "in step 2 of "});
}

TEST(DebugNans, EffectsHappenOnce) {
  const DebugNans on;
  int calls = 0;
  auto f = [&](Array x) {
    io_callback([&](Array) { ++calls; }, none, x);
    return log(x);
  };
  expect_error([&] { return jit(f)(negative()); }, {"[log] made a NaN"});
  EXPECT_EQ(calls, 1);
}

TEST(DebugInfs, OfFiniteOperands) {
  const DebugInfs on;
  expect_error([] { return ones({2}) / zeros({2}); }, {"[div] made an infinity", "operands are 1 and 0"});
  expect_error([] { return jit([](Array x) { return exp(x * 100); })(ones({2})); }, {"[exp] made an infinity"});
  EXPECT_NO_THROW(full({2}, std::numeric_limits<float>::infinity()) * 2);
  EXPECT_NO_THROW(log(negative()));
  EXPECT_NO_THROW(amax(ones({3})));
}

TEST(DisableJit, CallsTheFunction) {
  int calls = 0;
  auto f = jit([&](Array x) {
    ++calls;
    return sum(x) > 0 ? x * 2 : x;  // a decision on values
  });
  const DisableJit off;
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(f(-ones({2})).to_vector<float>(), (std::vector<float>{-1, -1}));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(f.cache_size(), 0u);
  auto pure = jit(log_sum);
  EXPECT_EQ(pure(ones({2})).item(), 0);
  EXPECT_EQ(pure.cache_size(), 0u);
  EXPECT_EQ(grad(pure)(ones({2})).to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(DisableJit, LoopsAndBranchesSeeValues) {
  auto body = [](Array c, Array x) { return std::pair(c * 0.5 + x, c - x); };
  auto whole = [&](Array c, Array x) {
    auto [last, ys] = scan(body, c, x, {.reverse = true});
    return last + sum(ys * arange(4));
  };
  auto collatz = [](Array n) {
    return while_loop(
        [](Array c) { return c[0] != 1; },
        [](Array c) { return array({where(c[0] % 2 == 0, floor_divide(c[0], 2), 3 * c[0] + 1), c[1] + 1}); }, n);
  };
  const Array x = array({1.0, 2.0, 3.0, 4.0}), c = full({}, 3.0), n = array({6, 0});
  const Array y = whole(c, x), steps = collatz(n);
  const auto slopes = grad<0, 1>(whole)(c, x);
  const DisableJit off;
  EXPECT_TRUE(array_equal(whole(c, x), y));
  EXPECT_TRUE(array_equal(collatz(n), steps));
  const auto here = grad<0, 1>(whole)(c, x);
  EXPECT_TRUE(allclose(std::get<0>(here), std::get<0>(slopes)));
  EXPECT_TRUE(allclose(std::get<1>(here), std::get<1>(slopes)));
  std::vector<double> seen;
  auto shown = [&](Array i, Array v) {
    seen.push_back(v.item());
    return v * 2 + i;
  };
  EXPECT_EQ(fori_loop(0, 3, shown, 1.0).item(), 12);
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 5}));
  auto positive = [](Array v) { return v > 0 ? v : -v; };
  EXPECT_EQ(cond(c > 0, positive, [](Array v) { return v * 0; }, c).item(), 3);
  EXPECT_EQ(switch_(Array(7), branches(positive, [](Array v) { return v * 2; }), c).item(), 6);
  EXPECT_EQ(scan(body, c, zeros({0})).first.item(), 3);  // no step: traced, as always
  expect_error([&] { (void)scan([](Array a, Array b) { return std::pair(concatenate({a, a}), b); }, ones({1}), x); },
               {"[scan] the body must return a carry of the type it takes", "f32[1]", "f32[2]"});
  expect_error([&] { (void)while_loop([](Array a) { return a; }, [](Array a) { return a; }, c); },
               {"must give a bool scalar"});
  // Whoever asks for a Program, or maps, has no values.
  EXPECT_EQ(make_program(whole)(c, x).count("scan"), 1);
  EXPECT_TRUE(allclose(vmap(whole)(stack({c, c}), stack({x, x})), stack({y, y})));
}

TEST(DisableJit, AllOfTheProcess) {
  EXPECT_FALSE(disable_jit());
  EXPECT_TRUE(jit_disabled());
  {
    const DisableJit on(false);
    EXPECT_FALSE(jit_disabled());
  }
  EXPECT_TRUE(disable_jit(false));
}

struct Layer {
  Array w;
};
Array layers(const std::vector<Layer>& model, Array x) {
  const NamedScope scope("encoder");
  for (std::size_t i = 0; i < model.size(); ++i) {
    const NamedScope layer("layer " + std::to_string(i));
    x = tanh(matmul(x, model[i].w));
  }
  return sum(x);
}

TEST(NamedScope, ShowsInPlansReportsAndResiduals) {
  const std::vector<Layer> model(3, Layer{ShapeDtype{{64, 64}, f32}});
  const ShapeDtype x{{32, 64}, f32};
  const MemoryPlan plan = jit(grad(layers)).plan(ANEW_ARGS(model, x));
  EXPECT_NE(plan.str().find("(layers), encoder/layer "), std::string::npos) << plan;
  const MemoryReport report = memory_report(jit(grad(layers)), ANEW_ARGS(model, x));
  for (const char* name : {"encoder/layer 0", "encoder/layer 1", "encoder/layer 2"})
    for (const bool backward : {false, true})
      EXPECT_TRUE(std::any_of(report.steps.begin(), report.steps.end(),
                              [&](const auto& s) { return s.callers == name && s.path.starts_with("d ") == backward; }))
          << name << "\n"
          << report;
  int named = 0;
  for (const Residual& r : saved_residuals(layers, model, x)) named += r.text.ends_with(" in encoder/layer 1");
  EXPECT_GT(named, 0);
}

TEST(NamedScope, InsideAndAroundCalls) {
  auto f = [](Array x) {
    const NamedScope scope("outer");
    auto inner = [](Array y) {
      const NamedScope part("inner");
      return sin(matmul(y, y));
    };
    return sum(sin(checkpoint(inner)(x)));
  };
  const MemoryPlan plan = jit(grad(f)).plan(ShapeDtype{{64, 64}, f32});
  EXPECT_TRUE(std::any_of(plan.live.begin(), plan.live.end(), [&](const LiveValue& v) {
    return v.callers.starts_with("inner, checkpoint 0 of") && v.callers.ends_with("outer");
  })) << plan;
}

TEST(NamedScope, NamesErrorsAndChangesNothing) {
  auto f = [](Array x) {
    const NamedScope scope("decoder");
    return log(x);
  };
  const DebugNans on;
  expect_error([&] { f(negative()); }, {"; in decoder"});
  expect_error([&] { jit(f)(negative()); }, {"; in decoder"});
  expect_error([&] { named_call([](Array x) { return log(x); }, "head")(negative()); }, {"; in head"});
  EXPECT_EQ(named_scopes(), "");
  EXPECT_TRUE(array_equal(jit(f)(ones({2})), log(ones({2}))));
}

}  // namespace
}  // namespace anew::debugging_test
