// The fields of plain aggregates, without registration: how many there are, references to all of them, their names.
// Counted by brace initialisation, reached by structured bindings, named by the compiler's own spelling of a pointer to
// each. Classes with private fields or a base list theirs with ANEW_TREE(Type, field, ...) in their body.
#pragma once
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace anew::detail {

template <class... T>
struct types {};

// Converts to any field, but not to the aggregate itself (that would be a copy) and not to a base of it (below).
template <class T>
struct any_field {
  template <class U>
    requires(!std::same_as<U, T>)
  operator U() const noexcept {
    __builtin_unreachable();  // defined because compilers may instantiate it, never called
  }
};
template <class T>
struct any_base {
  template <class U>
    requires(std::is_base_of_v<U, T> && !std::same_as<U, T>)
  operator U() const noexcept;
};
template <class T>
concept HasBase = requires { T{any_base<T>{}}; };

// What ANEW_TREE writes into a class is reached through here, so that it may stand in a private section.
struct TreeAccess {
  template <class T>
  static consteval bool registered() {
    return requires { typename T::anew_tree_type; };
  }
  template <class T>
  static consteval bool inherited() {
    return !std::same_as<typename T::anew_tree_type, T>;
  }
  template <class T, class Fn>
  static constexpr decltype(auto) apply(T& t, Fn&& fn) {
    return T::anew_tree_apply(t, fn);
  }
  template <class T>
  static std::string name(std::size_t i) {
    return T::anew_tree_name(i);
  }
};
template <class T>
concept Registered = std::is_class_v<T> && TreeAccess::registered<T>();

inline constexpr std::size_t max_fields = 32;

template <class T, std::size_t... I>
constexpr bool braces_with(std::index_sequence<I...>) {
  return requires { T{(void(I), any_field<T>{})...}; };
}
// The first count that fits while one more does not: fields with defaults let smaller counts fit as well.
template <class T, std::size_t N = 0>
constexpr std::size_t count_fields() {
  constexpr bool fits =
      braces_with<T>(std::make_index_sequence<N>{}) && !braces_with<T>(std::make_index_sequence<N + 1>{});
  if constexpr (fits || N > max_fields) return N;
  else return count_fields<T, N + 1>();
}

// fn(field, ...) with references to all fields of t, const as they are.
template <class T, class Fn>
constexpr decltype(auto) with_fields(T& t, Fn&& fn) {
  using U = std::remove_const_t<T>;
  if constexpr (Registered<U>) {
    static_assert(!TreeAccess::inherited<U>(),
                  "anew: this type inherits ANEW_TREE from its base; give it an ANEW_TREE of its own");
    return TreeAccess::apply(t, fn);
  } else if constexpr (HasBase<U>) {
    static_assert(!HasBase<U>, "anew: an aggregate with a base class needs ANEW_TREE(Type, fields...) in its body");
    return fn();
  } else {
    constexpr std::size_t n = count_fields<U>();
    static_assert(n <= max_fields,
                  "anew: more than 32 fields (or a C array as a field): use std::array, nest, or write "
                  "ANEW_TREE(Type, fields...)");
    if constexpr (n == 0 || n > max_fields) return fn();
#include <anew/fields.inc>
  }
}

struct FieldTypes {
  template <class... T>
  constexpr types<T...> operator()(T&...) const {
    return {};
  }
};
template <class T>
using field_types = decltype(with_fields(std::declval<T&>(), FieldTypes{}));

// ---- names: a pointer into an object that is declared and never defined, as a template argument, spelled by the
// compiler
template <class T>
struct Nowhere {
  T value;
};
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
extern const Nowhere<T> nowhere;

// The identifier that ends the spelling of P in "... [with auto* P = (& nowhere<T>.Nowhere<T>::value.T::name); ...]" or
// "... [P = &nowhere.value.name]".
consteval std::string_view last_identifier(std::string_view s) {
  constexpr auto part_of_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::size_t end = s.rfind(']');
  if (std::size_t semicolon = s.find("; "); semicolon < end) end = semicolon;
  while (end > 0 && !part_of_name(s[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && part_of_name(s[begin - 1])) --begin;
  return s.substr(begin, end - begin);
}
template <auto* P>
consteval std::string_view pointer_name() {
  return last_identifier(__PRETTY_FUNCTION__);
}
template <std::size_t I>
struct NthPointer {
  template <class T, class... Rest>
  constexpr auto operator()(T& first, Rest&... rest) const {
    if constexpr (I == 0) return &first;
    else return NthPointer<I - 1>{}(rest...);
  }
};
template <class T, std::size_t I>
consteval std::string_view field_name() {
  return pointer_name<with_fields(nowhere<T>.value, NthPointer<I>{})>();
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

// The i-th of "a, b, c", without spaces around it.
std::string nth_name(std::string_view list, std::size_t i);

}  // namespace anew::detail

#define ANEW_PP_PARENS ()
#define ANEW_PP_EXPAND(...) ANEW_PP_EXPAND_3(ANEW_PP_EXPAND_3(ANEW_PP_EXPAND_3(__VA_ARGS__)))
#define ANEW_PP_EXPAND_3(...) ANEW_PP_EXPAND_2(ANEW_PP_EXPAND_2(ANEW_PP_EXPAND_2(__VA_ARGS__)))
#define ANEW_PP_EXPAND_2(...) ANEW_PP_EXPAND_1(ANEW_PP_EXPAND_1(ANEW_PP_EXPAND_1(__VA_ARGS__)))
#define ANEW_PP_EXPAND_1(...) __VA_ARGS__
#define ANEW_PP_MEMBERS(...) __VA_OPT__(ANEW_PP_EXPAND(ANEW_PP_MEMBER(__VA_ARGS__)))
#define ANEW_PP_MEMBER(field, ...) self_.field __VA_OPT__(, ANEW_PP_MEMBER_AGAIN ANEW_PP_PARENS(__VA_ARGS__))
#define ANEW_PP_MEMBER_AGAIN() ANEW_PP_MEMBER

// In the body of a class: makes it a tree of the fields listed.
#define ANEW_TREE(Type, ...)                                                                               \
  friend struct ::anew::detail::TreeAccess;                                                                \
  using anew_tree_type = Type;                                                                             \
  template <class Self_, class Fn_>                                                                        \
  static constexpr decltype(auto) anew_tree_apply([[maybe_unused]] Self_& self_, Fn_&& fn_) {              \
    return fn_(ANEW_PP_MEMBERS(__VA_ARGS__));                                                              \
  }                                                                                                        \
  static std::string anew_tree_name(std::size_t i_) { return ::anew::detail::nth_name(#__VA_ARGS__, i_); } \
  static_assert(true)
