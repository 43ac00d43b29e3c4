// The primitive row: everything the library knows about one operation. All rows give infer, batch and derivative rules;
// first-order rows lower (or view, or run where they are made of other rows); higher-order rows, whose params hold
// Programs, run, split and dce.
// A rule runs with the trace that shall see its operations already current; it calls ordinary operations.
// An empty Array in a list of tangents or cotangents is a symbolic zero: rules see it, never compute with it.
#pragma once
#include <anew/flat.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/params.h"
#include "ir/program.h"
#include "loops/kernel.h"

namespace anew {
class Trace;             // src/trace
class SplitTrace;        // src/transforms
struct ProductEpilogue;  // runtime/product.h
}  // namespace anew

namespace anew::ir {

using anew::Arrays;
using Types = std::vector<Type>;
using Strides = Shape;  // in elements

struct InferArgs {
  const Params& params;
  std::span<const Type> in;
  const Location& at;
};
struct JvpArgs {
  const ParamsRef& params;
  std::span<const Array> x;
  std::span<const Array> y;  // outputs; a higher-order row, which computes them with their tangents, is given none
  std::span<const Array> t;  // input tangents; empty where there is none
  const Location& at;
};
struct Tangents {
  Tangents(Arrays t, Arrays y = {}) : t(std::move(t)), y(std::move(y)) {}
  Arrays t;  // one per output; empty where there is none
  Arrays y;  // the outputs, of a higher-order row
};
struct TransposeArgs {
  const ParamsRef& params;
  std::span<const Array> ct;  // output cotangents; empty where there is none
  std::span<const Array> x;   // inputs; empty where linear
  std::span<const Type> in;   // types of all inputs
  const std::vector<bool>& linear;
  std::span<const Array> accumulated;  // per input: the cotangent so far; empty where there is none
  const Location& at;
};
// vmap: mapped operands have the mapped axis in front. Outputs have it in front too.
struct BatchArgs {
  const ParamsRef& params;
  std::span<const Array> x;
  const std::vector<bool>& mapped;  // per operand; at least one, but for rows that call users
  std::int64_t size;                // of the mapped axis
  const Location& at;
  const std::shared_ptr<Trace>& trace;  // that maps
};
struct Batched {
  Arrays y;
  std::vector<bool> mapped = {};  // per output; empty: all
};
// One piece of memory that a kernel or runtime call reads or writes.
struct Memory {
  std::byte* data = nullptr;  // of element 0
  Type type;
  Strides strides;
};
// What an equation runs as: kernels over (inputs..., outputs...) in order, or one call into the runtime.
// A call allocates no data: `scratch` bytes (a multiple of 64, aligned to 64, undefined before and after) are its
// caller's to provide. How many depends on params and types only, never on strides or threads, so a plan knows them.
// in_place names the operand that output 0 may share its memory with, if that is row-major: the call then updates it.
// scratch_of says how much of the scratch inputs with these strides need, if that may be less. writes says whether
// output 0 may have these strides, dense in another order of its axes; absent: row-major only. tiled is the same call,
// with what shall be done with tiles of output 0 as they are finished; absent: it cannot tell them. halves are the same
// call in two, between which other steps may run; absent: it is one. cuts: of leading axes of output 0, the axis of
// each input that goes with it (-1: none); a call on a part of these, and of the others all, gives that part of the
// output, bit for bit. A call takes the shapes of what it is given, with any strides.
struct Scratch {
  std::size_t bytes = 0;
  bool optional = false;  // null in its place gives the same results, more slowly
};
struct Lowered {
  using Call = std::function<void(std::span<const Memory> in, std::span<const Memory> out, std::byte* scratch)>;
  std::vector<loops::Kernel> kernels;
  Call call;
  std::size_t scratch = 0;
  std::function<Scratch(std::span<const Strides>)> scratch_of = {};
  int in_place = -1;
  std::function<bool(const Strides&)> writes = {};
  using TiledCall = std::function<void(std::span<const Memory> in, std::span<const Memory> out, std::byte* scratch,
                                       ProductEpilogue* epilogue)>;
  TiledCall tiled = {};
  // `start` begins what `finish` waits for. The arrays in flight belong to the call from one to the other, and threads
  // of its own may work on them meanwhile. Neither takes scratch.
  struct Halves {
    Call start;    // inputs to what is in flight
    Call finish;   // from there to the outputs
    Types flight;  // row-major
    bool in_place =
        false;  // the first in flight may lie where input 0 does, and output 0 where the first in flight does
  };
  std::shared_ptr<const Halves> halves = {};
  using Cuts = std::vector<std::vector<int>>;
  Cuts cuts = {};
};
// Where a view finds its elements in its operand's memory.
struct View {
  std::int64_t offset = 0;
  Strides strides;
};

struct Facts {
  bool elementwise = false;         // operands have one shape or are scalars
  std::vector<int> linear_in = {};  // operands it is linear in, all at once
  bool product = false;             // or in each of them while the others are known
  bool quotient = false;            // not in its second operand
  double flops_per_element = 0;     // of the output
  // Shows the elements of its one operand, moved, repeated or converted, or numbers that its params give: it is made
  // again for next to nothing, so a backward pass keeps its operand instead wherever that is no more.
  bool shows_operand = false;
  // Of the whole, where that is not flops_per_element times the elements of output 0.
  std::function<double(const Params&, std::span<const Type> in, std::span<const Type> out)> flops = {};
  // Equations with effects keep their order and are never repeated or merged; effects.h says which may be dropped.
  bool effects = false;
  // The effects reach beyond a printed line: no derivative may repeat or skip them.
  bool io = false;
  // Higher-order: Programs are among the params.
  bool holds_programs = false;
  // `run` evaluates the one Program that it holds, once, or else binds other rows: it may be replaced by those
  // equations.
  bool inlines = false;
  // Linear by decree: it can be transposed but never run. So it is always staged, and what it gives is linear even
  // where its own operands are known, and so constant; their cotangents then go nowhere. `run` and `jvp` say why they
  // cannot.
  bool transpose_only = false;
  // Of a row that names its operand, for policies and reports: the name.
  const std::string& (*name)(const Params&) = nullptr;
  // Of a product, which dot policies may save: whether it has batch dimensions.
  bool (*batched_dot)(const Params&) = nullptr;
  // Calls a function of the user's, which may have captured anything: `batch` is asked even where no operand is mapped.
  bool calls_user = false;
  // Its runtime call is a function of the user's, which takes memory that no plan knows.
  bool runs_user = false;
};

// A call with inputs on which the laws are run. Inputs are described, so that `ir` needs no random numbers.
struct SampleInput {
  Type type;
  double lo = -1, hi = 1;  // uniform in between; integers too
  // d, 2 d, 3 d, ... are added to the diagonals of the last two axes: matrices with factors, their eigenvalues apart.
  double diagonal = 0;
};
struct Sample {
  ParamsRef params;
  std::vector<SampleInput> inputs;
};

// Partial evaluation of one higher-order equation met by a SplitTrace; see transforms/split.h.
struct SplitArgs {
  SplitTrace& trace;
  const ParamsRef& params;
  std::span<const Array> in;  // as the trace holds them: known, unknown or both
  const Location& at;
};
struct DceResult {
  ParamsRef params;
  std::vector<bool> used_inputs;
  std::vector<bool> kept_outputs;  // those the new equation still has (at least the used ones)
};

struct Primitive {
  std::string name;
  std::function<Types(const InferArgs&)> infer = {};
  ParamsRef (*parse)(const NamedParams&) = &NoParams::parse;

