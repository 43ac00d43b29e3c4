// Layers in a loop: scan over stacked weights, its body plain, checkpointed, checkpointed in groups, or all at once.
#include <anew/anew.h>

#include "chapters.h"
#include "show.h"

using namespace anew;

namespace {

// code: stack of layers
struct Layer {
  Array w, b;
};
std::pair<Array, none_t> layer(Array y, Layer l) {
  Array h = matmul(nn::standardize(y), l.w) + l.b;
  return {y + nn::gelu(h), none};
}
template <class Body>
Array stack_loss(Layer layers, Array x, Body body) {
  auto [y, _] = scan(body, x, layers);
  return mean(square(y));
}
// end

// code: groups of layers
std::pair<Array, none_t> group(Array y, Layer layers) {
  auto [last, _] = scan(checkpoint(layer), y, layers);
  return {last, none};
}
// end

Array wave(Shape shape, double from, double size) { return reshape(size * sin(from + arange(shape.size())), shape); }

}  // namespace

void deep_stack() {
  show::chapter("A deep stack, by scan");
  show::say(R"(
      Deep networks repeat one layer. scan runs it over stacked weights: the Program holds the layer once,
      whatever the depth. 64 layers of width 32, for 16 examples:)");
  show::code("stack of layers");
  const Layer layers{wave({64, 32, 32}, 1, 0.1), wave({64, 32}, 2, 0.1)};
  const Layer groups{layers.w.reshape({8, 8, 32, 32}), layers.b.reshape({8, 8, 32})};
  const Array x = wave({16, 32}, 3, 1);

  using namespace checkpoint_policies;
  auto with = [](auto body) { return [body](Layer layers, Array x) { return stack_loss(layers, x, body); }; };
  auto plain = with(layer);
  const Layer want = grad(plain)(layers, x);

  bool same = true;
  double most = 0;  // the first is the longest bar
  std::vector<show::Row> rows{{{"", "bytes kept", "beside the arguments"}}};
  auto add = [&](const std::string& name, const auto& loss, const Layer& layers) {
    std::size_t all = 0, rest = 0;
    for (const Residual& r : saved_residuals(loss, layers, x)) {
      all += r.bytes;
      rest += r.kind == Residual::Kind::argument ? 0 : r.bytes;
    }
    if (most == 0) most = static_cast<double>(rest);
    rows.push_back({{name, show::in_bytes(all), show::in_bytes(rest)}, 36 * static_cast<double>(rest) / most});
    const Layer g = grad(loss)(layers, x);
    same = same && show::same_bits(g.w.reshape(want.w.shape()), want.w) &&
           show::same_bits(g.b.reshape(want.b.shape()), want.b);
  };
  add("plain body", plain, layers);
  add("checkpoint(body), products kept", with(checkpoint(layer, dots_with_no_batch_dims_saveable)), layers);
  add("checkpoint(body)", with(checkpoint(layer)), layers);
  add("checkpoint(8 layers), 8 times", with(checkpoint(group)), groups);
  add("checkpoint(whole loss)", checkpoint(plain), layers);
  show::table(rows);
  show::say(R"(
      A checkpointed body keeps what enters each step, and nothing from within. Groups of 8 keep what enters
      each group. The whole loss keeps its arguments only, but runs everything again at once before going back.
      A group is a scan inside the scan, over weights of shape [8, 8, 32, 32]:)");
  show::code("groups of layers");
  show::tick(same, "the gradients of all 64 layers are the same in all five, bit for bit");
}
