// Files of states: system calls, an unnamed file, a journal, and the thread in front of them.
#include "runtime/state_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/system_file.h"

namespace anew {
namespace {

[[noreturn]] void cannot(const FileOwner& o, const std::string& what, const std::string& hint) {
  throw Error(fmt::format("[{}] cannot {} in {}: {}", o.op, what, o.folder, std::strerror(errno)), o.at, hint);
}
std::string more_space(const FileOwner& o) {
  return fmt::format("free space there, or {} a folder on another disk", o.give);
}
[[noreturn]] void cannot_open(const FileOwner& o) {
  cannot(o, "open a file", o.give + " a folder that exists and may be written to");
}
[[noreturn]] void cannot_write(const FileOwner& o) { cannot(o, "write " + o.what, more_space(o)); }
[[noreturn]] void cannot_read(const FileOwner& o) {
  cannot(o, "read " + o.what, "see what the system says of that disk");
}

}  // namespace

void check_folder(const FileOwner& owner) {
  struct ::stat about{};
  if (::stat(owner.folder.c_str(), &about) != 0) cannot_open(owner);
  if (!S_ISDIR(about.st_mode)) errno = ENOTDIR, cannot_open(owner);
  if (::access(owner.folder.c_str(), W_OK | X_OK) != 0) cannot_open(owner);
}

namespace {

constexpr std::size_t most_ahead = 2;                 // reads that nobody has asked for yet
constexpr std::size_t window = std::size_t{8} << 20;  // bytes of a file that may lie in the system's cache, twice
constexpr std::size_t file_page = 4096;

std::uint64_t checksum(const std::string& bytes) {
  std::uint64_t h = 0x9e3779b97f4a7c15ULL ^ bytes.size();
  std::size_t i = 0;
  auto mix = [&](std::uint64_t word) {
    h = (h ^ word) * 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
  };
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  for (; i < bytes.size(); ++i) mix(static_cast<unsigned char>(bytes[i]));
  return h;
}

[[noreturn]] void damaged(const FileOwner& o) {
  throw Error(fmt::format("[{}] what was read from {} is not what was written", o.op, o.folder), o.at,
              "the disk or its file system is damaged");
}

// ---- one unnamed file
class Unnamed final : public StateBackend {
 public:
  explicit Unnamed(const FileOwner& owner) : owner_(owner), file_(open(owner)) {}

  void write(std::int64_t key, const std::string& bytes) override {
    drop(key);
    Extent e = take(bytes.size());
    e.size = bytes.size();
    e.checksum = checksum(bytes);
    extents_[key] = e;
    if (!write_all(file_.get(), bytes.data(), bytes.size(), e.offset)) cannot_write(owner_);
    written_.push_back(e);
    if ((dirty_ += e.size) >= window) sync();
  }
  std::string read(std::int64_t key) override {
    const Extent& e = extents_.at(key);
    std::string bytes(e.size, '\0');
    if (!read_all(file_.get(), bytes.data(), e.size, e.offset)) {
      if (errno == 0) damaged(owner_);
      cannot_read(owner_);
    }
    if (checksum(bytes) != e.checksum) damaged(owner_);
    forget(e);
    return bytes;
  }
  void drop(std::int64_t key) override {
    if (auto it = extents_.find(key); it != extents_.end()) free_.push_back(extents_.extract(it).mapped());
  }

