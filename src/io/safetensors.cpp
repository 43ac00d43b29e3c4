// .safetensors files: the length of a header, the header (JSON), and all elements, without gaps or overlaps. The header
// is read event by event into a table, so that a key that stands there twice is seen and no tree of JSON is built.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/dtype.h"
#include "io/files.h"

namespace anew::io {
namespace {

using nlohmann::json;

constexpr std::uint64_t longest_json = 100'000'000;  // as in the format's own library
constexpr std::string_view metadata_key = "__metadata__";

std::string safetensors_name(DType d) {
  if (d == bool_) return "BOOL";
  std::string name(name_of(d));
  for (char& c : name) c = static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c);
  return name;
}

struct Tensor {
  std::string dtype;
  std::vector<std::uint64_t> shape, offsets;
  Type type;  // of dtype and shape, once they are checked
};
struct Header {
  std::map<std::string, Tensor> tensors;
  Metadata metadata;
};

// Events of the parser. Where the structure is another one than the format's, they return false, and `wrong` says why.
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  Header header;
  std::string wrong;

  bool null() override { return refuse("a null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a number that is no size"); }
  bool binary(binary_t&) override { return refuse("bytes"); }
  bool number_unsigned(number_unsigned_t v) override {
    std::vector<std::uint64_t>* const list = !in_list_           ? nullptr
                                             : field_ == "shape" ? &tensor_->shape
                                                                 : &tensor_->offsets;
    if (!list) return refuse("a number");
    if (list->size() == (field_ == "shape" ? Shape::max_ndim : 2))
      return say(fmt::format("{} has a {} of more than {} numbers", name_, field_, list->size()));
    list->push_back(v);
    return true;
  }
  bool string(string_t& v) override {
    if (depth_ == 2 && in_metadata_) {
      if (!header.metadata.emplace(field_, v).second) return say("a key of the metadata stands there twice");
      return true;
    }
    if (depth_ != 2 || field_ != "dtype" || in_list_) return refuse("a string");
    tensor_->dtype = v;
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == 2 || in_list_) return refuse("an object");
    ++depth_;
    seen_ = 0;
    return true;
  }
  bool end_object() override {
    if (depth_ == 2 && !in_metadata_ && seen_ != 7)
      return say(fmt::format("{} lacks dtype, shape or data_offsets", name_));
    --depth_;
    in_metadata_ = false;
    return true;
  }
  bool key(string_t& v) override {
    if (depth_ == 1) {
      name_ = v;
      in_metadata_ = v == metadata_key;
      if (in_metadata_) {
        if (std::exchange(has_metadata_, true)) return say("the metadata stand there twice");
        return true;
      }
      const auto [it, added] = header.tensors.emplace(v, Tensor{});
      tensor_ = &it->second;
      return added || say(fmt::format("{} stands there twice", v));
    }
    field_ = v;
    if (in_metadata_) return true;
    const unsigned bit = v == "dtype" ? 1 : v == "shape" ? 2 : v == "data_offsets" ? 4 : 0;
    if (!bit || (seen_ & bit)) return say(fmt::format("{} has an unknown key, or one twice", name_));
    seen_ |= bit;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || in_list_ || field_ == "dtype") return refuse("a list");
    return in_list_ = true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    return say(fmt::format("it is no JSON, at byte {}", position));
  }

 private:
  bool say(std::string text) {
    wrong = std::move(text);
    return false;
  }
  bool refuse(std::string_view what) { return say(fmt::format("there is {} where it should not be", what)); }

  int depth_ = 0;  // objects that are open
  bool in_metadata_ = false, has_metadata_ = false, in_list_ = false;
  unsigned seen_ = 0;  // keys of the tensor: bits
  std::string name_, field_;
  Tensor* tensor_ = nullptr;
};

std::string short_name(const std::string& dtype) { return dtype.size() < 20 ? dtype : "of a long name"; }

// The type of a tensor, and that its bytes are as many as its offsets say.
void check_tensor(const FileCall& call, const std::string& name, Tensor& t, std::uint64_t space) {
  const auto* const d =
      std::find_if(all_dtypes.begin(), all_dtypes.end(), [&](DType d) { return safetensors_name(d) == t.dtype; });
  if (d == all_dtypes.end())
    call.fail(fmt::format("{} is of dtype {}, which is none of anew's", name, short_name(t.dtype)));
  for (std::uint64_t n : t.shape) {
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      call.fail(fmt::format("{} has a size that is too large", name));
    t.type.shape.push_back(static_cast<std::int64_t>(n));
  }
  t.type.dtype = *d;
  const std::optional<std::size_t> bytes = checked_bytes(t.type.shape, t.type.dtype);
  if (t.offsets.size() != 2 || t.offsets[0] > t.offsets[1] || t.offsets[1] > space)
    call.fail(fmt::format("the bytes of {} are not in the file", name), "the file may be truncated");
  if (!bytes || *bytes != t.offsets[1] - t.offsets[0])
    call.fail(fmt::format("{} is {}, but has {} bytes in the file", name, t.type.str(), t.offsets[1] - t.offsets[0]));
}

