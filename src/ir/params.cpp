// Conversion of params to and from the dynamic form that printer and parser know. Kinds are strict: an integer is no
// float and a word no dtype, so that what is read prints as it was written.
#include "ir/params.h"

#include <limits>

#include "ir/program.h"

namespace anew::ir {
namespace {

template <class T>
bool take(const ParamValue& p, T& v) {
  auto* x = std::get_if<T>(&p.v);
  if (x) v = *x;
  return x;
}

}  // namespace

const ParamsRef& no_params() {
  static const auto& none = *new ParamsRef(std::make_shared<NoParams>());
  return none;
}

ParamValue to_param(const Shape& v) {
  ParamList list;
  for (std::int64_t d : v) list.items.push_back(to_param(d));
  return {std::move(list)};
}

bool from_param(const ParamValue& p, bool& v) { return take(p, v); }
bool from_param(const ParamValue& p, std::int64_t& v) { return take(p, v); }
bool from_param(const ParamValue& p, double& v) { return take(p, v); }
bool from_param(const ParamValue& p, std::string& v) { return take(p, v); }
bool from_param(const ParamValue& p, DType& v) { return take(p, v); }

bool from_param(const ParamValue& p, int& v) {
  std::int64_t wide = 0;
  if (!take(p, wide) || wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) return false;
  v = static_cast<int>(wide);
  return true;
}

// An absent program prints as None.
bool from_param(const ParamValue& p, ProgramRef& v) {
  if (std::holds_alternative<std::monostate>(p.v)) return v.reset(), true;
  return take(p, v);
}

bool from_param(const ParamValue& p, Shape& v) {
  std::vector<std::int64_t> dims;
  if (!from_param(p, dims) || dims.size() > static_cast<std::size_t>(Shape::max_ndim)) return false;
  v = Shape(dims);
  return true;
}

}  // namespace anew::ir
