// See evaluator.h. Loads give a pointer into memory where elements are dense, otherwise a gathered copy; elements that
// no loop changes are copied into their register once.
#include "loops/evaluator.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/per_thread.h"

namespace anew::loops {
namespace {

// Not a multiple of 4096, so that equal places of different registers do not compete for one cache set.
constexpr std::size_t register_bytes = block_size * 8 + 128;

struct Workspace {
  struct Block {
    std::byte* data = nullptr;
    std::size_t size = 0;
    std::byte* at_least(std::size_t bytes) {
      if (bytes > size) {
        ::operator delete(data, std::align_val_t{64});
        data = nullptr, size = 0;
        data = static_cast<std::byte*>(::operator new(bytes * 2, std::align_val_t{64}));
        size = bytes * 2;
      }
      return data;
    }
    ~Block() { ::operator delete(data, std::align_val_t{64}); }
  };
  Block registers, scratch;
  std::vector<Stream> streams;
  std::vector<const std::byte*> values;
};
Workspace& workspace() { return PerThread<Workspace>::get(); }

void set_stream(Stream& s, const Access& access, const Kernel& k, const Operand& operand) {
  const ShapeDtype& type = k.operands[access.operand];
  s.dtype = type.dtype;
  std::fill_n(s.raw, k.extents.size(), 0);
  std::int64_t offset = 0, dense = 1;
  for (int d = type.shape.ndim() - 1; d >= 0; --d) {
    const std::int64_t stride = operand.strides ? operand.strides[d] : dense;
    dense *= type.shape[d];
    const Affine& f = access.index[d];
    offset += f.constant * stride;
    for (std::size_t v = 0; v < f.coefficients.size(); ++v) s.raw[v] += f.coefficients[v] * stride;
  }
  s.base = static_cast<std::byte*>(operand.data) + offset * static_cast<std::int64_t>(size_of(type.dtype));
}

}  // namespace

Evaluator::Evaluator(const Bytecode::Body& body, std::span<const Operand> operands, std::int64_t most)
    : body_(body), most_(most) {
  const Kernel& k = body.kernel;
  if (operands.size() != k.operands.size())
    throw InternalError("[loops] a kernel runs with one operand for each it names");
  Workspace& w = workspace();
  const std::size_t streams = static_cast<std::size_t>(body.sources) + k.stores.size();
  if (w.streams.size() < streams) w.streams.resize(streams);
  if (w.values.size() < k.nodes.size()) w.values.resize(k.nodes.size());
  streams_ = w.streams.data();
  values_ = w.values.data();
  registers_ = w.registers.at_least(body.slots * register_bytes);
  set_streams(operands);
  for (std::size_t n = 0; n < k.nodes.size(); ++n) values_[n] = registers_ + body.slot[n] * register_bytes;
  if (most == 0) return;  // a reduction of nothing reads nothing
  for (const BlockStep& step : body.once) run(step, most, registers_ + body.slot[step.node] * register_bytes);
}

void Evaluator::set_streams(std::span<const Operand> operands) {
  const Kernel& k = body_.kernel;
  for (const auto* steps : {&body_.once, &body_.steps})
    for (const BlockStep& step : *steps) {
      if (step.stream < 0) continue;
      Stream& s = streams_[step.stream];
      const Node& node = k.nodes[step.node];
      if (step.kind == BlockStep::load) {
        const Access& access = k.accesses[node.imm];
        set_stream(s, access, k, operands[access.operand]);
      } else {
        std::fill_n(s.raw, k.extents.size(), 0);
        s.raw[node.imm] = 1;
      }
    }
  for (std::size_t i = 0; i < k.stores.size(); ++i) {
    const Access& access = k.stores[i].to;
    set_stream(streams_[body_.sources + i], access, k, operands[access.operand]);
  }
  const std::size_t sources = body_.sources;
  const bool reduces = body_.form != KernelForm::elementwise;
  make_nest(nest_, body_.loops.data(), static_cast<int>(body_.loops.size()), streams_,
            sources + (reduces ? 0 : k.stores.size()));
  if (reduces)
    make_nest(result_nest_, body_.result_loops.data(), static_cast<int>(body_.result_loops.size()), streams_ + sources,
              1);
}

void Evaluator::run(const BlockStep& step, std::int64_t n, std::byte* target) {
  const std::size_t node = step.node;
  switch (step.kind) {
    case BlockStep::operate: step.instruction(target, values_[step.a], values_[step.b], values_[step.c], n); break;
    case BlockStep::load: {
      Stream& s = streams_[step.stream];
      if (s.fixed) {
        if (s.filled) return;
        // Never from memory directly: a register has room for a whole block, a scalar has not.
        gather(nest_, s, 1, target);
        const std::size_t size = size_of(step.dtype);
        std::uint64_t bits = 0;
        std::memcpy(&bits, target, size);
        fill_register(bits, step.dtype, most_, target);
        s.filled = true;
      } else if (const std::byte* memory = dense(nest_, s, n)) {
        values_[node] = memory;
        return;
      } else {
        gather(nest_, s, n, target);
      }
      break;
    }
    case BlockStep::index: enumerate(nest_, streams_[step.stream], step.dtype, n, target); break;
    case BlockStep::constant: {
      const Node& c = body_.kernel.nodes[node];
      fill_register(c.imm, c.dtype, n, target);
      break;
    }
  }
  values_[node] = target;
}

void Evaluator::evaluate(std::int64_t position, std::int64_t n) {
  nest_.seek(position);
  for (const BlockStep& step : body_.steps) run(step, n, registers_ + body_.slot[step.node] * register_bytes);
}

void Evaluator::evaluate_and_store(std::int64_t position, std::int64_t n) {
  nest_.seek(position);
  const std::size_t count = body_.steps.size();
  std::byte* memory = body_.direct >= 0 ? dense(nest_, streams_[body_.sources + body_.direct], n) : nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const BlockStep& step = body_.steps[i];
    std::byte* target = registers_ + body_.slot[step.node] * register_bytes;
    run(step, n, memory && i + 1 == count ? memory : target);
  }
  if (memory) return;
  for (std::size_t i = 0; i < body_.kernel.stores.size(); ++i)
    scatter(nest_, streams_[body_.sources + i], n, values_[body_.kernel.stores[i].node]);
}

