// What loops ask at each turn: was this call, one around it, or the whole process asked to stop? One relaxed load per
// token.
#pragma once
#include <anew/stop.h>

#include <atomic>
#include <string_view>

namespace anew {

struct StopToken::Flag {
  std::atomic<bool> set = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may stop");
};

// The token of a call, for the loops that this thread runs meanwhile; those of calls around it hold as well.
class StopScope {
 public:
  explicit StopScope(const std::optional<StopToken>& token)
      : flag_(token ? &token->flag()->set : nullptr), outer_(current) {
    if (flag_) current = this;
  }
  ~StopScope() { current = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // Looked up once where turns take nanoseconds: whether to stop.
  class Asked {
   public:
    bool operator()() const {
      if (interrupt.load(std::memory_order_relaxed)->load(std::memory_order_relaxed)) return true;
      for (const StopScope* s = innermost_; s; s = s->outer_)
        if (s->flag_->load(std::memory_order_relaxed)) return true;
      return false;
    }

   private:
    const StopScope* innermost_ = current;
  };

 private:
  friend std::optional<StopToken> set_interrupt(std::optional<StopToken> token);
  static constinit inline thread_local const StopScope* current = nullptr;
  static constinit inline std::atomic<bool> never = false;
  static constinit inline std::atomic<const std::atomic<bool>*> interrupt = &never;  // its memory is never freed
  const std::atomic<bool>* flag_;
  const StopScope* outer_;
};

[[noreturn]] void stopped(std::string_view loop, std::int64_t step, const Location& at);
[[noreturn]] void stopped_before_call(const Location& at);

// At each turn of a loop that is called `loop` in Programs, before step `step`.
inline void check_stop(std::string_view loop, std::int64_t step, const Location& at) {
  if (StopScope::Asked()()) [[unlikely]]
    stopped(loop, step, at);
}

// Before a call takes what it is given for good.
inline void check_stop_before_call(const Location& at) {
  if (StopScope::Asked()()) [[unlikely]]
    stopped_before_call(at);
}

}  // namespace anew
