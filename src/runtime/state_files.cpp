// Files of states: system calls, an unnamed file, a journal, and the thread in front of them.
#include "runtime/state_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace anew {
namespace {

std::atomic<FileFault> file_fault{nullptr};

bool fails(const char* call) {
  const FileFault fault = file_fault.load(std::memory_order_relaxed);
  const int error = fault ? fault(call) : 0;
  if (error) errno = error;
  return error != 0;
}

[[noreturn]] void cannot(const FileOwner& o, const std::string& what, const std::string& hint) {
  throw Error(fmt::format("[{}] cannot {} in {}: {}", o.op, what, o.folder, std::strerror(errno)), o.at, hint);
}
constexpr const char* more_space = "free space there, or give a folder on another disk";

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

bool write_all(int fd, const char* data, std::size_t size, std::int64_t offset) {
  while (size > 0) {
    const ssize_t n = fails("write") ? -1 : ::pwrite(fd, data, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
    offset += n;
  }
  return true;
}

// False at an error, errno 0 where the file ends before.
bool read_all(int fd, char* data, std::size_t size, std::int64_t offset) {
  while (size > 0) {
    const ssize_t n = fails("read") ? -1 : ::pread(fd, data, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = 0;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
    offset += n;
  }
  return true;
}

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
    if (!write_all(file_.get(), bytes.data(), bytes.size(), e.offset)) cannot(owner_, "write a state", more_space);
  }
  std::string read(std::int64_t key) override {
    const Extent& e = extents_.at(key);
    std::string bytes(e.size, '\0');
    if (!read_all(file_.get(), bytes.data(), e.size, e.offset)) {
      if (errno == 0) damaged(owner_);
      cannot(owner_, "read a state", "see what the system says of that disk");
    }
    if (checksum(bytes) != e.checksum) damaged(owner_);
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
    int fd = fails("open") ? -1 : ::open(o.folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
      std::string name = o.folder + "/anew-XXXXXX";
      fd = ::mkstemp(name.data());
      if (fd >= 0) ::unlink(name.c_str());
    }
    if (fd < 0) cannot(o, "open a file", "give a folder that exists and may be written to");
    return File(fd);
  }
  Extent take(std::size_t size) {
    auto fits = [&](const Extent& e) { return e.capacity >= size; };
    if (auto it = std::find_if(free_.begin(), free_.end(), fits); it != free_.end()) {
      const Extent e = *it;
      free_.erase(it);
      return e;
    }
    return {std::exchange(end_, end_ + static_cast<std::int64_t>(size)), size};
  }

  FileOwner owner_;
  File file_;
  std::map<std::int64_t, Extent> extents_;
  std::vector<Extent> free_;
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
    const File f(fails("open") ? -1 : ::open(first.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    const bool written = f && write_all(f.get(), reinterpret_cast<const char*>(&h), sizeof h, 0) &&
                         write_all(f.get(), bytes.data(), bytes.size(), sizeof h) && !fails("rename") &&
                         ::rename(first.c_str(), name.c_str()) == 0;
    if (written) return;
    const int error = errno;
    ::unlink(first.c_str());
    errno = error;
    cannot(owner_, "write a state", more_space);
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
    File f(fails("open") ? -1 : ::open(o.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!f) cannot(o, "open a file", "give a folder that exists and may be written to");
    if (::flock(f.get(), LOCK_EX | LOCK_NB) != 0)
      throw Error(fmt::format("[{}] another run uses {}", o.op, o.folder), o.at, "give each run a folder of its own");
    return f;
  }
  [[noreturn]] void cannot_read() const { cannot(owner_, "read a state", "see what the system says of that disk"); }
  std::string path(std::int64_t key) const { return fmt::format("{}/{}{}", owner_.folder, prefix, key); }
  Found whole(const std::string& file, std::string& bytes) const {
    const File f(fails("open") ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!f) cannot_read();
    auto read = [&](char* to, std::size_t size, std::int64_t offset) {
      const bool all = read_all(f.get(), to, size, offset);
      if (!all && errno != 0) cannot_read();
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

FileFault set_file_fault(FileFault fault) { return file_fault.exchange(fault); }

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
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void StateFiles::write(std::int64_t key, std::string bytes) { add({Job::Kind::write, key, std::move(bytes)}); }
void StateFiles::drop(std::int64_t key) { add({Job::Kind::drop, key, {}}); }

void StateFiles::read_ahead(std::int64_t key) {
  {
    const std::lock_guard lock(mutex_);
    auto same = [&](const Job& j) { return j.kind == Job::Kind::read && j.key == key; };
    if (read_.count(key) || std::any_of(jobs_.begin(), jobs_.end(), same)) return;
    read_.clear();  // one state ahead, not more
  }
  add({Job::Kind::read, key, {}});
}

std::string StateFiles::read(std::int64_t key) {
  read_ahead(key);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return read_.count(key) || error_; });
  rethrow();
  return std::move(read_.extract(key).mapped());
}

void StateFiles::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty() || error_; });
  rethrow();
}

void StateFiles::do_job(Job& job) {
  std::string bytes;
  if (job.kind == Job::Kind::write) backend_->write(job.key, job.bytes);
  else if (job.kind == Job::Kind::read) bytes = backend_->read(job.key);
  else backend_->drop(job.key);
  const std::lock_guard lock(mutex_);
  if (job.kind == Job::Kind::read) read_[job.key] = std::move(bytes);
  else read_.erase(job.key);
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
