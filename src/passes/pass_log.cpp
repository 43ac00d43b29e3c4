// Log lines of passes. A line is written at once, so that those of several threads do not mix.
#include "passes/pass_log.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace anew::passes {

bool logged(std::string_view word) {
  const char* asked = std::getenv("ANEW_LOG");
  for (std::string_view rest = asked ? asked : ""; !rest.empty();) {
    const std::size_t end = rest.find(',');
    if (rest.substr(0, end) == word) return true;
    rest = end == rest.npos ? "" : rest.substr(end + 1);
  }
  return false;
}

Subject subject(const ir::Program& p) {
  auto count = [&p] {
    std::int64_t n = 0;
    ir::for_each_program(p, [&](const ir::Program& q) { n += static_cast<std::int64_t>(q.eqns.size()); });
    return n;
  };
  return {"equations", count, [&p] { return ir::print(p); }};
}

PassLog::PassLog(std::string_view name, const Subject& before) : on_(logged("passes")), name_(name) {
  if (!on_) return;
  unit_ = before.unit;
  count_ = before.count();
  text_ = before.text();
  start_ = std::chrono::steady_clock::now();
}

void PassLog::done(const Subject& after) const {
  if (!on_) return;
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start_;
  const std::int64_t count = after.count();
  const std::string text = after.text();
  const bool unchanged = unit_ == after.unit && text_ == text;
  std::string what = unchanged             ? fmt::format("{} {}, unchanged", count, unit_)
                     : unit_ == after.unit ? fmt::format("{} -> {} {}", count_, count, unit_)
                                           : fmt::format("{} {} -> {} {}", count_, unit_, count, after.unit);
  std::string line = fmt::format("[anew] {:<20} {:>9.3f} ms  {}\n", name_, passed.count(), what);
  if (!unchanged && logged("programs")) line += text + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace anew::passes
