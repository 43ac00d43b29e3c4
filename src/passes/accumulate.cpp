// A product that is only added to an array of its size is added where that lies: the gradient of a weight, summed over
// the steps of a loop, is one array, which the product reads and writes once. The call is asked whether its sum is one
// addition to each element; then the order, and with it every bit, is that of a product and an addition. Only where the
// addend is not read again and its memory can be had (`alias`; where another output has it, the addend is copied
// first): else a kernel on tiles of the product does as well. Never more memory: the product had some of its own.
#include <algorithm>
#include <cstring>

#include "passes/lowered.h"
#include "runtime/product.h"

namespace anew::passes {
namespace {

class Accumulation {
 public:
  Accumulation(Body& body, bool in_loop) : b_(body), in_loop_(in_loop), spans_(spans_of(body)) {}

  void run() {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < b_.steps.size(); ++i) {
      const int added = i + 1 < b_.steps.size() ? addend(i) : -1;
      if (added >= 0) {
        const StorageId product = value(b_.steps[i].out[0]).storage;
        Step s = sum_of(b_.steps[i], b_.steps[i + 1], static_cast<std::size_t>(added));
        for (Value& v : b_.values)
          if (v.storage == product) v.storage = {};
        steps.push_back(std::move(s));
        ++i;
      } else {
        steps.push_back(std::move(b_.steps[i]));
      }
    }
    b_.steps = std::move(steps);
  }

 private:
  const Value& value(ValueId v) const { return b_.values[v]; }
  bool whole(const Value& v) const {
    return v.dense() && v.offset == 0 && b_.storages[v.storage].bytes == v.type.bytes();
  }

  // The input of the kernel at i + 1 to which it adds the product at i; -1: it does something else, or the product
  // cannot be added so.
  int addend(std::size_t i) const {
    const Step &call = b_.steps[i], &s = b_.steps[i + 1];
    if (!call.is<Call>() || !call.as<Call>()->tiled || call.effects || !s.is_elementwise() || s.effects) return -1;
    const loops::Kernel& k = s.kernel();
    if (s.in.size() != 2 || s.out.size() != 1 || k.nodes.size() != 3 || k.accesses.size() != 2 ||
        k.stores.size() != 1 || k.nodes[2].op != loops::Op::add || k.stores[0].node != 2)
      return -1;
    if (k.nodes[0].op != loops::Op::load || k.nodes[1].op != loops::Op::load || k.nodes[2].a == k.nodes[2].b) return -1;
    for (const loops::Access& a : k.accesses)
      if (!is_identity(a.index, k.extents.size())) return -1;
    if (!is_identity(k.stores[0].to.index, k.extents.size())) return -1;
    const Value& product = value(call.out[0]);
    const int of_product = value(s.in[0]).storage == product.storage ? 0 : 1;
    const Value &read = value(s.in[of_product]), &other = value(s.in[1 - of_product]), &out = value(s.out[0]);
    const Span& span = spans_[product.storage];
    if (read.storage != product.storage || b_.storages[product.storage].kind != Storage::Kind::temporary ||
        span.first != static_cast<int>(i) || span.last != static_cast<int>(i) + 1)
      return -1;
    if (!whole(read) || !whole(other) || !whole(out) || read.type != other.type || read.type != out.type ||
        other.storage == read.storage || spans_[out.storage].first != static_cast<int>(i) + 1)
      return -1;
    return dies(other.storage, static_cast<int>(i) + 1) && adds(call) ? 1 - of_product : -1;
  }
  // Whether memory is free from this step on: that of carries is, as far as inputs are concerned.
  bool dies(StorageId s, int step) const {
    const Storage& storage = b_.storages[s];
    return spans_[s].last == step && (storage.kind == Storage::Kind::temporary ||
                                      (storage.kind == Storage::Kind::input && (in_loop_ || storage.donated)));
  }

  bool adds(const Step& call) const {
    std::vector<ir::Memory> in, out;
    for (ValueId v : call.in) in.push_back({nullptr, value(v).type, value(v).strides});
    for (ValueId v : call.out) out.push_back({nullptr, value(v).type, value(v).strides});
    ProductEpilogue asked{0, ProductEpilogue::no_tiles, ProductEpilogue::Kind::asks_to_add};
    call.as<Call>()->tiled(in, out, nullptr, &asked);
    return asked.taken;
  }

  Step sum_of(const Step& call, const Step& kernel, std::size_t added) const {
    Step s = call;
    const Value& product = value(call.out[0]);
    s.in.push_back(kernel.in[added]);
    s.out = kernel.out;
    s.flops += kernel.flops;
    s.made.insert(s.made.end(), kernel.made.begin(), kernel.made.end());
    Call& sum = *s.as<Call>();
    sum.in_place = static_cast<int>(call.in.size());
    sum.call = [tiled = std::move(sum.tiled), type = product.type, strides = product.strides](
                   std::span<const ir::Memory> in, std::span<const ir::Memory> out, std::byte* scratch) {
      if (in.back().data != out[0].data) std::memcpy(out[0].data, in.back().data, type.bytes());
      const ir::Memory to{out[0].data, type, strides};
      ProductEpilogue onto{0, ProductEpilogue::no_tiles, ProductEpilogue::Kind::adds};
      tiled(in.first(in.size() - 1), std::span(&to, 1), scratch, &onto);
      if (!onto.taken) throw InternalError("[accumulate] a product that said it could be added was not");
    };
    sum.tiled = {};
    if (sum.scratch_of)
      sum.scratch_of = [of = std::move(sum.scratch_of)](std::span<const Strides> in) {
        return of(in.first(in.size() - 1));
      };
    return s;
  }

  Body& b_;
  bool in_loop_;  // it is the body of one
  Table<StorageId, Span> spans_;
};

void accumulate_in(Body& body, bool in_loop) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) accumulate_in(*nested, s.is<Loop>() || s.is<Unwind>());
  Accumulation(body, in_loop).run();
}

}  // namespace

void accumulate(Body& body) { accumulate_in(body, false); }

}  // namespace anew::passes
