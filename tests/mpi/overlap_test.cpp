// Sums that are on their way while the program computes: begun before the backward pass has ended, the same bits as
// those that are waited for at once, in memory that is planned; and what happens where one fails.
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "mpi/group.h"
#include "mpi/ranks.h"

namespace anew::test {
namespace {

using Layers = std::vector<Array>;
using Clock = std::chrono::steady_clock;
constexpr int depth = 8;
constexpr std::int64_t width = 128;  // 64 KiB a layer: more than goes along the tree

Layers layers(DType d = f32) {
  Layers w;
  for (int i = 0; i < depth; ++i) w.push_back(fill({width, width}, 1 + i, d) * 0.1);
  return w;
}
// x, whose cotangent passes through a function of the user.
auto watched(std::function<void()> seen) {
  return custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, none); },
                    [seen](none_t, Array ct) {
                      auto look = [seen](Array c) {
                        seen();
                        return c;
                      };
                      return std::tuple(pure_callback(look, ShapeDtype{ct.shape(), ct.dtype()}, ct));
                    });
}
Array plain_loss(const Layers& w, const Array& x) {
  Array y = x;
  for (const Array& l : w) y = tanh(matmul(y, l));
  return mean(square(y));
}
// The results of the first layers are watched.
auto watched_loss(std::vector<std::function<void()>> seen) {
  return [seen](Layers w, Array x) {
    Array y = x;
    for (std::size_t i = 0; i < w.size(); ++i) {
      y = tanh(matmul(y, w[i]));
      if (i < seen.size()) y = watched(seen[i])(y);
    }
    return mean(square(y));
  };
}
mpi::DataParallelOptions one_layer_each() { return {.bucket_bytes = width * width * 4}; }
class SlowLink {
 public:
  explicit SlowLink(double seconds) : former_(mpi::set_link({seconds, 0})) {}
  ~SlowLink() { mpi::set_link(former_); }
  SlowLink(const SlowLink&) = delete;

 private:
  mpi::Link former_;
};

TEST(Overlap, SumsAreSentBeforeTheBackwardPassEnds) {
  if (ranks() == 1) GTEST_SKIP() << "needs another rank";
  std::int64_t before = 0;
  bool sent = false;
  auto seen = [&] {  // in the backward pass of the first layer: nothing but its gradient is left to compute
    const Clock::time_point begin = Clock::now();
    while (!sent && Clock::now() - begin < std::chrono::seconds(5)) sent = mpi::traffic().messages > before;
  };
  auto step = jit(mpi::data_parallel(grad(watched_loss({seen})), world(), one_layer_each()));
  const Layers w = layers();
  const Array x = mine({4, width}, 3, f32);
  before = mpi::traffic().messages;
  const Layers g = step(w, x);
  EXPECT_TRUE(sent);
  const Layers want = mpi::data_parallel(grad(plain_loss), world())(w, x);
  for (int i = 0; i < depth; ++i) EXPECT_TRUE(same_bits(g[std::size_t(i)], want[std::size_t(i)])) << i;
}

