// The pool of arenas: a short list of free blocks under a lock that is held for a walk over that list and no longer;
// the system is called outside of it. Nothing is destroyed at exit, because functions of the user may still run.
#include "runtime/arena.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>

#include "runtime/account.h"
#include "runtime/buffer.h"
#include "runtime/pages.h"

namespace anew {

struct ArenaBlock {
  std::byte* data = nullptr;
  std::size_t size = 0;
  ArenaBlock* next = nullptr;
};

namespace {

constexpr std::size_t mapped_from = 2 * huge_page;  // from here on pages are mapped
constexpr std::size_t line = 64, small_page = 4096;

class Blocks {
 public:
  // The smallest free block that fits or, where none does, the largest there is: `fits` says which. nullptr: none is
  // free.
  ArenaBlock* take(std::size_t bytes, bool& fits) {
    lock();
    ArenaBlock **best = nullptr, **largest = nullptr;
    for (ArenaBlock** at = &free_; *at; at = &(*at)->next) {
      if ((*at)->size >= bytes && (!best || (*at)->size < (*best)->size)) best = at;
      if (!largest || (*at)->size > (*largest)->size) largest = at;
    }
    fits = best != nullptr;
    ArenaBlock** from = best ? best : largest;
    ArenaBlock* block = from ? *from : nullptr;
    if (block) *from = block->next;
    unlock();
    return block;
  }
  void give(ArenaBlock* block) {
    lock();
    block->next = free_;
    free_ = block;
    unlock();
  }
  ArenaBlock* take_all() {
    lock();
    ArenaBlock* all = free_;
    free_ = nullptr;
    unlock();
    return all;
  }
  std::size_t free_bytes() {
    lock();
    std::size_t sum = 0;
    for (ArenaBlock* b = free_; b; b = b->next) sum += b->size;
    unlock();
    return sum;
  }

 private:
  void lock() {
    for (int spins = 0; busy_.exchange(true, std::memory_order_acquire); ++spins)
      if (spins > 64) std::this_thread::yield();
  }
  void unlock() { busy_.store(false, std::memory_order_release); }

  std::atomic<bool> busy_{false};
  ArenaBlock* free_ = nullptr;
};
constinit Blocks pool;

ArenaBlock* create(std::size_t bytes) {
  const std::size_t unit = bytes >= mapped_from ? huge_page : small_page, size = (bytes + unit - 1) / unit * unit;
  std::byte* data = size >= mapped_from
                        ? map_pages(size)
                        : static_cast<std::byte*>(::operator new(size, std::align_val_t{line}, std::nothrow));
  if (!data) return nullptr;
  if (auto* block = new (std::nothrow) ArenaBlock) {
    block->data = data, block->size = size;
    return block;
  }
  if (size >= mapped_from) unmap_pages(data, size);
  else ::operator delete(static_cast<void*>(data), std::align_val_t{line});
  return nullptr;
}

void destroy(ArenaBlock* block) {
  unpoison(block->data, block->size);
  if (block->size >= mapped_from) unmap_pages(block->data, block->size);
  else ::operator delete(static_cast<void*>(block->data), std::align_val_t{line});
  delete block;
}

}  // namespace

Arena::Arena(std::size_t bytes, const Location& at) : bytes_(bytes) {
  if (bytes == 0) return;
  Account::check(bytes, at);
  bool fits = false;
  block_ = pool.take(bytes, fits);
  if (!fits) {
    if (block_) destroy(block_);
    block_ = create(bytes);
    if (!block_) {
      release_cached();
      block_ = create(bytes);
    }
    if (!block_) Account::fail(bytes, at);
  }
  data_ = block_->data;
  unpoison(data_, bytes);
  poison(data_ + bytes, block_->size - bytes);
  Account::charge(bytes);
}

Arena::~Arena() {
  if (!block_) return;
  Account::discharge(bytes_);
  poison(block_->data, block_->size);
  pool.give(block_);
}

std::size_t free_arena_bytes() { return pool.free_bytes(); }

void release_free_arenas() {
  for (ArenaBlock* block = pool.take_all(); block;) {
    ArenaBlock* next = block->next;
    destroy(block);
    block = next;
  }
}

}  // namespace anew
