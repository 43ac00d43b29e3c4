// States, optimizers that are made of others, and what all of them check.
#include <anew/indexing.h>
#include <anew/ops.h>
#include <anew/optim.h>
#include <fmt/format.h>

#include "ops/promote.h"

namespace anew::optim {

Slots::Slots(const State& before, State& after, std::string prefix, std::string_view op, const Location& at)
    : before_(before), after_(after), prefix_(std::move(prefix)), op_(op), at_(at) {}

std::string Slots::key(std::string_view name, std::string_view path) const {
  const bool dot = !path.empty() && path[0] != '[';
  return fmt::format("{}{}{}{}", prefix_, name, dot ? "." : "", path);
}

const Array& Slots::get(std::string_view name, std::string_view path) const {
  const std::string k = key(name, path);
  const auto found = before_.find(k);
  if (found == before_.end())
    fail(op_, at_, fmt::format("the state has no '{}'", k),
         "a state belongs to the optimizer and to parameters of the structure that init was given");
  if (!found->second.value())
    fail(op_, at_, fmt::format("'{}' of the state is an uninitialised Array", k), "make states with init");
  check_operand(found->second, line_or(at_));
  return found->second;
}

void Slots::set(std::string_view name, std::string_view path, const Array& value) { after_[key(name, path)] = value; }

Slots Slots::inside(std::string_view label) const {
  return Slots(before_, after_, fmt::format("{}{}.", prefix_, label), op_, at_);
}

Arrays Slots::update_where(const Optimizer& inner, std::string_view label, const Array& keep, const Arrays& updates,
                           const Parameters& params) {
  State next;
  Slots inside(before_, next, fmt::format("{}{}.", prefix_, label), op_, at_);
  Arrays out = inner.update_slots(updates, params, inside);
  for (const auto& [key, value] : next) after_[key] = where(keep, value, before_.at(key));
  for (Array& u : out) u = where(keep, u, zeros_like(u));
  return out;
}

Optimizer::Optimizer(std::string name, Init init, Update update)
    : name_(std::move(name)), init_(std::move(init)), update_(std::move(update)) {}

void Optimizer::init_slots(const Parameters& params, Slots& state) const {
  anew::detail::check_function(init_, state.at());  // it may have been moved from
  init_(params, state);
}

Arrays Optimizer::update_slots(const Arrays& updates, const Parameters& params, Slots& state) const {
  anew::detail::check_function(update_, state.at());
  Arrays out = update_(updates, params, state);
  if (out.size() != updates.size())
    fail(name_, state.at(), fmt::format("gave {} updates for {} gradients", out.size(), updates.size()));
  return out;
}

State Optimizer::init_leaves(const anew::detail::LeafView& params, const Location& at) const {
  anew::detail::check_floats(params, name_, "tree of parameters", at);
  PinLine pin(at, name_);
  State none_before, state;
  Slots slots(none_before, state, "", name_, at);
  init_slots({params.leaves(), params.paths()}, slots);
  return state;
}

std::pair<Arrays, State> Optimizer::update_leaves(const anew::detail::LeafView& gradients, const State& state,
                                                  const anew::detail::LeafView* params, const Location& at) const {
  anew::detail::check_floats(gradients, name_, "gradient", at);
  if (params) {
    anew::detail::check_floats(*params, name_, "tree of parameters", at);
    for (std::size_t i = 0; i < gradients.leaves().size(); ++i) {
      const Type g = type_of(gradients.leaves()[i]), p = type_of(params->leaves()[i]);
      if (g.shape != p.shape)
        fail(name_, at,
             fmt::format("the gradient of {} is {}, and the parameter is {}", params->path(i), g.str(), p.str()));
    }
  }
  PinLine pin(at, name_);
  State next;
  Slots slots(state, next, "", name_, at);
  Arrays updates = update_slots(gradients.leaves(),
                                {params ? params->leaves() : Arrays{}, gradients.paths(), params != nullptr}, slots);
  for (const auto& [key, value] : state)
    if (!next.contains(key))
      fail(name_, at, fmt::format("the state has '{}', which this optimizer does not know", key),
           "a state belongs to the optimizer and to parameters of the structure that init was given");
  return {std::move(updates), std::move(next)};
}

Optimizer chain_of(std::vector<Optimizer> members) {
  auto init = [members](const Parameters& params, Slots& state) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      Slots inside = state.inside(std::to_string(i));
      members[i].init_slots(params, inside);
    }
  };
  auto update = [members](const Arrays& gradients, const Parameters& params, Slots& state) {
    Arrays updates = gradients;
    for (std::size_t i = 0; i < members.size(); ++i) {
      Slots inside = state.inside(std::to_string(i));
      updates = members[i].update_slots(updates, params, inside);
    }
    return updates;
  };
  return {"chain", init, update};
}

