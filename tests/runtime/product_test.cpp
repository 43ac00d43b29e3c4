// The product against a scalar reference written from its meaning, bit for bit: random shapes, strides and forms, every
// instruction set of this machine, several numbers of threads, special values.
#include "runtime/product.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "runtime/pool.h"

namespace anew {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
bool same(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) || std::bit_cast<Bits<T>>(x) == std::bit_cast<Bits<T>>(y);
}

template <class T>
T reference(std::int64_t i, std::int64_t j, std::int64_t k, Matrix<T> a, Matrix<T> b) {
  T total = 0;
  for (std::int64_t begin = 0; begin < k; begin += 256) {
    T acc = 0;
    for (std::int64_t p = begin; p < std::min<std::int64_t>(k, begin + 256); ++p)
      acc =
          std::fma(a.data[i * a.row_stride + p * a.column_stride], b.data[p * b.row_stride + j * b.column_stride], acc);
    total = begin == 0 ? acc : total + acc;
  }
  return total;
}

std::vector<Isa> isas() {
  std::vector<Isa> list;
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
    if (has_isa(isa)) list.push_back(isa);
  return list;
}

class ProductTest : public ::testing::Test {
 protected:
  void TearDown() override {
    set_product_isa(isas().back());
    set_product_cache(0);
    set_threads(initial_);
  }
  int initial_ = threads();
};

// An operand of random layout: row-major, column-major, sparse, reversed or constant along a dimension.
template <class T>
struct Operand {
  std::vector<T> data;
  Matrix<T> matrix;

  Operand(std::int64_t rows, std::int64_t columns, std::mt19937& bits, bool repeat = true) {
    const auto pick = [&](int n) { return static_cast<int>(bits() % static_cast<unsigned>(n)); };
    std::int64_t inner = pick(3) ? 1 : 2 + pick(3), outer = 0;
    const bool transposed = pick(2);
    const std::int64_t width = transposed ? rows : columns;
    outer = width * inner + (pick(2) ? 0 : pick(20));
    std::int64_t row = transposed ? inner : outer, column = transposed ? outer : inner;
    if (repeat && pick(12) == 0) row = 0;
    if (repeat && pick(12) == 0) column = 0;
    if (pick(8) == 0) row = -row;
    if (pick(8) == 0) column = -column;
    const auto low = std::min<std::int64_t>(0, row * (rows - 1)) + std::min<std::int64_t>(0, column * (columns - 1));
    const auto high = std::max<std::int64_t>(0, row * (rows - 1)) + std::max<std::int64_t>(0, column * (columns - 1));
    data.resize(rows > 0 && columns > 0 ? static_cast<std::size_t>(high - low + 1) : 0);
    std::normal_distribution<T> normal;
    for (T& x : data) x = normal(bits);
    matrix = {data.data() - (data.empty() ? 0 : low), row, column};
  }
};

template <class T>
void check(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, std::mt19937& bits) {
  const Operand<T> out(m, n, bits, false);
  const std::int64_t row = out.matrix.row_stride, column = out.matrix.column_stride;
  std::vector<T> expected = out.data;
  const std::int64_t base = out.data.empty() ? 0 : out.matrix.data - out.data.data();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      expected[static_cast<std::size_t>(base + i * row + j * column)] = reference(i, j, k, a, b);
  for (Isa isa : isas())
    for (int t : {1, 2, 4}) {
      set_product_isa(isa);
      set_threads(t);
      std::vector<T> got = out.data;
      product(m, n, k, a, b, got.data() + base, row, column);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i) wrong += !same(got[i], expected[i]);
      ASSERT_EQ(wrong, 0u) << m << "x" << n << "x" << k << " isa " << static_cast<int>(isa) << " threads " << t
                           << " a strides " << a.row_stride << "," << a.column_stride << " b strides " << b.row_stride
                           << "," << b.column_stride << " c strides " << row << "," << column;
    }
}

std::int64_t random_size(std::mt19937& bits, int large) {
  switch (bits() % 6) {
    case 0: return 1;
    case 1: return static_cast<std::int64_t>(bits() % 4);
    case 2: return 1 + static_cast<std::int64_t>(bits() % 16);
    case 3: return static_cast<std::int64_t>(16 * (1 + bits() % 8));
    default: return 1 + static_cast<std::int64_t>(bits() % static_cast<unsigned>(large));
  }
}

