// See schedule.h.
#include "loops/schedule.h"

#include <algorithm>
#include <atomic>

#include "loops/instruction.h"

namespace anew::loops {
namespace {

std::atomic<double> threshold = 8000;  // nanoseconds of work below which a second thread does not pay

double cost_of(const Node& node) {  // ns per element, to an order of magnitude
  switch (node.op) {
    case Op::constant: return 0;
    case Op::div:
    case Op::sqrt: return 0.2;
    case Op::rem: return 3;
    case Op::call: return node.dtype == f64 ? 3 : 1;
    default: return size_of(node.dtype) == 8 ? 0.15 : 0.08;
  }
}

// The kept variables, the reduced ones, then trailing kept ones.
void order_loops(const Kernel& k, Schedule& s) {
  const std::size_t rank = k.extents.size();
  auto add = [&](std::vector<NestLoop>& to, std::size_t v, int section) {
    to.push_back({static_cast<int>(v), section, k.extents[v]});
  };
  for (std::int64_t e : k.extents) s.iterations *= e;
  if (k.combine == Combine::none) {
    for (std::size_t v = 0; v < rank; ++v) add(s.loops, v, 0);
    return;
  }
  std::size_t inner_from = rank;
  while (inner_from > 0 && !k.reduced[inner_from - 1]) --inner_from;
  s.form = inner_from == rank ? KernelForm::rows : KernelForm::columns;
  for (std::size_t v = 0; v < inner_from; ++v)
    if (!k.reduced[v]) add(s.loops, v, 0), s.outer *= k.extents[v];
  s.result_loops = s.loops;
  for (std::size_t v = 0; v < inner_from; ++v)
    if (k.reduced[v]) add(s.loops, v, 1), s.reduced *= k.extents[v];
  for (std::size_t v = inner_from; v < rank; ++v)
    add(s.loops, v, 2), add(s.result_loops, v, 0), s.inner *= k.extents[v];
}

void cut_into_units(const Kernel& k, Schedule& s) {
  s.units = s.iterations;
  if (s.form == KernelForm::elementwise) return;
  const std::int64_t results = s.outer * s.inner;
  const std::int64_t block = s.form == KernelForm::rows ? row_block : column_block;
  s.units = results;
  s.blocks = (s.reduced + block - 1) / block;
  // Many results share the work well; few of them are cut into the blocks of their sums.
  const bool few = s.form == KernelForm::rows ? results < 32 : results < 1024;
  s.by_blocks = few && s.blocks >= (s.form == KernelForm::rows ? 2 : 4) && results > 0;
  if (!s.by_blocks) return;
  const DType value = computed_type(k.nodes[k.stores[0].node].dtype);
  const bool finds_index = finds_position(k.combine);
  s.units = s.outer * s.blocks;
  s.scratch = (results * s.blocks) * (size_of(value) + (finds_index ? 8 : 0));
}

// Pieces of half the work that pays for a thread, at most 64 of them; long ones end where blocks of the interpreter do.
std::int64_t grain_of(const Kernel& k, const Schedule& s) {
  double cost = 0.1;
  for (const Node& n : k.nodes) cost += cost_of(n);
  const double nanoseconds = cost * static_cast<double>(s.iterations), least = threshold;
  if (s.units < 2 || nanoseconds < least) return 0;
  const auto pieces = least > 0 ? static_cast<std::int64_t>(std::min(64.0, nanoseconds / (least / 2))) : 64;
  std::int64_t grain = std::max<std::int64_t>(1, s.units / std::max<std::int64_t>(pieces, 2));
  // Of rows of memory each thread takes whole lines, and enough of them in a row.
  if (s.form == KernelForm::columns && !s.by_blocks) {
    const std::int64_t least_columns = s.units < 1024 ? 64 : 256;
    grain = (grain + least_columns - 1) / least_columns * least_columns;
  }
  return grain > block_size ? (grain + block_size - 1) / block_size * block_size : grain;
}

}  // namespace

Schedule schedule_of(const Kernel& kernel) {
  verify(kernel);
  Schedule s;
  order_loops(kernel, s);
  cut_into_units(kernel, s);
  s.grain = grain_of(kernel, s);
  return s;
}

double set_thread_threshold(double nanoseconds) { return threshold.exchange(nanoseconds); }

}  // namespace anew::loops
