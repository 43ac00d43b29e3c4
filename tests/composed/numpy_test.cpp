// NumPy's functions whose results have sizes that depend on values, without a given size; and errors.
#include <anew/anew.h>

#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::values;

TEST(Numpy, SizesOfValues) {
  Array x = array({3, 0, 1, 3, 0});
  EXPECT_EQ(values(flatnonzero(x)), (std::vector<double>{0, 2, 3}));
  EXPECT_EQ(values(unique(x)), (std::vector<double>{0, 1, 3}));
  UniqueResult u = unique_all(x);
  EXPECT_EQ(values(u.indices), (std::vector<double>{1, 2, 0}));
  EXPECT_EQ(values(u.inverse_indices), (std::vector<double>{2, 0, 1, 2, 0}));
  EXPECT_EQ(values(u.counts), (std::vector<double>{2, 1, 2}));
  EXPECT_EQ(values(bincount(x)), (std::vector<double>{2, 1, 0, 2}));
  EXPECT_EQ(values(extract(x > 0, x)), (std::vector<double>{3, 1, 3}));
  EXPECT_EQ(values(setdiff1d(x, array({1}))), (std::vector<double>{0, 3}));
  EXPECT_EQ(values(trim_zeros(array({0, 1, 0, 2, 0}))), (std::vector<double>{1, 0, 2}));
  EXPECT_EQ(flatnonzero(zeros(3)).shape(), Shape{0});
  EXPECT_EQ(unique(zeros({0})).shape(), Shape{0});
  auto [row, column] = tril_indices(2);
  EXPECT_EQ(values(row), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(values(column), (std::vector<double>{0, 0, 1}));
}

// What is not there: each function that chooses elements, of arrays that have none to choose.
TEST(Numpy, NothingIsChosen) {
  const Array x = array({3, 0, 1}), m = reshape(arange(6), {2, 3});
  for (const Array& none :
       {setdiff1d(x, x), setxor1d(x, x), intersect1d(x, x + 10), union1d(x[slice(0)], x[slice(0)]), setdiff1d(1, 1),
        flatnonzero(0 * m), compress(x > 9, x), extract(m > 9, m), x[x > 9], trim_zeros(0 * x), unique(x[slice(0)]),
        numpy::delete_(x, arange(3)), numpy::resize(x, {0})}) {
    EXPECT_EQ(none.type().str(), "i32[0]");
  }
  EXPECT_EQ(nonzero(0 * m)[1].type().str(), "i32[0]");
  EXPECT_EQ(argwhere(0 * m).type().str(), "i32[0,2]");
  EXPECT_EQ(compress(array({false, false}), m, 0).type().str(), "i32[0,3]");
  EXPECT_EQ(trim_zeros(0 * m).type().str(), "i32[0,0]");
  EXPECT_EQ(trim_zeros(0 * m, "f", 1).type().str(), "i32[2,0]");
  EXPECT_EQ(trim_zeros(zeros({0, 3})).type().str(), "f32[0,0]");
  EXPECT_EQ(numpy::delete_(m, array({0, 1}), 0).type().str(), "i32[0,3]");
}

TEST(Numpy, TrimZerosAlongAxes) {
  const Array x = ones({2, 3}), wide = pad(x, {{1, 2}, {0, 1}});
  EXPECT_TRUE(array_equal(trim_zeros(wide), x));
  EXPECT_EQ(trim_zeros(wide, "f").shape(), (Shape{4, 4}));
  EXPECT_EQ(trim_zeros(wide, "b", 0).shape(), (Shape{3, 4}));
  EXPECT_EQ(trim_zeros(wide, "fb", {1}).shape(), (Shape{5, 3}));
  EXPECT_EQ(trim_zeros(2.0).shape(), Shape{});
}

TEST(Numpy, TracedSizesAreAskedFor) {
  Array x = array({3, 0, 1});
  auto traced = [](Array v) { return flatnonzero(v); };
  EXPECT_EQ(error_of([&] { jit(traced)(x); }),
            "[flatnonzero] how many elements there are depends on values, which a traced function does not have; "
            "hint: give their number, .size = n: the result is cut, or filled up with .fill_value");
  auto sized = [](Array v) { return flatnonzero(v, {.size = 2}); };
  EXPECT_EQ(values(jit(sized)(x)), (std::vector<double>{0, 2}));
  auto counted = [](Array v) { return bincount(v); };
  EXPECT_EQ(error_of([&] { jit(counted)(x); }),
            "[bincount] how many bins there are depends on values, which a traced function does not have; "
            "hint: give their number, .length = n");
}

TEST(Numpy, ErrorsOfEdits) {
  const Array x = ones({2, 3});
  EXPECT_EQ(error_of([&] { numpy::insert(x, 0.5, 1); }),
            "[insert] the index is f32[]; hint: give an integer, or a vector of integers");
  EXPECT_EQ(error_of([&] { numpy::delete_(x, 2, 0); }), "[delete_] index 2 is out of range for an axis of size 2");
  EXPECT_EQ(error_of([&] { numpy::delete_(x, array({true}), 0); }),
            "[delete_] the index is bool[1]; hint: give integers, or a bool for each of 2 elements");
  EXPECT_EQ(error_of([&] { numpy::place(x, x[0] > 0, 1); }),
            "[place] a mask bool[3] for f32[2,3]; hint: give one of the same size");
  EXPECT_EQ(error_of([&] { numpy::place(x, x > 0, zeros({0})); }), "[place] there are no values");
  EXPECT_EQ(error_of([&] { numpy::choose(x, {x}); }), "[choose] an index f32[2,3] into 1 choices");
  EXPECT_EQ(error_of([&] { numpy::choose(0, {x}, "raise"); }), "[choose] no mode \"raise\"; hint: it is clip or wrap");
  EXPECT_EQ(error_of([&] { numpy::resize(x, {-1}); }), "[resize] negative size in shape [-1]");
  EXPECT_EQ(error_of([&] { numpy::result_type({}); }), "[result_type] of no arrays");
  EXPECT_EQ(error_of([&] { matrix_transpose(x[0]); }), "[matrix_transpose] needs a matrix, got f32[3]");
  EXPECT_EQ(error_of([&] { around(arange(3), -1); }),
            "[around] of i32[3] to -1 decimals; hint: convert it to a float first");
  EXPECT_EQ(error_of([&] { percentile(x, 101); }), "[percentile] q must be in [0, 100], got 101");
  EXPECT_EQ(error_of([&] { nanpercentile(x, -1); }), "[nanpercentile] q must be in [0, 100], got -1");
  EXPECT_EQ(error_of([&] { eye(-1); }), "[eye] of -1 rows and -1 columns");
}

TEST(Numpy, ErrorsOfPolynomials) {
  const Array p = ones(3), x = ones({2, 3});
  EXPECT_EQ(error_of([&] { numpy::polymul(x, p); }), "[polymul] needs a vector, got f32[2,3]");
  EXPECT_EQ(error_of([&] { numpy::polyval(2.0, p); }),
            "[polyval] the coefficients are a scalar; hint: array({a, b}) is a x + b");
  EXPECT_EQ(error_of([&] { numpy::polydiv(p, zeros({0})); }), "[polydiv] by a polynomial without coefficients");
  EXPECT_EQ(error_of([&] { numpy::polyder(p, -1); }), "[polyder] the order is -1; hint: give 0 or more");
  EXPECT_EQ(error_of([&] { numpy::polyint(p, 2, p); }), "[polyint] 3 constants for 2 integrals");
  EXPECT_EQ(error_of([&] { numpy::polyfit(p, p, -1); }), "[polyfit] the degree is -1");
  EXPECT_EQ(error_of([&] { numpy::polyfit(p, ones(2), 1); }),
            "[polyfit] needs points [n] and values [n] or [n, columns], got f32[3] and f32[2]");
  EXPECT_EQ(error_of([&] { numpy::polyfit(p, p, 1, {.w = ones(2)}); }), "[polyfit] weights f32[2] for 3 points");
}

TEST(Initializers, Errors) {
  const Array key = random::key(0);
  using namespace nn::initializers;
  EXPECT_EQ(error_of([&] { he_normal(key, {3}); }),
            "[he_normal] weights of shape [3] have no two axes, in and out; hint: of a bias: zeros(n)");
  EXPECT_EQ(error_of([&] { he_normal(key, {3, 2}, i32); }), "[he_normal] needs a floating type, got i32");
  EXPECT_EQ(error_of([&] { variance_scaling(key, {3, 2}, 1, "in", "normal"); }),
            "[variance_scaling] no mode \"in\"; hint: modes are fan_in, fan_out, fan_avg, fan_geo_avg");
  EXPECT_EQ(error_of([&] { variance_scaling(key, {3, 2}, 1, "fan_in", "gamma"); }),
            "[variance_scaling] no distribution \"gamma\"; hint: it is truncated_normal, normal or uniform");
  EXPECT_EQ(error_of([&] { nn::initializers::orthogonal(key, {3}); }),
            "[orthogonal] a shape of two or more axes is needed, got [3]");
  EXPECT_EQ(
      error_of([&] { delta_orthogonal(key, {3, 4, 2}); }),
      "[delta_orthogonal] of a kernel of shape [3,4,2]; hint: it has one to three axes of space, then no more inputs "
      "than outputs");
  EXPECT_EQ(error_of([&] { random::orthogonal(key, -1); }), "[random.orthogonal] of -1 rows and -1 columns");
}

TEST(Numpy, Errors) {
  Array x = ones({2, 3});
  EXPECT_EQ(error_of([&] { gcd(x, 2); }), "[gcd] needs integers, got f32[2,3]");
  EXPECT_EQ(error_of([&] { cumulative_sum(x); }),
            "[cumulative_sum] needs an axis for f32[2,3]; hint: only of vectors it is known");
  EXPECT_EQ(error_of([&] { select({x > 0}, {}); }), "[select] 1 conditions for 0 choices");
  EXPECT_EQ(error_of([&] { vander(x); }), "[vander] needs a vector, got f32[2,3]");
  EXPECT_EQ(error_of([&] { meshgrid({x}); }), "[meshgrid] needs vectors, got f32[2,3]");
  EXPECT_EQ(error_of([&] { array_split(x, 0); }), "[array_split] axis 0 of f32[2,3] does not split into 0 parts");
  EXPECT_EQ(error_of([&] { max(x, {}, false, {.where = x > 0}); }),
            "[max] of the elements where a mask holds, which may be none; hint: give an initial value");
  EXPECT_EQ(error_of([&] { mean(x, {}, false, {.initial = 1}); }),
            "[mean] has no initial value; hint: sum, prod, max and min have one");
  EXPECT_EQ(error_of([&] { quantile(x, 0.5, {}, false, "best"); }),
            "[quantile] no method \"best\"; hint: methods are linear, lower, higher, midpoint, nearest");
  EXPECT_EQ(error_of([&] { average(x, 0, ones(3)); }),
            "[average] weights f32[3] for f32[2,3]; hint: they have its shape, or are a vector along one axis");
  EXPECT_EQ(error_of([&] { interp(1.0, ones(2), ones(3)); }),
            "[interp] points are two vectors of one size, got f32[2] and f32[3]");
  EXPECT_EQ(error_of([&] { numpy::gradient(ones(1), 1.0, 0); }),
            "[gradient] needs two points or more along axis 0 of f32[1]");
  EXPECT_EQ(error_of([&] { geomspace(-1, 1, 3); }), "[geomspace] from -1 to 1: both have one sign, and none is 0");
  EXPECT_EQ(error_of([&] { histogram(x, 0); }), "[histogram] 0 bins");
  EXPECT_EQ(error_of([&] { packbits(x); }), "[packbits] needs bools or integers, got f32[2,3]");
  EXPECT_EQ(error_of([&] { lax::index_in_dim(x, 5); }),
            "[index_in_dim] index 5 is out of range along axis 0 of f32[2,3]");
  EXPECT_EQ(error_of([&] { lax::bitcast_convert_type(x, f64); }),
            "[bitcast_convert_type] from f32[2,3] to f64; hint: both have 32 bits, or both have 64");
  EXPECT_EQ(error_of([&] { special::expn(-1, x); }), "[expn] the order is 0 to 50, got -1");
  EXPECT_EQ(error_of([&] { random::poisson(random::key(0), 1.0, Shape{2}, f32); }),
            "[random.poisson] needs an integer type, got f32");
  EXPECT_EQ(error_of([&] { random::gamma(random::key(0), ones(3), Shape{2}); }),
            "[random.gamma] parameters of shape [3] do not fit the shape [2]");
}

// Reverse mode through functions that loop, and the mean of what is drawn.
TEST(Numpy, DerivativesOfDraws) {
  auto f = [](Array a) { return mean(random::gamma(random::key(1), a, Shape{400}, f64)); };
  EXPECT_NEAR(f(array(3.0, f64)).item(), 3, 0.3);
  EXPECT_NEAR(grad(f)(array(3.0, f64)).item(), 1, 0.1);
  auto second = grad([](Array x) { return sum(grad([](Array y) { return sum(special::gammainc(2.5, y)); })(x)); });
  Array x = array({0.5, 2.0}, f64);
  Array density = exp(1.5 * log(x) - x - lgamma(2.5)), slope = density * (1.5 / x - 1);
  EXPECT_TRUE(allclose(second(x), slope, 1e-9, 1e-12)) << second(x);
}

// Parameters that are whole numbers end a fraction, but not its derivative by them.
TEST(Numpy, DerivativesAtWholeParameters) {
  auto slope = [](auto f, double a) {
    const double h = 1e-3;
    auto at = [&](double v) { return f(array(v, f64)).item(); };
    return (8 * (at(a + h) - at(a - h)) - (at(a + 2 * h) - at(a - 2 * h))) / (12 * h);
  };
  auto by_b = [](Array b) { return special::betainc(2.0, b, array(0.3, f64)); };
  auto by_a = [](Array a) { return special::betainc(a, 3.0, array(0.8, f64)); };
  auto by_shape = [](Array a) { return special::gammaincc(a, array(4.25, f64)); };
  auto kummer = [](Array a) { return special::hyp1f1(a, 2.0, array(-1.5, f64)); };
  EXPECT_NEAR(grad(by_b)(array(3.0, f64)).item(), slope(by_b, 3), 1e-10);
  EXPECT_NEAR(grad(by_a)(array(2.0, f64)).item(), slope(by_a, 2), 1e-10);
  EXPECT_NEAR(grad(by_shape)(array(3.0, f64)).item(), slope(by_shape, 3), 1e-10);
  EXPECT_NEAR(grad(kummer)(array(2.0, f64)).item(), slope(kummer, 2), 1e-10);
}

}  // namespace
}  // namespace anew
