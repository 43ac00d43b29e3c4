// Optimizers as parts of programs: states as trees, steps jitted and donated as a whole, checkpoints and vmap inside,
// and what is refused.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/support.h"

namespace {

using namespace anew;
using namespace anew::test;

struct Layer {
  Array w, b;
};
struct Net {
  std::vector<Layer> layers;
};
Net net(std::int64_t width = 16) {
  return {{{fill({3, width}, 1), zeros({width})},
           {fill({width, width}, 2), zeros({width})},
           {fill({width, 1}, 3), zeros({1})}}};
}
Array forward(const Net& m, Array x) {
  for (const Layer& l : m.layers) x = tanh(matmul(x, l.w) + l.b);
  return x;
}
Array forward_again(const Net& m, Array x) {
  for (const Layer& l : m.layers) x = checkpoint([](Layer l, Array x) { return tanh(matmul(x, l.w) + l.b); })(l, x);
  return x;
}
template <Array (*Forward)(const Net&, Array)>
Array loss(const Net& m, Array x, Array y) {
  return mean(square(Forward(m, x) - y));
}
optim::Optimizer optimizer() {
  return optim::chain(optim::clip_by_global_norm(1.0),
                      optim::adamw(optim::warmup_cosine_decay_schedule(0, 3e-2, 5, 100), {.weight_decay = 1e-3}));
}
template <Array (*Forward)(const Net&, Array) = forward>
std::tuple<Net, optim::State, Array> train(Net m, optim::State s, Array x, Array y) {
  auto [l, g] = value_and_grad(loss<Forward>)(m, x, y);
  auto [updates, next] = optimizer().update(g, s, m);
  return {optim::apply_updates(m, updates), next, l};
}
Array inputs() { return fill({32, 3}, 7); }
Array targets() { return sin(sum(inputs(), 1, true)); }

void expect_same(const Net& a, const Net& b) {
  const Arrays x = tree_leaves(a), y = tree_leaves(b);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(same_bits(x[i], y[i])) << tree_paths(a)[i];
}
void expect_same(const optim::State& a, const optim::State& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [key, value] : a) EXPECT_TRUE(same_bits(value, b.at(key))) << key;
}

TEST(Training, AStateIsATree) {
  optim::State s = optimizer().init(net());
  EXPECT_EQ(s.size(), 1 + 6 + 6 + 1u);
  EXPECT_TRUE(s.contains("1.mu.layers[2].w"));
  EXPECT_EQ(s.at("1.nu.layers[0].w").type(), (ShapeDtype{{3, 16}, f32}));
  EXPECT_EQ(s.at("1.count").type(), (ShapeDtype{{}, i32}));
  EXPECT_EQ(s.at("1.schedule.count").type(), (ShapeDtype{{}, i32}));
  EXPECT_EQ(optim::adam(0.1).init(ones(2)).begin()->first, "count");
  EXPECT_TRUE(optim::adam(0.1).init(ones(2)).contains("mu"));
  EXPECT_TRUE(optim::adam(0.1).init(std::vector<Array>{ones(2)}).contains("mu[0]"));
  EXPECT_EQ(optim::adam(0.1, {.mu_dtype = bf16}).init(ones(2)).at("mu").dtype(), bf16);
}

TEST(Training, DonatedStepsUpdateInPlace) {
  const Array x = inputs(), y = targets();
  auto plain = jit(train<>), donated = jit(train<>, {.donate = {0, 1}});
  Net m = net(), d = tree_map([](const Array& a) { return copy(a); }, net()), e = m;
  optim::State s = optimizer().init(m), t = tree_map([](const Array& a) { return copy(a); }, s), u = s;
  std::size_t bytes = 0;
  for (const Array& a : tree_leaves(m)) bytes += 3 * a.nbytes();
  EXPECT_EQ(donated.plan(d, t, x, y).donated_bytes, bytes + 8);  // parameters, both moments, both counts
  EXPECT_LT(donated.plan(d, t, x, y).peak_bytes, plain.plan(m, s, x, y).peak_bytes);
  Array l, first;
  for (int i = 0; i < 50; ++i) {
    std::tie(m, s, l) = plain(m, s, x, y);
    std::tie(d, t, l) = donated(d, t, x, y);
    std::tie(e, u, l) = train(e, u, x, y);
    if (i == 0) first = l;
  }
  expect_same(m, d);
  expect_same(s, t);
  expect_same(m, e);
  expect_same(s, u);
  EXPECT_EQ(s.at("1.count").item(), 50);
  EXPECT_LT(l.item(), 0.2 * first.item());
}

TEST(Training, CheckpointsDoNotChangeAStep) {
  const Array x = inputs(), y = targets();
  Net m = net(), n = m;
  optim::State s = optimizer().init(m), t = s;
  auto plain = jit(train<forward>), again = jit(train<forward_again>);
  for (int i = 0; i < 10; ++i) {
    std::tie(m, s, std::ignore) = plain(m, s, x, y);
    std::tie(n, t, std::ignore) = again(n, t, x, y);
  }
  expect_same(m, n);
  expect_same(s, t);
}

