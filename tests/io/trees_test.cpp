// Trees in .npz and .safetensors: names, prototypes, and files that lie.
#include <cstdint>
#include <map>
#include <optional>

#include "io_support.h"

namespace anew::io_test {

struct Dense {
  Array w, b;
};
struct Block {
  Dense up, down;
  int heads = 3;
};
struct Net {
  std::vector<Block> blocks;
  std::map<std::string, Array> extra;
  std::optional<Array> bias;
  std::tuple<Array, float, Array> pair;
};

namespace {

Net net(double by) {
  auto block = [&](double v) {
    return Block{{full({2, 3}, v * by), full({3}, v).astype(bf16)}, {full({3, 2}, -v), full({2}, v).astype(f16)}, 4};
  };
  return {
      {block(1), block(2)}, {{"gain", array(by)}, {"counts", arange(3).astype(u8)}}, {}, {ones(2) * by, 0.5f, eye(2)}};
}
const std::vector<std::string> net_names = {"blocks.0.up.w", "blocks.0.up.b", "blocks.0.down.w", "blocks.0.down.b",
                                            "blocks.1.up.w", "blocks.1.up.b", "blocks.1.down.w", "blocks.1.down.b",
                                            "extra.counts",  "extra.gain",    "pair.0",          "pair.2"};

void expect_same_net(const Net& got, const Net& want) {
  const Arrays a = tree_leaves(got), b = tree_leaves(want);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i]);
}

TEST(TreeFiles, NamesAreDottedPaths) {
  const Folder folder;
  save_tree(folder / "m.safetensors", net(1));
  savez(folder / "m.npz", net(1));
  std::vector<std::string> sorted = net_names, got, zipped;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [name, x] : load_tree(folder / "m.safetensors")) got.push_back(name);
  for (const auto& [name, x] : loadz(folder / "m.npz")) zipped.push_back(name);
  EXPECT_EQ(got, sorted);
  EXPECT_EQ(zipped, sorted);
}

TEST(TreeFiles, ThereAndBack) {
  const Folder folder;
  const Net n = net(1.5);
  save_tree(folder / "m.safetensors", n);
  savez(folder / "m.npz", n);
  savez_compressed(folder / "c.npz", n);
  const Net like = net(0);
  for (const Net& got :
       {load_tree(folder / "m.safetensors", like), loadz(folder / "m.npz", like), loadz(folder / "c.npz", like)}) {
    expect_same_net(got, n);
    EXPECT_EQ(got.blocks[1].heads, 4);  // what is static is the prototype's
  }
  const auto abstract = tree_map([](Array a) { return Array(a.type()); }, like);
  expect_same_net(load_tree(folder / "m.safetensors", abstract), n);
  const auto nothing = tree_map([](Array) { return Array(); }, like);  // takes whatever is there
  expect_same_net(load_tree(folder / "m.safetensors", nothing), n);
  expect_same_net(loadz(folder / "m.npz", nothing), n);
}

TEST(TreeFiles, EveryDtypeAndEmptyOnes) {
  const Folder folder;
  NamedArrays all;
  for (DType d : all_dtypes) {
    all[std::string(name_of(d))] = transpose(sample(d));
    all[std::string(name_of(d)) + "_empty"] = zeros({0, 3}, d);
    all[std::string(name_of(d)) + "_one"] = ones({}, d);
  }
  save_tree(folder / "a", all);
  savez(folder / "b", all);
  savez_compressed(folder / "c", all);
  for (const NamedArrays& got : {load_tree(folder / "a"), loadz(folder / "b"), loadz(folder / "c")}) {
    ASSERT_EQ(got.size(), all.size());
    for (const auto& [name, x] : all) expect_same(got.at(name), copy(x));
  }
  const NamedArrays none_at_all;
  save_tree(folder / "a", none_at_all);
  savez(folder / "b", none_at_all);
  EXPECT_TRUE(load_tree(folder / "a").empty());
  EXPECT_TRUE(loadz(folder / "b").empty());
  savez(folder / "b", arange(3));
  expect_same(loadz(folder / "b").at("arr_0"), arange(3));
  expect_same(loadz(folder / "b", zeros(3, i32)), arange(3));
}

