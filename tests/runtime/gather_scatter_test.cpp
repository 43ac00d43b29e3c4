// gather and scatter, element by element: rows, single elements, columns, places outside, batches, any threads; updates
// of one element are joined in order.
#include "runtime/gather_scatter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/strides.h"
#include "runtime/pool.h"

namespace anew::gather_scatter_test {
namespace {

std::vector<float> numbers(std::int64_t n, float by) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1013) * by;
  return x;
}
template <class I>
std::vector<I> places(std::int64_t n, std::int64_t below) {  // some of them outside
  std::vector<I> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<I>(static_cast<std::int64_t>(i * i % 7919) % (below + 3) - 1);
  return x;
}
template <class T>
Strided view(std::vector<T>& x, DType dtype, const Shape& shape, const Shape& strides) {
  return {reinterpret_cast<std::byte*>(x.data()), dtype, shape, strides};
}
std::int64_t inside_or(std::int64_t i, std::int64_t rows, bool clip) {  // -1: left out
  return clip ? std::clamp<std::int64_t>(i, 0, rows - 1) : i >= 0 && i < rows ? i : -1;
}

// x[rows, width] along axis 0 or 1 at `count` places.
template <class I>
void expect_take(DType index, std::int64_t rows, std::int64_t width, std::int64_t count, int axis, bool clip) {
  const std::int64_t along = axis == 0 ? rows : width, other = axis == 0 ? width : rows;
  std::vector<float> x = numbers(rows * width, 1), y(static_cast<std::size_t>(count * other));
  std::vector<I> at = places<I>(count, along);
  const Shape shape{rows, width}, strides = row_major(shape), index_shape{count, 1}, index_strides{1, 1},
                                  out = axis == 0 ? Shape{count, width} : Shape{rows, count},
                                  out_strides = row_major(out);
  const std::vector<int> window{axis == 0 ? 1 : 0}, mapped{axis};
  const float fill = -5;
  gather(view(x, f32, shape, strides), view(at, index, index_shape, index_strides),
         {window, mapped, mapped, {}, {}, axis == 0 ? Shape{1, width} : Shape{rows, 1}, clip},
         reinterpret_cast<const std::byte*>(&fill), view(y, f32, out, out_strides));
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < other; ++j) {
      const std::int64_t from = inside_or(static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]), along, clip);
      const float want = from < 0 ? fill : x[static_cast<std::size_t>(axis == 0 ? from * width + j : j * width + from)];
      ASSERT_EQ(y[static_cast<std::size_t>(axis == 0 ? i * width + j : j * count + i)], want);
    }
}

// x[rows, width] with updates[count, width] added at places along axis 0: sums in order, bit by bit.
void expect_add(std::int64_t rows, std::int64_t width, std::int64_t count, bool clip) {
  std::vector<float> x = numbers(rows * width, 0.1f), u = numbers(count * width, 0.3f), want = x;
  std::vector<std::int32_t> at = places<std::int32_t>(count, rows);
  const Shape shape{rows, width}, strides = row_major(shape), index_shape{count, 1}, index_strides{1, 1},
                                  updates{count, width}, update_strides = row_major(updates);
  const std::vector<int> window{1}, mapped{0};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t to = inside_or(at[static_cast<std::size_t>(i)], rows, clip);
    for (std::int64_t j = 0; j < width && to >= 0; ++j)
      want[static_cast<std::size_t>(to * width + j)] += u[static_cast<std::size_t>(i * width + j)];
  }
  scatter(view(x, f32, shape, strides), view(at, i32, index_shape, index_strides),
          view(u, f32, updates, update_strides), {window, mapped, mapped, {}, {}, Shape{1, width}, clip}, Scatter::add);
  EXPECT_EQ(std::memcmp(x.data(), want.data(), x.size() * sizeof(float)), 0) << rows << " " << width << " " << count;
}

// Single elements of x[batch, rows] at places[batch, count, 1], each batch for itself; `two`: places name both axes.
void expect_batched(std::int64_t batch, std::int64_t rows, std::int64_t count) {
  std::vector<float> x = numbers(batch * rows, 0.1f), u = numbers(batch * count, 0.3f), want = x, got(u.size());
  std::vector<std::int64_t> at = places<std::int64_t>(batch * count, rows), both;
  for (std::size_t i = 0; i < at.size(); ++i)
    both.push_back(static_cast<std::int64_t>(i) / count), both.push_back(at[i]);
  const Shape shape{batch, rows}, strides = row_major(shape), window{batch, count}, window_strides = row_major(window),
                                  one{batch, count, 1}, one_strides = row_major(one), pair{batch, count, 2},
                                  pair_strides = row_major(pair), ones{1, 1};
  const std::vector<int> first{0}, second{1}, all{0, 1};
  std::vector<float> y = x;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at[i] >= 0 && at[i] < rows) want[static_cast<std::size_t>(both[2 * i] * rows + at[i])] += u[i];
  scatter(view(x, f32, shape, strides), view(at, i64, one, one_strides), view(u, f32, window, window_strides),
          {{}, second, second, first, first, ones, false}, Scatter::add);
  scatter(view(y, f32, shape, strides), view(both, i64, pair, pair_strides), view(u, f32, window, window_strides),
          {{}, all, all, {}, {}, ones, false}, Scatter::add);
  EXPECT_EQ(x, want);
  EXPECT_EQ(y, want);
  const float fill = 3;
  gather(view(x, f32, shape, strides), view(at, i64, one, one_strides), {{}, second, second, first, first, ones, false},
         reinterpret_cast<const std::byte*>(&fill), view(got, f32, window, window_strides));
  for (std::size_t i = 0; i < at.size(); ++i)
    ASSERT_EQ(got[i], at[i] < 0 || at[i] >= rows ? fill : want[static_cast<std::size_t>(both[2 * i] * rows + at[i])]);
}

TEST(GatherScatter, ElementByElement) {
  const int before = threads();
  for (int t : {1, 4}) {
    set_threads(t);
    for (bool clip : {false, true}) {
      for (int axis : {0, 1}) {
        expect_take<std::int32_t>(i32, 50, 7, 90, axis, clip);
        expect_take<std::int64_t>(i64, 300, 1, 70000, axis, clip);
        expect_take<std::uint8_t>(u8, 100, 64, 3000, axis, clip);
        expect_take<std::int16_t>(i16, 1, 5, 4, axis, clip);
      }
      expect_add(50, 7, 90, clip);
      expect_add(500, 1, 200000, clip);
      expect_add(100, 64, 3000, clip);
      expect_add(20, 2000, 100, clip);
      expect_add(1, 1, 100000, clip);
    }
    expect_batched(3, 50, 40);
    expect_batched(100, 64, 1000);
    expect_batched(1, 1000, 70000);
    expect_batched(2000, 1, 70);
  }
  set_threads(before);
}

}  // namespace
}  // namespace anew::gather_scatter_test
