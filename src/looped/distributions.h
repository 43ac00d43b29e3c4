// What distributions share: operands of one floating type, and their standard form.
#pragma once
#include <anew/ops.h>

#include <initializer_list>
#include <limits>

#include "ops/promote.h"

namespace anew::stats {

// Checked, of one floating type, with the line of the first.
inline Arrays float_operands(std::string_view op, std::initializer_list<const ArrayLike*> xs) {
  Arrays all;
  const Location& at = (*xs.begin())->at;
  for (const ArrayLike* x : xs) {
    check_operand(x->value, line_or(at));
    all.push_back(x->value);
  }
  return operands(op, all, at, floating(common_dtype(all)));
}

// z = (x - loc) / scale, beside the parameters of the shape, a and b. Its caller's line is kept as long as it lives.
struct Standard {
  PinLine pin;
  Array z, a, b, scale;
  Standard(std::string_view op, std::initializer_list<const ArrayLike*> xs, const ArrayLike& loc,
           const ArrayLike& given_scale)
      : pin((*xs.begin())->at, op) {
    const ArrayLike* list[] = {xs.begin()[0], xs.size() > 1 ? xs.begin()[1] : &loc,
                               xs.size() > 2 ? xs.begin()[2] : &loc};
    Arrays all = float_operands(op, {list[0], list[1], list[2], &loc, &given_scale});
    scale = all[4];
    z = (all[0] - all[3]) / scale;
    a = all[1];
    b = all[2];
  }
};
// q, and where it leads: to q-th quantile * scale + loc.
struct Quantile {
  PinLine pin;
  Array q, a, loc, scale;
  Quantile(std::string_view op, std::initializer_list<const ArrayLike*> xs, const ArrayLike& given_loc,
           const ArrayLike& given_scale)
      : pin((*xs.begin())->at, op) {
    Arrays all =
        float_operands(op, {xs.begin()[0], xs.size() > 1 ? xs.begin()[1] : &given_loc, &given_loc, &given_scale});
    q = all[0];
    a = all[1];
    loc = all[2];
    scale = all[3];
  }
};
// nan where q is no probability.
inline Array valid(const Array& q, const Array& y) {
  return where((q >= 0) & (q <= 1), y, std::numeric_limits<double>::quiet_NaN());
}
inline Array all_positive(const Array& x) { return all(x > 0, 0); }

}  // namespace anew::stats
