// A budget does at least what a user does by hand. Models of many kinds, each with ways to save memory that one would
// write: every block in a checkpoint, groups of blocks, policies, loops with so many states or bytes. The peak of each
// is given to the model without them as a budget: it is met, and takes no more time by the model, to a percent of the
// call: what runs again is fused in other places than by hand. And every plan takes the time that it is said to take,
// and the curve of all of them has no holes.
#include <fmt/format.h>

#include "jit/compiled_program.h"
#include "jit/plan_programs.h"
#include "passes/budget_choices.h"
#include "support/plan_laws.h"
#include "support/support.h"

namespace anew::hand_checkpoints_test {
namespace {

using Leaves = std::span<const Array>;

Array numbers(const Shape& shape, double scale = 1) {
  return reshape(sin(arange(static_cast<double>(shape.size()))) * scale, shape);
}

struct Variant {
  std::string name;
  FlatFunction f;
  double slack = 0.01;  // of the plain call
};
struct Model {
  std::string name;
  FlatFunction plain;
  Arrays x;
  std::vector<Variant> by_hand;
};

// ---- blocks, one behind the other

using Block = std::function<Array(const Arrays&, const Array&)>;
struct Checkpoints {
  int together = 0;  // blocks in one; 0: none
  Policy policy = checkpoint_policies::nothing_saveable;
};
// Leaves: the input, then the weights of each block.
FlatFunction gradient_of_blocks(const Block& block, int blocks, const Checkpoints& c, bool descends) {
  auto loss = [=](Leaves x) {
    const std::size_t each = (x.size() - 1) / static_cast<std::size_t>(blocks);
    Array y = x[0];
    for (int i = 0; i < blocks;) {
      const int n = std::min(std::max(c.together, 1), blocks - i);
      auto part = x.subspan(1 + static_cast<std::size_t>(i) * each, static_cast<std::size_t>(n) * each);
      auto group = [&](const Arrays& w, Array h) {
        for (std::size_t k = 0; k < w.size(); k += each)
          h = block(
              Arrays(w.begin() + static_cast<std::ptrdiff_t>(k), w.begin() + static_cast<std::ptrdiff_t>(k + each)), h);
        return h;
      };
      const Arrays w(part.begin(), part.end());
      y = c.together > 0 ? checkpoint(group, c.policy)(w, y) : group(w, y);
      i += n;
    }
    return Arrays{mean(square(y))};
  };
  const FlatFunction gradient = test::gradient(loss);
  if (!descends) return gradient;
  return [gradient](Leaves x) {
    Arrays out = gradient(x);
    for (std::size_t i = 1; i < out.size(); ++i) out[i] = x[i] - 0.1 * out[i];
    return out;
  };
}

Model blocks(std::string name, const Block& block, int count, const Array& x, const std::vector<Shape>& weights,
             bool descends = false) {
  auto of = [&](const Checkpoints& c) { return gradient_of_blocks(block, count, c, descends); };
  Model m{std::move(name), of({}), {x}, {}};
  for (int i = 0; i < count; ++i)
    for (const Shape& s : weights) m.x.push_back(numbers(s, 0.1));
  for (int together : {1, 2, 3, 4, 6, 12})
    if (together < count) m.by_hand.push_back({fmt::format("{} together", together), of({together})});
  m.by_hand.push_back({"dots", of({1, checkpoint_policies::dots_saveable})});
  m.by_hand.push_back({"dots without batches", of({1, checkpoint_policies::dots_with_no_batch_dims_saveable})});
  m.by_hand.push_back({"dots of two", of({2, checkpoint_policies::dots_saveable})});
  return m;
}

// The gradient that each turn of a loop takes, or a branch: a budget looks into these, too. The input is that of one
// turn.
using Turns = std::function<Arrays(const FlatFunction& gradient, Leaves x)>;
Arrays summed_by_scan(const FlatFunction& gradient, Leaves x) {
  auto body = [&](Arrays sums, Array batch) {
    Arrays in(x.begin(), x.end());
    in[0] = batch;
    const Arrays g = gradient(in);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sums[i] + g[i + 1];
    return std::pair(sums, none);
  };
  Arrays zero;
  for (const Array& w : x.subspan(1)) zero.push_back(zeros_like(w));
  return scan(body, zero, stack({x[0], 2 * x[0], 3 * x[0]})).first;
}
Arrays by_cond(const FlatFunction& gradient, Leaves x) {
  const Arrays in(x.begin(), x.end());
  auto zero = [](const Arrays& in) {
    Arrays out;
    for (const Array& a : in) out.push_back(zeros_like(a));
    return out;
  };
  return cond(sum(x[0]) > 0, [&](const Arrays& in) { return gradient(in); }, zero, in);
}
Arrays by_descent(const FlatFunction& gradient, Leaves x) {  // as many steps as it takes, of a loop in a loop
  const Arrays start(x.begin(), x.end());
  auto step = [&](Array, Arrays w) {
    auto twice = [&](Arrays v, none_t) {
      const Arrays g = gradient(v);
      for (std::size_t i = 1; i < v.size(); ++i) v[i] = v[i] - 0.1 * g[i];
      return std::pair(v, none);
    };
    return scan(twice, w, none, {.length = 2}).first;
  };
  return fori_loop(0, round(sum(x[0]) * 0).astype(i32) + 2, step, start);
}
Model in_turns(Model m, const Turns& turns) {
  auto within = [&](FlatFunction gradient) -> FlatFunction { return [=](Leaves x) { return turns(gradient, x); }; };
  m.plain = within(m.plain);
  for (Variant& v : m.by_hand) v.f = within(v.f);
  return m;
}

Array residual_block(const Arrays& w, const Array& y) { return y + matmul(tanh(matmul(y, w[0])), w[1]); }
Array gelu_block(const Arrays& w, const Array& y) { return y + matmul(nn::gelu(matmul(y, w[0]) + w[1]), w[2]); }
Array plain_block(const Arrays& w, const Array& y) { return sin(matmul(y, w[0]) + w[1]); }
// Before each part a norm; 4 heads.
Array transformer_block(const Arrays& w, const Array& y) {
  const std::int64_t batch = y.shape()[0], length = y.shape()[1], width = y.shape()[2], heads = 4;
  auto split = [&](const Array& a) { return reshape(a, {batch, length, heads, width / heads}); };
  Array n = nn::layer_norm(y, w[0], w[1]);
  Array a = nn::dot_product_attention(split(matmul(n, w[2])), split(matmul(n, w[3])), split(matmul(n, w[4])));
  Array h = y + matmul(reshape(a, {batch, length, width}), w[5]);
  return h + matmul(nn::gelu(matmul(nn::layer_norm(h, w[6], w[7]), w[8]) + w[9]), w[10]) + w[11];
}
std::vector<Shape> transformer_weights(std::int64_t w) {
  return {{w}, {w}, {w, w}, {w, w}, {w, w}, {w, w}, {w}, {w}, {w, 4 * w}, {4 * w}, {4 * w, w}, {w}};
}
Array convolution_block(const Arrays& w, const Array& y) {
  const ConvOptions o{.dimension_numbers = {"NHWC", "HWIO", "NHWC"}};
  Array h = nn::relu(conv_general_dilated(y, w[0], {1, 1}, "SAME", o));
  return nn::relu(y + conv_general_dilated(h, w[1], {1, 1}, "SAME", o));
}
// Patches of an image, a class token, blocks, a head.
Array vit(Leaves x, const Checkpoints& c, int blocks) {
  const std::int64_t batch = x[0].shape()[0], width = x[1].shape()[1];
  Array y = matmul(x[0], x[1]);
  y = concatenate(Arrays{broadcast_to(x[2], {batch, 1, width}), y}, 1) + x[3];
  for (int i = 0; i < blocks; ++i) {
    const auto w = x.subspan(5 + 12 * static_cast<std::size_t>(i), 12);
    const Arrays weights(w.begin(), w.end());
    y = c.together > 0 ? checkpoint(transformer_block, c.policy)(weights, y) : transformer_block(weights, y);
  }
  return mean(square(matmul(reshape(lax::slice_in_dim(nn::layer_norm(y), 0, 1, 1, 1), {batch, width}), x[4])));
}
Model vision(int blocks) {
  auto of = [=](const Checkpoints& c) { return test::gradient([=](Leaves x) { return Arrays{vit(x, c, blocks)}; }); };
  Model m{"vit",
          of({}),
          {numbers({8, 16, 48}), numbers({48, 64}, 0.1), numbers({64}), numbers({17, 64}), numbers({64, 10}, 0.1)},
          {}};
  for (int i = 0; i < blocks; ++i)
    for (const Shape& s : transformer_weights(64)) m.x.push_back(numbers(s, 0.1));
  m.by_hand = {{"1 together", of({1})},
               {"dots", of({1, checkpoint_policies::dots_saveable})},
               {"dots without batches", of({1, checkpoint_policies::dots_with_no_batch_dims_saveable})}};
  return m;
}

// ---- loops

struct Looped {
  ScanOptions options = {};
  bool body = false;  // in a checkpoint
  Policy policy = checkpoint_policies::nothing_saveable;
};
using Loop = std::function<Array(Leaves, const Looped&)>;
template <class F>
auto checked(const Looped& l, F f) {
  return [=](auto carry, auto x) { return l.body ? checkpoint(f, l.policy)(carry, x) : f(carry, x); };
}
FlatFunction scalar(const Loop& loop, const Looped& l) {
  return test::gradient([=](Leaves x) { return Arrays{loop(x, l)}; });
}
Model loops(std::string name, const Loop& loop, Arrays x, const std::vector<std::size_t>& bytes = {},
            bool mapped = false) {
  auto of = [&](const Looped& l) -> FlatFunction {
    const FlatFunction g = scalar(loop, l);
    if (!mapped) return g;
    return [g](Leaves all) {  // by the last argument
      const Arrays weights(all.begin(), all.end() - 1);
      auto one = [&](Array last) {
        Arrays in = weights;
        in.push_back(last);
        return g(in);
      };
      return vmap(one)(all.back());
    };
  };
  Model m{std::move(name), of({}), std::move(x), {}};
  for (int k : {1, 2, 3, 4, 6, 8, 12, 16, 24})
    m.by_hand.push_back({fmt::format("{} states", k), of({{.checkpoints = k}})});
  // A budget has fewer to choose from than there are numbers of bytes.
  for (std::size_t n : bytes) m.by_hand.push_back({fmt::format("{} bytes", n), of({{.memory = n}}), 0.025});
  m.by_hand.push_back({"body", of({{}, true})});
  m.by_hand.push_back({"dots of the body", of({{}, true, checkpoint_policies::dots_saveable})});
  return m;
}

Array lstm(Leaves x, const Looped& l) {
  using State = std::pair<Array, Array>;
  auto step = [w = x[0], u = x[1], b = x[2]](State s, Array in) {
    const std::int64_t n = s.first.shape()[1];
    Array g = matmul(in, w) + matmul(s.first, u) + b;
    auto gate = [&](std::int64_t i) { return lax::slice_in_dim(g, i * n, (i + 1) * n, 1, 1); };
    Array c = nn::sigmoid(gate(0)) * s.second + nn::sigmoid(gate(1)) * tanh(gate(2));
    return std::pair(State(nn::sigmoid(gate(3)) * tanh(c), c), none);
  };
  Array zero = zeros({x[3].shape()[1], x[1].shape()[0]});
  return mean(square(scan(checked(l, step), State(zero, zero), x[3], l.options).first.first));
}
Array wave(Leaves x, const Looped& l) {
  using State = std::pair<Array, Array>;
  auto step = [c = x[0]](State s, none_t) {
    Array pull = roll(s.first, 1, 0) - 2 * s.first + roll(s.first, -1, 0);
    Array next = 2 * s.first - s.second + square(c) * pull;
    return std::pair(State(next, s.first), none);
  };
  ScanOptions o = l.options;
  o.length = 96;
  return sum(square(scan(checked(l, step), State(x[1], x[1]), none, o).first.first));
}
Array nested(Leaves x, const Looped& l) {
  auto outer = [w = x[0]](Array h, Array in) {
    auto inner = [&](Array g, none_t) { return std::pair(sin(matmul(g, w)), none); };
    return std::pair(scan(inner, h + in, none, {.length = 8}).first, none);
  };
  return sum(square(scan(checked(l, outer), zeros({4, 16}), x[1], l.options).first));
}
// Every state is looked at.
Array pendulum(Leaves x, const Looped& l) {
  using State = std::pair<Array, Array>;
  auto step = [](State s, Array f) {
    Array velocity = s.second + 0.1 * (f - sin(s.first));
    Array angle = s.first + 0.1 * velocity;
    return std::pair(State(angle, velocity), angle);
  };
  auto [last, angles] = scan(checked(l, step), State(x[0], zeros_like(x[0])), x[1], l.options);
  return mean(square(angles)) + sum(last.first);
}
Array layers(Leaves x, const Looped& l) {
  auto layer = [](Array y, Array w) { return std::pair(y + nn::gelu(matmul(y, w)), none); };
  return mean(square(scan(checked(l, layer), x[1], x[0], l.options).first));
}
// Of two steps: a checkpoint of the body keeps half.
Array two_steps(Leaves x, const Looped& l) {
  auto step = [](Array y, none_t) { return std::pair(tanh(nn::softmax(y)), none); };
  ScanOptions o = l.options;
  o.length = 2;
  return sum(scan(checked(l, step), x[0], none, o).first);
}
// Steps with many residuals: between those of all steps and states alone there is much room.
Array stages(Leaves x, const Looped& l) {
  auto step = [](Array u, none_t) {
    for (int i = 0; i < 6; ++i) u = u + 0.01 * sin(u * 1.1 + 0.1 * cos(u));
    return std::pair(u, none);
  };
  ScanOptions o = l.options;
  o.length = 60;
  return sum(scan(checked(l, step), x[0], none, o).first);
}
Array newton(Leaves x, const Looped& l) {
  auto more = [](const std::pair<Array, Array>& c) { return max(abs(c.second)) > 1e-3; };
  auto step = [&](const std::pair<Array, Array>& c) {
    Array y = c.first - (square(c.first) - x[0]) / (2 * c.first);
    return std::pair(y, y - c.first);
  };
  LoopOptions o;
  o.checkpoints = l.options.checkpoints;
  return sum(while_loop(more, step, std::pair(x[0] + 1, x[0]), o).first);
}

const std::vector<Model>& models() {
  static const auto& all = *new std::vector<Model>{
      blocks("mlp", plain_block, 12, numbers({512, 64}), {{64, 64}, {64}}),
      blocks("narrow", residual_block, 8, numbers({128, 64}), {{64, 128}, {128, 64}}),
      blocks("deep", residual_block, 24, numbers({128, 64}), {{64, 128}, {128, 64}}),
      blocks("tall", residual_block, 8, numbers({1024, 64}), {{64, 128}, {128, 64}}),
      blocks("even", residual_block, 6, numbers({192, 96}), {{96, 192}, {192, 96}}),
      blocks("training", residual_block, 8, numbers({1024, 64}), {{64, 128}, {128, 64}}, true),
      blocks("training_even", residual_block, 6, numbers({192, 96}), {{96, 192}, {192, 96}}, true),
      blocks("gelu", gelu_block, 12, numbers({512, 64}), {{64, 256}, {256}, {256, 64}}),
      blocks("transformer", transformer_block, 6, numbers({8, 32, 64}), transformer_weights(64)),
      blocks("convnet", convolution_block, 6, numbers({4, 16, 16, 16}), {{3, 3, 16, 16}, {3, 3, 16, 16}}),
      vision(6),
      in_turns(blocks("mlp_by_scan", plain_block, 8, numbers({512, 64}), {{64, 64}, {64}}), summed_by_scan),
      in_turns(blocks("residual_by_cond", residual_block, 8, numbers({512, 64}), {{64, 128}, {128, 64}}), by_cond),
      in_turns(blocks("gelu_by_descent", gelu_block, 6, numbers({256, 64}), {{64, 128}, {128}, {128, 64}}), by_descent),
      loops("lstm", lstm, {numbers({16, 128}, 0.1), numbers({32, 128}, 0.1), numbers({128}), numbers({48, 8, 16})},
            {400_KiB, 300_KiB, 200_KiB, 100_KiB, 20_KiB}),
      loops("wave", wave, {numbers({256}, 0.3), numbers({256})}),
      loops("nested", nested, {numbers({16, 16}, 0.5), numbers({24, 4, 16})}),
      loops("by_xs", pendulum, {numbers({64}), numbers({96, 64})}, {22_KiB, 20_KiB, 16_KiB, 12_KiB, 8_KiB, 6_KiB}),
      loops("layers", layers, {numbers({24, 32, 32}, 0.1), numbers({128, 32})}, {1600_KiB, 1200_KiB, 800_KiB, 400_KiB}),
      loops("two_steps", two_steps, {numbers({64, 64})}),
      loops("stages", stages, {numbers({2000})}, {4000_KiB, 2000_KiB, 1000_KiB, 400_KiB, 250_KiB, 150_KiB}),
      loops("mapped_wave", wave, {numbers({64}, 0.3), numbers({8, 64})}, {}, true),
      loops("mapped_lstm", lstm,
            {numbers({16, 128}, 0.1), numbers({32, 128}, 0.1), numbers({128}), numbers({4, 48, 8, 16})}, {}, true),
      loops("while", newton, {square(numbers({256})) + 2}),
  };
  return all;
}

struct Lowered {
  ir::ProgramRef program;
  std::vector<ir::Strides> strides;
  std::size_t outside = 0;
  Lowered(const FlatFunction& f, const Arrays& x) : program(flat::make_program(f, x).code()) {
    for (const Type& t : program->input_types()) {
      strides.push_back(row_major(t.shape));
      outside += t.bytes();
    }
  }
};

class HandCheckpoints : public testing::TestWithParam<std::size_t> {};

// Where by hand is faster than the model as it is, that is no merit of keeping less.
TEST_P(HandCheckpoints, AreNoBetter) {
  const Model& m = models()[GetParam()];
  const Lowered plain(m.plain, m.x);
  passes::BudgetChoices choices(*plain.program, plain.strides, {});
  const double time = passes::BudgetPlans(*plain.program, plain.strides).time();
  for (const Variant& v : m.by_hand) {
    const Lowered hand(v.f, m.x);
    passes::BudgetPlans by_hand(*hand.program, hand.strides);
    const std::size_t peak = hand.outside + by_hand.bytes(0);
    const auto c = peak < plain.outside ? std::nullopt : choices.first_within(peak - plain.outside);
    EXPECT_TRUE(c) << v.name << ": " << peak << " bytes; here " << plain.outside + choices.bytes(choices.smallest());
    if (!c) continue;
    EXPECT_EQ(test::other_time(choices, *c), "") << v.name;
    EXPECT_LE(choices.extra_time(*c), std::max(by_hand.time() / time - 1, 0.0) + v.slack)
        << v.name << ", " << peak << " bytes";
  }
  EXPECT_EQ(test::other_time(choices), "");
  EXPECT_EQ(test::above_a_plan(choices), "");
  EXPECT_EQ(test::hole_in_curve(choices), "");
}
INSTANTIATE_TEST_SUITE_P(All, HandCheckpoints, testing::Range(std::size_t{0}, models().size()),
                         [](const auto& test) { return models()[test.param].name; });

// What a convolution copies for its gradient by the weights, it does without where memory is short.
Array convolutions(const std::vector<Array>& w, Array x) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::int64_t stride = i == 0 ? 1 : 2;
    x = nn::relu(
        conv_general_dilated(x, w[i], {stride, stride}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}));
  }
  return mean(square(x));
}
TEST(Budget, OfConvolutionsNeedsNoCopies) {
  const Array key = random::key(0);
  const std::vector<Array> w{random::normal(key, {3, 3, 3, 32}), random::normal(key, {3, 3, 32, 64}),
                             random::normal(key, {3, 3, 64, 128})};
  const Array x = random::normal(key, {64, 32, 32, 3});
  auto plain = jit(value_and_grad(convolutions));
  const MemoryPlan all = plain.plan(w, x);
  const std::size_t budget = all.peak_bytes * 17 / 20;
  auto within = jit(value_and_grad(convolutions), {.memory_budget = budget});
  EXPECT_LE(within.plan(w, x).peak_bytes, budget);
  std::ostringstream text;
  text << plain.budget_curve(w, x);
  EXPECT_EQ(text.str(), str(plain.budget_curve(w, x)));
  const auto [value, gradients] = plain(w, x);
  const auto [same_value, same_gradients] = within(w, x);
  EXPECT_TRUE(array_equal(value, same_value));
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_TRUE(array_equal(gradients[i], same_gradients[i]));
}

}  // namespace
}  // namespace anew::hand_checkpoints_test
