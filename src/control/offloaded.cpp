// A device_put says so itself, and equations with Programs by what those give.
#include "control/offloaded.h"

#include <algorithm>

#include "control/loop.h"
#include "ops/device_put.h"

namespace anew {

bool gives_host(const ir::Program& p, std::size_t output) {
  const ir::Atom& a = p.outputs[output];
  for (const ir::Eqn& e : p.eqns) {
    const auto found = std::find(e.outputs.begin(), e.outputs.end(), a.is_var() ? a.var : -1);
    if (found != e.outputs.end())
      return gives_host(*e.primitive, e.params, static_cast<int>(found - e.outputs.begin()));
  }
  return false;
}

bool gives_host(const ir::Primitive& primitive, const ir::ParamsRef& params, int output) {
  if (auto* put = params->if_a<DevicePutParams>()) return put->to_host();
  if (!primitive.higher_order()) return false;
  const auto* loop = params->if_a<LoopParams>();
  const std::vector<ir::ProgramRef> programs = loop ? std::vector{loop->body} : params->programs();
  const auto k = static_cast<std::size_t>(output);
  return !programs.empty() && std::all_of(programs.begin(), programs.end(), [&](const ir::ProgramRef& p) {
    return k < p->outputs.size() && gives_host(*p, k);
  });
}

}  // namespace anew
