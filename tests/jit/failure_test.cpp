// Memory that runs out: at every allocation of compiling and calling, in ten programs. Arrays and arenas fail in both
// backends; every other allocation (operator new of this binary) fails with the interpreter only, since LLVM ends the
// process when it gets no memory. Afterwards nothing is left behind, and the same call works.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "jit/compiled_program.h"
#include "runtime/buffer.h"
#include "support/support.h"

namespace {
thread_local std::int64_t allocations_left = -1;  // -1: no end
void* allocate_or_fail(std::size_t size, std::size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  void* p = alignment <= alignof(std::max_align_t)
                ? std::malloc(size ? size : 1)
                : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // sees malloc and free through the operators
#endif
void* operator new(std::size_t size) { return allocate_or_fail(size, 1); }
void* operator new[](std::size_t size) { return allocate_or_fail(size, 1); }
void* operator new(std::size_t size, std::align_val_t a) { return allocate_or_fail(size, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t size, std::align_val_t a) {
  return allocate_or_fail(size, static_cast<std::size_t>(a));
}
// Those that give null call the ones above, but not in every library: all of them are replaced, or none.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocations_left >= 0 && allocations_left-- == 0 ? nullptr : std::malloc(size ? size : 1);
}
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  const auto alignment = static_cast<std::size_t>(a);
  if (allocations_left >= 0 && allocations_left-- == 0) return nullptr;
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace anew {
namespace {

struct Scenario {
  const char* name;
  FlatFunction f;
  std::vector<ShapeDtype> types;
};

Array loss(std::span<const Array> x) {
  Array h = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) h = tanh(matmul(h, x[i]));
  return mean(square(h));
}
FlatFunction gradient(FlatFunction f) {
  return [f = std::move(f)](std::span<const Array> x) {
    auto [y, linear] = flat::linearize(f, x);
    Arrays ct;
    for (const Array& a : y) ct.push_back(ones(a.shape(), a.dtype()));
    return linear.pullback(ct);
  };
}
FlatFunction one(Array (*f)(std::span<const Array>)) {
  return [f](std::span<const Array> x) { return Arrays{f(x)}; };
}

const std::vector<Scenario>& scenarios() {
  using Xs = std::span<const Array>;
  static const std::vector<Scenario> all{
      {"Elementwise", one([](Xs x) { return sin(x[0]) * x[0] + 1; }), {{{40}, f32}}},
      {"Reduction", one([](Xs x) { return sum(exp(x[0]), 0); }), {{{20, 30}, f64}}},
      {"Gradient", gradient(one(loss)), {{{4, 6}, f32}, {{6, 6}, f32}, {{6, 6}, f32}}},
      {"Checkpoint",
       gradient([](Xs x) { return flat::checkpoint(one(loss), x, checkpoint_policies::nothing_saveable); }),
       {{{4, 6}, f32}, {{6, 6}, f32}}},
      {"Scan",
       gradient([](Xs x) {
         return flat::scan(
                    [&](Xs c, Xs row) {
                      Array n = tanh(matmul(c[0], x[1]) + row[0]);
                      return flat::ScanResult{{n}, {}};
                    },
                    {zeros({2, 5})}, {x[0]})
             .carry;
       }),
       {{{7, 2, 5}, f32}, {{5, 5}, f32}}},
      {"FewStates",
       gradient([](Xs x) {
         return flat::scan([](Xs c, Xs row) { return flat::ScanResult{{sin(c[0]) + row[0]}, {}}; }, {x[1]}, {x[0]},
                           {.checkpoints = 2})
             .carry;
       }),
       {{{9, 5}, f32}, {{5}, f32}}},
      {"While",
       gradient([](Xs x) {
         return flat::while_loop([](Xs c) { return sum(c[0]) < 50; }, [](Xs c) { return Arrays{c[0] * 1.5f + 1}; },
                                 {x[0]});
       }),
       {{{5}, f32}}},
      {"Cond",
       gradient([](Xs x) {
         return flat::cond(
             sum(x[0]) > 0, [](Xs y) { return Arrays{sin(y[0])}; }, [](Xs y) { return Arrays{y[0] * y[0]}; }, x);
       }),
       {{{5}, f32}}},
      {"Solve", one([](Xs x) { return linalg::solve(x[0] + 4 * eye(4), x[1]); }), {{{4, 4}, f64}, {{4}, f64}}},
      {"Sort", one([](Xs x) { return concatenate({sort(x[0]), flip(x[0])}); }), {{{50}, f32}}},
  };
  return all;
}

class Failure : public testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    for (const ShapeDtype& t : GetParam().types)
      x_.push_back(astype(random::normal(random::key(static_cast<std::int64_t>(x_.size())), t.shape), t.dtype));
    want_ = GetParam().f(x_);
    ASSERT_TRUE(test::same_bits(want_, want_));  // arrays keep the row-major copy that comparing makes
  }
  // Compiles anew and calls twice.
  Arrays once() const {
    compiled::clear_compiled();
    flat::Compiled c = flat::compile(GetParam().f, x_);
    (void)c(x_);
    return c(x_);
  }
  // `arm(n)` makes allocation n fail and `disarm` says whether it came to that.
  template <class Arm, class Disarm>
  void at_every_allocation(Arm arm, Disarm disarm, std::int64_t most) {
    (void)once();  // with the backend of the test: what stays for good (caches of threads) is there
    compiled::clear_compiled();
    const std::size_t live = memory_statistics().live_bytes;
    std::int64_t failures = 0;
    // All of the first, then with growing steps: compiling allocates thousands of times.
    for (std::int64_t n = 0;; n += n < most ? 1 : 1 + n / 50) {
      bool failed = false;
      Arrays got;
      arm(n);
      try {
        got = once();
      } catch (const std::bad_alloc&) {
        failed = true;
      } catch (const Error&) {
        failed = true;
      }
      const bool reached = disarm(failed);
      ASSERT_TRUE(reached || !failed) << "allocation " << n;
      // std::stable_sort does without the memory it cannot get.
      if (!failed) {
        ASSERT_TRUE(test::same_bits(got, want_)) << "allocation " << n;
      }
      got.clear();
      compiled::clear_compiled();
      ASSERT_EQ(memory_statistics().live_bytes, live) << "left behind after allocation " << n;
      if (!reached) break;
      ++failures;
    }
    EXPECT_GT(failures, 0);
    EXPECT_TRUE(test::same_bits(once(), want_)) << "usable afterwards";
  }

  Arrays x_, want_;
};

TEST_P(Failure, OfArraysAndArenas) {
  for (compiled::Backend b : {compiled::Backend::interpreter, compiled::Backend::machine_code}) {
    const compiled::Backend before = compiled::backend();
    compiled::set_backend(b);
    at_every_allocation([](std::int64_t n) { fail_allocation_after(n + 1); },
                        [](bool failed) {
                          fail_allocation_after(-1);
                          return failed;
                        },
                        1000);
    compiled::set_backend(before);
  }
}

TEST_P(Failure, OfAnyAllocation) {
  const compiled::Backend before = compiled::backend();
  compiled::set_backend(compiled::Backend::interpreter);
  at_every_allocation([](std::int64_t n) { allocations_left = n; },
                      [](bool) { return std::exchange(allocations_left, -1) < 0; }, 200);
  compiled::set_backend(before);
}

// A thread that only lets go of arrays of others: destructors cannot say that memory has run out.
TEST(FailureOnAnotherThread, ArraysGoWithoutMemory) {
  Arrays x{sin(ones(3)), array(2.0), ones({2, 2})[0]};
  std::thread([&x] {
    allocations_left = 0;
    x.clear();
    allocations_left = -1;
  }).join();
  EXPECT_TRUE(x.empty());
}

INSTANTIATE_TEST_SUITE_P(All, Failure, testing::ValuesIn(scenarios()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anew
