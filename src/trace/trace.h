// Interpreters by context. `bind` hands an equation to the current trace (scoped, thread-local); none means: evaluate
// now. A transformation is a Trace: it unboxes its own values, applies the row's rule under another trace and boxes the
// results. Values of other traces are constants to it; a value whose trace has ended is an error wherever it turns up.
#pragma once
#include <anew/array.h>
#include <anew/flat.h>

#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strides.h"
#include "ir/primitive.h"
#include "runtime/buffer.h"

namespace anew {

using ir::ParamsRef;
using ir::Primitive;
using ir::Type;
using ir::Types;

class Trace;

// How a value came to be: for residual reports. Set by whoever makes the value, in eager evaluation and staging.
struct Origin {
  const Primitive* primitive = nullptr;  // null: an input or a constant
  ParamsRef params;
  Location at;
  int output = 0;
  std::uint64_t sequence = 0;          // order of binding in this thread
  const Primitive* rule_of = nullptr;  // bound by this primitive's derivative rule
  const ir::Region* region = nullptr;  // that it was traced in
  // Of a value whose row shows its operand, made while a SourceScope was open: what it shows (empty: nothing but its
  // params), so that this can be kept instead.
  bool remakes = false;
  Array source = {};
  int depth = 0;  // of such values one above the other
};
// While one is open, values of this thread remember what they show. Only then: a value keeps alive what it remembers.
class SourceScope {
 public:
  SourceScope();
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
};
struct Request;
Origin origin_of(const Request& r, int output, std::uint64_t sequence);
// x without what it shows.
Array without_source(const Array& x);

// What an Array points to. Concrete: a strided look at a buffer, or a literal held inline. Traced: belongs to `trace`,
// which alone reads first, second and var. Abstract: a type only.
struct Value {
  Value() {}  // not defaulted: whoever makes one would clear its memory first
  Value(const Type& type, BufferRef buffer, std::int64_t offset, const ir::Strides& strides)
      : type(type), buffer(std::move(buffer)), offset(offset), strides(strides) {}

  Type type;
  bool weak = false;       // a number (see below): takes the dtype of its partner
  bool literal = false;    // a scalar known while tracing; enters Programs as a literal
  bool abstract = false;   // no data
  std::uint64_t bits = 0;  // of a literal, in its dtype
  double number = 0;       // of a known number, in full
  std::int64_t integer = 0;
  BufferRef buffer = {};
  std::int64_t offset = 0;  // in elements
  ir::Strides strides = {};
  std::shared_ptr<Trace> trace = {};
  Array first, second;  // the trace's: primal and tangent, or known and staged
  ir::Var var = -1;     // the staging trace's
  Array exact;          // of a traced number: the same value, as an array of f64 or i64
  Origin origin = {};
  // The row-major copy that data() made; guarded in array.cpp. Not part of the value: a copy starts without.
  struct Dense {
    Array array;
    Dense() = default;
    Dense(const Dense&) {}
    Dense& operator=(const Dense&) { return *this; }
  };
  mutable Dense dense;

  bool concrete() const { return !trace && !abstract; }
  const std::byte* data() const;
};

// One equation on its way to a trace.
struct Request {
  const Primitive& primitive;
  const ParamsRef& params;
  std::span<const Array> inputs;
  Location at;
};

class Trace : public std::enable_shared_from_this<Trace> {
 public:
  virtual ~Trace() = default;
  virtual Arrays process(const Request& r) = 0;
  virtual std::string_view what() const = 0;  // "jit", "checkpoint", "grad", ... for messages
  bool alive = true;
  bool took = false;             // its values were arrays that were given away
  Location at;                   // of the transformation, where known
  bool concrete_values = false;  // its values wrap values of the parent: `if` works when those are concrete
};

// Runs the equation under the current trace. `at` yields to a pinned line. (Qualify calls: std::bind is found by ADL.)
Arrays bind(const Primitive& p, const ParamsRef& params, std::span<const Array> inputs, const Location& at);
inline Arrays bind(const Primitive& p, const ParamsRef& params, std::initializer_list<Array> in, const Location& at) {
  return bind(p, params, std::span<const Array>(in.begin(), in.size()), at);
}
Arrays bind_numbers(Trace* trace, const Request& r);  // where an operand is a number
Array bind1(const Primitive& p, const ParamsRef& params, std::initializer_list<Array> inputs, const Location& at);
std::uint64_t next_sequence();
// The same under a given trace (null: evaluate now).
Arrays bind_under(Trace* trace, const Primitive& p, const ParamsRef& params, std::span<const Array> inputs,
                  const Location& at);

// Types of the outputs; throws where one has a negative size or more elements than can be counted.
Types infer_outputs(const Request& r, std::span<const Type> in);
// Evaluates an equation on concrete inputs (eager.cpp).
Arrays evaluate_now(const Request& r);
// A row-major array with the elements of x, x itself if it is one already.
Array contiguous(const Array& x);
// The concrete array behind x, which is x itself or what a trace wraps; throws the concretization error, "{wanted} of a
// traced array", where there is none.
Array concrete_behind(const Array& x, std::string_view wanted, const Location& at);

// With disable_jit: whether these have values now, and what is made of them has, so that functions of users can be
// called instead of traced.
bool runs_uncompiled(std::span<const Array> x);

Trace* current_trace();
const Primitive* current_rule();
const ir::Mark& current_mark();
class TraceScope {  // makes `t` current for a scope
 public:
  explicit TraceScope(Trace* t);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;

