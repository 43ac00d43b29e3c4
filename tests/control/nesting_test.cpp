// How deep things may be nested in each other, and what is said beyond: functions, Programs, policies, on stacks of
// every size. And what is long, but not deep.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "ir/params.h"
#include "plan/revolve.h"
#include "support/support.h"

namespace anew::test {
namespace {

using Function = std::function<Array(Array)>;

Function nested(int depth, const std::function<Function(Function)>& wrap) {
  Function f = [](Array x) { return sin(x); };
  for (int i = 0; i < depth; ++i)
    f = wrap([held = std::make_shared<const Function>(std::move(f))](Array x) { return (*held)(x); });
  return f;
}
Function checkpoints(int depth) {
  return nested(depth, [](Function f) -> Function { return checkpoint(f); });
}
Function jits(int depth) {
  return nested(depth, [](Function f) -> Function { return jit(f); });
}
Function branches(int depth) {
  return nested(depth, [](Function f) -> Function {
    return [f](Array x) { return cond(x > 0, f, [](Array y) { return y; }, x); };
  });
}
Function scans(int depth) {
  return nested(depth, [](Function f) -> Function {
    auto step = [f](Array c, none_t) { return std::pair(f(c), none); };
    return [step](Array x) { return scan(step, x, none, {.length = 1}).first; };
  });
}

// f on a thread with a stack of this size.
void on_stack(std::size_t bytes, const std::function<void()>& f) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread{};
  auto run = [](void* g) -> void* { return (*static_cast<const std::function<void()>*>(g))(), nullptr; };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&f)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr const char* too_deep =
    "functions are nested more than 200 deep; hint: apply functions one after another, or in a scan, instead of inside "
    "each other";

TEST(Nesting, Functions) {
  EXPECT_EQ(ERROR_OF(checkpoints(10'000)(1.0)), std::string("[checkpoint] ") + too_deep);
  EXPECT_EQ(ERROR_OF(grad(checkpoints(10'000))(1.0)), std::string("[checkpoint] ") + too_deep);
  EXPECT_EQ(ERROR_OF(jits(5'000)(1.0)), std::string("[jit] ") + too_deep);
  EXPECT_EQ(ERROR_OF(scans(1'000)(1.0)), std::string("[scan] ") + too_deep);
  EXPECT_EQ(ERROR_OF(jit(branches(1'000))(1.0)), std::string("[cond] ") + too_deep);
}

TEST(Nesting, AsDeepAsIsAllowed) {
  auto deep = checkpoints(ir::max_nesting);
  EXPECT_TRUE(same_bits(deep(0.5), sin(Array(0.5))));
  EXPECT_TRUE(same_bits(grad(checkpoints(60))(0.5), cos(Array(0.5))));
  Program p = make_program(deep)(0.5);
  EXPECT_EQ(p.count("checkpoint"), ir::max_nesting);
  Program q = parse_program(p.str());
  EXPECT_EQ(q.str(), p.str());
  EXPECT_TRUE(same_bits(evaluate(q, Arrays{0.5})[0], sin(Array(0.5))));
}

// A Program that holds the Program before, and so on: nobody nests functions here.
TEST(Nesting, Programs) {
  Program p = make_program([](Array x) { return sin(x); })(1.0);
  auto grow = [&] {
    for (int i = 0; i < 1'000; ++i)
      p = make_program(checkpoint([p](Array x) { return evaluate(p, Arrays{x})[0]; }))(Array(1.0));
  };
  EXPECT_EQ(ERROR_OF(grow()), std::string("[checkpoint] ") + too_deep);
  EXPECT_EQ(p.count("checkpoint"), ir::max_nesting);
}

TEST(Nesting, Policies) {
  using namespace checkpoint_policies;
  Policy p = dots_saveable;
  auto grow = [&](auto step) {
    return [&p, step] {
      p = dots_saveable;
      for (int i = 0; i < 100'000; ++i) p = step(p);
    };
  };
  const std::string said = "policies are nested more than 100 deep; hint: any_of and all_of take a list of policies";
  EXPECT_EQ(ERROR_OF(grow([](const Policy& q) { return not_(q); })()), "[not_] " + said);
  EXPECT_EQ(ERROR_OF(grow([](const Policy& q) { return any_of(q, nothing_saveable); })()), "[any_of] " + said);
  EXPECT_EQ(ERROR_OF(grow([](const Policy& q) { return all_of({q}); })()), "[all_of] " + said);
  // The deepest there is can be asked, printed, compared and read back.
  auto f = checkpoint([](Array x) { return sin(x); }, p);
  EXPECT_TRUE(same_bits(grad(f)(0.5), cos(Array(0.5))));
  Program q = make_program(f)(0.5);
  EXPECT_EQ(parse_program(q.str()).str(), q.str());
}

// A small stack ends nesting sooner, with an Error as well.
TEST(Nesting, SmallStacks) {
  for (std::size_t kib : {512, 1024, 2048}) {
    on_stack(kib << 10, [&] {
      // Not deeper: the closures themselves are destroyed inside each other, on this stack.
      for (const Function& f : {checkpoints(500), jits(500), scans(500), branches(500)}) {
        EXPECT_THROW(f(1.0), Error);
        EXPECT_THROW(make_program(f)(1.0), Error);
        EXPECT_THROW(grad(f)(1.0), Error);
      }
      for (int depth : {20, 50, 100, 150, 199}) {
        try {
          grad(checkpoints(depth))(0.5);
          grad(scans(std::min(depth, 15)))(0.5);  // each stacks what the next one keeps, and arrays have 16 axes
        } catch (const Error& e) {
          EXPECT_NE(std::string(e.what()).find("functions are nested too deep for the stack of this thread"),
                    std::string::npos)
              << e.what();
        }
      }
    });
  }
}

TEST(Nesting, LongIsNotDeep) {
  const int n = std::getenv("ANEW_LONG") ? 1'000'000 : 100'000;
  Array x = 0.5, y = x;
  for (int i = 0; i < n; ++i) y = y + x;
  EXPECT_GT(y.item<double>(), n / 4);
  auto chain = [n](Array v) {
    for (int i = 0; i < n; ++i) v = v * 0.5;
    return v;
  };
  EXPECT_EQ(make_program(chain)(0.5).count("mul"), n);
  EXPECT_EQ(grad(chain)(0.5).item<double>(), 0);
}

// Stretches of a loop lie inside each other as deep as there are kept states.
TEST(Nesting, ManyKeptStates) {
  const std::int64_t length = 400'000, slots = 200'000;
  std::int64_t steps = 0;
  on_stack(std::size_t{512} << 10, [&] {
    plan::walk_back(length, slots, plan::forward_stops(length, slots), true,
                    {.load = [](std::int64_t) {},
                     .advance = [](std::int64_t, std::int64_t) {},
                     .keep = [](std::int64_t) {},
                     .drop = [](std::int64_t) {},
                     .back = [&](std::int64_t) { ++steps; }});
  });
  EXPECT_EQ(steps, length);
}

}  // namespace
}  // namespace anew::test
