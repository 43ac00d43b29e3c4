// The type-erased form of every transformation: functions of lists of arrays. Templates and trees are sugar above this
// page, and it is what the library compiles once. Also here: Program and Residual, what inspection returns.
#pragma once
#include <anew/array.h>
#include <anew/policy.h>
#include <anew/stop.h>

#include <functional>
#include <map>

namespace anew {

using Arrays = std::vector<Array>;
using FlatFunction = std::function<Arrays(std::span<const Array>)>;

namespace ir {
struct Program;
}

// A traced function: printed in JAX's notation, parsed back, evaluated. It does not change, and copies share what it
// holds.
struct Equation {
  std::string primitive, params;
  std::vector<ShapeDtype> inputs, outputs;
  SourceLine location;
};
class Program {
 public:
  Program();
  Program(const Program&);
  Program(Program&&) noexcept;
  Program& operator=(const Program&);
  Program& operator=(Program&&) noexcept;
  ~Program();
  Program(std::shared_ptr<const ir::Program> code, Arrays constants);
  std::string str() const;
  std::vector<ShapeDtype> inputs() const;  // without the captured constants
  std::vector<ShapeDtype> outputs() const;
  std::vector<Equation> equations() const;
  int count(std::string_view primitive) const;  // nested programs included; a shared one once
  const Arrays& constants() const { return constants_; }
  const std::shared_ptr<const ir::Program>& code() const { return code_; }
  friend std::ostream& operator<<(std::ostream&, const Program&);

 private:
  std::shared_ptr<const ir::Program> code_;
  Arrays constants_;
};
Program parse_program(std::string_view text, const Location& at = Location::current());
// Parsed text has no constants: they come first in `arrays`.
Arrays evaluate(const Program& program, std::span<const Array> arrays, const Location& at = Location::current());

// One value that the backward pass keeps, and why.
struct Residual {
  enum class Kind { constant, argument, named, output };
  ShapeDtype type;
  std::size_t bytes = 0;
  Kind kind = Kind::output;
  std::string primitive, name, path;  // path: of an argument
  SourceLine location;
  std::int64_t trips = 1;  // of the loops that stack it
  bool offloaded = false;  // a policy keeps it in a file
  std::string reason, text;
};

struct ScanOptions {
  std::optional<std::int64_t> length = {};
  bool reverse = false;
  int unroll = 1;
  std::optional<int> checkpoints = {};
  std::optional<std::size_t> memory = {};
  std::string disk = {};
};
// `checkpoints`: states kept for the backward pass, the first included; absent: a default (docs/reference.md).
// `memory`: in place of it, bytes for states and residuals; `disk`: a folder for states, of loops whose length is
// known.
struct LoopOptions {
  std::optional<int> checkpoints = {};
  std::optional<std::size_t> memory = {};
  std::string disk = {};
};
// `symbolic_zeros`: a rule sees tangents and cotangents that are zero as such (is_symbolic_zero), not as arrays of
// zeros.
struct CustomOptions {
  bool symbolic_zeros = false;
};
// `batch_size`: how many elements are mapped at once; absent: one by one.
struct MapOptions {
  std::optional<int> batch_size = {};
};
struct AssociativeScanOptions {
  bool reverse = false;
  int axis = 0;
};
// How derivatives are compared with central differences; what is absent depends on the dtypes. Modes: "fwd", "rev" or
// both.
struct CheckGradsOptions {
  int order = 2;
  std::string_view modes = "fwd,rev";
  std::optional<double> atol = {}, rtol = {}, step = {};
  std::uint64_t seed = 7;  // of the direction
};
// `disk`: a folder; values may be kept in an unnamed file there where that meets the budget in less time than making
// them again, or where nothing else does. `donate`: numbers of arguments whose memory becomes that of results; to flat
// functions, numbers of arrays. `stop`: ends calls of the jitted function; where that is itself traced, the token of
// the outermost jit counts. `name`: of the function, in Programs and lists of residuals.
struct JitOptions {
  std::optional<std::size_t> memory_budget = {};
  std::string disk = {};
  int threads = 0;
  std::vector<int> donate = {};
  std::optional<StopToken> stop = {};
  std::string name = "<lambda>";
};

namespace flat {

// Where a transformation was asked for, and how to call its arguments in reports.
struct CallInfo {
  Location at = Location::current();
  std::vector<std::string> paths = {};  // one per leaf; empty: "0", "1", ...
};

// A function linearized at a point: applied forward (f_lin) or transposed (the pullback).
class Linear {
 public:
  Arrays operator()(std::span<const Array> tangents, const Location& at = Location::current()) const;
  Arrays pullback(std::span<const Array> cotangents, const Location& at = Location::current()) const;
  // The last call: residuals are freed as they are used.
  Arrays consume(std::span<const Array> cotangents, const Location& at = Location::current()) &&;
  std::vector<Residual> residuals(const Location& at = Location::current()) const;
  // Inputs: the residuals in order, then the tangents, or the cotangents.
  Program program(const Location& at = Location::current()) const;
  Program pullback_program(const Location& at = Location::current()) const;

