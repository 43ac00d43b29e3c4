// Cutting a function into checkpoints or calls never reorders a sum of cotangents: gradients keep every bit, whatever
// the policy, the number of threads and the shape of the cut. Random f32 numbers, where a reordered sum shows in
// about a third of the entries. Each case is a function with a hole `cut` through which its parts are called:
// plainly, through checkpoint with several policies, through jit, and through combinations of them.
#include "laws/cells.h"
#include "runtime/pool.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;
using Cut = std::function<Arrays(const FlatFunction&, const Arrays&)>;

struct Case {
  const char* name;
  std::function<Arrays(const Cut&, In)> f;
};

Array mix(const Array& x, const Array& y) { return sin(x) * y + tanh(x * y) - x / (2 + cos(y)); }

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"BlockBesideSkip",
       [](const Cut& cut, In a) {
         Array h = a[0] * a[1];
         Array block = cut([](In x) { return Arrays{tanh(x[0] * x[1]) * sin(x[0]) + x[0] * x[1]}; }, {h, a[1]})[0];
         return Arrays{h + block};
       }},
      {"SkipBeforeBlock",
       [](const Cut& cut, In a) {
         Array h = a[0] * a[1];
         Array skip = h * a[1];
         return Arrays{cut([](In x) { return Arrays{mix(x[0], x[1]) + sin(x[0])}; }, {h, a[1]})[0] + skip + sin(h)};
       }},
      {"SkipValueKeyQuery",
       [](const Cut& cut, In a) {
         Array h = sin(a[0]);
         auto attention = [](In x) {
           Array q = x[0] * x[1], k = x[0] * (x[1] + 1), v = x[0] * (x[1] - 2);
           return Arrays{(q * k) * v};
         };
         return Arrays{h + cut(attention, {h, a[1]})[0]};
       }},
      {"EqualOperands",
       [](const Cut& cut, In a) {
         Array h = sin(a[0]) * a[1];
         return Arrays{cut([](In x) { return Arrays{sin(x[0]) * x[1] + x[0] * tanh(x[1])}; }, {h, h})[0] + h * a[1]};
       }},
      {"ShiftedOperands",
       [](const Cut& cut, In a) {
         Array h = sin(a[0]) * a[1];
         return Arrays{cut([](In x) { return Arrays{sin(x[0]) * x[1] + x[0] * tanh(x[1])}; }, {h + 1, h + 2})[0] +
                       h * a[1]};
       }},
      {"ReturnsAnInput",
       [](const Cut& cut, In a) {
         Array h = sin(a[0]) * a[1];
         Arrays r = cut([](In x) { return Arrays{x[0], mix(x[0], x[1]), x[1]}; }, {h, a[1]});
         return Arrays{mix(r[0], r[1]) + mix(r[1], r[2]) + h * r[0]};
       }},
      {"ReturnsOneValueTwice",
       [](const Cut& cut, In a) {
         auto body = [](In x) {
           Array y = sin(x[0]) * x[1];
           return Arrays{y, y, y * x[0]};
         };
         Arrays r = cut(body, {a[0], a[1]});
         return Arrays{mix(r[0], r[1]) + r[1] * r[2] + a[0] * r[0]};
       }},
      {"ReturnsShiftedInputs",
       [](const Cut& cut, In a) {
         Array h = sin(a[0]);
         Arrays r = cut([](In x) { return Arrays{x[0] + 1, x[0] + 2, sin(x[0] * x[1])}; }, {h, a[1]});
         return Arrays{mix(r[0], r[1]) * r[2] + h * r[0]};
       }},
      {"ReturnsAConstant",
       [](const Cut& cut, In a) {
         Arrays r =
             cut([](In x) { return Arrays{ones(x[0].shape()), stop_gradient(sin(x[0])), x[0] * x[1]}; }, {a[0], a[1]});
         return Arrays{mix(r[0] * a[0], r[2]) * r[1] + a[0]};
       }},
      {"Nested",
       [](const Cut& cut, In a) {
         auto inner = [](In x) { return Arrays{mix(x[0], x[1])}; };
         auto outer = [&](In x) {
           Array h = x[0] * x[1];
           return Arrays{h + cut(inner, {h, x[1]})[0] + cut(inner, {x[1], h})[0]};
         };
         Array h = sin(a[0]);
         return Arrays{h + cut(outer, {h, a[1]})[0]};
       }},
      {"Captured",
       [](const Cut& cut, In a) {
         Array w = sin(a[1]), h = a[0] * w;
         Array block = cut([&](In x) { return Arrays{mix(x[0], w) + h * x[0]}; }, {h})[0];
         return Arrays{block * w + h + mix(w, h)};
       }},
      {"CapturedAndGiven",
       [](const Cut& cut, In a) {
         Array h = sin(a[0]) * a[1];
         return Arrays{cut([&](In x) { return Arrays{mix(x[0], h) * h}; }, {h})[0] + h};
       }},
      {"Stack",
       [](const Cut& cut, In a) {
         Array h = a[0];
         for (int i = 0; i < 4; ++i) h = h + cut([](In x) { return Arrays{mix(x[0], x[1]) * 0.5}; }, {h, a[1]})[0];
         return Arrays{h};
       }},
      {"Products",
       [](const Cut& cut, In a) {
         std::int64_t n = a[0].size() / 8;
         Array x = reshape(a[0], {n, 8}), w = reshape(a[1][slice(64)], {8, 8});
         auto attention = [](In in) {
           Array q = dot(in[0], in[1]), k = dot(in[0], in[1] * in[1]), v = dot(in[0], sin(in[1]));
           return Arrays{tanh(q) * k + v};
         };
         x = x + cut(attention, {x, w})[0];
         return Arrays{x * cut(attention, {x, w})[0]};
       }},
      {"Broadcasts",
       [](const Cut& cut, In a) {
         Array s = sum(a[0] * a[1]), h = a[0] * s;
         return Arrays{cut([&](In x) { return Arrays{sin(x[0]) * x[1] + x[0] / (1 + x[1] * x[1])}; }, {h, s})[0] * s};
       }},
  };
  return all;
}