TEST(Training, StepsInALoop) {
  const Array x = inputs(), y = targets();
  Net m = net();
  optim::State s = optimizer().init(m);
  auto looped = jit([=](Net m, optim::State s) {
    return scan(
        [=](std::pair<Net, optim::State> c, none_t) {
          auto [m, s, l] = train(c.first, c.second, x, y);
          return std::pair(std::pair(m, s), l);
        },
        std::pair(m, s), none, {.length = 5});
  });
  auto [last, losses] = looped(m, s);
  for (int i = 0; i < 5; ++i) std::tie(m, s, std::ignore) = train(m, s, x, y);
  expect_same(last.first, m);
  expect_same(last.second, s);
  EXPECT_EQ(losses.shape(), Shape{5});
}

TEST(Training, MappedOverRatesAndSeeds) {
  const Array x = inputs(), y = targets();
  auto run = [=](Array rate, Array key) {
    Net m{{{random::normal(key, {3, 1}), zeros(1)}}};
    optim::Optimizer opt = optim::adam(rate);
    optim::State s = opt.init(m);
    for (int i = 0; i < 3; ++i) {
      auto [updates, next] = opt.update(grad(loss<forward>)(m, x, y), s, m);
      m = optim::apply_updates(m, updates);
      s = next;
    }
    return std::pair(m, s);
  };
  const Array rates = array({0.1, 0.01, 0.3});
  const Array keys = random::split(random::key(0), 3);
  auto [m, s] = vmap(run)(rates, keys);
  ASSERT_EQ(m.layers[0].w.shape(), (Shape{3, 3, 1}));
  for (int i = 0; i < 3; ++i) {
    auto [one, state] = run(rates[i], keys[i]);
    EXPECT_TRUE(allclose(m.layers[0].w[i], one.layers[0].w, 1e-5, 1e-6));
    EXPECT_TRUE(allclose(s.at("nu.layers[0].w")[i], state.at("nu.layers[0].w"), 1e-5, 1e-7));
  }
  // Mapped states: one schedule for all, whose counts are mapped too.
  auto opt = optim::adam(optim::cosine_decay_schedule(0.1, 10));
  auto update = [=](Array p, optim::State s) { return opt.update(2 * p, s, p); };
  Array p = array({{1.0, 2.0}, {3.0, 4.0}});
  optim::State states = vmap([=](Array p) { return opt.init(p); })(p);
  auto [u, next] = vmap(update)(p, states);
  EXPECT_EQ(next.at("count").to_vector(), (std::vector<double>{1, 1}));
  EXPECT_TRUE(allclose(u[1], update(p[1], opt.init(p[1])).first));
}

TEST(Training, GradientsThroughUpdates) {  // a learning rate by its gradient
  auto after = [](Array rate) {
    Array p = array({1.0, -2.0}, f64);
    optim::Optimizer opt = optim::sgd(rate, {.momentum = 0.9});
    optim::State s = opt.init(p);
    for (int i = 0; i < 4; ++i) {
      auto [u, next] = opt.update(2 * p, s, p);
      p = optim::apply_updates(p, u);
      s = next;
    }
    return sum(square(p));
  };
  check_grads(after, array(0.1, f64));
}

TEST(Training, NanIsHandledAsOptaxDoes) {
  const Array bad = array({1.0, NAN}), p = ones(2);
  auto opt = optim::chain(optim::clip_by_global_norm(1.0), optim::sgd(1.0));
  EXPECT_TRUE(all(isnan(opt.update(bad, opt.init(p)).first)).item<bool>());  // the norm is nan
  EXPECT_TRUE(isnan(optim::sgd(1.0).update(bad, {}).first)[1].item<bool>());
  auto careful = optim::apply_if_finite(optim::adam(0.1), 2);
  optim::State s = careful.init(p);
  for (int i = 1; i <= 2; ++i) {
    auto [u, next] = careful.update(bad, s);
    EXPECT_EQ(u.to_vector(), (std::vector<double>{0, 0}));
    EXPECT_EQ(next.at("notfinite_count").item(), i);
    EXPECT_EQ(next.at("inner.count").item(), 0);
    s = next;
  }
  EXPECT_TRUE(isnan(careful.update(bad, s).first)[1].item<bool>());  // a third time it is let through
  EXPECT_EQ(careful.update(p, s).second.at("notfinite_count").item(), 0);
}

TEST(Training, ChosenWhileTheProgramRuns) {
  for (bool plain : {true, false}) {
    optim::Optimizer opt = plain ? optim::sgd(0.5) : optim::adagrad(0.5);
    optim::State s = opt.init(ones(2));
    EXPECT_EQ(s.size(), plain ? 0u : 1u);
  }
  // One of a user's own, which counts.
  optim::Optimizer own(
      "sign", [](const optim::Parameters&, optim::Slots& state) { state.set("count", array(0, i32)); },
      [](const Arrays& g, const optim::Parameters&, optim::Slots& state) {
        state.set("count", state.get("count") + 1);
        return Arrays{-sign(g[0])};
      });
  auto [u, next] = own.update(array({3.0, -1.0}), own.init(ones(2)));
  EXPECT_EQ(u.to_vector(), (std::vector<double>{-1, 1}));
  EXPECT_EQ(next.at("count").item(), 1);
}