  struct State;
  explicit Linear(std::shared_ptr<State> state);
  Linear(const Linear&);
  Linear(Linear&&) noexcept;
  Linear& operator=(const Linear&);
  Linear& operator=(Linear&&) noexcept;
  ~Linear();

 private:
  State& state(const Location& at) const;  // throws where it was moved from or used up
  std::shared_ptr<State> state_;
};
std::pair<Arrays, Linear> linearize(const FlatFunction& f, std::span<const Array> x, const CallInfo& info = {});
std::pair<Arrays, Arrays> jvp(const FlatFunction& f, std::span<const Array> x, std::span<const Array> dx,
                              const Location& at = Location::current());
// Gradient of the first output, a scalar, with respect to all of x. `values` receives every output (value, aux...).
Arrays grad(const FlatFunction& f, std::span<const Array> x, Arrays* values = nullptr,
            const Location& at = Location::current());

// f of one example, for all examples along the mapped axes: one axis (or no_axis) per array of x; one for all results,
// or one per result, read only after f has been called. `size` is needed only where no array of x is mapped. With
// `chunk` at most so many examples are mapped at once, in a loop: less memory, the same bits.
struct BatchAxes {
  std::vector<int> in;
  std::vector<int> out = {0};
  std::optional<std::int64_t> size = {};
  std::optional<int> chunk = {};
};
Arrays vmap(const FlatFunction& f, std::span<const Array> x, const BatchAxes& axes,
            const Location& at = Location::current());
// f of every element along axis 0 of xs, in a loop.
Arrays map(const FlatFunction& f, std::span<const Array> xs, const MapOptions& options = {},
           const Location& at = Location::current());
// All prefixes of xs along an axis, combined by an associative function that works element by element along that axis.
using Combine = std::function<Arrays(std::span<const Array> a, std::span<const Array> b)>;
Arrays associative_scan(const Combine& combine, std::span<const Array> xs, const AssociativeScanOptions& options = {},
                        const Location& at = Location::current());

// Jacobians: for each output and each of x, in this order, an array of shape output + input; one column at a time
// (jacfwd) or one row at a time (jacrev), all of them mapped. The Hessian of the first output, a scalar: for each pair
// of x.
Arrays jacfwd(const FlatFunction& f, std::span<const Array> x, const Location& at = Location::current());
Arrays jacrev(const FlatFunction& f, std::span<const Array> x, const Location& at = Location::current());
Arrays hessian(const FlatFunction& f, std::span<const Array> x, const Location& at = Location::current());
// The Hessian of the first output, a scalar, times v.
Arrays hvp(const FlatFunction& f, std::span<const Array> x, std::span<const Array> v,
           const Location& at = Location::current());
// The transpose of a linear function of arrays of these types, applied to cotangents of its results.
Arrays linear_transpose(const FlatFunction& f, std::span<const ShapeDtype> types, std::span<const Array> ct,
                        const Location& at = Location::current());
// Throws with the worst entry where a derivative of f at x is not that of differences.
void check_grads(const FlatFunction& f, std::span<const Array> x, const CheckGradsOptions& options = {},
                 const Location& at = Location::current());

// One line with each {} replaced by an array, whenever the equation runs.
void debug_print(std::string_view format, std::span<const Array> args, const Location& at = Location::current());
// Calls f with concrete arrays whenever the equation runs; its results must have these types.
Arrays io_callback(const FlatFunction& f, std::span<const ShapeDtype> results, std::span<const Array> args,
                   const Location& at = Location::current());
// The same of a function without effects: it is not called where its results are not needed.
Arrays pure_callback(const FlatFunction& f, std::span<const ShapeDtype> results, std::span<const Array> args,
                     const Location& at = Location::current());
// Calls f, which gives nothing, as debug_print prints.
void debug_callback(const FlatFunction& f, std::span<const Array> args, const Location& at = Location::current());

Arrays checkpoint(const FlatFunction& f, std::span<const Array> x, const Policy& policy,
                  const Location& at = Location::current());

// What a jitted function remembers between calls.
class JitCache {
 public:
  JitCache();
  JitCache(const JitCache&) noexcept;  // what was moved from is still the same
  JitCache& operator=(const JitCache&) noexcept;
  ~JitCache();
  std::size_t size() const;
  struct State;
  State& state() const { return *state_; }