const std::vector<std::pair<std::string, Cut>>& cuts() {
  using namespace checkpoint_policies;
  auto through = [](const Policy& p) -> Cut {
    return [p](const FlatFunction& f, const Arrays& x) { return flat::checkpoint(f, x, p); };
  };
  Cut jit = [](const FlatFunction& f, const Arrays& x) { return flat::jit(f, x, {}); };
  auto both = [](const Cut& outer, const Cut& inner) -> Cut {
    return [=](const FlatFunction& f, const Arrays& x) {
      return outer([&](In in) { return inner(f, Arrays(in.begin(), in.end())); }, x);
    };
  };
  Policy products("products",
                  [](const PolicyQuery& q) { return q.primitive == "mul" || q.primitive == "dot_general"; });
  static const std::vector<std::pair<std::string, Cut>> all = {
      {"nothing", through(nothing_saveable)},
      {"everything", through(everything_saveable)},
      {"dots", through(dots_saveable)},
      {"not dots", through(not_(dots_saveable))},
      {"products", through(products)},
      {"jit", jit},
      {"jit of checkpoint", both(jit, through(nothing_saveable))},
      {"checkpoint of jit", both(through(nothing_saveable), jit)},
      {"checkpoint of checkpoint", both(through(nothing_saveable), through(products))},
      {"checkpoint of nothing of everything", both(through(everything_saveable), through(nothing_saveable))},
  };
  return all;
}

class Accumulation : public testing::TestWithParam<Case> {
 protected:
  void TearDown() override { set_threads(threads_); }
  FlatFunction with(const Cut& cut) const {
    return [f = GetParam().f, cut](In x) { return f(cut, x); };
  }
  FlatFunction plain() const {
    return with([](const FlatFunction& f, const Arrays& x) { return f(x); });
  }
  static Arrays inputs(std::uint64_t seed, std::int64_t n) {
    Random random(seed);
    return {random.array({{n}, f32}), random.array({{n}, f32}, -2, 2)};
  }
  Warnings quiet;

