// Errors and the lines they point at. A message reads "[op] what, with types; at model.cpp:41 (layer); hint: ...";
// it shows the base name of a file, while file() keeps the path as the compiler gave it, for tools.
// A location without a line (a call that could not record one) leaves the "at" out.
#include <anew/stop.h>
#include <fmt/format.h>

#include "base/base.h"
#include "base/function_name.h"

namespace anew {
namespace {

std::string message(const std::string& text, const Location& at, const std::string& hint) {
  std::string out = text;
  if (at.line() != 0) out += "; at " + source_line(at).str();
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
    : std::runtime_error(message(text, at, hint)), file_(at.file_name()), line_(static_cast<int>(at.line())) {}

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
