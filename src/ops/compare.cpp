// Comparisons: elementwise, giving bool; no derivatives.
#include <anew/ops.h>

#include "ops/elementwise.h"
#include "ops/known_rows.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

Primitive comparison(std::string name, Expr (*value)(Expr, Expr)) {
  Primitive p = elementwise_row(std::move(name), 2, Accepts::anything, true, 1,
                                [value](std::span<const Expr> x) { return value(x[0], x[1]); });
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array()}; };
  p.samples = [] {
    auto out = binary_samples({-1, 0.4}, {0.5, 1});
    for (auto& s : integer_samples(2, 0, 2, true)) out.push_back(s);
    return out;
  };
  return p;
}

struct CompareRows : Family {
  const Primitive& eq = row(comparison("eq", [](Expr x, Expr y) { return x == y; }));
  const Primitive& ne = row(comparison("ne", [](Expr x, Expr y) { return x != y; }));
  const Primitive& lt = row(comparison("lt", [](Expr x, Expr y) { return x < y; }));
  const Primitive& le = row(comparison("le", [](Expr x, Expr y) { return x <= y; }));
  const Primitive& gt = row(comparison("gt", [](Expr x, Expr y) { return x > y; }));
  const Primitive& ge = row(comparison("ge", [](Expr x, Expr y) { return x >= y; }));
};

const CompareRows& rows() {
  static const CompareRows& r = *new CompareRows;
  return r;
}

Array apply(std::string_view name, const Primitive& p, const ArrayLike& a, const ArrayLike& b) {
  Arrays x = operands(name, {a.value, b.value}, a.at);
  return anew::bind(p, ir::no_params(), x, a.at)[0];
}

}  // namespace

std::span<const ir::Primitive* const> compare_rows() { return rows().list(); }
const ir::Primitive& lt_row() { return rows().lt; }

Array operator==(const ArrayLike& a, const ArrayLike& b) { return apply("equal", rows().eq, a, b); }
Array operator!=(const ArrayLike& a, const ArrayLike& b) { return apply("not_equal", rows().ne, a, b); }
Array operator<(const ArrayLike& a, const ArrayLike& b) { return apply("less", rows().lt, a, b); }
Array operator<=(const ArrayLike& a, const ArrayLike& b) { return apply("less_equal", rows().le, a, b); }
Array operator>(const ArrayLike& a, const ArrayLike& b) { return apply("greater", rows().gt, a, b); }
Array operator>=(const ArrayLike& a, const ArrayLike& b) { return apply("greater_equal", rows().ge, a, b); }
Array equal(const ArrayLike& a, const ArrayLike& b) { return apply("equal", rows().eq, a, b); }
Array not_equal(const ArrayLike& a, const ArrayLike& b) { return apply("not_equal", rows().ne, a, b); }
Array less(const ArrayLike& a, const ArrayLike& b) { return apply("less", rows().lt, a, b); }
Array less_equal(const ArrayLike& a, const ArrayLike& b) { return apply("less_equal", rows().le, a, b); }
Array greater(const ArrayLike& a, const ArrayLike& b) { return apply("greater", rows().gt, a, b); }
Array greater_equal(const ArrayLike& a, const ArrayLike& b) { return apply("greater_equal", rows().ge, a, b); }

}  // namespace anew
