// Memory for the operands of a kernel under test: random strides (permuted, padded, reversed), random or special
// values, and comparison of results bit for bit, where a nan equals a nan.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "loops/build.h"
#include "reference.h"
#include "support/guarded.h"

namespace anew::loops::test {

using Random = std::mt19937_64;
inline std::int64_t uniform(Random& g, std::int64_t lo, std::int64_t hi) {
  return std::uniform_int_distribution<std::int64_t>(lo, hi)(g);
}
template <class T>
const T& pick(Random& g, const std::vector<T>& x) {
  return x[static_cast<std::size_t>(uniform(g, 0, std::ssize(x) - 1))];
}

struct Tensor {
  ShapeDtype type;
  std::vector<std::int64_t> strides;
  std::int64_t origin = 0;                     // of element 0, in elements
  anew::test::GuardedVector<std::byte> bytes;  // up to the last element

  Tensor(const ShapeDtype& t, Random& g, bool plain) : type(t) {
    std::vector<int> order(static_cast<std::size_t>(t.shape.ndim()));
    std::iota(order.begin(), order.end(), 0);
    if (!plain) std::shuffle(order.begin(), order.end(), g);
    strides.resize(order.size());
    std::int64_t size = 1, last = 0;
    for (std::size_t k = order.size(); k-- > 0;) {
      const int d = order[k];
      const bool reversed = !plain && uniform(g, 0, 5) == 0;
      strides[static_cast<std::size_t>(d)] = reversed ? -size : size;
      const std::int64_t length = size * std::max<std::int64_t>(t.shape[d] - 1, 0);
      last += length;
      if (reversed) origin += length;
      size *= std::max<std::int64_t>(t.shape[d], 1);
      if (!plain && uniform(g, 0, 2) == 0) size += uniform(g, 0, 3);
    }
    using Memory = anew::test::GuardedAllocator<std::byte>;
    bytes = decltype(bytes)(static_cast<std::size_t>(last + 1) * size_of(t.dtype),
                            Memory(origin ? anew::test::Side::begin : anew::test::Side::end));
  }
  Operand operand() { return {bytes.data() + origin * static_cast<std::int64_t>(size_of(type.dtype)), strides.data()}; }

  // Numbers of moderate size with some special ones among them.
  void randomize(Random& g) {
    const std::size_t size = size_of(type.dtype);
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      reference::Bits b = 0;
      const std::int64_t kind = uniform(g, 0, 40);
      if (type.dtype == bool_) b = static_cast<reference::Bits>(kind & 1);
      else if (is_float(type.dtype)) {
        static const std::vector<double> special = {0.0,     -0.0, INFINITY, -INFINITY, NAN, 1e-42,
                                                    -1e-310, 3e38, 1.0,      -1.0,      0.5};
        const double x = kind < 2 ? pick(g, special) : std::normal_distribution<double>(0, kind < 6 ? 1e5 : 2)(g);
        b = reference::converted(f64, reference::of(x), type.dtype);
      } else {
        b = kind < 4    ? pick(g, std::vector<reference::Bits>{0, ~0ull, 0x80000000ull, 1ull << 63})
            : kind < 12 ? g()
                        : static_cast<reference::Bits>(uniform(g, -9, 9));
      }
      std::memcpy(&bytes[at], &b, size);
    }
  }
};

// Bytes equal, or both nan.
inline bool same(const Tensor& a, const Tensor& b, std::string& why) {
  const std::size_t size = size_of(a.type.dtype);
  for (std::size_t at = 0; at < a.bytes.size(); at += size) {
    reference::Bits x = 0, y = 0;
    std::memcpy(&x, &a.bytes[at], size);
    std::memcpy(&y, &b.bytes[at], size);
    if (x == y) continue;
    auto is_nan = [&](reference::Bits v) { return reference::visit(a.type.dtype, v, [](auto n) { return n != n; }); };
    if (is_float(a.type.dtype) && is_nan(x) && is_nan(y)) continue;
    why = fmt::format("element {} of memory: {:#x} instead of {:#x}", at / size, x, y);
    return false;
  }
  return true;
}

// Runs the kernel in one piece, in pieces of random size in random order, and by the reference.
inline void check(const Kernel& k, Random& g, bool plain) {
  std::vector<Tensor> memory;
  for (const ShapeDtype& t : k.operands) memory.emplace_back(t, g, plain);
  for (Tensor& t : memory) t.randomize(g);
  std::vector<Tensor> whole = memory, pieces = memory;
  auto operands = [](std::vector<Tensor>& tensors) {
    std::vector<Operand> o;
    for (Tensor& t : tensors) o.push_back(t.operand());
    return o;
  };
  const Bytecode code(k);
  reference::run(k, operands(memory));
  run(code, operands(whole));
  const Schedule& p = code.schedule();
  anew::test::GuardedVector<std::uint64_t> scratch((p.scratch + 7) / 8, 0xabababababababab);
  std::vector<Range> ranges;
  for (std::int64_t at = 0; at < p.units;) {
    const std::int64_t n = std::min(p.units - at, uniform(g, 1, std::max<std::int64_t>(1, p.units / 2)));
    ranges.push_back({at, at + n});
    at += n;
  }
  std::shuffle(ranges.begin(), ranges.end(), g);
  const auto split = operands(pieces);
  for (Range r : ranges) run(code, split, r, scratch.data());
  finish(code, split, scratch.data());
  for (std::size_t o = 0; o < memory.size(); ++o) {
    std::string why;
    ASSERT_TRUE(same(whole[o], memory[o], why)) << "in one piece, operand #" << o << ": " << why << "\n" << k.str();
    ASSERT_TRUE(same(pieces[o], memory[o], why)) << "in pieces, operand #" << o << ": " << why << "\n" << k.str();
  }
}

}  // namespace anew::loops::test
