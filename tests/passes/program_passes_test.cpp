// Each pass from Program to Program: sound on typical programs, and what it does to small ones, in text.
#include <ctime>

#include "control/higher_order.h"
#include "passes/pipeline.h"
#include "passes/subjects.h"
#include "support/random.h"

namespace anew::test {
namespace {

using passes::eliminate_common;
using passes::eliminate_dead_code;
using passes::eliminate_parts;
using passes::inline_calls;
using passes::simplify;

TEST(ProgramPasses, AreSoundOnTypicalProgramsAndTwiceAsOnce) {
  for (const Subject& s : subjects())
    for (auto* pass : {eliminate_dead_code, simplify, eliminate_common, eliminate_parts, inline_calls}) {
      ir::Program p = expect_sound(s, pass);
      EXPECT_EQ(ir::print(pass(p)), ir::print(p)) << s.name;
    }
}
TEST(Pipeline, IsSoundOnTypicalPrograms) {
  for (const Subject& s : subjects()) expect_sound(s, passes::prepare);
}

TEST(ProgramPasses, AreSoundOnTheSamplesOfEveryRow) {
  for (const ir::Primitive* row : all_rows()) {
    if (!row->samples || row->facts.effects) continue;
    Random random(row->name, 1);
    for (const ir::Sample& sample : row->samples()) {
      Subject s{row->name, {}, {}};
      std::vector<ir::Type> types;
      for (const ir::SampleInput& i : sample.inputs) {
        types.push_back(i.type);
        s.inputs.push_back(random.array(i.type, i.lo, i.hi));
      }
      // Twice, and views of the results: something to merge and to simplify.
      Staged staged = stage(
          [&](std::span<const Array> x) {
            Arrays y = anew::bind(*row, sample.params, x, Location::current());
            Arrays z = anew::bind(*row, sample.params, x, Location::current());
            for (Array& a : z) a = transpose(reshape(transpose(a), transpose(a).shape()));
            y.insert(y.end(), z.begin(), z.end());
            return y;
          },
          types, "test", Location::current());
      s.program = Program(std::make_shared<const ir::Program>(std::move(staged.program)), {});
      expect_sound(s, passes::prepare);
    }
  }
}

TEST(EliminateDeadCode, KeepsInputsAndDropsWhatNobodyReads) {
  EXPECT_EQ(after(eliminate_dead_code, R"({ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = sin a
    d:f32[3] = cos a
    e:f32[3] = jit[name=f program={ lambda ; f:f32[3]. let g:f32[3] = exp f; h:f32[3] = log f in (g,) }] c
  in (e,) })"),
            R"({ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = sin a
    d:f32[3] = jit[
      name=f
      program={ lambda ; e:f32[3]. let f:f32[3] = exp e in (f,) }
    ] c
  in (d,) })");
}

// One equation each, in the place of ?: what the last line returns.
std::string simplified(const std::string& type, const std::string& equation) {
  return after(simplify, "{ lambda ; a:" + type + " b:" + type + ". let " + equation + " in (z,) }");
}
std::string returns(const std::string& type, const std::string& what) {
  return "{ lambda ; a:" + type + " b:" + type + ". let  in (" + what + ",) }";
}

TEST(Simplify, IdentitiesOfArithmetic) {
  for (std::string type : {"f32[3]", "f64[3]", "f32[]"}) {
    std::string d = type.substr(0, 3) + "[]";
    for (std::string e : {"mul a 1.0:" + d, "mul 1.0:" + d + " a", "div a 1.0:" + d, "sub a 0.0:" + d,
                          "add a -0.0:" + d, "add -0.0:" + d + " a", "add_any a -0.0:" + d})
      EXPECT_EQ(simplified(type, "z:" + type + " = " + e), returns(type, "a")) << e;
  }
  for (std::string e : {"mul a 1:i32[]", "div a 1:i32[]", "sub a 0:i32[]", "add a 0:i32[]", "add 0:i32[] a"})
    EXPECT_EQ(simplified("i32[3]", "z:i32[3] = " + e), returns("i32[3]", "a")) << e;
}