TEST(TreeFiles, EqualTreesMakeEqualFiles) {
  const Folder folder;
  save_tree(folder / "a", net(1), {{"step", "7"}});
  save_tree(folder / "b", net(1), {{"step", "7"}});
  EXPECT_EQ(read_bytes(folder / "a"), read_bytes(folder / "b"));
  savez(folder / "a", net(1));
  savez(folder / "b", net(1));
  EXPECT_EQ(read_bytes(folder / "a"), read_bytes(folder / "b"));
}

TEST(TreeFiles, Metadata) {
  const Folder folder;
  const Metadata m = {{"step", "7"}, {"über", "a \"quote\"\n"}};
  save_tree(folder / "a", std::vector<Array>{ones(2)}, m);
  EXPECT_EQ(load_metadata(folder / "a"), m);
  EXPECT_EQ(load_tree(folder / "a").size(), 1u);
  save_tree(folder / "a", std::vector<Array>{ones(2)});
  EXPECT_TRUE(load_metadata(folder / "a").empty());
  EXPECT_ERROR(save_tree(folder / "a", std::vector<Array>{ones(2)}, {{"k", "\xff"}}), "not UTF-8");
}

TEST(TreeFiles, NamesThatCannotBe) {
  const Folder folder;
  using Map = std::map<std::string, Array>;
  using Maps = std::map<std::string, Map>;
  save_tree(folder / "a", Map{{"a.b", ones(1)}, {"", ones(2)}, {"ü", ones(3)}});  // as a state dictionary has them
  EXPECT_EQ(load_tree(folder / "a").at("a.b").size(), 1);
  save_tree(folder / "b", load_tree(folder / "a"));
  EXPECT_EQ(read_bytes(folder / "a"), read_bytes(folder / "b"));
  const Maps twice{{"a", {{"b.c", ones(1)}}}, {"a.b", {{"c", ones(1)}}}};
  EXPECT_ERROR(save_tree(folder / "c", twice), "two leaves of the tree have the name a.b.c");
  EXPECT_ERROR(savez(folder / "c", twice), "two leaves of the tree have the name a.b.c");
  const Maps not_twice{{"", {{"a", ones(1)}}}, {"a", {{"", ones(2)}}}};
  save_tree(folder / "c", not_twice);
  EXPECT_EQ(load_tree(folder / "c").at(".a").size(), 1);
  EXPECT_ERROR(save_tree(folder / "d", Map{{"__metadata__", ones(1)}}), "__metadata__");
  EXPECT_ERROR(save_tree(folder / "d", Map{{"\xc3", ones(1)}}), "not UTF-8");
  EXPECT_ERROR(savez(folder / "d", Map{{std::string("a\0b", 3), ones(1)}}), "has a zero in it");
  EXPECT_FALSE(std::filesystem::exists(folder / "d"));
}

TEST(TreeFiles, LeavesThatHaveNoElements) {
  const Folder folder;
  EXPECT_ERROR(save_tree(folder / "a", (Dense{ones(2), Array()})), "[save_tree] the leaf b is an uninitialised Array");
  EXPECT_ERROR(savez(folder / "a", (Dense{ones(2), Array(ShapeDtype{{3}, f32})})),
               "[savez] at b, the elements of an abstract");
  EXPECT_ERROR(jit([&](Dense d) {
                 save_tree(folder / "a", d);
                 return d.w;
               })(Dense{ones(2), ones(3)}),
               "[save_tree] at w, the elements of a traced array f32[2]");
  EXPECT_EQ(folder.files(), 0);
}

