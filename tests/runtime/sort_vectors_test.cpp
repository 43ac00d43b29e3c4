// Lines that are hard to sort, by every instruction set that the machine has: all give the bits that a stable sort by
// keys gives, and touch nothing outside of the lines.
#include "runtime/sort_vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "runtime/lent_scratch.h"
#include "runtime/product.h"
#include "runtime/sort_lines.h"
#include "support/guarded.h"

namespace anew::sort_vectors_test {
namespace {

using test::GuardedAllocator;
using test::GuardedVector;
using test::Side;

constexpr int patterns = 10;
constexpr std::array dtypes{bool_, i8, i16, i32, i64, u8, u16, u32, u64, bf16, f16, f32, f64};

// Bits of element i of n. Those of numbers in order come from their rank, the others at random.
std::uint64_t element(DType dtype, int pattern, std::int64_t i, std::int64_t n, std::mt19937_64& random) {
  const auto ranked = [&](std::int64_t rank) { return bits_of(dtype, rank - 40); };
  const std::uint64_t bits = dtype == bool_ ? random() & 1 : random();
  switch (pattern) {
    case 0: return bits;
    case 1: return ranked(7);
    case 2: return ranked(i);
    case 3: return ranked(n - i);
    case 4: return ranked(std::min(i, n - i));                                              // an organ pipe
    case 5: return ranked(static_cast<std::int64_t>(random() % 5) + 38);                    // few numbers, 0 among them
    case 6: return ranked(i % 17);                                                          // saws
    case 7: return i % std::max<std::int64_t>(1, n / 16) < 2 ? ranked(0) : ranked(i + 50);  // low where one may look
    case 8: return ranked(random() % 50 ? i : 3);                                           // nearly in order
    default: break;
  }
  if (dtype == bool_) return bits;
  if (!is_float(dtype)) return random() % 3 ? bits : random() % 2 ? 0 : ~std::uint64_t{0} >> (random() % 2);
  // Nans with either sign and any payload, infinities, zeros, what is next to them.
  const int size = 8 * static_cast<int>(size_of(dtype));
  const std::uint64_t sign = std::uint64_t{random() & 1} << (size - 1);
  const std::uint64_t infinity = bits_of(dtype, std::numeric_limits<double>::infinity());
  switch (random() % 6) {
    case 0: return sign | infinity | (bits & (bits_of(dtype, 1.0) >> 2)) | 1;
    case 1: return sign | infinity;
    case 2: return sign;
    case 3: return sign | 1;
    case 4: return sign | (infinity - 1);
    default: return bits;
  }
}

void expect_sorted(DType dtype, int pattern, std::int64_t n, Side side) {
  const std::size_t size = size_of(dtype);
  std::mt19937_64 random(static_cast<std::uint64_t>(n * 100 + pattern));
  const auto bytes = static_cast<std::size_t>(n) * size;
  GuardedVector<std::byte> x(bytes, GuardedAllocator<std::byte>(side));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = element(dtype, pattern, i, n, random);
    std::memcpy(x.data() + static_cast<std::size_t>(i) * size, &bits, size);
  }
  std::vector<std::pair<std::uint64_t, std::int64_t>> order;
  for (std::int64_t i = 0; i < n; ++i) order.emplace_back(sort_key(x.data(), dtype, i), i);
  std::sort(order.begin(), order.end());
  std::vector<std::byte> expected(bytes);
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(expected.data() + i * size, x.data() + static_cast<std::size_t>(order[i].second) * size, size);
  const Shape shape{n}, strides{1};
  const LentScratch scratch(sort_scratch(shape, 0, dtype, 1, 1));
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (!has_isa(isa)) continue;
    set_product_isa(isa);
    GuardedVector<std::byte> y(bytes, GuardedAllocator<std::byte>(side));
    sort_lines(std::vector{Strided{x.data(), dtype, shape, strides}},
               std::vector{Strided{y.data(), dtype, shape, strides}}, 0, 1, scratch.data());
    ASSERT_TRUE(scratch.intact());
    ASSERT_TRUE(std::equal(y.begin(), y.end(), expected.begin()))
        << n << " of " << name_of(dtype) << ", pattern " << pattern << ", isa " << static_cast<int>(isa);
  }
}

class SortVectors : public ::testing::Test {
 protected:
  ~SortVectors() override { set_product_isa(best_); }

 private:
  Isa best_ = product_isa();
};

