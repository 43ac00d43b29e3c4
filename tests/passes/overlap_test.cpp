// Calls in two halves: when they are begun and finished, seen in the order of steps. The row here doubles its operand
// in the time between the two.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "passes/lowered.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::overlap_test {
namespace {

void doubled(const ir::Memory& x, const ir::Memory& y) {
  for (std::int64_t i = 0; i < x.type.shape.size(); ++i)
    reinterpret_cast<float*>(y.data)[i] = 2 * reinterpret_cast<const float*>(x.data)[i];
}
std::set<const void*> flying;  // what is in flight stays where it is
const Primitive& later_row() {
  static const Primitive& row = *new Primitive{
      .name = "later",
      .infer = [](const ir::InferArgs& a) { return Types{a.in[0]}; },
      .lower =
          [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
            ir::Lowered::Halves h;
            h.start = [](auto x, auto flight, std::byte*) {
              doubled(x[0], flight[0]);
              flying.insert(flight[0].data);
            };
            h.finish = [](auto flight, auto y, std::byte*) {
              EXPECT_EQ(flying.erase(flight[0].data), 1);
              if (y[0].data != flight[0].data) std::memcpy(y[0].data, flight[0].data, y[0].type.bytes());
            };
            h.flight = {in[0]};
            h.in_place = true;
            ir::Lowered l;
            l.call = [](auto x, auto y, std::byte*) { doubled(x[0], y[0]); };
            l.halves = std::make_shared<const ir::Lowered::Halves>(std::move(h));
            return l;
          },
      .facts = {.effects = true},
  };
  return row;
}
Array later(const Array& x) { return bind1(later_row(), ir::no_params(), {x}, Location::current()); }

// One letter for each step: products, starts, finishes, whole calls; kernels are left out.
std::string letters(const passes::Body& body) {
  std::string out;
  for (const passes::Step& s : body.steps)
    if (auto* call = s.as<passes::Call>()) {
      const bool ours = s.primitive == &later_row();
      using Half = passes::Call::Half;
      out += !ours ? 'p' : call->half == Half::start ? 's' : call->half == Half::finish ? 'f' : 'w';
    }
  return out;
}
template <class F>
std::string steps_of(F f, const Array& x) {
  const Program p = make_program(f)(x);
  std::vector<ir::Strides> layout{row_major(x.shape())};
  const auto body = passes::lower(*p.code(), layout);
  passes::overlap(*body);
  passes::verify(*body);
  const std::string before = letters(*body);
  passes::order(*body);
  passes::hasten(*body);
  passes::verify(*body);
  EXPECT_EQ(letters(*body), before);
  EXPECT_TRUE(array_equal(jit(f)(x), f(x)));
  return before;
}
Array chain(Array x, int n, std::vector<Array>& all) {
  for (int i = 0; i < n; ++i) all.push_back(x = tanh(matmul(x, x)));
  return x;
}
Array total(const std::vector<Array>& all) {
  Array sum = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) sum = sum + all[i];
  return sum;
}

const Array x = test::fill({8, 8}, 1, f32);

TEST(Overlap, StartsBehindWhatMakesTheOperand) {
  auto one = [](int n) {
    return [n](Array x) {
      std::vector<Array> y;
      chain(x, n, y);
      for (Array& a : y) a = later(a);
      return total(y);
    };
  };
  EXPECT_EQ(steps_of(one(1), x), "pw");  // there is nothing that could run meanwhile
  EXPECT_EQ(steps_of(one(2), x), "pspsff");
  EXPECT_EQ(steps_of(one(3), x), "pspspsfff");
}
TEST(Overlap, FewAreInFlight) {
  auto many = [](Array x) {
    std::vector<Array> y;
    chain(x, 6, y);
    for (Array& a : y) a = later(a);
    return total(y);
  };
  EXPECT_EQ(steps_of(many, x), "pspspspfspfspfsfff");
}
TEST(Overlap, FinishedForWhoReadsIt) {
  auto f = [](Array x) {
    const Array a = tanh(x), b = matmul(x, x), c = later(a);
    const Array d = matmul(c, b);
    return d + later(b);
  };
  EXPECT_EQ(steps_of(f, x), "spsfpf");
}
TEST(Overlap, OfOneAnother) {
  auto f = [](Array x) { return later(later(tanh(x)) + 1); };
  EXPECT_EQ(steps_of(f, x), "ww");
}
TEST(Overlap, OtherEffectsKeepTheirPlace) {
  auto f = [](Array x) {
    const Array a = tanh(x), b = matmul(x, x);
    debug::callback([](Array) {}, b);
    return later(a) + b;
  };
  const std::string steps = steps_of(f, x);
  EXPECT_EQ(steps, "ppw");  // the second one is the callback
}
// Bytes that wait while others are computed are what a budget with a folder moves there; not these.
TEST(Overlap, NothingInFlightGoesToAFile) {
  const Array x = test::fill({640, 640}, 1, f32) * 0.05;
  auto f = [](Array x) {
    const Array early = tanh(x);
    Array y = x;
    std::vector<Array> all;
    for (int i = 0; i < 6; ++i) all.push_back(y = sin(matmul(y, y)));
    for (std::size_t i = all.size(); i-- > 0;) y = matmul(y, all[i]);  // as a backward pass reads them
    const Array a = later(early), b = later(early + 1);
    return y + a * b;
  };
  const std::string folder = std::filesystem::temp_directory_path().string();
  const Array want = f(x);
  for (const BudgetPoint& p : jit(f, {.disk = folder}).budget_curve(x)) {
    auto compiled = jit(f, {.memory_budget = p.peak_bytes, .disk = folder}).compile(x);
    EXPECT_TRUE(array_equal(compiled(x), want)) << p.peak_bytes;
    EXPECT_EQ(compiled.high_water_bytes(), compiled.plan().peak_bytes);
  }
}
TEST(Overlap, InsideOfLoops) {
  auto f = [](Array x) {
    auto body = [](Array c, Array) {
      const Array a = tanh(c), b = matmul(c, c);
      return std::pair(later(a) + later(b), none);
    };
    return scan(body, x, zeros({3})).first;
  };
  auto compiled = jit(f).compile(x);
  EXPECT_TRUE(array_equal(compiled(x), f(x)));
  EXPECT_EQ(compiled.high_water_bytes(), compiled.plan().peak_bytes);
}

}  // namespace
}  // namespace anew::overlap_test
