// Arithmetic of sizes that remembers whether every step of it fitted into 64 bits: params of equations may be any
// numbers.
#pragma once
#include <cstdint>
#include <optional>

namespace anew {

class CheckedSize {
 public:
  CheckedSize(std::int64_t v) : v_(v) {}
  std::optional<std::int64_t> value() const { return fits_ ? std::optional(v_) : std::nullopt; }

  friend CheckedSize operator+(CheckedSize a, CheckedSize b) {
    const bool over = __builtin_add_overflow(a.v_, b.v_, &a.v_);
    return a.joined(b, over);
  }
  friend CheckedSize operator-(CheckedSize a, CheckedSize b) {
    const bool over = __builtin_sub_overflow(a.v_, b.v_, &a.v_);
    return a.joined(b, over);
  }
  friend CheckedSize operator*(CheckedSize a, CheckedSize b) {
    const bool over = __builtin_mul_overflow(a.v_, b.v_, &a.v_);
    return a.joined(b, over);
  }

 private:
  CheckedSize joined(const CheckedSize& b, bool over) const {
    CheckedSize out = *this;
    out.fits_ = fits_ && b.fits_ && !over;
    return out;
  }
  std::int64_t v_;
  bool fits_ = true;
};

}  // namespace anew
