// The front of jit: flat forms of jit, plan and compile.
#include <anew/debugging.h>
#include <anew/jit.h>
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "base/lru.h"
#include "base/stop.h"
#include "control/higher_order.h"
#include "jit/compiled_program.h"
#include "jit/donate.h"
#include "ops/promote.h"
#include "runtime/pool.h"
#include "runtime/state_files.h"
#include "trace/remember.h"
#include "trace/watch.h"
#include "transforms/nested.h"
#include "transforms/remembered.h"

namespace anew {
namespace {

// Arrays below this size are copied where they are not row-major, so that one piece of code serves all layouts; larger
// ones (transposed matrices, slices) are read where they lie, by code of their own: a copy of 1 MiB takes about 100 us
// each time, compiling some ms once.
constexpr std::size_t copied_below = std::size_t{1} << 20;

bool dense(const Value& v) { return v.literal || v.type.shape.size() == 0 || is_row_major(v.type.shape, v.strides); }

bool has_layout(const Value& v) { return v.type.bytes() >= copied_below && !dense(v); }

// The arrays as compiled code takes them; and how they lie.
Arrays laid_out(std::span<const Array> x) {
  Arrays out;
  out.reserve(x.size());
  for (const Array& a : x) out.push_back(has_layout(*a.value()) ? a : contiguous(a));
  return out;
}
std::vector<ir::Strides> layouts(std::span<const Array> x) {
  std::vector<ir::Strides> out;
  out.reserve(x.size());
  for (const Array& a : x) {
    const Value& v = *a.value();
    out.push_back(has_layout(v) ? v.strides : row_major(v.type.shape));
  }
  return out;
}

// Equations that somebody counts are run one by one, with the same bits.
bool observed() {
  Observer o = set_observer({});
  const bool yes = static_cast<bool>(o);
  set_observer(std::move(o));
  return yes;
}

// With debug_nans: equations are run one by one where the code gives what is looked for, to find who made it. What has
// effects is not run twice.
Arrays run_watched(const ir::ProgramRef& program, std::span<const Array> x, const Location& at) {
  if (ir::has_effects(*program)) return evaluate(*program, x);
  Arrays out = compiled::find_compiled(program, layouts(x))->run(laid_out(x), at);
  return watch::any(out) ? evaluate(*program, x) : out;
}

Arrays run_now(const ir::ProgramRef& program, std::span<const Array> x, const Location& at) {
  if (observed() || watch::evaluating()) return evaluate(*program, x);
  if (watch::on()) return run_watched(program, x, at);
  return compiled::find_compiled(program, layouts(x))->run(laid_out(x), at);
}
// Here, where every user of jit is linked against it.
[[maybe_unused]] const bool installed = (run_compiled = &run_now, true);

void check_options(const JitOptions& o, std::size_t arrays, std::string_view op, const Location& at) {
  for (int i : o.donate)
    if (i < 0 || static_cast<std::size_t>(i) >= arrays)
      throw Error(fmt::format("[jit] .donate names array {} of {}", i, arrays), at, "arrays are counted from 0");
  if (o.memory_budget && *o.memory_budget > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
    throw Error(fmt::format("[jit] .memory_budget is negative: {} bytes", static_cast<std::int64_t>(*o.memory_budget)),
                at, "leave it out to have no limit");
  if (!o.disk.empty() && !o.memory_budget && op != "budget_curve")
    throw Error("[jit] .disk without .memory_budget", at,
                "give the bytes that a call may take: {.memory_budget = 512_MiB, .disk = \"...\"}");
  if (o.threads < 0) throw Error(fmt::format("[jit] .threads is {}", o.threads), at, "0 means all of them");
}

// Of what is compiled now: arrays behind so many constants. The folder is there, whether or not this plan needs it.
compiled::PlanOptions plan_options(const JitOptions& o, std::size_t constants, const Location& at) {
  if (!o.disk.empty()) check_folder({"jit", o.disk, at});
  compiled::PlanOptions out{o.memory_budget, o.donate, o.disk};
  for (int& i : out.donated) i += static_cast<int>(constants);
  return out;
}

}  // namespace

namespace flat {

namespace {

// The code of a Program that was traced, for inputs laid out in one way. What the code gives are the Program's outputs
// that it makes; others are inputs or literals.
struct Traced {
  ir::ProgramRef program;            // as traced
  std::vector<ir::Strides> layouts;  // of all inputs
  std::shared_ptr<const compiled::CompiledProgram> code;
  std::vector<int> results;  // per output: an input, -1 for a literal, or behind the inputs an output of the code
};
constexpr std::size_t most_traced = 256;

// The first inputs are so many constants.
std::shared_ptr<const Traced> compile_traced(ir::ProgramRef program, std::vector<ir::Strides> layouts,
                                             std::size_t constants, compiled::PlanOptions options) {
  auto t = std::make_shared<Traced>();
  ir::Program p = inline_remembered(*program);
  p.constants = static_cast<int>(constants);
  std::unordered_map<ir::Var, int> place;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) place.emplace(p.inputs[i], static_cast<int>(i));
  std::vector<ir::Atom> made;
  for (const ir::Atom& a : p.outputs) {
    if (!a.is_var()) {
      t->results.push_back(-1);
      continue;
    }
    auto [it, fresh] = place.emplace(a.var, static_cast<int>(p.inputs.size() + made.size()));
    if (fresh) made.push_back(a);
    t->results.push_back(it->second);
  }
  p.outputs = std::move(made);
  // What is a result as it came is nobody else's memory.
  std::erase_if(options.donated, [&](int i) { return std::count(t->results.begin(), t->results.end(), i) > 0; });
  t->code = compiled::find_compiled(share(std::move(p)), layouts, options);
  t->program = std::move(program);
  t->layouts = std::move(layouts);
  return t;
}

}  // namespace

struct JitCache::State {
  std::mutex guard;
  Lru<std::shared_ptr<const Traced>> traced{most_traced};
  Lru<ir::ProgramRef> nested{most_traced};  // where the call is an equation of something that is traced
  // Of Programs that were compiled: the last one's text, hashed, and how often in a row it was the same.
  std::size_t last_text = 0;
  int same_text = 0;
};
JitCache::JitCache() : state_(std::make_shared<State>()) {}
JitCache::JitCache(const JitCache&) noexcept = default;
JitCache& JitCache::operator=(const JitCache&) noexcept = default;
JitCache::~JitCache() = default;
std::size_t JitCache::size() const {
  std::lock_guard lock(state_->guard);
  return state_->traced.size() + state_->nested.size();
}

namespace {

Arrays as_equation(Closed c, const JitCache& cache, const JitOptions& options, const Location& at) {
  auto shared = share(std::move(c.program));
  {
    const std::size_t h = ir::hash_value(shared);
    JitCache::State& s = cache.state();
    std::lock_guard lock(s.guard);
    if (!s.nested.find(h, [&](const ir::ProgramRef& p) { return ir::equal(p, shared); })) s.nested.add(h, shared);
  }
  if (!current_trace())  // a number is an argument like any other: as a literal it would be part of the code
    for (Array& a : c.inputs)
      if (a.value()->literal) a = fresh_alias(a);
  const ThreadLimit limit(options.threads);
  Arrays out = bind_nested(
      jit_row(), [&](ir::ProgramRef p) { return jit_params(options.name, std::move(p)); }, *shared, c.inputs, at);
  return as_formed(std::move(out), c.forms);
}

// Programs that differ, and read the same, hold functions that are made anew by each call.
void count_compilation(JitCache::State& state, const ir::Program& program, const Location& at) {
  constexpr int too_often = 10;
  const std::size_t text = std::hash<std::string>{}(ir::print(program));
  {
    std::lock_guard lock(state.guard);
    if (std::exchange(state.last_text, text) != text) state.same_text = 0;
    if (++state.same_text != too_often) return;
  }
  warn(fmt::format(
           "[jit] compiled {} times for the same types: a rule, policy or callback with captures is made at each "
           "call, and is another function each time; hint: make it once, outside of the function; or compile() the "
           "function, which is traced once",
           too_often),
       at);
}

// What could be compiled is; inside another trace the call is an equation.
Arrays call(const FlatFunction& f, std::span<const Array> x, const JitCache& cache, const JitOptions& options,
            const Location& at, bool& compiled) {
  const bool now = !current_trace() && !observed() &&
                   std::all_of(x.begin(), x.end(), [](const Array& a) { return a.value() && a.value()->concrete(); });
  if (!now) return as_equation(close_over(f, x, "jit", at), cache, options, at);
  if (watch::on()) {  // traced directly: equations that are remembered have lines of other functions
    Closed c = close_over(f, x, "jit", at);
    for (const Array& a : c.inputs)  // a value of another thread's trace, which says so
      if (!a.value()->concrete()) return as_equation(std::move(c), cache, options, at);
    const ThreadLimit limit(options.threads);
    return as_formed(run_watched(share(std::move(c.program)), c.inputs, at), c.forms);
  }
  const compiled::DonatedArguments donated(x, options.donate);

  Staged s = stage_remembering(f, forms_of(x, at), "jit", at);
  Arrays inputs = std::move(s.constants);
  for (const Array& a : x) inputs.push_back(exact(a));
  s.program.constants = 0;
  for (const Array& a : inputs)  // a value of another thread's trace, which says so
    if (!a.value()->concrete())
      return as_equation({inline_remembered(s.program), std::move(inputs), std::move(s.forms)}, cache, options, at);
  std::vector<ir::Strides> lie = layouts(inputs);
  std::size_t h = ir::hash_value(s.program);
  for (const ir::Strides& l : lie) hash_combine(h, hash_value(l));
  hash_combine(h, static_cast<std::size_t>(compiled::backend()));

  JitCache::State& state = cache.state();
  std::shared_ptr<const Traced> t;
  {
    std::lock_guard lock(state.guard);
    if (auto* found = state.traced.find(h, [&](const auto& e) { return e->layouts == lie; })) t = *found;
  }
  if (t && !ir::equal(*t->program, s.program)) t = nullptr;
  std::vector<ir::Atom> outputs = s.program.outputs;
  if (!t) {
    compiled = true;
    count_compilation(state, s.program, at);
    const std::size_t constants = inputs.size() - x.size();
    t = compile_traced(share(std::move(s.program)), std::move(lie), constants, plan_options(options, constants, at));
    std::list<std::shared_ptr<const Traced>> gone;
    std::lock_guard lock(state.guard);
    gone = state.traced.add(h, t);
  }
  const ThreadLimit limit(options.threads);
  Arrays laid = laid_out(inputs);
  inputs.clear();  // no handles but those of the caller
  donated.take(laid, t->code->has_loops(), at);
  Arrays made = t->code->run(laid, at), out;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int place = t->results[i];
    if (place < 0) out.push_back(make_literal(outputs[i].literal));
    else if (static_cast<std::size_t>(place) >= laid.size())
      out.push_back(made[static_cast<std::size_t>(place) - laid.size()]);
    else {
      const Array& a = laid[static_cast<std::size_t>(place)];
      out.push_back(a.value()->literal ? fresh_alias(a) : a);
    }
  }
  return as_formed(std::move(out), s.forms);
}

}  // namespace

Arrays jit(const FlatFunction& f, std::span<const Array> x, const JitCache& cache, const JitOptions& options,
           const Location& at) {
  bool compiled = false;
  return jit(f, x, cache, options, at, compiled);
}

Arrays jit(const FlatFunction& f, std::span<const Array> x, const JitCache& cache, const JitOptions& options,
           const Location& at, bool& compiled) {
  check_options(options, x.size(), "jit", at);
  const StopScope stop(options.stop);
  if (jit_disabled()) return with_line("jit", at, [&] { return f(x); });
  return with_line("jit", at, [&] { return call(f, x, cache, options, at, compiled); });
}

bool KnownCalls::usable(std::span<const Array> x) const {
  if (current_trace() || capturing() || jit_disabled() || watch::on()) return false;
  return std::all_of(x.begin(), x.end(),
                     [](const Array& a) { return a.value() && a.value()->concrete() && !has_layout(*a.value()); });
}

// ---- ahead of time

Compiled::Compiled(std::shared_ptr<State> state) : state_(std::move(state)) {}
Compiled::Compiled(const Compiled&) noexcept = default;
Compiled& Compiled::operator=(const Compiled&) noexcept = default;
Compiled::~Compiled() = default;

namespace {

// "argument 0, layers[1].w"
std::string argument_name(std::size_t i, const std::vector<std::string>& paths) {
  return i < paths.size() ? named_argument(paths[i]) : fmt::format("argument {}", i);
}

// Throws where a leaf is no array yet, and names it.
void check_leaves(std::span<const Array> x, const std::vector<std::string>& paths, std::string_view op,
                  const Location& at) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!x[i].value())
      throw Error(fmt::format("[{}] {} is an uninitialised Array", op, argument_name(i, paths)), at,
                  "`Array x;` is no array yet, one that was moved from is none any more: assign one first");
}

}  // namespace

