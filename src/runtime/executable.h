// What a compiled Program runs as: a tree of steps over a table of pointers, one per storage. A Code is one Body: its
// temporaries lie at fixed offsets from a base that its caller gives, inputs and outputs are pointers that its caller
// sets; a loop sets those of its slots anew for every step. Invariant: running allocates nothing; a step touches only
// the storages it names. A Code is immutable, so several threads may run it at once, each with a table of its own.
#pragma once
#include <anew/base.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loops/target.h"
#include "runtime/loop_spec.h"
#include "runtime/pool.h"
#include "runtime/state_files.h"

namespace anew {

// Memory in a storage.
struct Place {
  int storage = -1;
  std::int64_t offset = 0;  // in bytes
  std::byte* in(std::byte* const* table) const { return table[storage] + offset; }
};

// A place with the layout of an array.
struct StridedPlace {
  Place place;
  ShapeDtype type;
  Shape strides;  // in elements
  // The elements, dense in row-major order.
  void copy(std::byte* const* table, std::byte* to) const;
};

class Code;

class ExecutableStep {
 public:
  virtual ~ExecutableStep() = default;
  // `more`: free table behind the table of this step's Code.
  virtual void run(std::byte* const* table, std::byte** more) const = 0;
  // The Code of its Body k, where its steps may be watched.
  virtual const Code* nested(std::size_t) const { return nullptr; }
};

// Sees every step that runs on a thread while it is installed there (memory_report).
class StepWatch {
 public:
  virtual ~StepWatch() = default;
  virtual void ran(const Code& code, std::size_t step, double nanoseconds) = 0;
  bool nested = true;  // steps of Codes inside steps, too
  static constinit inline thread_local StepWatch* current = nullptr;

  class Installed {
   public:
    explicit Installed(StepWatch* watch) : before_(current) { current = watch; }
    ~Installed() { current = before_; }
    Installed(const Installed&) = delete;

   private:
    StepWatch* before_;
  };
};

class Code {
 public:
  std::vector<std::unique_ptr<const ExecutableStep>> steps;
  std::vector<std::size_t> doer;     // of each step of the Body: which of `steps` does it, perhaps with its neighbour
  std::vector<int> inputs, outputs;  // storages, set by the caller; an output may be the storage of an input
  struct Temporary {
    int storage;
    std::size_t offset;
  };
  std::vector<Temporary> temporaries;
  struct Constant {
    int storage;
    std::uint64_t bits;
  };
  std::vector<Constant> constants;
  // Storages that are regions of files (runtime/spilled.h): those of this Code and of all nested in it are numbered by
  // the outermost one, whose caller opens them.
  struct Disk {
    int storage, region;
  };
  std::vector<Disk> disks;
  struct Region {
    std::size_t bytes;
    FileOwner owner;
  };
  std::vector<Region> regions;  // of the outermost Code
  int storages = 0;             // length of its table
  int table = 0;                // the same with those of nested Codes behind it
  std::size_t bytes = 0;        // of temporaries and scratch, from the base

  // Points the table at temporaries, constants and regions; inputs and outputs remain.
  void enter(std::byte** table, std::byte* base) const;
  void run(std::byte** table) const;

 private:
  void run_watched(std::byte** table, StepWatch& watch) const;
};

class KernelStep final : public ExecutableStep {
 public:
  KernelStep(std::shared_ptr<const loops::KernelCode> code, std::vector<Place> operands, Place scratch)
      : code_(std::move(code)), operands_(std::move(operands)), scratch_(scratch) {}
  void run(std::byte* const* table, std::byte** more) const override;

 private:
  std::shared_ptr<const loops::KernelCode> code_;
  std::vector<Place> operands_;
  Place scratch_;
};

// An array that a loop walks along its leading axis.
struct StackedPlace {
  Place place;
  std::int64_t step = 0;  // bytes from one row to the next
};
// A carry: its first value, where its last one goes, and its spare buffer, if it has one.
struct CarryPlace {
  StridedPlace first;
  Place last, other;
  std::size_t bytes = 0;
};
// The buffers of a set of carries: which ones hold the state, and which ones the next one.
class CarryBuffers {
 public:
  // `steps` from now to the end, if known: the last state shall end in its place without a copy.
  CarryBuffers(const std::vector<CarryPlace>& carries, const CarryMoves& moves, std::byte* const* table,
               std::int64_t steps, std::byte** pointers);
  std::byte* state(std::size_t i) const { return now_[i]; }
  // Tells the body where to put carries that go to spare buffers; it knows where the others are.
  void bind_outputs(const Code& body, std::byte** in_body) const;
  // After a step.
  void move();
  // Moves the state to its place.
  void settle(std::byte* const* table);
  // Pointers that a set of n carries needs.
  static int size(std::size_t n) { return static_cast<int>(5 * n); }

 private:
  // Carry i from at[i] (null: it is nowhere yet) to to[i]; who is in the way there changes places with it.
  void arrange(std::byte* const* to);
  const std::vector<CarryPlace>& carries_;
  const CarryMoves& moves_;
  std::byte **now_, **next_, **at_;
};

class LoopStep final : public ExecutableStep {
 public:
  std::string name = {};  // of its equation, and where that is: for a loop that is stopped
  Location at = {};
  LoopSpec loop = {};
  std::vector<Place> constants;
  std::vector<CarryPlace> carries;
  CarryMoves moves;
  std::vector<StackedPlace> xs, ys;
  std::unique_ptr<const Code> body, condition;  // the condition's output is a bool at `decision`
  Place body_base, condition_base, decision;
  std::vector<StackedPlace> states;  // where those of each carry in loop.record go
  Place step_count, kept_steps;      // of a while
  StridedPlace counter, end;         // of a loop that counts; no end: loop.end_literal

  void run(std::byte* const* table, std::byte** more) const override;
  const Code* nested(std::size_t k) const override { return (k == 0 ? body : condition).get(); }

 private:
  std::int64_t known_length(std::byte* const* table) const;
  // Where the body finds its carries and this row of the stacks, and where it puts the next ones.
  void bind_step(const CarryBuffers& state, std::int64_t row, std::byte* const* table, std::byte** in_body) const;
  bool goes_on(const CarryBuffers& state, std::byte* const* table, std::byte** in_condition) const;
};

class UnwindStep final : public ExecutableStep {
 public:
  Location at = {};
  UnwindSpec unwind = {};
  std::vector<Place> constants, linear_constants;
  std::vector<StackedPlace> xs, linear_xs, linear_ys;
  // Kept states: the operand, where they are worked on (the same place if they may be overwritten), two buffers for a
  // state on its way.
  struct Stack {
    StridedPlace from;
    StackedPlace at;
    Place buffers[2];
    std::size_t bytes;  // of a state
  };
  std::vector<Stack> stacks;
  std::vector<CarryPlace> linear_carries;
  CarryMoves moves;  // of these
  std::unique_ptr<const Code> advance, step;
  Place advance_base, step_base;
  std::int64_t slots = 0;
  StridedPlace step_count, kept_steps;  // where unwind.length is -1
  // Back within bytes: `step` takes a row of residuals in place of states; `tape` makes them.
  struct Within {
    plan::RowPlaces places;
    std::unique_ptr<const Code> tape;
    Place tape_base, pool;
  };
  std::optional<Within> within;

  void run(std::byte* const* table, std::byte** more) const override;
  const Code* nested(std::size_t k) const override { return (k == 0 ? advance : k == 1 ? step : within->tape).get(); }
};

}  // namespace anew
