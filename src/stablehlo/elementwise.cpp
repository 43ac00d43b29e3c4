// Elementwise rows by their kernels: each node of the scalar expression is one operation on whole arrays. So a row
// means the same here and there, at nan, at zeros, at the ends of integers; only the math functions are XLA's own.
#include <numbers>

#include "loops/build.h"
#include "stablehlo/module.h"

namespace anew::stablehlo {
namespace {

using loops::Math;
using loops::Op;

Value times(Writer& w, const Value& x, double factor) { return w.binary("multiply", x, w.number(x.type, factor)); }
Value chlo(Writer& w, std::string_view name, const Value& x) { return w.op1({name}, {x}, x.type); }
Value hypot(Writer& w, const Value& a, const Value& b) {
  const Value x = w.unary("abs", a), y = w.unary("abs", b), most = w.binary("maximum", x, y);
  const Value ratio = w.binary("divide", w.binary("minimum", x, y), most), one = w.number(x.type, 1);
  const Value root = w.unary("sqrt", w.binary("add", w.binary("multiply", ratio, ratio), one));
  return w.select(w.compare("EQ", most, w.number(x.type, 0)), most, w.binary("multiply", most, root));
}

// Of f32 and f64.
Value function(Writer& w, Math m, const Value& x, const Value& y) {
  switch (m) {
    case Math::exp: return w.unary("exponential", x);
    case Math::exp2: return w.binary("power", w.number(x.type, 2), x);
    case Math::expm1: return w.unary("exponential_minus_one", x);
    case Math::log: return w.unary("log", x);
    case Math::log2: return times(w, w.unary("log", x), std::numbers::log2e);
    case Math::log10: return times(w, w.unary("log", x), std::numbers::log10e);
    case Math::log1p: return w.unary("log_plus_one", x);
    case Math::sin: return w.unary("sine", x);
    case Math::cos: return w.unary("cosine", x);
    case Math::tan: return w.unary("tan", x);
    case Math::asin: return chlo(w, "chlo.asin", x);
    case Math::acos: return chlo(w, "chlo.acos", x);
    case Math::atan: return chlo(w, "chlo.atan", x);
    case Math::sinh: return chlo(w, "chlo.sinh", x);
    case Math::cosh: return chlo(w, "chlo.cosh", x);
    case Math::tanh: return w.unary("tanh", x);
    case Math::asinh: return chlo(w, "chlo.asinh", x);
    case Math::acosh: return chlo(w, "chlo.acosh", x);
    case Math::atanh: return chlo(w, "chlo.atanh", x);
    case Math::logistic: return w.unary("logistic", x);
    case Math::erf: return chlo(w, "chlo.erf", x);
    case Math::erfc: return chlo(w, "chlo.erfc", x);
    case Math::cbrt: return w.unary("cbrt", x);
    case Math::rsqrt: return w.unary("rsqrt", x);
    case Math::lgamma: return chlo(w, "chlo.lgamma", x);
    case Math::digamma: return chlo(w, "chlo.digamma", x);
    case Math::trigamma: return w.op1({"chlo.polygamma"}, {w.number(x.type, 1), x}, x.type);
    case Math::atan2: return w.binary("atan2", x, y);
    case Math::pow: return w.binary("power", x, y);
    case Math::hypot: return hypot(w, x, y);
  }
  throw InternalError("a math function without a word in StableHLO");
}

class Expression {
 public:
  Expression(const Context& c, const loops::Kernel& kernel) : c_(c), w_(c.w), kernel_(kernel) {
    for (std::int64_t n : kernel.extents) shape_.push_back(n);
    for (const loops::Node& n : kernel.nodes) values_.push_back(value(n));
  }
  Value stored(const loops::Store& s) const { return values_[static_cast<std::size_t>(s.node)]; }

 private:
  Value at(std::int32_t i) const { return values_[static_cast<std::size_t>(i)]; }

