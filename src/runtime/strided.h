// Views of arrays with any strides, and boxes: loop nests over two of them at once.
// Invariant: a box visits its elements in row-major order of its dimensions, however they are merged, so that whoever
// joins elements through a box has one order.
#pragma once
#include <anew/base.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anew {

struct Strided {
  std::byte* data;
  DType dtype;
  const Shape& shape;
  const Shape& strides;  // in elements; 0 or negative too
};

struct BoxDim {
  std::int64_t count, to, from;  // strides in elements
};

class Box {
 public:
  // Outermost first. Dimensions of one element and dimensions that run on where the next one ends are merged.
  explicit Box(const std::vector<BoxDim>& dims);

  std::int64_t size() const { return size_; }
  const std::vector<BoxDim>& dims() const { return dims_; }

  // line(to, from, count, to stride, from stride) for every innermost run; `to` and `from` are offsets.
  template <class F>
  void for_each_line(std::int64_t to, std::int64_t from, F&& line) const {
    if (size_ == 0) return;
    if (dims_.empty()) return line(to, from, std::int64_t{1}, std::int64_t{1}, std::int64_t{1});
    walk(0, to, from, line);
  }

 private:
  template <class F>
  void walk(std::size_t depth, std::int64_t to, std::int64_t from, F& line) const {
    const BoxDim& d = dims_[depth];
    if (depth + 1 == dims_.size()) return line(to, from, d.count, d.to, d.from);
    for (std::int64_t i = 0; i < d.count; ++i) walk(depth + 1, to + i * d.to, from + i * d.from, line);
  }
  std::vector<BoxDim> dims_;
  std::int64_t size_ = 1;
};

// f(T{}) with an unsigned type of this size.
template <class F>
void by_size(std::size_t bytes, F f) {
  if (bytes == 1) f(std::uint8_t{});
  else if (bytes == 2) f(std::uint16_t{});
  else if (bytes == 4) f(std::uint32_t{});
  else f(std::uint64_t{});
}

// Elements of `bytes` bytes each, from one array to another; offsets count elements. Serial.
void copy_box(const Box& box, std::byte* to, std::int64_t to_offset, const std::byte* from, std::int64_t from_offset,
              std::size_t bytes);
// The same element everywhere; strides of `from` are not used.
void fill_box(const Box& box, std::byte* to, std::int64_t to_offset, const std::byte* element, std::size_t bytes);
// The elements of one array in another of the same shape; large ones on several threads.
void copy_array(const Strided& to, const Strided& from);

// An integer of any integer type.
std::int64_t read_integer(const std::byte* data, DType dtype, std::int64_t offset);

}  // namespace anew
