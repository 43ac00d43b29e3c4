// Translation of a kernel to Bytecode: uniform nodes are hoisted, registers are reused after the last reader.
#include "loops/bytecode.h"

#include <algorithm>

namespace anew::loops {
namespace {

bool constant_access(const Access& access) {
  for (const Affine& f : access.index)
    for (std::int64_t c : f.coefficients)
      if (c != 0) return false;
  return true;
}

class Translator {
 public:
  Translator(const Kernel& kernel, const Schedule& schedule) {
    static_cast<Schedule&>(out_) = schedule;
    out_.kernel = kernel;
  }

  Bytecode::Body translate() {
    make_steps();
    allocate_registers();
    find_direct_store();
    find_plain();
    return std::move(out_);
  }

 private:
  void make_steps() {
    const Kernel& k = out_.kernel;
    const std::size_t count = k.nodes.size();
    std::vector<bool> used(count), uniform(count);
    for (const Store& s : k.stores) used[s.node] = true;
    for (std::size_t n = count; n-- > 0;)
      if (used[n])
        for (std::int32_t x : {k.nodes[n].a, k.nodes[n].b, k.nodes[n].c})
          if (x >= 0) used[x] = true;
    for (std::size_t n = 0; n < count; ++n) {
      if (!used[n]) continue;
      const Node& node = k.nodes[n];
      // An absent operand repeats the first one: instructions ignore it, and lifetimes stay right.
      const int a = std::max(node.a, 0);
      BlockStep step{BlockStep::operate,      computed_type(node.dtype), static_cast<int>(n), a,
                     node.b < 0 ? a : node.b, node.c < 0 ? a : node.c};
      uniform[n] = true;
      for (std::int32_t x : {node.a, node.b, node.c}) uniform[n] = uniform[n] && (x < 0 || uniform[x]);
      if (node.op == Op::constant) {
        step.kind = BlockStep::constant;
      } else if (node.op == Op::load) {
        step.kind = BlockStep::load;
        step.stream = out_.sources++;
        uniform[n] = constant_access(k.accesses[node.imm]);
      } else if (node.op == Op::index) {
        step.kind = BlockStep::index;
        step.stream = out_.sources++;
        uniform[n] = false;
      } else {
        step.instruction = instruction(node, k.nodes[node.a].dtype);
      }
      auto& to = uniform[n] ? out_.once : out_.steps;
      to.push_back(step);
      if (step.kind != BlockStep::operate || node.op == Op::select) continue;
      if (const Instruction round = rounding(node.dtype))
        to.push_back({BlockStep::operate, step.dtype, step.node, step.node, step.node, step.node, -1, round});
    }
    uniform_ = std::move(uniform);
  }

  void allocate_registers() {
    const Kernel& k = out_.kernel;
    out_.slot.assign(k.nodes.size(), 0);
    for (const BlockStep& s : out_.once)
      if (s.kind != BlockStep::operate || s.node != s.a) out_.slot[s.node] = out_.slots++;
    std::vector<int> last(k.nodes.size(), -1), free;
    for (std::size_t at = 0; at < out_.steps.size(); ++at)
      if (out_.steps[at].kind == BlockStep::operate)
        for (int x : {out_.steps[at].a, out_.steps[at].b, out_.steps[at].c}) last[x] = static_cast<int>(at);
    for (const Store& s : k.stores) last[s.node] = static_cast<int>(out_.steps.size());
    for (std::size_t at = 0; at < out_.steps.size(); ++at) {
      const BlockStep& s = out_.steps[at];
      if (s.kind == BlockStep::operate && s.node == s.a) continue;  // rounds its own register
      if (s.kind == BlockStep::load) {
        // A load that strides make the same everywhere is done once, so its register is never anyone else's.
        out_.slot[s.node] = out_.slots++;
        continue;
      }
      if (free.empty()) free.push_back(out_.slots++);
      out_.slot[s.node] = free.back();
      free.pop_back();
      if (s.kind != BlockStep::operate) continue;
      int seen[3], n = 0;
      for (int x : {s.a, s.b, s.c}) {
        if (uniform_[x] || k.nodes[x].op == Op::load || last[x] != static_cast<int>(at) ||
            std::find(seen, seen + n, x) != seen + n)
          continue;
        seen[n++] = x;
        free.push_back(out_.slot[x]);
      }
    }
  }

  void find_direct_store() {
    const Kernel& k = out_.kernel;
    if (k.combine != Combine::none || out_.steps.empty() || out_.steps.back().kind != BlockStep::operate) return;
    for (std::size_t s = 0; s < k.stores.size(); ++s) {
      const DType to = k.operands[k.stores[s].to.operand].dtype;
      if (k.stores[s].node == out_.steps.back().node && !is_stored(to)) out_.direct = static_cast<int>(s);
    }
    // A node that rounds itself is written twice, and several stores could overwrite what another still reads.
    if (out_.steps.back().node == out_.steps.back().a || k.stores.size() > 1) out_.direct = -1;
  }

  bool is_whole(const Access& access) const {
    const Kernel& k = out_.kernel;
    const ShapeDtype& type = k.operands[access.operand];
    const std::size_t rank = k.extents.size();
    if (is_stored(type.dtype) || access.index.size() != rank) return false;
    for (std::size_t d = 0; d < rank; ++d) {
      const Affine& f = access.index[d];
      if (type.shape[static_cast<int>(d)] != k.extents[d] || f.constant != 0) return false;
      for (std::size_t v = 0; v < rank; ++v)
        if (f.coefficients[v] != (v == d)) return false;
    }
    return true;
  }

  void find_plain() {
    const Kernel& k = out_.kernel;
    if (out_.direct < 0 || !out_.once.empty() || !is_whole(k.stores[0].to)) return;
    std::vector<int> operand(k.nodes.size(), -1);
    for (std::size_t i = 0; i + 1 < out_.steps.size(); ++i) {
      const BlockStep& step = out_.steps[i];
      if (step.kind != BlockStep::load) return;
      const Access& access = k.accesses[k.nodes[step.node].imm];
      if (!is_whole(access)) return;
      operand[step.node] = access.operand;
    }
    const BlockStep& last = out_.steps.back();
    out_.plain = {last.instruction, {operand[last.a], operand[last.b], operand[last.c]}, k.stores[0].to.operand};
  }

  Bytecode::Body out_;
  std::vector<bool> uniform_;
};

}  // namespace

Bytecode::Bytecode(const Kernel& kernel) : Bytecode(kernel, schedule_of(kernel)) {}
Bytecode::Bytecode(const Kernel& kernel, const Schedule& schedule)
    : body_(std::make_unique<const Body>(Translator(kernel, schedule).translate())) {}
Bytecode::Bytecode(Bytecode&&) noexcept = default;
Bytecode& Bytecode::operator=(Bytecode&&) noexcept = default;
Bytecode::~Bytecode() = default;
const Schedule& Bytecode::schedule() const { return *body_; }

}  // namespace anew::loops
