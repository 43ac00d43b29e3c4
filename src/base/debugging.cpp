// Settings of <anew/debugging.h>: one of the process each, overridden by scopes of a thread.
#include <anew/debugging.h>

#include <atomic>

#include "base/environment.h"

namespace anew {
namespace {

using detail::Setting;

constexpr std::size_t debug_settings = 3;
constinit std::atomic<int> of_process[debug_settings] = {-1, -1, -1};  // -1: the environment was not asked yet
constinit thread_local int of_thread[debug_settings] = {-1, -1, -1};   // what a scope says; -1: none
constexpr const char* variables[debug_settings] = {"ANEW_DEBUG_NANS", "ANEW_DEBUG_INFS", "ANEW_DISABLE_JIT"};

int process_setting(std::size_t i) {
  int on = of_process[i].load(std::memory_order_relaxed);
  if (on < 0) [[unlikely]] {
    const int asked = environment::is_on(variables[i]) ? 1 : 0;
    if (of_process[i].compare_exchange_strong(on, asked)) on = asked;
  }
  return on;
}
bool is_set(Setting which) {
  const auto i = static_cast<std::size_t>(which);
  return (of_thread[i] >= 0 ? of_thread[i] : process_setting(i)) == 1;
}
bool set(Setting which, bool on) {
  const auto i = static_cast<std::size_t>(which);
  process_setting(i);
  return of_process[i].exchange(on ? 1 : 0) == 1;
}

}  // namespace

detail::SettingScope::SettingScope(Setting which, bool on)
    : which_(which), saved_(std::exchange(of_thread[static_cast<std::size_t>(which)], on ? 1 : 0)) {}
detail::SettingScope::~SettingScope() { of_thread[static_cast<std::size_t>(which_)] = saved_; }

bool debug_nans_enabled() { return is_set(Setting::nans); }
bool debug_nans(bool on) { return set(Setting::nans, on); }
bool debug_infs_enabled() { return is_set(Setting::infs); }
bool debug_infs(bool on) { return set(Setting::infs, on); }
bool jit_disabled() { return is_set(Setting::without_jit); }
bool disable_jit(bool on) { return set(Setting::without_jit, on); }

}  // namespace anew
