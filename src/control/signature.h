// What rows that hold Programs ask of them before anything is run: text can nest any Program in any equation, so an
// `infer` checks all that the row's rules and kernels rely on, and refuses with an Error.
#pragma once
#include "ir/primitive.h"
#include "trace/trace.h"

namespace anew {

// The types of a Program that a row holds. Throws where there is none, or one that captures arrays.
struct Signature {
  Types in, out;
};
Signature signature_of(std::string_view op, std::string_view what, const ir::ProgramRef& p, const Location& at);

// Throws "[op] what" unless `ok`.
void require_fit(bool ok, std::string_view op, std::string_view what, const Location& at);
// Throws unless counts of groups of operands are not negative and together no more than there are.
void require_groups(std::string_view op, std::initializer_list<int> counts, std::size_t operands, const Location& at);

}  // namespace anew