TEST(Training, ErrorsNameWhatIsWrong) {
  auto opt = optim::adam(0.1);
  Net m = net();
  optim::State s = opt.init(m);
  Net fewer{{m.layers[0], m.layers[1]}};
  expect_error([&] { (void)opt.update(fewer, s, m); }, {"update", "layers[2].w is missing"});
  Net other = m;
  other.layers[1].w = ones({2, 2});
  expect_error([&] { (void)opt.update(other, s, m); },
               {"adam", "the gradient of layers[1].w is f32[2,2], and the parameter is f32[16,16]"});
  expect_error([&] { (void)opt.update(other, s, other); },
               {"'mu' of the state is f32[16,16] for layers[1].w, whose gradient is f32[2,2]"});
  other.layers[1].w = Array();
  expect_error([&] { (void)opt.init(other); }, {"adam", "layers[1].w of the tree of parameters is an uninitialised"});
  expect_error([&] { (void)opt.update(other, s, m); }, {"layers[1].w of the gradient is an uninitialised"});
  other.layers[1].w = zeros({16, 16}, i32);
  expect_error([&] { (void)opt.init(other); }, {"adam", "layers[1].w of the tree of parameters is i32[16,16]"});
  expect_error([&] { (void)opt.update(m, optim::sgd(0.1, {.momentum = 0.9}).init(m), m); }, {"adam", "no 'count'"});
  optim::State more = s;
  more["extra"] = ones(1);
  expect_error([&] { (void)opt.update(m, more, m); }, {"the state has 'extra', which this optimizer does not know"});
  more = s;
  more["mu.layers[0].b"] = Array();
  expect_error([&] { (void)opt.update(m, more, m); }, {"'mu.layers[0].b' of the state is an uninitialised Array"});
  expect_error([&] { (void)opt.update(m, opt.init(fewer), m); }, {"no 'mu.layers[2].w'"});
  expect_error([&] { (void)optim::adamw(0.1).update(m, optim::adamw(0.1).init(m)); }, {"[adamw] needs the parameters"});
  expect_error([&] { (void)optim::apply_updates(m, fewer); }, {"apply_updates", "layers[2].w"});
  other.layers[1].w = ones({16, 1});
  expect_error([&] { (void)optim::apply_updates(m, other); }, {"the update of layers[1].w is f32[16,1]"});
  expect_error([&] { (void)optim::sgd(ones(2)).update(m, {}, m); }, {"f32[2], not a scalar"});
  expect_error([&] { (void)optim::sgd([](Array) { return ones(2); }).update(m, {{"schedule.count", array(0)}}, m); },
               {"schedule", "f32[2], not a scalar"});
  expect_error([] { (void)optim::cosine_decay_schedule(0.1, 0); }, {"cosine_decay_schedule", "decay_steps is 0"});
  expect_error([] { (void)optim::linear_schedule(0, 1, -5); }, {"linear_schedule", "-5"});
  expect_error([] { (void)optim::linear_schedule(0, 1, 5, -1); }, {"linear_schedule", "-1"});
  expect_error([] { (void)optim::exponential_decay(1, -5, 0.5); }, {"exponential_decay", "-5"});
  expect_error([] { (void)optim::warmup_cosine_decay_schedule(0, 1, 10, 10); }, {"warmup_cosine", "decay_steps = 10"});
  expect_error([] { (void)optim::piecewise_constant_schedule(1, {{10, 0.5}, {5, 0.1}}); }, {"boundary 1 is 5"});
  expect_error([] { (void)optim::piecewise_constant_schedule(1, {{10, -0.5}}); }, {"-0.5", "negative"});
  expect_error([] { (void)optim::join_schedules({0.1}, {3}); }, {"join_schedules", "1 schedules and 1 boundaries"});
  expect_error([] { (void)optim::multi_steps(optim::sgd(0.1), 0); }, {"multi_steps", "k is 0"});
  expect_error([] { (void)optim::apply_every(0); }, {"apply_every", "k is 0"});
}

TEST(Training, NegativeStepsStayAtTheStart) {
  EXPECT_DOUBLE_EQ(optim::linear_schedule(0.1, 0.5, 20)(-3).item(), 0.1);
  EXPECT_DOUBLE_EQ(optim::cosine_decay_schedule(0.3, 30)(-3).item(), 0.3);
  EXPECT_DOUBLE_EQ(optim::exponential_decay(0.3, 10, 0.5)(-3).item(), 0.3);
  EXPECT_DOUBLE_EQ(optim::warmup_cosine_decay_schedule(0.1, 0.3, 5, 30)(-3).item(), 0.1);
  EXPECT_DOUBLE_EQ(optim::piecewise_constant_schedule(0.3, {{10, 0.5}})(-3).item(), 0.3);
}

}  // namespace
