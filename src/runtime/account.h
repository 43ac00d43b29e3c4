// What is counted of memory: bytes in use by the process and by each thread, their peaks, and allocations that a test
// wants to fail. Buffers and arenas both go through it.
// Invariant: every charge is taken back once, by the same number of bytes, on whatever thread.
#pragma once
#include <anew/base.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace anew {

// A thread's own: what it allocated less what it freed, the largest that was since the innermost MemoryMeter, and how
// many more allocations succeed before one fails (-1: all).
struct OwnAccount {
  std::int64_t bytes = 0, peak = 0, until_failure = -1;
};

struct Account {
  static inline std::atomic<std::size_t> live{0}, peak{0};

  static constinit inline thread_local OwnAccount own{};

  static void charge(std::size_t bytes) {
    const std::size_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    for (std::size_t p = peak.load(std::memory_order_relaxed);
         now > p && !peak.compare_exchange_weak(p, now, std::memory_order_relaxed);) {
    }
    own.bytes += static_cast<std::int64_t>(bytes);
    if (own.bytes > own.peak) own.peak = own.bytes;
  }
  static void discharge(std::size_t bytes) {
    live.fetch_sub(bytes, std::memory_order_relaxed);
    own.bytes -= static_cast<std::int64_t>(bytes);
  }

  // Before memory is looked for: throws if no machine has so much, and where a test wants it to.
  static void check(std::size_t bytes, const Location& at) {
    if (bytes > impossible || own.until_failure >= 0) check_slowly(bytes, at);
  }
  [[noreturn]] static void fail(std::size_t bytes, const Location& at);

  static constexpr std::size_t impossible = std::size_t{1} << 47;  // the address space of a process

 private:
  static void check_slowly(std::size_t bytes, const Location& at);
};

// While it lives, what this thread allocates is in no meter: it is the user's, who was called back.
class NotMetered {
 public:
  NotMetered() = default;
  ~NotMetered() { Account::own.bytes = before_.bytes, Account::own.peak = before_.peak; }
  NotMetered(const NotMetered&) = delete;
  NotMetered& operator=(const NotMetered&) = delete;

 private:
  const OwnAccount before_ = Account::own;
};

}  // namespace anew
