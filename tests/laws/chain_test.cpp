// All transformations compose: every chain of three of them on every small program. jit and checkpoint in a chain
// change nothing, so a chain equals the chain of its derivatives alone. Bit for bit, but where reverse mode meets a
// recomputation: linearize and vjp of a checkpoint leave a second copy of its body, and reverse mode over both rounds
// another sum.
#include "laws/cells.h"

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
  enum class Kind { forward, linear, reverse, call, recomputation } kind;
};

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

TEST_P(ChainLaw, IsItsDerivativesAlone) {
  using Kind = Transformation::Kind;
  int index = 0;
  for (const SmallProgram& p : small_programs(f64)) {
    SCOPED_TRACE("program " + std::to_string(index));
    Random random(static_cast<std::uint64_t>(index++));
    Arrays x;
    for (const ir::Type& t : p.types) x.push_back(random.array(t));
    FlatFunction chained = p.f, reference = p.f;
    bool recomputes = false, two_copies = false, exact = true;
    for (const Transformation* t : GetParam().steps) {
      chained = t->apply(chained);
      recomputes = recomputes || t->kind == Kind::recomputation;
      if (t->kind == Kind::recomputation || t->kind == Kind::call) continue;
      reference = t->apply(reference);
      exact = exact && !(two_copies && t->kind == Kind::reverse);
      two_copies = two_copies || (recomputes && t->kind != Kind::forward);
    }
    Arrays got = chained(x), want = reference(x);
    if (exact) expect_same(got, want, GetParam().name());
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