TEST(Simplify, WhatWouldChangeABitStays) {
  for (std::string e :
       {"add a 0.0:f32[]", "add_any 0.0:f32[] a", "sub a -0.0:f32[]", "sub 0.0:f32[] a", "mul a 0.0:f32[]",
        "div 1.0:f32[] a", "div a 2.0:f32[]", "mul a -1.0:f32[]", "sub a a", "div a a", "max a a"}) {
    std::string text = "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = " + e + " in (c,) }";
    EXPECT_EQ(after(simplify, text), text);
  }
  // A scalar beside an array of ones: the result has another shape.
  EXPECT_EQ(after(simplify, R"({ lambda ; a:f32[]. let
    b:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] 1.0:f32[]
    c:f32[3] = mul a b
  in (c,) })"),
            R"({ lambda ; a:f32[]. let
    _:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] 1.0:f32[]
    b:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] a
  in (b,) })");
}

TEST(Simplify, BroadcastNumbersAreNumbers) {
  EXPECT_EQ(after(simplify, R"({ lambda ; a:f32[2,3]. let
    b:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] 1.0:f32[]
    c:f32[2,3] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(2, 3)] b
    d:f32[2,3] = mul a c
    e:f32[2,3] = add d c
  in (e,) })"),
            R"({ lambda ; a:f32[2,3]. let
    _:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] 1.0:f32[]
    _:f32[2,3] = broadcast_in_dim[broadcast_dimensions=() shape=(2, 3)] 1.0:f32[]
    b:f32[2,3] = add a 1.0:f32[]
  in (b,) })");
}

TEST(Simplify, ThereAndBack) {
  EXPECT_EQ(simplified("f32[3]", "c:f32[3] = neg a; z:f32[3] = neg c").find("neg c"), std::string::npos);
  auto there_and_back = [](const std::string& from, const std::string& to, const std::string& from_name,
                           const std::string& to_name) {
    return simplified(from + "[3]", "c:" + to + "[3] = convert_element_type[new_dtype=" + to_name + "] a; z:" + from +
                                        "[3] = convert_element_type[new_dtype=" + from_name + "] c")
               .find("in (a,)") != std::string::npos;
  };
  EXPECT_TRUE(there_and_back("f32", "f64", "float32", "float64"));
  EXPECT_TRUE(there_and_back("bf16", "f32", "bfloat16", "float32"));
  EXPECT_TRUE(there_and_back("i32", "f64", "int32", "float64"));
  EXPECT_TRUE(there_and_back("bool", "f32", "bool", "float32"));
  EXPECT_FALSE(there_and_back("f64", "f32", "float64", "float32"));
  EXPECT_FALSE(there_and_back("i32", "f32", "int32", "float32"));
  EXPECT_FALSE(there_and_back("f32", "bf16", "float32", "bfloat16"));
}

TEST(Simplify, ChoicesThatAreNone) {
  EXPECT_EQ(after(simplify, "{ lambda ; a:bool[3] b:f32[3]. let c:f32[3] = select_n a b b in (c,) }"),
            "{ lambda ; a:bool[3] b:f32[3]. let  in (b,) }");
  for (auto [which, name] : {std::pair{"False:bool[]", "a"}, {"True:bool[]", "b"}, {"-1:i32[]", "a"}, {"7:i32[]", "b"}})
    EXPECT_EQ(simplified("f32[3]", std::string("z:f32[3] = select_n ") + which + " a b"), returns("f32[3]", name));
  // A scalar case is not the result.
  std::string text = "{ lambda ; a:f32[3]. let b:f32[3] = select_n True:bool[] a 2.0:f32[] in (b,) }";
  EXPECT_EQ(after(simplify, text), text);
}

