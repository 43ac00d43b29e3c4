// .npy files. The header is parsed by hand: it is a literal of Python, of which only three keys are allowed.
#include "io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/dtype.h"

namespace anew::io {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_header = 1 << 16;  // a sane one has some 100 bytes

// NumPy's letter for a dtype, without byte order and size.
char npy_kind(DType d) {
  if (d == bf16) return 'V';
  switch (kind_of(d)) {
    case detail::Kind::boolean: return 'b';
    case detail::Kind::integer: return is_signed(d) ? 'i' : 'u';
    default: return 'f';
  }
}

std::string npy_descr(DType d) {
  const bool byte = size_of(d) == 1;
  return fmt::format("{}{}{}", byte ? '|' : '<', npy_kind(d), size_of(d));
}

// A reader of the header: literals of Python, as far as NumPy writes them.
class Literal {
 public:
  struct Wrong {
    std::string what;
  };
  explicit Literal(std::string_view text) : text_(text) {}
  bool take(char c) {
    space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) throw Wrong{fmt::format("a '{}' is missing", c)};
  }
  bool ends() {
    space();
    return at_ == text_.size();
  }
  std::string string() {
    space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) throw Wrong{"a string is missing"};
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    if (word("True")) return true;
    if (word("False")) return false;
    throw Wrong{"fortran_order is neither True nor False"};
  }
  std::int64_t size() {
    space();
    std::int64_t v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error != std::errc{}) throw Wrong{"the shape has something that is no size"};
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // by Python 2
    if (v < 0) throw Wrong{"the shape has a negative size"};
    return v;
  }

 private:
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool word(std::string_view w) {
    space();
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

Shape read_shape(Literal& in) {
  Shape shape;
  in.expect('(');
  while (!in.take(')')) {
    if (shape.ndim() == Shape::max_ndim)
      throw Literal::Wrong{fmt::format("the array has more than {} axes", Shape::max_ndim)};
    shape.push_back(in.size());
    if (!in.take(',')) {
      in.expect(')');
      break;
    }
  }
  return shape;
}

std::optional<DType> dtype_of_descr(std::string_view descr) {
  if (descr.size() < 3 || std::string_view("<>=|").find(descr[0]) == descr.npos) return {};
  for (DType d : all_dtypes)
    if (descr.substr(1) == npy_descr(d).substr(1) && (descr[0] != '|' || size_of(d) == 1 || d == bf16)) return d;
  return {};
}

void set_dtype(NpyHeader& h, const std::string& descr) {
  const std::optional<DType> d = dtype_of_descr(descr);
  if (!d && descr.find('O') != descr.npos)
    throw Literal::Wrong{"it holds pickled Python objects, which are never read"};
  if (!d) throw Literal::Wrong{fmt::format("its elements are of NumPy's type '{}', which is none of anew's", descr)};
  h.type.dtype = *d;
  h.swapped = descr[0] == '>' && size_of(*d) > 1;
}

NpyHeader parse_header(std::string_view text) {
  NpyHeader h;
  bool descr = false, order = false, shape = false;
  auto once = [](bool& seen) {
    if (seen) throw Literal::Wrong{"a key stands there twice"};
    seen = true;
  };
  Literal in(text);
  in.expect('{');
  while (!in.take('}')) {
    const std::string key = in.string();
    in.expect(':');
    if (key == "descr") {
      once(descr);
      if (in.take('[')) throw Literal::Wrong{"its elements are records of several fields, which anew has not"};
      set_dtype(h, in.string());
    } else if (key == "fortran_order") {
      once(order);
      h.fortran_order = in.boolean();
    } else if (key == "shape") {
      once(shape);
      h.type.shape = read_shape(in);
    } else {
      throw Literal::Wrong{"an unknown key stands there"};
    }
    if (!in.take(',')) {
      in.expect('}');
      break;
    }
  }
  if (!descr || !order || !shape || !in.ends())
    throw Literal::Wrong{"it has not exactly the keys descr, fortran_order and shape"};
  return h;
}

void swap_bytes(std::byte* data, std::size_t bytes, std::size_t size) {
  for (std::byte* p = data; p < data + bytes; p += size) std::reverse(p, p + size);
}

}  // namespace

std::string npy_header(const Type& type) {
  std::string shape;
  for (std::int64_t d : type.shape) shape += fmt::format("{}, ", d);
  if (type.shape.ndim() > 1) shape.resize(shape.size() - 2);
  else if (type.shape.ndim() == 1) shape.pop_back();
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npy_descr(type.dtype), shape);
  const std::size_t before = magic.size() + 4, whole = (before + text.size() + 1 + 63) / 64 * 64;
  text.resize(whole - before - 1, ' ');
  text += '\n';
  std::string out(magic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(text.size() & 0xffu);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

NpyHeader read_npy_header(const FileCall& call, const std::string& what, Bytes& bytes) {
  auto refuse = [&](const std::string& why) { call.fail(fmt::format("{}{}", what, why)); };
  unsigned char start[10] = {};
  const std::size_t given = std::min<std::uint64_t>(bytes.left(), sizeof start);
  bytes.read(start, given);
  const std::string_view first(reinterpret_cast<const char*>(start), given);
  if (given < sizeof start || !first.starts_with(magic)) call.fail(what + "is no .npy file", kind_of_file(first));
  const int version = start[6];
  if (version < 1 || version > 3) refuse(fmt::format("version {}.{} of .npy is unknown", start[6], start[7]));
  std::size_t length = start[8] | std::size_t{start[9]} << 8;
  if (version > 1) {
    unsigned char more[2];
    bytes.read(more, sizeof more);
    length |= std::size_t{more[0]} << 16 | std::size_t{more[1]} << 24;
  }
  if (length > longest_header || length > bytes.left()) refuse(fmt::format("the header says it has {} bytes", length));
  std::string text(length, '\0');
  bytes.read(text.data(), length);
  NpyHeader h;
  try {
    h = parse_header(text);
  } catch (const Literal::Wrong& w) {
    refuse(w.what);
  }
  const std::optional<std::size_t> size = checked_bytes(h.type.shape, h.type.dtype);
  if (!size || *size > bytes.left())
    refuse(fmt::format("its header promises {}, more than the {} bytes that follow", h.type.str(), bytes.left()));
  return h;
}

Array read_npy_elements(const FileCall& call, const NpyHeader& h, Bytes& bytes) {
  Type stored = h.type;
  if (h.fortran_order) std::reverse(stored.shape.begin(), stored.shape.end());
  Array x = empty_array(stored, call.at);
  std::byte* const data = x.value()->buffer->data();
  bytes.read(data, stored.bytes());
  if (h.swapped) swap_bytes(data, stored.bytes(), size_of(stored.dtype));
  clean_bools(stored, data);
  if (!h.fortran_order || stored.shape.ndim() < 2) return x;
  ir::Strides strides = x.value()->strides;
  std::reverse(strides.begin(), strides.end());
  return make_concrete(h.type, x.value()->buffer, 0, strides);
}

}  // namespace anew::io

namespace anew {

void save(const FilePath& file, const ArrayLike& x) {
  const io::FileCall call("save", file);
  const io::Elements e = io::elements_of(call, x.value, "");
  const std::string header = io::npy_header(e.type);
  io::OutputFile out(call);
  out.write(header.data(), header.size());
  out.write(e.data, e.bytes);
  out.commit();
}

Array load(const FilePath& file) {
  const io::FileCall call("load", file);
  io::InputFile in(call);
  const io::NpyHeader h = io::read_npy_header(call, "", in);
  return io::read_npy_elements(call, h, in);
}

}  // namespace anew
