// Modules: who owns code, what goes to bytes and back, several threads at a time, kernels over shared memory.
#include <atomic>
#include <random>
#include <thread>

#include "base/strides.h"
#include "compiled.h"
#include "loops/build.h"

namespace anew::codegen::test {
namespace {

using namespace loops;

Kernel scaled(std::int64_t n, double by) {
  return elementwise({{{n}, f32}}, [&](Expr x) { return x * by; });
}
Source dense(const Kernel& k) {
  Source s{&k, schedule_of(k), {}};
  for (const ShapeDtype& o : k.operands) s.strides.push_back(row_major(o.shape));
  return s;
}
std::vector<float> run_on(const Function& f, std::vector<float> x) {
  std::vector<float> y(x.size());
  std::byte* operands[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data())};
  f.run(operands, 0, std::ssize(x), nullptr);
  return y;
}

TEST(Modules, OfNothing) {
  const auto module = compile({});
  EXPECT_TRUE(module->functions().empty());
  EXPECT_EQ(module->code_bytes(), 0u);
}

TEST(Modules, OfSeveralKernels) {
  const Kernel a = scaled(3, 2), search = reduction({{7}, f32}, std::vector<int>{0}, Combine::argmax, i32),
               b = scaled(3, -1);
  const auto module = compile(std::vector<Source>{dense(a), dense(search), dense(b)});
  ASSERT_EQ(module->functions().size(), 3u);
  EXPECT_GT(module->code_bytes(), 0u);
  EXPECT_EQ(run_on(module->functions()[0], {1, 2, 3}), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(module->functions()[1].run, nullptr);
  EXPECT_EQ(run_on(module->functions()[2], {1, 2, 3}), (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(module->functions()[0].finish, nullptr);
}

TEST(Modules, AsText) {
  const std::string text = llvm_ir(dense(scaled(64, 2)));
  EXPECT_NE(text.find("define void @kernel0_run(ptr %0, i64 %1, i64 %2, ptr %3)"), std::string::npos) << text;
  EXPECT_EQ(text.find("fast"), std::string::npos);
  EXPECT_EQ(text.find("contract"), std::string::npos);
}

TEST(Modules, AsBytesAndBack) {
  const Kernel a = scaled(3, 2), b = reduction({{1 << 20}, f32}, std::vector<int>{0}, Combine::sum, f32);
  const auto module = compile(std::vector<Source>{dense(a), dense(b)});
  const std::vector<std::byte> bytes = object(*module, "a, b");
  const auto again = load(bytes, "a, b", 2);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(run_on(again->functions()[0], {1, 2, 3}), (std::vector<float>{2, 4, 6}));
  EXPECT_NE(again->functions()[1].finish, nullptr);
  EXPECT_EQ(again->code_bytes(), module->code_bytes());
  EXPECT_EQ(object(*again, "a, b"), bytes);

  EXPECT_EQ(load(bytes, "a, b", 1), nullptr);
  EXPECT_EQ(load(bytes, "a, c", 2), nullptr);  // what they were made from is part of the digest
  EXPECT_EQ(load({}, "", 0), nullptr);
}

TEST(Modules, BytesThatWereChangedAreNeverLoaded) {
  const Kernel a = scaled(3, 2), b = scaled(3, 5);
  const auto good = object(*compile(std::vector<Source>{dense(a)}), "a");
  const auto other = object(*compile(std::vector<Source>{dense(b)}), "b");
  std::mt19937 random(7);
  auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  int loaded = 0, same = 0;
  for (int i = 0; i < 20000; ++i) {
    auto bytes = good;
    switch (below(6)) {
      case 0: bytes.resize(below(bytes.size())); break;
      case 1: bytes.resize(bytes.size() + 1 + below(100), std::byte(below(256))); break;
      case 2: bytes[below(bytes.size())] = std::byte(below(256)); break;
      case 3: bytes[below(60)] ^= std::byte(1u << below(8)); break;  // in the part before the objects
      case 4: {                                                      // the start of one, the rest of the other
        const std::size_t at = below(std::min(good.size(), other.size()));
        bytes.assign(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at));
        bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(at), other.end());
        break;
      }
      case 5: {
        const std::size_t at = below(bytes.size()), n = below(bytes.size() - at);
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), n, std::byte(0));
        break;
      }
    }
    loaded += load(bytes, "a", 1) != nullptr;
    same += bytes == good;
  }
  EXPECT_EQ(loaded, same);
  EXPECT_LT(same, 2000);
}

