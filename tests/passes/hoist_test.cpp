// Reductions make way, and hand their arithmetic on: the same bits, and fewer arrays.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "passes/pipeline.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew {
namespace {

using Xs = std::span<const Array>;

std::shared_ptr<const passes::Body> planned(const FlatFunction& f, const Arrays& x) {
  EXPECT_TRUE(test::same_bits(flat::compile(f, x)(x), f(x)));
  Program p = flat::make_program(f, x);
  std::vector<ir::Strides> inputs;
  for (const ir::Type& t : p.code()->input_types()) inputs.push_back(row_major(t.shape));
  return passes::plan_program(*p.code(), inputs).placed;
}
FlatFunction value_and_gradient(Array (*f)(Array)) {
  return [f](Xs x) {
    auto [y, g] = value_and_grad(f)(x[0]);
    return Arrays{y, g};
  };
}
const Arrays& data() {
  static const Arrays x{random::normal(random::key(0), {1000})};
  return x;
}

// Value and gradient of a sum are one kernel and the sum; what passes between them is one array.
TEST(Hoist, ALossAndItsGradientAreOneKernel) {
  auto body = planned(value_and_gradient([](Array x) { return sum(tanh(x) * exp(-x * x) + log1p(x * x)); }), data());
  ASSERT_EQ(body->steps.size(), 2u) << passes::str(*body);
  EXPECT_EQ(body->steps[1].kernel().combine, loops::Combine::sum);
  EXPECT_EQ(body->steps[1].kernel().nodes.size(), 1u);
  EXPECT_EQ(body->bytes, 4000u);
}

// What hangs on the reduction moves with it.
TEST(Hoist, WhatFollowsFromTheReductionMovesWithIt) {
  auto body = planned(value_and_gradient([](Array x) { return log(mean(exp(x)) + 1) * 2; }), data());
  // Its gradient needs the mean: exponentials, their sum, what the mean gives, the gradient. Nothing moves past the
  // sum.
  EXPECT_EQ(body->steps.size(), 4u) << passes::str(*body);
  body = planned(value_and_gradient([](Array x) { return mean(tanh(x) * exp(x)) * 3; }), data());
  EXPECT_EQ(body->steps.size(), 3u) << passes::str(*body);
}

// A reduction that the second kernel needs stays where it is.
TEST(Hoist, AReductionThatIsNeededStays) {
  auto f = [](Xs x) {
    Array t = exp(x[0]);
    return Arrays{t / sum(t)};
  };
  auto body = planned(f, data());
  EXPECT_EQ(body->steps.size(), 3u) << passes::str(*body);
}

// Operands of other kernels, and of none, come along; what others read stays stored.
TEST(Hoist, OperandsFromElsewhere) {
  auto f = [](Xs x) {
    Array a = sin(x[0]), b = cos(x[0]);
    Array s = sum(a * b + x[1]), other = a + 1;
    return Arrays{s, other * b, cumsum(a)};
  };
  Arrays x{data()[0], data()[0] * 2};
  (void)planned(f, x);
}

}  // namespace
}  // namespace anew
