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

Array compared(std::string_view name, const Primitive& p, const ArrayLike& a, const ArrayLike& b) {
  Arrays x = operands(name, {a.value, b.value}, a.at);
  return anew::bind(p, ir::no_params(), x, a.at)[0];
}

}  // namespace

std::span<const ir::Primitive* const> compare_rows() { return rows<CompareRows>().list(); }
const ir::Primitive& lt_row() { return rows<CompareRows>().lt; }

Array operator==(const ArrayLike& a, const ArrayLike& b) { return compared("equal", rows<CompareRows>().eq, a, b); }
Array operator!=(const ArrayLike& a, const ArrayLike& b) { return compared("not_equal", rows<CompareRows>().ne, a, b); }
Array operator<(const ArrayLike& a, const ArrayLike& b) { return compared("less", rows<CompareRows>().lt, a, b); }
Array operator<=(const ArrayLike& a, const ArrayLike& b) {
  return compared("less_equal", rows<CompareRows>().le, a, b);
}
Array operator>(const ArrayLike& a, const ArrayLike& b) { return compared("greater", rows<CompareRows>().gt, a, b); }
Array operator>=(const ArrayLike& a, const ArrayLike& b) {
  return compared("greater_equal", rows<CompareRows>().ge, a, b);
}
Array equal(const ArrayLike& a, const ArrayLike& b) { return compared("equal", rows<CompareRows>().eq, a, b); }
Array not_equal(const ArrayLike& a, const ArrayLike& b) { return compared("not_equal", rows<CompareRows>().ne, a, b); }
Array less(const ArrayLike& a, const ArrayLike& b) { return compared("less", rows<CompareRows>().lt, a, b); }
Array less_equal(const ArrayLike& a, const ArrayLike& b) {
  return compared("less_equal", rows<CompareRows>().le, a, b);
}
Array greater(const ArrayLike& a, const ArrayLike& b) { return compared("greater", rows<CompareRows>().gt, a, b); }
Array greater_equal(const ArrayLike& a, const ArrayLike& b) {
  return compared("greater_equal", rows<CompareRows>().ge, a, b);
}

}  // namespace anew
