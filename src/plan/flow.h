// Maximum flow (Dinic 1970) whose capacities may be raised: the flow found so far stays, so that a sequence of rising
// capacities costs little more than one. Copies continue from where the original stands.
#pragma once
#include <utility>
#include <vector>

namespace anew::plan {

class Flow {
 public:
  explicit Flow(int vertices) : vertices_(static_cast<std::size_t>(vertices)) {}
  static constexpr double unbounded = 1e30;
  int add_edge(int from, int to, double capacity);
  void raise(int edge, double by) { edges_[static_cast<std::size_t>(edge)].left += by; }
  // As much more as there is; gives the whole flow. What is smaller than `least` is not followed.
  double run(int source, int sink, double least);
  // Of a maximum flow: what can still be reached.
  std::vector<char> source_side(int source, double least) const;

 private:
  struct Edge {
    int to;
    double left;
  };
  void sort_edges();
  bool level(int source, int sink, double least);
  double advance(int source, int sink, double least);
  std::size_t vertices_;
  std::vector<Edge> edges_;  // an edge and its reverse stand side by side
  // Edges by the vertex they leave, and where those of a vertex begin: two plain lists, for it is copied often.
  std::vector<int> by_vertex_, begin_;
  std::vector<int> level_, next_, path_, queue_;
  double flow_ = 0;
};

}  // namespace anew::plan
