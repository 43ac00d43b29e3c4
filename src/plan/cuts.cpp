// The table of costs of stretches, level by level from the deepest.
#include "plan/cuts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace anew::plan {

// Levels past a number that would leave no room for lengths are given up: fewer are a choice, too. Where not all
// lengths fit, groups are as small as the number of tables that it takes allows.
CutTable::CutTable(Problem problem, double work) : problem_(std::move(problem)) {
  const std::int64_t length = problem_.length = std::max<std::int64_t>(problem_.length, 1);
  problem_.depth = std::min({problem_.depth, length, static_cast<std::int64_t>(std::cbrt(2 * work)) + 1});
  const double most = std::max(2.0, std::sqrt(2 * work / static_cast<double>(problem_.depth + 1)));
  const double tables = std::max(1.0, std::ceil(std::log(static_cast<double>(length)) / std::log(most)));
  const auto count = static_cast<std::int64_t>(std::ceil(std::pow(static_cast<double>(length), 1 / tables) + 1e-9));
  std::int64_t unit = 1;
  for (; unit < (length + count - 1) / count; unit *= count) add_rows(unit, count);
  add_rows(unit, (length + unit - 1) / unit);
}

// The cost of what is behind a cut on level `depth`.
double CutTable::behind(const Rows& r, std::int64_t units, std::int64_t depth) const {
  const double kept = depth < problem_.depth ? problem_.keep + r.at(depth + 1)[units] : never;
  return std::min(kept, problem_.direct(units * r.unit, depth));
}

void CutTable::add_rows(std::int64_t unit, std::int64_t count) {
  Rows r{unit, count, std::vector<double>(static_cast<std::size_t>((count + 1) * (problem_.depth + 1)))};
  std::vector<double> rest(static_cast<std::size_t>(count) + 1);
  for (std::int64_t n = problem_.depth; n >= 0; --n) {
    double* cost = r.cost.data() + n * (count + 1);
    cost[0] = 0;
    for (std::int64_t l = 1; l <= count; ++l) {
      cost[l] = problem_.leaf(l * unit, n);
      rest[static_cast<std::size_t>(l)] = behind(r, l, n);
    }
    if (!rows_.empty()) cost[1] = rows_.back().at(n)[rows_.back().count];
    // By the length before the cut: its cost is final once all shorter ones have been tried.
    for (std::int64_t k = 1; k < count; ++k) {
      const double before = static_cast<double>(k * unit) + cost[k];
      const double* from = rest.data();
      double* all = cost + k;
      for (std::int64_t l = 1; l <= count - k; ++l) {
        const double c = before + from[l];
        all[l] = c < all[l] ? c : all[l];
      }
    }
  }
  rows_.push_back(std::move(r));
}

const CutTable::Rows& CutTable::rows_for(std::int64_t length) const {
  const Rows* r = rows_.data();
  while (r->unit * r->count < length) ++r;
  return *r;
}

double CutTable::cost(std::int64_t length, std::int64_t depth) const {
  depth = std::min(depth, problem_.depth);
  const Rows& r = rows_for(length);
  return std::min(problem_.leaf(length, depth), r.at(depth)[(length + r.unit - 1) / r.unit]);
}

// A length that is no multiple of the unit is taken as if steps were missing in front: the first group is shorter.
Cut CutTable::cut(std::int64_t length, std::int64_t depth) const {
  depth = std::min(depth, problem_.depth);
  const Rows& r = rows_for(length);
  const std::int64_t units = (length + r.unit - 1) / r.unit;
  const double* cost = r.at(depth);
  if (problem_.leaf(length, depth) <= cost[units]) return {0, false};
  for (std::int64_t k = units - 1; k >= 1; --k)
    if (static_cast<double>(k * r.unit) + cost[k] + behind(r, units - k, depth) <= cost[units])
      return {k * r.unit - (units * r.unit - length),
              behind(r, units - k, depth) < problem_.direct((units - k) * r.unit, depth)};
  return {0, false};
}

}  // namespace anew::plan
