// A matrix as a PNG image in base64, for pictures inside SVG files.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace show {

// Values row by row, coloured over [lo, hi]: dark to bright, or blue over white to red where `signs`.
std::string png(const std::vector<double>& values, std::size_t rows, std::size_t columns, double lo, double hi,
                bool signs);

}  // namespace show
