// Translation of a kernel to Bytecode: uniform nodes are hoisted, registers are reused after the last reader, loops are
// ordered by what the form of reduction needs, and the partition for threads is decided, all from the kernel alone.
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

double cost_of(const Node& node) {  // ns per element, to an order of magnitude
  switch (node.op) {
    case Op::constant: return 0;
    case Op::div:
    case Op::sqrt: return 0.2;
    case Op::rem: return 3;
    case Op::call: return node.dtype == f64 ? 12 : 1.5;
    default: return size_of(node.dtype) == 8 ? 0.15 : 0.08;
  }
}

class Translator {
 public:
  explicit Translator(const Kernel& kernel) { out_.kernel = kernel; }

  Bytecode::Body translate() {
    order_loops();
    make_steps();
    allocate_registers();
    find_direct_store();
    make_partition();
    return std::move(out_);
  }

 private:
  void order_loops() {
    const Kernel& k = out_.kernel;
    const int rank = static_cast<int>(k.extents.size());
    auto add = [&](std::vector<Loop>& to, int v, int section) {
      to.push_back({v, section, k.extents[static_cast<std::size_t>(v)]});
    };
    for (std::int64_t e : k.extents) out_.iterations *= e;
    if (k.combine == Combine::none) {
      for (int v = 0; v < rank; ++v) add(out_.loops, v, 0);
      return;
    }
    int inner_from = rank;  // trailing kept variables
    while (inner_from > 0 && !k.reduced[static_cast<std::size_t>(inner_from - 1)]) --inner_from;
    out_.form = inner_from == rank ? Form::rows : Form::columns;
    for (int v = 0; v < inner_from; ++v)
      if (!k.reduced[static_cast<std::size_t>(v)])
        add(out_.loops, v, 0), out_.outer *= k.extents[static_cast<std::size_t>(v)];
    for (const Loop& l : out_.loops) out_.result_loops.push_back(l);
    for (int v = 0; v < inner_from; ++v)
      if (k.reduced[static_cast<std::size_t>(v)])
        add(out_.loops, v, 1), out_.reduced *= k.extents[static_cast<std::size_t>(v)];
    for (int v = inner_from; v < rank; ++v) {
      add(out_.loops, v, 2), add(out_.result_loops, v, 0);
      out_.inner *= k.extents[static_cast<std::size_t>(v)];
    }
  }

  void make_steps() {
    const Kernel& k = out_.kernel;
    const std::size_t count = k.nodes.size();
    std::vector<bool> used(count), uniform(count);
    for (const Store& s : k.stores) used[static_cast<std::size_t>(s.node)] = true;
    for (std::size_t n = count; n-- > 0;)
      if (used[n])
        for (std::int32_t x : {k.nodes[n].a, k.nodes[n].b, k.nodes[n].c})
          if (x >= 0) used[static_cast<std::size_t>(x)] = true;
    for (std::size_t n = 0; n < count; ++n) {
      if (!used[n]) continue;
      const Node& node = k.nodes[n];
      // An absent operand repeats the first one: instructions ignore it, and lifetimes stay right.
      const int a = std::max(node.a, 0);
      Step step{Step::operate,           computed_type(node.dtype), static_cast<int>(n), a,
                node.b < 0 ? a : node.b, node.c < 0 ? a : node.c};
      uniform[n] = true;
      for (std::int32_t x : {node.a, node.b, node.c})
        uniform[n] = uniform[n] && (x < 0 || uniform[static_cast<std::size_t>(x)]);
      if (node.op == Op::constant) {
        step.kind = Step::constant;
      } else if (node.op == Op::load) {
        step.kind = Step::load;
        step.stream = out_.sources++;
        uniform[n] = constant_access(k.accesses[node.imm]);
      } else if (node.op == Op::index) {
        step.kind = Step::index;
        step.stream = out_.sources++;
        uniform[n] = false;
      } else {
        step.instruction = instruction(node, k.nodes[static_cast<std::size_t>(node.a)].dtype);
      }
      auto& to = uniform[n] ? out_.once : out_.steps;
      to.push_back(step);
      if (step.kind != Step::operate || node.op == Op::select) continue;
      if (const Instruction round = rounding(node.dtype))
        to.push_back({Step::operate, step.dtype, step.node, step.node, step.node, step.node, -1, round});
    }
    uniform_ = std::move(uniform);
  }

