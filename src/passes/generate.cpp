// Steps of a placed Body to steps of a Code. Kernels that compute the same on the same layout share their code.
#include "passes/generate.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "runtime/product.h"

namespace anew::passes {
namespace {

using loops::KernelCode;
using loops::LaidKernel;

// A call into the runtime.
class CallStep : public ExecutableStep {
 public:
  struct Operand {
    Place place;
    Type type;
    Strides strides;
  };
  CallStep(const Step& s, std::vector<Operand> in, std::vector<Operand> out, Place scratch)
      : call_(s.as<Call>()->call),
        primitive_(s.primitive),
        at_(s.at),
        in_(std::move(in)),
        out_(std::move(out)),
        scratch_(scratch) {
    auto empty = [](const Operand& o) { return o.type.shape.size() == 0; };
    nothing_ = !s.effects && !out_.empty() && std::all_of(out_.begin(), out_.end(), empty);
  }
  void run(std::byte* const* table, std::byte**) const override { with_memory(table, call_); }

 protected:
  template <class F>
  void with_memory(std::byte* const* table, const F& call) const {
    if (nothing_) return;
    constexpr std::size_t few = 8;
    union Room {  // none of them is made before it is known
      Room() {}
      ir::Memory memory[few];
    } near;
    std::vector<ir::Memory> far;
    std::size_t n = in_.size() + out_.size();
    if (n > few) far.resize(n);
    ir::Memory* m = n > few ? far.data() : near.memory;
    auto make = [&](const Operand& o) { new (m++) ir::Memory{o.place.in(table), o.type, o.strides}; };
    for (const Operand& o : in_) make(o);
    for (const Operand& o : out_) make(o);
    m -= n;
    with_line(primitive_->name, at_, [&] {
      call(std::span<const ir::Memory>(m, in_.size()), std::span<const ir::Memory>(m + in_.size(), out_.size()),
           scratch_.storage < 0 ? nullptr : scratch_.in(table));
    });
  }

 private:
  ir::Lowered::Call call_;
  const ir::Primitive* primitive_;
  Location at_;
  std::vector<Operand> in_, out_;
  Place scratch_;
  bool nothing_ = false;  // is made; a call would walk the other axes all the same, however long they are
};

// A product and the kernel behind it, which runs on tiles of the result as they are finished, if the product tells
// them.
class EpilogueStep final : public CallStep {
 public:
  EpilogueStep(CallStep call, ir::Lowered::TiledCall tiled, std::shared_ptr<const KernelCode> code,
               std::vector<Place> operands, Place scratch)
      : CallStep(std::move(call)),
        tiled_(std::move(tiled)),
        code_(code),
        operands_(operands),
        whole_(code, operands, scratch) {}
  void run(std::byte* const* table, std::byte** more) const override {
    std::byte** const free = more + operands_.size();
    for (std::size_t i = 0; i < operands_.size(); ++i) more[i] = operands_[i].in(table);
    auto tile = [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                    std::int64_t width) {
      if (columns == width) return code_->run(more, row * width, (row + rows) * width, nullptr);
      for (std::int64_t r = row; r < row + rows; ++r)
        code_->run(more, r * width + column, r * width + column + columns, nullptr);
    };
    ProductEpilogue epilogue{code_->units, tile};
    with_memory(table, [&](auto in, auto out, std::byte* scratch) { tiled_(in, out, scratch, &epilogue); });
    if (!epilogue.taken) whole_.run(table, free);
  }

 private:
  ir::Lowered::TiledCall tiled_;
  std::shared_ptr<const KernelCode> code_;
  std::vector<Place> operands_;
  KernelStep whole_;
};

std::size_t hash_of(const LaidKernel& k) {
  std::size_t h = loops::hash_value(*k.kernel);
  for (const Strides& s : k.strides)
    for (std::int64_t n : s) hash_combine(h, n);
  return h;
}

// All kernels of a Body and those nested in it, each distinct one once.
class KernelTable {
 public:
  explicit KernelTable(const Body& body) { collect(body); }
  const std::vector<LaidKernel>& kernels() const { return kernels_; }
  std::size_t of(const Step& s) const { return index_.at(&s); }

