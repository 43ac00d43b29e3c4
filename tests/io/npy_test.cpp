// .npy: what is written is what NumPy writes, byte for byte; what NumPy may write is read; anything else is an Error.
#include "io/npy.h"

#include "io_support.h"
#include "runtime/system_file.h"

namespace anew::io_test {
namespace {

std::string npy(const std::string& header, const std::string& elements, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (std::size_t i = 0; i < (version == 1 ? 2u : 4u); ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + header + elements;
}
std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}
Array load_bytes(const std::string& bytes) {
  const Folder folder;
  write_bytes(folder / "x.npy", bytes);
  return load(folder / "x.npy");
}

TEST(Npy, EveryDtypeThereAndBack) {
  const Folder folder;
  for (DType d : all_dtypes)
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{24}, Shape{1, 24, 1}}) {
      const Array x = sample(d, shape);
      save(folder / "x.npy", x);
      expect_same(load(std::filesystem::path(folder.path) / "x.npy"), x);
    }
  EXPECT_EQ(folder.files(), 1);
}

TEST(Npy, BytesAreThoseOfNumPy) {
  const Folder folder;
  save(folder / "x.npy", array({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}));
  const std::string bytes = read_bytes(folder / "x.npy");
  EXPECT_EQ(bytes.size(), 128u + 24u);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00v\x00", 10));
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(bytes.substr(69, 58), std::string(58, ' '));
  EXPECT_EQ(bytes[127], '\n');
  for (const auto& [shape, text] : {std::pair(Shape{}, "()"), {Shape{5}, "(5,)"}, {Shape{0, 3}, "(0, 3)"}}) {
    save(folder / "x.npy", zeros(shape, u8));
    EXPECT_NE(read_bytes(folder / "x.npy").find(std::string("'|u1', 'fortran_order': False, 'shape': ") + text),
              std::string::npos);
    EXPECT_EQ(load(folder / "x.npy").shape(), shape);
  }
}

TEST(Npy, ViewsNumbersAndWrappedValues) {
  const Folder folder;
  const Array x = sample(f32);
  for (const Array& view :
       {transpose(x), x[{1, slice(none, none, 2)}], lax::rev(x, {0, 2}), broadcast_to(x[{0, 0}], {5, 4})}) {
    save(folder / "x.npy", view);
    expect_same(load(folder / "x.npy"), copy(view));
  }
  save(folder / "x.npy", 2.5);
  EXPECT_EQ(load(folder / "x.npy").type().str(), "f32[]");
  EXPECT_EQ(load(folder / "x.npy").item(), 2.5);
  grad([&](Array x) {
    save(folder / "x.npy", x * 2);  // grad runs with values
    return sum(x);
  })(array({1.0, 2.0}));
  expect_same(load(folder / "x.npy"), array({2.0, 4.0}));
}

TEST(Npy, FortranOrderAndBigEndian) {
  const std::string be("\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x01\x06", 12);
  expect_same(load_bytes(npy(dict(">i2", "(2, 3)"), be)), array({{1, 2, 3}, {4, 5, 262}}, i16));
  expect_same(load_bytes(npy(dict(">i2", "(2, 3)", "True"), be)), array({{1, 3, 5}, {2, 4, 262}}, i16));
  EXPECT_EQ(load_bytes(npy(dict(">f8", "()"), std::string("\x3f\xf8\0\0\0\0\0\0", 8))).item(), 1.5);
  expect_same(load_bytes(npy(dict("<u1", "(3L,)"), "abc", 2)), array({97, 98, 99}, u8));
  expect_same(load_bytes(npy(dict("|b1", "(3,)"), std::string("\0\x01\x07", 3), 3)), array({false, true, true}));
  expect_same(load_bytes(npy("{'shape': (), \"descr\": '<i4', 'fortran_order': True}", std::string("\x2a\0\0\0", 4))),
              array(42));
  expect_same(load_bytes(npy(dict("|i1", "(1,)"), "ab")), array({97}, i8));  // NumPy reads the first array too
}

