// Rows of a memory report: steps, in the order they run, those of loops and branches below their own. And how numbers are
// written, in all formats.
#pragma once
#include <anew/report.h>

namespace anew {

// Whether other rows are below this one: it is a loop or a branch, or the heading of one of its Bodies.
bool has_rows_below(const std::vector<MemoryReport::Step>& steps, std::size_t row);
// The rows right below it, without those below them; without a row: the outermost.
std::vector<std::size_t> rows_below(const std::vector<MemoryReport::Step>& steps, std::size_t row);
std::vector<std::size_t> rows_below(const std::vector<MemoryReport::Step>& steps);
// The first of the rows without others below them where most is alive; 0 where there are none.
std::size_t fullest_row(const std::vector<MemoryReport::Step>& steps);

// Sets `sources`: of the lines that the report names, and three around them, what can be read.
void read_sources(MemoryReport& report);

// Totals of layers together: "layers[0..11].w".
std::vector<MemoryReport::Total> together(const std::vector<MemoryReport::Total>& totals);

// "model.cpp:41 (layer)"; nothing of no line.
std::string line_text(const SourceLine& line);
// "840 ns", "2.05 us", "12.3 ms", "274.9 ms"; nothing of a time that is not known.
std::string readable_time(double seconds);
// "1,051,652"
std::string readable_count(std::size_t n);

}  // namespace anew
