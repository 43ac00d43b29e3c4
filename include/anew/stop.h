// Ending what runs: a StopToken, given to jit or to set_interrupt, is asked at each turn of every loop.
#pragma once
#include <anew/base.h>

#include <atomic>
#include <memory>
#include <optional>

namespace anew {

// A flag that its copies share: stop() sets it, from any thread and from signal handlers, until reset(). Whatever runs with
// it ends with a Stopped at the next turn of a loop. There is no moving: what was moved from is still the same token.
class StopToken {
 public:
  StopToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  StopToken(const StopToken&) = default;
  StopToken& operator=(const StopToken&) = default;
  ~StopToken() = default;
  void stop() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  void reset() const noexcept { flag_->store(false, std::memory_order_relaxed); }
  bool stopped() const noexcept { return flag_->load(std::memory_order_relaxed); }
  friend bool operator==(const StopToken&, const StopToken&) = default;

  const std::shared_ptr<std::atomic<bool>>& flag() const { return flag_; }  // inside the library

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may stop");
};

// Thrown by a loop that was stopped. Nothing is half done: the same call, made again, gives what it always gives.
class Stopped : public Error {
 public:
  using Error::Error;
};

// The token that all loops of the process ask, eager and compiled, beside those of jit; {}: none, as at the start. Returns
// the former one.
std::optional<StopToken> set_interrupt(std::optional<StopToken> token);

}  // namespace anew
