// debug_nans and debug_infs: who made a NaN, or an infinity, of operands without one. An operation that the user called
// throws at once. Inside a function of the library, which may compute such a value and not take it (where), or in a
// Program that is evaluated, it is noted with the memory it lies in, follows whatever is made of it, and is thrown
// where it gets out: is alive when the function is done, or a result of the Program.
#pragma once
#include <cstdint>
#include <span>

#include "trace/trace.h"

namespace anew::watch {

bool on();
// Where on() and a Program is evaluated: what it calls is then evaluated too, not compiled.
bool evaluating();
// After an equation was evaluated.
void made(const Request& r, std::span<const Array> out);
// `from` was copied into `to`.
void copied(const Array& to, const Array& from);
// Whether a value among these is one that is looked for.
bool any(std::span<const Array> x);

// Around the evaluation of a Program.
class Evaluation {
 public:
  Evaluation();
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  void results(std::span<const Array> out);  // the outermost one throws

 private:
  std::uint64_t since_;  // 0: nothing is watched
};

// Around a function of the library, whose line is pinned: what begin() gave, 0 where nothing is watched, goes to end(),
// which throws.
std::uint64_t begin();
void end(std::uint64_t since);

// A turn of a loop, for messages.
class Turn {
 public:
  Turn(std::string_view loop, std::int64_t step, const Location& at);
  ~Turn();
  Turn(const Turn&) = delete;
  static std::string str();  // "step 3 of scan at model.cpp:12 (f)", from the innermost outwards

 private:
  const Turn* outer_;
  std::string_view loop_;
  std::int64_t step_;
  const Location& at_;
};

}  // namespace anew::watch
