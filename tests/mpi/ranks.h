// What tests of collectives share: arrays that differ from rank to rank, and sums over all of them.
#pragma once
#include <anew/mpi.h>

#include "support/support.h"

namespace anew::test {

inline mpi::Comm world() { return mpi::world(); }
inline int rank() { return world().rank(); }
inline int ranks() { return world().size(); }
// Of this rank: other numbers on each.
inline Array mine(const Shape& shape, double k, DType dtype = f64) { return fill(shape, k + 10 * rank(), dtype); }
// The sum over ranks of this rank's <a, b>.
inline double product_of_all(const Array& a, const Array& b) { return psum(sum(a * b), world()).item(); }
// Rank r sends to rank r + 1, the last to the first.
inline std::vector<std::pair<int, int>> ring(int n = ranks()) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < n; ++i) pairs.emplace_back(i, (i + 1) % n);
  return pairs;
}

}  // namespace anew::test
