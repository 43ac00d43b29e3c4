// Sorting against std::stable_sort of the keys: every way of sorting, short and long lines, any layout and threads.
#include "runtime/sort_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/strides.h"
#include "runtime/lent_scratch.h"
#include "runtime/pool.h"
#include "runtime/product.h"

namespace anew::sort_lines_test {
namespace {

// Many ties, both zeros, nans of two kinds.
template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> x;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t r = i * i % 251 - i % 17 * 9;
    if constexpr (std::is_floating_point_v<T>) {
      const T nan = std::numeric_limits<T>::quiet_NaN();
      x.push_back(r % 11 == 0   ? (i % 2 ? T(0) : T(-0.0))
                  : r % 13 == 0 ? (i % 3 ? nan : -nan)
                  : r % 29 == 0 ? std::numeric_limits<T>::infinity()
                                : static_cast<T>(r) * T(0.37));
    } else {
      x.push_back(static_cast<T>(r * (sizeof(T) == 8 ? std::int64_t{1} << 40 : 1)));
    }
  }
  return x;
}
template <class T>
Strided view(std::vector<T>& x, DType dtype, const Shape& shape, const Shape& strides) {
  return {reinterpret_cast<std::byte*>(x.data()), dtype, shape, strides};
}

template <class T>
void expect_sorted_here(DType dtype, std::int64_t n, bool alone, std::int64_t count,
                        std::vector<T> (*make)(std::int64_t)) {
  for (int axis : {0, 1}) {
    const Shape shape = axis == 1 ? Shape{count, n} : Shape{n, count}, rows = row_major(shape), columns{1, shape[0]};
    for (const Shape& strides : {rows, columns}) {
      std::vector<T> x = make(count * n), y = x;
      std::vector<std::int32_t> p(x.size()), q = p;
      std::iota(p.begin(), p.end(), 0);
      std::vector<Strided> in{view(x, dtype, shape, strides)}, out{view(y, dtype, shape, rows)};
      if (!alone) in.push_back(view(p, i32, shape, rows)), out.push_back(view(q, i32, shape, rows));
      const LentScratch scratch(sort_scratch(shape, axis, dtype, in.size(), 1));
      sort_lines(in, out, axis, 1, scratch.data());
      EXPECT_TRUE(scratch.intact());
      for (std::int64_t l = 0; l < count; ++l) {
        const auto at = [&](const Shape& s, std::int64_t i) {
          return static_cast<std::size_t>(i * s[axis] + l * s[1 - axis]);
        };
        std::vector<std::int64_t> order(static_cast<std::size_t>(n));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
          const auto key = [&](std::int64_t i) {
            return sort_key(in[0].data, dtype, static_cast<std::int64_t>(at(strides, i)));
          };
          return key(a) < key(b);
        });
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int64_t from = order[static_cast<std::size_t>(i)];
          ASSERT_EQ(std::memcmp(&y[at(rows, i)], &x[at(strides, from)], sizeof(T)), 0) << n << " " << i;
          if (!alone) {
            ASSERT_EQ(q[at(rows, i)], p[at(rows, from)]) << n << " " << i;
          }
        }
      }
    }
  }
}
// With long vectors, where this machine has them, and without.
template <class T>
void expect_sorted(DType dtype, std::int64_t n, bool alone, std::int64_t count = 9,
                   std::vector<T> (*make)(std::int64_t) = numbers<T>) {
  const Isa best = product_isa();
  for (Isa isa : {Isa::portable, best}) {
    set_product_isa(isa);
    expect_sorted_here<T>(dtype, n, alone, count, make);
  }
  set_product_isa(best);
}

