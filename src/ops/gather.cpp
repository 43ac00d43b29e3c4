// gather: slices of an array at places that an integer array names. It moves elements only and is linear in the array;
// its transpose is scatter_add at the same places, with the same rule for what is out of bounds, so it is a true
// adjoint.
#include "ops/gather.h"

#include <fmt/format.h>

#include <limits>

#include "base/dtype.h"
#include "loops/build.h"
#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {

std::string_view name_of(lax::IndexMode mode) {
  return mode == lax::IndexMode::clip           ? "clip"
         : mode == lax::IndexMode::fill_or_drop ? "fill_or_drop"
                                                : "promise_in_bounds";
}
bool is_mode(std::string_view word) { return word == "clip" || word == "fill_or_drop" || word == "promise_in_bounds"; }

void require_integers(std::string_view op, std::string_view what, const Type& type, const Location& at) {
  if (!is_integer(type.dtype)) fail(op, at, fmt::format("{} must be integers, got {}", what, type.str()));
}

Array index_operand(std::string_view op, const Array& x, const Location& at) {
  check_operand(x, line_or(at));
  Array i = strong(x);
  require_integers(op, "indices", type_of(i), at);
  // Numbers of elements fit i64, and need not fit a narrow type.
  const DType d = type_of(i).dtype;
  if (d == u64) return astype(minimum(i, literal_integer(u64, std::numeric_limits<std::int64_t>::max())), i64);
  return is_stored(d) ? astype(i, i32) : i;
}

Array counted_from_end(const Array& i, std::int64_t n) {
  if (!is_signed(type_of(i).dtype)) return i;
  return where(i < 0, i + literal_integer(type_of(i).dtype, n), i);
}
Array wrapped_around(const Array& i, std::int64_t n) { return remainder(i, literal_integer(type_of(i).dtype, n)); }

Array zeros_of(const Type& type) { return lax::broadcast_in_dim(literal(type.dtype, 0.0), type.shape, {}); }

Shape slice_sizes_of(const lax::ScatterDimensions& d, int operand_ndim, const Shape& updates) {
  Shape out;
  std::size_t w = 0;
  for (int i = 0; i < operand_ndim; ++i) {
    bool kept = !contains(d.inserted_window_dims, i) && !contains(d.operand_batching_dims, i);
    bool known = kept && w < d.update_window_dims.size() && d.update_window_dims[w] >= 0 &&
                 d.update_window_dims[w] < updates.ndim();
    out.push_back(known ? updates[d.update_window_dims[w]] : 1);
    w += kept;
  }
  return out;
}

namespace {

bool all_axes(const std::vector<int>& axes, int ndim) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= ndim || std::count(axes.begin(), axes.end(), axes[i]) > 1) return false;
  return true;
}
bool ascending(const std::vector<int>& axes) { return std::is_sorted(axes.begin(), axes.end()); }

}  // namespace

std::string wrong_dimensions(const lax::GatherDimensions& d, const Shape& slice_sizes, const Shape& operand,
                             const Shape& indices) {
  const int n = operand.ndim(), places = indices.ndim() - 1;
  const int rank = places + static_cast<int>(d.offset_dims.size());
  if (places < 0) return "the indices have no axis for the index vector";
  if (indices[places] != static_cast<std::int64_t>(d.start_index_map.size()))
    return fmt::format("the index vector has {} numbers for {} axes", indices[places], d.start_index_map.size());
  if (!all_axes(d.offset_dims, rank) || !ascending(d.offset_dims) || !all_axes(d.collapsed_slice_dims, n) ||
      !all_axes(d.start_index_map, n) || !all_axes(d.operand_batching_dims, n) ||
      !all_axes(d.start_indices_batching_dims, places) ||
      !all_axes(joined(d.collapsed_slice_dims, d.operand_batching_dims), n) ||
      !all_axes(joined(d.start_index_map, d.operand_batching_dims), n) ||
      d.operand_batching_dims.size() != d.start_indices_batching_dims.size() || slice_sizes.ndim() != n ||
      static_cast<int>(d.offset_dims.size() + d.collapsed_slice_dims.size() + d.operand_batching_dims.size()) != n)
    return "the dimension numbers do not fit";
  for (std::size_t k = 0; k < d.operand_batching_dims.size(); ++k)
    if (operand[d.operand_batching_dims[k]] != indices[d.start_indices_batching_dims[k]])
      return "batching dimensions have different sizes";
  for (int i = 0; i < n; ++i) {
    const bool batch = contains(d.operand_batching_dims, i);  // an empty one has places for no slice
    if (slice_sizes[i] < 0 || (slice_sizes[i] > operand[i] && !batch))
      return fmt::format("a slice of size {} does not fit axis {}", slice_sizes[i], i);
    if ((contains(d.collapsed_slice_dims, i) || batch) && slice_sizes[i] != 1)
      return fmt::format("slices have size {} along axis {}, which the result does not have", slice_sizes[i], i);
  }
  return "";
}

