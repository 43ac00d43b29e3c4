// Convolutions against a loop over their meaning, bit for bit: random sizes, strides, paddings, dilations, groups and
// layouts, sums long enough for several chains and several parts, on any number of threads.
#include "runtime/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "runtime/convolution_windows.h"
#include "runtime/lent_scratch.h"
#include "runtime/pool.h"
#include "runtime/product.h"

namespace anew {
namespace {

using std::int64_t;

// Strides of a dense array whose dimensions lie in memory in a given order, the fastest first.
std::vector<int64_t> layout(const std::vector<int64_t>& sizes, const std::vector<std::size_t>& order) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (std::size_t d : order) {
    strides[d] = stride;
    stride *= std::max<int64_t>(1, sizes[d]);
  }
  return strides;
}
std::vector<int64_t> random_layout(const std::vector<int64_t>& sizes, std::mt19937& bits) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), bits);
  return layout(sizes, order);
}
// The first so many of these, then the spatial dimensions from the last on, then the others.
std::vector<int64_t> layout_around(const std::vector<int64_t>& sizes, const std::vector<std::size_t>& others,
                                   std::size_t inner) {
  std::vector<std::size_t> order(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(inner));
  for (std::size_t d = sizes.size(); d-- > others.size();) order.push_back(d);
  order.insert(order.end(), others.begin() + static_cast<std::ptrdiff_t>(inner), others.end());
  return layout(sizes, order);
}

struct Problem {
  ConvShape shape;
  int64_t x_size, w_size, out_size;
  void set_strides(const std::vector<int64_t>& x, const std::vector<int64_t>& w, const std::vector<int64_t>& out) {
    ConvShape& s = shape;
    s.x_group = x[0], s.x_batch = x[1], s.x_channel = x[2];
    s.w_group = w[0], s.w_feature = w[1], s.w_channel = w[2];
    s.out_batch = out[0], s.out_feature = out[1], s.out_group = s.features * out[1];
    for (std::size_t d = 0; d < s.spatial.size(); ++d)
      s.spatial[d].x_stride = x[d + 3], s.spatial[d].w_stride = w[d + 3], s.spatial[d].out_stride = out[d + 2];
  }
};
int64_t size_of(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

Problem random_problem(std::mt19937& bits, bool long_sums) {
  auto upto = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(bits() % static_cast<unsigned>(hi - lo + 1));
  };
  Problem p;
  ConvShape& s = p.shape;
  s.groups = upto(0, 3) == 0 ? upto(2, 3) : 1;
  s.batch = upto(1, 3);
  s.channels = long_sums ? upto(60, 300) : upto(1, 5);
  s.features = upto(1, 20);
  std::vector<int64_t> x{s.groups, s.batch, s.channels}, w{s.groups, s.features, s.channels},
      out{s.batch, s.groups * s.features};
  for (int64_t d = upto(0, 3); d-- > 0;) {
    ConvShape::Spatial q{};
    q.in = upto(1, 7), q.kernel = upto(1, 4), q.stride = upto(1, 3), q.before = upto(-1, 2);
    q.lhs_dilation = upto(1, 2), q.rhs_dilation = upto(1, 2);
    const int64_t padded = (q.in - 1) * q.lhs_dilation + 1 + q.before + upto(0, 2),
                  window = (q.kernel - 1) * q.rhs_dilation + 1;
    q.out = padded < window ? 0 : (padded - window) / q.stride + 1;
    s.spatial.push_back(q);
    x.push_back(q.in), w.push_back(q.kernel), out.push_back(q.out);
  }
  p.x_size = size_of(x), p.w_size = size_of(w), p.out_size = size_of(out);
  p.set_strides(random_layout(x, bits), random_layout(w, bits), random_layout(out, bits));
  return p;
}

bool next(std::vector<int64_t>& index, const std::vector<int64_t>& sizes) {
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

template <class T>
T one_output(const ConvShape& s, const T* x, const T* w, const std::vector<int64_t>& at) {
  std::vector<int64_t> sizes, p(s.spatial.size());
  for (const auto& d : s.spatial) sizes.push_back(d.kernel);
  T total{}, chain{};
  int64_t k = 0;
  do {
    const T *from = x, *by = w;
    bool inside = true;
    for (std::size_t d = 0; d < p.size(); ++d) {
      const auto& q = s.spatial[d];
      const int64_t place = at[d] * q.stride + p[d] * q.rhs_dilation - q.before;
      inside = inside && place >= 0 && place % q.lhs_dilation == 0 && place / q.lhs_dilation < q.in;
      if (inside) from += place / q.lhs_dilation * q.x_stride;
      by += p[d] * q.w_stride;
    }
    for (int64_t c = 0; c < s.channels; ++c, ++k) {
      if (k > 0 && k % 256 == 0) total = k == 256 ? chain : static_cast<T>(total + chain), chain = T{};
      const T value = inside ? from[c * s.x_channel] : T{};
      if constexpr (std::is_floating_point_v<T>) chain = std::fma(value, by[c * s.w_channel], chain);
      else chain += value * by[c * s.w_channel];
    }
  } while (next(p, sizes));
  return k <= 256 ? chain : static_cast<T>(total + chain);
}

template <class T>
std::vector<T> reference(const Problem& p, const T* x, const T* w) {
  const ConvShape& s = p.shape;
  std::vector<T> out(static_cast<std::size_t>(p.out_size));
  if (p.out_size == 0) return out;
  std::vector<int64_t> sizes, at(s.spatial.size());
  for (const auto& d : s.spatial) sizes.push_back(d.out);
  for (int64_t g = 0; g < s.groups; ++g)
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t f = 0; f < s.features; ++f) do {
          int64_t to = g * s.out_group + n * s.out_batch + f * s.out_feature;
          for (std::size_t d = 0; d < at.size(); ++d) to += at[d] * s.spatial[d].out_stride;
          out[static_cast<std::size_t>(to)] =
              one_output(s, x + g * s.x_group + n * s.x_batch, w + g * s.w_group + f * s.w_feature, at);
        } while (next(at, sizes));
  return out;
}

