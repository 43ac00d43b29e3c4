// Going back through the steps of any solver, whatever its state is: a few states are kept, in memory and on disk, and
// the others are computed again. Needs no arrays. docs/checkpointing.md, "Solvers that are not arrays".
#pragma once
#include <anew/base.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace anew {

template <class State>
struct CheckpointingOptions {
  std::optional<std::int64_t> steps = {};  // left out: the step says when to end
  std::int64_t slots = 64;                 // states kept in memory
  std::string disk = {};                   // a folder
  std::int64_t disk_slots = 0;             // states kept there
  // A state as bytes and back; a trivially copyable State needs none.
  std::function<void(std::ostream&, const State&)> write = {};
  std::function<void(std::istream&, State&)> read = {};
  // Files in .disk that survive this process: another one, with the same options, calls and first state, goes on from
  // there. What the visits have made so far goes with them where the last two are given; else the backward run starts
  // again.
  bool resume = false;
  std::function<void(std::ostream&)> write_adjoint = {};
  std::function<void(std::istream&)> read_adjoint = {};
};

namespace detail {

// States of one type, as the library sees them.
struct StateCalls {
  void* (*copy)(const void* state) = nullptr;
  void (*assign)(void* to, const void* from) = nullptr;
  void (*destroy)(void* state) = nullptr;
  std::function<void(std::ostream&, const void*)> write;
  std::function<void(std::istream&, void*)> read;
  bool (*same)(const void* a, const void* b) = nullptr;  // none: whether `write` gives the same bytes
};
void write_bytes(std::ostream& out, const void* data, std::size_t size);
void read_bytes(std::istream& in, void* data, std::size_t size);

// Whether the bytes are the same, but for those between members, where the compiler can tell them. Where it cannot
// (clang 19), other bytes there are another state: to refuse a run that could go on is better than to go on with
// another one.
template <class State>
bool same_bytes(const void* a, const void* b) {
  if (std::memcmp(a, b, sizeof(State)) == 0) return true;
#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
  const auto x = std::make_unique<State>(*static_cast<const State*>(a));
  const auto y = std::make_unique<State>(*static_cast<const State*>(b));
  __builtin_clear_padding(x.get());
  __builtin_clear_padding(y.get());
  return std::memcmp(x.get(), y.get(), sizeof(State)) == 0;
#endif
#endif
  return false;
}

class CheckpointRun {
 public:
  using Step = std::function<bool(void* state, std::int64_t step)>;
  using Visit = std::function<void(const void* before, std::int64_t step)>;
  struct Settings {
    std::optional<std::int64_t> steps;
    std::int64_t slots, disk_slots;
    std::string disk;
    bool resume;
    std::function<void(std::ostream&)> write_adjoint;
    std::function<void(std::istream&)> read_adjoint;
  };
  CheckpointRun(Settings settings, StateCalls calls, const Location& at);
  ~CheckpointRun();
  CheckpointRun(CheckpointRun&&) noexcept;
  CheckpointRun& operator=(CheckpointRun&&) noexcept;

  std::int64_t forward(const void* start, Step step, bool says_when, const Location& at);
  void backward(const Visit& visit, const Location& at);
  const void* state(const Location& at) const;
  std::int64_t steps(const Location& at) const;
  std::int64_t recomputed(const Location& at) const;

 private:
  class Impl;
  Impl& impl(const Location& at) const;  // throws where this was moved from
  std::unique_ptr<Impl> impl_;
};

}  // namespace detail

template <class State>
class Checkpointing {
 public:
  explicit Checkpointing(CheckpointingOptions<State> options, const Location& at = Location::current())
      : run_({options.steps, options.slots, options.disk_slots, options.disk, options.resume,
              std::move(options.write_adjoint), std::move(options.read_adjoint)},
             calls(options), at) {}

  // Runs `step(state, i)` for i = 0, 1, ... from `state` on, which is copied; gives the number of steps. A step that
  // returns bool says whether to go on; with .steps, these are the most.
  template <class Step>
  std::int64_t forward(const State& state, Step step, const Location& at = Location::current()) {
    constexpr bool callable = std::is_invocable_v<Step&, State&, std::int64_t>;
    static_assert(callable, "anew::Checkpointing: the step must be callable as step(State&, std::int64_t)");
    if constexpr (callable) {
      constexpr bool says_when = !std::is_void_v<std::invoke_result_t<Step&, State&, std::int64_t>>;
      auto call = [step = std::move(step)](void* s, std::int64_t i) mutable {
        if constexpr (says_when) return static_cast<bool>(step(*static_cast<State*>(s), i));
        else return step(*static_cast<State*>(s), i), true;
      };
      return run_.forward(&state, std::move(call), says_when, at);
    }
  }
  // Calls `visit(before, i)` for every step from the last to the first, with the state before that step.
  template <class Visit>
  void backward(Visit&& visit, const Location& at = Location::current()) {
    constexpr bool callable = std::is_invocable_v<Visit&, const State&, std::int64_t>;
    static_assert(callable, "anew::Checkpointing: the visit must be callable as visit(const State&, std::int64_t)");
    if constexpr (callable)
      run_.backward([&](const void* before, std::int64_t i) { visit(*static_cast<const State*>(before), i); }, at);
  }
  // Where the forward run ended, until the backward run starts.
  const State& state(const Location& at = Location::current()) const {
    return *static_cast<const State*>(run_.state(at));
  }
  // Of the forward run; steps run again so far.
  std::int64_t steps(const Location& at = Location::current()) const { return run_.steps(at); }
  std::int64_t recomputed(const Location& at = Location::current()) const { return run_.recomputed(at); }

 private:
  static detail::StateCalls calls(CheckpointingOptions<State>& o) {
    detail::StateCalls c;
    c.copy = [](const void* s) -> void* { return new State(*static_cast<const State*>(s)); };
    c.assign = [](void* to, const void* from) { *static_cast<State*>(to) = *static_cast<const State*>(from); };
    c.destroy = [](void* s) { delete static_cast<State*>(s); };
    if (o.write)
      c.write = [f = std::move(o.write)](std::ostream& out, const void* s) { f(out, *static_cast<const State*>(s)); };
    if (o.read) c.read = [f = std::move(o.read)](std::istream& in, void* s) { f(in, *static_cast<State*>(s)); };
    if constexpr (std::is_trivially_copyable_v<State>) {
      if (!c.write && !c.read) c.same = detail::same_bytes<State>;
      if (!c.write) c.write = [](std::ostream& out, const void* s) { detail::write_bytes(out, s, sizeof(State)); };
      if (!c.read) c.read = [](std::istream& in, void* s) { detail::read_bytes(in, s, sizeof(State)); };
    }
    return c;
  }

  detail::CheckpointRun run_;
};

}  // namespace anew
