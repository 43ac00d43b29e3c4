// Elementwise functions of two operands: arithmetic and bits. Each row gives the contribution of each input to the
// tangent as an operation of its own, the same whoever else has a tangent, so that a zero that has been made real adds
// nothing.
#include <anew/nn.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/known_rows.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct At {
  const Array &x, &y, &out;
};
using Contribution = Array (*)(const At& p, const Array& t);

struct BinaryRule {
  Expr (*value)(Expr x, Expr y);
  Contribution first = nullptr, second = nullptr;  // null: no derivative
  double flops = 1;
  SampleRange x = {-2, 2}, y = {-2, 2};
  Accepts accepts = Accepts::numbers;
};

Primitive binary(std::string name, const BinaryRule& r) {
  Primitive p = elementwise_row(std::move(name), 2, r.accepts, false, r.flops,
                                [value = r.value](std::span<const Expr> x) { return value(x[0], x[1]); });
  p.jvp = [first = r.first, second = r.second](const ir::JvpArgs& a) {
    At at{a.x[0], a.x[1], a.y[0]};
    Array s = first && a.t[0].value() ? first(at, a.t[0]) : Array();
    Array t = second && a.t[1].value() ? second(at, a.t[1]) : Array();
    Array sum = add_tangents(s, t);
    return Arrays{sum.value() ? fitted(sum, a.y[0]) : sum};
  };
  p.samples = [r] {
    if (r.accepts == Accepts::integers) return integer_samples(2, 0, 5, false);
    if (r.accepts == Accepts::logical) return integer_samples(2, 0, 5, true);
    return with_integers(binary_samples(r.x, r.y), r.accepts);
  };
  return p;
}

Primitive addition(std::string name) {
  Primitive p = binary(std::move(name), {[](Expr x, Expr y) { return x.dtype() == bool_ ? x | y : x + y; },
                                         [](auto&, auto& t) { return t; },
                                         [](auto&, auto& t) { return t; },
                                         1,
                                         {},
                                         {},
                                         Accepts::anything});
  p.transpose = [](const ir::TransposeArgs& a) {
    Arrays out(2);
    for (std::size_t i : {0u, 1u})
      if (a.linear[i]) out[i] = unfitted(a.ct[0], a.in[i]);
    return out;
  };
  p.facts.linear_in = {0, 1};
  return p;
}

Primitive subtraction() {
  Primitive p = binary("sub", {[](Expr x, Expr y) { return x - y; }});
  p.jvp = [](const ir::JvpArgs& a) {
    const Array &s = a.t[0], &t = a.t[1];
    return Arrays{fitted(s.value() && t.value() ? s - t : s.value() ? s : -t, a.y[0])};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    Arrays out(2);
    if (a.linear[0]) out[0] = unfitted(a.ct[0], a.in[0]);
    if (a.linear[1]) out[1] = -unfitted(a.ct[0], a.in[1]);
    return out;
  };
  p.facts.linear_in = {0, 1};
  return p;
}

Primitive multiplication() {
  Primitive p = binary("mul", {[](Expr x, Expr y) { return x.dtype() == bool_ ? x & y : x * y; },
                               [](auto& p, auto& t) { return t * p.y; },
                               [](auto& p, auto& t) { return p.x * t; },
                               1,
                               {},
                               {},
                               Accepts::anything});
  p.transpose = [](const ir::TransposeArgs& a) {
    Arrays out(2);
    if (a.linear[0]) out[0] = unfitted(a.ct[0] * a.x[1], a.in[0]);
    if (a.linear[1]) out[1] = unfitted(a.x[0] * a.ct[0], a.in[1]);
    return out;
  };
  p.facts.linear_in = {0, 1}, p.facts.product = true;
  return p;
}

Primitive division() {
  Primitive p = binary("div", {[](Expr x, Expr y) { return x / y; },
                               [](auto& p, auto& t) { return t / p.y; },
                               [](auto& p, auto& t) { return t * -(p.out / p.y); },
                               4,
                               {},
                               {0.5, 2}});
  p.transpose = [](const ir::TransposeArgs& a) { return Arrays{unfitted(a.ct[0] / a.x[1], a.in[0]), Array()}; };
  p.facts.linear_in = {0}, p.facts.quotient = true;
  return p;
}

// By squaring, over the bits of y. A negative power is the truncated reciprocal.
Expr integer_power(Expr x, Expr y) {
  DType d = x.dtype();
  int bits = d == i64 ? 63 : static_cast<int>(8 * size_of(d));
  Expr one = like(x, 1), result = one, base = x;
  for (int k = 0; k < bits; ++k) {
    Expr odd = (shr_logical(y, like(y, k)) & like(y, 1)) != 0;
    result = select(odd, result * base, result);
    if (k + 1 < bits) base = base * base;
  }
  if (!is_signed(d)) return result;
  Expr sign = select((y & like(y, 1)) != 0, like(x, -1), one);
  return select(y < 0, select(x == 1, one, select(x == -1, sign, like(x, 0))), result);
}

