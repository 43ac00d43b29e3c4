// Memory that lies in a file. A region is a range of addresses at which nothing can be read or written: views, rows of
// stacks and slots of loops are handed on as if it were memory, and only `move_bytes` looks where an address lies. So
// eager arrays, results and temporaries of compiled code and what loops stack go one way.
// Invariant: what is read of a region was written there before, in pieces; an Error otherwise, never other bytes.
#pragma once
#include <cstddef>
#include <memory>

#include "runtime/buffer.h"
#include "runtime/state_files.h"

namespace anew {

// A file of pieces, read ahead from what was written last. Several threads may use one.
class SpillFile;
// In the folder of `owner`; empty: that of set_spill_folder, or of ANEW_SPILL, or else the system's for temporary
// files.
std::shared_ptr<SpillFile> open_spill_file(FileOwner owner);

class SpilledRegion {
 public:
  SpilledRegion(std::size_t bytes, std::shared_ptr<SpillFile> file, const Location& at);
  ~SpilledRegion();
  SpilledRegion(const SpilledRegion&) = delete;
  SpilledRegion& operator=(const SpilledRegion&) = delete;

  std::byte* data() const { return data_; }
  // All of it, read into memory once and kept: for whoever cannot do without.
  const std::byte* loaded(const Location& at);

 private:
  friend void move_bytes(std::byte* to, const std::byte* from, std::size_t bytes);
  struct Pieces;
  std::byte* data_;
  std::size_t bytes_, reserved_;
  std::unique_ptr<Pieces> pieces_;
};

// A buffer that is a region, in a file that all such buffers share; not counted as memory.
BufferRef allocate_spilled(std::size_t bytes, const Location& at);

// Whether an address is that of a region.
bool is_spilled(const std::byte* at);
// The address itself; or, of a region, the same place in memory.
const std::byte* in_memory(const std::byte* at, const Location& where);
// Bytes, from and to memory or regions; between regions nothing is read where whole pieces go.
void move_bytes(std::byte* to, const std::byte* from, std::size_t bytes);

// The regions of a compiled call, by number, for the Codes that this thread runs.
class SpillScope {
 public:
  explicit SpillScope(std::byte* const* regions) : before_(current_) { current_ = regions; }
  ~SpillScope() { current_ = before_; }
  SpillScope(const SpillScope&) = delete;
  static std::byte* region(int number) { return current_[number]; }

 private:
  std::byte* const* before_;
  static constinit inline thread_local std::byte* const* current_ = nullptr;
};

}  // namespace anew
