// normalize: y = (x - m) r with the mean m (or without it) and r = 1 / sqrt(variance + epsilon), a row made of other
// rows, like softmax, so that its derivative is its closed form: r (t - y mean(y t)), t without its mean where x is.
// That reads y and r, which are its results, where the parts would keep six arrays. layer_norm, rms_norm and
// standardize are made of it; they differ in how they compute the variance, and so in bits.
#include <anew/nn.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/known_rows.h"
#include "ops/promote.h"

namespace anew {
namespace {

struct NormalizeParams : ir::ParamsOf<NormalizeParams> {
  NormalizeParams() = default;
  NormalizeParams(std::vector<int> axes, double epsilon, std::string variance)
      : axes(std::move(axes)), epsilon(epsilon), variance(std::move(variance)) {}
  std::vector<int> axes;
  double epsilon = 0;
  std::string variance;  // "deviations": mean((x-m)^2), "moments": mean(x^2) - m^2, "squares": mean(x^2), m is 0
  static auto fields() {
    return std::tuple{ir::field("axes", &NormalizeParams::axes), ir::field("epsilon", &NormalizeParams::epsilon),
                      ir::field("variance", &NormalizeParams::variance)};
  }
};
// Over no axes (a scalar, or a batch of scalars) every element is its own mean; to `mean`, no axes are all axes.
Array average(const Array& x, const NormalizeParams& q) { return q.axes.empty() ? x : mean(x, q.axes, true); }

Types infer_normalize(const ir::InferArgs& a) {
  require_count("normalize", 1, a.in, a.at);
  require("normalize", Accepts::floats, a.in[0], a.at);
  const auto& q = a.params.as<NormalizeParams>();
  if (q.variance != "deviations" && q.variance != "moments" && q.variance != "squares")
    fail("normalize", a.at, fmt::format("no variance by '{}'", q.variance));
  Type scale = a.in[0];
  for (std::size_t i = 0; i < q.axes.size(); ++i) {
    if (q.axes[i] < 0 || q.axes[i] >= scale.shape.ndim() || (i > 0 && q.axes[i] <= q.axes[i - 1]))
      fail("normalize", a.at, fmt::format("axis {} is not an axis of {}, or not the next", q.axes[i], a.in[0].str()));
    scale.shape[q.axes[i]] = 1;
  }
  return {a.in[0], scale};
}

Arrays run_normalize(const ParamsRef& p, std::span<const Array> x, const Location&) {
  const NormalizeParams& q = p->as<NormalizeParams>();
  if (q.variance == "squares") {
    Array r = rsqrt(average(square(x[0]), q) + q.epsilon);
    return {x[0] * r, r};
  }
  Array m = average(x[0], q), centered, variance;
  if (q.variance == "deviations") {
    centered = x[0] - m;
    variance = average(square(centered), q);
  } else {
    variance = average(square(x[0]), q) - square(m);
    centered = x[0] - m;
  }
  Array r = rsqrt(variance + q.epsilon);
  return {centered * r, r};
}

Arrays tangents(const ir::JvpArgs& a) {
  const NormalizeParams& q = a.params->as<NormalizeParams>();
  const Array &y = a.y[0], &r = a.y[1], &t = a.t[0];
  Array centered = q.variance == "squares" ? t : t - average(t, q);
  Array along = average(y * centered, q);
  return {r * (centered - y * along), (along * r) * -r};
}

std::vector<ir::Sample> normalize_samples() {
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64})
    for (const char* variance : {"deviations", "moments", "squares"})
      for (const auto& [shape, axes] : std::vector<std::pair<Shape, std::vector<int>>>{
               {{5}, {0}}, {{2, 3}, {1}}, {{3, 2}, {0}}, {{2, 3, 4}, {0, 2}}, {{0, 3}, {1}}})
        out.push_back({make_params(NormalizeParams(axes, 0.1, variance)), {{{shape, d}, -2, 2}}});
  return out;
}

}  // namespace

const Primitive& normalize_row() {
  static const Primitive& row = *new Primitive{
      .name = "normalize",
      .infer = infer_normalize,
      .parse = &NormalizeParams::parse,
      .run = run_normalize,
      .jvp = tangents,
      .batch =
          [](const ir::BatchArgs& a) {
            NormalizeParams q = a.params->as<NormalizeParams>();
            q.axes = behind_front(q.axes);
            return ir::Batched{anew::bind(normalize_row(), make_params(q), {a.x[0]}, a.at)};
          },
      .facts = {.inlines = true},
      .samples = normalize_samples,
  };
  return row;
}

Array normalized(const Array& x, const std::vector<int>& axes, double epsilon, std::string_view variance,
                 const Location& at) {
  return anew::bind(normalize_row(), make_params(NormalizeParams(axes, epsilon, std::string(variance))), {x}, at)[0];
}

}  // namespace anew
