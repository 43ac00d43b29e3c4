#include "runtime/system_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace anew {
namespace {

std::atomic<FileFault> file_fault{nullptr};

}  // namespace

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

FileFault set_file_fault(FileFault fault) { return file_fault.exchange(fault); }

bool file_fails(const char* call) {
  const FileFault fault = file_fault.load(std::memory_order_relaxed);
  const int error = fault ? fault(call) : 0;
  if (error) errno = error;
  return error != 0;
}

bool write_all(int fd, const char* data, std::size_t size, std::int64_t offset) {
  while (size > 0) {
    const ssize_t n = file_fails("write") ? -1 : ::pwrite(fd, data, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
    offset += n;
  }
  return true;
}

bool read_all(int fd, char* data, std::size_t size, std::int64_t offset) {
  while (size > 0) {
    const ssize_t n = file_fails("read") ? -1 : ::pread(fd, data, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = 0;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
    offset += n;
  }
  return true;
}

}  // namespace anew
