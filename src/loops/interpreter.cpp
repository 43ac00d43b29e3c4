// Entry points of the block interpreter: elementwise kernels here, reductions in reduce.cpp.
#include "loops/interpreter.h"

#include "base/dtype.h"
#include "loops/evaluator.h"
#include "loops/interpret_reduction.h"

namespace anew::loops {
namespace {

// Iterations [begin, end) in order. Long rows are cut at their ends, so that operands are read and written in place;
// short ones share a block.
void run_in_order(Evaluator& e, Range range) {
  const std::int64_t row = e.inner_extent();
  const bool by_rows = e.nest().rank > 1 && row >= block_size / 4;
  for (std::int64_t at = range.begin; at < range.end;) {
    std::int64_t n = std::min(block_size, range.end - at);
    if (by_rows) n = std::min(n, row - at % row);
    e.evaluate_and_store(at, n);
    at += n;
  }
}

// One instruction over memory; false where an operand is not dense, or not there.
bool run_plain(const Bytecode::Body& body, std::span<const Operand> operands, Range range) {
  const Bytecode::Body::Plain& plain = body.plain;
  if (operands.size() != body.kernel.operands.size()) return false;
  auto place = [&](int o) -> std::byte* {
    const ShapeDtype& type = body.kernel.operands[o];
    std::int64_t dense = 1;
    for (int d = type.shape.ndim() - 1; d >= 0 && operands[o].strides; dense *= type.shape[d--])
      if (operands[o].strides[d] != dense && type.shape[d] != 1) return nullptr;
    return static_cast<std::byte*>(operands[o].data) + range.begin * static_cast<std::int64_t>(size_of(type.dtype));
  };
  std::byte *out = place(plain.out), *in[3];
  bool fits = out != nullptr;
  for (int i = 0; i < 3; ++i) fits = (in[i] = place(plain.in[i])) && fits;
  if (fits) plain.instruction(out, in[0], in[1], in[2], range.end - range.begin);
  return fits;
}

void run_elementwise(const Bytecode::Body& body, std::span<const Operand> operands, Range range) {
  if (range.begin >= range.end) return;
  if (body.plain.instruction && run_plain(body, operands, range)) return;
  Evaluator e(body, operands, std::min(block_size, range.end - range.begin));
  const std::int64_t row = e.inner_extent(), first = (range.begin + row - 1) / row, last = range.end / row;
  constexpr std::int64_t narrow = 64;
  if (last - first < 8 || row < 2 * narrow || !e.turned()) return run_in_order(e, range);
  // An operand stored the other way round: go down narrow strips, so that its cache lines are used up before they
  // leave.
  run_in_order(e, {range.begin, first * row});
  for (std::int64_t c = 0; c < row; c += narrow)
    for (std::int64_t r = first; r < last; ++r) e.evaluate_and_store(r * row + c, std::min(narrow, row - c));
  run_in_order(e, {last * row, range.end});
}

}  // namespace

void run(const Bytecode& code, std::span<const Operand> operands, Range units, void* scratch) {
  const FloatMode mode;
  const Bytecode::Body& body = code.body();
  if (body.form == KernelForm::elementwise) run_elementwise(body, operands, units);
  else if (body.by_blocks) reduce_blocks(body, operands, units, scratch);
  else reduce(body, operands, units);
}

void finish(const Bytecode& code, std::span<const Operand> operands, void* scratch) {
  const FloatMode mode;
  if (code.body().by_blocks) reduce_partials(code.body(), operands, scratch);
}

void run(const Bytecode& code, std::span<const Operand> operands) {
  const FloatMode mode;
  const Bytecode::Body& body = code.body();
  if (body.form == KernelForm::elementwise) run_elementwise(body, operands, {0, body.iterations});
  else reduce(body, operands, {0, body.outer * body.inner});
}

void run(const Kernel& kernel, std::span<const Operand> operands) { run(Bytecode(kernel), operands); }

}  // namespace anew::loops
