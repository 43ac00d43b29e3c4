// Which kernels of a test are interpreted.
#pragma once
#include "jit/compiled_program.h"

namespace anew::test {

// While it lives kernels are interpreted, where that is asked for: LLVM would take most of the time.
class Interpreted {
 public:
  explicit Interpreted(bool yes) {
    if (yes) compiled::set_backend(compiled::Backend::interpreter);
  }
  ~Interpreted() { compiled::set_backend(before_); }
  Interpreted(const Interpreted&) = delete;

 private:
  compiled::Backend before_ = compiled::backend();
};

}  // namespace anew::test
