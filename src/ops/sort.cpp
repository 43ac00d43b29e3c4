// Sorting along an axis: sort of any number of operands, top_k and searchsorted. Sorting is stable
// and puts nan last. The tangent of what is sorted goes the way of its primal: gathered by the permutation, which is
// all that the backward pass keeps.
#include "runtime/sort_lines.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/gather.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct SortParams : ir::ParamsOf<SortParams> {
  explicit SortParams(int d = 0, int k = 1) : dimension(d), num_keys(k) {}
  int dimension, num_keys;
  static auto fields() {
    return std::tuple{ir::field("dimension", &SortParams::dimension), ir::field("num_keys", &SortParams::num_keys)};
  }
};
struct TopParams : ir::ParamsOf<TopParams> {
  explicit TopParams(int axis = 0, std::int64_t k = 0) : axis(axis), k(k) {}
  int axis;
  std::int64_t k;
  static auto fields() { return std::tuple{ir::field("axis", &TopParams::axis), ir::field("k", &TopParams::k)}; }
};
struct SideParams : ir::ParamsOf<SideParams> {
  explicit SideParams(std::string s = "left") : side(std::move(s)) {}
  std::string side;
  static auto fields() { return std::tuple{ir::field("side", &SideParams::side)}; }
};

Arrays bind_sort(const Arrays& x, int dimension, int keys, const Location& at);

ir::Lowered lower_sort(const ir::Params& params, std::span<const Type> types, std::span<const Type>) {
  const auto& q = params.as<SortParams>();
  auto call = [axis = q.dimension, keys = q.num_keys](std::span<const ir::Memory> in, std::span<const ir::Memory> out,
                                                      std::byte* scratch) {
    std::vector<Strided> from, to;
    for (const ir::Memory& m : in) from.push_back(strided(m));
    for (const ir::Memory& m : out) to.push_back(strided(m));
    sort_lines(from, to, axis, keys, scratch);
  };
  return ir::Lowered{.kernels = {},
                     .call = call,
                     .scratch = sort_scratch(types[0].shape, q.dimension, types[0].dtype, types.size(), q.num_keys)};
}

Primitive sorting_row() {
  Primitive p;
  p.name = "sort";
  p.parse = &SortParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    const auto& q = a.params.as<SortParams>();
    if (a.in.empty()) fail("sort", a.at, "of no arrays");
    for (const Type& t : a.in)
      if (t.shape != a.in[0].shape) fail("sort", a.at, fmt::format("shapes differ: {} and {}", a.in[0].str(), t.str()));
    if (q.dimension < 0 || q.dimension >= a.in[0].shape.ndim())
      fail("sort", a.at, fmt::format("axis {} is out of range for {}", q.dimension, a.in[0].str()));
    if (q.num_keys < 1 || q.num_keys > static_cast<int>(a.in.size()))
      fail("sort", a.at, fmt::format("{} keys among {} operands", q.num_keys, a.in.size()));
    return Types(a.in.begin(), a.in.end());
  };
  p.lower = lower_sort;
  p.jvp = [](const ir::JvpArgs& a) {
    const auto& q = a.params->as<SortParams>();
    Arrays keys(a.x.begin(), a.x.begin() + q.num_keys);
    keys.push_back(lax::iota(type_of(a.x[0]).shape, q.dimension));
    Array order = bind_sort(keys, q.dimension, q.num_keys, Location::current()).back();
    Arrays out;
    for (const Array& t : a.t) out.push_back(t.value() ? take_along_axis(t, order, q.dimension, "clip") : Array());
    return out;
  };
  p.batch = [](const ir::BatchArgs& a) {
    const auto& q = a.params->as<SortParams>();
    return ir::Batched{bind_sort(all_mapped(a), q.dimension + 1, q.num_keys, a.at)};
  };
  p.facts.flops_per_element = 16;
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64}) {
      auto add = [&](const Shape& s, int axis, int keys, int operands) {
        ir::Sample sample{make_params(SortParams(axis, keys)), {}};
        for (int i = 0; i < operands; ++i) sample.inputs.push_back({{s, d}, -50, 50});  // apart
        out.push_back(sample);
      };
      add({7}, 0, 1, 1);
      add({3, 4}, 0, 1, 1);
      add({3, 4}, 1, 1, 2);
      add({2, 3, 4}, 1, 2, 3);
      add({0}, 0, 1, 1);
      add({2, 0}, 0, 1, 2);
      out.push_back({make_params(SortParams(0, 1)), {{{Shape{9}, i32}, -2, 2}, {{Shape{9}, d}}}});
    }
    return out;
  };
  return p;
}

