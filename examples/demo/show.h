// How the demonstration talks: chapters, paragraphs, its own code, tables of residuals, bars, ticks and a progress
// line. Colours and the moving progress line only on a terminal; NO_COLOR turns colours off, a locale without UTF-8 the
// signs.
#pragma once
#include <anew/anew.h>

#include <string>
#include <string_view>
#include <vector>

namespace show {

void title(const std::string& name, const std::string& what);
void number(int chapter);  // of the next chapter
void chapter(const std::string& name);
void say(const std::string& paragraph);
// The lines between "// code: <name>" and "// end" of the demonstration's own sources.
void code(std::string_view name);
// What is printed elsewhere, indented.
void block(const std::string& text);

void residuals(const std::string& heading, const std::vector<anew::Residual>& kept);
std::size_t bytes_of(const std::vector<anew::Residual>& kept);
std::string in_bytes(std::size_t n);  // "1 234 567 bytes"

// Rows of text; the first is the heading. The last column of a row may be a bar of that many cells.
struct Row {
  std::vector<std::string> cells;
  double bar = 0;
};
void table(const std::vector<Row>& rows);

// A check: printed, counted; the demonstration fails if one of them does.
void tick(bool ok, const std::string& what);
int checks();
int failures();
bool same_bits(const anew::Array& a, const anew::Array& b);
template <class... A>
bool same_bits(const std::tuple<A...>& a, const std::tuple<A...>& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same_bits(std::get<I>(a), std::get<I>(b)) && ...);
  }(std::index_sequence_for<A...>{});
}

// Warnings of the library while the story is told, each place once: kept to be shown rather than printed.
void keep_warnings();
void kept_warnings();

// One line that moves on a terminal, and a line now and then elsewhere.
void progress(int step, int steps, const std::string& what);

}  // namespace show
