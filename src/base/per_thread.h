// A thread's own T, made when it is first asked for and destroyed when the thread ends. What is asked for later still,
// by destructors of other thread-local objects, is a new one, which goes after all of these. Static destructors run
// after the end of the main thread: what they get stays.
#pragma once
#include <pthread.h>

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
  static T* if_made() { return own; }  // for those who can do without, and without memory

 private:
  static void destroy() { delete std::exchange(own, nullptr); }
  struct Closer {
    ~Closer() {
      closed = true;
      destroy();
    }
  };
  static void make() {
    own = new T;
    if (closed) destroy_last();
    else static thread_local const Closer closer;
  }
  // A second thread-local object would not be destroyed while the others are; what a key stands for is, after them.
  static void destroy_last() {
    static pthread_key_t key;
    static const bool known = pthread_key_create(&key, [](void*) { destroy(); }) == 0;
    if (known) pthread_setspecific(key, own);
  }
  // Trivially destructible, so that they are there as long as the thread.
  static constinit inline thread_local T* own = nullptr;
  static constinit inline thread_local bool closed = false;
};

}  // namespace anew
