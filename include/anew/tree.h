// Trees: what arguments and results of transformed functions are made of. Array, std::vector, std::array, std::tuple,
// std::pair, std::map<std::string, T>, std::optional, none, plain aggregates and ANEW_TREE classes of those. What holds
// no array is static: it stays in the tree as the value it is. A type that might hide an array is a compile error.
// Templates here only find the leaves; what happens at a leaf is compiled once, in the library.
#pragma once
#include <anew/array.h>
#include <anew/fields.h>
#include <anew/flat.h>

#include <array>
#include <map>
#include <tuple>

namespace anew {

// Vouches that values of a type hold no array, where the library cannot see that by itself:
// template <> inline constexpr bool anew::is_static_type<Color> = true;
template <class T>
inline constexpr bool is_static_type = false;
template <>
inline constexpr bool is_static_type<Shape> = true;
template <>
inline constexpr bool is_static_type<Axes> = true;
template <>
inline constexpr bool is_static_type<Policy> = true;
template <>
inline constexpr bool is_static_type<Location> = true;

namespace detail {

// ---- kinds of trees
template <class T>
inline constexpr bool is_sequence = false;  // elements of one type by number
template <class T, class A>
inline constexpr bool is_sequence<std::vector<T, A>> = true;
template <class T, std::size_t N>
inline constexpr bool is_sequence<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_fixed_sequence = false;
template <class T, std::size_t N>
inline constexpr bool is_fixed_sequence<std::array<T, N>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_string_map = false;
template <class T, class C, class A>
inline constexpr bool is_string_map<std::map<std::string, T, C, A>> = true;
template <class T>
inline constexpr bool is_tuple = false;  // and pairs
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;
template <class T>
concept Record =
    Registered<T> || (std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_empty_v<T> && !is_sequence<T>);

template <class T>
struct element_types {};
template <class... T>
struct element_types<std::tuple<T...>> {
  using type = types<T...>;
};
template <class A, class B>
struct element_types<std::pair<A, B>> {
  using type = types<A, B>;
};

template <class T, class... Ts>
inline constexpr bool is_one_of = (std::same_as<T, Ts> || ...);

// ---- does it hold arrays? `Seen` are the records around T: one that contains itself adds nothing new.
template <class T, class... Seen>
consteval bool find_arrays();
template <class... Seen, class... T>
consteval bool find_arrays_among(types<T...>) {
  return (find_arrays<std::remove_const_t<T>, Seen...>() || ...);
}
template <class T, class... Seen>
consteval bool find_arrays() {
  if constexpr (std::same_as<T, Array>) return true;
  else if constexpr (!std::is_scalar_v<T> && !is_static_type<T> && !is_one_of<T, Seen...>) {
    if constexpr (is_sequence<T> || is_optional<T>) return find_arrays<typename T::value_type, Seen...>();
    else if constexpr (is_string_map<T>) return find_arrays<typename T::mapped_type, Seen...>();
    else if constexpr (is_tuple<T>) return find_arrays_among<Seen...>(typename element_types<T>::type{});
    else if constexpr (Record<T>) return find_arrays_among<Seen..., T>(field_types<T>{});
  }
  return false;
}
template <class T>
inline constexpr bool holds_arrays = find_arrays<T>();
template <>
inline constexpr bool holds_arrays<Array> = true;

// ---- is it known through and through? Otherwise its arrays would silently be constants.
template <class T>
inline constexpr bool is_reference_wrapper = false;
template <class T>
inline constexpr bool is_reference_wrapper<std::reference_wrapper<T>> = true;
struct has_call {
  void operator()();
};
template <class T>
struct call_probe : T, has_call {};
// Callables are static. A generic operator() has no address, so the probe asks whether the name has become ambiguous.
template <class T>
concept HasCall = std::is_class_v<T> && !std::is_final_v<T> && !requires { &call_probe<T>::operator(); };
template <class T>
concept Container = requires(const T& t) {
  typename T::value_type;
  t.begin();
  t.end();
};

template <class T>
consteval bool points_to_arrays() {
  if constexpr (requires { sizeof(T); }) return holds_arrays<T>;
  else return false;
}
template <class T, class... Seen>
consteval bool accounted_for();
template <class... Seen, class... T>
consteval bool all_accounted_for(types<T...>) {
  return ((accounted_for<std::remove_const_t<T>, Seen...>() &&
           !(std::is_const_v<T> && holds_arrays<std::remove_const_t<T>>)) &&
          ...);
}
// Known to hold no array, whatever is in it.
template <class T>
consteval bool is_plain() {
  if constexpr (std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>)
    return !points_to_arrays<std::remove_cv_t<std::remove_pointer_t<T>>>();
  else return is_static_type<T> || std::is_scalar_v<T> || std::is_empty_v<T>;
}
template <class T, class... Seen>
consteval bool accounted_for() {
  if constexpr (!std::same_as<T, Array> && !is_plain<T>() && !is_one_of<T, Seen...>) {
    if constexpr (is_sequence<T> || is_optional<T>) return accounted_for<typename T::value_type, Seen...>();
    else if constexpr (is_string_map<T>) return accounted_for<typename T::mapped_type, Seen...>();
    else if constexpr (is_tuple<T>) return all_accounted_for<Seen...>(typename element_types<T>::type{});
    else if constexpr (Record<T>) return all_accounted_for<Seen..., T>(field_types<T>{});
    else if constexpr (std::convertible_to<const T&, std::string_view>) return true;
    else if constexpr (Container<T>)
      return accounted_for<typename T::value_type, Seen...>() && !holds_arrays<typename T::value_type>;
    else return HasCall<T> && !is_reference_wrapper<T>;
  }
  return true;
}
// False after an error that names T in the compiler's notes.
template <class T>
consteval bool check_tree() {
  constexpr bool known = accounted_for<T>();
  static_assert(
      known,
      "anew: this type is neither a tree (Array, std::vector/array/tuple/pair/optional/map<std::string, T>, plain "
      "aggregate without const fields of arrays, ANEW_TREE) nor known to hold no array; write ANEW_TREE(Type, "
      "fields...) in it, or specialise anew::is_static_type<Type>");
  return known;
}

// ---- leaves, in order
// A list of arrays that is only read: Arrays, or a span of them. Arrays become a span here without the compiler having
// to show that a vector is a range.
class LeafList {
 public:
  LeafList(const Arrays& xs) : data_(xs.data()), size_(xs.size()) {}
  LeafList(std::span<const Array> xs) : data_(xs.data()), size_(xs.size()) {}
  operator std::span<const Array>() const;
  const Array& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }
  LeafList behind_first() const { return LeafList(data_ + 1, size_ - 1); }