 private:
  struct Extent {
    std::int64_t offset;
    std::size_t capacity, size = 0;
    std::uint64_t checksum = 0;
  };
  static File open(const FileOwner& o) {
    int fd = file_fails("open") ? -1 : ::open(o.folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
      std::string name = o.folder + "/anew-XXXXXX";
      fd = ::mkstemp(name.data());
      if (fd >= 0) ::unlink(name.c_str());
    }
    if (fd < 0) cannot_open(o);
    return File(fd);
  }
  Extent take(std::size_t size) {
    auto fits = [&](const Extent& e) { return e.capacity >= size; };
    if (auto it = std::find_if(free_.begin(), free_.end(), fits); it != free_.end()) {
      const Extent e = *it;
      free_.erase(it);
      return e;
    }
    const std::size_t capacity = size < file_page ? size : (size + file_page - 1) / file_page * file_page;
    return {std::exchange(end_, end_ + static_cast<std::int64_t>(capacity)), capacity};
  }
  // The cache of the system keeps what was written last; what was written before that is on disk.
  void sync() {
    constexpr unsigned begin = SYNC_FILE_RANGE_WRITE;
    constexpr unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    for (const Extent& e : written_) sync(e, begin);
    for (const Extent& e : begun_) {
      sync(e, wait);
      forget(e);
    }
    begun_ = std::exchange(written_, {});
    dirty_ = 0;
  }
  void sync(const Extent& e, unsigned how) const {
    if (!file_fails("sync") && ::sync_file_range(file_.get(), e.offset, static_cast<off_t>(e.size), how) == 0) return;
    if (errno == EIO || errno == ENOSPC || errno == EDQUOT) cannot_write(owner_);  // others: it cannot be told
  }
  void forget(const Extent& e) const {
    ::posix_fadvise(file_.get(), e.offset, static_cast<off_t>(e.capacity), POSIX_FADV_DONTNEED);
  }

  FileOwner owner_;
  File file_;
  std::map<std::int64_t, Extent> extents_;
  std::vector<Extent> free_, written_, begun_;  // written, and begun to be brought to disk
  std::size_t dirty_ = 0;                       // bytes of written_
  std::int64_t end_ = 0;
};

// ---- a journal
struct Header {
  char magic[8] = {'a', 'n', 'e', 'w', 'j', 'r', 'n', '1'};
  std::int64_t run = 0, key = 0;
  std::uint64_t size = 0, checksum = 0;
};
constexpr const char *prefix = "anew-state-", *part = ".part";

class JournalFiles final : public StateBackend {
 public:
  JournalFiles(const FileOwner& owner, std::int64_t run) : owner_(owner), run_(run), lock_(locked(owner)) {}

  void write(std::int64_t key, const std::string& bytes) override {
    Header h;
    h.run = run_;
    h.key = key;
    h.size = bytes.size();
    h.checksum = checksum(bytes);
    const std::string name = path(key), first = name + part;
    const File f(file_fails("open") ? -1 : ::open(first.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    const bool written = f && write_all(f.get(), reinterpret_cast<const char*>(&h), sizeof h, 0) &&
                         write_all(f.get(), bytes.data(), bytes.size(), sizeof h) && !file_fails("rename") &&
                         ::rename(first.c_str(), name.c_str()) == 0;
    if (written) return;
    const int error = errno;
    ::unlink(first.c_str());
    errno = error;
    cannot_write(owner_);
  }
  std::string read(std::int64_t key) override {
    std::string bytes;
    if (whole(path(key), bytes) != Found::whole) damaged(owner_);
    return bytes;
  }
  void drop(std::int64_t key) override { ::unlink(path(key).c_str()); }

  // What is left of an earlier process; half-written and torn files go.
  std::vector<std::int64_t> scan() {
    std::vector<std::int64_t> keys;
    std::vector<std::string> torn;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(owner_.folder, error)) {
      const std::string name = entry.path().filename().string(), file = owner_.folder + "/" + name;
      if (!name.starts_with(prefix)) continue;
      std::string bytes;
      const Found found = name.ends_with(part) ? Found::torn : whole(file, bytes);
      if (found == Found::another)
        throw Error(fmt::format("[{}] the states in {} belong to another run", owner_.op, owner_.folder), owner_.at,
                    fmt::format("give a folder for each run, or remove {}* there", prefix));
      if (found == Found::torn) torn.push_back(file);
      else keys.push_back(std::atoll(name.c_str() + std::strlen(prefix)));
    }
    errno = error.value();
    if (error) cannot(owner_, "list the files", "give a folder that may be read");
    for (const std::string& file : torn) ::unlink(file.c_str());
    std::sort(keys.begin(), keys.end());
    return keys;
  }

 private:
  enum class Found { whole, torn, another };
  static File locked(const FileOwner& o) {
    File f(file_fails("open") ? -1 : ::open(o.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!f) cannot_open(o);
    if (::flock(f.get(), LOCK_EX | LOCK_NB) != 0)
      throw Error(fmt::format("[{}] another run uses {}", o.op, o.folder), o.at, "give each run a folder of its own");
    return f;
  }
  std::string path(std::int64_t key) const { return fmt::format("{}/{}{}", owner_.folder, prefix, key); }
  Found whole(const std::string& file, std::string& bytes) const {
    const File f(file_fails("open") ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!f) cannot_read(owner_);
    auto read = [&](char* to, std::size_t size, std::int64_t offset) {
      const bool all = read_all(f.get(), to, size, offset);
      if (!all && errno != 0) cannot_read(owner_);
      return all;
    };
    Header h;
    const Header want;
    if (!read(reinterpret_cast<char*>(&h), sizeof h, 0)) return Found::torn;
    const off_t size = ::lseek(f.get(), 0, SEEK_END);
    if (std::memcmp(h.magic, want.magic, sizeof h.magic) != 0 || path(h.key) != file ||
        size != static_cast<off_t>(sizeof h + h.size))
      return Found::torn;
    bytes.resize(h.size);
    if (!read(bytes.data(), h.size, sizeof h) || checksum(bytes) != h.checksum) return Found::torn;
    return h.run == run_ ? Found::whole : Found::another;
  }

  FileOwner owner_;
  std::int64_t run_;
  File lock_;
};

}  // namespace

std::unique_ptr<StateBackend> open_unnamed(const FileOwner& owner) { return std::make_unique<Unnamed>(owner); }

Journal open_journal(const FileOwner& owner, std::int64_t run) {
  auto files = std::make_unique<JournalFiles>(owner, run);
  std::vector<std::int64_t> keys = files->scan();
  return {std::move(files), std::move(keys)};
}

// ---- the thread
StateFiles::StateFiles(std::unique_ptr<StateBackend> backend, const Location& at) : backend_(std::move(backend)) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& e) {
    throw Error(fmt::format("[checkpointing] the system has no thread for files: {}", e.what()), at);
  }
}

StateFiles::~StateFiles() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StateFiles::rethrow() {
  if (error_) std::rethrow_exception(error_);
}

void StateFiles::add(Job job) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return job.kind != Job::Kind::write || writes_ < 2 || error_; });
    rethrow();
    writes_ += job.kind == Job::Kind::write;
    if (job.kind != Job::Kind::read) ahead_.erase(job.key);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void StateFiles::write(std::int64_t key, std::string bytes) { add({Job::Kind::write, key, std::move(bytes)}); }
