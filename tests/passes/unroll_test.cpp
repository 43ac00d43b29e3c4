// Scans with several steps per turn: the same bits, fewer turns, and what is left over.
#include "passes/passes.h"
#include "passes/subjects.h"

namespace anew::test {
namespace {

auto looped(std::int64_t length, int unroll, bool reverse) {
  return [=](Array w, Array x) {
    auto step = [w](Array c, Array e) {
      Array next = sin(c * w + e);
      return std::pair(next, next * e);
    };
    Array xs = reshape(arange(2 * length) * 0.25, {length, 2}) * x;
    auto [c, ys] = scan(step, x, xs, {.reverse = reverse, .unroll = unroll});
    return sum(c) + sum(ys * cos(ys));
  };
}

TEST(UnrollLoops, KeepsEveryBit) {
  const Array w = array({0.5, -1.25}), x = array({0.75, 0.125});
  for (std::int64_t length : {0, 1, 2, 5, 6, 7})
    for (bool reverse : {false, true}) {
      auto plain = looped(length, 1, reverse);
      const auto [dw, dx] = grad<0, 1>(plain)(w, x);
      const Array tangent = jvp(plain, std::tuple(w, x), std::tuple(x, w)).second;
      for (int unroll : {0, 2, 3, 10}) {
        SCOPED_TRACE(::testing::Message() << length << " steps, unroll " << unroll << (reverse ? ", reverse" : ""));
        auto f = looped(length, unroll, reverse);
        EXPECT_TRUE(same_bits(jit(f)(w, x), plain(w, x)));
        const auto [uw, ux] = jit(grad<0, 1>(f))(w, x);
        EXPECT_TRUE(same_bits(uw, dw));
        EXPECT_TRUE(same_bits(ux, dx));
        auto forward = [=](Array w, Array x) { return jvp(f, std::tuple(w, x), std::tuple(x, w)).second; };
        EXPECT_TRUE(same_bits(jit(forward)(w, x), tangent));
      }
    }
}

TEST(UnrollLoops, TurnsAndWhatIsLeft) {
  auto text = [](int unroll) {
    auto f = [=](Array x) {
      return scan([](Array c, none_t) { return std::pair(sin(c), none); }, x, none, {.length = 7, .unroll = unroll})
          .first;
    };
    return ir::print(passes::unroll_loops(*make_program(f)(0.5).code()));
  };
  EXPECT_EQ(text(3), R"({ lambda ; a:f32[]. let
    b:f32[] = scan[
      length=2
      num_carry=1
      num_consts=0
      program={ lambda ; c:f32[]. let
          d:f32[] = sin c
          e:f32[] = sin d
          f:f32[] = sin e
        in (f,) }
      reverse=False
      unroll=1
    ] a
    g:f32[] = scan[
      length=1
      num_carry=1
      num_consts=0
      program={ lambda ; h:f32[]. let i:f32[] = sin h in (i,) }
      reverse=False
      unroll=1
    ] b
  in (g,) })");
  EXPECT_NE(text(0).find("length=1\n"), std::string::npos);
  EXPECT_NE(text(1).find("length=7\n"), std::string::npos);
}

}  // namespace
}  // namespace anew::test
