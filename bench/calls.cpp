// What a call of a jitted function costs beside its code: jit against compile(), call by call in turn, best of many.
// Rows are the programs where that once was far apart: trees of structs, constants made inside, closures that are
// traced at each call. `bench/calls_jax.py` runs the last ones with JAX.
#include <anew/anew.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

using namespace anew;

namespace {

template <class F>
double microseconds(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

template <class F, class G>
void row(const char* name, const F& jitted, const G& compiled, int times = 400) {
  const double first = microseconds(jitted), second = microseconds(jitted);
  double a = 1e30, b = 1e30;
  for (int i = 0; i < times; ++i) {
    a = std::min(a, microseconds(jitted));
    b = std::min(b, microseconds(compiled));
  }
  std::printf("%-34s %10.0f %10.1f %10.2f %10.2f %8.2f\n", name, first, second, a, b, a / b);
}

struct Layer {
  Array w, b;
};
struct Settings {
  Array w;
  bool residual = true;
};

Array layers(const std::vector<Layer>& ls, Array x) {
  for (const Layer& l : ls) x = tanh(matmul(x, l.w) + l.b);
  return x;
}
Array named(const std::map<std::string, Array>& p, Array x) { return tanh(matmul(x, p.at("w")) + p.at("b")); }
Array with_bool(const Settings& s, Array x) {
  Array y = tanh(matmul(x, s.w));
  return s.residual ? y + x : y;
}
Array with_constants(Array x) { return x * array({1.0, 2.0, 3.0, 4.0}) + random::uniform(random::key(1), {4}); }

// ---- a small GPT, one forward pass
struct Block {
  Array ln1, qkv, out, ln2, up, down;
};
struct Gpt {
  Array tokens, positions, head;
  std::vector<Block> blocks;
};
constexpr int width = 64, heads = 4, length = 16, vocabulary = 64;
Array normed(const Array& x, const Array& g) {
  Array centered = x - mean(x, -1, true);
  return centered * rsqrt(mean(centered * centered, -1, true) + 1e-5) * g;
}
Array gpt(const Gpt& m, const Array& text) {
  Array x = take(m.tokens, text, 0) + m.positions;
  Array mask = tril(ones({length, length}));
  for (const Block& b : m.blocks) {
    auto parts = split(matmul(normed(x, b.ln1), b.qkv), 3, -1);
    auto head = [](const Array& a) {
      return transpose(reshape(a, {length, heads, width / heads}), std::vector{1, 0, 2});
    };
    Array q = head(parts[0]), k = head(parts[1]), v = head(parts[2]);
    Array scores = matmul(q, transpose(k, std::vector{0, 2, 1})) / 4.0;
    Array p = nn::softmax(where(mask > 0, scores, -1e9), -1);
    x = x + matmul(reshape(transpose(matmul(p, v), std::vector{1, 0, 2}), {length, width}), b.out);
    x = x + matmul(nn::gelu(matmul(normed(x, b.ln2), b.up)), b.down);
  }
  return matmul(x, m.head);
}
Gpt make_gpt() {
  int seed = 0;
  auto w = [&](std::int64_t a, std::int64_t b) { return random::normal(random::key(++seed), {a, b}) * 0.1; };
  Gpt m{w(vocabulary, width), w(length, width), w(width, vocabulary), {}};
  for (int i = 0; i < 4; ++i)
    m.blocks.push_back({ones({width}) + 0, w(width, 3 * width), w(width, width), ones({width}) + 0, w(width, 4 * width),
                        w(4 * width, width)});
  return m;
}

// ---- closures
using State = std::vector<Array>;
template <class F>
State rk4(const F& f, const State& y, double h) {
  auto plus = [&](const State& k, double s) {
    State out;
    for (std::size_t i = 0; i < y.size(); ++i) out.push_back(y[i] + k[i] * s);
    return out;
  };
  State k1 = f(y), k2 = f(plus(k1, h / 2)), k3 = f(plus(k2, h / 2)), k4 = f(plus(k3, h)), out;
  for (std::size_t i = 0; i < y.size(); ++i)
    out.push_back(y[i] + (k1[i] + k2[i] * 2.0 + k3[i] * 2.0 + k4[i]) * (h / 6));
  return out;
}

State cart_pole(const State& s, const Array& force) {
  Array c = cos(s[2]), n = sin(s[2]), w = s[3];
  Array temp = (force + 0.05 * w * w * n) / 1.1;
  Array alpha = (9.8 * n - c * temp) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1));
  return {s[1], temp - 0.05 * alpha * c / 1.1, w, alpha};
}

}  // namespace

