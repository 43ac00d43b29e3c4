// Arrays and trees in files: NumPy's .npy and .npz, and .safetensors. A leaf of a tree has its path as its name, with
// dots: blocks.1.up.w. What is written is whole or not there; what is read is checked before memory is taken for it,
// and an Error names the file and the reason.
#pragma once
#include <anew/tree.h>

namespace anew {

// The name of a file, a string or a std::filesystem::path, and the line where it was given.
class FilePath {
 public:
  template <class T>
    requires(std::convertible_to<const T&, std::string_view> ||
             requires(const T& p) { requires std::convertible_to<decltype(p.native()), std::string>; })
  FilePath(const T& path, const Location& at = Location::current()) : name(text_of(path)), at(at) {}
  std::string name;
  Location at;

 private:
  template <class T>
  static std::string text_of(const T& path) {
    if constexpr (std::convertible_to<const T&, std::string_view>) return std::string(std::string_view(path));
    else return path.native();
  }
};

using NamedArrays = std::map<std::string, Array>;
using Metadata = std::map<std::string, std::string>;

// One array as .npy. bf16 is written as JAX does it, with NumPy's type '<V2', which `load` reads as bf16 again.
void save(const FilePath& file, const ArrayLike& x);
Array load(const FilePath& file);

// All of an archive .npz, or of a .safetensors file, by name.
NamedArrays loadz(const FilePath& file);
NamedArrays load_tree(const FilePath& file);
// What save_tree was given beside the tree.
Metadata load_metadata(const FilePath& file);

namespace detail {

// Leaves with their names in files; a tree that is one array has NumPy's name for it, arr_0.
struct FileLeaves {
  std::vector<std::string> names;
  Arrays leaves;
};
template <class T>
FileLeaves named_leaves(const T& tree) {
  if constexpr (std::same_as<T, Array>) return {{"arr_0"}, {tree}};
  else return {leaf_paths(tree, "", PathStyle::dotted), leaves(tree)};
}
void save_npz(const FilePath& file, const FileLeaves& tree, bool compressed);
void save_safetensors(const FilePath& file, const FileLeaves& tree, const Metadata& metadata);
// Arrays of the names and types of `like`, and there is nothing else in the file.
Arrays load_npz_like(const FilePath& file, const FileLeaves& like);
Arrays load_safetensors_like(const FilePath& file, const FileLeaves& like);

}  // namespace detail

// The leaves of a tree as .npz.
template <Tree T>
void savez(const FilePath& file, const T& tree) {
  detail::save_npz(file, detail::named_leaves(tree), false);
}
template <Tree T>
void savez_compressed(const FilePath& file, const T& tree) {
  detail::save_npz(file, detail::named_leaves(tree), true);
}
// A tree like `prototype`, of which static values, and names and types of leaves are taken. A leaf that is no array yet
// takes what the file holds.
template <Tree T>
T loadz(const FilePath& file, const T& prototype) {
  return detail::with_leaves(prototype, detail::load_npz_like(file, detail::named_leaves(prototype)));
}

// The leaves of a tree as .safetensors, and texts of your own beside them.
template <Tree T>
void save_tree(const FilePath& file, const T& tree, const Metadata& metadata = {}) {
  detail::save_safetensors(file, detail::named_leaves(tree), metadata);
}
template <Tree T>
T load_tree(const FilePath& file, const T& prototype) {
  return detail::with_leaves(prototype, detail::load_safetensors_like(file, detail::named_leaves(prototype)));
}

}  // namespace anew
