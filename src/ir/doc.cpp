// The layout of a Doc in one pass over a stack of what is still to print, each with its indent and whether its breaks
// are flat. Deciding on a group looks ahead no further than the width, so the time is linear in the text.
#include "ir/doc.h"

namespace anew::ir {
namespace {

struct Item {
  int indent;
  bool flat;
  const Doc* doc;
};

bool fits(const Doc& d, int width) {
  std::vector<const Doc*> rest{&d};
  while (width >= 0 && !rest.empty()) {
    const Doc& x = *rest.back();
    rest.pop_back();
    width -= static_cast<int>(x.text.size());
    for (auto part = x.parts.rbegin(); part != x.parts.rend(); ++part) rest.push_back(&*part);
  }
  return width >= 0;
}

}  // namespace

Doc nest(int indent, Doc d) {
  Doc out{Doc::Kind::nest, {}, indent, {}};
  out.parts.push_back(std::move(d));
  return out;
}

Doc group(Doc d) {
  Doc out{Doc::Kind::group, {}, 0, {}};
  out.parts.push_back(std::move(d));
  return out;
}

Doc join(const Doc& separator, std::vector<Doc> parts) {
  std::vector<Doc> out;
  for (Doc& part : parts) {
    if (!out.empty()) out.push_back(separator);
    out.push_back(std::move(part));
  }
  return concat(std::move(out));
}

std::string layout(const Doc& d, int width) {
  std::string out;
  std::size_t line_start = 0;
  std::vector<Item> rest{{0, false, &d}};
  while (!rest.empty()) {
    const Item item = rest.back();
    rest.pop_back();
    const Doc& x = *item.doc;
    bool flat = item.flat;
    if (x.kind == Doc::Kind::line_break && !flat) {
      out += '\n';
      line_start = out.size();
      out.append(static_cast<std::size_t>(item.indent), ' ');
      continue;
    }
    if (x.kind == Doc::Kind::group && !flat) flat = fits(x, width - static_cast<int>(out.size() - line_start));
    out += x.text;
    for (auto part = x.parts.rbegin(); part != x.parts.rend(); ++part)
      rest.push_back({item.indent + x.indent, flat, &*part});
  }
  return out;
}

}  // namespace anew::ir
