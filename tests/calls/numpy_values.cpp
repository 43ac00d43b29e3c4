// Random options of <anew/numpy.h>, and functions of arrays for those that take one.
#include "calls/random_values.h"

namespace anew::calls {
namespace {

template <class T>
T value(Random& r) {
  return make(r, Tag<T>{});
}
Array maybe(Random& r) { return r.chance(60) ? Array() : value<Array>(r); }
std::optional<std::int64_t> some_size(Random& r) { return value<std::optional<std::int64_t>>(r); }

}  // namespace

MeshgridOptions make(Random& r, Tag<MeshgridOptions>) {
  return {r.chance(50), r.one_of<std::string>({"xy", "ij", "xy", "ij", "yx"})};
}
SizeOptions make(Random& r, Tag<SizeOptions>) { return {some_size(r), maybe(r)}; }
UniqueOptions make(Random& r, Tag<UniqueOptions>) { return {some_size(r), maybe(r), value<std::optional<int>>(r)}; }
BincountOptions make(Random& r, Tag<BincountOptions>) {
  return {maybe(r), some_size(r), r.chance(70) ? 0 : value<std::int64_t>(r)};
}
Bins make(Random& r, Tag<Bins>) {
  if (r.chance(50)) return value<Array>(r);
  return r.chance(60) ? 1 + r.below(5) : value<std::int64_t>(r);
}
HistogramOptions make(Random& r, Tag<HistogramOptions>) {
  HistogramOptions o{{}, maybe(r), r.chance(30)};
  if (r.chance(40)) o.range = std::pair(value<double>(r), value<double>(r));
  return o;
}
CovOptions make(Random& r, Tag<CovOptions>) {
  return {r.chance(50), r.chance(50) ? 1 : value<double>(r), maybe(r), maybe(r)};
}
numpy::PolyfitOptions make(Random& r, Tag<numpy::PolyfitOptions>) {
  return {r.chance(60) ? std::optional<double>() : value<double>(r), maybe(r)};
}
nn::initializers::FanOptions make(Random& r, Tag<nn::initializers::FanOptions>) {
  if (r.chance(50)) return {};
  return {value<Axes>(r), value<Axes>(r), value<Axes>(r)};
}
InterpOptions make(Random& r, Tag<InterpOptions>) {
  return {maybe(r), maybe(r), r.chance(60) ? std::optional<double>() : value<double>(r)};
}
ReduceOptions make(Random& r, Tag<ReduceOptions>) { return {maybe(r), maybe(r)}; }

std::function<Array(Array)> make(Random& r, Tag<std::function<Array(Array)>>) {
  switch (r.below(5)) {
    case 0: return {};
    case 1: return [](const Array&) { return Array(); };
    case 2: return [](const Array& x) { return sum(x); };
    default: return [](const Array& x) { return x + x; };
  }
}
std::function<Array(Array, Array)> make(Random& r, Tag<std::function<Array(Array, Array)>>) {
  switch (r.below(5)) {
    case 0: return {};
    case 1: return [](const Array&, const Array&) { return Array(); };
    case 2: return [](const Array& x, const Array&) { return sum(x); };
    default: return [](const Array& x, const Array& y) { return maximum(x, y); };
  }
}
std::function<Array(Array, int)> make(Random& r, Tag<std::function<Array(Array, int)>>) {
  if (r.chance(10)) return {};
  return [](const Array& x, int axis) { return sum(x, axis); };
}
std::function<Array(Array, std::int64_t)> make(Random& r, Tag<std::function<Array(Array, std::int64_t)>>) {
  if (r.chance(10)) return {};
  return [](const Array& x, std::int64_t k) { return triu(x, k); };
}
std::function<Array(std::vector<Array>)> make(Random& r, Tag<std::function<Array(std::vector<Array>)>>) {
  if (r.chance(10)) return {};
  return [](const std::vector<Array>& x) { return x.empty() ? Array(1.0) : x[0] + x.back(); };
}

}  // namespace anew::calls
