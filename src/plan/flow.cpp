// Paths are found level by level, without recursion: graphs may be deep.
#include "plan/flow.h"

#include <algorithm>

namespace anew::plan {
namespace {
std::size_t at(int i) { return static_cast<std::size_t>(i); }
}  // namespace

int Flow::add_edge(int from, int to, double capacity) {
  const int id = static_cast<int>(edges_.size());
  edges_.push_back({to, capacity});
  edges_.push_back({from, 0});
  edges_of_[at(from)].push_back(id);
  edges_of_[at(to)].push_back(id + 1);
  return id;
}

bool Flow::level(int source, int sink, double least) {
  level_.assign(edges_of_.size(), -1);
  level_[at(source)] = 0;
  std::vector<int> queue{source};
  for (std::size_t q = 0; q < queue.size() && level_[at(sink)] < 0; ++q)
    for (int e : edges_of_[at(queue[q])]) {
      const Edge& edge = edges_[at(e)];
      if (edge.left <= least || level_[at(edge.to)] >= 0) continue;
      level_[at(edge.to)] = level_[at(queue[q])] + 1;
      queue.push_back(edge.to);
    }
  return level_[at(sink)] >= 0;
}

// A path along rising levels, and as much as it bears; 0: there is none left.
double Flow::advance(int source, int sink, double least) {
  std::vector<int> path;  // edges
  int here = source;
  while (here != sink) {
    bool moved = false;
    for (int& i = next_[at(here)]; i < static_cast<int>(edges_of_[at(here)].size()); ++i) {
      const int e = edges_of_[at(here)][at(i)];
      if (edges_[at(e)].left <= least || level_[at(edges_[at(e)].to)] != level_[at(here)] + 1) continue;
      path.push_back(e);
      here = edges_[at(e)].to;
      moved = true;
      break;
    }
    if (moved) continue;
    if (path.empty()) return 0;
    level_[at(here)] = -1;
    here = edges_[at(path.back() ^ 1)].to;
    path.pop_back();
  }
  double most = unbounded;
  for (int e : path) most = std::min(most, edges_[at(e)].left);
  for (int e : path) edges_[at(e)].left -= most, edges_[at(e ^ 1)].left += most;
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
  side[at(source)] = true;
  std::vector<int> queue{source};
  for (std::size_t q = 0; q < queue.size(); ++q)
    for (int e : edges_of_[at(queue[q])])
      if (edges_[at(e)].left > least && !side[at(edges_[at(e)].to)]) {
        side[at(edges_[at(e)].to)] = true;
        queue.push_back(edges_[at(e)].to);
      }
  return side;
}

}  // namespace anew::plan
