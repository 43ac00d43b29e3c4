// Eager evaluation: an equation on concrete inputs becomes a view, or runs what its row lowers to.
// Lowered kernels are translated once per (primitive, params, types) and kept per thread; large ones share the pool,
// cut by shapes only.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/float_mode.h"
#include "base/lru.h"
#include "base/per_thread.h"
#include "loops/build.h"
#include "loops/interpreter.h"
#include "runtime/pool.h"
#include "trace/trace.h"
#include "trace/watch.h"

namespace anew {
namespace {

Observer& observer() { return PerThread<Observer>::get(); }

// What an equation of these types runs as.
struct Prepared {
  const Primitive* primitive;
  ParamsRef params;
  Types in, out;
  std::vector<loops::Bytecode> kernels;
  ir::Lowered::Call call;
  std::size_t scratch = 0;  // bytes

  bool is_for(const Request& r) const {
    if (primitive != &r.primitive || in.size() != r.inputs.size()) return false;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!(in[i] == r.inputs[i].value()->type)) return false;
    return params == r.params || params->equals(*r.params);
  }
};

std::size_t hash_of(const Request& r) {
  std::size_t h = reinterpret_cast<std::size_t>(&r.primitive);
  hash_combine(h, r.params->hash());
  for (const Array& x : r.inputs) hash_combine(h, hash_value(x.value()->type));
  return h;
}

std::shared_ptr<const Prepared> prepare(const Request& r) {
  struct Cache : Lru<std::shared_ptr<const Prepared>> {
    Cache() : Lru(4096) {}
  };
  auto& cache = PerThread<Cache>::get();
  std::size_t h = hash_of(r);
  if (auto* found = cache.find(h, [&](const auto& p) { return p->is_for(r); })) return *found;
  auto p = std::make_shared<Prepared>();
  p->primitive = &r.primitive;
  p->params = r.params;
  for (const Array& x : r.inputs) p->in.push_back(x.value()->type);
  p->out = infer_outputs(r, p->in);
  if (!r.primitive.view) {
    if (!r.primitive.lower) ir::missing_rule(r.primitive, "lower", r.at);
    ir::Lowered lowered = r.primitive.lower(*r.params, p->in, p->out);
    for (const loops::Kernel& k : lowered.kernels) p->kernels.emplace_back(k);
    p->call = std::move(lowered.call);
    p->scratch = lowered.scratch;
  }
  if (r.primitive.facts.effects)
    return p;  // a user's callback would live, with all that it captures, as long as the thread
  cache.add(h, p);
  return p;
}

void run_kernel(const loops::Bytecode& code, std::span<const loops::Operand> operands) {
  const loops::Schedule& s = code.schedule();
  if (s.grain == 0) return loops::run(code, operands);
  BufferRef scratch = s.scratch ? allocate(s.scratch) : BufferRef{};
  void* memory = s.scratch ? scratch->data() : nullptr;
  parallel_for(s.units, s.grain,
               [&](std::int64_t begin, std::int64_t end) { loops::run(code, operands, {begin, end}, memory); });
  if (s.scratch) loops::finish(code, operands, memory);
}

ir::Memory memory_of(const Array& x) {
  const Value& v = *x.value();
  return {const_cast<std::byte*>(v.data()), v.type, v.strides};
}

void stamp(const Array& fresh, const Request& r, int output, std::uint64_t sequence) {
  mutable_value(fresh).origin = origin_of(r, output, sequence);
}

Arrays run_lowered(const Prepared& p, const Request& r) {
  Arrays out;
  out.reserve(p.out.size());
  for (const Type& t : p.out) out.push_back(empty_array(t, r.at));
  if (p.call) {
    // Where nothing is made, a call would walk the other axes all the same, however long they are.
    auto empty = [](const Type& t) { return t.shape.size() == 0; };
    if (!r.primitive.facts.effects && !out.empty() && std::all_of(p.out.begin(), p.out.end(), empty)) return out;
    std::vector<ir::Memory> in, to;
    for (const Array& x : r.inputs) in.push_back(memory_of(x));
    for (const Array& x : out) to.push_back(memory_of(x));
    BufferRef scratch = p.scratch ? allocate(p.scratch, r.at) : BufferRef{};
    const FloatMode mode;
    p.call(in, to, p.scratch ? scratch->data() : nullptr);
    return out;
  }
  constexpr std::size_t few = 8;
  std::array<loops::Operand, few> inline_operands;
  std::vector<loops::Operand> many;
  std::size_t n = r.inputs.size() + out.size();
  if (n > few) many.resize(n);
  std::span<loops::Operand> operands = n > few ? std::span(many) : std::span(inline_operands).first(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Value& v = *(i < r.inputs.size() ? r.inputs[i] : out[i - r.inputs.size()]).value();
    operands[i] = {const_cast<std::byte*>(v.data()), v.strides.begin()};
  }
  for (const loops::Bytecode& code : p.kernels) run_kernel(code, operands);
  return out;
}

// The elements of x in a new row-major array; not a row of the language, so no trace ever sees it.
const Primitive& copy_primitive() {
  static const Primitive& row = *new Primitive{
      .name = "copy",
      .infer = [](const ir::InferArgs& a) { return Types{a.in[0]}; },
      .lower =
          [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
            return ir::Lowered{{loops::elementwise({in[0]}, [](loops::Expr x) { return x; })}, {}};
          },
  };
  return row;
}

Array look(const Prepared& p, const Request& r) {
  Array x = r.inputs[0];
  auto view = r.primitive.view(*r.params, p.in[0], x.value()->strides, p.out[0]);
  if (!view) {
    x = contiguous(x);
    view = r.primitive.view(*r.params, p.in[0], x.value()->strides, p.out[0]);
    if (!view) throw InternalError(fmt::format("[{}] has no view of a row-major operand", r.primitive.name));
  }
  const Value& v = *x.value();
  if (v.literal) {  // a scalar held inline has no buffer to look at
    Array own = empty_array({{}, v.type.dtype}, r.at);
    std::memcpy(own.value()->buffer->data(), &v.bits, size_of(v.type.dtype));
    return make_concrete(p.out[0], own.value()->buffer, view->offset, view->strides);
  }
  return make_concrete(p.out[0], v.buffer, v.offset + view->offset, view->strides);
}

}  // namespace

