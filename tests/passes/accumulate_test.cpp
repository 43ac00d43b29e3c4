// Products that are added where their addend lies: the bits of a product and an addition behind it, for every length of
// a chain and every form; done where that is so, and only there.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "jit/compiled_program.h"
#include "passes/pipeline.h"
#include "passes/subjects.h"
#include "runtime/pool.h"

namespace anew::passes {
namespace accumulate_test {
namespace {

using Xs = std::span<const Array>;

Array data(const Shape& s, int seed, DType t) { return astype(random::normal(random::key(seed), s), t); }

// Calls that add to what is there.
int sums_in(const Body& body) {
  int n = 0;
  for (const Step& s : body.steps) {
    for (const auto& nested : s.bodies) n += sums_in(*nested);
    if (auto* call = s.as<Call>()) n += call->in_place == 2;
  }
  return n;
}
int sums_of(const FlatFunction& f, const Arrays& x) {
  std::vector<Strides> inputs;
  for (const Array& a : x) inputs.push_back(row_major(a.shape()));
  return sums_in(*plan_program(*flat::make_program(f, x).code(), inputs).placed);
}
void expect_same(const FlatFunction& f, const Arrays& x, const std::string& what) {
  const Arrays want = f(x);
  const int before = threads();
  for (int n : {1, 2, 4}) {
    set_threads(n);
    compiled::clear_compiled();
    EXPECT_TRUE(test::same_bits(flat::compile(f, x)(x), want)) << what << ", " << n << " threads";
  }
  set_threads(before);
}

// c = c + a_t b_t over steps; `form`: which operands are transposed, and the product too, and which side it is on.
FlatFunction summed(int form) {
  return [=](Xs x) {
    auto step = [=](Xs c, Xs row) {
      Array a = form & 1 ? transpose(row[0]) : row[0], b = form & 2 ? transpose(row[1]) : row[1];
      Array p = form & 4 ? transpose(matmul(transpose(b), transpose(a))) : matmul(a, b);
      return flat::ScanResult{{form & 8 ? p + c[0] : c[0] + p}, {}};
    };
    return flat::scan(step, {x[0]}, {x[1], x[2]}, {}).carry;
  };
}
Arrays inputs(int form, std::int64_t m, std::int64_t k, std::int64_t n, DType t) {
  constexpr std::int64_t steps = 3;
  return {data({m, n}, 0, t), data(form & 1 ? Shape{steps, k, m} : Shape{steps, m, k}, 1, t),
          data(form & 2 ? Shape{steps, n, k} : Shape{steps, k, n}, 2, t)};
}

}  // namespace

TEST(Accumulate, EveryFormAndLength) {
  for (DType t : {f32, f64})
    for (int form = 0; form < 16; ++form)
      for (auto [m, k, n] :
           {std::tuple{40, 1, 33}, {7, 32, 50}, {64, 256, 20}, {30, 257, 30}, {1, 40, 70}, {70, 40, 1}}) {
        const Arrays x = inputs(form, m, k, n, t);
        expect_same(summed(form), x, fmt::format("form {}, {} x {} x {}", form, m, k, n));
        if (m == 1 || n == 1) continue;  // small enough for any way
        EXPECT_EQ(sums_of(summed(form), x), k <= 256 ? 1 : 0) << form << " " << m << " " << k << " " << n;
      }
}

// What is read again is not overwritten, nor an argument, nor is a product that others read.
TEST(Accumulate, OnlyWhereTheAddendEnds) {
  const Arrays x{data({40, 40}, 0, f32), data({40, 40}, 1, f32), data({40, 40}, 2, f32)};
  auto argument = [](Xs y) { return Arrays{y[0] + matmul(y[1], y[2])}; };
  auto again = [](Xs y) {
    Array s = sin(y[0]);
    Array z = s + matmul(y[1], y[2]);
    return Arrays{z, s};
  };
  auto shown = [](Xs y) {
    Array p = matmul(y[1], y[2]);
    return Arrays{matmul(sin(y[0]), y[1]) + p, p};
  };
  auto ends = [](Xs y) { return Arrays{matmul(y[0], y[1]) + matmul(y[1], y[2])}; };
  EXPECT_EQ(sums_of(argument, x), 0);
  EXPECT_EQ(sums_of(again, x), 0);
  EXPECT_EQ(sums_of(ends, x), 1);
  for (const FlatFunction& f : {FlatFunction(argument), FlatFunction(again), FlatFunction(shown), FlatFunction(ends)})
    expect_same(f, x, "straight");
}

// The gradient of the weights of a recurrent network is one array each, in the loop too.
TEST(Accumulate, GradientsOfWeightsOverSteps) {
  auto loss = [](Xs x) {
    auto cell = [&](Xs h, Xs in) {
      Array y = tanh(matmul(h[0], x[0]) + matmul(in[0], x[1]));
      return flat::ScanResult{{y}, {}};
    };
    return Arrays{sum(square(flat::scan(cell, {x[2]}, {x[3]}, {}).carry[0]))};
  };
  auto gradient = [=](Xs x) {
    return flat::grad([&](Xs w) { return loss(Arrays{w[0], w[1], x[2], x[3]}); }, x.first(2));
  };
  const Arrays x{data({64, 64}, 0, f32), data({32, 64}, 1, f32), data({8, 64}, 2, f32), data({5, 8, 32}, 3, f32)};
  EXPECT_EQ(sums_of(gradient, x), 2);
  expect_same(gradient, x, "recurrent");
}

}  // namespace accumulate_test
}  // namespace anew::passes
