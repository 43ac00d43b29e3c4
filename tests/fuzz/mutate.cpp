// Changes of program texts. They are made on pieces: words, numbers, marks and blanks, which joined are the text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/dtype.h"
#include "control/higher_order.h"
#include "fuzz/program.h"
#include "fuzz/text.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::fuzz {
namespace {

using Pieces = std::vector<std::string>;

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool is_number(const std::string& s) { return is_digit(s[0]) || (s.size() > 1 && s[0] == '-' && is_digit(s[1])); }
bool is_name(const std::string& s) { return starts_word(s[0]); }

Pieces pieces_of(const std::string& text) {
  Pieces out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    auto run = [&](auto in) {
      while (end < text.size() && in(text[end])) ++end;
    };
    if (starts_word(text[i])) run([](char c) { return starts_word(c) || is_digit(c); });
    else if (is_digit(text[i]) || (text[i] == '-' && end < text.size() && is_digit(text[end])))
      run([](char c) { return is_digit(c) || c == '.'; });
    else if (text[i] == ' ') run([](char c) { return c == ' '; });
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}
std::string joined(const Pieces& pieces) {
  std::string out;
  for (const std::string& p : pieces) out += p;
  return out;
}

template <std::string_view (*name)(DType)>
constexpr auto names_of_dtypes = [] {
  std::array<std::string_view, all_dtypes.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = name(all_dtypes[i]);
  return out;
}();
constexpr auto dtypes = names_of_dtypes<name_of>, long_dtypes = names_of_dtypes<long_name_of>;
template <class A>
bool has(const A& list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

// Around a number, and where arithmetic ends. A size of some thousand elements is as large as is evaluated.
std::vector<std::string> numbers_near(const std::string& number) {
  if (number.find('.') != std::string::npos) return {"0.0", "-1.0", "nan", "inf", "1e+300"};
  std::vector<std::string> out{"0",
                               "1",
                               "2",
                               "3",
                               "-1",
                               "7",
                               "64",
                               "2147483647",
                               "2147483648",
                               "4611686018427387904",
                               "9223372036854775807",
                               "-2147483648",
                               "-9223372036854775808"};
  if (number.size() < 9) {
    const int n = std::stoi(number);
    for (int d : {-1, 1}) out.push_back(std::to_string(n + d));
    out.push_back(std::to_string(-n));
  }
  std::erase(out, number);
  return out;
}

class Mutator {
 public:
  Mutator(const std::string& text, const std::string& other, test::Random& random)
      : pieces_(pieces_of(text)), text_(text), other_(other), random_(random) {}

  std::string run() {
    if (text_.empty()) return other_;
    switch (below(14)) {
      case 0: return bytes();
      case 1:
      case 2:
      case 3: replace(is_number, [&](const std::string& s) { return any(numbers_near(s)); }); break;
      case 4: replace([](auto& s) { return has(dtypes, s); }, [&](auto&) { return std::string(any(dtypes)); }); break;
      case 5:
        replace([](auto& s) { return has(long_dtypes, s); }, [&](auto&) { return std::string(any(long_dtypes)); });
        break;
      case 6: replace([](auto& s) { return find_row(s); }, [&](auto&) { return any(all_rows())->name; }); break;
      case 7:
      case 8:
        replace([](auto& s) { return s.size() <= 2 && is_name(s); }, [&](auto&) { return any(short_names()); });
        break;
      case 9: replace([](auto& s) { return s[0] != ' '; }, [&](auto&) { return any(pieces_); }); break;
      case 10: pieces_.erase(pieces_.begin() + below(pieces_.size())); break;
      case 11: {
        const std::string p = any(pieces_);
        pieces_.insert(pieces_.begin() + below(pieces_.size()), p);
        break;
      }
      case 12: return lines();
      default: shape(); break;
    }
    return joined(pieces_);
  }

 private:
  std::ptrdiff_t below(std::size_t n) {
    return static_cast<std::ptrdiff_t>(random_.bits() % std::max<std::size_t>(n, 1));
  }
  template <class L>
  auto any(const L& list) -> std::decay_t<decltype(list[0])> {
    return list[static_cast<std::size_t>(below(list.size()))];
  }
  template <class Where, class What>
  void replace(Where where, What what) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (where(pieces_[i])) places.push_back(i);
    if (places.empty()) return;
    std::string& p = pieces_[any(places)];
    p = what(p);
  }
  Pieces short_names() const {
    Pieces out;
    for (const std::string& s : pieces_)
      if (s.size() <= 2 && is_name(s)) out.push_back(s);
    return out;
  }
  std::string bytes() {
    std::string s = text_;
    for (int n = 0; n < 3 && !s.empty(); ++n) {
      const auto at = static_cast<std::size_t>(below(s.size()));
      constexpr std::string_view marks = "{}[]():;.,=@'\\<0123456789abcdefx \n\t-";
      switch (below(4)) {
        case 0: s[at] = any(marks); break;
        case 1: s[at] = static_cast<char>(random_.bits()); break;
        case 2: s.erase(at, 1 + static_cast<std::size_t>(below(8))); break;
        default: s.insert(at, 1, any(marks)); break;
      }
      if (below(2)) break;
    }
    return s;
  }
  static Pieces lines_of(const std::string& s) {
    Pieces out(1);
    for (char c : s) {
      out.back() += c;
      if (c == '\n') out.emplace_back();
    }
    return out;
  }
  std::string lines() {
    Pieces all = lines_of(text_), from = lines_of(other_);
    const auto at = static_cast<std::size_t>(below(all.size()));
    switch (below(4)) {
      case 0: std::swap(all[at], all[static_cast<std::size_t>(below(all.size()))]); break;
      case 1: all.erase(all.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 2: all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), any(all)); break;
      default: all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), any(from)); break;
    }
    return joined(all);
  }
  // A size more or less in brackets.
  void shape() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i + 1 < pieces_.size(); ++i)
      if (pieces_[i] == "[" || pieces_[i] == "(") open.push_back(i + 1);
    if (open.empty()) return;
    const std::size_t at = any(open);
    if (below(2)) pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(at), {any(Pieces{"1", "2", "0"}), ","});
    else if (is_number(pieces_[at])) pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  Pieces pieces_;
  const std::string &text_, &other_;
  test::Random& random_;
};

