// The lowered form of a Program: steps over values in storages. A step is a kernel, a call into the runtime, or control
// flow with Bodies of its own. Views are not steps: a value is a strided view of a storage, and several may view one.
// Invariants: a storage is written before it is read, in the order of the steps; a step writes whole values that lie
// dense in row-major order (calls that can: in another order of the axes), or (kernels of one equation, such as
// concatenate) parts of one, one after the other; inputs and literals are never written, but for carries that a loop
// updates in place and donated inputs; every output of a Body is a storage of its own, which in the body of a loop may
// be that of a carry: one that only moves. `verify` states the rest.
#pragma once
#include <anew/array.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/table.h"
#include "ir/primitive.h"
#include "ir/program.h"
#include "loops/schedule.h"
#include "runtime/loop_spec.h"

namespace anew {
class ExecutableStep;
}

namespace anew::passes {

using ir::Strides;
using ir::Type;

struct Storage;
struct Value;
using StorageId = Id<Storage>;
using ValueId = Id<Value>;

struct Storage {
  enum class Kind : std::uint8_t {
    input,      // memory of the caller; `index`: which input of the Body
    output,     // memory of the caller; `index`: which output of the Body
    literal,    // a scalar; `literal` holds it
    temporary,  // in the arena
    disk,       // in a file: only steps that move bytes out and in touch it, and loops that record or walk back states
  };
  Kind kind = Kind::temporary;
  int index = -1;
  ir::Literal literal = {};
  std::size_t bytes = 0;
  bool donated = false;     // an input whose memory is the Body's once it has been read
  bool moved = false;       // an output on disk; of the outermost Body one, or an input, that may be; set by `offload`
  bool gaps = false;        // an output of a tile, between whose elements those of other tiles lie
  std::string folder = {};  // of one on disk: where a budget was given one; empty: that of policies
  bool on_disk() const { return kind == Kind::disk || (kind == Kind::output && moved); }
};

struct Value {
  Type type;
  StorageId storage;
  std::int64_t offset = 0;                   // of element 0, in bytes
  Strides strides;                           // in elements
  const ir::Primitive* primitive = nullptr;  // that made it; null: an input
  Location at = {};
  ir::Mark mark = {};
  bool dense() const;   // row-major, without gaps
  bool packed() const;  // without gaps, in any order of its axes
};

// A part of a step's scratch.
struct Part {
  std::size_t offset = 0, bytes = 0;
};

// ---- what a step may be
// Each kind says of itself, in a file of its own (kernel_work.cpp, call_work.cpp, ...): the scratch it needs, and how
// that is parted (`count`); what it takes by the cost model (`time`); what runs (`make`). One with Bodies says where
// their plans lie in its scratch (`plan_of`; of tiles: in the first lane) and what reports call them (`name_of`); one
// with buffers of carries or copies of states, where these lie (`buffers`).

struct Body;
struct Step;
class Assembler;
struct Near;
using MadeStep = std::unique_ptr<const ExecutableStep>;

// Operands are the step's inputs, then its outputs.
struct Kernel {
  loops::Kernel kernel;
  loops::Schedule schedule = {};  // set by `schedule`
  bool on_tiles = false;   // set by `attach_epilogues`: runs on tiles of the call before it, as they are finished
  bool with_last = false;  // set by `attach_neighbours`: runs at once with the kernel before it

  void count(const Body& body, Step& step);
  double time(const Body& body, const Step& step, Near* near) const;
  MadeStep make(Assembler& to, std::size_t i, const Step& step) const;
};

// A call into the runtime.
struct Call {
  ir::Lowered::Call call;
  std::function<ir::Scratch(std::span<const Strides>)> scratch_of = {};  // by the strides of its inputs
  int in_place = -1;                  // the input that output 0 may share memory with
  ir::Lowered::TiledCall tiled = {};  // the same call, where a kernel behind it may run on tiles of output 0
  ir::Lowered::Cuts cuts = {};        // axes of output 0, from the first on, that it can be cut along
  enum class Moves : std::uint8_t {
    no,
    out,
    in
  } moves = Moves::no;  // its operand to where it may lie on disk, or back
  std::shared_ptr<const ir::Lowered::Halves> halves = {};
  enum class Half : std::uint8_t { whole, start, finish } half = Half::whole;  // set by `overlap`

  ir::Scratch scratch(const Body& body, const Step& step) const;
  void count(const Body& body, Step& step);
  double time(const Body& body, const Step& step, Near* near) const;
  MadeStep make(Assembler& to, std::size_t i, const Step& step) const;
};

// scan, while. Inputs of the step: constants, first carries, xs. Outputs: carries, ys, then what it records: for a
// while the number of steps and the steps of kept states; kept states. Bodies: the loop's body (constants, carries, xs)
// -> (carries, ys), then the condition, if any: (constants, carries) -> bool.
struct Loop : LoopSpec {
  CarryMoves moves = {};  // set by `alias`
  // Set by `count_scratch`: the plans of body and condition, its decision, the spare buffer of each carry.
  Part body = {}, condition = {}, decision = {};
  std::vector<Part> others = {};

