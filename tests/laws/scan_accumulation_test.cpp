// Loops add cotangents in the order of the unrolled loop: grad of a scan = grad of the loop written out, bit for bit
// but for signs of zeros, where each carry is read by the next step alone; and a checkpointed body changes nothing at
// all. Where a carry is also a y, or the initial carry is read outside, or an x is returned as a y, the loop adds up
// what its step gives before what comes from outside; the loop written out adds to what is there. Those sums agree to
// rounding.
#include "laws/cells.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;
using Step = std::function<flat::ScanResult(In constants, In carry, In x)>;

// Inputs: one constant [n], carries [n], xs [length, n].
struct Body {
  const char* name;
  int carries, xs;
  Step step;
  bool same_order = true;  // as the loop written out
};

Array mixed(const Array& x, const Array& y) { return sin(x) * y + tanh(x * y) - x / (2 + cos(y)); }

const std::vector<Body>& bodies() {
  static const std::vector<Body> all = {
      {"CarryAndX", 1, 1, [](In, In c, In x) { return flat::ScanResult{{mixed(c[0], x[0])}, {}}; }},
      {"Ys", 1, 1, [](In, In c, In x) { return flat::ScanResult{{mixed(c[0], x[0])}, {c[0] * x[0]}}; }},
      {"CarryReturnedAsY", 1, 1,
       [](In, In c, In x) {
         Array next = mixed(c[0], x[0]);
         return flat::ScanResult{{next}, {next}};
       },
       false},
      {"OldCarryReturnedAsY", 1, 1, [](In, In c, In x) { return flat::ScanResult{{mixed(c[0], x[0])}, {c[0]}}; }},
      {"XReturnedAsY", 1, 1, [](In, In c, In x) { return flat::ScanResult{{mixed(c[0], x[0])}, {x[0]}}; }, false},
      {"Constant", 1, 1,
       [](In k, In c, In x) { return flat::ScanResult{{mixed(c[0] * k[0], x[0]) + k[0]}, {sin(k[0]) * c[0]}}; }},
      {"ConstantOnly", 1, 0, [](In k, In c, In) { return flat::ScanResult{{mixed(c[0], k[0]) + k[0] * c[0]}, {}}; }},
      {"TwoCarries", 2, 1,
       [](In k, In c, In x) { return flat::ScanResult{{mixed(c[0], c[1]), mixed(c[1], x[0]) * k[0]}, {c[0] * c[1]}}; }},
      {"SwappedCarries", 2, 1,
       [](In, In c, In x) { return flat::ScanResult{{c[1], mixed(c[0], x[0])}, {c[0] + x[0]}}; }},
      {"KeptCarry", 2, 1, [](In, In c, In x) { return flat::ScanResult{{c[0], mixed(c[1], c[0]) + x[0] * c[0]}, {}}; }},
      {"NoCarry", 0, 1, [](In k, In, In x) { return flat::ScanResult{{}, {mixed(x[0], k[0])}}; }},
  };
  return all;
}

constexpr std::int64_t steps = 5, width = 128;

