// A memory report as JSON, and as one page of HTML that needs nothing from elsewhere: a map of the arena (steps to the
// right, addresses upwards, every piece says on hovering what it is and which line made it) above the table of steps.
#include <anew/report.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jit/describe.h"

namespace anew {
namespace {

using compiled::readable_bytes;

// ---- JSON

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else out += c;
  }
  return out + "\"";
}
std::string number(double x) { return x < 0 || !std::isfinite(x) ? "null" : fmt::format("{}", x); }
std::string line_json(const SourceLine& line) {
  if (line.line == 0) return "null";
  return fmt::format("{{\"file\": {}, \"line\": {}, \"function\": {}}}", quoted(line.file), line.line,
                     quoted(line.function));
}

template <class List, class F>
std::string json_list(const List& list, F item) {
  std::string out;
  for (const auto& x : list) out += (out.empty() ? "\n    " : ",\n    ") + item(x);
  return out.empty() ? "[]" : "[" + out + "\n  ]";
}

// ---- HTML

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
std::string line_text(const SourceLine& line) { return line.line == 0 ? "" : line.str(); }

// The same operation of the same line has the same colour everywhere.
int hue(const MemoryReport::Piece& p) {
  unsigned h = 2166136261u;
  for (char c : p.what + line_text(p.line)) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<int>(h % 360);
}

constexpr const char* style = R"(
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #1d2330; }
h1 { font-size: 1.3em; } h2 { font-size: 1.05em; margin-top: 1.8em; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .15em .6em; text-align: right; border-bottom: 1px solid #e4e7ee; white-space: nowrap; }
th { color: #5a6378; font-weight: 600; }
td:nth-child(-n+3), th:nth-child(-n+3) { text-align: left; }
td.what { max-width: 28em; overflow: hidden; text-overflow: ellipsis; }
td.bar { min-width: 9em; } td.bar div { background: #7d9be0; height: .8em; }
.plan td:first-child { width: 9em; } .plan { width: auto; }
svg { width: 100%; height: auto; background: #f7f8fb; }
svg rect.piece:hover { stroke: #000; stroke-width: 1.5; }
svg text { font: 11px system-ui, sans-serif; fill: #5a6378; }
)";

// Coordinates of the map.
struct Map {
  static constexpr double left = 70, top = 10, width = 1100, height = 380;
  std::size_t steps, bytes;
  double x(std::size_t step) const { return left + width * static_cast<double>(step) / static_cast<double>(steps); }
  double y(std::size_t offset) const {
    return top + height * (1 - static_cast<double>(offset) / static_cast<double>(bytes));
  }
};

std::string arena_map(const MemoryReport& r) {
  const Map map{r.steps.size(), r.plan.arena_bytes};
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"bytes alive in the arena\">\n",
                                map.left + map.width + 20, map.top + map.height + 30);
  for (int tick = 0; tick <= 4; ++tick) {
    const std::size_t at = r.plan.arena_bytes * static_cast<std::size_t>(tick) / 4;
    out += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#d8dce6\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        map.left, map.left + map.width, map.y(at), map.left - 6, map.y(at) + 4,
        readable_bytes(static_cast<double>(at)));
  }
  for (const MemoryReport::Piece& p : r.pieces) {
    const double x = map.x(p.first), y = map.y(p.offset + p.bytes);
    out += fmt::format(
        "<rect class=\"piece\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
        "fill=\"hsl({} 55% {}%)\" stroke=\"#fff\" stroke-width=\".5\"><title>{} {}\n{} bytes at {}, steps {} to {}\n{}"
        "</title></rect>\n",
        x, y, map.x(p.last + 1) - x, map.y(p.offset) - y, hue(p), p.type.empty() ? 85 : 70, escaped(p.what),
        escaped(p.type), p.bytes, p.offset, p.first, p.last, escaped(line_text(p.line)));
  }
  std::string line;
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    line += fmt::format("{}{:.2f},{:.2f} {:.2f},{:.2f}", i ? " " : "", map.x(i), map.y(r.steps[i].live_bytes),
                        map.x(i + 1), map.y(r.steps[i].live_bytes));
  out += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"#1d2330\" stroke-width=\"1.2\" "
      "pointer-events=\"none\"/>\n",
      line);
  out += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\">step 0</text><text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">step "
      "{}</text>\n</svg>\n",
      map.left, map.top + map.height + 18, map.left + map.width, map.top + map.height + 18, r.steps.size() - 1);
  return out;
}

std::string cell(const std::string& text) { return "<td>" + text + "</td>"; }
std::string cell(double value, double scale) {
  return value < 0 || !std::isfinite(value * scale) ? "<td></td>" : fmt::format("<td>{:.4g}</td>", value * scale);
}

std::string table(const MemoryReport& r) {
  std::string out =
      "<table>\n<tr><th>#</th><th>step</th><th>line</th><th>runs</th><th>time, us</th><th>moved, KiB</th><th>GB/s</th>"
      "<th>GF/s</th><th>alive, bytes</th><th></th></tr>\n";
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const MemoryReport::Step& s = r.steps[i];
    const double per_second = s.seconds > 0 ? 1e-9 / s.seconds : NAN;
    std::string operations;
    for (const MemoryReport::Operation& o : s.operations)
      operations += (operations.empty() ? "" : "\n") + o.what + "  " + line_text(o.line);
    out += fmt::format("<tr><td>{}</td><td class=\"what\" style=\"padding-left: {}em\" title=\"{}\">{} {}</td>", i,
                       0.6 + 1.2 * s.depth, escaped(operations), escaped(s.what), escaped(s.type));
    out += cell(escaped(line_text(s.line))) + cell(static_cast<double>(s.runs), 1) + cell(s.seconds, 1e6) +
           cell(s.bytes, 1.0 / 1024) + cell(s.bytes, per_second) + cell(s.flops, per_second);
    out += fmt::format(
        "<td>{}</td><td class=\"bar\"><div style=\"width: {:.1f}%\"></div></td></tr>\n", s.live_bytes,
        r.plan.arena_bytes ? 100 * static_cast<double>(s.live_bytes) / static_cast<double>(r.plan.arena_bytes) : 0.0);
  }
  return out + "</table>\n";
}

}  // namespace

