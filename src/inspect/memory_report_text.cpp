// A memory report as text, at most 100 columns wide: the plan, a chart of the bytes alive in the arena, one line per step.
#include <anew/report.h>
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "jit/describe.h"

namespace anew {
namespace {

using compiled::readable_bytes;

std::size_t columns(std::string_view s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}
// Cut to a width, and padded to it.
std::string fit(const std::string& s, std::size_t width) {
  const std::size_t n = columns(s);
  if (n <= width) return s + std::string(width - n, ' ');
  std::string out;
  std::size_t used = 0;
  for (char c : s) {
    used += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (used >= width) break;
    out += c;
  }
  return out + "…";
}

std::string readable_time(double seconds) {
  if (seconds < 0) return "";
  if (seconds < 999.5e-9) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 999.5e-6) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}
std::string rate(double amount, double seconds) {
  if (amount <= 0 || seconds <= 0) return "";
  const double r = amount / seconds * 1e-9;
  return r < 9.95 ? fmt::format("{:.2g}", r) : fmt::format("{:.0f}", r);
}
// A size, and what fits of it, in eighths of a column.
std::string bar(double part, std::size_t width) {
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto n = static_cast<std::size_t>(part * static_cast<double>(8 * width) + 0.5);
  std::string out;
  for (std::size_t i = 0; i < n / 8; ++i) out += "█";
  return out + eighths[n % 8];
}

// Several rows high, one or more columns per step, or several steps per column, of which the fullest counts.
std::string chart(const std::vector<MemoryReport::Step>& steps, std::size_t arena) {
  static constexpr const char* levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t width = 86, height = 5, widest = 4;
  const std::size_t n = steps.size(), per_step = std::clamp<std::size_t>(width / n, 1, widest);
  const std::size_t used = std::min(width, n * per_step);
  std::vector<std::size_t> level(used);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = n * per_step <= width ? i * per_step : i * width / n;
    const std::size_t to = n * per_step <= width ? from + per_step : from + 1;
    const double part = static_cast<double>(steps[i].live_bytes) / static_cast<double>(arena);
    const auto l = std::min(8 * height, static_cast<std::size_t>(part * static_cast<double>(8 * height) + 0.5));
    for (std::size_t c = from; c < to; ++c) level[c] = std::max(level[c], l);
  }
  std::string out;
  for (std::size_t row = height; row-- > 0;) {
    std::string line = row + 1 == height ? fmt::format("{:>10} ", readable_bytes(static_cast<double>(arena)))
                       : row == 0        ? fmt::format("{:>10} ", "0 B")
                                         : std::string(11, ' ');
    line += "│";
    for (std::size_t c = 0; c < used; ++c)
      line += levels[std::clamp<std::size_t>(level[c], 8 * row, 8 * row + 8) - 8 * row];
    while (line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

// "model.cpp:41 (layer)", as much as fits, the line in any case.
std::string line_text(const SourceLine& line, std::size_t width) {
  if (line.line == 0) return fit("", width);
  const std::string with_function = line.str(), without = with_function.substr(0, with_function.find(" ("));
  if (columns(with_function) <= width) return fit(with_function, width);
  const std::size_t n = without.size();
  return n <= width ? fit(without, width) : "…" + without.substr(n - (width - 1));
}

}  // namespace

MemoryReport::MemoryReport() = default;
MemoryReport::MemoryReport(const MemoryReport&) = default;
MemoryReport::MemoryReport(MemoryReport&&) noexcept = default;
MemoryReport& MemoryReport::operator=(const MemoryReport&) = default;
MemoryReport& MemoryReport::operator=(MemoryReport&&) noexcept = default;
MemoryReport::~MemoryReport() = default;

std::string MemoryReport::str() const {
  std::string out = fmt::format("peak    {} bytes, ", plan.peak_bytes);
  if (measured_bytes == 0) out += "planned; nothing has run\n";
  else if (measured_bytes == plan.peak_bytes) out += "planned and measured\n";
  else out += fmt::format("planned; {} measured\n", measured_bytes);
  out += fmt::format("        {} of arguments + {} of constants + {} of outputs + {} of the arena\n",
                     plan.argument_bytes, plan.constant_bytes, plan.output_bytes, plan.arena_bytes);
  if (seconds >= 0) out += fmt::format("time    {}\n", readable_time(seconds));
  if (steps.empty()) return out;
  if (plan.arena_bytes) out += "alive in the arena, step by step:\n" + chart(steps, plan.arena_bytes);
  out += fmt::format("{:<31} {:<20} {:>8} {:>9} {:>5} {:>5} {:>9}\n", "step", "line", "time", "moved", "GB/s", "GF/s",
                     "alive");
  for (const Step& s : steps) {
    constexpr std::size_t width = 31;
    std::string what(static_cast<std::size_t>(2 * s.depth), ' ');
    if (s.runs > 1) what += fmt::format("{} x ", s.runs);
    what += s.what;
    const bool loop = &s != &steps.back() && (&s)[1].depth > s.depth;
    const std::string type = loop || s.type.empty() ? "" : " " + s.type;
    // Long lists of operations are cut, types are not.
    if (columns(what) + type.size() > width && type.size() < width / 2) what = fit(what, width - type.size());
    what += type;
    std::string line =
        fit(what, width) + " " + line_text(s.line, 20) +
        fmt::format(" {:>8} {:>9} {:>5} {:>5} {:>9} ", s.runs == 0 ? "not run" : readable_time(s.seconds),
                    s.bytes > 0 ? readable_bytes(s.bytes) : "", rate(s.bytes, s.seconds), rate(s.flops, s.seconds),
                    readable_bytes(static_cast<double>(s.live_bytes)));
    if (plan.arena_bytes) line += bar(static_cast<double>(s.live_bytes) / static_cast<double>(plan.arena_bytes), 6);
    while (line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::ostream& operator<<(std::ostream& os, const MemoryReport& report) { return os << report.str(); }

}  // namespace anew