 private:
  LeafList(const Array* data, std::size_t size) : data_(data), size_(size) {}
  const Array* data_;
  std::size_t size_;
};
class LeafPass {
 public:
  enum class Action : std::uint8_t { copy, take, put };
  // Copies the leaves into `out`, or moves them there, so that a skeleton of static values remains.
  LeafPass(Action action, Arrays& out) : action_(action), out_(&out) {}
  // Writes `in` to the leaves.
  explicit LeafPass(LeafList in) : action_(Action::put), in_(in) {}
  void leaf(Array& a);
  void leaves(std::vector<Array>& list);
  std::size_t used() const { return next_; }
  void finish() const;  // all leaves that were given are in the tree

 private:
  Action action_;
  Arrays* out_ = nullptr;
  LeafList in_ = std::span<const Array>();
  std::size_t next_ = 0;
};

template <class T>
void walk(T& t, LeafPass& pass);
struct WalkFields {
  LeafPass& pass;
  template <class... T>
  constexpr void operator()(T&... field) const {
    (walk(field, pass), ...);
  }
};
template <class T>
void walk(T& t, LeafPass& pass) {
  if constexpr (!holds_arrays<std::remove_const_t<T>>) return;
  else if constexpr (std::same_as<T, Array>) pass.leaf(t);
  else if constexpr (std::same_as<T, std::vector<Array>>) pass.leaves(t);
  else if constexpr (is_sequence<T>)
    for (auto& element : t) walk(element, pass);
  else if constexpr (is_optional<T>) t ? walk(*t, pass) : void();
  else if constexpr (is_string_map<T>)
    for (auto& [key, value] : t) walk(value, pass);
  else if constexpr (is_tuple<T>) std::apply(WalkFields{pass}, t);
  else with_fields(t, WalkFields{pass});
}

// Only `put` and `take` write: a pass that copies may look at a const tree.
template <class T>
Arrays leaves(const T& t) {
  Arrays out;
  LeafPass pass(LeafPass::Action::copy, out);
  walk(const_cast<T&>(t), pass);
  return out;
}
template <class T>
Arrays take_leaves(T& t) {
  Arrays out;
  LeafPass pass(LeafPass::Action::take, out);
  walk(t, pass);
  return out;
}
template <class T>
void put_leaves(T& t, LeafList xs) {
  LeafPass pass(xs);
  walk(t, pass);
  pass.finish();
}
template <class T>
T with_leaves(T like, LeafList xs) {
  put_leaves(like, xs);
  return like;
}

// ---- key paths: params[0].w, m.blocks['enc'].w; dotted, as in files: params.0.w, m.blocks.enc.w
enum class PathStyle : std::uint8_t { code, dotted };
class PathPass {
 public:
  PathPass(std::vector<std::string>& out, std::string root, PathStyle style = PathStyle::code)
      : out_(out), path_(std::move(root)), style_(style), depth_(!path_.empty()) {}
  void leaf();
  // Each returns what leave() takes to go back.
  std::size_t enter_index(std::size_t i);
  std::size_t enter_key(std::string_view key);
  std::size_t enter_field(std::string_view name);
  void leave(std::size_t mark);

