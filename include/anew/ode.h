// Ordinary differential equations with steps of the integrator's own choice. Derivatives are those of the computed
// solution: of the steps that were taken, whose sizes count as constants.
#pragma once
#include <anew/solvers.h>

namespace anew {

namespace flat {

struct OdeOptions {
  std::optional<double> rtol = {}, atol = {};
  std::string method = "dopri5";
  std::optional<int> checkpoints = {};
  int max_steps = 100000;
  std::optional<double> first_step = {};
  FlatFunction event = {};
};
// f takes y and t, and gives the derivative of y. Gives y at ts (one more axis in front), then steps, rejected,
// success, stopped, time and y at that time.
Arrays odeint(const FlatFunction& f, const Arrays& y0, const Array& ts, const OdeOptions& options = {},
              const Location& at = Location::current());

}  // namespace flat

// A step is taken where the norm of its error, each entry divided by atol + rtol |y|, is at most 1; absent: 1.4e-8 in
// f64, in f32 1e-6 and 1e-8. `method`: "dopri5" (Dormand and Prince, order 5), "bosh3" (Bogacki and Shampine, 3), and
// for stiff systems "rodas4" (Rosenbrock, 4; makes the Jacobian). `checkpoints`: states that reverse mode keeps of the
// steps between two times. `max_steps`: together, rejected ones too. `event`: the solution stops where event(y, t)
// becomes zero.
template <class Y>
struct OdeOptions {
  std::optional<double> rtol = {}, atol = {};
  std::string method = "dopri5";
  std::optional<int> checkpoints = {};
  int max_steps = 100000;
  std::optional<double> first_step = {};
  std::function<Array(const Y&, const Array&)> event = {};
};
// `success`: whether the last time, or the event, was reached. `stopped`: by the event. `time`, `state`: where it
// ended.
template <class Y>
struct OdeInfo {
  Array steps, rejected;  // i32
  Array success, stopped;
  Array time;
  Y state;
};

namespace detail {

template <class F, class Y>
struct OdeFunction {
  const F& f;
  const Carry<Y>& like;
  FlatFunction flat() { return flat_function(this, run); }
  static Arrays run(void* self, std::span<const Array> in) {
    auto& s = *static_cast<OdeFunction*>(self);
    const std::size_t n = in.size() - 1;
    return s.like.flatten(static_cast<Y>(detail::call(s.f, s.like.with(LeafList(in.first(n))), in[n])));
  }
};
template <class Y>
struct OdeEvent {
  const std::function<Array(const Y&, const Array&)>& f;
  const Carry<Y>& like;
  FlatFunction flat() { return flat_function(this, run); }
  static Arrays run(void* self, std::span<const Array> in) {
    auto& s = *static_cast<OdeEvent*>(self);
    const std::size_t n = in.size() - 1;
    return Arrays{s.f(s.like.with(LeafList(in.first(n))), in[n])};
  }
};
template <class F, class Y>
consteval bool check_ode() {
  if constexpr (check_tree<Y>()) {
    static_assert(holds_arrays<Y>, "anew::odeint: y0 holds no array");
    constexpr bool callable = std::is_invocable_v<const F&, const Y&, const Array&>;
    static_assert(callable, "anew::odeint: f must be callable as f(y, t), with y of the type of y0 and t an Array");
    if constexpr (holds_arrays<Y> && callable) {
      constexpr bool same = std::convertible_to<result_t<F, Y, Array>, Y>;
      static_assert(same, "anew::odeint: f(y, t) must return the type of y");
      return same;
    }
  }
  return false;
}
void check_reached(const Array& success, const Location& at);

template <class F, class Y>
std::pair<Y, OdeInfo<Y>> run_ode(const F& f, Y y0, const Array& ts, const OdeOptions<Y>& o, const Location& at) {
  check_function(f, at);
  const Carry<Y> like(std::move(y0), "odeint", at);
  OdeFunction<F, Y> rhs{f, like};
  OdeEvent<Y> event{o.event, like};
  flat::OdeOptions options{o.rtol, o.atol, o.method, o.checkpoints, o.max_steps, o.first_step, {}};
  if (o.event) options.event = event.flat();
  const Arrays out = flat::odeint(rhs.flat(), like.start(), ts, options, at);
  const std::span<const Array> all(out);
  const std::size_t n = like.start().size();
  return {like.with(LeafList(all.first(n))),
          OdeInfo<Y>{out[n], out[n + 1], out[n + 2], out[n + 3], out[n + 4], like.with(LeafList(all.last(n)))}};
}

}  // namespace detail

// y at the times ts (increasing, the first is that of y0), of dy/dt = f(y, t): trees with one more axis in front. Rows
// that were not reached are nan, and an Error where that is known; after an event, y stays as it was there.
template <class F, class T>
[[nodiscard]] auto odeint(const F& f, const T& y0, const ArrayLike& ts,
                          const OdeOptions<detail::unknown_t<F, T>>& options = {},
                          const Location& at = Location::current()) {
  using Y = detail::unknown_t<F, T>;
  if constexpr (detail::check_ode<F, Y>()) {
    auto [ys, info] = detail::run_ode<F, Y>(f, static_cast<Y>(y0), ts.value, options, at);
    detail::check_reached(info.success, at);
    return ys;
  }
}
// The same, and how it went: nothing is thrown.
template <class F, class T>
[[nodiscard]] auto odeint_info(const F& f, const T& y0, const ArrayLike& ts,
                               const OdeOptions<detail::unknown_t<F, T>>& options = {},
                               const Location& at = Location::current()) {
  using Y = detail::unknown_t<F, T>;
  if constexpr (detail::check_ode<F, Y>()) return detail::run_ode<F, Y>(f, static_cast<Y>(y0), ts.value, options, at);
}

}  // namespace anew
