// Functions that move elements, and indexing, against plain loops and NumPy's rules.
#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;

Array counted(const Shape& shape) { return reshape(arange(shape.size()), shape); }

TEST(Shape, ReshapeAndFriends) {
  Array x = counted({2, 3});
  expect_values(x.reshape({3, -1}), {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(x.reshape({3, -1}).shape(), (Shape{3, 2}));
  expect_values(ravel(x.T()), {0, 3, 1, 4, 2, 5});
  expect_values(x.T().reshape({2, 3}), {0, 3, 1, 4, 2, 5});
  EXPECT_EQ(counted({2, 1, 3}).reshape({1, 6, 1}).shape(), (Shape{1, 6, 1}));
  expect_values(transpose(counted({2, 3, 4}), {{2, 0, 1}})[{1, 1}], {13, 17, 21});
  expect_values(transpose(counted({2, 3, 4}), {2, 0, 1})[{1, 1}], {13, 17, 21});
  EXPECT_EQ(transpose(counted({2, 3, 4}), {}).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(swapaxes(counted({2, 3, 4}), 0, -1).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(moveaxis(counted({2, 3, 4}), {0, 1}, {-1, 0}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(moveaxis(counted({2, 3, 4}), -1, 0).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(expand_dims(x, {0, -1}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(squeeze(counted({1, 3, 1})).shape(), (Shape{3}));
  EXPECT_EQ(squeeze(counted({1, 3, 1}), -1).shape(), (Shape{1, 3}));
  expect_values(broadcast_to(array({1, 2}), {2, 2}), {1, 2, 1, 2});
}

// Every pair of layouts of 2 x 3 x 4: reshape reads row-major whatever the strides are.
TEST(Shape, ReshapeOfAnyLayout) {
  Array base = counted({4, 3, 2});
  std::vector<int> order{0, 1, 2};
  do {
    Array x = transpose(base, order);
    std::vector<double> want = test::values(x);
    for (const Shape& s :
         {Shape{24}, Shape{2, 12}, Shape{12, 2}, Shape{4, 6}, Shape{6, 4}, Shape{1, 3, 8, 1}, Shape{2, 2, 2, 3}}) {
      expect_values(reshape(x, s), want);
      expect_values(reshape(flip(x, 1), s), test::values(flip(x, 1)));
      expect_values(reshape(x[{slice(none, none, 2)}], {-1}), test::values(x[{slice(none, none, 2)}]));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Shape, PuttingTogether) {
  Array x = counted({2, 2});
  expect_values(concatenate({x, x + 10}, 1), {0, 1, 10, 11, 2, 3, 12, 13});
  expect_values(concatenate({x, 2.5 * ones({1, 2})}), {0, 1, 2, 3, 2.5, 2.5});
  EXPECT_EQ(concatenate({x, ones({1, 2})}).dtype(), f32);
  expect_values(stack({array({1, 2}), array({3, 4})}, -1), {1, 3, 2, 4});
  expect_values(stack({1.0, array(2.0), 3}), {1, 2, 3});
  auto parts = split(arange(6), 3);
  ASSERT_EQ(parts.size(), 3u);
  expect_values(parts[1], {2, 3});
  parts = split(counted({2, 5}), {1, 3}, 1);
  ASSERT_EQ(parts.size(), 3u);
  expect_values(parts[2], {3, 4, 8, 9});
  expect_values(unstack(x, 1)[1], {1, 3});
  expect_values(tile(array({1, 2}), {2, 2}), {1, 2, 1, 2, 1, 2, 1, 2});
  expect_values(tile(x, 2), {0, 1, 0, 1, 2, 3, 2, 3});
  expect_values(repeat(x, 2), {0, 0, 1, 1, 2, 2, 3, 3});
  expect_values(repeat(x, 2, 0), {0, 1, 0, 1, 2, 3, 2, 3});
  expect_values(flip(x), {3, 2, 1, 0});
  expect_values(flip(x, 0), {2, 3, 0, 1});
  expect_values(roll(arange(5), 2), {3, 4, 0, 1, 2});
  expect_values(roll(counted({2, 3}), -1, 1), {1, 2, 0, 4, 5, 3});
  expect_values(roll(counted({2, 3}), {1, 1}, {0, 1}), {5, 3, 4, 2, 0, 1});
  expect_values(pad(x, {{1, 0}, {0, 1}}, 9), {9, 9, 9, 0, 1, 9, 2, 3, 9});
  expect_values(pad(array({1, 2}), {{1, 2}}), {0, 1, 2, 0, 0});
  expect_values(lax::pad(arange(4), 7, {{-1, 1, 1}}), {7, 1, 7, 2, 7, 3, 7});
  expect_values(lax::pad(arange(4), 7, {{-3, -1, 0}}), {});
  expect_values(diff(array({1, 4, 9})), {3, 5});
}

TEST(Shape, Diagonals) {
  Array x = counted({3, 4});
  expect_values(triu(x, 1), {0, 1, 2, 3, 0, 0, 6, 7, 0, 0, 0, 11});
  expect_values(tril(x), {0, 0, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0});
  expect_values(tri(2, 3, 1), {1, 1, 0, 1, 1, 1});
  expect_values(diag(array({1, 2}), 1), {0, 1, 0, 0, 0, 2, 0, 0, 0});
  expect_values(diag(array({1, 2}), -1), {0, 0, 0, 1, 0, 0, 0, 2, 0});
  expect_values(diag(x), {0, 5, 10});
  expect_values(diag(x, 2), {2, 7});
  expect_values(diag(x, -1), {4, 9});
  expect_values(diag(x, 9), {});
  expect_values(diagonal(counted({2, 2, 2})), {0, 6, 1, 7});
  expect_values(trace(counted({3, 3})), {12});
  expect_values(eye(2, 3, 1), {0, 1, 0, 0, 0, 1});
}

TEST(Index, NumPysRules) {
  Array x = counted({3, 4});
  expect_values(x[1], {4, 5, 6, 7});
  expect_values(x[-1], {8, 9, 10, 11});
  expect_values((x[{1, 2}]), {6});
  expect_values((x[{slice(), 2}]), {2, 6, 10});
  expect_values((x[{ellipsis, slice(1, 3)}]), {1, 2, 5, 6, 9, 10});
  expect_values((x[{slice(none, none, -1), 0}]), {8, 4, 0});
  expect_values((x[{0, slice(3, 0, -2)}]), {3, 1});
  expect_values((x[{0, slice(-2, none)}]), {2, 3});
  expect_values((x[{0, slice(2, 100)}]), {2, 3});
  expect_values((x[{0, slice(3, 1)}]), {});
  expect_values((x[{slice(1), slice(none, none, 3)}]), {0, 3});
  EXPECT_EQ((x[{newaxis, slice(1, none), newaxis, 0}].shape()), (Shape{1, 2, 1}));
  EXPECT_EQ((x[{ellipsis, newaxis}].shape()), (Shape{3, 4, 1}));
  expect_values((counted({2, 3, 2})[{1, ellipsis, 0}]), {6, 8, 10});
  std::size_t i = 2;
  expect_values(x[i], {8, 9, 10, 11});
  // every start, stop and step of a vector, against a loop
  Array v = arange(5);
  for (int start = -6; start <= 6; ++start)
    for (int stop = -6; stop <= 6; ++stop)
      for (int step : {-3, -2, -1, 1, 2, 3}) {
        std::vector<double> want;
        auto clip = [&](int k) {
          k = k < 0 ? k + 5 : k;
          return step > 0 ? std::clamp(k, 0, 5) : std::clamp(k, -1, 4);
        };
        for (int k = clip(start); step > 0 ? k < clip(stop) : k > clip(stop); k += step) want.push_back(k);
        expect_values(v[slice(start, stop, step)], want);
      }
}

TEST(Index, UpdatesMakeANewArray) {
  Array x = counted({2, 3});
  expect_values(x.at(1).set(9), {0, 1, 2, 9, 9, 9});
  expect_values(x.at({0, slice(0, 2)}).add(array({10, 20})), {10, 21, 2, 3, 4, 5});
  expect_values(x.at({slice(), slice(none, none, -2)}).set(array({7, 8})), {8, 1, 7, 8, 4, 7});
  expect_values(x.at({-1, -1}).set(2.7), {0, 1, 2, 3, 4, 2});
  expect_values(x.at({slice(), newaxis, 1}).add(array({{5}, {6}})), {0, 6, 2, 3, 10, 5});
  expect_values(x.at(slice()).set(1), {1, 1, 1, 1, 1, 1});
  expect_values(x.at(slice(5, none)).set(1), {0, 1, 2, 3, 4, 5});
  expect_values(x, {0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(std::signbit(array({-0.0, 1.0}).at(1).add(1).to_vector()[0]));  // untouched elements keep their bits
  EXPECT_EQ(error_of([&] { (void)x.at(0).set(ones({2})); }),
            "[at] a value of type i32[2] does not fit the selected part of i32[2,3], of shape [3]");
  expect_values(x.at(2).add(1), {0, 1, 2, 3, 4, 5});  // dropped
}

TEST(Shape, Errors) {
  Array x = ones({2, 3});
  EXPECT_EQ(error_of([&] { (void)x.reshape({4}); }), "[reshape] f32[2,3] has 6 elements, shape [4] has 4");
  EXPECT_EQ(error_of([&] { (void)x.reshape({-1, 4}); }),
            "[reshape] f32[2,3] has 6 elements, which shape [-1,4] cannot hold");
  EXPECT_EQ(error_of([&] { (void)x.reshape({-1, -1}); }),
            "[reshape] f32[2,3] to shape [-1,-1]: at most one size may be -1");
  EXPECT_EQ(error_of([&] { (void)transpose(x, {{0, 0}}); }),
            "[transpose] the axes are no permutation of those of f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)transpose(x, {{0, 2}}); }), "[transpose] axis 2 is out of range for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)squeeze(x, 0); }), "[squeeze] axis 0 of f32[2,3] is not of size 1");
  EXPECT_EQ(error_of([&] { (void)broadcast_to(x, {3, 2}); }),
            "[broadcast_to] f32[2,3] does not broadcast to shape [3,2]");
  EXPECT_EQ(error_of([&] { (void)expand_dims(x, {0, 0}); }), "[expand_dims] an axis is given twice for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)moveaxis(x, {0, 0}, {0, 1}); }), "[moveaxis] an axis of f32[2,3] is given twice");
  EXPECT_EQ(error_of([&] { (void)moveaxis(x, {0, 1}, 0); }), "[moveaxis] 2 axes go to 1 places");
  EXPECT_EQ(error_of([&] { (void)concatenate({x, ones({2, 2})}); }),
            "[concatenate] f32[2,3] and f32[2,2] differ in more than axis 0");
  EXPECT_EQ(error_of([&] { (void)concatenate({1.0, 2.0}); }),
            "[concatenate] of scalars f32[]; hint: stack makes an array of scalars, atleast_1d a vector of each");
  EXPECT_EQ(error_of([] { (void)concatenate({ones(2), 1.0}); }),
            "[concatenate] of scalars f32[]; hint: stack makes an array of scalars, atleast_1d a vector of each");
  EXPECT_EQ(error_of([&] { (void)concatenate(std::vector<Array>{}); }), "[concatenate] of no arrays");
  EXPECT_EQ(error_of([&] { (void)concatenate({x, x}, 2); }), "[concatenate] axis 2 is out of range for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)stack({x, ones({3})}); }), "[stack] shapes differ: f32[2,3] and f32[3]");
  EXPECT_EQ(error_of([&] { (void)stack(std::vector<Array>{}); }), "[stack] of no arrays");
  EXPECT_EQ(error_of([&] { (void)split(x, 2, 1); }), "[split] axis 1 of f32[2,3] does not split into 2 equal parts");
  EXPECT_EQ(error_of([&] { (void)split(x, {2, 1}, 1); }),
            "[split] position 1 is not in order inside axis 1 of f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)tile(x, {-1}); }), "[tile] a negative number of repeats: [-1]");
  EXPECT_EQ(error_of([&] { (void)repeat(x, -1); }), "[repeat] a negative number of repeats: -1");
  EXPECT_EQ(error_of([&] { (void)roll(x, {1, 2}, {0}); }), "[roll] 2 shifts for 1 axes");
  EXPECT_EQ(error_of([&] { (void)pad(x, {{1, 1}, {0, 0}, {0, 0}}); }), "[pad] 3 widths for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)pad(x, {{-1, 1}}); }), "[pad] negative width (-1, 1)");
  EXPECT_EQ(error_of([&] { (void)pad(x, -1); }), "[pad] negative width (-1, -1)");
  EXPECT_TRUE(array_equal(pad(ones({2, 3}), 2, 7), pad(ones({2, 3}), {{2, 2}, {2, 2}}, 7)));
  EXPECT_TRUE(array_equal(pad(arange(4), 1, "wrap"), array({3, 0, 1, 2, 3, 0})));
  EXPECT_EQ(error_of([&] { (void)lax::pad(x, 0, {{-2, -1, 0}, {0, 0, 0}}); }),
            "[pad] (-2, -1, 0) along axis 0 of f32[2,3] leaves nothing");
  EXPECT_EQ(error_of([&] { (void)lax::pad(x, 0, {{0, 0, 0}}); }), "[pad] 1 paddings for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)lax::pad(x, ones({1}), {{0, 0, 0}, {0, 0, 0}}); }),
            "[pad] the value must be a scalar f32, got f32[1]");
  EXPECT_EQ(error_of([&] { (void)lax::slice(x, {0, 0}, {3, 3}); }),
            "[slice] from [0,0] to [3,3] by 1 is not inside f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)lax::rev(x, {2}); }), "[rev] axis 2 is out of range for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)lax::iota({2}, 1); }), "[iota] along axis 1 of i32[2]");
  EXPECT_EQ(error_of([&] { (void)lax::broadcast_in_dim(x, {2, 4}, {0, 1}); }),
            "[broadcast_in_dim] f32[2,3] does not broadcast to shape [2,4] along dimensions (0, 1)");
  EXPECT_EQ(error_of([&] { (void)triu(ones({3})); }), "[triu] needs a matrix, got f32[3]");
  EXPECT_EQ(error_of([&] { (void)diag(ones({})); }), "[diag] needs a vector or a matrix, got f32[]");
  EXPECT_EQ(error_of([&] { (void)diagonal(ones({2})); }), "[diagonal] needs a matrix, got f32[2]");
}

TEST(Index, Errors) {
  Array x = ones({2, 3});
  EXPECT_EQ(error_of([&] { (void)x[2]; }), "[index] index 2 is out of range for axis 0 of f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)x[{0, -4}]; }), "[index] index -4 is out of range for axis 1 of f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)x[{0, 0, 0}]; }), "[index] 3 indices for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)x[{ellipsis, ellipsis}]; }), "[index] more than one ellipsis");
  EXPECT_EQ(error_of([&] { (void)x[slice(0, 2, 0)]; }), "[index] slice step is 0 for f32[2,3]");
}

}  // namespace
}  // namespace anew
