// Names of steps and what lives while they run.
#include "jit/describe.h"

#include <fmt/format.h>

#include <algorithm>

namespace anew::compiled {

std::string readable_bytes(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1023.95 && unit + 1 < std::size(units)) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

namespace {
constexpr char hole = '\1';  // in place of a number
}

Pattern::Pattern(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    std::size_t end = i;
    while (end < s.size() && s[end] >= '0' && s[end] <= '9' && end - i < 18) ++end;
    const char before = i ? s[i - 1] : 0;
    const bool index = before == '[' && end < s.size() && s[end] == ']';
    if (end == i || !(index || (before == ' ' && s.substr(end).starts_with(" of ")))) {
      text_ += s[i++];
      continue;
    }
    const std::int64_t n = std::stoll(std::string(s.substr(i, end - i)));
    numbers_.emplace_back(n, n);
    text_ += hole;
    i = end;
  }
}

void Pattern::join(const Pattern& p) {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    numbers_[i].first = std::min(numbers_[i].first, p.numbers_[i].first);
    numbers_[i].second = std::max(numbers_[i].second, p.numbers_[i].second);
  }
}

std::string Pattern::str() const {
  std::string out;
  std::size_t next = 0;
  for (char c : text_) {
    if (c != hole) out += c;
    else if (auto [low, high] = numbers_[next++]; low == high) out += std::to_string(low);
    else out += fmt::format("{}..{}", low, high);
  }
  return out;
}

bool moves_values(const MemoryPlan& plan) {
  double again = 0;
  for (const Recomputed& r : plan.recomputed) again += r.extra_time;
  return !plan.offloaded.empty() && again < plan.extra_time * (1 - 1e-9);
}

std::string step_name(const passes::Step& step) {
  std::string own = step.primitive ? step.primitive->name : "copy";
  const auto* loop = step.as<passes::Loop>();
  const auto* unwind = step.as<passes::Unwind>();
  const std::int64_t length = loop ? loop->length : unwind ? unwind->length : -1;
  if (length >= 0) return fmt::format("{}[{}]", own, length);
  if (!step.is<passes::Kernel>() && !step.is<passes::Tiles>()) return own;
  if (step.made.empty()) return "copy";
  std::string out;
  for (std::size_t i = 0; i < step.made.size();) {
    std::size_t end = i + 1;
    while (end < step.made.size() && step.made[end].primitive == step.made[i].primitive) ++end;
    if (i) out += ", ";
    out += step.made[i].primitive->name;
    if (end - i > 1) out += fmt::format(" x{}", end - i);
    i = end;
  }
  return out;
}

bool is_control(const passes::Step& step) {
  return step.is<passes::Loop>() || step.is<passes::Branch>() || step.is<passes::Unwind>();
}

bool in_arena(const passes::Body& body, passes::ValueId value) {
  return body.values[value].storage && body.storage_of(value).kind == passes::Storage::Kind::temporary;
}

std::vector<std::size_t> live_bytes(const passes::Body& body, const Table<passes::StorageId, passes::Span>& spans) {
  std::vector<std::ptrdiff_t> change(body.steps.size() + 1, 0);
  for (passes::StorageId i : spans.ids()) {
    if (body.storages[i].kind != passes::Storage::Kind::temporary || spans[i].last < 0) continue;
    change[spans[i].first] += static_cast<std::ptrdiff_t>(body.storages[i].bytes);
    change[spans[i].last + 1] -= static_cast<std::ptrdiff_t>(body.storages[i].bytes);
  }
  std::vector<std::size_t> live(body.steps.size());
  std::ptrdiff_t now = 0;
  for (std::size_t i = 0; i < live.size(); ++i) live[i] = now += change[i];
  return live;
}

Table<passes::StorageId, passes::ValueId> written_values(const passes::Body& body, std::size_t step) {
  Table<passes::StorageId, passes::ValueId> out(body.storages.size());
  for (std::size_t i = 0; i <= step; ++i)
    for (passes::ValueId v : body.steps[i].out) out[body.values[v].storage] = v;
  return out;
}

}  // namespace anew::compiled