TEST(Modules, HaveNamesByWhatTheyAreMadeFrom) {
  EXPECT_EQ(entry_name("a").size(), 64u);
  EXPECT_EQ(entry_name("a").find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(entry_name("a"), entry_name("a"));
  EXPECT_NE(entry_name("a"), entry_name("b"));
}

TEST(Modules, OutliveOneAnother) {
  const Kernel k = scaled(3, 2);
  auto first = compile(std::vector<Source>{dense(k)}), second = compile(std::vector<Source>{dense(k)});
  first.reset();
  EXPECT_EQ(run_on(second->functions()[0], {1, 2, 3}), (std::vector<float>{2, 4, 6}));
}

TEST(Modules, FromSeveralThreads) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < 5; ++i) {
        std::vector<Kernel> kernels;
        for (int k = 0; k < 20; ++k) kernels.push_back(scaled(3 + t, k));
        std::vector<Source> sources;
        for (const Kernel& k : kernels) sources.push_back(dense(k));
        const auto module = compile(sources);
        for (std::size_t k = 0; k < kernels.size(); ++k)
          wrong += run_on(module->functions()[k], {1, 2}) !=
                   std::vector<float>{static_cast<float>(k), 2 * static_cast<float>(k)};
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Modules, ResultsMayReplaceOperands) {
  // Two stores, each over the operand it has the index map of; both read both.
  const ShapeDtype t{{350, 50}, f32};
  Kernel k;
  k.operands = {t, t, t, t};
  k.extents = {350, 50};
  k.reduced = {false, false};
  const std::vector<Affine> map{affine(2, 0), affine(2, 1)};
  k.accesses = {{0, map}, {1, map}};
  k.nodes = {{.op = Op::load, .dtype = f32, .imm = 0},
             {.op = Op::load, .dtype = f32, .imm = 1},
             {.op = Op::add, .dtype = f32, .a = 0, .b = 1},
             {.op = Op::mul, .dtype = f32, .a = 0, .b = 1}};
  k.stores = {{2, {2, map}}, {3, {3, map}}};
  for (const Machine& machine : {host(), plain_machine()})
    for (const Shape& strides : {Shape{50, 1}, Shape{1, 350}}) {
      const auto module = compile(std::vector<Source>{{&k, schedule_of(k), std::vector<Shape>(4, strides)}}, machine);
      std::vector<float> x(17500), y(17500), sum(17500), product(17500);
      for (std::size_t i = 0; i < 17500; ++i) {
        x[i] = static_cast<float>(i), y[i] = static_cast<float>(i % 9);
        sum[i] = x[i] + y[i], product[i] = x[i] * y[i];
      }
      auto bytes = [](std::vector<float>& v) { return reinterpret_cast<std::byte*>(v.data()); };
      std::byte* operands[] = {bytes(x), bytes(y), bytes(x), bytes(y)};
      module->functions()[0].run(operands, 0, 17500, nullptr);
      EXPECT_EQ(x, sum);
      EXPECT_EQ(y, product);
    }
}

TEST(Modules, MisuseIsNamed) {
  const Kernel k = scaled(3, 2);
  auto text = [&](const std::vector<Shape>& strides) -> std::string {
    try {
      compile(std::vector<Source>{{&k, schedule_of(k), strides}});
      return "";
    } catch (const InternalError& e) {
      return e.what();
    }
  };
  EXPECT_NE(text({Shape{1}}).find("[codegen] a kernel is compiled with the strides of each of its operands"),
            std::string::npos);
  EXPECT_NE(text({Shape{1}, Shape{}}).find("[codegen] an operand has one stride per dimension"), std::string::npos);
}

}  // namespace
}  // namespace anew::codegen::test
