// Memory beside a page without access: the byte past its end, or the one before its beginning, ends the process when
// it is read or written, by compiled and by generated code, which no sanitizer sees, in any build.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

namespace anew::test {

enum class Side { end, begin };  // where the page lies

template <class T>
class GuardedAllocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  explicit GuardedAllocator(Side side = Side::end) : side_(side) {}
  template <class U>
  GuardedAllocator(const GuardedAllocator<U>& other) : side_(other.side()) {}
  Side side() const { return side_; }

  T* allocate(std::size_t n) {
    const Extent e(n);
    void* mapped = ::mmap(nullptr, e.all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    std::byte* const inner = static_cast<std::byte*>(mapped) + e.page;
    if (::mprotect(inner, e.inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    return reinterpret_cast<T*>(inner + (side_ == Side::end ? e.inner - n * sizeof(T) : 0));
  }
  void deallocate(T* p, std::size_t n) {
    const Extent e(n);
    std::byte* const inner = reinterpret_cast<std::byte*>(p) - (side_ == Side::end ? e.inner - n * sizeof(T) : 0);
    ::munmap(inner - e.page, e.all);
  }
  friend bool operator==(const GuardedAllocator& a, const GuardedAllocator& b) { return a.side_ == b.side_; }

 private:
  struct Extent {
    std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), inner, all;
    explicit Extent(std::size_t n) : inner((n * sizeof(T) + page - 1) / page * page), all(inner + 2 * page) {}
  };
  Side side_;
};

template <class T>
using GuardedVector = std::vector<T, GuardedAllocator<T>>;

}  // namespace anew::test
