// One array instead of several. A reduction whose arithmetic reads several arrays that one kernel makes for it alone: the
// arithmetic goes into that kernel, which then hands over its result. Nothing is computed twice, and what each element
// goes through is the same.
#include <algorithm>
#include <map>

#include "loops/build.h"
#include "passes/lowered.h"

namespace anew::passes {
namespace {

class Hoisting {
 public:
  explicit Hoisting(Body& body) : b_(body), maker_(body.storages.size(), -1), readers_(body.storages.size(), 0) {
    for (std::size_t i = 0; i < body.steps.size(); ++i) {
      for (int v : body.steps[i].out) {
        int& maker = maker_[storage(v)];
        maker = maker == -1 ? static_cast<int>(i) : -2;  // -2: several
      }
      std::vector<std::size_t> seen;
      for (int v : body.steps[i].in)
        if (std::find(seen.begin(), seen.end(), storage(v)) == seen.end()) {
          seen.push_back(storage(v));
          ++readers_[storage(v)];
        }
    }
  }

  void run() {
    for (std::size_t m = 0; m < b_.steps.size(); ++m)
      if (b_.steps[m].is_reduction()) try_one(m);
  }

 private:
  std::size_t storage(int v) const { return static_cast<std::size_t>(b_.values[static_cast<std::size_t>(v)].storage); }

  void try_one(std::size_t m) {
    Step& reduction = b_.steps[m];
    const loops::Kernel& k = reduction.kernel();
    // The kernel that makes the last of its operands.
    int g = -1;
    for (int v : reduction.in) {
      if (maker_[storage(v)] == -2) return;
      g = std::max(g, maker_[storage(v)]);
    }
    if (g < 0) return;
    Step& maker = b_.steps[static_cast<std::size_t>(g)];
    if (!maker.is_elementwise() || maker.kernel().extents != k.extents) return;
    // Stores of the maker that the reduction reads, by operand of the reduction.
    Stored stored;
    std::size_t saved = 0;
    for (std::size_t o = 0; o < reduction.in.size(); ++o) {
      const Value& v = b_.values[static_cast<std::size_t>(reduction.in[o])];
      if (maker_[storage(reduction.in[o])] != g) continue;
      for (const loops::Store& t : maker.kernel().stores) {
        int out = maker.out[static_cast<std::size_t>(t.to.operand) - maker.in.size()];
        const Value& w = b_.values[static_cast<std::size_t>(out)];
        if (storage(out) != storage(reduction.in[o])) continue;
        const loops::Node& node = maker.kernel().nodes[static_cast<std::size_t>(t.node)];
        if (!(w.type == v.type) || w.strides != v.strides || w.offset != v.offset || node.dtype != v.type.dtype ||
            !is_identity(t.to, k.extents.size()))
          return;
        stored[static_cast<int>(o)] = &t;
        if (only_for_this(out)) saved += v.type.bytes();
      }
      if (!stored.count(static_cast<int>(o))) return;
    }
    for (const loops::Access& a : k.accesses)
      if (stored.count(a.operand) && !is_identity(a, k.extents.size())) return;
    const loops::Store result = k.stores[0];
    const loops::Node& value = k.nodes[static_cast<std::size_t>(result.node)];
    if (value.op == loops::Op::load) return;
    Shape shape;
    for (std::int64_t n : k.extents) shape.push_back(n);
    const Type type{shape, value.dtype};
    if (type.bytes() >= saved) return;
    move(reduction, maker, stored, type);
  }

  bool only_for_this(int v) const {
    return b_.storages[storage(v)].kind == Storage::Kind::temporary && readers_[storage(v)] == 1;
  }

  using Stored = std::map<int, const loops::Store*>;  // of the maker, by operand of the reduction

  void move(Step& reduction, Step& maker, const Stored& stored, const Type& type) {
    const int passed = b_.add_temporary(type, reduction.primitive, reduction.at,
                                        b_.values[static_cast<std::size_t>(reduction.out[0])].mark);
    maker_.push_back(maker_[storage(reduction.in[static_cast<std::size_t>(stored.begin()->first)])]);
    readers_.push_back(1);
    loops::Kernel kernel = maker.kernel();
    std::vector<int> in = maker.in, out;
    kernel.operands.resize(in.size());
    const int node = take_over(reduction, stored, kernel, in);
    // Stores: what only the reduction read goes, what it shall read comes.
    auto put = [&](int from, const std::vector<loops::Affine>& index, int v) {
      kernel.stores.push_back({from, {static_cast<int>(kernel.operands.size()), index}});
      kernel.operands.push_back(b_.type(v));
      out.push_back(v);
    };
    kernel.stores.clear();
    for (const loops::Store& s : maker.kernel().stores) {
      const int v = maker.out[static_cast<std::size_t>(s.to.operand) - maker.in.size()];
      const bool read = std::any_of(stored.begin(), stored.end(), [&](const auto& e) {
        return storage(reduction.in[static_cast<std::size_t>(e.first)]) == storage(v);
      });
      if (!read || !only_for_this(v)) put(s.node, s.to.index, v);
    }
    std::vector<loops::Affine> identity;
    const auto rank = static_cast<int>(kernel.extents.size());
    for (int d = 0; d < rank; ++d) identity.push_back(loops::affine(rank, d));
    put(node, identity, passed);
    maker.kernel() = std::move(kernel);
    maker.in = std::move(in);
    maker.out = std::move(out);

    loops::Kernel& rest = reduction.kernel();
    rest.nodes = {{.op = loops::Op::load, .dtype = type.dtype}};
    rest.accesses = {{0, identity}};
    rest.operands = {type, rest.operands.back()};
    rest.stores[0].node = 0;
    rest.stores[0].to.operand = 1;
    reduction.in = {passed};
    if (reduction.made.empty()) return;
    maker.made.insert(maker.made.end(), reduction.made.begin(), std::prev(reduction.made.end()));
    reduction.made = {reduction.made.back()};
  }

  // The nodes of the reduction behind those of the maker, whose operands so far are inputs; operands that the maker lacks
  // become its own. Gives the node that is reduced.
  static int take_over(const Step& reduction, const Stored& stored, loops::Kernel& kernel, std::vector<int>& in) {
    std::vector<std::int32_t> node_of;
    for (loops::Node n : reduction.kernel().nodes) {
      if (n.op == loops::Op::load) {
        loops::Access a = reduction.kernel().accesses[n.imm];
        const auto o = static_cast<std::size_t>(a.operand);
        if (auto it = stored.find(a.operand); it != stored.end()) {
          node_of.push_back(it->second->node);
          continue;
        }
        a.operand = static_cast<int>(in.size());
        in.push_back(reduction.in[o]);
        kernel.operands.push_back(reduction.kernel().operands[o]);
        n.imm = kernel.accesses.size();
        kernel.accesses.push_back(std::move(a));
      }
      auto at = [&](std::int32_t x) { return x < 0 ? x : node_of[static_cast<std::size_t>(x)]; };
      n.a = at(n.a), n.b = at(n.b), n.c = at(n.c);
      node_of.push_back(static_cast<std::int32_t>(kernel.nodes.size()));
      kernel.nodes.push_back(n);
    }
    return node_of[static_cast<std::size_t>(reduction.kernel().stores[0].node)];
  }

  Body& b_;
  std::vector<int> maker_;    // the step that writes each storage
  std::vector<int> readers_;  // steps that read it
};

}  // namespace

void hoist(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) hoist(*nested);
  Hoisting(body).run();
}

}  // namespace anew::passes
