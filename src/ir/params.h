// Static parameters of an equation: plain structs with one fields() list, from which equality, hash, printing and
// parsing derive. A field is converted to and from ParamValue, the one dynamic form that the printer and parser know.
//
//   struct IotaParams : ParamsOf<IotaParams> {
//     ShapeDtype type; int dimension = 0;
// static auto fields() { return std::tuple{field("type", &IotaParams::type), field("dimension",
// &IotaParams::dimension)}; }
//   };
#pragma once
#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <typeinfo>
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
// Its members are compiled once, in params.cpp: rows of every file make and drop such values.
struct ParamValue {
  ParamValue();
  ParamValue(bool v);
  ParamValue(std::int64_t v);
  ParamValue(double v);
  ParamValue(std::string v);
  ParamValue(DType v);
  ParamValue(ProgramRef v);
  ParamValue(ParamFunction v);
  ParamValue(ParamList v);
  ParamValue(ParamCall v);
  template <class T>
  ParamValue(T*) = delete;  // no bool
  ParamValue(const ParamValue&);
  ParamValue(ParamValue&&) noexcept;
  ParamValue& operator=(const ParamValue&);
  ParamValue& operator=(ParamValue&&) noexcept;
  ~ParamValue();
  std::variant<std::monostate, bool, std::int64_t, double, std::string, DType, ProgramRef, ParamFunction, ParamList,
               ParamCall>
      v;
};
using NamedParams = std::vector<std::pair<std::string_view, ParamValue>>;

// How deep Programs may be nested in each other, lists in params, and policies.
inline constexpr int max_nesting = 200;

struct FieldKind;
// One field of some params: its name, where it lies and what can be done with it.
struct FieldRef {
  std::string_view name;
  bool optional;
  const void* value;
  const FieldKind* kind;
};

struct Params {
  virtual ~Params();
  // As what the row's params are: their struct, or a base that the params of several rows share.
  template <class T>
  const T& as() const {
    if constexpr (std::is_base_of_v<Params, T>) {
      if (typeid(*this) == typeid(T)) return static_cast<const T&>(*this);
    } else if (const T* shared = if_a<T>()) {
      return *shared;
    }
    not_a(typeid(T));
  }
  // The same where they may be another row's: null.
  template <class T>
  const T* if_a() const {
    return dynamic_cast<const T*>(this);
  }
  bool equals(const Params& other) const;
  std::size_t hash() const;
  NamedParams list() const;
  // The Programs it holds, in the order of the fields; and the same params with other ones.
  std::vector<ProgramRef> programs() const;
  std::shared_ptr<const Params> with_programs(const std::vector<ProgramRef>& programs) const;

 private:
  [[noreturn]] void not_a(const std::type_info& wanted) const;

 protected:
  static constexpr std::size_t max_fields = 16;
  // Writes the fields there, and says how many there are.
  virtual std::size_t describe(FieldRef* out) const = 0;
  virtual std::shared_ptr<Params> fresh() const = 0;
  virtual std::shared_ptr<Params> copy() const = 0;
  // `into` with the fields of a text; nothing if one is missing, unknown or of the wrong kind.
  static std::shared_ptr<const Params> read(std::shared_ptr<Params> into, const NamedParams& given);
};
using ParamsRef = std::shared_ptr<const Params>;

// As printed, on one line: "(0, 1)", and "axes=(0, 1) keepdims=False", by name.
std::string str(const ParamValue& v);
std::string str(const Params& p);

// Equality of nested programs is structural (program.cpp).
bool equal(const ProgramRef& a, const ProgramRef& b);
std::size_t hash_value(const ProgramRef& p);

