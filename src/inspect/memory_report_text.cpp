// A memory report as text, at most 100 columns wide: the plan, a chart of the bytes alive in the arena, one line per
// step, totals.
#include <anew/report.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "inspect/report_rows.h"
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

std::string rate(double amount, double seconds) {
  if (amount <= 0 || seconds <= 0) return "";
  const double r = amount / seconds * 1e-9;
  return r < 9.95 ? fmt::format("{:.2g}", r) : fmt::format("{:.0f}", r);
}
// A size, and what fits of it, in eighths of a column.
std::string bar(double part, std::size_t width) {
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto n = static_cast<std::size_t>(std::lround(part * static_cast<double>(8 * width)));
  std::string out;
  for (std::size_t i = 0; i < n / 8; ++i) out += "█";
  return out + eighths[n % 8];
}

// Several rows high, one or more columns per step, or several steps per column, of which the fullest counts. A loop is
// its steps.
std::string chart(const std::vector<MemoryReport::Step>& all, std::size_t arena) {
  std::vector<std::size_t> live;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!has_rows_below(all, i)) live.push_back(all[i].live_bytes);
  static constexpr const char* levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t width = 86, height = 5, widest = 4;
  const std::size_t n = live.size(), per_step = std::clamp<std::size_t>(width / n, 1, widest);
  const std::size_t used = std::min(width, n * per_step);
  std::vector<std::size_t> level(used);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = n * per_step <= width ? i * per_step : i * width / n;
    const std::size_t to = n * per_step <= width ? from + per_step : from + 1;
    const double part = static_cast<double>(live[i]) / static_cast<double>(arena);
    const auto l = std::min(8 * height, static_cast<std::size_t>(std::lround(part * static_cast<double>(8 * height))));
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
std::string fitting_line(const SourceLine& line, std::size_t width) {
  if (line.line == 0) return fit("", width);
  const std::string with_function = line.str(), without = with_function.substr(0, with_function.find(" ("));
  if (columns(with_function) <= width) return fit(with_function, width);
  const std::size_t n = without.size();
  return n <= width ? fit(without, width) : "…" + without.substr(n - (width - 1));
}

// The end of a path says most.
std::string fitting_path(const std::string& path, std::size_t width) {
  const std::size_t n = path.size();
  if (n <= width) return fit(path, width);
  const std::string_view front = path.starts_with("d ") ? "d " : "";
  return fmt::format("{}…{}", front, path.substr(n - (width - 1 - front.size())));
}

// Rows as wide as a line may be; the arguments that steps were made with have a column where one is known.
std::string step_table(const MemoryReport& r) {
  const bool paths = std::any_of(r.steps.begin(), r.steps.end(), [](const auto& s) { return !s.path.empty(); });
  const std::size_t what_width = paths ? 28 : 31, line_width = paths ? 13 : 20, path_width = 17;
  auto columns_of = [&](const std::string& what, const std::string& line, const std::string& path) {
    return fit(what, what_width) + " " + line + " " + (paths ? fitting_path(path, path_width) + " " : "");
  };
  std::string out = columns_of("step", fit("line", line_width), "argument") +
                    fmt::format("{:>8} {:>9} {:>5} {:>5} {:>9}\n", "time", "moved", "GB/s", "GF/s", "alive");
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const MemoryReport::Step& s = r.steps[i];
    std::string what(static_cast<std::size_t>(2 * s.depth), ' ');
    if (s.runs > 1) what += fmt::format("{} x ", s.runs);
    what += s.what;
    const std::string type = has_rows_below(r.steps, i) || s.type.empty() ? "" : " " + s.type;
    // Long lists of operations are cut, types are not.
    if (columns(what) + type.size() > what_width && type.size() < what_width * 5 / 8)
      what = fit(what, what_width - type.size());
    out += columns_of(what + type, fitting_line(s.line, line_width), s.path) +
           fmt::format("{:>8} {:>9} {:>5} {:>5} {:>9} ", s.runs == 0 ? "not run" : readable_time(s.seconds),
                       s.bytes > 0 ? readable_bytes(s.bytes) : "", rate(s.bytes, s.seconds), rate(s.flops, s.seconds),
                       readable_bytes(static_cast<double>(s.live_bytes)));
    if (r.plan.arena_bytes && !paths)
      out += bar(static_cast<double>(s.live_bytes) / static_cast<double>(r.plan.arena_bytes), 6);
    out += "\n";
  }
  return out;
}

