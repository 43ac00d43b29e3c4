// grad, vjp, jvp, linearize: what they promise beyond the laws, and the exact texts of their errors.
#include "runtime/buffer.h"
#include "support/support.h"

namespace anew::test {
namespace {

TEST(Grad, UnusedArgumentsGetPlusZero) {
  Array g = grad<1>([](Array x, Array) { return sum(x); })(ones({3}), ones({2}));
  EXPECT_EQ(g.to_vector(), (std::vector<double>{0, 0}));
  EXPECT_FALSE(std::signbit(g[0].item<float>()));
}
TEST(Grad, OfAConstantFunctionIsZero) {
  EXPECT_EQ(grad([](Array) { return Array(3.0); })(1.0).item(), 0.0);
}
TEST(Grad, OfTheIdentityIsOne) {
  EXPECT_EQ(grad([](Array x) { return x; })(5.0).item(), 1.0);
}
TEST(Grad, ThroughStopGradient) {
  EXPECT_FLOAT_EQ(grad([](Array x) { return x * stop_gradient(x); })(3.0).item<float>(), 3.f);
}
TEST(Grad, OfCapturedValuesThroughEveryWrapper) {
  auto via = [](auto wrap) {
    Array g = grad([=](Array w) {
      auto inner = wrap([w](Array x) { return sin(w * x); });
      return sum(inner(array({1., 2.})));
    })(0.5);
    return g.item<float>();
  };
  float want = std::cos(0.5f) + 2 * std::cos(1.0f);
  EXPECT_FLOAT_EQ(via([](auto f) { return f; }), want);
  EXPECT_FLOAT_EQ(via([](auto f) { return checkpoint(f); }), want);
  EXPECT_FLOAT_EQ(via([](auto f) { return jit(f); }), want);
  EXPECT_FLOAT_EQ(via([](auto f) { return checkpoint(jit(f)); }), want);
}
TEST(Grad, OfOneValueThatIsTwoOutputs) {
  auto two = [](Array x) {
    Array y = sin(x);
    return std::pair(y, y);
  };
  float want = std::cos(0.5f);
  EXPECT_FLOAT_EQ(grad([&](Array x) { return jit(two)(x).first; })(0.5).item<float>(), want);
  EXPECT_FLOAT_EQ(grad([&](Array x) { return jit(two)(x).second; })(0.5).item<float>(), want);
  EXPECT_FLOAT_EQ(grad([&](Array x) { return checkpoint(two)(x).first; })(0.5).item<float>(), want);
}
TEST(Grad, ThirdOrder) {
  auto d3 = grad(grad(grad([](Array x) { return sin(x) * x; })));
  auto c3 = grad(checkpoint(grad(checkpoint(grad(checkpoint([](Array x) { return sin(x) * x; }))))));
  double x = 0.7;
  EXPECT_NEAR(d3(array(x, f64)).item(), -3 * std::sin(x) - x * std::cos(x), 1e-12);
  EXPECT_TRUE(same_bits(d3(array(x, f64)), c3(array(x, f64))));
}
TEST(Grad, OfIntegersBesideFloats) {
  auto f = [](Array x, Array n) { return sum(x * astype(n, f32)); };
  EXPECT_EQ(grad(f)(ones({2}), array({3, 4})).to_vector(), (std::vector<double>{3, 4}));
}

TEST(Pullback, IsCalledAsOftenAsOneLikes) {
  auto [y, back] = vjp([](Array x) { return sin(x); }, array({1., 2.}));
  EXPECT_TRUE(same_bits(back(ones({2})), back(ones({2}))));
}
TEST(Pullback, FreesResidualsAsItGoes) {
  const std::int64_t n = 1 << 16;
  Array x = fill({n}, 1);
  auto f = [](Array x) {
    for (int i = 0; i < 16; ++i) x = sin(x);
    return sum(x);
  };
  auto peak_over = [&](auto run) {
    std::size_t before = memory_statistics().live_bytes;
    reset_peak();
    run();
    return memory_statistics().peak_bytes - before;
  };
  auto kept = vjp(f, x).second;
  std::size_t array_bytes = static_cast<std::size_t>(n) * 4;
  std::size_t holding = peak_over([&] { (void)kept(1.0); });
  EXPECT_LE(holding, 4 * array_bytes);  // the residuals were there before
  std::size_t whole = peak_over([&] { (void)grad(f)(x); });
  EXPECT_LE(whole, 20 * array_bytes);  // 16 residuals and the few arrays in flight: nothing is held twice
}

TEST(Jvp, OfSeveralArguments) {
  auto [y, dy] = jvp([](Array a, Array b) { return a * b; }, std::tuple{Array(2.0), Array(3.0)},
                     std::tuple{Array(1.0), Array(10.0)});
  EXPECT_EQ(y.item(), 6.0);
  EXPECT_EQ(dy.item(), 23.0);
}
TEST(Linearize, RunsTheFunctionOnce) {
  int runs = 0;
  auto [y, f_lin] = linearize(
      [&](Array x) {
        ++runs;
        return sin(x);
      },
      1.0);
  (void)f_lin(1.0), (void)f_lin(2.0);
  EXPECT_EQ(runs, 1);
}
TEST(Names, DoNotChangeValuesOrGradients) {
  auto f = [](Array x) { return sum(checkpoint_name(sin(x), "s")); };
  auto g = [](Array x) { return sum(sin(x)); };
  Array x = fill({5}, 1);
  EXPECT_TRUE(same_bits(grad(f)(x), grad(g)(x)));
}

TEST(TransformErrors, Texts) {
  EXPECT_EQ(ERROR_OF((void)grad([](Array x) { return x; })(ones({3}))),
            "[grad] is defined for functions with a scalar output, got f32[3]; hint: reduce the output to a scalar, "
            "e.g. with sum(y), or use vjp");
  EXPECT_EQ(ERROR_OF((void)grad([](Array x) { return x; })(array({1, 2}))),
            "[grad] needs floating-point inputs, got i32[2] for argument 0; hint: convert with astype(x, f32), choose "
            "other arguments with grad<i>, or allow it: {.allow_int = true}");
  EXPECT_EQ(ERROR_OF((void)grad([](Array x) { return x > 0; })(1.0)),
            "[grad] needs a floating-point output, got bool[]");
  EXPECT_EQ(
      ERROR_OF((void)grad([](Array x) { return x; })(Array())),
      "uninitialised Array used as an operand: argument 0; hint: `Array x;` is no array yet, one that was moved from "
      "is none any more: assign one first");
  Array x = ones({2});
  FlatFunction id = [](std::span<const Array> in) { return Arrays(in.begin(), in.end()); };
  Arrays one{x}, two{x, x}, wrong{ones({3})};
  EXPECT_EQ(ERROR_OF((void)flat::jvp(id, one, wrong)),
            "[jvp] the tangent must have the type of the argument: got f32[3], expected f32[2]");
  EXPECT_EQ(ERROR_OF((void)flat::jvp(id, one, two)), "[jvp] tangents: got 2 arrays, expected 1");
  auto [y, lin] = flat::linearize(id, one);
  EXPECT_EQ(ERROR_OF((void)lin(wrong)),
            "[linearize] the tangent must have the type of the argument: got f32[3], expected f32[2]");
  EXPECT_EQ(ERROR_OF((void)lin(two)), "[linearize] tangents: got 2 arrays, expected 1");
  EXPECT_EQ(ERROR_OF((void)lin.pullback(wrong)),
            "[vjp] the cotangent must have the type of the output: got f32[3], expected f32[2]");
  EXPECT_EQ(ERROR_OF((void)lin.pullback(two)), "[vjp] cotangents: got 2 arrays, expected 1");
}

TEST(ProgramErrors, Texts) {
  Program p = make_program([](Array x) { return sin(x); })(ones({2}));
  Arrays none_given, wrong{ones({3})}, right{ones({2})};
  EXPECT_EQ(ERROR_OF((void)evaluate(p, none_given)), "[evaluate] the Program takes 1 arrays, got 0");
  EXPECT_EQ(ERROR_OF((void)evaluate(p, wrong)), "[evaluate] input 0 must be f32[2], got f32[3]");
  EXPECT_EQ(ERROR_OF((void)evaluate(Program(), right)), "[evaluate] an empty Program");
  EXPECT_TRUE(same_bits(evaluate(p, right)[0], sin(ones({2}))));
  EXPECT_TRUE(same_bits(evaluate(parse_program(p.str()), right)[0], sin(ones({2}))));
  EXPECT_EQ(ERROR_OF((void)jit([](Array x) { return x; }, {.threads = -1})(1.0)),
            "[jit] .threads is -1; hint: 0 means all of them");
}

// What only a Program written by hand can get wrong: the rows' own checks, met when it is read.
TEST(ProgramErrors, OfEquationsThatDoNotFit) {
  auto of = [](const char* text) {
    const std::string error = ERROR_OF((void)parse_program(text));
    const std::size_t behind_place = error.find(": ");
    return behind_place == std::string::npos ? error : error.substr(behind_place + 2);
  };
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f32[3]. let c:f32[2] = add a b in (c,) }"),
            "[add] operands have different shapes: f32[2] and f32[3]");
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f64[2]. let c:f32[2] = add a b in (c,) }"),
            "[add] operands have different types: f32[2] and f64[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2]. let c:f32[2] = add a in (c,) }"), "[add] takes 2 operands, got 1");
  EXPECT_EQ(of("{ lambda ; a:i32[2]. let c:i32[2] = sin a in (c,) }"), "[sin] needs a floating type, got i32[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f64[2]. let c:f32[] = dot_general[dimension_numbers=(([0], [0]), ([], [])) "
               "preferred_element_type=float32] a b in (c,) }"),
            "[dot_general] types differ: f32[2], f64[2], result f32");
  EXPECT_EQ(of("{ lambda ; a:f32[2,3]. let c:f32[] = reduce_sum[axes=(1, 0)] a in (c,) }"),
            "[reduce_sum] axes must be ascending axes of f32[2,3]");
  EXPECT_EQ(of("{ lambda ; a:bool[2] b:f32[2] c:f64[2]. let d:f32[2] = select_n a b c in (d,) }"),
            "[select_n] cases have different types: f32[2] and f64[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f64[2]. let c:f32[2] = linear_recurrence[axis=0 reverse=False] a b in (c,) }"),
            "[linear_recurrence] needs two arrays of one floating type and shape, got f32[2] and f64[2]");
  EXPECT_EQ(of("{ lambda ; . let c:f32[1] = dynamic_slice[slice_sizes=(1,)] in (c,) }"), "[dynamic_slice] of nothing");
  EXPECT_EQ(of("{ lambda ; a:f32[2]. let c:f32[2] = dynamic_update_slice a in (c,) }"),
            "[dynamic_update_slice] needs an array and an update");
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f64[1] i:i32[]. let c:f32[2] = dynamic_update_slice a b i in (c,) }"),
            "[dynamic_update_slice] types differ: f32[2] and update f64[1]");
  EXPECT_EQ(of("{ lambda ; a:i32[2] b:i32[2]. let c:i32[2] d:i32[2] = fft a b in (c, d) }"),
            "[fft] needs an axis of f32 or f64, got i32[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f32[2]. let c:f32[4] = irfft[n=4] a b in (c,) }"),
            "[irfft] f32[2] are not the results of 4 real numbers");
  EXPECT_EQ(of("{ lambda ; a:i32[] b:i32[] c:i32[] d:i32[]. let e:i32[] f:i32[] = threefry2x32 a b c d in (e, f) }"),
            "[threefry2x32] needs u32, got i32[]");
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f64[2]. let c:i32[2] = searchsorted[side=left] a b in (c,) }"),
            "[searchsorted] needs a sorted vector and values of its type, got f32[2] and f64[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2,3,5] b:f64[4,3,2]. let c:f32[2,4,4] = conv_general_dilated[dimension_numbers=([0, "
               "1, 2], [0, 1, 2], [0, 1, 2]) window_strides=(1,) padding=((0, 0),) lhs_dilation=(1,) rhs_dilation=(1,) "
               "feature_group_count=1 batch_group_count=1] a b in (c,) }"),
            "[conv_general_dilated] types do not fit: f32[2,3,5] and f64[4,3,2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2,3,5] b:f32[4,3,2]. let c:f32[2,4,4] = conv_general_dilated[dimension_numbers=([0, "
               "1, 1], [0, 1, 2], [0, 1, 2]) window_strides=(1,) padding=((0, 0),) lhs_dilation=(1,) rhs_dilation=(1,) "
               "feature_group_count=1 batch_group_count=1] a b in (c,) }"),
            "[conv_general_dilated] the dimension numbers do not fit f32[2,3,5] and f32[4,3,2]");
  EXPECT_EQ(of("{ lambda ; a:f32[4] i:i32[2,1] b:f64[2]. let c:f32[4] = scatter_add[update_window_dims=() "
               "inserted_window_dims=(0,) scatter_dims_to_operand_dims=(0,) mode=clip unique_indices=False] a i b in "
               "(c,) }"),
            "[scatter_add] types differ: f32[4] and updates f64[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2]. let b:f32[2] = cumsum[axis=1 reverse=False] a in (b,) }"),
            "[cumsum] axis 1 is out of range for f32[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f32[2]. let c:f32[4] = concatenate[dimension=1] a b in (c,) }"),
            "[concatenate] axis 1 is out of range for f32[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2] i:i32[] j:i32[]. let c:f32[1] = dynamic_slice[slice_sizes=(1,)] a i j in (c,) }"),
            "[dynamic_slice] 2 starts for f32[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2] b:f64[2]. let c:f32[2] d:f32[2] = fft a b in (c, d) }"),
            "[fft] real and imaginary parts differ: f32[2] and f64[2]");
  EXPECT_EQ(of("{ lambda ; a:f32[2]. let b:f32[2] = sort[dimension=1 num_keys=1] a in (b,) }"),
            "[sort] axis 1 is out of range for f32[2]");
}