namespace {

struct GatherParams : ir::ParamsOf<GatherParams> {
  GatherParams() = default;
  GatherParams(const lax::GatherDimensions& d, const Shape& sizes, std::string mode, std::optional<double> fill)
      : collapsed_slice_dims(d.collapsed_slice_dims),
        offset_dims(d.offset_dims),
        operand_batching_dims(d.operand_batching_dims),
        start_index_map(d.start_index_map),
        start_indices_batching_dims(d.start_indices_batching_dims),
        slice_sizes(sizes),
        mode(std::move(mode)),
        fill_value(fill) {}
  std::vector<int> collapsed_slice_dims, offset_dims, operand_batching_dims, start_index_map,
      start_indices_batching_dims;
  Shape slice_sizes;
  std::string mode;
  std::optional<double> fill_value;  // none: nan, the least integer

  lax::GatherDimensions dimensions() const {
    return {offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims};
  }
  lax::IndexMode index_mode() const {
    return mode == "clip"           ? lax::IndexMode::clip
           : mode == "fill_or_drop" ? lax::IndexMode::fill_or_drop
                                    : lax::IndexMode::promise_in_bounds;
  }
  static auto fields() {
    return std::tuple{ir::field("collapsed_slice_dims", &GatherParams::collapsed_slice_dims),
                      ir::optional_field("fill_value", &GatherParams::fill_value),
                      ir::field("mode", &GatherParams::mode),
                      ir::field("offset_dims", &GatherParams::offset_dims),
                      ir::optional_field("operand_batching_dims", &GatherParams::operand_batching_dims),
                      ir::field("slice_sizes", &GatherParams::slice_sizes),
                      ir::field("start_index_map", &GatherParams::start_index_map),
                      ir::optional_field("start_indices_batching_dims", &GatherParams::start_indices_batching_dims)};
  }
};

Types infer_gather(const ir::InferArgs& a) {
  require_count("gather", 2, a.in, a.at);
  const auto& q = a.params.as<GatherParams>();
  const Type &x = a.in[0], &indices = a.in[1];
  require_integers("gather", "indices", indices, a.at);
  if (!is_mode(q.mode)) fail("gather", a.at, fmt::format("no mode \"{}\"", q.mode));
  if (std::string wrong = wrong_dimensions(q.dimensions(), q.slice_sizes, x.shape, indices.shape); !wrong.empty())
    fail("gather", a.at, fmt::format("{}: {} at {}, slices of {}", wrong, x.str(), indices.str(), q.slice_sizes.str()));
  Shape out;
  const int places = indices.shape.ndim() - 1, rank = places + static_cast<int>(q.offset_dims.size());
  std::vector<int> kept = axes_without(x.shape.ndim(), q.collapsed_slice_dims, q.operand_batching_dims);
  std::size_t w = 0;
  for (int i = 0, place = 0; i < rank; ++i)
    out.push_back(contains(q.offset_dims, i) ? q.slice_sizes[kept[w++]] : indices.shape[place++]);
  return {{out, x.dtype}};
}

// The bits of what is read outside.
std::uint64_t fill_bits(const std::optional<double>& value, DType d) {
  if (value && is_integer(d)) return bits_of(d, convert_number<std::int64_t>(*value));
  if (value) return bits_of(d, *value);
  if (is_float(d)) return bits_of(d, std::numeric_limits<double>::quiet_NaN());
  return extreme_bits(d, is_signed_integer(d));
}

ir::Lowered lower_gather(const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
  return {{},
          [q = params.as<GatherParams>(), fill = fill_bits(params.as<GatherParams>().fill_value, in[0].dtype)](
              std::span<const ir::Memory> x, std::span<const ir::Memory> out, std::byte*) {
            Places places{q.offset_dims,
                          q.collapsed_slice_dims,
                          q.start_index_map,
                          q.operand_batching_dims,
                          q.start_indices_batching_dims,
                          q.slice_sizes,
                          q.index_mode() != lax::IndexMode::fill_or_drop};
            gather(strided(x[0]), strided(x[1]), places, reinterpret_cast<const std::byte*>(&fill), strided(out[0]));
          }};
}

Array bind_gather(const Array& x, const Array& indices, const GatherParams& q, const Location& at);

ir::Batched batch_gather(const ir::BatchArgs& a) {
  GatherParams q = a.params->as<GatherParams>();
  const bool x = a.mapped[0], indices = a.mapped[1];
  if (x) {
    q.collapsed_slice_dims = behind_front(q.collapsed_slice_dims);
    q.start_index_map = behind_front(q.start_index_map);
    q.operand_batching_dims = indices ? with_front(q.operand_batching_dims) : behind_front(q.operand_batching_dims);
    q.slice_sizes.insert(0, indices ? 1 : a.size);
  }
  if (indices)
    q.start_indices_batching_dims =
        x ? with_front(q.start_indices_batching_dims) : behind_front(q.start_indices_batching_dims);
  q.offset_dims = indices ? behind_front(q.offset_dims) : with_front(q.offset_dims);
  return {{bind_gather(a.x[0], a.x[1], q, a.at)}};
}

Primitive gathering_row() {
  Primitive p;
  p.name = "gather";
  p.parse = &GatherParams::parse;
  p.infer = infer_gather;
  p.lower = lower_gather;
  p.jvp = [](const ir::JvpArgs& a) {
    GatherParams q = a.params->as<GatherParams>();
    if (q.index_mode() == lax::IndexMode::fill_or_drop) q.fill_value = 0;
    return Arrays{bind_gather(a.t[0], a.x[1], q, Location::current())};
  };
  p.transpose = [](const ir::TransposeArgs& a) {
    const auto& q = a.params->as<GatherParams>();
    return Arrays{lax::scatter_add(zeros_of(a.in[0]), a.x[1], a.ct[0], scattering(q.dimensions()), {q.index_mode()}),
                  Array()};
  };
  p.batch = batch_gather;
  p.facts.linear_in = {0};
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (DType d : {f32, f64})
      for (const char* mode : {"clip", "fill_or_drop", "promise_in_bounds"}) {
        auto add = [&](const Shape& x, const Shape& indices, const lax::GatherDimensions& g, const Shape& sizes,
                       DType index = i32) {
          out.push_back({make_params(GatherParams(g, sizes, mode, 0)), {{{x, d}}, {{indices, index}, -3, 7}}});
        };
        add({5}, {3, 1}, {{}, {0}, {0}}, {1});
        add({4, 3}, {2, 2, 1}, {{2}, {0}, {0}}, {1, 3}, i64);
        add({3, 4}, {2, 1}, {{0}, {1}, {1}}, {3, 1});
        add({3, 4}, {5, 2}, {{}, {0, 1}, {0, 1}}, {1, 1});
        add({5, 4}, {3, 2}, {{1, 2}, {}, {1, 0}}, {2, 2});
        add({2, 4}, {2, 3, 1}, {{}, {1}, {1}, {0}, {0}}, {1, 1});
        add({4, 0}, {2, 1}, {{1}, {0}, {0}}, {1, 0});
        add({4, 2}, {0, 1}, {{1}, {0}, {0}}, {1, 2});
        add({4}, {1}, {{}, {0}, {0}}, {1});
      }
    return out;
  };
  return p;
}

struct GatherRows : Family {
  const Primitive& gather = row(gathering_row());
};
Array bind_gather(const Array& x, const Array& indices, const GatherParams& q, const Location& at) {
  return bind1(rows<GatherRows>().gather, make_params(q), {x, indices}, at);
}

}  // namespace

std::span<const Primitive* const> gather_rows() { return rows<GatherRows>().list(); }

Array lax::gather(const ArrayLike& x, const ArrayLike& indices, const GatherDimensions& dimensions,
                  const Shape& slice_sizes, IndexMode mode, std::optional<double> fill_value) {
  check_operand(x.value, line_or(x.at));
  Array i = index_operand("gather", indices.value, x.at);
  return bind_gather(strong(x.value, x.at), i,
                     GatherParams(dimensions, slice_sizes, std::string(name_of(mode)), fill_value), x.at);
}

}  // namespace anew
