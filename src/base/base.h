// What the other folders need of base beyond the public vocabulary: overflow-safe sizes, warnings, hashes.
#pragma once
#include <anew/base.h>

#include <new>
#include <optional>

namespace anew {

// Bytes of an array of this type, or nothing if sizes are negative or the number does not fit.
std::optional<std::size_t> checked_bytes(const Shape& shape, DType dtype);

void warn(const std::string& text, const Location& at);

// The line of the user's that equations and errors of this thread get while it is set (PinLine, src/trace/trace.h).
inline constinit thread_local const Location* pinned_line = nullptr;
// The function of ours that pinned it, by its name or signature: what the user called, and what errors name instead of
// what it calls in turn. Empty where rules run.
inline constinit thread_local std::string_view pinned_function;

// What f gives; where it finds no memory, or has an Error without a line, an Error at the user's line.
[[noreturn]] void rethrow_at(std::string_view op, const Location& at);
template <class F>
auto with_line(std::string_view op, const Location& at, F f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    rethrow_at(op, at);
  } catch (const Error& e) {
    if (e.line() || !at.line()) throw;
    rethrow_at(op, at);
  }
}

inline void hash_combine(std::size_t& h, std::size_t v) { h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2); }
std::size_t hash_value(const Shape& s);
inline std::size_t hash_value(const ShapeDtype& t) {
  std::size_t h = hash_value(t.shape);
  hash_combine(h, static_cast<std::size_t>(t.dtype));
  return h;
}

}  // namespace anew
