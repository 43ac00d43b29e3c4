// Matching of addresses. The strides of a store that writes every element once are the weights of a number system: an
// address has one sequence of digits, and the digits are the loop variables. A load's base and coefficients are written
// in that system one by one; if no digit ever overflows, the sums are the digits of every address that it reads.
#include "passes/fuse_map.h"

#include <algorithm>
#include <numeric>

#include "loops/nest.h"

namespace anew::passes {
namespace {

struct Digit {
  std::int64_t weight;  // > 0
  std::int64_t extent;
  std::size_t variable;
  bool down;  // the digit is extent - 1 - variable
};

// Variables that move the address, by falling weight; `base` becomes the lowest address.
std::vector<Digit> digits_of(const Address& address, const Extents& extents, std::int64_t& base) {
  std::vector<Digit> digits;
  base = address.base;
  for (std::size_t v = 0; v < extents.size(); ++v) {
    const std::int64_t c = address.coefficients[v];
    if (c == 0 || extents[v] == 1) continue;
    if (c < 0) base += c * (extents[v] - 1);
    digits.push_back({c < 0 ? -c : c, extents[v], v, c < 0});
  }
  std::stable_sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.weight > b.weight; });
  return digits;
}

// Whether different values of the variables give different addresses.
bool injective(const std::vector<Digit>& digits, const Extents& extents) {
  std::size_t moving = 0;
  for (std::int64_t e : extents) moving += e != 1;
  if (digits.size() != moving) return false;
  std::int64_t reach = 0;
  for (std::size_t k = digits.size(); k-- > 0;) {
    if (digits[k].weight <= reach) return false;
    reach += digits[k].weight * (digits[k].extent - 1);
  }
  return true;
}

// `number` in the number system of `digits`; false if something is left.
bool write(std::int64_t number, const std::vector<Digit>& digits, std::vector<std::int64_t>& out) {
  out.assign(digits.size(), 0);
  for (std::size_t k = 0; k < digits.size(); ++k) {
    out[k] = number / digits[k].weight;
    number -= out[k] * digits[k].weight;
  }
  return number == 0;
}

// The cut after which one variable no longer crosses the border between digit k and the next higher one.
std::optional<Cut> cut_for(const std::vector<Digit>& loads, const std::vector<std::vector<std::int64_t>>& parts,
                           const std::vector<Digit>& stores, std::size_t k) {
  if (k == 0) return std::nullopt;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (parts[i][k] == 0) continue;
    const std::int64_t above = stores[k - 1].weight, inner = above / std::gcd(loads[i].weight, above);
    if (inner > 1 && inner < loads[i].extent && loads[i].extent % inner == 0) return Cut{loads[i].variable, inner};
  }
  return std::nullopt;
}

}  // namespace

Address address_of(const Value& value, const std::vector<loops::Affine>& index, std::size_t rank) {
  Address out{value.offset / static_cast<std::int64_t>(size_of(value.type.dtype)), std::vector<std::int64_t>(rank)};
  for (std::size_t d = 0; d < index.size(); ++d) {
    const std::int64_t stride = value.strides[static_cast<int>(d)];
    out.base += stride * index[d].constant;
    for (std::size_t v = 0; v < rank; ++v) out.coefficients[v] += stride * index[d].coefficients[v];
  }
  return out;
}

loops::Affine compose(const loops::Affine& f, const Map& map, std::size_t rank) {
  loops::Affine out{std::vector<std::int64_t>(rank), f.constant};
  for (std::size_t j = 0; j < map.size(); ++j) {
    const std::int64_t c = f.coefficients[j];
    if (c == 0) continue;
    out.constant += c * map[j].constant;
    for (std::size_t v = 0; v < rank; ++v) out.coefficients[v] += c * map[j].coefficients[v];
  }
  return out;
}

Address compose(const Address& address, const Map& map, std::size_t rank) {
  loops::Affine f = compose(loops::Affine{address.coefficients, address.base}, map, rank);
  return {f.constant, std::move(f.coefficients)};
}

void apply(const Cut& cut, Extents& extents) {
  extents[cut.variable] /= cut.inner;
  extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(cut.variable) + 1, cut.inner);
}

Map map_of(const Cut& cut, std::size_t rank) {
  Map map(rank, loops::Affine{std::vector<std::int64_t>(rank + 1), 0});
  for (std::size_t v = 0; v < rank; ++v) {
    map[v].coefficients[v + (v > cut.variable)] = v == cut.variable ? cut.inner : 1;
    if (v == cut.variable) map[v].coefficients[v + 1] = 1;
  }
  return map;
}

std::int64_t iterations(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

std::optional<Match> match(const Address& store, const Extents& storing, const Address& load, const Extents& loading) {
  std::int64_t lowest_store = 0;
  const std::vector<Digit> stores = digits_of(store, storing, lowest_store);
  if (!injective(stores, storing)) return std::nullopt;
  Match out{{}, loading, {}, false};
  Address read = load;
  while (true) {
    std::int64_t lowest = 0;
    const std::vector<Digit> loads = digits_of(read, out.extents, lowest);
    std::vector<std::int64_t> first;
    std::vector<std::vector<std::int64_t>> parts(loads.size());
    if (lowest < lowest_store || !write(lowest - lowest_store, stores, first)) return std::nullopt;
    for (std::size_t i = 0; i < loads.size(); ++i)
      if (!write(loads[i].weight, stores, parts[i])) return std::nullopt;
    std::size_t over = stores.size();  // a digit that overflows
    for (std::size_t k = 0; k < stores.size(); ++k) {
      std::int64_t highest = first[k];
      for (std::size_t i = 0; i < loads.size(); ++i) highest += parts[i][k] * (loads[i].extent - 1);
      if (highest >= stores[k].extent) over = k;
    }
    const std::size_t rank = out.extents.size();
    if (over < stores.size()) {
      const std::optional<Cut> cut = cut_for(loads, parts, stores, over);
      if (!cut || rank == loops::max_rank) return std::nullopt;
      read = compose(read, map_of(*cut, rank), rank + 1);
      apply(*cut, out.extents);
      out.cuts.push_back(*cut);
      continue;
    }
    out.bijective = iterations(out.extents) == iterations(storing) && injective(loads, out.extents);
    out.map.assign(storing.size(), loops::Affine{std::vector<std::int64_t>(rank), 0});
    for (std::size_t k = 0; k < stores.size(); ++k) {
      loops::Affine& f = out.map[stores[k].variable];
      f.constant = first[k];
      for (std::size_t i = 0; i < loads.size(); ++i) {
        f.coefficients[loads[i].variable] = loads[i].down ? -parts[i][k] : parts[i][k];
        if (loads[i].down) f.constant += parts[i][k] * (loads[i].extent - 1);
      }
      if (!stores[k].down) continue;
      f.constant = stores[k].extent - 1 - f.constant;
      for (std::int64_t& c : f.coefficients) c = -c;
    }
    return out;
  }
}

}  // namespace anew::passes
