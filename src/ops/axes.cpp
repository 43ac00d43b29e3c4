// Small arithmetic on lists of axes.
#include "ops/axes.h"

#include <algorithm>

namespace anew {

bool contains(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::vector<int> axis_range(int begin, int end) {
  std::vector<int> out;
  for (int i = begin; i < end; ++i) out.push_back(i);
  return out;
}

std::vector<int> axes_without(int ndim, const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> out;
  for (int i = 0; i < ndim; ++i)
    if (!contains(a, i) && !contains(b, i)) out.push_back(i);
  return out;
}

std::vector<int> sorting(const std::vector<int>& keys) {
  std::vector<int> out = axis_range(0, static_cast<int>(keys.size()));
  std::sort(out.begin(), out.end(), [&](int a, int b) {
    int x = keys[static_cast<std::size_t>(a)], y = keys[static_cast<std::size_t>(b)];
    return x != y ? x < y : a < b;
  });
  return out;
}

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace anew
