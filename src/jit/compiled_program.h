// A Program, compiled: its lowered and placed form, its plan, and its code, which is made when it first runs. Immutable
// to its users; several threads may run one at a time. `find_compiled` is the cache of the process: Programs are told
// apart by structure and by how their inputs lie in memory.
#pragma once
#include <anew/jit.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "ir/program.h"
#include "passes/lowered.h"
#include "runtime/executable.h"
#include "trace/trace.h"

namespace anew::passes {
class BudgetChoices;
}
namespace anew::compiled {

// Who runs kernels. Tests compare the two; the environment's ANEW_BACKEND=interpreter chooses the second for good.
enum class Backend { machine_code, interpreter };
Backend backend();  // machine_code only where there is LLVM
void set_backend(Backend b);
const loops::Target& target();  // of the backend

// With a budget: a plan whose peak is within it; an Error where there is none. `donated`: inputs whose memory may
// become that of outputs. `disk`: a folder where a plan may keep values; empty: there is none.
struct PlanOptions {
  std::optional<std::size_t> budget = {};
  std::vector<int> donated = {};
  std::string disk = {};
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

// A Program within a budget, and what that costs.
struct Budgeted {
  std::shared_ptr<const passes::Body> body;
  MemoryPlan plan;
};

class CompiledProgram {
 public:
  CompiledProgram(ir::ProgramRef program, std::vector<ir::Strides> inputs, PlanOptions options = {});
  // Where the plan has been found.
  CompiledProgram(ir::ProgramRef program, std::vector<ir::Strides> inputs, PlanOptions options, Budgeted within);
  CompiledProgram(const CompiledProgram&) = delete;

  // `inputs`: concrete, of the Program's types and laid out as said; donated ones are overwritten. Gives the measured
  // peak to `high_water`, if any.
  Arrays run(std::span<const Array> inputs, const Location& at, std::size_t* high_water = nullptr) const;

  const loops::Target& target() const { return target_; }
  const ir::Program& program() const { return *program_; }
  const std::vector<ir::Strides>& inputs() const { return inputs_; }
  const PlanOptions& options() const { return options_; }
  const passes::Body& body() const { return *body_; }
  const MemoryPlan& plan() const { return plan_; }
  bool has_loops() const { return has_loops_; }  // which a StopToken ends
  // Generated when it is first asked for.
  const Code& code() const;

 private:
  const loops::Target& target_;
  ir::ProgramRef program_;
  std::vector<ir::Strides> inputs_;
  PlanOptions options_;
  std::shared_ptr<const passes::Body> body_;
  struct Output {
    Type type;
    std::size_t bytes;
    ir::Strides strides;
    int input;   // in whose memory it lies; -1: in its own
    bool moved;  // it lies on disk
  };
  const std::byte* place_of(std::size_t input, const Array& x) const;
  std::vector<Output> outputs_;
  MemoryPlan plan_;
  bool has_loops_ = false;
  bool measured_ = false;  // every call, against the plan: in tests
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Code> code_;
};

std::shared_ptr<const CompiledProgram> find_compiled(const ir::ProgramRef& program, std::span<const ir::Strides> inputs,
                                                     const PlanOptions& options = {});
// What this process compiled, as far as it is remembered.
std::vector<std::shared_ptr<const CompiledProgram>> all_compiled();
// Forgets all that is compiled, as far as nobody holds it.
void clear_compiled();

// Throws where the bytes of all arrays of a Program cannot be counted: no sum of some of them may wrap around.
void check_countable(const ir::Program& program);
MemoryPlan plan_of(const ir::Program& program, const passes::Body& body);
// "layers[3].w", "d layers[3].w" of a backward pass; nothing where no leaf is known.
std::string path_of(int leaf, bool backward, const std::vector<std::string>& paths);

Budgeted plan_within(const ir::Program& program, std::span<const ir::Strides> inputs, const PlanOptions& options);
// The same of choices that several budgets share, which are those of the Program.
Budgeted plan_within(const ir::Program& program, passes::BudgetChoices& choices, std::size_t budget);
std::vector<BudgetPoint> budget_curve(const ir::Program& program, std::span<const ir::Strides> inputs,
                                      const PlanOptions& options);

}  // namespace anew::compiled

struct anew::flat::Compiled::State {
  Forms in, out;  // of the arguments and results
  Arrays known;   // per result: the number that it is, if it is a constant one
  std::shared_ptr<const compiled::CompiledProgram> program;
  MemoryPlan plan;                 // with the paths of the arguments
  std::vector<std::string> paths;  // one per argument; none: they have numbers
  Arrays constants;                // captured arrays, and those made while the function was traced
  bool captures = false;           // has some of the former
  JitOptions options;
  Location at;
  std::atomic<std::size_t> high_water = 0;
};
