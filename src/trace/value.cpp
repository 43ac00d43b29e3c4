// Making values: concrete, literal, traced.
#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "base/per_thread.h"
#include "runtime/pages.h"
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

namespace {

// Memory of Values, which come and go with every operation: a thread keeps some at hand.
struct ValueBlocks {
  static constexpr std::size_t most = 256;
  std::vector<void*> free;
  ValueBlocks() { free.reserve(most); }
  ~ValueBlocks() {
    for (void* p : free) ::operator delete(p);
  }
};
template <class T>
struct Recycling {
  using value_type = T;
  Recycling() = default;
  template <class U>
  Recycling(const Recycling<U>&) {}
  T* allocate(std::size_t) {
    std::vector<void*>& free = PerThread<ValueBlocks>::get().free;
    if (free.empty()) return static_cast<T*>(::operator new(sizeof(T)));
    void* p = free.back();
    free.pop_back();
    unpoison(static_cast<std::byte*>(p), sizeof(T));
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) {
    ValueBlocks* own = PerThread<ValueBlocks>::if_made();  // nothing is made for what goes: that could fail
    if (!own || own->free.size() == ValueBlocks::most) return ::operator delete(p);
    poison(reinterpret_cast<std::byte*>(p), sizeof(T));
    own->free.push_back(p);
  }
  friend bool operator==(const Recycling&, const Recycling&) { return true; }
};

template <class... A>
std::shared_ptr<Value> new_value(A&&... a) {
  return std::allocate_shared<Value>(Recycling<Value>(), std::forward<A>(a)...);
}

}  // namespace

Array make_literal(ir::Literal l) {
  auto v = new_value();
  v->type = {{}, l.dtype};
  v->literal = true;
  v->bits = l.bits;
  v->origin.sequence = next_sequence();
  return Array(std::shared_ptr<const Value>(std::move(v)));
}

ir::Literal literal_of(const Array& x) { return {x.value()->type.dtype, x.value()->bits}; }

Array make_concrete(const Type& type, BufferRef buffer, std::int64_t offset, const ir::Strides& strides) {
  auto v = new_value(type, std::move(buffer), offset, strides);
  v->origin.sequence = next_sequence();
  return Array(std::shared_ptr<const Value>(std::move(v)));
}

Array empty_array(const Type& type, const Location& at) {
  auto bytes = checked_bytes(type.shape, type.dtype);
  if (!bytes) throw Error(fmt::format("an array of type {} is too large (or has a negative size)", type.str()), at);
  return make_concrete(type, allocate(*bytes, at), 0, row_major(type.shape));
}

Array traced_value(const std::shared_ptr<Trace>& trace, const Type& type) {
  auto v = new_value();
  v->type = type;
  v->trace = trace;
  return Array(std::shared_ptr<const Value>(std::move(v)));
}

Value& mutable_value(const Array& fresh) { return const_cast<Value&>(*fresh.value()); }

Array fresh_alias(const Array& x) {
  auto v = new_value(*strong(x).value());
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