Expr next_after(Expr x, Expr y) {
  DType d = x.dtype(), bits = d == f64 ? i64 : i32;
  Expr b = bitcast(x, bits), one = like(b, 1);
  Expr step = bitcast(select((x < y) == (x > 0), b + one, b - one), d);
  Expr least = bitcast(one, d);
  Expr from_zero = select(y > 0, least, -least);
  return select((x != x) | (y != y), x + y, select(x == y, y, select(x == 0, from_zero, step)));
}

// Both contributions read one array, the share of the first operand in the larger (or smaller) one: 1, 0, or 1/2 at a
// tie.
Primitive extremum(std::string name, Expr (*value)(Expr, Expr), Array (*wins)(const At&)) {
  Primitive p = binary(std::move(name), {value, nullptr, nullptr, 1, {0, 1}, {1.2, 2}, Accepts::anything});
  p.jvp = [wins](const ir::JvpArgs& a) {
    const At at{a.x[0], a.x[1], a.y[0]};
    const Array &s = a.t[0], &t = a.t[1];
    DType d = type_of(at.out).dtype;
    Array share =
        lax::select_n(at.x == at.y, {lax::select_n(wins(at), {literal(d, 0), literal(d, 1)}), literal(d, 0.5)});
    Array first = s.value() ? s * share : s, second = t.value() ? t - t * share : t;
    return Arrays{fitted(add_tangents(first, second), at.out)};
  };
  return p;
}

// exp(x) / (exp(x) + exp(y)); 1 where both are the same infinity.
Array share_of_sum(const Array& x, const Array& y) {
  Array d = x - y;
  return where(isnan(d), where(x == y, 1, d), nn::sigmoid(d));
}

struct BinaryRows : Family {
  const Primitive& add = row(addition("add"));
  const Primitive& add_any = row(addition("add_any"));
  const Primitive& sub = row(subtraction());
  const Primitive& mul = row(multiplication());
  const Primitive& div = row(division());
  const Primitive& rem = row(binary("rem", {[](Expr x, Expr y) { return loops::rem(x, y); },
                                            [](auto&, auto& t) { return t; },
                                            [](auto& p, auto& t) {
                                              Array q = p.x / p.y;
                                              return t * -(sign(q) * floor(abs(q)));
                                            },
                                            8,
                                            {0.2, 0.9},
                                            {1, 2}}));
  const Primitive& pow =
      row(binary("pow", {[](Expr x, Expr y) { return is_float(x.dtype()) ? loops::pow(x, y) : integer_power(x, y); },
                         [](auto& p, auto& t) {  // y x^(y-1), and 0 for y = 0 whatever x is
                           Array power = anew::pow(p.x, p.y - 1);
                           return t * (p.y * where((p.y == 0) & ~isfinite(power), 0, power));
                         },
                         [](auto& p, auto& t) { return t * (log(where(p.x == 0, 1, p.x)) * p.out); },
                         30,
                         {0.3, 2},
                         {-2, 2}}));
  const Primitive& max = row(extremum(
      "max",
      [](Expr x, Expr y) {
        if (x.dtype() == bool_) return x | y;
        return is_float(x.dtype()) ? select((x >= y) | (x != x), x, y) : select(x >= y, x, y);
      },
      [](const At& p) { return p.x > p.y; }));
  const Primitive& min = row(extremum(
      "min",
      [](Expr x, Expr y) {
        if (x.dtype() == bool_) return x & y;
        return is_float(x.dtype()) ? select((x <= y) | (x != x), x, y) : select(x <= y, x, y);
      },
      [](const At& p) { return p.x < p.y; }));
  const Primitive& atan2 =
      row(binary("atan2", {[](Expr x, Expr y) { return loops::atan2(x, y); },
                           [](auto& p, auto& t) { return t * (p.y / (square(p.x) + square(p.y))); },
                           [](auto& p, auto& t) { return t * -(p.x / (square(p.x) + square(p.y))); },
                           30,
                           {0.3, 2},
                           {0.3, 2},
                           Accepts::floats}));
  const Primitive& logaddexp =
      row(binary("logaddexp", {[](Expr x, Expr y) {
                                 Expr first = x >= y, large = select(first, x, y), d = select(first, y, x) - large;
                                 return select(d != d, x + y, large + loops::log1p(loops::exp(d)));
                               },
                               [](auto& p, auto& t) { return t * share_of_sum(p.x, p.y); },
                               [](auto& p, auto& t) { return t * share_of_sum(p.y, p.x); },
                               40,
                               {},
                               {},
                               Accepts::floats}));
  const Primitive& nextafter =
      row(binary("nextafter", {next_after, [](auto&, auto& t) { return t; }, nullptr, 8, {}, {}, Accepts::floats}));
  const Primitive& and_ =
      row(binary("and", {[](Expr x, Expr y) { return x & y; }, nullptr, nullptr, 1, {}, {}, Accepts::logical}));
  const Primitive& or_ =
      row(binary("or", {[](Expr x, Expr y) { return x | y; }, nullptr, nullptr, 1, {}, {}, Accepts::logical}));
  const Primitive& xor_ =
      row(binary("xor", {[](Expr x, Expr y) { return x ^ y; }, nullptr, nullptr, 1, {}, {}, Accepts::logical}));
  const Primitive& shift_left = row(
      binary("shift_left", {[](Expr x, Expr y) { return shl(x, y); }, nullptr, nullptr, 1, {}, {}, Accepts::integers}));
  const Primitive& shift_right_arithmetic =
      row(binary("shift_right_arithmetic",
                 {[](Expr x, Expr y) { return shr_arith(x, y); }, nullptr, nullptr, 1, {}, {}, Accepts::integers}));
  const Primitive& shift_right_logical =
      row(binary("shift_right_logical",
                 {[](Expr x, Expr y) { return shr_logical(x, y); }, nullptr, nullptr, 1, {}, {}, Accepts::integers}));
};

