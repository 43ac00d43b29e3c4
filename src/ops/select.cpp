// Choosing between values: select_n, clamp, and where and clip made of them.
// A case without a tangent or cotangent is the literal 0, so the mask is all that the backward pass keeps.
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

Types infer_select(const ir::InferArgs& a) {
  if (a.in.size() < 2) fail("select_n", a.at, "needs a selector and at least one case");
  const Type& which = a.in[0];
  if (which.dtype != bool_ && which.dtype != i32)
    fail("select_n", a.at, fmt::format("the selector must be bool or i32, got {}", which.str()));
  if (which.dtype == bool_ && a.in.size() > 3)
    fail("select_n", a.at, fmt::format("a bool selects among 2 cases, got {}", a.in.size() - 1));
  for (const Type& t : a.in.subspan(1))
    if (t.dtype != a.in[1].dtype)
      fail("select_n", a.at, fmt::format("cases have different types: {} and {}", a.in[1].str(), t.str()));
  return {{common_shape("select_n", a.in, a.at), a.in[1].dtype}};
}

Primitive selection() {
  Primitive p = elementwise_row("select_n", 3, Accepts::anything, false, 1, {});
  p.infer = infer_select;
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return lower_elementwise(in, [](std::span<const Expr> x) {
      Expr y = x.back();
      for (std::size_t i = x.size() - 1; --i > 0;)
        y = x[0].dtype() == bool_ ? select(x[0], y, x[i]) : select(x[0] < static_cast<double>(i), x[i], y);
      return y;
    });
  };
  p.jvp = [](const ir::JvpArgs& a) {
    Arrays cases;
    bool some = false;
    for (const Array& t : a.t.subspan(1)) {
      some = some || t.value();
      cases.push_back(t.value() ? t : zero_like(a.y[0]));
    }
    return Arrays{some ? fitted(lax::select_n(a.x[0], cases), a.y[0]) : Array()};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    Arrays out(a.in.size());
    for (std::size_t i = 1; i < a.in.size(); ++i) {
      if (!a.linear[i]) continue;
      Arrays cases(a.in.size() - 1, zero_like(a.ct[0]));
      cases[i - 1] = a.ct[0];
      out[i] = unfitted(lax::select_n(a.x[0], cases), a.in[i]);
    }
    return out;
  };
  p.facts.linear_in = {1, 2};
  p.samples = [] {
    std::vector<ir::Sample> out;
    auto add = [&](const Shape& w, DType wd, const std::vector<Shape>& cases, DType d, double hi) {
      ir::Sample s{ir::no_params(), {{{w, wd}, 0, hi}}};
      for (const Shape& c : cases) s.inputs.push_back({{c, d}});
      out.push_back(s);
    };
    for (DType d : {f32, f64}) {
      add({}, bool_, {{}, {}}, d, 1);
      add({2, 3}, bool_, {{2, 3}, {2, 3}}, d, 1);
      add({2, 3}, bool_, {{}, {2, 3}}, d, 1);
      add({2, 3}, bool_, {{2, 3}, {}}, d, 1);
      add({}, bool_, {{2, 3}, {}}, d, 1);
      add({0, 3}, bool_, {{0, 3}, {0, 3}}, d, 1);
      add({4}, i32, {{4}, {4}, {4}}, d, 2);
    }
    return out;
  };
  return p;
}

Primitive clamping() {
  Primitive p = elementwise_row("clamp", 3, Accepts::numbers, false, 2, [](std::span<const Expr> v) {
    Expr x = select(v[1] < v[0], v[0], v[1]);
    return select(x > v[2], v[2], x);
  });
  p.jvp = [](const ir::JvpArgs& a) {
    const Array &lo = a.x[0], &x = a.x[1], &hi = a.x[2];
    auto where_true = [&](const Array& mask, const Array& t) { return lax::select_n(mask, {zero_like(t), t}); };
    Array t;
    if (a.t[0].value()) t = where_true(lo > x, a.t[0]);
    if (a.t[1].value()) t = add_tangents(t, where_true((x > lo) & (x < hi), a.t[1]));
    if (a.t[2].value()) t = add_tangents(t, where_true(hi < x, a.t[2]));
    return Arrays{fitted(t, a.y[0])};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64})
      for (const Shape& bound : {Shape{}, Shape{2, 3}})
        for (SampleRange x : {SampleRange{-3, -2}, SampleRange{-0.4, 0.4}, SampleRange{2, 3}})
          out.push_back(
              {ir::no_params(), {{{bound, d}, -1, -0.5}, {{Shape{2, 3}, d}, x.lo, x.hi}, {{bound, d}, 0.5, 1}}});
    for (const Shape& s : {Shape{}, Shape{0, 2}})
      out.push_back({ir::no_params(), {{{s, f32}, -1, -0.5}, {{s, f32}, -0.4, 0.4}, {{s, f32}, 0.5, 1}}});
    return out;
  };
  return p;
}

struct SelectRows : Family {
  const Primitive& select_n = row(selection());
  const Primitive& clamp = row(clamping());
};

// A selector and cases of one dtype, all of one shape or scalars.
Array choose(std::string_view op, const Array& which, Arrays cases, const Location& at) {
  for (const Array& x : cases) check_operand(x, line_or(at));
  DType d = common_dtype(cases);
  bool numbers = std::all_of(cases.begin(), cases.end(), is_weak);
  Arrays all{which};
  for (const Array& x : cases) all.push_back(numbers ? as_operand(x, d, at) : coerce(x, d, at));
  return anew::bind(rows<SelectRows>().select_n, ir::no_params(), broadcast_operands(op, std::move(all), at), at)[0];
}

}  // namespace

std::span<const ir::Primitive* const> select_rows() { return rows<SelectRows>().list(); }

Array where(const ArrayLike& condition, const ArrayLike& x, const ArrayLike& y) {
  Array mask = coerce(condition.value, bool_, condition.at);
  return choose("where", mask, {y.value, x.value}, condition.at);
}

Array clip(const ArrayLike& x, const ArrayLike& lo, const ArrayLike& hi) {
  PinLine pin(x.at);
  return minimum(maximum(x, lo), hi);
}

namespace lax {
Array select_n(const ArrayLike& which, const ArrayList& cases) {
  check_operand(which.value, line_or(which.at));
  return choose("select_n", strong(which.value, which.at), cases.values, which.at);
}
Array clamp(const ArrayLike& lo, const ArrayLike& x, const ArrayLike& hi) {
  Arrays all = operands("clamp", {lo.value, x.value, hi.value}, x.at);
  return anew::bind(rows<SelectRows>().clamp, ir::no_params(), all, x.at)[0];
}
}  // namespace lax
}  // namespace anew
