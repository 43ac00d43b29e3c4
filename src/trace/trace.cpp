// The current trace and the line in force, both thread-local; bind, the one way an equation enters the system.
#include "trace/trace.h"

#include <anew/debugging.h>
#include <fmt/format.h>

#include <atomic>
#include <optional>

#include "base/stack.h"
#include "trace/donation.h"
#include "trace/remember.h"
#include "trace/unpin_line.h"
#include "trace/watch.h"

namespace anew {
namespace {

struct Context {
  Trace* trace = nullptr;
  const Primitive* rule_of = nullptr;
  int sources = 0;                     // open SourceScopes
  ir::Mark mark = {};                  // of the operation that is bound
  const ir::Region* region = nullptr;  // of what is traced
  CountedCalls* calls = nullptr;
  const NamedScope* scope = nullptr;  // that the user named
};
thread_local Context context;

}  // namespace

Trace* current_trace() { return context.trace; }
const Primitive* current_rule() { return context.rule_of; }
const ir::Mark& current_mark() { return context.mark; }

TraceScope::TraceScope(Trace* t) : saved_(context.trace) {
  check_stack(line_or(t ? t->at : Location()));
  context.trace = t;
}
TraceScope::~TraceScope() { context.trace = saved_; }

bool runs_uncompiled(std::span<const Array> x) {
  if (!jit_disabled() || (context.trace && !context.trace->concrete_values)) return false;
  for (const Array& a : x) {
    const Value* v = a.value();
    while (v && v->trace && v->trace->concrete_values) v = v->first.value();
    if (!v || !v->concrete()) return false;
  }
  return true;
}

PinLine::PinLine(const Location& at, std::string_view function)
    : saved_(pinned_line), saved_function_(pinned_function), watched_(saved_ ? 0 : watch::begin()), at_(at) {
  if (saved_) return;
  pinned_line = &at_;
  pinned_function = function;
}
PinLine::~PinLine() noexcept(false) {
  pinned_line = saved_;
  pinned_function = saved_function_;
  if (watched_) watch::end(watched_);
}
UnpinLine::UnpinLine()
    : saved_(std::exchange(pinned_line, nullptr)), saved_function_(std::exchange(pinned_function, {})) {}
UnpinLine::~UnpinLine() {
  pinned_line = saved_;
  pinned_function = saved_function_;
}

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
  if (pinned_line) return *pinned_line;
  const bool standard_library = in_standard_library(at.file_name());
  return standard_library && context.trace && context.trace->at.line() ? context.trace->at : at;
}

void fail(std::string_view op, const Location& at, std::string_view what, const std::string& hint) {
  throw Error(fmt::format("[{}] {}", op, what), line_or(at), hint);
}

RuleScope::RuleScope(const Primitive* rule_of, const Location& at, const ir::Mark& mark)
    : watched_(pinned_line ? 0 : watch::begin()),
      saved_rule_(context.rule_of),
      saved_pin_(pinned_line),
      saved_function_(std::exchange(pinned_function, {})),
      saved_mark_(context.mark),
      at_(at) {
  context.rule_of = rule_of;
  pinned_line = &at_;
  if (mark.operation) context.mark = mark;
}
RuleScope::~RuleScope() noexcept(false) {
  context.rule_of = saved_rule_;
  pinned_line = saved_pin_;
  pinned_function = saved_function_;
  context.mark = saved_mark_;
  if (watched_) watch::end(watched_);
}

CountedCalls::CountedCalls() : saved_(std::exchange(context.calls, this)) {}
CountedCalls::~CountedCalls() { context.calls = saved_; }
int CountedCalls::next(const Location& at) {
  for (auto& [line, count] : counts_)
    if (line.line() == at.line() && line.file_name() == at.file_name()) return ++count;
  counts_.emplace_back(at, 0);
  return 0;
}

RegionScope::RegionScope(std::string_view what, const Location& at) : saved_(context.region) {
  if (context.calls && !context.mark.operation) context.region = ir::region(saved_, what, at, context.calls->next(at));
}
RegionScope::~RegionScope() { context.region = saved_; }

// Regions never go, so one is made only where somebody stages: names of eager code may be many.
NamedScope::NamedScope(std::string name, const Location& at)
    : name_(std::move(name)), outer_(std::exchange(context.scope, this)), region_(context.region) {
  if (context.calls && !context.mark.operation)
    context.region = ir::region(context.region, name_, at, ir::Region::named);
}
NamedScope::~NamedScope() {
  context.scope = outer_;
  context.region = static_cast<const ir::Region*>(region_);
}
std::string named_scopes() {
  std::string path;
  for (const NamedScope* s = context.scope; s; s = s->outer_) path = s->name_ + (path.empty() ? "" : "/" + path);
  return path;
}

