// The integrator: a scan over the times that were asked for, in it a loop over steps until the next one is passed; the
// step that passed it is evaluated inside. What is carried between two times is one state, so that reverse mode keeps
// one state for each time and those of the steps between two of them, recomputed (a checkpoint around the loop).
#include <anew/ode.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

#include "control/higher_order.h"
#include "solvers/ode_step.h"

namespace anew::solvers {
namespace {

// The state, as the arrays that loops carry.
enum Place : std::size_t {
  y_,
  f_,
  t_,
  h_,
  error_,
  inside_,
  t_last_,
  h_last_,
  steps_,
  rejected_,
  failed_,
  event_,
  stopped_,
  places
};

class Integrator {
 public:
  Integrator(const Layout& layout, const FlatFunction& f, const flat::OdeOptions& o, const Location& at)
      : layout_(layout), user_(f), user_event_(o.event), options_(o), at_(at), method_(ode_method(o.method, at)) {
    const bool wide = layout.dtype() == f64;
    rtol_ = o.rtol.value_or(wide ? 1.4e-8 : 1e-6);
    atol_ = o.atol.value_or(wide ? 1.4e-8 : 1e-8);
    check_tolerance("odeint", ".rtol", rtol_, at);
    check_tolerance("odeint", ".atol", atol_, at);
    check_count("odeint", ".max_steps", o.max_steps, at);
    check_count("odeint", ".checkpoints", o.checkpoints, at);
    if (rtol_ == 0 && atol_ == 0) throw Error("[odeint] .rtol and .atol are both 0: no step is small enough", at);
    if (o.first_step && !(*o.first_step > 0))
      throw Error(fmt::format("[odeint] .first_step is {}, but must be positive", *o.first_step), at);
    rhs_ = [this](const Array& y, const Array& t) {
      Arrays in = layout_.unravel(y);
      in.push_back(t);
      Arrays out = user_(in);
      if (out.size() + 1 != in.size())
        throw Error(fmt::format("[odeint] f(y, t) returns {} arrays for {} of y", out.size(), in.size() - 1), at_);
      for (std::size_t i = 0; i < out.size(); ++i) {
        check_operand(out[i], at_);
        out[i] = strong(out[i], at_);
        if (!(type_of(out[i]).shape == type_of(in[i]).shape) || !is_float(type_of(out[i]).dtype))
          throw Error(
              fmt::format("[odeint] f(y, t) returns {}, but y is {}", type_of(out[i]).str(), type_of(in[i]).str()), at_,
              "the derivative of y has the shape of y and a floating type");
      }
      return layout_.ravel(out);
    };
  }

  Arrays start(const Array& y, const Array& t, const Array& next) const {
    Arrays c(places);
    c[y_] = y;
    c[f_] = rhs_(y, t);
    c[t_] = c[t_last_] = t;
    c[h_] = options_.first_step ? full_like(t, *options_.first_step) : first_step(y, c[f_], t);
    c[h_last_] = stop_gradient(next - t);
    c[error_] = ones_like(c[h_]);
    const Array none = zeros_like(y);
    c[inside_] = stack({y, none, none, none, none});
    c[steps_] = c[rejected_] = literal(0);
    c[failed_] = c[stopped_] = make_literal(ir::Literal::of(bool_, std::int64_t{0}));
    c[event_] = event(y, t);
    return c;
  }

  // Until `next` is passed.
  Arrays advance(const Arrays& from, const Array& next) const {
    auto test = [&](std::span<const Array> c) {
      return (c[t_] < next) & (c[steps_] + c[rejected_] < options_.max_steps) & logical_not(c[failed_] | c[stopped_]);
    };
    auto body = [&](std::span<const Array> c) {
      PinLine pin(at_);
      return step(c);
    };
    LoopOptions kept;
    kept.checkpoints = options_.checkpoints;
    return flat::while_loop(test, body, from, kept, {}, at_);
  }

  // The solution at a time within the last step; nan where the integrator has not got there, or has been past it before
  // (times that do not increase).
  Array at(std::span<const Array> c, const Array& t) const {
    const Array s = (t - c[t_last_]) / c[h_last_];
    const Array value = inside_at(c[inside_], astype(minimum(s, 1), layout_.dtype()));
    return where(((c[t_] >= t) & (t >= c[t_last_])) | c[stopped_], value, std::nan(""));
  }