TEST(Simplify, ViewsThatChangeNothing) {
  for (std::string e :
       {"transpose[permutation=(0, 1)] a", "reshape[new_sizes=(2, 3)] a", "squeeze[dimensions=()] a",
        "broadcast_in_dim[broadcast_dimensions=(0, 1) shape=(2, 3)] a", "rev[dimensions=()] a", "stop_gradient a",
        "slice[limit_indices=(2, 3) start_indices=(0, 0) strides=None] a", "name[name=here] a"})
    EXPECT_EQ(simplified("f32[2,3]", "z:f32[2,3] = " + e), returns("f32[2,3]", "a")) << e;
  EXPECT_EQ(simplified("f32[1,1]", "z:f32[1,1] = transpose[permutation=(1, 0)] a"), returns("f32[1,1]", "a"));
  EXPECT_EQ(simplified("f32[1]", "z:f32[1] = rev[dimensions=(0,)] a"), returns("f32[1]", "a"));
}

// Two views; the second, in the end, of the first's operand.
std::string merged(const std::string& in, const std::string& middle, const std::string& first, const std::string& out,
                   const std::string& second) {
  ir::Program p = eliminate_dead_code(simplify(*parse_program("{ lambda ; a:" + in + ". let b:" + middle + " = " +
                                                              first + " a; c:" + out + " = " + second + " b in (c,) }")
                                                    .code()));
  ir::verify(p);
  std::string text = ir::print(p, 1000);
  std::size_t begin = text.find("let ") + 4;
  return text.substr(begin, text.find(" in (") - begin);
}

TEST(Simplify, ViewsOfViews) {
  EXPECT_EQ(
      merged("f32[2,3]", "f32[3,2]", "transpose[permutation=(1, 0)]", "f32[2,3]", "transpose[permutation=(1, 0)]"), "");
  EXPECT_EQ(merged("f32[2,3,4]", "f32[4,2,3]", "transpose[permutation=(2, 0, 1)]", "f32[4,3,2]",
                   "transpose[permutation=(0, 2, 1)]"),
            "b:f32[4,3,2] = transpose[permutation=(2, 1, 0)] a");
  EXPECT_EQ(merged("f32[2,6]", "f32[12]", "reshape[new_sizes=(12,)]", "f32[3,4]", "reshape[new_sizes=(3, 4)]"),
            "b:f32[3,4] = reshape[new_sizes=(3, 4)] a");
  EXPECT_EQ(merged("f32[3]", "f32[1,3]", "broadcast_in_dim[broadcast_dimensions=(1,) shape=(1, 3)]", "f32[3]",
                   "squeeze[dimensions=(0,)]"),
            "");
  EXPECT_EQ(merged("f32[3]", "f32[1,3]", "reshape[new_sizes=(1, 3)]", "f32[2,3]",
                   "broadcast_in_dim[broadcast_dimensions=(0, 1) shape=(2, 3)]"),
            "b:f32[2,3] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(2, 3)] a");
  EXPECT_EQ(merged("f32[20,4]", "f32[6,4]", "slice[limit_indices=(14, 4) start_indices=(2, 0) strides=(2, 1)]",
                   "f32[2,3]", "slice[limit_indices=(5, 3) start_indices=(1, 0) strides=(3, 1)]"),
            "b:f32[2,3] = slice[limit_indices=(11, 3) start_indices=(4, 0) strides=(6, 1)] a");
  EXPECT_EQ(merged("f32[5]", "f32[5]", "rev[dimensions=(0,)]", "f32[5]", "rev[dimensions=(0,)]"), "");
  // No row says a part of a transpose, and a reshape of one is a copy.
  EXPECT_NE(merged("f32[2,3]", "f32[3,2]", "transpose[permutation=(1, 0)]", "f32[2,2]",
                   "slice[limit_indices=(2, 2) start_indices=(0, 0) strides=None]")
                .find("strides=None] b"),
            std::string::npos);
  EXPECT_NE(merged("f32[2,3]", "f32[3,2]", "transpose[permutation=(1, 0)]", "f32[6]", "reshape[new_sizes=(6,)]")
                .find("reshape[new_sizes=(6,)] b"),
            std::string::npos);
}

