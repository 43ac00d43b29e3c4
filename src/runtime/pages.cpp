// Pages of the system, and the address sanitizer.
#include "runtime/pages.h"

#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define ANEW_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ANEW_ASAN 1
#endif
#endif
#ifdef ANEW_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace anew {

std::byte* map_pages(std::size_t bytes) {
#if defined(__linux__)
  void* raw = mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  const std::size_t skip = (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
  if (skip) munmap(begin, skip);
  if (skip != huge_page) munmap(begin + skip + bytes, huge_page - skip);
  madvise(begin + skip, bytes, MADV_HUGEPAGE);
  return begin + skip;
#else
  return static_cast<std::byte*>(::operator new(bytes, std::align_val_t{huge_page}, std::nothrow));
#endif
}

void unmap_pages(std::byte* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  munmap(data, bytes);
#else
  ::operator delete(data, std::align_val_t{huge_page});
#endif
}

void poison([[maybe_unused]] const std::byte* data, [[maybe_unused]] std::size_t bytes) {
#ifdef ANEW_ASAN
  __asan_poison_memory_region(data, bytes);
#endif
}

void unpoison([[maybe_unused]] const std::byte* data, [[maybe_unused]] std::size_t bytes) {
#ifdef ANEW_ASAN
  __asan_unpoison_memory_region(data, bytes);
#endif
}

}  // namespace anew
