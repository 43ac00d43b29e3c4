// Cuts text into tokens. A number may have a sign and an exponent; `-inf` is one token, a float.
#include "ir/lexer.h"

#include <fmt/format.h>

#include <utility>

#include "ir/words.h"

namespace anew::ir {
namespace {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> out;
    do out.push_back(next());
    while (out.back().kind != Token::Kind::end);
    return out;
  }

 private:
  char peek(std::size_t ahead = 0) const { return i_ + ahead < text_.size() ? text_[i_ + ahead] : '\0'; }

  void skip_blanks() {
    for (; peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r'; ++i_) {
      if (peek() != '\n') continue;
      ++line_;
      line_start_ = i_ + 1;
      opens_line_ = true;
    }
  }

  Token next() {
    skip_blanks();
    Token t;
    t.line = line_;
    t.column = static_cast<int>(i_ - line_start_) + 1;
    t.opens_line = std::exchange(opens_line_, false);
    const std::size_t start = i_;
    t.kind = scan(t);
    t.text = text_.substr(start, i_ - start);
    return t;
  }

  Token::Kind scan(const Token& at) {
    if (i_ == text_.size()) return Token::Kind::end;
    const char c = peek();
    if (is_word_start(c)) {
      while (is_word_start(peek()) || is_digit(peek())) ++i_;
      return Token::Kind::word;
    }
    if (c == '-' && text_.substr(i_, 4) == "-inf") return i_ += 4, Token::Kind::floating;
    if (is_digit(c) || (c == '-' && is_digit(peek(1)))) return number();
    if (c == '\'') return quoted(at);
    if (c == '<') parse_error(at, "a function (<fn ...>) cannot be read back");
    if (std::string_view("{}[]():;.,=@").find(c) == std::string_view::npos)
      parse_error(at, fmt::format("no token starts with '{}'", c));
    ++i_;
    return Token::Kind::mark;
  }

  void digits() {
    while (is_digit(peek())) ++i_;
  }

  Token::Kind number() {
    Token::Kind kind = Token::Kind::integer;
    ++i_;
    digits();
    if (peek() == '.' && is_digit(peek(1))) {
      ++i_;
      digits();
      kind = Token::Kind::floating;
    }
    const std::size_t sign = peek(1) == '+' || peek(1) == '-';
    if (peek() == 'e' && is_digit(peek(1 + sign))) {
      i_ += 1 + sign;
      digits();
      kind = Token::Kind::floating;
    }
    return kind;
  }

  Token::Kind quoted(const Token& at) {
    for (++i_; i_ < text_.size() && peek() != '\n'; ++i_) {
      if (peek() == '\\') ++i_;
      else if (peek() == '\'') return ++i_, Token::Kind::string;
    }
    parse_error(at, "the string does not end on its line");
  }

  std::string_view text_;
  std::size_t i_ = 0, line_start_ = 0;
  int line_ = 1;
  bool opens_line_ = true;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) { return Lexer(text).run(); }

std::string unquoted(const Token& t) {
  auto hex = [](char c) { return is_digit(c) ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 1; i + 1 < t.text.size(); ++i) {
    char c = t.text[i];
    if (c == '\\') {
      c = t.text[++i];
      if (c == 'n') {
        c = '\n';
      } else if (c == 'x' && i + 3 < t.text.size()) {
        c = static_cast<char>(hex(t.text[i + 1]) * 16 + hex(t.text[i + 2]));
        i += 2;
      }
    }
    out += c;
  }
  return out;
}

void parse_error(const Token& at, const std::string& what) {
  throw Error(fmt::format("[parse] {}:{}: {}", at.line, at.column, what), Location());
}

}  // namespace anew::ir
