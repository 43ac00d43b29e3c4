// Programs for XLA: a traced function as text in StableHLO, which XLA compiles for its devices, one or many
// (docs/stablehlo.md). Text only: nothing of XLA is needed to write it.
#pragma once
#include <anew/linearize.h>

#include <optional>
#include <utility>

namespace anew {

// Devices along named axes: Mesh({{"data", 4}}), Mesh({{"data", 2}, {"model", 2}}).
class Mesh {
 public:
  using Axes = std::vector<std::pair<std::string, std::int64_t>>;
  explicit Mesh(Axes axes, const Location& at = Location::current());
  const Axes& axes() const { return axes_; }
  std::int64_t size() const;  // number of devices

 private:
  Axes axes_;
};

// How an array is split: for each of its axes the axis of the mesh, several of them, or none. Axes that are not named
// are not split: PartitionSpec{"data"} splits the first axis, PartitionSpec{none, "model"} the second.
class PartitionSpec {
 public:
  struct Entry {
    std::vector<std::string> axes;
    Entry(none_t) {}
    Entry(const char* axis) : axes{axis} {}
    Entry(std::string axis) : axes{std::move(axis)} {}
    Entry(std::vector<std::string> axes) : axes(std::move(axes)) {}
  };
  struct Whole {};
  PartitionSpec() = default;
  PartitionSpec(Whole) {}
  PartitionSpec(std::initializer_list<Entry> entries) : entries_(entries) {}
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};
// Of an array that is whole on every device.
inline constexpr PartitionSpec::Whole replicated;

// `in_specs`: one for each argument, for all arrays in it. `out_specs`: one for each result (each member of a pair or
// tuple), or one for all; absent: XLA chooses.
struct StableHloOptions {
  std::optional<Mesh> mesh = {};
  std::vector<PartitionSpec> in_specs = {}, out_specs = {};
};

namespace flat {
// `paths`: how arrays are called; `groups`: how many of them an argument or a result has.
struct ExportInfo {
  std::vector<std::string> paths = {};
  std::vector<std::size_t> groups = {};
};
// `results` is asked when f has been traced.
std::string to_stablehlo(const FlatFunction& f, std::span<const Array> x, const StableHloOptions& options,
                         const ExportInfo& arguments, const std::function<ExportInfo()>& results, const Location& at);
}  // namespace flat

namespace detail {

// One name per argument, from the text of a call that begins with `others` expressions; "0", "1", ... where the text
// has another number of them.
std::vector<std::string> names_behind(const ArgNames& all, std::size_t others, std::size_t count);
template <class T>
void add_group(const T& tree, const std::string& root, flat::ExportInfo& out) {
  const std::size_t before = out.paths.size();
  PathPass pass(out.paths, root);
  name_leaves(tree, pass);
  out.groups.push_back(out.paths.size() - before);
}
template <std::size_t... I, class... A>
flat::ExportInfo argument_groups(const Slots<std::index_sequence<I...>, A...>& args,
                                 const std::vector<std::string>& roots) {
  flat::ExportInfo out;
  (add_group(get<I>(args), roots[I], out), ...);
  return out;
}
template <class R>
flat::ExportInfo result_groups(const R& result) {
  flat::ExportInfo out;
  if constexpr (is_tuple<R>) {
    std::size_t i = 0;
    std::apply([&](const auto&... each) { (add_group(each, "[" + std::to_string(i++) + "]", out), ...); }, result);
  } else {
    add_group(result, "", out);
  }
  return out;
}
template <class F, class... T>
std::string export_call(const ArgNames& names, std::size_t others, const F& f, const StableHloOptions& options,
                        const T&... args) {
  using For = whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(f, args...);
    return flat::to_stablehlo(
        c.flat(), c.leaves(), options, argument_groups(c.skeleton(), names_behind(names, others, sizeof...(T))),
        [&] { return result_groups(c.result_skeleton()); }, names.at);
  } else {
    return {};
  }
}

}  // namespace detail

// The function as a module: @main takes and gives the arrays of the arguments and results, in order. Arguments may be
// abstract (ShapeDtype). Arrays that the function captures become constants of the text.
template <class F, class... T>
[[nodiscard]] std::string to_stablehlo(const ArgNames& names, F f, const StableHloOptions& options, const T&... args) {
  return detail::export_call(names, 2, f, options, args...);
}
template <class F, class... T>
[[nodiscard]] std::string to_stablehlo(const ArgNames& names, F f, const T&... args) {
  return detail::export_call(names, 1, f, StableHloOptions(), args...);
}

}  // namespace anew

// A call by its plain name also hands over its own text, which is where arguments have their names from: those of
// to_stablehlo(step, params, x) are params.w, params.b, x. (A macro does not expand inside itself.)
#define to_stablehlo(...) to_stablehlo(::anew::ArgNames(#__VA_ARGS__, ::anew::Location::current()), __VA_ARGS__)
