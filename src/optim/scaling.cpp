// Parts that keep no moments (clipping, decay, factors), how parts become one optimizer, and Adafactor, whose state is
// the second moment in rows and columns.
#include <anew/indexing.h>
#include <anew/ops.h>

#include <algorithm>

#include "optim/numbers.h"
#include "optim/parts.h"

namespace anew::optim {
namespace {

void no_state(const Parameters&, Slots&) {}

// Applied to each leaf.
template <class F>
Optimizer per_leaf(std::string name, F f) {
  return {std::move(name), no_state, [f](const Arrays& gradients, const Parameters&, Slots& state) {
            Arrays out;
            for (const Array& g : gradients) out.push_back(f(g, state.at()));
            return out;
          }};
}
// A factor given by the user, of the dtype of the leaf.
Array factor_of(const Array& factor, const Array& leaf, const Location& at) {
  check_operand(factor, line_or(at));
  if (type_of(factor).shape.ndim() != 0)
    fail("optim", at, fmt::format("a factor or learning rate is {}, not a scalar", type_of(factor).str()));
  return coerce(factor, type_of(leaf).dtype, at);
}
void need_parameters(std::string_view op, const Parameters& params, const Location& at) {
  if (!params.given) fail(op, at, "needs the parameters", "call update(gradients, state, params)");
}
Array root_mean_square(const Array& x) { return sqrt(mean(square(x))); }

// The two largest axes, the larger one last, where the second moment is kept as rows and columns.
std::optional<std::pair<int, int>> factored_axes(const Shape& shape, const AdafactorOptions& o) {
  if (!o.factored || shape.ndim() < 2) return {};
  std::vector<int> axes;
  for (int i = 0; i < shape.ndim(); ++i) axes.push_back(i);
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return std::pair(shape[a], a) < std::pair(shape[b], b); });
  const int second = axes[axes.size() - 2], first = axes.back();
  if (shape[second] < o.min_dim_size_to_factor) return {};
  return std::pair(second, first);
}
Shape without_axis(Shape shape, int axis) {
  shape.erase(axis);
  return shape;
}

}  // namespace

Array next_count(const Array& count) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return where(count < most, count + 1, most);
}

void check_shape_of_state(std::string_view name, const std::string& path, const ShapeDtype& gradient,
                          const ShapeDtype& moment, const Location& at) {
  if (gradient.shape != moment.shape)
    fail("update", at,
         fmt::format("'{}' of the state is {} for {}, whose gradient is {}", name, moment.str(),
                     path.empty() ? "the array" : path, gradient.str()),
         "a state belongs to the parameters that init was given");
}

std::optional<double> known(const Schedule& s) {
  if (!s.constant() || !is_known_number(s.value())) return {};
  return s.value().item<double>();
}

void check_chosen(std::initializer_list<Chosen> options, const Location& at) {
  for (const Chosen& o : options) {
    if (!o.value) continue;
    const double v = *o.value;
    if (v >= 0 && (o.range == Range::size || v < 1 || (o.range == Range::fraction && v == 1))) continue;  // not a NaN
    fail("optim", at, fmt::format("{} is {}", o.name, v),
         o.range == Range::size       ? "give a number that is not negative"
         : o.range == Range::fraction ? "give a number from 0 to 1"
                                      : "give a number from 0 to less than 1");
  }
}

Optimizer combined(std::string name, std::vector<Part> parts) {
  auto init = [parts](const Parameters& params, Slots& state) {
    for (const Part& part : parts) {
      Slots inside = part.label.empty() ? state : state.inside(part.label);
      part.optimizer.init_slots(params, inside);
    }
  };
  auto update = [parts](const Arrays& gradients, const Parameters& params, Slots& state) {
    Arrays updates = gradients;
    for (const Part& part : parts) {
      Slots inside = part.label.empty() ? state : state.inside(part.label);
      updates = part.optimizer.update_slots(updates, params, inside);
    }
    return updates;
  };
  return {std::move(name), init, update};
}

Optimizer clip(const Array& max_delta) {
  return per_leaf("clip", [max_delta](const Array& g, const Location& at) {
    const Array most = factor_of(max_delta, g, at);
    return anew::clip(g, -most, most);
  });
}

Optimizer clip_by_global_norm(const Array& max_norm) {
  auto update = [max_norm](const Arrays& gradients, const Parameters&, Slots& state) {
    const Array norm = tree_norm(gradients, state.at());
    const Array small = norm < max_norm;
    Arrays out;
    for (const Array& g : gradients) {
      const DType dtype = type_of(g).dtype;
      out.push_back(where(small, g, g / coerce(norm, dtype, state.at()) * factor_of(max_norm, g, state.at())));
    }
    return out;
  };
  return {"clip_by_global_norm", no_state, update};
}

Optimizer scale(const Array& factor) {
  return per_leaf("scale", [factor](const Array& g, const Location& at) { return factor_of(factor, g, at) * g; });
}

Optimizer set_to_zero() {
  return per_leaf("set_to_zero", [](const Array& g, const Location&) { return zeros_like(g); });
}

Optimizer scale_by_schedule(const Schedule& factor) {
  auto init = [](const Parameters&, Slots& state) { state.set("count", array(0, i32)); };
  auto update = [factor](const Arrays& gradients, const Parameters&, Slots& state) {
    const Array count = state.get("count");
    const Array value = factor(ArrayLike(count, state.at()));
    Arrays out;
    for (const Array& g : gradients) out.push_back(factor_of(value, g, state.at()) * g);
    state.set("count", next_count(count));
    return out;
  };
  return {"scale_by_schedule", init, update};
}

