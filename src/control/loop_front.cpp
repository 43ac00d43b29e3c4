// What users call: scan, while_loop, fori_loop. Their bodies are traced once; carries keep their types.
#include <anew/ops.h>
#include <fmt/format.h>

#include "base/dtype.h"
#include "base/stop.h"
#include "control/loop.h"
#include "ops/promote.h"
#include "plan/revolve.h"
#include "runtime/state_files.h"

namespace anew::flat {
namespace {

// A number that the body returns for a carry follows the carry, as far as it loses nothing by that.
Array returned(const Array& y, const Form& carry, const Location& at) {
  if (!is_weak(y) || carry.type.shape.ndim() != 0) return y;
  DType d = carry.type.dtype;
  if (carry.number) return kind_of(type_of(y).dtype) < kind_of(d) ? as_operand(y, d, at) : y;
  return kind_of(type_of(y).dtype) == kind_of(d) ? coerce(y, d, at) : y;
}

// "[scan] the body must return a carry of the type it takes: ..."
[[noreturn]] void other_carry(std::string_view loop, std::size_t i, const Type& given, const Type& got,
                              const std::vector<std::string>& paths, const Location& at) {
  const bool dtypes = got.dtype != given.dtype, shapes = !(got.shape == given.shape);
  throw Error(fmt::format("[{}] the body must return a carry of the type it takes: {} is {} but the body returns "
                          "{}, so the {} do not match",
                          loop, i < paths.size() ? paths[i] : fmt::format("carry[{}]", i), given.str(), got.str(),
                          dtypes && shapes ? "dtypes and the shapes"
                          : dtypes         ? "dtypes"
                                           : "shapes"),
              at, "convert or reshape the initial carry, or what the body returns");
}

// Whether a carry of this form may be returned as that one; a number may take the dtype of what is returned.
enum class Returned { same, taken, other };
Returned compare(const Form& given, const Form& got) {
  if (got.number == given.number &&
      (got.number ? wide(got.type.dtype) == wide(given.type.dtype) : got.type == given.type))
    return Returned::same;
  const bool taken =
      given.number && got.type.shape == given.type.shape && kind_of(got.type.dtype) >= kind_of(given.type.dtype);
  return taken ? Returned::taken : Returned::other;
}

// Traces a loop's body, which takes `forms` and returns the carries first, one per array of `start`. A number among
// `start` takes the dtype that the body returns, or stays a number if the body returns one, and `start` and `forms`
// with it; any other change of type is an error that names the carry by its path. Numbers after the carries become
// arrays.
Staged stage_body(std::string_view loop, const FlatFunction& body, Arrays& start, Forms& forms,
                  const std::vector<std::string>& paths, const Location& at) {
  const RegionScope region(loop, at);
  for (;;) {  // again where a number in the carry takes the dtype that the body returns
    bool again = false;
    auto step = [&](std::span<const Array> in) {
      Arrays out = body(in);
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = i < start.size() ? returned(out[i], forms[i], at) : strong(out[i], at);
      return out;
    };
    Staged s = stage(step, forms, loop, at);
    for (std::size_t i = 0; i < start.size(); ++i) {
      const Form &got = s.forms[i], &given = forms[i];
      const Returned r = compare(given, got);
      if (r == Returned::other) other_carry(loop, i, given.type, got.type, paths, at);
      if (r == Returned::same) continue;
      start[i] = got.number ? as_operand(start[i], got.type.dtype, at) : coerce(start[i], got.type.dtype, at);
      forms[i] = got;
      again = true;
    }
    if (!again) return s;
  }
}

// With disable_jit: a step of a loop, its body called with values. Carries are checked as they are where it is traced.
Arrays step_now(std::string_view loop, const FlatFunction& body, Arrays& carry, std::span<const Array> xs,
                const std::vector<std::string>& paths, const Location& at) {
  Arrays in = carry;
  in.insert(in.end(), xs.begin(), xs.end());
  Arrays out = body(in);
  for (std::size_t i = 0; i < carry.size(); ++i) {
    const Form given = form_of(carry[i]);
    carry[i] = returned(out[i], given, at);
    if (compare(given, form_of(carry[i])) == Returned::other)
      other_carry(loop, i, given.type, type_of(carry[i]), paths, at);
  }
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(carry.size()));
  return out;
}

std::int64_t length_of(const Arrays& xs, const ScanOptions& o, const Location& at) {
  std::vector<std::string> sizes;
  std::int64_t length = o.length.value_or(-1);
  bool differ = false;
  for (const Array& x : xs) {
    check_operand(x, at);
    Type t = type_of(x);
    if (t.shape.ndim() == 0)
      throw Error(fmt::format("[scan] an array in xs has no leading axis to scan over: {}", t.str()), at);
    sizes.push_back(fmt::format("{} (leaf {}) has {}", t.str(), sizes.size(), t.shape[0]));
    differ = differ || t.shape[0] != type_of(xs[0]).shape[0];
  }
  if (o.length && *o.length < 0) throw Error(fmt::format("[scan] the length is negative: {}", *o.length), at);
  if (differ)
    throw Error(fmt::format("[scan] arrays in xs have different leading axis sizes: {}", fmt::join(sizes, ", ")), at,
                "scan goes over the first axis of all arrays in xs; what all steps share is captured, or in the carry");
  if (xs.empty() && !o.length)
    throw Error("[scan] got no xs to scan over and no length", at, "give xs, or {.length = n} with xs = none");
  if (!xs.empty()) {
    std::int64_t n = type_of(xs[0]).shape[0];
    if (o.length && n != length)
      throw Error(fmt::format("[scan] a length of {} disagrees with the leading axis size {}", length, n), at);
    length = n;
  }
  return length;
}

// What a loop may keep, from its options.
template <class Options>
void set_kept(LoopParams& p, std::string_view loop, const Options& o, const Location& at) {
  if (o.checkpoints && *o.checkpoints < 1)
    throw Error(
        fmt::format("[{}] .checkpoints is {}, but at least one state, the first, is kept", loop, *o.checkpoints), at);
  if (o.checkpoints && o.memory)
    throw Error(fmt::format("[{}] .checkpoints and .memory both say what is kept", loop), at, "give one of them");
  if (o.memory && *o.memory >> 63)  // -1 is a large number to the compiler
    throw Error(fmt::format("[{}] .memory is negative: {} bytes", loop, static_cast<std::int64_t>(*o.memory)), at,
                "leave it out to keep what the gradient needs");
  if (o.memory && *o.memory == 0)
    throw Error(fmt::format("[{}] .memory is 0 bytes", loop), at, "leave it out to keep what the gradient needs");
  if (!o.disk.empty() && !o.memory)
    throw Error(fmt::format("[{}] .disk without .memory", loop), at,
                o.checkpoints
                    ? "give the bytes that may be kept in memory in place of .checkpoints: {.memory = 64_MiB, "
                      ".disk = \"...\"}"
                    : "give the bytes that may be kept in memory: {.memory = 64_MiB, .disk = \"...\"}");
  if (!o.disk.empty()) check_folder({std::string(loop), o.disk, at});
  p.checkpoints = o.checkpoints.value_or(0);
  if (o.memory) p.memory = std::min(detail::saturated<std::int64_t>(*o.memory), std::int64_t{1} << 48);
  p.disk = o.disk;
}

// `loop`: what the user called.
ScanResult scan_as(std::string_view loop, const ScanBody& body, const Arrays& init, const Arrays& xs,
                   const ScanOptions& options, const std::vector<std::string>& carry_paths, const Location& at) {
  detail::check_function(body, at);
  LoopParams params;
  params.length = length_of(xs, options, at);
  params.reverse = options.reverse;
  params.unroll = options.unroll;
  if (options.unroll < 0) throw Error(fmt::format("[scan] unroll is negative: {}", options.unroll), at);
  set_kept(params, loop, options, at);

  Arrays start = init;
  std::size_t c = init.size();
  auto step = [&](std::span<const Array> in) {
    ScanResult r = body(in.first(c), in.subspan(c));
    if (r.carry.size() != c)
      throw Error(fmt::format("[{}] the carry has {} arrays, the body returns {}", loop, c, r.carry.size()), at,
                  "the body must return a carry of the same structure as it takes");
    Arrays out = std::move(r.carry);
    out.insert(out.end(), r.ys.begin(), r.ys.end());
    return out;
  };
  if (params.length > 0 && runs_uncompiled(start) && runs_uncompiled(xs)) {
    std::vector<Arrays> rows;  // per y
    for (std::int64_t i = 0; i < params.length; ++i) {
      check_stop("scan", i, at);
      const std::int64_t row = params.reverse ? params.length - 1 - i : i;
      Arrays x;
      for (const Array& a : xs) x.push_back(a[Index(row, at)]);
      const Arrays y = step_now(loop, step, start, x, carry_paths, at);
      rows.resize(y.size());
      for (std::size_t k = 0; k < y.size(); ++k)
        rows[k].insert(params.reverse ? rows[k].begin() : rows[k].end(), strong(y[k], at));
    }
    ScanResult r{start, {}};
    const PinLine pin(at, loop);
    for (const Arrays& y : rows) r.ys.push_back(stack(y));
    return r;
  }
  Forms forms = forms_of(start, at);
  for (const Array& x : xs) {
    Type t = type_of(x);
    t.shape.erase(0);
    forms.push_back({t, false});
  }
  Staged s = stage_body(loop, step, start, forms, carry_paths, at);
  params.constants = s.program.constants;
  params.carries = static_cast<int>(c);
  s.program.constants = 0;
  Arrays inputs = s.constants;
  for (const Array& a : start) inputs.push_back(exact(a));
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  params.body = share(std::move(s.program));
  Arrays out = bind_loop(params, inputs, at);
  forms.resize(c);
  out = as_formed(std::move(out), forms);
  auto split = out.begin() + static_cast<std::ptrdiff_t>(c);
  return {Arrays(out.begin(), split), Arrays(split, out.end())};
}

Arrays while_as(std::string_view loop, const LoopCondition& condition, const FlatFunction& body, const Arrays& init,
                const LoopOptions& options, const std::vector<std::string>& carry_paths, const Location& at) {
  detail::check_function(condition, at);
  detail::check_function(body, at);
  LoopParams p;
  if (!options.disk.empty())  // before the hints of set_kept, which say what to give beside it
    throw Error(fmt::format("[{}] .disk needs a number of steps that is known before the loop runs", loop), at,
                "use scan, or fori_loop with static bounds");
  set_kept(p, loop, options, at);
  Arrays start = init;
  auto step = [&](std::span<const Array> in) {
    Arrays out = body(in);
    if (out.size() != init.size())
      throw Error(fmt::format("[{}] the carry has {} arrays, the body returns {}", loop, init.size(), out.size()), at,
                  "the body must return a carry of the same structure as it takes");
    return out;
  };
  if (runs_uncompiled(start)) {
    for (std::int64_t i = 0;; ++i) {
      check_stop("while", i, at);
      const Array go = condition(start);
      if (!(type_of(go) == Type{{}, bool_}))
        throw Error(fmt::format("[while_loop] the condition must give a bool scalar, got {}", type_of(go).str()), at);
      if (!go.item<bool>()) return start;
      step_now(loop, step, start, {}, carry_paths, at);
    }
  }
  Forms forms = forms_of(start, at);
  Staged b = stage_body(loop, step, start, forms, carry_paths, at);
  Staged c = stage([&](std::span<const Array> in) { return Arrays{condition(in)}; }, forms, "while_loop", at);
  Type got = c.program.type(c.program.outputs[0]);
  if (!(got == Type{{}, bool_}))
    throw Error(fmt::format("[while_loop] the condition must give a bool scalar, got {}", got.str()), at);
  p.constants = static_cast<int>(b.constants.size() + c.constants.size());
  p.carries = static_cast<int>(init.size());
  p.body = share(with_unused(b.program, b.constants.size(), types_of(c.constants, at)));
  p.condition = share(with_unused(c.program, 0, types_of(b.constants, at)));
  Arrays inputs = b.constants;
  inputs.insert(inputs.end(), c.constants.begin(), c.constants.end());
  for (const Array& a : start) inputs.push_back(exact(a));
  return as_formed(bind_loop(p, inputs, at), forms);
}

}  // namespace

