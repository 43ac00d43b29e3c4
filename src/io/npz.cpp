// .npz files: zip archives of .npy files, by libzip. Sizes that an archive declares are not believed: an entry that is
// stored has as many bytes as it takes in the file, deflate makes at most 1032 bytes of one, and all entries together
// take no more than the file has.
#include <fmt/format.h>
#include <zip.h>

#include <cerrno>
#include <cstring>
#include <deque>

#include "io/npy.h"

namespace anew::io {
namespace {

constexpr std::uint64_t most_of_deflate = 1032;
constexpr std::string_view npy_suffix = ".npy";

std::string zip_error_text(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

struct Discard {
  void operator()(zip_t* z) const { zip_discard(z); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

// ---- reading
class ZipEntry final : public Bytes {
 public:
  ZipEntry(const FileCall& call, zip_t* archive, std::uint64_t index, std::string what, std::uint64_t size)
      : call_(call), what_(std::move(what)), file_(zip_fopen_index(archive, index, 0)), left_(size) {
    if (!file_) call.fail(fmt::format("{}cannot be unpacked: {}", what_, zip_strerror(archive)));
  }
  ~ZipEntry() override { zip_fclose(file_); }
  ZipEntry(const ZipEntry&) = delete;
  void read(void* to, std::size_t size) override {
    if (size > left_) call_.fail(fmt::format("{}ends too early: {} bytes are missing", what_, size - left_));
    left_ -= size;
    for (auto* p = static_cast<char*>(to); size > 0;) {
      const zip_int64_t n = zip_fread(file_, p, size);
      if (n < 0) broken();
      if (n == 0) call_.fail(fmt::format("{}is shorter than the archive says", what_));
      p += n;
      size -= static_cast<std::size_t>(n);
    }
  }
  std::uint64_t left() const override { return left_; }
  // To the end: only there the checksum is compared.
  void finish() {
    char rest[4096];
    zip_int64_t n;
    for (std::uint64_t more = 0; (n = zip_fread(file_, rest, sizeof rest)) > 0;)
      if ((more += static_cast<std::uint64_t>(n)) > left_)
        call_.fail(fmt::format("{}is longer than the archive says", what_));
    if (n < 0) broken();
  }

 private:
  [[noreturn]] void broken() const {
    call_.fail(fmt::format("{}is damaged: {}", what_, zip_error_strerror(zip_file_get_error(file_))));
  }
  const FileCall& call_;
  std::string what_;
  zip_file_t* file_;
  std::uint64_t left_;
};

struct Entry {
  std::uint64_t index, size;
};

// Entries by name, without the suffix; all that is declared has been checked.
std::map<std::string, Entry> list_entries(const FileCall& call, zip_t* archive, std::uint64_t file_size) {
  std::map<std::string, Entry> out;
  std::uint64_t packed = 0;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t s;
    const auto index = static_cast<zip_uint64_t>(i);
    if (zip_stat_index(archive, index, 0, &s) != 0) call.fail(fmt::format("is damaged: {}", zip_strerror(archive)));
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((s.valid & needed) != needed) call.fail("is damaged: an entry says nothing of itself");
    std::string name = s.name;
    if (!name.ends_with(npy_suffix))
      call.fail(fmt::format("has an entry {}, which is no .npy file", name), "loadz reads what numpy.savez writes");
    name.resize(name.size() - npy_suffix.size());
    if ((s.valid & ZIP_STAT_ENCRYPTION_METHOD) && s.encryption_method != ZIP_EM_NONE)
      call.fail(fmt::format("the entry {} is encrypted", name));
    if (s.comp_method != ZIP_CM_STORE && s.comp_method != ZIP_CM_DEFLATE)
      call.fail(fmt::format("the entry {} is packed by a method (number {}) other than deflate", name, s.comp_method));
    if (s.comp_size > file_size || (packed += s.comp_size) > file_size)
      call.fail("is damaged: its entries take more bytes than the file has");
    const bool stored = s.comp_method == ZIP_CM_STORE;
    if (stored ? s.size != s.comp_size : s.size / most_of_deflate > s.comp_size)
      call.fail(fmt::format("the entry {} says that its {} bytes are {} unpacked, which cannot be", name, s.comp_size,
                            s.size));
    if (!out.emplace(name, Entry{index, s.size}).second) call.fail(fmt::format("has two entries {}", name));
  }
  return out;
}

Archive open_archive(const FileCall& call, std::uint64_t& file_size) {
  InputFile in(call);
  file_size = in.size();
  char first[10] = {};
  const std::size_t given = std::min<std::uint64_t>(in.left(), sizeof first);
  in.read(first, given);
  const std::string_view start(first, given);
  if (!start.starts_with("PK")) call.fail("is no .npz file", kind_of_file(start));
  int error = 0;
  Archive archive(zip_open(call.name.c_str(), ZIP_RDONLY, &error));
  if (!archive)
    call.fail(fmt::format("is a damaged .npz file: {}", zip_error_text(error)), "the file may be truncated");
  return archive;
}

// `like`: only types are read first, and all are checked before any elements are.
NamedArrays read_archive(const FileCall& call, const detail::FileLeaves* like) {
  std::uint64_t file_size = 0;
  const Archive archive = open_archive(call, file_size);
  const std::map<std::string, Entry> entries = list_entries(call, archive.get(), file_size);
  auto what = [](const std::string& name) { return fmt::format("in {}, ", name); };
  if (like) {
    std::map<std::string, Type> types;
    for (const auto& [name, e] : entries) {
      ZipEntry entry(call, archive.get(), e.index, what(name), e.size);
      types.emplace(name, read_npy_header(call, what(name), entry).type);
    }
    check_like(call, *like, types);
  }
  NamedArrays out;
  for (const auto& [name, e] : entries) {
    ZipEntry entry(call, archive.get(), e.index, what(name), e.size);
    const NpyHeader h = read_npy_header(call, what(name), entry);
    out.emplace(name, read_npy_elements(call, h, entry));
    entry.finish();
  }
  return out;
}

// ---- writing
[[noreturn]] void cannot_pack(const FileCall& call, const char* why) {
  call.fail(fmt::format("cannot be written: {}", why), "free space there, or name another folder");
}

// What an entry is made of; it has to stay until the archive is closed.
struct Parts {
  std::string header;
  Elements elements;
  zip_buffer_fragment_t fragments[2];
};

void add_entry(const FileCall& call, zip_t* archive, const std::string& name, Parts& parts, bool compressed) {
  auto bytes = [](const char* p) { return reinterpret_cast<zip_uint8_t*>(const_cast<char*>(p)); };
  parts.fragments[0] = {bytes(parts.header.data()), parts.header.size()};
  parts.fragments[1] = {bytes(parts.elements.data), parts.elements.bytes};
  zip_source_t* const source = zip_source_buffer_fragment(archive, parts.fragments, parts.elements.bytes ? 2 : 1, 0);
  if (!source) cannot_pack(call, zip_strerror(archive));
  const zip_int64_t index = zip_file_add(archive, (name + std::string(npy_suffix)).c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    cannot_pack(call, zip_strerror(archive));
  }
  constexpr zip_uint16_t first_day = 1 << 5 | 1;  // 1980-01-01, as NumPy has it: equal arrays make equal files
  const auto i = static_cast<zip_uint64_t>(index);
  if (zip_file_set_dostime(archive, i, 0, first_day, 0) != 0 ||
      zip_set_file_compression(archive, i, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) != 0)
    cannot_pack(call, zip_strerror(archive));
}

// libzip removes an archive without entries: this is one.
constexpr char empty_archive[22] = {'P', 'K', 5, 6};

}  // namespace
}  // namespace anew::io

namespace anew {

NamedArrays loadz(const FilePath& file) { return io::read_archive({"loadz", file}, nullptr); }

namespace detail {

void save_npz(const FilePath& file, const FileLeaves& tree, bool compressed) {
  using namespace io;
  const FileCall call(compressed ? "savez_compressed" : "savez", file);
  check_names(call, tree);
  std::deque<Parts> parts;  // stay where they are
  for (std::size_t i = 0; i < tree.names.size(); ++i) {
    Elements e = elements_of(call, tree.leaves[i], tree.names[i]);
    parts.push_back({npy_header(e.type), std::move(e), {}});
  }
  OutputFile out(call);
  if (parts.empty()) {
    out.write(empty_archive, sizeof empty_archive);
    out.commit();
    return;
  }
  int error = 0;
  Archive archive(zip_open(out.name().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (!archive) cannot_pack(call, zip_error_text(error).c_str());
  for (std::size_t i = 0; i < parts.size(); ++i) add_entry(call, archive.get(), tree.names[i], parts[i], compressed);
  if (file_fails("write")) cannot_pack(call, std::strerror(errno));
  if (zip_close(archive.get()) != 0) cannot_pack(call, zip_strerror(archive.get()));
  static_cast<void>(archive.release());  // NOLINT(bugprone-unused-return-value): closed
  out.replaced();
  out.commit();
}

Arrays load_npz_like(const FilePath& file, const FileLeaves& like) {
  NamedArrays found = io::read_archive({"loadz", file}, &like);
  Arrays out;
  for (const std::string& name : like.names) out.push_back(found.at(name));
  return out;
}

}  // namespace detail
}  // namespace anew
