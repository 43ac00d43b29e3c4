// Weights to begin with, by JAX's draws.
#include <anew/nn.h>
#include <anew/ops.h>
#include <anew/random.h>
#include <fmt/format.h>

#include <cmath>

#include "composed/random_bits.h"
#include "ops/promote.h"

namespace anew::nn::initializers {
namespace {

double size_along(std::string_view op, const Axes& axes, const Shape& shape, const Location& at) {
  const Type type{shape, f32};
  double n = 1;
  for (int a : axes.list()) n *= static_cast<double>(shape[checked_axis(op, a, shape.ndim(), type, at)]);
  return n;
}

Array of_fans(std::string_view op, const ArrayLike& key, const Shape& shape, double scale, std::string_view mode,
              std::string_view distribution, DType dtype, const FanOptions& o) {
  if (shape.ndim() < 2)
    fail(op, key.at, fmt::format("weights of shape {} have no two axes, in and out", shape.str()),
         "of a bias: zeros(n)");
  if (!is_float(dtype)) fail(op, key.at, fmt::format("needs a floating type, got {}", name_of(dtype)));
  const double in = size_along(op, o.in_axis, shape, key.at), out = size_along(op, o.out_axis, shape, key.at);
  const double others = static_cast<double>(shape.size()) / in / out / size_along(op, o.batch_axis, shape, key.at);
  const double fan_in = in * others, fan_out = out * others;
  double fan = 0;
  if (mode == "fan_in") fan = fan_in;
  else if (mode == "fan_out") fan = fan_out;
  else if (mode == "fan_avg") fan = (fan_in + fan_out) / 2;
  else if (mode == "fan_geo_avg") fan = std::sqrt(fan_in * fan_out);
  else fail(op, key.at, fmt::format("no mode \"{}\"", mode), "modes are fan_in, fan_out, fan_avg, fan_geo_avg");
  PinLine pin(key.at, op);
  Array variance = literal(dtype, scale / fan);
  if (distribution == "normal") return random::normal(key, shape, dtype) * sqrt(variance);
  if (distribution == "uniform") return random::uniform(key, shape, dtype, -1.0) * sqrt(3 * variance);
  if (distribution != "truncated_normal")
    fail(op, key.at, fmt::format("no distribution \"{}\"", distribution), "it is truncated_normal, normal or uniform");
  // A normal number cut at two deviations has this one.
  return random::truncated_normal(key, -2.0, 2.0, shape, dtype) * (sqrt(variance) / .87962566103423978);
}

}  // namespace

Array variance_scaling(const ArrayLike& key, const Shape& shape, double scale, std::string_view mode,
                       std::string_view distribution, DType dtype, const FanOptions& o) {
  return of_fans("variance_scaling", key, shape, scale, mode, distribution, dtype, o);
}
Array glorot_uniform(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return of_fans("glorot_uniform", key, shape, 1, "fan_avg", "uniform", dtype, o);
}
Array glorot_normal(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return of_fans("glorot_normal", key, shape, 1, "fan_avg", "truncated_normal", dtype, o);
}
Array xavier_uniform(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return glorot_uniform(key, shape, dtype, o);
}
Array xavier_normal(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return glorot_normal(key, shape, dtype, o);
}
Array lecun_uniform(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return of_fans("lecun_uniform", key, shape, 1, "fan_in", "uniform", dtype, o);
}
Array lecun_normal(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return of_fans("lecun_normal", key, shape, 1, "fan_in", "truncated_normal", dtype, o);
}
Array he_uniform(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return of_fans("he_uniform", key, shape, 2, "fan_in", "uniform", dtype, o);
}
Array he_normal(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return of_fans("he_normal", key, shape, 2, "fan_in", "truncated_normal", dtype, o);
}
Array kaiming_uniform(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return he_uniform(key, shape, dtype, o);
}
Array kaiming_normal(const ArrayLike& key, const Shape& shape, DType dtype, const FanOptions& o) {
  return he_normal(key, shape, dtype, o);
}

Array orthogonal(const ArrayLike& key, const Shape& shape, double scale, int column_axis, DType dtype) {
  constexpr std::string_view op = "orthogonal";
  if (shape.ndim() < 2) fail(op, key.at, fmt::format("a shape of two or more axes is needed, got {}", shape.str()));
  const int axis = checked_axis(op, column_axis, shape.ndim(), Type{shape, f32}, key.at);
  PinLine pin(key.at);
  if (shape.size() == 0) return zeros(shape, dtype);
  Shape rows = shape;
  rows.erase(axis);
  Array q = random::orthogonal(key, rows.size(), {}, dtype, shape[axis]);
  rows.push_back(shape[axis]);
  return moveaxis(reshape(q, rows), -1, axis) * scale;
}
Array delta_orthogonal(const ArrayLike& key, const Shape& shape, double scale, int column_axis, DType dtype) {
  const int n = shape.ndim();
  if (n < 3 || n > 5 || shape[-1] < shape[-2])
    fail("delta_orthogonal", key.at, fmt::format("of a kernel of shape {}", shape.str()),
         "it has one to three axes of space, then no more inputs than outputs");
  PinLine pin(key.at);
  Array middle = orthogonal(key, {shape[-2], shape[-1]}, scale, column_axis, dtype);
  std::vector<std::pair<std::int64_t, std::int64_t>> around;
  for (int i = 0; i < n; ++i) {
    const std::int64_t before = i < n - 2 ? (shape[i] - 1) / 2 : 0;
    around.emplace_back(before, i < n - 2 ? shape[i] - 1 - before : 0);
    if (i < n - 2) middle = expand_dims(middle, 0);
  }
  return pad(middle, around);
}

}  // namespace anew::nn::initializers
