// The inverse of print: recursive descent over tokens, one function per phrase of the grammar. What it gives is
// verified: every variable is defined once and before its use, every equation has the types that its row infers. Text
// may come from anywhere, so this is what stands between it and kernels that trust types; and how deep it nests is
// limited, since everything that walks a Program is recursive.
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <unordered_map>

#include "ir/decimal.h"
#include "ir/lexer.h"
#include "ir/primitive.h"
#include "ir/program.h"
#include "ir/words.h"

namespace anew::ir {
namespace {

std::string shown(const Token& t) { return t.kind == Token::Kind::end ? "the end" : fmt::format("'{}'", t.text); }

class Parser {
 public:
  Parser(std::string_view text, const FindPrimitive& find) : tokens_(tokens_of(text)), find_(find) {}

  Program whole() {
    while (at("let")) shared();
    Program p = program();
    if (peek().kind != Token::Kind::end) expected("the end");
    return p;
  }

 private:
  // ---- tokens
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(i_ + ahead, tokens_.size() - 1)]; }
  bool at(std::string_view t) const { return peek().is(t); }
  const Token& take() { return tokens_[i_ + 1 < tokens_.size() ? i_++ : i_]; }
  bool accept(std::string_view t) { return at(t) ? take(), true : false; }
  void expect(std::string_view t) {
    if (!accept(t)) expected(fmt::format("'{}'", t));
  }
  const Token& word(std::string_view what) {
    if (peek().kind != Token::Kind::word) expected(what);
    return take();
  }
  [[noreturn]] void expected(std::string_view what) const {
    parse_error(peek(), fmt::format("expected {}, got {}", what, shown(peek())));
  }

  // One level deeper for a scope.
  class Deeper {
   public:
    Deeper(int& depth, const Token& at, std::string_view what) : depth_(depth) {
      if (depth >= max_nesting) parse_error(at, fmt::format("{} are nested more than {} deep", what, max_nesting));
      ++depth_;
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;

   private:
    int& depth_;
  };

  // ---- programs
  struct Scope {
    Program p;
    std::unordered_map<std::string_view, Var> names;
  };

  void shared() {
    expect("let");
    expect("@");
    const Token name = word("the name of a program");
    expect("=");
    ProgramRef p = nested();
    if (!shared_.emplace(name.text, std::move(p)).second)
      parse_error(name, fmt::format("program @{} is defined twice", name.text));
    expect("in");
  }

  ProgramRef nested() {
    const Token& open = peek();
    const Deeper deeper(programs_, open, "programs");
    Program p = program();
    p.depth = nesting(p);
    if (p.depth >= max_nesting) parse_error(open, fmt::format("programs are nested more than {} deep", max_nesting));
    return std::make_shared<const Program>(std::move(p));
  }

  Program program() {
    Scope s;
    expect("{");
    expect("lambda");
    s.p.inputs = definitions(s);
    s.p.constants = static_cast<int>(s.p.inputs.size());
    expect(";");
    for (Var v : definitions(s)) s.p.inputs.push_back(v);
    expect(".");
    expect("let");
    while (!at("in")) {
      equation(s);
      accept(";");
    }
    expect("in");
    expect("(");
    while (!accept(")")) {
      s.p.outputs.push_back(atom(s));
      if (!at(")")) expect(",");
    }
    expect("}");
    return std::move(s.p);
  }

  std::vector<Var> definitions(Scope& s) {
    std::vector<Var> out;
    while (peek().kind == Token::Kind::word) {
      const Token& name = take();
      if (is_reserved(name.text)) parse_error(name, fmt::format("'{}' is not a name of a variable", name.text));
      expect(":");
      const auto v = static_cast<Var>(s.p.types.size());
      s.p.types.push_back(type());
      if (name.text != "_" && !s.names.emplace(name.text, v).second)
        parse_error(name, fmt::format("variable {} is defined twice", name.text));
      out.push_back(v);
    }
    return out;
  }

