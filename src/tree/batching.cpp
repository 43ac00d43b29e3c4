// What vmap and its relatives do with axes and types once trees are lists of arrays: compiled once, for all functions.
#include <anew/batching.h>
#include <anew/effects.h>
#include <fmt/format.h>

namespace anew {

MapAxes::MapAxes(int axis) : axes_{axis}, for_all_(true) {}
MapAxes::MapAxes(std::initializer_list<int> axes) : axes_(axes) {}
MapAxes::MapAxes(std::vector<int> axes) : axes_(std::move(axes)) {}
MapAxes::MapAxes(const MapAxes&) = default;
MapAxes& MapAxes::operator=(const MapAxes&) = default;
MapAxes::~MapAxes() = default;

}  // namespace anew

namespace anew::detail {
namespace {

std::vector<ShapeDtype> types_of_leaves(std::span<const Array> xs) {
  std::vector<ShapeDtype> types;
  for (const Array& x : xs) types.push_back(x.type());
  return types;
}

}  // namespace
namespace {

// One axis per leaf, from one per group of leaves (or one for all of them).
std::vector<int> axis_per_leaf(const MapAxes& axes, const LeafCounts& counts, std::string_view option,
                               std::string_view groups, const Location& at) {
  if (!axes.for_all() && axes.list().size() != counts.size())
    throw Error(fmt::format("[vmap] .{} has {} axes for {} {}", option, axes.list().size(), counts.size(), groups), at,
                "give one number for all, or one per group in order (anything for what holds no array)");
  std::vector<int> out;
  for (std::size_t i = 0; i < counts.size(); ++i) out.insert(out.end(), counts[i], axes.list()[axes.for_all() ? 0 : i]);
  return out;
}

}  // namespace

Arrays run_vmap(const FlatFunction& f, std::span<const Array> leaves, const LeafCounts& arguments,
                const VmapOptions& options, const void* call, LeafCounts (*results)(const void* call),
                const Location& at) {
  flat::BatchAxes axes;
  axes.in = axis_per_leaf(options.in_axes, arguments, "in_axes", "arguments", at);
  axes.chunk = options.chunk;
  if (options.out_axes.for_all()) {
    axes.out = options.out_axes.list();
    return flat::vmap(f, leaves, axes, at);
  }
  auto then_axes = [&](std::span<const Array> x) {  // how many leaves a result has is known once f has been called
    Arrays y = f(x);
    axes.out = axis_per_leaf(options.out_axes, results(call), "out_axes", "elements of the result", at);
    return y;
  };
  return flat::vmap(then_axes, leaves, axes, at);
}

Arrays every(const Arrays& blocks, std::size_t first, std::size_t step) {
  Arrays out;
  for (std::size_t i = first; i < blocks.size(); i += step) out.push_back(blocks[i]);
  return out;
}

Arrays run_callback(const FlatFunction& f, const Arrays& like, const Arrays& args, const Location& at) {
  return flat::io_callback(f, types_of_leaves(like), args, at);
}

Arrays run_linear_transpose(const FlatFunction& f, std::span<const Array> like, const Arrays& ct, const Location& at) {
  return flat::linear_transpose(f, types_of_leaves(like), ct, at);
}

}  // namespace anew::detail
