// The tokens of printed programs. Every token knows its line and column, and whether it opens its line: an equation
// without outputs is told from further operands of the one before by that alone.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace anew::ir {

struct Token {
  enum class Kind { word, integer, floating, string, mark, end } kind = Kind::end;
  std::string_view text;  // of a string: with its quotes
  int line = 1, column = 1;
  bool opens_line = false;
  bool is(std::string_view t) const { return (kind == Kind::mark || kind == Kind::word) && text == t; }
};

// The last token is an `end`. Throws Error at a character that starts none.
std::vector<Token> tokens_of(std::string_view text);
// The contents of a quoted string.
std::string unquoted(const Token& t);
// "[parse] 3:14: what"
[[noreturn]] void parse_error(const Token& at, const std::string& what);

}  // namespace anew::ir