// On a link that takes as long for a sum as the program does for a layer, both at once take little more than one.
TEST(Overlap, TakesLessTimeOnASlowLink) {
  if (ranks() == 1) GTEST_SKIP() << "needs another rank";
  const auto work = [] { std::this_thread::sleep_for(std::chrono::milliseconds(60)); };
  const auto loss = watched_loss(std::vector<std::function<void()>>(depth, work));
  auto overlapped = jit(mpi::data_parallel(grad(loss), world(), one_layer_each()));
  auto alone = jit(grad(loss));
  const Layers w = layers();
  const Array x = mine({4, width}, 3, f32);
  auto seconds = [&](auto f) {
    (void)f();
    (void)psum(array(1), world());
    const SlowLink link(0.03);  // a sum of a layer is two exchanges
    const Clock::time_point begin = Clock::now();
    (void)f();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const double both = seconds([&] { return overlapped(w, x); });
  const double after = seconds([&] {
    Layers g = alone(w, x);
    for (Array& l : g) l = pmean(l, world());
    return g;
  });
  if (rank() == 0) std::printf("overlapped %.0f ms, one after the other %.0f ms\n", 1e3 * both, 1e3 * after);
  EXPECT_LT(both, after);
}

TEST(Overlap, BitsAndMemoryAreAsPlanned) {
  const Layers w = layers(), w64 = layers(f64);
  const Array x = mine({4, width}, 3, f32);
  struct Mixed {
    Layers a, b;
    Array bias;
  };
  auto loss = [](Mixed m, Array x) {
    return plain_loss(m.a, x + m.bias) + astype(plain_loss(m.b, astype(x, f64)), f32);
  };
  const Mixed m{w, w64, fill({width}, 9, f32)};
  for (std::size_t bucket : {std::size_t{1}, std::size_t{width * width * 8}, std::size_t{1} << 30}) {
    auto f = mpi::data_parallel(value_and_grad(loss), world(), {.bucket_bytes = bucket});
    const auto want = f(m, x);
    auto compiled = jit(f).compile(m, x);
    for (int again = 0; again < 3; ++again) {
      const auto got = compiled(m, x);
      const Arrays a = tree_leaves(got), b = tree_leaves(want);
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << bucket << " " << i;
    }
    EXPECT_EQ(compiled.high_water_bytes(), compiled.plan().peak_bytes);
  }
}

// A training step with donated weights: within budgets too, down to the smallest.
TEST(Overlap, TrainingStepsWithinBudgets) {
  const Layers w = layers();
  const Array x = mine({256, width}, 3, f32);
  auto gradient = mpi::data_parallel(grad(plain_loss), world(), one_layer_each());
  auto step = [&](Layers w, Array x) {
    const Layers g = gradient(w, x);
    return tree_map([](Array p, Array d) { return p - 0.1 * d; }, w, g);
  };
  const Layers want = step(w, x);
  auto check = [&](const JitOptions& options) {
    auto compiled = jit(step, options).compile(w, x);
    Layers own;
    for (const Array& l : w) own.push_back(l + 0.0);
    const Layers got = compiled(own, x);
    for (int i = 0; i < depth; ++i) EXPECT_TRUE(same_bits(got[std::size_t(i)], want[std::size_t(i)]));
    EXPECT_EQ(compiled.high_water_bytes(), compiled.plan().peak_bytes);
  };
  check({});
  check({.donate = {0}});
  std::size_t last = 0;
  for (const BudgetPoint& p : jit(step).budget_curve(w, x)) {
    EXPECT_TRUE(last == 0 || p.peak_bytes < last);
    last = p.peak_bytes;
    check({.memory_budget = p.peak_bytes});
  }
  const std::string folder = std::filesystem::temp_directory_path().string();  // what is under way never lies in a file
  const auto curve = jit(step, {.disk = folder}).budget_curve(w, x);
  check({.memory_budget = curve.back().peak_bytes, .disk = folder});
  check({.memory_budget = curve[curve.size() / 2].peak_bytes, .disk = folder});
}

TEST(Overlap, InsideLoopsAndBranches) {
  const Array x = mine({width, width}, 3, f32);
  auto f = [](Array x) {
    auto body = [](Array c, Array i) {
      const Array a = tanh(c), b = sin(matmul(a, a));
      const Array s = psum(a, world()), t = psum(b, world());
      return std::pair(cond(
                           i > 1, [](Array s, Array t) { return psum(s, world()) + cos(t); },
                           [](Array s, Array t) { return s - t; }, s, t) /
                           100,
                       sum(t));
    };
    auto [c, ys] = scan(body, x, arange(4));
    return sum(c) + sum(ys);
  };
  EXPECT_TRUE(same_bits(jit(f)(x), f(x)));
  EXPECT_TRUE(same_bits(jit(grad(f))(x), grad(f)(x)));
}

TEST(Overlap, RanksThatDoNotAgree) {
  if (ranks() == 1) GTEST_SKIP() << "needs another rank";
  auto step = jit(mpi::data_parallel(grad(plain_loss), world(), {.bucket_bytes = 1}));
  Layers w = layers();
  if (rank() == 0) w[6] = fill({width, width + 1}, 1, f32), w[7] = fill({width + 1, width}, 1, f32);
  const std::string text = ERROR_OF((void)step(w, mine({4, width}, 3, f32)));
  EXPECT_NE(text.find("[psum] ranks do not agree: rank 0: psum of f32[128,129]; rank"), std::string::npos) << text;
  EXPECT_EQ(psum(array(1), world()).item<int>(), ranks());  // and they go on together
  const Layers good = layers();
  EXPECT_EQ(step(good, mine({4, width}, 3, f32)).size(), good.size());
}

// What is under way is waited for before its memory goes.
TEST(Overlap, AFunctionThatThrowsMeanwhile) {
  const SlowLink link(0.005);
  auto throws = [] { throw Error("[model] not this time"); };
  auto step = jit(mpi::data_parallel(grad(watched_loss({throws})), world(), one_layer_each()));
  const Layers w = layers();
  const Array x = mine({4, width}, 3, f32);
  for (int again = 0; again < 3; ++again) EXPECT_THROW((void)step(w, x), Error);
  EXPECT_EQ(psum(array(1), world()).item<int>(), ranks());
}

}  // namespace
}  // namespace anew::test
