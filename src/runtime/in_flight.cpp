// See in_flight.h.
#include "runtime/in_flight.h"

#include <algorithm>

#include "base/per_thread.h"

namespace anew {
namespace {

struct UnderWay : std::vector<std::pair<const void*, std::function<void()>>> {};
UnderWay& under_way() { return PerThread<UnderWay>::get(); }

}  // namespace

InFlight::InFlight() : before_(under_way().size()) {}

InFlight::~InFlight() {
  UnderWay& all = under_way();
  while (all.size() > before_) {
    const auto wait = std::move(all.back().second);
    all.pop_back();
    wait();
  }
}

void InFlight::began(const void* memory, std::function<void()> wait) {
  under_way().emplace_back(memory, std::move(wait));
}

void InFlight::ended(const void* memory) {
  UnderWay& all = under_way();
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& w) { return w.first == memory; });
  if (it != all.end()) all.erase(it);
}

}  // namespace anew