// Where the brackets that open at `at` close; the end if nowhere.
std::size_t close_of(const Pieces& p, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < p.size(); ++i) {
    if (p[i] == "(" || p[i] == "[" || p[i] == "{") ++depth;
    if (p[i] == ")" || p[i] == "]" || p[i] == "}")
      if (--depth == 0) return i;
  }
  return p.size();
}

std::string one_equation(const ir::Primitive& row, const ir::Sample& s) {
  Arrays in;
  for (const ir::SampleInput& i : s.inputs) in.push_back(zeros(i.type.shape, i.type.dtype));
  auto f = [&](std::span<const Array> x) { return anew::bind(row, s.params, x, Location::current()); };
  return flat::make_program(f, in).str();
}

}  // namespace

std::vector<std::string> row_texts() {
  std::vector<std::string> out;
  for (const ir::Primitive* row : all_rows()) {
    if (!row->samples) continue;
    std::map<std::string, bool> seen;  // one dtype is as good as another: dtypes are changed anyway
    for (const ir::Sample& s : row->samples()) {
      std::string text = one_equation(*row, s), key = text;
      if (text.find("<fn ") != std::string::npos) continue;
      for (std::size_t at; (at = key.find("64")) != std::string::npos;) key.replace(at, 2, "32");
      if (seen.emplace(std::move(key), true).second) out.push_back(std::move(text));
    }
  }
  return out;
}

std::vector<std::string> generated_texts(std::uint64_t seed, int count) {
  test::Warnings quiet;
  std::vector<std::string> out;
  for (; std::ssize(out) < count; ++seed) {
    Block b = generate(seed, {.nodes = 5, .depth = 2});
    const Arrays x = inputs_of(b, seed);
    FlatFunction f = function(b);
    auto gradient = [&](In in) {
      auto [y, linear] = flat::linearize(f, in);
      return linear.pullback(y);
    };
    for (const FlatFunction& g : {f, FlatFunction(gradient)}) {
      std::string text = flat::make_program(g, x).str();
      if (text.size() < 4000 && text.find("<fn ") == std::string::npos) out.push_back(std::move(text));
    }
  }
  return out;
}

std::string mutated(const std::string& text, const std::string& other, test::Random& random) {
  return Mutator(text, other, random).run();
}