 private:
  Trace* saved_;
};
// Ends a trace at the end of a scope: whatever still refers to its values is an escaped value from then on.
class TraceLife {
 public:
  explicit TraceLife(std::shared_ptr<Trace> t) : trace_(std::move(t)) {}
  ~TraceLife() { trace_->alive = false; }
  TraceLife(const TraceLife&) = delete;

 private:
  std::shared_ptr<Trace> trace_;
};

// Composite functions and derivative rules: every equation bound in the scope has this line. The outermost pin wins.
// At its end values are looked at where debug_nans is on (trace/watch.h), which may throw.
class PinLine {
 public:
  explicit PinLine(const Location& at, const Location& in = Location::current()) : PinLine(at, in.function_name()) {}
  PinLine(const Location& at, std::string_view function);
  ~PinLine() noexcept(false);
  PinLine(const PinLine&) = delete;

 private:
  const Location* saved_;
  std::string_view saved_function_;
  std::uint64_t watched_;
  Location at_;
};
// The pinned line, if any, else `at`; a line inside the standard library (an operation passed as a value) yields to the
// line of the transformation that is running.
Location line_or(const Location& at);
// Throws "[op] what" at that line.
[[noreturn]] void fail(std::string_view op, const Location& at, std::string_view what, const std::string& hint = "");
// Equations bound in the scope are marked as made by this primitive's rule; the scope also replaces a pinned line.
// They have this mark, if it is one.
class RuleScope {
 public:
  RuleScope(const Primitive* rule_of, const Location& at, const ir::Mark& mark = {});
  ~RuleScope() noexcept(false);
  RuleScope(const RuleScope&) = delete;

 private:
  std::uint64_t watched_;
  const Primitive* saved_rule_;
  const Location* saved_pin_;
  std::string_view saved_function_;
  ir::Mark saved_mark_;
  Location at_;
};
// What is traced in the scope is in a region of its own; nothing where nobody stages, or inside a rule.
class RegionScope {
 public:
  RegionScope(std::string_view what, const Location& at);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;

 private:
  const ir::Region* saved_;
};
// Regions opened in the scope are numbered from 0, for each line.
class CountedCalls {
 public:
  CountedCalls();
  ~CountedCalls();
  CountedCalls(const CountedCalls&) = delete;
  int next(const Location& at);