  std::function<Lowered(const Params&, std::span<const Type> in, std::span<const Type> out)> lower = {};
  std::function<std::optional<View>(const Params&, const Type& in, const Strides&, const Type& out)> view =
      {};  // nothing: must copy by `lower`
  std::function<Arrays(const ParamsRef&, std::span<const Array>, const Location&)> run = {};
  std::function<Tangents(const JvpArgs&)> jvp = {};
  // One per input, empty where not linear or zero: what is to be added to its cotangent. A higher-order row continues
  // the sums inside its Programs, and gives the cotangent so far with its own added.
  std::function<Arrays(const TransposeArgs&)> transpose = {};
  std::function<Batched(const BatchArgs&)> batch = {};  // elementwise rows need none
  Facts facts = {};
  std::function<std::vector<Sample>()> samples = {};

  // higher-order
  std::function<Arrays(const SplitArgs&)> split = {};
  std::function<DceResult(const Eqn&, const std::vector<bool>& used_outputs)> dce = {};

  bool higher_order() const { return facts.holds_programs; }
};

// Whether an equation, or one in a program it holds, has effects; the name of a primitive with io, if there is one.
bool has_effects(const Eqn& e);
bool has_effects(const Program& p);
std::string find_io(const Program& p);
bool runs_user(const Program& p);  // whether an equation of it does, or of a program that it holds

// Where a rule is missing: names the primitive, the rule and the folder of its row.
[[noreturn]] void missing_rule(const Primitive& p, std::string_view rule, const Location& at);

}  // namespace anew::ir
