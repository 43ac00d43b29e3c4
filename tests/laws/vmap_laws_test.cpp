// Laws of vmap: it is a loop over examples, bit for bit, whatever subset of the operands is mapped, along whatever
// axis, for values and for derivatives; and the gradient of a map is the map of gradients. There every operand is
// mapped: the cotangent of a shared operand is a sum over examples, which the batched transpose joins in the order of a
// sum and a loop in the order of its steps.
#include "laws/cells.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;
using InAxes = std::vector<int>;

class VmapLaw : public Law {};

constexpr std::int64_t examples = 3;

// The examples of one cell, the first of them what the other laws see.
struct Examples {
  std::vector<Arrays> each;
  explicit Examples(const Cell& c) {
    for (std::int64_t k = 0; k < examples; ++k) each.push_back(c.inputs(false, static_cast<std::uint64_t>(k)));
  }
  // Stacked along these axes; what has none is that of the first example.
  Arrays stacked(const InAxes& axes) const {
    Arrays out;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Arrays all;
      for (const Arrays& x : each) all.push_back(x[i]);
      out.push_back(axes[i] == no_axis ? all[0] : stack(all, axes[i]));
    }
    return out;
  }
  Arrays looped(const FlatFunction& f, const InAxes& axes) const {
    std::vector<Arrays> results;
    for (const Arrays& x : each) {
      Arrays in;
      for (std::size_t i = 0; i < axes.size(); ++i) in.push_back(axes[i] == no_axis ? each[0][i] : x[i]);
      for (std::size_t j = 0; const Array& y : f(in)) {
        if (results.size() <= j) results.emplace_back();
        results[j++].push_back(y);
      }
    }
    Arrays out;
    for (const Arrays& r : results) out.push_back(stack(r));
    return out;
  }
};

// Which operands are mapped: every subset of up to three, then all, each alone, and all but one.
std::vector<InAxes> subsets(std::size_t n) {
  std::vector<InAxes> out;
  for (std::size_t bits = 1; bits < (std::size_t{1} << std::min<std::size_t>(n, 12)); ++bits) {
    InAxes axes(n, no_axis);
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (bits >> i & 1) axes[i] = 0, ++chosen;
    if (n <= 3 || chosen == 1 || chosen + 1 >= n) out.push_back(axes);
  }
  return out;
}
// The subset with one of its operands mapped along each of its other axes.
std::vector<InAxes> placements(const InAxes& subset, const Cell& c) {
  std::vector<InAxes> out{subset};
  for (std::size_t i = 0; i < subset.size(); ++i) {
    if (subset[i] == no_axis) continue;
    for (int axis = 1; axis <= c.sample.inputs[i].type.shape.ndim(); ++axis) {
      out.push_back(subset);
      out.back()[i] = axis;
    }
  }
  return out;
}
std::string text(const InAxes& axes) {
  std::string out = "in_axes";
  for (int a : axes) out += a == no_axis ? " -" : " " + std::to_string(a);
  return out;
}

std::string skip_nothing_to_map(const Cell& c) { return c.sample.inputs.empty() ? "it has no operand to map" : ""; }

const LawInfo vmap_is_a_loop("VmapIsALoop", skip_nothing_to_map);
TEST_P(VmapLaw, VmapIsALoop) {
  for_each_cell(vmap_is_a_loop, [](const Cell& c) {
    Examples e(c);
    FlatFunction f = c.function();
    for (const InAxes& subset : subsets(c.sample.inputs.size())) {
      Arrays want = e.looped(f, subset);
      for (const InAxes& axes : placements(subset, c))
        expect_same(flat::vmap(f, e.stacked(axes), {.in = axes}), want, text(axes));
      Arrays last = flat::vmap(f, e.stacked(subset), {.in = subset, .out = {-1}});
      for (Array& y : last) y = moveaxis(y, -1, 0);
      expect_same(last, want, "results along the last axis");
    }
  });
}

