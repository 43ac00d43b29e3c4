// Programs as text:
//   in 0:f32[3] 1:f32[] ;
//   2 = sin 0 ;
//   3 4 = scan[3,0,1,1] 1 2 { in 5:f32[] 6:f32[] ; 7 = mul 5 6 ; out 7 5 ; } ;
//   out 3 4 ;
#include "fuzz/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/dtype.h"

namespace anew::fuzz {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  Block block() {
    Block b;
    expect("in");
    while (peek() != ";") {
      std::string word = next();
      auto colon = word.find(':');
      b.inputs.push_back({std::stoi(word.substr(0, colon)), type(word.substr(colon + 1))});
    }
    expect(";");
    while (peek() != "out") b.nodes.push_back(node());
    expect("out");
    while (peek() != ";") b.outputs.push_back(std::stoi(next()));
    expect(";");
    return b;
  }
  bool done() { return peek().empty(); }

 private:
  Node node() {
    Node n;
    while (peek() != "=") n.out.push_back(std::stoi(next()));
    expect("=");
    std::string word = next();
    auto bracket = word.find('[');
    n.op = word.substr(0, bracket);
    if (bracket != std::string::npos) n.params = list(word.substr(bracket));
    while (peek() != ";" && peek() != "{") n.in.push_back(std::stoi(next()));
    while (peek() == "{") {
      expect("{");
      n.blocks.push_back(block());
      expect("}");
    }
    expect(";");
    return n;
  }
  static Params list(const std::string& word) {  // "[3,0]"
    Params out;
    for (std::size_t at = 1; at + 1 < word.size();) {
      std::size_t end = word.find_first_of(",]", at);
      out.push_back(std::stoll(word.substr(at, end - at)));
      at = end + 1;
    }
    return out;
  }
  static ShapeDtype type(const std::string& word) {
    auto bracket = word.find('[');
    for (DType d : all_dtypes)
      if (word.substr(0, bracket) == name_of(d)) return {Shape(list(word.substr(bracket))), d};
    throw std::invalid_argument("no type: " + word);
  }
  std::string peek() {
    std::size_t at = at_;
    std::string word = next();
    at_ = at;
    return word;
  }
  std::string next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    std::size_t start = at_;
    while (at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  void expect(const std::string& word) {
    std::string got = next();
    if (got != word) throw std::invalid_argument(fmt::format("expected '{}', got '{}'", word, got));
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string print(const Block& b, int indent) {
  std::string pad(static_cast<std::size_t>(indent), ' '), out = pad + "in";
  for (const Parameter& p : b.inputs) out += fmt::format(" {}:{}", p.id, p.type.str());
  out += " ;\n";
  for (const Node& n : b.nodes) {
    out += pad + fmt::format("{} = {}", fmt::join(n.out, " "), n.op);
    if (!n.params.empty()) out += fmt::format("[{}]", fmt::join(n.params, ","));
    if (!n.in.empty()) out += fmt::format(" {}", fmt::join(n.in, " "));
    for (const Block& inner : n.blocks) out += " {\n" + print(inner, indent + 2) + pad + "}";
    out += " ;\n";
  }
  return out + pad + fmt::format("out {}{};\n", fmt::join(b.outputs, " "), b.outputs.empty() ? "" : " ");
}

Block parse(std::string_view text) {
  Reader r(text);
  Block b = r.block();
  if (!r.done()) throw std::invalid_argument("text after the program");
  return b;
}

void for_each_node(const Block& b, const std::function<void(const Node&)>& f) {
  for (const Node& n : b.nodes) {
    f(n);
    for (const Block& inner : n.blocks) for_each_node(inner, f);
  }
}
bool contains(const Block& b, std::string_view op) {
  bool found = false;
  for_each_node(b, [&](const Node& n) { found = found || n.op == op; });
  return found;
}
Id next_id(const Block& b) {
  Id id = 0;
  for (const Parameter& p : b.inputs) id = std::max(id, p.id + 1);
  for (const Node& n : b.nodes) {
    for (Id i : n.out) id = std::max(id, i + 1);
    for (const Block& inner : n.blocks) id = std::max(id, next_id(inner));
  }
  return id;
}

}  // namespace anew::fuzz
