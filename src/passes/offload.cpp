// Values that steps only move out of memory and back in lie in a file in between: temporaries, and what a Program takes
// or gives, which is then an array on disk. Loops and branches hand places on, so what is stacked by one loop and read
// by another is as good as moved by both. Everything else stays in memory, where moving is copying.
#include <algorithm>

#include "passes/lowered.h"

namespace anew::passes {
namespace {

// Of a storage: who touches it.
struct Touched {
  bool out = false;            // moved out by some step
  bool only_moved_out = true;  // no step writes it otherwise
  bool only_moved_in = true;   // no step reads it otherwise
  bool moved() const { return only_moved_out && only_moved_in; }
};

class Offloading {
 public:
  explicit Offloading(Body& body) : b_(body), touched_(body.storages.size()) {
    for (Step& s : b_.steps) {
      nested_.clear();
      for (const auto& nested : s.bodies) nested_.emplace_back(*nested);
      for (std::size_t k = 0; k < s.out.size(); ++k) {
        Touched& t = touched_[b_.values[s.out[k]].storage];
        const bool moves = moves_out(s, k);
        t.out = t.out || moves;
        t.only_moved_out = t.only_moved_out && moves;
      }
      for (std::size_t k = 0; k < s.in.size(); ++k) {
        Touched& t = touched_[b_.values[s.in[k]].storage];
        t.only_moved_in = t.only_moved_in && moves_in(s, k);
      }
    }
    nested_.clear();
    for (StorageId s : b_.storages.ids())
      if (b_.storages[s].kind == Storage::Kind::temporary && b_.storages[s].bytes > 0 && touched_[s].out &&
          touched_[s].moved())
        b_.storages[s].kind = Storage::Kind::disk;
  }

  void mark_outermost() {
    for (ValueId v : b_.outputs) b_.storage_of(v).moved = touched(v).out && touched(v).moved();
    for (ValueId v : b_.inputs) b_.storage_of(v).moved = touched(v).moved();
  }

 private:
  const Touched& touched(ValueId v) const { return touched_[b_.values[v].storage]; }
  bool gives(std::size_t k) const {
    return std::all_of(nested_.begin(), nested_.end(), [&](const Offloading& n) {
      const Touched& t = n.touched(n.b_.outputs[k]);
      return t.out && t.moved();
    });
  }
  static bool takes(const Offloading& body, std::size_t k) { return body.touched(body.b_.inputs[k]).moved(); }
  bool all_take(std::size_t k) const {
    return std::all_of(nested_.begin(), nested_.end(), [&](const Offloading& n) { return takes(n, k); });
  }

  bool moves_out(const Step& s, std::size_t k) const {
    if (auto* call = s.as<Call>()) return call->moves == Call::Moves::out && b_.values[s.out[k]].dense();
    if (auto* loop = s.as<Loop>()) {
      const std::size_t body_outputs = s.bodies[0]->outputs.size();
      if (k < static_cast<std::size_t>(loop->carries) || k >= body_outputs || s.bodies.size() > 1) return false;
      return gives(k);
    }
    return s.is<Branch>() && gives(k);
  }
  bool moves_in(const Step& s, std::size_t k) const {
    if (!b_.values[s.in[k]].dense()) return false;
    if (auto* call = s.as<Call>()) return call->moves == Call::Moves::in;
    if (s.is<Branch>()) return k > 0 && all_take(k - 1);
    if (auto* loop = s.as<Loop>()) {
      const auto constants = static_cast<std::size_t>(loop->constants);
      if (k < constants) return all_take(k);
      return k >= constants + static_cast<std::size_t>(loop->carries) && takes(nested_[0], k);
    }
    if (auto* unwind = s.as<Unwind>()) return moves_in(*unwind, k);
    return false;
  }
  // Bodies: advance, step and perhaps tape; the step takes residuals in place of carries where there is one.
  bool moves_in(const Unwind& u, std::size_t k) const {
    const auto constants = static_cast<std::size_t>(u.constants);
    if (k < constants) return all_take(k);
    if (k >= constants + static_cast<std::size_t>(u.xs)) return false;
    for (std::size_t n = 0; n < nested_.size(); ++n)
      if (!takes(nested_[n], k + static_cast<std::size_t>(n == 1 ? u.taken() : u.carries))) return false;
    return true;
  }

  Body& b_;
  Table<StorageId, Touched> touched_;
  std::vector<Offloading> nested_;  // of the step at hand
};

// What a loop or a branch gives to a file is no memory for its bodies either: nothing else may lie there meanwhile.
void mark_nested(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) {
      if (s.is<Loop>() || s.is<Branch>())
        for (std::size_t k = 0; k < std::min(s.out.size(), nested->outputs.size()); ++k)
          if (body.storage_of(s.out[k]).on_disk()) nested->storage_of(nested->outputs[k]).moved = true;
      mark_nested(*nested);
    }
}

}  // namespace

void offload(Body& body) {
  Offloading(body).mark_outermost();
  mark_nested(body);
}

}  // namespace anew::passes
