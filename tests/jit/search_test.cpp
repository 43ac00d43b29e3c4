// argmax and argmin of many elements, which are found block by block: the first of equal ones, a NaN before all, in
// rows, columns and the whole; compiled, and in the interpreter where this is linked without LLVM.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/random.h"

namespace anew::test {
namespace {

// Along the axis of `length` elements `step` apart.
std::int64_t first_best(const std::vector<double>& x, std::int64_t from, std::int64_t length, std::int64_t step,
                        bool largest) {
  std::int64_t best = 0;
  auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(from + i * step)]; };
  for (std::int64_t i = 1; i < length && !std::isnan(at(best)); ++i)
    if (std::isnan(at(i)) || (largest ? at(i) > at(best) : at(i) < at(best))) best = i;
  return best;
}

void check(const Array& x) {
  SCOPED_TRACE(x.type().str());
  const std::int64_t rows = x.shape()[0], columns = x.shape()[1];
  const std::vector<double> v = x.to_vector();
  for (bool largest : {true, false}) {
    auto find = [&](Array x, std::optional<int> axis) { return largest ? argmax(x, axis) : argmin(x, axis); };
    auto along = [&](int axis) { return jit([&, axis](Array x) { return find(x, axis); })(x); };
    for (const std::vector<double>& got : {find(x, 0).to_vector(), along(0).to_vector()})
      for (std::int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(got[static_cast<std::size_t>(j)], first_best(v, j, rows, columns, largest)) << "column " << j;
    for (const std::vector<double>& got : {find(x, 1).to_vector(), along(1).to_vector()})
      for (std::int64_t i = 0; i < rows; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i)], first_best(v, i * columns, columns, 1, largest)) << "row " << i;
    EXPECT_EQ(find(x, {}).item(), first_best(v, 0, rows * columns, 1, largest));
  }
}

TEST(Search, ManyElements) {
  Random random(5);
  for (DType d : {f32, f64, i32})
    for (const Shape& shape :
         {Shape{1, 100'000}, Shape{100'000, 1}, Shape{3, 40'000}, Shape{40'000, 3}, Shape{300, 200}})
      check(random.array({shape, d}, -50, 50));  // integers repeat
}

TEST(Search, ManyElementsWithNaN) {
  Random random(6);
  for (const Shape& shape : {Shape{1, 100'000}, Shape{40'000, 3}, Shape{3, 40'000}}) {
    Array x = random.array({shape, f32});
    for (std::int64_t at : {std::int64_t{0}, shape.size() / 2, shape.size() - 1}) {
      std::vector<float> v = x.to_vector<float>();
      v[static_cast<std::size_t>(at)] = NAN;
      check(array(v, shape));
    }
  }
}

}  // namespace
}  // namespace anew::test
