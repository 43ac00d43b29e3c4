// dot_general against a loop over its meaning: random ranks, dimension lists and layouts, for all types.
#include "runtime/dot_general.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/lent_scratch.h"
#include "runtime/pool.h"
#include "runtime/product.h"

namespace anew::dot_general_test {
namespace {

// A multi-index over sizes, last dimension fastest.
bool next(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& sizes) {
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

template <class T>
T join(T acc, T x, T y) {
  if constexpr (std::is_floating_point_v<T>) return std::fma(x, y, acc);
  else if constexpr (std::is_same_v<T, bool>) return acc || (x && y);
  else
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(acc) +
                          static_cast<std::make_unsigned_t<T>>(x) * static_cast<std::make_unsigned_t<T>>(y));
}

struct Dims {
  std::vector<int> lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};

template <class T>
struct Tensor {
  std::vector<std::int64_t> sizes, strides;
  std::unique_ptr<T[]> data;
  std::int64_t offset = 0;

  // Dimensions lie in memory in random order, with gaps, some of them reversed or of stride 0.
  Tensor(std::vector<std::int64_t> s, std::mt19937& bits) : sizes(std::move(s)), strides(sizes.size()) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    if (bits() % 2) std::shuffle(order.begin(), order.end(), bits);
    std::int64_t stride = bits() % 4 ? 1 : 3;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::size_t d = order[i];
      strides[d] = bits() % 10 ? stride : 0;
      if (strides[d]) stride *= std::max<std::int64_t>(1, sizes[d]);
      if (bits() % 8 == 0) ++stride;
      if (bits() % 8 == 0) offset += std::max<std::int64_t>(0, sizes[d] - 1) * strides[d], strides[d] = -strides[d];
    }
    const auto size = static_cast<std::size_t>(stride + 1);
    data = std::make_unique<T[]>(size);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < size; ++i) {
      if constexpr (std::is_floating_point_v<T>) data[i] = static_cast<T>(normal(bits));
      else data[i] = static_cast<T>(bits());
      if constexpr (std::is_same_v<T, bool>) data[i] = bits() % 8 == 0;
    }
  }
  T at(const std::vector<std::int64_t>& index) const {
    std::int64_t p = offset;
    for (std::size_t d = 0; d < sizes.size(); ++d) p += index[d] * strides[d];
    return data[static_cast<std::size_t>(p)];
  }
};

template <class T>
std::vector<T> reference(const Tensor<T>& a, const Tensor<T>& b, const Dims& dims) {
  const auto has = [](const std::vector<int>& list, int d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  std::vector<std::int64_t> out, inner;
  std::vector<int> rows, columns;
  for (int d : dims.lhs_batch) out.push_back(a.sizes[static_cast<std::size_t>(d)]);
  for (int d = 0; d < static_cast<int>(a.sizes.size()); ++d)
    if (!has(dims.lhs_batch, d) && !has(dims.lhs_contract, d))
      rows.push_back(d), out.push_back(a.sizes[static_cast<std::size_t>(d)]);
  for (int d = 0; d < static_cast<int>(b.sizes.size()); ++d)
    if (!has(dims.rhs_batch, d) && !has(dims.rhs_contract, d))
      columns.push_back(d), out.push_back(b.sizes[static_cast<std::size_t>(d)]);
  for (int d : dims.lhs_contract) inner.push_back(a.sizes[static_cast<std::size_t>(d)]);
  std::int64_t count = 1, depth = 1;
  for (std::int64_t s : out) count *= s;
  for (std::int64_t s : inner) depth *= s;
  std::vector<T> result;
  std::vector<std::int64_t> o(out.size()), ia(a.sizes.size()), ib(b.sizes.size());
  for (std::int64_t e = 0; e < count; ++e, next(o, out)) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < dims.lhs_batch.size(); ++i, ++at)
      ia[static_cast<std::size_t>(dims.lhs_batch[i])] = ib[static_cast<std::size_t>(dims.rhs_batch[i])] = o[at];
    for (int d : rows) ia[static_cast<std::size_t>(d)] = o[at++];
    for (int d : columns) ib[static_cast<std::size_t>(d)] = o[at++];
    T total{}, acc{};
    std::vector<std::int64_t> k(inner.size());
    for (std::int64_t i = 0; i < depth; ++i, next(k, inner)) {
      for (std::size_t c = 0; c < k.size(); ++c)
        ia[static_cast<std::size_t>(dims.lhs_contract[c])] = ib[static_cast<std::size_t>(dims.rhs_contract[c])] = k[c];
      acc = join(acc, a.at(ia), b.at(ib));
      if constexpr (std::is_floating_point_v<T>) {
        if (i % 256 == 255 || i + 1 == depth) {
          total = i < 256 ? acc : total + acc;
          acc = 0;
        }
      }
    }
    result.push_back(std::is_floating_point_v<T> ? total : acc);
  }
  return result;
}

