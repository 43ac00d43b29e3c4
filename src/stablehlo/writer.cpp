#include "stablehlo/writer.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/strides.h"

namespace anew::stablehlo {

Shape repeated(int n, std::int64_t v) {
  Shape s;
  for (int i = 0; i < n; ++i) s.push_back(v);
  return s;
}
Type scalar(DType d) { return {{}, d}; }
Type with_dtype(Type t, DType d) {
  t.dtype = d;
  return t;
}

std::string element_text(DType d) {
  if (d == bool_) return "i1";
  return is_integer(d) && !is_signed(d) ? "u" + std::string("i") + std::string(name_of(d).substr(1))
                                        : std::string(name_of(d));
}
std::string text_of(const Type& type) {
  std::string out = "tensor<";
  for (std::int64_t n : type.shape) out += fmt::format("{}x", n);
  return out + element_text(type.dtype) + ">";
}
std::string text_of(std::span<const Type> types) {
  std::string out;
  for (const Type& t : types) out += (out.empty() ? "" : ", ") + text_of(t);
  return out;
}
std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\{:02X}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + "\"";
}
std::string listed(const Shape& s) { return fmt::format("{}", fmt::join(s.begin(), s.end(), ", ")); }
std::string listed(const std::vector<int>& s) { return fmt::format("{}", fmt::join(s, ", ")); }
std::string array_text(const Shape& s) { return s.ndim() ? "array<i64: " + listed(s) + ">" : "array<i64>"; }

namespace {

// MLIR reads digits as a double and rounds that to the type: digits that this gives back, else the bits.
std::string float_text(DType d, std::uint64_t bits) {
  const double v = number_of_bits<double>(d, bits);
  if (std::isfinite(v)) {
    char digits[64];
    auto shortest = [&](auto x) {
      return std::string(digits, std::to_chars(digits, digits + sizeof digits, x, std::chars_format::scientific).ptr);
    };
    std::string s = d == f64 ? shortest(v) : shortest(static_cast<float>(v));
    if (const auto e = s.find('e'); s.find('.') == s.npos) s.insert(e, ".0");
    if (s.ends_with("e+00")) s.resize(s.size() - 4);
    if (bits_of(d, std::strtod(s.c_str(), nullptr)) == bits) return s;
  }
  return fmt::format("0x{:0{}X}", bits, 2 * size_of(d));
}

std::string nested_list(const Shape& shape, int axis, std::int64_t& next,
                        const std::function<std::string(std::int64_t)>& at) {
  if (axis == shape.ndim()) return at(next++);
  std::string out = "[";
  for (std::int64_t i = 0; i < shape[axis]; ++i) out += (i ? ", " : "") + nested_list(shape, axis + 1, next, at);
  return out + "]";
}

}  // namespace

std::string splat_text(DType d, std::uint64_t bits) {
  if (d == bool_) return bits ? "true" : "false";
  if (is_float(d)) return float_text(d, bits);
  return is_signed(d) ? fmt::format("{}", number_of_bits<std::int64_t>(d, bits))
                      : fmt::format("{}", number_of_bits<std::uint64_t>(d, bits));
}

std::string dense_text(const Type& type, const std::byte* data) {
  const std::size_t size = size_of(type.dtype);
  const std::int64_t n = type.shape.size();
  if (n == 0) return "dense<>";
  // Bools lie packed in the other form.
  if (n <= 16 || type.dtype == bool_) {
    std::int64_t next = 0;
    return "dense<" +
           nested_list(type.shape, 0, next,
                       [&](std::int64_t i) {
                         std::uint64_t bits = 0;
                         std::memcpy(&bits, data + static_cast<std::size_t>(i) * size, size);
                         return splat_text(type.dtype, bits);
                       }) +
           ">";
  }
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out = "dense<\"0x";
  out.reserve(out.size() + 2 * size * static_cast<std::size_t>(n) + 2);
  for (std::size_t i = 0; i < size * static_cast<std::size_t>(n); ++i) {
    const auto b = static_cast<unsigned>(data[i]);
    out += digits[b >> 4], out += digits[b & 15];
  }
  return out + "\">";
}

void Writer::line(const std::string& text) {
  text_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n";
}

namespace {

std::string names_of(const Values& v) {
  std::string out;
  for (const Value& x : v) out += (out.empty() ? "" : ", ") + x.name;
  return out;
}
Types types_of(const Values& v) {
  Types out;
  for (const Value& x : v) out.push_back(x.type);
  return out;
}
std::string results_text(const Types& out) { return out.size() == 1 ? text_of(out[0]) : "(" + text_of(out) + ")"; }
Values named(const std::string& name, const Types& out) {
  Values values;
  for (std::size_t i = 0; i < out.size(); ++i)
    values.push_back({out.size() == 1 ? name : fmt::format("{}#{}", name, i), out[i]});
  return values;
}
std::string assigned(const std::string& name, std::size_t results) {
  return results == 0 ? "" : results == 1 ? name + " = " : fmt::format("{}:{} = ", name, results);
}

}  // namespace

