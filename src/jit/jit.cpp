// The front of jit: flat forms of jit, plan and compile.
#include <anew/jit.h>
#include <fmt/format.h>

#include <mutex>
#include <unordered_map>

#include "base/stop.h"
#include "control/rows.h"
#include "jit/compiled_program.h"
#include "runtime/pool.h"
#include "transforms/nested.h"

namespace anew {
namespace {

std::vector<ir::Strides> layouts(std::span<const Array> x) {
  std::vector<ir::Strides> out;
  out.reserve(x.size());
  for (const Array& a : x) {
    const Value& v = *a.value();
    out.push_back(v.literal || v.abstract ? row_major(v.type.shape) : v.strides);
  }
  return out;
}

bool dense(const Value& v) {
  if (v.literal || v.type.shape.size() == 0) return true;
  std::int64_t step = 1;
  for (int i = v.type.shape.ndim(); i-- > 0; step *= v.type.shape[i])
    if (v.strides[i] != step) return false;
  return true;
}

// Equations that somebody counts are run one by one, with the same bits.
bool observed() {
  Observer o = set_observer({});
  const bool yes = static_cast<bool>(o);
  set_observer(std::move(o));
  return yes;
}

Arrays run_now(const ir::ProgramRef& program, std::span<const Array> x, const Location& at) {
  if (observed()) return evaluate(*program, x);
  return compiled::find_compiled(program, layouts(x))->run(x, at);
}
// Here, where every user of jit is linked against it.
[[maybe_unused]] const bool installed = (run_compiled = &run_now, true);

void check_options(const JitOptions& o, const Location& at) {
  auto refuse = [&](const char* what, const char* option) {
    throw Error(fmt::format("[jit] {} not available", what), at, fmt::format("call jit without {}", option));
  };
  if (o.memory_budget) refuse("memory budgets are", ".memory_budget");
  if (!o.donate.empty()) refuse("donating arguments is", ".donate");
  if (o.threads < 0) throw Error(fmt::format("[jit] .threads is {}", o.threads), at, "0 means all of them");
}

}  // namespace

namespace flat {

struct JitCache::State {
  std::mutex guard;
  std::unordered_multimap<std::size_t, ir::ProgramRef> programs;
};
JitCache::JitCache() : state_(std::make_shared<State>()) {}
std::size_t JitCache::size() const {
  std::lock_guard lock(state_->guard);
  return state_->programs.size();
}

Arrays jit(const FlatFunction& f, std::span<const Array> x, const JitCache& cache, const JitOptions& options,
           std::string_view name, const Location& at) {
  check_options(options, at);
  const StopScope stop(options.stop);
  Closed c = with_line("jit", at, [&] { return close_over(f, x, "jit", at); });
  auto shared = share(std::move(c.program));
  {
    JitCache::State& s = cache.state();
    std::lock_guard lock(s.guard);
    std::size_t h = ir::hash_value(*shared);
    auto [begin, end] = s.programs.equal_range(h);
    auto it = std::find_if(begin, end, [&](const auto& entry) { return ir::equal(*entry.second, *shared); });
    if (it == end) s.programs.emplace(h, shared);
  }
  const ThreadLimit limit(options.threads);
  return bind_nested(
      jit_row(), [&](ir::ProgramRef p) { return jit_params(std::string(name), std::move(p)); }, *shared, c.inputs, at);
}

// ---- ahead of time

Arrays Compiled::operator()(std::span<const Array> x) const {
  State& s = *state_;
  const ir::Program& p = s.program->program();
  if (x.size() + s.constants.size() != p.inputs.size())
    throw Error(
        fmt::format("[compile] compiled for {} arrays, called with {}", p.inputs.size() - s.constants.size(), x.size()),
        s.at);
  bool ready = s.constants.empty();  // the inputs of the code are these very arrays
  for (std::size_t i = 0; i < x.size(); ++i) {
    check_operand(x[i], s.at);
    const Value& v = *x[i].value();
    const Type& want = p.type(p.inputs[s.constants.size() + i]);
    if (!(v.type == want))
      throw Error(fmt::format("[compile] array {} was {} when the function was compiled, is {} now", i, want.str(),
                              v.type.str()),
                  s.at, "compile once for each set of types, or call jit(f), which does");
    if (!v.concrete())
      throw Error(fmt::format("[compile] a compiled function cannot be traced: array {} is {}", i,
                              v.abstract ? "abstract" : fmt::format("being traced for {}", v.trace->what())),
                  s.at, "transform the function and compile the result, or call jit(f)");
    ready = ready && dense(v);
  }
  Arrays in;
  if (!ready) {
    in = s.constants;
    in.reserve(p.inputs.size());
    for (const Array& a : x) in.push_back(contiguous(a));
  }
  const ThreadLimit limit(s.options.threads);
  const StopScope stop(s.options.stop);
  std::size_t high = 0;
  Arrays out = with_line("jit", s.at, [&] { return s.program->run(ready ? x : in, s.at, &high); });
  s.high_water.store(high, std::memory_order_relaxed);
  return out;
}
const MemoryPlan& Compiled::plan() const { return state_->program->plan(); }
std::size_t Compiled::high_water_bytes() const { return state_->high_water.load(std::memory_order_relaxed); }

bool Compiled::captures() const { return !state_->constants.empty(); }

// ---- functions without state

struct KnownCalls::State {
  std::mutex guard;
  std::vector<std::shared_ptr<const Entry>> entries;
};
KnownCalls::KnownCalls() : state_(std::make_shared<State>()) {}

std::size_t KnownCalls::size() const {
  std::lock_guard lock(state_->guard);
  return state_->entries.size();
}

bool KnownCalls::plain(std::span<const Array> x) {
  if (current_trace()) return false;
  return std::all_of(x.begin(), x.end(), [](const Array& a) {
    if (!a.value() || !a.value()->concrete()) return false;
    return dense(*a.value());
  });
}

std::shared_ptr<const KnownCalls::Entry> KnownCalls::find(std::span<const Array> x,
                                                          std::span<const std::size_t> counts) const {
  if (!plain(x)) return nullptr;
  std::lock_guard lock(state_->guard);
  for (const auto& e : state_->entries)
    if (std::equal(x.begin(), x.end(), e->types.begin(), e->types.end(),
                   [](const Array& a, const Type& t) { return a.value()->type == t; }) &&
        std::equal(counts.begin(), counts.end(), e->counts.begin(), e->counts.end()))
      return e;
  return nullptr;
}

std::shared_ptr<const KnownCalls::Entry> KnownCalls::add(Entry entry) const {
  auto shared = std::make_shared<const Entry>(std::move(entry));
  std::lock_guard lock(state_->guard);
  for (const auto& e : state_->entries)  // another thread was first
    if (e->types == shared->types && e->counts == shared->counts) return e;
  state_->entries.push_back(shared);
  return shared;
}

namespace {

std::shared_ptr<Compiled::State> prepared(const FlatFunction& f, std::span<const Array> x, const JitOptions& options,
                                          const Location& at) {
  check_options(options, at);
  const StopScope stop(options.stop);
  Closed c = close_over(f, x, "jit", at);
  auto s = std::make_shared<Compiled::State>();
  std::size_t constants = c.inputs.size() - x.size();
  s->constants.assign(c.inputs.begin(), c.inputs.begin() + static_cast<std::ptrdiff_t>(constants));
  for (Array& a : s->constants) a = contiguous(a);
  c.program.constants = static_cast<int>(constants);
  std::vector<ir::Strides> inputs;
  for (const Type& t : c.program.input_types()) inputs.push_back(row_major(t.shape));
  s->program = compiled::find_compiled(share(std::move(c.program)), inputs);
  s->options = options;
  s->at = at;
  return s;
}

}  // namespace

Compiled compile(const FlatFunction& f, std::span<const Array> x, const JitOptions& options, const Location& at) {
  return with_line("compile", at, [&] {
    auto s = prepared(f, x, options, at);
    s->program->code();
    return Compiled(std::move(s));
  });
}

MemoryPlan plan(const FlatFunction& f, std::span<const Array> x, const JitOptions& options, const Location& at) {
  return with_line("plan", at, [&] { return prepared(f, x, options, at)->program->plan(); });
}

void other_static_argument(std::size_t number, const Location& at) {
  throw Error(
      fmt::format("[compile] argument {} is static and has another value than when the function was compiled", number),
      at, "compile once for each value, or call jit(f), which does");
}

}  // namespace flat
}  // namespace anew
