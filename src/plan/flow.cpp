// Paths are found level by level, without recursion: graphs may be deep.
#include "plan/flow.h"

#include <algorithm>

namespace anew::plan {
int Flow::add_edge(int from, int to, double capacity) {
  const int id = static_cast<int>(edges_.size());
  edges_.push_back({to, capacity});
  edges_.push_back({from, 0});
  edges_of_[from].push_back(id);
  edges_of_[to].push_back(id + 1);
  return id;
}

bool Flow::level(int source, int sink, double least) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<int> queue{source};
  for (std::size_t q = 0; q < queue.size() && level_[sink] < 0; ++q)
    for (int e : edges_of_[queue[q]]) {
      const Edge& edge = edges_[e];
      if (edge.left <= least || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[queue[q]] + 1;
      queue.push_back(edge.to);
    }
  return level_[sink] >= 0;
}

// A path along rising levels, and as much as it bears; 0: there is none left.
double Flow::advance(int source, int sink, double least) {
  std::vector<int> path;  // edges
  int here = source;
  while (here != sink) {
    bool moved = false;
    for (int& i = next_[here]; i < static_cast<int>(edges_of_[here].size()); ++i) {
      const int e = edges_of_[here][i];
      if (edges_[e].left <= least || level_[edges_[e].to] != level_[here] + 1) continue;
      path.push_back(e);
      here = edges_[e].to;
      moved = true;
      break;
    }
    if (moved) continue;
    if (path.empty()) return 0;
    level_[here] = -1;
    here = edges_[path.back() ^ 1].to;
    path.pop_back();
  }
  double most = unbounded;
  for (int e : path) most = std::min(most, edges_[e].left);
  for (int e : path) edges_[e].left -= most, edges_[e ^ 1].left += most;
  return most;
}

double Flow::run(int source, int sink, double least) {
  while (level(source, sink, least)) {
    next_.assign(edges_of_.size(), 0);
    while (double more = advance(source, sink, least)) flow_ += more;
  }
  return flow_;
}

std::vector<char> Flow::source_side(int source, double least) const {
  std::vector<char> side(edges_of_.size());
  side[source] = true;
  std::vector<int> queue{source};
  for (std::size_t q = 0; q < queue.size(); ++q)
    for (int e : edges_of_[queue[q]])
      if (edges_[e].left > least && !side[edges_[e].to]) {
        side[edges_[e].to] = true;
        queue.push_back(edges_[e].to);
      }
  return side;
}

}  // namespace anew::plan