// Strides of a dense array of these sizes whose dimensions lie in another order.
Shape other_order(const std::vector<std::int64_t>& sizes, std::mt19937& bits) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), bits);
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t d : order) strides[d] = stride, stride *= sizes[d];
  return Shape(strides);
}

// The same results, wherever they lie: `expected` is row-major.
template <class T>
void compare_layouts(DType dtype, const Tensor<T>& a, const Tensor<T>& b, const Dims& dims,
                     const std::vector<T>& expected, std::mt19937& bits) {
  const Shape a_shape(a.sizes), a_strides(a.strides), b_shape(b.sizes), b_strides(b.strides);
  const DotDims d{dims.lhs_batch, dims.rhs_batch, dims.lhs_contract, dims.rhs_contract};
  const LentScratch scratch(dot_scratch(dtype, a_shape, b_shape, d));
  std::vector<std::int64_t> sizes;
  auto rest = [&](const std::vector<std::int64_t>& from, const std::vector<int>& batch, const std::vector<int>& inner) {
    for (int i = 0; i < static_cast<int>(from.size()); ++i)
      if (std::find(batch.begin(), batch.end(), i) == batch.end() &&
          std::find(inner.begin(), inner.end(), i) == inner.end())
        sizes.push_back(from[static_cast<std::size_t>(i)]);
  };
  for (int i : dims.lhs_batch) sizes.push_back(a.sizes[static_cast<std::size_t>(i)]);
  rest(a.sizes, dims.lhs_batch, dims.lhs_contract);
  rest(b.sizes, dims.rhs_batch, dims.rhs_contract);
  const Shape strides = other_order(sizes, bits);
  const auto got = std::make_unique<T[]>(expected.size() + 1);
  dot_general(dtype, {a.data.get() + a.offset, a_shape, a_strides}, {b.data.get() + b.offset, b_shape, b_strides}, d,
              got.get(), scratch.data(), &strides);
  std::size_t wrong = 0;
  std::vector<std::int64_t> index(sizes.size());
  for (const T e : expected) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * strides[static_cast<int>(i)];
    wrong += std::memcmp(&e, &got[static_cast<std::size_t>(at)], sizeof(T)) != 0;
    next(index, sizes);
  }
  ASSERT_EQ(wrong, 0u) << "lhs " << a_shape.str() << " strides " << a_strides.str() << " rhs " << b_shape.str()
                       << " strides " << b_strides.str() << " result's " << strides.str();
  ASSERT_TRUE(scratch.intact());
}

