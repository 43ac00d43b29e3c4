// Optimizers in Optax's shape: init makes a state, update turns gradients into updates, apply_updates adds them. A
// state is a plain tree, a map from names such as mu.layers[0].w to arrays: jitted, donated, mapped and saved like any
// other. An Optimizer is one type, whatever it does, and is chosen while the program runs; its code is in the library.
#pragma once
#include <anew/tree_functions.h>

namespace anew::optim {

// A number that may change with the count of updates so far: a number, a scalar, or a function of the count (an i32
// scalar). Those below give C++ numbers, which take the dtype of what they meet, computed in f64.
class Schedule {
 public:
  template <Number T>
  Schedule(T value) : Schedule(Array(value)) {}
  Schedule(Array value);
  template <class F>
    requires(std::is_invocable_r_v<Array, const F&, const Array&> && !std::same_as<F, Schedule>)
  Schedule(F f) : function_(std::move(f)) {}
  // There is no moving: what was moved from is still the same.
  Schedule(const Schedule&) = default;
  Schedule& operator=(const Schedule&) = default;
  Array operator()(const ArrayLike& count) const;
  bool constant() const { return !function_; }
  const Array& value() const { return value_; }  // of a constant

 private:
  std::function<Array(const Array&)> function_;
  Array value_;
};

Schedule constant_schedule(const Array& value);
// From `from` to `to` in a line, over so many steps after the first `begin`.
Schedule linear_schedule(double from, double to, std::int64_t steps, std::int64_t begin = 0,
                         const Location& at = Location::current());
struct CosineOptions {
  double alpha = 0;  // the last value, as a fraction of the first
  double exponent = 1;
};
Schedule cosine_decay_schedule(double init_value, std::int64_t decay_steps, const CosineOptions& options = {},
                               const Location& at = Location::current());
// From init_value to peak_value in a line, then down in half a cosine; decay_steps counts both.
struct WarmupCosineOptions {
  double end_value = 0;
  double exponent = 1;
};
Schedule warmup_cosine_decay_schedule(double init_value, double peak_value, std::int64_t warmup_steps,
                                      std::int64_t decay_steps, const WarmupCosineOptions& options = {},
                                      const Location& at = Location::current());
struct ExponentialOptions {
  std::int64_t transition_begin = 0;
  bool staircase = false;  // in steps, rather than smoothly
  std::optional<double> end_value = {};
};
// init_value * decay_rate ^ (count / transition_steps).
Schedule exponential_decay(double init_value, std::int64_t transition_steps, double decay_rate,
                           const ExponentialOptions& options = {}, const Location& at = Location::current());
// Multiplied by a scale from each boundary on: {{100, 0.1}, {200, 0.1}}.
Schedule piecewise_constant_schedule(double init_value,
                                     const std::vector<std::pair<std::int64_t, double>>& boundaries_and_scales,
                                     const Location& at = Location::current());
// One after the other; each counts from its boundary.
Schedule join_schedules(const std::vector<Schedule>& schedules, const std::vector<std::int64_t>& boundaries,
                        const Location& at = Location::current());

// ---- optimizers. A rate or a decay that is out of range is an Error where the optimizer is made.
using State = std::map<std::string, Array>;

class Optimizer;
// What an optimizer sees: the leaves of parameters (none where the user gave none) and their paths.
struct Parameters {
  Arrays leaves;
  std::vector<std::string> paths;
  bool given = true;
};
// The part of a state that one optimizer has: arrays by name, and by name and path of a parameter.
class Slots {
 public:
  Slots(const State& before, State& after, std::string prefix, std::string_view op, const Location& at);
  const Array& get(std::string_view name, std::string_view path = {}) const;  // throws where there is none
  void set(std::string_view name, const Array& value) { set(name, {}, value); }
  void set(std::string_view name, std::string_view path, const Array& value);
  Slots inside(std::string_view label) const;
  // The updates of an inner optimizer; where `keep` is false they are zero, and its state stays.
  Arrays update_where(const Optimizer& inner, std::string_view label, const Array& keep, const Arrays& updates,
                      const Parameters& params);
  const Location& at() const { return at_; }

