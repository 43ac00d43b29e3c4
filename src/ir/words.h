// The words of printed programs: which of them mean something, so that neither a variable nor an unquoted string may be
// one of them. Printer and parser both ask here.
#pragma once
#include <algorithm>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace anew::ir {

inline bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_word(std::string_view s) {
  return !s.empty() && is_word_start(s[0]) &&
         std::all_of(s.begin(), s.end(), [](char c) { return is_word_start(c) || is_digit(c); });
}

// Never the name of a variable.
inline bool is_reserved(std::string_view s) {
  return s == "in" || s == "let" || s == "lambda" || s == "inf" || s == "nan";
}

inline std::optional<DType> dtype_of_long_name(std::string_view s) {
  for (DType d : all_dtypes)
    if (long_name_of(d) == s) return d;
  return std::nullopt;
}
inline std::optional<DType> dtype_of_name(std::string_view s) {
  for (DType d : all_dtypes)
    if (name_of(d) == s) return d;
  return std::nullopt;
}

// A string that reads back as a string without quotes.
inline bool is_plain_word(std::string_view s) {
  return is_word(s) && s != "True" && s != "False" && s != "None" && s != "inf" && s != "nan" && !dtype_of_long_name(s);
}

}  // namespace anew::ir
