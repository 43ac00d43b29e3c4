// Derivatives where several elements reach an extremum: they share the tangent evenly, whatever is reduced. Samples of
// the laws lie apart, so no law looks here.
#include "support/support.h"

namespace anew::test {
namespace {

TEST(Ties, OfAReductionAreShared) {
  Array x = array({1.0, 3.0, 3.0, -2.0, -2.0, -2.0});
  EXPECT_EQ(grad([](Array x) { return max(x); })(x).to_vector(), (std::vector<double>{0, 0.5, 0.5, 0, 0, 0}));
  EXPECT_TRUE(allclose(grad([](Array x) { return 3 * min(x); })(x), array({0.0, 0.0, 0.0, 1.0, 1.0, 1.0})));
  auto rows = [](Array x) { return sum(max(x, 1)); };
  EXPECT_TRUE(array_equal(grad(rows)(array({{2.0, 2.0}, {1.0, 0.0}})), array({{0.5, 0.5}, {1.0, 0.0}})));
  // Forward mode: the mean of the tangents of those that reach it.
  EXPECT_EQ(jvp(rows, array({{2.0, 2.0}}), array({{1.0, 4.0}})).second.item(), 2.5);
}

TEST(Ties, OfTwoOperandsAreHalves) {
  auto both = [](Array x, Array y) { return sum(maximum(x, y)); };
  auto [gx, gy] = grad<0, 1>(both)(array({1.0, 2.0}), array({1.0, 0.0}));
  EXPECT_TRUE(array_equal(gx, array({0.5, 1.0})));
  EXPECT_TRUE(array_equal(gy, array({0.5, 0.0})));
}

}  // namespace
}  // namespace anew::test
