// All transformations compose: every chain of three of them on every small program. jit and checkpoint in a chain
// change nothing and vmap is a loop, so a chain equals the chain of its derivatives alone, with loops for maps. Bit for
// bit (with vmap but for signs of zeros), but where reverse mode meets a recomputation: linearize and vjp of a
// checkpoint leave a second copy of its body, and reverse mode over both rounds another sum. Nor is reverse mode over a
// mapped branch: it is a choice between the results of all branches, and what flows back through each is added in turn.
// Two things are errors that say so: reverse over reverse of a while_loop, and forward mode of a custom_vjp.
#include "laws/cells.h"
#include "support/interpreted.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

// Directions depend on types alone, so that a chain and its reference take the same.
Arrays directions(const Arrays& like, std::uint64_t seed) {
  Random random(seed);
  return random_like(random, like);
}
Arrays listed(In x) { return {x.begin(), x.end()}; }

struct Transformation {
  const char* name;
  std::function<FlatFunction(FlatFunction)> apply;
  enum class Kind { forward, linear, reverse, call, recomputation, map } kind;
};

// x and another example beside it, stacked along the last axis.
Arrays two_examples(In x) {
  Arrays out;
  for (const Array& a : x) out.push_back(stack({a, differentiable(a) ? a * 0.75 : a}, -1));
  return out;
}
FlatFunction mapped(const FlatFunction& f) {
  return [=](In x) { return flat::vmap(f, two_examples(x), {.in = std::vector<int>(x.size(), -1)}); };
}
FlatFunction looped(const FlatFunction& f) {
  return [=](In x) {
    Arrays xs = two_examples(x), first, second, out;
    for (const Array& a : xs) first.push_back(a[{ellipsis, 0}]), second.push_back(a[{ellipsis, 1}]);
    first = f(first), second = f(second);
    for (std::size_t i = 0; i < first.size(); ++i) out.push_back(stack({first[i], second[i]}));
    return out;
  };
}

const std::vector<Transformation>& transformations() {
  using Kind = Transformation::Kind;
  auto checkpointed = [](const Policy& p) {
    return [p](FlatFunction f) -> FlatFunction { return [=](In x) { return flat::checkpoint(f, x, p); }; };
  };
  static const std::vector<Transformation> all = {
      {"Jvp",
       [](FlatFunction f) -> FlatFunction {
         return [=](In x) { return flat::jvp(f, x, directions(listed(x), 11)).second; };
       },
       Kind::forward},
      {"Linearize",
       [](FlatFunction f) -> FlatFunction {
         return [=](In x) { return flat::linearize(f, x).second(directions(listed(x), 11)); };
       },
       Kind::linear},
      {"Vjp",
       [](FlatFunction f) -> FlatFunction {
         return [=](In x) {
           auto [y, linear] = flat::linearize(f, x);
           return linear.pullback(directions(y, 12));
         };
       },
       Kind::reverse},
      {"Jit", [](FlatFunction f) -> FlatFunction { return [=](In x) { return flat::jit(f, x, {}); }; }, Kind::call},
      {"Checkpoint", checkpointed(checkpoint_policies::nothing_saveable), Kind::recomputation},
      {"CheckpointDots", checkpointed(checkpoint_policies::dots_saveable), Kind::recomputation},
      {"Vmap", mapped, Kind::map},
  };
  return all;
}

struct Chain {
  std::vector<const Transformation*> steps;
  std::string name() const {
    std::string out;
    for (const Transformation* t : steps) out += t->name;
    return out;
  }
};
std::vector<Chain> chains() {
  std::vector<Chain> out;
  for (const Transformation& a : transformations())
    for (const Transformation& b : transformations())
      for (const Transformation& c : transformations()) out.push_back({{&a, &b, &c}});
  return out;
}

class ChainLaw : public testing::TestWithParam<Chain> {
 protected:
  Warnings quiet;
};