TEST(SortLines, AreStable) {
  const int before = threads();
  for (int t : {1, 4}) {
    set_threads(t);
    for (std::int64_t n : {1, 2, 3, 7, 31, 32, 100, 127, 128, 129, 1000})
      for (bool alone : {true, false}) {
        expect_sorted<float>(f32, n, alone);
        expect_sorted<double>(f64, n, alone);
        expect_sorted<std::int32_t>(i32, n, alone);
        expect_sorted<std::uint32_t>(u32, n, alone);
        expect_sorted<std::int64_t>(i64, n, alone);
        expect_sorted<std::uint64_t>(u64, n, alone);
        expect_sorted<std::int8_t>(i8, n, alone);
      }
  }
  set_threads(before);
}

// Tiles that are not full, lines that are too long for a tile, and too few of them.
TEST(SortLines, AreStableInTilesAndByDigits) {
  for (std::int64_t count : {1, 5, 8, 15, 16, 17, 40})
    for (std::int64_t n : {2, 9, 64, 65, 300, 2048, 2049})
      for (bool alone : {true, false}) {
        expect_sorted<float>(f32, n, alone, count);
        expect_sorted<double>(f64, n, alone, count);
        expect_sorted<std::uint8_t>(u8, n, alone, count);
      }
}

// Keys of 64 bits whose upper halves are one, three, or few with lower ones that are alike too, or all different.
template <class T, int pattern>
std::vector<T> halves(std::int64_t n) {
  std::vector<T> x;
  std::mt19937_64 random(static_cast<std::uint64_t>(n + pattern));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t r = random(), high = pattern == 0   ? 0x4001'0203
                                             : pattern == 1 ? std::array{0x4001'0203, 0x1, 0x7fe0'0000}[r % 991 % 3]
                                             : pattern == 2 ? 0x8000'0000 * (r % 2) + 0x3ff0'0000 + r % 7
                                                            : r >> 32;
    const std::uint64_t low = pattern == 2 && r % 5 == 0 ? r >> 60 : random() & 0xffff'ffff;
    x.push_back(std::bit_cast<T>(high << 32 | low));
  }
  return x;
}
template <class T, int pattern>
void expect_halves_sorted(DType dtype) {
  for (std::int64_t n : {2, 16, 17, 150, 200, 201, 700, 9000, 40000})
    expect_sorted<T>(dtype, n, false, n < 9000 ? 3 : 1, halves<T, pattern>);
}
TEST(SortLines, AreStableByHalvesOfKeys) {
  const auto each = [&]<int... patterns>(std::integer_sequence<int, patterns...>) {
    (expect_halves_sorted<double, patterns>(f64), ...);
    (expect_halves_sorted<std::int64_t, patterns>(i64), ...);
    (expect_halves_sorted<std::uint64_t, patterns>(u64), ...);
  };
  each(std::make_integer_sequence<int, 4>());
  for (std::int64_t n : {3000, 40000}) expect_sorted<double>(f64, n, false, 2);
}

// Numbers of 16 bits are sorted as the floats that they are.
TEST(SortLines, OfHalves) {
  for (DType dtype : {bf16, f16})
    for (std::int64_t n : {5, 40, 3000}) {
      const Shape shape{3, n}, rows = row_major(shape);
      std::vector<float> x = numbers<float>(3 * n);
      std::vector<std::uint16_t> y, sorted(x.size());
      for (float& v : x) {
        y.push_back(static_cast<std::uint16_t>(bits_of(dtype, v)));
        v = float_of_bits(dtype, y.back());
      }
      std::vector<float> expected(x.size());
      const LentScratch scratch(sort_scratch(shape, 1, f32, 1, 1));  // for halves as well
      sort_lines(std::vector{view(x, f32, shape, rows)}, std::vector{view(expected, f32, shape, rows)}, 1, 1,
                 scratch.data());
      sort_lines(std::vector{view(y, dtype, shape, rows)}, std::vector{view(sorted, dtype, shape, rows)}, 1, 1,
                 scratch.data());
      for (std::size_t i = 0; i < sorted.size(); ++i)
        EXPECT_EQ(sorted[i], static_cast<std::uint16_t>(bits_of(dtype, expected[i]))) << i;
    }
}

}  // namespace
}  // namespace anew::sort_lines_test
