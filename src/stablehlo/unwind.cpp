// unwind: the linear part of a loop over recorded states. The runtime's schedule holds as few states as it may; here
// the walk back is in stretches: from the nearest kept state the states of a stretch are computed into a stack, then
// the stretch is walked back. A stretch has no more states than are kept, or than an even share of the steps; where the
// gap between kept states is longer, it is gone through several times.
#include "control/loop.h"
#include "plan/revolve.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

class Unwind {
 public:
  explicit Unwind(const Context& c)
      : c_(c), p_(c.eqn.params->as<UnwindParams>()), f_(form_of(p_)), in_(f_.operands.partition(c.in)) {
    counter_ = scalar(p_.length < std::numeric_limits<std::int32_t>::max() ? i32 : i64);
    // Whatever a body reads travels with it: constants, xs, kept states, linear constants, linear xs.
    for (Role r : {Role::constants, Role::xs, Role::carries, Role::linear_constants, Role::linear_xs})
      groups_.push_back({r, fixed_.size()}), append(fixed_, in_[r]);
  }

  Values run() {
    Writer& w = c_.w;
    const Types rows = f_.results.partition(p_.step->output_types())[Role::linear_ys];
    Values ys;
    for (const Type& t : rows) {
      Type all = t;
      all.shape.insert(0, p_.length);
      ys.push_back(w.constant(all, 0));
    }
    const Value length =
        p_.condition ? w.convert(in_[Role::counters][0], counter_.dtype) : w.integer(counter_, p_.length);
    linear_ = in_[Role::linear_carries].size();
    states_ = in_[Role::carries].size();
    Values changing = in_[Role::linear_carries];
    append(changing, ys);
    if (p_.length == 0) return changing;
    if (states_ == 0) return walk(length, changing);
    return p_.backward ? walk_back(length, changing) : walk_forward(length, changing);
  }

 private:
  struct Group {
    Role role;
    std::size_t first;
  };

  // state: what a loop carries; the fixed values lie at its end.
  Values operands(Writer& w, const LoopForm::Part& part, const Values& fixed, const Values& state, const Values& linear,
                  const Value& step) const {
    Values out;
    Value place = step;
    if (p_.reverse) place = w.binary("subtract", w.integer(counter_, p_.length - 1), step);
    for (Role r : part.takes) {
      if (r == Role::carries) {
        append(out, state);
        continue;
      }
      if (r == Role::linear_carries) {
        append(out, linear);
        continue;
      }
      for (std::size_t i = 0; i < in_[r].size(); ++i) {
        const Value& x = fixed[first_of(r) + i];
        out.push_back(r == Role::xs || r == Role::linear_xs ? w.row(x, place) : x);
      }
    }
    return out;
  }
  std::size_t first_of(Role r) const {
    for (const Group& g : groups_)
      if (g.role == r) return g.first;
    throw InternalError("no such group of an unwind");
  }
  const LoopForm::Part& advancing() const { return f_.parts[f_.parts.size() - 2]; }
  Values advance(Writer& w, const Values& fixed, const Values& state, const Value& step) const {
    return c_.module.call(w, p_.advance, "advance", operands(w, advancing(), fixed, state, {}, step));
  }
  // One step of the linear part: what changes, after it.
  Values stepped(Writer& w, const Values& fixed, const Values& state, const Values& changing, const Value& step) const {
    const Values linear(changing.begin(), changing.begin() + static_cast<std::ptrdiff_t>(linear_));
    const Values made = c_.module.call(w, p_.step, p_.backward ? "step_back" : "step",
                                       operands(w, f_.parts.back(), fixed, state, linear, step));
    const Value place = p_.reverse ? w.binary("subtract", w.integer(counter_, p_.length - 1), step) : step;
    Values out(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(linear_));
    for (std::size_t i = linear_; i < changing.size(); ++i) out.push_back(w.with_row(changing[i], place, made[i]));
    return out;
  }
  Values fixed_of(const Values& v) const {
    return Values(v.end() - static_cast<std::ptrdiff_t>(fixed_.size()), v.end());
  }
  static Values some(const Values& v, std::size_t first, std::size_t count) {
    const auto at = v.begin() + static_cast<std::ptrdiff_t>(first);
    return Values(at, at + static_cast<std::ptrdiff_t>(count));
  }
  // A loop over `state`, with the fixed values behind it.
  using Condition = std::function<Value(Writer&, const Values&)>;
  using Body = std::function<Values(Writer&, const Values& state, const Values& fixed)>;
  Values loop(Writer& w, Values state, const Values& fixed, const Condition& condition, const Body& body) const {
    const std::size_t n = state.size();
    append(state, fixed);
    Types types;
    for (const Value& v : state) types.push_back(v.type);
    const Values end = w.op({"stablehlo.while",
                             {},
                             {[&](Writer& r, const Values& v) { r.give({condition(r, v)}); },
                              [&](Writer& r, const Values& v) {
                                const Values still = fixed_of(v);
                                Values next = body(r, some(v, 0, n), still);
                                append(next, still);
                                r.give(next);
                              }},
                             types},
                            state, types);
    return some(end, 0, n);
  }
  static Value one_less(Writer& w, const Value& x) { return w.binary("subtract", x, w.integer(x.type, 1)); }
  static Value one_more(Writer& w, const Value& x) { return w.binary("add", x, w.integer(x.type, 1)); }

