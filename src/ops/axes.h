// Small arithmetic on lists of axes.
#pragma once
#include <vector>

namespace anew {

bool contains(const std::vector<int>& axes, int axis);

// begin, begin + 1, ..., end - 1
std::vector<int> axis_range(int begin, int end);

// Axes below ndim that are in neither list.
std::vector<int> axes_without(int ndim, const std::vector<int>& a, const std::vector<int>& b = {});

// Positions that sort the list: the inverse of a permutation.
std::vector<int> sorting(const std::vector<int>& keys);

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b);

}  // namespace anew
