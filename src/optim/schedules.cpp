// Schedules: scalars of f64 inside, C++ numbers outside, so that they take the dtype of what they scale.
#include <anew/ops.h>
#include <anew/optim.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "optim/numbers.h"

namespace anew::optim {

Array f64_scalar(const Array& x, const Location& at) { return coerce(x, f64, at); }
Array number(const Array& x) { return as_number(x, default_float()); }

Schedule::Schedule(Array value) : value_(std::move(value)) {}

Array Schedule::operator()(const ArrayLike& count) const {
  PinLine pin(count.at, "schedule");
  check_operand(count.value, line_or(count.at));
  const Array value = function_ ? function_(strong(count.value, count.at)) : value_;
  check_operand(value, line_or(count.at));
  if (type_of(value).shape.ndim() != 0)
    fail("schedule", count.at, fmt::format("the schedule gave {}, not a scalar", type_of(value).str()));
  return value;
}

Schedule constant_schedule(const Array& value) { return Schedule(value); }

Schedule linear_schedule(double from, double to, std::int64_t steps, std::int64_t begin, const Location& at) {
  if (begin < 0) fail("linear_schedule", at, fmt::format("begins at step {}; steps count from 0", begin));
  if (steps < 0) fail("linear_schedule", at, fmt::format("takes {} steps", steps), "give 1 or more");
  if (steps == 0) return Schedule(from);
  const double n = static_cast<double>(steps), first = static_cast<double>(begin);
  return Schedule([=](const Array& count) {
    const Location at = Location::current();
    const Array part = 1 - clip(f64_scalar(count, at) - first, 0, n) / n;
    return number((from - to) * part + to);
  });
}

Schedule cosine_decay_schedule(double init_value, std::int64_t decay_steps, const CosineOptions& options,
                               const Location& at) {
  if (decay_steps <= 0)
    fail("cosine_decay_schedule", at, fmt::format("decay_steps is {}", decay_steps), "give 1 or more");
  const double n = static_cast<double>(decay_steps);
  return Schedule([=](const Array& count) {
    const Location at = Location::current();
    const Array part = clip(f64_scalar(count, at), 0, n) * (std::numbers::pi / n);
    const Array half = 0.5 * (1 + cos(part));
    const Array shape = options.exponent == 1 ? half : power(half, options.exponent);
    return number(init_value * ((1 - options.alpha) * shape + options.alpha));
  });
}

Schedule warmup_cosine_decay_schedule(double init_value, double peak_value, std::int64_t warmup_steps,
                                      std::int64_t decay_steps, const WarmupCosineOptions& options,
                                      const Location& at) {
  if (warmup_steps < 0 || decay_steps <= warmup_steps)
    fail("warmup_cosine_decay_schedule", at,
         fmt::format("{} steps of warm-up do not fit into decay_steps = {}", warmup_steps, decay_steps),
         "decay_steps counts the warm-up too and must be larger");
  const double alpha = peak_value == 0 ? 0 : options.end_value / peak_value;
  return join_schedules({linear_schedule(init_value, peak_value, warmup_steps, 0, at),
                         cosine_decay_schedule(peak_value, decay_steps - warmup_steps,
                                               {.alpha = alpha, .exponent = options.exponent}, at)},
                        {warmup_steps}, at);
}

Schedule exponential_decay(double init_value, std::int64_t transition_steps, double decay_rate,
                           const ExponentialOptions& options, const Location& at) {
  if (transition_steps < 0 || options.transition_begin < 0)
    fail("exponential_decay", at,
         fmt::format("transition_steps is {}, transition_begin {}", transition_steps, options.transition_begin),
         "steps count from 0");
  if (transition_steps == 0 || decay_rate == 0) return Schedule(init_value);
  return Schedule([=](const Array& count) {
    const Location at = Location::current();
    const Array since = f64_scalar(count, at) - static_cast<double>(options.transition_begin);
    Array steps = since / static_cast<double>(transition_steps);
    if (options.staircase) steps = floor(steps);
    Array value = where(since <= 0, init_value, init_value * power(coerce(decay_rate, f64, at), steps));
    if (options.end_value)
      value = decay_rate < 1 ? maximum(value, *options.end_value) : minimum(value, *options.end_value);
    return number(f64_scalar(value, at));
  });
}

Schedule piecewise_constant_schedule(double init_value,
                                     const std::vector<std::pair<std::int64_t, double>>& boundaries_and_scales,
                                     const Location& at) {
  for (std::size_t i = 0; i < boundaries_and_scales.size(); ++i) {
    const auto& [boundary, scale] = boundaries_and_scales[i];
    if (!(scale >= 0))
      fail("piecewise_constant_schedule", at, fmt::format("a scale is {}: it must not be negative", scale));
    if (boundary < 0 || (i > 0 && boundary <= boundaries_and_scales[i - 1].first))
      fail("piecewise_constant_schedule", at,
           fmt::format("boundary {} is {}: they ascend, and count steps from 0", i, boundary));
  }
  return Schedule([=](const Array& count) {
    const Location at = Location::current();
    Array value = coerce(init_value, f64, at);
    for (const auto& [boundary, scale] : boundaries_and_scales)
      value = where(f64_scalar(count, at) >= static_cast<double>(boundary), value * scale, value);
    return number(value);
  });
}

Schedule join_schedules(const std::vector<Schedule>& schedules, const std::vector<std::int64_t>& boundaries,
                        const Location& at) {
  if (schedules.empty() || schedules.size() != boundaries.size() + 1)
    fail("join_schedules", at, fmt::format("{} schedules and {} boundaries", schedules.size(), boundaries.size()),
         "give one boundary between each two schedules");
  for (std::size_t i = 0; i < boundaries.size(); ++i)
    if (boundaries[i] < (i > 0 ? boundaries[i - 1] : 0))
      fail("join_schedules", at,
           fmt::format("boundary {} is {}: they ascend, and count steps from 0", i, boundaries[i]));
  return Schedule([=](const Array& count) {
    const Location at = Location::current();
    Array value = f64_scalar(schedules[0](count), at);
    for (std::size_t i = 0; i < boundaries.size(); ++i)
      value = where(count < boundaries[i], value, f64_scalar(schedules[i + 1](count - boundaries[i]), at));
    return number(value);
  });
}

}  // namespace anew::optim
