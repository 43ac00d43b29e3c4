// Storages that can share memory become one. An output takes the place of an input that nobody reads afterwards, where
// the step can work in place: a kernel that reads the input only where it writes, a call that says so, the carries of a
// loop. A carry of a loop's body is written over itself, or over another carry, where its new value is written after
// the old one was last read; one whose new value is that of another carry is not written at all, their memory changes
// places; else it has a spare buffer. Outputs also take the place of donated inputs. Invariant: the text of the steps
// stays the same, only storages of values change.
#include <algorithm>
#include <numeric>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

class Aliasing {
 public:
  explicit Aliasing(Body& body) : b_(body), spans_(spans_of(body)), instead_(body.storages.size()) {
    for (StorageId s : instead_.ids()) instead_[s] = s;
  }
  ~Aliasing() {
    for (Value& v : b_.values)
      if (v.storage) v.storage = find(v.storage);
  }
  Aliasing(const Aliasing&) = delete;

  // Outputs in the memory of donated inputs: first those that are written where their input is read last (a weight and
  // its update), then any that is written after an input of its size.
  void take_donated() {
    for (const bool in_place : {true, false})
      for (std::size_t out = 0; out < b_.outputs.size(); ++out) {
        const StorageId to = storage_of(b_.outputs[out]);
        if (storage(to).kind != Storage::Kind::output || storage(to).bytes == 0) continue;
        for (std::size_t in = 0; in < b_.inputs.size(); ++in) {
          const StorageId from = storage_of(b_.inputs[in]);
          const bool taken = spans_[from].last >= std::ssize(b_.steps);
          if (!storage(from).donated || taken || storage(from).bytes != storage(to).bytes) continue;
          if ((spans_[from].last == spans_[to].first) == in_place && overwrite(in, out)) break;
        }
      }
  }

  void run() {
    for (int i = 0; i < std::ssize(b_.steps); ++i) {
      Step& s = b_.steps[i];
      if (s.is<Kernel>()) in_kernel(i);
      else if (auto* call = s.as<Call>(); call && call->in_place >= 0) join(i, s.in[call->in_place], s.out[0]);
      else if (auto* loop = s.as<Loop>())
        for (int c = 0; c < loop->carries; ++c) join(i, s.in[loop->constants + c], s.out[c]);
      else if (auto* unwind = s.as<Unwind>()) in_unwind(i, *unwind);
      else if (s.is<Tiles>()) in_tiles(i);
    }
  }

  // Carries (inputs from `first` on, outputs from 0 on): some only move; the others are written over themselves if that
  // can be, else over another of their size that nobody needs any more, else to spare memory. `kept`: those that are
  // not overwritten.
  CarryMoves carries(int first, int count, const std::vector<int>& kept) {
    std::vector<int> over(count, -1);  // of each output: the carry whose memory it has
    for (int c = 0; c < count; ++c)
      for (int k = 0; k < count; ++k)
        if (storage_of(b_.outputs[c]) == storage_of(b_.inputs[first + k])) over[c] = k;
    for (const bool itself : {true, false})
      for (int c = 0; c < count; ++c)
        for (int k = itself ? c : 0; k < (itself ? c + 1 : count) && over[c] < 0; ++k)
          if (std::find(kept.begin(), kept.end(), k) == kept.end() && same_bytes(first + k, c) &&
              overwrite(first + k, c))
            over[c] = k;
    CarryMoves moves;
    moves.from.resize(2 * static_cast<std::size_t>(count));
    for (int c = 0; c < count; ++c) {
      moves.from[c] = over[c] < 0 ? count + c : over[c];
      moves.from[count + c] = count + c;
    }
    for (int c = 0; c < count; ++c) {  // a spare buffer is next one that no carry has
      if (over[c] >= 0) continue;
      auto free = [&](int k) {
        return same_bytes(first + k, c) && std::find(moves.from.begin(), moves.from.end(), k) == moves.from.end();
      };
      int k = c;
      if (!free(k))
        for (k = 0; !free(k);) ++k;
      moves.from[count + c] = k;
    }
    return moves;
  }

  // Output `out` of this Body is written where input `in` lies, if the input has been read by then.
  bool overwrite(std::size_t in, std::size_t out) {
    const StorageId from = storage_of(b_.inputs[in]), to = storage_of(b_.outputs[out]);
    const Span old = spans_[from], now = spans_[to];
    const int steps = static_cast<int>(b_.steps.size());
    if (storage(to).kind != Storage::Kind::output || now.first > steps || old.last >= steps) return false;
    bool fits = now.first > old.last;
    if (!fits && now.first == old.last && now.first >= 0) fits = works_in_place(b_.steps[now.first], from, to);
    else if (!fits && now.first >= 0) fits = works_in_parts(now.first, old.last, from, to);
    if (fits) replace(to, from);
    return fits;
  }

