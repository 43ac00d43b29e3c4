// The one fork-join thread pool of the process. Workers run in the FloatMode of every computation.
// Invariant: work is cut into chunks by its shape alone; threads only decide who runs a chunk, never where one ends,
// so results cannot depend on how many there are. One caller at a time has the workers; who finds them busy, or is
// itself inside a chunk, runs its chunks one after the other.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/float_mode.h"

namespace anew {

// A callable that is only borrowed for the length of a call.
template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Calls body(begin, end) for [0, grain), [grain, 2 * grain), ... up to n: always these chunks, in any order, on any
// thread. An exception is that of the first chunk that throws, as if they had run in order; later ones may be skipped.
void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

// Threads that take part, the caller's included: ANEW_THREADS, or one per core; a ThreadLimit may allow fewer. Inside a
// chunk there is one.
int threads();
// Waits until the pool is free. Not callable from inside a chunk.
void set_threads(int n);
// Reads the text of ANEW_THREADS.
int parse_threads(const char* text);

// While it lives, parallel_for called by this thread uses at most n threads, the caller's included; 0: as many as there
// are. Limits nest, the smallest holds. Bits do not change.
class ThreadLimit {
 public:
  explicit ThreadLimit(int n);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

}  // namespace anew
