// What errors call a tree that a loop carries, or that a function of a solver returns: the template layer takes all of
// them for carries.
#pragma once
#include <string>
#include <string_view>

namespace anew::detail {

struct Carried {
  explicit Carried(std::string_view op);
  // Of one of its leaves, "carry.w": where there is no carry without that word.
  std::string path(std::string_view path) const;

  bool loop;
  std::string what, like, hint;
};

}  // namespace anew::detail
