// What a product touches: the elements of its operands and its result, and the lower half of the workspace of each
// thread that takes part; nothing beside them. Random shapes around those at which panels, blocks of k and the packed
// rows are full, in every order of axes, for any second cache, number of threads and instruction set.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/pages.h"
#include "runtime/pool.h"
#include "runtime/product.h"
#include "runtime/workspace.h"
#include "support/guarded.h"

namespace anew {
namespace {

// f on each thread of the pool and on this one: a chunk waits until as many threads have one.
template <class F>
void on_every_thread(F f) {
  parallel_for(threads(), 1, [](std::int64_t, std::int64_t) {});  // that there may be fewer is known when they start
  const int n = threads();
  std::atomic<int> there = 0;
  parallel_for(n, 1, [&](std::int64_t, std::int64_t) {
    f();
    for (++there; there < n;) std::this_thread::yield();
  });
}

// While it lives, the upper halves of all workspaces are marked, and the address sanitizer lets nobody read them.
class MarkedWorkspaces {
 public:
  MarkedWorkspaces() {
    on_every_thread([] {
      std::memset(unit_workspace(), mark, workspace_half);
      poison(unit_workspace(), workspace_half);
    });
  }
  ~MarkedWorkspaces() { release(); }
  bool intact() {
    release();
    std::atomic<bool> all = true;
    on_every_thread([&] {
      const std::byte* half = unit_workspace();
      if (half[0] != std::byte{mark} || std::memcmp(half, half + 1, workspace_half - 1) != 0) all = false;
    });
    return all;
  }

 private:
  static void release() {
    on_every_thread([] { unpoison(unit_workspace(), workspace_half); });
  }
  static constexpr unsigned char mark = 0x5a;
};

class ProductMemoryTest : public ::testing::Test {
 protected:
  void TearDown() override {
    set_product_isa(isa_);
    set_product_cache(0);
    set_threads(threads_);
  }
  Isa isa_ = product_isa();
  int threads_ = threads();
};

struct Random {
  std::mt19937 bits;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<unsigned>(n)); }
  template <std::size_t n>
  std::int64_t one_of(const std::int64_t (&list)[n]) {
    return list[below(n)];
  }
};

// A matrix whose elements are all of a piece of guarded memory: either axis inside, the other one dense or nearly.
template <class T>
struct Placed {
  std::int64_t row, column;
  test::GuardedVector<T> memory;
  Placed(std::int64_t rows, std::int64_t columns, Random& random)
      : Placed(rows, columns, random, random.below(2) == 0, random.below(3) ? 0 : random.below(5)) {}
  Placed(std::int64_t rows, std::int64_t columns, Random& random, bool turned, std::int64_t gap)
      : row(turned ? 1 : columns + gap),
        column(turned ? rows + gap : 1),
        memory(static_cast<std::size_t>((rows - 1) * row + (columns - 1) * column + 1),
               test::GuardedAllocator<T>(random.below(3) ? test::Side::end : test::Side::begin)) {}
  Matrix<T> matrix() const { return {memory.data(), row, column}; }
  const T& at(std::int64_t i, std::int64_t j) const { return memory[static_cast<std::size_t>(i * row + j * column)]; }
  void fill(Random& random) {
    for (T& x : memory) x = static_cast<T>(random.below(2001) - 1000) / 256;
  }
};

// Sizes around a multiple of `of`, below about `most`.
std::int64_t near_multiple(std::int64_t of, std::int64_t most, Random& random) {
  return std::max<std::int64_t>(1, of * random.below(most / of + 1) + random.below(5) - 2);
}

// Onto `total`, where there is something.
template <class T>
T dot_of(const Placed<T>& a, const Placed<T>& b, std::int64_t i, std::int64_t j, std::int64_t k, bool onto, T total) {
  for (std::int64_t begin = 0; begin < k; begin += 256) {
    T sum = 0;
    for (std::int64_t p = begin; p < std::min(k, begin + 256); ++p) sum = std::fma(a.at(i, p), b.at(p, j), sum);
    total = begin || onto ? total + sum : sum;
  }
  return total;
}

constexpr std::int64_t caches[] = {1,
                                   16 << 10,
                                   48 << 10,
                                   100'000,
                                   256 << 10,
                                   512 << 10,
                                   700'001,
                                   959 << 10,
                                   961 << 10,
                                   (1 << 20) - 1,
                                   std::int64_t{1} << 40};