 private:
  CountedCalls* saved_;
  std::vector<std::pair<Location, int>> counts_;
};

// ---- values
Array make_literal(ir::Literal l);  // strong
Array make_concrete(const Type& type, BufferRef buffer, std::int64_t offset, const ir::Strides& strides);
Array empty_array(const Type& type, const Location& at);                    // row-major, uninitialised; checks the size
Array traced_value(const std::shared_ptr<Trace>& trace, const Type& type);  // caller fills through mutable_value
Value& mutable_value(const Array& fresh);                                   // only for a value just made
// A second handle with an identity of its own: the same data, no origin, no number.
Array fresh_alias(const Array& x);
// What makes two handles one variable: aliases of a traced value are the same, concrete arrays are told apart.
struct Identity {
  const void *owner, *first, *second;
  ir::Var var;
  friend auto operator<=>(const Identity&, const Identity&) = default;
};
Identity identity(const Array& x);
ir::Literal literal_of(const Array& x);  // of a literal
Type type_of(const Array& x);            // throws InternalError on an empty Array
// "argument 0, layers[1].w", from the path 0.layers[1].w.
std::string named_argument(std::string_view path);
// The same of x, if it is a leaf of a running call and not a copy, behind `before`; else nothing.
std::string leaf_name(const Array& x, std::string_view before);
// Throws "uninitialised array" / "escaped value" where x cannot be an operand now.
void check_operand(const Array& x, const Location& at);
Types types_of(std::span<const Array> x, const Location& at);  // checks each

// ---- numbers (number.cpp). A C++ number has no dtype until it meets an array: `type` is what it shows (a default
// dtype), it computes in f64 or i64. It is known, a literal that also holds it in full, or traced: then `exact` is its
// value, a scalar of f64 or i64, and Programs see only that. Elementwise equations of numbers alone give numbers;
// anything else that is bound gets arrays of the dtype they show. (A bool from C++ is marked too, but is an array of
// bool.)
bool is_weak(const Array& x);
bool is_known_number(const Array& x);
// The type that numbers which show this dtype have inside.
constexpr DType wide(DType shown) { return shown == bool_ ? bool_ : is_float(shown) ? f64 : i64; }
Array exact(const Array& x);                   // of a number: as f64[] or i64[]; of an array: itself
Array as_number(const Array& x, DType shown);  // of such a scalar, the number; traced ones show this dtype
Array strong(const Array& x, const Location& at = Location::current());  // as an array of the dtype it shows
// How a traced scalar is converted; src/ops fills it.
using ConvertScalar = Array (*)(const Array& x, DType to, const Location& at);
extern ConvertScalar convert_scalar;

// What a traced function is told of an argument, and what is known of its result.
struct Form {
  Type type;            // shown
  bool number = false;  // inside a Program: a scalar of wide(type.dtype)
};
using Forms = std::vector<Form>;
Form form_of(const Array& x);
Forms forms_of(std::span<const Array> x, const Location& at);  // checks each
Arrays exact(std::span<const Array> x);
Arrays as_formed(Arrays x, std::span<const Form> forms);  // results of a Program: numbers again where they were

// The concretization error: a value was asked for that is not known while tracing.
class UnknownValue : public Error {
 public:
  using Error::Error;
};

// ---- evaluation
// Runs a Program under the current trace, releasing each value after its last use.
Arrays evaluate(const ir::Program& p, std::span<const Array> inputs);
// Told every equation that the eager evaluator runs (views and nested programs' inner equations too). Tests count with
// it.
using Observer = std::function<void(const Primitive&)>;
Observer set_observer(Observer o);  // thread-local; returns the former

// ---- staging
// Builds a Program. Foreign values become constants (captured arrays) or literals.
class StagingTrace final : public Trace {
 public:
  explicit StagingTrace(std::string_view what, const Location& at = Location::current());
  Arrays process(const Request& r) override;
  std::string_view what() const override { return what_; }

  Array add_input(const Type& type);
  Array lift(const Array& x,
             const Location& at);  // as a value of this trace (a constant input for a foreign one) or a literal
  const Arrays& constants() const { return constants_; }
  // The Program: constants, then the inputs in order; outputs may be foreign (captured) too. Once: the trace
  // gives its equations away.
  ir::Program finish(std::span<const Array> outputs);

 private:
  ir::Atom atom(const Array& x, const Location& at);
  std::string what_;
  ir::Program program_;
  Arrays constants_;
  std::vector<ir::Var> constant_vars_, input_vars_;
  std::unordered_map<const Value*, ir::Var> seen_;  // constants by identity
};

struct Staged {
  ir::Program program;
  Arrays constants;
  Forms forms = {};  // of the outputs
};
// Traces f on values of these types; numbers that it returns become arrays.
Staged stage(const FlatFunction& f, std::span<const Type> types, std::string_view what, const Location& at);
// The same with numbers among the arguments; those that it returns are scalars of f64 or i64, as `forms` says.
Staged stage(const FlatFunction& f, std::span<const Form> forms, std::string_view what, const Location& at);

}  // namespace anew