Values Writer::op(const Op& what, const Values& in, const Types& out) {
  const std::string name = out.empty() ? "" : next_name();
  std::string head = fmt::format("{}\"{}\"({})", assigned(name, out.size()), what.name, names_of(in));
  if (!what.attributes.empty()) head += " <{" + what.attributes + "}>";
  const std::string tail = fmt::format(" : ({}) -> {}", text_of(types_of(in)), results_text(out));
  if (what.regions.empty()) {
    line(head + tail);
    return named(name, out);
  }
  line(head + " ({");
  for (std::size_t r = 0; r < what.regions.size(); ++r) {
    if (r > 0) line("}, {");
    Values arguments;
    std::string list;
    for (const Type& t : what.arguments) {
      arguments.push_back({next_name(), t});
      list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", arguments.back().name, text_of(t));
    }
    if (!list.empty()) line("^bb0(" + list + "):");
    ++depth_;
    what.regions[r](*this, arguments);
    --depth_;
  }
  line("})" + tail);
  return named(name, out);
}

Values Writer::call(const std::string& function, const Values& in, const Types& out) {
  const std::string name = out.empty() ? "" : next_name();
  line(fmt::format("{}call @{}({}) : ({}) -> {}", assigned(name, out.size()), function, names_of(in),
                   text_of(types_of(in)), results_text(out)));
  return named(name, out);
}
void Writer::give(const Values& out) {
  line(out.empty() ? "stablehlo.return"
                   : fmt::format("stablehlo.return {} : {}", names_of(out), text_of(types_of(out))));
}
void Writer::finish(const Values& out) {
  line(out.empty() ? "return" : fmt::format("return {} : {}", names_of(out), text_of(types_of(out))));
}

