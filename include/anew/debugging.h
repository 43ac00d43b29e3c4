// Settings that help to find a mistake: debug_nans, debug_infs, disable_jit; and names for parts of a function.
// Each setting is one of the process, overridden by scopes of a thread. Off, as at the start, they cost nothing.
#pragma once
#include <anew/base.h>

#include <utility>

namespace anew {

namespace detail {
enum class Setting { nans, infs, without_jit };
class SettingScope {
 public:
  SettingScope(Setting which, bool on);
  ~SettingScope();
  SettingScope(const SettingScope&) = delete;
  SettingScope& operator=(const SettingScope&) = delete;

 private:
  Setting which_;
  int saved_;
};
}  // namespace detail

// The operation that makes a NaN of operands without one is an Error, with the user's line, as soon as the NaN is a
// result of something that the user called: an operation, a function of the library, a step of a loop, a compiled
// function. Compiled code is run again, equation by equation, to find the line; what it prints or calls back is not
// repeated.
bool debug_nans_enabled();
// For all threads; at the start off, unless the environment has ANEW_DEBUG_NANS=1. Returns the former setting.
bool debug_nans(bool on = true);
// For this thread, as long as the object lives; whatever debug_nans says.
class [[nodiscard]] DebugNans : detail::SettingScope {
 public:
  explicit DebugNans(bool on = true) : SettingScope(detail::Setting::nans, on) {}
};

// The same of infinities, made of operands that are finite. ANEW_DEBUG_INFS=1.
bool debug_infs_enabled();
bool debug_infs(bool on = true);
class [[nodiscard]] DebugInfs : detail::SettingScope {
 public:
  explicit DebugInfs(bool on = true) : SettingScope(detail::Setting::infs, on) {}
};

// jit(f) calls f; scan, while_loop and fori_loop call their functions at each step, and cond and switch_ the branch
// that is chosen, so that a debugger, prints and `if` see values. Results are the same bits, but for sums of cotangents
// in another order. ANEW_DISABLE_JIT=1.
bool jit_disabled();
bool disable_jit(bool on = true);
class [[nodiscard]] DisableJit : detail::SettingScope {
 public:
  explicit DisableJit(bool on = true) : SettingScope(detail::Setting::without_jit, on) {}
};

// What is computed in the scope is called so in plans, reports, lists of residuals and errors of debug_nans. Scopes
// nest: "encoder/layer 3". It changes nothing that is computed.
class [[nodiscard]] NamedScope {
 public:
  explicit NamedScope(std::string name, const Location& at = Location::current());
  ~NamedScope();
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;

 private:
  friend std::string named_scopes();
  std::string name_;
  const NamedScope* outer_;
  const void* region_;
};
// The names of the scopes that are open in this thread: "encoder/layer 3".
std::string named_scopes();

// f, whose calls are in a scope of this name.
template <class F>
[[nodiscard]] auto named_call(F f, std::string name, const Location& at = Location::current()) {
  detail::check_function(f, at);
  return [f = std::move(f), name = std::move(name), at](const auto&... args) {
    const NamedScope scope(name, at);
    return f(args...);
  };
}

}  // namespace anew
