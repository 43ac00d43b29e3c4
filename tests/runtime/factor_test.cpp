// Factors multiplied back, at sizes below, at and above a block; bits that do not depend on threads.
#include "runtime/factor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/lapack.h"
#include "runtime/lent_scratch.h"
#include "runtime/pool.h"

namespace anew {
namespace {

using Dense = std::vector<double>;

std::size_t at(std::int64_t i, std::int64_t j, std::int64_t columns) {
  return static_cast<std::size_t>(i * columns + j);
}

Dense numbers(std::int64_t count, std::uint64_t seed) {
  Dense out;
  for (std::uint64_t s = seed * 77 + 1; count > 0; --count) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    out.push_back(static_cast<double>(s >> 11) * 0x1p-52 - 1);
  }
  return out;
}
Dense times(const Dense& a, const Dense& b, std::int64_t m, std::int64_t k, std::int64_t n) {
  Dense c(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j) c[at(i, j, n)] += a[at(i, p, k)] * b[at(p, j, n)];
  return c;
}
Dense turned(const Dense& a, std::int64_t m, std::int64_t n) {
  Dense t(a.size());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) t[at(j, i, m)] = a[at(i, j, n)];
  return t;
}
void expect_near(const Dense& got, const Dense& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
  EXPECT_LE(worst, tolerance);
}
Dense positive(std::int64_t n) {
  Dense x = numbers(n * n, 3), a = times(x, turned(x, n, n), n, n, n);
  for (std::int64_t i = 0; i < n; ++i) a[at(i, i, n)] += 1;
  return a;
}

// Each with exactly the scratch that it asks for.
template <class F>
void with_scratch(std::size_t bytes, F f) {
  const LentScratch scratch(bytes);
  f(scratch.data());
  EXPECT_TRUE(scratch.intact());
}
double* doubles(std::byte* scratch) { return reinterpret_cast<double*>(scratch); }
std::size_t bytes_of(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(double); }

void run_cholesky(std::int64_t n, double* a) {
  with_scratch(bytes_of(cholesky_scratch(n)), [&](std::byte* s) { cholesky(n, a, doubles(s)); });
}
void run_lu(std::int64_t m, std::int64_t n, double* a, std::int32_t* pivots) {
  with_scratch(bytes_of(lu_scratch(m, n)), [&](std::byte* s) { lu(m, n, a, pivots, doubles(s)); });
}
void run_solve(bool lower, std::int64_t n, std::int64_t columns, Matrix<double> a, bool unit, double* x) {
  with_scratch(bytes_of(solve_scratch(n, columns)), [&](std::byte* s) {
    if (lower) solve_lower(n, columns, a, unit, x, doubles(s));
    else solve_upper(n, columns, a, unit, x, doubles(s));
  });
}
void run_qr(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, double* q, double* r) {
  with_scratch(lapack_qr_scratch<double>(m, n, k), [&](std::byte* s) { lapack_qr(m, n, k, a, q, r, s); });
}
void run_eigh(std::int64_t n, double* a, double* w) {
  with_scratch(lapack_eigh_scratch<double>(n), [&](std::byte* s) { lapack_eigh(n, a, w, s); });
}
void run_svd(std::int64_t m, std::int64_t n, bool full, double* a, double* s, double* u, double* vt) {
  with_scratch(lapack_svd_scratch<double>(m, n, full, u != nullptr),
               [&](std::byte* scratch) { lapack_svd(m, n, full, a, s, u, vt, scratch); });
}

const std::int64_t sizes[] = {0, 1, 2, 7, 63, 64, 65, 130, 200};

TEST(Factor, CholeskyMultipliesBack) {
  for (std::int64_t n : sizes) {
    Dense a = positive(n), l = a;
    run_cholesky(n, l.data());
    expect_near(times(l, turned(l, n, n), n, n, n), a, 1e-12 * static_cast<double>(n + 1));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) ASSERT_EQ(l[at(i, j, n)], 0);
  }
}

TEST(Factor, CholeskyOfNoPositiveMatrixIsNan) {
  Dense a{1, 2, 2, 1};
  run_cholesky(2, a.data());
  EXPECT_TRUE(std::isnan(a[0]) && std::isnan(a[2]) && std::isnan(a[3]));
  EXPECT_EQ(a[1], 0);
}

TEST(Factor, LuMultipliesBack) {
  for (std::int64_t m : sizes)
    for (std::int64_t n : {m, m / 2, 2 * m + 1}) {
      const std::int64_t k = std::min(m, n);
      Dense a = numbers(m * n, 5), f = a;
      std::vector<std::int32_t> pivots(static_cast<std::size_t>(k) + 1), order(static_cast<std::size_t>(m) + 1);
      run_lu(m, n, f.data(), pivots.data());
      permutation_of(k, pivots.data(), m, order.data());
      Dense l(static_cast<std::size_t>(m * k)), u(static_cast<std::size_t>(k * n)), want(a.size());
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < k; ++j) l[at(i, j, k)] = i == j ? 1 : i > j ? f[at(i, j, n)] : 0;
        for (std::int64_t j = 0; j < n; ++j) want[at(i, j, n)] = a[at(order[static_cast<std::size_t>(i)], j, n)];
      }
      for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t j = i; j < n; ++j) u[at(i, j, n)] = f[at(i, j, n)];
      expect_near(times(l, u, m, k, n), want, 1e-12);
      for (double v : l) ASSERT_LE(std::abs(v), 1);
    }
}

