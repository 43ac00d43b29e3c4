// Text that lays itself out: a tree of texts, breaks, indents and groups. A group goes on one line if its own contents
// fit into what is left of the line, else its breaks become new lines. What follows the group does not count, so a line
// may run over by the last thing on it; so do the authors of the notation, with whose listings ours are compared.
#pragma once
#include <string>
#include <vector>

namespace anew::ir {

struct Doc {
  enum class Kind { text, line_break, concat, nest, group } kind = Kind::concat;
  std::string text = {};  // of a break: what stands there if the line is not broken
  int indent = 0;         // of a nest
  std::vector<Doc> parts = {};
};

inline Doc text(std::string s) { return {Doc::Kind::text, std::move(s), 0, {}}; }
inline Doc line_break(std::string flat = " ") { return {Doc::Kind::line_break, std::move(flat), 0, {}}; }
inline Doc concat(std::vector<Doc> parts) { return {Doc::Kind::concat, {}, 0, std::move(parts)}; }
Doc nest(int indent, Doc d);
Doc group(Doc d);
Doc join(const Doc& separator, std::vector<Doc> parts);
std::string layout(const Doc& d, int width);

}  // namespace anew::ir
