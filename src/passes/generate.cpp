// Steps of a placed Body to steps of a Code: each kind of step says what runs (`make`).
#include "passes/generate.h"

#include <algorithm>

#include "passes/assembler.h"

namespace anew::passes {
namespace {

std::size_t hash_of(const loops::LaidKernel& k) {
  std::size_t h = loops::hash_value(*k.kernel);
  for (const Strides& s : k.strides)
    for (std::int64_t n : s) hash_combine(h, n);
  return h;
}

}  // namespace

void KernelTable::collect(const Body& body) {
  for (const Step& s : body.steps) {
    for (const auto& nested : s.bodies) collect(*nested);
    const Kernel* kernel = s.as<Kernel>();
    if (!kernel) continue;
    loops::LaidKernel k{&kernel->kernel, kernel->schedule, {}};
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

std::unique_ptr<Code> Assembler::run() {
  auto code = std::make_unique<Code>();
  // One more storage than values need: the start of the arena, from which scratch is found.
  base_ = static_cast<int>(body_.storages.size());
  code->storages = base_ + 1;
  code->bytes = body_.bytes;
  for (StorageId i : body_.storages.ids()) {
    const Storage& s = body_.storages[i];
    if (s.kind == Storage::Kind::temporary) code->temporaries.push_back({i.number, body_.offsets[i]});
    if (s.kind == Storage::Kind::literal) code->constants.push_back({i.number, s.literal.bits});
    if (s.kind != Storage::Kind::disk) continue;
    code->disks.push_back({i.number, static_cast<int>(regions_.size())});
    region_of_[i] = regions_.size();
    regions_.push_back({s.bytes, {s.folder.empty() ? "offload" : "jit", s.folder, {}, "an array"}});
  }
  code->temporaries.push_back({base_, 0});
  for (ValueId v : body_.inputs) code->inputs.push_back(value(v).storage.number);
  for (ValueId v : body_.outputs) code->outputs.push_back(value(v).storage.number);
  for (std::size_t i = 0; i < body_.steps.size(); ++i) {
    if (!on_tiles(i) && !with_last(i)) {
      const Step& s = body_.steps[i];
      code->steps.push_back(std::visit([&](const auto& work) { return work.make(*this, i, s); }, s.work));
    }
    code->doer.push_back(code->steps.size() - 1);
  }
  code->table = code->storages + deepest_;
  return code;
}

StackedPlace Assembler::rows(ValueId v) const {
  const Value& x = value(v);
  return {place(v), x.strides[0] * static_cast<std::int64_t>(size_of(x.type.dtype))};
}

std::vector<Place> Assembler::operands_of(const Step& step) const {
  std::vector<Place> operands;
  for (ValueId v : step.in) operands.push_back(place(v));
  for (ValueId v : step.out) operands.push_back(place(v));
  return operands;
}

bool Assembler::on_tiles(std::size_t i) const {
  const Kernel* kernel = i < body_.steps.size() ? body_.steps[i].as<Kernel>() : nullptr;
  return kernel && kernel->on_tiles;
}
bool Assembler::with_last(std::size_t i) const {
  const Kernel* kernel = i < body_.steps.size() ? body_.steps[i].as<Kernel>() : nullptr;
  return kernel && kernel->with_last;
}

Code::Region* Assembler::region_of(StorageId storage) const {
  auto it = region_of_.find(storage);
  return it == region_of_.end() ? nullptr : &regions_[it->second];
}

std::unique_ptr<Code> generate(const Body& body, const loops::Target& target) {
  KernelTable table(body);
  const loops::Codes codes = loops::compile(target, table.kernels());
  std::vector<Code::Region> regions;
  std::unique_ptr<Code> code = Assembler(body, table, codes, regions).run();
  code->regions = std::move(regions);
  return code;
}

}  // namespace anew::passes
