// Long loops: a wave equation, an LSTM, the Lorenz system; with all states kept, with checkpointed bodies, with loops
// in loops, and with a bounded number of kept states (`eqx_ckptN`, called so by the library that has it as well).
#include <cmath>

#include "inputs.h"
#include "workloads.h"

using namespace anew;

namespace workloads {
namespace {

struct Split {
  std::int64_t outer, inner;
};

Split split_of(const Sizes& s) { return {s["outer"], s["inner"]}; }

// The last carry after outer * inner steps, as the variant says. `slots`: of eqx_ckpt.
template <class C, class F>
C run_loop(const std::string& variant, F step, C start, Split n, int slots) {
  auto repeat = [](auto body, const C& c, ScanOptions options) { return scan(body, c, none, options).first; };
  auto plain = [step](C c, none_t) { return std::pair(step(c), none); };
  auto inner = [=](auto body) {
    return checkpoint([=](C c, none_t) { return std::pair(repeat(body, c, {.length = n.inner}), none); });
  };
  const ScanOptions all{.length = n.outer * n.inner};
  if (variant == "scan") return repeat(plain, start, all);
  if (variant == "scan_ckpt") return repeat(checkpoint(plain), start, all);
  if (variant == "scan_sqrt") return repeat(inner(plain), start, {.length = n.outer});
  if (variant == "scan_sqrt_body") return repeat(inner(checkpoint(plain)), start, {.length = n.outer});
  return repeat(plain, start, {.length = n.outer * n.inner, .checkpoints = slots});
}

Array laplacian(const Array& u) {
  Array p = pad(u, {{1, 1}, {1, 1}});
  const Slice all = slice(1, -1), before = slice(none, -2), after = slice(2, none);
  return p[{before, all}] + p[{after, all}] + p[{all, before}] + p[{all, after}] - 4 * u;
}

struct Wave {
  Array now, before;
};

Case wave(const std::string& variant, const Sizes& sizes) {
  const std::int64_t side = sizes["side"];
  const Split n = split_of(sizes);
  const int slots = static_cast<int>(sizes["slots"]);
  auto loss = [=](const Array& c, const Array& u0) {
    auto step = [c](Wave w) -> Wave { return {2 * w.now - w.before + square(0.5 * c) * laplacian(w.now), w.now}; };
    return sum(square(run_loop(variant, step, Wave{u0, u0}, n, slots).now[{side * 3 / 4, slice()}]));
  };
  const double scale = static_cast<double>(side) / 512;
  return case_of(value_and_grad(loss), fill(40, {side, side}, 0.2, 1),
                 bump(side, 256 * scale, 200 * scale, 400 * scale));
}

struct Weights {
  Array wx, wh, b;
};
struct State {
  Array h, c;
};

Case lstm(const std::string& variant, const Sizes& sizes) {
  const Split n = split_of(sizes);
  const std::int64_t steps = n.outer * n.inner, width = sizes["width"], batch = sizes["batch"];
  auto loss = [=](const Weights& p, const Array& xs) {
    auto cell = [p](State s, Array x) {
      auto gates = split(matmul(x, p.wx) + matmul(s.h, p.wh) + p.b, 4, -1);
      Array c = nn::sigmoid(gates[1]) * s.c + nn::sigmoid(gates[0]) * tanh(gates[2]);
      Array h = nn::sigmoid(gates[3]) * tanh(c);
      return std::pair(State{h, c}, h);
    };
    const State start{zeros({batch, width}), zeros({batch, width})};
    if (variant == "scan_sqrt") {
      auto chunk = checkpoint([cell](State s, Array x) { return scan(cell, s, x); });
      return mean(square(scan(chunk, start, reshape(xs, {n.outer, n.inner, batch, width})).second));
    }
    if (variant == "scan_ckpt") return mean(square(scan(checkpoint(cell), start, xs).second));
    return mean(square(scan(cell, start, xs).second));
  };
  const double r = std::sqrt(3.0 / static_cast<double>(width));
  return case_of(value_and_grad(loss),
                 Weights{fill(51, {width, 4 * width}, r), fill(52, {width, 4 * width}, r), fill(53, {4 * width}, 0.1)},
                 fill(50, {steps, batch, width}));
}

Array lorenz_rhs(const Array& s) {
  Array x = s[0], y = s[1], z = s[2];
  return stack({10 * (y - x), x * (28 - z) - y, x * y - (8.0 / 3.0) * z});
}

Case lorenz(const std::string& variant, const Sizes& sizes) {
  const Split n = split_of(sizes);
  const int slots = static_cast<int>(sizes["slots"]);
  const double dt = 1e-4;
  auto loss = [=](const Array& s0) {
    auto step = [dt](Array s) {
      Array k1 = lorenz_rhs(s);
      Array k2 = lorenz_rhs(s + (0.5 * dt) * k1);
      Array k3 = lorenz_rhs(s + (0.5 * dt) * k2);
      Array k4 = lorenz_rhs(s + dt * k3);
      return s + (dt / 6.0) * (k1 + 2 * k2 + 2 * k3 + k4);
    };
    return mean(square(run_loop(variant, step, s0, n, slots)));
  };
  const Array above = array({0.0, 0.0, 25.0}, f64).reshape({3, 1});
  return case_of(value_and_grad(loss), fill(120, {3, sizes["systems"]}, 5, 0, f64) + above);
}

}  // namespace

std::vector<Workload> loop_workloads() {
  return {{"wave2d",
           {"scan", "scan_ckpt", "scan_sqrt", "eqx_ckpt20", "scan_flush", "scan_sqrt_flush"},
           {{"side", 512}, {"outer", 20}, {"inner", 25}, {"slots", 20}},
           {{"side", 24}, {"outer", 4}, {"inner", 5}, {"slots", 4}},
           wave,
           5e-6,
           0.2819950,
           0.1274437},
          {"lstm",
           {"scan", "scan_ckpt", "scan_sqrt"},
           {{"outer", 20}, {"inner", 10}, {"width", 256}, {"batch", 32}},
           {{"outer", 4}, {"inner", 3}, {"width", 20}, {"batch", 6}},
           lstm,
           5e-6,
           0.01985328,
           0.002776837},
          {"lorenz",
           {"scan", "scan_ckpt", "scan_sqrt", "scan_sqrt_body", "eqx_ckpt400"},
           {{"outer", 400}, {"inner", 250}, {"slots", 400}, {"systems", 64}},
           {{"outer", 6}, {"inner", 10}, {"slots", 5}, {"systems", 64}},
           lorenz,
           3e-9,  // chaotic: in f80 the gradient is 110993.28095, and the peers' arithmetic rounds otherwise than ours
           195.3018264,
           110993.2807}};
}

}  // namespace workloads