TEST(Npy, HostileFiles) {
  auto refused = [](const std::string& bytes, const std::string& why) {
    const std::string text = error_of([&] { load_bytes(bytes); });
    EXPECT_NE(text.find("[load] "), std::string::npos) << text;
    EXPECT_NE(text.find("x.npy: "), std::string::npos) << text;
    EXPECT_NE(text.find(why), std::string::npos) << text;
  };
  refused("", "is no .npy file");
  refused("hello, world", "is no .npy file");
  refused(std::string("PK\x03\x04") + "aaaaaaaaaaaa", "loadz reads");
  refused(std::string("\x80\x04\x95pickled, long enough"), "pickle");
  refused(npy(dict("|O", "(1,)"), "aaaaaaaa"), "pickled Python objects");
  refused(npy(dict("<c8", "(1,)"), "aaaaaaaa"), "'<c8', which is none of anew's");
  refused(npy(dict("<U3", "(1,)"), "aaaaaaaaaaaa"), "'<U3'");
  refused(npy(dict("<f16", "(1,)"), std::string(16, 'a')), "'<f16'");
  refused(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "aaaa"), "records");
  refused(npy(dict("<f4", "(3,)"), "aaaaaaaa"), "f32[3], more than the 8 bytes that follow");
  refused(npy(dict("<f4", "(4611686018427387904, 4611686018427387904)"), "aaaa"), "more than the 4 bytes");
  refused(npy(dict("<f4", "(99999999999999999999999999,)"), "aaaa"), "no size");
  refused(npy(dict("<f4", "(-1,)"), "aaaa"), "negative");
  refused(npy(dict("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "aaaa"), "more than 16 axes");
  refused(npy("{'descr': '<f4', 'shape': (1,), }", "aaaa"), "exactly the keys");
  refused(npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "aaaa"), "twice");
  refused(npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "aaaa"), "neither True nor False");
  refused(npy("{'descr': '<f4', 'evil': __import__('os')", "aaaa"), "unknown key");
  refused(npy(dict("<f4", "(1,)"), "aaaa", 9), "version 9.0");
  refused(npy(std::string(70000, ' '), "", 2), "says it has 70000 bytes");
  refused(std::string("\x93NUMPY\x01\x00\xff\xff", 10), "says it has 65535 bytes");
  EXPECT_ERROR(load("/no/such/file.npy"), "/no/such/file.npy: cannot be opened: No such file");
  EXPECT_ERROR(load("/tmp"), "/tmp: is a folder");
  EXPECT_ERROR(load("/dev/zero"), "is not a file");
}

TEST(Npy, ErrorsOfWriting) {
  const Folder folder;
  const std::string file = folder / "x.npy";
  EXPECT_ERROR(save(file, Array()), "uninitialised");
  EXPECT_ERROR(save(file, Array(ShapeDtype{{3}, f32})), "[save] the elements of an abstract array f32[3]");
  EXPECT_ERROR(jit([&](Array x) {
                 save(file, x);
                 return x;
               })(ones(3)),
               "[save] the elements of a traced array f32[3]");
  EXPECT_EQ(folder.files(), 0);
  EXPECT_ERROR(save(folder / "none/x.npy", ones(3)), "cannot be written: No such file or directory");
  EXPECT_ERROR(save(folder.path, ones(3)), "is a folder");
  EXPECT_ERROR(save("", ones(3)), "not the name of a file");
  EXPECT_ERROR(save("/dev/null", ones(3)), "is not a regular file");
}

TEST(Npy, WritingIsAtomic) {
  const Folder folder;
  const std::string file = folder / "x.npy";
  save(file, array({1, 2, 3}));
  const std::string before = read_bytes(file);
  for (const char* call : {"open", "write", "sync", "rename"}) {
    static const char* failing;
    failing = call;
    set_file_fault([](const char* c) { return std::strcmp(c, failing) == 0 ? ENOSPC : 0; });
    const std::string text = error_of([&] { save(file, ones(1000)); });
    const std::string tree = error_of([&] { save_tree(file, std::vector<Array>{ones(1000)}); });
    const std::string zip = error_of([&] { savez(file, std::vector<Array>{ones(1000)}); });
    set_file_fault(nullptr);
    for (const std::string& t : {text, tree, zip}) EXPECT_NE(t.find("No space left"), std::string::npos) << call << t;
    EXPECT_EQ(read_bytes(file), before);
    EXPECT_EQ(folder.files(), 1) << call;
  }
}

TEST(Npy, PermissionsAndLinks) {
  namespace fs = std::filesystem;
  const Folder folder;
  const std::string file = folder / "x.npy";
  std::ofstream(folder / "usual") << "x";
  save(file, ones(3));
  EXPECT_EQ(fs::status(file).permissions(), fs::status(folder / "usual").permissions());
  savez(folder / "m.npz", std::vector<Array>{ones(3)});
  EXPECT_EQ(fs::status(folder / "m.npz").permissions(), fs::status(folder / "usual").permissions());
  for (const fs::perms p : {fs::perms(0600), fs::perms(0664)}) {
    fs::permissions(file, p);
    save(file, zeros(3));
    EXPECT_EQ(fs::status(file).permissions(), p);
    savez(file, std::vector<Array>{ones(3)});
    EXPECT_EQ(fs::status(file).permissions(), p);
  }
  fs::create_symlink(file, folder / "link.npy");
  save(folder / "link.npy", full({2}, 7.0));
  EXPECT_TRUE(fs::is_symlink(folder / "link.npy"));
  EXPECT_EQ(load(file)[0].item(), 7);
}

}  // namespace
}  // namespace anew::io_test
