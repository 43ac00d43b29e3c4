// Paths are found level by level, without recursion: graphs may be deep.
#include "plan/flow.h"

#include <algorithm>
#include <numeric>

namespace anew::plan {
int Flow::add_edge(int from, int to, double capacity) {
  const int id = static_cast<int>(edges_.size());
  edges_.push_back({to, capacity});
  edges_.push_back({from, 0});
  return id;
}

void Flow::sort_edges() {
  auto from = [&](std::size_t e) { return static_cast<std::size_t>(edges_[e ^ 1].to); };
  begin_.assign(vertices_ + 1, 0);
  for (std::size_t e = 0; e < edges_.size(); ++e) ++begin_[from(e) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<int> next(begin_.begin(), begin_.end() - 1);
  by_vertex_.resize(edges_.size());
  for (std::size_t e = 0; e < edges_.size(); ++e) by_vertex_[next[from(e)]++] = static_cast<int>(e);
}

bool Flow::level(int source, int sink, double least) {
  level_.assign(vertices_, -1);
  level_[source] = 0;
  queue_.assign(1, source);
  for (std::size_t q = 0; q < queue_.size() && level_[sink] < 0; ++q) {
    const int here = queue_[q];
    for (int i = begin_[here]; i < begin_[here + 1]; ++i) {
      const Edge& edge = edges_[by_vertex_[i]];
      if (edge.left <= least || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[here] + 1;
      queue_.push_back(edge.to);
    }
  }
  return level_[sink] >= 0;
}

// A path along rising levels, and as much as it bears; 0: there is none left.
double Flow::advance(int source, int sink, double least) {
  path_.clear();  // edges
  int here = source;
  while (here != sink) {
    bool moved = false;
    for (int& i = next_[here]; i < begin_[here + 1]; ++i) {
      const int e = by_vertex_[i];
      if (edges_[e].left <= least || level_[edges_[e].to] != level_[here] + 1) continue;
      path_.push_back(e);
      here = edges_[e].to;
      moved = true;
      break;
    }
    if (moved) continue;
    if (path_.empty()) return 0;
    level_[here] = -1;
    here = edges_[path_.back() ^ 1].to;
    path_.pop_back();
  }
  double most = unbounded;
  for (int e : path_) most = std::min(most, edges_[e].left);
  for (int e : path_) edges_[e].left -= most, edges_[e ^ 1].left += most;
  return most;
}

double Flow::run(int source, int sink, double least) {
  if (begin_.empty() || by_vertex_.size() != edges_.size()) sort_edges();
  while (level(source, sink, least)) {
    next_.assign(begin_.begin(), begin_.end() - 1);
    while (double more = advance(source, sink, least)) flow_ += more;
  }
  return flow_;
}

std::vector<char> Flow::source_side(int source, double least) const {
  std::vector<char> side(vertices_);
  side[source] = true;
  std::vector<int> queue{source};
  for (std::size_t q = 0; q < queue.size(); ++q)
    for (int i = begin_[queue[q]]; i < begin_[queue[q] + 1]; ++i)
      if (const Edge& edge = edges_[by_vertex_[i]]; edge.left > least && !side[edge.to]) {
        side[edge.to] = true;
        queue.push_back(edge.to);
      }
  return side;
}

}  // namespace anew::plan
