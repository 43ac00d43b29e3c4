// The folder of cached code, its files, and what is said of those that do not fit. Everything happens relative to the
// open folder, so that what was checked is what is used.
#include "jit/code_cache.h"

#include <anew/jit.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/base.h"
#include "base/environment.h"
#include "loops/build.h"

namespace anew {
namespace {

constexpr off_t largest_entry = off_t{64} << 20;  // a thousand kernels are some megabytes

struct Setting {
  std::mutex guard;
  std::string path;
  std::set<std::string> said;  // of the folder as a whole things are said once
};
Setting& setting() {
  static auto* s = new Setting{{}, environment::code_cache(), {}};
  return *s;
}
std::string folder_path() {
  Setting& s = setting();
  std::lock_guard lock(s.guard);
  return s.path;
}
void say_once(const std::string& text) {
  {
    Setting& s = setting();
    std::lock_guard lock(s.guard);
    if (!s.said.insert(text).second) return;
  }
  warn(text, {});
}

class Handle {
 public:
  explicit Handle(int fd) : fd_(fd) {}
  ~Handle() {
    if (fd_ >= 0) ::close(fd_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  int operator*() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string reason(int error) { return std::generic_category().message(error); }

// Why we do not trust what is open; empty where we do.
std::string objection(const struct stat& s) {
  if (s.st_uid != ::geteuid()) return "it belongs to another user";
  if (s.st_mode & (S_IWGRP | S_IWOTH)) return "others may write to it; hint: chmod go-w";
  return "";
}

// ---- the folder

// One that is missing is made, for nobody else to write to, whatever the umask.
int open_folder(const std::string& path) {
  std::error_code ignored;  // opening says what is wrong
  const std::filesystem::path full(path);
  std::filesystem::create_directories(full.has_filename() ? full.parent_path() : full.parent_path().parent_path(),
                                      ignored);
  ::mkdir(path.c_str(), S_IRWXU);
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

std::string objection_to_folder(const Handle& folder) {
  if (!folder) return errno == ENOTDIR ? "it is not a folder" : reason(errno);
  struct stat s{};
  return ::fstat(*folder, &s) ? reason(errno) : objection(s);
}

// ---- entries

// What the code depends on besides build and machine: kernels and layouts, in text, and the bits of constants.
std::string key_of(std::span<const loops::LaidKernel> kernels) {
  std::string key;
  for (const loops::LaidKernel& k : kernels) {
    const loops::Kernel kernel = loops::expand(*k.kernel);
    key += kernel.str();
    for (const loops::Node& n : kernel.nodes)
      if (n.op == loops::Op::constant) key += fmt::format("{:x} ", n.imm);
    for (const Shape& s : k.strides) key += s.str() + " ";
    key += "\n";
  }
  return key;
}

struct Contents {
  std::vector<std::byte> bytes;
  std::string objection;  // why there are none; empty where there is no entry at all
};

Contents read_entry(const Handle& folder, const std::string& name) {
  // Not waiting for the other end of a pipe, and a terminal does not become ours.
  const Handle file(::openat(*folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return {{}, errno == ENOENT ? "" : errno == ELOOP ? "it is a symbolic link" : reason(errno)};
  struct stat s{};
  if (::fstat(*file, &s)) return {{}, reason(errno)};
  if (!S_ISREG(s.st_mode)) return {{}, "it is not a regular file"};
  if (std::string why = objection(s); !why.empty()) return {{}, why};
  if (s.st_size == 0) return {{}, "it is empty"};
  if (s.st_size > largest_entry) return {{}, fmt::format("it has {} bytes", s.st_size)};
  Contents out{std::vector<std::byte>(static_cast<std::size_t>(s.st_size)), ""};
  for (std::size_t at = 0; at < out.bytes.size();) {
    const ssize_t n = ::read(*file, out.bytes.data() + at, out.bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {{}, reason(errno)};
    if (n == 0) return {{}, "it became shorter while it was read"};
    at += static_cast<std::size_t>(n);
  }
  return out;
}

// 0, or what went wrong.
int write_all(const Handle& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(*file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

// A file under its final name is whole, so it is written under another one. That one is new: whoever had it is gone.
int write_entry(const Handle& folder, const std::string& name, std::span<const std::byte> bytes) {
  static std::atomic<int> writes = 0;  // threads of one process may write the same entry
  const std::string beside = fmt::format("{}.{}.{}", name, ::getpid(), writes++);
  ::unlinkat(*folder, beside.c_str(), 0);
  int failed = 0;
  {
    const Handle file(
        ::openat(*folder, beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file) return errno;
    failed = write_all(file, bytes);
  }
  if (!failed && ::renameat(*folder, beside.c_str(), *folder, name.c_str())) failed = errno;
  if (failed) ::unlinkat(*folder, beside.c_str(), 0);
  return failed;
}

}  // namespace

std::string set_code_cache(std::string path) {
  Setting& s = setting();
  std::lock_guard lock(s.guard);
  s.said.clear();
  return std::exchange(s.path, std::move(path));
}

namespace compiled {
namespace {

class CachedTarget final : public loops::Target {
 public:
  explicit CachedTarget(const loops::Target& of) : of_(of) {}
  std::string_view name() const override { return of_.name(); }
  bool can(const loops::LaidKernel& kernel) const override { return of_.can(kernel); }

  loops::Codes compile(std::span<const loops::LaidKernel> kernels) const override {
    const std::string path = folder_path();
    if (path.empty() || kernels.empty()) return of_.compile(kernels);
    const Handle folder(open_folder(path));
    if (const std::string why = objection_to_folder(folder); !why.empty()) {
      say_once(fmt::format("[jit] the code cache {} is not used: {}", path, why));
      return of_.compile(kernels);
    }
    const std::string key = key_of(kernels), name = of_.entry_name(key) + ".anew";
    loops::Codes codes = find(folder, path, name, key, kernels);
    if (!codes.empty()) return codes;
    codes = of_.compile(kernels);
    if (codes.empty()) return codes;
    const std::vector<std::byte> bytes = of_.to_bytes(codes, key);
    const bool too_large = bytes.size() > static_cast<std::size_t>(largest_entry);
    if (const int failed = too_large ? EFBIG : write_entry(folder, name, bytes))
      say_once(fmt::format("[jit] cannot write to the code cache {}: {}", path, reason(failed)));
    return codes;
  }

 private:
  // The entry's code; none where there is none that fits.
  loops::Codes find(const Handle& folder, const std::string& path, const std::string& name, const std::string& key,
                    std::span<const loops::LaidKernel> kernels) const {
    const Contents entry = read_entry(folder, name);
    if (!entry.bytes.empty())
      if (loops::Codes codes = of_.from_bytes(entry.bytes, key, kernels); !codes.empty()) return codes;
    const std::string why = entry.bytes.empty() ? entry.objection : "it is not what was written for these kernels";
    if (!why.empty()) warn(fmt::format("[jit] the cached code in {}/{} is ignored: {}", path, name, why), {});
    return {};
  }

  const loops::Target& of_;
};

}  // namespace

const loops::Target& with_code_cache(const loops::Target& target) { return *new CachedTarget(target); }

}  // namespace compiled
}  // namespace anew
