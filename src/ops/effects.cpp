// Rows with effects: a printed line and a call back into the user's code; and calls back without effects. All run
// through the runtime call of their lowered form, those with effects in program order. vmap adds an axis in front of
// all operands and counts it in `batch`: one line, one call per example, in order, with one equation.
#include "ops/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sstream>

#include "ops/batch.h"
#include "ops/rows.h"
#include "runtime/account.h"

namespace anew {

ir::ParamValue to_param(const Callback& c) { return {ir::ParamFunction{c.name}}; }
bool from_param(const ir::ParamValue&, Callback&) { return false; }

namespace {

// ---- one example of an operand
void copy_elements(std::byte* to, const std::byte* from, const Shape& shape, const ir::Strides& strides, int axis,
                   std::size_t size) {
  std::int64_t inner = static_cast<std::int64_t>(size);
  for (int i = axis + 1; i < shape.ndim(); ++i) inner *= shape[i];
  if (axis == shape.ndim()) return void(std::memcpy(to, from, size));
  for (std::int64_t k = 0; k < shape[axis]; ++k)
    copy_elements(to + k * inner, from + k * strides[axis] * static_cast<std::int64_t>(size), shape, strides, axis + 1,
                  size);
}

std::int64_t examples(const Shape& shape, int batch) {
  std::int64_t n = 1;
  for (int i = 0; i < batch; ++i) n *= shape[i];
  return n;
}
Type one_example(Type t, int batch) {
  for (int i = 0; i < batch; ++i) t.shape.erase(0);
  return t;
}
Array example(const ir::Memory& m, int batch, std::int64_t number) {
  std::int64_t offset = 0;
  ir::Strides strides = m.strides;
  for (int i = batch; i-- > 0;) {
    offset += number % m.type.shape[i] * strides[i];
    number /= m.type.shape[i];
  }
  for (int i = 0; i < batch; ++i) strides.erase(0);
  Type t = one_example(m.type, batch);
  Array x = empty_array(t, Location::current());
  if (t.shape.size() > 0)
    copy_elements(x.value()->buffer->data(), m.data + offset * static_cast<std::int64_t>(size_of(t.dtype)), t.shape,
                  strides, 0, size_of(t.dtype));
  return x;
}
Arrays example_of_all(std::span<const ir::Memory> in, int batch, std::int64_t number) {
  Arrays out;
  for (const ir::Memory& m : in) out.push_back(example(m, batch, number));
  return out;
}

// ---- debug_print
struct PrintParams : ir::ParamsOf<PrintParams> {
  std::string format;
  int batch = 0;  // leading axes of all operands: one line per element of them
  static auto fields() {
    return std::tuple{ir::field("format", &PrintParams::format), ir::optional_field("batch", &PrintParams::batch)};
  }
};

// The text around the arguments: one piece more than there are {}. Nothing where a brace stands alone.
std::optional<std::vector<std::string>> pieces_of(std::string_view format) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < format.size(); ++i) {
    char c = format[i], next = i + 1 < format.size() ? format[i + 1] : ' ';
    if (c != '{' && c != '}') pieces.back() += c;
    else if (next == c) pieces.back() += c, ++i;
    else if (c == '{' && next == '}') pieces.emplace_back(), ++i;
    else return std::nullopt;
  }
  return pieces;
}

struct SinkState {
  std::mutex guard;
  debug::Sink sink;
};
SinkState& sink_state() {
  static auto& state = *new SinkState;
  return state;
}
void emit(const std::string& line) {
  debug::Sink sink;
  {
    std::lock_guard lock(sink_state().guard);
    sink = sink_state().sink;
  }
  if (sink) return sink(line);
  std::string with_end = line + '\n';
  std::fwrite(with_end.data(), 1, with_end.size(), stdout);
  std::fflush(stdout);
}

std::string text_of(const std::vector<std::string>& pieces, const Arrays& xs) {
  std::ostringstream out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    out << pieces[i];
    if (i < xs.size()) out << xs[i];
  }
  return out.str();
}

