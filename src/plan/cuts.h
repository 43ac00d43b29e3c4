// Where a stretch of steps is cut so that going back through it costs least. A stretch starts at a kept state. It is a
// leaf, whose cost is given, or it is cut. Then the steps before the cut run once; what is behind goes back first,
// either from the state at the cut, kept one level deeper at the price `keep`, or at a given cost directly from the
// state at hand; and then what is before the cut. So cost(l, n) is the least of leaf(l, n) and, over k, of
//     k + cost(k, n) + min(keep + cost(l - k, n + 1), direct(l - k, n)).
// Exact where the table is small enough; longer stretches are cut at multiples of a group of steps only, so that
// neither time nor memory depend on the number of steps. Costs are whole numbers of steps, or never; leaf and direct do
// not fall with the length.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace anew::plan {

// After how many steps a stretch is cut, 0 where it is a leaf, and whether the state there is kept.
struct Cut {
  std::int64_t steps;
  bool keeps;
};

class CutTable {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr double usual_work = 1.5e8;  // additions in the making of a table

  using Cost = std::function<double(std::int64_t length, std::int64_t depth)>;
  struct Problem {
    std::int64_t length, depth;  // of the longest stretch; the deepest level, from which no state is kept
    double keep;
    Cost leaf, direct;
  };
  explicit CutTable(Problem problem, double work = usual_work);

  double cost(std::int64_t length, std::int64_t depth) const;
  Cut cut(std::int64_t length, std::int64_t depth) const;
  std::int64_t depth() const { return problem_.depth; }
  bool exact() const { return rows_.size() == 1; }

 private:
  // Costs of stretches of 0, unit, 2 unit, ... steps, per level.
  struct Rows {
    std::int64_t unit, count;
    std::vector<double> cost;
    const double* at(std::int64_t depth) const { return cost.data() + depth * (count + 1); }
  };
  void add_rows(std::int64_t unit, std::int64_t count);
  const Rows& rows_for(std::int64_t length) const;
  double behind(const Rows& r, std::int64_t units, std::int64_t depth) const;

  Problem problem_;
  std::vector<Rows> rows_;  // of single steps, of groups, of groups of groups, ...
};

}  // namespace anew::plan
