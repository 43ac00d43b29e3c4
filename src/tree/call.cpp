// The type-erased ends of a call: a function of lists of arrays that runs a Call or a loop of the template layer. The
// closure is a pointer to the stack of the caller, valid because flat forms call a function only before they return.
#include <anew/call.h>
#include <anew/control.h>
#include <anew/transforms.h>
#include <fmt/format.h>

#include "tree/carried.h"

namespace anew::detail {

FlatFunction flat_function(void* call, RunCall run) {
  return [call, run](std::span<const Array> leaves) { return run(call, leaves); };
}

flat::ScanBody scan_body(void* loop, RunBody run) {
  return [loop, run](std::span<const Array> carry, std::span<const Array> x) { return run(loop, carry, x); };
}

flat::LoopCondition loop_condition(void* loop, RunTest run) {
  return [loop, run](std::span<const Array> carry) { return run(loop, carry); };
}

flat::Combine combine_function(void* loop, RunCombine run) {
  return [loop, run](std::span<const Array> a, std::span<const Array> b) { return run(loop, a, b); };
}

void static_carry_changes(const ValueDifference& d, std::string_view op, const Location& at) {
  const Carried c(op);
  const std::string change = d.first().empty() ? "" : fmt::format(", from {} to {}", d.first(), d.second());
  if (c.loop)
    throw Error(fmt::format("[{}] the body changes {}, a plain C++ value{}; only arrays change from step to step", op,
                            d.path("carry"), change),
                at, "make it an Array, or keep it out of the carry");
  throw Error(fmt::format("[{}] {} in {} is not the plain C++ value that it is in {}{}", op, c.path(d.path("carry")),
                          c.what, c.like, change),
              at, "give both the same value, or make it an Array");
}

void branch_values_differ(const ValueDifference& d, std::string_view op, const Location& at) {
  throw Error(fmt::format("[{}] the branches return different plain C++ values: {}", op,
                          d.first().empty() ? d.path("result")
                                            : fmt::format("{} is {} or {}", d.path("result"), d.first(), d.second())),
              at, "make them Array: only arrays can depend on the branch that is taken");
}

Arrays run_branches(bool is_cond, const Array& index, const std::vector<FlatFunction>& branches, const Arrays& operands,
                    const Location& at) {
  return is_cond ? flat::cond(index, branches[0], branches[1], operands, at)
                 : flat::switch_(index, branches, operands, at);
}

void moved_from(const Location& at) {
  throw Error("an object that was moved from is used", at, "use what it was moved to, or copy it");
}

void never_called() { throw InternalError("a transformation has results of a function that it never called"); }

void wrong_number_of_results(std::size_t given) {
  throw InternalError(fmt::format("a function of one result was given {} results", given));
}

Arrays ResultShape<Array>::one(Array r) {
  Arrays out;
  out.push_back(std::move(r));
  return out;
}

void name_all(Arrays& xs, std::string_view name, const Location& at) {
  for (Array& x : xs) x = flat::name(x, name, at);
}

}  // namespace anew::detail