  bool has_event() const { return static_cast<bool>(user_event_); }
  // When the event happened, in the last step: the root has the derivatives of its equation.
  Array event_time(std::span<const Array> c) const {
    const Array zero = zeros_like(c[t_]);
    FlatFunction g = [&](std::span<const Array> s) {
      const Array y = inside_at(c[inside_], astype(s[0], layout_.dtype()));
      return Arrays{astype(event(y, c[t_last_] + s[0] * c[h_last_]), type_of(s[0]).dtype)};
    };
    FlatFunction bisect = [&](std::span<const Array> s) {
      PinLine pin(at_);
      const Array sign_low = sign(g(Arrays{zeros_like(s[0])})[0]);
      const int halvings = type_of(s[0]).dtype == f64 ? 54 : 26;
      FlatFunction halve = [&](std::span<const Array> in) {
        const Array &low = in[1], &high = in[2];
        Array middle = 0.5 * (low + high), before = sign(g(Arrays{middle})[0]) == sign_low;
        return Arrays{where(before, middle, low), where(before, high, middle)};
      };
      Arrays end =
          flat::fori_loop(literal(0), literal(halvings), halve, {zeros_like(s[0]), ones_like(s[0])}, {}, {}, at_);
      return Arrays{end[1]};
    };
    flat::LinearSolve tangent = [](const FlatFunction& slope, std::span<const Array> y) {
      const Array a = slope(Arrays{ones_like(y[0])})[0];
      return Arrays{where(a == 0, 0, y[0] / where(a == 0, 1, a))};
    };
    const Array s = flat::custom_root(g, Arrays{zero}, {.solve = bisect, .tangent_solve = tangent}, at_)[0];
    return c[t_last_] + s * c[h_last_];
  }
  Array inside(std::span<const Array> c, const Array& t) const {
    return inside_at(c[inside_], astype((t - c[t_last_]) / c[h_last_], layout_.dtype()));
  }

  static Array literal(int v) { return make_literal(ir::Literal::of(i32, std::int64_t{v})); }

 private:
  Array event(const Array& y, const Array& t) const {
    if (!user_event_) return ones_like(t);
    Arrays in = layout_.unravel(y);
    in.push_back(t);
    const Arrays given = user_event_(in);
    if (given.size() != 1)
      throw Error(fmt::format("[odeint] event(y, t) returns {} arrays, but must be one scalar", given.size()), at_);
    check_operand(given[0], at_);
    const Array g = strong(given[0], at_);
    if (type_of(g).shape.ndim() != 0 || !is_float(type_of(g).dtype))
      throw Error(
          fmt::format("[odeint] event(y, t) returns {}, but must be a scalar of floating type", type_of(g).str()), at_);
    return astype(g, type_of(t).dtype);
  }

  // Entries of x divided by what may be wrong of y, as one number.
  Array scaled(const Array& x, const Array& y) const {
    if (type_of(x).shape.size() == 0) return sum(x);  // nothing is wrong of nothing
    return sqrt(mean(square(x / (atol_ + rtol_ * abs(y)))));
  }

  // After Hairer, Norsett and Wanner I, II.4: a step whose first two terms are small beside y.
  Array first_step(const Array& y_in, const Array& f_in, const Array& t_in) const {
    const Array y = stop_gradient(y_in), f = stop_gradient(f_in), t = stop_gradient(t_in);
    const DType time = type_of(t).dtype;
    Array d0 = scaled(y, y), d1 = scaled(f, y);
    Array h0 = where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / where(d1 == 0, 1, d1));
    Array f1 = stop_gradient(rhs_(y + h0 * f, t + astype(h0, time)));
    Array d2 = scaled(f1 - f, y) / h0, most = maximum(d1, d2);
    Array h1 = where(most <= 1e-15, maximum(1e-6, h0 * 1e-3), pow(0.01 / where(most == 0, 1, most), 1 / method_.order));
    Array h = minimum(100 * h0, h1);
    return astype(where(isfinite(h) & (h > 0), h, 1e-6), time);
  }

  Arrays step(std::span<const Array> c) const {
    const Array h = c[h_];
    const OdeStep s = method_.step(rhs_, c[y_], c[f_], c[t_], h, at_);
    const DType time = type_of(h).dtype;
    Array size = stop_gradient(astype(scaled(s.error, maximum(abs(c[y_]), abs(s.y))), time));
    const Array finite = isfinite(size);
    size = maximum(where(finite, size, 1), 1e-10);
    const Array taken = finite & (size <= 1);
    // The controller looks at the last error too (PI).
    const double k = method_.order;
    Array grown = clip(0.9 * pow(size, -0.7 / k) * pow(c[error_], 0.4 / k), 0.2, 10);
    Array shrunk = where(finite, clip(0.9 * pow(size, -1 / k), 0.2, 0.9), 0.2);
    Array next_h = stop_gradient(h * where(taken, grown, shrunk));
    const Array t = c[t_] + h;
    const double epsilon = time == f64 ? 2.3e-16 : 1.2e-7;
    Array failed = logical_not(isfinite(next_h)) | (next_h <= 4 * epsilon * abs(stop_gradient(t)));
    Arrays next(places);
    auto keep = [&](Place p, const Array& value) { next[p] = where(taken, value, c[p]); };
    keep(y_, s.y);
    keep(f_, s.f);
    keep(t_, t);
    keep(error_, size);
    keep(inside_, s.inside);
    keep(t_last_, c[t_]);
    keep(h_last_, h);
    next[h_] = next_h;
    next[steps_] = c[steps_] + astype(taken, i32);
    next[rejected_] = c[rejected_] + astype(logical_not(taken), i32);
    next[failed_] = failed;
    next[event_] = c[event_];
    next[stopped_] = c[stopped_];
    if (user_event_) {
      const Array g = stop_gradient(event(s.y, t));
      const Array& before = c[event_];
      keep(event_, g);
      next[stopped_] = taken & (before != 0) & (sign(g) != sign(before));
    }
    return next;
  }

