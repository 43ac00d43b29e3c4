// A function that captures arrays is traced at each call and its code found by its Program. Functions of the user's in
// that Program (rules, policies, callbacks) must not make it another one at each call: those without captures are known
// by their types and the values of their static arguments; where one has captures, a warning says so.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "support/support.h"

namespace anew {
namespace {

struct Layer {
  Array w, b;
};
using Net = std::vector<Layer>;

const auto saturated = custom_jvp([](Array u, double limit) { return limit * tanh(u / limit); },
                                  [](auto primals, auto tangents) {
                                    auto [u, limit] = primals;
                                    Array s = tanh(u / limit);
                                    return std::pair(limit * s, (1 - s * s) * std::get<0>(tangents));
                                  });
const auto scaled = custom_vjp([](Array u, std::string how) { return how == "twice" ? 2 * u : u * u; },
                               [](Array u, std::string how) { return std::pair(how == "twice" ? 2 * u : u * u, u); },
                               [](Array u, Array ct) { return std::tuple(2 * ct * u, none); });
const auto of_net = custom_jvp([](Net n, Array x) { return n[0].w * x + n.back().b; },
                               [](auto primals, auto tangents) {
                                 auto& [n, x] = primals;
                                 return std::pair(n[0].w * x + n.back().b, n[0].w * std::get<1>(tangents));
                               });
Array seen_by(Array x) { return x; }

// Calls of f, which captures an array, and how many codes these made.
template <class F>
std::size_t codes(const F& f, const Array& x) {
  const Array soft = full({3}, 2.4);
  auto jitted = jit([soft, f](Array x) { return soft * f(x); });
  const Array want = soft * f(x);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(allclose(jitted(x), want));
  return jitted.cache_size();
}

TEST(Recompile, FunctionsWithoutCapturesAreTheSameAtEachCall) {
  const Array x = arange(3.0) + 0.5;
  const Net net{{x, x}, {x + 1, x - 1}};
  EXPECT_EQ(codes([](Array x) { return saturated(x, 12.0); }, x), 1u);
  EXPECT_EQ(codes([](Array x) { return saturated(x, 12.0) + saturated(x, 3.0); }, x), 1u);
  EXPECT_EQ(codes([](Array x) { return scaled(x, "twice") + scaled(x, "square"); }, x), 1u);
  EXPECT_EQ(codes([net](Array x) { return of_net(net, x); }, x), 1u);
  EXPECT_EQ(codes([](Array x) { return vmap([](Array a) { return saturated(a, 2.0); })(x); }, x), 1u);
  EXPECT_EQ(codes([](Array x) { return pure_callback([](Array a) { return a * 2; }, ShapeDtype{{3}, f32}, x); }, x),
            1u);
  EXPECT_EQ(codes([](Array x) { return pure_callback(seen_by, ShapeDtype{{3}, f32}, x); }, x), 1u);
  EXPECT_EQ(codes([](Array x) { return io_callback(seen_by, ShapeDtype{{3}, f32}, x); }, x), 1u);
  auto printed = [](Array x) {
    debug::callback([](Array) {}, x);
    return x;
  };
  EXPECT_EQ(codes(printed, x), 1u);
  auto checkpointed = [](Array x) {
    Policy policy("cosines", [](const PolicyQuery& q) { return q.primitive == "cos"; });
    auto inside = checkpoint([](Array z) { return sin(sin(z)); }, policy);
    return grad([inside](Array y) { return sum(inside(y)); })(x);
  };
  EXPECT_EQ(codes(checkpointed, x), 1u);
}

TEST(Recompile, ValuesOfStaticArgumentsTellCallsApart) {
  const Array soft = array(1.0);
  double limit = 2;
  auto jitted = jit([&](Array x) { return soft * saturated(x, limit); });
  for (double l : {2.0, 3.0, 2.0}) {
    limit = l;
    EXPECT_EQ(jitted(1.0).item(), (soft * saturated(1.0, l)).item());
  }
  EXPECT_EQ(jitted.cache_size(), 2u);
  auto derivative =
      jit([&](Array x) { return soft * grad([&](Array y) { return scaled(y, limit > 2 ? "twice" : "square"); })(x); });
  limit = 3;
  EXPECT_EQ(derivative(5.0).item(), 10);  // the rule's
}

// What a callback captures is not seen by its type.
TEST(Recompile, FunctionsWithCapturesAreOthersEachTime) {
  const Array x = arange(3.0), soft = ones({3});
  double factor = 1;
  auto jitted = jit(
      [&](Array x) { return soft * pure_callback([k = factor](Array a) { return a * k; }, ShapeDtype{{3}, f32}, x); });
  for (factor = 1; factor < 4; ++factor) EXPECT_TRUE(array_equal(jitted(x), x * factor));
  auto policy_of = [&](bool keep) {
    auto f = checkpoint([](Array z) { return sin(sin(z)); }, Policy([keep](const PolicyQuery&) { return keep; }));
    return saved_residuals([f](Array y) { return sum(f(y)); }, x).size();
  };
  EXPECT_GT(policy_of(true), policy_of(false));
}

TEST(Recompile, AWarningSaysWhy) {
  std::vector<Warning> seen;
  auto saved = set_warning_handler([&](const Warning& w) { seen.push_back(w); });
  const Array soft = array(2.0);
  int count = 0;
  auto f =
      jit([&](Array x) { return soft * pure_callback([&](Array a) { return ++count, a; }, ShapeDtype{{}, f32}, x); });
  const int line = __LINE__ - 1;
  for (int i = 0; i < 9; ++i) (void)f(1.0);
  EXPECT_TRUE(seen.empty());
  for (int i = 0; i < 20; ++i) (void)f(1.0);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(
      seen[0].text,
      "[jit] compiled 10 times for the same types: a rule, policy or callback with captures is made at each call, and "
      "is another function each time; hint: make it once, outside of the function; or compile() the function, which "
      "is traced once");
  EXPECT_EQ(seen[0].line, line);
  set_warning_handler(std::move(saved));
}

}  // namespace
}  // namespace anew