TEST(ProgramErrors, ConstantsOfParsedTextComeFirst) {
  Array c = ones({2});
  Program p = make_program([&](Array x) { return x * c; })(ones({2}));
  EXPECT_TRUE(same_bits(evaluate(p, Arrays{ones({2})})[0], c));
  Program q = parse_program(p.str());
  EXPECT_EQ(ERROR_OF((void)evaluate(q, Arrays{ones({2})})),
            "[evaluate] the Program takes 2 arrays, got 1; hint: parsed text has no constants: they come first");
  EXPECT_TRUE(same_bits(evaluate(q, Arrays{c, ones({2})})[0], c));
}

// Integers among arguments and results have no derivative to check; the others are checked.
TEST(CheckGrads, PassesIntegersBy) {
  auto f = [](std::span<const Array> x) { return Arrays{x[0][x[1]] * x[0], x[1] + 1}; };
  flat::check_grads(f, Arrays{array({0.5, 1.5, 2.5}, f64), array(1)});
}

TEST(TransformErrors, OfFlatFunctions) {
  FlatFunction nothing = [](std::span<const Array>) { return Arrays{}; };
  EXPECT_EQ(ERROR_OF((void)flat::jacrev(nothing, Arrays{ones({2})})), "[jacrev] the function gives no array");
  auto neither = [](std::span<const Array>, std::span<const Array>) { return Arrays{}; };
  EXPECT_EQ(ERROR_OF((void)flat::associative_scan(neither, Arrays{})), "[associative_scan] there is no array to scan");
  EXPECT_EQ(ERROR_OF((void)flat::associative_scan(neither, Arrays{ones({2})})),
            "[associative_scan] the function gives 0 arrays for 1");
  Array abstract = ShapeDtype{{2}, f32};
  EXPECT_EQ(ERROR_OF((void)jit([&](Array x) { return x + abstract; })(ones({2}))),
            "an abstract array of type f32[2] was captured by a traced function; hint: pass it as an argument");
  flat::ScanBody drops = [](std::span<const Array>, std::span<const Array>) { return flat::ScanResult{}; };
  EXPECT_EQ(ERROR_OF((void)flat::scan(drops, {ones({2})}, {}, {.length = 2})),
            "[scan] the carry has 1 arrays, the body returns 0; hint: the body must return a carry of the same "
            "structure as it takes");
}

}  // namespace
}  // namespace anew::test
