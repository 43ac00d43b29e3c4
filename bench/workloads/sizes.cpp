// Sizes by name, and the list of all workloads.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "workloads.h"

namespace workloads {

std::int64_t Sizes::operator[](std::string_view name) const {
  for (const Entry& e : entries_)
    if (e.first == name) return e.second;
  throw anew::Error(fmt::format("there is no size {}", name));
}

Sizes Sizes::with(std::string_view text) const {
  Sizes out = *this;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::string_view name = part.substr(0, part.find('=')),
                           digits = part.substr(std::min(part.size(), name.size() + 1));
    const auto entry =
        std::find_if(out.entries_.begin(), out.entries_.end(), [&](const Entry& e) { return e.first == name; });
    if (entry == out.entries_.end()) throw anew::Error(fmt::format("there is no size {}; there are {}", name, json()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), entry->second);
    if (error != std::errc() || end != digits.data() + digits.size() || entry->second < 1)
      throw anew::Error(fmt::format("{} is not a size; write {}=8", part, name));
  }
  return out;
}

std::string Sizes::json() const {
  std::string out;
  for (const auto& [name, value] : entries_) out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", name, value);
  return "{" + out + "}";
}

Case build(const Workload& w, const std::string& variant, const Sizes& sizes) {
  const std::size_t end = variant.ends_with("_flush") ? variant.size() - 6 : variant.size();
  anew::flush_subnormals(end != variant.size());
  return w.build(variant.substr(0, end), sizes);
}

const Workload& find(const std::vector<Workload>& all, const std::string& name) {
  for (const Workload& w : all)
    if (w.name == name) return w;
  throw anew::Error(fmt::format("there is no workload {}", name));
}

std::vector<Workload> all_workloads() {
  std::vector<Workload> all;
  for (auto& part : {mlp_workloads(), transformer_workloads(), loop_workloads(), small_workloads(),
                     operation_workloads(), untuned_networks(), untuned_science()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace workloads
