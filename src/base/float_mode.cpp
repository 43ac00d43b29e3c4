// Setting and restoring the mode; a no-op where there is nothing to set.
#include "base/float_mode.h"

#include <anew/base.h>

#include <atomic>

#include "base/environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace anew {
namespace {

// Of MXCSR: no traps; the same with subnormal results (FTZ) and operands (DAZ) taken for zeros. The low six bits are
// sticky flags. Reading it costs a third of writing.
constexpr unsigned kept = 0x1f80, flushed = kept | 0x8040;
[[maybe_unused]] constexpr unsigned flags = 0x3f;
constinit std::atomic<unsigned> wanted = kept;
[[maybe_unused]] const bool asked_for = environment::flushes_subnormals() && (flush_subnormals(), true);

}  // namespace

bool flush_subnormals(bool on) { return wanted.exchange(on ? flushed : kept) == flushed; }

#if defined(__x86_64__)
FloatMode::FloatMode() : saved_(_mm_getcsr()) {
  const unsigned mode = wanted.load(std::memory_order_relaxed);
  changed_ = (saved_ & ~flags) != mode;
  if (changed_) _mm_setcsr(mode);
}
FloatMode::~FloatMode() {
  if (changed_) _mm_setcsr(saved_);
}
void FloatMode::adopt() {
  const unsigned mode = wanted.load(std::memory_order_relaxed);
  if ((_mm_getcsr() & ~flags) != mode) _mm_setcsr(mode);
}
#else
FloatMode::FloatMode() = default;
FloatMode::~FloatMode() = default;
void FloatMode::adopt() {}
#endif

}  // namespace anew
