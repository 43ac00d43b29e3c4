// A memory report as one page of HTML that needs nothing from elsewhere, and no script: a map of the arena (steps to
// the right, addresses upwards; hovering says what a piece is, a click goes to the line that made it), totals, the
// table of steps, and the lines of the user's files. Drawings stretch to the width there is, their labels are text
// beside them, so that the page is read on a telephone as on a screen; colours follow the reader's choice of light or
// dark.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "inspect/report_rows.h"
#include "jit/describe.h"

namespace anew {
namespace {

using compiled::readable_bytes;
std::string readable_bytes(std::size_t bytes) { return readable_bytes(static_cast<double>(bytes)); }

constexpr const char* style = R"(
:root { color-scheme: light dark; --text: #1d2330; --soft: #5a6378; --line: #dfe3ec; --back: #fff; --panel: #f5f7fa;
  --mark: #fff3bf; --link: #1c5bb8; --c0: #4e79a7; --c1: #f28e2b; --c2: #59a14f; --c3: #e15759; --c4: #76b7b2;
  --c5: #d9b92f; --c6: #b07aa1; --c7: #9c755f; --c8: #e58fa0; --c9: #aab2bf; --scratch: #7b8494; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9f0; --soft: #9aa4b8; --line: #333b4b; --back: #14171e; --panel: #1c212b; --mark: #4a4213;
    --link: #86b4ff; --c9: #6b7383; --scratch: #8a93a5; } }
* { box-sizing: border-box; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5em auto; max-width: 84em; padding: 0 1em; color: var(--text);
  background: var(--back); }
h1 { font-size: 1.4em; margin: 0 0 .4em; } h2 { font-size: 1.1em; margin: 2em 0 .5em; } h3 { font-size: 1em; }
p { margin: .4em 0; color: var(--soft); } a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .15em .4em; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; } td, h3 { overflow-wrap: anywhere; }
td:first-child, th:first-child, .left { text-align: left; }
td.size, td.left { white-space: nowrap; }
.bar { display: flex; height: 1.4em; background: var(--panel); } .bar div { height: 100%; }
.fill { height: .5em; background: var(--c0); min-width: 1px; }
.legend { display: flex; flex-wrap: wrap; gap: .2em 1.2em; margin: .6em 0; padding: 0; list-style: none; }
.legend i { display: inline-block; width: .9em; height: .9em; margin-right: .4em; vertical-align: -.1em; }
.figures { display: flex; flex-wrap: wrap; gap: .4em 2em; margin: .6em 0; }
.figures b { display: block; font-size: 1.15em; }
.chart { display: grid; grid-template-columns: auto 1fr; gap: 0 .5em; }
.scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; color: var(--soft);
  font-size: .85em; white-space: nowrap; }
.chart svg { width: 100%; height: 22em; background: var(--panel); display: block; }
.chart rect { stroke: var(--back); stroke-width: .5; vector-effect: non-scaling-stroke; }
.chart rect:hover { stroke: var(--text); stroke-width: 2; }
.chart path { fill: none; stroke: var(--text); stroke-width: 1.5; vector-effect: non-scaling-stroke;
  pointer-events: none; }
.chart path.grid { stroke: var(--line); stroke-width: 1; } .chart path.peak { stroke-dasharray: 4 3; stroke-width: 1; }
.loops { position: relative; grid-column: 2; } .ends { grid-column: 2; display: flex; justify-content: space-between;
  color: var(--soft); font-size: .85em; }
.loops a { position: absolute; height: 1.5em; overflow: hidden; white-space: nowrap; font-size: .8em; padding: 0 .3em;
  color: var(--text); border: 1px solid var(--soft); border-top: 0; border-radius: 0 0 3px 3px; }
.curve svg { height: 12em; } .dots { position: relative; } .dots i { position: absolute; width: .5em; height: .5em;
  margin: -.25em; border-radius: 50%; background: var(--c0); }
.dots i.chosen { width: 1em; height: 1em; margin: -.5em; background: var(--c3); border: 2px solid var(--back); }
.totals { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22em, 100%), 1fr)); gap: 0 2em; }
.what small, .soft { color: var(--soft); } .fullest td { background: var(--mark); }
.code td { border: 0; padding: 0 .4em; } .code td:first-child { text-align: right; color: var(--soft); width: 3em; }
.code td:nth-child(2), .code td:nth-child(3) { width: 5.5em; white-space: nowrap; color: var(--soft);
  font-size: .85em; }
