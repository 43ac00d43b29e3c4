// Rows of while loops, plain and under checkpoint (WHILE').
#include "conformance/conformance.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

struct Whiles : Conformance {
  // Plain, and under a checkpoint.
  static std::vector<FlatFunction> both(const FlatFunction& f) {
    return {f, [f](In x) { return flat::checkpoint(f, x, nothing_saveable); }};
  }
};

TEST_F(Whiles, R70) {
  auto loop = [](In x) {
    auto body = [](In c) { return Arrays{c[0] + 1, sin(c[1])}; };
    return Arrays{flat::while_loop([](In c) { return c[0] < 3; }, body, {0, x[0]})[1]};
  };
  for (const Policy& p : default_policies()) {
    auto f = [&](In x) { return flat::checkpoint(loop, x, p); };
    EXPECT_VALUE(flat::linearize(f, Arrays{array(3.0)}).second(Arrays{array(1.0)})[0], -0.97047187);
    EXPECT_EQ(sines(flat::linearize(f, Arrays{array(4.0)}).second.program()), std::pair(1, 1));
  }
}

TEST_F(Whiles, L21) {
  auto loop = [](In x) {
    return flat::while_loop([](In c) { return c[0][{0, 2}] <= 8; }, [](In c) { return Arrays{c[0] * c[0]}; }, {x[0]});
  };
  Array x = reshape(arange(9.0), {3, 3});
  for (const FlatFunction& f : both(loop)) {
    auto [y, l] = flat::linearize(f, Arrays{x});
    auto [want, slope] = flat::jvp(f, Arrays{x}, Arrays{x});
    EXPECT_TRUE(same_bits(y, want));
    EXPECT_TRUE(same_bits(l(Arrays{x}), slope));
    // 2 -> 4 -> 16: two steps.
    EXPECT_TRUE(same_bits(y[0], square(square(x))));
  }
}

TEST_F(Whiles, L23) {
  auto swap = [](In x) {
    auto never = [](In) { return Array(false); };
    Arrays r = flat::while_loop(never, [](In c) { return Arrays{c[1], c[0]}; }, Arrays(x.begin(), x.end()));
    return Arrays{r[0] + r[1]};
  };
  for (const FlatFunction& f : both(swap)) {
    auto [y, l] = flat::linearize(f, Arrays{array(1.0), array(2.0)});
    EXPECT_VALUE(y[0], 3.0);
    EXPECT_VALUE(l(Arrays{array(1.0), array(10.0)})[0], 11.0);
  }
}

}  // namespace
}  // namespace anew::test
