// The current trace and the line in force, both thread-local; bind, the one way an equation enters the system.
#include "trace/trace.h"

#include <fmt/format.h>

#include <optional>

#include "trace/donation.h"

namespace anew {
namespace {

struct Context {
  Trace* trace = nullptr;
  const Location* pin = nullptr;
  const Primitive* rule_of = nullptr;
};
thread_local Context context;

}  // namespace

Trace* current_trace() { return context.trace; }
const Primitive* current_rule() { return context.rule_of; }

TraceScope::TraceScope(Trace* t) : saved_(context.trace) { context.trace = t; }
TraceScope::~TraceScope() { context.trace = saved_; }

PinLine::PinLine(const Location& at) : saved_(context.pin), at_(at) {
  if (!saved_) context.pin = &at_;
}
PinLine::~PinLine() { context.pin = saved_; }

namespace {

// Names of files are few, and the last one is mostly asked for again.
bool in_standard_library(const char* file) {
  thread_local const char* last = nullptr;
  thread_local bool answer = false;
  if (file != last) {
    answer = std::string_view(file).find("/include/c++/") != std::string_view::npos;
    last = file;
  }
  return answer;
}

}  // namespace

Location line_or(const Location& at) {
  if (context.pin) return *context.pin;
  const bool standard_library = in_standard_library(at.file_name());
  return standard_library && context.trace && context.trace->at.line() ? context.trace->at : at;
}

RuleScope::RuleScope(const Primitive* rule_of, const Location& at)
    : saved_rule_(context.rule_of), saved_pin_(context.pin), at_(at) {
  context.rule_of = rule_of;
  context.pin = &at_;
}
RuleScope::~RuleScope() {
  context.rule_of = saved_rule_;
  context.pin = saved_pin_;
}

void check_operand(const Array& x, const Location& at) {
  const Value* v = x.value();
  if (!v) throw Error("uninitialised Array used as an operand", at, "`Array x;` is no array yet: assign one first");
  if (v->trace && !v->trace->alive)
    throw Error(
        fmt::format(
            "unexpected tracer: a value of type {} made while tracing for {} at {} is used after that trace ended",
            v->type.str(), v->trace->what(), source_line(v->trace->at).str()),
        at,
        "a transformed function must return its results; it must not keep them in global state or captured variables");
}

Types infer_outputs(const Request& r, std::span<const Type> in) {
  Types out = r.primitive.infer({*r.params, in, r.at});
  for (const Type& t : out)
    if (!checked_bytes(t.shape, t.dtype))
      throw Error(
          fmt::format("[{}] an array of type {} is too large (or has a negative size)", r.primitive.name, t.str()),
          r.at);
  return out;
}

Arrays bind_under(Trace* trace, const Primitive& p, const ParamsRef& params, std::span<const Array> inputs,
                  const Location& at) {
  Location line = line_or(at);
  for (const Array& x : inputs) check_operand(x, line);
  Request r{p, params ? params : ir::no_params(), inputs, line};
  return trace ? trace->process(r) : evaluate_now(r);
}

Arrays bind(const Primitive& p, const ParamsRef& params, std::span<const Array> inputs, const Location& at) {
  return bind_under(context.trace, p, params, inputs, at);
}

Array bind1(const Primitive& p, const ParamsRef& params, std::initializer_list<Array> inputs, const Location& at) {
  return anew::bind(p, params, std::span<const Array>(inputs.begin(), inputs.size()), at)[0];
}

Arrays evaluate(const ir::Program& p, std::span<const Array> inputs) {
  if (inputs.size() != p.inputs.size())
    throw InternalError(fmt::format("evaluate: {} inputs for {}", inputs.size(), p.inputs.size()));
  std::vector<Array> env(p.types.size());
  std::vector<std::size_t> last(p.types.size(), 0);
  for (std::size_t i = 0; i < p.eqns.size(); ++i)
    for (const ir::Atom& a : p.eqns[i].inputs)
      if (a.is_var()) last[static_cast<std::size_t>(a.var)] = i;
  for (const ir::Atom& a : p.outputs)
    if (a.is_var()) last[static_cast<std::size_t>(a.var)] = p.eqns.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) env[static_cast<std::size_t>(p.inputs[i])] = inputs[i];
  auto read = [&](const ir::Atom& a) {
    return a.is_var() ? env[static_cast<std::size_t>(a.var)] : make_literal(a.literal);
  };
  std::vector<Array> operands;
  for (std::size_t i = 0; i < p.eqns.size(); ++i) {
    const ir::Eqn& e = p.eqns[i];
    operands.clear();
    for (const ir::Atom& a : e.inputs) operands.push_back(read(a));
    for (const ir::Atom& a : e.inputs)
      if (a.is_var() && last[static_cast<std::size_t>(a.var)] == i) env[static_cast<std::size_t>(a.var)] = {};
    Location at = e.at.line() ? e.at : line_or(e.at);  // parsed equations have no line of their own
    RuleScope scope(e.rule_of, at);
    std::optional<Donation> donation;
    if (e.primitive->higher_order()) donation.emplace(operands);
    Arrays out = anew::bind(*e.primitive, e.params, operands, at);
    for (std::size_t k = 0; k < out.size(); ++k) {
      std::size_t v = static_cast<std::size_t>(e.outputs[k]);
      if (last[v] > i) env[v] = std::move(out[k]);
    }
  }
  Arrays out;
  out.reserve(p.outputs.size());
  for (const ir::Atom& a : p.outputs) out.push_back(read(a));
  return out;
}

}  // namespace anew

namespace anew::ir {
void missing_rule(const Primitive& p, std::string_view transformation, std::string_view folder, const Location& at) {
  throw Error(fmt::format("[{0}] has no {1} rule", p.name, transformation), at,
              fmt::format("add `{1}` to the row \"{0}\" in src/{2}", p.name, transformation, folder));
}
}  // namespace anew::ir
