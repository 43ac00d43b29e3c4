// Index maps between loop nests, found through memory: a kernel stores an element at an address, another loads it at an
// address, and both are affine in their loop variables, whatever views lie between. `match` answers which iteration of
// the first makes what an iteration of the second reads. Invariant: a map it returns is exact for every iteration.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "passes/lowered.h"

namespace anew::passes {

using Extents = std::vector<std::int64_t>;

// Which element of its storage an iteration touches: base + sum of coefficient * loop variable, in elements.
struct Address {
  std::int64_t base = 0;
  std::vector<std::int64_t> coefficients;
  friend bool operator==(const Address&, const Address&) = default;
};
Address address_of(const Value& value, const std::vector<loops::Affine>& index, std::size_t rank);

// The variables of one nest as functions of those of another.
using Map = std::vector<loops::Affine>;
loops::Affine compose(const loops::Affine& f, const Map& map, std::size_t rank);
Address compose(const Address& address, const Map& map, std::size_t rank);

// Variable v becomes two, v (outer) and v + 1 (inner, of this extent): the same iterations in the same order.
struct Cut {
  std::size_t variable;
  std::int64_t inner;
};
void apply(const Cut& cut, Extents& extents);
Map map_of(const Cut& cut, std::size_t rank);  // from the variables after it to those before it

struct Match {
  std::vector<Cut> cuts;  // of the loading nest, one after the other, so that the map is affine
  Extents extents;        // of it after them
  Map map;                // variables of the storing nest as functions of those
  bool bijective = false;
};
// No answer where some iteration loads what the other nest does not store, or no affine map says it.
std::optional<Match> match(const Address& store, const Extents& storing, const Address& load, const Extents& loading);

std::int64_t iterations(const Extents& extents);

}  // namespace anew::passes
