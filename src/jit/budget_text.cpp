// The curve of memory against time, as a table and as a picture.
#include <anew/jit.h>
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "jit/describe.h"

namespace anew {

using compiled::readable_bytes;

std::string str(const std::vector<BudgetPoint>& curve) {
  const bool disk = std::any_of(curve.begin(), curve.end(), [](const BudgetPoint& p) { return p.disk_bytes > 0; });
  std::string out = fmt::format("{:>14}  {:>10}  {:>9}  {:>10}", "peak bytes", "", "time", "at least");
  out += disk ? "     on disk\n" : "\n";
  for (const BudgetPoint& p : curve) {
    out += fmt::format("{:>14}  {:>10}  {:>+8.2f}%  {:>+9.2f}%", p.peak_bytes,
                       readable_bytes(static_cast<double>(p.peak_bytes)), 100 * p.extra_time, 100 * p.extra_time_bound);
    out += disk ? fmt::format("  {:>10}\n", readable_bytes(static_cast<double>(p.disk_bytes))) : "\n";
  }
  return out;
}

std::ostream& operator<<(std::ostream& os, const std::vector<BudgetPoint>& curve) { return os << str(curve); }

std::string svg(const std::vector<BudgetPoint>& curve) {
  constexpr double width = 640, height = 360, left = 70, top = 20, right = 20, bottom = 50;
  double most_bytes = 1, most_time = 1e-3;
  for (const BudgetPoint& p : curve) {
    most_bytes = std::max(most_bytes, static_cast<double>(p.peak_bytes));
    most_time = std::max(most_time, p.extra_time);
  }
  auto x = [&](double bytes) { return left + (width - left - right) * bytes / most_bytes; };
  auto y = [&](double time) { return height - bottom - (height - top - bottom) * time / most_time; };
  std::string plans, bounds, dots, ticks;
  for (const BudgetPoint& p : curve) {
    const double at = x(static_cast<double>(p.peak_bytes));
    plans += fmt::format("{:.1f},{:.1f} ", at, y(p.extra_time));
    bounds += fmt::format("{:.1f},{:.1f} ", at, y(p.extra_time_bound));
    dots +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{} bytes, {:+.2f} % time</title></circle>\n",
                    at, y(p.extra_time), p.peak_bytes, 100 * p.extra_time);
  }
  for (int i = 0; i <= 4; ++i) {
    const double bytes = most_bytes * i / 4, time = most_time * i / 4;
    ticks += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x(bytes),
                         height - bottom + 18, readable_bytes(bytes));
    ticks += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:+.1f} %</text>\n", left - 8,
                         y(time) + 4, 100 * time);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\" "
      "fill=\"#666\">\n<path d=\"M{2:.0f} {3:.0f}V{4:.0f}H{5:.0f}\" fill=\"none\" stroke=\"#999\"/>\n"
      "<polyline points=\"{6}\" fill=\"none\" stroke=\"#999\" stroke-dasharray=\"4\"/>\n"
      "<polyline points=\"{7}\" fill=\"none\" stroke=\"#36c\"/>\n<g fill=\"#36c\">\n{8}</g>\n{9}"
      "<text x=\"{10:.0f}\" y=\"{11:.0f}\" text-anchor=\"middle\">peak; modelled time, and the least possible "
      "(dashed)</text>\n</svg>\n",
      width, height, left, top, height - bottom, width - right, bounds, plans, dots, ticks, (left + width - right) / 2,
      height - 10);
}

}  // namespace anew