Optimizer scale_by_learning_rate(const Schedule& rate, const Location& at) {
  const PinLine pin(at);
  check_chosen({{"the learning rate", known(rate)}}, at);
  if (rate.constant())
    return per_leaf("scale_by_learning_rate", [value = rate.value()](const Array& g, const Location& at) {
      return -factor_of(value, g, at) * g;
    });
  return scale_by_schedule(Schedule([rate](const Array& count) { return -rate(count); }));
}

Optimizer add_decayed_weights(const Schedule& weight_decay, const Mask& mask, const Location& at) {
  const PinLine pin(at);
  check_chosen({{"the weight decay", known(weight_decay)}}, at);
  auto init = [weight_decay](const Parameters&, Slots& state) {
    if (!weight_decay.constant()) state.set("count", array(0, i32));
  };
  auto update = [weight_decay, mask](const Arrays& gradients, const Parameters& params, Slots& state) {
    need_parameters("add_decayed_weights", params, state.at());
    Array decay = weight_decay.value();
    if (!weight_decay.constant()) {
      const Array count = state.get("count");
      decay = weight_decay(ArrayLike(count, state.at()));
      state.set("count", next_count(count));
    }
    if (is_known_number(decay) && decay.item() == 0) return gradients;
    Arrays out = gradients;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!mask || mask(params.paths[i]))
        out[i] = out[i] + factor_of(decay, params.leaves[i], state.at()) * params.leaves[i];
    return out;
  };
  return {"add_decayed_weights", init, update};
}

Optimizer scale_by_factored_rms(const AdafactorOptions& o, const Location& at) {
  const PinLine pin(at);
  check_chosen({{".decay_rate", o.decay_rate}, {".eps", o.eps}}, at);
  auto init = [o](const Parameters& params, Slots& state) {
    state.set("count", array(0, i32));
    for (std::size_t i = 0; i < params.leaves.size(); ++i) {
      const Type t = type_of(params.leaves[i]);
      if (const auto axes = factored_axes(t.shape, o)) {
        state.set("v_row", params.paths[i], zeros(without_axis(t.shape, axes->second), t.dtype));
        state.set("v_col", params.paths[i], zeros(without_axis(t.shape, axes->first), t.dtype));
      } else {
        state.set("v", params.paths[i], zeros(t.shape, t.dtype));
      }
    }
  };
  auto update = [o](const Arrays& gradients, const Parameters& params, Slots& state) {
    const Location at = state.at();
    const Array count = state.get("count");
    const Array t = f64_scalar(count, at) - static_cast<double>(o.decay_offset) + 1;
    const Array decay = number(1 - power(t, -o.decay_rate)), rest = 1 - decay;
    Arrays out;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Array& g = gradients[i];
      const std::string& path = params.paths[i];
      const Type type = type_of(g);
      const Array squares = square(g) + o.eps;
      if (const auto axes = factored_axes(type.shape, o)) {
        const auto [d1, d0] = *axes;
        const Array before_row = state.get("v_row", path), before_col = state.get("v_col", path);
        check_shape_of_state("v_row", path, {without_axis(type.shape, d0), type.dtype}, type_of(before_row), at);
        check_shape_of_state("v_col", path, {without_axis(type.shape, d1), type.dtype}, type_of(before_col), at);
        const Array row = decay * before_row + rest * mean(squares, d0),
                    col = decay * before_col + rest * mean(squares, d1);
        const Array row_factor = power(row / mean(row, d1 > d0 ? d1 - 1 : d1, true), -0.5);
        out.push_back(g * expand_dims(row_factor, d0) * expand_dims(power(col, -0.5), d1));
        state.set("v_row", path, coerce(row, type_of(before_row).dtype, at));
        state.set("v_col", path, coerce(col, type_of(before_col).dtype, at));
      } else {
        const Array before = state.get("v", path);
        check_shape_of_state("v", path, type, type_of(before), at);
        const Array v = decay * before + rest * squares;
        out.push_back(g * power(v, -0.5));
        state.set("v", path, coerce(v, type_of(before).dtype, at));
      }
    }
    state.set("count", next_count(count));
    return out;
  };
  return {"scale_by_factored_rms", init, update};
}

Optimizer adafactor(const std::optional<Schedule>& learning_rate, const AdafactorOptions& o, const Location& at) {
  const PinLine pin(at);
  if (learning_rate) check_chosen({{"the learning rate", known(*learning_rate)}}, at);
  check_chosen({{".clipping_threshold", o.clipping_threshold}, {"the momentum", o.momentum, Range::fraction}}, at);
  std::vector<Part> parts{{"", scale_by_factored_rms(o)}};
  if (o.clipping_threshold)
    parts.push_back(
        {"", per_leaf("clip_by_block_rms", [limit = *o.clipping_threshold](const Array& u, const Location&) {
           return u / maximum(1.0, root_mean_square(u) / limit);
         })});
  if (learning_rate) {
    if (learning_rate->constant()) parts.push_back({"", scale(learning_rate->value())});
    else parts.push_back({"schedule", scale_by_schedule(*learning_rate)});
  }
  if (o.multiply_by_parameter_scale) {
    auto update = [](const Arrays& gradients, const Parameters& params, Slots& state) {
      need_parameters("adafactor", params, state.at());
      Arrays out;
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Array size = root_mean_square(params.leaves[i]);
        out.push_back(gradients[i] * maximum(size, 1e-3));
      }
      return out;
    };
    parts.push_back({"", Optimizer("scale_by_param_block_rms", no_state, update)});
  }
  if (o.momentum) parts.push_back({"momentum", ema(*o.momentum)});
  if (o.weight_decay_rate) parts.push_back({"decay", add_decayed_weights(*o.weight_decay_rate, o.weight_decay_mask)});
  parts.push_back({"", scale(-1)});
  return combined("adafactor", std::move(parts));
}

}  // namespace anew::optim
