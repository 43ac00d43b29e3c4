// Indexing by arrays, scalars that are traced and masks; take and its kin; dynamic slices.
#include <anew/anew.h>

#include "ops/helpers.h"

namespace anew::test {
namespace {

Array counting(const Shape& shape) { return astype(arange(shape.size()).reshape(shape), f64); }

TEST(IndexByArrays, OneArray) {
  Array x = counting({4, 3});
  Array y = x[array({2, 0, -1})];
  EXPECT_EQ(y.type().str(), "f64[3,3]");
  expect_values(y, {6, 7, 8, 0, 1, 2, 9, 10, 11});
  EXPECT_EQ(x[array({{0, 1}, {2, 3}})].type().str(), "f64[2,2,3]");
  EXPECT_EQ((x[{slice(), array({0, 2})}].type().str()), "f64[4,2]");
  EXPECT_EQ(x[zeros(Shape{0}, i32)].type().str(), "f64[0,3]");
}

TEST(IndexByArrays, Mixed) {
  Array x = counting({3, 2, 4});
  Array i = array({0, 2}), j = array({3, 1});
  // Apart: the common axes come first. Together: they stand where the first stood.
  expect_values(x[{i, slice(), j}], {3, 7, 17, 21});
  EXPECT_EQ((x[{i, slice(), 1}].type().str()), "f64[2,2]");
  EXPECT_EQ((x[{slice(), i - i, j}].type().str()), "f64[3,2]");
  EXPECT_EQ((x[{slice(1, none), array({{0}, {1}}), array({0, 1, 2})}].type().str()), "f64[2,2,3]");
  EXPECT_EQ((x[{newaxis, i, ellipsis}].type().str()), "f64[1,2,2,4]");
  EXPECT_EQ((x[{i, newaxis, j - j}].type().str()), "f64[2,1,4]");
  EXPECT_EQ((x[{ellipsis, slice(none, none, -1), j}].type().str()), "f64[3,2,2]");
  expect_values(x[{0, slice(none, none, -1), j}], {7, 3, 5, 1});
}

TEST(IndexByArrays, TracedScalar) {
  Array x = counting({4, 3});
  auto row = [&](const Array& i) { return x[i]; };
  expect_values(row(array(2)), {6, 7, 8});
  expect_values(row(array(-1)), {9, 10, 11});
  expect_values(row(array(7)), {9, 10, 11});  // clamped
  expect_values(jit(row)(array(1)), {3, 4, 5});
  expect_values(vmap(row)(array({3, 0})), {9, 10, 11, 0, 1, 2});
  expect_values(x[{array(1), 2}], {5});
  Program p = make_program(row)(array(1));
  EXPECT_EQ(p.count("dynamic_slice"), 1);
  EXPECT_EQ(p.count("gather"), 0);
  expect_values(grad([&](const Array& x) { return sum(x[array(1)] * x[array(1)]); })(x),
                {0, 0, 0, 6, 8, 10, 0, 0, 0, 0, 0, 0});
}

TEST(IndexByArrays, Masks) {
  Array x = counting({2, 3});
  expect_values(x[x > 2], {3, 4, 5});
  expect_values(x[{slice(), array({true, false, true})}], {0, 2, 3, 5});
  expect_values(x.at(x > 3).set(0), {0, 1, 2, 3, 0, 0});
  expect_values(grad([](const Array& x) { return sum(square(x[array({true, false, true})])); })(array({1, 2, 3}, f64)),
                {2, 0, 6});
}

TEST(IndexByArrays, OutOfRangeIsClampedWhenReadAndDroppedWhenWritten) {
  Array x = counting({4}), i = array({-1, 7, -9});
  expect_values(x[i], {3, 3, 0});
  expect_values(x.at(i).get("fill"), {3, std::nan(""), std::nan("")});
  expect_values(x.at(i).get("wrap"), {3, 3, 3});
  expect_values(x.at(i).add(10), {0, 1, 2, 13});
  expect_values(x.at(i).add(10, "clip"), {10, 1, 2, 23});
  expect_values(x.at(i).set(10, "wrap"), {0, 1, 2, 10});
  // The transpose is the adjoint of what is read: the last element was read twice.
  expect_values(grad([&](const Array& x) { return sum(x[i]); })(x), {1, 0, 0, 2});
}

TEST(At, JoinsRepeatedPlacesInOrder) {
  Array x = counting({3}), i = array({1, 1, 0}), v = array({2, 5, 3}, f64);
  expect_values(x.at(i).set(v), {3, 5, 2});
  expect_values(x.at(i).add(v), {3, 8, 2});
  expect_values(x.at(i).multiply(v), {0, 10, 2});
  expect_values(x.at(i).divide(v), {0, 0.1, 2}, 1e-15);
  expect_values(x.at(i).min(v), {0, 1, 2});
  expect_values(x.at(i).max(v), {3, 5, 2});
}

TEST(At, RangesAndArraysTogether) {
  Array x = zeros({4, 5}, f64);
  Array y = x.at({slice(1, 3), array({0, 2})}).set(array({{1, 2}, {3, 4}}, f64));
  expect_values(y, {0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_TRUE(array_equal(y[{slice(1, 3), array({0, 2})}], array({{1, 2}, {3, 4}}, f64)));
  expect_values(sum(x.at({slice(none, none, -2), array({1, 1})}).add(1.0), 0), {0, 4, 0, 0, 0});
  expect_values(counting({4}).at(slice(1, 3)).multiply(10), {0, 10, 20, 3});
  expect_values(counting({4}).at(slice(1, 3)).max(2), {0, 2, 2, 3});
  expect_values(counting({4}).at(-1).min(1), {0, 1, 2, 1});
}

// Of several updates of one element the derivative goes to the one that stays.
TEST(At, DerivativeOfRepeatedSets) {
  Array i = array({1, 1, 0});
  auto f = [&](const Array& x, const Array& v) { return sum(x.at(i).set(v) * array({2, 3, 5}, f64)); };
  auto [dx, dv] = grad<0, 1>(f)(counting({3}), array({7, 8, 9}, f64));
  expect_values(dx, {0, 0, 5});
  expect_values(dv, {0, 3, 2});
}

// y = x u v at one element: products of the others, right where factors are 0, to second order.
TEST(At, DerivativeOfRepeatedProducts) {
  Array i = array({0, 0});
  auto f = [&](const Array& v) { return sum(array({2.0, 1.0}, f64).at(i).multiply(v)); };
  expect_values(grad(f)(array({3, 5}, f64)), {10, 6});
  expect_values(grad(f)(array({0, 5}, f64)), {10, 0});
  expect_values(grad(f)(array({0, 0}, f64)), {0, 0});
  expect_values(hessian(f)(array({0, 0}, f64)), {0, 2, 2, 0});
}

TEST(At, ExtremaShareTies) {
  auto f = [](const Array& x, const Array& v) { return sum(x.at(array({0, 0})).max(v) * array({6.0, 1.0}, f64)); };
  auto [dx, dv] = grad<0, 1>(f)(array({1, 0}, f64), array({1, 1}, f64));
  expect_values(dx, {2, 1}, 1e-15);
  expect_values(dv, {2, 2}, 1e-15);
}

TEST(Take, Modes) {
  Array x = counting({4}), i = array({0, -1, 4, -9});
  expect_values(take(x, i, 0), {0, 3, std::nan(""), std::nan("")});
  expect_values(take(x, i, 0, "clip"), {0, 0, 3, 0});
  expect_values(take(x, i, 0, "wrap"), {0, 3, 0, 3});
  expect_values(take(counting({2, 3}), array({4, 1})), {4, 1});
  EXPECT_EQ(take(counting({2, 3}), array({{0, 1, 2}}), 1).type().str(), "f64[2,1,3]");
  expect_values(take(arange(3), array({5}), 0), {-2147483648.0});
}

TEST(Take, AlongAxis) {
  Array x = counting({3, 2});
  expect_values(take_along_axis(x, array({{2, 0}, {0, 1}}), 0), {4, 1, 0, 3});
  expect_values(take_along_axis(x, array({{1}, {0}, {-1}}), 1), {1, 2, 5});
  expect_values(take_along_axis(x, array({{1}}), 0), {2, 3});
  expect_values(put_along_axis(x, array({{1}, {0}, {1}}), -1, 1), {0, -1, -1, 3, 4, -1});
  Array order = argsort(x, 0, true);
  EXPECT_TRUE(array_equal(take_along_axis(x, order, 0), sort(x, 0, true)));
}

TEST(Segments, AllKinds) {
  Array x = array({1, 2, 3, 4}, f64), ids = array({0, 2, 0, 5});
  expect_values(segment_sum(x, ids, 3), {4, 0, 2});
  expect_values(segment_prod(x, ids, 3), {3, 1, 2});
  expect_values(segment_max(x, ids, 3), {3, -INFINITY, 2});
  expect_values(segment_min(x, ids, 3), {1, INFINITY, 2});
  expect_values(segment_sum(zeros(Shape{0}), zeros(Shape{0}, i32), 2), {0, 0});
}

TEST(Repeat, Counts) {
  Array x = array({1, 2, 3}, f64);
  expect_values(repeat(x, {1, 0, 2}), {1, 3, 3});
  expect_values(repeat(x, array({1, 0, 2}), 0, 4), {1, 3, 3, 3});
  expect_values(repeat(x, array({2, 2, 2}), 0, 3), {1, 1, 2});
  EXPECT_EQ(repeat(zeros({2, 3}), {2, 1}, 0).type().str(), "f32[3,3]");
}

TEST(Pad, Modes) {
  Array x = array({1, 2, 3}, f64);
  expect_values(pad(x, {{2, 1}}, "edge"), {1, 1, 1, 2, 3, 3});
  expect_values(pad(x, {{3, 4}}, "reflect"), {2, 3, 2, 1, 2, 3, 2, 1, 2, 3});
  expect_values(pad(x, {{2, 4}}, "symmetric"), {2, 1, 1, 2, 3, 3, 2, 1, 1});
  expect_values(pad(x, {{1, 4}}, "wrap"), {3, 1, 2, 3, 1, 2, 3, 1});
  expect_values(pad(x, {{1, 0}}, "constant"), {0, 1, 2, 3});
  expect_values(pad(array({7.0}, f64), {{1, 1}}, "reflect"), {7, 7, 7});
}

TEST(DynamicSlice, StartsAreWrappedOnceThenClamped) {
  Array x = counting({6});
  for (auto [start, first] : {std::pair{2, 2}, {5, 3}, {-2, 3}, {-6, 0}, {-9, 0}}) {
    expect_values(dynamic_slice(x, {start}, {3}), {first + 0.0, first + 1.0, first + 2.0});
    expect_values(dynamic_slice(x, array({start}), {3}), {first + 0.0, first + 1.0, first + 2.0});
  }
  expect_values(dynamic_update_slice(x, array({10.0, 11.0}), {array(-1)}), {0, 1, 2, 3, 10, 11});
  Array m = counting({3, 2});
  expect_values(lax::dynamic_index_in_dim(m, 1, 0, false), {2, 3});
  EXPECT_EQ(lax::dynamic_index_in_dim(m, array(1), 1).type().str(), "f64[3,1]");
  expect_values(lax::dynamic_slice_in_dim(m, array(1), 2), {2, 3, 4, 5});
  expect_values(lax::dynamic_update_index_in_dim(m, zeros({2}), array(0), 0), {0, 0, 2, 3, 4, 5});
  expect_values(lax::dynamic_update_slice_in_dim(m, zeros({3, 1}), array(1), 1), {0, 0, 2, 0, 4, 0});
}

TEST(Stored, JoinInSingle) {
  Array x = zeros({1}, bf16), v = ones({300}, bf16), i = zeros({300}, i32);  // 256 + 1 in bf16 would stay 256
  expect_values(astype(x.at(i).add(v), f64), {300});
  expect_values(astype(cumsum(v)[-1], f64), {300});
  expect_values(astype(lax::reduce_window_sum(v, {300}, {1}, "VALID"), f64), {300});
}

TEST(IndexErrors, Texts) {
  Array x = zeros({2, 3});
  EXPECT_EQ(error_of([&] { x[array({0.5, 1.0})]; }), "[index] indices must be integers, got f32[2]");
  EXPECT_EQ(error_of([&] { x[{array({0}), array({0}), array({0})}]; }), "[index] 3 indices for f32[2,3]");
  EXPECT_EQ(error_of([&] { x[{array({0}), 3}]; }), "[index] index 3 is out of range for axis 1 of f32[2,3]");
  EXPECT_EQ(error_of([&] { x[array({true, false, true})]; }),
            "[index] a mask of type bool[3] does not fit f32[2,3] from axis 0 on");
  EXPECT_EQ(error_of([&] { x[array(true)]; }), "[index] a boolean scalar is no index");
  EXPECT_EQ(error_of([&] { jit([](const Array& x) { return x[x > 0]; })(x); }),
            "[index] a mask of type bool[2,3] that is being traced selects an unknown number of elements; hint: "
            "where(mask, x, y) keeps the shape");
  EXPECT_EQ(error_of([&] { zeros({0, 3})[array({0})]; }),
            "[index] cannot choose elements along an axis of size 0 of f32[0,3]");
  EXPECT_EQ(error_of([&] { x.at(array({0})).get("nearest"); }),
            "[index] no mode \"nearest\"; hint: modes are clip, fill, drop, wrap, promise_in_bounds");
  EXPECT_EQ(error_of([&] { x.at(array({0, 1})).set(zeros({3, 3})); }),
            "[at] a value of type f32[3,3] does not fit the selected part of f32[2,3], of shape [2,3]");
  EXPECT_EQ(error_of([&] { take(x, array({0}), 2); }), "[take] axis 2 is out of range for f32[2,3]");
  EXPECT_EQ(error_of([&] { take(x, array({0}), 0, "raise"); }),
            "[take] no mode \"raise\"; hint: modes are clip, fill, wrap, promise_in_bounds");
  EXPECT_EQ(error_of([&] { take_along_axis(x, array({0}), 0); }),
            "[take_along_axis] indices i32[1] do not fit f32[2,3] along axis 0");
  EXPECT_EQ(error_of([&] { put_along_axis(zeros({1, 3}), array({{0}, {0}}), 1, 1); }),
            "[put_along_axis] indices i32[2,1] do not fit f32[1,3] along axis 1");
  EXPECT_EQ(error_of([&] { segment_sum(x, array({0}), 3); }),
            "[segment_sum] 3 segments of f32[2,3] by ids i32[1]; hint: ids has one integer per row of the data");
  EXPECT_EQ(error_of([&] { repeat(x, {1, 2, 3}, 0); }), "[repeat] 3 counts for 2 elements of f32[2,3]");
  EXPECT_EQ(error_of([&] { repeat(x, {1, -2}, 0); }), "[repeat] a negative number of repeats: -2");
  EXPECT_EQ(error_of([&] { repeat(x, array({1, 2, 3}), 0, 4); }),
            "[repeat] counts i32[3] and a total of 4 for 2 elements of f32[2,3]");
  EXPECT_EQ(error_of([&] { pad(x, {{1, 1}}, "mirror"); }),
            "[pad] no mode \"mirror\"; hint: modes are constant, edge, reflect, symmetric, wrap");
  EXPECT_EQ(error_of([&] { pad(x, {{1, 1}, {0, 0}, {0, 0}}, "edge"); }), "[pad] 3 widths for f32[2,3]");
  EXPECT_EQ(error_of([&] { pad(x, {{-1, 1}}, "edge"); }), "[pad] negative width (-1, 1)");
  EXPECT_EQ(error_of([&] { pad(zeros({0}), {{1, 1}}, "edge"); }), "[pad] nothing to repeat along axis 0 of f32[0]");
}

TEST(IndexErrors, DynamicSlices) {
  Array x = zeros({2, 3});
  EXPECT_EQ(error_of([&] { dynamic_slice(x, {0}, {1, 1}); }), "[dynamic_slice] 1 starts for f32[2,3]");
  EXPECT_EQ(error_of([&] { dynamic_slice(x, {0, 0}, {1, 4}); }),
            "[dynamic_slice] a slice of shape [1,4] does not fit f32[2,3]");
  EXPECT_EQ(error_of([&] { dynamic_slice(x, {0, 0.5}, {1, 1}); }),
            "[dynamic_slice] starts must be integers, got f32[]");
  EXPECT_EQ(error_of([&] { dynamic_slice(x, {array({0}), 0}, {1, 1}); }),
            "[dynamic_slice] a start must be a scalar, got i32[1]");
  EXPECT_EQ(error_of([&] { dynamic_slice(x, zeros({1, 2}, i32), {1, 1}); }),
            "[dynamic_slice] starts must be a list or a vector, got i32[1,2]");
  EXPECT_EQ(error_of([&] { dynamic_update_slice(x, zeros({3, 3}), {0, 0}); }),
            "[dynamic_update_slice] a slice of shape [3,3] does not fit f32[2,3]");
  EXPECT_EQ(error_of([&] { lax::dynamic_slice_in_dim(x, 0, 1, 2); }),
            "[dynamic_slice_in_dim] axis 2 is out of range for f32[2,3]");
}

TEST(IndexErrors, GatherAndScatter) {
  Array x = zeros({2, 3}), i = zeros({4, 1}, i32);
  EXPECT_EQ(error_of([&] { lax::gather(x, i, {{1}, {0}, {0, 1}}, {1, 3}); }),
            "[gather] the index vector has 1 numbers for 2 axes: f32[2,3] at i32[4,1], slices of [1,3]");
  EXPECT_EQ(error_of([&] { lax::gather(x, i, {{1}, {0}, {0}}, {1, 4}); }),
            "[gather] a slice of size 4 does not fit axis 1: f32[2,3] at i32[4,1], slices of [1,4]");
  EXPECT_EQ(error_of([&] { lax::gather(x, i, {{1}, {0}, {0}}, {2, 3}); }),
            "[gather] slices have size 2 along axis 0, which the result does not have: f32[2,3] at i32[4,1], slices of "
            "[2,3]");
  EXPECT_EQ(error_of([&] { lax::gather(x, i, {{2}, {0}, {0}}, {1, 3}); }),
            "[gather] the dimension numbers do not fit: f32[2,3] at i32[4,1], slices of [1,3]");
  EXPECT_EQ(error_of([&] { lax::gather(x, array(0), {}, {1, 3}); }),
            "[gather] the indices have no axis for the index vector: f32[2,3] at i32[], slices of [1,3]");
  EXPECT_EQ(error_of([&] { lax::gather(x, zeros({3, 1}, i32), {{}, {1}, {1}, {0}, {0}}, {1, 1}); }),
            "[gather] batching dimensions have different sizes: f32[2,3] at i32[3,1], slices of [1,1]");
  EXPECT_EQ(error_of([&] { lax::scatter_add(x, i, zeros({5, 3}), {{1}, {0}, {0}}); }),
            "[scatter_add] axis 0 of the updates has another size than axis 0 of the indices: f32[2,3] at i32[4,1], "
            "updates f32[5,3]");
  EXPECT_EQ(error_of([&] { lax::scatter_add(x > 0, i, zeros({4, 3}, bool_), {{1}, {0}, {0}}); }),
            "[scatter_add] does not join bool[2,3]");
}

}  // namespace
}  // namespace anew::test