 private:
  int threads_ = threads();
};

Arrays gradient(const FlatFunction& f, const Arrays& x, std::uint64_t seed) {
  auto [y, linear] = flat::linearize(f, x);
  Random random(seed + 1000);
  Arrays out = linear.pullback(random_like(random, y));
  out.insert(out.end(), y.begin(), y.end());
  return out;
}

TEST_P(Accumulation, GradientKeepsEveryBit) {
  for (std::uint64_t seed = 0; seed < repeats(50); ++seed) {
    Arrays x = inputs(seed, 128);
    set_threads(1);
    Arrays want = gradient(plain(), x, seed);
    for (const auto& [name, cut] : cuts()) {
      set_threads(seed % 3 == 0 ? 1 : seed % 3 == 1 ? 2 : 4);
      expect_same(gradient(with(cut), x, seed), want, name);
    }
    if (HasFailure()) return;
  }
}

TEST_P(Accumulation, LargeAndOnAnyNumberOfThreads) {
  Arrays x = inputs(77, 1 << 16);
  set_threads(1);
  Arrays want = gradient(plain(), x, 77);
  for (int n : {1, 2, 4}) {
    set_threads(n);
    for (const auto& [name, cut] : cuts())
      expect_same(gradient(with(cut), x, 77), want, name + " on " + std::to_string(n) + " threads");
  }
}

// Under an enclosing transformation too: gradient inside jit and inside checkpoint.
TEST_P(Accumulation, GradientInsideOthers) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Arrays x = inputs(seed, 128), want = gradient(plain(), x, seed);
    for (const auto& [name, cut] : cuts()) {
      auto g = [&, f = with(cut)](In in) { return gradient(f, Arrays(in.begin(), in.end()), seed); };
      expect_same(flat::jit(g, x, {}), want, name + ", jit of the gradient");
      expect_same(flat::checkpoint(g, x, checkpoint_policies::nothing_saveable), want,
                  name + ", checkpoint of the gradient");
    }
    if (HasFailure()) return;
  }
}

TEST_P(Accumulation, JvpKeepsEveryBit) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed + 500);
    Arrays x = inputs(seed, 128), t = random_like(random, x), want = flat::jvp(plain(), x, t).second;
    for (const auto& [name, cut] : cuts()) {
      expect_same(flat::jvp(with(cut), x, t).second, want, name);
      expect_same(flat::linearize(with(cut), x).second(t), want, name + ", linearized");
    }
    if (HasFailure()) return;
  }
}

TEST_P(Accumulation, ForwardOverReverseKeepsEveryBit) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed + 500);
    Arrays x = inputs(seed, 128), t = random_like(random, x);
    auto second = [&](const FlatFunction& f) {
      return flat::jvp([&](In in) { return gradient(f, Arrays(in.begin(), in.end()), seed); }, x, t).second;
    };
    Arrays want = second(plain());
    for (const auto& [name, cut] : cuts()) expect_same(second(with(cut)), want, name);
    if (HasFailure()) return;
  }
}

// Bits stay where nothing is recomputed. A recomputed value has two copies when it is differentiated again; what flows
// back to each is multiplied before it is added, so that rounding differs.
TEST_P(Accumulation, ReverseOverReverse) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed + 500);
    Arrays x = inputs(seed, 128), t = random_like(random, x);
    auto second = [&](const FlatFunction& f) {
      auto g = [&](In in) {
        Arrays all = gradient(f, Arrays(in.begin(), in.end()), seed);
        return Arrays(all.begin(), all.begin() + 2);
      };
      return flat::linearize(g, x).second.pullback(t);
    };
    Arrays want = second(plain());
    for (const auto& [name, cut] : cuts()) {
      Arrays got = second(with(cut));
      if (name == "jit" || name == "everything") expect_same(got, want, name);
      for (std::size_t i = 0; i < got.size(); ++i) expect_close_to_scale(got[i], want[i], 1e-5, name.c_str());
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Accumulation, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace anew::test
