// The interrupt of the process, and what a stopped loop says. A token that was ever an interrupt is kept for good, a
// few bytes, because a loop may be looking at it.
#include "base/stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace anew {
namespace {

struct Interrupts {
  std::mutex guard;
  std::optional<StopToken> now;
  std::vector<StopToken> ever;
};
Interrupts& interrupts() {
  static auto* all = new Interrupts;
  return *all;
}

}  // namespace

StopToken::StopToken() : flag_(std::make_shared<Flag>()) {}
StopToken::StopToken(const StopToken&) noexcept = default;
StopToken& StopToken::operator=(const StopToken&) noexcept = default;
StopToken::~StopToken() = default;
void StopToken::stop() const noexcept { flag_->set.store(true, std::memory_order_relaxed); }
void StopToken::reset() const noexcept { flag_->set.store(false, std::memory_order_relaxed); }
bool StopToken::stopped() const noexcept { return flag_->set.load(std::memory_order_relaxed); }

std::optional<StopToken> set_interrupt(std::optional<StopToken> token) {
  Interrupts& all = interrupts();
  const std::lock_guard lock(all.guard);
  if (token && std::find(all.ever.begin(), all.ever.end(), *token) == all.ever.end()) all.ever.push_back(*token);
  StopScope::interrupt.store(token ? &token->flag()->set : &StopScope::never, std::memory_order_relaxed);
  return std::exchange(all.now, std::move(token));
}

static constexpr const char* how_to_go_on =
    "a StopToken given to jit or set_interrupt asked for it; reset() it before the next call";

void stopped(std::string_view loop, std::int64_t step, const Location& at) {
  throw Stopped(fmt::format("[{}] stopped before step {}", loop, step), at, how_to_go_on);
}
void stopped_before_call(const Location& at) {
  throw Stopped("[jit] stopped before the call took its donated arguments", at, how_to_go_on);
}

}  // namespace anew
