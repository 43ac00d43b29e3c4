// The shortest digits come from std::to_chars where the type is one of the language; for the two-byte types from trying
// one digit more until the number reads back.
#include "ir/decimal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/dtype.h"

namespace anew::ir {
namespace {

// Of a positive number of a type of the language: "1.25e-05".
template <class T>
std::string scientific(T v) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, v, std::chars_format::scientific).ptr};
}

// Of a positive number of two bytes. Above a power of two numbers lie twice as far apart as below it, so what is
// nearest in decimal may read back as the number below while the next decimal reads back as v.
std::string scientific(double v, DType dtype) {
  for (int digits = 1;; ++digits) {
    const int exponent = static_cast<int>(std::floor(std::log10(v))) - digits + 1;
    const std::int64_t nearest = std::lrint(v / std::pow(10.0, exponent));
    for (std::int64_t candidate : {nearest, nearest + 1})
      if (read_float(fmt::format("{}e{}", candidate, exponent), dtype) == v) {
        const std::string text = std::to_string(candidate);
        return fmt::format("{}.{}e{}", text[0], text.substr(1), exponent + static_cast<int>(text.size()) - 1);
      }
  }
}

}  // namespace

std::optional<double> read_float(std::string_view text, DType dtype) {
  auto read = [&](auto v) -> std::optional<double> {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return v;
  };
  if (dtype == f64) return read(double{});
  std::optional<double> v = read(float{});
  if (v) v = rounded(dtype, static_cast<float>(*v));
  return v && std::isfinite(*v) ? v : std::nullopt;
}

Decimal shortest_decimal(double v, DType dtype) {
  Decimal out;
  out.negative = std::signbit(v);
  if (v == 0) return out;
  const double x = std::fabs(v);
  const std::string text = dtype == f64   ? scientific(x)
                           : dtype == f32 ? scientific(static_cast<float>(x))
                                          : scientific(x, dtype);
  const std::size_t e = text.find('e');
  for (char c : text.substr(0, e))
    if (c != '.') out.digits += c;
  out.digits.erase(out.digits.find_last_not_of('0') + 1);
  out.point = std::stoi(text.substr(e + 1)) + 1;
  return out;
}

std::string float_text(double v, DType dtype, double limit) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  const Decimal d = shortest_decimal(v, dtype);
  const int n = static_cast<int>(d.digits.size());
  const std::string sign = d.negative ? "-" : "";
  if (n == 0) return sign + "0.0";
  if (std::fabs(v) >= limit || std::fabs(v) < 1e-4) {
    const std::string fraction = n > 1 ? "." + d.digits.substr(1) : "";
    const int exponent = d.point - 1;
    return fmt::format("{}{}{}e{}{:02}", sign, d.digits[0], fraction, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  const auto point = static_cast<std::size_t>(std::max(d.point, 0));
  if (d.point <= 0) return sign + "0." + std::string(static_cast<std::size_t>(-d.point), '0') + d.digits;
  if (n <= d.point) return sign + d.digits + std::string(point - d.digits.size(), '0') + ".0";
  return sign + d.digits.substr(0, point) + "." + d.digits.substr(point);
}

}  // namespace anew::ir
