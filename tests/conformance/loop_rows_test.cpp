// Rows L: scan, plain and under checkpoint with the policies nothing (SCAN1) and everything (SCAN2), against the loop
// written out.
#include "conformance/conformance.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

struct Loops : Conformance {
  Random random{5};
  Array d = random.array({{2}, f32}), c = random.array({{4}, f32}), as = random.array({{5, 3}, f32});

  flat::ScanResult step(const Array& c, const Array& a) const {
    Array b = cos(sum(sin(a)) + sum(cos(c)) + sum(astype(d, c.dtype())));
    return {{sin(c * b)}, {b}};
  }
  Arrays reference(In x) const {
    Array c = x[0];
    Arrays bs;
    for (std::int64_t i = 0; i < 5; ++i) {
      flat::ScanResult r = step(c, x[1][i]);
      c = r.carry[0];
      bs.push_back(r.ys[0]);
    }
    return {c, stack(bs)};
  }
  // The loop: its body jitted or not, the whole jitted or not, under a checkpoint or not.
  std::vector<FlatFunction> loops() const {
    std::vector<FlatFunction> out;
    for (bool jit_body : {false, true}) {
      auto loop = [this, jit_body](In x) {
        auto body = [&](In carry, In a) {
          if (!jit_body) return step(carry[0], a[0]);
          auto call = [&](In in) {
            flat::ScanResult r = step(in[0], in[1]);
            return Arrays{r.carry[0], r.ys[0]};
          };
          Arrays r = flat::jit(call, Arrays{carry[0], a[0]}, {});
          return flat::ScanResult{{r[0]}, {r[1]}};
        };
        flat::ScanResult r = flat::scan(body, {x[0]}, {x[1]});
        return Arrays{r.carry[0], r.ys[0]};
      };
      for (bool jit_loop : {false, true}) {
        auto wrapped = [loop, jit_loop](In x) { return jit_loop ? flat::jit(loop, x, {}) : loop(x); };
        out.push_back(wrapped);
        for (const Policy& p : {nothing_saveable, everything_saveable})
          out.push_back([wrapped, p](In x) { return flat::checkpoint(wrapped, x, p); });
      }
    }
    return out;
  }
};

TEST_F(Loops, L11) {
  Arrays x{c, as}, want = reference(x);
  for (const FlatFunction& f : loops()) EXPECT_TRUE(same_bits(f(x), want));
}

TEST_F(Loops, L12) {
  Arrays x{c, as}, want = flat::jvp([this](In in) { return reference(in); }, x, x).second;
  for (const FlatFunction& f : loops()) {
    Arrays got = flat::jvp(f, x, x).second;
    for (std::size_t i = 0; i < 2; ++i) expect_close(got[i], want[i], 1e-6, "jvp");
    check_grads(f, {astype(c, f64), astype(as, f64)}, {.modes = "fwd"});
  }
}

TEST_F(Loops, L13) {
  Arrays x{c, as}, want = flat::linearize([this](In in) { return reference(in); }, x).second(x);
  for (const FlatFunction& f : loops()) {
    Arrays got = flat::linearize(f, x).second(x);
    for (std::size_t i = 0; i < 2; ++i) expect_close(got[i], want[i], 1e-6, "linearized");
  }
}

// 75 steps of gradient descent inside a scan, differentiated as a whole.
TEST_F(Loops, L15) {
  auto energy = [](Array conf, Array params) { return sum(conf * params); };
  auto minimize = [energy](Array params) {
    using State = std::pair<Array, Array>;
    auto step = [&](State s, none_t) {
      return std::pair(State(s.first + 1, s.second - 0.1 * grad(energy)(s.second, params)), none);
    };
    return scan(step, State(0, array({1.0, 2.0, 3.0})), none, {.length = 75}).first.second;
  };
  Array x = minimize(0.5);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(x.to_vector()[i], static_cast<double>(i) + 1 - 3.75, 1e-5);
  auto loss = [minimize](Array p) { return sum(sin(1.0 - minimize(p))); };
  // x = x0 - 7.5 p, so the derivative is 7.5 times the sum of cosines.
  double want = 0;
  for (double x0 : {1.0, 2.0, 3.0}) want += 7.5 * std::cos(1 - (x0 - 7.5 * 0.25));
  EXPECT_NEAR(grad(loss)(0.25).item(), want, 1e-4);
  EXPECT_NEAR(grad(checkpoint(loss))(0.25).item(), want, 1e-4);
}

TEST_F(Loops, L19) {
  auto cumsum = [](Array x, bool reverse) {
    auto add = [](Array c, Array x) { return std::pair(c + x, c + x); };
    return scan(add, 0, x, {.reverse = reverse}).second;
  };
  Array x = array({3, 1, 4, 1, 5, 9});
  EXPECT_EQ(cumsum(x, false).to_vector<int>(), (std::vector<int>{3, 4, 8, 9, 14, 23}));
  EXPECT_EQ(cumsum(x, true).to_vector<int>(), (std::vector<int>{23, 20, 19, 15, 14, 9}));
}

}  // namespace
}  // namespace anew::test
