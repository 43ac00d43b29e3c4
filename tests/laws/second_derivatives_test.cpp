// Second derivatives are one thing, whichever way they are taken: forward over forward, forward over reverse, reverse
// over forward and reverse over reverse, by each pair of operands in both orders. Of every row and of every public
// function.
#include <fmt/format.h>

#include "laws/cells.h"
#include "laws/functions.h"

namespace anew::test {
namespace {

// f as a function of operand k alone.
FlatFunction of_operand(const FlatFunction& f, Arrays x, std::size_t k) {
  return [f, x = std::move(x), k](std::span<const Array> z) {
    Arrays in = x;
    in[k] = z[0];
    return f(in);
  };
}
// Its derivative by operand k as a function of all operands: along u, or pulled back from ct.
FlatFunction forward(const FlatFunction& f, std::size_t k, const Array& u) {
  return [=](std::span<const Array> x) {
    return flat::jvp(of_operand(f, {x.begin(), x.end()}, k), Arrays{x[k]}, Arrays{u}).second;
  };
}
FlatFunction reverse(const FlatFunction& f, std::size_t k, const Arrays& ct) {
  return [=](std::span<const Array> x) {
    return flat::linearize(of_operand(f, {x.begin(), x.end()}, k), Arrays{x[k]}).second.pullback(ct);
  };
}

struct Second {
  std::string way;
  double value, scale;  // scale: the sum of the sizes that were added up
};

// Whether results differ by rounding only: relative to what was summed, largest among all ways, and to the value.
void expect_agreement(const std::vector<Second>& all, double scale) {
  for (const Second& s : all) scale = std::max(scale, std::isfinite(s.scale) ? s.scale : 0);
  for (const Second& s : all) {
    const Second& first = all[0];
    const bool same = (std::isnan(s.value) && std::isnan(first.value)) || s.value == first.value ||
                      std::abs(s.value - first.value) <= 1e-9 * scale + 1e-300;
    EXPECT_TRUE(same) << first.way << " gives " << first.value << ", " << s.way << " gives " << s.value;
  }
}

void check(const FlatFunction& f, const Arrays& x, std::uint64_t seed, bool has_forward, bool reverse_twice) {
  Random random(seed);
  const Arrays y = f(x), ct = random_like(random, y), along = random_like(random, x);
  const std::size_t most = std::min<std::size_t>(x.size(), 3);  // of rows with many operands
  for (std::size_t i = 0; i < most; ++i)
    for (std::size_t j = i; j < most; ++j) {
      if (!differentiable(x[i]) || !differentiable(x[j])) continue;
      std::vector<Second> all;
      auto add = [&](std::string_view way, std::size_t a, std::size_t b, const Arrays& got, const Arrays& with) {
        all.push_back({fmt::format("{} by operand {} of the derivative by operand {}", way, b, a),
                       inner_product(got, with), sum_of_sizes(got, with)});
      };
      auto take = [&](std::size_t a, std::size_t b) {
        const Array &u = along[a], &v = along[b];
        const FlatFunction fwd = forward(f, a, u), rev = reverse(f, a, ct);
        if (has_forward) add("fwd-fwd", a, b, forward(fwd, b, v)(x), ct);
        add("fwd-rev", a, b, forward(rev, b, v)(x), {u});
        if (has_forward) add("rev-fwd", a, b, reverse(fwd, b, ct)(x), {v});
        if (reverse_twice) add("rev-rev", a, b, reverse(rev, b, {u})(x), {v});
      };
      take(i, j);
      if (i != j) take(j, i);
      expect_agreement(all, sum_of_sizes(y, ct));
    }
}

class SecondDerivativeLaw : public Law {};

const LawInfo second_derivatives("SecondDerivativesAgree", [](const Cell& c) {
  std::string why = skip_not_differentiable(c);
  return why.empty() ? skip_narrow(c) : why;
});
TEST_P(SecondDerivativeLaw, SecondDerivativesAgree) {
  for_each_cell(second_derivatives, [](const Cell& c) {
    check(c.function(), c.inputs(true), static_cast<std::uint64_t>(c.index) + 1, c.has_forward(),
          c.has_reverse_twice());
  });
}
INSTANTIATE_LAW(SecondDerivativeLaw);

TEST(SecondDerivatives, OfElementwiseFunctions) {
  for (const ElementwiseFunction& e : elementwise_functions()) {
    SCOPED_TRACE(e.name);
    Random random(e.name, 1);
    FlatFunction f = [&](std::span<const Array> x) { return Arrays{e.f(x)}; };
    for (const Shape& second : {Shape{3}, Shape{}}) {  // a scalar beside an array is summed in reverse
      Arrays x = {random.array({{3}, f64}, e.lo, e.hi)};
      if (e.arity == 2) x.push_back(random.array({second, f64}, e.second_lo, e.second_hi));
      check(f, x, 1, true, true);
    }
  }
}

TEST(SecondDerivatives, OfComposedFunctions) {
  for (const ComposedFunction& e : composed_functions()) {
    SCOPED_TRACE(e.name);
    ir::Sample sample;
    sample.inputs = e.inputs;
    const ir::Primitive named{.name = e.name};  // seeds the numbers
    EXPECT_NO_THROW(check(e.f, Cell{&named, sample, 0}.inputs(), 1, true, true));
  }
}

}  // namespace
}  // namespace anew::test
