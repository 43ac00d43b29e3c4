// Arrays as NumPy prints them: nested brackets, columns of one width, the fewest digits that tell numbers apart but at
// most `precision` behind the point, exponents where numbers differ by more than 1000 times, lines of `linewidth`, and
// `...` in the middle of what has more than `threshold` elements. Only elements that are shown are read, so printing
// never copies an array.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <ostream>

#include "base/dtype.h"
#include "base/float_mode.h"
#include "ir/decimal.h"
#include "ir/program.h"
#include "trace/trace.h"

namespace anew {
namespace {

constexpr std::int64_t edge_items = 3;

struct Options {
  int precision = 8;
  std::int64_t threshold = 1000;
  std::size_t linewidth = 75;
  bool suppress = false;
};
struct Shared {
  std::mutex guard;
  Options options;
};
Shared& shared() {
  static Shared& s = *new Shared;  // arrays may be printed while the process ends
  return s;
}
Options current_options() {
  std::lock_guard lock(shared().guard);
  return shared().options;
}

ir::Literal element(const Value& v, std::int64_t offset) {
  ir::Literal out{v.type.dtype, 0};
  const std::size_t size = size_of(v.type.dtype);
  std::memcpy(&out.bits, v.data() + offset * static_cast<std::int64_t>(size), size);
  return out;
}

std::string right_aligned(const std::string& s, std::size_t width) {
  return s.size() < width ? std::string(width - s.size(), ' ') + s : s;
}

// ---- numbers in a column

// A number cut at the point; the exponent is empty in positional form.
struct Parts {
  std::string whole, fraction, exponent;
};

std::string rounded_text(double v, std::chars_format form, int precision) {
  char text[400];
  return {text, std::to_chars(text, text + sizeof text, v, form, precision).ptr};
}

std::string without_trailing_zeros(std::string s) {
  s.erase(s.find_last_not_of('0') + 1);
  return s;
}

Parts positional(double v, DType dtype, int max_precision) {
  const ir::Decimal d = ir::shortest_decimal(v, dtype);
  const int n = static_cast<int>(d.digits.size());
  Parts out;
  if (n - d.point > max_precision) {
    const std::string text = rounded_text(v, std::chars_format::fixed, max_precision);
    const std::size_t point = std::min(text.find('.'), text.size());  // no digits, no point
    return {text.substr(0, point), without_trailing_zeros(text.substr(std::min(point + 1, text.size()))), ""};
  }
  const auto whole = static_cast<std::size_t>(std::clamp(d.point, 0, n));
  out.whole = (d.negative ? "-" : "") + (d.point > 0 ? d.digits.substr(0, whole) : "0");
  if (d.point > n) out.whole += std::string(static_cast<std::size_t>(d.point - n), '0');
  if (n > 0 && d.point < 0) out.fraction = std::string(static_cast<std::size_t>(-d.point), '0');
  out.fraction += d.digits.substr(whole);
  return out;
}

// With this many digits behind the point, all of them true ones.
Parts scientific_parts(double v, int precision) {
  const std::string text = rounded_text(v, std::chars_format::scientific, precision);
  const std::size_t e = text.find('e'), point = std::min(text.find('.'), e);
  return {text.substr(0, point), point == e ? "" : text.substr(point + 1, e - point - 1), text.substr(e + 1)};
}

Parts scientific(double v, DType dtype, int max_precision) {
  const ir::Decimal d = ir::shortest_decimal(v, dtype);
  const std::string sign = d.negative ? "-" : "";
  if (d.digits.empty()) return {sign + "0", "", "+00"};
  if (static_cast<int>(d.digits.size()) > max_precision + 1) {
    Parts out = scientific_parts(v, max_precision);
    out.fraction = without_trailing_zeros(out.fraction);
    return out;
  }
  const int exponent = d.point - 1;
  return {sign + d.digits[0], d.digits.substr(1), fmt::format("{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent))};
}

// Whether a column needs exponents. Bounds and quotient are rounded to the dtype, as the numbers are.
bool needs_exponents(const std::vector<double>& finite, DType dtype, bool suppress) {
  double largest = 0, smallest = INFINITY;
  for (double v : finite) {
    if (v == 0) continue;
    largest = std::max(largest, std::fabs(v));
    smallest = std::min(smallest, std::fabs(v));
  }
  if (largest == 0) return false;
  auto in_dtype = [&](double x) { return dtype == f64 ? x : rounded(dtype, static_cast<float>(x)); };
  return largest >= (dtype == f64   ? 1e8
                     : dtype == f32 ? 1e6
                                    : 1e3) ||
         (!suppress && (smallest < in_dtype(1e-4) || in_dtype(largest / smallest) > 1000));
}

std::vector<std::string> float_column(const std::vector<double>& values, DType dtype, const Options& o) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  const bool exponents = needs_exponents(finite, dtype, o.suppress);
  std::size_t left = 0, right = 0, exponent_size = 0;
  std::vector<Parts> parts;
  for (double v : finite) {
    const Parts& p =
        parts.emplace_back(exponents ? scientific(v, dtype, o.precision) : positional(v, dtype, o.precision));
    left = std::max(left, p.whole.size());
    right = std::max(right, p.fraction.size());
    exponent_size = std::max(exponent_size, p.exponent.size());
  }
  const std::size_t tail = right + 1 + (exponents ? exponent_size + 1 : 0);  // the point and all that follows
  for (double v : values)
    if (const std::size_t size = std::isnan(v) ? 3 : v < 0 ? 4 : 3; !std::isfinite(v) && size > tail)
      left = std::max(left, size - tail);
  std::vector<std::string> out;
  auto next = parts.begin();
  for (double v : values) {
    if (!std::isfinite(v)) {
      out.push_back(right_aligned(ir::float_text(v, dtype), left + tail));
      continue;
    }
    Parts p = *next++;
    if (exponents && p.fraction.size() < right && v != 0) p = scientific_parts(v, static_cast<int>(right));
    std::string& text = out.emplace_back(right_aligned(p.whole, left) + "." + p.fraction);
    text.append(right - p.fraction.size(), exponents ? '0' : ' ');
    if (exponents)
      text += fmt::format("e{}{}{}", p.exponent[0], std::string(exponent_size - p.exponent.size(), '0'),
                          p.exponent.substr(1));
  }
  return out;
}

std::vector<std::string> column(const std::vector<ir::Literal>& elements, DType dtype, const Options& o) {
  if (is_float(dtype)) {
    std::vector<double> values;
    for (const ir::Literal& l : elements) values.push_back(l.as_double());
    return float_column(values, dtype, o);
  }
  std::vector<std::string> out;
  std::size_t width = 0;
  for (const ir::Literal& l : elements) {
    out.push_back(dtype == bool_     ? (l.bits ? " True" : "False")
                  : is_signed(dtype) ? std::to_string(l.as_integer())
                                     : std::to_string(l.bits));
    width = std::max(width, out.back().size());
  }
  for (std::string& s : out) s = right_aligned(s, width);
  return out;
}

// ---- brackets and lines

class Formatter {
 public:
  Formatter(const Value& v, const Options& o) : v_(v), options_(o), summary_(v.type.shape.size() > o.threshold) {}

  std::string run() {
    collect(0, 0);
    words_ = column(elements_, v_.type.dtype, options_);
    return block(0);
  }

 private:
  bool cut(int axis) const { return summary_ && v_.type.shape[axis] > 2 * edge_items; }
  // How many entries of this axis are shown, the gap not counted.
  std::int64_t shown(int axis) const { return cut(axis) ? 2 * edge_items : v_.type.shape[axis]; }

  void collect(int axis, std::int64_t offset) {
    if (axis == v_.type.shape.ndim()) return elements_.push_back(element(v_, offset));
    for (std::int64_t i = 0; i < shown(axis); ++i) {
      const std::int64_t index = cut(axis) && i >= edge_items ? v_.type.shape[axis] - 2 * edge_items + i : i;
      collect(axis + 1, offset + index * v_.strides[axis]);
    }
  }

  // Rows of the last axis wrap; of the other axes, each entry has a line and k axes below it leave k - 1 lines free.
  std::string block(int axis) {
    const int axes_left = v_.type.shape.ndim() - axis;
    const std::string indent(static_cast<std::size_t>(axis) + 1, ' ');
    if (axes_left == 1) return row(indent);
    const std::string separator(static_cast<std::size_t>(axes_left - 1), '\n');
    std::string out = "[";
    for (std::int64_t i = 0; i < shown(axis); ++i) {
      if (i > 0) out.append(separator).append(indent);
      if (cut(axis) && i == edge_items) out.append("...").append(separator).append(indent);
      out += block(axis + 1);
    }
    return out + "]";
  }

  // Room is left for as many closing brackets as there are open ones.
  std::string row(const std::string& indent) {
    const int axis = v_.type.shape.ndim() - 1;
    const std::size_t width = options_.linewidth - std::min(options_.linewidth, indent.size());
    std::string done, line = indent;
    auto add = [&](const std::string& word) {
      if (line.size() + word.size() > width && line.size() > indent.size()) {
        done += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word;
    };
    for (std::int64_t i = 0; i < shown(axis); ++i) {
      if (i > 0) line += " ";
      if (cut(axis) && i == edge_items) add("..."), line += " ";
      add(words_[next_word_++]);
    }
    return "[" + (done + line).substr(indent.size()) + "]";
  }

  const Value& v_;
  const Options options_;
  bool summary_;
  std::vector<ir::Literal> elements_;
  std::vector<std::string> words_;
  std::size_t next_word_ = 0;
};

// A number alone: exponents start where the digits of its dtype end.
std::string scalar_text(const ir::Literal& l) {
  if (is_float(l.dtype))
    return ir::float_text(l.as_double(), l.dtype, l.dtype == f64 ? 1e16 : l.dtype == f32 ? 1e6 : 1e3);
  const std::string text = l.str();
  return text.substr(0, text.find(':'));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Array& x) {
  const Value* v = x.value();
  if (!v) return out << "Array()";
  if (!v->concrete())
    return out << fmt::format("{}<{}>", !v->trace ? "Abstract" : v->trace->took ? "Donated" : "Traced", v->type.str());
  const FloatMode mode;
  if (v->type.shape.ndim() == 0) return out << scalar_text(element(*v, 0));
  return out << (v->type.shape.size() == 0 ? "[]" : Formatter(*v, current_options()).run());
}

PrintOptions get_printoptions() {
  const Options o = current_options();
  return {o.precision, o.threshold, static_cast<int>(o.linewidth), o.suppress};
}

PrintOptions set_printoptions(const PrintOptions& given, const Location& at) {
  auto check = [&](const char* what, std::int64_t v, std::int64_t least) {
    if (v < least) throw Error(fmt::format("[set_printoptions] .{} is {}, the least is {}", what, v, least), at);
  };
  check("precision", given.precision.value_or(0), 0);
  check("threshold", given.threshold.value_or(0), 0);
  check("linewidth", given.linewidth.value_or(1), 1);
  PrintOptions former = get_printoptions();
  std::lock_guard lock(shared().guard);
  Options& o = shared().options;
  o.precision = given.precision.value_or(o.precision);
  o.threshold = given.threshold.value_or(o.threshold);
  if (given.linewidth) o.linewidth = static_cast<std::size_t>(*given.linewidth);
  o.suppress = given.suppress.value_or(o.suppress);
  return former;
}

}  // namespace anew
