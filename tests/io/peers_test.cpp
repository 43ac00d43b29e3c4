// Files of NumPy, safetensors and PyTorch are read, and they read ours; skipped where Python has no NumPy.
#include <sys/wait.h>

#include "io_support.h"

namespace anew::io_test {
namespace {

constexpr int skipped = 77;

int peers(const std::string& command, const Folder& folder) {
  const int status = std::system(("python3 tests/io/python/peers.py " + command + " " + folder.path).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What peers.py calls elements(name).
Array elements(DType d) {
  const Array x = reshape(arange(24), {2, 3, 4});
  return (d == bool_ ? x % 3 == 0 : x - (is_float(d) || is_signed_integer(d) ? 5 : 0)).astype(d);
}
struct Both {
  std::vector<NamedArrays> nested;
  Array bf16;
};
Both both() {
  Both b{{{}, {}}, elements(anew::bf16)};
  for (DType d : all_dtypes)
    if (d != anew::bf16) b.nested[1][std::string(long_name_of(d))] = elements(d);
  return b;
}

TEST(Peers, ReadWhatWeWrite) {
  const Folder folder;
  for (DType d : all_dtypes) save(folder / (std::string(long_name_of(d)) + ".npy"), elements(d));
  const Both tree = both();
  savez(folder / "stored.npz", tree);
  savez_compressed(folder / "packed.npz", tree);
  save_tree(folder / "all.safetensors", tree);
  Both plain = tree;
  plain.bf16 = ones(3);  // NumPy has no bf16
  save_tree(folder / "plain.safetensors", plain, {{"by", "anew"}});
  const int status = peers("read", folder);
  if (status == skipped) GTEST_SKIP() << "no Python with NumPy";
  EXPECT_EQ(status, 0);
}

TEST(Peers, WriteWhatWeRead) {
  const Folder folder;
  const int status = peers("write", folder);
  if (status == skipped) GTEST_SKIP() << "no Python with NumPy";
  ASSERT_EQ(status, 0);
  const NamedArrays stored = loadz(folder / "stored.npz"), packed = loadz(folder / "packed.npz");
  const bool has = std::filesystem::exists(folder / "numpy.safetensors");
  const NamedArrays safe = has ? load_tree(folder / "numpy.safetensors") : stored;
  for (DType d : all_dtypes) {
    if (d == bf16) continue;
    const std::string name(long_name_of(d));
    for (const char* kind : {"", "_fortran", "_big"}) expect_same(load(folder / (name + kind + ".npy")), elements(d));
    for (const NamedArrays& all : {stored, packed, safe}) expect_same(all.at(name), elements(d));
  }
  expect_same(load(folder / "long.npy"), elements(f32));
  EXPECT_ERROR(load(folder / "objects.npy"), "pickled Python objects");
  if (has) {
    EXPECT_EQ(load_metadata(folder / "numpy.safetensors"), (Metadata{{"by", "numpy"}}));
  }
  if (!std::filesystem::exists(folder / "torch.safetensors")) return;
  const NamedArrays torch = load_tree(folder / "torch.safetensors");
  expect_same(torch.at("bf16"), elements(bf16));
  expect_same(torch.at("f16"), elements(f16));
  EXPECT_ERROR(loadz(folder / "torch.pt"), "which is no .npy file");
  EXPECT_ERROR(load(folder / "torch.pt"), "torch.save");
}

}  // namespace
}  // namespace anew::io_test