// The header, checked; the file is at the first element afterwards, and `base` is that place.
Header read_header(const FileCall& call, InputFile& in, std::uint64_t& base) {
  char first[10] = {};
  const std::size_t given = std::min<std::uint64_t>(in.left(), sizeof first);
  in.read(first, given);
  const std::string_view start(first, given);
  std::uint64_t length = 0;
  std::memcpy(&length, first, sizeof length);
  if (given < sizeof first || first[8] != '{') call.fail("is no .safetensors file", kind_of_file(start));
  in.seek(sizeof length);
  if (length > longest_json || length > in.left())
    call.fail(fmt::format("says that its header has {} bytes", length),
              "the file may be truncated, or of another kind");
  std::string text(length, '\0');
  in.read(text.data(), length);
  base = sizeof length + length;
  HeaderReader reader;
  if (!json::sax_parse(text, &reader)) call.fail("its header is wrong: " + reader.wrong);
  std::vector<const Tensor*> order;
  for (auto& [name, t] : reader.header.tensors) {
    check_tensor(call, name, t, in.left());
    order.push_back(&t);
  }
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) { return a->offsets < b->offsets; });
  std::uint64_t end = 0;
  for (const Tensor* t : order) {
    if (t->offsets[0] != end) call.fail("its tensors overlap, or there are gaps between them");
    end = t->offsets[1];
  }
  if (end != in.left()) call.fail(fmt::format("has {} bytes behind its last tensor", in.left() - end));
  return std::move(reader.header);
}

Array read_tensor(const FileCall& call, const Tensor& t, InputFile& in, std::uint64_t base) {
  Array x = empty_array(t.type, call.at);
  std::byte* const data = x.value()->buffer->data();
  in.seek(base + t.offsets[0]);
  in.read(data, t.type.bytes());
  clean_bools(t.type, data);
  return x;
}

}  // namespace
}  // namespace anew::io

namespace anew {

NamedArrays load_tree(const FilePath& file) {
  const io::FileCall call("load_tree", file);
  io::InputFile in(call);
  std::uint64_t base = 0;
  const io::Header header = io::read_header(call, in, base);
  NamedArrays out;
  for (const auto& [name, t] : header.tensors) out.emplace(name, io::read_tensor(call, t, in, base));
  return out;
}

Metadata load_metadata(const FilePath& file) {
  const io::FileCall call("load_metadata", file);
  io::InputFile in(call);
  std::uint64_t base = 0;
  return io::read_header(call, in, base).metadata;
}

namespace detail {

void save_safetensors(const FilePath& file, const FileLeaves& tree, const Metadata& metadata) {
  using namespace io;
  const FileCall call("save_tree", file);
  check_names(call, tree);
  std::vector<Elements> elements;
  for (std::size_t i = 0; i < tree.names.size(); ++i) {
    if (tree.names[i] == metadata_key) call.fail("a leaf has the name __metadata__, which the format has taken");
    elements.push_back(elements_of(call, tree.leaves[i], tree.names[i]));
  }
  // The widest elements first, then by name: all are aligned.
  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t size_a = size_of(elements[a].type.dtype), size_b = size_of(elements[b].type.dtype);
    return size_a != size_b ? size_a > size_b : tree.names[a] < tree.names[b];
  });
  std::string text;
  try {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
    std::uint64_t offset = 0;
    for (std::size_t i : order) {
      const Type& type = elements[i].type;
      header[tree.names[i]] = {{"dtype", safetensors_name(type.dtype)},
                               {"shape", std::vector<std::int64_t>(type.shape.begin(), type.shape.end())},
                               {"data_offsets", {offset, offset + elements[i].bytes}}};
      offset += elements[i].bytes;
    }
    text = header.dump();
  } catch (const json::exception&) {
    call.fail("a text of the metadata is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > longest_json) call.fail(fmt::format("the header would have {} bytes", text.size()));
  const std::uint64_t length = text.size();
  OutputFile out(call);
  out.write(&length, sizeof length);
  out.write(text.data(), text.size());
  for (std::size_t i : order) out.write(elements[i].data, elements[i].bytes);
  out.commit();
}

Arrays load_safetensors_like(const FilePath& file, const FileLeaves& like) {
  const io::FileCall call("load_tree", file);
  io::InputFile in(call);
  std::uint64_t base = 0;
  const io::Header header = io::read_header(call, in, base);
  std::map<std::string, ir::Type> types;
  for (const auto& [name, t] : header.tensors) types.emplace(name, t.type);
  io::check_like(call, like, types);
  Arrays out;
  for (const std::string& name : like.names) out.push_back(io::read_tensor(call, header.tensors.at(name), in, base));
  return out;
}

}  // namespace detail
}  // namespace anew
