// Files that were changed at random are read or refused, never anything else: no crash, no hang, and no memory beyond
// what the file can hold. The same mutations in every run; ANEW_LONG=1 makes many more.
#include <cstdlib>
#include <functional>
#include <random>

#include "io_support.h"
#include "runtime/buffer.h"

namespace anew::io_test {
namespace {

int rounds() { return std::getenv("ANEW_LONG") ? 60000 : 600; }

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}
  std::string operator()(std::string bytes) {
    for (std::size_t i = 1 + below(3); i > 0 && !bytes.empty(); --i) once(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  void once(std::string& b) {
    const std::size_t at = below(b.size());
    static constexpr std::string_view pieces[] = {"[",
                                                  "]",
                                                  "{",
                                                  "}",
                                                  "(",
                                                  "'",
                                                  "\"",
                                                  ",",
                                                  ":",
                                                  "-",
                                                  "L",
                                                  "99999999999999999999",
                                                  "4611686018427387904",
                                                  "0",
                                                  "|O",
                                                  ">",
                                                  "F64",
                                                  "null",
                                                  "PK\x01\x02",
                                                  "\\u0000"};
    switch (below(8)) {
      case 0: b[at] = static_cast<char>(b[at] ^ (1 << below(8))); break;
      case 1: b[at] = static_cast<char>(random_()); break;
      case 2: b.resize(at); break;
      case 3: b.erase(at, 1 + below(16)); break;
      case 4: b.insert(at, b, below(b.size()), 1 + below(64)); break;
      case 5: b.insert(at, pieces[below(std::size(pieces))]); break;
      case 6: {  // a number of 1 to 8 bytes that is at the edge of something
        const std::uint64_t edges[] = {0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, ~0ull >> 1, ~0ull};
        const std::uint64_t v = edges[below(std::size(edges))];
        const std::size_t width = std::size_t{1} << below(4);
        for (std::size_t i = 0; i < width && at + i < b.size(); ++i) b[at + i] = static_cast<char>(v >> (8 * i));
        break;
      }
      default: {  // a digit becomes another one: sizes and offsets
        const std::size_t digit = b.find_first_of("0123456789", at);
        if (digit != b.npos) b[digit] = static_cast<char>('0' + below(10));
      }
    }
  }
  std::mt19937 random_;
};

// `most`: bytes that may be taken for a file of that many.
void fuzz(const std::vector<std::string>& seeds, const std::function<void(const std::string&)>& read,
          const std::function<std::size_t(std::size_t)>& most) {
  const Folder folder;
  const std::string file = folder / "fuzzed";
  Mutator mutate(7);
  int refused = 0;
  for (int i = 0; i < rounds(); ++i) {
    const std::string bytes = mutate(seeds[static_cast<std::size_t>(i) % seeds.size()]);
    write_bytes(file, bytes);
    MemoryMeter meter;
    try {
      read(file);
    } catch (const Error& e) {
      ++refused;
      ASSERT_NE(std::string(e.what()).find(file), std::string::npos) << e.what();
    }
    ASSERT_LE(meter.peak(), most(bytes.size()));
  }
  EXPECT_GT(refused, rounds() / 10);
  EXPECT_LT(refused, rounds());
}

template <class Save>
std::string file_of(Save save) {
  const Folder folder;
  save(folder / "seed");
  return read_bytes(folder / "seed");
}

const NamedArrays& tree() {
  static const NamedArrays& t = *new NamedArrays{
      {"a", sample(f32)}, {"b.c", sample(u8)}, {"mask", sample(bool_)}, {"e", zeros({0, 2})}, {"g", array(1.0, f64)}};
  return t;
}

TEST(FuzzFiles, Npy) {
  std::vector<std::string> seeds;
  for (DType d : {bool_, i64, bf16, f64}) seeds.push_back(file_of([&](const std::string& f) { save(f, sample(d)); }));
  fuzz(seeds, [](const std::string& f) { load(f); }, [](std::size_t n) { return n; });
}

TEST(FuzzFiles, Safetensors) {
  const std::string seed = file_of([&](const std::string& f) { save_tree(f, tree(), {{"step", "7"}}); });
  fuzz({seed}, [](const std::string& f) { load_tree(f); }, [](std::size_t n) { return n; });
  fuzz({seed}, [](const std::string& f) { load_tree(f, tree()); }, [](std::size_t n) { return n; });
}

TEST(FuzzFiles, Npz) {
  const std::string stored = file_of([&](const std::string& f) { savez(f, tree()); });
  const std::string packed = file_of([&](const std::string& f) { savez_compressed(f, tree()); });
  fuzz({stored, packed}, [](const std::string& f) { loadz(f); }, [](std::size_t n) { return 1032 * n + 1032; });
}

}  // namespace
}  // namespace anew::io_test