class ScanAccumulation : public testing::TestWithParam<Body> {
 protected:
  static Arrays inputs(std::uint64_t seed) {
    Random random(seed);
    const Body& b = GetParam();
    Arrays out{random.array({{width}, f32})};
    for (int i = 0; i < b.carries; ++i) out.push_back(random.array({{width}, f32}));
    for (int i = 0; i < b.xs; ++i) out.push_back(random.array({{steps, width}, f32}));
    return out;
  }
  // The loss also reads the constant, and each x, so that their cotangents meet others on the way in.
  static Array loss(In in, const flat::ScanResult& r) {
    Array total = sum(sin(in[0]));
    for (const Array& c : r.carry) total = total + sum(c * in[0]);
    for (const Array& y : r.ys) total = total + sum(y * y);
    for (const Array& x : in.subspan(1 + static_cast<std::size_t>(GetParam().carries))) total = total + sum(sin(x) * x);
    return total;
  }
  static FlatFunction looped(bool reverse, const std::optional<Policy>& policy = {}) {
    return [=, b = GetParam()](In in) {
      auto c = static_cast<std::size_t>(b.carries);
      auto body = [&](In carry, In x) {
        if (!policy) return b.step(in.first(1), carry, x);
        Arrays all(carry.begin(), carry.end());
        all.insert(all.end(), x.begin(), x.end());
        Arrays out = flat::checkpoint(
            [&](In args) {
              flat::ScanResult r = b.step(in.first(1), args.first(c), args.subspan(c));
              r.carry.insert(r.carry.end(), r.ys.begin(), r.ys.end());
              return r.carry;
            },
            all, *policy);
        auto split = out.begin() + static_cast<std::ptrdiff_t>(c);
        return flat::ScanResult{Arrays(out.begin(), split), Arrays(split, out.end())};
      };
      Arrays init(in.begin() + 1, in.begin() + 1 + b.carries), xs(in.begin() + 1 + b.carries, in.end());
      return Arrays{loss(in, flat::scan(body, init, xs, {.length = steps, .reverse = reverse}))};
    };
  }
  static FlatFunction unrolled(bool reverse) {
    return [=, b = GetParam()](In in) {
      flat::ScanResult r{Arrays(in.begin() + 1, in.begin() + 1 + b.carries), {}};
      std::vector<Arrays> ys;
      for (std::int64_t i = 0; i < steps; ++i) {
        Arrays x;
        for (std::size_t k = 1 + static_cast<std::size_t>(b.carries); k < in.size(); ++k)
          x.push_back(in[k][reverse ? steps - 1 - i : i]);
        flat::ScanResult now = b.step(in.first(1), r.carry, x);
        r.carry = now.carry;
        ys.push_back(now.ys);
      }
      if (reverse) std::reverse(ys.begin(), ys.end());
      for (std::size_t k = 0; k < ys[0].size(); ++k) {
        Arrays rows;
        for (const Arrays& y : ys) rows.push_back(y[k]);
        r.ys.push_back(stack(rows));
      }
      return Arrays{loss(in, r)};
    };
  }
  static Arrays gradient(const FlatFunction& f, const Arrays& x) {
    return flat::linearize(f, x).second.pullback(Arrays{Array(1.0f)});
  }
  // x + 0 turns -0 into +0 and keeps everything else.
  static Arrays without_sign_of_zero(Arrays xs) {
    for (Array& x : xs) x = x + 0.0f;
    return xs;
  }
  Warnings quiet;
};

TEST_P(ScanAccumulation, GradientIsThatOfTheUnrolledLoop) {
  for (bool reverse : {false, true}) {
    for (std::uint64_t seed = 0; seed < repeats(20); ++seed) {
      Arrays x = inputs(seed);
      expect_same(looped(reverse)(x), unrolled(reverse)(x), "value");
      Arrays got = without_sign_of_zero(gradient(looped(reverse), x)),
             want = without_sign_of_zero(gradient(unrolled(reverse), x));
      if (GetParam().same_order) expect_same(got, want, reverse ? "reversed" : "forward");
      for (std::size_t i = 0; i < got.size(); ++i) expect_close_to_scale(got[i], want[i], 1e-6, "gradient");
      if (HasFailure()) return;
    }
  }
}

TEST_P(ScanAccumulation, InitialCarryReadOutside) {
  auto and_outside = [](FlatFunction f) -> FlatFunction {
    return [f](In in) {
      Array total = f(in)[0];
      for (const Array& x : in) total = total + sum(sin(x) * x);
      return Arrays{total};
    };
  };
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Arrays x = inputs(seed), got = gradient(and_outside(looped(false)), x),
           want = gradient(and_outside(unrolled(false)), x);
    for (std::size_t i = 0; i < got.size(); ++i) expect_close_to_scale(got[i], want[i], 1e-6, "gradient");
  }
}

TEST_P(ScanAccumulation, CheckpointedBodyIsPlainBody) {
  using namespace checkpoint_policies;
  Policy products("products", [](const PolicyQuery& q) { return q.primitive == "mul"; });
  for (const Policy& p : {nothing_saveable, everything_saveable, products}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Arrays x = inputs(seed);
      expect_same(gradient(looped(false, p), x), gradient(looped(false), x), p.str());
      Random random(seed);
      Arrays t = random_like(random, x);
      auto second = [&](const std::optional<Policy>& q) {
        return flat::jvp([&](In in) { return gradient(looped(false, q), Arrays(in.begin(), in.end())); }, x, t).second;
      };
      if (seed < 3) expect_same(second(p), second({}), p.str() + ", forward over reverse");
      if (HasFailure()) return;
    }
  }
}

// checkpoint(scan) and jit(scan): the loop as a whole inside another row.
TEST_P(ScanAccumulation, WholeLoopInsideOthers) {
  using namespace checkpoint_policies;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Arrays x = inputs(seed), want = gradient(looped(false), x);
    for (const Policy& p : {nothing_saveable, everything_saveable})
      expect_same(gradient([&](In in) { return flat::checkpoint(looped(false), in, p); }, x), want, p.str());
    expect_same(gradient([&](In in) { return flat::jit(looped(false), in, {}); }, x), want, "jit");
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Bodies, ScanAccumulation, testing::ValuesIn(bodies()),
                         [](const testing::TestParamInfo<Body>& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace anew::test
