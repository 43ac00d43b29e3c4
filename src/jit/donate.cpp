// Handing over the memory of arguments.
#include "jit/donate.h"

#include <anew/jit.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/base.h"
#include "base/stop.h"
#include "trace/donation.h"

namespace anew::compiled {

DonatedArguments::DonatedArguments(std::span<const Array> x, const std::vector<int>& which) : x_(x), which_(which) {
  for (int i : which_) alone_.push_back(held_by_caller_alone(x_[static_cast<std::size_t>(i)]));
}

void DonatedArguments::take(std::span<Array> inputs, bool has_loops, const Location& at) const {
  if (has_loops && !which_.empty()) check_stop_before_call(at);
  const std::span<Array> constants = inputs.first(inputs.size() - x_.size()), arguments = inputs.last(x_.size());
  auto captured = [&](const Array& a) {  // by the function itself, which holds no handle where it does so by reference
    return std::any_of(constants.begin(), constants.end(), [&](const Array& c) { return c.value() == a.value(); });
  };
  std::vector<std::size_t> shared;
  for (std::size_t k = 0; k < which_.size(); ++k) {
    const auto i = static_cast<std::size_t>(which_[k]);
    const Array& given = x_[i];
    Array& a = arguments[i];
    const bool own = !a.value()->literal && a.value()->buffer.get() != given.value()->buffer.get();  // a copy already
    if (given.value()->literal) {
      a = copy(a);
    } else if (given.value()->type.bytes() == 0) {
      continue;  // nothing to take
    } else if (!alone_[k] || captured(given)) {
      if (!own) a = copy(a);
      shared.push_back(i);
    } else {
      const Array taken = take_memory(given, at);
      if (!own) a = taken.value()->offset == 0 ? taken : copy(taken);  // results begin where their memory does
    }
  }
  if (!shared.empty())
    warn(fmt::format(
             "[jit] {} of {} donated arrays are held elsewhere too (the first is array {} of the arguments, {}): "
             "they were copied",
             shared.size(), which_.size(), shared[0], x_[shared[0]].value()->type.str()),
         at);
}

}  // namespace anew::compiled

namespace anew::detail {

std::vector<int> donated_leaves(const std::vector<int>& arguments, std::span<const std::size_t> leaves,
                                const Location& at) {
  std::vector<int> out;
  for (auto it = arguments.begin(); it != arguments.end(); ++it) {
    const int argument = *it;
    if (std::find(arguments.begin(), it, argument) != it)
      throw Error(fmt::format("[jit] .donate names argument {} twice", argument), at, "name each argument once");
    if (argument < 0 || static_cast<std::size_t>(argument) >= leaves.size())
      throw Error(fmt::format("[jit] .donate names argument {} of {}", argument, leaves.size()), at,
                  "arguments are counted from 0");
    int first = 0;
    for (int i = 0; i < argument; ++i) first += static_cast<int>(leaves[static_cast<std::size_t>(i)]);
    const auto count = static_cast<int>(leaves[static_cast<std::size_t>(argument)]);
    if (count == 0)
      throw Error(fmt::format("[jit] .donate names argument {}, which holds no arrays", argument), at,
                  "donate arguments that hold arrays");
    for (int i = first; i < first + count; ++i) out.push_back(i);
  }
  return out;
}

}  // namespace anew::detail