std::string MemoryReport::json() const {
  std::string live = json_list(plan.live, [](const LiveValue& v) {
    return fmt::format("{{\"what\": {}, \"type\": {}, \"bytes\": {}, \"line\": {}, \"inside\": {}}}", quoted(v.what),
                       v.scratch ? "null" : quoted(v.type.str()), v.bytes,
                       line_json(v.at.line() ? source_line(v.at) : SourceLine{}), quoted(v.inside));
  });
  std::string out = fmt::format(
      "{{\n  \"peak_bytes\": {},\n  \"argument_bytes\": {},\n  \"constant_bytes\": {},\n  \"output_bytes\": {},\n"
      "  \"arena_bytes\": {},\n  \"measured_bytes\": {},\n  \"seconds\": {},\n  \"live\": {},\n",
      plan.peak_bytes, plan.argument_bytes, plan.constant_bytes, plan.output_bytes, plan.arena_bytes,
      measured_bytes ? std::to_string(measured_bytes) : "null", number(seconds), live);
  out +=
      "  \"steps\": " + json_list(steps, [](const Step& s) {
        std::string operations;
        for (const Operation& o : s.operations)
          operations += fmt::format("{}{{\"what\": {}, \"line\": {}}}", operations.empty() ? "" : ", ", quoted(o.what),
                                    line_json(o.line));
        return fmt::format(
            "{{\"depth\": {}, \"what\": {}, \"type\": {}, \"line\": {}, \"runs\": {}, \"seconds\": {}, \"bytes\": {}, "
            "\"flops\": {}, \"live_bytes\": {}, \"operations\": [{}]}}",
            s.depth, quoted(s.what), quoted(s.type), line_json(s.line), number(static_cast<double>(s.runs)),
            number(s.seconds), number(s.bytes), number(s.flops), s.live_bytes, operations);
      });
  out +=
      ",\n  \"pieces\": " + json_list(pieces, [](const Piece& p) {
        return fmt::format(
            "{{\"what\": {}, \"type\": {}, \"line\": {}, \"offset\": {}, \"bytes\": {}, \"first\": {}, \"last\": {}}}",
            quoted(p.what), p.type.empty() ? "null" : quoted(p.type), line_json(p.line), p.offset, p.bytes, p.first,
            p.last);
      });
  return out + "\n}\n";
}

std::string MemoryReport::html() const {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Memory report</title>\n<style>{}"
      "</style>\n</head>\n<body>\n<h1>{} at the peak</h1>\n<table class=\"plan\">\n",
      style, readable_bytes(static_cast<double>(plan.peak_bytes)));
  auto line = [&](const char* what, std::size_t bytes) {
    out += fmt::format("<tr><td>{}</td><td>{} bytes</td><td>{}</td></tr>\n", what, bytes,
                       readable_bytes(static_cast<double>(bytes)));
  };
  line("arguments", plan.argument_bytes);
  line("constants", plan.constant_bytes);
  line("outputs", plan.output_bytes);
  line("arena", plan.arena_bytes);
  line("planned", plan.peak_bytes);
  if (measured_bytes) line("measured", measured_bytes);
  if (seconds >= 0) out += fmt::format("<tr><td>time</td><td>{:.4g} us</td><td></td></tr>\n", seconds * 1e6);
  out += "</table>\n";
  if (plan.arena_bytes && !steps.empty())
    out += "<h2>The arena</h2>\n<p>Steps to the right, addresses upwards; the line is what is alive.</p>\n" +
           arena_map(*this);
  out += "<h2>Steps</h2>\n" + table(*this);
  return out + "</body>\n</html>\n";
}

}  // namespace anew
