// PNG with a palette of 256 colours; the pixels are stored, not compressed, which needs no library.
#include "png.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace show {
namespace {

void put32(std::string& out, std::uint32_t v) {
  for (int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(v >> shift & 255));
}

std::uint32_t crc(const std::string& bytes) {
  std::uint32_t c = ~0u;
  for (unsigned char b : bytes) {
    c ^= b;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
  }
  return ~c;
}

void put_chunk(std::string& out, std::string name, const std::string& data) {
  put32(out, static_cast<std::uint32_t>(data.size()));
  name += data;
  out += name;
  put32(out, crc(name));
}

// A zlib stream of stored blocks.
std::string stored(const std::string& data) {
  std::string out = "\x78\x01";
  std::uint32_t a = 1, b = 0;
  for (unsigned char c : data) a = (a + c) % 65521, b = (b + a) % 65521;
  for (std::size_t at = 0; at < data.size(); at += 65535) {
    const std::size_t n = std::min<std::size_t>(65535, data.size() - at);
    out.push_back(at + n == data.size());
    for (std::size_t length : {n, ~n})
      for (int shift : {0, 8}) out.push_back(static_cast<char>(length >> shift & 255));
    out.append(data, at, n);
  }
  put32(out, b << 16 | a);
  return out;
}

using Colour = std::array<double, 3>;
// Colours at equal distances, mixed in between.
Colour mixed(const std::vector<Colour>& stops, double t) {
  const double place = t * static_cast<double>(stops.size() - 1);
  const std::size_t i = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  Colour out;
  for (std::size_t c = 0; c < 3; ++c)
    out[c] = stops[i][c] + (place - static_cast<double>(i)) * (stops[i + 1][c] - stops[i][c]);
  return out;
}
const std::vector<Colour> heat = {{20, 12, 60}, {90, 25, 120}, {190, 55, 100}, {245, 130, 50}, {253, 225, 140}};
const std::vector<Colour> signs_of = {{25, 60, 150}, {120, 160, 225}, {248, 248, 248}, {230, 130, 100}, {150, 25, 35}};

std::string base64(const std::string& bytes) {
  const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out.push_back(i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63]);
  }
  return out;
}

}  // namespace

std::string png(const std::vector<double>& values, std::size_t rows, std::size_t columns, double lo, double hi,
                bool signs) {
  std::string out = "\x89PNG\r\n\x1a\n", header, palette, pixels;
  put32(header, static_cast<std::uint32_t>(columns));
  put32(header, static_cast<std::uint32_t>(rows));
  header += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits, a palette
  for (int i = 0; i < 256; ++i)
    for (double c : mixed(signs ? signs_of : heat, i / 255.0)) palette.push_back(static_cast<char>(std::lround(c)));
  for (std::size_t r = 0; r < rows; ++r) {
    pixels.push_back(0);
    for (std::size_t c = 0; c < columns; ++c) {
      const double t = hi > lo ? (values[r * columns + c] - lo) / (hi - lo) : 0;
      pixels.push_back(static_cast<char>(std::lround(255 * (t >= 0 ? std::min(t, 1.0) : 0.0))));
    }
  }
  put_chunk(out, "IHDR", header);
  put_chunk(out, "PLTE", palette);
  put_chunk(out, "IDAT", stored(pixels));
  put_chunk(out, "IEND", "");
  return base64(out);
}

}  // namespace show