// Whether the language says no to this chain, and how.
std::string refusal(const Chain& chain, const SmallProgram& p) {
  using Kind = Transformation::Kind;
  int derivatives = 0, residuals = 0;  // so far; of them those that keep the states of a loop
  bool recomputes = false;             // then a linearized loop is one that runs again, beside its tangents
  for (const Transformation* t : chain.steps) {
    recomputes = recomputes || t->kind == Kind::recomputation;
    if (t->kind == Kind::call || t->kind == Kind::recomputation || t->kind == Kind::map) continue;
    if (derivatives++ == 0 && t->kind != Kind::reverse && p.mentions("custom_vjp_call"))
      return "[custom_vjp] forward mode (jvp) of a function with a custom_vjp, which has no jvp";
    if (t->kind == Kind::reverse && residuals > 0 && p.mentions("while"))
      return "[while_loop] reverse-mode differentiation of reverse-mode differentiation is not available";
    residuals += t->kind == Kind::reverse || (t->kind == Kind::linear && !recomputes);
  }
  return "";
}

TEST_P(ChainLaw, IsItsDerivativesAlone) {
  using Kind = Transformation::Kind;
  // A chain's calls are machine code on one of four programs, another one for the next chain; with ANEW_LONG on all.
  const bool all = std::getenv("ANEW_LONG") != nullptr;
  static int turn = 0;
  ++turn;
  int index = 0;
  for (const SmallProgram& p : small_programs(f64)) {
    SCOPED_TRACE("program " + std::to_string(index));
    Random random(static_cast<std::uint64_t>(index));
    const Interpreted interpreted(!all && turn % 4 != index++ % 4);
    Arrays x;
    for (const ir::Type& t : p.types) x.push_back(random.array(t));
    FlatFunction chained = p.f, reference = p.f;
    bool recomputes = false, two_copies = false, exact = true, maps = false;
    const bool branches = p.mentions("cond"), loops = p.mentions("while"), parts = p.within_bytes();
    bool reversed = false;
    for (const Transformation* t : GetParam().steps) {
      chained = t->apply(chained);
      recomputes = recomputes || t->kind == Kind::recomputation;
      if (t->kind == Kind::recomputation || t->kind == Kind::call) continue;
      maps = maps || t->kind == Kind::map;
      if (t->kind == Kind::map) {
        reference = looped(reference);
        continue;
      }
      // Linearize is jvp (a law), and of a while_loop more can follow a jvp.
      const Transformation* as = loops && t->kind == Kind::linear ? &transformations().front() : t;
      reference = as->apply(reference);
      exact = exact && !(maps && branches && t->kind == Kind::reverse);
      exact = exact && !(two_copies && t->kind == Kind::reverse);
      // Going back, a loop within bytes is two loops; reverse mode over both adds in another order where they are
      // mapped.
      exact = exact && !(maps && parts && reversed && t->kind == Kind::reverse);
      reversed = reversed || t->kind == Kind::reverse || t->kind == Kind::linear;
      two_copies = two_copies || (recomputes && t->kind != Kind::forward);
    }
    if (std::string why = refusal(GetParam(), p); !why.empty()) {
      try {
        (void)chained(x);
        ADD_FAILURE() << "no error for a chain that is not defined";
      } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()).substr(0, why.size()), why);
      }
      continue;
    }
    Arrays got = chained(x), want = reference(x);
    if (exact) expect_same(got, want, GetParam().name(), maps ? Zeros::alike : Zeros::signed_);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_close_to_scale(got[i], want[i], 1e-13, "chain");
    // As a program: valid, and of the same value.
    Program traced = flat::make_program(chained, x);
    ASSERT_NO_THROW(ir::verify(*traced.code())) << traced;
    expect_same(evaluate(traced, x), got, "the traced chain");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChainLaw, testing::ValuesIn(chains()),
                         [](const testing::TestParamInfo<Chain>& i) { return i.param.name(); });

}  // namespace
}  // namespace anew::test
