// vmap of scan: mapped carries are a fixpoint; xs and ys are stacked along time first, then along the mapped axis.
#include "control/scan.h"
#include "transforms/vmap.h"

namespace anew {

ir::Batched batch_scan(const ir::BatchArgs& a) {
  const auto& p = static_cast<const ScanParams&>(*a.params);
  Groups g(p);
  Flags mapped = a.mapped;
  BatchedProgram b;
  reach_fixpoint(mapped, g.constants, g.carries, [&](const Flags& in) {
    b = batch_program(p.program, in, a.size, g.carried(in));
    return b.mapped;
  });
  Arrays in;
  for (std::size_t i = 0; i < g.inputs(); ++i) {
    if (g.is_carry(i) && mapped[i] && !a.mapped[i]) in.push_back(repeat_in_front(a.x[i], a.size));
    else if (mapped[i] && i >= g.constants + g.carries) in.push_back(move_axis(a.x[i], 0, 1));
    else in.push_back(a.x[i]);
  }
  ScanParams q = p;
  Arrays out = bind_scan(q, b.program, in, a.at);
  for (std::size_t i = g.carries; i < out.size(); ++i)
    if (b.mapped[i]) out[i] = move_axis(out[i], 1, 0);
  return {std::move(out), b.mapped};
}

}  // namespace anew
