// Failures of allocations, real and asked for; meters.
#include "runtime/account.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/buffer.h"

namespace anew {

void Account::fail(std::size_t bytes, const Location& at) {
  throw Error(fmt::format("[allocate] the system has no {} bytes left ({} in use)", bytes, live.load()), at);
}

void Account::check_slowly(std::size_t bytes, const Location& at) {
  if (bytes > impossible) throw Error(fmt::format("[allocate] no machine has {} bytes", bytes), at);
  if (own.until_failure-- == 0) fail(bytes, at);
}

void fail_allocation_after(std::int64_t n) {
  if (n == 0 || n < -1) throw InternalError(fmt::format("fail_allocation_after({}): 1 is the next, -1 is never", n));
  Account::own.until_failure = n < 0 ? -1 : n - 1;
}

namespace {
constinit thread_local MemoryMeter* innermost = nullptr;
}

MemoryMeter::MemoryMeter() : outer_(innermost), start_(Account::own.bytes), before_(Account::own.peak) {
  innermost = this;
  Account::own.peak = start_;
}

MemoryMeter::~MemoryMeter() {
  innermost = outer_;
  Account::own.peak = std::max(Account::own.peak, before_);
}

std::size_t MemoryMeter::peak() const {
  std::int64_t most = Account::own.peak;
  for (const MemoryMeter* m = innermost; m && m != this; m = m->outer_) most = std::max(most, m->before_);
  return static_cast<std::size_t>(most - start_);
}

}  // namespace anew
