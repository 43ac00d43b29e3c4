// Rows of a memory report, and totals over them.
#include "inspect/report_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "jit/describe.h"

namespace anew {

bool has_rows_below(const std::vector<MemoryReport::Step>& steps, std::size_t row) {
  return row + 1 < steps.size() && steps[row + 1].depth > steps[row].depth;
}

namespace {
std::vector<std::size_t> rows_at(const std::vector<MemoryReport::Step>& steps, std::size_t from, int depth) {
  std::vector<std::size_t> out;
  for (std::size_t i = from; i < steps.size() && steps[i].depth >= depth; ++i)
    if (steps[i].depth == depth) out.push_back(i);
  return out;
}
}  // namespace

std::vector<std::size_t> rows_below(const std::vector<MemoryReport::Step>& steps, std::size_t row) {
  return rows_at(steps, row + 1, steps[row].depth + 1);
}
std::vector<std::size_t> rows_below(const std::vector<MemoryReport::Step>& steps) { return rows_at(steps, 0, 0); }

std::size_t fullest_row(const std::vector<MemoryReport::Step>& steps) {
  std::size_t row = 0, most = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (!has_rows_below(steps, i) && steps[i].live_bytes > most) row = i, most = steps[i].live_bytes;
  return row;
}

std::string line_text(const SourceLine& line) { return line.line == 0 ? "" : line.str(); }

std::string readable_time(double seconds) {
  if (seconds < 0) return "";
  if (seconds < 999.5e-9) return fmt::format("{:.0f} ns", seconds * 1e9);
  const auto [scale, unit] = seconds < 999.95e-6 ? std::pair(1e6, "us")
                             : seconds < 0.99995 ? std::pair(1e3, "ms")
                                                 : std::pair(1.0, "s");
  return fmt::format("{:.{}f} {}", seconds * scale, seconds * scale < 9.995 ? 2 : 1, unit);
}

std::string readable_count(std::size_t n) {
  std::string out = std::to_string(n);
  for (std::size_t i = out.size(); i > 3; i -= 3) out.insert(i - 3, ",");
  return out;
}

namespace {
auto bytes_and_time(const MemoryReport::Total& t) { return std::pair(t.bytes, t.seconds); }
}  // namespace

std::vector<MemoryReport::Total> MemoryReport::totals(By by) const {
  std::unordered_map<std::string, std::size_t> known;
  std::vector<Total> out;  // first in the order in which they come
  auto add = [&](const SourceLine& line, const std::string& path) -> Total& {
    const std::string& what = by == By::path ? path : by == By::function ? line.function : line_text(line);
    auto [it, fresh] = known.emplace(what, out.size());
    if (fresh) out.push_back({what, by == By::line ? line : SourceLine{}});
    return out[it->second];
  };
  const std::size_t fullest = fullest_row(steps);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (!has_rows_below(steps, i)) add(steps[i].line, steps[i].path).seconds += std::max(0.0, steps[i].seconds);
  for (const Piece& p : pieces)
    if (p.first <= fullest && fullest <= p.last) add(p.line, p.path).bytes += p.bytes;
  std::erase_if(out, [](const Total& t) { return t.bytes == 0 && t.seconds == 0; });
  compiled::largest_first(out, bytes_and_time);
  return out;
}

std::vector<MemoryReport::Total> together(const std::vector<MemoryReport::Total>& totals) {
  std::unordered_map<std::string, std::size_t> known;
  std::vector<MemoryReport::Total> out;
  std::vector<compiled::Pattern> patterns;
  for (const MemoryReport::Total& t : totals) {
    const compiled::Pattern pattern(t.what);
    auto [it, fresh] = known.emplace(pattern.text(), out.size());
    if (fresh) out.emplace_back(), patterns.push_back(pattern);
    patterns[it->second].join(pattern);
    out[it->second].bytes += t.bytes;
    out[it->second].seconds += t.seconds;
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].what = patterns[i].str();
  compiled::largest_first(out, bytes_and_time);
  return out;
}

}  // namespace anew
