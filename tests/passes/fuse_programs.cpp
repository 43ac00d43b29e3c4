// Compilers evaluate the operands of an operation in different orders: where both operands bind equations, the first
// to come has a name, so that all compilers make the programs that are recorded.
#include "passes/fuse_programs.h"

#include "support/random.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

Array gelu_layer(const Array& x, const Array& w, const Array& b) { return nn::gelu(matmul(x, w) + b); }

// One step of u_tt = c^2 (u_xx + u_yy) on a torus.
Arrays wave_step(In a) {
  const Array &now = a[0], &before = a[1];
  Array right = roll(now, -1, 1), left = roll(now, 1, 1), below = roll(now, -1, 0), above = roll(now, 1, 0);
  Array around = above + below + left + right, force = 0.1 * (around - 4.0 * now);
  return {2.0 * now - before + force, now};
}

Arrays lstm_cell(In a) {
  const Array &x = a[0], &h = a[1], &c = a[2], &w = a[3], &u = a[4], &b = a[5];
  Array recurrent = matmul(h, u);
  std::vector<Array> gates = split(matmul(x, w) + recurrent + b, 4, 1);
  Array candidate = tanh(gates[2]), added = nn::sigmoid(gates[1]) * candidate;
  Array next = nn::sigmoid(gates[0]) * c + added, shown = tanh(next);
  return {nn::sigmoid(gates[3]) * shown, next};
}

Arrays adam(In a) {
  const Array &p = a[0], &g = a[1], &t = a[4];
  Array first = 0.1 * g, m = 0.9 * a[2] + first, second = 0.001 * g * g, v = 0.999 * a[3] + second;
  Array m_hat = m / (1.0 - pow(0.9, t)), v_hat = v / (1.0 - pow(0.999, t)), scale = sqrt(v_hat) + 1e-8;
  return {p - 0.001 * m_hat / scale, m, v};
}

// The inside of a heat equation's step, edges kept as they are.
Arrays stencil(In a) {
  auto part = [&](std::int64_t i, std::int64_t j) { return a[0][{Slice(1 + i, 31 + i), Slice(1 + j, 63 + j)}]; };
  Array middle = part(0, 0), four = 4.0 * middle;
  Array left = part(0, -1), right = part(0, 1), above = part(-1, 0), below = part(1, 0);
  Array inside = middle + 0.1 * (below + above + right + left - four);
  return {pad(inside, {{1, 1}, {1, 1}}, 0.0), sum(inside * inside)};
}

Arrays conv_block(In a) {
  const Array &x = a[0], &w = a[1], &scale = a[2], &shift = a[3];
  Array y = conv_general_dilated(x, w, {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}});
  Array m = mean(y, {0, 1, 2}), d = y - m, v = mean(d * d, {0, 1, 2});
  return {x + nn::relu(d * rsqrt(v + 1e-5) * scale + shift)};
}

Array cross_entropy(const Array& logits, const Array& labels) {
  Array chosen = sum(logits * labels, -1);
  return mean(logsumexp(logits, -1) - chosen);
}

Arrays short_floats(In a) {
  Array decay = exp(-a[0]), y = tanh(a[0] * a[1] + 0.5) - decay;
  return {y * y, astype(sum(y, -1), f32)};
}

}  // namespace

std::vector<TypicalProgram> typical_programs() {
  Random random(7);
  std::vector<TypicalProgram> out;
  auto add = [&](std::string name, const FlatFunction& f, Arrays x) {
    out.push_back({std::move(name), flat::make_program(f, x), std::move(x)});
  };
  auto floats = [&](const Shape& s, DType d = f32) { return random.array({s, d}); };
  add("softmax", [](In a) { return Arrays{nn::softmax(a[0])}; }, {floats({32, 100})});
  add("layer_norm", [](In a) { return Arrays{nn::layer_norm(a[0], a[1], a[2])}; },
      {floats({32, 100}), floats({100}), floats({100})});
  add("gelu_layer", [](In a) { return Arrays{gelu_layer(a[0], a[1], a[2])}; },
      {floats({8, 16}), floats({16, 64}), floats({64})});
  add("gelu_layer_gradient",
      [](In a) {
        auto loss = [](const Array& w, const Array& b, const Array& x) {
          Array y = gelu_layer(x, w, b);
          return sum(y * y);
        };
        Array x = a[0];
        auto [dw, db] = grad<0, 1>(loss)(a[1], a[2], x);
        return Arrays{dw, db};
      },
      {floats({8, 16}), floats({16, 64}), floats({64})});
  add("wave_step", wave_step, {floats({32, 64}), floats({32, 64})});
  add("attention", [](In a) { return Arrays{nn::dot_product_attention(a[0], a[1], a[2], {.is_causal = true})}; },
      {floats({2, 16, 4, 8}), floats({2, 16, 4, 8}), floats({2, 16, 4, 8})});
  add("lstm_cell", lstm_cell,
      {floats({4, 8}), floats({4, 16}), floats({4, 16}), floats({8, 64}), floats({16, 64}), floats({64})});
  add("adam", adam, {floats({40, 50}), floats({40, 50}), floats({40, 50}), floats({40, 50}), Array(3.0f)});
  add("rms_norm", [](In a) { return Arrays{nn::rms_norm(a[0], a[1])}; }, {floats({32, 100}), floats({100})});
  add("stencil", stencil, {floats({32, 64})});
  add("conv_block", conv_block, {floats({2, 8, 8, 4}), floats({3, 3, 4, 4}), floats({4}), floats({4})});
  add("cross_entropy_gradient",
      [](In a) {
        Array labels = a[1];
        auto [y, g] = value_and_grad([&](const Array& x) { return cross_entropy(x, labels); })(a[0]);
        return Arrays{y, g};
      },
      {floats({16, 50}), floats({16, 50})});
  add("short_floats", short_floats, {floats({12, 40}, bf16), floats({12, 40}, bf16)});
  return out;
}

}  // namespace anew::test
