// unwind: the linear part of a loop, walked forward or back over recorded states; the states in between are recomputed by
// a schedule that never holds more states than were recorded (plan/revolve.h).
#include <map>

#include "base/stop.h"
#include "control/loop.h"
#include "control/signature.h"
#include "control/unwind.h"
#include "plan/revolve.h"
#include "trace/donation.h"

namespace anew {
namespace {

Types infer_unwind(const ir::InferArgs& a) {
  const auto& p = static_cast<const UnwindParams&>(a.params);
  auto check = [&](bool ok, std::string_view what = "operands do not fit the loop") {
    require_fit(ok, "unwind", what, a.at);
  };
  auto [step, out] = signature_of("unwind", "the step", p.step, a.at);
  auto [advance, advanced] = signature_of("unwind", "the body", p.advance, a.at);
  require_groups("unwind", {p.constants, p.carries, p.xs, p.linear_constants, p.linear_carries}, step.size(), a.at);
  check(static_cast<std::size_t>(p.linear_carries) <= out.size());
  const UnwindGroups g(p);
  const std::size_t linear = g.constants + g.carries + g.xs;
  auto types = [&](std::size_t begin, std::size_t size) {
    return Types(step.begin() + static_cast<std::ptrdiff_t>(begin),
                 step.begin() + static_cast<std::ptrdiff_t>(begin + size));
  };
  check(a.in.size() == g.inputs());
  check(advance == types(0, linear) && advanced == types(g.constants, g.carries), "the body does not fit the step");
  if (p.condition) {
    auto [in, decision] = signature_of("unwind", "the condition", p.condition, a.at);
    check(in == types(0, g.constants + g.carries) && decision == Types{{{}, bool_}}, "the condition does not fit");
  }
  check(p.condition ? p.length == -1 && g.xs + g.linear_xs + g.linear_ys == 0 : p.length >= 0,
        "a sweep has a length, a while has none");
  std::size_t at = 0;
  for (std::size_t i = 0; i < g.constants; ++i) check(a.in[at++] == step[i]);
  for (std::size_t i = 0; i < g.xs; ++i) check(a.in[at++] == stacked(step[g.constants + g.carries + i], p.length));
  at += g.counters;
  // One row for each kept state.
  const std::int64_t rows = g.carries > 0 && a.in[at].shape.ndim() > 0 ? a.in[at].shape[0] : 0;
  check(g.carries == 0 || rows >= 1, "there is no kept state");
  if (p.condition) {
    const Type& kept = a.in[g.steps() + 1];
    check(a.in[g.steps()] == Type{{}, i32} && kept.shape.ndim() == 1 && kept.dtype == i32);
    check(g.carries == 0 || kept.shape[0] == rows);
  }
  for (std::size_t i = 0; i < g.carries; ++i) check(a.in[at++] == stacked(step[g.constants + i], rows));
  for (std::size_t i = linear; i < step.size(); ++i)
    check(a.in[at++] == (i < linear + g.linear_constants + g.linear_carries ? step[i] : stacked(step[i], p.length)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i < g.linear_carries) check(out[i] == step[linear + g.linear_constants + i]);
    else out[i] = stacked(out[i], p.length);
  }
  return std::move(out);
}

// One run: the operands in their groups, the state at hand, and the linear carry.
class Runner {
 public:
  Runner(const UnwindParams& p, std::span<const Array> x, const Location& at) : p_(p), g_(p), x_(x), at_(at) {
    length_ = p.length;
    if (p.condition) {
      length_ = static_cast<std::int64_t>(static_cast<double>(x[g_.steps()].item()));
      steps_ = contiguous(x[g_.steps() + 1]);
    }
    auto begin = x.begin() + static_cast<std::ptrdiff_t>(g_.linear());
    auto carries = begin + static_cast<std::ptrdiff_t>(g_.linear_constants);
    linear_.assign(carries, carries + static_cast<std::ptrdiff_t>(g_.linear_carries));
    Types types = p.step->output_types();
    for (std::size_t i = g_.linear_carries; i < types.size(); ++i)
      ys_.push_back(empty_array(stacked(types[i], p.length), at));
  }

  Arrays run() {
    if (p_.backward) back();
    else forward();
    linear_.insert(linear_.end(), ys_.begin(), ys_.end());
    return std::move(linear_);
  }

 private:
  void forward() {
    if (length_ > 0) state_ = row(0);
    for (std::int64_t i = 0; i < length_; ++i) {
      step(i);
      if (i + 1 < length_) advance(i, i + 1);
    }
  }