ScanResult scan(const ScanBody& body, const Arrays& init, const Arrays& xs, const ScanOptions& options,
                const std::vector<std::string>& carry_paths, const Location& at) {
  return scan_as("scan", body, init, xs, options, carry_paths, at);
}

Arrays while_loop(const LoopCondition& condition, const FlatFunction& body, const Arrays& init,
                  const LoopOptions& options, const std::vector<std::string>& carry_paths, const Location& at) {
  return while_as("while_loop", condition, body, init, options, carry_paths, at);
}

Arrays fori_loop(const Array& lo, const Array& hi, const FlatFunction& body, const Arrays& init,
                 const LoopOptions& options, const std::vector<std::string>& carry_paths, const Location& at) {
  detail::check_function(body, at);
  for (const Array* end : {&lo, &hi}) {
    check_operand(*end, at);
    Type t = type_of(*end);
    if (t.shape.ndim() != 0 || !is_integer(t.dtype))
      throw Error(fmt::format("[fori_loop] bounds must be integer scalars, got {}", t.str()), at);
  }
  auto step = [&](std::span<const Array> in) {
    Arrays out = body(in);
    if (out.size() != init.size())
      throw Error(fmt::format("[fori_loop] the carry has {} arrays, the body returns {}", init.size(), out.size()), at,
                  "the body must return a carry of the same structure as it takes");
    out.insert(out.begin(), in[0] + 1);
    return out;
  };
  std::vector<std::string> paths{"i"};
  paths.insert(paths.end(), carry_paths.begin(), carry_paths.end());
  Arrays start = init, out;
  // A number takes the type of the other bound; of two the default one, or what they show if that is wider.
  DType dtype = common_dtype(Arrays{lo, hi});
  start.insert(start.begin(), coerce(lo, dtype, at));
  if (lo.value()->literal && hi.value()->literal) {
    std::int64_t from = literal_of(lo).as_integer(), to = literal_of(hi).as_integer();
    ScanOptions o{.length = plan::count_steps(from, to),
                  .checkpoints = options.checkpoints,
                  .memory = options.memory,
                  .disk = options.disk};
    ScanBody scan_step = [&](std::span<const Array> carry, std::span<const Array>) {
      return ScanResult{step(carry), {}};
    };
    out = scan_as("fori_loop", scan_step, start, {}, o, paths, at).carry;
  } else {
    Array end = coerce(hi, dtype, at);
    auto goes_on = [&](std::span<const Array> carry) { return carry[0] < end; };
    out = while_as("fori_loop", goes_on, step, start, options, paths, at);
  }
  out.erase(out.begin());
  return out;
}

}  // namespace anew::flat
