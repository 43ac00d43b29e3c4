// Laws of every collective: derivatives against finite differences, transposes by the dot-product test over all ranks,
// vmap against a loop, checkpoints and compiled programs bit for bit, scans against unrolled loops, text that reads
// back.
#include <functional>

#include "mpi/ranks.h"

namespace anew::test {
namespace {

// Which of its argument and result are one value on all ranks, and so have one cotangent.
enum class Same { nothing, result, argument };
struct Law {
  std::string name;
  std::function<Array(const Array&)> f;
  Same same = Same::nothing;
  bool keeps_shape = true;
};
std::ostream& operator<<(std::ostream& out, const Law& law) { return out << law.name; }

std::vector<Law> laws() {
  auto pairs = [] {  // the first rank gets nothing, the last sends nothing
    std::vector<std::pair<int, int>> out;
    for (int i = 0; i + 1 < ranks(); ++i) out.emplace_back(i, i + 1);
    return out;
  };
  return {{"psum", [](const Array& x) { return psum(x, world()); }, Same::result},
          {"pmean", [](const Array& x) { return pmean(x, world()); }, Same::result},
          {"pmax", [](const Array& x) { return pmax(x, world()); }, Same::result},
          {"pmin", [](const Array& x) { return pmin(x, world()); }, Same::result},
          {"pvary", [](const Array& x) { return pvary(x, world()); }, Same::argument},
          {"all_gather", [](const Array& x) { return all_gather(x, world()); }, Same::nothing, false},
          {"all_gather_1", [](const Array& x) { return all_gather(x, world(), 1); }, Same::nothing, false},
          {"reduce_scatter", [](const Array& x) { return reduce_scatter(x, world()); }, Same::nothing, false},
          {"reduce_scatter_1", [](const Array& x) { return reduce_scatter(x, world(), -1); }, Same::nothing, false},
          {"all_to_all", [](const Array& x) { return all_to_all(x, world()); }},
          {"all_to_all_01", [](const Array& x) { return all_to_all(x, world(), 0, 1); }, Same::nothing, false},
          {"all_to_all_10", [](const Array& x) { return all_to_all(x, world(), 1, 0); }, Same::nothing, false},
          {"ppermute", [](const Array& x) { return ppermute(x, world(), ring()); }},
          {"ppermute_some", [pairs](const Array& x) { return ppermute(x, world(), pairs()); }},
          {"broadcast", [](const Array& x) { return broadcast(x, world(), ranks() - 1); }},
          {"shard", [](const Array& x) { return mpi::shard(x, world()); }, Same::argument, false},
          {"halo", [](const Array& x) { return mpi::halo_exchange(x, world()); }, Same::nothing, false},
          {"halo_1",
           [](const Array& x) { return mpi::halo_exchange(x, world(), {.axis = 1, .width = 2, .periodic = true}); },
           Same::nothing, false}};
}

class Collective : public testing::TestWithParam<Law> {
 protected:
  const Law& law() const { return GetParam(); }
  // An argument of the law, and a tangent of it.
  Array x(double k = 1, DType d = f64) const {
    const Shape shape{4 * ranks(), 2 * ranks()};
    return law().same == Same::argument ? fill(shape, k, d) : mine(shape, k, d);
  }
  Array cotangent(const Array& y) const {
    return law().same == Same::result ? fill(y.shape(), 7, f64) : mine(y.shape(), 7);
  }
  // A number of this rank that depends on all of the result.
  auto loss() const {
    return [f = law().f](Array a) {
      const Array y = f(sin(a));
      return sum(y * y + cos(3 * y));
    };
  }
  Warnings quiet_;
};

TEST_P(Collective, TangentsAreFiniteDifferences) {
  const Array a = x(), t = x(3);
  auto [y, dy] = jvp(law().f, a, t);
  EXPECT_TRUE(same_bits(y, law().f(a)));
  const double h = 1e-6;
  EXPECT_TRUE(allclose(dy, (law().f(a + h * t) - law().f(a - h * t)) / (2 * h), 1e-6, 1e-8));
}

TEST_P(Collective, TransposesByTheDotProduct) {
  const Array a = x(), t = x(3);
  auto [y, pullback] = vjp(law().f, a);
  const Array dy = jvp(law().f, a, t).second, ct = cotangent(y);
  auto [back] = std::tuple(pullback(ct));
  // A value that is one on all ranks is counted once.
  const double left = law().same == Same::result ? sum(ct * dy).item() : product_of_all(ct, dy);
  const double right = law().same == Same::argument ? sum(back * t).item() : product_of_all(back, t);
  EXPECT_NEAR(left, right, 1e-12 * std::max(1.0, std::abs(left)));
}

TEST_P(Collective, SecondDerivatives) {
  const Array a = x(), t = x(3);
  auto g = grad(loss());
  const double h = 1e-5;
  const Array want = (g(a + h * t) - g(a - h * t)) / (2 * h);
  EXPECT_TRUE(allclose(jvp(g, a, t).second, want, 1e-5, 1e-7));
  // Reverse over reverse: of <g, t> with t the same for all, each rank's own part.
  auto product = [&](Array b) { return sum(g(b) * t); };
  const Array hessian = grad(product)(a);
  EXPECT_TRUE(array_equal(hessian, jit(grad(product))(a)));
}

TEST_P(Collective, VmapIsALoop) {
  for (int axis : {0, 2}) {
    const Array xs = stack({x(1), x(2), x(3)}, axis);
    const Array all = vmap(law().f, {.in_axes = {axis}})(xs);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(all[i], law().f(x(1.0 + i))));
  }
}

TEST_P(Collective, CheckpointsAndCompiledProgramsGiveTheSameBits) {
  const Array a = x(1, f32);
  EXPECT_TRUE(same_bits(jit(law().f)(a), law().f(a)));
  const Array g = grad(loss())(a);
  EXPECT_TRUE(same_bits(jit(grad(loss()))(a), g));
  EXPECT_TRUE(same_bits(grad(checkpoint(loss()))(a), g));
  EXPECT_TRUE(same_bits(jit(grad(checkpoint(loss())))(a), g));
  EXPECT_TRUE(same_bits(grad(loss())(a), g));
}

TEST_P(Collective, ScansAreUnrolledLoops) {
  if (!law().keeps_shape) GTEST_SKIP() << "another shape";
  auto step = [&](Array c, Array s) {
    const Array next = sin(law().f(c) * s);
    return std::pair(next, sum(next));
  };
  auto scanned = [&](Array c) { return sum(scan(step, c, array({0.5, 1.0, 1.5}, f64)).first); };
  auto unrolled = [&](Array c) {
    for (double s : {0.5, 1.0, 1.5}) c = step(c, array(s, f64)).first;
    return sum(c);
  };
  const Array a = x();
  EXPECT_TRUE(same_bits(scanned(a), unrolled(a)));
  EXPECT_TRUE(same_bits(jit(scanned)(a), unrolled(a)));
  const Array g = grad(unrolled)(a);
  EXPECT_TRUE(allclose(grad(scanned)(a), g, 1e-13, 1e-14));
  EXPECT_TRUE(same_bits(jit(grad(scanned))(a), grad(scanned)(a)));
  for (const ScanOptions& few : {ScanOptions{.checkpoints = 2}, ScanOptions{.memory = 1 << 14}}) {
    auto kept = [&](Array c) { return sum(scan(step, c, array({0.5, 1.0, 1.5}, f64), few).first); };
    EXPECT_TRUE(same_bits(grad(kept)(a), grad(scanned)(a)));
    EXPECT_TRUE(same_bits(jit(grad(kept))(a), grad(scanned)(a)));
    EXPECT_TRUE(same_bits(jit(grad(checkpoint(kept)))(a), grad(scanned)(a)));
  }
}

TEST_P(Collective, TextReadsBack) {
  const Program p = make_program(grad(loss()))(x());
  EXPECT_EQ(parse_program(p.str()).str(), p.str());
  EXPECT_NE(p.str().find("comm=world"), std::string::npos) << p.str();
}

TEST_P(Collective, PlannedIsMeasured) {
  auto compiled = jit(grad(loss())).compile(x());
  const Array g = compiled(x());
  EXPECT_EQ(compiled.high_water_bytes(), compiled.plan().peak_bytes);
}

// The laws ask for ranks when they run: cases are named before there is a session.
INSTANTIATE_TEST_SUITE_P(All, Collective, testing::ValuesIn(laws()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anew::test
