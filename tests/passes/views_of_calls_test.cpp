// A call's result that is only read through views: whatever part, order or shape of it they show, and one view behind
// another, compiled is eager, on one thread and on two. Where a result lies in memory may follow its reader, so this
// holds every kind of view to every kind of call.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "support/support.h"

namespace anew::views_of_calls_test {
namespace {

using View = std::pair<std::string, std::function<Array(Array)>>;

std::vector<View> views(const Shape& shape) {
  std::vector<View> out;
  const int n = shape.ndim();
  for (int axis = 0; axis < n; ++axis) {
    const std::int64_t size = shape[axis];
    const std::string on = " on axis " + std::to_string(axis);
    auto part = [&](std::int64_t from, std::int64_t to, std::int64_t step) {
      out.emplace_back("slice " + std::to_string(from) + ":" + std::to_string(to) + ":" + std::to_string(step) + on,
                       [=](Array x) { return lax::slice_in_dim(x, from, to, step, axis); });
    };
    part(0, 1, 1), part(0, size, 2), part(size - 1, size, 1);
    if (size > 1) part(0, size / 2, 1), part(0, size - 1, 1), part(1, size, 1);
    out.emplace_back("index 0" + on, [=](Array x) { return squeeze(lax::slice_in_dim(x, 0, 1, 1, axis), axis); });
    if (size % 2 == 0) out.emplace_back("split" + on, [=](Array x) { return split(x, 2, axis)[0]; });
    out.emplace_back("flip" + on, [=](Array x) { return flip(x, axis); });
    out.emplace_back("expand" + on, [=](Array x) { return expand_dims(x, axis); });
    for (int other = axis + 1; other < n; ++other) {
      out.emplace_back("swap with " + std::to_string(other) + on, [=](Array x) { return swapaxes(x, axis, other); });
      if (size > 1 && shape[other] > 1)
        out.emplace_back("corner with " + std::to_string(other) + on, [=](Array x) {
          return lax::slice_in_dim(lax::slice_in_dim(x, 0, x.shape()[axis] / 2, 1, axis), 0, x.shape()[other] / 2, 1,
                                   other);
        });
    }
  }
  out.emplace_back("transpose", [](Array x) { return transpose(x); });
  out.emplace_back("ravel", [](Array x) { return ravel(x); });
  if (shape.size() % 2 == 0) out.emplace_back("halves", [](Array x) { return reshape(x, {2, -1}); });
  out.emplace_back("broadcast", [n](Array x) {
    std::vector<std::int64_t> to{3};
    for (int i = 0; i < n; ++i) to.push_back(x.shape()[i]);
    return broadcast_to(x, Shape(to));
  });
  return out;
}

struct Made {
  const char* name;
  std::function<Array(Array, Array)> f;
  Shape a, b;
};

class ViewsOfCalls : public testing::TestWithParam<Made> {};

TEST_P(ViewsOfCalls, CompiledIsEager) {
  const Made& made = GetParam();
  const Array a = random::normal(random::key(1), made.a), b = random::normal(random::key(2), made.b);
  auto holds = [&](const std::string& name, const std::function<Array(Array)>& look, const Array& want) {
    SCOPED_TRACE(name);
    auto f = [&](Array a, Array b) { return look(made.f(a, b)); };
    for (int threads : {1, 2})
      EXPECT_TRUE(array_equal(jit(f, {.threads = threads})(a, b), want)) << threads << " threads";
  };
  const Array whole = made.f(a, b);
  for (const auto& [name, look] : views(whole.shape())) {
    const Array seen = look(whole);
    holds(name, look, seen);
    holds("sin of " + name, [&](Array x) { return sin(look(x)); }, sin(seen));
    int turn = 0;
    for (const auto& [second_name, second] : views(seen.shape()))
      if (seen.shape().ndim() <= 3 && turn++ % 3 == 0)
        holds(second_name + " of " + name, [&](Array x) { return second(look(x)); }, second(seen));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ViewsOfCalls,
    testing::Values(Made{"Product", [](Array a, Array b) { return matmul(a, b); }, {64, 8}, {8, 6}},
                    Made{"OfMany", [](Array a, Array b) { return matmul(a, b); }, {4, 16, 8}, {8, 6}},
                    Made{"Batched", [](Array a, Array b) { return matmul(a, b); }, {4, 16, 8}, {4, 8, 6}},
                    Made{"Outer", [](Array a, Array b) { return einsum("bik,jk->bij", a, b); }, {4, 16, 8}, {6, 8}},
                    Made{
                        "Turned", [](Array a, Array b) { return einsum("bik,bkj->ijb", a, b); }, {4, 16, 8}, {4, 8, 6}},
                    Made{"Sorted", [](Array a, Array) { return sort(a, 0); }, {8, 4, 6}, {1}},
                    Made{"Running", [](Array a, Array) { return cumsum(a, 1); }, {8, 4, 6}, {1}},
                    Made{"Convolution",
                         [](Array a, Array b) {
                           return conv_general_dilated(a, b, {1, 1}, "SAME",
                                                       {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}});
                         },
                         {2, 4, 4, 3},
                         {3, 3, 3, 6}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace anew::views_of_calls_test
