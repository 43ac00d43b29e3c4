// Fusion of random programs of elementwise operations, views, reductions and products: the laws of fuse_support.h.
#include "passes/fuse_support.h"
#include "support/random.h"

namespace anew::test {
namespace {

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}

  Arrays inputs() {
    Arrays x;
    for (const Shape& s : {Shape{2, 3, 4}, Shape{6, 4}, Shape{24}, Shape{4}, Shape{}})
      x.push_back(random_.array({s, f32}));
    return x;
  }

  Arrays write(std::span<const Array> in) {
    values_.assign(in.begin(), in.end());
    const int steps = 3 + pick(25);
    for (int i = 0; i < steps; ++i) values_.push_back(step());
    Arrays out{values_.back()};
    for (int i = pick(3); i > 0; --i) out.push_back(any());
    return out;
  }

 private:
  int pick(int n) { return static_cast<int>(random_.bits() % static_cast<std::uint64_t>(n)); }
  // Recent values more often: chains.
  const Array& any() {
    const int n = static_cast<int>(values_.size());
    return values_[static_cast<std::size_t>(pick(2) ? pick(n) : n - 1 - pick(std::min(n, 3)))];
  }
  static Shape shape_of(const Array& x) { return type_of(x).shape; }

  Array step() {
    Array x = any();
    switch (pick(16)) {
      case 0: return tanh(x);
      case 1: return x * 0.5 + 0.25;
      case 2: return -x;
      case 3: return where(x > 0.0, x, 0.1 * x);
      case 4:
      case 5:
      case 6: return binary(x);
      case 7: return transposed(x);
      case 8: return reshaped(x);
      case 9: return reversed(x);
      case 10: return sliced(x);
      case 11: return reduced(x);
      case 12: return broadcast(x);
      case 13: return joined(x);
      case 14: return astype(astype(x, bf16) * astype(x, bf16), f32);
      default: return pick(3) ? numbers(x) : product(x);
    }
  }

  Array binary(const Array& x) {
    Arrays same;
    for (const Array& y : values_)
      if (shape_of(y) == shape_of(x) || shape_of(y).ndim() == 0) same.push_back(y);
    const Array& y = same[static_cast<std::size_t>(pick(static_cast<int>(same.size())))];
    switch (pick(3)) {
      case 0: return x + y;
      case 1: return x - y * x;
      default: return maximum(x, y) * 0.5;
    }
  }
  Array transposed(const Array& x) {
    std::vector<int> order;
    for (int i = 0; i < shape_of(x).ndim(); ++i) order.insert(order.begin() + pick(i + 1), i);
    return transpose(x, order);
  }
  Array reshaped(const Array& x) {
    Shape s = shape_of(x);
    if (s.size() == 24) {
      const Shape choices[] = {{2, 3, 4}, {6, 4}, {24}, {4, 6}, {2, 12}, {3, 8}, {4, 1, 6}, {2, 2, 3, 2}};
      return reshape(x, choices[pick(8)]);
    }
    if (pick(2)) return ravel(x);
    s.insert(pick(s.ndim() + 1), 1);
    return s.ndim() > 5 ? x : reshape(x, s);
  }
  Array reversed(const Array& x) {
    if (shape_of(x).ndim() == 0) return x;
    return lax::rev(x, {pick(shape_of(x).ndim())});
  }
  Array sliced(const Array& x) {
    const Shape s = shape_of(x);
    Shape start, limit, stride;
    for (int i = 0; i < s.ndim(); ++i) {
      start.push_back(s[i] > 1 ? pick(2) : 0);
      limit.push_back(s[i] > 2 ? s[i] - pick(2) : s[i]);
      stride.push_back(1 + (pick(4) == 0));
    }
    return lax::slice(x, start, limit, stride);
  }
  Array reduced(const Array& x) {
    if (shape_of(x).ndim() == 0) return x;
    const int axis = pick(shape_of(x).ndim());
    const bool keep = pick(2);
    switch (pick(4)) {
      case 0: return max(x, axis, keep);
      case 1: return sum(x);
      case 2: return sum(x * x, axis, keep);
      default: return sum(x, axis, keep);
    }
  }
  Array broadcast(const Array& x) {
    Shape s = shape_of(x);
    if (s.size() > 100 || s.ndim() > 4) return x;
    s.insert(0, 1 + pick(3));
    return broadcast_to(x, s);
  }
  Array joined(const Array& x) {
    const Shape s = shape_of(x);
    if (s.ndim() == 0 || s.size() > 200) return x;
    const int axis = pick(s.ndim());
    if (pick(2)) return roll(x, 1 + pick(3), axis);
    if (pick(2)) return concatenate({x, x * 2.0}, axis);
    std::vector<std::pair<std::int64_t, std::int64_t>> widths;
    for (int i = 0; i < s.ndim(); ++i) widths.emplace_back(pick(2), pick(2));
    return pad(x, widths, 0.5);
  }
  Array numbers(const Array& x) {
    const Shape s = shape_of(x);
    if (s.ndim() == 0) return x;
    return x + lax::iota(s, pick(s.ndim()), f32) * full(s, 0.125, f32);
  }
  Array product(const Array& x) {
    if (shape_of(x).ndim() != 2) return x;
    return matmul(x, transpose(x));
  }

  Random random_;
  Arrays values_;
};

TEST(Fuse, RandomProgramsKeepTheirBits) {
  for (std::uint64_t seed = 0; seed < repeats(3000) && !testing::Test::HasFailure(); ++seed) {
    Writer writer(seed);
    const Arrays x = writer.inputs();
    const Program program = flat::make_program([&](std::span<const Array> in) { return writer.write(in); }, x);
    expect_same(program, x, fmt::format("seed {}", seed));
  }
}

}  // namespace
}  // namespace anew::test
