// What is left is the distance to the lowest address of the stack, which the system is asked for once per thread. The
// reserve is for what runs without asking: kernels, the compiler, destructors.
#include "base/stack.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>

namespace anew {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t reserve = std::size_t{1} << 20;  // frames are several times as large
#else
constexpr std::size_t reserve = std::size_t{1} << 18;
#endif

struct Stack {
  std::uintptr_t lowest = 0;  // address that may be reached; 0: not known
  std::size_t size = 0;
};

Stack find_stack() {
  Stack s;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return s;
  void* begin = nullptr;
  if (pthread_attr_getstack(&attributes, &begin, &s.size) == 0)
    s.lowest = reinterpret_cast<std::uintptr_t>(begin) + std::min(reserve, s.size / 2);
  pthread_attr_destroy(&attributes);
  return s;
}

}  // namespace

void check_stack(const Location& at) {
  thread_local const Stack stack = find_stack();
  if (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) >= stack.lowest) return;
  throw Error(fmt::format("functions are nested too deep for the stack of this thread, {} KiB", stack.size >> 10), at,
              "nest fewer transformations, or give the thread more stack");
}

}  // namespace anew
