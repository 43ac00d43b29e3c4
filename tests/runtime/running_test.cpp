// Running operations against one chain after the other, bit by bit: every axis, direction and layout, any threads.
#include "runtime/running.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/dtype.h"
#include "base/strides.h"
#include "runtime/pool.h"

namespace anew {
namespace {

std::vector<float> numbers(std::int64_t n, int seed) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(1.7f * static_cast<float>(i % 977) + static_cast<float>(seed));
  for (std::size_t i = 3; i < x.size(); i += 57) x[i] = i % 2 ? -0.0f : 0.0f;
  for (std::size_t i = 41; i < x.size(); i += 911) x[i] = std::numeric_limits<float>::quiet_NaN();
  return x;
}
Shape turned(const Shape& shape) {  // first axis fastest
  Shape strides = shape;
  std::int64_t stride = 1;
  for (int i = 0; i < shape.ndim(); stride *= shape[i++]) strides[i] = stride;
  return strides;
}

struct Case {
  Shape shape;
  int axis;
  bool reverse;
};
// f(before, index in memory of a, of b) for every line in turn.
template <class F>
std::vector<float> chains(const Case& c, const Shape& a, const Shape& b, F f) {
  const Shape to = row_major(c.shape);
  std::vector<float> out(static_cast<std::size_t>(c.shape.size()));
  const std::int64_t n = c.shape[c.axis];
  for (std::int64_t flat = 0; flat < c.shape.size(); ++flat) {
    std::int64_t rest = flat, at_a = 0, at_b = 0, at = 0, first = 0;
    for (int i = c.shape.ndim(); i-- > 0; rest /= c.shape[i]) {
      const std::int64_t k = rest % c.shape[i];
      if (i == c.axis) first = k;
      else at_a += k * a[i], at_b += k * b[i], at += k * to[i];
    }
    if (first != 0) continue;
    float before = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t i = c.reverse ? n - 1 - j : j;
      before = f(j == 0, before, at_a + i * a[c.axis], at_b + i * b[c.axis]);
      out[static_cast<std::size_t>(at + i * to[c.axis])] = before;
    }
  }
  return out;
}
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0 && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return true;
}

void expect_chains(const Case& c) {
  const std::int64_t size = c.shape.size();
  std::vector<float> a = numbers(size, 1), b = numbers(size, 2), out(a.size());
  const Shape rows = row_major(c.shape), columns = turned(c.shape);
  const Strided to{reinterpret_cast<std::byte*>(out.data()), f32, c.shape, rows};
  for (const Shape* as : {&rows, &columns})
    for (const Shape* bs : {&rows, &columns}) {
      const Strided x{reinterpret_cast<std::byte*>(a.data()), f32, c.shape, *as},
          y{reinterpret_cast<std::byte*>(b.data()), f32, c.shape, *bs};
      auto at = [](const std::vector<float>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
      recur_along(x, y, c.axis, c.reverse, to);
      EXPECT_TRUE(same(out, chains(c, *as, *bs, [&](bool first, float h, std::int64_t i, std::int64_t j) {
                         if (first) return at(b, j);
                         const float product = at(a, i) * h;
                         return product + at(b, j);
                       })));
      run_along(Running::sum, x, c.axis, c.reverse, to);
      EXPECT_TRUE(same(out, chains(c, *as, *bs, [&](bool first, float h, std::int64_t i, std::int64_t) {
                         return first ? at(a, i) : h + at(a, i);
                       })));
      run_along(Running::max, x, c.axis, c.reverse, to);
      EXPECT_TRUE(same(out, chains(c, *as, *bs, [&](bool first, float h, std::int64_t i, std::int64_t) {
                         return first || at(a, i) > h || std::isnan(at(a, i)) ? at(a, i) : h;
                       })));
    }
}

TEST(Running, EachLineIsOneChain) {
  const int before = threads();
  for (int n : {1, 2, 4}) {
    set_threads(n);
    for (const Shape& shape : {Shape{7}, {1, 5, 1}, {300, 3}, {3, 300}, {9, 17, 33}, {2, 70, 1, 601}, {40, 9, 8, 30}})
      for (int axis = 0; axis < shape.ndim(); ++axis)
        for (bool reverse : {false, true}) expect_chains({shape, axis, reverse});
  }
  set_threads(before);
}

// Lines in the lanes of vectors: every number of lines and every length about a vector's, over the operand as well.
template <class T>
void expect_lanes(DType dtype) {
  for (std::int64_t lines = 1; lines <= 10; ++lines)
    for (std::int64_t length = 1; length <= 36; ++length)
      for (bool reverse : {false, true}) {
        std::vector<T> x(static_cast<std::size_t>(lines * length));
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double v = std::sin(1.3 * static_cast<double>(i)) * 2e9 / 3;  // sums of i32 wrap around
          if constexpr (std::is_integral_v<T>) x[i] = static_cast<T>(static_cast<std::int64_t>(v));
          else x[i] = static_cast<T>(v);
        }
        std::vector<T> sum(x), greatest(x), expected_sum(x), expected_greatest(x);
        using U = typename Wrapping<T>::type;
        for (std::int64_t l = 0; l < lines; ++l)
          for (std::int64_t j = 1; j < length; ++j) {
            const std::int64_t i = l * length + (reverse ? length - 1 - j : j), before = reverse ? i + 1 : i - 1;
            expected_sum[i] = static_cast<T>(static_cast<U>(expected_sum[before]) + static_cast<U>(x[i]));
            expected_greatest[i] = std::max(expected_greatest[before], x[i]);
          }
        const Shape shape{lines, length}, strides = row_major(shape);
        const auto of = [&](std::vector<T>& v) {
          return Strided{reinterpret_cast<std::byte*>(v.data()), dtype, shape, strides};
        };
        run_along(Running::sum, of(sum), 1, reverse, of(sum));
        run_along(Running::max, of(greatest), 1, reverse, of(greatest));
        ASSERT_EQ(sum, expected_sum) << lines << " x " << length;
        ASSERT_EQ(greatest, expected_greatest) << lines << " x " << length;
      }
}
TEST(Running, LinesInLanes) {
  expect_lanes<float>(f32);
  expect_lanes<double>(f64);
  expect_lanes<std::int32_t>(i32);
  expect_lanes<std::int64_t>(i64);
  expect_lanes<std::uint32_t>(u32);
}

TEST(Running, OfNothing) {
  for (const Shape& shape : {Shape{0}, {3, 0}, {0, 3}})
    for (int axis = 0; axis < shape.ndim(); ++axis) expect_chains({shape, axis, false});
}

}  // namespace
}  // namespace anew
