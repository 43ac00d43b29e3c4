// Optimizers that keep moments of gradients, and the names under which they are combined.
#include <anew/indexing.h>
#include <anew/ops.h>
#include <anew/optim.h>

#include <cmath>

#include "optim/numbers.h"
#include "optim/parts.h"

namespace anew::optim {
namespace {

using anew::sqrt;

// 1 - decay^count, a number.
Array bias_of(double decay, const Array& count, const Location& at) {
  return number(1 - power(coerce(decay, f64, at), f64_scalar(count, at)));
}
Array first_moment(const Array& g, const Array& before, double decay) { return (1 - decay) * g + decay * before; }
Array second_moment(const Array& g, const Array& before, double decay) {
  return (1 - decay) * square(g) + decay * before;
}

// zeros, or another number, like each parameter.
void set_moments(std::string_view name, const Parameters& params, Slots& state, double value = 0,
                 std::optional<DType> dtype = {}) {
  for (std::size_t i = 0; i < params.leaves.size(); ++i) {
    const Type t = type_of(params.leaves[i]);
    state.set(name, params.paths[i], full(t.shape, value, dtype.value_or(t.dtype)));
  }
}
// Keeps the dtype that a moment had.
void set_moment(std::string_view name, const std::string& path, const Array& value, Slots& state) {
  state.set(name, path, coerce(value, type_of(state.get(name, path)).dtype, state.at()));
}
void check_moment(std::string_view name, const std::string& path, const Array& g, const Slots& state) {
  check_shape_of_state(name, path, type_of(g), type_of(state.get(name, path)), state.at());
}

}  // namespace

Optimizer scale_by_adam(const AdamOptions& o, const Location& at) {
  const PinLine pin(at);
  check_chosen({{".b1", o.b1, Range::decay}, {".b2", o.b2, Range::decay}, {".eps", o.eps}, {".eps_root", o.eps_root}},
               at);
  auto init = [o](const Parameters& params, Slots& state) {
    state.set("count", array(0, i32));
    set_moments("mu", params, state, 0, o.mu_dtype);
    set_moments("nu", params, state);
  };
  auto update = [o](const Arrays& gradients, const Parameters& params, Slots& state) {
    const Location at = state.at();
    const Array count = next_count(state.get("count"));
    const Array bias1 = bias_of(o.b1, count, at), bias2 = bias_of(o.b2, count, at);
    const Array next_bias1 = o.nesterov ? bias_of(o.b1, next_count(count), at) : bias1;
    Arrays out;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Array& g = gradients[i];
      const std::string& path = params.paths[i];
      check_moment("mu", path, g, state);
      check_moment("nu", path, g, state);
      const Array mu = first_moment(g, state.get("mu", path), o.b1);
      const Array nu = second_moment(g, state.get("nu", path), o.b2);
      const Array mean = o.nesterov ? o.b1 * (mu / next_bias1) + (1 - o.b1) * (g / bias1) : mu / bias1;
      out.push_back(mean / (sqrt(nu / bias2 + o.eps_root) + o.eps));
      set_moment("mu", path, mu, state);
      set_moment("nu", path, nu, state);
    }
    state.set("count", count);
    return out;
  };
  return {"scale_by_adam", init, update};
}

Optimizer scale_by_lion(const LionOptions& o, const Location& at) {
  const PinLine pin(at);
  check_chosen({{".b1", o.b1, Range::fraction}, {".b2", o.b2, Range::fraction}}, at);
  auto init = [o](const Parameters& params, Slots& state) {
    state.set("count", array(0, i32));
    set_moments("mu", params, state, 0, o.mu_dtype);
  };
  auto update = [o](const Arrays& gradients, const Parameters& params, Slots& state) {
    Arrays out;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      check_moment("mu", params.paths[i], gradients[i], state);
      const Array mu = state.get("mu", params.paths[i]);
      out.push_back(sign(first_moment(gradients[i], mu, o.b1)));
      set_moment("mu", params.paths[i], first_moment(gradients[i], mu, o.b2), state);
    }
    state.set("count", next_count(state.get("count")));
    return out;
  };
  return {"scale_by_lion", init, update};
}

Optimizer scale_by_rms(const RmspropOptions& o, const Location& at) {
  const PinLine pin(at);
  check_chosen({{".decay", o.decay, Range::decay}, {".eps", o.eps}, {".initial_scale", o.initial_scale}}, at);
  auto init = [o](const Parameters& params, Slots& state) {
    if (o.bias_correction) state.set("count", array(0, i32));
    if (o.centered) set_moments("mu", params, state);
    set_moments("nu", params, state, o.initial_scale);
  };
  auto update = [o](const Arrays& gradients, const Parameters& params, Slots& state) {
    Array bias = 1;
    if (o.bias_correction) {
      const Array count = next_count(state.get("count"));
      state.set("count", count);
      bias = bias_of(o.decay, count, state.at());
    }
    Arrays out;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Array& g = gradients[i];
      const std::string& path = params.paths[i];
      check_moment("nu", path, g, state);
      const Array nu = second_moment(g, state.get("nu", path), o.decay);
      set_moment("nu", path, nu, state);
      Array variance = o.bias_correction ? nu / bias : nu;
      if (o.centered) {
        const Array mu = first_moment(g, state.get("mu", path), o.decay);
        set_moment("mu", path, mu, state);
        variance = variance - square(o.bias_correction ? mu / bias : mu);
      }
      out.push_back(o.eps_in_sqrt ? rsqrt(variance + o.eps) * g : g / (sqrt(variance) + o.eps));
    }
    return out;
  };
  return {"scale_by_rms", init, update};
}