namespace {

// What a user's operation becomes has one mark: that of the outermost bind.
class Marked {
 public:
  explicit Marked(bool traced) : here_(traced && !context.mark.operation) {
    if (here_) context.mark = {context.region, next_operation()};
  }
  ~Marked() {
    if (here_) context.mark = {};
  }
  Marked(const Marked&) = delete;

 private:
  // Threads count apart: Programs that are shared know which.
  static std::uint64_t next_operation() {
    static std::atomic<std::uint64_t> threads = 0;
    thread_local std::uint64_t last = threads++ << 40;
    return ++last;
  }
  bool here_;
};

}  // namespace

void detail::empty_function(const Location& at) {
  throw Error("a function that was given is empty (a std::function or pointer without a target)",
              at.line() || !context.trace ? at : context.trace->at);
}

SourceScope::SourceScope() { ++context.sources; }
SourceScope::~SourceScope() { --context.sources; }

Origin origin_of(const Request& r, int output, std::uint64_t sequence) {
  constexpr int deepest = 64;  // a chain is destroyed recursively
  Origin o{&r.primitive, r.params, r.at, output, sequence, context.rule_of, context.mark.region};
  if (!context.sources || !r.primitive.facts.shows_operand) return o;
  o.depth = r.inputs.empty() ? 0 : r.inputs[0].value()->origin.depth + 1;
  o.remakes = o.depth < deepest;
  if (!o.remakes) o.depth = 0;
  else if (!r.inputs.empty()) o.source = r.inputs[0];
  return o;
}

Array without_source(const Array& x) {
  if (!x.value()->origin.source.value()) return x;
  auto v = std::make_shared<Value>(*x.value());
  v->origin.source = {};
  v->origin.remakes = false;
  return Array(std::shared_ptr<const Value>(std::move(v)));
}

void check_operand(const Array& x, const Location& at) {
  const Value* v = x.value();
  if (!v)
    throw Error("uninitialised Array used as an operand" + leaf_name(x, ": "), at,
                "`Array x;` is no array yet, one that was moved from is none any more: assign one first");
  if (v->literal) NumbersRead::note(x);
  if (v->abstract && !checked_bytes(v->type.shape, v->type.dtype))
    throw Error(
        fmt::format("an array of type {} is too large (or has a negative size){}", v->type.str(), leaf_name(x, ": ")),
        at, "no array can have it: give the shape of one that can be made");
  if (v->trace && v->trace->took)
    throw Error(fmt::format("an array of type {} is used that was donated to the function jitted at {}: its memory "
                            "belongs to a result now, or went with a call that did not end",
                            v->type.str(), source_line(v->trace->at).str()),
                at, "use the result, or donate copy(x)");
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
  bool numbers = false;
  for (const Array& x : inputs) {
    check_operand(x, line);
    numbers = numbers || x.value()->weak;
  }
  Request r{p, params ? params : ir::no_params(), inputs, line};
  if (p.higher_order() && ir::nesting(*r.params) > ir::max_nesting)
    throw Error(fmt::format("[{}] functions are nested more than {} deep", p.name, ir::max_nesting), line,
                "apply functions one after another, or in a scan, instead of inside each other");
  const Marked mark(trace != nullptr);
  return with_line(p.name, line, [&] {
    if (numbers) return bind_numbers(trace, r);
    return trace ? trace->process(r) : evaluate_now(r);
  });
}

Arrays bind(const Primitive& p, const ParamsRef& params, std::span<const Array> inputs, const Location& at) {
  return bind_under(context.trace, p, params, inputs, at);
}

Array bind1(const Primitive& p, const ParamsRef& params, std::initializer_list<Array> inputs, const Location& at) {
  return std::move(anew::bind(p, params, std::span<const Array>(inputs.begin(), inputs.size()), at)[0]);
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
  for (std::size_t i = 0; i < inputs.size(); ++i) env[static_cast<std::size_t>(p.inputs[i])] = strong(inputs[i]);
  auto read = [&](const ir::Atom& a) {
    return a.is_var() ? env[static_cast<std::size_t>(a.var)] : make_literal(a.literal);
  };
  std::vector<Array> operands;
  watch::Evaluation watched;
  for (std::size_t i = 0; i < p.eqns.size(); ++i) {
    const ir::Eqn& e = p.eqns[i];
    operands.clear();
    for (const ir::Atom& a : e.inputs) operands.push_back(read(a));
    for (const ir::Atom& a : e.inputs)
      if (a.is_var() && last[static_cast<std::size_t>(a.var)] == i) env[static_cast<std::size_t>(a.var)] = {};
    Location at = e.at.line() ? e.at : line_or(e.at);  // parsed equations have no line of their own
    RuleScope scope(e.rule_of, at, e.mark);
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
  watched.results(out);
  return out;
}

}  // namespace anew