TEST(Simplify, ReductionsOfSingleElements) {
  EXPECT_EQ(merged("f32[2]", "f32[2,1]", "broadcast_in_dim[broadcast_dimensions=(0,) shape=(2, 1)]", "f32[2]",
                   "reduce_sum[axes=(1,)]"),
            "");
  EXPECT_EQ(merged("f32[1,3,1]", "f32[3]", "reduce_max[axes=(0, 2)]", "f32[1,3]",
                   "broadcast_in_dim[broadcast_dimensions=(1,) shape=(1, 3)]"),
            "b:f32[1,3] = reshape[new_sizes=(1, 3)] a");
  Array x = reshape(array({-0.0, 1.0}, f32), {2, 1});
  for (const Array& y : {sum(x, 1), prod(x, 1), max(x, 1), min(x, 1)}) EXPECT_TRUE(same_bits(y, reshape(x, {2})));
  // An index is none.
  EXPECT_NE(after(simplify, "{ lambda ; a:f32[1]. let b:i32[] = argmax[axes=(0,) index_dtype=int32] a in (b,) }")
                .find("argmax"),
            std::string::npos);
}

TEST(Simplify, WhatIsTheSameEverywhereIsComputedOnce) {
  EXPECT_EQ(after(simplify, R"({ lambda ; a:f32[] b:f32[3]. let
    c:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] a
    d:f32[3] = exp c
    e:f32[3] = add d d
    f:f32[3] = mul e b
    g:f32[3] = mul c 1.0:f32[]
  in (f, g) })"),
            R"({ lambda ; a:f32[] b:f32[3]. let
    c:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] a
    d:f32[] = exp a
    _:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] d
    e:f32[] = add d d
    _:f32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,)] e
    f:f32[3] = mul e b
  in (f, c) })");
}

TEST(Simplify, InsideNestedPrograms) {
  EXPECT_EQ(after(simplify, R"({ lambda ; a:f32[] b:f32[4]. let
    c:f32[] = scan[length=4 num_carry=1 num_consts=0
      program={ lambda ; d:f32[] e:f32[]. let f:f32[] = mul d 1.0:f32[]; g:f32[] = add f e in (g,) }
      reverse=False unroll=1] a b
  in (c,) })"),
            R"({ lambda ; a:f32[] b:f32[4]. let
    c:f32[] = scan[
      length=4
      num_carry=1
      num_consts=0
      program={ lambda ; d:f32[] e:f32[]. let f:f32[] = add d e in (f,) }
      reverse=False
      unroll=1
    ] a b
  in (c,) })");
}

TEST(EliminateCommon, MergesEqualEquations) {
  EXPECT_EQ(after(eliminate_common, R"({ lambda ; a:f32[3]. let
    b:f32[3] = sin a
    c:f32[3] = sin a
    d:f32[3] = mul b c
    e:f32[3] = mul c b
    f:f32[] = reduce_sum[axes=(0,)] d
    g:f32[] = reduce_sum[axes=(0,)] e
  in (f, g, c) })"),
            R"({ lambda ; a:f32[3]. let
    b:f32[3] = sin a
    c:f32[3] = mul b b
    d:f32[] = reduce_sum[axes=(0,)] c
  in (d, d, b) })");
}

TEST(EliminateCommon, TellsParamsAndNumbersApart) {
  for (std::string text : {R"({ lambda ; a:f32[3]. let
    b:f32[3] = add a 0.0:f32[]
    c:f32[3] = add a -0.0:f32[]
  in (b, c) })",
                           R"({ lambda ; a:f32[2,2]. let
    b:f32[2] = reduce_sum[axes=(0,)] a
    c:f32[2] = reduce_sum[axes=(1,)] a
  in (b, c) })"})
    EXPECT_EQ(after(eliminate_common, text), text);
}

TEST(EliminateCommon, NeverMergesEffects) {
  Program p = make_program([](Array x) {
    debug::print("x is {}", x);
    debug::print("x is {}", x);
    return sin(x) + sin(x);
  })(1.0);
  ir::Program q = passes::prepare(*p.code());
  EXPECT_EQ(ir::count(q, "sin"), 1);
  EXPECT_EQ(ir::count(q, "debug_print"), 2) << ir::print(q);
}