 private:
  std::string key(std::string_view name, std::string_view path) const;
  const State& before_;
  State& after_;
  std::string prefix_;
  std::string_view op_;
  Location at_;
};
// Reads which leaves it applies to from their paths: decay(path) == true. Empty: to all.
using Mask = std::function<bool(const std::string& path)>;

class Optimizer {
 public:
  using Init = std::function<void(const Parameters& params, Slots& state)>;
  // Updates, from gradients or the updates of what came before in a chain.
  using Update = std::function<Arrays(const Arrays& updates, const Parameters& params, Slots& state)>;
  Optimizer(std::string name, Init init, Update update);
  // There is no moving: what was moved from is still the same.
  Optimizer(const Optimizer&) = default;
  Optimizer& operator=(const Optimizer&) = default;

  template <Tree P>
  State init(const P& params, const Location& at = Location::current()) const {
    return init_leaves(anew::detail::view_leaves(params), at);
  }
  State init(const Array& params, const Location& at = Location::current()) const { return init<Array>(params, at); }
  // auto [updates, next] = opt.update(gradients, state, params)
  template <Tree P>
  std::pair<P, State> update(const P& gradients, const State& state, const P& params,
                             const Location& at = Location::current()) const {
    anew::detail::check_structure(gradients, params, "update", "gradient", "tree of parameters", at);
    anew::detail::check_values(gradients, params, "update", "gradient", "tree of parameters", at);
    const anew::detail::LeafView p = anew::detail::view_leaves(params);
    auto [updates, next] = update_leaves(anew::detail::view_leaves(gradients), state, &p, at);
    return {anew::detail::with_leaves(gradients, updates), std::move(next)};
  }
  // For optimizers that do not look at parameters: those without weight decay.
  template <Tree P>
  std::pair<P, State> update(const P& gradients, const State& state, const Location& at = Location::current()) const {
    auto [updates, next] = update_leaves(anew::detail::view_leaves(gradients), state, nullptr, at);
    return {anew::detail::with_leaves(gradients, updates), std::move(next)};
  }
  // Of an array, or a number.
  std::pair<Array, State> update(const Array& gradient, const State& state, const Array& param,
                                 const Location& at = Location::current()) const {
    return update<Array>(gradient, state, param, at);
  }
  std::pair<Array, State> update(const Array& gradient, const State& state,
                                 const Location& at = Location::current()) const {
    return update<Array>(gradient, state, at);
  }
  const std::string& name() const { return name_; }
  // For those made of others.
  void init_slots(const Parameters& params, Slots& state) const;
  Arrays update_slots(const Arrays& updates, const Parameters& params, Slots& state) const;

 private:
  State init_leaves(const anew::detail::LeafView& params, const Location& at) const;
  std::pair<Arrays, State> update_leaves(const anew::detail::LeafView& gradients, const State& state,
                                         const anew::detail::LeafView* params, const Location& at) const;
  std::string name_;
  Init init_;
  Update update_;
};

// One after the other: the updates of each are the gradients of the next. Keys of the state begin with the number of
// the member: 1.mu.layers[0].w.
Optimizer chain_of(std::vector<Optimizer> members);
template <std::same_as<Optimizer>... O>
Optimizer chain(O... members) {
  std::vector<Optimizer> list;
  (list.push_back(std::move(members)), ...);
  return chain_of(std::move(list));
}

struct SgdOptions {
  std::optional<double> momentum = {};
  bool nesterov = false;
};
Optimizer sgd(const Schedule& learning_rate, const SgdOptions& options = {}, const Location& at = Location::current());
struct AdamOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  bool nesterov = false;
  std::optional<DType> mu_dtype = {};  // of the first moment; absent: that of the parameter
};
Optimizer adam(const Schedule& learning_rate, const AdamOptions& options = {},
               const Location& at = Location::current());
struct AdamwOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  Schedule weight_decay = 1e-4;
  Mask mask = {};  // of what decays
  bool nesterov = false;
  std::optional<DType> mu_dtype = {};
};
Optimizer adamw(const Schedule& learning_rate, const AdamwOptions& options = {},
                const Location& at = Location::current());
struct LionOptions {
  double b1 = 0.9, b2 = 0.99;
  Schedule weight_decay = 1e-3;
  Mask mask = {};
  std::optional<DType> mu_dtype = {};
};
Optimizer lion(const Schedule& learning_rate, const LionOptions& options = {},
               const Location& at = Location::current());
