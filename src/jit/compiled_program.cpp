// Compiling and running a Program.
#include "jit/compiled_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/environment.h"
#include "base/float_mode.h"
#include "base/lru.h"
#include "base/per_thread.h"
#include "codegen/codegen.h"
#include "ir/effects.h"
#include "jit/code_cache.h"
#include "ops/device_put.h"
#include "passes/generate.h"
#include "passes/pipeline.h"
#include "runtime/arena.h"
#include "runtime/in_flight.h"
#include "runtime/spilled.h"

namespace anew::compiled {
namespace {

std::atomic<Backend> chosen = environment::interprets() ? Backend::interpreter : Backend::machine_code;

// Pointer tables of the calls of a thread, one behind the other (a call may call back and so hold others).
class AddressTable {
 public:
  explicit AddressTable(int size) : shared_(PerThread<Shared>::get()), size_(static_cast<std::size_t>(size)) {
    auto& [memory, used] = shared_;
    if (used + size_ > memory.size() && used == 0) memory.resize(std::max<std::size_t>(2 * size_, 256));
    if (used + size_ > memory.size()) {
      own_.resize(size_);
      data_ = own_.data();
      return;
    }
    data_ = memory.data() + used;
    used += size_;
  }
  ~AddressTable() {
    if (own_.empty()) shared_.used -= size_;
  }
  AddressTable(const AddressTable&) = delete;
  std::byte** data() const { return data_; }

 private:
  struct Shared {
    std::vector<std::byte*> memory;
    std::size_t used = 0;
  };
  Shared& shared_;
  std::size_t size_;
  std::vector<std::byte*> own_;
  std::byte** data_;
};

// The regions of a call: those of one folder and one row share a file.
class Regions {
 public:
  explicit Regions(const Code& code) {
    std::map<std::pair<std::string, std::string>, std::shared_ptr<SpillFile>> files;
    for (const Code::Region& r : code.regions) {
      std::shared_ptr<SpillFile>& file = files[{r.owner.op, r.owner.folder}];
      if (!file) file = open_spill_file(r.owner);
      regions_.push_back(std::make_unique<SpilledRegion>(r.bytes, file, r.owner.at));
      places_.push_back(regions_.back()->data());
    }
  }
  std::byte* const* data() const { return places_.data(); }