 private:
  std::size_t enter(std::string_view before, std::string_view part, std::string_view behind);
  std::vector<std::string>& out_;
  std::string path_;
  PathStyle style_;
  std::size_t depth_;  // parts that are entered
};

template <class T>
void name_leaves(const T& t, PathPass& pass);
struct NameElements {
  PathPass& pass;
  template <class... T>
  void operator()(const T&... element) const {
    std::size_t i = 0;
    (one(element, i++), ...);
  }
  template <class T>
  void one(const T& element, std::size_t i) const {
    std::size_t mark = pass.enter_index(i);
    name_leaves(element, pass);
    pass.leave(mark);
  }
};
template <class Owner>
struct NameFields {
  PathPass& pass;
  template <class... T>
  void operator()(const T&... field) const {
    each(std::index_sequence_for<T...>{}, field...);
  }
  template <std::size_t... I, class... T>
  void each(std::index_sequence<I...>, const T&... field) const {
    (one<I>(field), ...);
  }
  template <std::size_t I, class T>
  void one(const T& field) const {
    if constexpr (holds_arrays<T>) {
      std::size_t mark = 0;
      if constexpr (Registered<Owner>) mark = pass.enter_field(TreeAccess::name<Owner>(I));
      else mark = pass.enter_field(field_name<Owner, I>());
      name_leaves(field, pass);
      pass.leave(mark);
    }
  }
};
template <class T>
void name_leaves(const T& t, PathPass& pass) {
  if constexpr (!holds_arrays<T>) return;
  else if constexpr (std::same_as<T, Array>) pass.leaf();
  else if constexpr (is_sequence<T>)
    for (std::size_t i = 0; i < t.size(); ++i) NameElements{pass}.one(t[i], i);
  else if constexpr (is_optional<T>) t ? name_leaves(*t, pass) : void();
  else if constexpr (is_string_map<T>) {
    for (const auto& [key, value] : t) {
      std::size_t mark = pass.enter_key(key);
      name_leaves(value, pass);
      pass.leave(mark);
    }
  } else if constexpr (is_tuple<T>) std::apply(NameElements{pass}, t);
  else with_fields(t, NameFields<T>{pass});
}
template <class T>
std::vector<std::string> leaf_paths(const T& t, std::string root, PathStyle style = PathStyle::code) {
  std::vector<std::string> out;
  PathPass pass(out, std::move(root), style);
  name_leaves(t, pass);
  return out;
}

// ---- structure: which leaves there are
template <class T>
consteval bool fixed_structure();
template <class... T>
consteval bool all_fixed(types<T...>) {
  return (fixed_structure<std::remove_const_t<T>>() && ...);
}
// Known from the type alone, so that nobody needs to compare it.
template <class T>
consteval bool fixed_structure() {
  if constexpr (!holds_arrays<T> || std::same_as<T, Array>) return true;
  else if constexpr (is_fixed_sequence<T>) return fixed_structure<typename T::value_type>();
  else if constexpr (is_sequence<T> || is_optional<T> || is_string_map<T>) return false;
  else if constexpr (is_tuple<T>) return all_fixed(typename element_types<T>::type{});
  else return all_fixed(field_types<T>{});
}

// Whether containers have the same sizes and keys, and the same options are set.
template <class T>
bool same_structure(const T& a, const T& b) {
  if constexpr (fixed_structure<T>()) return true;
  else if constexpr (is_optional<T>)
    return a.has_value() == b.has_value() && (!a || same_structure<typename T::value_type>(*a, *b));
  else if constexpr (is_sequence<T>) {
    if (a.size() != b.size()) return false;
    if constexpr (!fixed_structure<typename T::value_type>())
      for (std::size_t i = 0; i < a.size(); ++i)
        if (!same_structure<typename T::value_type>(a[i], b[i])) return false;
    return true;
  } else if constexpr (is_string_map<T>) {
    if (a.size() != b.size()) return false;
    for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j)
      if (i->first != j->first || !same_structure<typename T::mapped_type>(i->second, j->second)) return false;
    return true;
  } else {
    const auto all = [](const auto&... x) { return [&](const auto&... y) { return (same_structure(x, y) && ...); }; };
    if constexpr (is_tuple<T>) return std::apply(std::apply(all, a), b);
    else return with_fields(b, with_fields(a, all));
  }
}

