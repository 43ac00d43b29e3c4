// Loops that keep few states for their backward pass. Two rows share their params and rules: `while` (as long as a
// condition holds) and `sweep` (a scan with .checkpoints). Linearized, either becomes a loop that records states at the
// places of a schedule (plan/revolve.h), and an `unwind`, which walks the linear part of the body forward or back and
// recomputes the states between those recorded.
#pragma once
#include "control/scan.h"
#include "transforms/jvp.h"

namespace anew {

struct LoopParams : ir::ParamsOf<LoopParams> {
  int constants = 0, carries = 0;  // of the inputs: constants, carries, then xs; of the outputs: carries, then ys
  ir::ProgramRef condition;        // of a while: (constants, carry) -> bool
  ir::ProgramRef body;             // (constants, carry, x) -> (carry, y)
  std::int64_t length = -1;        // of a sweep
  bool reverse = false;            // xs from the last to the first
  int checkpoints = 0;             // states kept, the first included; 0: default_checkpoints
  // A loop that records has more outputs, behind the ys: a while the number of its steps, and the step of each kept
  // state (-1: none); then, for each carry in `record`, the kept states.
  bool records = false;
  std::vector<int> record;
  static auto fields() {
    return std::tuple{ir::field("body", &LoopParams::body),
                      ir::optional_field("checkpoints", &LoopParams::checkpoints),
                      ir::optional_field("condition", &LoopParams::condition),
                      ir::optional_field("length", &LoopParams::length),
                      ir::field("num_carry", &LoopParams::carries),
                      ir::field("num_consts", &LoopParams::constants),
                      ir::optional_field("record", &LoopParams::record),
                      ir::optional_field("records", &LoopParams::records),
                      ir::optional_field("reverse", &LoopParams::reverse)};
  }
};
const ir::Primitive& while_row();
const ir::Primitive& sweep_row();

struct UnwindParams : ir::ParamsOf<UnwindParams> {
  // Inputs: constants, xs, for a while its number of steps and the steps of the kept states, kept states (one array per
  // carry), linear constants, linear carries, linear xs. Outputs: linear carries, linear ys.
  int constants = 0, xs = 0, carries = 0, linear_constants = 0, linear_carries = 0;
  ir::ProgramRef advance;  // (constants, carry, x) -> carry
  ir::ProgramRef step;  // (constants, carry, x, linear constants, linear carry, linear x) -> (linear carry, linear y)
  ir::ProgramRef condition;  // of a while, for examples of a batch that end early: (constants, carry) -> bool
  std::int64_t length = -1;
  bool reverse = false;   // xs from the last to the first
  bool backward = false;  // from the last step to the first
  static auto fields() {
    return std::tuple{ir::field("advance", &UnwindParams::advance),
                      ir::field("backward", &UnwindParams::backward),
                      ir::optional_field("condition", &UnwindParams::condition),
                      ir::optional_field("length", &UnwindParams::length),
                      ir::field("num_carry", &UnwindParams::carries),
                      ir::field("num_consts", &UnwindParams::constants),
                      ir::field("num_linear_carry", &UnwindParams::linear_carries),
                      ir::field("num_linear_consts", &UnwindParams::linear_constants),
                      ir::field("num_xs", &UnwindParams::xs),
                      ir::optional_field("reverse", &UnwindParams::reverse),
                      ir::field("step", &UnwindParams::step)};
  }
};
const ir::Primitive& unwind_row();

inline constexpr int default_checkpoints = 64;

// ---- shared by the two files of each
const ir::Primitive& loop_row(const LoopParams& p);
std::int64_t slots_of(const LoopParams& p);
// A while that counts: its condition is `carry < end`, and the body adds 1 to that carry. `end` is a constant or a literal.
struct LoopCounter {
  int carry;
  int end_constant;  // -1: the literal
  std::int64_t end_literal;
};
std::optional<LoopCounter> counter_of(const LoopParams& p);
// Binds a loop without record in canonical form, as bind_scan does.
Arrays bind_loop(LoopParams params, const ir::Program& body, std::span<const Array> inputs, const Location& at);

ir::NestedJvp jvp_loop(const ParamsRef& p, std::span<const Array> x, std::span<const Array> t, const Location& at);
Arrays split_loop(const ir::SplitArgs& a);
Arrays transpose_loop(const ir::NestedTransposeArgs& a);
ir::DceResult dce_loop(const ir::Eqn& e, const std::vector<bool>& used_outputs);
ir::Batched batch_loop(const ir::BatchArgs& a);

ir::NestedJvp jvp_unwind(const ParamsRef& p, std::span<const Array> x, std::span<const Array> t, const Location& at);
Arrays split_unwind(const ir::SplitArgs& a);
Arrays transpose_unwind(const ir::NestedTransposeArgs& a);
ir::DceResult dce_unwind(const ir::Eqn& e, const std::vector<bool>& used_outputs);
ir::Batched batch_unwind(const ir::BatchArgs& a);

// The one composition that is left out (docs/architecture.md).
[[noreturn]] void no_reverse_over_reverse(const Location& at);

// Element i along the leading axis, as a look at the same memory; and writing it, where y is not shared yet.
Array row_of(const Array& stack, std::int64_t i);
void write_row(const Array& stack, std::int64_t i, const Array& y);

// ---- Programs whose inputs come in groups
// p with inputs that nobody reads, of these types, put in front of input `at`.
ir::Program with_unused(ir::Program p, std::size_t at, std::span<const Type> types);
// p with other inputs: the given ones of its own, in this order; and with the given outputs.
ir::Program rearranged(ir::Program p, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs);
// Of a shared Program, the outputs marked: what they need is found out once.
ir::ProgramRef rearranged(const ir::ProgramRef& p, const std::vector<std::size_t>& inputs, const Flags& outputs);
// A derivative with inputs and outputs group by group (sizes given), values before tangents; captured arrays first.
ir::Program grouped(const JvpProgram& j, const Flags& nonzero, const std::vector<std::size_t>& in_groups,
                    const std::vector<std::size_t>& out_groups);
// The operands of such a Program: zeros where a tangent is missing.
Arrays grouped(std::span<const Array> x, std::span<const Array> t, const Flags& nonzero,
               const std::vector<std::size_t>& groups);
// Which inputs the given outputs of p need.
Flags needed_inputs(const ir::Program& p, const Flags& outputs);
Flags needed_inputs(const ir::ProgramRef& p, const Flags& outputs);
// A batched Program whose outputs are kept only by examples for which the condition holds: its first `kept` outputs are
// else the inputs from `begin` on. The condition reads the Program's first inputs.
ir::Program guard(const ir::Program& p, const ir::Program& condition, std::size_t kept, std::size_t begin);
// Known outputs now and the whole equation staged; for equations whose split cannot be taken further apart.
Arrays split_whole(const ir::Primitive& row, const ir::SplitArgs& a, const Flags& unknown_outputs);

}  // namespace anew
