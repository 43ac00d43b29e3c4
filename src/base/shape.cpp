// Shapes: printing, editing, and sizes that cannot overflow. A shape is only numbers and may hold any of them;
// whoever makes an array asks checked_bytes first, and from then on every product of its sizes fits in 63 bits.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "base/base.h"

namespace anew {

Shape::Shape(const std::vector<std::int64_t>& dims, const Location& at) : Shape() {
  assign(dims.data(), dims.size(), at);
}

Shape::Shape(const std::vector<int>& dims, const Location& at) : Shape() {
  if (dims.size() > max_ndim) too_many(at);
  for (int d : dims) push_back(d);
}

void Shape::assign(std::initializer_list<Dim> dims, const Location& at) {
  if (dims.size() > max_ndim) too_many(at);
  for (Dim d : dims) push_back(d.value);
}

void Shape::assign(const std::int64_t* dims, std::size_t count, const Location& at) {
  if (count > max_ndim) too_many(at);
  for (std::size_t i = 0; i < count; ++i) push_back(dims[i]);
}

std::string Shape::str() const { return fmt::format("[{}]", fmt::join(begin(), end(), ",")); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.str(); }

void Shape::too_many(const Location& at) {
  throw Error(fmt::format("[shape] an array has at most {} dimensions", max_ndim),
              at.line() || !pinned_line ? at : *pinned_line);
}

// Positions count from the end if negative; -1 inserts behind the last size.
void Shape::insert(int at, std::int64_t d) {
  const int i = at < 0 ? at + ndim_ + 1 : at;
  if (i < 0 || i > ndim_)
    throw Error(fmt::format("[shape] insert at {} is out of range for {}", at, str()), Location());
  push_back(d);
  std::rotate(begin() + i, end() - 1, end());
}

void Shape::erase(int at) {
  const int i = at < 0 ? at + ndim_ : at;
  if (i < 0 || i >= ndim_)
    throw Error(fmt::format("[shape] erase at {} is out of range for {}", at, str()), Location());
  std::copy(begin() + i + 1, end(), begin() + i);
  dims_[static_cast<std::size_t>(--ndim_)] = 0;
}

// The sizes beside a zero must fit as well: strides are products of them.
std::optional<std::size_t> checked_bytes(const Shape& shape, DType dtype) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (std::int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, d, &bytes)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

std::size_t hash_value(const Shape& s) {
  auto h = static_cast<std::size_t>(s.ndim());
  for (std::int64_t d : s) hash_combine(h, static_cast<std::size_t>(d));
  return h;
}

}  // namespace anew
