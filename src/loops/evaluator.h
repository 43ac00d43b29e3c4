// One run of a Bytecode over given memory: streams with their strides, registers, and the steps applied block by block.
// Registers and streams live in a workspace of the thread that grows and stays, so a run allocates nothing once warm.
#pragma once
#include <span>

#include "base/float_mode.h"
#include "loops/bytecode.h"

namespace anew::loops {

class Evaluator {
 public:
  // `most`: the longest block that will be evaluated.
  Evaluator(const Bytecode::Body& body, std::span<const Operand> operands, std::int64_t most);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Runs the steps for n iterations from `position` on and leaves the values in registers.
  void evaluate(std::int64_t position, std::int64_t n);
  const std::byte* value(int node) const { return values_[node]; }
  // The same, then writes the stores.
  void evaluate_and_store(std::int64_t position, std::int64_t n);

  const Nest& nest() const { return nest_; }
  std::int64_t inner_extent() const { return nest_.inner(); }
  // Does a stream go through memory in long steps where the innermost loop runs?
  bool turned() const;
  // The stream of a node that is a plain load whose memory can be read as it is, else null.
  const Stream* plain_load(int node) const;
  // The memory of the store of a reduction, seen from the nest of its results.
  void scatter_results(std::int64_t position, std::int64_t n, const void* values);
  // At least `bytes` of memory of this thread, apart from the registers.
  std::byte* scratch(std::size_t bytes);

 private:
  void set_streams(std::span<const Operand> operands);
  void run(const BlockStep& step, std::int64_t n, std::byte* target);

  const Bytecode::Body& body_;
  std::int64_t most_;
  Nest nest_, result_nest_;
  Stream* streams_;
  const std::byte** values_;
  std::byte* registers_;
};

// The value of a reduction where it is a load whose reduced (rows) or kept inner elements (columns) lie dense in memory
// as registers hold them: they are read where they are.
class PlainLoad {
 public:
  PlainLoad(const Evaluator& e, const Bytecode::Body& body, int node);
  explicit operator bool() const { return stream != nullptr; }
  // The first element of result `outer`, or of its row of results.
  const std::byte* at(std::int64_t outer) {
    kept.seek(outer);
    return stream->base + kept.offset(stream->stride) * static_cast<std::int64_t>(size_of(stream->dtype));
  }

  const Stream* stream = nullptr;
  Nest kept;              // of the results outside the reduced elements
  std::int64_t step = 0;  // between reduced elements
};

}  // namespace anew::loops
