// Regions, each once.
#include "ir/mark.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <tuple>

namespace anew::ir {

const Region* region(const Region* outer, std::string_view what, const Location& at, int instance) {
  using Key = std::tuple<const Region*, std::string, const char*, const char*, std::uint_least32_t, int>;
  static std::mutex& guard = *new std::mutex;  // never destroyed: static objects may still trace
  static auto& all = *new std::map<Key, Region>;
  std::lock_guard lock(guard);
  auto [it, fresh] =
      all.try_emplace(Key(outer, what, at.file_name(), at.function_name(), at.line(), instance), Region{});
  if (fresh) it->second = {outer, std::get<1>(it->first), at, instance};
  return &it->second;
}

std::string str(const Region* region) {
  std::string out;
  while (region) {
    if (!out.empty()) out += ", ";
    if (region->instance != Region::named) {
      out += fmt::format("{} {} of {}", region->what, region->instance, source_line(region->at).str());
      region = region->outer;
      continue;
    }
    std::string path;
    for (; region && region->instance == Region::named; region = region->outer)
      path = std::string(region->what) + (path.empty() ? "" : "/" + path);
    out += path;
  }
  return out;
}

std::string scopes(const Region* region) {
  std::string path;
  for (; region; region = region->outer)
    if (region->instance == Region::named) path = std::string(region->what) + (path.empty() ? "" : "/" + path);
  return path;
}

}  // namespace anew::ir
