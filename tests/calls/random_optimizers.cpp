// Random schedules, optimizers and their options.
#include "calls/random_values.h"

namespace anew::calls {
namespace {

// Mostly a sensible number.
double usual(Random& r, double value) { return r.chance(80) ? value : make(r, Tag<double>{}); }

}  // namespace

optim::Schedule make(Random& r, Tag<optim::Schedule>) {
  switch (r.below(5)) {
    case 0: return usual(r, 0.1);
    case 1: return r.array();
    case 2: return optim::linear_schedule(usual(r, 0.1), usual(r, 1), 10);
    case 3: return optim::Schedule([](const Array& count) { return 0.1 / (count + 1.0); });
    default: return optim::Schedule([x = r.array()](const Array&) { return x; });
  }
}
optim::Optimizer make(Random& r, Tag<optim::Optimizer>) try {
  switch (r.below(4)) {
    case 0: return optim::sgd(make(r, Tag<optim::Schedule>{}), make(r, Tag<optim::SgdOptions>{}));
    case 1: return optim::adamw(0.1, make(r, Tag<optim::AdamwOptions>{}));
    case 2: return optim::clip_by_global_norm(r.array());
    default: return optim::adafactor(0.1);
  }
} catch (const Error&) {  // of options out of range, which calls of those functions meet
  return optim::adam(0.1);
}
optim::Mask make(Random& r, Tag<optim::Mask>) {
  if (r.chance(30)) return {};
  return [yes = r.chance(50)](const std::string& path) { return yes == path.empty(); };
}
optim::CosineOptions make(Random& r, Tag<optim::CosineOptions>) { return {usual(r, 0.1), usual(r, 1)}; }
optim::WarmupCosineOptions make(Random& r, Tag<optim::WarmupCosineOptions>) { return {usual(r, 0.1), usual(r, 1)}; }
optim::ExponentialOptions make(Random& r, Tag<optim::ExponentialOptions>) {
  return {r.chance(70) ? 0 : r.size(), r.chance(50), make(r, Tag<std::optional<double>>{})};
}
optim::SgdOptions make(Random& r, Tag<optim::SgdOptions>) {
  return {make(r, Tag<std::optional<double>>{}), r.chance(50)};
}
optim::AdamOptions make(Random& r, Tag<optim::AdamOptions>) {
  return {usual(r, 0.9), usual(r, 0.99), usual(r, 1e-8),
          usual(r, 0),   r.chance(50),   r.chance(70) ? std::optional<DType>() : r.any_dtype()};
}
optim::AdamwOptions make(Random& r, Tag<optim::AdamwOptions>) {
  optim::AdamwOptions o;
  o.b1 = usual(r, 0.9);
  o.weight_decay = make(r, Tag<optim::Schedule>{});
  o.mask = make(r, Tag<optim::Mask>{});
  return o;
}
optim::LionOptions make(Random& r, Tag<optim::LionOptions>) {
  return {usual(r, 0.9), usual(r, 0.99), make(r, Tag<optim::Schedule>{}), make(r, Tag<optim::Mask>{}), {}};
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): std::function frees what it holds
optim::AdafactorOptions make(Random& r, Tag<optim::AdafactorOptions>) {
  optim::AdafactorOptions o;
  o.min_dim_size_to_factor = r.chance(50) ? 1 : r.size();
  o.decay_rate = usual(r, 0.8);
  o.momentum = make(r, Tag<std::optional<double>>{});
  o.clipping_threshold = make(r, Tag<std::optional<double>>{});
  o.weight_decay_rate = make(r, Tag<std::optional<optim::Schedule>>{});
  o.factored = r.chance(70);
  return o;
}
optim::RmspropOptions make(Random& r, Tag<optim::RmspropOptions>) {
  return {usual(r, 0.9), usual(r, 1e-8), usual(r, 0), r.chance(50), r.chance(50), make(r, Tag<std::optional<double>>{}),
          r.chance(50),  r.chance(50)};
}
optim::AdagradOptions make(Random& r, Tag<optim::AdagradOptions>) { return {usual(r, 0.1), usual(r, 1e-7)}; }

}  // namespace anew::calls
