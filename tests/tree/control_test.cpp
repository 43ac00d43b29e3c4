// cond, switch_, while_loop, fori_loop, map and associative_scan over trees.
#include <anew/anew.h>

#include "support/support.h"

namespace anew::test {
namespace {

struct State {
  Array x, count;
};

TEST(Cond, ChoosesATree) {
  auto f = [](Array x, bool up) {
    return cond(x > 0, [=](Array x) { return State{up ? x * 2 : x, 1}; }, [](Array x) { return State{-x, 0}; }, x);
  };
  EXPECT_EQ(f(3.0, true).x.item(), 6);
  EXPECT_EQ(f(3.0, false).x.item(), 3);
  EXPECT_EQ(f(-3.0, true).x.item(), 3);
  EXPECT_EQ(f(-3.0, true).count.item(), 0);
  auto loss = [&](Array x) { return f(x, true).x; };
  EXPECT_EQ(grad(loss)(3.0).item(), 2);
  EXPECT_EQ(grad(loss)(-3.0).item(), -1);
  EXPECT_EQ(vmap(loss)(array({3.0, -3.0})).to_vector(), (std::vector<double>{6, 3}));
  EXPECT_EQ(jit(loss)(-3.0).item(), 3);
}

TEST(Cond, NumbersAndCapturesAreArrays) {
  Array x = array(2.0, f64);
  Array y = cond(x > 1, [&](Array a) { return a * x; }, [](auto) { return 0.0; }, x);
  EXPECT_EQ(y.item(), 4);
  EXPECT_EQ(y.dtype(), f64);
  EXPECT_EQ(cond(true, [] { return 1.5; }, [] { return 2.5; }).item(), 1.5);
}

TEST(Cond, BranchesMustAgree) {
  Array x = array({1.f, 2.f});
  auto list = [](int n) { return [n](Array x) { return std::vector<Array>(static_cast<std::size_t>(n), x); }; };
  EXPECT_THROW((void)cond(true, list(2), list(3), x), Error);
  EXPECT_THROW((void)cond(true, [](Array x) { return x; }, [](Array x) { return x[0]; }, x), Error);
  auto named = [](std::string s) { return [s](Array x) { return std::pair(s, x); }; };
  EXPECT_EQ(
      ERROR_OF((void)cond(true, named("a"), named("b"), x)),
      "[cond] the branches return different plain C++ values: result[0] is 'b' or 'a'; hint: make them Array: only "
      "arrays can depend on the branch that is taken");
}

TEST(Switch, BranchesOfOneOrOfManyTypes) {
  auto f = [](Array i, Array x) {
    return switch_(i, branches([](Array x) { return x; }, ANEW_FN(sin), ANEW_FN(cos)), x);
  };
  Array x = array(0.5f);
  EXPECT_TRUE(same_bits(f(0, x), x));
  EXPECT_TRUE(same_bits(f(1, x), sin(x)));
  EXPECT_TRUE(same_bits(f(7, x), cos(x)));
  EXPECT_TRUE(same_bits(f(-7, x), x));
  std::vector<std::function<Array(Array)>> list{ANEW_FN(sin), ANEW_FN(cos)};
  EXPECT_TRUE(same_bits(switch_(1, list, x), cos(x)));
}

TEST(WhileLoop, NumbersTakeTheDtypeOfTheBody) {
  Array limit = array(10.0, f64);
  auto [x, n] =
      while_loop([&](const auto& s) { return s.first < limit; },
                 [&](const auto& s) { return std::pair(s.first * array(2.0, f64), s.second + 1); }, std::pair(1.0, 0));
  EXPECT_EQ(x.dtype(), f64);
  EXPECT_EQ(x.item(), 16);
  EXPECT_EQ(n.item(), 4);
  State s = while_loop([](const State& s) { return s.count < 3; },
                       [](const State& s) { return State{s.x * 2, s.count + 1}; }, State{1.0, 0});
  EXPECT_EQ(s.x.item(), 8);
  auto f = [](Array a) {
    return while_loop([](const State& s) { return s.count < 3; },
                      [&](const State& s) { return State{s.x * a, s.count + 1}; }, State{1.0, 0}, {.checkpoints = 2})
        .x;
  };
  EXPECT_EQ(grad(f)(2.0).item(), 12);
}

TEST(ForiLoop, IndexIsAnArray) {
  auto f = [](Array x) { return fori_loop(0, 4, [&](Array i, Array c) { return c + astype(i, f32) * x; }, 0.0); };
  EXPECT_EQ(f(array(2.f)).item(), 12);
  EXPECT_EQ(grad(f)(2.0).item(), 6);
  struct Named {
    Array x;
    int n;
  };
  EXPECT_EQ(
      ERROR_OF((void)fori_loop(
          0, 3, [](Array, const Named& s) { return Named{s.x, s.n + 1}; }, Named{1.0, 0})),
      "[fori_loop] the body changes carry.n, a plain C++ value, from 0 to 1; only arrays change from step to step; "
      "hint: make it an Array, or keep it out of the carry");
}

TEST(Map, OneByOneAndInBatches) {
  std::pair<Array, Array> xs(fill({7, 3}, 1), fill({7}, 2));
  auto f = [](const std::pair<Array, Array>& x) { return State{sin(x.first) * x.second, sum(x.first)}; };
  State one = map(f, xs);
  for (int n : {1, 3, 7}) {
    State batched = map(f, xs, {.batch_size = n});
    EXPECT_TRUE(same_bits(batched.x, one.x) && same_bits(batched.count, one.count));
  }
  EXPECT_TRUE(same_bits(one.x[2], sin(xs.first[2]) * xs.second[2]));
  Array x = xs.first;
  EXPECT_EQ(ERROR_OF((void)map(ANEW_FN(sin), x, {.batch_size = 0})), "[map] .batch_size must be positive, got 0");
  EXPECT_EQ(ERROR_OF((void)map(ANEW_FN(sin), array(1.f))), "[map] f32[] has no leading axis to map over");
  EXPECT_EQ(ERROR_OF((void)map(f, std::pair(x, x[0]))), "[map] leading axes have different sizes: f32[7,3] and f32[3]");
  EXPECT_EQ(ERROR_OF((void)map([](std::vector<Array> v) { return v; }, std::vector<Array>{})),
            "[map] there is no array to map over");
}

TEST(AssociativeScan, PrefixesOfEveryLength) {
  for (int n : {0, 1, 2, 3, 4, 5, 8, 13}) {
    Array x = astype(arange(n * 2).reshape({n, 2}), i32);
    Array got = associative_scan(ANEW_FN(add), x), reversed = associative_scan(ANEW_FN(add), x, {.reverse = true});
    Array total = zeros({2}, i32);
    for (int i = 0; i < n; ++i) {
      total = total + x[i];
      EXPECT_TRUE(same_bits(got[i], total));
    }
    if (n > 0) {
      EXPECT_TRUE(same_bits(reversed[0], total));
    }
    EXPECT_TRUE(same_bits(associative_scan(ANEW_FN(add), transpose(x), {.axis = -1}), transpose(got)));
  }
  // Linear recurrences: pairs (a, b) of x -> a x + b.
  using Step = std::pair<Array, Array>;
  Step steps(fill({6}, 1, f64), fill({6}, 2, f64));
  auto compose = [](const Step& f, const Step& g) { return Step(f.first * g.first, f.second * g.first + g.second); };
  Step all = associative_scan(compose, steps);
  auto body = [](Array x, const Step& s) {
    Array y = s.first * x + s.second;
    return std::pair(y, y);
  };
  EXPECT_TRUE(allclose(all.second, scan(body, array(0.0, f64), steps).second));
  EXPECT_NO_THROW(check_grads([&](const Step& s) { return associative_scan(compose, s); }, steps));
}

TEST(AssociativeScan, Errors) {
  Array x = fill({4, 2}, 1);
  EXPECT_EQ(ERROR_OF((void)associative_scan(ANEW_FN(add), x, {.axis = 2})),
            "[associative_scan] 2 is not an axis of f32[4,2]");
  EXPECT_EQ(
      ERROR_OF((void)associative_scan([](Array a, Array b) { return sum(a + b); }, x)),
      "[associative_scan] the function must keep types: it gives f32[] for f32[2,2]; hint: it combines whole arrays "
      "of elements: f(x[0:2], x[2:4]) has the type of x[0:2]");
  auto pairs = [](const std::pair<Array, Array>& a, const std::pair<Array, Array>&) { return a; };
  EXPECT_EQ(ERROR_OF((void)associative_scan(pairs, std::pair(x, x[0]))),
            "[associative_scan] arrays differ along axis 0: f32[4,2] and f32[2]");
}

}  // namespace
}  // namespace anew::test
