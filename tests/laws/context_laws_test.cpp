// Laws of context: a row computes inside a scan, a branch or a while loop what it computes outside, and so do its
// derivatives. Bit for bit but for signs of zeros: a loop starts its accumulators at -0.0, and what a branch or step
// does not touch has a zero as its cotangent, not nothing.
#include "laws/cells.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

class ContextLaw : public Law {};

Arrays zeros_of(const Arrays& like) {
  Arrays out;
  for (const Array& y : like) out.push_back(zeros(y.shape(), y.dtype()));
  return out;
}
Arrays part(In x, std::size_t begin, std::size_t size) {
  return {x.begin() + static_cast<std::ptrdiff_t>(begin), x.begin() + static_cast<std::ptrdiff_t>(begin + size)};
}
Arrays both(const Arrays& a, const Arrays& b) {
  Arrays out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(stack({a[i], b[i]}));
  return out;
}
void expect_same_derivatives(const Cell& c, const FlatFunction& got, const FlatFunction& want, const Arrays& x,
                             const char* what) {
  bool forward = c.has_forward();
  expect_same(derivatives(got, x, 8, forward), derivatives(want, x, 8, forward), what, Zeros::alike);
}

// The operands as xs of a scan, as values that its body captures, and as carries that it hands on.
const LawInfo in_scan("InScan", nowhere_skipped);
TEST_P(ContextLaw, InScan) {
  for_each_cell(in_scan, [](const Cell& c) {
    FlatFunction f = c.function();
    Arrays x = c.inputs(), y = f(x), xs = both(x, c.inputs(false, 1));
    std::size_t n = x.size();
    auto unrolled = [&](In in) {
      Arrays first, second;
      for (const Array& a : in) first.push_back(a[0]), second.push_back(a[1]);
      first = f(first), second = f(second);
      return both(first, second);
    };
    auto stepped = [&](In in) {
      return flat::scan([&](In, In e) { return flat::ScanResult{{}, f(e)}; }, {}, Arrays(in.begin(), in.end()),
                        {.length = 2})
          .ys;
    };
    expect_same_derivatives(c, stepped, unrolled, xs, "operands as xs");
    auto twice = [&](In in) {
      Arrays first = f(in), second = f(in);  // in this order, so that cotangents are added in that of the steps
      return both(first, second);
    };
    auto captured = [&](In in) {
      return flat::scan([&](In, In) { return flat::ScanResult{{}, f(in)}; }, {}, {}, {.length = 2}).ys;
    };
    expect_same_derivatives(c, captured, twice, x, "captured operands");
    auto carried = [&](In in) {
      auto body = [&](In carry, In) {
        Arrays next = part(carry, 0, n), made = f(next);
        next.insert(next.end(), made.begin(), made.end());
        return flat::ScanResult{next, {}};
      };
      Arrays init(in.begin(), in.end()), start = zeros_of(y);
      init.insert(init.end(), start.begin(), start.end());
      return part(flat::scan(body, init, {}, {.length = 2}).carry, n, y.size());
    };
    expect_same_derivatives(c, carried, f, x, "operands as carries");
  });
}

const LawInfo in_cond("InCond", nowhere_skipped);
TEST_P(ContextLaw, InCond) {
  for_each_cell(in_cond, [](const Cell& c) {
    FlatFunction f = c.function();
    Arrays x = c.inputs(), y = f(x);
    auto nothing = [&](In) { return zeros_of(y); };
    for (bool taken : {true, false}) {
      auto chosen = [&](In in) {
        return taken ? flat::cond(array(true), f, nothing, in) : flat::cond(array(false), nothing, f, in);
      };
      expect_same_derivatives(c, chosen, f, x, taken ? "the first branch" : "the second branch");
    }
    auto other = [&](In in) { return flat::cond(array(false), f, nothing, in); };
    expect_same_derivatives(c, other, nothing, x, "the branch not taken");
  });
}

const LawInfo in_while("InWhile", nowhere_skipped);
TEST_P(ContextLaw, InWhile) {
  for_each_cell(in_while, [](const Cell& c) {
    FlatFunction f = c.function();
    Arrays x = c.inputs(), y = f(x);
    std::size_t n = x.size();
    auto looped = [&](In in) {
      auto body = [&](In carry) {
        Arrays next = part(carry, 1, n), made = f(next);
        next.insert(next.begin(), carry[0] + 1);
        next.insert(next.end(), made.begin(), made.end());
        return next;
      };
      Arrays init{array(0)}, start = zeros_of(y);
      init.insert(init.end(), in.begin(), in.end());
      init.insert(init.end(), start.begin(), start.end());
      return part(flat::while_loop([](In carry) { return carry[0] < 2; }, body, init, {2}), n + 1, y.size());
    };
    expect_same_derivatives(c, looped, f, x, "in a while loop");
  });
}

INSTANTIATE_LAW(ContextLaw);

}  // namespace
}  // namespace anew::test