template <class T>
void products_keep_to_their_memory(unsigned seed) {
  Random random{std::mt19937(seed)};
  const Isa best = product_isa();
  for (int trial = 0; trial < 250; ++trial) {
    Isa isa = static_cast<Isa>(random.below(3));
    if (!has_isa(isa) || (isa == Isa::portable && trial % 4)) isa = best;  // it is slow
    set_product_isa(isa);
    set_product_cache(random.one_of(caches));
    set_threads(static_cast<int>(random.one_of({1, 2, 3, 4, 7})));
    const std::int64_t large = isa == Isa::portable ? 100 : trial % 8 ? 250 : 900;
    std::int64_t m = near_multiple(random.one_of({1, 12, 24}), large, random);
    std::int64_t n = near_multiple(random.one_of({1, 16, 64}), large, random);
    std::int64_t k = near_multiple(random.one_of({1, 256}), 2 * large, random);
    if (trial % 10 == 0) (trial % 20 ? m : n) = 1 + random.below(4);
    if (trial % 2 && isa != Isa::portable) {  // packed rows that fill what there is for them, or nearly
      set_product_cache((959 << 10) + random.below(70 << 10));
      m = 12 * (1 + random.below(110)) - random.below(3), n = 33 + random.below(150);
      k = 256 * (1 + random.below(4)) - random.below(2) * random.below(200);
    }
    Placed<T> a(m, k, random), b(k, n, random), c(m, n, random);
    a.fill(random), b.fill(random), c.fill(random);
    const bool onto = random.below(4) == 0;
    const std::vector<T> before(c.memory.begin(), c.memory.end());
    MarkedWorkspaces workspaces;
    if (onto) add_product(m, n, k, a.matrix(), b.matrix(), c.memory.data(), c.row, c.column);
    else product(m, n, k, a.matrix(), b.matrix(), c.memory.data(), c.row, c.column);
    const auto where = [&] {
      return ::testing::Message() << m << "x" << n << "x" << k << " isa " << static_cast<int>(isa) << " cache "
                                  << product_cache() << " threads " << threads() << " strides " << a.row << ","
                                  << a.column << " " << b.row << "," << b.column << " " << c.row << "," << c.column;
    };
    ASSERT_TRUE(workspaces.intact()) << where();
    for (int e = 0; e < 40; ++e) {
      const std::int64_t i = e ? random.below(m) : m - 1, j = e ? random.below(n) : n - 1;
      const T old = before[static_cast<std::size_t>(i * c.row + j * c.column)];
      ASSERT_EQ(c.at(i, j), dot_of(a, b, i, j, k, onto, old)) << where();
    }
    const auto line = static_cast<std::size_t>(c.row == 1 ? c.column : c.row);
    const auto used = static_cast<std::size_t>(c.row == 1 ? m : n);
    for (std::size_t i = 0; i < before.size(); ++i)
      if (i % line >= used) {
        ASSERT_EQ(c.memory[i], before[i]) << where() << ", between its rows";
      }
  }
}

TEST_F(ProductMemoryTest, NothingElseIsTouchedF32) { products_keep_to_their_memory<float>(11); }
TEST_F(ProductMemoryTest, NothingElseIsTouchedF64) { products_keep_to_their_memory<double>(12); }

// Two callers at once: one of them has the workers, the other one packs and multiplies alone, and neither waits.
TEST_F(ProductMemoryTest, TwoCallersAtOnce) {
  for (int t : {1, 2, 4}) {
    set_threads(t);
    const auto multiply = [](unsigned seed, bool& right) {
      Random random{std::mt19937(seed)};
      right = true;
      for (int trial = 0; trial < 20; ++trial) {
        const std::int64_t m = 1 + random.below(150), n = 40 + random.below(150), k = 200 + random.below(200);
        Placed<float> a(m, k, random), b(k, n, random), c(m, n, random);
        a.fill(random), b.fill(random);
        product(m, n, k, a.matrix(), b.matrix(), c.memory.data(), c.row, c.column);
        for (int e = 0; e < 20; ++e) {
          const std::int64_t i = random.below(m), j = random.below(n);
          right = right && c.at(i, j) == dot_of(a, b, i, j, k, false, 0.f);
        }
      }
    };
    bool right[2];
    std::thread other([&] { multiply(1, right[1]); });
    multiply(2, right[0]);
    other.join();
    EXPECT_TRUE(right[0] && right[1]) << t << " threads";
  }
}

}  // namespace
}  // namespace anew
