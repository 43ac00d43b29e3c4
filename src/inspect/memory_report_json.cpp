// A memory report as JSON: the same names as in C++, null where nothing is known.
#include <anew/report.h>
#include <fmt/format.h>

#include <cmath>

namespace anew {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else out += c;
  }
  return out + "\"";
}
std::string text(const std::string& s) { return s.empty() ? "null" : quoted(s); }
std::string number(double x) { return x < 0 || !std::isfinite(x) ? "null" : fmt::format("{}", x); }
std::string number(std::size_t x) { return std::to_string(x); }

using Fields = std::initializer_list<std::pair<const char*, std::string>>;
std::string object(Fields fields) {
  std::string out;
  for (const auto& [name, value] : fields) out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", name, value);
  return "{" + out + "}";
}
template <class List, class F>
std::string list(const List& items, F item, std::string_view separator = ",\n    ") {
  std::string out;
  for (const auto& x : items) out.append(out.empty() ? "" : separator) += item(x);
  if (out.empty()) return "[]";
  return separator == ", " ? "[" + out + "]" : "[\n    " + out + "\n  ]";
}

std::string line_json(const SourceLine& line) {
  if (line.line == 0) return "null";
  return object(
      {{"file", quoted(line.file)}, {"line", std::to_string(line.line)}, {"function", quoted(line.function)}});
}
std::string line_json(const Location& at) { return line_json(at.line() ? source_line(at) : SourceLine{}); }

std::string json(const LiveValue& v) {
  return object({{"what", quoted(v.what)},
                 {"type", v.scratch ? "null" : quoted(v.type.str())},
                 {"bytes", number(v.bytes)},
                 {"line", line_json(v.at)},
                 {"inside", quoted(v.inside)},
                 {"path", text(v.path)},
                 {"callers", text(v.callers)}});
}
std::string json(const MemoryReport::Step& s) {
  auto operation = [](const MemoryReport::Operation& o) {
    return object({{"what", quoted(o.what)}, {"line", line_json(o.line)}});
  };
  return object({{"depth", std::to_string(s.depth)},
                 {"what", quoted(s.what)},
                 {"type", quoted(s.type)},
                 {"line", line_json(s.line)},
                 {"path", text(s.path)},
                 {"callers", text(s.callers)},
                 {"runs", number(static_cast<double>(s.runs))},
                 {"seconds", number(s.seconds)},
                 {"bytes", number(s.bytes)},
                 {"flops", number(s.flops)},
                 {"live_bytes", number(s.live_bytes)},
                 {"operations", list(s.operations, operation, ", ")}});
}
std::string json(const MemoryReport::Piece& p) {
  return object({{"what", quoted(p.what)},
                 {"type", text(p.type)},
                 {"line", line_json(p.line)},
                 {"path", text(p.path)},
                 {"callers", text(p.callers)},
                 {"backward", p.backward ? "true" : "false"},
                 {"offset", number(p.offset)},
                 {"bytes", number(p.bytes)},
                 {"first", number(p.first)},
                 {"last", number(p.last)}});
}
std::string json(const MemoryReport::Total& t) {
  return object({{"what", text(t.what)}, {"bytes", number(t.bytes)}, {"seconds", number(t.seconds)}});
}
std::string json(const Recomputed& r) {
  return object({{"what", quoted(r.what)},
                 {"line", line_json(r.at)},
                 {"times", std::to_string(r.times)},
                 {"extra_time", number(r.extra_time)}});
}
std::string json(const BudgetPoint& p) {
  return object({{"peak_bytes", number(p.peak_bytes)},
                 {"extra_time", number(p.extra_time)},
                 {"extra_time_bound", number(p.extra_time_bound)},
                 {"disk_bytes", number(p.disk_bytes)}});
}
std::string json(const MemoryReport::Source& s) {
  return object({{"file", quoted(s.file)}, {"line", std::to_string(s.line)}, {"text", quoted(s.text)}});
}
template <class T>
std::string json(const std::vector<T>& items) {
  return list(items, [](const T& x) { return json(x); });
}

}  // namespace

std::string MemoryReport::json() const {
  const std::pair<const char*, std::string> fields[] = {
      {"peak_bytes", number(plan.peak_bytes)},
      {"argument_bytes", number(plan.argument_bytes)},
      {"constant_bytes", number(plan.constant_bytes)},
      {"output_bytes", number(plan.output_bytes)},
      {"arena_bytes", number(plan.arena_bytes)},
      {"measured_bytes", measured_bytes ? number(measured_bytes) : "null"},
      {"seconds", number(seconds)},
      {"extra_time", number(plan.extra_time)},
      {"extra_time_bound", number(plan.extra_time_bound)},
      {"price", number(plan.price)},
      {"donated_bytes", number(plan.donated_bytes)},
      {"disk_bytes", number(plan.disk_bytes)},
      {"offloaded", anew::json(plan.offloaded)},
      {"recomputed", anew::json(plan.recomputed)},
      {"budget_curve", anew::json(budget_curve)},
      {"live", anew::json(plan.live)},
      {"steps", anew::json(steps)},
      {"pieces", anew::json(pieces)},
      {"by_line", anew::json(totals(By::line))},
      {"by_function", anew::json(totals(By::function))},
      {"by_path", anew::json(totals(By::path))},
      {"sources", anew::json(sources)},
  };
  std::string out;
  for (const auto& [name, value] : fields) out += fmt::format("{}\n  \"{}\": {}", out.empty() ? "" : ",", name, value);
  return "{" + out + "\n}\n";
}

}  // namespace anew
