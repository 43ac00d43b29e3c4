// Optimizers and schedules against the real Optax (tools/optim_goldens): the first 50 steps, in f32 and f64, eagerly
// and jitted.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/support.h"

namespace {

using namespace anew;
using namespace anew::test;
using optim::Optimizer;
using optim::Schedule;

struct Params {
  Array w, b;
};
Array loss(const Params& p, const Array& a, const Array& y) {
  return 0.5 * sum(square(matmul(a, p.w) - y)) + 0.1 * sum(square(square(p.b))) + sum(p.b * p.w[0]);
}
Params start(DType dtype) { return {fill({4, 3}, 50, dtype), fill({3}, 80, dtype)}; }

const nlohmann::json& goldens() {
  static const nlohmann::json& data = *new nlohmann::json([] {
    std::ifstream in(ANEW_TESTS_DIR "/data/optim/goldens.json");
    return nlohmann::json::parse(in);
  }());
  return data;
}

std::map<std::string, Schedule> schedules() {
  return {
      {"constant", optim::constant_schedule(0.1)},
      {"linear", optim::linear_schedule(0.1, 0.5, 20, 5)},
      {"cosine", optim::cosine_decay_schedule(0.3, 30)},
      {"cosine_alpha", optim::cosine_decay_schedule(0.3, 30, {.alpha = 0.1, .exponent = 2})},
      {"warmup_cosine", optim::warmup_cosine_decay_schedule(0.01, 0.3, 10, 40, {.end_value = 0.02})},
      {"exponential", optim::exponential_decay(0.3, 10, 0.5)},
      {"exponential_stairs",
       optim::exponential_decay(0.3, 10, 0.5, {.transition_begin = 5, .staircase = true, .end_value = 0.1})},
      {"piecewise", optim::piecewise_constant_schedule(0.3, {{10, 0.5}, {30, 0.1}})},
      {"join", optim::join_schedules({optim::linear_schedule(0, 0.2, 10), optim::exponential_decay(0.2, 10, 0.9),
                                      optim::constant_schedule(0.05)},
                                     {10, 30})},
  };
}

std::map<std::string, Optimizer> optimizers() {
  using namespace optim;
  const auto s = schedules();
  const Mask only_w = [](const std::string& path) { return path == "w"; };
  return {
      {"sgd", sgd(0.05)},
      {"sgd_momentum", sgd(0.05, {.momentum = 0.9})},
      {"sgd_nesterov", sgd(s.at("exponential"), {.momentum = 0.5, .nesterov = true})},
      {"adam", adam(0.1)},
      {"adam_nesterov", adam(0.1, {.b1 = 0.8, .b2 = 0.99, .eps = 1e-6, .eps_root = 1e-7, .nesterov = true})},
      {"adam_cosine", adam(s.at("cosine"))},
      {"adamw", adamw(0.1, {.weight_decay = 0.1})},
      {"adamw_masked", adamw(s.at("warmup_cosine"), {.weight_decay = 0.3, .mask = only_w})},
      {"adamw_decay_schedule", adamw(0.1, {.weight_decay = s.at("linear")})},
      {"lion", lion(0.01, {.weight_decay = 0.1})},
      {"adafactor", adafactor(0.02)},
      {"adafactor_factored",
       adafactor(
           s.at("cosine"),
           {.min_dim_size_to_factor = 2, .momentum = 0.9, .weight_decay_rate = 1e-2, .weight_decay_mask = only_w})},
      {"adafactor_plain",
       adafactor(0.05, {.multiply_by_parameter_scale = false, .clipping_threshold = std::nullopt, .factored = false})},
      {"rmsprop", rmsprop(0.002)},
      {"rmsprop_momentum", rmsprop(0.02, {.decay = 0.8,
                                          .eps = 1e-6,
                                          .initial_scale = 0.1,
                                          .eps_in_sqrt = false,
                                          .momentum = 0.5,
                                          .nesterov = true,
                                          .bias_correction = true})},
      {"rmsprop_centered", rmsprop(0.002, {.centered = true, .momentum = 0.5})},
      {"adagrad", adagrad(0.3)},
      {"clip", chain(optim::clip(0.2), sgd(0.1))},
      {"clip_by_global_norm", chain(clip_by_global_norm(0.5), adamw(s.at("cosine_alpha")))},
      {"decayed_sgd", chain(add_decayed_weights(0.1, only_w), optim::trace(0.9), scale(-0.02))},
      {"scale_by_schedule", chain(scale_by_adam(), scale_by_schedule(s.at("join")), scale(-1))},
      {"apply_every", chain(adam(0.05), apply_every(3))},
      {"multi_steps", multi_steps(adam(0.1), 4)},
      {"masked", chain(adam(0.1), masked(set_to_zero(), [](const std::string& path) { return path == "b"; }))},
      {"apply_if_finite", apply_if_finite(adam(0.1), 3)},
  };
}

void expect_near(const Array& got, const std::vector<double>& want, double tolerance, const std::string& what) {
  const std::vector<double> values = got.to_vector();
  ASSERT_EQ(values.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(values[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << what << ", entry " << i;
}

TEST(Optimizers, SchedulesEqualOptax) {
  for (const auto& [name, schedule] : schedules()) {
    const std::vector<double> want = goldens()["schedules"][name];
    auto jitted = jit([s = schedule](Array count) { return s(count); });
    for (int i = 0; i < static_cast<int>(want.size()); ++i) {
      const double value = schedule(array(i, i32)).item();
      EXPECT_NEAR(value, want[i], 1e-15) << name << " at " << i;
      EXPECT_EQ(schedule(i).item(), value) << name;
      EXPECT_EQ(jitted(array(i, i32)).item(), value) << name;
    }
  }
}

TEST(Optimizers, FiftyStepsEqualOptax) {
  std::size_t seen = 0;
  for (const auto& [name, opt] : optimizers()) {
    const auto& golden = goldens()["optimizers"][name];
    for (DType dtype : {f32, f64}) {
      const auto& records = golden[dtype == f32 ? "float32" : "float64"];
      const Array a = fill({5, 4}, 1, dtype), y = fill({5, 3}, 30, dtype);
      Params p = start(dtype), q = p;
      optim::State state = opt.init(p), jit_state = state;
      auto step = [&opt = opt, &a, &y](Params p, optim::State s) {
        Params g = grad([&](const Params& p) { return loss(p, a, y); })(p);
        auto [updates, next] = opt.update(g, s, p);
        return std::pair(optim::apply_updates(p, updates), next);
      };
      auto compiled = jit(step).compile(q, jit_state);
      std::size_t record = 0;
      for (int i = 1; i <= 50; ++i) {
        std::tie(p, state) = step(p, state);
        std::tie(q, jit_state) = compiled(q, jit_state);
        if (records[record]["step"] != i) continue;
        const std::string what = name + " in " + std::string(name_of(dtype)) + " after " + std::to_string(i);
        // Optax's Adafactor has its decay in f32, whatever the settings.
        const double tolerance = dtype == f32 ? 1e-4 : name.starts_with("adafactor") ? 1e-5 : 1e-9;
        expect_near(p.w, records[record]["w"], tolerance, what);
        expect_near(p.b, records[record]["b"], tolerance, what);
        ++record;
        ++seen;
      }
      EXPECT_TRUE(same_bits(p.w, q.w) && same_bits(p.b, q.b)) << name << ": jit and eager";
      EXPECT_EQ(p.w.dtype(), dtype);
      for (const auto& [key, value] : state) EXPECT_TRUE(same_bits(value, jit_state.at(key))) << name << " " << key;
    }
  }
  EXPECT_EQ(seen, goldens()["optimizers"].size() * 8);  // none is left out
}

TEST(Optimizers, TakeNumbers) {
  const optim::Optimizer opt = optim::sgd(0.1, {.momentum = 0.9});
  optim::State state = opt.init(2.0);
  auto [update, next] = opt.update(3.0, state, 2.0);
  EXPECT_NEAR(update.item(), -0.3, 1e-6);
  EXPECT_NEAR(optim::apply_updates(2.0, opt.update(3.0, state).first).item(), 1.7, 1e-6);
}

// Every rate and every decay, where the optimizer is made.
TEST(Optimizers, OptionsOutOfRange) {
  const std::string size = "give a number that is not negative", fraction = "give a number from 0 to 1",
                    decay = "give a number from 0 to less than 1";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    std::function<optim::Optimizer()> make;
    std::string name, what, hint;
  };
  using namespace optim;
  const Case cases[] = {
      {[] { return adam(-1.0); }, "adam", "the learning rate is -1", size},
      {[] { return sgd(-0.5); }, "sgd", "the learning rate is -0.5", size},
      {[&] { return sgd(nan); }, "sgd", "the learning rate is nan", size},
      {[] { return adamw(-1); }, "adamw", "the learning rate is -1", size},
      {[] { return lion(-1); }, "lion", "the learning rate is -1", size},
      {[] { return rmsprop(-1); }, "rmsprop", "the learning rate is -1", size},
      {[] { return adagrad(-1); }, "adagrad", "the learning rate is -1", size},
      {[] { return adafactor(-1); }, "adafactor", "the learning rate is -1", size},
      {[] { return scale_by_learning_rate(-1); }, "scale_by_learning_rate", "the learning rate is -1", size},
      {[] { return sgd(1, {.momentum = 1.5}); }, "sgd", "the momentum is 1.5", fraction},
      {[] { return optim::trace(-0.1); }, "trace", "the momentum is -0.1", fraction},
      {[] { return adam(1, {.b1 = 2.0}); }, "adam", ".b1 is 2", decay},
      {[] { return adam(1, {.b2 = 1.0}); }, "adam", ".b2 is 1", decay},
      {[&] { return adam(1, {.b2 = nan}); }, "adam", ".b2 is nan", decay},
      {[] { return adam(1, {.eps = -1e-8}); }, "adam", ".eps is -1e-08", size},
      {[] { return adam(1, {.eps_root = -1}); }, "adam", ".eps_root is -1", size},
      {[] { return adamw(1, {.b1 = -1}); }, "adamw", ".b1 is -1", decay},
      {[] { return adamw(1, {.weight_decay = -1}); }, "adamw", "the weight decay is -1", size},
      {[] { return add_decayed_weights(-1); }, "add_decayed_weights", "the weight decay is -1", size},
      {[] { return lion(1, {.b1 = 1.1}); }, "lion", ".b1 is 1.1", fraction},
      {[] { return lion(1, {.b2 = 1.1}); }, "lion", ".b2 is 1.1", fraction},
      {[] { return adafactor(1, {.decay_rate = -1}); }, "adafactor", ".decay_rate is -1", size},
      {[] { return adafactor(1, {.clipping_threshold = -1}); }, "adafactor", ".clipping_threshold is -1", size},
      {[] { return adafactor(1, {.momentum = 2}); }, "adafactor", "the momentum is 2", fraction},
      {[] { return adafactor(1, {.weight_decay_rate = -1}); }, "adafactor", "the weight decay is -1", size},
      {[] { return adafactor(1, {.eps = -1}); }, "adafactor", ".eps is -1", size},
      {[] { return rmsprop(1, {.decay = 1.5}); }, "rmsprop", ".decay is 1.5", decay},
      {[] { return rmsprop(1, {.eps = -1}); }, "rmsprop", ".eps is -1", size},
      {[] { return rmsprop(1, {.initial_scale = -1}); }, "rmsprop", ".initial_scale is -1", size},
      {[] { return rmsprop(1, {.momentum = 2}); }, "rmsprop", "the momentum is 2", fraction},
      {[] { return adagrad(1, {.initial_accumulator_value = -1}); }, "adagrad", ".initial_accumulator_value is -1",
       size},
      {[] { return adagrad(1, {.eps = -1}); }, "adagrad", ".eps is -1", size},
  };
  for (const Case& c : cases) EXPECT_EQ(ERROR_OF((void)c.make()), "[" + c.name + "] " + c.what + "; hint: " + c.hint);
  (void)adam(0.0, {.b1 = 0, .b2 = 0});
  (void)sgd(1, {.momentum = 1});
}

TEST(Optimizers, DtypesOfParametersAreKept) {
  for (const auto& [name, opt] : optimizers())
    for (DType dtype : {bf16, f16}) {
      Params p = start(dtype);
      optim::State state = opt.init(p);
      for (int i = 0; i < 5; ++i) {
        auto [updates, next] = opt.update(p, state, p);
        for (const auto& [key, value] : state) EXPECT_EQ(value.type(), next.at(key).type()) << name << " " << key;
        p = optim::apply_updates(p, updates);
        state = next;
      }
      EXPECT_EQ(p.w.dtype(), dtype) << name;
      EXPECT_TRUE(all(isfinite(p.w)).item<bool>()) << name;
    }
}

}  // namespace