 private:
  std::shared_ptr<State> state_;
};
Arrays jit(const FlatFunction& f, std::span<const Array> x, const JitCache& cache, const JitOptions& options = {},
           const Location& at = Location::current());

// body: (carry..., x...) -> (carry..., y...).
struct ScanResult {
  Arrays carry, ys;
};
using ScanBody = std::function<ScanResult(std::span<const Array> carry, std::span<const Array> x)>;
ScanResult scan(const ScanBody& body, const Arrays& init, const Arrays& xs, const ScanOptions& options = {},
                const std::vector<std::string>& carry_paths = {}, const Location& at = Location::current());

// The branch that `index` (an integer scalar, clamped) chooses, applied to the operands.
Arrays switch_(const Array& index, const std::vector<FlatFunction>& branches, std::span<const Array> operands,
               const Location& at = Location::current());
Arrays cond(const Array& predicate, const FlatFunction& on_true, const FlatFunction& on_false,
            std::span<const Array> operands, const Location& at = Location::current());

// while (condition(carry)) carry = body(carry).
using LoopCondition = std::function<Array(std::span<const Array> carry)>;
Arrays while_loop(const LoopCondition& condition, const FlatFunction& body, const Arrays& init,
                  const LoopOptions& options = {}, const std::vector<std::string>& carry_paths = {},
                  const Location& at = Location::current());
// for (i = lo; i < hi; ++i) carry = body(i, carry...).
Arrays fori_loop(const Array& lo, const Array& hi, const FlatFunction& body, const Arrays& init,
                 const LoopOptions& options = {}, const std::vector<std::string>& carry_paths = {},
                 const Location& at = Location::current());

// f with derivatives of the user's: rules are kept as long as a Program or a pullback needs them.
using JvpRule =
    std::function<std::pair<Arrays, Arrays>(std::span<const Array> primals, std::span<const Array> tangents)>;
Arrays custom_jvp(const FlatFunction& f, const JvpRule& rule, std::span<const Array> x,
                  const CustomOptions& options = {}, const Location& at = Location::current());
struct VjpRules {
  std::function<std::pair<Arrays, Arrays>(std::span<const Array> x)> forward;                   // outputs, residuals
  std::function<Arrays(std::span<const Array> residuals, std::span<const Array> ct)> backward;  // one per x
};
Arrays custom_vjp(const FlatFunction& f, const VjpRules& rules, std::span<const Array> x,
                  const CustomOptions& options = {}, const Location& at = Location::current());

Array name(const Array& x, std::string_view name, const Location& at = Location::current());

std::vector<Residual> saved_residuals(const FlatFunction& f, std::span<const Array> x, const CallInfo& info = {});
std::string saved_residuals_text(const std::vector<Residual>& residuals);  // what print_saved_residuals prints
void print_saved_residuals(const FlatFunction& f, std::span<const Array> x, const CallInfo& info = {});
std::string fwd_bwd_text(const FlatFunction& f, std::span<const Array> x, const CallInfo& info = {});
void print_fwd_bwd(const FlatFunction& f, std::span<const Array> x, const CallInfo& info = {});
Program make_program(const FlatFunction& f, std::span<const Array> x, const Location& at = Location::current());
// Results of f as abstract arrays; nothing is computed.
Arrays eval_shape(const FlatFunction& f, std::span<const Array> x, const Location& at = Location::current());

}  // namespace flat
}  // namespace anew

// Compiled once, in the library, rather than in every user's file.
extern template class std::vector<anew::Array>;
extern template class std::vector<anew::Residual>;
