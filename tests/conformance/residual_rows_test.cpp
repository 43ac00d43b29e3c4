// Rows R32 to R60, A, B, E and N: loops under policies, residual lists, forwarded values, messages.
#include "conformance/conformance.h"

namespace anew::test {
namespace {

using Fn = std::function<Array(Array)>;

TEST_F(Conformance, R32) {
  auto with = [](DType d) {
    return [d](Array W) {
      auto h = checkpoint(
          [&](Array x) {
            for (int i = 0; i < 3; ++i) x = sin(dot(x, W));
            return x;
          },
          dots_saveable);
      return scan([&](Array x, none_t) { return std::pair(h(x), none); }, ones({5}, d), none, {.length = 2}).first;
    };
  };
  Program j = backward_program(with(f32), ones({5, 5}));
  EXPECT_EQ(j.count("sin"), 2) << j;
  EXPECT_EQ(j.count("cos"), 3);
  EXPECT_EQ(j.count("dot_general"), 6);
  check_grads(jit(with(f64)), ones({5, 5}, f64));
}

TEST_F(Conformance, R35) {
  auto first = [](Array x) { return std::pair(x, x).first; };
  auto g = checkpoint([first](Array x) { return grad(first)(x); }, dots_saveable);
  EXPECT_VALUE(grad(g)(3.0), 0.0);
}

TEST_F(Conformance, R38) {
  auto f = checkpoint(
      [](Array x) {
        Array y = checkpoint_name(dot(x, x), "foo");
        return dot(y, y);
      },
      save_only_these_names("foo"));
  Array x = ones({3, 3});
  auto list = saved_residuals(f, ANEW_ARGS(x));
  EXPECT_EQ(brief(list), (std::vector<std::string>{"f32[3,3] argument x", "f32[3,3] named foo"}));
  EXPECT_EQ(list.at(1).text.find("f32[3,3] named 'foo' from "), 0u) << list.at(1).text;
}

TEST_F(Conformance, R40) {
  auto f = [](Array x) {
    Array two = 2.0;
    Array y = checkpoint_name(two * two, "y"), z = checkpoint_name(two * two, "z"), w = checkpoint_name(two * two, "w");
    Array u = two * two;
    return (((x * y) * z) * w) * u;
  };
  auto kept = [&](const Policy& p) { return saved_residuals(checkpoint(f, p), 1.0).size(); };
  EXPECT_EQ(kept(save_any_names_but_these("y", "z", "w")), 0u);
  EXPECT_EQ(kept(save_any_names_but_these("z", "w")), 1u);
  EXPECT_EQ(kept(save_any_names_but_these("w")), 2u);
  EXPECT_EQ(kept(save_any_names_but_these()), 3u);
}

TEST_F(Conformance, R43) {
  auto f = [](std::pair<Array, Array> x, Array y) {
    Array z = checkpoint_name(sin(Array(3.0)), "z");
    return z * ((x.first * x.second) * y) * array({3.0});
  };
  std::pair<Array, Array> x(2.0, 3.0);
  Array y = 4.0;
  EXPECT_EQ(brief(saved_residuals(f, ANEW_ARGS(x, y))),
            (std::vector<std::string>{"f32[1] constant", "f32[] argument x[0]", "f32[] argument x[1]",
                                      "f32[] argument y", "f32[] named z", "f32[] mul"}));
}

TEST_F(Conformance, R45) {
  for (const Policy& p : default_policies()) {
    auto f = checkpoint([](Array x) { return jit([&] { return std::pair(x, x); })().second; }, p);
    EXPECT_VALUE(grad(f)(3.0), 1.0);
  }
}

std::pair<Array, Array> three_sines(Array x) {
  return scan([](Array c, none_t) { return std::pair(sin(c), sin(c)); }, x, none, {.length = 3});
}
FlatFunction flat_checkpoint(const Policy& p) {
  return [p](std::span<const Array> in) {
    auto [c, ys] = checkpoint(three_sines, p)(in[0]);
    return Arrays{c, ys};
  };
}
TEST_F(Conformance, R52) {
  for (const Policy& p : default_policies()) {
    check_grads(flat_checkpoint(p), {array(3.0, f64)}, {.modes = "rev"});
    EXPECT_EQ(sines(linear_program(checkpoint(three_sines, p), 4.0)), std::pair(1, 2));
  }
}
TEST_F(Conformance, R60) {
  check_grads(flat_checkpoint(save_primitive("cos")), {array(3.0, f64)}, {.modes = "rev"});
  EXPECT_EQ(sines(linear_program(checkpoint(three_sines, save_primitive("cos")), 4.0)), std::pair(0, 0));
}

// Functions of three scalars that return some of them as they are, permuted, and others changed.
TEST_F(Conformance, A1) {
  Random random(3);
  auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random.uniform(0, static_cast<double>(n))); };
  for (int seed = 0; seed < 16; ++seed) {
    for (std::size_t forwarded = 0; forwarded <= 3; ++forwarded) {
      std::vector<std::size_t> order{0, 1, 2}, source{pick(3), pick(3), pick(3)};
      std::swap(order[0], order[pick(3)]);
      std::swap(order[1], order[1 + pick(2)]);
      bool use_exp = pick(2) == 0;
      auto body = [=](std::span<const Array> x) {
        Arrays out;
        for (std::size_t i = 0; i < 3; ++i) {
          const Array& a = x[source[i]];
          out.push_back(i < forwarded ? a : use_exp ? exp(a) : sin(a));
        }
        return Arrays{out[order[0]], out[order[1]], out[order[2]]};
      };
      auto jitted = [=](std::span<const Array> x) { return flat::jit(body, x, {}); };
      Arrays x{array(0.0, f64), array(1.0, f64), array(2.0, f64)};
      check_grads(jitted, x, {.order = 1, .modes = "rev"});
      auto checkpointed = [=](std::span<const Array> in) { return flat::checkpoint(jitted, in, nothing_saveable); };
      check_grads(checkpointed, x, {.order = 1, .modes = "rev"});
      EXPECT_TRUE(same_bits(checkpointed(x), body(x)));
    }
  }
}

