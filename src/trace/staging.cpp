// Staging: equations are recorded in a Program instead of being run.
#include <fmt/format.h>

#include "trace/remember.h"

namespace anew {

StagingTrace::StagingTrace(std::string_view what, const Location& where) : what_(what) { at = where; }

Array StagingTrace::add_input(const Type& type) {
  auto var = static_cast<ir::Var>(program_.types.size());
  program_.types.push_back(type);
  input_vars_.push_back(var);
  Array x = traced_value(shared_from_this(), type);
  mutable_value(x).var = var;
  mutable_value(x).origin.sequence = next_sequence();
  return x;
}

ir::Atom StagingTrace::atom(const Array& x, const Location& at) {
  check_operand(x, at);
  const Value& v = *x.value();
  if (v.trace.get() == this) return v.var;
  if (v.literal) return ir::Literal{v.type.dtype, v.bits};
  if (v.abstract)
    throw Error(fmt::format("an abstract array of type {} was captured by a traced function", v.type.str()), at,
                "pass it as an argument");
  if (auto it = seen_.find(&v); it != seen_.end()) return it->second;
  auto var = static_cast<ir::Var>(program_.types.size());
  program_.types.push_back(v.type);
  constant_vars_.push_back(var);
  constants_.push_back(x);
  seen_.emplace(&v, var);
  return var;
}

Array StagingTrace::lift(const Array& x, const Location& where) {
  if (x.value() && x.value()->trace.get() == this) return x;
  ir::Atom a = atom(x, where);
  if (!a.is_var()) return x;
  Array y = traced_value(shared_from_this(), program_.type(a.var));
  mutable_value(y).var = a.var;
  return y;
}

Arrays StagingTrace::process(const Request& r) {
  ir::Eqn e{&r.primitive, r.params, {}, {}, r.at, current_rule(), current_mark()};
  Types in;
  in.reserve(r.inputs.size());
  e.inputs.reserve(r.inputs.size());
  for (const Array& x : r.inputs) {
    e.inputs.push_back(atom(x, r.at));
    in.push_back(x.value()->type);
  }
  Types types = infer_outputs(r, in);
  std::uint64_t sequence = next_sequence();
  Arrays out;
  out.reserve(types.size());
  e.outputs.reserve(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto var = static_cast<ir::Var>(program_.types.size());
    program_.types.push_back(types[i]);
    e.outputs.push_back(var);
    Array y = traced_value(shared_from_this(), types[i]);
    Value& v = mutable_value(y);
    v.var = var;
    v.origin = origin_of(r, static_cast<int>(i), sequence);
    out.push_back(std::move(y));
  }
  program_.eqns.push_back(std::move(e));
  return out;
}

ir::Program StagingTrace::finish(std::span<const Array> outputs) {
  std::vector<ir::Atom> atoms;
  for (const Array& x : outputs) atoms.push_back(atom(x, at));
  ir::Program p = std::move(program_);
  p.outputs = std::move(atoms);
  p.inputs = constant_vars_;
  p.inputs.insert(p.inputs.end(), input_vars_.begin(), input_vars_.end());
  p.constants = static_cast<int>(constant_vars_.size());
  ir::verify_if_asked(p);
  return p;
}

namespace {

thread_local const Trace* remembers = nullptr;  // the innermost trace that does

class RememberScope {
 public:
  explicit RememberScope(const Trace* t) : saved_(remembers) {
    if (t) remembers = t;
  }
  ~RememberScope() { remembers = saved_; }
  RememberScope(const RememberScope&) = delete;

 private:
  const Trace* saved_;
};

// How many functions are being traced inside each other in this thread.
thread_local int traced = 0;
class Nested {
 public:
  Nested(std::string_view what, const Location& at) {
    if (traced > ir::max_nesting)
      throw Error(fmt::format("[{}] functions are nested more than {} deep", what, ir::max_nesting), line_or(at),
                  "apply functions one after another, or in a scan, instead of inside each other");
    ++traced;
  }
  ~Nested() { --traced; }
  Nested(const Nested&) = delete;
};

Staged stage_with(const FlatFunction& f, std::span<const Form> forms, std::string_view what, const Location& at,
                  bool remember) {
  detail::check_function(f, at);
  const Nested nested(what, at);
  const CountedCalls calls;
  auto trace = std::make_shared<StagingTrace>(what, at);
  TraceLife life(trace);
  RememberScope scope_of_memory(remember ? trace.get() : nullptr);
  Arrays inputs;
  for (const Form& form : forms)
    inputs.push_back(form.number ? as_number(trace->add_input({{}, wide(form.type.dtype)}), form.type.dtype)
                                 : trace->add_input(form.type));
  Arrays outputs;
  {
    TraceScope scope(trace.get());
    outputs = f(inputs);
  }
  Staged s;
  for (Array& y : outputs) {
    s.forms.push_back(form_of(y));
    if (y.value() && y.value()->literal) NumbersRead::note(y);
    y = exact(y);
  }
  s.program = trace->finish(outputs);
  s.constants = trace->constants();
  return s;
}

}  // namespace

bool remembering() { return remembers && remembers == current_trace(); }
TraceDirectly::TraceDirectly() : saved_(std::exchange(remembers, nullptr)) {}
TraceDirectly::~TraceDirectly() { remembers = saved_; }

Staged stage(const FlatFunction& f, std::span<const Type> types, std::string_view what, const Location& at) {
  Forms forms;
  for (const Type& t : types) forms.push_back({t, false});
  detail::check_function(f, at);
  auto arrays = [&](std::span<const Array> in) {
    Arrays out = f(in);
    for (Array& y : out) y = strong(y, at);
    return out;
  };
  return stage(arrays, std::span<const Form>(forms), what, at);
}
Staged stage(const FlatFunction& f, std::span<const Form> forms, std::string_view what, const Location& at) {
  return stage_with(f, forms, what, at, remembering());
}
Staged stage_remembering(const FlatFunction& f, std::span<const Form> forms, std::string_view what,
                         const Location& at) {
  return stage_with(f, forms, what, at, true);
}

}  // namespace anew
