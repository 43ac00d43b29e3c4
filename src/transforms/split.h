// Partial evaluation. A SplitTrace sends what depends on unknown values to a staging trace and runs the rest under its
// parent; with a policy, known equations that the policy does not let be saved are staged as well.
// A value is known (any foreign value), unknown (of the staging trace), or both: known now and recomputable there.
#pragma once
#include <anew/policy.h>

#include <optional>
#include <unordered_map>

#include "trace/trace.h"

namespace anew {

class SplitTrace final : public Trace {
 public:
  SplitTrace(Trace* parent, std::shared_ptr<StagingTrace> staged, std::optional<Policy> policy, std::string_view what);
  Arrays process(const Request& r) override;
  std::string_view what() const override { return what_; }

  bool unknown(const Array& x) const { return x.value()->trace.get() == staged_.get(); }
  bool instantiated(const Array& x) const { return unknown(x) || x.value()->trace.get() == this || x.value()->literal; }
  Array known(const Array& x) const { return x.value()->trace.get() == this ? x.value()->first : x; }
  // As an operand of the staged half; what is only known becomes a residual there.
  Array staged(const Array& x) const { return x.value()->trace.get() == this ? x.value()->second : x; }
  // costs_nothing: in the staged half it is an input, or shows one.
  Array both(const Array& known, const Array& staged, bool costs_nothing = false);
  Trace* parent() const { return parent_; }
  StagingTrace& staging() const { return *staged_; }
  const std::optional<Policy>& policy() const { return policy_; }
  // Known values that the policy lets be kept elsewhere: moved there now, and back in the staged half.
  Arrays offloaded(const Arrays& known, const Location& at);

  // Why a known value is handed to the staged half, where a checkpoint decided it; the first reason stays.
  void give_reason(const Array& x, const std::string& reason);
  const std::unordered_map<const Value*, std::string>& reasons() const { return reasons_; }
  // A checkpoint at this line keeps inputs only: useless if nothing is read before it in the backward pass.
  void note_inputs_only(const Location& at) { inputs_only_.push_back(at); }
  const std::vector<Location>& inputs_only() const { return inputs_only_; }

 private:
  bool costs_nothing(const Request& r) const;
  Trace* parent_;
  std::shared_ptr<StagingTrace> staged_;
  std::optional<Policy> policy_;
  std::string what_;
  std::unordered_map<const Value*, std::string> reasons_;
  std::vector<Location> inputs_only_;
};

// A Program cut in two.
struct Split {
  ir::Program known;   // known inputs -> known outputs, then residuals
  ir::Program staged;  // residuals, then the inputs in `staged_inputs` -> the outputs in `staged_outputs`
  std::vector<bool> unknown_outputs;
  std::vector<int> staged_inputs;  // indices of inputs of the original
  std::vector<int>
      staged_outputs;  // indices of outputs of the original: the unknown ones, or all that are instantiated
  int residuals = 0;
};
struct SplitOptions {
  std::optional<Policy> policy = {};  // none: by dependence alone, known inputs are not instantiated
  bool all_instantiated = false;      // stage every output that is available there, not only the unknown ones
  std::vector<bool> force = {};       // outputs that must be staged, per output
  friend bool operator==(const SplitOptions&, const SplitOptions&) = default;
};
Split split(const ir::Program& p, const std::vector<bool>& unknown, const SplitOptions& options = {});
// The same, remembered by the Program.
Split split(const ir::ProgramRef& p, const std::vector<bool>& unknown, const SplitOptions& options = {});

// What a policy says of an equation.
Save ask(const Policy& policy, const Primitive& p, const ParamsRef& params, std::span<const Type> in,
         std::span<const Type> out);

}  // namespace anew
