// The caching allocator. Size classes are four per power of two. A block below `large` carries its Buffer in the 64
// bytes before the data; a large one is mapped at 2 MB and asks for huge pages, its Buffer lies beside it.
// Invariant: a block is in exactly one place: in use, in one thread's list, or in the shared lists. Threads keep a few
// small blocks per class; everything else goes through one lock. Nothing here is destroyed at exit, because arrays of
// the user may be.
#include "runtime/buffer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <mutex>
#include <new>

#include "runtime/account.h"
#include "runtime/arena.h"
#include "runtime/pages.h"

namespace anew {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t header = 64;
constexpr std::size_t large = std::size_t{1} << 20;  // from here on blocks are mapped one by one
constexpr std::uint32_t borrowed = std::numeric_limits<std::uint32_t>::max();

// Classes 0.. hold 64, 80 -> 128 bytes and so on: multiples of 64, four steps per power of two from 256 on.
constexpr std::uint32_t class_of(std::size_t bytes) {
  if (bytes <= 256) return static_cast<std::uint32_t>(bytes == 0 ? 0 : (bytes - 1) / 64);
  const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log+1)
  const std::size_t quarter = (bytes - 1 - (std::size_t{1} << log)) >> (log - 2);
  return static_cast<std::uint32_t>(4 + (log - 8) * 4 + static_cast<int>(quarter));
}
constexpr std::size_t class_bytes(std::uint32_t c) {
  if (c < 4) return (c + 1) * 64;
  const std::uint32_t log = (c - 4) / 4 + 8, quarter = (c - 4) % 4;
  return (std::size_t{1} << log) + ((std::size_t{quarter} + 1) << (log - 2));
}
constexpr std::uint32_t classes = class_of(Account::impossible) + 1;
constexpr std::uint32_t first_large = class_of(large) + 1;
constexpr std::uint32_t local_classes = class_of(64 << 10) + 1;  // what a thread keeps at hand: up to 64 KB each
static_assert(class_bytes(class_of(257)) == 320 && class_bytes(class_of(320)) == 320 && class_of(256) == 3);

// How many blocks of a class one thread keeps: few enough that a class holds at most 128 KB.
constexpr auto local_limits = [] {
  std::array<std::uint32_t, local_classes> limits{};
  for (std::uint32_t c = 0; c < local_classes; ++c)
    limits[c] = static_cast<std::uint32_t>(std::clamp<std::size_t>((128 << 10) / class_bytes(c), 2, 64));
  return limits;
}();

std::atomic<std::size_t> cached{0}, system_calls{0};

std::size_t mapped_bytes(std::uint32_t c) { return (class_bytes(c) + huge_page - 1) / huge_page * huge_page; }

std::size_t default_cache_limit() {
  return sysconf(_SC_PHYS_PAGES) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 4;
}

}  // namespace

// The parts of the allocator that see inside a Buffer.
struct BufferMaker {
  struct List {
    Buffer* head;
    std::uint32_t count;
    void push(Buffer* b) { b->next_ = std::exchange(head, b), ++count; }
    Buffer* pop() {
      Buffer* b = head;
      if (b) head = b->next_, --count;
      return b;
    }
  };

  struct Shared {
    std::mutex mutex;
    std::array<List, classes> lists{};
    std::size_t limit = default_cache_limit();
  };
  static Shared& shared() {
    static Shared* instance = new Shared;
    return *instance;
  }

  // A thread's blocks at hand; trivially destructible, so that buffers freed by later destructors of the same thread
  // still find it, marked `closed`.
  struct Local {
    std::array<List, local_classes> lists;
    bool open, closed;
  };
  static constinit inline thread_local Local local{};
  struct Closer {
    ~Closer() {
      local.open = false;
      local.closed = true;
      Shared& all = shared();
      std::lock_guard lock(all.mutex);
      for (std::uint32_t c = 0; c < local_classes; ++c)
        while (Buffer* b = local.lists[c].pop()) {
          cached.fetch_add(class_bytes(c), std::memory_order_relaxed);
          all.lists[c].push(b);
        }
    }
  };
  static bool open_local() {
    if (local.open) return true;
    if (local.closed) return false;
    static thread_local Closer closer;
    return local.open = true;
  }

  static Buffer* create(std::uint32_t c) {
    system_calls.fetch_add(1, std::memory_order_relaxed);
    if (c < first_large) {
      void* raw = ::operator new(header + class_bytes(c), std::align_val_t{alignment}, std::nothrow);
      if (!raw) return nullptr;
      Buffer* b = new (raw) Buffer;
      b->data_ = static_cast<std::byte*>(raw) + header;
      b->size_class_ = c;
      return b;
    }
    std::byte* data = map_pages(mapped_bytes(c));
    if (!data) return nullptr;
    Buffer* b = new (std::nothrow) Buffer;
    if (!b) {
      unmap_pages(data, mapped_bytes(c));
      return nullptr;
    }
    b->data_ = data;
    b->size_class_ = c;
    return b;
  }