namespace {

// x with its numbers as the code takes them; nothing where there are none.
Arrays with_numbers(const Compiled::State& s, std::span<const Array> x) {
  const ir::Program& p = s.program->program();
  Arrays numbers;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Type& want = p.type(p.inputs[s.constants.size() + i]);
    if (!is_known_number(x[i]) || want.shape.ndim() != 0 || (is_float(type_of(x[i]).dtype) && !is_float(want.dtype)))
      continue;
    if (numbers.empty()) numbers.assign(x.begin(), x.end());
    numbers[i] = coerce(x[i], want.dtype, s.at);
  }
  return numbers;
}

Array copy_of(const Array& x, const Location& at) {
  Array y = empty_array(type_of(x), at);
  std::memcpy(y.value()->buffer->data(), x.value()->data(), type_of(x).bytes());
  return y;
}

// x are arrays of the types that the code was compiled for.
Arrays run(const Compiled::State& s, std::span<const Array> x, const compiled::DonatedArguments& donated,
           std::size_t* high_water) {
  const bool ready = s.constants.empty() && s.options.donate.empty() &&  // the inputs of the code are these very arrays
                     std::all_of(x.begin(), x.end(), [](const Array& a) { return dense(*a.value()); });
  const StopScope stop(s.options.stop);
  Arrays in, kept;
  if (!ready) {
    in = s.constants;
    in.reserve(in.size() + x.size());
    for (const Array& a : x) in.push_back(contiguous(a));
    if (watch::on())
      for (const Array& a : in) kept.push_back(s.options.donate.empty() ? a : copy_of(a, s.at));
    donated.take(in, s.program->has_loops(), s.at);
  }
  const ThreadLimit limit(s.options.threads);
  Arrays out = with_line("jit", s.at, [&] { return s.program->run(ready ? x : in, s.at, high_water); });
  if (watch::on() && watch::any(out) && !ir::has_effects(s.program->program()))
    out = evaluate(s.program->program(), ready ? x : kept);
  out = as_formed(std::move(out), s.out);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (s.known[i].value()) out[i] = s.known[i];
  return out;
}

}  // namespace

