// Scratch for a runtime call that is watched: filled with noise before, with guards on both sides.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace anew {

class LentScratch {
 public:
  explicit LentScratch(std::size_t bytes)
      : bytes_(bytes),
        memory_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 2 * guard)), &std::free) {
    std::fill_n(memory_.get(), guard, mark);
    std::fill_n(data(), bytes, std::byte{0xff});  // nan
    std::fill_n(data() + bytes, guard, mark);
  }
  std::byte* data() const { return memory_.get() + guard; }
  std::size_t bytes() const { return bytes_; }
  bool intact() const {
    const auto marked = [](std::byte b) { return b == mark; };
    return std::all_of(memory_.get(), data(), marked) && std::all_of(data() + bytes_, data() + bytes_ + guard, marked);
  }

 private:
  static constexpr std::size_t guard = 4096;
  static constexpr std::byte mark{0x5a};
  std::size_t bytes_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

}  // namespace anew