 private:
  void collect(const Body& body) {
    for (const Step& s : body.steps) {
      for (const auto& nested : s.bodies) collect(*nested);
      const Kernel* kernel = s.as<Kernel>();
      if (!kernel) continue;
      LaidKernel k{&kernel->kernel, kernel->schedule, {}};
      for (ValueId v : s.in) k.strides.push_back(body.values[v].strides);
      for (ValueId v : s.out) k.strides.push_back(body.values[v].strides);
      auto [begin, end] = seen_.equal_range(hash_of(k));
      auto it = std::find_if(begin, end, [&](const auto& e) { return kernels_[e.second] == k; });
      if (it == end) {
        it = seen_.emplace(hash_of(k), kernels_.size());
        kernels_.push_back(std::move(k));
      }
      index_.emplace(&s, it->second);
    }
  }
  std::vector<LaidKernel> kernels_;
  std::unordered_multimap<std::size_t, std::size_t> seen_;
  std::unordered_map<const Step*, std::size_t> index_;
};

class Generator {
 public:
  Generator(const Body& body, const KernelTable& table, const loops::Codes& codes, std::vector<Code::Region>& regions)
      : b_(body), table_(table), codes_(codes), regions_(regions) {}

  std::unique_ptr<Code> run() {
    auto code = std::make_unique<Code>();
    // One more storage than values need: the start of the arena, from which scratch is found.
    base_ = static_cast<int>(b_.storages.size());
    code->storages = base_ + 1;
    code->bytes = b_.bytes;
    for (StorageId i : b_.storages.ids()) {
      const Storage& s = b_.storages[i];
      if (s.kind == Storage::Kind::temporary) code->temporaries.push_back({i.number, b_.offsets[i]});
      if (s.kind == Storage::Kind::literal) code->constants.push_back({i.number, s.literal.bits});
      if (s.kind != Storage::Kind::disk) continue;
      code->disks.push_back({i.number, static_cast<int>(regions_.size())});
      region_of_[i] = regions_.size();
      regions_.push_back({s.bytes, {s.folder.empty() ? "offload" : "jit", s.folder, {}, "an array"}});
    }
    code->temporaries.push_back({base_, 0});
    for (ValueId v : b_.inputs) code->inputs.push_back(value(v).storage.number);
    for (ValueId v : b_.outputs) code->outputs.push_back(value(v).storage.number);
    for (std::size_t i = 0; i < b_.steps.size(); ++i) {
      if (!on_tiles(i) && !with_last(i)) code->steps.push_back(step(i));
      code->doer.push_back(code->steps.size() - 1);
    }
    code->table = code->storages + deepest_;
    return code;
  }

 private:
  const Value& value(ValueId v) const { return b_.values[v]; }
  Place place(ValueId v) const { return {value(v).storage.number, value(v).offset}; }
  StridedPlace strided(ValueId v) const { return {place(v), value(v).type, value(v).strides}; }
  // A part of the scratch of step i.
  Place scratch(std::size_t i, const Part& part = {}) const {
    return {base_, static_cast<std::int64_t>(b_.scratch_offsets[i] + part.offset)};
  }
  bool on_tiles(std::size_t i) const {
    const Kernel* kernel = i < b_.steps.size() ? b_.steps[i].as<Kernel>() : nullptr;
    return kernel && kernel->on_tiles;
  }
  bool with_last(std::size_t i) const {
    const Kernel* kernel = i < b_.steps.size() ? b_.steps[i].as<Kernel>() : nullptr;
    return kernel && kernel->with_last;
  }
  StackedPlace rows(ValueId v) const {
    const Value& x = value(v);
    return {place(v), x.strides[0] * static_cast<std::int64_t>(size_of(x.type.dtype))};
  }
  void needs(int pointers) { deepest_ = std::max(deepest_, pointers); }
  std::unique_ptr<const Code> nested(const Body& body) const { return Generator(body, table_, codes_, regions_).run(); }

  std::unique_ptr<const ExecutableStep> step(std::size_t i) {
    return std::visit([&](const auto& work) { return make(i, b_.steps[i], work); }, b_.steps[i].work);
  }