  void count(const Body& body, Step& step);
  double time(const Body& body, const Step& step, Near* near) const;
  MadeStep make(Assembler& to, std::size_t i, const Step& step) const;
  Part plan_of(std::size_t body) const;
  std::string name_of(std::size_t body) const;
  std::vector<Part> buffers() const;
};

// Inputs: the index, then those of every branch. Bodies: the branches.
struct Branch {
  Part plan = {};  // set by `count_scratch`: of the branch taken

  void count(const Body& body, Step& step);
  double time(const Body& body, const Step& step, Near* near) const;
  MadeStep make(Assembler& to, std::size_t i, const Step& step) const;
  Part plan_of(std::size_t body) const;
  std::string name_of(std::size_t body) const;
};

// Inputs: constants, xs, (of a while: its number of steps, the steps of the kept states,) kept states, linear
// constants, linear carries, linear xs. Outputs: linear carries, linear ys. Bodies: advance (constants, carries, xs) ->
// carries and step (constants, carries, xs, linear constants, linear carries, linear xs) -> (linear carries, linear
// ys). Within bytes, on the way back: the step takes residuals in place of carries, and a third body, tape (constants,
// carries, xs) -> (carries, residuals), makes them.
struct Unwind : UnwindSpec {
  CarryMoves moves = {};              // of the linear carries; set by `alias`
  std::vector<bool> own_stacks = {};  // kept states that may be overwritten where they lie; set by `alias`
  // Set by `count_scratch`: the plans of advance and step; of each carry two buffers for a state on its way, and a copy
  // of the kept states; the spare buffer of each linear carry.
  Part advance = {}, step = {}, tape = {}, pool = {};  // pool: what of residuals and states the stacks do not take
  struct Stack {
    Part buffers[2], copy;
  };
  std::vector<Stack> stacks = {};
  std::vector<Part> others = {};

  void count(const Body& body, Step& step);
  double time(const Body& body, const Step& step, Near* near) const;
  MadeStep make(Assembler& to, std::size_t i, const Step& step) const;
  Part plan_of(std::size_t body) const;
  std::string name_of(std::size_t body) const;
  std::vector<Part> buffers() const;
};

// Kernels, and calls that can be cut, that go over the same rows, run tile by tile, so that what one passes to the next
// stays in the cache and never exists as a whole. The body sees one tile: of inputs and outputs the rows of the tile
// (their pointers move from tile to tile), of what it makes for itself only those.
struct Tiles {
  std::vector<std::int64_t> outer = {};  // how many tiles, along each of the variables that count rows
  std::vector<std::vector<std::int64_t>> in = {},
                                         out = {};  // per input and output: bytes from one tile to the next, along each
  std::int64_t lanes = 1;        // runs of tiles, each with a plan of its own: threads share them out
  std::vector<Part> plans = {};  // one for each lane; set by `count_scratch`

  void count(const Body& body, Step& step);
  double time(const Body& body, const Step& step, Near* near) const;
  MadeStep make(Assembler& to, std::size_t i, const Step& step) const;
  Part plan_of(std::size_t body) const;
  std::string name_of(std::size_t body) const;
};

struct Step {
  std::vector<ValueId> in = {}, out = {};
  std::variant<Kernel, Call, Loop, Branch, Unwind, Tiles> work = {};
  std::vector<std::shared_ptr<Body>> bodies = {};
  std::size_t scratch = 0;  // bytes that the step needs while it runs, nested plans included
  bool effects = false;
  const ir::Primitive* primitive = nullptr;  // of the equation it comes from; of a fused kernel: the last
  Location at = {};
  double flops = 0;
  // The equations whose results it computes, in order: several of a fused kernel, none of a copy.
  struct Made {
    const ir::Primitive* primitive;
    Location at;
  };
  std::vector<Made> made = {};

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(work);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&work);
  }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&work);
  }
  // Operand o of a kernel: an input, or behind these an output.
  ValueId operand(std::size_t o) const { return o < in.size() ? in[o] : out[o - in.size()]; }
  loops::Kernel& kernel() { return std::get<Kernel>(work).kernel; }
  const loops::Kernel& kernel() const { return std::get<Kernel>(work).kernel; }
  // A kernel that reduces, or one that does not.
  bool is_reduction() const { return is<Kernel>() && kernel().combine != loops::Combine::none; }
  bool is_elementwise() const { return is<Kernel>() && kernel().combine == loops::Combine::none; }
};
// Of a step with Bodies: the plan of one of them; what reports call it; its buffers.
Part plan_of(const Step& step, std::size_t body);
std::string name_of(const Step& step, std::size_t body);
std::vector<Part> buffers_of(const Step& step);
// Where the residuals of an unwind within bytes lie.
plan::RowPlaces row_places(const Body& body, const Step& step);

