// Making values: concrete, literal, traced.
#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "runtime/spilled.h"
#include "trace/remember.h"

namespace anew {

namespace {

constexpr int thread_bits = 40;  // the number of the thread stands above

std::uint64_t first_sequence() {
  static std::atomic<std::uint64_t> threads = 0;
  return threads++ << thread_bits;
}

}  // namespace

std::uint64_t next_sequence() {
  thread_local std::uint64_t counter = first_sequence();
  return ++counter;
}

bool made_since(std::uint64_t start, const Array& x) {
  const std::uint64_t made = x.value()->origin.sequence;
  return made > start && made >> thread_bits == start >> thread_bits;
}

const std::byte* Value::data() const {
  if (literal) return reinterpret_cast<const std::byte*>(&bits);
  const std::byte* const at = buffer->data() + offset * static_cast<std::int64_t>(size_of(type.dtype));
  return buffer->borrowed() ? in_memory(at, Location()) : at;
}

Array make_literal(ir::Literal l) {
  auto v = std::make_shared<Value>();
  v->type = {{}, l.dtype};
  v->literal = true;
  v->bits = l.bits;
  return Array(std::shared_ptr<const Value>(std::move(v)));
}

ir::Literal literal_of(const Array& x) { return {x.value()->type.dtype, x.value()->bits}; }

Array make_concrete(const Type& type, BufferRef buffer, std::int64_t offset, const ir::Strides& strides) {
  auto v = std::make_shared<Value>(type, std::move(buffer), offset, strides);
  v->origin.sequence = next_sequence();
  return Array(std::shared_ptr<const Value>(std::move(v)));
}

Array empty_array(const Type& type, const Location& at) {
  auto bytes = checked_bytes(type.shape, type.dtype);
  if (!bytes) throw Error(fmt::format("an array of type {} is too large (or has a negative size)", type.str()), at);
  return make_concrete(type, allocate(*bytes, at), 0, row_major(type.shape));
}

Array traced_value(const std::shared_ptr<Trace>& trace, const Type& type) {
  auto v = std::make_shared<Value>();
  v->type = type;
  v->trace = trace;
  return Array(std::shared_ptr<const Value>(std::move(v)));
}

Value& mutable_value(const Array& fresh) { return const_cast<Value&>(*fresh.value()); }

Array fresh_alias(const Array& x) {
  auto v = std::make_shared<Value>(*strong(x).value());
  v->origin = {};
  v->origin.sequence = x.value()->origin.sequence;
  if (v->literal) {  // an argument is a value like any other, not a constant of the program
    v->literal = false;
    v->origin.sequence = next_sequence();
    v->buffer = allocate(8);
    std::memcpy(v->buffer->data(), &v->bits, sizeof v->bits);
  }
  return Array(std::shared_ptr<const Value>(std::move(v)));
}

Identity identity(const Array& x) {
  const Value& v = *x.value();
  if (!v.trace) return {&v, nullptr, nullptr, -1};
  return {v.trace.get(), v.first.value(), v.second.value(), v.var};
}

Type type_of(const Array& x) {
  if (!x.value()) throw InternalError("type_of an empty Array");
  return x.value()->type;
}

Types types_of(std::span<const Array> x, const Location& at) {
  Types types;
  for (const Array& a : x) {
    check_operand(a, at);
    types.push_back(type_of(a));
  }
  return types;
}

}  // namespace anew