  std::unique_ptr<const ExecutableStep> make(std::size_t i, const Step& s, const Kernel&) {
    if (with_last(i + 1)) return make_neighbours(i);
    std::vector<Place> operands = operands_of(s);
    needs(static_cast<int>(operands.size()));
    return std::make_unique<KernelStep>(codes_[table_.of(s)], std::move(operands), scratch(i));
  }
  std::unique_ptr<const ExecutableStep> make_neighbours(std::size_t i) {
    std::vector<NeighboursStep::Part> parts;
    std::size_t operands = 0;
    do {
      const Step& s = b_.steps[i];
      parts.push_back({codes_[table_.of(s)], operands_of(s), rows_of(s.kernel())});
      operands += parts.back().operands.size();
    } while (with_last(++i));
    needs(static_cast<int>(operands));
    return std::make_unique<NeighboursStep>(std::move(parts));
  }
  // How many rows a kernel goes over, one after the other: its first variable, unless that leads along rows.
  static std::int64_t rows_of(const loops::Kernel& k) {
    const auto& index = k.stores[0].to.index;
    const bool along = k.extents.empty() || index.empty() || index.back().coefficients[0] != 0;
    return along ? 1 : std::max<std::int64_t>(1, k.extents[0]);
  }

  std::vector<Place> operands_of(const Step& s) const {
    std::vector<Place> operands;
    for (ValueId v : s.in) operands.push_back(place(v));
    for (ValueId v : s.out) operands.push_back(place(v));
    return operands;
  }

  std::unique_ptr<const ExecutableStep> make(std::size_t i, const Step& s, const Call& call) {
    std::vector<CallStep::Operand> in, out;
    for (ValueId v : s.in) in.push_back({place(v), value(v).type, value(v).strides});
    for (ValueId v : s.out) out.push_back({place(v), value(v).type, value(v).strides});
    CallStep made(s, std::move(in), std::move(out), s.scratch ? scratch(i) : Place{});
    if (call.moves == Call::Moves::out && region_of_.count(value(s.out[0]).storage))
      regions_[region_of_.at(value(s.out[0]).storage)].owner.at = s.at;
    if (!on_tiles(i + 1)) return std::make_unique<CallStep>(std::move(made));
    const Step& kernel = b_.steps[i + 1];
    std::vector<Place> operands = operands_of(kernel);
    needs(static_cast<int>(2 * operands.size()));
    return std::make_unique<EpilogueStep>(std::move(made), call.tiled, codes_[table_.of(kernel)], std::move(operands),
                                          scratch(i + 1));
  }

  std::unique_ptr<const ExecutableStep> make(std::size_t i, const Step& s, const Branch& branch) {
    auto to = std::make_unique<BranchStep>();
    to->index = place(s.in[0]);
    to->scratch = scratch(i, branch.plan);
    for (std::size_t k = 1; k < s.in.size(); ++k) to->inputs.push_back(place(s.in[k]));
    for (ValueId v : s.out) to->outputs.push_back(place(v));
    for (const auto& body : s.bodies) {
      to->branches.push_back(nested(*body));
      needs(to->branches.back()->table);
    }
    return to;
  }

  std::unique_ptr<const ExecutableStep> make(std::size_t i, const Step& s, const Tiles& tiles) {
    auto to = std::make_unique<TileStep>();
    to->outer = tiles.outer;
    for (std::size_t k = 0; k < s.in.size(); ++k) to->inputs.push_back({place(s.in[k]), tiles.in[k]});
    for (std::size_t k = 0; k < s.out.size(); ++k) to->outputs.push_back({place(s.out[k]), tiles.out[k]});
    for (const Part& plan : tiles.plans) to->scratch.push_back(scratch(i, plan));
    to->body = nested(*s.bodies[0]);
    needs(static_cast<int>(tiles.plans.size()) * to->body->table);
    return to;
  }

  CarryPlace carry(ValueId in, ValueId out, Place other) const {
    return {strided(in), place(out), other, value(out).type.bytes()};
  }

