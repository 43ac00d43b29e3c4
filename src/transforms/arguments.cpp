// See arguments.h.
#include "transforms/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/promote.h"

namespace anew {

Array matching(const Array& given, const Type& wanted, const std::string& what, const Location& at) {
  check_operand(given, at);
  const Value& v = *given.value();
  if (v.weak && wanted.shape.ndim() == 0) return coerce(given, wanted.dtype, at);
  if (!(v.type == wanted)) throw Error(fmt::format("{}: got {}, expected {}", what, v.type.str(), wanted.str()), at);
  return given;
}

void check_no_tangent(const Array& given, const Type& type, std::string_view what, std::string_view which,
                      std::size_t i, const Location& at) {
  const Value* v = given.value();
  if (!v || !v->concrete()) return;
  bool zeros = v->type == type || (v->weak && type.shape.ndim() == 0);
  if (zeros)
    for (std::int64_t k : given.to_vector<std::int64_t>(at)) zeros = zeros && k == 0;
  if (!zeros)
    throw Error(fmt::format("[{}] integers have no {}s: {} {} is {}", what, what == "vjp" ? "cotangent" : "tangent",
                            which, i, type.str()),
                at, "give zeros for it, or Array()");
}

void check_count(std::size_t given, std::size_t wanted, std::string_view what, const Location& at) {
  if (given != wanted) throw Error(fmt::format("{}: got {} arrays, expected {}", what, given, wanted), at);
}

Array as_argument(const Array& x) { return x.value()->literal ? fresh_alias(x) : x; }

Arrays arguments_of(std::span<const Array> x, const Location& at) {
  Arrays out;
  for (const Array& a : x) {
    check_operand(a, at);
    out.push_back(as_argument(strong(a, at)));
  }
  return out;
}

bool has_numbers(std::span<const Array> x) {
  return std::any_of(x.begin(), x.end(), [](const Array& a) { return form_of(a).number; });
}

}  // namespace anew
