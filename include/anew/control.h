// Control flow over trees: scan. Carries and outputs may be any trees of arrays; numbers in them are arrays.
#pragma once
#include <anew/call.h>

namespace anew {

namespace detail {

template <class R>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

// What happens to the types of a loop: C the carry, X one step's input.
template <class Body, class C, class X>
consteval bool check_scan_body() {
  if constexpr (check_tree<C>() && check_tree<X>()) {
    constexpr bool carry = holds_arrays<C> || std::is_empty_v<C>;
    static_assert(carry, "anew::scan: the carry holds no array; make its numbers Array, or pass none");
    constexpr bool callable = std::is_invocable_v<const Body&, const C&, const X&>;
    static_assert(callable, "anew::scan: body must be callable as body(carry, x), with x of the type of xs (or none)");
    if constexpr (carry && callable) {
      using R = std::remove_cvref_t<std::invoke_result_t<const Body&, const C&, const X&>>;
      static_assert(is_pair<R>,
                    "anew::scan: body must return std::pair(carry, y); write std::pair(carry, none) if there is no y");
      if constexpr (is_pair<R>) {
        constexpr bool same = std::convertible_to<typename R::first_type, C>;
        static_assert(same, "anew::scan: the carry that body returns has another type than the initial carry");
        return same && check_tree<typename R::second_type>();
      }
    }
  }
  return false;
}

// ---- plain C++ values in a carry: no step can change them, so a body that does is wrong, and must hear of it
template <class T, class... Seen>
consteval bool holds_values();
template <class... Seen, class... T>
consteval bool any_holds_values(types<T...>) {
  return (holds_values<std::remove_const_t<T>, Seen...>() || ...);
}
template <class T, class... Seen>
consteval bool holds_values() {
  if constexpr (std::is_scalar_v<T> || std::same_as<T, std::string>) return true;
  else if constexpr (!std::same_as<T, Array> && !is_one_of<T, Seen...>) {
    if constexpr (is_sequence<T> || is_optional<T>) return holds_values<typename T::value_type, Seen...>();
    else if constexpr (is_string_map<T>) return holds_values<typename T::mapped_type, Seen...>();
    else if constexpr (is_tuple<T>) return any_holds_values<Seen...>(typename element_types<T>::type{});
    else if constexpr (Record<T>) return any_holds_values<Seen..., T>(field_types<T>{});
  }
  return false;
}
template <class T>
void add_values(const T& t, std::string& out);
struct AddValues {
  std::string& out;
  template <class... T>
  void operator()(const T&... field) const {
    (add_values(field, out), ...);
  }
};
template <class T>
void add_values(const T& t, std::string& out) {
  if constexpr (!holds_values<T>()) return;
  else if constexpr (std::is_scalar_v<T>) out.append(reinterpret_cast<const char*>(&t), sizeof t);
  else if constexpr (std::same_as<T, std::string>) add_values(t.size(), out), out += t;
  else if constexpr (is_sequence<T>) {
    add_values(t.size(), out);
    for (const auto& element : t) add_values(element, out);
  } else if constexpr (is_optional<T>) t ? add_values(*t, out) : out.push_back('-');
  else if constexpr (is_string_map<T>)
    for (const auto& [key, value] : t) add_values(value, out);
  else if constexpr (is_tuple<T>) std::apply(AddValues{out}, t);
  else with_fields(t, AddValues{out});
}
template <class T>
std::string values_of(const T& t) {
  std::string out;
  add_values(t, out);
  return out;
}
[[noreturn]] void static_carry_changes(const Location& at);

using RunBody = flat::ScanResult (*)(void* loop, std::span<const Array> carry, std::span<const Array> x);
flat::ScanBody scan_body(void* loop, RunBody run);

// One loop: the carry and the input without their leaves, and the output's shape once the body has been called.
template <class Body, class C, class X>
class ScanLoop {
  using Returned = std::remove_cvref_t<std::invoke_result_t<const Body&, const C&, const X&>>;

 public:
  using Y = typename traced_numbers<typename Returned::second_type>::type;
  ScanLoop(const Body& body, C init, X xs, const Location& at)
      : body_(body), carry_(std::move(init)), x_(std::move(xs)), at_(at) {}
  ScanLoop(const ScanLoop&) = delete;
  ScanLoop& operator=(const ScanLoop&) = delete;

  std::pair<C, Y> run(const ScanOptions& options) {
    Arrays init = take_leaves(carry_), xs = take_leaves(x_);
    if constexpr (holds_values<C>()) values_ = values_of(carry_);
    flat::ScanResult out = flat::scan(scan_body(this, step), init, xs, options, leaf_paths(carry_, "carry"), at_);
    return {with_leaves(carry_, out.carry), y_.rebuild(out.ys)};
  }

 private:
  static flat::ScanResult step(void* self, std::span<const Array> carry, std::span<const Array> x) {
    auto& loop = *static_cast<ScanLoop*>(self);
    const C c = with_leaves(loop.carry_, carry);
    const X x_now = with_leaves(loop.x_, x);
    Returned r = detail::call(loop.body_, c, x_now);
    C next = static_cast<C>(std::move(r.first));
    check_structure(next, loop.carry_, "scan", "carry", "initial carry", loop.at_);
    if constexpr (holds_values<C>())
      if (values_of(next) != loop.values_) static_carry_changes(loop.at_);
    Arrays carry_out = take_leaves(next);
    return {std::move(carry_out), loop.y_.flatten(static_cast<Y>(std::move(r.second)))};
  }

  const Body& body_;
  C carry_;
  X x_;
  Location at_;
  std::string values_;
  ResultShape<Y> y_;
};

}  // namespace detail

// carry = init; for each x along axis 0 of xs: (carry, y) = body(carry, x). Gives the last carry and the stacked y.
template <class Body, class Init, class Xs>
[[nodiscard]] auto scan(Body body, Init init, Xs xs, const ScanOptions& options = {},
                        const Location& at = Location::current()) {
  using C = detail::argument_t<Body, 0, Init, detail::traced_numbers>;
  using X = detail::argument_t<Body, 1, Xs, detail::traced_numbers>;
  if constexpr (detail::check_scan_body<Body, C, X>())
    return detail::ScanLoop<Body, C, X>(body, static_cast<C>(std::move(init)), static_cast<X>(std::move(xs)), at)
        .run(options);
}

}  // namespace anew