  void equation(Scope& s) {
    const Token& start = peek();
    Eqn e;
    std::vector<Var> outputs;
    if (peek(1).is(":")) {
      const std::size_t before = i_;
      outputs = definitions(s);
      if (i_ != before) expect("=");
    }
    const Token& name = word("an equation or 'in'");
    e.primitive = find_(name.text);
    if (!e.primitive) parse_error(name, fmt::format("there is no primitive '{}'", name.text));
    e.at = Location();
    e.params = params(*e.primitive);
    e.outputs = std::move(outputs);
    while (operand_follows(start)) e.inputs.push_back(atom(s, &e));
    // Where the text goes on in no way at all, that is what to say.
    if (!at(";") && !at("in") && peek().kind != Token::Kind::word) expected("an equation or 'in'");
    check_types(s.p, e, name);
    s.p.eqns.push_back(std::move(e));
  }

  static void check_types(const Program& p, const Eqn& e, const Token& at) {
    std::vector<Type> in, out;
    for (const Atom& a : e.inputs) in.push_back(p.type(a));
    for (Var v : e.outputs) out.push_back(p.type(v));
    Types infers;
    try {
      infers = e.primitive->infer({*e.params, in, e.at});
    } catch (const Error& error) {
      parse_error(at, error.what());
    }
    if (infers != out)
      parse_error(at, fmt::format("[{}] of {} gives {}, not {}", e.primitive->name, types_text(in), types_text(infers),
                                  types_text(out)));
  }

  // Operands end at `;`, at `in`, at the outputs or params of the next equation, or at a line indented no further.
  bool operand_follows(const Token& start) const {
    const Token& t = peek();
    if (t.opens_line && t.column <= start.column) return false;
    if (t.kind == Token::Kind::word && t.text != "in") {
      if (is_literal_word(t.text)) return true;
      return !peek(1).is(":") && !peek(1).is("[");
    }
    return t.kind == Token::Kind::integer || t.kind == Token::Kind::floating;
  }

  static bool is_literal_word(std::string_view w) { return w == "True" || w == "False" || w == "inf" || w == "nan"; }

  // ---- operands
  Atom atom(const Scope& s, const Eqn* inside = nullptr) {
    const Token& t = peek();
    if (t.kind == Token::Kind::word && !is_literal_word(t.text)) {
      auto found = s.names.find(take().text);
      if (found == s.names.end()) parse_error(t, fmt::format("variable {} is not defined", t.text));
      if (inside && std::find(inside->outputs.begin(), inside->outputs.end(), found->second) != inside->outputs.end())
        parse_error(t, fmt::format("variable {} is an output of its own equation", t.text));
      return found->second;
    }
    if (t.kind == Token::Kind::word || t.kind == Token::Kind::integer || t.kind == Token::Kind::floating) {
      take();
      expect(":");
      const Token& type_token = peek();
      const Type ty = type();
      if (ty.shape.ndim() != 0) parse_error(type_token, fmt::format("a literal is a scalar, not {}", ty.str()));
      return literal(t, ty.dtype);
    }
    expected("a variable or a literal");
  }

  static Literal literal(const Token& t, DType dtype) {
    const bool boolean = t.is("True") || t.is("False");
    if (dtype == bool_ && boolean) return Literal::of(bool_, std::int64_t{t.text == "True"});
    if (is_float(dtype) && !boolean && t.kind != Token::Kind::integer) return Literal::of(dtype, floating(t, dtype));
    if (is_integer(dtype) && t.kind == Token::Kind::integer) {
      if (!is_signed(dtype) && t.text[0] != '-') {
        const auto v = integer<std::uint64_t>(t);
        if (const Literal l{dtype, bits_of(dtype, v)}; l.bits == v) return l;
      } else {
        const Literal l = Literal::of(dtype, integer(t));
        if (is_signed(dtype) && l.as_integer() == integer(t)) return l;
      }
      parse_error(t, fmt::format("'{}' does not fit {}", t.text, name_of(dtype)));
    }
    parse_error(t, fmt::format("'{}' is not a literal of {}", t.text, name_of(dtype)));
  }