  void allocate_registers() {
    const Kernel& k = out_.kernel;
    out_.slot.assign(k.nodes.size(), 0);
    for (const Step& s : out_.once)
      if (s.kind != Step::operate || s.node != s.a) out_.slot[static_cast<std::size_t>(s.node)] = out_.slots++;
    std::vector<int> last(k.nodes.size(), -1), free;
    for (std::size_t at = 0; at < out_.steps.size(); ++at)
      if (out_.steps[at].kind == Step::operate)
        for (int x : {out_.steps[at].a, out_.steps[at].b, out_.steps[at].c})
          last[static_cast<std::size_t>(x)] = static_cast<int>(at);
    for (const Store& s : k.stores) last[static_cast<std::size_t>(s.node)] = static_cast<int>(out_.steps.size());
    for (std::size_t at = 0; at < out_.steps.size(); ++at) {
      const Step& s = out_.steps[at];
      if (s.kind == Step::operate && s.node == s.a) continue;  // rounds its own register
      if (s.kind == Step::load) {
        // A load that strides make the same everywhere is done once, so its register is never anyone else's.
        out_.slot[static_cast<std::size_t>(s.node)] = out_.slots++;
        continue;
      }
      if (free.empty()) free.push_back(out_.slots++);
      out_.slot[static_cast<std::size_t>(s.node)] = free.back();
      free.pop_back();
      if (s.kind != Step::operate) continue;
      int seen[3], n = 0;
      for (int x : {s.a, s.b, s.c}) {
        if (uniform_[static_cast<std::size_t>(x)] || k.nodes[static_cast<std::size_t>(x)].op == Op::load ||
            last[static_cast<std::size_t>(x)] != static_cast<int>(at) || std::find(seen, seen + n, x) != seen + n)
          continue;
        seen[n++] = x;
        free.push_back(out_.slot[static_cast<std::size_t>(x)]);
      }
    }
  }

  void find_direct_store() {
    const Kernel& k = out_.kernel;
    if (k.combine != Combine::none || out_.steps.empty() || out_.steps.back().kind != Step::operate) return;
    for (std::size_t s = 0; s < k.stores.size(); ++s) {
      const DType to = k.operands[static_cast<std::size_t>(k.stores[s].to.operand)].dtype;
      if (k.stores[s].node == out_.steps.back().node && !is_stored(to)) out_.direct = static_cast<int>(s);
    }
    // A node that rounds itself is written twice, and several stores could overwrite what another still reads.
    if (out_.steps.back().node == out_.steps.back().a || k.stores.size() > 1) out_.direct = -1;
  }

  void make_partition() {
    const Kernel& k = out_.kernel;
    double cost = 0.1;
    for (const Node& n : k.nodes) cost += cost_of(n);
    out_.partition.nanoseconds = cost * static_cast<double>(out_.iterations);
    out_.partition.units = out_.iterations;
    if (out_.form == Form::elementwise) return;
    const std::int64_t results = out_.outer * out_.inner;
    const std::int64_t block = out_.form == Form::rows ? row_block : column_block;
    out_.partition.units = results;
    out_.blocks = (out_.reduced + block - 1) / block;
    // Many results share the work well; few of them are cut into the blocks of their sums.
    const bool few = out_.form == Form::rows ? results < 32 : results < 1024;
    out_.by_blocks = few && out_.blocks >= (out_.form == Form::rows ? 2 : 4) && results > 0;
    if (!out_.by_blocks) return;
    const DType value = computed_type(k.nodes[static_cast<std::size_t>(k.stores[0].node)].dtype);
    const bool finds_index = finds_position(k.combine);
    out_.partition.units = out_.outer * out_.blocks;
    out_.partition.scratch = static_cast<std::size_t>(results * out_.blocks) * (size_of(value) + (finds_index ? 8 : 0));
  }

  Bytecode::Body out_;
  std::vector<bool> uniform_;
};

}  // namespace

Bytecode::Bytecode(const Kernel& kernel) {
  verify(kernel);
  body_ = std::make_unique<const Body>(Translator(kernel).translate());
}
Bytecode::Bytecode(Bytecode&&) noexcept = default;
Bytecode& Bytecode::operator=(Bytecode&&) noexcept = default;
Bytecode::~Bytecode() = default;
const Partition& Bytecode::partition() const { return body_->partition; }

}  // namespace anew::loops
