// Reductions over axes and over windows. XLA joins in an order of its own: sums differ in their last bits.
#include "loops/kernel.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

// Whether a comes before b as the extremum: nan wins, then the value, then the earlier place.
Value wins(Writer& w, bool greatest, const Value& a, const Value& b, const Value& a_at, const Value& b_at) {
  const Value better = w.compare(greatest ? "GT" : "LT", a, b);
  Value tie = w.compare("EQ", a, b), first = better;
  if (is_float(a.type.dtype)) {
    const Value a_nan = w.is_nan(a), b_nan = w.is_nan(b);
    first = w.binary("or", better, w.binary("and", a_nan, w.unary("not", b_nan)));
    tie = w.binary("or", tie, w.binary("and", a_nan, b_nan));
  }
  return w.binary("or", first, w.binary("and", tie, w.compare("LT", a_at, b_at)));
}

bool finds_greatest(const Context& c) { return c.combine == loops::Combine::argmax; }

Value comparable(Writer& w, const Value& x) { return x.type.dtype == bool_ ? w.convert(x, i32) : x; }

}  // namespace

std::string_view word_of(loops::Combine combine) {
  switch (combine) {
    case loops::Combine::sum: return "add";
    case loops::Combine::product: return "multiply";
    case loops::Combine::max: return "maximum";
    case loops::Combine::min: return "minimum";
    case loops::Combine::and_: return "and";
    case loops::Combine::or_: return "or";
    default: throw InternalError("nothing is joined");
  }
}

// bf16 and f16 are joined in f32 and rounded once.
Values write_reduction(const Context& c) {
  const DType d = c.in[0].type.dtype, wide = is_float(d) ? computed_type(d) : d;
  const Value y = c.w.reduce(word_of(c.combine), c.w.convert(c.in[0], wide), c.param<std::vector<int>>("axes"),
                             loops::identity_bits(loops::combine_of(c.combine, wide), wide));
  return {c.w.convert(y, d)};
}

Values write_position(const Context& c) {
  const int axis = c.param<std::vector<int>>("axes")[0];
  const Value x = comparable(c.w, c.in[0]);
  const bool greatest = finds_greatest(c);
  const Type value = scalar(x.type.dtype), place = scalar(c.out[0].dtype);
  const Value start = c.w.constant(value, extreme_bits(value.dtype, greatest)), zero = c.w.integer(place, 0);
  const Value places = c.w.iota({x.type.shape, place.dtype}, axis);
  auto join = [&](Writer& w, const Values& v) {
    const Value first = wins(w, greatest, v[0], v[2], v[1], v[3]);
    w.give({w.select(first, v[0], v[2]), w.select(first, v[1], v[3])});
  };
  return {c.w.op({"stablehlo.reduce", "dimensions = " + array_text({axis}), {join}, {value, place, value, place}},
                 {x, places, start, zero}, {{c.out[0].shape, value.dtype}, c.out[0]})[1]};
}

Values write_window(const Context& c) {
  const Type one = scalar(c.in[0].type.dtype);
  const Value start = c.w.constant(one, loops::identity_bits(c.combine, one.dtype));
  const std::string attributes =
      fmt::format("window_dilations = {}, window_dimensions = {}, window_strides = {}",
                  array_text(c.param<Shape>("window_dilation")), array_text(c.param<Shape>("window_dimensions")),
                  array_text(c.param<Shape>("window_strides")));
  if (c.in[0].type.shape.ndim() == 0) return {c.in[0]};
  return {c.w.op1({"stablehlo.reduce_window",
                   attributes,
                   {[&](Writer& w, const Values& v) { w.give({w.binary(word_of(c.combine), v[0], v[1])}); }},
                   {one, one}},
                  {c.in[0], start}, c.out[0])};
}

// Place after place of the window, in order: of each, all windows at once, as one slice.
Values write_window_position(const Context& c) {
  const Shape window = c.param<Shape>("window_dimensions"), strides = c.param<Shape>("window_strides"),
              dilation = c.param<Shape>("window_dilation");
  const Shape& out = c.out[0].shape;
  Value best, place = c.w.integer(c.out[0], 0);
  if (out.size() == 0) return {place};
  const bool greatest = finds_greatest(c);
  for (std::int64_t k = 0; k < window.size(); ++k) {
    Shape start = window, limit = window;
    std::int64_t rest = k;
    for (int i = window.ndim(); i-- > 0; rest /= window[i]) {
      start[i] = rest % window[i] * dilation[i];
      limit[i] = start[i] + (out[i] - 1) * strides[i] + 1;
    }
    const Value x = c.w.slice(c.in[0], start, limit, strides);
    if (k == 0) {
      best = x;
      continue;
    }
    const Value here = c.w.integer(c.out[0], k), stays = wins(c.w, greatest, best, x, place, here);
    best = c.w.select(stays, best, x);
    place = c.w.select(stays, place, here);
  }
  return {place};
}

}  // namespace anew::stablehlo