Arrays Compiled::operator()(std::span<const Array> x) const {
  State& s = *state_;
  const ir::Program& p = s.program->program();
  if (x.size() + s.constants.size() != p.inputs.size())
    throw Error(
        fmt::format("[compile] compiled for {} arrays, called with {}", p.inputs.size() - s.constants.size(), x.size()),
        s.at);
  check_leaves(x, s.paths, "compile", s.at);
  const compiled::DonatedArguments donated(x, s.options.donate);
  const Arrays numbers = with_numbers(s, x);
  if (!numbers.empty()) x = numbers;
  for (std::size_t i = 0; i < x.size(); ++i) {
    check_operand(x[i], s.at);
    const Value& v = *x[i].value();
    const Type& want = p.type(p.inputs[s.constants.size() + i]);
    if (!v.concrete())
      throw Error(fmt::format("[compile] a compiled function cannot be traced: {} is {}", argument_name(i, s.paths),
                              v.abstract ? "abstract" : fmt::format("being traced for {}", v.trace->what())),
                  s.at, "transform the function and compile the result, or call jit(f)");
    if (!(v.type == want))
      throw Error(fmt::format("[compile] {} was {} when the function was compiled, is {} now",
                              argument_name(i, s.paths), s.in[i].number ? "a number" : want.str(), v.type.str()),
                  s.at, "compile once for each set of types, or call jit(f), which does");
  }
  std::size_t high = 0;
  Arrays out = run(s, x, donated, &high);
  s.high_water.store(high, std::memory_order_relaxed);
  return out;
}