.code td:last-child { text-align: left; font: 12.5px/1.5 ui-monospace, monospace; white-space: pre-wrap; }
.code tr.made { background: var(--panel); } .code tr:target, tr:target > td { background: var(--mark); }
.code tr { scroll-margin-top: 30vh; }
@media (max-width: 700px) { .wide { display: none; } .chart svg { height: 15em; } body { padding: 0 .6em; }
  .code td:nth-child(2), .code td:nth-child(3) { width: 4.6em; } }
)";
constexpr std::size_t colours = 9;  // one more is for all the rest

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

using Place = std::pair<std::string, int>;  // a file and a line
Place place(const SourceLine& line) { return {line.file, line.line}; }

class Page {
 public:
  explicit Page(const MemoryReport& r) : r_(r), by_line_(r.totals(MemoryReport::By::line)) {
    for (std::size_t i = 0; i < r.steps.size(); ++i) {
      start_.push_back(ends_);
      ends_ += !has_rows_below(r.steps, i);
    }
    start_.push_back(ends_);
    auto know = [&](const SourceLine& line) {
      if (line.line) totals_.try_emplace(place(line)), add_file(line.file);
    };
    for (const MemoryReport::Step& s : r.steps) know(s.line);
    for (const MemoryReport::Piece& p : r.pieces) know(p.line);
    for (const Recomputed& x : r.plan.recomputed) know(x.at.line() ? source_line(x.at) : SourceLine{});
    for (const LiveValue& x : r.plan.offloaded) know(x.at.line() ? source_line(x.at) : SourceLine{});
    for (const MemoryReport::Total& t : by_line_)
      if (t.line.line) add(totals_[place(t.line)], t);
    for (const MemoryReport::Source& s : r.sources) add_file(s.file);
    rank_lines();
  }

  std::string str() {
    out_ = fmt::format(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Memory report</title>\n"
        "<style>{}{}</style>\n</head>\n<body>\n",
        style, legend_style());
    summary();
    if (r_.plan.arena_bytes && !r_.steps.empty()) map();
    if (r_.budget_curve.size() > 1) curve();
    if (!r_.plan.recomputed.empty()) recomputed();
    if (!r_.plan.offloaded.empty()) offloaded();
    if (!r_.steps.empty()) {
      out_ +=
          "<h2>Totals</h2>\n<p>What is alive where the arena is fullest, and the time of the steps.</p>\n"
          "<div class=\"totals\">\n";
      totals("line", by_line_);
      totals("function", r_.totals(MemoryReport::By::function));
      totals("argument", r_.totals(MemoryReport::By::path));
      out_ += "</div>\n<h2>Steps</h2>\n";
      steps();
    }
    if (!totals_.empty()) sources();
    return std::move(out_) + "</body>\n</html>\n";
  }