// Throws unless both name the same leaves.
void compare_paths(const std::vector<std::string>& got, const std::vector<std::string>& want, std::string_view op,
                   std::string_view what, std::string_view like, const Location& at);
// Throws unless the leaves of `got` correspond one by one to those of `want`.
template <class T>
void check_structure(const T& got, const T& want, std::string_view op, std::string_view what, std::string_view like,
                     const Location& at) {
  if constexpr (!fixed_structure<T>())
    if (!same_structure(got, want))
      compare_paths(leaf_paths(got, std::string(what)), leaf_paths(want, std::string(what)), op, what, like, at);
}
void check_leaf_count(std::size_t given, std::size_t wanted, const Location& at);

// ---- static values: what is in a tree beside its leaves, where it can be compared
template <class T>
concept Text = std::convertible_to<const T&, std::string_view>;
template <class T>
std::uint64_t bits_of(T v) {
  if constexpr (std::is_enum_v<T>) return bits_of(static_cast<std::underlying_type_t<T>>(v));
  else if constexpr (std::is_floating_point_v<T>) {
    const double d = static_cast<double>(v);
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &d, sizeof bits);
    return bits;
  } else {
    return static_cast<std::uint64_t>(v);
  }
}
template <class T>
inline constexpr bool is_plain_element = std::is_scalar_v<T> || Text<T>;
template <class A, class B>
inline constexpr bool is_plain_element<std::pair<A, B>> = is_plain_element<A> && is_plain_element<B>;

template <class T, class... Seen>
consteval bool holds_values();
template <class... Seen, class... T>
consteval bool any_holds_values(types<T...>) {
  return (holds_values<std::remove_const_t<T>, Seen...>() || ...);
}
template <class T, class... Seen>
consteval bool holds_values() {
  if constexpr (std::is_scalar_v<T>) return true;
  else if constexpr (is_static_type<T>) return std::equality_comparable<T> || std::same_as<T, Axes>;
  else if constexpr (!std::same_as<T, Array> && !is_one_of<T, Seen...>) {
    if constexpr (is_sequence<T> || is_optional<T>) return holds_values<typename T::value_type, Seen...>();
    else if constexpr (is_string_map<T>) return holds_values<typename T::mapped_type, Seen...>();
    else if constexpr (is_tuple<T>) return any_holds_values<Seen...>(typename element_types<T>::type{});
    else if constexpr (Record<T>) return any_holds_values<Seen..., T>(field_types<T>{});
    else if constexpr (Text<T>) return true;
    else if constexpr (Container<T>) return is_plain_element<typename T::value_type> && std::equality_comparable<T>;
  }
  return false;
}

// Where two trees differ in a static value. Its path grows from the inside out, so that equal trees cost none.
class ValueDifference {
 public:
  bool views = true;  // texts that are views, or pointers, may be looked at: those of a kept tree may be gone
  // Each is false.
  bool between(bool a, bool b);
  bool between(std::int64_t a, std::int64_t b);
  bool between(std::uint64_t a, std::uint64_t b);
  bool between(double a, double b);
  bool between(std::string_view a, std::string_view b);  // as quoted strings
  bool between_shown(std::string a, std::string b);      // "": values that nobody can print
  bool at_index(std::size_t i);
  bool at_key(std::string_view key);
  bool at_field(std::string_view name);
  std::string path(std::string_view root) const;
  const std::string& first() const { return first_; }
  const std::string& second() const { return second_; }

