// Types of carries.
#include "control/carry.h"

#include <fmt/format.h>

#include "base/dtype.h"
#include "ops/promote.h"

namespace anew {
namespace {

// A number that the body returns for a carry follows the carry, as far as it loses nothing by that.
Array returned(const Array& y, const Form& carry, const Location& at) {
  if (!is_weak(y) || carry.type.shape.ndim() != 0) return y;
  DType d = carry.type.dtype;
  if (carry.number) return kind_of(type_of(y).dtype) < kind_of(d) ? as_operand(y, d, at) : y;
  return kind_of(type_of(y).dtype) == kind_of(d) ? coerce(y, d, at) : y;
}

}  // namespace

Staged stage_body(std::string_view loop, const FlatFunction& body, Arrays& start, Forms& forms,
                  const std::vector<std::string>& paths, const Location& at) {
  for (;;) {  // again where a number in the carry takes the dtype that the body returns
    bool again = false;
    auto step = [&](std::span<const Array> in) {
      Arrays out = body(in);
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = i < start.size() ? returned(out[i], forms[i], at) : strong(out[i], at);
      return out;
    };
    Staged s = stage(step, forms, loop, at);
    for (std::size_t i = 0; i < start.size(); ++i) {
      const Form &got = s.forms[i], &given = forms[i];
      if (got.number == given.number &&
          (got.number ? wide(got.type.dtype) == wide(given.type.dtype) : got.type == given.type))
        continue;
      if (given.number && got.type.shape == given.type.shape && kind_of(got.type.dtype) >= kind_of(given.type.dtype)) {
        start[i] = got.number ? as_operand(start[i], got.type.dtype, at) : coerce(start[i], got.type.dtype, at);
        forms[i] = got;
        again = true;
        continue;
      }
      bool dtypes = got.type.dtype != given.type.dtype, shapes = !(got.type.shape == given.type.shape);
      throw Error(
          fmt::format("[{}] the body must return a carry of the type it takes: {} is {} but the body returns "
                      "{}, so the {} do not match",
                      loop, i < paths.size() ? paths[i] : fmt::format("carry[{}]", i), given.type.str(), got.type.str(),
                      dtypes && shapes ? "dtypes and the shapes"
                      : dtypes         ? "dtypes"
                                       : "shapes"),
          at, "convert or reshape the initial carry, or what the body returns");
    }
    if (!again) return s;
  }
}

}  // namespace anew
