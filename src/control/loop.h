// Loops. `scan` runs its body once for each row of its xs, `while` as long as a condition holds. A scan without
// .checkpoints stacks what its derivative needs; the other loops keep few states: linearized, they become a loop that
// records states at the places of a schedule (plan/revolve.h), and an `unwind`, which walks the linear part of the body
// forward or back and recomputes the states between those recorded. To the rules all three are a LoopForm: groups of
// operands, and Programs that take some groups and give others.
#pragma once
#include "control/higher_order.h"
#include "control/operands.h"
#include "plan/mixed.h"
#include "transforms/jvp.h"
#include "transforms/nested.h"
#include "transforms/split.h"

namespace anew {

// Of scan and while. Inputs: constants, carries, xs. Outputs: carries, ys.
struct LoopParams {
  int constants = 0, carries = 0;
  ir::ProgramRef condition;  // of a while: (constants, carries) -> bool
  ir::ProgramRef body;       // (constants, carries, xs) -> (carries, ys)
  std::int64_t length = -1;  // of a scan
  bool reverse = false;      // xs from the last to the first
  int unroll = 1;            // steps per turn of the compiled loop; 0: all
  int checkpoints = 0;  // states kept, the first included; 0: of a while default_checkpoints, of a scan all residuals
  std::int64_t memory = 0;  // bytes that the backward pass may keep, and a folder for states; 0: as `checkpoints` says
  std::string disk;
  Shape budget;  // of a loop that records within so many bytes: see LoopBudget
  // A loop that records has more outputs, behind the ys: a while the number of its steps, and the step of each kept
  // state (-1: none); then, for each carry in `record`, the kept states.
  bool records = false;
  std::vector<int> record;
};
struct ScanParams final : ir::ParamsOf<ScanParams>, LoopParams {
  static auto fields() {
    return std::tuple{
        ir::optional_field("budget", &ScanParams::budget), ir::optional_field("checkpoints", &ScanParams::checkpoints),
        ir::optional_field("disk", &ScanParams::disk),     ir::field("length", &ScanParams::length),
        ir::optional_field("memory", &ScanParams::memory), ir::field("num_carry", &ScanParams::carries),
        ir::field("num_consts", &ScanParams::constants),   ir::field("program", &ScanParams::body),
        ir::optional_field("record", &ScanParams::record), ir::optional_field("records", &ScanParams::records),
        ir::field("reverse", &ScanParams::reverse),        ir::field("unroll", &ScanParams::unroll)};
  }
};
struct WhileParams final : ir::ParamsOf<WhileParams>, LoopParams {
  static auto fields() {
    return std::tuple{ir::field("body", &WhileParams::body),
                      ir::optional_field("budget", &WhileParams::budget),
                      ir::optional_field("checkpoints", &WhileParams::checkpoints),
                      ir::field("condition", &WhileParams::condition),
                      ir::optional_field("memory", &WhileParams::memory),
                      ir::field("num_carry", &WhileParams::carries),
                      ir::field("num_consts", &WhileParams::constants),
                      ir::optional_field("record", &WhileParams::record),
                      ir::optional_field("records", &WhileParams::records)};
  }
};
const ir::Primitive& scan_row();
const ir::Primitive& while_row();
const LoopParams& loop_of(const ParamsRef& p);
const ir::Primitive& loop_row(const LoopParams& p);
ParamsRef params_of(const LoopParams& p);

struct UnwindParams : ir::ParamsOf<UnwindParams> {
  // Inputs: constants, xs, counters (of a while), kept states (one array per carry), linear constants, linear carries,
  // linear xs. Outputs: linear carries, linear ys.
  int constants = 0, xs = 0, carries = 0, linear_constants = 0, linear_carries = 0;
  ir::ProgramRef advance;  // (constants, carries, xs) -> carries
  ir::ProgramRef
      step;  // (constants, carries, xs, linear constants, linear carries, linear xs) -> (linear carries, linear ys)
  ir::ProgramRef condition;  // of a while, for examples of a batch that end early: (constants, carries) -> bool
  std::int64_t length = -1;
  bool reverse = false;   // xs from the last to the first
  bool backward = false;  // from the last step to the first
  Shape budget;           // as that of the loop that recorded
  std::string disk;
  // Of some steps, where they fit: these are gone through forward once more, then back.
  bool keeps_residuals() const { return backward && budget.ndim() > 0 && carries > 0; }
  static auto fields() {
    return std::tuple{ir::field("advance", &UnwindParams::advance),
                      ir::field("backward", &UnwindParams::backward),
                      ir::optional_field("budget", &UnwindParams::budget),
                      ir::optional_field("condition", &UnwindParams::condition),
                      ir::optional_field("disk", &UnwindParams::disk),
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

// What a walk back may keep (plan/mixed.h): the numbers of a `budget`. With a folder the states lie there, at equal
// distances, and memory is for the residuals of the steps between two of them.
struct LoopBudget {
  std::int64_t steps = -1;  // of the whole loop, of which the recording one is the first part; -1: of a while
  plan::LoopBytes bytes;
  static LoopBudget of(const Shape& numbers);
  Shape numbers() const { return {steps, bytes.memory, bytes.carry, bytes.residual}; }
};
// Text may say any numbers: those of a budget are such that the schedule can be made, for a loop of this length.
void require_budget(std::string_view op, const Shape& budget, std::int64_t length, const Location& at);
// Bytes of the residuals of a step, which lie dense: as rows of stacks, and as rows beside each other (plan/mixed.h).
plan::RowPiece row_piece(const Type& t);
struct ResidualBytes {
  std::int64_t stacked = 0, beside = 0;
};
ResidualBytes residual_bytes(const Types& residuals);
std::int64_t rows_within(const LoopBudget& budget);  // residuals of how many steps fit
// Where a scan within bytes keeps states.
std::vector<std::int64_t> stops_within(const Shape& budget, std::int64_t length, bool on_disk);
std::int64_t slots_within(const Shape& budget, std::int64_t length, bool on_disk);  // and how many
// The step of an unwind in two: tape (constants, carries, xs) -> (carries, residuals), whose residuals are kept until
// back (constants, residuals, xs, linear constants, linear carries, linear xs) -> (linear carries, linear ys).
struct TapedStep {
  ir::Program tape, back;
};
TapedStep taped_step(const UnwindParams& p, const Location& at);
// The same of a step that takes these groups and gives `known` outputs which depend on no linear operand, then those of
// the way back. The tape gives the known ones, then residuals.
TapedStep taped_step(const ir::ProgramRef& whole, const Groups& takes, std::size_t known, const Location& at);

inline constexpr int default_checkpoints = 64;
bool stacks_residuals(const LoopParams& p);                     // a scan of which no state is recorded
std::int64_t slots_of(const LoopParams& p);                     // states that a loop records
std::vector<std::int64_t> recorded_stops(const LoopParams& p);  // of a scan: at which steps
std::int64_t rows_of(const LoopParams& p, int output);  // steps or states that an output stacks; 1: it is no stack
// A while that counts: its condition is `carry < end`, and the body adds 1 to that carry. `end` is a constant or a
// literal.
struct LoopCounter {
  int carry;
  int end_constant;  // -1: the literal
  std::int64_t end_literal;
};
std::optional<LoopCounter> counter_of(const LoopParams& p);

// ---- loops as their rules see them
struct LoopForm {
  struct Part {
    ir::ProgramRef program;
    Roles takes, gives;  // a condition gives no group, but one bool
    bool is_condition() const { return gives.empty(); }
  };
  Groups operands, results;
  Roles stacks;             // operands and results with a leading axis of steps or states
  std::vector<Part> parts;  // the condition first, if there is one
  bool has_condition() const { return parts[0].is_condition(); }
  const ir::ProgramRef& body() const { return parts.back().program; }  // what gives the results
};
LoopForm form_of(const LoopParams& p);
LoopForm form_of(const UnwindParams& p);
void set_form(LoopParams& p, const LoopForm& f);
void set_form(UnwindParams& p, const LoopForm& f);

// Flags of operands and results, a fixpoint: what a part gives from flagged operands is flagged, so that the next step
// takes it so; a flagged condition flags all carries. `flags_of(k, in, out)` says what part k gives, `out` being what
// is known of that so far; its last answer is the final one.
using FlagsOf = std::function<Flags(std::size_t k, const Flags& in, const Flags& out)>;
Lists<bool> spread(const LoopForm& f, const Flags& operands, const FlagsOf& flags_of);
// The operands and results that those marked need.
Lists<bool> needed(const LoopForm& f, Lists<bool> used);
// Only the operands and results marked.
LoopForm narrowed(const LoopForm& f, const Lists<bool>& used);

// p with inputs that nobody reads, of these types, put in front of input `at`.
ir::Program with_unused(ir::Program p, std::size_t at, std::span<const Type> types);
// The given inputs of p, in this order, and the given outputs; equations that only others needed go.
ir::Program rearranged(ir::Program p, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs);
// Known outputs now and the whole equation staged; for equations whose split cannot be taken further apart.
Arrays split_whole(const ir::Primitive& row, const ir::SplitArgs& a, const Flags& unknown_outputs);

// Binds a loop under the current trace; one array per output. One that does not record is brought into canonical form:
// a carry that the body returns unchanged becomes a constant, equal constants are one, a y that is an x is that x,
// equal ys are one.
Arrays bind_loop(LoopParams params, std::span<const Array> inputs, const Location& at);

// Which of the variables depend on no input but the loop's constants, which are marked.
Flags invariant(const ir::Program& p, const Flags& constant_inputs);

// ---- rules
ir::Tangents jvp_loop(const ir::JvpArgs& a);
Arrays split_loop(const ir::SplitArgs& a);
Arrays transpose_loop(const ir::TransposeArgs& a);
ir::DceResult dce_loop(const ir::Eqn& e, const std::vector<bool>& used_outputs);
ir::Batched batch_loop(const ir::BatchArgs& a);

ir::Tangents jvp_unwind(const ir::JvpArgs& a);
Arrays split_unwind(const ir::SplitArgs& a);
Arrays transpose_unwind(const ir::TransposeArgs& a);
ir::DceResult dce_unwind(const ir::Eqn& e, const std::vector<bool>& used_outputs);
ir::Batched batch_unwind(const ir::BatchArgs& a);

// ---- arrays with a leading axis of steps or states
Type stacked(const Type& t, std::int64_t length);
// Element i along the leading axis, as a view of the same memory; and writing it, where y is not shared yet.
Array row_of(const Array& stack, std::int64_t i);
Array stack_for(const Array& y, std::int64_t length, const Location& at);  // rows like y: on disk where it is
void write_row(const Array& stack, std::int64_t i, const Array& y);
void clear_row(const Array& stack, std::int64_t i);
std::int64_t integer_of(const Array& x);  // of an integer scalar

}  // namespace anew