  template <class T = std::int64_t>
  static T integer(const Token& t) {
    T v = 0;
    const auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), v);
    if (error != std::errc())
      parse_error(t, fmt::format("'{}' does not fit {}", t.text, name_of(detail::dtype_of<T>())));
    return v;
  }

  static double floating(const Token& t, DType dtype) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (t.text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (t.text == "inf" || t.text == "-inf") return t.text == "inf" ? infinity : -infinity;
    const std::optional<double> v = read_float(t.text, dtype);
    if (!v) parse_error(t, fmt::format("'{}' does not fit {}", t.text, name_of(dtype)));
    return *v;
  }

  Type type() {
    const Token& name = word("a type");
    const std::optional<DType> dtype = dtype_of_name(name.text);
    if (!dtype) parse_error(name, fmt::format("expected a type, got '{}'", name.text));
    Type out{{}, *dtype};
    expect("[");
    while (!accept("]")) {
      const Token& t = peek();
      if (t.kind != Token::Kind::integer) expected("a size");
      if (out.shape.ndim() == Shape::max_ndim)
        parse_error(t, fmt::format("an array has at most {} dimensions", Shape::max_ndim));
      out.shape.push_back(integer(take()));
      if (!at("]")) expect(",");
    }
    if (!checked_bytes(out.shape, out.dtype)) parse_error(name, fmt::format("{} is not a type of an array", out.str()));
    return out;
  }

  // ---- params
  ParamsRef params(const Primitive& row) {
    const Token& open = peek();
    NamedParams given;
    if (accept("[")) {
      while (!accept("]")) {
        const Token& name = word("a param or ']'");
        expect("=");
        given.emplace_back(name.text, value(false));
      }
    }
    ParamsRef out = row.parse ? row.parse(given) : nullptr;
    if (!out)
      parse_error(open,
                  fmt::format("the params of {} do not fit: one is missing, unknown or of another kind", row.name));
    return given.empty() && out->equals(*no_params()) ? no_params() : out;
  }

  ParamValue value(bool inside) {
    const Token& t = peek();
    switch (t.kind) {
      case Token::Kind::integer: return {integer(take())};
      case Token::Kind::floating: return {floating(take(), f64)};
      case Token::Kind::string: return {unquoted(take())};
      case Token::Kind::word: return word_value(take(), inside);
      default: break;
    }
    if (at("{")) return {nested()};
    const Deeper deeper(lists_, t, "lists");
    if (accept("(")) return {ParamList{values(")"), false}};
    if (accept("[")) return {ParamList{values("]"), true}};
    if (accept("@")) {
      const Token& name = word("the name of a program");
      auto found = shared_.find(name.text);
      if (found == shared_.end()) parse_error(name, fmt::format("program @{} is not defined", name.text));
      return {found->second};
    }
    expected("a value");
  }

  ParamValue word_value(const Token& t, bool inside) {
    if (at("(")) {
      const Deeper deeper(lists_, t, "calls");
      take();
      return {ParamCall{std::string(t.text), values(")"), false}};
    }
    if (t.text == "True" || t.text == "False") return {t.text == "True"};
    if (t.text == "None") return {};
    if (is_literal_word(t.text)) return {floating(t, f64)};
    if (const std::optional<DType> dtype = dtype_of_long_name(t.text)) return {*dtype};
    if (inside) return {ParamCall{std::string(t.text), {}, true}};
    return {std::string(t.text)};
  }

  // Programs in a list need no commas between them.
  std::vector<ParamValue> values(std::string_view close) {
    std::vector<ParamValue> out;
    while (!accept(close)) {
      out.push_back(value(true));
      if (at(close) || accept(",")) continue;
      if (!std::holds_alternative<ProgramRef>(out.back().v)) expected(fmt::format("',' or '{}'", close));
    }
    return out;
  }

  std::vector<Token> tokens_;
  const FindPrimitive& find_;
  std::size_t i_ = 0;
  int programs_ = 0, lists_ = 0;  // how deep
  std::unordered_map<std::string_view, ProgramRef> shared_;
};

}  // namespace

Program parse(std::string_view text, const FindPrimitive& find) { return Parser(text, find).whole(); }

}  // namespace anew::ir
