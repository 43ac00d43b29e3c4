// What to keep at one moment of a graph, and what to run again behind it, for a price of a byte: a minimum cut. Every
// value that is needed later is available: kept, for price * bytes, or fetched from a file, or its kernel runs again,
// for its cost, and needs what it reads. The cut is exact; that a plan follows from it is the matter of remat_plans.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "plan/flow.h"
#include "plan/remat_graph.h"

namespace anew::plan {

struct CutProblem {
  std::vector<char> needed;        // per value: it is read later
  std::vector<char> free;          // per value: keeping it costs nothing
  std::vector<double> rerun;       // per kernel: what running it again costs; never: infinity
  std::vector<double> fetch = {};  // per value: what fetching it costs, the same; none: nothing can be fetched
};
enum class Place : char { gone, kept, fetched };
constexpr double never = std::numeric_limits<double>::infinity();

class ParametricCut {
 public:
  ParametricCut(const RematGraph& graph, const CutProblem& problem);
  // Prices rise from call to call; a copy continues from the last one.
  void set_price(double price);
  double price() const { return price_; }
  double value() const { return value_; }
  std::int64_t kept_bytes() const;    // those that cost something
  std::vector<Place> places() const;  // per value

 private:
  struct Choice {
    int value, available, rerun, edge;  // vertices, and the edge between that is cut where the value is kept or fetched
    bool free;
    double fetch;
  };
  double keep(const Choice& c, double price) const { return price * static_cast<double>(g_->bytes(c.value)); }
  const RematGraph* g_;
  Flow flow_;
  std::vector<Choice> choices_;
  int source_ = 0, sink_ = 1;
  double price_ = 0, value_ = 0, least_ = 0;
};

// No plan within a budget takes less than this besides running every kernel once. Holds for any order and any number of
// repeats: when kernel t first runs, all it depends on has run and nothing that depends on it has; what the latter read
// is in memory then, or is fetched or runs later, and what t depends on runs again then. Counts each value once, at a
// few t.
struct RematBound {
  double extra = 0, price = 0;  // the price of a byte: what one more would save
};
class RematBounds {
 public:
  explicit RematBounds(const RematGraph& graph);  // which outlives it
  RematBound within(std::int64_t budget) const;

 private:
  // At kernel t and this price: extra time >= value - price * (budget - fixed).
  struct Line {
    int t;
    double price, value;
    std::int64_t fixed;
  };
  const RematGraph& g_;
  std::vector<Line> lines_;
};

}  // namespace anew::plan
