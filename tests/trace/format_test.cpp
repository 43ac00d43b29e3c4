// How arrays print. The texts were made by printing the same arrays with NumPy 2.4.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <sstream>

#include "trace/trace.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

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

// The texts of NumPy 2.4 under np.printoptions.
std::string text_with(const PrintOptions& options, const Array& x) {
  const PrintOptions former = set_printoptions(options);
  std::string out = text(x);
  set_printoptions(former);
  return out;
}

TEST(Format, Options) {
  const Array thirds = of(f64, {1.0 / 3, 2.0 / 3, 1e-3}, {3}), mixed = of(f64, {1e-10, 1, 12345.678}, {3});
  EXPECT_EQ(text_with({.precision = 17}, thirds), "[0.3333333333333333 0.6666666666666666 0.001             ]");
  EXPECT_EQ(text_with({.precision = 3}, thirds), "[0.333 0.667 0.001]");
  EXPECT_EQ(text_with({.precision = 0}, thirds), "[0. 1. 0.]");
  EXPECT_EQ(text_with({}, mixed), "[1.0000000e-10 1.0000000e+00 1.2345678e+04]");
  EXPECT_EQ(text_with({.suppress = true}, mixed), "[    0.        1.    12345.678]");
  EXPECT_EQ(text_with({.precision = 3, .suppress = true}, mixed), "[    0.        1.    12345.678]");
  EXPECT_EQ(text_with({.suppress = true}, of(f64, {1e-5, 2e9}, {2})), "[1.e-05 2.e+09]");
  EXPECT_EQ(text_with({.threshold = 5}, iota(i32, {12})), "[ 0  1  2 ...  9 10 11]");
  std::vector<double> sevenths, parts;
  for (int i = 0; i < 64; ++i) sevenths.push_back(i / 7.0);
  for (int i = 0; i < 12; ++i) parts.push_back(i / 11.0);
  EXPECT_EQ(text_with({.precision = 4, .threshold = 10}, of(f64, sevenths, {8, 8})),
            R"([[0.     0.1429 0.2857 ... 0.7143 0.8571 1.    ]
 [1.1429 1.2857 1.4286 ... 1.8571 2.     2.1429]
 [2.2857 2.4286 2.5714 ... 3.     3.1429 3.2857]
 ...
 [5.7143 5.8571 6.     ... 6.4286 6.5714 6.7143]
 [6.8571 7.     7.1429 ... 7.5714 7.7143 7.8571]
 [8.     8.1429 8.2857 ... 8.7143 8.8571 9.    ]])");
  EXPECT_EQ(text_with({.linewidth = 30}, of(f64, parts, {12})), R"([0.         0.09090909
 0.18181818 0.27272727
 0.36363636 0.45454545
 0.54545455 0.63636364
 0.72727273 0.81818182
 0.90909091 1.        ])");
  EXPECT_EQ(text_with({.linewidth = 20}, iota(i64, {2, 10})), R"([[ 0  1  2  3  4
   5  6  7  8  9]
 [10 11 12 13 14
  15 16 17 18 19]])");
  EXPECT_EQ(text_with({.linewidth = 1}, of(f64, {0, 1.0 / 3, 2.0 / 3, 1}, {4})), R"([0.
 0.33333333
 0.66666667
 1.        ])");
  EXPECT_EQ(text_with({.precision = 17}, floats({0.1, 1.0 / 3}, {2})), "[0.1        0.33333334]");
  EXPECT_EQ(text_with({.precision = 2}, of(f64, {nan, inf, 1.0 / 3}, {3})), "[ nan  inf 0.33]");
  EXPECT_EQ(text_with({.precision = 5, .suppress = true}, of(f64, {-1.0 / 3, 2.5, 1e-7, 3}, {2, 2})),
            "[[-0.33333  2.5    ]\n [ 0.       3.     ]]");
  EXPECT_EQ(text_with({.precision = 330, .suppress = true}, of(f64, {5e-324, 1}, {2})).size(), 656u);
}

TEST(Format, OptionsStayUnlessGiven) {
  const PrintOptions former = set_printoptions({.precision = 3});
  EXPECT_EQ(former.precision, 8);
  EXPECT_EQ(former.threshold, 1000);
  EXPECT_EQ(former.linewidth, 75);
  EXPECT_EQ(former.suppress, false);
  EXPECT_EQ(set_printoptions({.suppress = true}).precision, 3);
  EXPECT_EQ(get_printoptions().precision, 3);
  EXPECT_EQ(get_printoptions().suppress, true);
  set_printoptions(former);
  EXPECT_EQ(get_printoptions().precision, 8);
  try {
    set_printoptions({.linewidth = 0});
    FAIL();
  } catch (const Error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("[set_printoptions] .linewidth is 0, the least is 1; at "));
  }
}

// ---- one float mode: whatever rounding and whatever treatment of subnormals the caller's thread has set.

// What making, reading and printing arrays gives, as one text.
std::string made_read_printed() {
  std::ostringstream out;
  const std::vector<double> v{0.1, 1.0 / 3, 1e-40, -1e-310, 5e-324, 1e-7, 65504.1, 1e300, 2.5};
  for (DType d : {f64, f32, bf16, f16, i32}) {
    const Array x = array(v, d);
    for (double e : x.to_vector<double>()) out << std::bit_cast<std::uint64_t>(e) << " ";
    for (float e : x.to_vector<float>()) out << std::bit_cast<std::uint32_t>(e) << " ";
    for (int i = 0; i < 9; ++i) out << std::bit_cast<std::uint64_t>(x[i].item()) << " ";
    out << x << x[2] << Array(0.1).astype(d) << full({1}, 1e-41, d) << arange(0, 1, 0.1).size() << linspace(0, 1, 7);
    for (double e : v) out << ones({1}, d) * e << Array(e) * 3;
  }
  const Program p =
      parse_program("{ lambda ; a:f32[]. let b:f32[] = mul a 0.1:f32[] c:f32[] = add b 1e-45:f32[] in (c,) }");
  out << p << evaluate(p, std::vector<Array>{array(1.5)})[0];
  return out.str();
}

TEST(FloatModes, MakingReadingAndPrintingHaveOne) {
  const std::string want = made_read_printed();
#if defined(__x86_64__)
  const unsigned saved = _mm_getcsr();
  for (unsigned rounding : {0u, 0x2000u, 0x4000u, 0x6000u})
    for (unsigned subnormals : {0u, 0x8000u, 0x40u, 0x8040u}) {
      _mm_setcsr((saved & ~0xe040u) | rounding | subnormals);
      const std::string got = made_read_printed();
      const unsigned after = _mm_getcsr();
      _mm_setcsr(saved);
      EXPECT_EQ(got, want) << rounding << " " << subnormals;
      EXPECT_EQ(after & 0xe040u, rounding | subnormals);
    }
#endif
}

}  // namespace
}  // namespace anew