// A map of maps over two axes of all operands, and maps over one example and over none.
const LawInfo vmap_nests("VmapNests", skip_nothing_to_map);
TEST_P(VmapLaw, VmapNests) {
  for_each_cell(vmap_nests, [](const Cell& c) {
    Examples e(c);
    FlatFunction f = c.function();
    InAxes front(c.sample.inputs.size(), 0);
    FlatFunction inner = [&](In x) { return flat::vmap(f, x, {.in = front}); };
    Arrays once = e.stacked(front), twice, want;
    for (const Array& x : once) twice.push_back(stack({x, flip(x, 0)}, 1));
    Arrays rows = e.looped(f, front);
    for (const Array& y : rows) want.push_back(stack({y, flip(y, 0)}, 1));
    InAxes second(front.size(), 1);
    expect_same(flat::vmap(inner, twice, {.in = second, .out = {1}}), want, "a map of maps");
    Arrays one, none, first;
    for (const Array& x : once) one.push_back(x[slice(0, 1)]), none.push_back(x[slice(0, 0)]);
    for (const Array& y : rows) first.push_back(y[slice(0, 1)]);
    expect_same(inner(one), first, "one example");
    Arrays nothing = inner(none);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Shape shape = rows[i].shape();
      shape[0] = 0;
      EXPECT_EQ(nothing[i].type().str(), (ShapeDtype{shape, rows[i].dtype()}.str())) << "no examples";
    }
  });
}

// Value, jvp, pullback and forward over reverse of one example, for all of them: with each operand mapped alone, the
// rules meet mapped and shared operands side by side.
const LawInfo vmap_of_derivatives_is_a_loop("VmapOfDerivativesIsALoop", skip_nothing_to_map);
TEST_P(VmapLaw, VmapOfDerivativesIsALoop) {
  for_each_cell(vmap_of_derivatives_is_a_loop, [](const Cell& c) {
    Examples e(c);
    FlatFunction f = c.function();
    const bool forward_mode = c.has_forward();
    FlatFunction all = [&](In x) { return derivatives(f, Arrays(x.begin(), x.end()), 8, forward_mode); };
    for (const InAxes& axes : subsets(c.sample.inputs.size()))
      expect_same(flat::vmap(all, e.stacked(axes), {.in = axes}), e.looped(all, axes), text(axes));
  });
}

// Derivatives of batched rows against batched derivatives of rows, in all directions at once.
const LawInfo grad_of_vmap_is_vmap_of_grad("GradOfVmapIsVmapOfGrad", [](const Cell& c) {
  std::string why = skip_nothing_to_map(c);
  return why.empty() ? skip_not_differentiable(c) : why;
});
TEST_P(VmapLaw, GradOfVmapIsVmapOfGrad) {
  for_each_cell(grad_of_vmap_is_vmap_of_grad, [](const Cell& c) {
    Examples e(c);
    FlatFunction f = c.function();
    InAxes front(c.sample.inputs.size(), 0);
    FlatFunction mapped = [&](In x) { return flat::vmap(f, x, {.in = front}); };
    Arrays x = e.stacked(front);
    Random random(c.row->name, 7);
    Arrays t = random_like(random, x), ct = random_like(random, mapped(x)), with_ct = x, with_t = x;
    with_ct.insert(with_ct.end(), ct.begin(), ct.end());
    with_t.insert(with_t.end(), t.begin(), t.end());
    std::size_t n = x.size();
    FlatFunction back = [&](In in) { return flat::linearize(f, in.first(n)).second.pullback(in.subspan(n)); };
    FlatFunction forward = [&](In in) { return flat::jvp(f, in.first(n), in.subspan(n)).second; };
    Arrays got = flat::linearize(mapped, x).second.pullback(ct);
    Arrays want = flat::vmap(back, with_ct, {.in = InAxes(with_ct.size(), 0)});
    // A mapped branch is a choice between the results of all branches: what flows back through each is added in turn.
    if (!c.mentions("cond")) expect_same(got, want, "pullback", Zeros::alike);
    for (std::size_t i = 0; i < n; ++i)
      expect_close_to_scale(got[i], want[i], default_tolerance(x) < 1e-4 ? 1e-13 : 1e-5, "pullback");
    if (!c.has_forward()) return;
    expect_same(flat::jvp(mapped, x, t).second, flat::vmap(forward, with_t, {.in = InAxes(with_t.size(), 0)}), "jvp",
                Zeros::alike);
  });
}

INSTANTIATE_LAW(VmapLaw);

}  // namespace
}  // namespace anew::test
