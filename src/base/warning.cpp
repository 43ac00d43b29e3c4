// Warnings. One handler for the process; the default prints a warning once per place and text, so that a training loop
// says it once. A handler of the user sees every warning, and may warn, throw or exchange handlers itself: it is called
// without a lock.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include "base/base.h"

namespace anew {
namespace {

struct State {
  std::mutex mutex;
  WarningHandler handler;       // empty: print
  std::set<std::string> shown;  // what the default handler has printed
};

State& state() {
  static State& s = *new State;  // never destroyed: destructors of static objects may warn
  return s;
}

void print_once(const Warning& w) {
  const std::string place = w.line == 0 ? "" : "; at " + SourceLine{w.file, w.line, ""}.str();
  std::string line = fmt::format("anew: warning: {}\n", w.text);
  line.insert(std::min(line.find("; hint: "), line.size() - 1), place);
  {
    const std::lock_guard lock(state().mutex);
    if (!state().shown.insert(fmt::format("{}:{}:{}", w.file, w.line, w.text)).second) return;
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  const std::lock_guard lock(state().mutex);
  return std::exchange(state().handler, std::move(handler));
}

void warn(const std::string& text, const Location& at) {
  const Warning w{text, at.file_name(), static_cast<int>(at.line())};
  WarningHandler handler;
  {
    const std::lock_guard lock(state().mutex);
    handler = state().handler;
  }
  handler ? handler(w) : print_once(w);
}

}  // namespace anew
