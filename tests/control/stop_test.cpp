// Loops that are stopped: by the token of a jit, by the interrupt of the process, from other threads and from a signal
// handler; eager and compiled, in gradients and under vmap. Afterwards everything works as before, with the same bits.
#include <anew/anew.h>
#include <gtest/gtest.h>
#include <sys/time.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "jit/compiled_program.h"
#include "runtime/arena.h"
#include "runtime/buffer.h"
#include "support/support.h"

namespace anew {
namespace {

using test::same_bits;

// Counts to a limit, which may be far away.
Array counted(Array limit) {
  return while_loop([=](Array x) { return x < limit; }, [](Array x) { return x + 0.5; }, array(0.0, f64));
}
Array endless() { return array(1e300, f64); }
Array soon() { return array(10.0, f64); }

// Calls f, which does not end, while another thread stops it a little later.
template <class F>
std::string stopped_later(const StopToken& token, F f) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    token.stop();
  });
  std::string text;
  try {
    f();
  } catch (const Stopped& e) {
    text = e.what();
    EXPECT_NE(e.file().find("stop_test.cpp"), std::string::npos);
    EXPECT_EQ(e.line(), 23);
  }
  other.join();
  token.reset();
  return text;
}

TEST(Stop, TokensAreSharedByCopies) {
  StopToken a, b = a, c;
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
  b.stop();
  EXPECT_TRUE(a.stopped() && !c.stopped());
  StopToken moved = std::move(a);
  EXPECT_TRUE(a.stopped());  // NOLINT: what was moved from is the same token
  moved.reset();
  EXPECT_FALSE(b.stopped());
}

TEST(Stop, EndsACompiledLoopFromAnotherThread) {
  const StopToken token;
  auto f = jit(counted, {.stop = token});
  const Array want = f(soon());
  const std::size_t live = memory_statistics().live_bytes;
  const std::string text = stopped_later(token, [&] { static_cast<void>(f(endless())); });
  EXPECT_EQ(text.substr(0, 28), "[while] stopped before step ");
  EXPECT_NE(text.find("; at stop_test.cpp:23 (counted); hint: a StopToken given to jit or set_interrupt asked for it; "
                      "reset() it before the next call"),
            std::string::npos)
      << text;
  EXPECT_EQ(memory_statistics().live_bytes, live);  // the arena is back
  EXPECT_TRUE(same_bits(f(soon()), want));
  auto c = f.compile(soon());
  EXPECT_NE(stopped_later(token, [&] { static_cast<void>(c(endless())); }), "");
  EXPECT_TRUE(same_bits(c(soon()), want));
}

TEST(Stop, EndsInterpretedCode) {
  compiled::set_backend(compiled::Backend::interpreter);
  const StopToken token;
  EXPECT_NE(stopped_later(token, [&] { static_cast<void>(jit(counted, {.stop = token})(endless())); }), "");
  compiled::set_backend(compiled::Backend::machine_code);
}

TEST(Stop, EndsAnEagerLoopByTheInterrupt) {
  const StopToken token;
  EXPECT_FALSE(set_interrupt(token).has_value());
  const Array want = counted(soon());
  EXPECT_NE(stopped_later(token, [&] { static_cast<void>(counted(endless())); }), "");
  EXPECT_NE(stopped_later(token, [&] { static_cast<void>(jit(counted)(endless())); }), "");  // and compiled ones
  EXPECT_TRUE(same_bits(counted(soon()), want));
  EXPECT_TRUE(set_interrupt({}) == token);
  token.stop();  // is no interrupt any more
  EXPECT_TRUE(same_bits(counted(soon()), want));
}

TEST(Stop, EndsALoopFromASignalHandler) {
  static const StopToken token;
  set_interrupt(token);
  auto before = std::signal(SIGALRM, [](int) { token.stop(); });
  itimerval soon_after{};
  soon_after.it_value.tv_usec = 30'000;
  setitimer(ITIMER_REAL, &soon_after, nullptr);
  EXPECT_THROW(static_cast<void>(counted(endless())), Stopped);
  std::signal(SIGALRM, before);
  set_interrupt({});
}

