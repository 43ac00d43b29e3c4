// softmax: a row made of other rows, so that its derivative is its own: y * t - y * sum(y * t), which reads the result
// alone, where the parts would keep three arrays. Evaluating it evaluates the parts, so it means what they mean.
#include <anew/nn.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/known_rows.h"
#include "ops/promote.h"

namespace anew {
namespace {

struct SoftmaxParams : ir::ParamsOf<SoftmaxParams> {
  explicit SoftmaxParams(std::vector<int> axes = {}) : axes(std::move(axes)) {}
  std::vector<int> axes;
  static auto fields() { return std::tuple{ir::field("axes", &SoftmaxParams::axes)}; }
};
const std::vector<int>& axes_of(const ParamsRef& p) { return p->as<SoftmaxParams>().axes; }

// Over no axes (a scalar, or a batch of scalars) every element is its own sum; to `sum`, no axes are all axes.
Array total(const Array& x, const ParamsRef& p) { return axes_of(p).empty() ? x : sum(x, axes_of(p), true); }

Types infer_softmax(const ir::InferArgs& a) {
  require_count("softmax", 1, a.in, a.at);
  require("softmax", Accepts::floats, a.in[0], a.at);
  const std::vector<int>& axes = a.params.as<SoftmaxParams>().axes;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= a.in[0].shape.ndim() || (i > 0 && axes[i] <= axes[i - 1]))
      fail("softmax", a.at, fmt::format("axes must be ascending axes of {}", a.in[0].str()));
  return {a.in[0]};
}

std::vector<ir::Sample> softmax_samples() {
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64})
    for (const auto& [shape, axes] : std::vector<std::pair<Shape, std::vector<int>>>{
             {{}, {}}, {{5}, {0}}, {{2, 3}, {0}}, {{2, 3}, {1}}, {{2, 3, 4}, {0, 2}}, {{0, 3}, {1}}})
      out.push_back({make_params(SoftmaxParams(axes)), {{{shape, d}, -2, 2}}});
  return out;
}

}  // namespace

const Primitive& softmax_row() {
  static const Primitive& row = *new Primitive{
      .name = "softmax",
      .infer = infer_softmax,
      .parse = &SoftmaxParams::parse,
      .run =
          [](const ParamsRef& p, std::span<const Array> x, const Location& at) {
            PinLine pin(at);
            Array e = exp(x[0] - (axes_of(p).empty() ? x[0] : max(x[0], axes_of(p), true)));
            return Arrays{e / total(e, p)};
          },
      .jvp =
          [](const ir::JvpArgs& a) {
            Array part = a.y[0] * a.t[0];
            return Arrays{part - a.y[0] * total(part, a.params)};
          },
      .batch =
          [](const ir::BatchArgs& a) {
            return ir::Batched{
                {bind1(softmax_row(), make_params(SoftmaxParams(behind_front(axes_of(a.params)))), {a.x[0]}, a.at)}};
          },
      .facts = {.inlines = true},
      .samples = softmax_samples,
  };
  return row;
}

Array nn::softmax(const ArrayLike& x, const Axes& axis) {
  check_operand(x.value, line_or(x.at));
  Array a = coerce(x.value, floating(type_of(x.value).dtype), x.at);
  Type type = type_of(a);
  std::vector<int> axes = checked_axes("softmax", axis, type, x.at);
  if (type.shape.size() == 0) return a;  // nothing to sum
  return bind1(softmax_row(), make_params(SoftmaxParams(axes)), {a}, x.at);
}

}  // namespace anew