Arrays Compiled::call_known(std::span<const Array> x) const {
  const State& s = *state_;
  const compiled::DonatedArguments donated(x, s.options.donate);
  const bool plain = std::none_of(x.begin(), x.end(), [](const Array& a) { return a.value()->weak; });
  if (plain) return run(s, x, donated, nullptr);
  const Arrays numbers = with_numbers(s, x);
  return run(s, numbers.empty() ? x : numbers, donated, nullptr);
}

const MemoryPlan& Compiled::plan() const { return state_->plan; }
std::size_t Compiled::high_water_bytes() const { return state_->high_water.load(std::memory_order_relaxed); }

bool Compiled::captures() const { return state_->captures; }

namespace {

// A function traced for compiling: all but its code.
struct Prepared {
  std::shared_ptr<Compiled::State> state;
  ir::ProgramRef program;
  std::vector<ir::Strides> inputs;
};

Prepared prepared(const FlatFunction& f, std::span<const Array> x, const JitOptions& options,
                  std::vector<std::string> paths, std::string_view op, const Location& at) {
  check_leaves(x, paths, op, at);
  check_options(options, x.size(), op, at);
  const StopScope stop(options.stop);
  const Forms forms = forms_of(x, at);  // the arguments are none of the surroundings
  const std::uint64_t start = next_sequence();
  const NumbersRead numbers;
  Staged traced = current_trace() ? stage(f, forms, "jit", at) : stage_remembering(f, forms, "jit", at);
  auto s = std::make_shared<Compiled::State>();
  s->in = forms;
  s->out = traced.forms;
  s->known.resize(traced.forms.size());
  s->captures = numbers.from_outside();
  for (const Array& a : traced.constants) {
    s->captures = s->captures || !made_since(start, a);
    s->constants.push_back(contiguous(a));
  }
  ir::Program program = inline_remembered(traced.program);
  for (std::size_t i = 0; i < traced.forms.size(); ++i) {  // a constant takes the bytes of the dtype it shows
    ir::Atom& a = program.outputs[i];
    if (!traced.forms[i].number || a.is_var()) continue;
    s->known[i] = as_number(make_literal(a.literal), traced.forms[i].type.dtype);
    a = literal_of(s->known[i]);
  }
  std::vector<ir::Strides> inputs;
  for (const Type& t : program.input_types()) inputs.push_back(row_major(t.shape));
  s->paths = std::move(paths);
  s->options = options;
  s->at = at;
  return {std::move(s), share(std::move(program)), std::move(inputs)};
}

std::shared_ptr<Compiled::State> planned(const FlatFunction& f, std::span<const Array> x, const JitOptions& options,
                                         std::vector<std::string> paths, std::string_view op, const Location& at) {
  Prepared p = prepared(f, x, options, std::move(paths), op, at);
  const StopScope stop(options.stop);
  Compiled::State& s = *p.state;
  s.program = compiled::find_compiled(p.program, p.inputs, plan_options(options, s.constants.size(), at));
  s.plan = s.program->plan();
  for (std::vector<LiveValue>* list : {&s.plan.live, &s.plan.offloaded})
    for (LiveValue& v : *list) v.path = compiled::path_of(v.leaf, v.backward, s.paths);
  return p.state;
}

}  // namespace

