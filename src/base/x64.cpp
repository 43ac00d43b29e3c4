// Default types: one setting for the process, overridden by scopes of a thread.
#include <anew/base.h>

#include <atomic>
#include <utility>

#include "base/environment.h"

namespace anew {
namespace {

std::atomic<bool>& setting() {
  static std::atomic<bool> on = environment::enables_x64();
  return on;
}
thread_local int here = -1;  // what a scope says; -1: none

}  // namespace

bool x64_enabled() { return here >= 0 ? here == 1 : setting().load(std::memory_order_relaxed); }
bool enable_x64(bool on) { return setting().exchange(on); }

X64::X64(bool on) : saved_(std::exchange(here, on ? 1 : 0)) {}
X64::~X64() { here = saved_; }

}  // namespace anew
