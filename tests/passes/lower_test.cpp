// What lowering does about memory: products written in the order in which they are read, copies made early.
#include "passes/lowered.h"

#include <anew/anew.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace anew {
namespace {

void expect_same(const Arrays& got, const Arrays& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(array_equal(got[i], want[i])) << i;
}

// The cotangent of w is a product followed by a transpose; it is written where the result lies.
TEST(Lower, TransposedProductNeedsNoCopy) {
  auto f = grad([](Array w, Array x) { return sum(sin(matmul(x, w))); });
  const Array w = cos(arange(64.0 * 32)).reshape({64, 32}), x = sin(arange(16.0 * 64)).reshape({16, 64});
  EXPECT_LE(jit(f).plan(w, x).arena_bytes, 2 * 16 * 32 * sizeof(float));
  expect_same({jit(f)(w, x)}, {f(w, x)});
}

// Heads are put side by side by the product that makes them.
TEST(Lower, HeadsSideBySide) {
  auto f = [](Array scores, Array v) {
    return reshape(swapaxes(einsum("bhqk,bhkd->bhqd", scores, v), 1, 2), {2, 24, 64});
  };
  const Array scores = cos(arange(2.0 * 4 * 24 * 24)).reshape({2, 4, 24, 24});
  const Array v = sin(arange(2.0 * 4 * 24 * 16)).reshape({2, 4, 24, 16});
  EXPECT_EQ(jit(f).plan(scores, v).arena_bytes, 0u);
  expect_same({jit(f)(scores, v)}, {f(scores, v)});
}

// Every order of a product's axes, whether it is worth writing so or not.
TEST(Lower, AllOrdersOfAProduct) {
  using Sizes = std::array<std::int64_t, 5>;  // b, h, q, d and what is summed over
  for (const auto& [b, h, q, d, k] : {Sizes{2, 3, 5, 7, 4}, Sizes{1, 4, 20, 17, 9}, Sizes{3, 1, 16, 1, 300},
                                      Sizes{2, 2, 33, 40, 1}, Sizes{1, 1, 1, 24, 8}, Sizes{2, 3, 18, 19, 0}}) {
    const Array x = sin(arange(static_cast<double>(b * h * q * k))).reshape({b, h, q, k});
    const Array y = cos(arange(static_cast<double>(b * h * k * d))).reshape({b, h, k, d});
    std::string order = "bdhq";
    do {
      const std::string spec = "bhqk,bhkd->" + order;
      auto f = [spec](Array x, Array y) { return ravel(einsum(spec, x, y)); };
      SCOPED_TRACE(spec + " of " + x.shape().str() + y.shape().str());
      expect_same({jit(f)(x, y)}, {f(x, y)});
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// A product that is read in two ways stays row-major; the copy of the other is right.
TEST(Lower, ProductReadTwice) {
  auto f = [](Array a, Array b) {
    Array c = matmul(a, b);
    return std::pair(c.T(), sum(c, 1));
  };
  const Array a = cos(arange(20.0 * 30)).reshape({20, 30}), b = sin(arange(30.0 * 25)).reshape({30, 25});
  expect_same(tree_leaves(jit(f)(a, b)), tree_leaves(f(a, b)));
}

// Results that are copies of temporaries do not keep those alive until the end.
TEST(Lower, CopiesAreMadeEarly) {
  auto f = [](Array x) {
    std::vector<Array> out;
    for (int i = 0; i < 20; ++i) {
      x = sort(x);
      out.push_back(x[slice(1, none)]);
    }
    return out;
  };
  const Array x = sin(arange(1000.0));
  EXPECT_LE(jit(f).plan(x).arena_bytes, 3 * x.nbytes());
  expect_same(jit(f)(x), f(x));
}

}  // namespace
}  // namespace anew