int main() {
  std::printf("%-34s %10s %10s %10s %10s %8s\n", "microseconds", "first", "second", "jit", "compiled", "ratio");
  const Array x = ones({4, 4}) * 0.3;
  {
    std::vector<Layer> ls(4, Layer{ones({4, 4}) * 0.1, ones({4}) * 0.1});
    auto f = jit(layers);
    auto c = f.compile(ls, x);
    row("vector<struct>", [&] { (void)f(ls, x); }, [&] { (void)c(ls, x); });
    std::map<std::string, Array> p{{"w", ones({4, 4}) * 0.1}, {"b", ones({4}) * 0.1}};
    auto g = jit(named);
    auto cg = g.compile(p, x);
    row("map<string, Array>", [&] { (void)g(p, x); }, [&] { (void)cg(p, x); });
    Settings s{ones({4, 4}) * 0.1};
    auto h = jit(with_bool);
    auto ch = h.compile(s, x);
    row("struct with a bool", [&] { (void)h(s, x); }, [&] { (void)ch(s, x); });
    auto k = jit(with_constants);
    const Array v = ones({4}) + 1;
    auto ck = k.compile(v);
    row("array({...}), random::key inside", [&] { (void)k(v); }, [&] { (void)ck(v); });
  }
  {
    Gpt m = make_gpt();
    Array text = astype(arange(length), i32);
    auto f = jit(gpt);
    auto c = f.compile(m, text);
    row("GPT inference, vector<struct>", [&] { (void)f(m, text); }, [&] { (void)c(m, text); });
  }
  {
    double gravity = 9.81, h = 0.01;
    auto loss = [&](Array theta, Array length_of) {
      auto f = [&](const State& s) { return State{s[1], sin(s[0]) / length_of * -gravity}; };
      auto step = [&](State s, none_t) { return std::pair(rk4(f, s, h), none); };
      State last = scan(step, State{theta, zeros({})}, none, {.length = 100, .checkpoints = 10}).first;
      return last[0] * last[0] + last[1] * last[1];
    };
    auto g = jit(grad<0, 1>(loss));
    const Array t = ones({}) * 0.5, l = ones({}) * 1.5;
    auto c = g.compile(t, l);
    row("pendulum gradient, closure", [&] { (void)g(t, l); }, [&] { (void)c(t, l); });
  }
  {
    double h = 0.02;
    auto loss = [&](Array forces, Array start) {
      auto step = [&](State s, Array force) {
        State next = rk4([&](const State& y) { return cart_pole(y, force); }, s, h);
        Array cost = next[0] * next[0] + next[2] * next[2] * 10.0 + force * force * 0.001;
        return std::pair(next, cost);
      };
      return sum(scan(step, State{start, start, start, start}, forces).second);
    };
    auto g = jit(value_and_grad(loss));
    const Array forces = zeros({200}) + 0.1, start = ones({}) * 0.1;
    auto c = g.compile(forces, start);
    row("cart-pole gradient, closure", [&] { (void)g(forces, start); }, [&] { (void)c(forces, start); });
  }
  {
    double gravity = 9.81, h = 0.01;
    auto roll = [&](Array theta) {
      State s{theta, theta * 0.0};
      for (int i = 0; i < 200; ++i) s = rk4([&](const State& y) { return State{y[1], sin(y[0]) * -gravity}; }, s, h);
      return s[0];
    };
    auto f = jit(roll);
    const Array t = ones({}) * 0.5;
    auto c = f.compile(t);
    row("200 unrolled RK4 steps, closure", [&] { (void)f(t); }, [&] { (void)c(t); }, 50);
  }
}
