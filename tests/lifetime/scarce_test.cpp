// A system without memory or threads to give: an Error with the user's line, or the same results with less.
#include <anew/anew.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "runtime/pool.h"
#include "support/support.h"

namespace anew {
namespace {

class Scarce : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// The address space of the process may grow by so many bytes.
void allow(std::size_t bytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{pages * 4096 + bytes, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

// Runs everything of a list; says what comes of it. Ends the process with 1 where that is no Error with a line of ours.
template <class... F>
void tried(F... f) {
  int errors = 0;
  auto one = [&](auto g) {
    try {
      g();
    } catch (const Error& e) {
      ++errors;
      if (e.line() == 0 || e.file().find("scarce_test.cpp") == std::string::npos) {
        std::fprintf(stderr, "no line: %s\n", e.what());
        std::_Exit(1);
      }
    } catch (const std::exception& e) {
      std::fprintf(stderr, "another exception: %s\n", e.what());
      std::_Exit(1);
    }
  };
  (one(f), ...);
  const rlimit none_left{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &none_left);
  std::fprintf(stderr, "%d errors, then %g\n", errors, sum(sin(zeros(10))).item());
  std::_Exit(0);
}

TEST_F(Scarce, MemoryForArrays) {
#ifndef __SANITIZE_ADDRESS__
  EXPECT_EXIT(
      {
        static_cast<void>(sum(sin(ones(1000))));  // with the pool
        allow(std::size_t{64} << 20);
        auto f = [](Array x) { return sum(sin(x) * x); };
        tried([] { static_cast<void>(zeros({1 << 26}) + ones({1 << 26})); },
              [] { static_cast<void>(outer(ones(1 << 13), ones(1 << 14))); },
              [] { static_cast<void>(array(std::vector<float>(1 << 22)) * 2 + ones({8, 1 << 22})); },
              [=] { static_cast<void>(grad(f)(astype(arange(1 << 25), f32))); },
              [=] { static_cast<void>(jit(f)(astype(arange(1 << 25), f32))); },
              [] { static_cast<void>(ones(1 << 25).T().astype(f64).to_vector()); });
      },
      ::testing::ExitedWithCode(0), "errors, then 0");
#endif
}

// As little as is given: also for threads and for compiling. (Of the last kilobytes the C library needs some for
// itself, and ends the process where it gets none.)
TEST_F(Scarce, MemoryForAnything) {
#ifndef __SANITIZE_ADDRESS__
  for (int kilobytes : {2048, 4096, 8192, 16384, 32768, 65536}) {
    EXPECT_EXIT(
        {
          auto f = [](Array x) { return sum(sin(matmul(x, x)) + nn::softmax(x)); };
          static_cast<void>(grad(f)(ones({2, 2})) + grad(jit(f))(ones({2, 2})));  // tables and code of ours are there
          allow(static_cast<std::size_t>(kilobytes) << 10);
          tried([] { static_cast<void>(ones({64, 64}) * 2); }, [] { static_cast<void>(sin(ones(1 << 18))); },
                [=] { static_cast<void>(f(ones({300, 300}))); }, [=] { static_cast<void>(grad(f)(ones({64, 64}))); },
                [=] { static_cast<void>(jit(f)(ones({64, 64}))); },
                [=] { static_cast<void>(jit(grad(f)).plan(ones({64, 64}))); },
                [=] { static_cast<void>(jit(grad(f)).compile(ones({64, 64}))(ones({64, 64}))); });
        },
        ::testing::ExitedWithCode(0), "errors, then 0")
        << kilobytes;
  }
#endif
}

// Fewer threads than were asked for give the same bits.
TEST_F(Scarce, Threads) {
#ifndef __SANITIZE_ADDRESS__
  EXPECT_EXIT(
      {
        const Array a = random::normal(random::key(0), {400, 400});
        set_threads(1);
        const Array want = matmul(a, a);
        set_threads(200);
        allow(std::size_t{100} << 20);  // for about ten
        bool same = true;
        for (int i = 0; i < 2; ++i) try {
            same = same && test::same_bits(matmul(a, a), want);
          } catch (const Error& e) {  // what is left is not enough for what each of them needs
            same = same && e.line() > 0;
          }
        std::fprintf(stderr, "%s, fewer: %d\n", same ? "same" : "other", threads() < 200);
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "same, fewer: 1");
#endif
}

TEST(Scarce2, ErrorsOfSizesHaveTheUsersLine) {
  const auto at = [](const auto& f, int line) {
    try {
      f();
      ADD_FAILURE() << "nothing thrown";
    } catch (const Error& e) {
      EXPECT_EQ(e.line(), line) << e.what();
      EXPECT_NE(e.file().find("scarce_test.cpp"), std::string::npos) << e.what();
    }
  };
  const Array x = ones({2, 2}), deep = ones(Shape(std::vector<int>(16, 1)));
  at([] { zeros({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}); }, __LINE__);
  at([] { zeros(std::vector<int>(17, 1)); }, __LINE__);
  at([&] { static_cast<void>(expand_dims(deep, 0)); }, __LINE__);
  at([&] { static_cast<void>(stack({deep, deep})); }, __LINE__);
  at([&] { static_cast<void>(deep[newaxis]); }, __LINE__);
  at([&] { static_cast<void>(tensordot(deep, x, 0)); }, __LINE__);
  at([&] { static_cast<void>(outer(deep, x) + kron(deep, x) + x[deep]); }, __LINE__);
  at([&] { static_cast<void>(jacfwd([](Array y) { return sin(y); })(deep)); }, __LINE__);
  auto both = [](Array c, none_t) { return std::pair(c, c); };
  at([&] { static_cast<void>(scan(both, deep, none, {.length = 3})); }, __LINE__);
  at([&] { static_cast<void>(vmap([&](Array y) { return deep * y; })(ones(3))); }, __LINE__);
  at([] { static_cast<void>(repeat(ones(2), std::vector<std::int64_t>{INT64_MAX, 1})); }, __LINE__);
  at([] { static_cast<void>(pad(ones(2), {{INT64_MAX, 1}})); }, __LINE__);
  at([] { static_cast<void>(zeros({1 << 20, 1 << 20}) + ones({1 << 20, 1 << 20})); }, __LINE__);
}

TEST_F(Scarce, BadThreadsAreNamed) {
  EXPECT_EXIT(
      {
        ::setenv("ANEW_THREADS", "many", 1);
        try {
          static_cast<void>(matmul(ones({500, 500}), ones({500, 500})));
        } catch (const Error& e) {
          std::fprintf(stderr, "%s", e.what());
        }
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0),
      "^.threads. ANEW_THREADS must be a number from 1 to 256, not 'many'; at scarce_test.cpp:");
}

}  // namespace
}  // namespace anew
