// How arrays print. The texts were made by printing the same arrays with NumPy 2.4.
#include <anew/array.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <sstream>

#include "trace/trace.h"

namespace anew {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

std::string text(const Array& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

Array filled(const Type& type, const std::function<ir::Literal(std::int64_t)>& element) {
  BufferRef buffer = allocate(type.bytes());
  for (std::int64_t i = 0; i < type.shape.size(); ++i) {
    const ir::Literal l = element(i);
    std::memcpy(buffer->data() + static_cast<std::size_t>(i) * size_of(type.dtype), &l.bits, size_of(type.dtype));
  }
  return make_concrete(type, buffer, 0, row_major(type.shape));
}
Array of(DType dtype, const std::vector<double>& v, const Shape& shape) {
  return filled({shape, dtype}, [&](std::int64_t i) { return ir::Literal::of(dtype, v[static_cast<std::size_t>(i)]); });
}
Array floats(const std::vector<double>& v, const Shape& shape) { return of(f32, v, shape); }
Array iota(DType dtype, const Shape& shape) {
  return filled({shape, dtype}, [&](std::int64_t i) { return ir::Literal::of(dtype, i); });
}

TEST(Format, Floats) {
  EXPECT_EQ(text(floats({1.0, 2.0, 3.0}, {3})), "[1. 2. 3.]");
  EXPECT_EQ(text(floats({1.5, -2.0, 0.25}, {3})), "[ 1.5  -2.    0.25]");
  EXPECT_EQ(text(floats({1.0, 2.0, 3.0, 4.0}, {2, 2})), "[[1. 2.]\n [3. 4.]]");
  EXPECT_EQ(text(floats({0.1, 0.3333333333333333, 0.6666666666666666}, {3})), "[0.1        0.33333334 0.6666667 ]");
  EXPECT_EQ(text(floats({1e-05, 1.0, 100.0}, {3})), "[1.e-05 1.e+00 1.e+02]");
  EXPECT_EQ(text(floats({1000000.0, 1.0}, {2})), "[1.e+06 1.e+00]");
  EXPECT_EQ(text(floats({999999.0, 1.5}, {2})), "[9.99999e+05 1.50000e+00]");
  EXPECT_EQ(text(floats({10000000000.0, 25000000000.0}, {2})), "[1.0e+10 2.5e+10]");
  EXPECT_EQ(text(floats({nan, inf, -inf}, {3})), "[ nan  inf -inf]");
  EXPECT_EQ(text(floats({nan, 1.5, -inf}, {3})), "[ nan  1.5 -inf]");
  EXPECT_EQ(text(floats({-0.0, 0.0}, {2})), "[-0.  0.]");
  EXPECT_EQ(text(floats({1e-45, 1.0}, {2})), "[1.e-45 1.e+00]");
  EXPECT_EQ(text(floats({3.4028235e+38}, {1})), "[3.4028235e+38]");
  EXPECT_EQ(text(floats({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}, {2, 2, 2})),
            "[[[1. 2.]\n  [3. 4.]]\n\n [[5. 6.]\n  [7. 8.]]]");
  EXPECT_EQ(text(floats({5.0}, {1, 1, 1, 1})), "[[[[5.]]]]");
  EXPECT_EQ(text(floats({nan, 10000000000.0, -1e-10}, {3})), "[    nan  1.e+10 -1.e-10]");
  EXPECT_EQ(text(floats({inf, 1.0}, {2})), "[inf  1.]");
  EXPECT_EQ(text(of(f64, {0.1, 1.0 / 3, 1e-3}, {3})), "[0.1        0.33333333 0.001     ]");
  EXPECT_EQ(text(of(f64, {1.23456789012345e20, -2}, {2})), "[ 1.23456789e+20 -2.00000000e+00]");
  EXPECT_EQ(text(of(f64, {1.5000000000001e20}, {1})), "[1.5e+20]");
  EXPECT_EQ(text(of(f16, {1.5, 65504, 1e-3}, {3})), "[1.50e+00 6.55e+04 1.00e-03]");
}

TEST(Format, IntegersAndBools) {
  EXPECT_EQ(text(of(bool_, {1, 0, 0, 0}, {2, 2})), "[[ True False]\n [False False]]");
  EXPECT_EQ(text(of(bool_, {1, 1}, {2})), "[ True  True]");
  EXPECT_EQ(text(of(i32, {-5, 12345, 0}, {3})), "[   -5 12345     0]");
}

TEST(Format, RowsWrapAndLargeArraysAreSummarised) {
  EXPECT_EQ(text(iota(f32, {30})),
            R"([ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.
 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.])");
  EXPECT_EQ(text(iota(f64, {4, 12})),
            R"([[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11.]
 [12. 13. 14. 15. 16. 17. 18. 19. 20. 21. 22. 23.]
 [24. 25. 26. 27. 28. 29. 30. 31. 32. 33. 34. 35.]
 [36. 37. 38. 39. 40. 41. 42. 43. 44. 45. 46. 47.]])");
  EXPECT_EQ(text(iota(i32, {3, 4})),
            R"([[ 0  1  2  3]
 [ 4  5  6  7]
 [ 8  9 10 11]])");
  EXPECT_EQ(text(iota(i64, {2, 3, 4})),
            R"([[[ 0  1  2  3]
  [ 4  5  6  7]
  [ 8  9 10 11]]

 [[12 13 14 15]
  [16 17 18 19]
  [20 21 22 23]]])");
  EXPECT_EQ(text(iota(i32, {1001})), R"([   0    1    2 ...  998  999 1000])");
  EXPECT_EQ(text(iota(f32, {40, 40})),
            R"([[0.000e+00 1.000e+00 2.000e+00 ... 3.700e+01 3.800e+01 3.900e+01]
 [4.000e+01 4.100e+01 4.200e+01 ... 7.700e+01 7.800e+01 7.900e+01]
 [8.000e+01 8.100e+01 8.200e+01 ... 1.170e+02 1.180e+02 1.190e+02]
 ...
 [1.480e+03 1.481e+03 1.482e+03 ... 1.517e+03 1.518e+03 1.519e+03]
 [1.520e+03 1.521e+03 1.522e+03 ... 1.557e+03 1.558e+03 1.559e+03]
 [1.560e+03 1.561e+03 1.562e+03 ... 1.597e+03 1.598e+03 1.599e+03]])");
  EXPECT_EQ(text(iota(i32, {10, 4, 50})),
            R"([[[   0    1    2 ...   47   48   49]
  [  50   51   52 ...   97   98   99]
  [ 100  101  102 ...  147  148  149]
  [ 150  151  152 ...  197  198  199]]

 [[ 200  201  202 ...  247  248  249]
  [ 250  251  252 ...  297  298  299]
  [ 300  301  302 ...  347  348  349]
  [ 350  351  352 ...  397  398  399]]

 [[ 400  401  402 ...  447  448  449]
  [ 450  451  452 ...  497  498  499]
  [ 500  501  502 ...  547  548  549]
  [ 550  551  552 ...  597  598  599]]

 ...

 [[1400 1401 1402 ... 1447 1448 1449]
  [1450 1451 1452 ... 1497 1498 1499]
  [1500 1501 1502 ... 1547 1548 1549]
  [1550 1551 1552 ... 1597 1598 1599]]

 [[1600 1601 1602 ... 1647 1648 1649]
  [1650 1651 1652 ... 1697 1698 1699]
  [1700 1701 1702 ... 1747 1748 1749]
  [1750 1751 1752 ... 1797 1798 1799]]

 [[1800 1801 1802 ... 1847 1848 1849]
  [1850 1851 1852 ... 1897 1898 1899]
  [1900 1901 1902 ... 1947 1948 1949]
  [1950 1951 1952 ... 1997 1998 1999]]])");
  EXPECT_EQ(text(iota(u32, {2, 2, 2, 2})),
            R"([[[[ 0  1]
   [ 2  3]]

  [[ 4  5]
   [ 6  7]]]


 [[[ 8  9]
   [10 11]]

  [[12 13]
   [14 15]]]])");
}

