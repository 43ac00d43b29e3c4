// What tells two calls of a function without state apart: types of the arrays, structure of the trees, static values. A
// CallKey is a list of words, so that comparing and hashing are loops over numbers; values of types that only know ==
// are kept as copies.
#pragma once
#include <anew/call.h>

#include <memory>
#include <vector>

namespace anew::flat {

class CallKey {
 public:
  CallKey();
  CallKey(const CallKey&);
  CallKey(CallKey&&) noexcept;
  CallKey& operator=(const CallKey&);
  CallKey& operator=(CallKey&&) noexcept;
  ~CallKey();
  void word(std::uint64_t w) {
    if (size_ < few && more_.empty()) few_[size_++] = w;
    else add_more(w);
  }
  void text(std::string_view s);
  // A static number: one that changes with each call causes a compilation each time.
  void number(std::uint64_t bits);
  void argument(std::size_t i) { argument_ = i; }
  template <class T>
  void value(const T& v) {
    add(std::make_shared<const T>(v),
        [](const void* a, const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); });
  }
  // Types of arrays, and whether they are C++ numbers; settings of the process that matter.
  void arrays(std::span<const Array> x);
  std::size_t hash() const;
  friend bool operator==(const CallKey& a, const CallKey& b);

  // For the warning about static numbers: the key with all of them left out, and the first that differs.
  CallKey without_numbers() const;
  std::size_t other_number(const CallKey& before) const;

 private:
  struct NumberAt {
    std::size_t word, argument;
  };
  struct Value {
    std::shared_ptr<const void> value;
    bool (*same)(const void*, const void*);
  };
  void add(std::shared_ptr<const void> value, bool (*same)(const void*, const void*));
  std::span<const std::uint64_t> words() const {
    return more_.empty() ? std::span(few_, size_) : std::span<const std::uint64_t>(more_);
  }
  void add_more(std::uint64_t w);
  // The words: in place while they are few, so that a call of a small function allocates nothing for its key.
  static constexpr std::size_t few = 32;
  std::uint64_t few_[few] = {};
  std::size_t size_ = 0;
  std::vector<std::uint64_t> more_;
  std::vector<NumberAt> numbers_;
  std::vector<Value> values_;
  std::size_t argument_ = 0;
};

}  // namespace anew::flat

namespace anew::detail {

template <class T>
inline constexpr bool is_function_pointer = std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>;

// Whether a value of this type can be part of a key: it holds no pointer, no view and no function with state, whose
// meaning could change while they stay the same.
template <class T, class... Seen>
consteval bool describable();
template <class... Seen, class... T>
consteval bool all_describable(types<T...>) {
  return (describable<std::remove_const_t<T>, Seen...>() && ...);
}
template <class T, class... Seen>
consteval bool describable() {
  if constexpr (std::same_as<T, Array> || std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_empty_v<T> ||
                std::is_null_pointer_v<T> || is_function_pointer<T> || Text<T> || is_one_of<T, Seen...>)
    return true;
  else if constexpr (std::is_scalar_v<T>) return false;
  else if constexpr (is_static_type<T>) return std::equality_comparable<T> || std::same_as<T, Axes>;
  else if constexpr (is_sequence<T> || is_optional<T>) return describable<typename T::value_type, Seen...>();
  else if constexpr (is_string_map<T>) return describable<typename T::mapped_type, Seen...>();
  else if constexpr (is_tuple<T>) return all_describable<Seen...>(typename element_types<T>::type{});
  else if constexpr (Record<T>) return all_describable<Seen..., T>(field_types<T>{});
  else if constexpr (Container<T> && !requires { typename T::mapped_type; })
    return describable<std::remove_const_t<typename T::value_type>, Seen...>() && requires(const T& t) { t.size(); };
  else return false;
}

template <class T>
void describe(const T& t, flat::CallKey& key);
struct DescribeFields {
  flat::CallKey& key;
  template <class... T>
  constexpr void operator()(const T&... field) const {
    (describe(field, key), ...);
  }
};
// A tree without its leaves, and what is static in it.
template <class T>
void describe(const T& t, flat::CallKey& key) {
  if constexpr (std::same_as<T, Array> || std::is_empty_v<T> || std::is_null_pointer_v<T>) return;
  else if constexpr (std::same_as<T, bool> || std::is_enum_v<T>) key.word(bits_of(t));
  else if constexpr (std::is_arithmetic_v<T>) key.number(bits_of(t));
  else if constexpr (is_function_pointer<T>) key.word(reinterpret_cast<std::uintptr_t>(t));
  else if constexpr (Text<T> && std::is_pointer_v<T>) t ? key.text(t) : key.word(~std::uint64_t{0});
  else if constexpr (Text<T>) key.text(t);
  else if constexpr (std::same_as<T, Shape>) {
    key.word(static_cast<std::uint64_t>(t.ndim()));
    for (std::int64_t n : t) key.word(static_cast<std::uint64_t>(n));
  } else if constexpr (std::same_as<T, Axes>) {
    key.word(t.all());
    describe(t.list(), key);
  } else if constexpr (is_static_type<T>) key.value(t);
  else if constexpr (is_optional<T>) {
    key.word(t.has_value());
    if (t) describe(*t, key);
  } else if constexpr (is_string_map<T>) {
    key.word(t.size());
    for (const auto& [name, value] : t) {
      key.text(name);
      describe(value, key);
    }
  } else if constexpr (is_tuple<T>) std::apply(DescribeFields{key}, t);
  else if constexpr (is_sequence<T> || !Record<T>) {
    key.word(t.size());
    if constexpr (!std::same_as<T, std::vector<Array>>)
      for (const auto& element : t)
        describe(static_cast<const std::remove_const_t<typename T::value_type>&>(element), key);
  } else with_fields(t, DescribeFields{key});
}

// The key of what makes trees of a type differ, beside their leaves.
template <class T>
flat::CallKey key_of_tree(const T& t) {
  flat::CallKey key;
  if constexpr (describable<T>()) describe(t, key);
  return key;
}
// A function that was made for `like` is called with `given` as argument i.
[[noreturn]] void other_tree(std::string_view op, std::size_t i, const std::vector<std::string>& given,
                             const std::vector<std::string>& like, const ValueDifference& d, const Location& at);
// Throws unless a function that was made for `like`, of which this was the key, takes `given` too, as argument i:
// leaves that are the same, and the same static values as far as they can be compared.
template <class T>
void check_same_tree(const T& given, const T& like, const flat::CallKey& key, std::string_view op, std::size_t i,
                     const Location& at) {
  if constexpr (holds_values<T>() || !fixed_structure<T>()) {
    if constexpr (describable<T>())
      if (key_of_tree(given) == key) return;
    ValueDifference d;
    d.views = false;
    const bool same = same_structure(given, like) && same_values(like, given, d);
    if (same && !describable<T>()) return;
    other_tree(op, i, leaf_paths(given, ""), leaf_paths(like, ""), d, at);
  }
}

}  // namespace anew::detail