bool Evaluator::turned() const {
  if (nest_.rank < 2) return false;
  const auto count = static_cast<std::size_t>(body_.sources) +
                     (body_.form == KernelForm::elementwise ? body_.kernel.stores.size() : 0);
  return std::any_of(streams_, streams_ + count,
                     [&](const Stream& s) { return std::abs(s.stride[nest_.rank - 1]) >= 16; });
}

const Stream* Evaluator::plain_load(int node) const {
  for (const BlockStep& step : body_.steps) {
    if (step.node != node) continue;
    if (step.kind != BlockStep::load) return nullptr;
    const Stream& s = streams_[step.stream];
    return s.dtype == step.dtype ? &s : nullptr;
  }
  return nullptr;
}

void Evaluator::scatter_results(std::int64_t position, std::int64_t n, const void* values) {
  result_nest_.seek(position);
  scatter(result_nest_, streams_[body_.sources], n, values);
}

PlainLoad::PlainLoad(const Evaluator& e, const Bytecode::Body& body, int node) {
  const Stream* s = e.plain_load(node);
  if (!s || s->fixed) return;
  kept = e.nest();
  const int last = kept.rank - 1;
  const int reduced = body.form == KernelForm::columns && last >= 0 && kept.section[last] == 2 ? last - 1 : last;
  if (reduced < 0 || kept.section[reduced] != 1 || (reduced > 0 && kept.section[reduced - 1] == 1)) return;
  if (body.form == KernelForm::rows && s->stride[last] != 1) return;
  if (reduced != last && s->stride[last] != 1) return;
  stream = s;
  step = s->stride[reduced];
  kept.rank = reduced;
}

std::byte* Evaluator::scratch(std::size_t bytes) { return workspace().scratch.at_least(bytes); }

}  // namespace anew::loops
