// The version as text, made of the number in the header.
#include <anew/version.h>

#include <fmt/format.h>

#include <string>

namespace anew {

const char* version() {
  static const auto& text =  // never destroyed: static objects may ask
      *new std::string(fmt::format("{}.{}.{}", ANEW_VERSION / 10000, ANEW_VERSION / 100 % 100, ANEW_VERSION % 100));
  return text.c_str();
}

}  // namespace anew