Primitive top_row() {
  Primitive p;
  p.name = "top_k";
  p.parse = &TopParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_count("top_k", 1, a.in, a.at);
    const auto& q = a.params.as<TopParams>();
    const Shape& shape = a.in[0].shape;
    if (q.axis < 0 || q.axis >= shape.ndim())
      fail("top_k", a.at, fmt::format("axis {} is not an axis of {}", q.axis, a.in[0].str()));
    if (q.k < 0 || q.k > shape[q.axis])
      fail("top_k", a.at,
           fmt::format("of {} the {} largest along axis {} are asked for, which has {}", a.in[0].str(), q.k, q.axis,
                       shape[q.axis]),
           "k is at least 0 and at most the size of the axis");
    Shape out = a.in[0].shape;
    out[q.axis] = q.k;
    return Types{{out, a.in[0].dtype}, {out, i32}};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> types, std::span<const Type>) {
    const int axis = params.as<TopParams>().axis;
    auto call = [axis](std::span<const ir::Memory> in, std::span<const ir::Memory> out, std::byte* scratch) {
      top_k_lines(strided(in[0]), strided(out[0]), strided(out[1]), axis, scratch);
    };
    return ir::Lowered{.kernels = {}, .call = call, .scratch = top_k_scratch(types[0].shape, axis)};
  };
  p.jvp = [](const ir::JvpArgs& a) {
    return Arrays{take_along_axis(a.t[0], a.y[1], a.params->as<TopParams>().axis, "clip"), Array()};
  };
  p.facts.flops_per_element = 16;
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64}) {
      auto add = [&](const Shape& s, int axis, std::int64_t k) {
        out.push_back({make_params(TopParams(axis, k)), {{{s, d}}}});
      };
      add({6}, 0, 3);
      add({3, 5}, 1, 2);
      add({3, 5}, 0, 3);
      add({4}, 0, 0);
      add({0, 3}, 1, 2);
    }
    return out;
  };
  return p;
}

TopParams top_behind(TopParams p, std::int64_t) { return TopParams(p.axis + 1, p.k); }

Primitive searching_row() {
  Primitive p;
  p.name = "searchsorted";
  p.parse = &SideParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_count("searchsorted", 2, a.in, a.at);
    const std::string& side = a.params.as<SideParams>().side;
    if (side != "left" && side != "right")
      fail("searchsorted", a.at, fmt::format("side is \"left\" or \"right\", got \"{}\"", side));
    const Type &x = a.in[0], &v = a.in[1];
    const int batch = x.shape.ndim() - 1;
    bool fits = batch >= 0 && x.dtype == v.dtype && v.shape.ndim() >= batch;
    for (int i = 0; fits && i < batch; ++i) fits = x.shape[i] == v.shape[i];
    if (!fits)
      fail("searchsorted", a.at,
           fmt::format("needs a sorted vector and values of its type, got {} and {}", x.str(), v.str()));
    return Types{{v.shape, i32}};
  };
  p.lower = [](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    return ir::Lowered{{},
                       [right = params.as<SideParams>().side == "right"](std::span<const ir::Memory> in,
                                                                         std::span<const ir::Memory> out, std::byte*) {
                         search_sorted(strided(in[0]), strided(in[1]), right, strided(out[0]));
                       }};
  };
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array()}; };
  // One comparison for each halving.
  p.facts.flops = [](const ir::Params&, std::span<const Type> in, std::span<const Type> out) {
    return static_cast<double>(out[0].shape.size()) * std::ceil(std::log2(static_cast<double>(in[0].shape[-1] + 1)));
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64, i32})
      for (const char* side : {"left", "right"}) {
        auto add = [&](const Shape& a, const Shape& v) {
          out.push_back({make_params(SideParams(side)), {{{a, d}, 1, 1}, {{v, d}, -4, 4}}});
        };
        add({5}, {3});
        add({5}, {});
        add({5}, {2, 3});
        add({2, 4}, {2, 3});
        add({0}, {3});
        add({5}, {0});
      }
    return out;
  };
  return p;
}