  std::unique_ptr<const ExecutableStep> make(std::size_t i, const Step& s, const Loop& l) {
    const std::size_t k = l.constants, c = l.carries;
    auto to = std::make_unique<LoopStep>();
    to->name = s.primitive->name;
    to->at = s.at;
    to->loop = l;
    to->body = nested(*s.bodies[0]);
    to->body_base = scratch(i, l.body);
    to->condition_base = scratch(i, l.condition);
    to->decision = scratch(i, l.decision);
    if (s.bodies.size() > 1) to->condition = nested(*s.bodies[1]);
    for (std::size_t n = 0; n < k; ++n) to->constants.push_back(place(s.in[n]));
    for (std::size_t n = 0; n < c; ++n) to->carries.push_back(carry(s.in[k + n], s.out[n], scratch(i, l.others[n])));
    to->moves = l.moves;
    for (std::size_t n = k + c; n < s.in.size(); ++n) to->xs.push_back(rows(s.in[n]));
    std::size_t out = s.bodies[0]->outputs.size();
    for (std::size_t n = c; n < out; ++n) to->ys.push_back(rows(s.out[n]));
    if (l.records && to->condition) {
      to->step_count = place(s.out[out++]);
      to->kept_steps = place(s.out[out++]);
    }
    for (std::size_t n = 0; n < l.record.size(); ++n) to->states.push_back(rows(s.out[out++]));
    for (const StackedPlace& state : to->states)
      if (l.spilled) regions_[region_of_.at(StorageId{state.place.storage})].owner = {to->name, l.disk, s.at};
    if (l.counter >= 0) {
      to->counter = strided(s.in[k + l.counter]);
      if (l.end_constant >= 0) to->end = strided(s.in[l.end_constant]);
    }
    needs(CarryBuffers::size(c) + to->body->table + (to->condition ? to->condition->table : 0));
    return to;
  }

  std::unique_ptr<const ExecutableStep> make(std::size_t i, const Step& s, const Unwind& u) {
    auto to = std::make_unique<UnwindStep>();
    to->at = s.at;
    to->unwind = u;
    to->advance = nested(*s.bodies[0]);
    to->step = nested(*s.bodies[1]);
    to->advance_base = scratch(i, u.advance);
    to->step_base = scratch(i, u.step);
    std::size_t at = 0;
    for (int n = 0; n < u.constants; ++n) to->constants.push_back(place(s.in[at++]));
    for (int n = 0; n < u.xs; ++n) to->xs.push_back(rows(s.in[at++]));
    if (u.length < 0) {
      to->step_count = strided(s.in[at++]);
      to->kept_steps = strided(s.in[at++]);
    }
    for (std::size_t n = 0; n < u.stacks.size(); ++n) {
      const Unwind::Stack& parts = u.stacks[n];
      const ValueId stack = s.in[at++];
      to->slots = value(stack).type.shape[0];
      const std::size_t bytes = parts.buffers[0].bytes;
      const StackedPlace work{u.own_stacks[n] ? place(stack) : scratch(i, parts.copy),
                              static_cast<std::int64_t>(bytes)};
      to->stacks.push_back({strided(stack), work, {scratch(i, parts.buffers[0]), scratch(i, parts.buffers[1])}, bytes});
    }
    for (int n = 0; n < u.linear_constants; ++n) to->linear_constants.push_back(place(s.in[at++]));
    for (int n = 0; n < u.linear_carries; ++n) {
      std::size_t c = n;
      to->linear_carries.push_back(carry(s.in[at++], s.out[c], scratch(i, u.others[c])));
    }
    to->moves = u.moves;
    while (at < s.in.size()) to->linear_xs.push_back(rows(s.in[at++]));
    for (std::size_t n = u.linear_carries; n < s.out.size(); ++n) to->linear_ys.push_back(rows(s.out[n]));
    if (u.residuals >= 0)
      to->within.emplace(
          UnwindStep::Within{row_places(b_, s), nested(*s.bodies[2]), scratch(i, u.tape), scratch(i, u.pool)});
    needs(CarryBuffers::size(to->linear_carries.size()) + static_cast<int>(to->stacks.size()) + to->advance->table +
          to->step->table + (to->within ? to->within->tape->table : 0));
    return to;
  }

  const Body& b_;
  const KernelTable& table_;
  const loops::Codes& codes_;
  int base_ = 0, deepest_ = 0;
  std::vector<Code::Region>& regions_;               // of the outermost Body and all nested in it
  std::map<StorageId, std::size_t> region_of_ = {};  // of this Body
};

}  // namespace

std::unique_ptr<Code> generate(const Body& body, const loops::Target& target) {
  KernelTable table(body);
  const loops::Codes codes = loops::compile(target, table.kernels());
  std::vector<Code::Region> regions;
  std::unique_ptr<Code> code = Generator(body, table, codes, regions).run();
  code->regions = std::move(regions);
  return code;
}

}  // namespace anew::passes