TEST_F(Conformance, A8) {
  auto total = [](Array x) { return sum(x); };
  EXPECT_VALUE(checkpoint(total)(array({1.0})), 1.0);
  EXPECT_TRUE(same_bits(grad(checkpoint(total))(array({1.0})), grad(total)(array({1.0}))));
}

// A branch on a traced value: the message says of which transformation, and what to do instead.
TEST_F(Conformance, B1) {
  auto branch = [](Array x) { return x > 0 ? x : -x; };
  auto message = [](auto f) -> std::string {
    try {
      (void)f(Array(3.0));
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  std::string in_checkpoint = message(checkpoint(branch));
  EXPECT_NE(in_checkpoint.find("traced for checkpoint"), std::string::npos) << in_checkpoint;
  EXPECT_NE(in_checkpoint.find("pass what decides as a static argument"), std::string::npos) << in_checkpoint;
  std::string in_jit = message(checkpoint([branch](Array x) { return jit(branch)(x); }));
  EXPECT_NE(in_jit.find("traced for jit"), std::string::npos) << in_jit;
  EXPECT_EQ(in_jit.find("traced for checkpoint"), std::string::npos) << in_jit;
  // A number for a parameter that is a number is static: the branch is taken while tracing.
  EXPECT_VALUE(checkpoint([](Array x, int k) { return k > 0 ? sin(x) : cos(x); })(2.0, 1), std::sin(2.0));
}

TEST_F(Conformance, N1) {
  Array x = array({5.5, 1.3, -4.2, 0.9});
  EXPECT_EQ(brief(saved_residuals([](Array x) { return nn::softmax(x); }, x)),
            std::vector<std::string>{"f32[4] softmax"});
}

TEST_F(Conformance, B8) {
  auto my_f = [](Array x, int y) {
    Array q = checkpoint_name(x * x, "foo");
    return q * q + y;
  };
  Policy products("mul", [](const PolicyQuery& q) { return q.primitive.find("mul") != std::string_view::npos; });
  Array x = 3.0;
  auto list = brief(saved_residuals(checkpoint(my_f, products), ANEW_ARGS(x, 4)));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0], "f32[] argument x");
  EXPECT_EQ(list[1], "f32[] mul");
}

}  // namespace
}  // namespace anew::test