TEST(EliminateCommon, NestedProgramsAreClosedWorlds) {
  std::string text = R"({ lambda ; a:f32[3]. let
    b:f32[3] = sin a
    c:f32[3] = checkpoint[
      differentiated=True
      policy=nothing_saveable
      program={ lambda ; d:f32[3]. let
          e:f32[3] = sin d
          f:f32[3] = exp e
        in (f,) }
    ] a
    g:f32[3] = mul b c
  in (g,) })";
  EXPECT_EQ(after(eliminate_common, text), text);
  ir::Program q = passes::prepare(*parse_program(text).code());
  EXPECT_EQ(ir::count(q, "sin"), 2);
}

// A scan that gives the last carry alone, behind one that stacks rows too; not one over other rows, nor what a
// checkpoint computes again.
TEST(EliminateParts, TakesWhatAnEarlierEquationGives) {
  auto last = [](Array x, bool rows) {
    auto step = [](Array c, Array x) { return std::pair(sin(c) * x, cos(c)); };
    auto [c, ys] = scan(step, Array(1.0f), x);
    return rows ? sum(ys) + c : c;
  };
  auto scans = [&](auto first, auto second) {
    auto both = [&](Array x) {
      const Array a = first(x);
      return a * second(x);
    };
    return ir::count(eliminate_parts(eliminate_dead_code(*make_program(both)(ones({4})).code())), "scan");
  };
  auto rows = [&](Array x) { return last(x, true); };
  auto carry = [&](Array x) { return last(x, false); };
  EXPECT_EQ(scans(rows, carry), 1);
  EXPECT_EQ(scans(carry, rows), 2);  // the lesser one stands first
  EXPECT_EQ(scans(rows, [&](Array x) { return carry(2 * x); }), 2);
  EXPECT_EQ(scans(rows, checkpoint(carry)), 2);
}

TEST(InlineCalls, CallsBecomeTheirEquationsWhereTheyStand) {
  EXPECT_EQ(after(inline_calls, R"({ lambda ; a:f32[3]. let
    b:f32[3] = sin a
    c:f32[3] d:f32[3] = jit[name=f program={ lambda ; e:f32[3] f:f32[3]. let
        g:f32[3] = checkpoint[differentiated=False policy=nothing_saveable
          program={ lambda ; h:f32[3]. let i:f32[3] = exp h in (i,) }] e
        j:f32[3] = add g f
      in (j, f) }] b a
    k:f32[3] = mul c d
  in (k, d) })"),
            R"({ lambda ; a:f32[3]. let
    b:f32[3] = sin a
    c:f32[3] = exp b
    d:f32[3] = add c a
    e:f32[3] = mul d a
  in (e, a) })");
}

TEST(InlineCalls, RowsMadeOfRowsBecomeThem) {
  EXPECT_EQ(after(inline_calls, "{ lambda ; a:f32[2,3]. let b:f32[2,3] = softmax[axes=(1,)] a in (b,) }"),
            R"({ lambda ; a:f32[2,3]. let
    b:f32[2] = reduce_max[axes=(1,)] a
    c:f32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(2, 1)] b
    d:f32[2,3] = broadcast_in_dim[broadcast_dimensions=(0, 1) shape=(2, 3)] c
    e:f32[2,3] = sub a d
    f:f32[2,3] = exp e
    g:f32[2] = reduce_sum[axes=(1,)] f
    h:f32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(2, 1)] g
    i:f32[2,3] = broadcast_in_dim[broadcast_dimensions=(0, 1) shape=(2, 3)] h
    j:f32[2,3] = div f i
  in (j,) })");
}

TEST(InlineCalls, LinesAreKept) {
  int line = __LINE__ + 1;
  Program p = make_program([](Array x) { return nn::softmax(x); })(ones(3));
  for (const ir::Eqn& e : inline_calls(*p.code()).eqns) EXPECT_EQ(static_cast<int>(e.at.line()), line);
}

