// Convolutions as users call them: names of dimensions and paddings become the numbers of the row. bf16 and f16 are
// multiplied and added in f32 and rounded once.
#include <anew/convolution.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/conv_params.h"
#include "ops/promote.h"

namespace anew {
namespace {

// Two named axes, then the others in the order in which `like` has them.
std::vector<int> parse_axes(std::string_view op, const std::string& names, const std::string& first_two,
                            const std::string& like, const std::string& like_two, const Location& at) {
  std::vector<int> axes;
  auto find = [&](char c) {
    const auto i = names.find(c);
    if (i == std::string::npos || names.find(c, i + 1) != std::string::npos)
      fail(op, at,
           fmt::format("dimension numbers \"{}\" need each of \"{}\" and the spatial dimensions of \"{}\" once", names,
                       first_two, like));
    axes.push_back(static_cast<int>(i));
  };
  for (char c : first_two) find(c);
  for (char c : like)
    if (like_two.find(c) == std::string::npos) find(c);
  return axes;
}

// The kernel's first: the other two are held to its spatial dimensions.
ConvAxes parse_dimensions(std::string_view op, const ConvDimensions& d, const Type& x, const Location& at) {
  for (const std::string* s : {&d.lhs, &d.rhs, &d.out})
    if (static_cast<int>(s->size()) != x.shape.ndim())
      fail(op, at, fmt::format("dimension numbers \"{}\" do not name the {} axes of {}", *s, x.shape.ndim(), x.str()));
  std::vector<int> rhs = parse_axes(op, d.rhs, "OI", d.rhs, "OI", at);
  return {parse_axes(op, d.lhs, "NC", d.rhs, "OI", at), rhs, parse_axes(op, d.out, "NC", d.rhs, "OI", at)};
}

bool is_default(const ConvDimensions& d) { return d.lhs.empty() && d.rhs.empty() && d.out.empty(); }

Shape ones_unless(const Shape& given, int spatial) {
  if (given.ndim() != 0) return given;
  Shape out;
  for (int i = 0; i < spatial; ++i) out.push_back(1);
  return out;
}

// Named padding: as many windows as strides fit into the input.
std::pair<std::int64_t, std::int64_t> same_padding(std::int64_t in, std::int64_t window, std::int64_t stride,
                                                   bool lower) {
  const std::int64_t out = (in + stride - 1) / stride;
  const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * stride + window - in);
  return lower ? std::pair{total - total / 2, total / 2} : std::pair{total / 2, total - total / 2};
}

void check_name(std::string_view op, const std::string& name, bool lower_too, const Location& at) {
  if (name == "SAME" || name == "VALID" || (lower_too && name == "SAME_LOWER")) return;
  fail(op, at,
       fmt::format("padding \"{}\" is none of \"SAME\", {}\"VALID\"", name, lower_too ? "\"SAME_LOWER\", " : ""));
}

void require_entries(std::string_view op, int spatial, std::initializer_list<const Shape*> lists, const Location& at) {
  for (const Shape* s : lists)
    if (s->ndim() != spatial)
      fail(op, at,
           fmt::format("strides, padding and dilations need one entry for each of {} spatial dimensions", spatial));
}

struct Operands {
  Array x, w;
  DType result;
};
// Of one type that the row takes; stored types as f32.
Operands operands_of(const ArrayLike& x, const ArrayLike& w, std::optional<DType> preferred) {
  check_operand(x.value, line_or(x.at));
  check_operand(w.value, line_or(x.at));
  std::array<Array, 2> both{x.value, w.value};
  const DType result = preferred.value_or(common_dtype(both));
  const DType d = computed_type(result);
  return {coerce(x.value, d, x.at), coerce(w.value, d, x.at), result};
}

std::vector<int> default_axes(std::initializer_list<int> first, int from, int to) {
  std::vector<int> axes(first);
  for (int i = from; i < to; ++i) axes.push_back(i);
  return axes;
}

}  // namespace

