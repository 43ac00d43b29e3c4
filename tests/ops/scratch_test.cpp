// Runtime calls allocate nothing: with exactly the scratch that their row's lowering asks for, at any strides, a call
// takes no buffer and no block of more than a few hundred numbers from the heap, leaves the memory around its scratch
// alone, and gives the bits of eager evaluation. Rows that may update an operand in place give the same there.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "control/higher_order.h"
#include "ops/helpers.h"
#include "ops/rows.h"
#include "runtime/buffer.h"
#include "runtime/lent_scratch.h"
#include "runtime/pool.h"
#include "trace/trace.h"

namespace {

// The largest block that any thread asked the heap for since it was last set to 0.
std::atomic<std::size_t> largest_block{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  for (std::size_t most = largest_block.load(); bytes > most && !largest_block.compare_exchange_weak(most, bytes);) {
  }
  const std::size_t size = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  if (void* p = alignment <= 16 ? std::malloc(size) : std::aligned_alloc(alignment, size)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
// All that are used are replaced: where null may be given, too.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace anew {
namespace {

constexpr std::size_t small_block = 4096;  // bookkeeping of a few dimensions, no data

// An array in memory of its own, its axes in any order of strides.
struct Placed {
  Placed(const Array& x, bool turned) : type(x.type()), strides(row_major(x.type().shape)) {
    const Array dense = contiguous(x);
    const std::size_t size = size_of(type.dtype);
    bytes.resize(std::max<std::size_t>(type.bytes(), 8));
    std::vector<std::int64_t> at(static_cast<std::size_t>(type.shape.ndim()));
    if (turned) {
      std::int64_t stride = 1;
      for (int d = 0; d < type.shape.ndim(); stride *= type.shape[d++]) strides[d] = stride;
    }
    for (std::int64_t i = 0; i < type.shape.size(); ++i) {
      std::int64_t to = 0;
      for (int d = 0; d < type.shape.ndim(); ++d) to += at[static_cast<std::size_t>(d)] * strides[d];
      std::memcpy(bytes.data() + static_cast<std::size_t>(to) * size,
                  dense.value()->data() + static_cast<std::size_t>(i) * size, size);
      for (int d = type.shape.ndim(); d-- > 0;) {
        if (++at[static_cast<std::size_t>(d)] < type.shape[d]) break;
        at[static_cast<std::size_t>(d)] = 0;
      }
    }
  }
  ir::Memory memory() { return {bytes.data(), type, strides}; }
  Type type;
  ir::Strides strides;
  std::vector<std::byte> bytes;
};

struct Result {
  Type type;
  std::vector<std::byte> bytes;
  explicit Result(const Type& t) : type(t), bytes(std::max<std::size_t>(t.bytes(), 8)) {}
  bool equals(const Array& x) const {
    const Array dense = contiguous(x);
    return x.type() == type && std::memcmp(bytes.data(), dense.value()->data(), type.bytes()) == 0;
  }
};

// One equation, if it is a runtime call (then 1 is returned). `expected`: what eager evaluation gives.
int check(const Primitive& p, const ParamsRef& params, const Arrays& x, const Arrays& expected) {
  Types in, out;
  for (const Array& a : x) in.push_back(a.type());
  for (const Array& a : expected) out.push_back(a.type());
  const ir::Lowered lowered = p.lower(*params, in, out);
  if (!lowered.call) return 0;
  EXPECT_EQ(lowered.scratch % 64, 0u);
  for (int t : {1, 2})
    for (bool turned : {false, true}) {
      set_threads(t);
      std::vector<Placed> from;
      std::vector<Result> to;
      std::vector<ir::Memory> reads, writes;
      for (const Array& a : x) from.emplace_back(a, turned);
      for (const Type& type : out) to.emplace_back(type);
      for (Placed& f : from) reads.push_back(f.memory());
      for (Result& r : to) writes.push_back({r.bytes.data(), r.type, row_major(r.type.shape)});
      const LentScratch scratch(lowered.scratch);
      for (int round = 0; round < 2; ++round) {  // tables of the process are made in the first
        for (Result& r : to) std::fill(r.bytes.begin(), r.bytes.end(), std::byte{0x77});
        const MemoryMeter meter;
        const std::size_t live = memory_statistics().live_bytes;
        reset_peak();
        largest_block = 0;
        lowered.call(reads, writes, scratch.data());
        const std::size_t largest = largest_block;
        EXPECT_EQ(meter.peak(), 0u);
        EXPECT_EQ(memory_statistics().peak_bytes, live);
        if (round > 0) {
          EXPECT_LE(largest, small_block);
        }
      }
      EXPECT_TRUE(scratch.intact());
      for (std::size_t i = 0; i < to.size(); ++i) EXPECT_TRUE(to[i].equals(expected[i])) << "output " << i;
    }
  if (lowered.in_place < 0) return 1;
  std::vector<Placed> from;
  std::vector<ir::Memory> reads;
  for (const Array& a : x) from.emplace_back(a, false);
  for (Placed& f : from) reads.push_back(f.memory());
  const ir::Memory& same = reads[static_cast<std::size_t>(lowered.in_place)];
  EXPECT_EQ(same.type, out[0]);
  const LentScratch scratch(lowered.scratch);
  lowered.call(reads, std::span(&same, 1), scratch.data());
  Result result(out[0]);
  if (out[0].bytes()) std::memcpy(result.bytes.data(), same.data, out[0].bytes());
  EXPECT_TRUE(result.equals(expected[0])) << "in place";
  return 1;
}

class ScratchTest : public testing::Test {
 protected:
  void TearDown() override { set_threads(initial_); }
  int initial_ = threads();
};

TEST_F(ScratchTest, EverySampleOfEveryCall) {
  int calls = 0;
  for (const Primitive* p : first_order_rows()) {
    if (!p->lower || p->facts.effects || p->facts.runs_user) continue;  // callbacks of the user do as they please
    std::uint64_t seed = 5;
    std::vector<ir::Sample> samples = p->samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      SCOPED_TRACE(p->name + ", sample " + std::to_string(i));
      Arrays x;
      for (const ir::SampleInput& s : samples[i].inputs) {
        std::vector<double> v = test::numbers(s.type.shape.size(), seed++, s.lo, s.hi);
        if (s.diagonal != 0)
          for (std::int64_t k = 0; k < s.type.shape.size(); ++k) {
            const std::int64_t column = k % s.type.shape[-1], row = k / s.type.shape[-1] % s.type.shape[-2];
            if (row == column) v[static_cast<std::size_t>(k)] += s.diagonal * static_cast<double>(row + 1);
          }
        x.push_back(array(v, s.type.shape, s.type.dtype));
      }
      const Arrays y = anew::bind(*p, samples[i].params, x, Location::current());
      calls += check(*p, samples[i].params, x, y);
    }
  }
  EXPECT_GT(calls, 100);
}

// Every equation of f, on arrays that are too large for anything small.
void check_all(const FlatFunction& f, const Arrays& x) {
  const Program program = flat::make_program(f, x);
  const ir::Program& code = *program.code();
  ASSERT_EQ(code.constants, 0);
  std::vector<Array> values(code.types.size());
  for (std::size_t i = 0; i < x.size(); ++i) values[static_cast<std::size_t>(code.inputs[i])] = x[i];
  int calls = 0;
  for (const ir::Eqn& e : code.eqns) {
    SCOPED_TRACE(e.primitive->name);
    Arrays in;
    for (const ir::Atom& a : e.inputs)
      in.push_back(a.is_var() ? values[static_cast<std::size_t>(a.var)] : make_literal(a.literal));
    const Arrays out = anew::bind(*e.primitive, e.params, in, Location::current());
    for (std::size_t i = 0; i < out.size(); ++i) values[static_cast<std::size_t>(e.outputs[i])] = out[i];
    if (e.primitive->lower && !e.primitive->view) calls += check(*e.primitive, e.params, in, out);
  }
  EXPECT_GE(calls, 1);
}

TEST_F(ScratchTest, Products) {
  const auto matmuls = [](std::span<const Array> x) { return Arrays{matmul(x[0], x[1])}; };
  for (DType d : {f32, f64, i32}) {
    check_all(matmuls, {test::filled({310, 300}, 1, d), test::filled({300, 290}, 2, d)});
    check_all(matmuls, {test::filled({6, 70, 90}, 1, d), test::filled({6, 90, 80}, 2, d)});
    check_all(matmuls, {test::filled({3, 2000}, 1, d), test::filled({2000, 500}, 2, d)});
  }
  check_all(matmuls, {test::filled({800, 700}, 1, f32), test::filled({700, 600}, 2, f32)});
  check_all(matmuls, {test::filled({5, 600, 600}, 1, f32), test::filled({5, 600, 500}, 2, f32)});
  check_all([](std::span<const Array> x) { return Arrays{einsum("abij,bajk->ik", x[0], x[1])}; },
            {test::filled({30, 20, 40, 5}, 1, f32), test::filled({20, 30, 5, 90}, 2, f32)});
}

TEST_F(ScratchTest, Convolutions) {
  for (DType d : {f32, f64, i32})
    check_all([](std::span<const Array> x) { return Arrays{lax::conv_general_dilated(x[0], x[1], {1, 1}, "SAME")}; },
              {test::filled({2, 40, 30, 28}, 1, d), test::filled({70, 40, 3, 3}, 2, d)});
}

TEST_F(ScratchTest, Sorts) {
  for (const Shape& s : {Shape{100000}, Shape{3, 50000}, Shape{50000, 3}, Shape{300, 200}}) {
    const Array x = test::filled(s, 1, f32);
    check_all([](std::span<const Array> x) { return Arrays{sort(x[0], 0)}; }, {x});
    check_all([](std::span<const Array> x) { return Arrays{top_k(x[0], 3).first}; }, {x});
    check_all([](std::span<const Array> x) { return lax::sort({x[0], x[1], x[0]}, 0, 2); }, {x, astype(x * 5, i32)});
  }
}

TEST_F(ScratchTest, Transforms) {
  for (DType d : {f32, f64})
    for (const Shape& s : {Shape{20000}, Shape{9, 10007}, Shape{200, 96}}) {
      const Array x = test::filled(s, 1, d), y = test::filled(s, 2, d);
      check_all(
          [](std::span<const Array> x) {
            return anew::bind(*find_row("fft"), ir::no_params(), x, Location::current());
          },
          {x, y});
      check_all(
          [](std::span<const Array> x) {
            return anew::bind(*find_row("rfft"), ir::no_params(), x, Location::current());
          },
          {x});
    }
}

TEST_F(ScratchTest, Factors) {
  for (DType d : {f32, f64})
    for (const Shape& s : {Shape{250, 250}, Shape{10, 40, 40}, Shape{11, 300, 300}}) {
      const std::int64_t n = s[-1];
      const Array a = test::filled(s, 1, d) + 40 * eye(n, d), b = test::filled(s, 2, d);
      check_all([](std::span<const Array> x) { return Arrays{linalg::cholesky(x[0])}; }, {a});
      check_all([](std::span<const Array> x) { return Arrays{linalg::solve(x[0], x[1])}; }, {a, b});
      check_all([](std::span<const Array> x) { return Arrays{std::get<0>(lax::lu(x[0]))}; }, {a});
      check_all([](std::span<const Array> x) { return Arrays{lax::triangular_solve(x[0], x[1], {})}; }, {a, b});
      if (n == 300) break;
      check_all([](std::span<const Array> x) { return Arrays{linalg::qr(x[0]).first}; }, {a});
      check_all([](std::span<const Array> x) { return Arrays{linalg::eigh(x[0]).first}; }, {a});
      check_all([](std::span<const Array> x) { return Arrays{std::get<0>(linalg::svd(x[0]))}; }, {a});
    }
}

TEST_F(ScratchTest, Places) {
  const Array x = test::filled({3000, 40}, 1, f32), i = astype(test::filled({5000}, 2, f64, 0, 3000), i32);
  const Array u = test::filled({5000, 40}, 3, f32);
  check_all([](std::span<const Array> x) { return Arrays{take(x[0], x[1], 0)}; }, {x, i});
  check_all(
      [](std::span<const Array> x) {
        return Arrays{lax::scatter_add(x[0], expand_dims(x[1], 1), x[2], {{1}, {0}, {0}})};
      },
      {x, i, u});
  check_all([](std::span<const Array> x) { return Arrays{cumsum(x[0], 0)}; }, {x});
}

}  // namespace
}  // namespace anew
