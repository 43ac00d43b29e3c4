// Static parameters of an equation: plain structs with one fields() list, from which equality, hash, printing and
// parsing derive. A field is converted to and from ParamValue, the one dynamic form that the printer and parser know.
//
//   struct IotaParams : ParamsOf<IotaParams> {
//     ShapeDtype type; int dimension = 0;
//     static auto fields() { return std::tuple{field("type", &IotaParams::type), field("dimension", &IotaParams::dimension)}; }
//   };
#pragma once
#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "base/base.h"

namespace anew {

class Policy;

namespace ir {

struct Program;
using ProgramRef = std::shared_ptr<const Program>;

struct ParamValue;
struct ParamList {
  std::vector<ParamValue> items;
  bool square = false;  // [1, 2] rather than (1, 2)
};
// What a user's function looks like in text: it does not parse.
struct ParamFunction {
  std::string name;
};
// A value that is written as a call, any_of(dots_saveable, ...), or as a bare word that stands for one.
struct ParamCall {
  std::string name;
  std::vector<ParamValue> args;
  bool bare = false;  // the word alone, without ()
};
struct ParamValue {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, DType, ProgramRef, ParamFunction, ParamList,
               ParamCall>
      v;
};
using NamedParams = std::vector<std::pair<std::string_view, ParamValue>>;

// How deep Programs may be nested in each other, lists in params, and policies.
inline constexpr int max_nesting = 200;

struct Params {
  virtual ~Params() = default;
  virtual bool equals(const Params& other) const = 0;
  virtual std::size_t hash() const = 0;
  virtual NamedParams list() const = 0;
  // The Programs it holds, in the order of the fields; and the same params with other ones.
  virtual std::vector<ProgramRef> programs() const = 0;
  virtual std::shared_ptr<const Params> with_programs(const std::vector<ProgramRef>& programs) const = 0;
};
using ParamsRef = std::shared_ptr<const Params>;

// As printed, on one line: "(0, 1)", and "axes=(0, 1) keepdims=False", by name.
std::string str(const ParamValue& v);
std::string str(const Params& p);

// Equality of nested programs is structural (program.cpp).
bool equal(const ProgramRef& a, const ProgramRef& b);
std::size_t hash_value(const ProgramRef& p);

// ---- conversion of single fields
inline ParamValue to_param(bool v) { return {v}; }
inline ParamValue to_param(int v) { return {std::int64_t{v}}; }
inline ParamValue to_param(std::int64_t v) { return {v}; }
inline ParamValue to_param(double v) { return {v}; }
inline ParamValue to_param(const std::string& v) { return {v}; }
inline ParamValue to_param(DType v) { return {v}; }
inline ParamValue to_param(const ProgramRef& v) { return {v}; }
ParamValue to_param(const Shape& v);
template <class T>
ParamValue to_param(const std::vector<T>& v);
template <class A, class B>
ParamValue to_param(const std::pair<A, B>& v) {
  return {ParamList{{to_param(v.first), to_param(v.second)}}};
}
template <class... T>
ParamValue to_param(const std::tuple<T...>& v) {
  return std::apply([](const auto&... x) { return ParamValue{ParamList{{to_param(x)...}}}; }, v);
}
template <class T>
ParamValue to_param(const std::optional<T>& v) {
  return v ? to_param(*v) : ParamValue{};
}
template <class T>
ParamValue to_param(const std::vector<T>& v) {
  ParamList list;
  for (const T& x : v) list.items.push_back(to_param(x));
  return {std::move(list)};
}

// Each returns false where the text had a value of another kind.
bool from_param(const ParamValue& p, bool& v);
bool from_param(const ParamValue& p, int& v);
bool from_param(const ParamValue& p, std::int64_t& v);
bool from_param(const ParamValue& p, double& v);
bool from_param(const ParamValue& p, std::string& v);
bool from_param(const ParamValue& p, DType& v);
bool from_param(const ParamValue& p, ProgramRef& v);
bool from_param(const ParamValue& p, Shape& v);
template <class T>
bool from_param(const ParamValue& p, std::vector<T>& v);
template <class A, class B>
bool from_param(const ParamValue& p, std::pair<A, B>& v) {
  auto* list = std::get_if<ParamList>(&p.v);
  return list && list->items.size() == 2 && from_param(list->items[0], v.first) && from_param(list->items[1], v.second);
}
template <class... T>
bool from_param(const ParamValue& p, std::tuple<T...>& v) {
  auto* list = std::get_if<ParamList>(&p.v);
  if (!list || list->items.size() != sizeof...(T)) return false;
  std::size_t i = 0;
  return std::apply([&](auto&... x) { return (from_param(list->items[i++], x) && ...); }, v);
}
template <class T>
bool from_param(const ParamValue& p, std::optional<T>& v) {
  if (std::holds_alternative<std::monostate>(p.v)) return v.reset(), true;
  return from_param(p, v.emplace());
}
template <class T>
bool from_param(const ParamValue& p, std::vector<T>& v) {
  auto* list = std::get_if<ParamList>(&p.v);
  if (!list) return false;
  v.resize(list->items.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    if (!from_param(list->items[i], v[i])) return false;
  return true;
}

// ---- equality and hash of single fields
template <class T>
bool equal_param(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, ProgramRef>) return equal(a, b);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  else if constexpr (requires {
                       a.has_value();
                       *a;
                     })
    return a.has_value() == b.has_value() && (!a || equal_param(*a, *b));
  else if constexpr (requires {
                       typename T::value_type;
                       requires std::is_same_v<T, std::vector<typename T::value_type>>;
                     })
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return equal_param(x, y); });
  else return a == b;
}
template <class T>
std::size_t hash_param(const T& v) {
  if constexpr (std::is_same_v<T, ProgramRef>) return hash_value(v);
  else if constexpr (std::is_same_v<T, Shape>) return anew::hash_value(v);
  else if constexpr (std::is_enum_v<T>) return static_cast<std::size_t>(v);
  else if constexpr (std::is_same_v<T, double>) return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(v));
  else if constexpr (requires { std::hash<T>{}(v); }) return std::hash<T>{}(v);
  else if constexpr (requires { v.begin(); }) {
    std::size_t h = 7;
    for (const auto& x : v) hash_combine(h, hash_param(x));
    return h;
  } else if constexpr (requires { v.has_value(); }) {
    return v ? hash_param(*v) : 1;
  } else {
    return std::apply(
        [](const auto&... x) {
          std::size_t h = 11;
          (hash_combine(h, hash_param(x)), ...);
          return h;
        },
        v);
  }
}

