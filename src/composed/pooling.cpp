// Pooling: reductions over windows of the spatial axes.
#include <anew/indexing.h>
#include <anew/nn.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "trace/trace.h"

namespace anew::nn {
namespace {

// A window over the spatial axes: all but the last and those in front of them.
Shape over_space(std::string_view op, const ArrayLike& x, const Shape& window, const Shape& spatial) {
  check_operand(x.value, line_or(x.at));
  const Type type = type_of(x.value);
  if (type.shape.ndim() < window.ndim() + 1 || spatial.ndim() != window.ndim())
    throw Error(fmt::format("[{}] windows of shape {} with strides {} do not fit {}", op, window.str(), spatial.str(),
                            type.str()),
                line_or(x.at), "x is [batch..., spatial..., features]");
  Shape out;
  for (int i = 0; i < type.shape.ndim() - window.ndim() - 1; ++i) out.push_back(1);
  for (std::int64_t n : spatial) out.push_back(n);
  out.push_back(1);
  return out;
}
struct Pool {
  Shape window, strides;
  ConvPadding padding;
};
Pool pool(std::string_view op, const ArrayLike& x, const Shape& window, const Shape& strides,
          const ConvPadding& padding) {
  Shape ones;
  for (int i = 0; i < window.ndim(); ++i) ones.push_back(1);
  Pool p{over_space(op, x, window, window), over_space(op, x, window, strides.ndim() ? strides : ones), padding};
  if (padding.name().empty()) {
    ConvPadding::Pairs pairs(static_cast<std::size_t>(p.window.ndim() - window.ndim() - 1), {0, 0});
    pairs.insert(pairs.end(), padding.pairs().begin(), padding.pairs().end());
    pairs.emplace_back(0, 0);
    p.padding = ConvPadding(pairs);
  }
  return p;
}

}  // namespace

Array max_pool(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding) {
  Pool p = pool("max_pool", x, window, strides, padding);
  return lax::reduce_window_max(x, p.window, p.strides, p.padding);
}
Array min_pool(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding) {
  Pool p = pool("min_pool", x, window, strides, padding);
  return lax::reduce_window_min(x, p.window, p.strides, p.padding);
}
Array avg_pool(const ArrayLike& x, const Shape& window, const Shape& strides, const ConvPadding& padding,
               bool count_include_pad) {
  Pool p = pool("avg_pool", x, window, strides, padding);
  PinLine pin(x.at);
  Array total = lax::reduce_window_sum(x, p.window, p.strides, p.padding);
  if (count_include_pad) return total / static_cast<double>(window.size());
  return total / lax::reduce_window_sum(ones_like(x), p.window, p.strides, p.padding);
}

}  // namespace anew::nn