Compiled compile(const FlatFunction& f, std::span<const Array> x, const JitOptions& options, const Location& at,
                 std::vector<std::string> paths) {
  return with_line("compile", at, [&] {
    auto s = planned(f, x, options, std::move(paths), "compile", at);
    s->program->code();
    return Compiled(std::move(s));
  });
}

MemoryPlan plan(const FlatFunction& f, std::span<const Array> x, const JitOptions& options, const Location& at,
                std::vector<std::string> paths) {
  return with_line("plan", at, [&] { return std::move(planned(f, x, options, std::move(paths), "plan", at)->plan); });
}

std::vector<BudgetPoint> budget_curve(const FlatFunction& f, std::span<const Array> x, const JitOptions& options,
                                      const Location& at) {
  return with_line("budget_curve", at, [&] {
    const Prepared p = prepared(f, x, options, {}, "budget_curve", at);
    compiled::check_countable(*p.program);
    return compiled::budget_curve(*p.program, p.inputs, plan_options(options, p.state->constants.size(), at));
  });
}

void other_static_argument(std::size_t number, const Location& at) {
  throw Error(
      fmt::format("[compile] argument {} is static and has another value than when the function was compiled", number),
      at, "compile once for each value, or call jit(f), which does");
}

}  // namespace flat
}  // namespace anew