struct SortRows : Family {
  const Primitive& sort = row(sorting_row());
  const Primitive& top_k = row(top_row(), top_behind);
  const Primitive& searchsorted = row(searching());

 private:
  static Primitive searching();
};
// Sorted vectors shared by all examples stay shared where the values alone are mapped.
Primitive SortRows::searching() {
  Primitive p = searching_row();
  p.batch = [](const ir::BatchArgs& a) {
    const bool own = a.mapped[0] || type_of(a.x[0]).shape.ndim() > 1;
    Arrays x = own ? all_mapped(a) : Arrays{a.x[0], a.x[1]};
    return ir::Batched{anew::bind(rows<SortRows>().searchsorted, a.params, x, a.at)};
  };
  return p;
}

Arrays bind_sort(const Arrays& x, int dimension, int keys, const Location& at) {
  return anew::bind(rows<SortRows>().sort, make_params(SortParams(dimension, keys)), x, at);
}

}  // namespace

std::span<const Primitive* const> sort_rows() { return rows<SortRows>().list(); }

Array sort(const ArrayLike& x, int axis, bool descending) {
  Array a = checked(x);
  int i = checked_axis("sort", axis, type_of(a).shape.ndim(), type_of(a), x.at);
  PinLine pin(x.at);
  Array y = bind_sort({a}, i, 1, x.at)[0];
  return descending ? flip(y, i) : y;
}

// Descending: equal elements keep their order, so the reversed array is sorted and the result reversed.
Array argsort(const ArrayLike& x, int axis, bool descending) {
  Array a = checked(x);
  const Type type = type_of(a);
  int i = checked_axis("argsort", axis, type.shape.ndim(), type, x.at);
  PinLine pin(x.at);
  Array position = lax::iota(type.shape, i, default_int());
  if (!descending) return bind_sort({stop_gradient(a), position}, i, 1, x.at)[1];
  Array y = bind_sort({flip(stop_gradient(a), i), flip(position, i)}, i, 1, x.at)[1];
  return flip(y, i);
}

std::pair<Array, Array> top_k(const ArrayLike& x, std::int64_t k, int axis) {
  Array a = checked(x);
  int i = checked_axis("top_k", axis, type_of(a).shape.ndim(), type_of(a), x.at);
  Arrays both = anew::bind(rows<SortRows>().top_k, make_params(TopParams(i, k)), {a}, x.at);
  return {both[0], both[1]};
}

Array searchsorted(const ArrayLike& a, const ArrayLike& v, std::string_view side) {
  std::array<Array, 2> both{a.value, v.value};
  for (const Array& x : both) check_operand(x, line_or(a.at));
  if (type_of(a.value).shape.ndim() != 1)
    fail("searchsorted", a.at, fmt::format("needs a sorted vector, got {}", type_of(a.value).str()));
  DType d = common_dtype(both);
  return bind1(rows<SortRows>().searchsorted, make_params(SideParams(std::string(side))),
               {coerce(a.value, d, a.at), coerce(v.value, d, a.at)}, a.at);
}

std::vector<Array> lax::sort(const ArrayList& operands, int dimension, int num_keys) {
  if (operands.values.empty()) fail("sort", operands.at, "of no arrays");
  Arrays all;
  for (const Array& x : operands.values) {
    check_operand(x, line_or(operands.at));
    all.push_back(strong(x, operands.at));
  }
  const Type first = type_of(all[0]);
  return bind_sort(all, checked_axis("sort", dimension, first.shape.ndim(), first, operands.at), num_keys, operands.at);
}

}  // namespace anew