template <class T>
void check(DType dtype, const Problem& p, std::mt19937& bits) {
  std::vector<T> x(static_cast<std::size_t>(p.x_size)), w(static_cast<std::size_t>(p.w_size));
  std::normal_distribution<double> normal;
  for (auto* v : {&x, &w})
    for (T& e : *v) e = std::is_floating_point_v<T> ? static_cast<T>(normal(bits)) : static_cast<T>(bits());
  const std::vector<T> want = reference(p, x.data(), w.data());
  std::vector<T> got(want.size(), T{7});
  const ConvScratch needs = convolution_scratch(dtype, p.shape);
  EXPECT_LE(needs.bytes, most_convolution_scratch(dtype, p.shape));
  const LentScratch scratch(needs.bytes);
  convolution(dtype, p.shape, x.data(), w.data(), got.data(), scratch.data());
  EXPECT_TRUE(scratch.intact());
  EXPECT_TRUE(want.empty() || std::memcmp(got.data(), want.data(), want.size() * sizeof(T)) == 0);
  if (!needs.optional) return;
  std::fill(got.begin(), got.end(), T{7});
  convolution(dtype, p.shape, x.data(), w.data(), got.data(), nullptr);
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(T)), 0);
}

class ConvolutionTest : public testing::Test {
 protected:
  void TearDown() override { set_threads(threads_); }

 private:
  int threads_ = threads();
};

TEST_F(ConvolutionTest, AgreesWithItsMeaning) {
  std::mt19937 bits(1);
  for (int i = 0; i < 400; ++i) {
    SCOPED_TRACE(i);
    set_threads(1 + i % 3);
    const Problem p = random_problem(bits, i % 8 == 0);
    if (i % 4 == 1) check<double>(f64, p, bits);
    else if (i % 4 == 3) check<std::uint32_t>(i32, p, bits);
    else check<float>(f32, p, bits);
  }
}

// The gradient by a weight: few outputs, each a sum over a whole activation, whose batch is the fastest index of k and
// the slowest in memory. It needs no copy of that.
Problem weight_gradient(std::mt19937& bits) {
  auto upto = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(bits() % static_cast<unsigned>(hi - lo + 1));
  };
  Problem p;
  ConvShape& s = p.shape;
  s.groups = upto(1, 2), s.batch = upto(1, 3), s.channels = upto(9, 14), s.features = upto(65, 90);
  int64_t in = s.batch * s.groups, of_w = s.features * s.groups;
  for (int d = 0; d < 2; ++d) {
    ConvShape::Spatial q{};
    q.kernel = upto(18, 24), q.out = upto(1, 3), q.stride = 1, q.before = upto(0, 1);
    q.lhs_dilation = 1, q.rhs_dilation = upto(1, 2);
    q.in = (q.kernel - 1) * q.rhs_dilation + q.out - q.before;
    s.spatial.push_back(q);
  }
  for (int d = 2; d-- > 0;) {
    ConvShape::Spatial& q = s.spatial[static_cast<std::size_t>(d)];
    q.x_stride = in, q.w_stride = of_w,
    q.out_stride = d == 0 ? s.spatial[1].out * s.features * s.groups : s.features * s.groups;
    in *= q.in, of_w *= q.kernel;
  }
  const int64_t spatial_out = s.spatial[0].out * s.spatial[1].out;
  s.x_batch = 1, s.x_group = s.batch, s.x_channel = in;
  s.w_feature = 1, s.w_group = s.features, s.w_channel = of_w;
  s.out_feature = 1, s.out_group = s.features, s.out_batch = spatial_out * s.features * s.groups;
  p.x_size = in * s.channels, p.w_size = of_w * s.channels, p.out_size = s.out_batch * s.batch;
  return p;
}

