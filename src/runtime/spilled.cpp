// Regions: addresses that the system keeps free, the pieces written there, and one list of all of them.
#include "runtime/spilled.h"

#include <anew/policy.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>

#include "base/environment.h"

namespace anew {

// ---- a file of pieces

class SpillFile {
 public:
  explicit SpillFile(const FileOwner& owner) : files_(open_unnamed(owner), owner.at) {}
  bool failed() const { return files_.failed(); }

  std::int64_t write(std::string bytes) {
    const std::int64_t key = next_.fetch_add(1, std::memory_order_relaxed);
    files_.write(key, std::move(bytes));
    const std::lock_guard lock(mutex_);
    unread_.insert(key);
    return key;
  }
  // A backward pass reads what was written last first: those are read meanwhile.
  std::string read(std::int64_t key) {
    std::string bytes = files_.read(key);
    const std::lock_guard lock(mutex_);  // so that no other thread drops one of them before
    unread_.erase(key);
    auto it = unread_.rbegin();
    for (int i = 0; i < 2 && it != unread_.rend(); ++i, ++it) files_.read_ahead(*it);
    return bytes;
  }
  void drop(std::int64_t key) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      unread_.erase(key);
      files_.drop(key);
    } catch (...) {  // NOLINT(bugprone-empty-catch): of a file that has failed, which is gone with all that is in it
    }
  }

 private:
  StateFiles files_;
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;
  std::set<std::int64_t> unread_;  // keys, in the order in which they were written
};

namespace {

struct Setting {
  std::mutex guard;
  std::string folder;  // empty: none was set
};
Setting& setting() {
  static Setting& s = *new Setting;
  return s;
}
std::string set_folder() {
  Setting& s = setting();
  const std::lock_guard lock(s.guard);
  return s.folder;
}

}  // namespace

std::string set_spill_folder(std::string folder, const Location& at) {
  if (!folder.empty()) (void)open_unnamed({"set_spill_folder", folder, at, "an array"});  // an Error where that fails
  Setting& s = setting();
  const std::lock_guard lock(s.guard);
  std::swap(s.folder, folder);
  return folder.empty() ? environment::spill() : folder;
}

std::shared_ptr<SpillFile> open_spill_file(FileOwner owner) {
  if (owner.folder.empty()) {
    owner.folder = set_folder();
    owner.give = "give set_spill_folder";
  }
  if (owner.folder.empty()) {
    owner.folder = environment::spill();
    owner.give = "set ANEW_SPILL to";
  }
  std::error_code error;
  if (owner.folder.empty()) owner.folder = std::filesystem::temp_directory_path(error).string();
  return std::make_shared<SpillFile>(owner);
}

// ---- regions

namespace {

struct Piece {
  std::shared_ptr<SpillFile> file;
  std::int64_t key;
  std::size_t bytes;
  Piece(std::shared_ptr<SpillFile> f, const std::byte* from, std::size_t n)
      : file(std::move(f)), key(file->write({reinterpret_cast<const char*>(from), n})), bytes(n) {}
  ~Piece() { file->drop(key); }
  Piece(const Piece&) = delete;
};
using PieceRef = std::shared_ptr<const Piece>;

struct Regions {
  std::shared_mutex guard;
  std::map<const std::byte*, SpilledRegion*> by_end;  // the first end behind an address is that of its region
  std::atomic<int> count{0};
};
Regions& regions() {
  static Regions& r = *new Regions;  // never destroyed: arrays may outlive whatever is
  return r;
}
constexpr std::size_t page = 4096;

}  // namespace

struct SpilledRegion::Pieces {
  std::shared_ptr<SpillFile> file;
  std::mutex guard;
  std::map<std::size_t, PieceRef> at;  // by offset; disjoint
  BufferRef loaded;

  void put(std::size_t offset, PieceRef piece) {
    const std::lock_guard lock(guard);
    auto it = at.lower_bound(offset);
    if (it != at.begin() && std::prev(it)->first + std::prev(it)->second->bytes > offset) --it;
    const bool other = it != at.end() && it->first < offset + piece->bytes &&
                       (it->first != offset || it->second->bytes != piece->bytes);
    if (other) throw InternalError("[spilled] pieces of a region overlap");
    at[offset] = std::move(piece);
  }
  // The pieces of [offset, offset + bytes), with their offsets.
  std::vector<std::pair<std::size_t, PieceRef>> within(std::size_t offset, std::size_t bytes) {
    const std::lock_guard lock(guard);
    std::vector<std::pair<std::size_t, PieceRef>> out;
    auto it = at.upper_bound(offset);
    if (it != at.begin()) --it;
    std::size_t end = offset;
    for (; it != at.end() && end < offset + bytes; ++it) {
      if (it->first > end || it->first + it->second->bytes <= end) break;
      out.push_back(*it);
      end = it->first + it->second->bytes;
    }
    if (end < offset + bytes) throw InternalError("[spilled] a region is read before it is written");
    return out;
  }
  void read(std::byte* to, std::size_t offset, std::size_t bytes) {
    for (const auto& [start, piece] : within(offset, bytes)) {
      const std::string text = piece->file->read(piece->key);
      const std::size_t from = std::max(start, offset), end = std::min(start + piece->bytes, offset + bytes);
      std::memcpy(to + (from - offset), text.data() + (from - start), end - from);
    }
  }
};

