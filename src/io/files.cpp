// Reading and writing files, and what all formats check.
#include "io/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

namespace anew::io {
namespace {

// A link is followed, so that what it points to is replaced and not the link.
std::string behind_links(const std::string& name) {
  char* const real = ::realpath(name.c_str(), nullptr);
  if (!real) return name;
  std::string out = real;
  std::free(real);
  return out;
}

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == file.npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
}

std::string temporary_name(const std::string& target) {
  static std::atomic<std::uint64_t> counter = 0;
  return fmt::format("{}/.anew-{}-{}.part", folder_of(target), ::getpid(), counter++);
}

// Well-formed UTF-8 without zeros, as RFC 3629 has it.
bool is_text(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const int more = c < 0x80                ? 0
                     : c >= 0xc2 && c < 0xe0 ? 1
                     : c >= 0xe0 && c < 0xf0 ? 2
                     : c >= 0xf0 && c < 0xf5 ? 3
                                             : -1;
    if (c == 0 || more < 0 || i + static_cast<std::size_t>(more) >= s.size()) return false;
    for (int k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(s[i + static_cast<std::size_t>(k)]) & 0xc0u) != 0x80u) return false;
    if (more >= 2) {
      const auto second = static_cast<unsigned char>(s[i + 1]);
      if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) ||
          (c == 0xf4 && second > 0x8f))
        return false;
    }
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

// Names in a file are anything: a message is of a sane length, and shows no control characters.
std::string shown(std::string text) {
  constexpr std::size_t longest = 500;
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  return text;
}

}  // namespace

void FileCall::fail(const std::string& what, const std::string& hint) const {
  throw Error(fmt::format("[{}] {}: {}", op, name, shown(what)), at, shown(hint));
}

InputFile::InputFile(const FileCall& call)
    : call_(call), file_(file_fails("open") ? -1 : ::open(call.name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_) call.fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  struct stat s;
  if (::fstat(file_.get(), &s) != 0) call.fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(s.st_mode)) call.fail(S_ISDIR(s.st_mode) ? "is a folder" : "is not a file with contents of its own");
  size_ = static_cast<std::uint64_t>(s.st_size);
}

void InputFile::read(void* to, std::size_t size) {
  if (size > left())
    call_.fail(fmt::format("ends too early: {} bytes are missing", size - left()), "the file is truncated");
  if (!read_all(file_.get(), static_cast<char*>(to), size, static_cast<std::int64_t>(position_))) {
    if (errno == 0) call_.fail("got shorter while it was read");
    call_.fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  position_ += size;
}

OutputFile::OutputFile(const FileCall& call) : call_(call), target_(behind_links(call.name)) {
  struct stat s;
  const bool exists = ::stat(target_.c_str(), &s) == 0;
  if (exists && !S_ISREG(s.st_mode)) call.fail(S_ISDIR(s.st_mode) ? "is a folder" : "is not a regular file");
  if (call.name.empty() || call.name.ends_with('/')) call.fail("is not the name of a file");
  const mode_t mode = exists ? s.st_mode & 0777u : 0666u;  // the system takes away what the user's umask says
  int fd = -1;
  do {
    temporary_ = temporary_name(target_);
    fd = file_fails("open") ? -1 : ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EEXIST);
  file_ = std::make_unique<File>(fd);
  if (fd < 0) {
    temporary_.clear();
    call.fail(fmt::format("cannot be written: {}", std::strerror(errno)),
              "the folder must exist, and you may write there");
  }
  if (exists) (void)!::fchmod(fd, mode);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::cannot(const char* what) const {
  call_.fail(fmt::format("cannot be {}: {}", what, std::strerror(errno)), "free space there, or name another folder");
}

void OutputFile::write(const void* data, std::size_t size) {
  if (!write_all(file_->get(), static_cast<const char*>(data), size, position_)) cannot("written");
  position_ += static_cast<std::int64_t>(size);
}

void OutputFile::replaced() {
  file_ = std::make_unique<File>(file_fails("open") ? -1 : ::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!*file_) cannot("written");
}

void OutputFile::commit() {
  if (file_fails("sync") || ::fsync(file_->get()) != 0) cannot("brought to disk");
  if (file_fails("rename") || ::rename(temporary_.c_str(), target_.c_str()) != 0) cannot("put in its place");
  temporary_.clear();
  // The new name is on disk as well where the folder can be told so.
  const File folder(::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) (void)::fsync(folder.get());
}

Elements elements_of(const FileCall& call, const Array& x, std::string_view name) {
  const std::string where =
      name.empty() ? fmt::format("[{}] the elements", call.op) : fmt::format("[{}] at {}, the elements", call.op, name);
  if (!x.value() && !name.empty())
    throw Error(fmt::format("[{}] the leaf {} is an uninitialised Array", call.op, name), call.at,
                "`Array x;` is no array yet, one that was moved from is none any more: assign one first");
  Array y = strong(concrete_behind(x, where, call.at), call.at);
  if (!y.value()->literal) y = contiguous(y);
  const Type type = type_of(y);
  return {y, type, reinterpret_cast<const char*>(y.value()->data()), type.bytes()};
}

void check_names(const FileCall& call, const detail::FileLeaves& tree) {
  std::set<std::string_view> seen;
  for (const std::string& name : tree.names) {
    if (!seen.insert(name).second)
      call.fail(fmt::format("two leaves of the tree have the name {}", name),
                "a key of a map that has dots in it reads like a path; name it otherwise");
    if (!is_text(name)) call.fail("the name of a leaf is not UTF-8, or has a zero in it");
  }
}

void check_like(const FileCall& call, const detail::FileLeaves& like, const std::map<std::string, Type>& found) {
  check_names(call, like);
  for (std::size_t i = 0; i < like.names.size(); ++i) {
    const auto it = found.find(like.names[i]);
    if (it == found.end())
      call.fail(fmt::format("has no array {}, which the prototype has", like.names[i]),
                found.empty() ? "the file holds no array"
                              : fmt::format("it has {}{}", found.begin()->first, found.size() > 1 ? ", ..." : ""));
    const Array& want = like.leaves[i];
    if (want.value() && it->second != want.value()->type)
      call.fail(
          fmt::format("{} is {}, and {} in the prototype", like.names[i], it->second.str(), want.value()->type.str()),
          "give a prototype of these types; without one all arrays are loaded by name, and astype converts");
  }
  if (found.size() == like.names.size()) return;
  const std::set<std::string_view> wanted(like.names.begin(), like.names.end());
  for (const auto& [name, type] : found)
    if (!wanted.count(name))
      call.fail(fmt::format("has {} {}, which the prototype has not", name, type.str()),
                "without a prototype all arrays are loaded, by name");
}

std::string kind_of_file(std::string_view first) {
  if (first.starts_with("\x93NUMPY")) return "it is a .npy file, which load reads";
  if (first.starts_with("PK\x03\x04") || first.starts_with("PK\x05\x06"))
    return "it is a zip archive: loadz reads one of .npy files (a file of torch.save is another one)";
  if (first.size() > 8 && first[8] == '{') return "it may be a .safetensors file, which load_tree reads";
  if (first.starts_with("\x89HDF")) return "it is an HDF5 file, which anew does not read";
  if (first.starts_with("\x80")) return "it may be a Python pickle, which anew does not read";
  return "";
}

void clean_bools(const Type& type, std::byte* data) {
  if (type.dtype != bool_) return;
  for (std::size_t i = 0; i < type.bytes(); ++i) data[i] = std::byte{data[i] != std::byte{0}};
}

}  // namespace anew::io