// Operands have the axes of the batch in front, all the same.
void check_batch(std::string_view op, int batch, std::span<const Type> in, const Location& at) {
  bool fits = batch >= 0 && (batch == 0 || !in.empty());
  for (const Type& t : in) {
    fits = fits && t.shape.ndim() >= batch;
    for (int i = 0; fits && i < batch; ++i) fits = t.shape[i] == in[0].shape[i];
  }
  if (!fits) fail(op, at, fmt::format("operands have no {} common leading axes", batch));
}

Types infer_print(const ir::InferArgs& a) {
  const auto& p = a.params.as<PrintParams>();
  const auto pieces = pieces_of(p.format);
  if (!pieces || pieces->size() - 1 != a.in.size())
    fail("debug_print", a.at, fmt::format("the format \"{}\" does not fit {} operands", p.format, a.in.size()));
  check_batch("debug_print", p.batch, a.in, a.at);
  return {};
}

ir::Lowered lower_print(const ir::Params& params, std::span<const Type>, std::span<const Type>) {
  const auto& p = params.as<PrintParams>();
  auto print = [pieces = *pieces_of(p.format), batch = p.batch](std::span<const ir::Memory> in,
                                                                std::span<const ir::Memory>, std::byte*) {
    TraceScope now(nullptr);
    const NotMetered users;
    std::int64_t lines = in.empty() ? 1 : examples(in[0].type.shape, batch);
    for (std::int64_t i = 0; i < lines; ++i) emit(text_of(pieces, example_of_all(in, batch, i)));
  };
  return {{}, print};
}

template <class P>
ir::Batched batch_effect(const Primitive& row, const ir::BatchArgs& a) {
  P p = a.params->as<P>();
  ++p.batch;
  return {anew::bind(row, make_params(std::move(p)), all_mapped(a), a.at)};
}

std::vector<ir::Sample> print_samples() {
  std::vector<ir::Sample> out;
  auto add = [&](const char* format, int batch, std::vector<Type> types) {
    PrintParams p;
    p.format = format;
    p.batch = batch;
    ir::Sample s{make_params(p), {}};
    for (const Type& t : types) s.inputs.push_back({t, -3, 3});
    out.push_back(std::move(s));
  };
  for (DType d : {f32, f64}) {
    add("x: {}", 0, {{{}, d}});
    add("{} and {}", 0, {{{3}, d}, {{}, d}});
    add("{{{}}}", 0, {{{2, 0}, d}});
    add("{}, {}", 1, {{{3, 2}, d}, {{3}, i32}});
  }
  add("nothing", 0, {});
  return out;
}

// ---- io_callback, pure_callback, debug_callback
struct CallbackParams : ir::ParamsOf<CallbackParams> {
  Callback callback;
  std::vector<std::pair<Shape, DType>> results;  // of one call
  int batch = 0;
  static auto fields() {
    return std::tuple{ir::field("callback", &CallbackParams::callback), ir::field("results", &CallbackParams::results),
                      ir::optional_field("batch", &CallbackParams::batch)};
  }
};

Types infer_callback(std::string_view op, const ir::InferArgs& a) {
  const auto& p = a.params.as<CallbackParams>();
  check_batch(op, p.batch, a.in, a.at);
  Types out;
  for (const auto& [shape, dtype] : p.results) {
    Shape whole;
    for (int i = 0; i < p.batch; ++i) whole.push_back(a.in[0].shape[i]);
    for (std::int64_t n : shape) whole.push_back(n);
    out.push_back({whole, dtype});
  }
  return out;
}