TEST(TreeFiles, PrototypesThatDiffer) {
  const Folder folder;
  save_tree(folder / "a", Dense{ones({2, 3}), ones(3)});
  savez(folder / "b", Dense{ones({2, 3}), ones(3)});
  for (const char* file : {"a", "b"}) {
    auto read = [&](auto like) { return file[0] == 'a' ? load_tree(folder / file, like) : loadz(folder / file, like); };
    EXPECT_ERROR(read(Dense{ones({2, 3}), ones(4)}), "b is f32[3], and f32[4] in the prototype");
    EXPECT_ERROR(read(Dense{ones({2, 3}, f64), ones(3)}), "w is f32[2,3], and f64[2,3] in the prototype");
    EXPECT_ERROR(read(Block{}), "has no array up.w, which the prototype has");
    EXPECT_ERROR(read(NamedArrays{{"w", Array()}}), "has b f32[3], which the prototype has not");
  }
  EXPECT_ERROR(load(folder / "a"), "a: is no .npy file");
  EXPECT_ERROR(load(folder / "a"), "load_tree reads");
  EXPECT_ERROR(loadz(folder / "a"), "load_tree reads");
  EXPECT_ERROR(load_tree(folder / "b"), "loadz reads");
}

// ---- hostile files
std::string safetensors(const std::string& header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + header + data;
}

TEST(TreeFiles, HostileSafetensors) {
  const Folder folder;
  auto refused = [&](const std::string& bytes, const std::string& why) {
    write_bytes(folder / "x", bytes);
    const std::string text = error_of([&] { load_tree(folder / "x"); });
    EXPECT_NE(text.find("[load_tree] "), std::string::npos) << text;
    EXPECT_NE(text.find(why), std::string::npos) << text << " instead of " << why;
    EXPECT_LT(text.size(), 1500u);
  };
  auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  write_bytes(folder / "x", safetensors(one("F32", "[1]", "[0,4]") + "   ", "aaaa"));
  EXPECT_EQ(load_tree(folder / "x").at("a").type().str(), "f32[1]");
  refused("", "is no .safetensors file");
  refused(safetensors("[]      ", ""), "is no .safetensors file");
  refused(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10), "says that its header has 9223372036854775807 bytes");
  refused(safetensors(one("F32", "[1]", "[0,4]"), "aaa"), "not in the file");
  refused(safetensors(one("F32", "[1]", "[0,4]"), "aaaaa"), "1 bytes behind");
  refused(safetensors(one("F32", "[2]", "[0,4]"), "aaaa"), "a is f32[2], but has 4 bytes");
  refused(safetensors(one("F32", "[4611686018427387904,4611686018427387904,4]", "[0,0]"), ""), "but has 0 bytes");
  refused(safetensors(one("F32", "[18446744073709551615]", "[0,4]"), "aaaa"), "too large");
  refused(safetensors(one("F32", "[184467440737095516150]", "[0,4]"), "aaaa"), "no size");
  refused(safetensors(one("F32", "[-1]", "[0,4]"), "aaaa"), "negative");
  refused(safetensors(one("F32", "[1.0]", "[0,4]"), "aaaa"), "no size");
  refused(safetensors(one("F32", "[1]", "[4,0]"), "aaaa"), "not in the file");
  refused(safetensors(one("F32", "[1]", "[0,4,8]"), "aaaa"), "more than 2 numbers");
  refused(safetensors(one("F32", "[1]", "[0]"), "aaaa"), "not in the file");
  refused(safetensors(one("F8_E4M3", "[4]", "[0,4]"), "aaaa"), "dtype F8_E4M3, which is none of anew's");
  refused(safetensors(one("C64", "[1]", "[0,8]"), "aaaaaaaa"), "C64");
  refused(safetensors(one("F32", "[[1]]", "[0,4]"), "aaaa"), "a list");
  refused(safetensors(one("F32", "{}", "[0,4]"), "aaaa"), "an object");
  refused(safetensors(one("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), "aaaa"), "more than 16 numbers");
  refused(safetensors(R"({"a":{"dtype":"F32","shape":[1]}})", "aaaa"), "lacks");
  refused(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"shape":[1]}})", "a"), "twice");
  refused(safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})", "a"), "unknown key");
  refused(safetensors(R"({"a":[]})", ""), "a list");
  refused(safetensors(R"({"a":null})", ""), "a null");
  refused(safetensors(R"({"a":)", ""), "no JSON");
  refused(safetensors(R"({} x)", ""), "no JSON");
  refused(safetensors(R"({"__metadata__":{"a":1}})", ""), "a number");
  refused(safetensors(R"({"__metadata__":{"a":{}}})", ""), "an object");
  refused(safetensors(R"({"__metadata__":{},"__metadata__":{}})", ""), "twice");
  refused(safetensors("{" + std::string(100000, '['), ""), "no JSON");
  auto two = [](const std::string& a, const std::string& b, const std::string& second = "b") {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + a + R"(},")" + second +
           R"(":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
  };
  refused(safetensors(two("[0,2]", "[1,3]"), "aaa"), "overlap");
  refused(safetensors(two("[0,2]", "[0,2]"), "aa"), "overlap");
  refused(safetensors(two("[0,2]", "[3,5]"), "aaaaa"), "gaps");
  refused(safetensors(two("[0,2]", "[2,4]", "a"), "aaaa"), "a stands there twice");
  refused(
      safetensors(R"({")" + std::string(10000, 'n') + R"(":{"dtype":"U9","shape":[2],"data_offsets":[0,2]}})", "aa"),
      "nnn...");
}