struct AdafactorOptions {
  std::int64_t min_dim_size_to_factor = 128;
  double decay_rate = 0.8;
  std::int64_t decay_offset = 0;
  bool multiply_by_parameter_scale = true;
  std::optional<double> clipping_threshold = 1.0;
  std::optional<double> momentum = {};
  std::optional<Schedule> weight_decay_rate = {};
  double eps = 1e-30;
  bool factored = true;
  Mask weight_decay_mask = {};
};
Optimizer adafactor(const std::optional<Schedule>& learning_rate = {}, const AdafactorOptions& options = {},
                    const Location& at = Location::current());
struct RmspropOptions {
  double decay = 0.9, eps = 1e-8, initial_scale = 0;
  bool eps_in_sqrt = true, centered = false;
  std::optional<double> momentum = {};
  bool nesterov = false, bias_correction = false;
};
Optimizer rmsprop(const Schedule& learning_rate, const RmspropOptions& options = {},
                  const Location& at = Location::current());
struct AdagradOptions {
  double initial_accumulator_value = 0.1, eps = 1e-7;
};
Optimizer adagrad(const Schedule& learning_rate, const AdagradOptions& options = {},
                  const Location& at = Location::current());

// ---- parts
Optimizer clip(const Array& max_delta);                // each element to [-max_delta, max_delta]
Optimizer clip_by_global_norm(const Array& max_norm);  // all of them by one factor
Optimizer add_decayed_weights(const Schedule& weight_decay = 0.0, const Mask& mask = {},
                              const Location& at = Location::current());
Optimizer scale(const Array& factor);
Optimizer scale_by_schedule(const Schedule& factor);
Optimizer scale_by_learning_rate(const Schedule& learning_rate,
                                 const Location& at = Location::current());  // by its negative: updates are added
Optimizer scale_by_adam(const AdamOptions& options = {}, const Location& at = Location::current());
Optimizer scale_by_lion(const LionOptions& options = {}, const Location& at = Location::current());
Optimizer scale_by_rms(const RmspropOptions& options = {}, const Location& at = Location::current());
Optimizer scale_by_rss(const AdagradOptions& options = {}, const Location& at = Location::current());
Optimizer scale_by_factored_rms(const AdafactorOptions& options = {}, const Location& at = Location::current());
Optimizer trace(double decay, bool nesterov = false, const Location& at = Location::current());
Optimizer set_to_zero();
// The inner optimizer sees only leaves that the mask chooses; the others pass unchanged. What is frozen:
// chain(opt, masked(set_to_zero(), frozen)).
Optimizer masked(const Optimizer& inner, const Mask& mask);
// The inner optimizer sees the mean of every k gradients, and parameters stay as they are in between.
Optimizer multi_steps(const Optimizer& inner, std::int64_t k, const Location& at = Location::current());
// Updates are summed, and given out every k steps.
Optimizer apply_every(std::int64_t k, const Location& at = Location::current());
// Updates with a NaN or an infinity are left out, at most so many one after the other; the state then stays.
Optimizer apply_if_finite(const Optimizer& inner, int max_consecutive_errors);

namespace detail {
Arrays apply_update_leaves(const anew::detail::LeafView& params, const anew::detail::LeafView& updates,
                           const Location& at);
}
// params + updates, of the dtypes of the parameters.
template <Tree P>
P apply_updates(const P& params, const P& updates, const Location& at = Location::current()) {
  anew::detail::check_structure(updates, params, "apply_updates", "tree of updates", "tree of parameters", at);
  anew::detail::check_values(updates, params, "apply_updates", "tree of updates", "tree of parameters", at);
  return anew::detail::with_leaves(
      params, detail::apply_update_leaves(anew::detail::view_leaves(params), anew::detail::view_leaves(updates), at));
}
inline Array apply_updates(const Array& param, const Array& update, const Location& at = Location::current()) {
  return apply_updates<Array>(param, update, at);
}
// The norm of all leaves as one vector.
template <Tree T>
Array global_norm(const T& t, const Location& at = Location::current()) {
  return tree_norm(t, at);
}

}  // namespace anew::optim