TEST(Factor, TriangularSolvesGiveBack) {
  for (std::int64_t n : sizes)
    for (std::int64_t columns : {1, 3, 70})
      for (bool unit : {false, true}) {
        Dense a = numbers(n * n, 7), b = numbers(n * columns, 8);
        for (double& v : a) v /= static_cast<double>(n + 1);
        for (std::int64_t i = 0; i < n; ++i) a[at(i, i, n)] += 2;
        for (bool lower : {true, false}) {
          Dense triangle = a, x = b;
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j)
              if (i == j ? unit : lower != (i > j)) triangle[at(i, j, n)] = i == j ? 1 : 0;
          run_solve(lower, n, columns, {a.data(), n, 1}, unit, x.data());
          expect_near(times(triangle, x, n, n, columns), b, 1e-12);
        }
      }
}

TEST(Factor, ThreadsDoNotMatter) {
  const int before = threads();
  const std::int64_t n = 300;
  auto all = [&] {
    Dense l = positive(n), f = numbers(n * n, 9);
    std::vector<std::int32_t> pivots(n);
    run_cholesky(n, l.data());
    run_lu(n, n, f.data(), pivots.data());
    l.insert(l.end(), f.begin(), f.end());
    return l;
  };
  set_threads(1);
  const Dense one = all();
  for (int t : {2, 4}) {
    set_threads(t);
    const Dense many = all();
    EXPECT_EQ(std::memcmp(many.data(), one.data(), one.size() * sizeof(double)), 0) << t << " threads";
  }
  set_threads(before);
}

TEST(Lapack, QrMultipliesBack) {
  for (auto [m, n] : {std::pair{5, 3}, {3, 5}, {4, 4}, {70, 40}, {1, 1}, {3, 0}})
    for (std::int64_t k : {std::min(m, n), m}) {
      Dense a = numbers(m * n, 1), q(static_cast<std::size_t>(m * k)), r(static_cast<std::size_t>(k * n));
      run_qr(m, n, k, a.data(), q.data(), r.data());
      expect_near(times(q, r, m, k, n), a, 1e-13);
      Dense one(static_cast<std::size_t>(k * k));
      for (std::int64_t i = 0; i < k; ++i) one[at(i, i, k)] = 1;
      expect_near(times(turned(q, m, k), q, k, m, k), one, 1e-13);
    }
}

TEST(Lapack, EigenvectorsAreColumns) {
  for (std::int64_t n : {1, 2, 5, 40}) {
    Dense a = positive(n), v = a, w(static_cast<std::size_t>(n));
    run_eigh(n, v.data(), w.data());
    Dense scaled = v;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) scaled[at(i, j, n)] *= w[static_cast<std::size_t>(j)];
    expect_near(times(a, v, n, n, n), scaled, 1e-11);
    EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
  }
}

TEST(Lapack, SingularVectorsMultiplyBack) {
  for (auto [m, n] : {std::pair{5, 3}, {3, 5}, {4, 4}, {1, 6}, {30, 20}})
    for (bool full : {false, true}) {
      const std::int64_t k = std::min(m, n), columns = full ? m : k, rows = full ? n : k;
      Dense a = numbers(m * n, 2), copy = a, alone = a, s(static_cast<std::size_t>(k)), t = s,
            u(static_cast<std::size_t>(m * columns)), vt(static_cast<std::size_t>(rows * n)),
            middle(static_cast<std::size_t>(columns * rows));
      run_svd(m, n, full, copy.data(), s.data(), u.data(), vt.data());
      for (std::int64_t i = 0; i < k; ++i) middle[at(i, i, rows)] = s[static_cast<std::size_t>(i)];
      expect_near(times(times(u, middle, m, columns, rows), vt, m, rows, n), a, 1e-13);
      EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend()));
      run_svd(m, n, false, alone.data(), t.data(), nullptr, nullptr);
      expect_near(t, s, 1e-13);
    }
}

TEST(Lapack, NotANumberGivesNan) {
  Dense a{1, 2, std::nan(""), 4}, w(2), s(2), q(4), r(4), b = a, c = a;
  run_eigh(2, a.data(), w.data());
  run_svd(2, 2, false, b.data(), s.data(), nullptr, nullptr);
  run_qr(2, 2, 2, c.data(), q.data(), r.data());
  EXPECT_TRUE(std::isnan(w[0]) && std::isnan(a[3]) && std::isnan(s[1]) && std::isnan(q[0]) && std::isnan(r[0]));
  EXPECT_EQ(r[2], 0);
}

}  // namespace
}  // namespace anew
