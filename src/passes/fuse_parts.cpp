// Arrays put together from parts (pad, concatenate, roll) are read through: a kernel that reads such an array becomes
// several, each over a box of its iterations in which it looks at one part, and the array is never made. Every
// iteration is still run once. Done last, since the results of such a kernel are written in parts themselves.
// Reductions are not cut: their order is theirs.
#include <algorithm>

#include "passes/fuse_graph.h"
#include "passes/fuse_inline.h"

namespace anew::passes {
namespace {

// A box costs a kernel, and the time to compile it; it pays where it replaces one, or some memory traffic.
constexpr std::size_t most_boxes = 27, bytes_of_a_box = 64 << 10, most_weight_of_boxes = 4000;

class PartReader {
 public:
  explicit PartReader(FuseGraph& graph) : g_(graph) {}

  std::map<int, std::vector<Draft>> read() {
    find_parts();
    std::set<int> todo;
    for (const auto& [made, list] : parts_) todo.insert(g_.readers(made).begin(), g_.readers(made).end());
    while (!todo.empty()) {
      const int c = *todo.begin();
      todo.erase(todo.begin());
      pieces_.erase(c);
      std::vector<StorageId> arrays;  // that it reads
      for (const DraftAccess& p : g_.draft(c).loads())
        if (parts_.count(p.storage) && std::find(arrays.begin(), arrays.end(), p.storage) == arrays.end())
          arrays.push_back(p.storage);
      if (arrays.empty()) continue;
      pieces_[c] = pieces_of(c, arrays);
      if (!pieces_[c].empty()) continue;
      pieces_.erase(c);
      for (StorageId made : arrays) {  // they stay, for all their readers
        todo.insert(g_.readers(made).begin(), g_.readers(made).end());
        parts_.erase(made);
      }
    }
    for (const auto& [made, list] : parts_)
      for (int s : list) g_.remove(s);
    return std::move(pieces_);
  }

 private:
  // Temporaries that kernels put together, and whose readers may be cut.
  void find_parts() {
    std::set<StorageId> others;
    for (int s = g_.first(); s < g_.count(); s = g_.next(s)) {
      if (!g_.is_kernel(s)) {
        for (ValueId v : g_.step(s).out) others.insert(g_.storage_of(v));
        continue;
      }
      for (const Draft::Put& p : g_.draft(s).puts()) {
        if (g_.writer(p.to.storage) != FuseGraph::several || !g_.is_temporary(p.to.storage)) continue;
        parts_[p.to.storage].push_back(s);
        const Draft& d = g_.draft(s);
        const bool plain = d.nodes().size() == 1 && d.puts().size() == 1 && d.nodes()[0].dtype == p.to.dtype;
        if (!plain || !g_.can_change(s) || d.reduces() || !g_.reads_final(s)) others.insert(p.to.storage);
      }
    }
    for (auto it = parts_.begin(); it != parts_.end();) {
      bool fits = others.count(it->first) == 0 && !g_.readers(it->first).empty();
      for (int c : g_.readers(it->first)) {
        fits =
            fits && c > it->second.back() && g_.can_change(c) && !g_.draft(c).reduces() && g_.draft(c).iterations() > 0;
        for (const Draft::Put& p : g_.draft(c).puts()) fits = fits && g_.writer(p.to.storage) == c;
      }
      it = fits ? std::next(it) : parts_.erase(it);
    }
  }

  // Step c in boxes that read parts of these arrays; none if that does not pay.
  std::vector<Draft> pieces_of(int c, const std::vector<StorageId>& arrays) {
    std::size_t bytes = 0, longer = 0, kernels = 1;
    std::set<StorageId> sources;
    for (StorageId made : arrays) {
      bytes += g_.storage(made).bytes;
      kernels += parts_[made].size();
      for (int s : parts_[made])
        for (const DraftAccess& p : g_.draft(s).loads()) sources.insert(p.storage);
    }
    for (StorageId s : sources)
      if (g_.is_temporary(s) && *g_.readers(s).rbegin() < c) longer += g_.storage(s).bytes;
    if (longer > bytes) return {};
    std::vector<std::vector<const Draft*>> makers;
    for (const DraftAccess& p : g_.draft(c).loads()) {
      makers.emplace_back();
      if (const auto it = parts_.find(p.storage); it != parts_.end())
        for (int s : it->second)
          if (g_.draft(s).iterations() > 0) makers.back().push_back(&g_.draft(s));
    }
    const std::size_t weight = std::max(1, g_.draft(c).weight());
    const std::size_t most = std::min({most_boxes, kernels + bytes / bytes_of_a_box, most_weight_of_boxes / weight});
    return inlined_parts(g_.body(), g_.draft(c), std::move(makers), most);
  }

  FuseGraph& g_;
  std::map<StorageId, std::vector<int>> parts_;  // of each array that is read through: the steps that write it
  std::map<int, std::vector<Draft>> pieces_;     // of the steps that read them
};

}  // namespace

std::map<int, std::vector<Draft>> read_parts(FuseGraph& graph) { return PartReader(graph).read(); }

}  // namespace anew::passes
