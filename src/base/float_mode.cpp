// Setting and restoring the mode; a no-op where there is nothing to set.
#include "base/float_mode.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace anew {

#if defined(__x86_64__)
// Only the control bits matter; the low six are sticky flags. Reading costs a third of writing.
FloatMode::FloatMode() : saved_(_mm_getcsr()), changed_((saved_ & ~0x3fu) != 0x1f80) {
  if (changed_) _mm_setcsr(0x1f80);
}
FloatMode::~FloatMode() {
  if (changed_) _mm_setcsr(saved_);
}
#else
FloatMode::FloatMode() = default;
FloatMode::~FloatMode() = default;
#endif

}  // namespace anew