ir::Lowered lower_callback(const ir::Params& params, std::span<const Type>, std::span<const Type>) {
  const auto& p = params.as<CallbackParams>();
  auto call = [f = p.callback.f, batch = p.batch](std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                                                  std::byte*) {
    TraceScope now(nullptr);
    const NotMetered users;
    std::int64_t calls = in.empty() ? 1 : examples(in[0].type.shape, batch);
    for (std::int64_t i = 0; i < calls; ++i) {
      Arrays y = (*f)(example_of_all(in, batch, i));  // checked where the callback was given
      for (std::size_t k = 0; k < y.size(); ++k) {
        Array dense = contiguous(y[k]);
        if (std::size_t bytes = type_of(dense).bytes())
          std::memcpy(out[k].data + static_cast<std::size_t>(i) * bytes, dense.value()->data(), bytes);
      }
    }
  };
  return {{}, call};
}

std::vector<ir::Sample> callback_samples(bool results) {
  std::vector<ir::Sample> out;
  static const auto& twice = *new std::shared_ptr<const FlatFunction>(
      std::make_shared<const FlatFunction>([](std::span<const Array> x) { return Arrays{x[0] * 2}; }));
  static const auto& nothing = *new std::shared_ptr<const FlatFunction>(
      std::make_shared<const FlatFunction>([](std::span<const Array>) { return Arrays(); }));
  auto add = [&](const Shape& shape, DType d, int batch) {
    CallbackParams p;
    p.batch = batch;
    if (results) p.results.emplace_back(one_example({shape, d}, batch).shape, d);
    p.callback = {results ? twice : nothing, results ? twice : nothing, "sample"};
    out.push_back({make_params(p), {{{shape, d}, -3, 3}}});
  };
  for (DType d : {i32, i64}) {  // of integers: floating-point arguments would ask for a derivative, which there is not
    add({}, d, 0);
    add({3}, d, 0);
    add({0, 2}, d, 0);
    add({3, 2}, d, 1);
  }
  return out;
}

// Of a row that calls back, without a jvp.
Primitive callback_row(const char* name, const Primitive& (*row)(), ir::Facts facts) {
  facts.runs_user = true;
  const bool results = facts.io || !facts.effects;
  return {.name = name,
          .infer = [name](const ir::InferArgs& a) { return infer_callback(name, a); },
          .parse = &CallbackParams::parse,
          .lower = lower_callback,
          .batch = [row](const ir::BatchArgs& a) { return batch_effect<CallbackParams>(row(), a); },
          .facts = facts,
          .samples = [results] { return callback_samples(results); }};
}
Primitive pure_callback_of() {
  Primitive p = callback_row("pure_callback", &pure_callback_row, {});
  // What it takes is not known; a plan that computes something twice had better take something else.
  p.facts.flops = [](const ir::Params&, std::span<const Type>, std::span<const Type> out) {
    return std::any_of(out.begin(), out.end(), [](const Type& t) { return t.shape.size() > 0; }) ? 1e7 : 0;
  };
  p.jvp = [](const ir::JvpArgs& a) -> ir::Tangents {
    throw Error("[pure_callback] has no derivative, but its arguments depend on what is differentiated", a.at,
                "give the function around it a rule with custom_jvp or custom_vjp, or stop_gradient the arguments");
  };
  return p;
}

struct EffectRows {
  Family family;
  const Primitive& print =
      family.row({.name = "debug_print",
                  .infer = infer_print,
                  .parse = &PrintParams::parse,
                  .lower = lower_print,
                  .batch = [](const ir::BatchArgs& a) { return batch_effect<PrintParams>(debug_print_row(), a); },
                  .facts = {.effects = true},
                  .samples = print_samples});
  const Primitive& callback = family.row(callback_row("io_callback", &io_callback_row, {.effects = true, .io = true}));
  const Primitive& debug_callback = family.row(callback_row("debug_callback", &debug_callback_row, {.effects = true}));
  const Primitive& pure_callback = family.row(pure_callback_of());
};
}  // namespace

const Primitive& debug_print_row() { return rows<EffectRows>().print; }
const Primitive& io_callback_row() { return rows<EffectRows>().callback; }
const Primitive& debug_callback_row() { return rows<EffectRows>().debug_callback; }
const Primitive& pure_callback_row() { return rows<EffectRows>().pure_callback; }
std::span<const Primitive* const> effect_rows() { return rows<EffectRows>().family.list(); }