Observer set_observer(Observer o) {
  std::swap(o, observer());
  return o;
}

Array contiguous(const Array& x) {
  const Value& v = *x.value();
  if (v.literal || is_row_major(v.type.shape, v.strides) || v.type.shape.size() == 0) return x;
  Request r{copy_primitive(), ir::no_params(), std::span(&x, 1), Location::current()};
  return run_lowered(*prepare(r), r)[0];
}

namespace {

// A result of a nested program with an identity and origin of its own: an array even where the program returns a
// number, as it is when the equation is staged; else what is kept would depend on who traces.
Array own_result(const Array& y, const Location& at) {
  const Value& v = *y.value();
  if (!v.literal) return Array(std::make_shared<const Value>(v));
  Array a = empty_array(v.type, at);
  std::memcpy(a.value()->buffer->data(), v.data(), size_of(v.type.dtype));
  return a;
}

}  // namespace

Arrays evaluate_now(const Request& r) {
  for (const Array& x : r.inputs) {
    const Value& v = *x.value();
    if (v.trace)
      throw Error(fmt::format("[{}] a value of type {} that is being traced for {} is used outside of that trace",
                              r.primitive.name, v.type.str(), v.trace->what()),
                  r.at, "traced values belong to the thread and the call that trace them");
    if (v.abstract)
      throw Error(
          fmt::format("[{}] an abstract array of type {} has no data to compute with", r.primitive.name, v.type.str()),
          r.at, "abstract arrays describe arguments of make_program, eval_shape and saved_residuals");
  }
  if (const Observer& o = observer()) o(r.primitive);
  std::uint64_t sequence = next_sequence();
  Arrays out;
  if (r.primitive.run) {
    TraceScope nobody(nullptr);  // what is evaluated is not traced, whoever asked for it
    out = r.primitive.run(r.params, r.inputs, r.at);
    for (Array& y : out) y = own_result(y, r.at);
  } else {
    auto prepared = prepare(r);
    if (r.primitive.view) out.push_back(look(*prepared, r));
    else out = run_lowered(*prepared, r);
  }
  for (std::size_t i = 0; i < out.size(); ++i) stamp(out[i], r, static_cast<int>(i), sequence);
  if (watch::on()) [[unlikely]]
    watch::made(r, out);
  return out;
}

}  // namespace anew