TEST(Format, AThousandElementsAreShown) {
  const std::string all = text(iota(i32, {1000}));
  EXPECT_EQ(all.find("..."), std::string::npos);
  EXPECT_EQ(all.substr(0, 36), "[  0   1   2   3   4   5   6   7   8");
}

TEST(Format, Scalars) {
  auto scalar = [](DType dtype, double v) { return text(of(dtype, {v}, {})); };
  EXPECT_EQ(scalar(f32, 1.0), "1.0");
  EXPECT_EQ(scalar(f32, 0.1), "0.1");
  EXPECT_EQ(scalar(f32, 1e-5), "1e-05");
  EXPECT_EQ(scalar(f32, 1e-4), "1e-04");
  EXPECT_EQ(scalar(f32, 1e6), "1e+06");
  EXPECT_EQ(scalar(f32, 123456.79), "123456.79");
  EXPECT_EQ(scalar(f32, -0.0), "-0.0");
  EXPECT_EQ(scalar(f32, nan), "nan");
  EXPECT_EQ(scalar(f32, -inf), "-inf");
  EXPECT_EQ(scalar(f64, 1e15), "1000000000000000.0");
  EXPECT_EQ(scalar(f64, 1e16), "1e+16");
  EXPECT_EQ(scalar(f64, 1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(scalar(i32, -3), "-3");
  EXPECT_EQ(scalar(bool_, 1), "True");
  EXPECT_EQ(text(Array(2.5)), "2.5");
  EXPECT_EQ(text(Array(true)), "True");
  EXPECT_EQ(text(Array(7)), "7");
}

TEST(Format, Empty) {
  EXPECT_EQ(text(iota(f32, {0})), "[]");
  EXPECT_EQ(text(iota(f32, {2, 0, 3})), "[]");
}

// A transposed view, a step backwards, a repeated element: elements are found by strides.
TEST(Format, Views) {
  const Array x = iota(f32, {3, 4});
  const Array transposed = make_concrete({{4, 3}, f32}, x.value()->buffer, 0, {1, 4});
  EXPECT_EQ(text(transposed), "[[ 0.  4.  8.]\n [ 1.  5.  9.]\n [ 2.  6. 10.]\n [ 3.  7. 11.]]");
  EXPECT_EQ(text(make_concrete({{3}, f32}, x.value()->buffer, 10, {-3})), "[10.  7.  4.]");
  EXPECT_EQ(text(make_concrete({{3}, f32}, x.value()->buffer, 5, {0})), "[5. 5. 5.]");
}

TEST(Format, WithoutData) {
  EXPECT_EQ(text(Array()), "Array()");
  EXPECT_EQ(text(Array(ShapeDtype{{3}, f32})), "Abstract<f32[3]>");
  auto trace = std::make_shared<StagingTrace>("test");
  EXPECT_EQ(text(trace->add_input({{3}, f32})), "Traced<f32[3]>");
  TraceLife{trace};
  EXPECT_EQ(text(trace->add_input({{}, i32})), "Traced<i32[]>");
}

}  // namespace
}  // namespace anew
