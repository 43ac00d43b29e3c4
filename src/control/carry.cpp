// Types of carries.
#include "control/carry.h"

#include <fmt/format.h>

namespace anew {

Staged stage_body(std::string_view loop, const FlatFunction& body, Arrays& start, Types& types,
                  const std::vector<std::string>& paths, const Location& at) {
  for (;;) {  // a second time where a number in the carry takes the dtype that the body returns
    bool again = false;
    Staged s = stage(body, types, loop, at);
    for (std::size_t i = 0; i < start.size(); ++i) {
      Type got = s.program.type(s.program.outputs[i]);
      if (got == types[i]) continue;
      const Value& v = *start[i].value();
      if (v.weak && got.shape == types[i].shape) {
        start[i] = make_literal(is_float(got.dtype) ? ir::Literal::of(got.dtype, v.number)
                                                    : ir::Literal::of(got.dtype, v.integer));
        types[i] = got;
        again = true;
        continue;
      }
      bool dtypes = got.dtype != types[i].dtype, shapes = !(got.shape == types[i].shape);
      throw Error(
          fmt::format("[{}] the body must return a carry of the type it takes: {} is {} but the body returns "
                      "{}, so the {} do not match",
                      loop, i < paths.size() ? paths[i] : fmt::format("carry[{}]", i), types[i].str(), got.str(),
                      dtypes && shapes ? "dtypes and the shapes"
                      : dtypes         ? "dtypes"
                                       : "shapes"),
          at, "convert or reshape the initial carry, or what the body returns");
    }
    if (!again) return s;
  }
}

}  // namespace anew