 private:
  const Value& value(ValueId v) const { return b_.values[v]; }
  const Storage& storage(StorageId s) const { return b_.storages[s]; }
  StorageId find(StorageId s) const {
    while (instead_[s] != s) s = instead_[s];
    return s;
  }
  StorageId storage_of(ValueId v) const { return find(value(v).storage); }
  bool whole(ValueId v) const {
    const Value& x = value(v);
    return x.dense() && x.offset == 0 && storage(find(x.storage)).bytes == x.type.bytes();
  }
  // How often a step names a storage among its inputs.
  std::ptrdiff_t readers(const Step& s, StorageId storage) const {
    return std::count_if(s.in.begin(), s.in.end(), [&](ValueId v) { return storage_of(v) == storage; });
  }

  // Whether a step writes a storage: an output that nobody reads may have taken the place of an input, which is then
  // not free for another.
  bool writes(const Step& s, StorageId storage) const {
    return std::any_of(s.out.begin(), s.out.end(), [&](ValueId v) { return storage_of(v) == storage; });
  }

  // All values of storage `from` now lie in storage `to`.
  void replace(StorageId from, StorageId to) {
    instead_[from] = to;
    Span& s = spans_[to];
    const Span& f = spans_[from];
    s.first = std::min(s.first, f.first);
    s.last = std::max(s.last, f.last);
  }

  // Could the output take the memory of the input, which ends at step i?
  bool joins(int i, ValueId in, ValueId out) const {
    const StorageId from = storage_of(in), to = storage_of(out);
    const Storage &f = storage(from), &t = storage(to);
    if (from == to || f.kind != Storage::Kind::temporary || f.bytes != t.bytes || f.bytes == 0) return false;
    if (t.kind != Storage::Kind::temporary && t.kind != Storage::Kind::output) return false;
    if (spans_[from].last != i || spans_[to].first != i || writes(b_.steps[i], from)) return false;
    return whole(in) && whole(out) && readers(b_.steps[i], from) == 1;
  }
  bool join(int i, ValueId in, ValueId out) {
    if (!joins(i, in, out)) return false;
    replace(storage_of(in), storage_of(out));
    return true;
  }

  // A tile of the output over the same tile of an input: may it, and then it does.
  static bool tile_over(Step& s, std::size_t in_at, std::size_t out_at) {
    Body& body = *s.bodies[0];
    const Value &in = body.values[body.inputs[in_at]], &out = body.values[body.outputs[out_at]];
    auto another = [&](const Value& v) {
      return v.storage == in.storage && (!(v.type == in.type) || v.strides != in.strides || v.offset != 0);
    };
    const Tiles& tiles = *s.as<Tiles>();
    return tiles.in[in_at] == tiles.out[out_at] && in.type == out.type && in.dense() && in.offset == 0 &&
           std::none_of(body.values.begin(), body.values.end(), another) && Aliasing(body).overwrite(in_at, out_at);
  }
  void in_tiles(int i) {
    Step& s = b_.steps[i];
    for (std::size_t o = 0; o < s.out.size(); ++o)
      for (std::size_t k = 0; k < s.in.size(); ++k) {
        if (!joins(i, s.in[k], s.out[o]) || !tile_over(s, k, o)) continue;
        join(i, s.in[k], s.out[o]);
        break;
      }
  }

  bool same_bytes(int in, int out) const {
    return value(b_.inputs[in]).type.bytes() == value(b_.outputs[out]).type.bytes();
  }

  // May steps first ... last, kernels that write storage `to` in boxes, do so where they read `from`? Each of them may,
  // and reads no box that one before it has written.
  bool works_in_parts(int first, int last, StorageId from, StorageId to) {
    for (int i = first; i <= last; ++i) {
      Step& s = b_.steps[i];
      const bool reads = readers(s, from) > 0, makes = writes(s, to);
      if (readers(s, to) > 0 || (reads && !s.is_elementwise()) || (makes && !s.is_elementwise())) return false;
      if (reads && makes && !works_in_place(s, from, to)) return false;
      for (int before = first; before < i && reads; ++before)
        if (!keeps_apart(b_.steps[before], to, s, from)) return false;
    }
    return true;
  }
  // Whether the kernel `later` reads nothing of `from` where `earlier` writes `to`.
  bool keeps_apart(const Step& earlier, StorageId to, const Step& later, StorageId from) const {
    if (!writes(earlier, to)) return true;
    for (const loops::Store& t : earlier.kernel().stores) {
      const Value& out = value(earlier.out[t.to.operand - earlier.in.size()]);
      if (find(out.storage) != to) continue;
      for (const loops::Access& a : later.kernel().accesses) {
        const Value& in = value(later.in[a.operand]);
        if (find(in.storage) == from && (in.type != out.type || in.strides != out.strides || in.offset != out.offset ||
                                         !passes::keep_apart(earlier.kernel(), t.to.index, later.kernel(), a.index)))
          return false;
      }
    }
    return true;
  }

  // Whether two accesses keep to different places along a dimension.
  static bool in_other_rows(const std::vector<loops::Affine>& a, const std::vector<loops::Affine>& b) {
    auto fixed = [](const loops::Affine& f) {
      return std::all_of(f.coefficients.begin(), f.coefficients.end(), [](std::int64_t c) { return c == 0; });
    };
    for (std::size_t d = 0; d < a.size(); ++d)
      if (fixed(a[d]) && fixed(b[d]) && a[d].constant != b[d].constant) return true;
    return false;
  }

