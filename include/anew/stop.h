// Ending what runs: a StopToken, given to jit or to set_interrupt, is asked at each turn of every loop.
#pragma once
#include <anew/base.h>

#include <memory>
#include <optional>

namespace anew {

// A flag that its copies share: stop() sets it, from any thread and from signal handlers, until reset(). Whatever runs
// with it ends with a Stopped at the next turn of a loop. There is no moving: what was moved from is still the same
// token.
class StopToken {
 public:
  StopToken();
  StopToken(const StopToken&) noexcept;
  StopToken& operator=(const StopToken&) noexcept;
  ~StopToken();
  void stop() const noexcept;
  void reset() const noexcept;
  bool stopped() const noexcept;
  friend bool operator==(const StopToken& a, const StopToken& b) { return a.flag_ == b.flag_; }

  struct Flag;
  const Flag* flag() const { return flag_.get(); }  // inside the library

 private:
  std::shared_ptr<Flag> flag_;
};

// Thrown by a loop that was stopped. Nothing is half done: the same call, made again, gives what it always gives.
class Stopped : public Error {
 public:
  using Error::Error;
};

// The token that all loops of the process ask, eager and compiled, beside those of jit; {}: none, as at the start.
// Returns the former one.
std::optional<StopToken> set_interrupt(std::optional<StopToken> token);

}  // namespace anew
