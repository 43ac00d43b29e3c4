// See environment.h.
#include "base/environment.h"

#include <cstdio>
#include <cstdlib>

namespace anew::environment {
namespace {

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

bool verifies() {
  static const bool asked = std::getenv("ANEW_VERIFY") != nullptr;
  return asked;
}
bool is_on(const char* name) {
  const std::string value = text(name);
  return !value.empty() && value != "0";
}
bool enables_x64() { return is_on("ANEW_ENABLE_X64"); }
bool flushes_subnormals() { return is_on("ANEW_FLUSH_SUBNORMALS"); }
bool interprets() { return text("ANEW_BACKEND") == "interpreter"; }
std::string threads() { return text("ANEW_THREADS"); }
std::int64_t second_cache() { return std::strtoll(text("ANEW_L2").c_str(), nullptr, 10) << 10; }
std::string code_cache() { return text("ANEW_CODE_CACHE"); }
std::string spill() { return text("ANEW_SPILL"); }

bool logged(std::string_view word) {
  const char* asked = std::getenv("ANEW_LOG");
  for (std::string_view rest = asked ? asked : ""; !rest.empty();) {
    const std::size_t end = rest.find(',');
    if (rest.substr(0, end) == word) return true;
    rest = end == rest.npos ? "" : rest.substr(end + 1);
  }
  return false;
}

void log(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace anew::environment
