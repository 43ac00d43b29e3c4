// The recorded operations of special functions.
#include <anew/ops.h>

#include "golden/operation.h"

namespace anew::golden {
namespace {

Arrays round_by_mode(const Arrays& x, const Params& p) {
  const bool away = p.text("rounding", "to_nearest_even") == "away_from_zero";
  return {lax::round(x.at(0), away ? lax::Rounding::away_from_zero : lax::Rounding::to_nearest_even)};
}

}  // namespace

Operations special_operations() {
  return {
      {"lgamma", unary(lgamma)}, {"digamma", unary(digamma)}, {"erf_inv", unary(erf_inv)}, {"round", round_by_mode}};
}

}  // namespace anew::golden