 private:
  static void add(MemoryReport::Total& to, const MemoryReport::Total& t) {
    to.bytes += t.bytes;
    to.seconds += t.seconds;
  }
  void add_file(const std::string& file) { files_.emplace(file, files_.size()); }
  std::string anchor(const SourceLine& line) const { return fmt::format("L{}-{}", files_.at(line.file), line.line); }
  std::string link(const SourceLine& line, const std::string& text) const {
    if (line.line == 0) return escaped(text);
    return fmt::format("<a href=\"#{}\">{}</a>", anchor(line), escaped(text));
  }
  static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }
  static double percent(std::size_t part, std::size_t whole) {
    return percent(static_cast<double>(part), static_cast<double>(whole));
  }

  // The lines that fill most of the map have colours of their own.
  void rank_lines() {
    std::map<std::string, double> area;
    for (const MemoryReport::Piece& p : r_.pieces)
      if (p.line.line && !p.type.empty()) area[key(p)] += static_cast<double>(p.bytes) * static_cast<double>(width(p));
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [line, size] : area) order.emplace_back(-size, line);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < std::min(colours, order.size()); ++i) colour_.emplace(order[i].second, i);
  }
  // What has a colour of its own.
  static std::string key(const MemoryReport::Piece& p) { return line_text(p.line) + (p.backward ? ", backward" : ""); }
  std::size_t width(const MemoryReport::Piece& p) const { return start_[p.last + 1] - start_[p.first]; }
  std::string colour(const MemoryReport::Piece& p) const {
    if (p.type.empty()) return "scratch";
    auto it = colour_.find(key(p));
    return fmt::format("c{}", it == colour_.end() ? colours : it->second);
  }
  // Colours, and what the mouse on an entry of the legend leaves.
  static std::string legend_style() {
    std::string out;
    auto one = [&](const std::string& name) {
      out += fmt::format(
          ".{0} {{ fill: var(--{0}); background: var(--{0}); }}\n"
          "figure:has(.legend .{0}:hover) rect:not(.{0}) {{ opacity: .15; }}\n",
          name);
    };
    for (std::size_t i = 0; i <= colours; ++i) one(fmt::format("c{}", i));
    one("scratch");
    return out;
  }

  void figure(const std::string& name, const std::string& value) {
    out_ += fmt::format("<div>{}<b>{}</b></div>\n", name, value);
  }
  void summary() {
    const MemoryPlan& p = r_.plan;
    out_ += fmt::format("<h1>{} at the peak</h1>\n<div class=\"bar\">", readable_bytes(p.peak_bytes));
    const std::tuple<const char*, std::size_t, const char*> parts[] = {{"arguments", p.argument_bytes, "c0"},
                                                                       {"constants", p.constant_bytes, "c6"},
                                                                       {"outputs", p.output_bytes, "c2"},
                                                                       {"arena", p.arena_bytes, "c1"}};
    std::string legend;
    for (const auto& [name, bytes, colour] : parts) {
      out_ += fmt::format("<div class=\"{}\" style=\"width: {:.2f}%\" title=\"{}: {} bytes\"></div>", colour,
                          percent(bytes, p.peak_bytes), name, readable_count(bytes));
      legend += fmt::format("<li><i class=\"{}\"></i>{} {}</li>", colour, name, readable_bytes(bytes));
    }
    out_ += fmt::format("</div>\n<ul class=\"legend\">{}</ul>\n<div class=\"figures\">\n", legend);
    figure("planned", readable_count(p.peak_bytes) + " bytes");
    if (r_.measured_bytes) figure("measured", readable_count(r_.measured_bytes) + " bytes");
    if (r_.seconds >= 0) figure("a call takes", readable_time(r_.seconds));
    if (p.donated_bytes) figure("results in donated arguments", readable_bytes(p.donated_bytes));
    if (p.disk_bytes) figure("on disk", readable_bytes(p.disk_bytes));
    if (p.extra_time > 0)
      figure(compiled::moves_values(p) ? "recomputed and moved" : "recomputed", more_time(p.extra_time));
    if (p.extra_time > 0) figure("any plan within the budget", "at least " + more_time(p.extra_time_bound));
    out_ += "</div>\n";
  }

  // ---- the map

  double y(std::size_t offset) const {
    return 1000 * (1 - static_cast<double>(offset) / static_cast<double>(r_.plan.arena_bytes));
  }
  void map() {
    const std::size_t fullest = fullest_row(r_.steps);
    const MemoryReport::Step& at = r_.steps[fullest];
    out_ += fmt::format(
        "<h2>Memory over time</h2>\n<p>The arena: steps to the right, addresses upwards; the line is what is alive, "
        "most "
        "at <a href=\"#S{}\">step {}</a>, {}. Arguments, constants and outputs come on top of it.</p>\n"
        "<figure style=\"margin: 0\">\n<div class=\"chart\">\n<div class=\"scale\">",
        fullest, fullest, escaped(at.what));
    for (int tick = 4; tick >= 0; --tick)
      out_ += fmt::format("<span>{}</span>", readable_bytes(r_.plan.arena_bytes / 4 * static_cast<std::size_t>(tick)));
    out_ += fmt::format(
        "</div>\n<svg viewBox=\"0 0 {0} 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"bytes alive in "
        "the "
        "arena\">\n<path class=\"grid\" d=\"M0 250H{0}M0 500H{0}M0 750H{0}\"/>\n",
        ends_);
    for (const MemoryReport::Piece& p : r_.pieces) piece(p);
    std::string line;
    for (std::size_t i = 0; i < r_.steps.size(); ++i)
      if (!has_rows_below(r_.steps, i))
        line += fmt::format("{}{} {:.1f}H{}", line.empty() ? "M" : "L", start_[i], y(r_.steps[i].live_bytes),
                            start_[i] + 1);
    out_ += fmt::format("<path d=\"{}\"/>\n<path class=\"peak\" d=\"M{:.1f} 0V1000\"/>\n</svg>\n", line,
                        static_cast<double>(start_[fullest]) + 0.5);
    loops();
    out_ += fmt::format("<div class=\"ends\"><span>first step</span><span>last of {}</span></div>\n</div>\n", ends_);
    legend();
    out_ += "</figure>\n";
  }
  void piece(const MemoryReport::Piece& p) {
    std::string title = fmt::format("{} {}\n{} ({} bytes at {})", p.what, p.type, readable_bytes(p.bytes),
                                    readable_count(p.bytes), readable_count(p.offset));
    for (const std::string& more : {p.path, line_text(p.line), p.callers})
      if (!more.empty()) title += "\n" + more;
    const std::string rect = fmt::format(
        "<rect class=\"{}\" x=\"{}\" y=\"{:.2f}\" width=\"{}\" height=\"{:.2f}\"><title>{}</title></rect>", colour(p),
        start_[p.first], y(p.offset + p.bytes), width(p), y(p.offset) - y(p.offset + p.bytes), escaped(title));
    out_ += p.line.line ? fmt::format("<a href=\"#{}\">{}</a>\n", anchor(p.line), rect) : rect + "\n";
  }
  // Loops and branches, as brackets below their steps.
  void loops() {
    int deepest = -1;
    std::string brackets;
    for (std::size_t i = 0; i < r_.steps.size(); ++i) {
      if (!has_rows_below(r_.steps, i)) continue;
      const MemoryReport::Step& s = r_.steps[i];
      std::size_t end = i + 1;
      while (end < r_.steps.size() && r_.steps[end].depth > s.depth) ++end;
      deepest = std::max(deepest, s.depth);
      brackets +=
          fmt::format("<a href=\"#S{}\" style=\"left: {:.3f}%; width: {:.3f}%; top: {:.1f}em\" title=\"{}\">{}</a>\n",
                      i, percent(start_[i], ends_), percent(start_[end] - start_[i], ends_), 1.2 * s.depth,
                      escaped(s.what + "\n" + line_text(s.line)), escaped(s.what));
    }
    if (deepest >= 0)
      out_ += fmt::format("<div class=\"loops\" style=\"height: {:.1f}em\">\n{}</div>\n", 1.2 * (deepest + 1) + 0.3,
                          brackets);
  }
  void legend() {
    std::map<std::string, std::size_t> used;  // bytes at the peak, by colour
    const std::size_t fullest = fullest_row(r_.steps);
    for (const MemoryReport::Piece& p : r_.pieces)
      used[colour(p)] += p.first <= fullest && fullest <= p.last ? p.bytes : 0;
    std::vector<std::string> names(colours);
    for (const auto& [line, i] : colour_) names[i] = line;
    out_ += "<ul class=\"legend\">";
    for (const auto& [name, bytes] : used) {
      const std::size_t i = name == "scratch" ? colours : static_cast<std::size_t>(std::stoi(name.substr(1)));
      const std::string text = name == "scratch" ? "scratch and buffers" : i == colours ? "other lines" : names[i];
      out_ += fmt::format("<li class=\"key\"><i class=\"{}\"></i>{}, {} at the peak</li>", name, escaped(text),
                          readable_bytes(bytes));
    }
    out_ += "</ul>\n";
  }

  // ---- budgets

  static std::string more_time(double part) { return fmt::format("+{:.{}f} %", 100 * part, part < 0.0995 ? 2 : 1); }
  // Bytes to the right, time upwards: plans that keep everything are at the lower right.
  void curve() {
    const std::vector<BudgetPoint>& points = r_.budget_curve;
    const auto least = static_cast<double>(points.back().peak_bytes), most = static_cast<double>(points[0].peak_bytes);
    const double top = std::max(points.back().extra_time, 1e-9);
    auto x = [&](double bytes) { return percent(bytes - least, most - least); };
    auto y = [&](double time) { return 100 - percent(time, top); };
    std::string found, bound, dots;
    for (const BudgetPoint& p : points) {
      const auto bytes = static_cast<double>(p.peak_bytes);
      const char* to = found.empty() ? "M" : "L";
      found += fmt::format("{}{:.2f} {:.2f}", to, x(bytes), y(p.extra_time));
      bound += fmt::format("{}{:.2f} {:.2f}", to, x(bytes), y(p.extra_time_bound));
      dots += fmt::format("<i style=\"left: {:.2f}%; top: {:.2f}%\" title=\"{}, {}\"></i>", x(bytes), y(p.extra_time),
                          readable_bytes(p.peak_bytes), more_time(p.extra_time));
    }
    const auto chosen = static_cast<double>(r_.plan.peak_bytes);
    if (chosen >= least && chosen <= most)
      dots += fmt::format("<i class=\"chosen\" style=\"left: {:.2f}%; top: {:.2f}%\" title=\"this plan: {}, {}\"></i>",
                          x(chosen), y(r_.plan.extra_time), readable_bytes(r_.plan.peak_bytes),
                          more_time(r_.plan.extra_time));
    out_ += fmt::format(
        "<h2>Memory against time</h2>\n<p>Peaks to the right, modelled time of recomputation upwards; dashed: no plan "
        "is "
        "below. The large dot is this plan.</p>\n<div class=\"chart curve\">\n<div class=\"scale\"><span>{}</span>"
        "<span>{}</span><span>+0 %</span></div>\n<div class=\"dots\"><svg viewBox=\"0 0 100 100\" "
        "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"memory against time\">\n<path d=\"{}\"/>\n"
        "<path class=\"peak\" d=\"{}\"/>\n</svg>{}</div>\n<div class=\"ends\"><span>{}</span><span>{}</span></div>\n"
        "</div>\n",
        more_time(top), more_time(top / 2), found, bound, dots, readable_bytes(points.back().peak_bytes),
        readable_bytes(points[0].peak_bytes));
  }
  void recomputed() {
    out_ +=
        "<h2>Recomputed</h2>\n<table>\n<tr><th>step</th><th class=\"left\">line</th><th>again</th><th>time</th></tr>\n";
    for (const Recomputed& r : r_.plan.recomputed) {
      const SourceLine line = r.at.line() ? source_line(r.at) : SourceLine{};
      out_ += fmt::format(
          "<tr><td>{}</td><td class=\"left\">{}</td><td class=\"size\">{} x</td><td class=\"size\">{}</td></tr>\n",
          escaped(r.what), link(line, line_text(line)), r.times, more_time(r.extra_time));
    }
    out_ += "</table>\n";
  }

  void offloaded() {
    out_ += "<h2>On disk</h2>\n<table>\n<tr><th>value</th><th class=\"left\">line</th><th>bytes</th></tr>\n";
    for (const LiveValue& v : r_.plan.offloaded) {
      const SourceLine line = v.at.line() ? source_line(v.at) : SourceLine{};
      out_ += fmt::format("<tr><td>{} {}</td><td class=\"left\">{}</td><td class=\"size\">{}</td></tr>\n",
                          escaped(v.what), v.type.str(), link(line, line_text(line)), readable_bytes(v.bytes));
    }
    out_ += "</table>\n";
  }

  // ---- tables

  void totals(const std::string& by, const std::vector<MemoryReport::Total>& list) {
    constexpr std::size_t most = 12;
    if (list.size() == 1 && list[0].what.empty()) return;
    const std::vector<MemoryReport::Total> few = list.size() > most ? together(list) : list;
    MemoryReport::Total sum;
    for (const MemoryReport::Total& t : list) add(sum, t);
    auto table = [&](const std::vector<MemoryReport::Total>& rows) {
      out_ += fmt::format("<table>\n<tr><th>by {}</th><th>at the peak</th><th>time</th></tr>\n", by);
      for (const MemoryReport::Total& t : rows)
        out_ += fmt::format(
            "<tr><td>{}<div class=\"fill\" style=\"width: {:.1f}%\"></div></td><td class=\"size\">{}</td>"
            "<td class=\"size\">{}</td></tr>\n",
            t.what.empty() ? "other" : link(t.line, t.what), percent(t.bytes, sum.bytes), readable_bytes(t.bytes),
            sum.seconds > 0 ? readable_time(t.seconds) : "");
      out_ += fmt::format(
          "<tr class=\"soft\"><td>all</td><td class=\"size\">{}</td><td class=\"size\">{}</td></tr>\n</table>\n",
          readable_bytes(sum.bytes), sum.seconds > 0 ? readable_time(sum.seconds) : "");
    };
    out_ += "<div>\n";
    table(few);
    if (few.size() < list.size()) {
      out_ += fmt::format("<details><summary>all {} of them</summary>\n", list.size());
      table(list);
      out_ += "</details>\n";
    }
    out_ += "</div>\n";
  }

  static std::string rate(double amount, double seconds) {
    if (amount <= 0 || seconds <= 0) return "";
    const double r = amount / seconds * 1e-9;
    return r < 0.01 ? "0.00" : fmt::format("{:.{}f}", r, r < 9.95 ? 2 : 0);
  }
  void steps() {
    out_ +=
        "<table>\n<tr><th>step</th><th class=\"left wide\">line</th><th class=\"wide\">runs</th><th>time</th>"
        "<th class=\"wide\">moved</th><th class=\"wide\">GB/s</th><th class=\"wide\">GF/s</th><th>alive</th></tr>\n";
    double inside = 0;
    const std::size_t fullest = fullest_row(r_.steps);
    for (std::size_t i = 0; i < r_.steps.size(); ++i) {
      const MemoryReport::Step& s = r_.steps[i];
      if (s.depth == 0) inside += std::max(0.0, s.seconds);
      step(i, s, i == fullest);
    }
    if (r_.seconds >= 0)
      out_ += fmt::format(
          "<tr class=\"soft\"><td>outside of steps</td><td class=\"wide\"></td><td class=\"wide\"></td>"
          "<td class=\"size\">{}</td><td class=\"wide\" colspan=\"3\"></td><td></td></tr>\n",
          readable_time(std::max(0.0, r_.seconds - inside)));
    out_ += "</table>\n";
  }
  void step(std::size_t i, const MemoryReport::Step& s, bool fullest) {
    std::string operations;
    for (const MemoryReport::Operation& o : s.operations)
      operations += (operations.empty() ? "" : "\n") + o.what + "  " + line_text(o.line);
    std::string about = escaped(s.type);
    for (const std::string& more : {s.path, s.callers})
      if (!more.empty()) about += (about.empty() ? "" : ", ") + escaped(more);
    out_ += fmt::format(
        "<tr id=\"S{}\"{}><td class=\"what\" style=\"padding-left: {:.1f}em\" title=\"{}\">{} <small>{}</small></td>"
        "<td class=\"left wide\">{}</td><td class=\"wide\">{}</td><td class=\"size\">{}</td>"
        "<td class=\"size wide\">{}</td><td class=\"wide\">{}</td><td class=\"wide\">{}</td>"
        "<td class=\"size\">{}<div class=\"fill\" style=\"width: {:.1f}%\"></div></td></tr>\n",
        i, fullest ? " class=\"fullest\"" : "", 0.4 + 1.2 * s.depth, escaped(operations),
        s.line.line ? link(s.line, s.what) : escaped(s.what), about, link(s.line, line_text(s.line)),
        s.runs < 0 ? "" : std::to_string(s.runs), s.runs == 0 ? "not run" : readable_time(s.seconds),
        s.bytes > 0 ? readable_bytes(s.bytes) : "", rate(s.bytes, s.seconds), rate(s.flops, s.seconds),
        readable_bytes(s.live_bytes), percent(s.live_bytes, r_.plan.arena_bytes));
  }

  // ---- the user's files

  void sources() {
    std::map<Place, std::string> lines;  // with their text, where it could be read
    for (const MemoryReport::Source& s : r_.sources) lines.emplace(Place(s.file, s.line), s.text);
    for (const auto& [at, total] : totals_) lines.try_emplace(at);
    out_ += "<h2>Source</h2>\n";
    const Place* last = nullptr;
    for (const auto& [at, text] : lines) {
      if (!last || last->first != at.first) {
        out_ += fmt::format("{}<h3>{}</h3>\n<table class=\"code\">\n", last ? "</table>\n" : "", escaped(at.first));
        out_ += "<tr class=\"soft\"><td></td><td>at the peak</td><td>time</td><td></td></tr>\n";
      } else if (last->second + 1 != at.second) {
        out_ += "<tr class=\"soft\"><td>⋯</td><td></td><td></td><td></td></tr>\n";
      }
      last = &at;
      auto total = totals_.find(at);
      const bool made = total != totals_.end();
      out_ += fmt::format("<tr id=\"L{}-{}\"{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                          files_.at(at.first), at.second, made ? " class=\"made\"" : "", at.second,
                          made && total->second.bytes ? readable_bytes(total->second.bytes) : "",
                          made && total->second.seconds > 0 ? readable_time(total->second.seconds) : "", escaped(text));
    }
    out_ += "</table>\n";
  }

  const MemoryReport& r_;
  std::string out_;
  std::vector<MemoryReport::Total> by_line_;
  std::map<Place, MemoryReport::Total> totals_;
  std::map<std::string, std::size_t> files_, colour_;  // numbers of files, of lines that have colours
  std::vector<std::size_t> start_;  // of each row: how many steps without others below them come before it
  std::size_t ends_ = 0;            // how many there are
};

}  // namespace

std::string MemoryReport::html() const { return Page(*this).str(); }

}  // namespace anew
