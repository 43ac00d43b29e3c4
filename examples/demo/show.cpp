// Output of the demonstration.
#include "show.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "chapters.h"

namespace show {
namespace {

constexpr std::pair<std::string_view, std::string_view> sources[] = {
#include "sources.inc"
};

constexpr std::size_t width = 100;
int ticks = 0, failed = 0, chapter_number = 0;
std::map<std::string, std::set<std::string>> warnings;  // the places of each

bool terminal() {
  static const bool is = isatty(STDOUT_FILENO) == 1;
  return is;
}
bool colours() {
  static const bool are = terminal() && !std::getenv("NO_COLOR");
  return are;
}
bool utf8() {
  static const bool is = [] {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
      if (const char* v = std::getenv(name); v && *v) {
        const std::string_view locale = v;
        return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
      }
    return false;
  }();
  return is;
}

std::string paint(const char* code, const std::string& text) { return colours() ? code + text + "\033[0m" : text; }
std::string bold(const std::string& text) { return paint("\033[1m", text); }
std::string dim(const std::string& text) { return paint("\033[2m", text); }
std::string green(const std::string& text) { return paint("\033[32m", text); }
std::string red(const std::string& text) { return paint("\033[31m", text); }
std::string blue(const std::string& text) { return paint("\033[36m", text); }

std::string padded(const std::string& text, std::size_t to, bool right = false) {
  const std::string space(to > text.size() ? to - text.size() : 0, ' ');
  return right ? space + text : text + space;
}
bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789 ") == std::string::npos;
}

// Eighths of a cell where there are signs for them.
std::string bar(double cells) {
  if (!utf8()) return std::string(static_cast<std::size_t>(cells + 0.5), '#');
  static const char* part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  auto eighths = std::max(1, static_cast<int>(cells * 8 + 0.5));
  std::string out;
  for (; eighths >= 8; eighths -= 8) out += "█";
  return out + part[eighths];
}

}  // namespace

void title(const std::string& name, const std::string& what) {
  std::cout << '\n' << bold(name) << "  " << what << "\n";
}

void number(int chapter) { chapter_number = chapter; }
void chapter(const std::string& name) {
  std::cout << '\n' << bold((chapter_number ? std::to_string(chapter_number) + "  " : "") + name) << '\n';
}

void say(const std::string& paragraph) {
  std::istringstream words(paragraph);
  std::string word, line = "  ";
  std::cout << '\n';
  while (words >> word) {
    if (line.size() + 1 + word.size() > width) {
      std::cout << line << '\n';
      line = "  ";
    }
    line += (line.size() > 2 ? " " : "") + word;
  }
  std::cout << line << '\n';
}

void code(std::string_view name) {
  const std::string mark = "// code: " + std::string(name) + "\n";
  for (auto [file, text] : sources) {
    const std::size_t at = text.find(mark);
    if (at == text.npos) continue;
    text.remove_prefix(at + mark.size());
    std::istringstream lines(std::string(text.substr(0, text.find("// end\n"))));
    std::cout << '\n';
    for (std::string line; std::getline(lines, line);)
      if (line.find_first_not_of(' ') != line.npos) std::cout << "      " << blue(line) << '\n';
    return;
  }
  tick(false, "there is no code called " + std::string(name));
}

void block(const std::string& text) {
  std::istringstream lines(text);
  std::cout << '\n';
  for (std::string line; std::getline(lines, line);) std::cout << (line.empty() ? "" : "  ") << line << '\n';
}

std::size_t bytes_of(const std::vector<anew::Residual>& kept) {
  std::size_t n = 0;
  for (const auto& r : kept) n += r.bytes;
  return n;
}

std::string in_bytes(std::size_t n) {
  std::string digits = std::to_string(n);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), " ");
  return digits;
}

void residuals(const std::string& heading, const std::vector<anew::Residual>& kept) {
  std::cout << "\n  " << heading << '\n';
  auto line = [](const std::string& type, const std::string& what, std::size_t bytes) {
    std::cout << "      " << padded(type, 11) << padded(what, 62) << padded(in_bytes(bytes), 8, true) << '\n';
  };
  for (const auto& r : kept) line(r.type.str(), r.text.substr(r.type.str().size() + 1), r.bytes);
  line("", std::to_string(kept.size()) + " values, bytes:", bytes_of(kept));
}

void table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row.cells[i].size());
    }
  std::cout << '\n';
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].cells.size(); ++i) {
      const bool right = rows.size() > 1 && i < rows.back().cells.size() && is_number(rows.back().cells[i]);
      line += (i ? "   " : "      ") + padded(rows[r].cells[i], widths[i], right);
    }
    if (rows[r].bar > 0) line += "   " + bar(rows[r].bar);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    std::cout << (r == 0 ? dim(line) : line) << '\n';
  }
}

void tick(bool ok, const std::string& what) {
  std::cout << "\n  " << (ok ? green(utf8() ? "✓" : "ok") : red(utf8() ? "✗" : "FAILED")) << ' ' << what << '\n';
  ++ticks;
  failed += !ok;
}
int checks() { return ticks; }
int failures() { return failed; }

bool same_bits(const anew::Array& a, const anew::Array& b) {
  if (a.shape() != b.shape() || a.dtype() != anew::f32 || b.dtype() != anew::f32) return false;
  return std::memcmp(a.data<float>().data(), b.data<float>().data(), a.nbytes()) == 0;
}

void keep_warnings() {
  anew::set_warning_handler(
      [](const anew::Warning& w) { warnings[w.text].insert(anew::SourceLine{w.file, w.line, ""}.str()); });
}
void kept_warnings() {
  for (const auto& [text, places] : warnings) {
    std::string where;
    for (const std::string& place : places) where += (where.empty() ? "" : ", ") + place;
    say("! " + text + "; at " + where);
  }
}

void progress(int step, int steps, const std::string& what) {
  const bool last = step == steps;
  if (!terminal() && !last && step % std::max(1, steps / 5) != 0) return;
  const std::string number = padded(std::to_string(step), std::to_string(steps).size(), true);
  std::string line = "  step " + number + "/" + std::to_string(steps) + "   " + what;
  if (terminal()) {
    constexpr double cells = 24;
    const std::string done = bar(cells * step / steps);
    std::cout << "\r\033[K" << line << "   " << green(done) << (last ? "\n" : "") << std::flush;
  } else {
    std::cout << line << '\n' << std::flush;
  }
}

}  // namespace show

int run_alone(void (*chapter)()) try {
  show::keep_warnings();
  chapter();
  return show::failures() ? 1 : 0;
} catch (const std::exception& e) {
  std::cout << std::flush;
  std::cerr << "the chapter stopped: " << e.what() << '\n';
  return 1;
}
