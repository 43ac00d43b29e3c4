// Entry points of the block interpreter: elementwise kernels here, reductions in reduce.cpp.
#include "loops/interpreter.h"

#include "loops/evaluator.h"
#include "loops/reduce.h"

namespace anew::loops {
namespace {

void run_elementwise(const Bytecode::Body& body, std::span<const Operand> operands, Range range) {
  if (range.begin >= range.end) return;
  Evaluator e(body, operands, std::min(block_size, range.end - range.begin));
  // Long rows are cut at their ends, so that operands are read and written in place; short ones share a block.
  const bool by_rows = e.nest().rank > 1 && e.inner_extent() >= block_size / 4;
  const std::int64_t row = by_rows ? e.inner_extent() : 0;
  std::int64_t left = by_rows ? row - range.begin % row : 0;
  for (std::int64_t at = range.begin; at < range.end;) {
    std::int64_t n = std::min(block_size, range.end - at);
    if (by_rows) {
      n = std::min(n, left);
      left = left == n ? row : left - n;
    }
    e.evaluate_and_store(at, n);
    at += n;
  }
}

}  // namespace

void run(const Bytecode& code, std::span<const Operand> operands, Range units, void* scratch) {
  const FloatMode mode;
  const Bytecode::Body& body = code.body();
  if (body.form == Form::elementwise) run_elementwise(body, operands, units);
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
  if (body.form == Form::elementwise) run_elementwise(body, operands, {0, body.iterations});
  else reduce(body, operands, {0, body.outer * body.inner});
}

void run(const Kernel& kernel, std::span<const Operand> operands) { run(Bytecode(kernel), operands); }

}  // namespace anew::loops
