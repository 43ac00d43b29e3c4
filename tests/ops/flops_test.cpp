// Flops of rows: finite and not negative on every sample; counted by hand for products and factors; zero for the
// runtime calls that only move elements, and for no other call.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/helpers.h"
#include "ops/rows.h"
#include "trace/trace.h"

namespace anew {
namespace {

ir::Types types_of(const ir::Sample& s) {
  ir::Types out;
  for (const ir::SampleInput& in : s.inputs) out.push_back(in.type);
  return out;
}

double flops(const Primitive& p, const ir::Params& params, const ir::Types& in) {
  const ir::Types out = p.infer({params, in, Location::current()});
  if (p.facts.flops) return p.facts.flops(params, in, out);
  return out.empty() ? 0 : p.facts.flops_per_element * static_cast<double>(out[0].shape.size());
}

TEST(Flops, OfEverySample) {
  for (const Primitive* p : first_order_rows()) {
    if (!p->samples) continue;
    for (const ir::Sample& s : p->samples()) {
      const double n = flops(*p, *s.params, types_of(s));
      EXPECT_TRUE(std::isfinite(n) && n >= 0) << p->name << ": " << n;
      const bool empty = !s.inputs.empty() && std::all_of(s.inputs.begin(), s.inputs.end(),
                                                          [](const auto& in) { return in.type.shape.size() == 0; });
      if (empty && p->facts.flops) {
        EXPECT_EQ(n, 0) << p->name;
      }
    }
  }
}

double flops_of(std::string_view name, const ir::Types& in, std::size_t sample = 0) {
  for (const Primitive* p : first_order_rows())
    if (p->name == name) return flops(*p, *p->samples()[sample].params, in);
  ADD_FAILURE() << "no row " << name;
  return -1;
}

TEST(Flops, CountedByHand) {
  EXPECT_EQ(flops_of("sin", {{{7, 3}, f32}}), flops_of("sin", {{{}, f32}}) * 21);
  EXPECT_EQ(flops_of("cholesky", {{{2, 9, 9}, f32}}), 2 * 9 * 9 * 9 / 3);
  EXPECT_EQ(flops_of("lu", {{{6, 6}, f64}}), 6 * 6 * 6 - 6 * 6 * 6 / 3);
  EXPECT_EQ(flops_of("lu", {{{6, 3}, f64}}), 6 * 3 * 3 - 3 * 3 * 3 / 3);
  EXPECT_EQ(flops_of("det", {{{2, 6, 6}, f64}}), 2 * (6 * 6 * 6 - 6 * 6 * 6 / 3));
  EXPECT_EQ(flops_of("cofactor", {{{6, 6}, f64}}), 10 * 6 * 6 * 6 / 3);
  EXPECT_EQ(flops_of("cofactor_tangent", {{{6, 6}, f64}, {{6, 6}, f64}}), 28 * 6 * 6 * 6 / 3);
  EXPECT_EQ(flops_of("fft", {{{4, 8}, f32}, {{4, 8}, f32}}), 5 * 4 * 8 * 3);
  EXPECT_EQ(flops_of("searchsorted", {{{7}, f32}, {{10}, f32}}), 30);
  EXPECT_EQ(flops_of("solve", {{{3, 3}, f32}, {{3, 2}, f32}}), 3 * 3 * 3 - 9 + 2 * 3 * 6);
}

TEST(Flops, CallsThatComputeNothing) {
  std::set<std::string> movers;
  for (const Primitive* p : first_order_rows()) {
    if (!p->samples || !p->lower || p->view || p->facts.effects) continue;
    bool calls = false;
    double most = 0;
    for (const ir::Sample& s : p->samples()) {
      const ir::Types in = types_of(s), out = p->infer({*s.params, in, Location::current()});
      calls |= static_cast<bool>(p->lower(*s.params, in, out).call);
      most = std::max(most, flops(*p, *s.params, in));
    }
    if (calls && most == 0) movers.insert(p->name);
  }
  EXPECT_EQ(movers,
            (std::set<std::string>{"device_put", "dynamic_slice", "dynamic_update_slice", "gather", "scatter"}));
}

}  // namespace
}  // namespace anew