Value Writer::constant(const Type& type, std::uint64_t bits) {
  const Value v{next_name(), type};
  const std::string numbers = type.shape.size() == 0 ? "" : splat_text(type.dtype, bits);
  line(fmt::format("{} = stablehlo.constant dense<{}> : {}", v.name, numbers, text_of(type)));
  return v;
}
Value Writer::array(const Type& type, const std::byte* data) {
  const Value v{next_name(), type};
  line(fmt::format("{} = stablehlo.constant {} : {}", v.name, dense_text(type, data), text_of(type)));
  return v;
}
Value Writer::integers(DType d, const std::vector<std::int64_t>& v) {
  const Value out{next_name(), {{static_cast<std::int64_t>(v.size())}, d}};
  const std::string list = v.empty() ? "" : fmt::format("[{}]", fmt::join(v, ", "));
  line(fmt::format("{} = stablehlo.constant dense<{}> : {}", out.name, list, text_of(out.type)));
  return out;
}
Value Writer::unary(std::string_view name, const Value& x) {
  const Value v{next_name(), x.type};
  line(fmt::format("{} = stablehlo.{} {} : {}", v.name, name, x.name, text_of(v.type)));
  return v;
}
Value Writer::binary(std::string_view name, const Value& x, const Value& y) {
  const Value v{next_name(), x.type};
  line(fmt::format("{} = stablehlo.{} {}, {} : {}", v.name, name, x.name, y.name, text_of(v.type)));
  return v;
}
Value Writer::compare(std::string_view direction, const Value& x, const Value& y) {
  const Value v{next_name(), with_dtype(x.type, bool_)};
  const DType d = x.type.dtype;
  line(fmt::format("{} = stablehlo.compare {}, {}, {}, {} : ({}, {}) -> {}", v.name, direction, x.name, y.name,
                   is_float(d)                   ? "FLOAT"
                   : d == bool_ || !is_signed(d) ? "UNSIGNED"
                                                 : "SIGNED",
                   text_of(x.type), text_of(y.type), text_of(v.type)));
  return v;
}
Value Writer::select(const Value& c, const Value& yes, const Value& no) {
  const Value v{next_name(), yes.type};
  line(fmt::format("{} = stablehlo.select {}, {}, {} : {}, {}", v.name, c.name, yes.name, no.name, text_of(c.type),
                   text_of(v.type)));
  return v;
}
Value Writer::convert(const Value& x, DType d) {
  if (x.type.dtype == d) return x;
  return op1({"stablehlo.convert"}, {x}, with_dtype(x.type, d));
}
Value Writer::broadcast(const Value& x, const Shape& shape, const std::vector<int>& dims) {
  const Value v{next_name(), {shape, x.type.dtype}};
  line(fmt::format("{} = stablehlo.broadcast_in_dim {}, dims = [{}] : ({}) -> {}", v.name, x.name, listed(dims),
                   text_of(x.type), text_of(v.type)));
  return v;
}
Value Writer::spread(const Value& x, const Shape& shape) { return x.type.shape == shape ? x : broadcast(x, shape, {}); }
Value Writer::reshape(const Value& x, const Shape& shape) {
  if (x.type.shape == shape) return x;
  return op1({"stablehlo.reshape"}, {x}, {shape, x.type.dtype});
}
Value Writer::transpose(const Value& x, const std::vector<int>& permutation) {
  Type t{{}, x.type.dtype};
  for (int i : permutation) t.shape.push_back(x.type.shape[i]);
  return op1({"stablehlo.transpose", "permutation = " + array_text(Shape(permutation))}, {x}, t);
}
Value Writer::slice(const Value& x, const Shape& start, const Shape& limit, const Shape& strides) {
  Type t{{}, x.type.dtype};
  for (int i = 0; i < start.ndim(); ++i)
    t.shape.push_back(limit[i] == start[i] ? 0 : (limit[i] - start[i] - 1) / strides[i] + 1);
  return op1({"stablehlo.slice", fmt::format("limit_indices = {}, start_indices = {}, strides = {}", array_text(limit),
                                             array_text(start), array_text(strides))},
             {x}, t);
}
Value Writer::pad(const Value& x, const Value& value, const Shape& before, const Shape& after, const Shape& between) {
  Type t{{}, x.type.dtype};
  for (int i = 0; i < before.ndim(); ++i) {
    const std::int64_t n = x.type.shape[i];
    t.shape.push_back(before[i] + after[i] + n + std::max<std::int64_t>(0, n - 1) * between[i]);
  }
  return op1({"stablehlo.pad", fmt::format("edge_padding_high = {}, edge_padding_low = {}, interior_padding = {}",
                                           array_text(after), array_text(before), array_text(between))},
             {x, value}, t);
}
Value Writer::concatenate(const Values& x, int axis) {
  Type t = x[0].type;
  t.shape[axis] = 0;
  for (const Value& v : x) t.shape[axis] += v.type.shape[axis];
  return op1({"stablehlo.concatenate", fmt::format("dimension = {} : i64", axis)}, x, t);
}
Value Writer::reverse(const Value& x, const std::vector<int>& axes) {
  return op1({"stablehlo.reverse", "dimensions = " + array_text(Shape(axes))}, {x}, x.type);
}
Value Writer::iota(const Type& type, int axis) {
  const Value v{next_name(), type};
  line(fmt::format("{} = stablehlo.iota dim = {} : {}", v.name, axis, text_of(type)));
  return v;
}
Value Writer::dynamic_slice(const Value& x, const Values& starts, const Shape& sizes) {
  Values in{x};
  in.insert(in.end(), starts.begin(), starts.end());
  return op1({"stablehlo.dynamic_slice", "slice_sizes = " + array_text(sizes)}, in, {sizes, x.type.dtype});
}
Value Writer::dynamic_update_slice(const Value& x, const Value& update, const Values& starts) {
  Values in{x, update};
  in.insert(in.end(), starts.begin(), starts.end());
  return op1({"stablehlo.dynamic_update_slice"}, in, x.type);
}
Value Writer::reduce(std::string_view name, const Value& x, const std::vector<int>& axes, std::uint64_t init) {
  Type t{{}, x.type.dtype};
  for (int i = 0; i < x.type.shape.ndim(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) t.shape.push_back(x.type.shape[i]);
  const Type one = scalar(x.type.dtype);
  const Value start = constant(one, init);
  return op1({"stablehlo.reduce",
              "dimensions = " + array_text(Shape(axes)),
              {[&](Writer& w, const Values& v) { w.give({w.binary(name, v[0], v[1])}); }},
              {one, one}},
             {x, start}, t);
}
Value Writer::row(const Value& stack, const Value& i) {
  Shape sizes = stack.type.shape, rest = sizes;
  sizes[0] = 1;
  rest.erase(0);
  const Value zero = integer(i.type, 0);
  Values starts{i};
  while (static_cast<int>(starts.size()) < sizes.ndim()) starts.push_back(zero);
  return reshape(dynamic_slice(stack, starts, sizes), rest);
}
Value Writer::with_row(const Value& stack, const Value& i, const Value& row) {
  Shape one = row.type.shape;
  one.insert(0, 1);
  const Value zero = integer(i.type, 0);
  Values starts{i};
  while (static_cast<int>(starts.size()) < one.ndim()) starts.push_back(zero);
  return dynamic_update_slice(stack, reshape(row, one), starts);
}

}  // namespace anew::stablehlo