ConvPadding::ConvPadding(const char* name) : name_(name) {}
ConvPadding::ConvPadding(const std::string& name) : name_(name) {}
ConvPadding::ConvPadding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> pairs) : pairs_(pairs) {}
ConvPadding::ConvPadding(Pairs pairs) : pairs_(std::move(pairs)) {}
ConvPadding::ConvPadding(const ConvPadding&) = default;
ConvPadding::ConvPadding(ConvPadding&&) noexcept = default;
ConvPadding& ConvPadding::operator=(const ConvPadding&) = default;
ConvPadding& ConvPadding::operator=(ConvPadding&&) noexcept = default;
ConvPadding::~ConvPadding() = default;

Array conv_general_dilated(const ArrayLike& x, const ArrayLike& w, const Shape& strides, const ConvPadding& padding,
                           const ConvOptions& options) {
  constexpr std::string_view op = "conv_general_dilated";
  const Operands o = operands_of(x, w, options.preferred_element_type);
  const Type &lhs = type_of(o.x), &rhs = type_of(o.w);
  const int ndim = lhs.shape.ndim(), spatial = ndim - 2;
  if (ndim < 2 || rhs.shape.ndim() != ndim)
    fail(op, x.at, fmt::format("needs arrays of one rank, at least 2, got {} and {}", lhs.str(), rhs.str()));
  ConvParams p;
  if (is_default(options.dimension_numbers)) {
    const std::vector<int> axes = default_axes({}, 0, ndim);
    p.dimension_numbers = {axes, axes, axes};
  } else {
    p.dimension_numbers = parse_dimensions(op, options.dimension_numbers, lhs, x.at);
  }
  p.window_strides = strides;
  p.lhs_dilation = ones_unless(options.lhs_dilation, spatial);
  p.rhs_dilation = ones_unless(options.rhs_dilation, spatial);
  p.feature_group_count = options.feature_group_count;
  p.batch_group_count = options.batch_group_count;
  if (padding.name().empty()) {
    p.padding = padding.pairs();
  } else {
    check_name(op, padding.name(), true, x.at);
    const bool same = padding.name() != "VALID";
    if (same && p.lhs_dilation != ones_unless({}, spatial))
      fail(op, x.at, fmt::format("padding \"{}\" has no meaning for a dilated input", padding.name()),
           "give the numbers, or use conv_transpose");
    require_entries(op, spatial, {&strides, &p.rhs_dilation}, x.at);
    for (int i = 0; i < spatial; ++i) {
      const auto d = static_cast<std::size_t>(i + 2);
      const std::int64_t window = dilated(rhs.shape[p.rhs()[d]], p.rhs_dilation[i]);
      p.padding.push_back(same ? same_padding(lhs.shape[p.lhs()[d]], window, std::max<std::int64_t>(1, strides[i]),
                                              padding.name() == "SAME_LOWER")
                               : std::pair<std::int64_t, std::int64_t>{0, 0});
    }
  }
  PinLine pin(x.at);
  return astype(bind_convolution(o.x, o.w, std::move(p), x.at), o.result);
}

