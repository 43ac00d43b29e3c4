// Text and back, for every row of the library on its own samples, and for programs that the transformations make.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "control/higher_order.h"
#include "ir/program.h"

namespace anew {
namespace {

void expect_round_trip(const ir::Program& p) {
  ASSERT_NO_THROW(ir::verify(p)) << ir::print(p);
  for (int width : {80, 30, 10000}) {
    const std::string text = ir::print(p, width);
    ir::Program back;
    ASSERT_NO_THROW(back = ir::parse(text, find_row)) << text;
    EXPECT_TRUE(ir::equal(p, back)) << text;
    EXPECT_EQ(ir::hash_value(p), ir::hash_value(back)) << text;
    EXPECT_EQ(ir::print(back, width), text);
    EXPECT_NO_THROW(ir::verify(back)) << text;
    for (const ir::Primitive* row : all_rows()) EXPECT_EQ(ir::count(p, row->name), ir::count(back, row->name)) << text;
  }
}

TEST(RoundTrip, EveryRowOnItsSamples) {
  int samples = 0;
  for (const ir::Primitive* row : all_rows()) {
    if (!row->samples) continue;
    for (const ir::Sample& sample : row->samples()) {
      ir::Program p;
      ir::Eqn e{row, sample.params, {}, {}, Location(), nullptr};
      std::vector<ir::Type> in;
      for (const ir::SampleInput& x : sample.inputs) {
        e.inputs.push_back(static_cast<ir::Var>(p.types.size()));
        p.inputs.push_back(static_cast<ir::Var>(p.types.size()));
        p.types.push_back(x.type);
        in.push_back(x.type);
      }
      for (const ir::Type& t : row->infer({*sample.params, in, e.at})) {
        e.outputs.push_back(static_cast<ir::Var>(p.types.size()));
        p.outputs.push_back(static_cast<ir::Var>(p.types.size()));
        p.types.push_back(t);
      }
      p.eqns.push_back(std::move(e));
      SCOPED_TRACE(row->name);
      if (ir::str(*sample.params).find("<fn ") != std::string::npos) {  // a user's function is not text
        EXPECT_THROW(ir::parse(ir::print(p), find_row), Error);
        continue;
      }
      expect_round_trip(p);
      ++samples;
    }
  }
  EXPECT_GT(samples, 50);
}

Arrays layers(std::span<const Array> in) {
  Array x = in[1];
  for (int i = 0; i < 2; ++i) x = sin(dot(in[0], x)) * 2.0 + flat::name(cos(x), "cosine");
  return {sum(x)};
}

// f, its linear half and its pullback.
void expect_round_trips(const FlatFunction& f, const Arrays& x) {
  expect_round_trip(*flat::make_program(f, x).code());
  const flat::Linear linear = flat::linearize(f, x).second;
  expect_round_trip(*linear.program().code());
  expect_round_trip(*linear.pullback_program().code());
  const FlatFunction gradient = [&](std::span<const Array> y) { return flat::grad(f, y); };
  expect_round_trip(*flat::make_program(gradient, x).code());
}

const Arrays point{array({{1.0, 2.0}, {3.0, 4.0}}), array({0.5, -0.25})};

TEST(RoundTrip, PlainFunctions) { expect_round_trips(layers, point); }

TEST(RoundTrip, CheckpointsUnderEveryPolicy) {
  using namespace checkpoint_policies;
  const WarningHandler before = set_warning_handler([](const Warning&) {});  // some of them change nothing
  for (const Policy& policy : {nothing_saveable, everything_saveable, dots_saveable, dots_with_no_batch_dims_saveable,
                               save_only_these_names("cosine"), save_any_names_but_these(),
                               any_of(dots_saveable, save_only_these_names("cosine")), not_(dots_saveable)}) {
    SCOPED_TRACE(policy.str());
    expect_round_trips([&](std::span<const Array> x) { return flat::checkpoint(layers, x, policy); }, point);
  }
  set_warning_handler(before);
}

TEST(RoundTrip, ScansOfCheckpoints) {
  const FlatFunction body = [](std::span<const Array> x) { return Arrays{sin(dot(point[0], x[0])) * x[1], x[0] + 1}; };
  expect_round_trips(
      [&](std::span<const Array> x) {
        auto step = [&](std::span<const Array> carry, std::span<const Array> xs) {
          const Arrays out = flat::checkpoint(body, Arrays{carry[0], xs[0]}, checkpoint_policies::dots_saveable);
          return flat::ScanResult{{out[0]}, {out[1]}};
        };
        const flat::ScanResult r = flat::scan(step, {x[1]}, {x[0]}, {.reverse = true});
        return Arrays{sum(r.carry[0]) + sum(r.ys[0])};
      },
      point);
}

// Called three times, a jitted function is one program or three; the text keeps which.
TEST(RoundTrip, CallsOfOneFunction) {
  const flat::JitCache cache;
  expect_round_trips(
      [&](std::span<const Array> x) {
        Array y = x[1];
        for (int i = 0; i < 3; ++i)
          y = flat::jit([](std::span<const Array> z) { return Arrays{sin(z[0])}; }, Arrays{y}, cache,
                        {.name = "relu"})[0];
        return Arrays{sum(y)};
      },
      point);
}

TEST(RoundTrip, FunctionsOfUsersDoNotReadBack) {
  const Policy policy("cosines", [](const PolicyQuery& q) { return q.primitive == "cos"; });
  const FlatFunction f = [&](std::span<const Array> x) { return flat::checkpoint(layers, x, policy); };
  const std::string text = flat::make_program(f, point).str();
  EXPECT_NE(text.find("policy=<fn cosines>"), std::string::npos) << text;
  try {
    parse_program(text);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(": a function (<fn ...>) cannot be read back"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace anew
