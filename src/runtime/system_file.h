// Calls of the system for files: a descriptor that closes itself, all bytes or an error, and faults for tests.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace anew {

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&&) = delete;
  ~File();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// False at an error, which errno says.
bool write_all(int fd, const char* data, std::size_t size, std::int64_t offset);
// False at an error, errno 0 where the file ends before.
bool read_all(int fd, char* data, std::size_t size, std::int64_t offset);

// For tests: a number that is no 0 makes a call of the system ("open", "write", "sync", "read", "rename") fail with
// that errno.
using FileFault = int (*)(const char* call);
FileFault set_file_fault(FileFault fault);
// Whether that call is to fail now; sets errno.
bool file_fails(const char* call);

}  // namespace anew
