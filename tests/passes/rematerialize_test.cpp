// Plans for budgets as Bodies: whole, with the steps they should have.
#include "passes/rematerialize.h"

#include <gtest/gtest.h>

#include "ir/program.h"
#include "support/plan_laws.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew {
namespace {

using passes::BudgetPlans;

// A Program, how its inputs lie, and the plans of both.
struct Subject {
  template <class F>
  Subject(F f, const Array& x, std::string disk = {}) : program(make_program(f)(x)) {
    for (const ir::Type& t : program.code()->input_types()) inputs.push_back(row_major(t.shape));
    plans.emplace(*program.code(), inputs, std::span<const int>{}, std::move(disk));
  }
  Program program;
  std::vector<ir::Strides> inputs;
  std::optional<BudgetPlans> plans;
};

Array deep(Array x) {
  for (int i = 0; i < 8; ++i) x = sin(matmul(x, x) * 0.1);
  return sum(x);
}
// Parts of one storage are written by several steps.
Array in_parts(Array x) {
  const std::int64_t n = x.shape()[0];
  for (int i = 0; i < 4; ++i) {
    Array y = matmul(x, x);
    x = concatenate({y[{Slice(0, n / 2)}], sin(x)[{Slice(n / 2, n)}]}, 0);
    x = tanh(matmul(x, y) * 0.1);
  }
  return sum(x);
}
Array looped(Array x) {
  for (int i = 0; i < 4; ++i) {
    x = sin(matmul(x, x) * 0.1);
    x = scan([](Array c, none_t) { return std::pair(cos(c), none); }, x, none, {.length = 3}).first;
  }
  return sum(x);
}

// The first step that writes a part reads what the second need not; so does a loop with several carries.
Array of_parts(Array x) {
  for (int i = 0; i < 4; ++i) {
    x = concatenate({sum(matmul(x, x), 0, true), cos(x)[{Slice(1, 32)}]}, 0);
    auto step = [](std::pair<Array, Array> c, none_t) { return std::pair(std::pair(c.second, sin(c.first)), none); };
    auto [y, z] = scan(step, std::pair(x * 2, cos(x)), none, {.length = 3}).first;
    x = tanh(matmul(y, z) * 0.1);
  }
  return sum(x);
}

std::size_t steps_in(const passes::Body& b) { return b.steps.size(); }

TEST(Rematerialize, PlansAreWholeBodies) {
  for (auto f : {deep, in_parts, looped, of_parts}) {
    Subject subject(grad(f), ones({32, 32}));
    BudgetPlans& plans = *subject.plans;
    ASSERT_GT(plans.size(), 2u);
    EXPECT_EQ(test::below_least_bytes(*subject.program.code(), subject.inputs), "");
    passes::BudgetChoices choices(*subject.program.code(), subject.inputs, {});
    EXPECT_EQ(test::above_a_plan(choices), "");
    EXPECT_EQ(test::other_time(choices), "");
    for (std::size_t i = 0; i < plans.size(); ++i) {
      passes::verify(*plans.body(i));
      if (i > 0) {
        EXPECT_GE(plans.time(i), plans.time(i - 1));
      }
      EXPECT_EQ(steps_in(*plans.body(i)) > steps_in(*plans.body(1)), !plans.repeats(i).empty()) << i;
    }
    const std::size_t smallest = plans.bytes(plans.smallest());
    EXPECT_LT(smallest, plans.bytes(0));
    EXPECT_FALSE(plans.first_within(smallest - 1));
    EXPECT_EQ(plans.bytes(*plans.first_within(smallest)), smallest);
    EXPECT_EQ(plans.first_within(plans.bytes(0)), 0u);
  }
}

// What lies in a file is moved there once, behind its maker, and back as often as it is fetched.
TEST(Rematerialize, PlansWithAFolderMoveValues) {
  for (auto f : {deep, in_parts, looped}) {
    Subject memory(grad(f), ones({512, 512})), disk(grad(f), ones({512, 512}), "there");
    BudgetPlans& plans = *disk.plans;
    bool moved = false;
    for (std::size_t i = 1; i < plans.size(); ++i) {
      const passes::Body& body = *plans.body(i);
      passes::verify(body);
      EXPECT_LE(plans.least_bytes(i), plans.bytes(i));
      EXPECT_GE(plans.time(i), plans.time(i - 1));
      std::map<passes::StorageId, int> out;
      for (const passes::Step& s : body.steps) {
        const auto* call = s.as<passes::Call>();
        if (!call || call->moves == passes::Call::Moves::no) continue;
        const bool there = call->moves == passes::Call::Moves::out;
        const passes::ValueId file = there ? s.out[0] : s.in[0];
        EXPECT_EQ(body.storage_of(file).kind, passes::Storage::Kind::disk);
        EXPECT_EQ(body.storage_of(file).folder, "there");
        EXPECT_EQ(out[body.values[file].storage] += there, 1);
        moved = true;
      }
    }
    EXPECT_TRUE(moved);
    EXPECT_LE(plans.bytes(plans.smallest()), memory.plans->bytes(memory.plans->smallest()));
  }
}

TEST(Rematerialize, BoundsFallWithTheBudget) {
  Subject subject(grad(deep), ones({32, 32}));
  BudgetPlans& plans = *subject.plans;
  double last = 1e9;
  for (std::size_t bytes = plans.bytes(plans.smallest()); bytes < plans.bytes(0); bytes += 4096) {
    const std::size_t plan = *plans.first_within(bytes);
    EXPECT_LE(plans.extra_time_bound(bytes), plans.time(plan) * (1 + 1e-9));
    EXPECT_LE(plans.extra_time_bound(bytes), last * (1 + 1e-9));
    last = plans.extra_time_bound(bytes);
  }
}

double time_of_one_step(const FlatFunction& f, const Array& x) {
  const Program p = flat::make_program(f, Arrays{x});
  std::vector<ir::Strides> inputs{row_major(x.shape())};
  auto planned = passes::plan_program(*p.code(), inputs, {}, true);
  EXPECT_EQ(planned.steps->steps.size(), 1u);
  return passes::modelled_time(*planned.steps, planned.steps->steps[0]);
}

// Products by their flops, kernels by their instructions or the way from memory.
TEST(Rematerialize, TimesAreModelled) {
  using In = std::span<const Array>;
  const double product = 2 * 512.0 * 512 * 512 / 100e9;
  auto square = [](In x) { return Arrays{matmul(x[0], x[0])}; };
  EXPECT_NEAR(time_of_one_step(square, ones({512, 512})), 0.2e-6 + product, 1e-9);
  EXPECT_NEAR(time_of_one_step(square, ones({512, 512}, f64)), 0.2e-6 + 2 * product, 1e-9);
  const double n = 1 << 20;
  EXPECT_NEAR(time_of_one_step([](In x) { return Arrays{x[0] + 1}; }, ones({1 << 20})), 0.2e-6 + 8 * n / 20e9, 1e-9);
  EXPECT_NEAR(time_of_one_step([](In x) { return Arrays{sin(exp(x[0]))}; }, ones({1 << 20})), 0.2e-6 + n * 1e-9, 1e-9);
  EXPECT_NEAR(passes::modelled_time_to_write(1 << 20), 10e-6 + n / 0.42e9, 1e-9);
  EXPECT_NEAR(passes::modelled_time_to_read(1 << 20), 10e-6 + n / 2e9, 1e-9);
}

}  // namespace
}  // namespace anew
