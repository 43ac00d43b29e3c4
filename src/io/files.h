// Files as users give them: read with checks of what they promise, written whole or not at all.
#pragma once
#include <anew/io.h>

#include <memory>
#include <string>
#include <string_view>

#include "runtime/system_file.h"
#include "trace/trace.h"

namespace anew::io {

// Who asks for which file, for messages: "[load] x.npy: what is wrong; at ...".
struct FileCall {
  std::string_view op;
  std::string name;
  Location at;
  FileCall(std::string_view op, const FilePath& file) : op(op), name(file.name), at(line_or(file.at)) {}
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "") const;
};

// A piece of bytes that is read in order: all that is asked for, or an Error.
class Bytes {
 public:
  virtual ~Bytes() = default;
  virtual void read(void* to, std::size_t size) = 0;
  // How many bytes are left, at most: nobody takes more memory than that for what the bytes say of themselves.
  virtual std::uint64_t left() const = 0;
};

// A regular file that exists.
class InputFile final : public Bytes {
 public:
  explicit InputFile(const FileCall& call);
  void read(void* to, std::size_t size) override;
  std::uint64_t left() const override { return size_ - position_; }
  std::uint64_t size() const { return size_; }
  void seek(std::uint64_t position) { position_ = position; }

 private:
  const FileCall& call_;
  File file_;
  std::uint64_t size_ = 0, position_ = 0;
};

// A file that takes its place when it is whole: written under another name in the same folder, brought to disk,
// renamed. A file that was there keeps its permissions, and stays as it was until then.
class OutputFile {
 public:
  explicit OutputFile(const FileCall& call);
  ~OutputFile();  // nothing is left of what was not committed
  OutputFile(const OutputFile&) = delete;
  const std::string& name() const { return temporary_; }
  void write(const void* data, std::size_t size);
  void replaced();  // `name()` is another file by now, which somebody else wrote
  void commit();

 private:
  [[noreturn]] void cannot(const char* what) const;
  const FileCall& call_;
  std::string target_, temporary_;
  std::unique_ptr<File> file_;
  std::int64_t position_ = 0;
};

// Elements of an array, row-major, in memory.
struct Elements {
  Array array;  // dense and concrete; keeps the memory
  Type type;
  const char* data;
  std::size_t bytes;
};
// `name`: of a leaf, "" for an array alone.
Elements elements_of(const FileCall& call, const Array& x, std::string_view name);

// Names of leaves are distinct and UTF-8 without zeros: an Error otherwise.
void check_names(const FileCall& call, const detail::FileLeaves& tree);
// What was found is what the prototype wants. `found`: names in the file with their types.
void check_like(const FileCall& call, const detail::FileLeaves& like, const std::map<std::string, Type>& found);

// What a file of another kind is, for a hint; "" where nobody knows.
std::string kind_of_file(std::string_view first_bytes);
// Bytes of a bool are 0 or 1, whatever the file says.
void clean_bools(const Type& type, std::byte* data);

}  // namespace anew::io