Array conv_transpose(const ArrayLike& x, const ArrayLike& w, const Shape& strides, const ConvPadding& padding,
                     const ConvTransposeOptions& options) {
  constexpr std::string_view op = "conv_transpose";
  const Operands o = operands_of(x, w, {});
  const Type &lhs = type_of(o.x), &rhs = type_of(o.w);
  const int ndim = lhs.shape.ndim(), spatial = ndim - 2;
  if (ndim < 2 || rhs.shape.ndim() != ndim || strides.ndim() != spatial)
    fail(op, x.at,
         fmt::format("needs arrays of one rank, at least 2, and a stride per spatial dimension, got {} and {}",
                     lhs.str(), rhs.str()));
  ConvParams p;
  if (is_default(options.dimension_numbers))
    p.dimension_numbers = {default_axes({0, ndim - 1}, 1, ndim - 1), default_axes({ndim - 1, ndim - 2}, 0, ndim - 2),
                           default_axes({0, ndim - 1}, 1, ndim - 1)};
  else p.dimension_numbers = parse_dimensions(op, options.dimension_numbers, lhs, x.at);
  p.window_strides = ones_unless({}, spatial);
  p.lhs_dilation = strides;
  p.rhs_dilation = ones_unless(options.rhs_dilation, spatial);
  if (padding.name().empty()) {
    p.padding = padding.pairs();
  } else {
    check_name(op, padding.name(), false, x.at);
    require_entries(op, spatial, {&p.rhs_dilation}, x.at);
    for (int i = 0; i < spatial; ++i) {
      const std::int64_t k = dilated(rhs.shape[p.rhs()[static_cast<std::size_t>(i + 2)]], p.rhs_dilation[i]);
      const std::int64_t s = strides[i], same = k + s - 2;
      if (padding.name() == "VALID") p.padding.emplace_back(k - 1, same + std::max<std::int64_t>(k - s, 0) - (k - 1));
      else {
        const std::int64_t before = s > k - 1 ? k - 1 : (same + 1) / 2;
        p.padding.emplace_back(before, same - before);
      }
    }
  }
  PinLine pin(x.at);
  Array kernel = o.w;
  if (options.transpose_kernel) {
    kernel = lax::rev(kernel, std::vector<int>(p.rhs().begin() + 2, p.rhs().end()));
    kernel = swapaxes(kernel, p.rhs()[0], p.rhs()[1]);
  }
  return astype(bind_convolution(o.x, kernel, std::move(p), x.at), o.result);
}

namespace {

// a slides over v, which is turned around already if it shall be. Both are vectors, a the longer one.
Array slide(std::string_view op, const Array& a, const Array& v, const std::string& mode, const Location& at) {
  const std::int64_t n = type_of(v).shape[0];
  std::pair<std::int64_t, std::int64_t> pads{0, 0};
  if (mode == "full") pads = {n - 1, n - 1};
  else if (mode == "same") pads = {n / 2, n - n / 2 - 1};
  else if (mode != "valid") fail(op, at, fmt::format("mode \"{}\" is none of \"full\", \"same\", \"valid\"", mode));
  Array y = conv_general_dilated(reshape(a, {1, 1, -1}), reshape(v, {1, 1, -1}), {1}, ConvPadding({pads}));
  return reshape(y, {type_of(y).shape[2]});
}

std::pair<Array, Array> vectors(std::string_view op, const ArrayLike& a, const ArrayLike& v) {
  check_operand(a.value, line_or(a.at));
  check_operand(v.value, line_or(a.at));
  const Type s = type_of(a.value), t = type_of(v.value);
  if (s.shape.ndim() != 1 || t.shape.ndim() != 1 || s.shape[0] == 0 || t.shape[0] == 0)
    fail(op, a.at, fmt::format("needs two vectors that are not empty, got {} and {}", s.str(), t.str()));
  const DType dtype = floating(common_dtype(Arrays{a.value, v.value}));
  return {coerce(a.value, dtype, a.at), coerce(v.value, dtype, v.at)};
}

}  // namespace

Array convolve(const ArrayLike& a, const ArrayLike& v, const std::string& mode) {
  auto [x, y] = vectors("convolve", a, v);
  PinLine pin(a.at);
  if (type_of(x).shape[0] < type_of(y).shape[0]) std::swap(x, y);
  return slide("convolve", x, flip(y), mode, a.at);
}

Array correlate(const ArrayLike& a, const ArrayLike& v, const std::string& mode) {
  auto [x, y] = vectors("correlate", a, v);
  PinLine pin(a.at);
  if (type_of(x).shape[0] < type_of(y).shape[0]) return flip(slide("correlate", y, x, mode, a.at));
  return slide("correlate", x, y, mode, a.at);
}

}  // namespace anew
