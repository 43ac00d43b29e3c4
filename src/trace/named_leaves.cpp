// Names of the leaves of running calls, for errors.
#include <anew/call.h>
#include <fmt/format.h>

#include <algorithm>

#include "trace/trace.h"

namespace anew {
namespace {

thread_local const detail::NamedLeaves* innermost = nullptr;

}  // namespace

std::string named_argument(std::string_view path) {
  const std::size_t root = std::min(path.find_first_of(".["), path.size());
  const std::string_view rest = path.substr(root);
  return fmt::format("argument {}{}{}", path.substr(0, root), rest.empty() ? "" : ", ",
                     rest.starts_with('.') ? rest.substr(1) : rest);
}

std::string leaf_name(const Array& x, std::string_view before) {
  const std::string name = detail::NamedLeaves::name_of(x);
  return name.empty() ? "" : std::string(before) + name;
}

namespace detail {

NamedLeaves::NamedLeaves(const Arrays& leaves, const void* call, Paths paths)
    : leaves_(leaves), call_(call), paths_(paths), outer_(innermost) {
  innermost = this;
}
NamedLeaves::~NamedLeaves() { innermost = outer_; }

std::string NamedLeaves::name_of(const Array& x) {
  for (const NamedLeaves* call = innermost; call; call = call->outer_)
    for (std::size_t i = 0; i < call->leaves_.size(); ++i)
      if (&call->leaves_[i] == &x) return named_argument(call->paths_(call->call_).at(i));
  return "";
}

}  // namespace detail
}  // namespace anew
