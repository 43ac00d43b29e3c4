// Laws of derivatives: they agree with differences to second order, with each other, and a transpose is a transpose.
#include "laws/cells.h"

namespace anew::test {
namespace {

class DerivativeLaw : public Law {};

// In f64. A constant to derivatives is no constant to differences: for stop_gradient the derivative is 0 by definition.
const LawInfo finite_differences("FiniteDifferences", [](const Cell& c) {
  std::string why = skip_not_differentiable(c);
  return why.empty() ? skip_narrow(c) : why;
});
TEST_P(DerivativeLaw, FiniteDifferences) {
  for_each_cell(finite_differences, [](const Cell& c) {
    Arrays x = c.inputs(true);
    Random random(c.row->name, 1);
    if (c.row->name != "stop_gradient") {
      // Where reverse over reverse is not defined: twice forward, and once in reverse.
      const bool twice = c.has_reverse_twice(), forward = c.has_forward();
      const auto seed = static_cast<std::uint64_t>(c.index) + 1;
      auto check = [&](int order, std::string_view modes) {
        EXPECT_NO_THROW(check_grads(c.function(), x, {.order = order, .modes = modes, .seed = seed}));
      };
      check(2, !twice ? "fwd" : forward ? "fwd,rev" : "rev");
      if (!twice) check(1, "rev");
      return;
    }
    for (const Array& g : flat::linearize(c.function(), x).second.pullback(random_like(random, c.function()(x))))
      for (double v : numbers(g)) EXPECT_EQ(v, 0);
  });
}

const LawInfo linearize_is_jvp("LinearizeIsJvp", skip_no_forward);
TEST_P(DerivativeLaw, LinearizeIsJvp) {
  for_each_cell(linearize_is_jvp, [](const Cell& c) {
    Arrays x = c.inputs();
    Random random(c.row->name, 2);
    Arrays t = random_like(random, x);
    auto [y, linear] = flat::linearize(c.function(), x);
    auto [y2, dy] = flat::jvp(c.function(), x, t);
    expect_same(y, c.function()(x), "value of linearize");
    expect_same(y2, y, "value of jvp");
    expect_same(linear(t), dy, "linearized function and jvp");
  });
}

// <J t, ct> = <t, J^T ct>; cotangents have the types of the arguments.
const LawInfo transpose_is_adjoint("TransposeIsAdjoint", skip_no_forward);
TEST_P(DerivativeLaw, TransposeIsAdjoint) {
  for_each_cell(transpose_is_adjoint, [](const Cell& c) {
    Arrays x = c.inputs();
    Random random(c.row->name, 3);
    auto [y, linear] = flat::linearize(c.function(), x);
    Arrays t = random_like(random, x), ct = random_like(random, y), dy = linear(t), back = linear.pullback(ct);
    ASSERT_EQ(back.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(back[i].type().str(), x[i].type().str()) << "cotangent " << i;
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(dy[i].type().str(), y[i].type().str()) << "tangent " << i;
    double tolerance = default_tolerance(x) < 1e-4 && default_tolerance(y) < 1e-4 ? 1e-12 : 1e-5;
    expect_close(inner_product(dy, ct), inner_product(t, back),
                 tolerance * (1 + sum_of_sizes(dy, ct) + sum_of_sizes(t, back)), "inner products");
    expect_same(std::move(linear).consume(ct), back, "the pullback that frees its residuals");
  });
}

// A step along an operand that the row claims to be linear in changes the result by the derivative, however long it is.
const LawInfo linear_operands_are_linear("LinearOperandsAreLinear", [](const Cell& c) -> std::string {
  return c.row->facts.linear_in.empty() ? "the row claims no linear operand" : skip_not_differentiable(c);
});
TEST_P(DerivativeLaw, LinearOperandsAreLinear) {
  for_each_cell(linear_operands_are_linear, [](const Cell& c) {
    for (int operand : c.row->facts.linear_in) {
      auto k = static_cast<std::size_t>(operand);
      Arrays x = c.inputs(c.can_be_wide());
      if (k >= x.size() || !differentiable(x[k])) continue;
      Random random(c.row->name, 4);
      Arrays t;
      for (const Array& a : x) t.push_back(zeros(a.shape(), a.dtype()));
      t[k] = random.array(x[k].type());
      auto [y, dy] = flat::jvp(c.function(), x, t);
      Arrays z = c.function()(moved(x, t, 3));
      for (std::size_t i = 0; i < y.size(); ++i)
        if (differentiable(y[i]))
          expect_close(astype(z[i], f64) - astype(y[i], f64), astype(dy[i], f64) * 3,
                       default_tolerance(y) < 1e-4 ? 1e-12 : 1e-5, "difference over a long step");
    }
  });
}

// A rule sees only the operands that have a tangent: one at a time must add up to all of them.
const LawInfo tangents_add_up("TangentsAddUp", [](const Cell& c) -> std::string {
  if (c.sample.inputs.size() < 2) return "it has fewer than two operands";
  return skip_no_forward(c).empty() ? skip_narrow(c) : skip_no_forward(c);
});
TEST_P(DerivativeLaw, TangentsAddUp) {
  for_each_cell(tangents_add_up, [](const Cell& c) {
    Arrays x = c.inputs(true);
    Random random(c.row->name, 5);
    Arrays t = random_like(random, x), total = flat::jvp(c.function(), x, t).second, sum(total.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (!differentiable(x[k])) continue;
      auto one = [&](std::span<const Array> moving) {
        Arrays in = x;
        in[k] = moving[0];
        return c.function()(in);
      };
      Arrays part = flat::jvp(one, Arrays{x[k]}, Arrays{t[k]}).second;
      ASSERT_EQ(part.size(), total.size());
      for (std::size_t i = 0; i < part.size(); ++i)
        if (differentiable(part[i])) sum[i] = sum[i].value() ? sum[i] + part[i] : part[i];
    }
    for (std::size_t i = 0; i < total.size(); ++i)
      if (sum[i].value())
        expect_close(sum[i], total[i], default_tolerance(total) < 1e-4 ? 1e-12 : 1e-5, "sum of partial tangents");
  });
}

INSTANTIATE_LAW(DerivativeLaw);

}  // namespace
}  // namespace anew::test
