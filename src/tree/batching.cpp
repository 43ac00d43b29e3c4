// What vmap and its relatives do with axes and types once trees are lists of arrays: compiled once, for all functions.
#include <anew/batching.h>
#include <anew/effects.h>
#include <fmt/format.h>

#include "trace/trace.h"

namespace anew {

ArgumentAxes::ArgumentAxes(One one) : axes_{one.axis}, for_all_(true) {}
ArgumentAxes::ArgumentAxes(const Arrays& axes, std::vector<std::string> paths, const Location& at)
    : paths_(std::move(paths)) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Value* v = axes[i].value();
    if (!v || v->type.shape.ndim() != 0 || is_float(v->type.dtype))
      throw Error(fmt::format("[vmap] {} of the tree of axes is {}, not the number of an axis", paths_[i],
                              v ? v->type.str() : "an uninitialised Array"),
                  at, "give each leaf an integer, or no_axis");
    axes_.push_back(axes[i].item<int>(at));
  }
}
ArgumentAxes::ArgumentAxes(const ArgumentAxes&) = default;
ArgumentAxes& ArgumentAxes::operator=(const ArgumentAxes&) = default;
ArgumentAxes::~ArgumentAxes() = default;

MapAxes::MapAxes(int axis) : axes_{axis}, for_all_(true) {}
MapAxes::MapAxes(std::initializer_list<ArgumentAxes> axes) : axes_(axes) {}
MapAxes::MapAxes(const std::vector<int>& axes) : axes_(axes.begin(), axes.end()) {}
MapAxes::MapAxes(std::vector<ArgumentAxes> axes) : axes_(std::move(axes)) {}
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

// One axis per leaf, from those of each group of leaves (or one for all of them).
std::vector<int> axis_per_leaf(const MapAxes& axes, const LeafGroups& groups, std::string_view option,
                               std::string_view what, const Location& at) {
  if (!axes.for_all() && axes.list().size() != groups.size())
    throw Error(fmt::format("[vmap] .{} has {} axes for {} {}", option, axes.list().size(), groups.size(), what), at,
                "give one number for all, or one per group in order (anything for what holds no array)");
  std::vector<int> out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const ArgumentAxes& own = axes.list()[axes.for_all() ? 0 : i];
    if (own.for_all()) {
      out.insert(out.end(), groups[i].count, own.list()[0]);
    } else {
      compare_paths(own.paths(), groups[i].paths(groups[i].tree), "vmap",
                    fmt::format("tree of axes number {} in .{}", i, option), "tree that it is for", at);
      out.insert(out.end(), own.list().begin(), own.list().end());
    }
  }
  return out;
}

}  // namespace

Arrays run_vmap(const FlatFunction& f, std::span<const Array> leaves, const LeafGroups& arguments,
                const VmapOptions& options, const void* call, LeafGroups (*results)(const void* call),
                const Location& at) {
  flat::BatchAxes axes;
  axes.in = axis_per_leaf(options.in_axes, arguments, "in_axes", "arguments", at);
  axes.chunk = options.chunk;
  if (options.out_axes.for_all()) {
    axes.out = options.out_axes.list()[0].list();
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

Arrays run_linear_transpose(const FlatFunction& f, std::span<const Array> like, const Arrays& ct, const Location& at) {
  return flat::linear_transpose(f, types_of_leaves(like), ct, at);
}

}  // namespace anew::detail
