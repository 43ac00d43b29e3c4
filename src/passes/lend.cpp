// Outputs lend their memory: a temporary that is dead before an output is first written may lie where that output will
// be. The memory of outputs exists from the start, so what they hold meanwhile does not count: the residuals of a
// network fit into the gradients of its first layers. Donated inputs lend theirs from their last reader on. Values are
// moved one by one, the largest that lives where the arena is fullest first, until none of those there fits. Invariant:
// pieces of one lender that live at one step are disjoint, and all of them live between the last reader of a donated
// input and the first writer of the output there.
#include <algorithm>
#include <atomic>

#include "passes/lowered.h"
#include "plan/offsets.h"

namespace anew::passes {
namespace {

using plan::rounded;

std::atomic<std::size_t> least_lent{1024};  // bytes of memory that is lent: less is not worth looking for

// Pieces of an output's memory that temporaries have.
class Lender {
 public:
  Lender(StorageId storage, int last, int first, std::size_t bytes)
      : storage(storage), last(last), first(first), bytes_(bytes) {}
  StorageId storage;
  int last, first;  // the step that reads its input last (-1: none), and the one that writes it first

  // The lowest offset at which there is room for a piece that lives so long; -1: none.
  std::ptrdiff_t room(const Span& s, std::size_t bytes) const {
    if (bytes > bytes_ || s.first <= last) return -1;
    std::size_t at = 0;
    for (const Piece& p : pieces_) {  // in order of their offsets
      if (p.last < s.first || p.first > s.last) continue;
      if (at + bytes <= p.offset) break;
      at = std::max(at, rounded(p.offset + p.bytes));
    }
    return at + bytes <= bytes_ ? static_cast<std::ptrdiff_t>(at) : -1;
  }
  void take(const Span& s, std::size_t offset, std::size_t bytes) {
    const auto behind = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.offset > offset; });
    pieces_.insert(behind, {s.first, s.last, offset, bytes});
  }

 private:
  struct Piece {
    int first, last;
    std::size_t offset, bytes;
  };
  std::size_t bytes_;
  std::vector<Piece> pieces_;
};

class Lending {
 public:
  explicit Lending(Body& body) : b_(body), spans_(spans_of(body)), live_(body.steps.size(), 0) {
    for (StorageId s : b_.storages.ids()) {
      const Storage& storage = b_.storages[s];
      // A carry that is updated in place leaves a storage without values behind.
      if (storage.kind == Storage::Kind::output && !storage.on_disk() && !storage.gaps && spans_[s].last >= 0 &&
          spans_[s].first > 0 && lends(s))
        lenders_.emplace_back(s, -1, spans_[s].first, storage.bytes);
      if (storage.kind != Storage::Kind::temporary || storage.bytes == 0 || spans_[s].last < 0) continue;
      add(spans_[s], static_cast<std::ptrdiff_t>(rounded(storage.bytes)));
      candidates_.push_back(s);
    }
    add_donated();
    for (std::size_t i = 0; i < live_.size(); ++i)
      live_[i] += static_cast<std::ptrdiff_t>(rounded(b_.steps[i].scratch));
    std::stable_sort(lenders_.begin(), lenders_.end(),
                     [](const Lender& a, const Lender& b) { return a.first < b.first; });
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [&](StorageId a, StorageId b) { return bytes(a) > bytes(b); });
  }

  void run() {
    if (lenders_.empty()) return;
    Table<StorageId, std::ptrdiff_t> offsets(b_.storages.size());
    Table<StorageId, StorageId> lender_of(b_.storages.size());
    while (!candidates_.empty()) {
      const auto fullest = static_cast<int>(std::max_element(live_.begin(), live_.end()) - live_.begin());
      bool moved = false;
      for (std::size_t c = 0; c < candidates_.size() && !moved; ++c) {
        const StorageId s = candidates_[c];
        const Span& span = spans_[s];
        if (span.first > fullest || span.last < fullest) continue;
        candidates_[c] = {};  // what does not fit now never will
        for (auto l = after(span.last); l != lenders_.end() && !moved; ++l) {
          const std::ptrdiff_t offset = l->room(span, bytes(s));
          if (offset < 0) continue;
          l->take(span, offset, bytes(s));
          offsets[s] = offset;
          lender_of[s] = l->storage;
          add(span, -static_cast<std::ptrdiff_t>(rounded(bytes(s))));
          moved = true;
        }
      }
      std::erase(candidates_, StorageId{});
      if (!moved) break;
    }
    for (Value& v : b_.values) {
      if (!v.storage || !lender_of[v.storage]) continue;
      v.offset += offsets[v.storage];
      v.storage = lender_of[v.storage];
    }
  }

 private:
  std::size_t bytes(StorageId storage) const { return b_.storages[storage].bytes; }
  // Donated inputs, from their last reader to the output that takes their place, if one does.
  void add_donated() {
    const int steps = static_cast<int>(b_.steps.size());
    Table<StorageId, int> read(b_.storages.size(), -1), written(b_.storages.size(), steps);
    for (int i = 0; i < steps; ++i) {
      for (ValueId v : b_.steps[i].in)
        if (const StorageId s = b_.values[v].storage; written[s] == steps) read[s] = i;
      for (ValueId v : b_.steps[i].out) written[b_.values[v].storage] = std::min(written[b_.values[v].storage], i);
    }
    for (StorageId s : b_.storages.ids())
      if (b_.storages[s].donated && lends(s) && read[s] + 1 < written[s])
        lenders_.emplace_back(s, read[s], written[s], bytes(s));
  }
  // In a loop an output is a row of a stack: only rows of such sizes are aligned.
  bool lends(StorageId s) const { return bytes(s) >= least_lent && bytes(s) % plan::alignment == 0; }
  void add(const Span& s, std::ptrdiff_t bytes) {
    for (int i = s.first; i <= s.last; ++i) live_[i] += bytes;
  }
  // The first lender that is written after a step: those written later are left for what lives longer.
  std::vector<Lender>::iterator after(int step) {
    return std::upper_bound(lenders_.begin(), lenders_.end(), step,
                            [](int at, const Lender& l) { return at < l.first; });
  }

  Body& b_;
  Table<StorageId, Span> spans_;
  std::vector<std::ptrdiff_t> live_;  // bytes of the arena in use at each step
  std::vector<Lender> lenders_;
  std::vector<StorageId> candidates_;  // largest first
};

}  // namespace

std::size_t set_least_lent(std::size_t bytes) { return least_lent.exchange(bytes); }

void lend(Body& body) {
  if (!body.steps.empty()) Lending(body).run();
}

}  // namespace anew::passes