 private:
  std::vector<std::unique_ptr<SpilledRegion>> regions_;
  std::vector<std::byte*> places_;
};

}  // namespace

Backend backend() { return codegen::machine_code() ? chosen.load() : Backend::interpreter; }
void set_backend(Backend b) { chosen = b; }
const loops::Target& target() {
  if (backend() == Backend::interpreter) return loops::interpreter();
  static const loops::Target& machine_code = with_code_cache(*codegen::machine_code());
  return machine_code;
}

namespace {

// Without a budget, or within it.
Budgeted plan_by(const ir::Program& program, std::span<const ir::Strides> inputs, const PlanOptions& options) {
  check_countable(program);
  if (options.budget) return plan_within(program, inputs, options);
  std::shared_ptr<const passes::Body> body = passes::plan_program(program, inputs, options.donated).placed;
  return {body, plan_of(program, *body)};
}

}  // namespace

CompiledProgram::CompiledProgram(ir::ProgramRef program, std::vector<ir::Strides> inputs, PlanOptions options)
    : CompiledProgram(program, inputs, options, plan_by(*program, inputs, options)) {}

static bool loops_in(const passes::Body& body) {
  return std::any_of(body.steps.begin(), body.steps.end(), [](const passes::Step& s) {
    return s.is<passes::Loop>() || s.is<passes::Unwind>() ||
           std::any_of(s.bodies.begin(), s.bodies.end(), [](const auto& nested) { return loops_in(*nested); });
  });
}

CompiledProgram::CompiledProgram(ir::ProgramRef program, std::vector<ir::Strides> inputs, PlanOptions options,
                                 Budgeted within)
    : target_(compiled::target()),
      program_(std::move(program)),
      inputs_(std::move(inputs)),
      options_(std::move(options)),
      body_(std::move(within.body)),
      plan_(std::move(within.plan)) {
  has_loops_ = loops_in(*body_);
  measured_ = environment::verifies();
  for (passes::ValueId v : body_->outputs) {
    const Type& t = body_->type(v);
    const passes::Storage& s = body_->storage_of(v);
    outputs_.push_back(
        {t, t.bytes(), row_major(t.shape), s.kind == passes::Storage::Kind::input ? s.index : -1, s.on_disk()});
  }
}

const Code& CompiledProgram::code() const {
  std::call_once(once_, [&] { code_ = passes::generate(*body_, target_); });
  return *code_;
}

// Of an array on disk that is only moved, where it lies; of others, where they lie in memory.
const std::byte* CompiledProgram::place_of(std::size_t input, const Array& x) const {
  const bool moved = body_->storage_of(body_->inputs[input]).moved;
  return moved ? anew::place_of(x) : x.value()->data();
}

Arrays CompiledProgram::run(std::span<const Array> inputs, const Location& at, std::size_t* high_water) const {
  const Code& code = this->code();
  const FloatMode mode;
  for (std::size_t i = 0; i < inputs.size(); ++i) (void)place_of(i, inputs[i]);  // read from disk before it is measured
  std::optional<MemoryMeter> meter;
  if (high_water || measured_) meter.emplace();
  Arrays out;
  out.reserve(outputs_.size());
  for (const Output& o : outputs_)
    out.push_back(make_concrete(o.type,
                                o.moved       ? allocate_spilled(o.bytes, at)
                                : o.input < 0 ? allocate(o.bytes, at)
                                              : inputs[static_cast<std::size_t>(o.input)].value()->buffer,
                                0, o.strides));
  {
    const Arena arena(plan_.arena_bytes, at);
    const AddressTable table(code.table);
    std::byte** pointers = table.data();
    const Regions regions(code);
    const SpillScope scope(regions.data());
    code.enter(pointers, arena.data());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      pointers[code.inputs[i]] = const_cast<std::byte*>(place_of(i, inputs[i]));
    for (std::size_t i = 0; i < out.size(); ++i) pointers[code.outputs[i]] = out[i].value()->buffer->data();
    const InFlight in_flight;
    code.run(pointers);
  }
  if (meter) {
    const std::size_t measured = meter->peak() + plan_.argument_bytes + plan_.constant_bytes;
    if (high_water) *high_water = measured;
    if (measured_ && measured != plan_.peak_bytes)
      throw InternalError(fmt::format("[jit] the plan says {} bytes, {} were measured", plan_.peak_bytes, measured));
  }
  return out;
}

// ---- the cache of the process

namespace {

struct Cache {
  std::mutex guard;
  Lru<std::shared_ptr<const CompiledProgram>> compiled{1024};
};
Cache& cache() {
  static Cache& c = *new Cache;  // never destroyed: threads and static objects may still compile
  return c;
}

std::size_t hash_of(const ir::ProgramRef& program, std::span<const ir::Strides> inputs, const PlanOptions& options) {
  std::size_t h = ir::hash_value(program);
  if (options.budget) hash_combine(h, *options.budget);
  for (int i : options.donated) hash_combine(h, static_cast<std::size_t>(i));
  hash_combine(h, std::hash<std::string>()(options.disk));
  for (const ir::Strides& s : inputs)
    for (std::int64_t n : s) hash_combine(h, static_cast<std::size_t>(n));
  return h;
}

}  // namespace

std::shared_ptr<const CompiledProgram> find_compiled(const ir::ProgramRef& program, std::span<const ir::Strides> inputs,
                                                     const PlanOptions& options) {
  Cache& c = cache();
  const std::size_t h = hash_of(program, inputs, options);
  auto same = [&](const std::shared_ptr<const CompiledProgram>& p) {
    return &p->target() == &target() && p->options() == options &&
           std::equal(inputs.begin(), inputs.end(), p->inputs().begin(), p->inputs().end()) &&
           (&p->program() == program.get() || ir::equal(p->program(), *program));
  };
  {
    std::lock_guard lock(c.guard);
    if (auto* found = c.compiled.find(h, same)) return *found;
  }
  // Compiled without the lock: two threads may both do it, and the first one's is kept.
  auto made = std::make_shared<const CompiledProgram>(program, std::vector(inputs.begin(), inputs.end()), options);
  std::list<std::shared_ptr<const CompiledProgram>> gone;
  std::lock_guard lock(c.guard);
  if (auto* found = c.compiled.find(h, same)) return *found;
  gone = c.compiled.add(h, made);
  return made;
}

std::vector<std::shared_ptr<const CompiledProgram>> all_compiled() {
  Cache& c = cache();
  std::lock_guard lock(c.guard);
  std::vector<std::shared_ptr<const CompiledProgram>> out;
  c.compiled.for_each([&](const auto& p) { out.push_back(p); });
  return out;
}

void clear_compiled() {
  Cache& c = cache();
  std::lock_guard lock(c.guard);
  c.compiled.clear();
}

}  // namespace anew::compiled