TEST_F(SortVectors, LinesOfAnyLength) {
  std::vector<std::int64_t> lengths{127, 128, 129, 130, 255, 256, 257, 258, 511, 512, 513, 1000, 2000, 2049};
  for (std::int64_t n = 0; n < 70; ++n) lengths.push_back(n);
  for (std::int64_t n = 70; n < 600; n += 23) lengths.push_back(n);
  for (DType dtype : dtypes)
    for (int pattern = 0; pattern < patterns; ++pattern)
      for (std::int64_t n : lengths) expect_sorted(dtype, pattern, n, n % 2 ? Side::begin : Side::end);
}

TEST_F(SortVectors, LongLines) {
  for (DType dtype : {i32, u32, i64, u64, f16, f32, f64})
    for (int pattern = 0; pattern < patterns; ++pattern) expect_sorted(dtype, pattern, 30011, Side::end);
  for (DType dtype : {f32, i64}) expect_sorted(dtype, 0, 200003, Side::end);
}

// The plan says what is needed: two times the keys, which have 32 bits where that is enough.
TEST_F(SortVectors, Scratch) {
  const Shape shape{1 << 20};
  EXPECT_EQ(sort_scratch(shape, 0, f32, 1, 1), std::size_t{8} << 20);
  EXPECT_EQ(sort_scratch(shape, 0, u8, 1, 1), std::size_t{8} << 20);
  EXPECT_EQ(sort_scratch(shape, 0, f64, 1, 1), std::size_t{16} << 20);
  EXPECT_EQ(sort_scratch(shape, 0, f32, 2, 1), std::size_t{16} << 20);
  EXPECT_EQ(sort_scratch(shape, 0, f64, 2, 1), std::size_t{16} << 20);
  EXPECT_EQ(sort_scratch(shape, 0, f32, 2, 2), std::size_t{24} << 20);
  EXPECT_EQ(top_k_scratch(shape, 0), std::size_t{16} << 20);
}

#if defined(__x86_64__)
// What orders words as the numbers that they are; nans are alike, -0 is before 0.
template <class K>
std::make_unsigned_t<K> rank(K word, Words words) {
  using U = std::make_unsigned_t<K>;
  constexpr K most = std::numeric_limits<K>::max(), infinity = sizeof(K) == 4 ? 0x7f800000 : K(0x7ff0000000000000);
  constexpr U sign = U{1} << (8 * sizeof(K) - 1);
  if (words == Words::without_sign) return static_cast<U>(word);
  if (words == Words::floats && (word & most) > infinity) return std::numeric_limits<U>::max();
  if (words == Words::floats && word < 0) return static_cast<U>(~word);
  return static_cast<U>(word) ^ sign;
}

// Partitions that find no good pivot give up in time: here after so many.
template <class K>
void expect_plain_from(int depth, Words words, std::int64_t n) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n + depth));
  std::vector<K> x, expected;
  for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<K>(random() % 3 ? random() : i % 40));
  x[7] = std::numeric_limits<K>::min(), x[9] = std::numeric_limits<K>::max();
  const GuardedAllocator<K> end(Side::end), begin(Side::begin);
  for (const auto& at : {begin, end}) {
    GuardedVector<K> to(x.size(), at), spare(x.size(), at), same(x.begin(), x.end(), at);
    EXPECT_EQ(sort_line_avx512(n, x.data(), to.data(), spare.data(), words, depth), words == Words::floats);
    EXPECT_EQ(sort_line_avx512(n, same.data(), same.data(), spare.data(), words, depth), words == Words::floats);
    EXPECT_TRUE(to == same);
    std::vector<std::make_unsigned_t<K>> ranks, sorted;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at_i = static_cast<std::size_t>(i);
      ranks.push_back(rank(x[at_i], words)), sorted.push_back(rank(to[at_i], words));
    }
    std::sort(ranks.begin(), ranks.end());
    EXPECT_TRUE(sorted == ranks) << n << " depth " << depth << " words " << static_cast<int>(words);
  }
}

TEST_F(SortVectors, GiveUpInTime) {
  if (!has_isa(Isa::avx512)) GTEST_SKIP();
  for (int depth : {0, 1, 2, 3, 60})
    for (Words words : {Words::with_sign, Words::without_sign, Words::floats})
      for (std::int64_t n : {20, 300, 1000, 5000}) {
        expect_plain_from<std::int32_t>(depth, words, n);
        expect_plain_from<std::int64_t>(depth, words, n);
      }
}
#endif

}  // namespace
}  // namespace anew::sort_vectors_test