template <class T>
void random_products(unsigned seed) {
  std::mt19937 bits(seed);
  for (int trial = 0; trial < 500; ++trial) {
    std::int64_t m = random_size(bits, 200), n = random_size(bits, 200), k = random_size(bits, 700);
    if (trial % 50 == 0) (trial % 100 ? m : n) = 500 + static_cast<std::int64_t>(bits() % 200);
    if (m * n * k > 6'000'000) k = 1 + k % 60;
    const Operand<T> a(m, k, bits), b(k, n, bits);
    check(m, n, k, a.matrix, b.matrix, bits);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(ProductTest, RandomF32) { random_products<float>(1); }
TEST_F(ProductTest, RandomF64) { random_products<double>(2); }

// Sizes at which the product changes its ways: one row or column, few rows, large operands, long k.
template <class T>
void edge_shapes() {
  std::mt19937 bits(3);
  const std::int64_t shapes[][3] = {{1, 700, 300},   {700, 1, 300},   {8, 1100, 520}, {7, 300, 300},  {1, 1, 2000},
                                    {3, 2100, 257},  {50, 70, 512},   {490, 33, 260}, {12, 32, 256},  {13, 33, 255},
                                    {500, 520, 20},  {60, 300, 300},  {48, 64, 3000}, {30, 40, 5000}, {1000, 10, 784},
                                    {600, 600, 300}, {1100, 70, 513}, {20, 3000, 60}, {32, 256, 256}, {16, 301, 270},
                                    {64, 300, 260},  {31, 131, 130},  {8, 100, 40},   {4, 65, 600}};
  for (const auto& s : shapes)
    for (int form = 0; form < 4; ++form) {
      Operand<T> a(s[0], s[2], bits), b(s[2], s[1], bits);
      a.data.resize(static_cast<std::size_t>(s[0] * s[2]), T(0.5));
      b.data.resize(static_cast<std::size_t>(s[1] * s[2]), T(-1.5));
      const Matrix<T> x = form & 1 ? Matrix<T>{a.data.data(), 1, s[0]} : Matrix<T>{a.data.data(), s[2], 1};
      const Matrix<T> y = form & 2 ? Matrix<T>{b.data.data(), 1, s[2]} : Matrix<T>{b.data.data(), s[1], 1};
      check(s[0], s[1], s[2], x, y, bits);
      if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST_F(ProductTest, EdgeShapesF32) { edge_shapes<float>(); }
TEST_F(ProductTest, EdgeShapesF64) { edge_shapes<double>(); }

// Infinities and NaNs stay in their row or column: no tile may let what pads it, or its neighbours, in.
template <class T>
void special_values() {
  std::mt19937 bits(4);
  const T special[] = {std::numeric_limits<T>::infinity(),
                       -std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::quiet_NaN(),
                       std::numeric_limits<T>::denorm_min(),
                       -std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::max(),
                       T(0),
                       T(-0.0),
                       std::numeric_limits<T>::min()};
  for (int trial = 0; trial < 60; ++trial) {
    const std::int64_t m = 1 + bits() % 40, n = 1 + bits() % 70, k = 1 + bits() % 300;
    Operand<T> a(m, k, bits), b(k, n, bits);
    for (int i = 0; i < 3; ++i) {
      a.data[bits() % a.data.size()] = special[bits() % 9];
      b.data[bits() % b.data.size()] = special[bits() % 9];
    }
    check(m, n, k, a.matrix, b.matrix, bits);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(ProductTest, SpecialF32) { special_values<float>(); }
TEST_F(ProductTest, SpecialF64) { special_values<double>(); }

template <class T>
void subnormals() {
  std::mt19937 bits(5);
  for (int trial = 0; trial < 20; ++trial) {
    const std::int64_t m = 1 + bits() % 30, n = 1 + bits() % 50, k = 1 + bits() % 600;
    Operand<T> a(m, k, bits), b(k, n, bits);
    const T tiny = std::sqrt(std::numeric_limits<T>::min()) / 64;
    for (T& x : a.data) x *= tiny;
    for (T& x : b.data) x *= tiny;
    check(m, n, k, a.matrix, b.matrix, bits);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(ProductTest, SubnormalsF32) { subnormals<float>(); }
TEST_F(ProductTest, SubnormalsF64) { subnormals<double>(); }

TEST_F(ProductTest, NothingToSumIsPositiveZero) {
  for (Isa isa : isas()) {
    set_product_isa(isa);
    std::vector<float> c(6, -1);
    product<float>(2, 3, 0, {nullptr, 0, 1}, {nullptr, 3, 1}, c.data(), 3, 1);
    for (float x : c) EXPECT_EQ(std::bit_cast<std::uint32_t>(x), 0u);
    product<float>(0, 3, 2, {nullptr, 2, 1}, {nullptr, 3, 1}, nullptr, 3, 1);
    product<float>(2, 0, 2, {nullptr, 2, 1}, {nullptr, 0, 1}, nullptr, 0, 1);
  }
}

// A caller that flushes subnormals gets the same bits as everyone else, and its mode back.
#if defined(__x86_64__)
TEST_F(ProductTest, IgnoresTheCallersFloatMode) {
  const unsigned before = __builtin_ia32_stmxcsr();
  const float a = 1e-30f, b = 1e-10f;
  float c = 1;
  __builtin_ia32_ldmxcsr(0x9fc0);
  product<float>(1, 1, 1, {&a, 1, 1}, {&b, 1, 1}, &c, 1, 1);
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(after & ~0x3fu, 0x9fc0u & ~0x3fu);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(c), std::bit_cast<std::uint32_t>(std::fma(a, b, 0.f)));
  EXPECT_NE(c, 0);
}
#endif

TEST_F(ProductTest, Batches) {
  std::mt19937 bits(6);
  for (int trial = 0; trial < 40; ++trial) {
    const std::int64_t m = 1 + bits() % 40, n = 1 + bits() % 40, k = bits() % 300, p = bits() % 5, q = 1 + bits() % 12;
    std::vector<float> a(static_cast<std::size_t>(p * q * m * k)), b(static_cast<std::size_t>(q * k * n));
    std::normal_distribution<float> normal;
    for (float& x : a) x = normal(bits);
    for (float& x : b) x = normal(bits);
    // The outer dimension reads the same b again; a has its batch dimensions swapped.
    const BatchDim batch[] = {{p, m * k, 0, q * m * n}, {q, p * m * k, k * n, m * n}};
    for (Isa isa : isas())
      for (int t : {1, 2, 4}) {
        set_product_isa(isa);
        set_threads(t);
        std::vector<float> c(static_cast<std::size_t>(p * q * m * n), 7);
        batched_product<float>(batch, m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n, 1);
        std::size_t wrong = 0, at = 0;
        for (std::int64_t x = 0; x < p; ++x)
          for (std::int64_t y = 0; y < q; ++y)
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < n; ++j)
                wrong += !same(c[at++], reference<float>(i, j, k, {a.data() + x * m * k + y * p * m * k, k, 1},
                                                         {b.data() + y * k * n, n, 1}));
        ASSERT_EQ(wrong, 0u);
      }
  }
}

// The second cache and the threads decide how much is packed at a time, and nothing else.
template <class T>
void check_cuts() {
  std::mt19937 bits(8);
  std::normal_distribution<T> normal;
  for (auto [m, n, k] :
       {std::array<std::int64_t, 3>{700, 530, 600}, {530, 1100, 300}, {2100, 70, 260}, {90, 700, 1300}}) {
    std::vector<T> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
    for (T& x : a) x = normal(bits);
    for (T& x : b) x = normal(bits);
    for (Isa isa : isas())
      for (int form : {0, 3}) {
        if (isa == Isa::portable && (form == 0 || m != 2100)) continue;  // it is slow
        const Matrix<T> left = form & 1 ? Matrix<T>{a.data(), 1, m} : Matrix<T>{a.data(), k, 1};
        const Matrix<T> right = form & 2 ? Matrix<T>{b.data(), 1, k} : Matrix<T>{b.data(), n, 1};
        std::vector<T> first;
        const auto compare = [&](int threads, std::int64_t cache) {
          set_product_isa(isa);
          set_threads(threads);
          set_product_cache(cache);
          std::vector<T> c(static_cast<std::size_t>(m * n), T{7});
          product(m, n, k, left, right, c.data(), n, 1);
          if (first.empty()) first = c;
          ASSERT_EQ(std::memcmp(first.data(), c.data(), c.size() * sizeof(T)), 0)
              << m << "x" << n << "x" << k << " form " << form << " threads " << threads << " cache " << cache;
        };
        for (int t : {1, 2, 3, 5, 8}) compare(t, 0);
        for (std::int64_t cache : {1 << 10, 256 << 10, 512 << 10, 4 << 20}) compare(2, cache);
        if (::testing::Test::HasFatalFailure()) return;
        for (int i = 0; i < 200; ++i) {
          const std::int64_t r = bits() % m, j = bits() % n;
          ASSERT_TRUE(same(first[static_cast<std::size_t>(r * n + j)], reference(r, j, k, left, right)));
        }
      }
  }
}
TEST_F(ProductTest, CutsDecideNoBitsF32) { check_cuts<float>(); }
TEST_F(ProductTest, CutsDecideNoBitsF64) { check_cuts<double>(); }

}  // namespace
}  // namespace anew