  // May a step write storage `to` where it reads `from`? Where it may, it will: tiles are told.
  bool works_in_place(Step& s, StorageId from, StorageId to) const {
    if (s.is<Tiles>()) {
      for (std::size_t k = 0; k < s.in.size(); ++k)
        for (std::size_t o = 0; o < s.out.size(); ++o)
          if (storage_of(s.in[k]) == from && storage_of(s.out[o]) == to)
            return readers(s, from) == 1 && whole(s.in[k]) && whole(s.out[o]) && tile_over(s, k, o);
      return false;
    }
    if (auto* call = s.as<Call>())
      return call->in_place >= 0 && readers(s, from) == 1 && storage_of(s.out[0]) == to &&
             storage_of(s.in[call->in_place]) == from && whole(s.in[call->in_place]) && whole(s.out[0]);
    if (auto* loop = s.as<Loop>()) {
      for (int c = 0; c < loop->carries; ++c) {
        const ValueId in = s.in[loop->constants + c], out = s.out[c];
        if (storage_of(out) == to && storage_of(in) == from) return readers(s, from) == 1 && whole(in) && whole(out);
      }
      return false;
    }
    if (!s.is_elementwise()) return false;
    const loops::Kernel& k = s.kernel();
    std::vector<const loops::Store*> stores;
    for (const loops::Store& t : k.stores)
      if (storage_of(s.out[t.to.operand - s.in.size()]) == to) stores.push_back(&t);
    if (stores.empty()) return false;
    const int operand = stores[0]->to.operand;
    if (std::any_of(stores.begin(), stores.end(), [&](const auto* t) { return t->to.operand != operand; }))
      return false;
    const Value& out = value(s.out[operand - s.in.size()]);
    // Another output that is a mere copy of the input might be read from it after it was overwritten.
    if (k.stores.size() > 1)
      for (const loops::Store& t : k.stores)
        if (k.nodes[t.node].op == loops::Op::load) return false;
    for (std::size_t o = 0; o < s.in.size(); ++o) {
      const Value& in = value(s.in[o]);
      if (find(in.storage) != from) continue;
      if (size_of(in.type.dtype) != size_of(out.type.dtype) || in.type.shape != out.type.shape ||
          in.strides != out.strides || in.offset != out.offset)
        return false;
      for (const loops::Access& a : k.accesses)
        if (a.operand == static_cast<int>(o))
          for (const loops::Store* t : stores)
            if (a.index != t->to.index && !in_other_rows(a.index, t->to.index)) return false;
    }
    return true;
  }

  void in_kernel(int i) {
    Step& s = b_.steps[i];
    for (ValueId out : s.out) {
      const StorageId to = storage_of(out);
      if (spans_[to].first != i || !whole(out)) continue;
      if (storage(to).kind != Storage::Kind::temporary && storage(to).kind != Storage::Kind::output) continue;
      for (ValueId in : s.in) {
        const StorageId from = storage_of(in);
        if (from == to || storage(from).kind != Storage::Kind::temporary || storage(from).bytes != storage(to).bytes ||
            storage(from).bytes == 0 || spans_[from].last != i || writes(s, from))
          continue;
        if (!works_in_place(s, from, to)) continue;
        replace(from, to);
        break;
      }
    }
  }

  void in_unwind(int i, Unwind& u) {
    const Step& s = b_.steps[i];
    int states = u.constants + u.xs + (u.length < 0 ? 2 : 0);
    u.own_stacks.assign(u.carries, false);
    for (int c = 0; c < u.carries; ++c) {
      const ValueId v = s.in[states + c];
      const StorageId at = storage_of(v);
      u.own_stacks[c] =
          storage(at).kind == Storage::Kind::temporary && whole(v) && readers(s, at) == 1 && spans_[at].last == i;
    }
    const int linear = states + u.carries + u.linear_constants;
    for (int c = 0; c < u.linear_carries; ++c) join(i, s.in[linear + c], s.out[c]);
  }

  Body& b_;
  Table<StorageId, Span> spans_;
  Table<StorageId, StorageId> instead_;  // the storage that took the place of each
};

// Bodies of a loop and an unwind: their carries too.
void alias_nested(Step& s) {
  for (std::size_t n = 0; n < s.bodies.size(); ++n) {
    Body& body = *s.bodies[n];
    alias(body);
    if (auto* l = s.as<Loop>(); l && n == 0) l->moves = Aliasing(body).carries(l->constants, l->carries, l->record);
    if (auto* u = s.as<Unwind>(); u && n == 1)
      u->moves = Aliasing(body).carries(u->constants + u->taken() + u->xs + u->linear_constants, u->linear_carries, {});
  }
}

}  // namespace

void alias(Body& body) {
  for (Step& s : body.steps) alias_nested(s);
  Aliasing aliasing(body);
  aliasing.take_donated();  // first: memory of temporaries that an output takes costs nothing to make
  aliasing.run();
}

}  // namespace anew::passes
