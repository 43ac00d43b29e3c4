// Errors about an argument say where the call is that got it: every entry point that takes trees, with an array that
// was donated and with one that is none; trees that do not correspond; types that no array has.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/support.h"

namespace anew::places_test {
namespace {

struct Call {
  std::string_view text;
  int line;
  std::function<void(const Array&)> run;
};
#define CALL(...)                                                        \
  Call {                                                                 \
    #__VA_ARGS__, __LINE__, [=](const Array& x) { (void)(__VA_ARGS__); } \
  }

// "" where the call throws an Error with this file and its line.
std::string complaint(const Call& call, const Array& x) {
  try {
    call.run(x);
  } catch (const Error& e) {
    if (e.line() == call.line && std::string_view(e.file()).ends_with("places_test.cpp")) return "";
    return std::string(e.what()) + " [" + std::string(e.file()) + ":" + std::to_string(e.line()) + "]";
  }
  return "no error";
}

Array donated() {
  Array x = copy(ones(4));
  (void)jit([](Array w) { return w * 2; }, {.donate = {0}})(x);
  return x;
}

const auto loss = [](Array x) { return sum(sin(x)); };
const auto loss2 = [](Array x, Array y) { return sum(x * y); };
const auto loss3 = [](Array x, Array y, Array z) { return sum(x * y * z); };
const auto loss4 = [](Array x, Array y, Array z, Array w) { return sum(x * y * z * w); };
const auto twice = [](Array x) { return x * 2; };
const auto small = [](Array x) { return sum(x) < 3; };
const auto add_up = [](Array c, Array x) { return std::pair(c + sum(x), none); };

std::vector<Call> calls() {
  const Array a = ones(4);
  return {
      CALL(vjp(loss, x)),
      CALL(vjp(loss2, a, x)),
      CALL(vjp(loss3, a, a, x)),
      CALL(vjp(loss4, a, a, a, x)),
      CALL(vjp(loss2, ANEW_ARGS(a, x))),
      CALL(linearize(loss, x)),
      CALL(linearize(loss2, a, x)),
      CALL(linearize(loss3, a, a, x)),
      CALL(linearize(loss4, a, a, a, x)),
      CALL(linearize(loss2, ANEW_ARGS(a, x))),
      CALL(saved_residuals(loss, x)),
      CALL(saved_residuals(loss4, a, x, a, a)),
      CALL(saved_residuals(loss2, ANEW_ARGS(a, x))),
      CALL(print_saved_residuals(loss, x)),
      CALL(print_saved_residuals(loss3, x, a, a)),
      CALL(print_fwd_bwd(loss, x)),
      CALL(print_fwd_bwd(loss2, x, a)),
      CALL(eval_shape(loss, x)),
      CALL(eval_shape(loss4, a, a, a, x)),
      CALL(jvp(loss, x, a)),
      CALL(grad(loss)(x)),
      CALL(value_and_grad(loss)(x)),
      CALL(checkpoint(loss)(x)),
      CALL(make_program(loss)(x)),
      CALL(vmap(twice)(x)),
      CALL(map(twice, x)),
      CALL(hessian(loss)(x)),
      CALL(hvp(loss)(x, a)),
      CALL(jacrev(twice)(x)),
      CALL(jacfwd(twice)(x)),
      CALL(check_grads(loss, x)),
      CALL(jit(loss)(x)),
      CALL(jit(loss).plan(x)),
      CALL(jit(loss).compile(x)),
      CALL(jit(loss).budget_curve(x)),
      CALL(memory_report(jit(loss), x)),
      CALL(scan(add_up, array(0.0), x)),
      CALL(scan(add_up, x, a)),
      CALL(while_loop(small, twice, x)),
      CALL(fori_loop(
          0, 3, [](Array, Array c) { return c; }, x)),
      CALL(cond(array(true), twice, twice, x)),
      CALL(switch_(array(0), branches(twice, twice), x)),
      CALL(associative_scan(ANEW_FN(add), x)),
      CALL(tree_add(x, a)),
      CALL(tree_sub(a, x)),
      CALL(tree_dot(a, x)),
      CALL(tree_norm(x)),
      CALL(tree_zeros_like(x)),
      CALL(tree_stack(std::vector<Array>{a, x})),
      CALL(ravel_tree(x)),
      CALL(cg(eye(4), x)),
      CALL(newton(twice, x)),
      CALL(fixed_point(twice, x)),
      CALL(odeint([](Array y, Array) { return -y; }, x, array({0.0, 1.0}))),
      CALL(optim::lbfgs(loss, x)),
      CALL(optim::adam(0.1).init(x)),
      CALL(checkpoint_name(x, "x")),
  };
}

TEST(Places, OfArraysThatAreDonated) {
  const Array x = donated();
  for (const Call& c : calls()) EXPECT_EQ(complaint(c, x), "") << c.text;
}

TEST(Places, OfArraysThatAreNone) {
  for (const Call& c : calls()) EXPECT_EQ(complaint(c, Array()), "") << c.text;
}

TEST(Places, OfTypesThatNoArrayHas) {
  for (const Shape& shape : {Shape{-3}, Shape{std::int64_t{1} << 40, std::int64_t{1} << 30}}) {
    const ShapeDtype type{shape, f32};
    const Array x = type;
    for (const Call& c : {CALL(jit(loss).plan(x)), CALL(jit(loss).compile(x)), CALL(jit(loss).budget_curve(x)),
                          CALL(eval_shape(loss, x)), CALL(make_program(loss)(x)), CALL(saved_residuals(loss, x))}) {
      int line = 0;
      EXPECT_EQ(test::error_of([&] { c.run(x); }, __FILE__, &line),
                "an array of type " + type.str() +
                    " is too large (or has a negative size): argument 0; hint: no array can have it: give the shape of "
                    "one that can be made")
          << c.text;
      EXPECT_EQ(line, c.line) << c.text;
    }
  }
}

TEST(Places, OfTreesThatDoNotCorrespond) {
  using Trees = std::vector<Array>;
  const Array a = ones(2);
  const auto two = [](Array x, Array) { return x; };
  const auto three = [](Array x, Array, Array) { return x; };
  const auto with_path = [](const std::string&, Array x, Array) { return x; };
  const auto with_path3 = [](const std::string&, Array x, Array, Array) { return x; };
  const auto rule = [](Array t, const Trees&, Array) { return Trees{t, t}; };
  const int line = __LINE__ + 1;
  const auto ruled = defjvps([](Array k) { return Trees{k}; }, std::tuple(rule));
  for (const Call& c :
       {CALL(tree_map(two, Trees{x}, Trees{x, x})), CALL(tree_map(three, Trees{x}, Trees{x}, Trees{x, x})),
        CALL(tree_map_with_path(with_path, Trees{x}, Trees{x, x})),
        CALL(tree_map_with_path(with_path3, Trees{x}, Trees{x}, Trees{x, x})), CALL(tree_add(Trees{x}, Trees{x, x}))})
    EXPECT_EQ(complaint(c, a), "") << c.text;
  EXPECT_EQ(complaint({"defjvps", line, [&](const Array& x) { (void)jvp(ruled, x, x); }}, a), "");
}

struct Optional {
  std::optional<Array> skip;
  std::map<std::string, Array> extra;
};
struct Pair {
  Array a, b;
};

// Each path names the tree that it is in.
TEST(Places, NameBothTrees) {
  const Array x = ones(2);
  EXPECT_EQ(ERROR_OF((void)tree_add(Optional{x, {}}, Optional{{}, {{"w", x}}})),
            "[tree_add] the second tree has 1 leaves and the first tree has 1, which do not correspond: second "
            "tree.extra['w'] stands in the place of first tree.skip");
  EXPECT_EQ(ERROR_OF((void)vmap([](Array y) { return y; }, {.in_axes = {Pair{0, 0}}})(x)),
            "[vmap] the tree of axes number 0 in .in_axes has 2 leaves and the tree that it is for has 1, which do not "
            "correspond: a stands in the place of the array");
}

}  // namespace
}  // namespace anew::places_test