struct Body {
  Table<StorageId, Storage> storages;
  Table<ValueId, Value> values;
  std::vector<ValueId> inputs, outputs;
  std::vector<Step> steps;
  std::vector<std::pair<StorageId, std::string>> names;  // of what users gave a name (checkpoint_name)
  // Set by `place`: of each storage in the arena, of each step's scratch, and the size of all.
  Table<StorageId, std::size_t> offsets;
  std::vector<std::size_t> scratch_offsets;
  std::size_t bytes = 0;

  const Type& type(ValueId value) const { return values[value].type; }
  Storage& storage_of(ValueId value) { return storages[values[value].storage]; }
  const Storage& storage_of(ValueId value) const { return storages[values[value].storage]; }
  // A new dense value in a temporary of its own.
  ValueId add_temporary(const Type& type, const ir::Primitive* primitive, const Location& at,
                        const ir::Mark& mark = {});
};

// Memory that a call makes for outputs; those that lie in donated inputs need none.
std::size_t output_bytes(const Body& body);

// Of each storage: the first and last step that touches it (-1: before the first, `steps.size()`: after the last).
struct Span {
  int first = 1 << 30, last = -2;
};
Table<StorageId, Span> spans_of(const Body& body);
// Element (i, j, ...) in iteration (i, j, ...) of a nest of so many variables?
bool is_identity(const std::vector<loops::Affine>& index, std::size_t variables);
// A copy that shares no nested Body.
Body clone(const Body& body);

// Text of all steps, kernels included; for logs and golden tests.
std::string str(const Body& body);
// Throws InternalError where an invariant does not hold, in nested Bodies too.
void verify(const Body& body);

// ---- the passes, in order. Each works on nested Bodies too.
// Equations become steps; the layouts are those of the Program's inputs. Of a loop's body: `carries` inputs from
// `first_carry` on, of which the first outputs are the next ones; an output that is one of them is not copied.
std::shared_ptr<Body> lower(const ir::Program& program, std::span<const Strides> inputs, int first_carry = 0,
                            int carries = 0);
// What is only moved out and in lies on disk in between.
void offload(Body& body);
// Kernels that can share a loop nest become one.
void fuse(Body& body);
// Reductions that stand between kernels that could be fused move behind them.
void sink(Body& body);
// Arithmetic of a reduction goes to the kernel that makes its operands where that hands over less.
void hoist(Body& body);
// Calls that can be begun before their place are, and finished there. `hasten` moves starts up again after an order.
void overlap(Body& body);
void hasten(Body& body);
// Another order of the steps where it lowers the peak.
void order(Body& body);
// Small kernels in the bodies of loops become one.
void join(Body& body);
// Neighbouring kernels over the same rows become tiles, where their nests have at least so many elements in all, of so
// many elements each; with calls among them of more, of so many rows where calls read operands again for each tile, in
// so many lanes. Tests ask for smaller ones; not to be changed while anything is compiled.
void tile(Body& body);
void tile_kernels(Body& body);  // without calls
struct TileLimits {
  std::int64_t tile = 8192, least = 16384, call_tile = 65536, call_rows = 64, call_lanes = 4;
};
TileLimits set_tile_limits(TileLimits limits);
// A product that is only added to something is added where that lies.
void accumulate(Body& body);
// How the work of each kernel is cut; kernels do not change from here on.
void schedule(Body& body);
// Storages that can share memory are one: in place, carries.
void alias(Body& body);
// States of loops that were given a folder go there, where only their way back reads them; of the outermost Body.
void spill(Body& body);
// Of one Body, once those nested in it are placed: the scratch of its steps; temporaries that are dead before an output
// is written lie in that output's memory; what a product can do without is not given where it would be the peak of a
// large arena; offsets of temporaries and scratch in one arena. `plan_memory` (pipeline.h) does all of it.
void count_scratch(Body& body);
void lend(Body& body);
std::size_t set_least_lent(std::size_t bytes);  // as for tests of small arrays; returns the former number
constexpr std::size_t small_arena = std::size_t{16} << 20;
void spare_scratch(Body& body, std::size_t small = small_arena);
bool spares_scratch(const Body& body, const Step& step);  // could do without
void place(Body& body);
// The memory that a value of a placed Body lies in: bytes of the arena (no storage), or of a storage of the caller.
struct Extent {
  StorageId storage;
  std::int64_t begin, end;
  bool meets(const Extent& o) const { return storage == o.storage && begin < o.end && o.begin < end; }
};
Extent extent_of(const Body& body, ValueId value);
// Kernels behind products run on their tiles, where the placement lets them.
void attach_epilogues(Body& body);
// Kernels that do not depend on each other run at once.
void attach_neighbours(Body& body);
// Whether two boxes of one array keep apart along a dimension: the iterations of two kernels, each seen through an
// index.
bool keep_apart(const loops::Kernel& a, const std::vector<loops::Affine>& index_a, const loops::Kernel& b,
                const std::vector<loops::Affine>& index_b);

}  // namespace anew::passes