  Value value(const loops::Node& n) {
    const Type type{shape_, n.dtype};
    auto two = [&](std::string_view name) { return w_.binary(name, at(n.a), at(n.b)); };
    auto compared = [&](std::string_view direction) { return w_.compare(direction, at(n.a), at(n.b)); };
    switch (n.op) {
      case Op::load: return w_.spread(c_.in[static_cast<std::size_t>(kernel_.accesses[n.imm].operand)], shape_);
      case Op::index: return w_.iota(type, static_cast<int>(n.imm));
      case Op::constant: return w_.constant(type, n.imm);
      case Op::add: return two("add");
      case Op::sub: return two("subtract");
      case Op::mul: return two("multiply");
      case Op::div: return two("divide");
      case Op::rem: return two("remainder");
      case Op::fma: return w_.binary("add", two("multiply"), at(n.c));  // rounded twice
      case Op::neg: return w_.unary("negate", at(n.a));
      case Op::abs: return w_.unary("abs", at(n.a));
      case Op::sqrt: return w_.unary("sqrt", at(n.a));
      case Op::floor: return w_.unary("floor", at(n.a));
      case Op::ceil: return w_.unary("ceil", at(n.a));
      case Op::round_even: return w_.unary("round_nearest_even", at(n.a));
      case Op::trunc:
        return w_.select(w_.compare("LT", at(n.a), w_.number(type, 0)), w_.unary("ceil", at(n.a)),
                         w_.unary("floor", at(n.a)));
      case Op::eq: return compared("EQ");
      case Op::ne: return compared("NE");
      case Op::lt: return compared("LT");
      case Op::le: return compared("LE");
      case Op::gt: return compared("GT");
      case Op::ge: return compared("GE");
      case Op::select: return w_.select(at(n.a), at(n.b), at(n.c));
      case Op::and_: return two("and");
      case Op::or_: return two("or");
      case Op::xor_: return two("xor");
      case Op::not_: return w_.unary("not", at(n.a));
      case Op::shl: return two("shift_left");
      case Op::shr_arith: return two("shift_right_arithmetic");
      case Op::shr_logical: return two("shift_right_logical");
      case Op::popcount: return w_.unary("popcnt", at(n.a));
      case Op::bitcast: return w_.op1({"stablehlo.bitcast_convert"}, {at(n.a)}, type);
      case Op::convert: return converted(at(n.a), n.dtype);
      case Op::scale: break;  // of expanded kernels
      case Op::call: {
        const DType wide = computed_type(n.dtype);
        const Value x = w_.convert(at(n.a), wide), y = n.b < 0 ? x : w_.convert(at(n.b), wide);
        return w_.convert(function(w_, static_cast<Math>(n.imm), x, y), n.dtype);
      }
    }
    throw InternalError("an operation without a word in StableHLO");
  }
  Value converted(const Value& x, DType to) { return w_.convert(x, to); }

  const Context& c_;
  Writer& w_;
  const loops::Kernel& kernel_;
  Shape shape_;
  Values values_;
};

// Every operand of the result's shape.
Values spread_operands(const Context& c) {
  Values out;
  for (const Value& x : c.in) out.push_back(c.w.spread(x, c.out[0].shape));
  return out;
}

}  // namespace

Values write_elementwise(const Context& c) {
  Types in;
  for (const Value& x : c.in) in.push_back(x.type);
  const ir::Lowered lowered = c.eqn.primitive->lower(*c.eqn.params, in, c.out);
  const loops::Kernel& kernel = lowered.kernels.at(0);
  const Expression expression(c, kernel);
  Values out;
  for (const loops::Store& s : kernel.stores) out.push_back(c.w.convert(expression.stored(s), c.out[out.size()].dtype));
  return out;
}

// The same of two, nan included, by words that XLA knows as reductions too.
Values write_maximum(const Context& c) {
  const Values x = spread_operands(c);
  return {c.w.binary("maximum", x[0], x[1])};
}
Values write_minimum(const Context& c) {
  const Values x = spread_operands(c);
  return {c.w.binary("minimum", x[0], x[1])};
}

}  // namespace anew::stablehlo
