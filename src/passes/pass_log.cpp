// Log lines of passes.
#include "passes/pass_log.h"

#include <fmt/format.h>

#include "base/environment.h"

namespace anew::passes {

Subject subject(const ir::Program& p) {
  auto count = [&p] {
    std::int64_t n = 0;
    ir::for_each_program(p, [&](const ir::Program& q) { n += static_cast<std::int64_t>(q.eqns.size()); });
    return n;
  };
  return {"equations", count, [&p] { return ir::print(p); }};
}

PassLog::PassLog(std::string_view name, const Subject& before) : on_(environment::logged("passes")), name_(name) {
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
  if (!unchanged && environment::logged("programs")) line += text + "\n";
  environment::log(line);
}

}  // namespace anew::passes
