// For functions that take users' functions and pin their own line around what they bind themselves.
#pragma once
#include <anew/base.h>

namespace anew {

// No line is pinned in the scope: a user's function that a composite one calls has lines of its own.
class UnpinLine {
 public:
  UnpinLine();
  ~UnpinLine();
  UnpinLine(const UnpinLine&) = delete;

 private:
  const Location* saved_;
  std::string_view saved_function_;
};

}  // namespace anew
