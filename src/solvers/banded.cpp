// Banded systems: Gaussian elimination with row pivots, as a scan. Its window is the rows that reach the column at
// hand, `lower` + 1 of them, each lower + upper + 1 wide; a row that enters begins where the window does.
#include <anew/indexing.h>
#include <anew/linalg.h>
#include <fmt/format.h>

#include "ops/matrix.h"
#include "solvers/vectors.h"

namespace anew {
namespace {

// rows [n, lower + upper + 1]: entries (i, i - lower) to (i, i + upper), zeros outside of the matrix; b [n, k].
Array solve_rows(std::int64_t lower, std::int64_t upper, const Array& rows, const Array& b, const Location& at) {
  const Type type = type_of(rows);
  const std::int64_t n = type.shape[0], wide = lower + upper + 1, k = type_of(b).shape[1];
  const Array order = arange(lower + 1);
  // The first rows begin left of the matrix: moved, so that all of the window begins at column 0.
  Arrays first;
  for (std::int64_t i = 0; i <= lower; ++i) {
    Array row = i < n ? rows[{i}] : zeros({wide}, type.dtype);
    first.push_back(concatenate({row[{slice(lower - i, wide)}], zeros({lower - i}, type.dtype)}));
  }
  auto below = [&](const Array& x, std::int64_t columns) {  // what enters at each step
    Array all = concatenate({x, zeros({lower + 1, columns}, type.dtype)});
    return all[{slice(lower + 1, lower + 1 + n)}];
  };
  Array right = concatenate({b, zeros({lower + 1, k}, type.dtype)})[{slice(0, lower + 1)}];
  flat::ScanBody eliminate = [&](std::span<const Array> c, std::span<const Array> enters) {
    PinLine pin(at);
    Array window = c[0], right = c[1];
    const Array pivot = argmax(abs(stop_gradient(window[{slice(), 0}])));
    // Rows 0 and `pivot` change places.
    const Array places = where(order == 0, pivot, where(order == pivot, 0, order));
    window = take(window, places, 0);
    right = take(right, places, 0);
    const Array top = window[{0}], top_right = right[{0}];
    const Array by = window[{slice(1, lower + 1), slice(0, 1)}] / top[{0}];
    Array rest = window[{slice(1, lower + 1)}] - by * top, rest_right = right[{slice(1, lower + 1)}] - by * top_right;
    rest = concatenate({rest[{slice(), slice(1, wide)}], zeros({lower, 1}, type.dtype)}, 1);
    return flat::ScanResult{
        {concatenate({rest, expand_dims(enters[0], 0)}), concatenate({rest_right, expand_dims(enters[1], 0)})},
        {top, top_right}};
  };
  flat::ScanResult upper_rows =
      flat::scan(eliminate, {stack(first), right}, {below(rows, wide), below(b, k)}, {}, {}, at);
  // Backwards, with the next wide - 1 rows of x.
  flat::ScanBody substitute = [&](std::span<const Array> c, std::span<const Array> row) {
    PinLine pin(at);
    Array x = (row[1] - matmul(row[0][{slice(1, wide)}], c[0])) / row[0][{0}];
    return flat::ScanResult{{concatenate({expand_dims(x, 0), c[0]})[{slice(0, wide - 1)}]}, {x}};
  };
  return flat::scan(substitute, {zeros({wide - 1, k}, type.dtype)}, upper_rows.ys, {.reverse = true}, {}, at).ys[0];
}

struct Right {
  Array columns;
  bool vector;
};
Right right_side(std::string_view op, std::int64_t n, const Array& b, const Location& at) {
  const Type type = type_of(b);
  if (type.shape.ndim() < 1 || type.shape.ndim() > 2 || type.shape[0] != n)
    fail(op, at, fmt::format("the right side must be a vector or matrix with {} rows, got {}", n, type.str()));
  return {type.shape.ndim() == 1 ? expand_dims(b, 1) : b, type.shape.ndim() == 1};
}

}  // namespace

namespace linalg {

Array solve_banded(int lower, int upper, const ArrayLike& ab, const ArrayLike& b) {
  auto [bands, y, dtype] = matrix_operands(ab, b);
  const Type type = type_of(bands);
  if (lower < 0 || upper < 0 || type.shape.ndim() != 2 || type.shape[0] != lower + upper + 1)
    fail("solve_banded", ab.at,
         fmt::format("a matrix with {} diagonals below the main one and {} above is given as {} rows, got {}", lower,
                     upper, lower + upper + 1, type.str()));
  const std::int64_t n = type.shape[1];
  const Right right = right_side("solve_banded", n, y, ab.at);
  PinLine pin(ab.at);
  // Entry (i, i + d) is row upper - d, column i + d.
  Arrays diagonals;
  for (int d = -lower; d <= upper; ++d) {
    Array row = bands[{upper - d}];
    const std::int64_t kept = std::max<std::int64_t>(0, n - std::abs(d));
    const Array gap = zeros({n - kept}, type.dtype);
    diagonals.push_back(d >= 0 ? concatenate({row[{slice(n - kept, n)}], gap})
                               : concatenate({gap, row[{slice(0, kept)}]}));
  }
  Array x = solve_rows(lower, upper, stack(diagonals, 1), right.columns, line_or(ab.at));
  return converted(right.vector ? squeeze(x, 1) : x, dtype);
}

Array tridiagonal_solve(const ArrayLike& dl, const ArrayLike& d, const ArrayLike& du, const ArrayLike& b) {
  auto [main, y, dtype] = matrix_operands(d, b);
  const Type type = type_of(main);
  const Array low = astype(dl, type.dtype), high = astype(du, type.dtype);
  if (type.shape.ndim() != 1 || !(type_of(low).shape == type.shape) || !(type_of(high).shape == type.shape))
    fail("tridiagonal_solve", d.at,
         fmt::format("needs three vectors of one size, got {}, {} and {}", type_of(low).str(), type.str(),
                     type_of(high).str()),
         "for a batch use vmap");
  const std::int64_t n = type.shape[0];
  const Right right = right_side("tridiagonal_solve", n, y, d.at);
  PinLine pin(d.at);
  if (n == 0) return converted(y, dtype);
  const Array inner = arange(n);
  Array x = solve_rows(1, 1, stack({where(inner == 0, 0, low), main, where(inner == n - 1, 0, high)}, 1), right.columns,
                       line_or(d.at));
  return converted(right.vector ? squeeze(x, 1) : x, dtype);
}

}  // namespace linalg
}  // namespace anew