  void back() {
    if (g_.carries == 0) {
      for (std::int64_t i = length_; i-- > 0;) step(i);
      return;
    }
    if (length_ <= 0) return;
    std::int64_t slots = x_[g_.states()].shape()[0];
    std::vector<std::int64_t> stops, free;
    std::map<std::int64_t, std::int64_t> row_at;  // of each kept state, by its step
    if (p_.condition) {
      const auto* at = reinterpret_cast<const std::int32_t*>(steps_.value()->data());
      if (!plan::kept_steps_fit({at, at + slots}, length_))
        throw Error("[unwind] the kept states fit no loop", line_or(Location()));
      for (std::int64_t r = 0; r < slots; ++r) at[r] >= 0 ? void(row_at.emplace(at[r], r)) : free.push_back(r);
    } else {
      stops = plan::forward_stops(length_, slots);
      for (std::int64_t r = 0; r < slots; ++r)
        r < std::ssize(stops) ? void(row_at.emplace(stops[static_cast<std::size_t>(r)], r)) : free.push_back(r);
    }
    stops.clear();
    for (const auto& [at, r] : row_at) stops.push_back(at);
    // States kept on the way back take the rows of those that are done with.
    for (std::size_t i = 0; i < g_.carries; ++i) stacks_.push_back(own(x_[g_.states() + i]));
    plan::walk_back(length_, slots, stops, false,
                    {.load = [&](std::int64_t at) { state_ = row(row_at.at(at)); },
                     .advance = [&](std::int64_t from, std::int64_t to) { advance(from, to); },
                     .keep =
                         [&](std::int64_t at) {
                           for (std::size_t i = 0; i < g_.carries; ++i) write_row(stacks_[i], free.back(), state_[i]);
                           row_at.emplace(at, free.back());
                           free.pop_back();
                         },
                     .drop =
                         [&](std::int64_t at) {
                           free.push_back(row_at.at(at));
                           row_at.erase(at);
                         },
                     .back = [&](std::int64_t at) { step(at); }});
  }

  // A stack that may be written: the operand itself where nobody else reads it, else a copy.
  static Array own(const Array& stack) {
    if (donated(stack) && stack.value()->offset == 0 && is_row_major(stack.shape(), stack.value()->strides))
      return stack;
    Array copy = empty_array(type_of(stack), Location::current());
    for (std::int64_t r = 0; r < stack.shape()[0]; ++r) write_row(copy, r, row_of(stack, r));
    return copy;
  }
  Arrays row(std::int64_t r) const {
    Arrays out;
    for (std::size_t i = 0; i < g_.carries; ++i)
      out.push_back(row_of(stacks_.empty() ? x_[g_.states() + i] : stacks_[i], r));
    return out;
  }
  std::int64_t place(std::int64_t step) const { return p_.reverse ? length_ - 1 - step : step; }
  // Constants, the state, and the xs of a step.
  Arrays operands(std::int64_t step) const {
    Arrays in(x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(g_.constants));
    in.insert(in.end(), state_.begin(), state_.end());
    for (std::size_t i = 0; i < g_.xs; ++i) in.push_back(row_of(x_[g_.constants + i], place(step)));
    return in;
  }
  void advance(std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      check_stop("unwind", i, at_);
      state_ = evaluate(*p_.advance, operands(i));
    }
  }
  void step(std::int64_t i) {
    check_stop("unwind", i, at_);
    Arrays in = operands(i);
    for (std::size_t k = 0; k < g_.linear_constants; ++k) in.push_back(x_[g_.linear() + k]);
    for (Array& l : linear_) in.push_back(std::move(l));
    for (std::size_t k = g_.linear() + g_.linear_constants + g_.linear_carries; k < x_.size(); ++k)
      in.push_back(row_of(x_[k], place(i)));
    linear_ = evaluate(*p_.step, in);
    for (std::size_t k = g_.linear_carries; k < linear_.size(); ++k)
      write_row(ys_[k - g_.linear_carries], place(i), linear_[k]);
    linear_.resize(g_.linear_carries);
  }

  const UnwindParams& p_;
  UnwindGroups g_;
  std::span<const Array> x_;
  Location at_;
  std::int64_t length_;
  Array steps_;
  Arrays stacks_, state_, linear_, ys_;
};

}  // namespace

const ir::Primitive& unwind_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "unwind",
      .infer = infer_unwind,
      .parse = &UnwindParams::parse,
      .batch = batch_unwind,
      .run = [](const ParamsRef& p, std::span<const Array> x,
                const Location& at) { return Runner(static_cast<const UnwindParams&>(*p), x, at).run(); },
      .nested_jvp = jvp_unwind,
      .split = split_unwind,
      .nested_transpose = transpose_unwind,
      .dce = dce_unwind,
  };
  return row;
}

}  // namespace anew