void StateFiles::drop(std::int64_t key) { add({Job::Kind::drop, key, {}}); }

void StateFiles::read_ahead(std::int64_t key) {
  auto read = std::make_shared<Read>();
  {
    const std::lock_guard lock(mutex_);
    if (ahead_.count(key)) return;
    while (ahead_.size() >= most_ahead) ahead_.erase(ahead_.begin());
    ahead_.emplace(key, read);
  }
  add({Job::Kind::read, key, {}, std::move(read)});
}

std::string StateFiles::read(std::int64_t key) {
  std::shared_ptr<Read> read;
  {
    const std::lock_guard lock(mutex_);
    if (auto ahead = ahead_.extract(key)) read = std::move(ahead.mapped());
  }
  if (!read) add({Job::Kind::read, key, {}, read = std::make_shared<Read>()});
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return read->done || error_; });
  rethrow();
  return std::move(read->bytes);
}

void StateFiles::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty() || error_; });
  rethrow();
}

bool StateFiles::failed() const {
  const std::lock_guard lock(mutex_);
  return error_ != nullptr;
}

void StateFiles::do_job(Job& job) {
  std::string bytes;
  if (job.kind == Job::Kind::write) backend_->write(job.key, job.bytes);
  else if (job.kind == Job::Kind::read) bytes = backend_->read(job.key);
  else backend_->drop(job.key);
  if (job.kind != Job::Kind::read) return;
  const std::lock_guard lock(mutex_);
  job.to->bytes = std::move(bytes);
  job.to->done = true;
}

void StateFiles::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job& job = jobs_.front();
    lock.unlock();
    std::exception_ptr error;
    try {
      do_job(job);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    writes_ -= job.kind == Job::Kind::write;
    jobs_.pop_front();
    if (error && !error_) error_ = error;
    if (error_) jobs_.clear();
    if (error_) writes_ = 0;
    changed_.notify_all();
  }
}

}  // namespace anew