Optimizer scale_by_rss(const AdagradOptions& o, const Location& at) {
  const PinLine pin(at);
  check_chosen({{".initial_accumulator_value", o.initial_accumulator_value}, {".eps", o.eps}}, at);
  auto init = [o](const Parameters& params, Slots& state) {
    set_moments("sum_of_squares", params, state, o.initial_accumulator_value);
  };
  auto update = [o](const Arrays& gradients, const Parameters& params, Slots& state) {
    Arrays out;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      check_moment("sum_of_squares", params.paths[i], gradients[i], state);
      const Array total = square(gradients[i]) + state.get("sum_of_squares", params.paths[i]);
      set_moment("sum_of_squares", params.paths[i], total, state);
      out.push_back(where(total > 0, rsqrt(total + o.eps), zeros_like(total)) * gradients[i]);
    }
    return out;
  };
  return {"scale_by_rss", init, update};
}

Optimizer trace(double decay, bool nesterov, const Location& at) {
  const PinLine pin(at);
  check_chosen({{"the momentum", decay, Range::fraction}}, at);
  auto init = [](const Parameters& params, Slots& state) { set_moments("trace", params, state); };
  auto update = [decay, nesterov](const Arrays& gradients, const Parameters& params, Slots& state) {
    Arrays out;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      check_moment("trace", params.paths[i], gradients[i], state);
      const Array next = gradients[i] + decay * state.get("trace", params.paths[i]);
      out.push_back(nesterov ? gradients[i] + decay * next : next);
      set_moment("trace", params.paths[i], next, state);
    }
    return out;
  };
  return {"trace", init, update};
}

Optimizer ema(double decay) {
  auto init = [](const Parameters& params, Slots& state) { set_moments("ema", params, state); };
  auto update = [decay](const Arrays& gradients, const Parameters& params, Slots& state) {
    Arrays out;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      check_moment("ema", params.paths[i], gradients[i], state);
      out.push_back(first_moment(gradients[i], state.get("ema", params.paths[i]), decay));
      set_moment("ema", params.paths[i], out.back(), state);
    }
    return out;
  };
  return {"ema", init, update};
}

Optimizer apply_every(std::int64_t k, const Location& at) {
  if (k < 1) fail("apply_every", at, fmt::format("k is {}", k), "give 1 or more");
  auto init = [](const Parameters& params, Slots& state) {
    state.set("count", array(0, i32));
    set_moments("acc", params, state);
  };
  auto update = [k](const Arrays& gradients, const Parameters& params, Slots& state) {
    const Array count = state.get("count");
    const Array first = count == 0, emit = count == k - 1;
    Arrays out;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      check_moment("acc", params.paths[i], gradients[i], state);
      const Array acc = state.get("acc", params.paths[i]);
      const Array total = where(first, zeros_like(acc), acc) + gradients[i];
      set_moment("acc", params.paths[i], total, state);
      out.push_back(where(emit, total, zeros_like(total)));
    }
    state.set("count", where(emit, 0, count + 1));
    return out;
  };
  return {"apply_every", init, update};
}

// ---- combined
Optimizer sgd(const Schedule& learning_rate, const SgdOptions& o, const Location& at) {
  const PinLine pin(at);
  std::vector<Part> parts;
  if (o.momentum) parts.push_back({"", trace(*o.momentum, o.nesterov)});
  parts.push_back({"schedule", scale_by_learning_rate(learning_rate)});
  return combined("sgd", std::move(parts));
}

Optimizer adam(const Schedule& learning_rate, const AdamOptions& o, const Location& at) {
  const PinLine pin(at);
  return combined("adam", {{"", scale_by_adam(o)}, {"schedule", scale_by_learning_rate(learning_rate)}});
}

Optimizer adamw(const Schedule& learning_rate, const AdamwOptions& o, const Location& at) {
  const PinLine pin(at);
  return combined("adamw", {{"", scale_by_adam({.b1 = o.b1,
                                                .b2 = o.b2,
                                                .eps = o.eps,
                                                .eps_root = o.eps_root,
                                                .nesterov = o.nesterov,
                                                .mu_dtype = o.mu_dtype},
                                               at)},
                            {"decay", add_decayed_weights(o.weight_decay, o.mask)},
                            {"schedule", scale_by_learning_rate(learning_rate)}});
}

Optimizer lion(const Schedule& learning_rate, const LionOptions& o, const Location& at) {
  const PinLine pin(at);
  return combined("lion", {{"", scale_by_lion(o)},
                           {"decay", add_decayed_weights(o.weight_decay, o.mask)},
                           {"schedule", scale_by_learning_rate(learning_rate)}});
}

Optimizer rmsprop(const Schedule& learning_rate, const RmspropOptions& o, const Location& at) {
  const PinLine pin(at);
  std::vector<Part> parts{{"", scale_by_rms(o)}, {"schedule", scale_by_learning_rate(learning_rate)}};
  if (o.momentum) parts.push_back({"momentum", trace(*o.momentum, o.nesterov)});
  return combined("rmsprop", std::move(parts));
}

Optimizer adagrad(const Schedule& learning_rate, const AdagradOptions& o, const Location& at) {
  const PinLine pin(at);
  return combined("adagrad", {{"", scale_by_rss(o)}, {"schedule", scale_by_learning_rate(learning_rate)}});
}

}  // namespace anew::optim
