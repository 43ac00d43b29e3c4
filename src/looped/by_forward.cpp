// Derivatives of functions that are computed by loops.
#include "looped/by_forward.h"

#include <anew/ops.h>

#include "trace/trace.h"

namespace anew {

Array elementwise_by_forward(const FlatFunction& f, const Arrays& x, const Location& at) {
  flat::JvpRule rule = [f, at](std::span<const Array> primals, std::span<const Array> tangents) {
    const Arrays here(primals.begin(), primals.end());
    Array slope;
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (!tangents[i].value()) continue;
      FlatFunction by_i = [f, i](std::span<const Array> v) {
        Arrays units;
        for (std::size_t k = 0; k < v.size(); ++k) units.push_back(k == i ? ones_like(v[k]) : zeros_like(v[k]));
        return flat::jvp(f, v, units).second;
      };
      Array part = tangents[i] * elementwise_by_forward(by_i, here, at);
      slope = slope.value() ? slope + part : part;
    }
    Array y = elementwise_by_forward(f, here, at);
    return std::pair(Arrays{y}, Arrays{slope.value() ? slope : zeros_like(y)});
  };
  return flat::custom_jvp(f, rule, x, {.symbolic_zeros = true}, at)[0];
}

}  // namespace anew