// Other threads, with tokens of their own or none, go on.
TEST(Stop, LeavesOtherThreadsAlone) {
  const StopToken token, other;
  auto f = jit(counted, {.stop = token}), g = jit(counted, {.stop = other});
  const Array want = g(soon());
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0, calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      while (!done || calls < 10) {
        const Array y = i == 0 ? counted(soon()) : g(soon());
        ++calls;
        wrong += !same_bits(y, want);
      }
    });
  for (int i = 0; i < 5; ++i) EXPECT_NE(stopped_later(token, [&] { static_cast<void>(f(endless())); }), "");
  done = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Every kind of loop, with a token that is set already: none makes a step. `makes` are the loops of the Program.
struct Kind {
  const char* name;
  FlatFunction f;
};
std::vector<Kind> kinds() {
  auto step = [](Array c, Array x) { return std::pair(sin(c * x), c); };
  auto of = [](auto f) { return [f](std::span<const Array> x) { return Arrays{f(x[0])}; }; };
  auto scanned = [=](Array x) { return sum(scan(step, 0.5, x).first); };
  auto swept = [=](Array x) { return sum(scan(step, 0.5, x, {.checkpoints = 2}).first); };
  auto looped = [](Array x) {
    return while_loop([](std::pair<Array, Array> c) { return c.first < 5; },
                      [](std::pair<Array, Array> c) { return std::pair(c.first + 1, sin(c.second)); },
                      std::pair(0, sum(x)))
        .second;
  };
  auto mapped = [](Array x) { return sum(map([](Array e) { return sin(e); }, x)); };
  auto batched = [](Array x) { return sum(map([](Array e) { return sin(e); }, x, {.batch_size = 2})); };
  auto counting = [](Array x) { return fori_loop(0, 5, [](Array, Array c) { return sin(c); }, sum(x)); };
  auto chunked = [](Array x) { return sum(vmap([](Array e) { return sin(e); }, {.chunk = 2})(x)); };
  auto of_examples = [=](auto f) {
    return [=](Array x) { return sum(vmap([=](Array e) { return f(stack({e, e, e})); })(x)); };
  };
  return {{"scan", of(scanned)},
          {"scan with checkpoints", of(swept)},
          {"while", of(looped)},
          {"map", of(mapped)},
          {"map in batches", of(batched)},
          {"fori", of(counting)},
          {"vmap in chunks", of(chunked)},
          {"grad of scan", of(grad(scanned))},
          {"grad of scan with checkpoints", of(grad(swept))},
          {"grad of while", of(grad(looped))},
          {"grad of fori", of(grad(counting))},
          {"hessian product of scan", of([=](Array x) { return hvp(scanned)(x, x); })},
          {"vmap of scan", of(of_examples(scanned))},
          {"vmap of while", of(of_examples(looped))},
          {"grad of vmap of while", of(grad(of_examples(looped)))}};
}

TEST(Stop, EndsEveryKindOfLoop) {
  const Array x = array({0.5, 0.25, 0.125, 0.1});
  const StopToken token;
  for (const Kind& k : kinds()) {
    const Arrays in{x}, want = k.f(in);
    flat::JitCache cache;
    EXPECT_TRUE(same_bits(flat::jit(k.f, in, cache), want)) << k.name;
    token.stop();
    EXPECT_THROW(flat::jit(k.f, in, cache, {.stop = token}), Stopped) << k.name;
    set_interrupt(token);
    EXPECT_THROW(static_cast<void>(k.f(in)), Stopped) << k.name;
    set_interrupt({});
    token.reset();
    EXPECT_TRUE(same_bits(flat::jit(k.f, in, cache, {.stop = token}), want)) << k.name;
    EXPECT_TRUE(same_bits(k.f(in), want)) << k.name;
  }
}

// The way back is a loop too: of a pullback that was made before.
TEST(Stop, EndsThePullbackOfALoop) {
  for (int checkpoints : {0, 3}) {
    auto f = [=](Array x) {
      ScanOptions o{.length = 20};
      if (checkpoints) o.checkpoints = checkpoints;
      return scan([](Array c, none_t) { return std::pair(sin(c), none); }, x, none, o).first;
    };
    auto [y, pullback] = vjp(f, array(0.5));
    const Array want = pullback(array(1.0));
    const StopToken token;
    token.stop();
    set_interrupt(token);
    EXPECT_THROW(static_cast<void>(pullback(array(1.0))), Stopped);
    set_interrupt({});
    EXPECT_TRUE(same_bits(pullback(array(1.0)), want));
  }
}

}  // namespace
}  // namespace anew