Array apply(std::string_view name, const Primitive& p, const ArrayLike& a, const ArrayLike& b,
            std::optional<DType> dtype = {}) {
  Arrays x = operands(name, {a.value, b.value}, a.at, dtype);
  return anew::bind(p, ir::no_params(), x, a.at)[0];
}

DType common(const ArrayLike& a, const ArrayLike& b) {
  check_operand(a.value, line_or(a.at));
  check_operand(b.value, line_or(a.at));
  std::array<Array, 2> both{a.value, b.value};
  return common_dtype(both);
}

}  // namespace

std::span<const ir::Primitive* const> binary_rows() { return rows<BinaryRows>().list(); }
const ir::Primitive& add_any_row() { return rows<BinaryRows>().add_any; }
const ir::Primitive& add_row() { return rows<BinaryRows>().add; }

Array operator+(const ArrayLike& a, const ArrayLike& b) { return apply("add", rows<BinaryRows>().add, a, b); }
Array operator-(const ArrayLike& a, const ArrayLike& b) { return apply("subtract", rows<BinaryRows>().sub, a, b); }
Array operator*(const ArrayLike& a, const ArrayLike& b) { return apply("multiply", rows<BinaryRows>().mul, a, b); }
Array operator/(const ArrayLike& a, const ArrayLike& b) {
  return apply("divide", rows<BinaryRows>().div, a, b, floating(common(a, b)));
}
Array operator%(const ArrayLike& a, const ArrayLike& b) { return remainder(a, b); }
Array operator&(const ArrayLike& a, const ArrayLike& b) { return bitwise_and(a, b); }
Array operator|(const ArrayLike& a, const ArrayLike& b) { return bitwise_or(a, b); }
Array operator^(const ArrayLike& a, const ArrayLike& b) { return bitwise_xor(a, b); }
Array operator<<(const ArrayLike& a, const ArrayLike& b) { return left_shift(a, b); }
Array operator>>(const ArrayLike& a, const ArrayLike& b) { return right_shift(a, b); }
Array& Array::operator+=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) + b; }
Array& Array::operator-=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) - b; }
Array& Array::operator*=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) * b; }
Array& Array::operator/=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) / b; }
Array& Array::operator%=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) % b; }
Array& Array::operator&=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) & b; }
Array& Array::operator|=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) | b; }
Array& Array::operator^=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) ^ b; }
Array& Array::operator<<=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) << b; }
Array& Array::operator>>=(const ArrayLike& b) & { return *this = ArrayLike(*this, b.at) >> b; }

