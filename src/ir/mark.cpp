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
  for (; region; region = region->outer)
    out += fmt::format("{}{} {} of {}", out.empty() ? "" : ", ", region->what, region->instance,
                       source_line(region->at).str());
  return out;
}

}  // namespace anew::ir
