// The lines of the user's files that a memory report names, and some around them.
#include <fstream>
#include <map>
#include <set>

#include "inspect/report_rows.h"

namespace anew {
namespace {

// Bytes that are no text in UTF-8 are question marks: pages and JSON are.
std::string as_text(std::string line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    const std::size_t more = c < 0x80                ? 0
                             : c >= 0xc2 && c < 0xe0 ? 1
                             : c >= 0xe0 && c < 0xf0 ? 2
                             : c >= 0xf0 && c < 0xf5 ? 3
                                                     : 4;
    bool valid = more < 4 && i + more < line.size();
    for (std::size_t k = 1; valid && k <= more; ++k) valid = (static_cast<unsigned char>(line[i + k]) & 0xc0) == 0x80;
    if (valid) i += more;
    else line[i] = '?';
  }
  while (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

}  // namespace

void read_sources(MemoryReport& r) {
  constexpr int around = 3;
  std::map<std::string, std::set<int>> wanted;
  auto want = [&](const SourceLine& line) {
    for (int n = line.line - around; line.line && n <= line.line + around; ++n) wanted[line.file].insert(n);
  };
  for (const MemoryReport::Step& s : r.steps) {
    want(s.line);
    for (const MemoryReport::Operation& o : s.operations) want(o.line);
  }
  for (const MemoryReport::Piece& p : r.pieces) want(p.line);
  for (const auto& [file, lines] : wanted) {
    std::ifstream in(file);
    std::string text;
    for (int n = 1; n <= *lines.rbegin() && std::getline(in, text); ++n)
      if (lines.contains(n)) r.sources.push_back({file, n, as_text(text)});
  }
}

}  // namespace anew
