// Errors and the lines they point at. A message reads "[op] what, with types; at model.cpp:41 (layer); hint: ...";
// it shows the base name of a file, while file() keeps the path as the compiler gave it, for tools.
// A location without a line (a call that could not record one) leaves the "at" out.
#include <anew/stop.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/base.h"
#include "base/function_name.h"

namespace anew {
namespace {

// What the function of a signature is called; nothing where users could not have called it, a lambda or a name in an
// anonymous namespace (as g++ and clang say these).
std::string public_name(std::string_view signature) {
  const std::string name = short_function_name(signature);
  std::string_view scope = signature.substr(0, signature.rfind(name + "("));
  scope.remove_prefix(scope.rfind(' ') + 1);
  const bool internal =
      scope.find("{anonymous}::") != std::string::npos || scope.find("namespace)::") != std::string::npos;
  return internal || name == "<lambda>" ? "" : name;
}

// "[op] what" or "[random.op] what", where op is what the user called.
std::string of_called_function(const std::string& text) {
  const std::size_t end = text.starts_with('[') && !pinned_function.empty() ? text.find("] ") : std::string::npos;
  const std::string name = end == std::string::npos ? "" : public_name(pinned_function);
  if (name.empty()) return text;
  const std::size_t dot = text.rfind('.', end);
  return (dot == std::string::npos ? "[" : text.substr(0, dot + 1)) + name + text.substr(end);
}

// A text that is thrown again, now that its line is known, may have its hint already.
std::string message(const std::string& text, const Location& at, const std::string& hint) {
  std::string out = text;
  const std::size_t end = std::min(hint.empty() ? text.find("; hint: ") : text.size(), text.size());
  if (at.line() != 0) out.insert(end, "; at " + source_line(at).str());
  if (!hint.empty()) out += "; hint: " + hint;
  return out;
}

}  // namespace

std::string SourceLine::str() const {
  const std::string name = file.substr(file.find_last_of('/') + 1);
  return function.empty() ? fmt::format("{}:{}", name, line) : fmt::format("{}:{} ({})", name, line, function);
}

SourceLine source_line(const Location& at) {
  return {at.file_name(), static_cast<int>(at.line()), short_function_name(at.function_name())};
}

Error::Error(const std::string& text, const Location& at, const std::string& hint)
    : std::runtime_error(message(of_called_function(text), at, hint)),
      file_(at.file_name()),
      line_(static_cast<int>(at.line())) {}

void rethrow_at(std::string_view op, const Location& at) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(fmt::format("[{}] out of memory", op), at);
  } catch (const Stopped& e) {
    throw Stopped(e.what(), at);
  } catch (const Error& e) {
    throw Error(e.what(), at);
  }
}

InternalError::InternalError(const std::string& text, const Location& at)
    : std::logic_error(message("internal error: " + text, at, "this is a bug of anew, please report it")) {}

}  // namespace anew