debug::Sink debug::set_sink(Sink sink) {
  std::lock_guard lock(sink_state().guard);
  std::swap(sink, sink_state().sink);
  return sink;
}

namespace {

std::string listed(std::span<const Type> types) {
  std::string out;
  for (const Type& t : types) out += (out.empty() ? "" : ", ") + t.str();
  return out.empty() ? "none" : out;
}

}  // namespace

namespace flat {

void debug_print(std::string_view format, std::span<const Array> args, const Location& at) {
  auto pieces = pieces_of(format);
  if (!pieces)
    throw Error(fmt::format("[debug::print] a brace stands alone in \"{}\"", format), at,
                "{} stands for an array, {{ and }} for braces");
  if (pieces->size() - 1 != args.size())
    throw Error(fmt::format("[debug::print] \"{}\" has {} placeholders, got {} arrays ({})", format, pieces->size() - 1,
                            args.size(), listed(types_of(args, at))),
                at, "give one array for every {}");
  PrintParams p;
  p.format = std::string(format);
  anew::bind(debug_print_row(), make_params(std::move(p)), args, at);
}

namespace {

// With one key, the same function; without, a function of its own.
Arrays bind_callback(std::string_view op, const Primitive& row, const FlatFunction& f, const detail::FunctionKey& key,
                     std::span<const ShapeDtype> results, std::span<const Array> args, const Location& at) {
  detail::check_function(f, at);
  CallbackParams p;
  for (const Type& t : results) p.results.emplace_back(t.shape, t.dtype);
  auto checked = [f, op, want = Types(results.begin(), results.end()), at](std::span<const Array> x) {
    constexpr const char* hint = "return what the result type says, or give the result type of what is returned";
    Arrays y = f(x);
    if (y.size() != want.size())
      throw Error(fmt::format("[{}] the function gave {} arrays ({}), its result type has {} ({})", op, y.size(),
                              listed(types_of(y, at)), want.size(), listed(want)),
                  at, hint);
    for (std::size_t i = 0; i < y.size(); ++i) {
      check_operand(y[i], at);
      if (y[i].value()->weak && want[i].shape.ndim() == 0) y[i] = astype(y[i], want[i].dtype);
      if (!(type_of(y[i]) == want[i]))
        throw Error(
            fmt::format("[{}] the function gave {}, its result type says {}", op, type_of(y[i]).str(), want[i].str()),
            at, hint);
    }
    return y;
  };
  const auto shared = std::make_shared<const FlatFunction>(checked);
  p.callback = {shared, key ? key : shared, source_line(at).str()};
  return anew::bind(row, make_params(std::move(p)), args, at);
}

}  // namespace

Arrays io_callback(const FlatFunction& f, std::span<const ShapeDtype> results, std::span<const Array> args,
                   const Location& at) {
  return bind_callback("io_callback", io_callback_row(), f, nullptr, results, args, at);
}
Arrays pure_callback(const FlatFunction& f, std::span<const ShapeDtype> results, std::span<const Array> args,
                     const Location& at) {
  return bind_callback("pure_callback", pure_callback_row(), f, nullptr, results, args, at);
}
void debug_callback(const FlatFunction& f, std::span<const Array> args, const Location& at) {
  bind_callback("debug::callback", debug_callback_row(), f, nullptr, {}, args, at);
}

}  // namespace flat

namespace detail {

Arrays run_callback(CallbackKind kind, const FlatFunction& f, const FunctionKey& key, const Arrays& like,
                    const Arrays& args, const Location& at) {
  const Types results = types_of(like, at);
  switch (kind) {
    case CallbackKind::io: return flat::bind_callback("io_callback", io_callback_row(), f, key, results, args, at);
    case CallbackKind::pure:
      return flat::bind_callback("pure_callback", pure_callback_row(), f, key, results, args, at);
    case CallbackKind::debug: flat::bind_callback("debug::callback", debug_callback_row(), f, key, {}, args, at);
  }
  return {};
}

}  // namespace detail
}  // namespace anew
