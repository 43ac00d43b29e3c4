// Reading and writing at computed places. StableHLO's gather clips places and its scatter drops those outside; the
// other of both rules is written around them.
#include "ops/gather.h"
#include "stablehlo/rows.h"

namespace anew::stablehlo {
namespace {

// How many places an axis of the operand has for a slice, for each number of an index vector: [numbers].
std::vector<std::int64_t> last_places(const std::vector<int>& axes, const Shape& operand, const Shape& sizes) {
  std::vector<std::int64_t> out;
  for (int a : axes) out.push_back(operand[a] - sizes[a]);
  return out;
}
Value limits(Writer& w, const Value& indices, const std::vector<std::int64_t>& last) {
  return w.broadcast(w.integers(indices.type.dtype, last), indices.type.shape, {indices.type.shape.ndim() - 1});
}
// Indices as numbers that hold every size: narrow ones may not.
Value wide_indices(Writer& w, const Value& i) {
  return w.convert(i, size_of(i.type.dtype) < 4 ? (is_signed(i.type.dtype) ? i32 : u32) : i.type.dtype);
}

}  // namespace

Values write_gather(const Context& c) {
  using Axes = std::vector<int>;
  const Axes offset = c.param<Axes>("offset_dims"), map = c.param<Axes>("start_index_map");
  const Shape sizes = c.param<Shape>("slice_sizes");
  const Value indices = wide_indices(c.w, c.in[1]);
  const int vector = indices.type.shape.ndim() - 1;
  const std::string attributes = fmt::format(
      "dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{}], operand_batching_dims = "
      "[{}], start_indices_batching_dims = [{}], start_index_map = [{}], index_vector_dim = {}>, indices_are_sorted = "
      "false, slice_sizes = {}",
      listed(offset), listed(c.param<Axes>("collapsed_slice_dims")), listed(c.param<Axes>("operand_batching_dims")),
      listed(c.param<Axes>("start_indices_batching_dims")), listed(map), vector, array_text(sizes));
  const Value y = c.w.op1({"stablehlo.gather", attributes}, {c.in[0], indices}, c.out[0]);
  if (c.param<std::string>("mode") != "fill_or_drop") return {y};
  // Inside along every axis; then over the places of the result.
  const Value last = limits(c.w, indices, last_places(map, c.in[0].type.shape, sizes));
  Value inside = c.w.compare("LE", indices, last);
  if (is_signed(indices.type.dtype))
    inside = c.w.binary("and", inside, c.w.compare("GE", indices, c.w.integer(indices.type, 0)));
  inside = c.w.reduce("and", inside, {vector}, 1);
  Axes places;
  for (int i = 0; i < c.out[0].shape.ndim(); ++i)
    if (std::find(offset.begin(), offset.end(), i) == offset.end()) places.push_back(i);
  const DType d = c.out[0].dtype;
  const auto given = c.param<std::optional<double>>("fill_value");
  const std::uint64_t fill = given && is_integer(d) ? bits_of(d, convert_number<std::int64_t>(*given))
                             : given                ? bits_of(d, *given)
                             : is_float(d)          ? bits_of(d, std::numeric_limits<double>::quiet_NaN())
                                                    : extreme_bits(d, is_signed_integer(d));
  return {c.w.select(c.w.broadcast(inside, c.out[0].shape, places), y, c.w.constant(c.out[0], fill))};
}

Values write_scatter(const Context& c) {
  using Axes = std::vector<int>;
  const Axes window = c.param<Axes>("update_window_dims"), inserted = c.param<Axes>("inserted_window_dims"),
             batch = c.param<Axes>("operand_batching_dims"), map = c.param<Axes>("scatter_dims_to_operand_dims"),
             indices_batch = c.param<Axes>("scatter_indices_batching_dims");
  Value indices = wide_indices(c.w, c.in[1]);
  const Type& x = c.in[0].type;
  const Shape sizes = slice_sizes_of({window, inserted, map, batch, indices_batch}, x.shape.ndim(), c.in[2].type.shape);
  if (c.param<std::string>("mode") != "fill_or_drop") {
    const Value last = limits(c.w, indices, last_places(map, x.shape, sizes));
    indices = c.w.binary("minimum", c.w.binary("maximum", indices, c.w.integer(indices.type, 0)), last);
  }
  const std::string attributes = fmt::format(
      "indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], "
      "inserted_window_dims = [{}], input_batching_dims = [{}], scatter_indices_batching_dims = [{}], "
      "scatter_dims_to_operand_dims = [{}], index_vector_dim = {}>, unique_indices = {}",
      listed(window), listed(inserted), listed(batch), listed(indices_batch), listed(map),
      indices.type.shape.ndim() - 1, c.param<bool>("unique_indices"));
  const Type one = scalar(x.dtype);
  auto join = [&](Writer& w, const Values& v) {
    w.give({c.combine == loops::Combine::none ? v[1] : w.binary(word_of(c.combine), v[0], v[1])});
  };
  return {c.w.op1({"stablehlo.scatter", attributes, {join}, {one, one}}, {c.in[0], indices, c.in[2]}, c.out[0])};
}

namespace {

// Starts of one type.
Values starts_from(const Context& c, std::size_t first) {
  Values out;
  DType d = i32;
  for (std::size_t i = first; i < c.in.size(); ++i)
    if (c.in[i].type.dtype != i32) d = i64;
  for (std::size_t i = first; i < c.in.size(); ++i) out.push_back(c.w.convert(c.in[i], d));
  return out;
}

}  // namespace

Values write_dynamic_slice(const Context& c) { return {c.w.dynamic_slice(c.in[0], starts_from(c, 1), c.out[0].shape)}; }
Values write_dynamic_update_slice(const Context& c) {
  return {c.w.dynamic_update_slice(c.in[0], c.in[1], starts_from(c, 2))};
}

}  // namespace anew::stablehlo