 private:
  std::string path_, first_, second_;
};
template <class T>
bool same_number(T a, T b, ValueDifference& d) {
  if constexpr (std::is_enum_v<T>)
    return same_number(static_cast<std::underlying_type_t<T>>(a), static_cast<std::underlying_type_t<T>>(b), d);
  else if constexpr (std::same_as<T, bool>) return a == b || d.between(a, b);
  else {
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                    std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
    return bits_of(a) == bits_of(b) || d.between(static_cast<Wide>(a), static_cast<Wide>(b));
  }
}
template <class T>
bool same_values(const T& a, const T& b, ValueDifference& d);
template <class Owner, std::size_t I, class T>
bool same_field(const T& a, const T& b, ValueDifference& d) {
  if constexpr (holds_values<T>()) {
    if (!same_values(a, b, d)) {
      if constexpr (Registered<Owner>) return d.at_field(TreeAccess::name<Owner>(I));
      else return d.at_field(field_name<Owner, I>());
    }
  }
  return true;
}
template <class T>
bool same_values(const T& a, const T& b, ValueDifference& d) {
  if constexpr (!holds_values<T>()) return true;
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) return same_number(a, b, d);
  else if constexpr (std::is_scalar_v<T>) {
    if (a == b || (Text<T> && !d.views)) return true;
    if constexpr (Text<T>)
      if (a && b) return std::string_view(a) == std::string_view(b) || d.between(std::string_view(a), b);
    return d.between_shown("", "");
  } else if constexpr (std::same_as<T, Axes>) {
    return (a.all() == b.all() && a.list() == b.list()) || d.between_shown("", "");
  } else if constexpr (is_static_type<T>) {
    if (a == b) return true;
    if constexpr (requires { std::string(a.str()); }) return d.between_shown(a.str(), b.str());
    else return d.between_shown("", "");
  } else if constexpr (is_sequence<T>) {
    if (a.size() != b.size())
      return d.between_shown(std::to_string(a.size()) + " elements", std::to_string(b.size()) + " elements");
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!same_values<typename T::value_type>(a[i], b[i], d)) return d.at_index(i);
    return true;
  } else if constexpr (is_optional<T>) {
    if (a && b) return same_values(*a, *b, d);
    return a.has_value() == b.has_value() || d.between_shown(a ? "a value" : "none", b ? "a value" : "none");
  } else if constexpr (is_string_map<T>) {
    if (a.size() != b.size())
      return d.between_shown(std::to_string(a.size()) + " elements", std::to_string(b.size()) + " elements");
    for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j) {
      if (i->first != j->first) return d.between_shown("with key '" + i->first + "'", "with key '" + j->first + "'");
      if (!same_values(i->second, j->second, d)) return d.at_key(i->first);
    }
    return true;
  } else if constexpr (is_tuple<T>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((same_values(std::get<I>(a), std::get<I>(b), d) || d.at_index(I)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (Record<T>) {
    return with_fields(a, [&](const auto&... x) {
      return with_fields(b, [&](const auto&... y) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
          return (same_field<T, I>(x, y, d) && ...);
        }(std::make_index_sequence<sizeof...(y)>{});
      });
    });
  } else if constexpr (Text<T>) {
    if (std::same_as<T, std::string_view> && !d.views) return true;
    return std::string_view(a) == std::string_view(b) || d.between(std::string_view(a), std::string_view(b));
  } else {
    return a == b || d.between_shown("", "");
  }
}
[[noreturn]] void values_differ(const ValueDifference& d, std::string_view op, std::string_view what,
                                std::string_view like, const Location& at);
// Throws unless both have the same static values, as far as those can be compared.
template <class T>
void check_values(const T& got, const T& want, std::string_view op, std::string_view what, std::string_view like,
                  const Location& at) {
  if constexpr (holds_values<T>()) {
    ValueDifference d;
    if (!same_values(want, got, d)) values_differ(d, op, what, like, at);
  }
}
// Of tree number i in a list.
[[noreturn]] void values_differ(const ValueDifference& d, std::string_view op, std::size_t i, const Location& at);
template <class T>
void check_values(const T& got, const T& first, std::string_view op, std::size_t i, const Location& at) {
  if constexpr (holds_values<T>()) {
    ValueDifference d;
    if (!same_values(first, got, d)) values_differ(d, op, i, at);
  }
}

}  // namespace detail

template <class T>
concept Tree = std::same_as<T, none_t> || detail::holds_arrays<T>;

template <Tree T>
Arrays tree_leaves(const T& t) {
  return detail::leaves(t);
}

namespace detail {
[[noreturn]] void moved_from(const Location& at);
}

// A tree without its leaves.
template <class T>
struct TreeDef {
  T skeleton;
  std::size_t size = 0;  // number of leaves
};
template <Tree T>
std::pair<Arrays, TreeDef<T>> tree_flatten(T t) {
  Arrays leaves = detail::take_leaves(t);
  std::size_t n = leaves.size();
  return {std::move(leaves), {std::move(t), n}};
}
template <class T>
T tree_unflatten(const TreeDef<T>& def, std::span<const Array> leaves, const Location& at = Location::current()) {
  if (detail::leaves(def.skeleton).size() != def.size) detail::moved_from(at);
  detail::check_leaf_count(leaves.size(), def.size, at);
  return detail::with_leaves(def.skeleton, leaves);
}

}  // namespace anew

#include <anew/tree_map.h>