// On several threads, with exactly the scratch that it asks for.
template <class T>
void compare(DType dtype, const Tensor<T>& a, const Tensor<T>& b, const Dims& dims, const std::vector<T>& expected) {
  const Shape a_shape(a.sizes), a_strides(a.strides), b_shape(b.sizes), b_strides(b.strides);
  const DotDims d{dims.lhs_batch, dims.rhs_batch, dims.lhs_contract, dims.rhs_contract};
  const LentScratch scratch(
      dot_scratch_of(dtype, DotOperand{nullptr, a_shape, a_strides}, {nullptr, b_shape, b_strides}, d));
  for (int t : {1, 2, 3, 4}) {
    set_threads(t);
    const auto got = std::make_unique<T[]>(expected.size() + 1);
    dot_general(dtype, {a.data.get() + a.offset, a_shape, a_strides}, {b.data.get() + b.offset, b_shape, b_strides}, d,
                got.get(), scratch.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const T e = expected[i];
      wrong += std::memcmp(&e, &got[i], sizeof(T)) != 0;
    }
    ASSERT_EQ(wrong, 0u) << "lhs " << a_shape.str() << " strides " << a_strides.str() << " rhs " << b_shape.str()
                         << " strides " << b_strides.str() << " threads " << t;
    ASSERT_TRUE(scratch.intact());
  }
}

