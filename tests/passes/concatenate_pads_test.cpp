// Sums of pads that lie side by side: what becomes a concatenation, what stays, and the same bits on random ones.
#include <random>

#include "passes/pipeline.h"
#include "passes/subjects.h"
#include "support/bits.h"
#include "support/random.h"

namespace anew::test {
namespace {

using passes::concatenate_pads;

std::string joined(const std::string& text) {
  return ir::print(passes::eliminate_dead_code(concatenate_pads(*parse_program(text).code())));
}

TEST(ConcatenatePads, IsSoundOnTypicalProgramsAndTwiceAsOnce) {
  for (const Subject& s : subjects()) {
    ir::Program p = expect_sound(s, concatenate_pads);
    EXPECT_EQ(ir::print(concatenate_pads(p)), ir::print(p)) << s.name;
  }
}

// As the cotangent of what was split has it; zeros are added to each part, and fill what no part covers.
TEST(ConcatenatePads, PartsAreWrittenSideBySide) {
  EXPECT_EQ(joined(R"({ lambda ; a:f32[2,1] b:f32[2,3]. let
    c:f32[2,6] = pad[padding_config=((0, 0, 0), (5, 0, 0))] a 0.0:f32[]
    d:f32[2,6] = pad[padding_config=((0, 0, 0), (1, 2, 0))] b 0.0:f32[]
    e:f32[2,6] = add_any c d
  in (e,) })"),
            R"({ lambda ; a:f32[2,1] b:f32[2,3]. let
    c:f32[2,1] = broadcast_in_dim[broadcast_dimensions=() shape=(2, 1)] 0.0:f32[]
    d:f32[2,3] = add_any b 0.0:f32[]
    e:f32[2,1] = broadcast_in_dim[broadcast_dimensions=() shape=(2, 1)] 0.0:f32[]
    f:f32[2,1] = add_any a 0.0:f32[]
    g:f32[2,6] = concatenate[dimension=1] c d e f
  in (g,) })");
}

TEST(ConcatenatePads, OneOtherAddendStays) {
  EXPECT_EQ(joined(R"({ lambda ; a:i32[2] b:i32[2] c:i32[4]. let
    d:i32[4] = pad[padding_config=((0, 2, 0),)] a 0:i32[]
    e:i32[4] = add c d
    f:i32[4] = pad[padding_config=((2, 0, 0),)] b 0:i32[]
    g:i32[4] = add f e
  in (g, f) })"),
            R"({ lambda ; a:i32[2] b:i32[2] c:i32[4]. let
    d:i32[4] = pad[padding_config=((2, 0, 0),)] b 0:i32[]
    e:i32[4] = concatenate[dimension=0] a b
    f:i32[4] = add c e
  in (f, d) })");
}

// Others would be added in another order; pads that meet, or differ along two axes, or hold numbers, are no parts.
TEST(ConcatenatePads, WhatIsNoConcatenationStays) {
  const std::string head = "{ lambda ; a:f32[2,2] b:f32[2,2] c:f32[4,4] d:f32[4,4]. let\n    ";
  for (const char* rest : {R"(e:f32[4,4] = pad[padding_config=((0, 2, 0), (0, 2, 0))] a 0.0:f32[]
    f:f32[4,4] = pad[padding_config=((2, 0, 0), (2, 0, 0))] b 0.0:f32[]
    g:f32[4,4] = add e f
  in (g,) })",
                           R"(e:f32[2,4] = pad[padding_config=((0, 0, 0), (0, 2, 0))] a 0.0:f32[]
    f:f32[2,4] = pad[padding_config=((0, 0, 0), (1, 1, 0))] b 0.0:f32[]
    g:f32[2,4] = add e f
  in (g,) })",
                           R"(e:f32[2,4] = pad[padding_config=((0, 0, 0), (0, 2, 0))] a 1.0:f32[]
    f:f32[2,4] = pad[padding_config=((0, 0, 0), (2, 0, 0))] b 1.0:f32[]
    g:f32[2,4] = add e f
  in (g,) })",
                           R"(e:f32[2,4] = pad[padding_config=((0, 0, 0), (0, 2, 0))] a 0.0:f32[]
    f:f32[2,4] = pad[padding_config=((0, 0, 0), (2, 0, 0))] b -0.0:f32[]
    g:f32[2,4] = add e f
  in (g,) })",
                           R"(e:f32[2,4] = pad[padding_config=((0, 0, 0), (0, 1, 1))] a 0.0:f32[]
    f:f32[2,4] = pad[padding_config=((0, 0, 0), (3, -1, 0))] b 0.0:f32[]
    g:f32[2,4] = add e f
  in (g,) })",
                           R"(e:f32[2,4] = pad[padding_config=((0, 0, 0), (0, 2, 0))] a 0.0:f32[]
    f:f32[2,4] = pad[padding_config=((0, 0, 0), (2, 0, 0))] b 0.0:f32[]
    g:f32[2,4] = mul e f
  in (g,) })",
                           R"(e:f32[4,2] = pad[padding_config=((0, 2, 0), (0, 0, 0))] a 0.0:f32[]
    f:f32[4,4] = pad[padding_config=((0, 0, 0), (0, 2, 0))] e 0.0:f32[]
    g:f32[4,4] = add f c
    h:f32[4,2] = pad[padding_config=((2, 0, 0), (0, 0, 0))] b 0.0:f32[]
    i:f32[4,4] = pad[padding_config=((0, 0, 0), (2, 0, 0))] h 0.0:f32[]
    j:f32[4,4] = add g d
    k:f32[4,4] = add j i
  in (k,) })"}) {
    const std::string text = head + rest;
    EXPECT_EQ(joined(text), ir::print(*parse_program(text).code()));
  }
}

