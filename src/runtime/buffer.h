// Blocks of bytes: shared, counted, aligned to 64 bytes, from an allocator that keeps what is freed for the next of
// its size class. So a small operation costs no call to the system and a large one no fresh pages.
// Invariant: bytes in use and their peak are exact sums of what was asked for; borrowed memory is not counted.
#pragma once
#include <anew/base.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace anew {

class BufferRef;

class Buffer {
 public:
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Nobody else holds it: its memory may be written in place.
  bool unique() const { return references_.load(std::memory_order_acquire) == 1; }
  bool borrowed() const;  // memory of somebody else

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  friend class BufferRef;
  friend struct BufferMaker;
  Buffer() = default;
  ~Buffer() = default;
  static void release(Buffer* buffer) noexcept;

  std::atomic<std::uint32_t> references_{0};
  std::uint32_t size_class_ = 0;
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
  Buffer* next_ = nullptr;  // in a list of free blocks
  std::shared_ptr<void> owner_;
};

// A counted pointer to a Buffer; copies share it, the last one returns it to the allocator.
class BufferRef {
 public:
  BufferRef() = default;
  BufferRef(const BufferRef& other) noexcept : buffer_(other.buffer_) {
    if (buffer_) buffer_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ && buffer_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Buffer::release(buffer_);
  }

  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  Buffer& operator*() const { return *buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }
  friend bool operator==(const BufferRef&, const BufferRef&) = default;

 private:
  friend struct BufferMaker;
  explicit BufferRef(Buffer* buffer) : buffer_(buffer) {}
  Buffer* buffer_ = nullptr;
};

// Memory with undefined contents. Zero bytes are allowed and have an address of their own.
// Where there is none, an Error at the user's line, or std::bad_alloc if that is not known here.
BufferRef allocate(std::size_t bytes, const Location& at = Location());
// Memory of somebody else, kept alive by `owner` (its deleter runs when the last reference goes).
BufferRef borrow(void* data, std::size_t bytes, std::shared_ptr<void> owner);

// Arenas (runtime/arena.h) count like buffers.
struct MemoryStatistics {
  std::size_t live_bytes = 0;          // asked for and not yet freed
  std::size_t peak_bytes = 0;          // the largest live_bytes since the last reset_peak()
  std::size_t cached_bytes = 0;        // free blocks kept for later, but for the few small ones each thread has at hand
  std::size_t system_allocations = 0;  // of buffers
};
MemoryStatistics memory_statistics();
void reset_peak();
// Gives free blocks back to the system, but for the few small ones that other threads keep at hand.
void release_cached();
// Bound on free blocks that are kept; the default is a quarter of the machine's memory.
void set_cache_limit(std::size_t bytes);

// The high-water mark of this thread: the most bytes that it allocated, by allocate() and as arenas, less those it
// freed, at any time since the meter was made. Meters nest like scopes; one belongs to the thread that made it.
class MemoryMeter {
 public:
  MemoryMeter();
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;
  std::size_t peak() const;

 private:
  MemoryMeter* outer_;
  std::int64_t start_, before_;  // bytes of the thread when this was made; the mark of the meter around it
};

// For tests: the n-th allocate() or Arena of this thread from now on (1: the next) throws as if the system had no
// memory left, once; -1: none does.
void fail_allocation_after(std::int64_t n);

}  // namespace anew
