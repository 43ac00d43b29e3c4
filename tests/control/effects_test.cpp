// debug::print and io_callback: order, counts and refusals under every transformation (spec of effects, conformance
// rows B9, E1 and E5).
#include <anew/anew.h>

#include "ir/primitive.h"
#include "support/support.h"

namespace anew::test {
namespace {

using Lines = std::vector<std::string>;
class Effects : public testing::Test {
 protected:
  Effects() {
    saved_ = debug::set_sink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  ~Effects() override { debug::set_sink(saved_); }
  Lines lines() { return std::exchange(lines_, {}); }

 private:
  Lines lines_;
  debug::Sink saved_;
  Warnings quiet_;
};

Array printing(Array x) {
  Array y = x + 1;
  debug::print("y: {}", y);
  debug::print("x: {}", x);
  return sin(y);
}

TEST_F(Effects, PrintsInOrderWheneverItRuns) {
  EXPECT_EQ((printing(2.0), lines()), (Lines{"y: 3.0", "x: 2.0"}));
  auto compiled = jit(printing);
  EXPECT_EQ((compiled(2.0), compiled(3.0), lines()), (Lines{"y: 3.0", "x: 2.0", "y: 4.0", "x: 3.0"}));
  EXPECT_EQ(((void)jvp(printing, 2.0, 1.0), lines()), (Lines{"y: 3.0", "x: 2.0"}));
  EXPECT_EQ((grad(printing)(2.0), lines()), (Lines{"y: 3.0", "x: 2.0"}));
  EXPECT_EQ((grad(grad(printing))(2.0), lines()), (Lines{"y: 3.0", "x: 2.0"}));
  EXPECT_EQ((grad(jit(printing))(2.0), lines()), (Lines{"y: 3.0", "x: 2.0"}));
  debug::print("no arrays, {{braces}}");
  EXPECT_EQ(lines(), (Lines{"no arrays, {braces}"}));
  EXPECT_EQ((make_program(printing)(2.0).count("debug_print"), lines()), Lines{});
}

TEST_F(Effects, VmapPrintsPerExample) {
  Array x = array({1.f, 2.f, 3.f});
  auto f = [](Array a, Array b) {
    debug::print("{} {}", a, b);
    return a;
  };
  EXPECT_EQ((vmap(f, {.in_axes = {0, no_axis}})(x, 7.0), lines()), (Lines{"1.0 7.0", "2.0 7.0", "3.0 7.0"}));
  EXPECT_EQ((vmap(f, {.in_axes = {0, no_axis}, .chunk = 2})(x, 7.0), lines()),
            (Lines{"1.0 7.0", "2.0 7.0", "3.0 7.0"}));
  auto nested = vmap([&](Array a) { return vmap([&](Array b) { return f(a, b); })(array({5.f, 6.f})); });
  EXPECT_EQ((nested(array({1.f, 2.f})), lines()), (Lines{"1.0 5.0", "1.0 6.0", "2.0 5.0", "2.0 6.0"}));
  Program p = make_program(vmap([](Array a) {
    debug::print("{}", a);
    return a;
  }))(x);
  EXPECT_EQ(p.count("debug_print"), 1) << p;
}

// B9: whatever the policy, a print that is not saved runs in both passes.
TEST_F(Effects, CheckpointPrintsAgainWhenItRecomputes) {
  auto f = [](Array x) {
    Array y = checkpoint_name(x + 1, "y");
    Array z = checkpoint_name(y * 2, "z");
    debug::print("y: {}, z: {}", y, z);
    return checkpoint_name(exp(z), "w");
  };
  using namespace checkpoint_policies;
  for (const Policy& p : {nothing_saveable, save_any_names_but_these("z")})
    EXPECT_EQ((grad(checkpoint(f, p))(2.0), lines()), (Lines(2, "y: 3.0, z: 6.0"))) << p.str();
  EXPECT_EQ((checkpoint(f)(2.0), lines()), (Lines{"y: 3.0, z: 6.0"}));
}

TEST_F(Effects, LoopsAndBranchesKeepThem) {
  auto body = [](Array c, Array x) {
    debug::print("{}", x);
    return std::pair(c, none);
  };
  Array xs = array({1.f, 2.f});
  EXPECT_EQ(((void)scan(body, 0.0, xs), lines()), (Lines{"1.0", "2.0"}));
  auto loss = [&](Array x) {
    return scan([&](Array c, Array x) { return body(c, x), std::pair(c * x, none); }, x, xs).first;
  };
  EXPECT_EQ((grad(loss)(3.0), lines()), (Lines{"1.0", "2.0"}));
  auto branch = [](Array x) {
    return cond(x > 0, [](Array x) { return debug::print("+{}", x), x; }, [](Array x) { return x; }, x);
  };
  EXPECT_EQ((branch(1.0), branch(-1.0), jit(branch)(2.0), grad(branch)(3.0), lines()), (Lines{"+1.0", "+2.0", "+3.0"}));
  auto count = [](Array x) {
    return fori_loop(0, 2, [](Array i, Array c) { return debug::print("step {}", i), c * c; }, x);
  };
  EXPECT_EQ((count(2.0), lines()), (Lines{"step 0", "step 1"}));
  EXPECT_EQ((grad(count)(2.0), lines()), (Lines{"step 0", "step 1"}));
  auto few = [&](Array x) {
    return scan([&](Array c, Array x) { return body(c, x), std::pair(c * x, none); }, x, xs, {.checkpoints = 1}).first;
  };
  EXPECT_EQ((grad(few)(3.0), lines()), (Lines{"1.0", "2.0"}));
}

TEST_F(Effects, ANestedProgramWithEffectsIsKept) {
  auto inner = [](Array x) {
    debug::print("{}", x);
    return x * 2;
  };
  auto f = [&](Array x) {
    (void)jit(inner)(x);
    (void)checkpoint(inner)(x);
    return x;
  };
  ir::Program p = *make_program(f)(2.0).code();
  ir::Program q = ir::eliminate_dead_code(p, std::vector<bool>(p.outputs.size(), true)).program;
  EXPECT_EQ(ir::count(q, "debug_print"), 2) << ir::print(q);
  EXPECT_EQ((jit(f)(2.0), lines()), (Lines{"2.0", "2.0"}));
}

TEST_F(Effects, FormatErrors) {
  Array x = 1.0;
  EXPECT_EQ(ERROR_OF(debug::print("{} {}", x)),
            "[debug::print] \"{} {}\" has 2 placeholders, got 1 arrays (f32[]); hint: give one array for every {}");
  EXPECT_EQ(ERROR_OF(debug::print("{}")),
            "[debug::print] \"{}\" has 1 placeholders, got 0 arrays (none); hint: give one array for every {}");
  EXPECT_EQ(ERROR_OF(debug::print("{:.2f}", x)),
            "[debug::print] a brace stands alone in \"{:.2f}\"; hint: {} stands for an array, {{ and }} for braces");
}

TEST_F(Effects, CallbacksRunInOrder) {
  std::vector<double> seen;
  auto note = [&](Array x) {
    seen.push_back(x.item());
    return x * 10;
  };
  auto f = [&](Array x) { return io_callback(note, ShapeDtype{{}, f32}, x) + 1; };
  EXPECT_EQ(f(2.0).item(), 21);
  EXPECT_EQ(jit(f)(3.0).item(), 31);
  EXPECT_EQ(vmap(f)(array({4.f, 5.f})).to_vector(), (std::vector<double>{41, 51}));
  EXPECT_EQ(checkpoint(f)(6.0).item(), 61);
  EXPECT_EQ(scan([&](Array c, Array x) { return std::pair(c + f(x), none); }, 0.0, array({7.f, 8.f})).first.item(),
            152);
  EXPECT_EQ(seen, (std::vector<double>{2, 3, 4, 5, 6, 7, 8}));
  io_callback([&](Array x, int k) { seen.push_back(x.item() * k); }, none, array(1.f), 9);
  EXPECT_EQ(seen.back(), 9);
}

TEST_F(Effects, CallbacksHaveNoDerivative) {
  auto f = [](Array x, Array y) {
    io_callback([](Array y) { return y; }, ShapeDtype{{}, f32}, y);
    return x;
  };
  EXPECT_EQ(grad(f)(2.0, 3.0).item(), 1);  // nothing flows through it
  EXPECT_NE(std::string(make_program(checkpoint(f))(2.0, 3.0).str()).find("io_callback"), std::string::npos);  // E1
  // E5
  EXPECT_EQ(ERROR_OF((void)grad(checkpoint(f))(2.0, 3.0)),
            "[checkpoint] Effects not supported in the derivative of checkpoint: io_callback; hint: move the call out "
            "of the checkpointed function");
  EXPECT_EQ(ERROR_OF((void)linearize(checkpoint(f), array(2.f), array(3.f))),
            "[checkpoint] Effects not supported in the derivative of checkpoint: io_callback; hint: move the call out "
            "of the checkpointed function");
  EXPECT_EQ(ERROR_OF((void)grad<1>(f)(2.0, 3.0)),
            "[io_callback] has no derivative, but its arguments depend on what is differentiated; hint: stop_gradient "
            "the arguments, or give the function around it a rule with custom_jvp");
  auto loop = [&](Array x) {
    return scan([&](Array c, none_t) { return std::pair(f(c * c, 1.0), none); }, x, none,
                {.length = 4, .checkpoints = 2})
        .first;
  };
  EXPECT_EQ(ERROR_OF((void)grad(loop)(2.0)),
            "[scan] Effects not supported in the derivative of scan with few checkpoints: io_callback; hint: move the "
            "call out of the loop");
  auto branch = [&](Array x) { return cond(x > 0, [&](Array x) { return f(x, x); }, [](Array x) { return x; }, x); };
  EXPECT_EQ(ERROR_OF((void)vmap(branch)(array({1.f, -1.f}))),
            "[cond] Effects not supported in vmap of cond where the index is mapped: io_callback; hint: move the call "
            "out of the branches: under vmap all of them run");
  auto until = [&](Array x) {
    return while_loop([](Array c) { return c < 9; }, [&](Array c) { return f(c * 2, c); }, x);
  };
  EXPECT_EQ(ERROR_OF((void)vmap(until)(array({1.f, 2.f}))),
            "[while_loop] Effects not supported in vmap of while_loop where the condition is mapped: io_callback; "
            "hint: move the call out of the loop: examples that have ended would still call");
  auto wrong = [](Array x) { return io_callback([](Array x) { return stack({x, x}); }, ShapeDtype{{}, f32}, x); };
  EXPECT_EQ(ERROR_OF((void)wrong(1.0)),
            "[io_callback] the function gave f32[2], its result type says f32[]; hint: return what the result type "
            "says, or give the result type of what is returned");
}

// Errors of effects have the line of the user's call, now and from inside what transforms and compiles it.
TEST_F(Effects, ErrorsNameTheLineOfTheCall) {
  const ShapeDtype scalar{{}, f32};
  int line = 0, want = 0;
  auto text = [&](auto f) { return error_of(f, __FILE__, &line); };
  const char* hint = "; hint: return what the result type says, or give the result type of what is returned";
  auto wrong = [&](Array x) {
    want = __LINE__ + 1;
    return io_callback([](Array y) { return stack({y, y}); }, scalar, x);
  };
  const std::string type = std::string("[io_callback] the function gave f32[2], its result type says f32[]") + hint;
  Array xs = array({1.0f, 2.0f});
  EXPECT_EQ(text([&] { (void)wrong(1.0); }), type);
  EXPECT_EQ(line, want);
  EXPECT_EQ((line = 0, text([&] { (void)jit(wrong)(1.0); })), type);
  EXPECT_EQ(line, want);
  EXPECT_EQ((line = 0, text([&] { (void)vmap(wrong)(xs); })), type);
  EXPECT_EQ(line, want);
  EXPECT_EQ((line = 0, text([&] { (void)map(wrong, xs); })), type);
  EXPECT_EQ(line, want);
  EXPECT_EQ(
      (line = 0, text([&] { (void)grad(wrong)(1.0); })),
      "[io_callback] has no derivative, but its arguments depend on what is differentiated; hint: stop_gradient the "
      "arguments, or give the function around it a rule with custom_jvp");
  EXPECT_EQ(line, want);

  using List = std::vector<Array>;
  auto leaves = [&](Array x) {
    want = __LINE__ + 1;
    return io_callback([](Array y) { return List{y, y}; }, List{x}, x)[0];
  };
  EXPECT_EQ(
      (line = 0, text([&] { (void)jit(leaves)(1.0); })),
      "[io_callback] the result has 2 leaves and the given result type has 1, which do not correspond: result[1] is "
      "too much");
  EXPECT_EQ(line, want);
  auto empty = [&](Array x) {
    want = __LINE__ + 1;
    return io_callback([](Array) { return Array(); }, scalar, x);
  };
  EXPECT_EQ((line = 0, text([&] { (void)empty(1.0); })),
            "uninitialised Array used as an operand; hint: `Array x;` is no array yet, one that was moved from is none "
            "any more: assign one first");
  EXPECT_EQ(line, want);
  auto nothing = [](std::span<const Array>) { return Arrays{}; };
  auto by_lists = [&] { (void)flat::io_callback(nothing, std::array{scalar, scalar}, {}); };
  want = __LINE__ - 1;
  EXPECT_EQ(
      (line = 0, text(by_lists)),
      std::string("[io_callback] the function gave 0 arrays (none), its result type has 2 (f32[], f32[])") + hint);
  EXPECT_EQ(line, want);

  auto print = [&](Array x) {
    want = __LINE__ + 1;
    debug::print("{} {}", x);
    return x;
  };
  EXPECT_EQ((line = 0, text([&] { (void)jit(vmap(print))(xs); })),
            "[debug::print] \"{} {}\" has 2 placeholders, got 1 arrays (f32[]); hint: give one array for every {}");
  EXPECT_EQ(line, want);

  // With any number of arguments.
  auto none_of = [&] { (void)io_callback([] { return zeros({2}, f32); }, scalar); };
  want = __LINE__ - 1;
  EXPECT_EQ((line = 0, text(none_of)), type);
  EXPECT_EQ(line, want);
  auto f = [](Array a, Array b, Array c, Array d, Array e, Array g) { return stack({a + b + c, d + e + g}); };
  Array x = 1.0f;
  auto all_of = [&] { (void)io_callback(f, scalar, x, x, x, x, x, x); };
  want = __LINE__ - 1;
  EXPECT_EQ((line = 0, text(all_of)), type);
  EXPECT_EQ(line, want);
}

}  // namespace
}  // namespace anew::test