void put(std::string& bytes, std::size_t at, std::uint64_t v, int count) {
  for (int i = 0; i < count; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(v >> (8 * i));
}

TEST(TreeFiles, HostileNpz) {
  const Folder folder;
  const std::string file = folder / "x.npz";
  auto refused = [&](const std::string& bytes, const std::string& why) {
    write_bytes(file, bytes);
    const std::string text = error_of([&] { loadz(file); });
    EXPECT_NE(text.find("[loadz] " + file), std::string::npos) << text;
    EXPECT_NE(text.find(why), std::string::npos) << text << " instead of " << why;
  };
  savez(file, NamedArrays{{"a", arange(5)}, {"b", ones(3)}});
  const std::string good = read_bytes(file);
  savez_compressed(file, NamedArrays{{"a", zeros(100000)}});
  const std::string packed = read_bytes(file);
  EXPECT_LT(packed.size(), 2000u);
  EXPECT_EQ(loadz(file).at("a").size(), 100000);

  refused("", "is no .npz file");
  refused("PK", "damaged");
  refused(good.substr(0, good.size() - 30), "damaged");
  std::string bad = good;
  bad[bad.find("NUMPY") + 127] ^= 1;  // an element: the checksum is another one
  refused(bad, "damaged: CRC error");
  const std::size_t second = good.find("b.npy", good.find("PK\x01\x02"));
  bad = good;
  bad.replace(bad.rfind("b.npy"), 5, "a.npy");
  bad.replace(bad.find("b.npy"), 5, "a.npy");
  refused(bad, "two entries a");
  bad = good;
  bad.replace(bad.rfind("b.npy"), 5, "b.txt");
  bad.replace(bad.find("b.npy"), 5, "b.txt");
  refused(bad, "which is no .npy file");
  ASSERT_NE(second, good.npos);
  // Sizes in the central directory: compressed at 20, uncompressed at 24.
  const std::size_t entry = packed.find("PK\x01\x02");
  bad = packed;
  put(bad, entry + 24, 0x7fffffff, 4);
  refused(bad, "which cannot be");
  bad = packed;
  put(bad, entry + 24, 100, 4);
  refused(bad, "a");
  bad = packed;
  put(bad, entry + 20, 0x7fffffff, 4);
  refused(bad, "more bytes than the file has");
  bad = packed;
  put(bad, entry + 10, 12, 2);  // the method, there and in front of the entry
  put(bad, 8, 12, 2);
  refused(bad, "other than deflate");
}

}  // namespace
}  // namespace anew::io_test
