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

std::string step_name(const passes::Step& step) {
  const std::string own = step.primitive ? step.primitive->name : "copy";
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
