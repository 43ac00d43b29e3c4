// The ends of processes: destructors of static objects that compute, threads that are busy when exit is called. Each
// runs in a process of its own.
#include <anew/anew.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "support/support.h"

namespace anew {
namespace {

using test::same_bits;

// A bit of everything that has state somewhere: eager kernels, products, sorting, policies, loops, compiled code.
Array everything(Array x) {
  auto layer = checkpoint([](Array h) { return sin(matmul(h, h.T())); }, checkpoint_policies::dots_saveable);
  auto rule = custom_jvp([](Array v) { return v * v; },
                         [](auto p, auto t) {
                           auto [v] = p;
                           auto [dv] = t;
                           return std::pair(v * v, 2 * v * dv);
                         });
  Array y = scan([&](Array c, Array row) { return std::pair(tanh(c + sum(rule(row))), sum(c)); }, 0.5, layer(x)).first;
  return y + sum(sort(x, 0)) + sum(nn::softmax(x)) + sum(linalg::inv(x + 5 * eye(4)));
}
Array point() { return random::normal(random::key(3), {4, 4}); }
Arrays results() {
  Arrays out{everything(point()), grad(everything)(point()), jit(everything)(point())};
  const double number = 1 + out[0].item();  // a new Program: compiled or, where LLVM has gone, interpreted
  out.push_back(jit([=](Array x) { return everything(x) * number; })(point()));
  std::string text = make_program(everything)(point()).str();
  out.push_back(array(static_cast<int>(text.size())));
  return out;
}

// What the process has taken from the heap of the system, where that can be asked.
std::size_t heap_bytes() {
#if defined(__GLIBC__)
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
#else
  return 0;
#endif
}

// Computes again when it is destroyed.
struct AtExit {
  const char* name;
  Arrays before = {};
  ~AtExit() {
    try {
      const bool same = before.empty() ? results().size() == 5 : same_bits(results(), before);
      std::fprintf(stderr, "%s %s. ", name, same ? "same" : "other");
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s throws %s. ", name, e.what());
    }
  }
};

class Exit : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// One made before the library is first used, so destroyed after all that it has made; one made afterwards.
TEST_F(Exit, StaticDestructorsMayCompute) {
  EXPECT_EXIT(
      {
        static AtExit first{"first"};
        first.before = results();
        static AtExit last{"last"};
        last.before = first.before;
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "last same. first same. ");
}

// The library is first used when the process ends.
TEST_F(Exit, StaticDestructorsMayBeTheFirstToCompute) {
  EXPECT_EXIT(
      {
        static AtExit only{"only"};
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "only same. ");
}

// Objects of the library that are static themselves.
TEST_F(Exit, ObjectsOfTheLibraryMayBeStatic) {
  EXPECT_EXIT(
      {
        static auto f = jit(everything);
        static Array x = point();
        static auto c = f.compile(x);
        static auto p = vjp(everything, x).second;
        static const Program program = make_program(everything)(x);
        static const Policy policy = checkpoint_policies::save_only_these_names("a");
        static const StopToken token;
        set_interrupt(token);
        static_cast<void>(f(x));
        static_cast<void>(c(x));
        std::fprintf(stderr, "made ");
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "made ");
}

void compile_for_ever(int number) {
  for (double i = number;; i += 10)
    static_cast<void>(jit([=](Array x) { return sum(sin(x * i) + tanh(x) * i); })(ones(50)));
}
void compute_for_ever() {
  const Array a = ones({300, 300});
  for (;;) static_cast<void>(matmul(sin(a), a));
}

TEST_F(Exit, ThreadsMayCompileAndCompute) {
  for (int i = 0; i < (std::getenv("ANEW_LONG") ? 60 : 3); ++i) {
    EXPECT_EXIT(
        {
          static_cast<void>(results());  // LLVM has been used before
          for (int t = 0; t < 3; ++t) std::thread(compile_for_ever, t).detach();
          for (int t = 0; t < 2; ++t) std::thread(compute_for_ever).detach();
          static AtExit last{"last"};
          ::usleep(static_cast<unsigned>(20'000 + 50'000 * i));
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "last same. ");
  }
}

// A thread that ends gives back what it had, and its last destructors may compute too.
TEST(ThreadEnd, DestructorsMayCompute) {
  static Arrays seen;
  std::thread([] {
    thread_local struct Last {
      ~Last() { seen = results(); }
    } last;
    static_cast<void>(&last);
    static_cast<void>(results());
  }).join();
  EXPECT_TRUE(same_bits(seen, results()));
}

// What such destructors took goes too, however many threads there were. With the leak sanitizer, which replaces the
// system's counts, this fails at the end of the process.
TEST(ThreadEnd, GivesBackWhatItsLastDestructorsTook) {
  auto threads_end = [](int count) {
    for (int i = 0; i < count; ++i)
      std::thread([] {
        thread_local struct Last {
          Array kept = {};
          ~Last() { kept = everything(point()); }
        } last;
        last.kept = everything(point());
      }).join();
  };
  threads_end(5);
  const std::size_t before = heap_bytes();
  threads_end(20);
  EXPECT_LE(heap_bytes(), before + (20 << 10));
}

}  // namespace
}  // namespace anew
