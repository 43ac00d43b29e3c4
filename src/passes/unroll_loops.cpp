// Scans with several steps per turn. The xs become blocks of as many rows, of which the body shows one after the other;
// its ys are made a block at a time. Steps that are left over are a scan of their own.
#include <anew/ops.h>

#include "control/loop.h"
#include "ir/inline.h"
#include "ops/device_put.h"
#include "passes/passes.h"

namespace anew::passes {
namespace {

// Rows [begin, begin + count) of x.
Array rows(const Array& x, std::int64_t begin, std::int64_t count) {
  Shape start, limit = x.shape();
  for (int d = 0; d < limit.ndim(); ++d) start.push_back(0);
  start[0] = begin;
  limit[0] = begin + count;
  return lax::slice(x, start, limit);
}

class Unrolling {
 public:
  Unrolling(const LoopParams& p, std::int64_t steps, const Location& at)
      : p_(p), f_(form_of(p)), steps_(steps), at_(at) {}

  Arrays run(std::span<const Array> x) const {
    const std::int64_t turns = p_.length / steps_, left = p_.length % steps_, whole = turns * steps_;
    Lists<Array> in = f_.operands.partition(x), blocks = in, rest = in;
    for (std::size_t i = 0; i < in[Role::xs].size(); ++i) {
      const Array& all = in[Role::xs][i];
      Shape shape = all.shape();
      shape[0] = steps_;
      shape.insert(0, turns);
      blocks[Role::xs][i] = reshape(rows(all, p_.reverse ? left : 0, whole), shape);
      rest[Role::xs][i] = rows(all, p_.reverse ? 0 : whole, left);
    }
    Lists<Array> out = f_.results.partition(bind(turns, blocks));
    for (Array& y : out[Role::ys]) {
      Shape shape = y.shape();
      shape.erase(0);
      shape[0] = whole;
      y = reshape(y, shape);
    }
    if (left > 0) {
      rest[Role::carries] = out[Role::carries];
      LoopParams q = p_;
      q.length = left;
      q.unroll = 1;
      const Lists<Array> last = f_.results.partition(bind_loop(q, rest.merge(f_.operands.order()), at_));
      for (std::size_t i = 0; i < out[Role::ys].size(); ++i) {
        Array &y = out[Role::ys][i], more = last[Role::ys][i];
        y = p_.reverse ? concatenate({more, y}) : concatenate({y, more});
      }
      out[Role::carries] = last[Role::carries];
    }
    return out.merge(f_.results.order());
  }

 private:
  // The loop over blocks.
  Arrays bind(std::int64_t turns, const Lists<Array>& operands) const {
    Types types = p_.body->input_types();
    Lists<Type> in = f_.operands.partition(types);
    for (Type& t : in[Role::xs]) t = stacked(t, steps_);
    Staged s = stage([&](std::span<const Array> x) { return turn(x); }, in.merge(f_.operands.order()), "scan", at_);
    LoopParams q = p_;
    q.length = turns;
    q.unroll = 1;
    q.body = share(std::move(s.program));
    return bind_loop(q, operands.merge(f_.operands.order()), at_);
  }
  // The steps of one turn; blocks of ys lie as the rows of xs do.
  Arrays turn(std::span<const Array> x) const {
    Lists<Array> in = f_.operands.partition(x);
    const Arrays blocks = in[Role::xs];
    std::vector<Arrays> ys(f_.results.size(Role::ys), Arrays(steps_));
    for (std::int64_t i = 0; i < steps_; ++i) {
      const std::int64_t row = p_.reverse ? steps_ - 1 - i : i;
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        Shape shape = blocks[k].shape();
        shape.erase(0);
        in[Role::xs][k] = reshape(rows(blocks[k], row, 1), shape);
      }
      Lists<Array> out = f_.results.partition(evaluate(*p_.body, in.merge(f_.operands.order())));
      for (std::size_t k = 0; k < ys.size(); ++k) ys[k][row] = expand_dims(out[Role::ys][k], 0);
      in[Role::carries] = std::move(out[Role::carries]);
    }
    Arrays made = in[Role::carries];
    for (const Arrays& block : ys) made.push_back(concatenate(block));
    return made;
  }

  const LoopParams& p_;
  const LoopForm f_;
  const std::int64_t steps_;  // per turn
  const Location& at_;
};

// What a body moves out of memory or back goes row by row to where the whole stack lies. Blocks of rows are put
// together in memory first, so such a loop keeps its turns.
bool moves_rows(const ir::Program& body) {
  bool moves = false;
  ir::for_each_program(body, [&](const ir::Program& q) {
    for (const ir::Eqn& e : q.eqns) moves = moves || e.params->if_a<DevicePutParams>();
  });
  return moves;
}

}  // namespace

ir::Program unroll_loops(const ir::Program& p) {
  return ir::inline_calls(p, [](const ir::Eqn& e, std::span<const ir::Type> in) -> ir::ProgramRef {
    const auto* scan = e.params->if_a<ScanParams>();
    if (!scan) return nullptr;
    const LoopParams& loop = *scan;
    const std::int64_t steps = loop.unroll == 0 ? loop.length : std::min<std::int64_t>(loop.unroll, loop.length);
    if (steps < 2 || loop.records || moves_rows(*loop.body)) return nullptr;
    auto run = [&](std::span<const Array> x) {
      RuleScope line(e.rule_of, e.at, e.mark);
      return Unrolling(loop, steps, e.at).run(x);
    };
    return share(stage(run, in, "scan", e.at).program);
  });
}

}  // namespace anew::passes
