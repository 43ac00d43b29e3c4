// vmap: a BatchTrace carries arrays with one more axis, the mapped one, always in front, and runs
// every row's batch rule under its parent. A value that does not depend on a mapped argument is not boxed.
#pragma once
#include "ops/batch.h"
#include "trace/trace.h"

namespace anew {

class BatchTrace final : public Trace {
 public:
  BatchTrace(Trace* parent, std::int64_t size, std::string_view what, const Location& at);
  // For a user's rule that is called while `instead_of` maps: values of that trace, which the rule may have captured,
  // are mapped here too.
  BatchTrace(Trace* parent, std::int64_t size, const std::weak_ptr<Trace>& instead_of);
  Arrays process(const Request& r) override;
  std::string_view what() const override { return what_; }
  std::int64_t size() const { return size_; }
  Array box(const Array& batched);  // the mapped axis is in front
  bool mapped(const Array& x) const {
    const Trace* t = x.value()->trace.get();
    return t && (t == this || t == instead_of_.get());
  }
  // As an array with the mapped axis in front, repeated along it where x does not depend on it.
  Array unbox(const Array& x) const;
  Array held(const Array& x) const { return mapped(x) ? x.value()->first : x; }  // with the axis or without it

 private:
  Trace* parent_;
  std::int64_t size_;
  std::string what_;
  std::shared_ptr<const Trace> instead_of_;
};

// Thrown by a user's rule that gives values mapped by this trace, captured ones, though no argument of it is mapped:
// the equation is then bound again, with an operand repeated along the mapped axis.
struct GivesMapped {
  const Trace* trace;
};

// A Program over batched inputs: those marked have the mapped axis in front; so have the outputs marked in the result,
// among them all that `force` asks for.
struct BatchedProgram {
  ir::Program program;
  std::vector<bool> mapped;  // per output
};
BatchedProgram batch_program(const ir::Program& p, const std::vector<bool>& mapped, std::int64_t size,
                             const std::vector<bool>& force = {});
// The same, remembered by the Program.
BatchedProgram batch_program(const ir::ProgramRef& p, const std::vector<bool>& mapped, std::int64_t size,
                             const std::vector<bool>& force = {});

// The axes of x that a user means, counted from the front (or no_axis), and their size; throws where they do not fit.
struct MappedAxes {
  std::vector<int> in;
  std::int64_t size = 0;
};
MappedAxes mapped_axes(std::span<const Array> x, const flat::BatchAxes& axes, const Location& at);
// f of all examples at once; `out_axes`, read after the call, has one entry, or one per result.
Arrays call_batched(const FlatFunction& f, std::span<const Array> x, const MappedAxes& mapped,
                    const std::vector<int>& out_axes, const Location& at);
int out_axis(const std::vector<int>& out, std::size_t i, std::size_t count, const Location& at);  // of result i
Array move_front_axis(const Array& x, int to, const Location& at);  // to where out_axes asks for it

}  // namespace anew
