// How the work of a kernel is cut, by its shapes alone: the form of its reduction, the order of its loops, its
// independent units, the scratch they share, and how many of them a thread takes at a time. Computed once per kernel
// and kept beside it; the interpreter, generated code and memory plans all read it.
#pragma once
#include "loops/kernel.h"

namespace anew::loops {

// Canonical form of a reduction: results outer x inner, each over `reduced` elements. Rows have inner 1 and the reduced
// elements last; columns keep the last variable, which is then in the inner section.
enum class KernelForm : std::uint8_t { elementwise, rows, columns };
inline constexpr std::int64_t row_block = 4096, row_lanes = 32, column_block = 128;

// A loop variable on its way into a nest; variables of different sections are never merged.
struct NestLoop {
  int variable;
  int section;
  std::int64_t extent;
};

struct Schedule {
  KernelForm form = KernelForm::elementwise;
  std::int64_t iterations = 1, outer = 1, reduced = 1, inner = 1;
  std::int64_t blocks = 1;             // of one result: the last level's blocks
  bool by_blocks = false;              // a unit is a block of the reduction, not a result
  std::vector<NestLoop> loops;         // iteration order, with sections
  std::vector<NestLoop> result_loops;  // of a reduction: its results, row-major
  std::int64_t units = 0;              // elementwise: iterations; reductions: results, or blocks of few results
  std::int64_t grain = 0;              // units that a thread takes at a time; 0: one thread does them all
  std::size_t scratch = 0;             // bytes of partial results, shared by all units; 0: results are complete without
};

// Verifies the kernel.
Schedule schedule_of(const Kernel& kernel);

// Nanoseconds of work from which on a kernel is shared among threads. Tests ask for less than pays; returns the former.
double set_thread_threshold(double nanoseconds);

}  // namespace anew::loops
