// Layers without parameters of their own: normalizations, dropout, attention, losses and look-ups. All are made of
// rows, so their derivatives are those of what they are made of; each pins its caller's line.
#include <anew/nn.h>
#include <anew/ops.h>
#include <anew/random.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/axes.h"
#include "ops/gather.h"
#include "ops/known_rows.h"
#include "ops/promote.h"

namespace anew::nn {
namespace {

// A parameter with the shape of the normalized axes, ready to be broadcast against x.
Array along(std::string_view op, const Array& parameter, const Type& x, const std::vector<int>& axes,
            const Location& at) {
  Shape wanted, spread;
  for (int a : axes) wanted.push_back(x.shape[a]);
  for (int i = 0; i < x.shape.ndim(); ++i) spread.push_back(contains(axes, i) ? x.shape[i] : 1);
  Array p = coerce(parameter, x.dtype, at);
  if (type_of(p).shape != wanted && type_of(p).shape.ndim() != 0)
    fail(op, at,
         fmt::format("a parameter {} does not fit the normalized axes of {}, of shape {}", type_of(p).str(), x.str(),
                     wanted.str()));
  return type_of(p).shape.ndim() == 0 ? p : reshape(p, spread);
}

}  // namespace

Array layer_norm(const ArrayLike& x, const ArrayLike& scale, const ArrayLike& bias, const Axes& axis, double epsilon) {
  Array a = float_array(x);
  const Type type = type_of(a);
  const std::vector<int> axes = checked_axes("layer_norm", axis, type, x.at);
  PinLine pin(x.at);
  Array y = normalized(a, axes, epsilon, "deviations", x.at);
  if (scale.value.value()) y = y * along("layer_norm", scale.value, type, axes, x.at);
  if (bias.value.value()) y = y + along("layer_norm", bias.value, type, axes, x.at);
  return y;
}

Array rms_norm(const ArrayLike& x, const ArrayLike& scale, const Axes& axis, double epsilon) {
  Array a = float_array(x);
  const Type type = type_of(a);
  const std::vector<int> axes = checked_axes("rms_norm", axis, type, x.at);
  PinLine pin(x.at);
  Array y = normalized(a, axes, epsilon, "squares", x.at);
  return scale.value.value() ? y * along("rms_norm", scale.value, type, axes, x.at) : y;
}

Array dropout(const ArrayLike& key, double rate, const ArrayLike& x) {
  if (!(rate >= 0 && rate <= 1)) fail("dropout", x.at, fmt::format("the rate is between 0 and 1, got {}", rate));
  Array a = float_array(x);
  if (rate == 0) return a;
  PinLine pin(x.at);
  if (rate == 1) return zeros_like(a);
  return where(random::bernoulli(key, 1 - rate, type_of(a).shape), a / (1 - rate), 0);
}

Array softmax_cross_entropy(const ArrayLike& logits, const ArrayLike& labels) {
  Array a = float_array(logits);
  check_operand(labels.value, line_or(logits.at));
  const Type type = type_of(a), label = type_of(labels.value);
  Shape examples = type.shape;
  if (examples.ndim() > 0) examples.erase(examples.ndim() - 1);
  const bool classes = !is_float(label.dtype);
  if (type.shape.ndim() == 0 || label.shape != (classes ? examples : type.shape))
    fail("softmax_cross_entropy", logits.at, fmt::format("labels {} do not fit logits {}", label.str(), type.str()),
         "integers have the shape of the examples, probabilities that of the logits");
  PinLine pin(logits.at);
  if (!classes) return -sum(labels.value * log_softmax(a), -1);
  const DType d = computed_type(label.dtype);  // a narrow type may not hold the number of classes
  Array id = astype(labels.value, d), position = lax::iota(type.shape, type.shape.ndim() - 1, d);
  Array chosen = sum(where(position == expand_dims(id, -1), a, 0), -1);
  Array outside = id >= literal_integer(d, type.shape[-1]);
  if (is_signed(d)) outside = outside | (id < 0);
  // Added, not chosen: what is outside has no class, so no gradient but that of logsumexp, and nothing is kept for it.
  return anew::logsumexp(a, -1) - chosen +
         astype(where(outside, std::numeric_limits<double>::quiet_NaN(), 0.0), type.dtype);
}

Array embedding(const ArrayLike& table, const ArrayLike& ids) {
  check_operand(table.value, line_or(table.at));
  check_operand(ids.value, line_or(table.at));
  const Type type = type_of(table.value), index = type_of(ids.value);
  if (type.shape.ndim() == 0 || !is_integer(index.dtype))
    fail("embedding", table.at, fmt::format("needs a table and integers, got {} and {}", type.str(), index.str()));
  PinLine pin(table.at);
  Shape rows = type.shape, out = index.shape;
  rows[0] = 1;
  for (int i = 1; i < type.shape.ndim(); ++i) out.push_back(type.shape[i]);
  if (out.size() == 0) return zeros(out, type.dtype);
  // Nothing is counted from the end: an index below 0 is as wrong as one too large.
  Array places = expand_dims(index_operand("embedding", ids.value, table.at), -1);
  return lax::gather(strong(table.value, table.at), places, {axis_range(index.shape.ndim(), out.ndim()), {0}, {0}},
                     rows);
}

Array dot_product_attention(const ArrayLike& q, const ArrayLike& k, const ArrayLike& v,
                            const AttentionOptions& options) {
  constexpr std::string_view op = "dot_product_attention";
  for (const ArrayLike* x : {&q, &k, &v}) check_operand(x->value, line_or(q.at));
  PinLine pin(q.at);
  std::array<Array, 3> all{q.value, k.value, v.value};
  const DType dtype = floating(common_dtype(all));
  for (Array& x : all) x = coerce(x, dtype, q.at);
  const bool one = type_of(all[0]).shape.ndim() == 3;
  if (one)
    for (Array& x : all) x = expand_dims(x, 0);
  const Type tq = type_of(all[0]), tk = type_of(all[1]), tv = type_of(all[2]);
  auto fits = [&] {
    if (tq.shape.ndim() != 4 || tk.shape.ndim() != 4 || tv.shape.ndim() != 4) return false;
    for (int i = 0; i < 3; ++i)
      if (tk.shape[i] != tv.shape[i]) return false;
    return tq.shape[0] == tk.shape[0] && tq.shape[3] == tk.shape[3] && tk.shape[2] > 0 &&
           tq.shape[2] % tk.shape[2] == 0;
  };
  if (!fits())
    fail(op, q.at, fmt::format("q {}, k {} and v {} do not fit", tq.str(), tk.str(), tv.str()),
         "q is [batch, queries, heads, size], k and v are [batch, keys, heads, size]");
  const std::int64_t batch = tq.shape[0], queries = tq.shape[1], heads = tq.shape[2], size = tq.shape[3],
                     keys = tk.shape[1], shared = tk.shape[2], group = heads / shared;
  // Scores are computed and normalized in f32 where the type is narrower.
  const DType wide = computed_type(dtype);
  Array a = astype(all[0], wide), b = astype(all[1], wide), scores;
  if (group == 1) scores = einsum("btnh,bsnh->bnts", a, b);
  else
    scores = reshape(einsum("btkgh,bskh->bkgts", reshape(a, {batch, queries, shared, group, size}), b),
                     {batch, heads, queries, keys});
  scores = scores * options.scale.value_or(1 / std::sqrt(static_cast<double>(size)));
  if (options.bias.value()) scores = scores + astype(options.bias, wide);
  const double hidden = -0.7 * (wide == f64 ? std::numeric_limits<double>::max()
                                            : static_cast<double>(std::numeric_limits<float>::max()));
  if (options.mask.value()) scores = where(options.mask, scores, hidden);
  if (options.is_causal) {
    const Shape square{queries, keys};
    const Array key = lax::iota(square, 1), query = lax::iota(square, 0);
    scores = where(query >= key, scores, hidden);
  }
  Array weights = astype(softmax(scores), dtype), y;
  if (group == 1) y = einsum("bnts,bsnh->btnh", weights, all[2]);
  else
    y = reshape(einsum("bkgts,bskh->btkgh", reshape(weights, {batch, shared, group, queries, keys}), all[2]),
                {batch, queries, heads, tv.shape[3]});
  return one ? squeeze(y, 0) : y;
}

}  // namespace anew::nn
