// The module around the functions: names of arguments, meshes and shardings (Shardy's attributes).
#include <anew/stablehlo.h>

#include <algorithm>
#include <set>

#include "stablehlo/module.h"

#undef to_stablehlo

namespace anew {

Mesh::Mesh(Axes axes, const Location& at) : axes_(std::move(axes)) {
  std::set<std::string> seen;
  for (const auto& [name, size] : axes_) {
    if (name.empty() || size < 1)
      throw Error(fmt::format("[Mesh] the axis \"{}\" has size {}", name, size), at,
                  "an axis has a name and at least one device: Mesh({{\"data\", 4}})");
    if (!seen.insert(name).second) throw Error(fmt::format("[Mesh] two axes are called \"{}\"", name), at);
  }
}
std::int64_t Mesh::size() const {
  std::int64_t n = 1;
  for (const auto& axis : axes_) n *= axis.second;
  return n;
}

std::vector<std::string> detail::names_behind(const ArgNames& all, std::size_t others, std::size_t count) {
  std::vector<std::string> names = argument_names(all.text, others + count);
  if (names[0] == "0") return argument_names({}, count);  // numbers: there is no such text
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(others));
  return names;
}

namespace {

// Specs of arrays, from those of arguments or results; empty: none is given.
std::vector<const PartitionSpec*> specs_of_arrays(std::string_view what, const std::vector<PartitionSpec>& specs,
                                                  const flat::ExportInfo& info, bool one_for_all, const Location& at) {
  std::vector<const PartitionSpec*> out;
  if (specs.empty()) return out;
  const bool all = one_for_all && specs.size() == 1;
  if (!all && specs.size() != info.groups.size())
    throw Error(fmt::format("[to_stablehlo] .{} has {} specs for {} {}", what, specs.size(), info.groups.size(),
                            what == "in_specs" ? "arguments" : "results"),
                at, "one for each; `replicated` where an array is whole on every device");
  for (std::size_t g = 0; g < info.groups.size(); ++g) out.insert(out.end(), info.groups[g], &specs[all ? 0 : g]);
  return out;
}

std::string sharding_text(const PartitionSpec& spec, const Mesh& mesh, const ir::Type& type, const std::string& path,
                          const Location& at) {
  const auto& entries = spec.entries();
  auto refuse = [&](const std::string& why, const std::string& hint = "") {
    throw Error(
        fmt::format("[to_stablehlo] {} {} cannot be split so: {}", path.empty() ? "the result" : path, type.str(), why),
        at, hint);
  };
  if (static_cast<int>(entries.size()) > type.shape.ndim())
    refuse(fmt::format("its PartitionSpec names {} axes", entries.size()));
  std::set<std::string> used;
  std::string out;
  for (int i = 0; i < type.shape.ndim(); ++i) {
    std::string axes;
    std::int64_t parts = 1;
    if (i < static_cast<int>(entries.size()))
      for (const std::string& axis : entries[static_cast<std::size_t>(i)].axes) {
        auto it = std::find_if(mesh.axes().begin(), mesh.axes().end(), [&](const auto& a) { return a.first == axis; });
        if (it == mesh.axes().end()) refuse(fmt::format("the mesh has no axis \"{}\"", axis));
        if (!used.insert(axis).second) refuse(fmt::format("the axis \"{}\" of the mesh is named twice", axis));
        parts *= it->second;
        axes += (axes.empty() ? "" : ", ") + stablehlo::quoted(axis);
      }
    if (type.shape[i] % parts != 0)
      refuse(fmt::format("axis {} of size {} in {} parts", i, type.shape[i], parts), "sizes must be divisible");
    out += fmt::format("{}{{{}}}", i ? ", " : "", axes);
  }
  return fmt::format("sdy.sharding = #sdy.sharding<@mesh, [{}]>", out);
}

}  // namespace

std::string flat::to_stablehlo(const FlatFunction& f, std::span<const Array> x, const StableHloOptions& options,
                               const ExportInfo& arguments, const std::function<ExportInfo()>& results,
                               const Location& at) {
  using namespace stablehlo;
  if (!options.mesh && (!options.in_specs.empty() || !options.out_specs.empty()))
    throw Error("[to_stablehlo] specs without a mesh", at, "give .mesh = Mesh({{\"data\", 4}}) too");
  const Staged staged = stage(f, anew::types_of(x, at), "to_stablehlo", at);
  const ExportInfo given = results();
  const auto in_specs = specs_of_arrays("in_specs", options.in_specs, arguments, false, at);
  const auto out_specs = specs_of_arrays("out_specs", options.out_specs, given, true, at);
  const ir::Program program =
      ir::eliminate_dead_code(staged.program, std::vector<bool>(staged.program.outputs.size(), true), true).program;

  Module module;
  Writer w;
  Values in;
  std::string parameters;
  for (const Array& c : staged.constants) {
    const Array dense = contiguous(c);
    in.push_back(w.array(type_of(dense), dense.value()->data()));
  }
  const Types types = program.input_types();
  for (std::size_t i = 0; i + staged.constants.size() < types.size(); ++i) {
    const Type& t = types[i + staged.constants.size()];
    in.push_back({fmt::format("%arg{}", i), t});
    const std::string path = i < arguments.paths.size() ? arguments.paths[i] : fmt::format("{}", i);
    std::string attributes;
    if (!in_specs.empty()) attributes = " {" + sharding_text(*in_specs[i], *options.mesh, t, path, at) + "}";
    parameters +=
        fmt::format("{}{}: {}{} loc({})", i ? ", " : "", in.back().name, text_of(t), attributes, quoted(path));
  }
  const Types out = program.output_types();
  std::string result_list;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string path = i < given.paths.size() ? given.paths[i] : "";
    std::string attributes = fmt::format("jax.result_info = {}", quoted(path));
    if (!out_specs.empty()) attributes += ", " + sharding_text(*out_specs[i], *options.mesh, out[i], path, at);
    result_list += fmt::format("{}{} {{{}}}", i ? ", " : "", text_of(out[i]), attributes);
  }
  w.finish(module.write(w, program, in));

  std::string text =
      fmt::format("module @anew attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}} {{\n",
                  options.mesh ? options.mesh->size() : 1);
  if (options.mesh) {
    std::string axes;
    for (const auto& [name, size] : options.mesh->axes())
      axes += fmt::format("{}{}={}", axes.empty() ? "" : ", ", quoted(name), size);
    text += fmt::format("  sdy.mesh @mesh = <[{}]>\n", axes);
  }
  text += fmt::format("  func.func public @main({}) -> ({}) {{\n{}  }}\n", parameters, result_list, w.take());
  for (const std::string& function : module.functions()) text += function;
  return text + "}\n";
}

}  // namespace anew
