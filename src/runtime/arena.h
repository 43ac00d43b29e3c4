// The memory of one call in flight: one block from the pool of arenas that all plans of the process share, so that they
// need together what the largest of them needs, not the sum. Blocks are kept between calls; a request that none of the
// free ones fits takes the place of the largest free one.
// Invariant: a block has one user at a time; `bytes`, not the size of the block, counts as memory in use.
#pragma once
#include <anew/base.h>

#include <cstddef>

namespace anew {

struct ArenaBlock;

class Arena {
 public:
  // Undefined contents, aligned to 64 bytes (to 2 MB from 4 MB on). No bytes are no memory: data() is null then.
  explicit Arena(std::size_t bytes, const Location& at = Location());
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
  ArenaBlock* block_ = nullptr;
};

// Bytes of blocks that no call uses now; they are given back to the system by release_cached(), which calls the second.
std::size_t free_arena_bytes();
void release_free_arenas();

}  // namespace anew