SpilledRegion::SpilledRegion(std::size_t bytes, std::shared_ptr<SpillFile> file, const Location& at)
    : bytes_(bytes),
      reserved_((std::max<std::size_t>(bytes, 1) + page - 1) / page * page),
      pieces_(std::make_unique<Pieces>()) {
  pieces_->file = std::move(file);
  void* const free = ::mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (free == MAP_FAILED)
    throw Error("[offload] the system has no addresses left for " + std::to_string(bytes) + " bytes", at);
  data_ = static_cast<std::byte*>(free);
  Regions& r = regions();
  const std::lock_guard lock(r.guard);
  r.by_end.emplace(data_ + reserved_, this);
  r.count.fetch_add(1, std::memory_order_relaxed);
}

SpilledRegion::~SpilledRegion() {
  Regions& r = regions();
  {
    const std::lock_guard lock(r.guard);
    r.by_end.erase(data_ + reserved_);
    r.count.fetch_sub(1, std::memory_order_relaxed);
  }
  ::munmap(data_, reserved_);
}

const std::byte* SpilledRegion::loaded(const Location& at) {
  {
    const std::lock_guard lock(pieces_->guard);
    if (pieces_->loaded) return pieces_->loaded->data();
  }
  BufferRef memory = allocate(bytes_, at);
  pieces_->read(memory->data(), 0, bytes_);
  const std::lock_guard lock(pieces_->guard);
  if (!pieces_->loaded) pieces_->loaded = std::move(memory);
  return pieces_->loaded->data();
}

namespace {

SpilledRegion* region_of(const std::byte* at) {
  Regions& r = regions();
  if (r.count.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::shared_lock lock(r.guard);
  auto it = r.by_end.upper_bound(at);
  return it != r.by_end.end() && at >= it->second->data() ? it->second : nullptr;
}

}  // namespace

bool is_spilled(const std::byte* at) { return region_of(at) != nullptr; }

const std::byte* in_memory(const std::byte* at, const Location& where) {
  SpilledRegion* const region = region_of(at);
  return region ? region->loaded(where) + (at - region->data()) : at;
}

void move_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  SpilledRegion *const source = region_of(from), *const target = region_of(to);
  if (!source && !target) return void(std::memcpy(to, from, bytes));
  const auto offset = [](const SpilledRegion& r, const std::byte* at) {
    return static_cast<std::size_t>(at - r.data_);
  };
  if (!target) return source->pieces_->read(to, offset(*source, from), bytes);
  const std::size_t begin = offset(*target, to);
  if (!source) return target->pieces_->put(begin, std::make_shared<const Piece>(target->pieces_->file, from, bytes));
  const std::size_t start = offset(*source, from);
  const auto pieces = source->pieces_->within(start, bytes);
  if (pieces.front().first < start || pieces.back().first + pieces.back().second->bytes > start + bytes) {
    std::vector<std::byte> read(bytes);  // a part of a piece becomes one of its own
    source->pieces_->read(read.data(), start, bytes);
    return target->pieces_->put(begin, std::make_shared<const Piece>(target->pieces_->file, read.data(), bytes));
  }
  for (const auto& [at, piece] : pieces) target->pieces_->put(begin + (at - start), piece);
}

// ---- buffers

namespace {

// The file of eager arrays: there as long as one of them is. After a failure, or in another folder, one is opened anew.
std::shared_ptr<SpillFile> shared_file() {
  struct Shared {
    std::mutex guard;
    std::weak_ptr<SpillFile> file;
    std::string folder;  // that was set when it was opened
  };
  static Shared& shared = *new Shared;
  const std::lock_guard lock(shared.guard);
  std::shared_ptr<SpillFile> file = shared.file.lock();
  const std::string folder = set_folder();
  if (!file || file->failed() || shared.folder != folder) {
    shared.file = file = open_spill_file({"offload", "", Location(), "an array"});
    shared.folder = folder;
  }
  return file;
}

}  // namespace

BufferRef allocate_spilled(std::size_t bytes, const Location& at) {
  auto region = std::make_shared<SpilledRegion>(bytes, shared_file(), at);
  std::byte* const data = region->data();
  return borrow(data, bytes, std::move(region));
}

}  // namespace anew