// Calls fn on every Program of a field; other kinds of fields have none.
template <class T, class Fn>
void each_program(T& v, const Fn& fn) {
  if constexpr (std::is_same_v<std::remove_const_t<T>, ProgramRef>) {
    if (v) fn(v);
  } else if constexpr (std::is_same_v<std::remove_const_t<T>, std::vector<ProgramRef>>) {
    for (auto& p : v) each_program(p, fn);
  }
}

template <class P, class M>
struct Field {
  std::string_view name;
  M P::* member;
  bool optional = false;
};
template <class P, class M>
constexpr Field<P, M> field(std::string_view name, M P::* member) {
  return {name, member};
}
// A field that is written only where it differs from its default.
template <class P, class M>
constexpr Field<P, M> optional_field(std::string_view name, M P::* member) {
  return {name, member, true};
}

template <class P>
struct ParamsOf : Params {
  const P& self() const { return static_cast<const P&>(*this); }
  bool equals(const Params& other) const final {
    auto* o = dynamic_cast<const P*>(&other);
    return o &&
           std::apply([&](auto... f) { return (equal_param(self().*f.member, o->*f.member) && ...); }, P::fields());
  }
  std::size_t hash() const final {
    std::size_t h = 3;
    std::apply([&](auto... f) { (hash_combine(h, hash_param(self().*f.member)), ...); }, P::fields());
    return h;
  }
  NamedParams list() const final {
    NamedParams out;
    auto one = [&](auto f) {
      if (f.optional && equal_param(self().*f.member, P{}.*f.member)) return;
      out.emplace_back(f.name, to_param(self().*f.member));
    };
    std::apply([&](auto... f) { (one(f), ...); }, P::fields());
    return out;
  }
  std::vector<ProgramRef> programs() const final {
    std::vector<ProgramRef> out;
    auto collect = [&](const ProgramRef& p) { out.push_back(p); };
    std::apply([&](auto... f) { (each_program(self().*f.member, collect), ...); }, P::fields());
    return out;
  }
  ParamsRef with_programs(const std::vector<ProgramRef>& programs) const final {
    auto p = std::make_shared<P>(self());
    std::size_t next = 0;
    auto replace = [&](ProgramRef& q) { q = programs.at(next++); };
    std::apply([&](auto... f) { (each_program((*p).*f.member, replace), ...); }, P::fields());
    return p;
  }
  // From text; nothing if a field is missing, unknown or of the wrong kind.
  static ParamsRef parse(const NamedParams& given) {
    auto p = std::make_shared<P>();
    std::size_t found = 0;
    bool ok = true;
    auto one = [&](auto f) {
      for (const auto& [name, value] : given)
        if (name == f.name) return ++found, void(ok = ok && from_param(value, (*p).*f.member));
      ok = ok && f.optional;
    };
    std::apply([&](auto... f) { (one(f), ...); }, P::fields());
    return ok && found == given.size() ? ParamsRef(p) : nullptr;
  }
};
struct NoParams : ParamsOf<NoParams> {
  static auto fields() { return std::tuple{}; }
};
const ParamsRef& no_params();

}  // namespace ir
}  // namespace anew
