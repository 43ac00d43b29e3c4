// What the golden files found: each a small case of its own.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>

#include "golden/compare.h"

namespace anew::golden {
namespace {

using State = std::pair<Array, Array>;

// Two carries, both started from one value: its cotangent is the sum of theirs.
TEST(Regressions, CarriesThatStartFromOneValue) {
  Array c = array(0.5);
  auto f = [&](const Array& a, const Array& b) {
    auto step = [&](const State& s, none_t) {
      return std::pair(State(s.second, 2 * s.second - s.first + c * sin(s.second)), none);
    };
    return scan(step, State(a, b), none, {.length = 3}).first.second;
  };
  Array u = array(0.3);
  auto [da, db] = grad<0, 1>(f)(u, array(0.3));
  Array together = grad([&](const Array& a) { return f(a, a); })(u);
  EXPECT_EQ(bit_difference(together, da + db), "");
}

// One value as captured constant, first carry and input of every step.
TEST(Regressions, OneValueInAllGroupsOfAScan) {
  auto f = [](const Array& constant, const Array& first, const Array& xs) {
    auto step = [&](const Array& h, const Array& x) { return std::pair(sin(h * constant + x), none); };
    return sum(scan(step, first, xs).first);
  };
  Array u = array({0.3, -0.7}, f64), three = ones({3, 1}, f64);
  auto [dc, dh, dx] = grad<0, 1, 2>(f)(u, u, three * u);
  auto together = grad([&](const Array& a) { return f(a, a, three * a); })(u);
  EXPECT_TRUE(allclose(together, dc + dh + sum(dx, 0), 1e-14, 1e-14));
}

TEST(Regressions, TanhKeepsTheSignOfZero) {
  for (DType d : {f32, f64}) {
    EXPECT_TRUE(std::signbit(tanh(array({-0.0}, d)).to_vector<double>()[0]));
    EXPECT_FALSE(std::signbit(tanh(array({0.0}, d)).to_vector<double>()[0]));
  }
}

// Like maximum, hypot shares a tie; away from 0 the two halves make the whole.
TEST(Regressions, HypotSharesATie) {
  auto f = [](const Array& a, const Array& b) { return sum(hypot(a, b)); };
  auto [da, db] = grad<0, 1>(f)(array({0.0, 2.0, 3.0}), array({0.0, 2.0, 4.0}));
  const double half = std::sqrt(0.5);
  EXPECT_TRUE(allclose(da, array({0.5, half, 0.6}), 1e-6, 0));
  EXPECT_TRUE(allclose(db, array({0.5, half, 0.8}), 1e-6, 0));
}

// The derivative by x is the logarithm, also at x = 0; the value there is +0 whatever the logarithm's sign; nan
// stays nan.
TEST(Regressions, XlogyAtZero) {
  auto by_x = [](Array (*f)(const ArrayLike&, const ArrayLike&), double y) {
    return grad([=](const Array& x) { return f(x, array(y)); })(array(0.0)).item();
  };
  EXPECT_NEAR(by_x(xlogy, 2), std::log(2.0), 1e-6);
  EXPECT_NEAR(by_x(xlog1py, 1), std::log(2.0), 1e-6);
  for (double y : {0.0, 0.5, 2.0, -1.0, HUGE_VAL}) {
    EXPECT_EQ(bit_difference(xlogy(array(0.0), array(y)), array(0.0)), "") << y;
    EXPECT_EQ(bit_difference(xlog1py(array(0.0), array(y - 1)), array(0.0)), "") << y;
  }
}

}  // namespace
}  // namespace anew::golden