Array add(const ArrayLike& a, const ArrayLike& b) { return a + b; }
Array subtract(const ArrayLike& a, const ArrayLike& b) { return a - b; }
Array multiply(const ArrayLike& a, const ArrayLike& b) { return a * b; }
Array divide(const ArrayLike& a, const ArrayLike& b) { return a / b; }
Array true_divide(const ArrayLike& a, const ArrayLike& b) { return a / b; }
Array maximum(const ArrayLike& a, const ArrayLike& b) { return apply("maximum", rows<BinaryRows>().max, a, b); }
Array minimum(const ArrayLike& a, const ArrayLike& b) { return apply("minimum", rows<BinaryRows>().min, a, b); }
Array fmod(const ArrayLike& a, const ArrayLike& b) { return lax::rem(a, b); }
Array atan2(const ArrayLike& y, const ArrayLike& x) {
  return apply("atan2", rows<BinaryRows>().atan2, y, x, floating(common(y, x)));
}
Array logaddexp(const ArrayLike& a, const ArrayLike& b) {
  return apply("logaddexp", rows<BinaryRows>().logaddexp, a, b, floating(common(a, b)));
}
Array arctan2(const ArrayLike& y, const ArrayLike& x) { return atan2(y, x); }
Array nextafter(const ArrayLike& a, const ArrayLike& b) {
  return apply("nextafter", rows<BinaryRows>().nextafter, a, b, floating(common(a, b)));
}
Array bitwise_and(const ArrayLike& a, const ArrayLike& b) {
  PinLine pin(a.at);
  return apply("bitwise_and", rows<BinaryRows>().and_, a, b);
}
Array bitwise_or(const ArrayLike& a, const ArrayLike& b) {
  PinLine pin(a.at);
  return apply("bitwise_or", rows<BinaryRows>().or_, a, b);
}
Array bitwise_xor(const ArrayLike& a, const ArrayLike& b) {
  PinLine pin(a.at);
  return apply("bitwise_xor", rows<BinaryRows>().xor_, a, b);
}
Array left_shift(const ArrayLike& a, const ArrayLike& b) {
  PinLine pin(a.at);
  return apply("left_shift", rows<BinaryRows>().shift_left, a, b);
}
Array right_shift(const ArrayLike& a, const ArrayLike& b) {
  PinLine pin(a.at);
  const DType d = common(a, b);
  return apply("right_shift",
               is_signed(d) ? rows<BinaryRows>().shift_right_arithmetic : rows<BinaryRows>().shift_right_logical, a, b);
}
Array logical_and(const ArrayLike& a, const ArrayLike& b) {
  return apply("logical_and", rows<BinaryRows>().and_, a, b, bool_);
}
Array logical_or(const ArrayLike& a, const ArrayLike& b) {
  return apply("logical_or", rows<BinaryRows>().or_, a, b, bool_);
}
Array logical_xor(const ArrayLike& a, const ArrayLike& b) {
  return apply("logical_xor", rows<BinaryRows>().xor_, a, b, bool_);
}

Array pow(const ArrayLike& a, const ArrayLike& b) { return power(a, b); }
Array power(const ArrayLike& a, const ArrayLike& b) {
  DType d = common(a, b);
  if (is_float(d)) {
    const Value& exponent = *b.value.value();
    bool whole = is_known_number(b.value) && is_integer(exponent.type.dtype) && std::abs(exponent.number) < 1e6;
    if (whole)
      return lax::integer_pow(ArrayLike(as_operand(a.value, d, a.at), a.at), static_cast<int>(exponent.integer));
    return apply("power", rows<BinaryRows>().pow, a, b);
  }
  const bool numbers = is_weak(a.value) && is_weak(b.value);
  DType base = is_known_number(b.value) ? type_of(a.value).dtype : d;  // a number as exponent does not widen it
  if (base == bool_) base = i32;
  else if (numbers || (is_known_number(b.value) && is_weak(a.value))) base = default_int();
  if (is_known_number(b.value) && b.value.value()->integer < 0)
    fail("power", a.at,
         fmt::format("integers to a negative power: {} to the power {}", type_of(a.value).str(),
                     b.value.value()->integer),
         "convert the base to a float first");
  if (is_known_number(b.value) && b.value.value()->integer < 1000)
    return lax::integer_pow(ArrayLike(as_operand(a.value, base, a.at), a.at),
                            static_cast<int>(b.value.value()->integer));
  return apply("power", rows<BinaryRows>().pow, a, b, base);
}

namespace lax {
Array rem(const ArrayLike& a, const ArrayLike& b) { return apply("rem", rows<BinaryRows>().rem, a, b); }
Array div(const ArrayLike& a, const ArrayLike& b) { return apply("div", rows<BinaryRows>().div, a, b); }
Array shift_right_logical(const ArrayLike& a, const ArrayLike& b) {
  if (is_weak(a.value) && is_weak(b.value))  // of the bits that the number shows
    return shift_right_logical(ArrayLike(strong(a.value, a.at), a.at), b);
  return apply("shift_right_logical", rows<BinaryRows>().shift_right_logical, a, b);
}
}  // namespace lax
}  // namespace anew