template <class T>
void random_dots(DType dtype, unsigned seed, int trials) {
  std::mt19937 bits(seed);
  const auto pick = [&](int n) { return static_cast<int>(bits() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < trials; ++trial) {
    const int batch = pick(3), contract = pick(4), left = pick(3), right = pick(3);
    const auto size = [&](int large) -> std::int64_t { return pick(25) == 0 ? 0 : pick(4) == 0 ? 1 : 1 + pick(large); };
    std::vector<std::int64_t> a_sizes(static_cast<std::size_t>(batch + contract + left)),
        b_sizes(static_cast<std::size_t>(batch + contract + right));
    std::vector<int> a_order(a_sizes.size()), b_order(b_sizes.size());
    std::iota(a_order.begin(), a_order.end(), 0);
    std::iota(b_order.begin(), b_order.end(), 0);
    std::shuffle(a_order.begin(), a_order.end(), bits);
    std::shuffle(b_order.begin(), b_order.end(), bits);
    Dims dims;
    for (int i = 0; i < batch + contract; ++i) {
      const auto s = i < batch ? size(5) : size(contract == 1 ? 400 : 12);
      const int x = a_order[static_cast<std::size_t>(i)], y = b_order[static_cast<std::size_t>(i)];
      a_sizes[static_cast<std::size_t>(x)] = b_sizes[static_cast<std::size_t>(y)] = s;
      (i < batch ? dims.lhs_batch : dims.lhs_contract).push_back(x);
      (i < batch ? dims.rhs_batch : dims.rhs_contract).push_back(y);
    }
    for (int i = batch + contract; i < batch + contract + left; ++i)
      a_sizes[static_cast<std::size_t>(a_order[static_cast<std::size_t>(i)])] = size(left == 1 ? 40 : 8);
    for (int i = batch + contract; i < batch + contract + right; ++i)
      b_sizes[static_cast<std::size_t>(b_order[static_cast<std::size_t>(i)])] = size(right == 1 ? 40 : 8);
    const Tensor<T> a(a_sizes, bits), b(b_sizes, bits);
    const std::vector<T> expected = reference(a, b, dims);
    compare(dtype, a, b, dims, expected);
    compare_layouts(dtype, a, b, dims, expected, bits);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

class DotGeneralTest : public ::testing::Test {
 protected:
  void TearDown() override { set_threads(initial_); }
  int initial_ = threads();
};

TEST_F(DotGeneralTest, F32) { random_dots<float>(f32, 1, 500); }
TEST_F(DotGeneralTest, F64) { random_dots<double>(f64, 2, 300); }
TEST_F(DotGeneralTest, I32) { random_dots<std::int32_t>(i32, 3, 100); }
TEST_F(DotGeneralTest, I64) { random_dots<std::int64_t>(i64, 4, 100); }
TEST_F(DotGeneralTest, U32) { random_dots<std::uint32_t>(u32, 5, 100); }
TEST_F(DotGeneralTest, Bool) { random_dots<bool>(bool_, 6, 100); }

// Operands that do not fit into the scratch are copied in blocks of rows, columns, k and batches.
template <class T>
void large_dots(DType dtype) {
  std::mt19937 bits(9);
  const Dims inner{{}, {}, {0, 1}, {1, 0}};  // k in the order of lhs is not that of rhs
  for (const auto& [rows, columns, i, j] : std::vector<std::array<std::int64_t, 4>>{
           {1100, 3, 28, 25}, {3, 1100, 28, 25}, {2, 2, 700, 401}, {1030, 2, 20, 26}}) {
    const Tensor<T> a({i, j, rows}, bits), b({j, i, columns}, bits);
    compare(dtype, a, b, inner, reference(a, b, inner));
    compare_layouts(dtype, a, b, inner, reference(a, b, inner), bits);
  }
  const Dims batches{{1}, {0}, {0, 2}, {2, 1}};
  const Tensor<T> a({17, 5, 19, 90, 2}, bits), b({5, 19, 17, 3}, bits);
  compare(dtype, a, b, batches, reference(a, b, batches));
  compare_layouts(dtype, a, b, batches, reference(a, b, batches), bits);
}
TEST_F(DotGeneralTest, LargeF32) { large_dots<float>(f32); }
TEST_F(DotGeneralTest, LargeF64) { large_dots<double>(f64); }
TEST_F(DotGeneralTest, LargeI64) { large_dots<std::int64_t>(i64); }

TEST_F(DotGeneralTest, ScratchOnlyWhereStridesMayNeedIt) {
  const std::vector<int> first{0}, last{1}, both{0, 1};
  EXPECT_EQ(dot_scratch(f32, {64, 256}, {256, 256}, {{}, {}, last, first}), 0u);
  EXPECT_EQ(dot_scratch(f32, {2, 3, 8}, {2, 3, 9}, {{}, {}, both, both}), 192u + 256u);
  EXPECT_EQ(dot_scratch(f32, {0, 3, 8}, {0, 3, 9}, {{}, {}, both, both}), 0u);
  EXPECT_EQ(dot_scratch(f32, {1, 3, 8}, {1, 3, 9}, {{}, {}, both, both}), 0u);
  // Two operands of 64 MiB: copies of at most 2 MiB each.
  EXPECT_LE(dot_scratch(f32, {64, 256, 1024}, {64, 256, 1024}, {{}, {}, both, both}), std::size_t{4} << 20);
}

// Layouts of results that are as good as row-major: the transpose, batches between rows and columns; not those that cut
// products into short or scattered pieces.
TEST_F(DotGeneralTest, LayoutsWorthWriting) {
  const std::vector<int> zero{0}, one{1}, two{2}, both{0, 1};
  EXPECT_TRUE(dot_writes({128, 768}, {128, 256}, {{}, {}, zero, zero}, {1, 768}));
  EXPECT_TRUE(dot_writes({8, 128, 768}, {8, 128, 256}, {{}, {}, both, both}, {1, 768}));
  const Shape scores{8, 128, 128}, values{8, 128, 32};
  EXPECT_TRUE(dot_writes(scores, values, {zero, zero, two, one}, {32, 256, 1}));
  EXPECT_TRUE(dot_writes(scores, values, {zero, zero, two, one}, {4096, 32, 1}));
  EXPECT_FALSE(dot_writes(scores, values, {zero, zero, two, one}, {1, 256, 8}));
  EXPECT_FALSE(dot_writes({64, 8, 32}, {32, 100}, {{}, {}, two, zero}, {8, 6400, 64}));
}

TEST_F(DotGeneralTest, OtherTypesAreOurFault) {
  const Shape none;
  EXPECT_THROW(dot_general(bf16, {nullptr, none, none}, {nullptr, none, none}, {}, nullptr, nullptr), InternalError);
}

}  // namespace
}  // namespace anew::dot_general_test
