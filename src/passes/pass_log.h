// What passes say of themselves. ANEW_LOG is a list of words: with `passes`, one line on stderr for each pass: its
// name, its time, how many equations (steps, bytes, ...) there were before and are now, or "unchanged"; with `programs`
// too, the whole text after each pass that changed it.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ir/program.h"

namespace anew::passes {

// What a pass works on; asked only where passes are logged.
struct Subject {
  std::string_view unit;                // "equations", "steps"
  std::function<std::int64_t()> count;  // how many, nested ones included
  std::function<std::string()> text;    // all of it; two subjects of one text are the same
};
// Refers to p.
Subject subject(const ir::Program& p);

// One pass, from construction to `done`:
//   PassLog log("fuse", subject(body));
//   fuse(body);
//   log.done(subject(body));
class PassLog {
 public:
  PassLog(std::string_view name, const Subject& before);
  void done(const Subject& after) const;

 private:
  bool on_;
  std::string_view name_, unit_;
  std::int64_t count_ = 0;
  std::string text_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace anew::passes
