// Carries of compiled loops change places: a next value lies where it was written, over itself, over another carry or
// in spare memory, or it is another carry, which is then not copied. All bodies of three carries of which each next one
// is an old one or made of two of them, for lengths that end at every turn of every cycle, have the bits of eager
// evaluation; ANEW_VERIFY holds each call to its plan.
#include <anew/ops.h>
#include <gtest/gtest.h>

#include "jit/compiled_program.h"
#include "support/interpreted.h"
#include "support/support.h"

namespace anew::test::carry_moves {
namespace {

using In = std::span<const Array>;

constexpr int carries = 3, kinds = 2 * carries;  // of a next carry: that of three, or one made of two

Arrays next(In c, int body, const Array& w) {
  Arrays out;
  for (int i = 0; i < carries; ++i, body /= kinds) {
    const int k = body % kinds;
    out.push_back(k < carries ? c[k] : c[k - carries] * w + flip(c[(k - carries + 1) % carries], {0}));
  }
  return out;
}
constexpr int bodies = kinds * kinds * kinds;

Arrays start(std::int64_t n) {
  Arrays x;
  for (int i = 0; i < carries; ++i) x.push_back(sin(arange(n, f32) + 0.7 * (i + 1)));
  return x;
}
const Array w = array(0.5, f32);

void expect_same(const FlatFunction& f, const Arrays& x, const std::string& what) {
  EXPECT_TRUE(same_bits(flat::compile(f, x)(x), f(x))) << what;
}

FlatFunction scanned(int body, int length, std::optional<int> checkpoints = {}) {
  return [=](In x) {
    auto step = [&](In c, In) { return flat::ScanResult{next(c, body, w), {}}; };
    return flat::scan(step, Arrays(x.begin(), x.end()), {}, {.length = length, .checkpoints = checkpoints}).carry;
  };
}

// The length is that of the run: x[3].
FlatFunction repeated(int body) {
  return [=](In x) {
    auto more = [&](In c) { return (c[carries] < x[carries]) & (c[carries] < 100); };
    auto step = [&](In c) {
      Arrays out = next(c.first(carries), body, w);
      out.push_back(c[carries] + 1);
      return out;
    };
    Arrays c(x.begin(), x.begin() + carries);
    c.push_back(array(0, i32));
    return flat::while_loop(more, step, c, {});
  };
}

}  // namespace

// Small arrays: kernels of a step are joined to one, which writes all that is made.
TEST(CarryMoves, EveryBodyOfThree) {
  const Interpreted interpreted(true);
  const Arrays x = start(5);
  for (int body = 0; body < bodies; ++body)
    for (int length : {1, 2, 3, 4})
      expect_same(scanned(body, length), x, fmt::format("body {}, {} steps", body, length));
}

// Large ones: a kernel for each.
TEST(CarryMoves, OneKernelForEach) {
  const Interpreted interpreted(true);
  const Arrays x = start(5000);
  for (int body = 0; body < bodies; body += 5)
    expect_same(scanned(body, 2 + body % 5), x, fmt::format("body {}", body));
}

TEST(CarryMoves, LengthsThatAreNotKnown) {
  const Interpreted interpreted(true);
  for (int body = 0; body < bodies; ++body) {
    const auto f = flat::compile(repeated(body), [&] {
      Arrays x = start(4);
      x.push_back(array(0, i32));
      return x;
    }());
    for (int length : {0, 1, 2, 3, 5}) {
      Arrays x = start(4);
      x.push_back(array(length, i32));
      EXPECT_TRUE(same_bits(f(x), repeated(body)(x))) << "body " << body << ", " << length << " steps";
    }
  }
}

// Tangents and cotangents are carries of loops that walk over kept states.
TEST(CarryMoves, LinearOnes) {
  const Interpreted interpreted(true);
  const Arrays x = start(3);
  for (int body = 0; body < bodies; body += 7)
    for (const auto checkpoints : {std::optional<int>(), std::optional<int>(2)}) {
      auto gradient = [=](In in) {
        auto loss = [=](In y) {
          Arrays c = scanned(body, 5, checkpoints)(y);
          return Arrays{sum(c[0] * c[1] + square(c[2]))};
        };
        return flat::grad(loss, in);
      };
      expect_same(gradient, x, fmt::format("body {}", body));
      auto tangent = [=](In in) { return flat::jvp(scanned(body, 4, checkpoints), in, in).second; };
      expect_same(tangent, x, fmt::format("tangent of body {}", body));
    }
}

// u' = f(u, u_prev), u_prev' = u: two buffers, whatever the stencil is cut into. One more would be in the plan.
TEST(CarryMoves, AStencilOverItsPast) {
  const std::int64_t n = 352;  // large enough to be cut into boxes
  auto wave = [=](In x) {
    auto step = [](In c, In) {
      const Array p = pad(c[0], {{1, 1}, {1, 1}});
      const Slice all = slice(1, -1), before = slice(none, -2), after = slice(2, none);
      const Array sum = p[{before, all}] + p[{after, all}] + p[{all, before}] + p[{all, after}];
      return flat::ScanResult{{0.3 * sum - c[1], c[0]}, {}};
    };
    return flat::scan(step, Arrays(x.begin(), x.end()), {}, {.length = 7}).carry;
  };
  const Arrays x{sin(arange(n * n, f32)).reshape({n, n}), cos(arange(n * n, f32)).reshape({n, n})};
  expect_same(wave, x, "wave");
  EXPECT_EQ(flat::compile(wave, x).plan().arena_bytes, 0U);
}

}  // namespace anew::test::carry_moves