TEST_F(ConvolutionTest, GradientsByWeightsNeedNoScratch) {
  std::mt19937 bits(4);
  for (int i = 0; i < 9; ++i) {
    SCOPED_TRACE(i);
    set_threads(1 + i % 3);
    const Problem p = weight_gradient(bits);
    ASSERT_TRUE(convolution_scratch(f32, p.shape).optional);
    if (i % 3 == 1) check<double>(f64, p, bits);
    else if (i % 3 == 2) check<std::uint32_t>(i32, p, bits);
    else check<float>(f32, p, bits);
  }
}

// What is read through windows of a box: layouts with channels last, as of values and cotangents of inputs, and those
// of gradients by weights, where the batch is last. Some boxes see a part of k only, some a part of the rows.
Problem windows(std::mt19937& bits, bool of_weight) {
  auto upto = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(bits() % static_cast<unsigned>(hi - lo + 1));
  };
  Problem p;
  ConvShape& s = p.shape;
  s.groups = upto(0, 2) == 0 ? 2 : 1;
  s.batch = of_weight ? upto(3, 40) : upto(1, 3);
  s.channels = upto(0, 3) == 0 ? upto(1, 3) : upto(4, of_weight ? 13 : 70);
  s.features = upto(2, 70);
  std::vector<int64_t> x{s.groups, s.batch, s.channels}, w{s.groups, s.features, s.channels},
      out{s.batch, s.groups * s.features};
  for (int64_t d = upto(1, of_weight ? 2 : 3), n = d; d-- > 0;) {
    ConvShape::Spatial q{};
    q.kernel = of_weight ? upto(5, n == 1 ? 300 : 20) : upto(1, 4);
    q.out = upto(of_weight ? 1 : 3, n == 1 ? 40 : n == 2 ? 14 : 5);
    if (of_weight) q.out = upto(1, 4);
    q.stride = upto(0, 2) ? 1 : 2, q.before = upto(-1, 2), q.lhs_dilation = upto(0, 3) == 0 ? 2 : 1,
    q.rhs_dilation = upto(0, 2) ? 1 : 2;
    const int64_t seen = (q.out - 1) * q.stride + (q.kernel - 1) * q.rhs_dilation + 1;
    q.in = std::max<int64_t>(1, (seen - q.before - upto(0, 2)) / q.lhs_dilation);  // the rest is padding
    s.spatial.push_back(q);
    x.push_back(q.in), w.push_back(q.kernel), out.push_back(q.out);
  }
  p.x_size = size_of(x), p.w_size = size_of(w), p.out_size = size_of(out);
  if (of_weight)
    p.set_strides(layout_around(x, {1, 0, 2}, 2), layout_around(w, {1, 0, 2}, 2), layout_around(out, {1, 0}, 2));
  else
    p.set_strides(layout_around(x, {2, 0, 1}, 2), upto(0, 1) ? layout_around(w, {1, 2, 0}, 3) : random_layout(w, bits),
                  layout_around(out, {1, 0}, 1));
  return p;
}

TEST_F(ConvolutionTest, WindowsAgreeWithTheMeaning) {
  std::mt19937 bits(5);
  int served = 0;  // but for strides that leave most of x out
  for (int i = 0; i < 120; ++i) {
    SCOPED_TRACE(i);
    set_threads(1 + i % 3);
    const Problem p = windows(bits, i % 2 == 0);
    served += cut_windows(p.shape, sizeof(float), threads()).possible();
    if (i % 4 > 1) check<double>(f64, p, bits);
    else check<float>(f32, p, bits);
  }
  EXPECT_GT(served, 60);
}

TEST_F(ConvolutionTest, InstructionSetsDoNotMatter) {
  const Isa best = product_isa();
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (!has_isa(isa)) continue;
    set_product_isa(isa);
    std::mt19937 bits(2);
    for (int i = 0; i < 20; ++i) check<float>(f32, random_problem(bits, i % 2 == 0), bits);
    for (int i = 0; i < 10; ++i) check<double>(f64, windows(bits, i % 2 == 0), bits);
  }
  set_product_isa(best);
}

// A product in parts of whole chains is the product.
TEST(AddProduct, ContinuesASum) {
  std::mt19937 bits(3);
  std::normal_distribution<float> normal;
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{5, 7, 700}, {1, 40, 600}, {40, 1, 600}, {3, 2000, 520}, {60, 33, 1100}}) {
    std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)),
        whole(static_cast<std::size_t>(m * n)), parts = whole;
    for (auto* v : {&a, &b})
      for (float& e : *v) e = normal(bits);
    for (bool turned : {false, true}) {
      const int64_t row = turned ? 1 : n, column = turned ? m : 1;
      product(m, n, k, Matrix<float>{a.data(), k, 1}, Matrix<float>{b.data(), n, 1}, whole.data(), row, column);
      product(m, n, 256, Matrix<float>{a.data(), k, 1}, Matrix<float>{b.data(), n, 1}, parts.data(), row, column);
      add_product(m, n, k - 256, Matrix<float>{a.data() + 256, k, 1}, Matrix<float>{b.data() + 256 * n, n, 1},
                  parts.data(), row, column);
      EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0) << m << " " << n << " " << k;
    }
  }
}

}  // namespace
}  // namespace anew