std::vector<std::string> systematically_mutated(const std::string& text) {
  std::vector<std::string> out;
  const Pieces p = pieces_of(text);
  auto with = [&](std::size_t i, const std::string& s) {
    Pieces q = p;
    q[i] = s;
    out.push_back(joined(q));
  };
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (is_number(p[i]))
      for (const std::string& n : numbers_near(p[i])) with(i, n);
    if (has(dtypes, p[i]))
      for (std::string_view d : dtypes) with(i, std::string(d));
    if (has(long_dtypes, p[i]))
      for (std::string_view d : long_dtypes) with(i, std::string(d));
    if (p[i] == "True" || p[i] == "False") with(i, p[i] == "True" ? "False" : "True");
    if (p[i] == "(" || p[i] == "[") {
      const std::size_t end = close_of(p, i);
      if (end == p.size()) continue;
      std::string inside;
      for (std::size_t k = i + 1; k < end; ++k) inside += p[k];
      auto refilled = [&](const std::string& s) {
        Pieces q(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        q.push_back(s);
        q.insert(q.end(), p.begin() + static_cast<std::ptrdiff_t>(end), p.end());
        out.push_back(joined(q));
      };
      refilled("");
      for (const char* more : {"0", "1", "2"}) {
        refilled(std::string(more) + "," + inside);
        refilled(inside.empty() ? more : inside + "," + more);
      }
      if (!inside.empty()) refilled(inside + "," + inside);
      if (std::size_t comma = inside.find(','); comma != std::string::npos) refilled(inside.substr(comma + 1));
    }
    // An operand more, one less.
    if (p[i].size() == 1 && is_name(p[i]) && i > 0 && p[i - 1] == " " && (i + 1 == p.size() || p[i + 1] != ":")) {
      with(i, "");
      with(i, p[i] + " " + p[i]);
    }
  }
  return out;
}

std::string repaired(std::string text) {
  for (int tries = 0; tries < 12; ++tries) {
    std::string message;
    try {
      parse_program(text);
      return text;
    } catch (const Error& e) {
      message = e.what();
    }
    // "[parse] 3:14: [op] of (...) gives (f32[2]), not (f32[3])"
    int line = 0, column = 0;
    const std::size_t gives = message.find(" gives ("), end = message.find("), not (");
    if (gives == std::string::npos || end == std::string::npos || end < gives ||
        std::sscanf(message.c_str(), "[parse] %d:%d:", &line, &column) != 2)
      return text;
    std::string types = message.substr(gives + 8, end - gives - 8);
    std::size_t at = 0;
    for (int l = 1; l < line; ++l) at = text.find('\n', at) + 1;
    at += static_cast<std::size_t>(column) - 1;
    // Back over `=` to the definitions, which end where a blank or a line does not stand before a name and a colon.
    std::size_t equals = text.rfind('=', at);
    std::size_t begin = equals;
    if (equals == std::string::npos || text.find_first_not_of(" \n", equals + 1) != at) return text;
    while (begin > 0) {
      const std::size_t last = text.find_last_not_of(" \n", begin - 1);
      if (last == std::string::npos || text[last] != ']') break;
      const std::size_t colon = text.rfind(':', last);
      if (colon == std::string::npos || colon == 0) break;
      std::size_t name = colon;
      while (name > 0 && (starts_word(text[name - 1]) || is_digit(text[name - 1]))) --name;
      begin = name;
    }
    Pieces names;
    for (std::size_t i = begin; i < equals;) {
      const std::size_t colon = text.find(':', i);
      if (colon == std::string::npos || colon > equals) break;
      names.push_back(text.substr(i, colon - i));
      i = text.find_first_not_of(" \n", text.find(']', colon) + 1);
    }
    std::string definitions;
    for (std::size_t k = 0, i = 0; i < types.size(); ++k) {
      std::size_t comma = types.find("], ", i);
      const std::size_t stop = comma == std::string::npos ? types.size() : comma + 1;
      definitions += fmt::format("{}:{} ", k < names.size() ? names[k] : "_", types.substr(i, stop - i));
      i = comma == std::string::npos ? types.size() : comma + 3;
    }
    text = text.substr(0, begin) + definitions + text.substr(definitions.empty() ? equals + 1 : equals);
  }
  return text;
}

}  // namespace anew::fuzz
