// Elements beside memory that nobody may touch: the first byte past them, or the last one before them, is of a page
// without access. What code compiled here or generated reads or writes there ends the process, in any build.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <utility>

namespace anew {

enum class Side { end, begin };  // where the page lies

template <class T>
class Guarded {
 public:
  Guarded(std::size_t count, Side side) : count_(count) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t bytes = count * sizeof(T), body = (bytes + page - 1) / page * page;
    size_ = body + 2 * page;
    void* mapped = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(mapped);
    if (body && ::mprotect(memory_ + page, body, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(memory_ + page + (side == Side::end ? body - bytes : 0));
  }
  ~Guarded() { ::munmap(memory_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() const { return data_; }
  std::span<T> span() const { return {data_, count_}; }

 private:
  std::size_t count_, size_;
  std::byte* memory_;
  T* data_;
};

}  // namespace anew
