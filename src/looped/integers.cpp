// Functions of integers that repeat until they are done.
#include <anew/flat.h>
#include <anew/numpy.h>
#include <fmt/format.h>

#include "ops/promote.h"

namespace anew {
namespace {

std::pair<Array, Array> both_integers(std::string_view op, const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both(op, a, b, false);
  if (!is_integer(type_of(x).dtype)) fail(op, a.at, fmt::format("needs integers, got {}", type_of(x).str()));
  PinLine pin(a.at, op);
  return {x, y};
}

}  // namespace

// Euclid's algorithm: two numbers of 64 bits need at most 92 divisions, found by the remainders themselves.
Array gcd(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both_integers("gcd", a, b);
  PinLine pin(a.at);
  const Shape shape = type_of(x + y).shape;
  Array u = broadcast_to(abs(x), shape), v = broadcast_to(abs(y), shape);
  return flat::while_loop([](std::span<const Array> s) { return any(s[1] != 0); },
                          [](std::span<const Array> s) {
                            Array done = s[1] == 0, by = where(done, 1, s[1]);
                            return Arrays{where(done, s[0], s[1]), where(done, 0, lax::rem(s[0], by))};
                          },
                          {u, v})[0];
}
Array lcm(const ArrayLike& a, const ArrayLike& b) {
  auto [x, y] = both_integers("lcm", a, b);
  PinLine pin(a.at);
  Array u = abs(x), v = abs(y), d = gcd(u, v);
  return where(d == 0, 0, lax::div(u, where(d == 0, 1, d)) * v);
}

}  // namespace anew
