// Rows that move elements: each has its word in StableHLO.
#include <anew/ops.h>

#include "ops/view_params.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {

Values write_broadcast(const Context& c) {
  const auto& p = c.eqn.params->as<BroadcastParams>();
  return {c.w.broadcast(c.in[0], p.shape, p.broadcast_dimensions)};
}
// Of reshape and squeeze: what the result is says it all.
Values write_reshape(const Context& c) { return {c.w.reshape(c.in[0], c.out[0].shape)}; }
Values write_transpose(const Context& c) {
  return {c.w.transpose(c.in[0], c.eqn.params->as<TransposeParams>().permutation)};
}
Values write_slice(const Context& c) {
  const auto& p = c.eqn.params->as<SliceParams>();
  return {
      c.w.slice(c.in[0], p.start_indices, p.limit_indices, p.strides.value_or(repeated(p.start_indices.ndim(), 1)))};
}
Values write_reverse(const Context& c) { return {c.w.reverse(c.in[0], c.param<std::vector<int>>("dimensions"))}; }
Values write_iota(const Context& c) { return {c.w.iota(c.out[0], c.param<int>("dimension"))}; }
Values write_pad(const Context& c) {
  Shape before, after, between;
  for (const auto& [b, a, i] : c.eqn.params->as<PadParams>().padding_config) {
    before.push_back(b);
    after.push_back(a);
    between.push_back(i);
  }
  return {c.w.pad(c.in[0], c.in[1], before, after, between)};
}
Values write_concatenate(const Context& c) { return {c.w.concatenate(c.in, c.param<int>("dimension"))}; }

}  // namespace anew::stablehlo