// Lines without spaces at their ends.
std::string trimmed(const std::string& text) {
  std::string out;
  for (char c : text) {
    while (c == '\n' && !out.empty() && out.back() == ' ') out.pop_back();
    out += c;
  }
  return out;
}

std::string time_of_steps(const MemoryReport& r) {
  double sum = 0;
  for (std::size_t i : rows_below(r.steps)) sum += std::max(0.0, r.steps[i].seconds);
  return r.steps.empty() ? "" : fmt::format(", {} of it in the steps below", readable_time(sum));
}

// What a budget costs, and the steps that it has repeated.
std::string budget_text(const MemoryPlan& plan) {
  std::string out;
  if (plan.donated_bytes)
    out += fmt::format("donated {} of results in the memory of arguments\n",
                       readable_bytes(static_cast<double>(plan.donated_bytes)));
  if (plan.disk_bytes) out += fmt::format("disk    {}\n", readable_bytes(static_cast<double>(plan.disk_bytes)));
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(most, plan.offloaded.size()); ++i) {
    const LiveValue& v = plan.offloaded[i];
    out += fmt::format("        {:>9}  {} {}\n", readable_bytes(static_cast<double>(v.bytes)),
                       fit(v.what + " " + v.type.str(), 44),
                       fitting_line(v.at.line() ? source_line(v.at) : SourceLine{}, 20));
  }
  if (plan.offloaded.size() > most) out += fmt::format("        and {} more\n", plan.offloaded.size() - most);
  if (plan.extra_time <= 0) return out;
  out +=
      fmt::format("again   +{:.2f} % time is recomputation{}; any plan within the budget adds at least {:.2f} %\n",
                  100 * plan.extra_time, compiled::moves_values(plan) ? " and files" : "", 100 * plan.extra_time_bound);
  for (std::size_t i = 0; i < std::min(most, plan.recomputed.size()); ++i) {
    const Recomputed& r = plan.recomputed[i];
    out += fmt::format("        {:>7.2f} %  {} x {} {}\n", 100 * r.extra_time, r.times, fit(r.what, 40),
                       fitting_line(r.at.line() ? source_line(r.at) : SourceLine{}, 20));
  }
  if (plan.recomputed.size() > most) out += fmt::format("        and {} more\n", plan.recomputed.size() - most);
  return out;
}

// The largest of a list of totals, with their parts of the sums.
std::string totals_text(const char* heading, std::vector<MemoryReport::Total> totals) {
  constexpr std::size_t most = 8;
  if (totals.size() > most) totals = together(totals);
  MemoryReport::Total sum, rest;
  auto add = [](MemoryReport::Total& to, const MemoryReport::Total& t) {
    to.bytes += t.bytes;
    to.seconds += t.seconds;
  };
  for (const MemoryReport::Total& t : totals) add(sum, t);
  auto percent = [](double part, double whole) {
    return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : std::string();
  };
  auto line = [&](const std::string& what, const MemoryReport::Total& t) {
    return fit(what, 52) + fmt::format(" {:>10} {:>6}  {:>9} {:>6}\n", readable_bytes(static_cast<double>(t.bytes)),
                                       percent(static_cast<double>(t.bytes), static_cast<double>(sum.bytes)),
                                       sum.seconds > 0 ? readable_time(t.seconds) : "",
                                       percent(t.seconds, sum.seconds));
  };
  std::string out = fit(heading, 52) + fmt::format(" {:>17}  {:>16}\n", "at the peak", sum.seconds > 0 ? "time" : "");
  for (std::size_t i = 0; i < totals.size(); ++i)
    if (i < most) out += line(totals[i].what.empty() ? "other" : totals[i].what, totals[i]);
    else add(rest, totals[i]);
  if (totals.size() > most) out += line(fmt::format("{} more", totals.size() - most), rest);
  return out;
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
  if (seconds >= 0) out += fmt::format("time    {}{}\n", readable_time(seconds), time_of_steps(*this));
  out += budget_text(plan);
  if (steps.empty()) return out;
  if (plan.arena_bytes) out += "alive in the arena, step by step:\n" + chart(steps, plan.arena_bytes);
  out += step_table(*this);
  out += totals_text("by line", totals(By::line)) + totals_text("by function", totals(By::function));
  const std::vector<Total> paths = totals(By::path);
  if (paths.size() > 1 || !paths[0].what.empty()) out += totals_text("by argument", paths);
  return trimmed(out);
}

std::ostream& operator<<(std::ostream& os, const MemoryReport& report) { return os << report.str(); }

}  // namespace anew