  static void destroy(Buffer* b) {
    const std::uint32_t c = b->size_class_;
    unpoison(b->data_, class_bytes(c));
    if (c < first_large) {
      b->~Buffer();
      ::operator delete(static_cast<void*>(b), std::align_val_t{alignment});
    } else {
      unmap_pages(b->data_, mapped_bytes(c));
      delete b;
    }
  }

  // A free block from the shared lists, or a new one; small classes fill the thread's list on the way.
  static Buffer* take(std::uint32_t c) {
    Shared& all = shared();
    {
      std::lock_guard lock(all.mutex);
      if (Buffer* b = all.lists[c].pop()) {
        std::size_t taken = class_bytes(c);
        if (c < local_classes && open_local())
          for (std::uint32_t i = local_limits[c] / 2; i > 0 && all.lists[c].head; --i, taken += class_bytes(c))
            local.lists[c].push(all.lists[c].pop());
        cached.fetch_sub(taken, std::memory_order_relaxed);
        return b;
      }
    }
    if (Buffer* b = create(c)) return b;
    release_cached();
    return create(c);
  }

  static void give(Buffer* b) {
    Shared& all = shared();
    const std::uint32_t c = b->size_class_;
    {
      std::lock_guard lock(all.mutex);
      if (cached.load(std::memory_order_relaxed) + class_bytes(c) <= all.limit) {
        std::size_t given = class_bytes(c);
        all.lists[c].push(b);
        if (c < local_classes)
          for (std::uint32_t i = local_limits[c] / 2; i > 0 && local.lists[c].head; --i, given += class_bytes(c))
            all.lists[c].push(local.lists[c].pop());
        cached.fetch_add(given, std::memory_order_relaxed);
        return;
      }
    }
    destroy(b);
  }

  static BufferRef make(std::size_t bytes, const Location& at) {
    Account::check(bytes, at);
    const std::uint32_t c = class_of(bytes);
    Buffer* b = c < local_classes ? local.lists[c].pop() : nullptr;
    if (!b && !(b = take(c))) Account::fail(bytes, at);
    unpoison(b->data_, bytes);
    b->bytes_ = bytes;
    b->references_.store(1, std::memory_order_relaxed);
    Account::charge(bytes);
    return BufferRef(b);
  }

  static void release(Buffer* b) {
    if (b->size_class_ == borrowed) {
      delete b;
      return;
    }
    Account::discharge(b->bytes_);
    const std::uint32_t c = b->size_class_;
    poison(b->data_, class_bytes(c));
    if (c < local_classes && local.lists[c].count < local_limits[c] && open_local()) local.lists[c].push(b);
    else give(b);
  }

  static BufferRef borrow(void* data, std::size_t bytes, std::shared_ptr<void> owner) {
    Buffer* b = new Buffer;
    b->size_class_ = borrowed;
    b->bytes_ = bytes;
    b->data_ = static_cast<std::byte*>(data);
    b->owner_ = std::move(owner);
    b->references_.store(1, std::memory_order_relaxed);
    return BufferRef(b);
  }

  static void release_all() {
    Shared& all = shared();
    std::array<List, classes> lists{};
    {
      std::lock_guard lock(all.mutex);
      std::swap(lists, all.lists);
    }
    for (List& list : lists)
      while (Buffer* b = list.pop()) {
        cached.fetch_sub(class_bytes(b->size_class_), std::memory_order_relaxed);
        destroy(b);
      }
    for (List& list : local.lists)
      while (Buffer* b = list.pop()) destroy(b);
  }
};
static_assert(sizeof(Buffer) <= header);

bool Buffer::borrowed() const { return size_class_ == anew::borrowed; }

void Buffer::release(Buffer* buffer) noexcept { BufferMaker::release(buffer); }

BufferRef allocate(std::size_t bytes, const Location& at) { return BufferMaker::make(bytes, at); }

BufferRef borrow(void* data, std::size_t bytes, std::shared_ptr<void> owner) {
  return BufferMaker::borrow(data, bytes, std::move(owner));
}

MemoryStatistics memory_statistics() {
  return {Account::live.load(), Account::peak.load(), cached.load() + free_arena_bytes(), system_calls.load()};
}

void reset_peak() { Account::peak.store(Account::live.load()); }

void release_cached() {
  BufferMaker::release_all();
  release_free_arenas();
}

void set_cache_limit(std::size_t bytes) {
  {
    BufferMaker::Shared& all = BufferMaker::shared();
    std::lock_guard lock(all.mutex);
    all.limit = bytes;
  }
  if (cached.load() > bytes) release_cached();
}

}  // namespace anew