// Every bit, -0.0 and nan among them: parts in any order, with gaps, pads of both zeros, an addend in any place.
TEST(ConcatenatePads, KeepsEveryBitOfRandomSums) {
  std::mt19937 bits(7);
  const auto below = [&](int n) { return static_cast<int>(bits() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    const DType d = std::array{f32, f64, bf16, i32}[below(4)];
    const int count = 2 + below(4), axis = below(2);
    const double zero = d != i32 && below(3) == 0 ? -0.0 : 0.0;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    std::int64_t size = below(2);
    for (int i = 0; i < count; ++i) {
      const std::int64_t n = 1 + below(3);
      ranges.emplace_back(size, n);
      size += n + below(2);
    }
    std::shuffle(ranges.begin(), ranges.end(), bits);
    const auto numbers = [&](Shape shape) {
      std::vector<double> v(static_cast<std::size_t>(shape.size()));
      for (double& x : v)
        x = below(3) == 0 ? (below(2) == 0 ? -0.0 : 0.0) : d != i32 && below(9) == 0 ? NAN : below(100) / 7.0 - 7;
      return array(v, shape).astype(d);
    };
    const auto shape = [&](std::int64_t n) { return axis == 0 ? Shape{n, 2} : Shape{3, n}; };
    std::vector<Array> x;
    for (const auto& [begin, n] : ranges) x.push_back(numbers(shape(n)));
    const int other = below(count + 2);  // where it is added; beyond the last: nowhere
    x.push_back(numbers(shape(size)));
    const auto f = [&](const std::vector<Array>& in) {
      Array sum;
      const auto add_to_sum = [&](const Array& y, bool first) { sum = first ? y : sum + y; };
      for (int i = 0; i < count; ++i) {
        if (i == other) add_to_sum(in.back(), i == 0);
        const auto [begin, n] = ranges[i];
        std::vector<lax::Padding> config(2, {0, 0, 0});
        config[axis] = {begin, size - begin - n, 0};
        add_to_sum(lax::pad(in[i], zero, config), i == 0 && other != 0);
      }
      return sum;
    };
    const Array eager = f(x), compiled = jit(f)(x);
    EXPECT_TRUE(same_bits(eager, compiled)) << round;
    const Program p = make_program(f)(x);
    EXPECT_NE(ir::print(passes::prepare(*p.code())).find("concatenate"), std::string::npos) << p;
  }
}

// The gradient by an array whose rows an unrolled loop reads one by one takes the memory of the array, not of one array
// for each row.
TEST(ConcatenatePads, GradientOfRowsReadOneByOne) {
  const auto f = [](Array x) {
    Array y = x[0];
    for (int i = 1; i < 40; ++i) y = sin(y) * x[i];
    return sum(y);
  };
  const Array x = Random(3).array({{40, 300}, f32});
  EXPECT_TRUE(array_equal(jit(grad(f))(x), grad(f)(x)));
  const ir::Program p = passes::prepare(*make_program(grad(f))(x).code());
  for (const ir::Eqn& e : p.eqns) EXPECT_NE(e.primitive->name, "pad") << ir::print(p);
}

}  // namespace
}  // namespace anew::test
