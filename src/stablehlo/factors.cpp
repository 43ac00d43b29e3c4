// Factorizations that StableHLO has no word for, as loops over columns: programs of other rows, whole matrices at each
// step. lu and what is made of it pivot as the runtime does; qr reflects as LAPACK does, so that signs agree.
#include <anew/batching.h>
#include <anew/control.h>
#include <anew/indexing.h>
#include <anew/lax.h>
#include <anew/linalg.h>
#include <anew/ops.h>

#include "ops/matrix.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

Array counted(std::int64_t n) { return lax::iota({n}, 0, i32); }
Array as_column(const Array& v) { return expand_dims(v, 1); }

// f of each matrix of a batch; matrices are the last two axes of every operand.
template <class F>
Arrays each(const F& f, std::span<const Array> x) {
  const Shape& shape = type_of(x[0]).shape;
  if (shape.ndim() == 2) return f(Arrays(x.begin(), x.end()));
  std::int64_t batch = 1;
  for (int i = 0; i + 2 < shape.ndim(); ++i) batch *= shape[i];
  std::vector<Array> flat;
  for (const Array& a : x) flat.push_back(reshape(a, {batch, type_of(a).shape[-2], type_of(a).shape[-1]}));
  Arrays y = vmap([&](const std::vector<Array>& one) { return f(one); })(flat);
  for (Array& a : y) {
    Shape whole;
    for (int i = 0; i + 2 < shape.ndim(); ++i) whole.push_back(shape[i]);
    for (int i = 1; i < type_of(a).shape.ndim(); ++i) whole.push_back(type_of(a).shape[i]);
    a = reshape(a, whole);
  }
  return y;
}

// The factors in one matrix, the row that each step exchanged with its own, and all exchanges as a permutation.
Arrays lu_of(const Array& a) {
  const std::int64_t m = type_of(a).shape[0], n = type_of(a).shape[1], k = std::min(m, n);
  const Array rows = counted(m), columns = counted(n), steps = counted(k);
  auto step = [&](Array number, const std::vector<Array>& state) {
    const Array i = astype(number, i32);
    Array x = state[0], order = state[2];
    Array column = reshape(dynamic_slice(x, {0, i}, {m, 1}), {m});
    Array p = astype(argmax(where(rows >= i, abs(column), -1)), i32);
    Array exchanged = where(rows == i, p, where(rows == p, i, rows));
    x = take(x, exchanged, 0, "clip");
    order = take(order, exchanged, 0, "clip");
    Array pivot = dynamic_slice(x, {i, i}, {1, 1}), row = dynamic_slice(x, {i, 0}, {1, n});
    Array below = as_column(rows > i), values = dynamic_slice(x, {0, i}, {m, 1});
    Array factor = where(below, where(pivot == 0, values, values / pivot), 0);
    x = x - factor * where(columns > i, row, 0);
    x = where(below & (columns == i), factor, x);
    return std::vector<Array>{x, where(steps == i, p, state[1]), order};
  };
  const std::vector<Array> start{a, zeros({k}, i32), rows};
  return k == 0 ? start : fori_loop(0, k, step, start);
}

Array solution(const Array& a, const Array& b) {
  const Arrays f = lu_of(a);
  Array y =
      lax::triangular_solve(f[0], take(b, f[2], 0, "clip"), {.left_side = true, .lower = true, .unit_diagonal = true});
  return lax::triangular_solve(f[0], y, {.left_side = true});
}

Array determinant(const Array& a) {
  const Arrays f = lu_of(a);
  Array swaps = sum(astype(f[1] != counted(type_of(a).shape[0]), i32));
  Array product = prod(diagonal_of(f[0]));
  return where(swaps % 2 == 0, product, -product);
}

// q r with q of `width` columns: reflections that bring columns to zero below the diagonal.
Arrays qr_of(const Array& a, std::int64_t width) {
  const std::int64_t m = type_of(a).shape[0], n = type_of(a).shape[1], k = std::min(m, n);
  const DType d = type_of(a).dtype;
  const Array rows = counted(m);
  auto step = [&](Array number, const std::vector<Array>& state) {
    const Array i = astype(number, i32);
    Array r = state[0], q = state[1];
    Array x = where(as_column(rows >= i), dynamic_slice(r, {0, i}, {m, 1}), 0), head = dynamic_slice(r, {i, i}, {1, 1});
    Array rest = sum(square(where(as_column(rows > i), x, 0)));
    Array size = sqrt(rest + sum(square(head))), turned = where(head < 0, size, -size);  // beta
    Array still = rest == 0, scale = where(still, 1, head - turned);
    Array v = where(as_column(rows == i), 1, where(as_column(rows > i), x / scale, 0));
    Array tau = where(still, 0, (turned - head) / where(still, 1, turned));
    r = r - v * (tau * matmul(transpose(v), r));
    q = q - matmul(q, v) * (tau * transpose(v));
    return std::vector<Array>{r, q};
  };
  const std::vector<Array> start{a, eye(m, d)}, f = k == 0 ? start : fori_loop(0, k, step, start);
  Array r = lax::slice(triu(f[0]), {0, 0}, {width, n});
  return {lax::slice(f[1], {0, 0}, {m, width}), r};
}

Values written(const Context& c, const FlatFunction& f) {
  bool empty = true;
  for (const Type& t : c.out) empty = empty && t.shape.size() == 0;
  if (!empty) return c.module.write(c.w, f, c.in, c.eqn.at);
  Values nothing;
  for (const Type& t : c.out) nothing.push_back(c.w.constant(t, 0));
  return nothing;
}

}  // namespace

Values write_lu(const Context& c) {
  return written(c, [](std::span<const Array> x) { return each([](const Arrays& a) { return lu_of(a[0]); }, x); });
}
Values write_solve(const Context& c) {
  return written(c, [](std::span<const Array> x) {
    return each([](const Arrays& a) { return Arrays{solution(a[0], a[1])}; }, x);
  });
}
Values write_det(const Context& c) {
  return written(
      c, [](std::span<const Array> x) { return each([](const Arrays& a) { return Arrays{determinant(a[0])}; }, x); });
}
Values write_qr(const Context& c) {
  const std::int64_t width = c.out[0].shape[-1];
  return written(c, [width](std::span<const Array> x) {
    return each([width](const Arrays& a) { return qr_of(a[0], width); }, x);
  });
}

}  // namespace anew::stablehlo
