// The shortest digits come from std::to_chars where the type is one of the language; for the two-byte types from trying
// one digit more until the number reads back.
#include "ir/decimal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "loops/number.h"

namespace anew::ir {
namespace {

std::string scientific(double v, DType dtype) {
  char text[64];
  std::to_chars_result end{};
  if (dtype == f64) {
    end = std::to_chars(text, text + sizeof text, v, std::chars_format::scientific);
  } else if (dtype == bf16 || dtype == f16) {
    for (int precision = 0; precision < 9; ++precision) {
      end = std::to_chars(text, text + sizeof text, v, std::chars_format::scientific, precision);
      if (read_float({text, end.ptr}, dtype) == v) break;
    }
  } else {
    end = std::to_chars(text, text + sizeof text, static_cast<float>(v), std::chars_format::scientific);
  }
  return {text, end.ptr};
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
  if (v) v = loops::rounded(dtype, static_cast<float>(*v));
  return v && std::isfinite(*v) ? v : std::nullopt;
}

Decimal shortest_decimal(double v, DType dtype) {
  Decimal out;
  out.negative = std::signbit(v);
  if (v == 0) return out;
  const std::string text = scientific(std::fabs(v), dtype);
  const std::size_t e = text.find('e');
  for (char c : text.substr(0, e))
    if (c != '.') out.digits += c;
  out.digits.erase(out.digits.find_last_not_of('0') + 1);
  out.point = std::stoi(text.substr(e + 1)) + 1;
  return out;
}

std::string float_text(double v, DType dtype) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  const Decimal d = shortest_decimal(v, dtype);
  const int n = static_cast<int>(d.digits.size());
  const std::string sign = d.negative ? "-" : "";
  if (n == 0) return sign + "0.0";
  if (d.point > 16 || d.point < -3) {
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