  // No state is read: step by step.
  Values walk(const Value& length, const Values& changing) {
    Writer& w = c_.w;
    Values start{w.integer(counter_, 0), length};
    append(start, changing);
    const Values end = loop(
        w, start, fixed_, [&](Writer& r, const Values& v) { return r.compare("LT", v[0], v[1]); },
        [&](Writer& r, const Values& v, const Values& fixed) {
          const Value step = p_.backward ? one_less(r, r.binary("subtract", v[1], v[0])) : v[0];
          Values next{one_more(r, v[0]), v[1]};
          append(next, stepped(r, fixed, {}, some(v, 2, v.size() - 2), step));
          return next;
        });
    return some(end, 2, changing.size());
  }
  // The first state is kept in slot 0.
  Values walk_forward(const Value& length, const Values& changing) {
    Writer& w = c_.w;
    Values start{w.integer(counter_, 0), length};
    for (const Value& stack : in_[Role::carries]) start.push_back(w.row(stack, w.integer(counter_, 0)));
    append(start, changing);
    const Values end = loop(
        w, start, fixed_, [&](Writer& r, const Values& v) { return r.compare("LT", v[0], v[1]); },
        [&](Writer& r, const Values& v, const Values& fixed) {
          const Values state = some(v, 2, states_);
          Values next{one_more(r, v[0]), v[1]};
          append(next, advance(r, fixed, state, v[0]));
          append(next, stepped(r, fixed, state, some(v, 2 + states_, changing.size()), v[0]));
          return next;
        });
    return some(end, 2 + states_, changing.size());
  }
  // Steps whose states are kept, one per slot, and how many steps a stretch has at most.
  Value kept_steps(std::int64_t& stretch) {
    const std::int64_t slots = in_[Role::carries][0].type.shape[0];
    if (p_.condition) {
      stretch = std::max<std::int64_t>(slots, 8);
      return c_.w.convert(in_[Role::counters][1], counter_.dtype);
    }
    std::vector<std::int64_t> stops = p_.budget.ndim() > 0 ? stops_within(p_.budget, p_.length, !p_.disk.empty())
                                                           : plan::forward_stops(p_.length, slots);
    stretch = 1;
    for (std::size_t i = 0; i < stops.size(); ++i)
      stretch = std::max(stretch, (i + 1 < stops.size() ? stops[i + 1] : p_.length) - stops[i]);
    stretch = std::min(stretch, std::max(slots, (p_.length - 1) / slots + 1));
    stops.resize(static_cast<std::size_t>(slots), -1);
    return c_.w.integers(counter_.dtype, stops);
  }
  Values walk_back(const Value& length, const Values& changing) {
    Writer& w = c_.w;
    std::int64_t stretch = 1;
    const Value kept = kept_steps(stretch);
    // steps that are left, kept steps, what changes, stacks for the states of a stretch
    Values start{length, kept};
    append(start, changing);
    for (const Value& s : in_[Role::carries]) {
      Type t = s.type;
      t.shape[0] = stretch;
      start.push_back(w.constant(t, 0));
    }
    const std::size_t n = changing.size();
    const Values end = loop(
        w, start, fixed_, [&](Writer& r, const Values& v) { return r.compare("GT", v[0], r.integer(counter_, 0)); },
        [&](Writer& r, const Values& v, const Values& fixed) {
          const Stop from = latest_stop(r, v[1], v[0], fixed);
          const Value low = r.binary("maximum", from.step, r.binary("subtract", v[0], r.integer(counter_, stretch)));
          const Values stacks = filled(r, from, low, v[0], some(v, 2 + n, states_), fixed);
          Values next{low, v[1]};
          append(next, walked(r, v[0], low, some(v, 2, n), stacks, fixed));
          append(next, stacks);
          return next;
        });
    return some(end, 2, n);
  }
  // The latest kept state before a step.
  struct Stop {
    Value step;
    Values state;
  };
  Stop latest_stop(Writer& w, const Value& kept, const Value& high, const Values& fixed) const {
    const Value before = w.compare("LT", kept, w.spread(high, kept.type.shape));
    const Value steps = w.select(before, kept, w.integer(kept.type, -1));
    Stop stop{w.reduce("maximum", steps, {0}, extreme_bits(counter_.dtype, true)), {}};
    const Value same = w.compare("EQ", steps, w.spread(stop.step, steps.type.shape));
    const Value slots = w.select(same, w.iota(steps.type, 0), w.integer(steps.type, steps.type.shape[0] - 1));
    const Value slot = w.reduce("minimum", slots, {0}, extreme_bits(counter_.dtype, false));
    for (std::size_t i = 0; i < states_; ++i) stop.state.push_back(w.row(fixed[first_of(Role::carries) + i], slot));
    return stop;
  }
  // The states before steps low..high-1, computed from there.
  Values filled(Writer& w, const Stop& from, const Value& low, const Value& high, const Values& stacks,
                const Values& fixed) const {
    Values start{from.step, low, high};
    append(start, from.state);
    append(start, stacks);
    const Values end = loop(
        w, start, fixed, [&](Writer& r, const Values& v) { return r.compare("LT", v[0], v[2]); },
        [&](Writer& r, const Values& v, const Values& still) {
          const Values here = some(v, 3, states_);
          Values next{one_more(r, v[0]), v[1], v[2]};
          append(next, advance(r, still, here, v[0]));
          // Before `low` the first row is written over and over.
          const Value row = r.binary("maximum", r.binary("subtract", v[0], v[1]), r.integer(counter_, 0));
          for (std::size_t i = 0; i < states_; ++i) next.push_back(r.with_row(v[3 + states_ + i], row, here[i]));
          return next;
        });
    return some(end, 3 + states_, states_);
  }
  // What changes, from the end of a stretch to its start.
  Values walked(Writer& w, const Value& high, const Value& low, const Values& changing, const Values& stacks,
                const Values& fixed) const {
    Values start{high, low};
    append(start, changing);
    append(start, stacks);
    const std::size_t n = changing.size();
    const Values end = loop(
        w, start, fixed, [&](Writer& r, const Values& v) { return r.compare("GT", v[0], v[1]); },
        [&](Writer& r, const Values& v, const Values& still) {
          const Value step = one_less(r, v[0]), row = r.binary("subtract", step, v[1]);
          Values here;
          for (std::size_t i = 0; i < states_; ++i) here.push_back(r.row(v[2 + n + i], row));
          Values next{step, v[1]};
          append(next, stepped(r, still, here, some(v, 2, n), step));
          append(next, some(v, 2 + n, states_));
          return next;
        });
    return some(end, 2, n);
  }

  const Context& c_;
  const UnwindParams& p_;
  LoopForm f_;
  Lists<Value> in_;
  Values fixed_;
  std::vector<Group> groups_;
  Type counter_;
  std::size_t linear_ = 0, states_ = 0;
};

}  // namespace

Values write_unwind(const Context& c) { return Unwind(c).run(); }

}  // namespace anew::stablehlo
