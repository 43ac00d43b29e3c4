#include "control/signature.h"

#include <fmt/format.h>

namespace anew {

void require_fit(bool ok, std::string_view op, std::string_view what, const Location& at) {
  if (!ok) fail(op, at, what);
}

Signature signature_of(std::string_view op, std::string_view what, const ir::ProgramRef& p, const Location& at) {
  require_fit(p != nullptr, op, fmt::format("{} is missing", what), at);
  require_fit(p->constants == 0, op, fmt::format("{} captures arrays: nested programs take them as inputs", what), at);
  return {p->input_types(), p->output_types()};
}

void require_groups(std::string_view op, std::initializer_list<int> counts, std::size_t operands, const Location& at) {
  std::size_t sum = 0;
  for (int n : counts) {
    require_fit(n >= 0, op, fmt::format("a number of operands is negative: {}", n), at);
    sum += static_cast<std::size_t>(n);
  }
  require_fit(sum <= operands, op, fmt::format("{} operands are counted, there are {}", sum, operands), at);
}

}  // namespace anew