  const Layout& layout_;
  FlatFunction user_, user_event_;
  flat::OdeOptions options_;
  Location at_;
  OdeMethod method_;
  double rtol_ = 0, atol_ = 0;
  Rhs rhs_;
};

Array checked_times(const Array& given, const Location& at) {
  check_operand(given, at);
  const Array ts = strong(given, at);
  const Type type = type_of(ts);
  if (type.shape.ndim() != 1 || type.shape[0] < 1 || !is_float(type.dtype))
    throw Error(fmt::format("[odeint] ts is {}, but must be a vector of times of floating type", type.str()), at,
                "the first is the time of y0: array({0.0, 1.0})");
  if (!ts.value()->concrete()) return ts;
  const std::vector<double> t = ts.to_vector(at);  // numbers, also while a function is traced
  for (std::size_t i = 0; i < t.size(); ++i)
    if (!std::isfinite(t[i]) || (i > 0 && !(t[i] > t[i - 1])))
      throw Error(fmt::format("[odeint] ts must increase, but ts[{}] is {}{}", i, t[i],
                              i > 0 ? fmt::format(" after {}", t[i - 1]) : ""),
                  at, "to go back in time, integrate -f of the time that has passed");
  return ts;
}

}  // namespace
}  // namespace anew::solvers

namespace anew {

namespace detail {

void check_reached(const Array& success, const Location& at) {
  if (!success.value() || !success.value()->concrete()) return;
  bool ok = false;
  std::memcpy(&ok, success.value()->data(), sizeof ok);
  if (!ok)
    throw Error(
        "[odeint] the last time was not reached: .max_steps were taken, or steps became too small", at,
        "is f finite, is the system stiff (.method = \"rodas4\")? odeint_info gives what there is, and no error");
}

}  // namespace detail

namespace flat {

Arrays odeint(const FlatFunction& f, const Arrays& y0, const Array& ts_given, const OdeOptions& options,
              const Location& at) {
  using namespace solvers;
  const Arrays start = unknowns("odeint", y0, at);
  const Array ts = checked_times(ts_given, at);
  const Layout layout(start);
  const std::int64_t n = type_of(ts).shape[0];
  const Integrator integrator(
      layout, unpinned(f, at, "odeint", "f"),
      [&] {
        OdeOptions o = options;
        if (o.event) o.event = unpinned(o.event, at, "odeint", ".event");
        return o;
      }(),
      at);
  PinLine pin(at);
  const Array y = layout.ravel(start), first = ts[{0}];
  Arrays carry = integrator.start(y, first, n > 1 ? ts[{1}] : first + 1);
  Array rows = expand_dims(y, 0);
  if (n > 1) {
    FlatFunction one = [&](std::span<const Array> in) {
      PinLine inside(at);
      Arrays c(in.begin(), in.end() - 1);
      c = integrator.advance(c, in.back());
      c.push_back(integrator.at(c, in.back()));
      return c;
    };
    ScanBody body = [&](std::span<const Array> c, std::span<const Array> t) {
      Arrays in(c.begin(), c.end());
      in.push_back(t[0]);
      Arrays out = flat::checkpoint(one, in, checkpoint_policies::nothing_saveable, at);
      const Array row = out.back();
      out.pop_back();
      return ScanResult{out, {row}};
    };
    ScanResult end = flat::scan(body, carry, {ts[{slice(1, n)}]}, {}, {}, at);
    carry = end.carry;
    rows = concatenate({rows, end.ys[0]});
  }
  const Array last = ts[{n - 1}];
  Array stopped = carry[solvers::stopped_], time = last, state = rows[{n - 1}];
  Array success = carry[solvers::t_] >= last;
  if (integrator.has_event() && n > 1) {
    const Array when = integrator.event_time(carry);
    stopped = stopped & (when <= last);
    const Array there = integrator.inside(carry, when);
    time = where(stopped, when, last);
    rows = where(expand_dims(stopped & (ts > when), 1), there, rows);
    state = where(stopped, there, rows[{n - 1}]);
    success = success | stopped;
  }
  Arrays out = layout.unravel_rows(rows);
  out.insert(out.end(), {carry[solvers::steps_], carry[solvers::rejected_], success, stopped, time});
  for (Array& a : layout.unravel(state)) out.push_back(a);
  return out;
}

}  // namespace flat
}  // namespace anew