TEST(InlineCalls, NothingThatInlinesIsLeft) {
  for (const Subject& s : subjects())
    ir::for_each_program(passes::prepare(code(s)), [](const ir::Program& p) {
      for (const ir::Eqn& e : p.eqns) EXPECT_FALSE(e.primitive->facts.inlines) << e.primitive->name;
    });
}

// What runs is what the user asked for: a checkpointed layer's tanh once forward and once more on the way back.
TEST(Pipeline, RecomputationIsNotMergedWithTheForwardPass) {
  Warnings quiet;
  auto layer = [](Array w, Array x) { return tanh(matmul(x, w)); };
  auto net = [=](auto f) {
    return grad([=](Array w) {
      Array x = fill({2, 3}, 1);
      for (int i = 0; i < 4; ++i) x = f(w, x);
      return sum(x * x);
    });
  };
  auto count = [&](auto f, const char* name) {
    return ir::count(passes::prepare(*make_program(net(f))(fill({3, 3}, 2)).code()), name);
  };
  EXPECT_EQ(count(layer, "tanh"), 4);
  EXPECT_EQ(count(checkpoint(layer), "tanh"), 8);
  EXPECT_EQ(count(layer, "dot_general"), 4 + 7);
  EXPECT_EQ(count(checkpoint(layer), "dot_general"), 8 + 7);
  EXPECT_EQ(count(checkpoint(layer, checkpoint_policies::dots_saveable), "tanh"), 8);
  EXPECT_EQ(count(checkpoint(layer, checkpoint_policies::dots_saveable), "dot_general"), 4 + 7);
  EXPECT_EQ(count(checkpoint(layer, checkpoint_policies::everything_saveable), "tanh"), 4);
}

// It also stays late: a layer is recomputed right before its cotangent is needed, after the forward pass (whose last
// layer nobody asks for).
TEST(Pipeline, RecomputationStaysLate) {
  Warnings quiet;
  auto layer = [](Array x) { return tanh(sin(x)); };
  auto loss = [=](Array x) {
    for (int i = 0; i < 3; ++i) x = checkpoint(layer)(x);
    return sum(x);
  };
  ir::Program p = passes::prepare(*make_program(grad(loss))(fill({4}, 1)).code());
  std::string order;
  for (const ir::Eqn& e : p.eqns)
    if (std::string name = e.primitive->name; name == "sin" || name == "tanh" || name == "cos") order += " " + name;
  std::string again = " sin cos tanh";
  EXPECT_EQ(order, " sin tanh sin tanh" + again + again + again) << ir::print(p);
}

// Blocks of a transformer, unrolled: the passes take time in proportion, well below that of all that follows them.
TEST(Pipeline, CostGrowsWithTheProgram) {
  auto measured = [](int blocks) {
    auto block = [](Array x, Array w) {
      Array q = reshape(matmul(nn::layer_norm(x), w), {2, 4, 2, 4});
      x = x + reshape(nn::dot_product_attention(q, q, q, {.is_causal = true}), {2, 4, 8});
      return x + nn::gelu(matmul(nn::layer_norm(x), w));
    };
    auto loss = [=](Array w) {
      Array x = fill({2, 4, 8}, 1);
      for (int i = 0; i < blocks; ++i) x = checkpoint(block)(x, w);
      return sum(x * x);
    };
    Program p = make_program(grad(loss))(fill({8, 8}, 1));
    std::clock_t start = std::clock();
    ir::Program q = passes::prepare(*p.code());
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    return std::pair(static_cast<double>(q.eqns.size()), seconds);
  };
  auto [few, few_seconds] = measured(6);
  auto [many, many_seconds] = measured(48);
  RecordProperty("equations", std::to_string(many));
  RecordProperty("milliseconds", std::to_string(1000 * many_seconds));
  EXPECT_NEAR(many / few, 8, 0.5);
  EXPECT_LT(many_seconds, 3);  // measured: 0.03 without, 0.1 with the verifier after each pass
  EXPECT_LT(many_seconds, 60 * (few_seconds + 0.002));
}

}  // namespace
}  // namespace anew::test
