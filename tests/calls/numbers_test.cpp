// Every public function takes C++ numbers for arrays, and lists in braces for shapes, axes and lists: what
// tools/list_calls writes need only compile.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "numbers.inc"

namespace anew {
namespace {

TEST(Numbers, ShapesInBraces) {
  const Array key = random::key(0);
  EXPECT_EQ(random::poisson(key, 2.0, {2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ(random::poisson(key, 2.0, {{2, 3}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(random::poisson(key, 2.0, 4).shape(), Shape{4});
  EXPECT_EQ(random::poisson(key, 2.0, {4}).shape(), Shape{4});
  EXPECT_EQ(random::poisson(key, ones(5), {}).shape(), Shape{5});
  EXPECT_EQ(random::poisson(key, ones(5), std::nullopt).shape(), Shape{5});
  EXPECT_EQ(random::poisson(key, 2.0, Shape{}).shape(), Shape{});
  EXPECT_EQ(random::poisson(key, 2.0, std::vector<int>{2, 2}).shape(), (Shape{2, 2}));
  EXPECT_EQ(random::poisson(key, 2.0, ones({3, 1}).shape()).shape(), (Shape{3, 1}));
  EXPECT_EQ(random::bernoulli(key, 0.5, {2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ(fft::rfftn(ones({4, 4}), {2, 2}).first.shape(), (Shape{2, 2}));
}

}  // namespace
}  // namespace anew