// ---- conversion of single fields
inline ParamValue to_param(bool v) { return v; }
inline ParamValue to_param(int v) { return std::int64_t{v}; }
inline ParamValue to_param(std::int64_t v) { return v; }
inline ParamValue to_param(double v) { return v; }
inline ParamValue to_param(const std::string& v) { return v; }
inline ParamValue to_param(DType v) { return v; }
inline ParamValue to_param(const ProgramRef& v) { return v; }
ParamValue to_param(const Shape& v);
template <class T>
ParamValue to_param(const std::vector<T>& v);
template <class A, class B>
ParamValue to_param(const std::pair<A, B>& v) {
  return ParamList{{to_param(v.first), to_param(v.second)}};
}
template <class... T>
ParamValue to_param(const std::tuple<T...>& v) {
  return std::apply([](const auto&... x) { return ParamValue(ParamList{{to_param(x)...}}); }, v);
}
template <class T>
ParamValue to_param(const std::optional<T>& v) {
  return v ? to_param(*v) : ParamValue{};
}
template <class T>
ParamValue to_param(const std::vector<T>& v) {
  ParamList list;
  for (const T& x : v) list.items.push_back(to_param(x));
  return list;
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

// What params need to know of a field's type. Types that many rows have are compiled once, in params.cpp.
struct FieldKind {
  enum class Programs : std::uint8_t { none, one, list };
  bool (*equal)(const void* a, const void* b);
  std::size_t (*hash)(const void* v);
  ParamValue (*write)(const void* v);
  bool (*read)(const ParamValue& from, void* v);
  Programs programs;
};
template <class T>
struct FieldOf {
  static bool equal(const void* a, const void* b);
  static std::size_t hash(const void* v);
  static ParamValue write(const void* v);
  static bool read(const ParamValue& from, void* v);
};
template <class T>
bool FieldOf<T>::equal(const void* a, const void* b) {
  return equal_param(*static_cast<const T*>(a), *static_cast<const T*>(b));
}
template <class T>
std::size_t FieldOf<T>::hash(const void* v) {
  return hash_param(*static_cast<const T*>(v));
}
template <class T>
ParamValue FieldOf<T>::write(const void* v) {
  return to_param(*static_cast<const T*>(v));
}
template <class T>
bool FieldOf<T>::read(const ParamValue& from, void* v) {
  return from_param(from, *static_cast<T*>(v));
}
extern template struct FieldOf<bool>;
extern template struct FieldOf<int>;
extern template struct FieldOf<std::int64_t>;
extern template struct FieldOf<double>;
extern template struct FieldOf<std::string>;
extern template struct FieldOf<DType>;
extern template struct FieldOf<Shape>;
extern template struct FieldOf<ProgramRef>;
extern template struct FieldOf<std::vector<int>>;
extern template struct FieldOf<std::vector<ProgramRef>>;
extern template struct FieldOf<std::optional<Shape>>;

template <class T>
inline constexpr FieldKind field_kind = {&FieldOf<T>::equal, &FieldOf<T>::hash, &FieldOf<T>::write, &FieldOf<T>::read,
                                         std::is_same_v<T, ProgramRef>                ? FieldKind::Programs::one
                                         : std::is_same_v<T, std::vector<ProgramRef>> ? FieldKind::Programs::list
                                                                                      : FieldKind::Programs::none};

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
  // From text; nothing if a field is missing, unknown or of the wrong kind.
  static ParamsRef parse(const NamedParams& given) { return read(std::make_shared<P>(), given); }

 private:
  std::size_t describe(FieldRef* out) const final {
    return std::apply([&](const auto&... f) { return describe_each(out, f...); }, P::fields());
  }
  // A field may be a member of a base.
  template <class... B, class... M>
  std::size_t describe_each([[maybe_unused]] FieldRef* out, const Field<B, M>&... f) const {
    static_assert(sizeof...(M) <= max_fields);
    [[maybe_unused]] const P& self = static_cast<const P&>(*this);
    ((*out++ = {f.name, f.optional, &(self.*f.member), &field_kind<M>}), ...);
    return sizeof...(M);
  }
  std::shared_ptr<Params> fresh() const final { return std::make_shared<P>(); }
  std::shared_ptr<Params> copy() const final { return std::make_shared<P>(static_cast<const P&>(*this)); }
};
struct NoParams : ParamsOf<NoParams> {
  static auto fields() { return std::tuple{}; }
};
const ParamsRef& no_params();

}  // namespace ir
}  // namespace anew

extern template class std::vector<anew::ir::ParamValue>;
extern template class std::vector<std::pair<std::string_view, anew::ir::ParamValue>>;
