// A thread's own T, made when it is first asked for and destroyed when the thread ends. What a thread does later still
// (static destructors run after those of the main thread's variables) gets a new one, which stays.
#pragma once
#include <utility>

namespace anew {

// `Tag` tells apart those of one type.
template <class T, class Tag = T>
class PerThread {
 public:
  static T& get() {
    if (!own) [[unlikely]]
      make();
    return *own;
  }

 private:
  struct Closer {
    ~Closer() {
      closed = true;
      delete std::exchange(own, nullptr);
    }
  };
  static void make() {
    own = new T;
    if (!closed) static thread_local const Closer closer;
  }
  // Trivially destructible, so that they are there as long as the thread.
  static constinit inline thread_local T* own = nullptr;
  static constinit inline thread_local bool closed = false;
};

}  // namespace anew
