// From a recorded case to a call of the library: a table of operations, each a function of inputs and static
// parameters.
#pragma once
#include <anew/flat.h>

#include <map>
#include <set>
#include <stdexcept>

#include "golden/golden_file.h"

namespace anew::golden {

// Static parameters of a case; an absent one has the recording library's default. Remembers which were asked for, so
// that a parameter the table does not know is noticed instead of ignored.
class Params {
 public:
  Params(const Json& params, std::string expression, DType dtype)
      : params_(params), expression_(std::move(expression)), dtype_(dtype) {}

  bool has(const std::string& key) const {
    asked_.insert(key);
    return params_.contains(key) && !params_.at(key).is_null();
  }
  bool is_list(const std::string& key) const { return has(key) && raw(key).is_array(); }
  bool is_text(const std::string& key) const { return has(key) && raw(key).is_string(); }
  bool flag(const std::string& key, bool otherwise = false) const { return value(key, otherwise); }
  double number(const std::string& key, double otherwise) const { return value(key, otherwise); }
  std::int64_t integer(const std::string& key) const { return raw(key).get<std::int64_t>(); }
  std::int64_t integer(const std::string& key, std::int64_t otherwise) const { return value(key, otherwise); }
  std::string text(const std::string& key, const std::string& otherwise = "") const { return value(key, otherwise); }
  DType dtype(const std::string& key) const { return parse_dtype(text(key)); }

  // A number or a list.
  std::vector<std::int64_t> integers(const std::string& key) const { return list_of<std::int64_t>(raw(key)); }
  std::vector<int> ints(const std::string& key) const { return list_of<int>(raw(key)); }
  Shape shape(const std::string& key) const { return Shape(integers(key)); }
  Axes axes(const std::string& key = "axis", Axes otherwise = {}) const {
    return has(key) ? Axes(ints(key)) : std::move(otherwise);
  }
  std::optional<int> axis(const std::string& key = "axis") const {
    return has(key) ? std::optional(raw(key).get<int>()) : std::nullopt;
  }
  bool keepdims() const { return flag("keepdims"); }
  const Json& raw(const std::string& key) const {
    asked_.insert(key);
    return params_.at(key);
  }
  // The first parameter that was given and never asked for; empty if there is none.
  std::string ignored() const {
    for (const auto& [key, value] : params_.items())
      if (!value.is_null() && !asked_.contains(key)) return key;
    return "";
  }

  const std::string& expression() const { return expression_; }  // the definition, where parameters do not tell
  bool defined_by(const std::string& part) const { return expression_.find(part) != std::string::npos; }
  DType run_dtype() const { return dtype_; }

 private:
  template <class T>
  T value(const std::string& key, T otherwise) const {
    return has(key) ? raw(key).get<T>() : otherwise;
  }
  template <class T>
  static std::vector<T> list_of(const Json& j) {
    return j.is_array() ? j.get<std::vector<T>>() : std::vector<T>{j.get<T>()};
  }
  Json params_;
  mutable std::set<std::string> asked_;
  std::string expression_;
  DType dtype_;
};

// Thrown by an operation for a form of it that this version does not have: the case is skipped under this name.
struct NotDelivered : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using X = const Arrays&;
using P = const Params&;
using Operation = std::function<Arrays(X, P)>;
Operation one(std::function<Array(X, P)> f);  // of one result
Operation unary(Array (*f)(const ArrayLike&));
using Operations = std::map<std::string, Operation>;
const Operations& operations();
// Parts of the table that have files of their own.
Operations index_operations();
Operations linalg_operations();
Operations nn_operations();
Operations special_operations();

// Python's index syntax, static parts only: "None, 1:, ..., ::-2, -1".
Index parse_index(const std::string& text);

}  // namespace anew::golden