namespace {

// What the mask chooses of parameters, by number.
std::vector<std::size_t> chosen_leaves(const Mask& mask, const Parameters& params) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < params.paths.size(); ++i)
    if (!mask || mask(params.paths[i])) out.push_back(i);
  return out;
}
Parameters chosen_parameters(const std::vector<std::size_t>& which, const Parameters& params) {
  Parameters out{{}, {}, params.given};
  for (std::size_t i : which) {
    if (params.given) out.leaves.push_back(params.leaves[i]);
    out.paths.push_back(params.paths[i]);
  }
  return out;
}

Array all_finite(const Arrays& xs) {
  Array ok = array(true);
  for (const Array& x : xs) ok = ok & all(isfinite(x));
  return ok;
}

}  // namespace

Optimizer masked(const Optimizer& inner, const Mask& mask) {
  auto init = [inner, mask](const Parameters& params, Slots& state) {
    inner.init_slots(chosen_parameters(chosen_leaves(mask, params), params), state);
  };
  auto update = [inner, mask](const Arrays& gradients, const Parameters& params, Slots& state) {
    const std::vector<std::size_t> which = chosen_leaves(mask, params);
    Arrays seen, out = gradients;
    for (std::size_t i : which) seen.push_back(gradients[i]);
    seen = inner.update_slots(seen, chosen_parameters(which, params), state);
    for (std::size_t k = 0; k < which.size(); ++k) out[which[k]] = seen[k];
    return out;
  };
  return {"masked", init, update};
}

Optimizer multi_steps(const Optimizer& inner, std::int64_t k, const Location& at) {
  if (k < 1) fail("multi_steps", at, fmt::format("k is {}", k), "give 1 or more");
  auto init = [inner](const Parameters& params, Slots& state) {
    state.set("mini_step", array(0, i32));
    state.set("gradient_step", array(0, i32));
    for (std::size_t i = 0; i < params.leaves.size(); ++i) {  // a mean of 16-bit numbers needs more than 16 bits
      const Type t = type_of(params.leaves[i]);
      state.set("acc", params.paths[i], zeros(t.shape, promote(t.dtype, f32)));
    }
    Slots inside = state.inside("inner");
    inner.init_slots(params, inside);
  };
  auto update = [inner, k](const Arrays& gradients, const Parameters& params, Slots& state) {
    const Array mini_step = state.get("mini_step"), step = state.get("gradient_step");
    const Array emit = mini_step == k - 1;
    Arrays mean;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Array acc = state.get("acc", params.paths[i]);
      const DType dtype = type_of(acc).dtype;
      const Array n = coerce(mini_step + 1, dtype, state.at());
      const Array next = acc + (coerce(gradients[i], dtype, state.at()) - acc) / n;
      mean.push_back(coerce(next, type_of(gradients[i]).dtype, state.at()));
      state.set("acc", params.paths[i], where(emit, zeros_like(next), next));
    }
    state.set("mini_step", where(emit, 0, mini_step + 1));
    state.set("gradient_step", where(emit, step + 1, step));
    return state.update_where(inner, "inner", emit, mean, params);
  };
  return {"multi_steps", init, update};
}

Optimizer apply_if_finite(const Optimizer& inner, int max_consecutive_errors) {
  auto init = [inner](const Parameters& params, Slots& state) {
    state.set("notfinite_count", array(0, i32));
    Slots inside = state.inside("inner");
    inner.init_slots(params, inside);
  };
  auto update = [inner, max_consecutive_errors](const Arrays& gradients, const Parameters& params, Slots& state) {
    const Array ok = all_finite(gradients);
    const Array errors = where(ok, 0, state.get("notfinite_count") + 1);
    state.set("notfinite_count", errors);
    return state.update_where(inner, "inner", ok | (errors > max_consecutive_errors), gradients, params);
  };
  return {"apply_if_finite", init, update};
}

}  // namespace anew::optim

namespace anew::optim::detail {

Arrays apply_update_leaves(const anew::detail::LeafView& params, const anew::detail::LeafView& updates,
                           const Location& at) {
  anew::detail::check_arrays(params, "apply_updates", "tree of parameters", at);
  anew::detail::check_arrays(updates, "apply_updates", "tree of updates", at);
  PinLine pin(at, "apply_updates");
  Arrays out;
  for (std::size_t i = 0; i < params.leaves().size(); ++i) {
    const Array &p = params.leaves()[i], &u = updates.leaves()[i];
    const Type want = type_of(p);
    if (type_of(u).shape != want.shape)
      fail(
          "apply_updates", at,
          fmt::format("the update of {} is {}, and the parameter is {}", params.path(i), type_of(u).str(), want.str()));
    out.push_back(coerce(strong(p, at) + u, want.dtype, at));
  }
  return out;
}

}  // namespace anew::optim::detail
