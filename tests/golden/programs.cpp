// The programs, as a user of the library writes them: ordinary functions of arrays.
#include "golden/programs.h"

#include <anew/anew.h>

#include <cmath>

namespace anew::golden {
namespace {

using namespace checkpoint_policies;

thread_local bool checkpoints_act = true;

// checkpoint(f, policy), or f itself within WithoutCheckpoints.
template <class F>
auto recompute(F f, Policy policy = nothing_saveable) {
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the policy frees what it holds
  return [f, wrapped = checkpoint(f, std::move(policy))](const auto&... x) {
    return checkpoints_act ? wrapped(x...) : f(x...);
  };
}

Array mean_square(const Array& x) { return mean(power(x, 2)); }
Array sum_square(const Array& x) { return sum(power(x, 2)); }

// ---- stacks of layers under policies
Array deep_stack(const Array& weights, const Array& x) {
  auto layer = recompute([](const Array& y, const Array& w) { return std::pair(nn::relu(matmul(y, w)), none); });
  auto [y, ys] = scan(layer, x, weights);
  return sum_square(y);
}
Array grad_checkpointed_stack(const Array& weights, const Array& x) { return deep_stack(weights, x); }
Array seed0_mini_example(const Array& weights, const Array& x) { return deep_stack(weights, x); }

Array checkpointed_layer_loss(const Array& w1, const Array& w2, const Array& w3, const Array& x) {
  Array y1 = nn::relu(matmul(x, w1));
  Array y2 = nn::relu(recompute([](const Array& y, const Array& w) { return matmul(y, w); })(y1, w2));
  return sum_square(matmul(y2, w3));
}

Array checkpoint_dot_policy(const Array& w1, const Array& w2, const Array& x) {
  auto f = [](const Array& w1, const Array& w2, const Array& x) {
    return sum_square(matmul(nn::relu(matmul(x, w1)), w2));
  };
  return recompute(f, dots_with_no_batch_dims_saveable)(w1, w2, x);
}

Array seed2_mini_example(const Array& w, const Array& x) {
  auto f = [](const Array& w, const Array& x) { return sum(nn::relu(matmul(x, w))); };
  return recompute(f, dots_with_no_batch_dims_saveable)(w, x);
}

Array tutorial_g(const Array& w, const Array& x) { return sin(dot(w, x)); }

Array tutorial_f_ones(const Array& w1, const Array& w2, const Array& w3, const Array& x) {
  return tutorial_g(w3, tutorial_g(w2, tutorial_g(w1, x)));
}

Array tutorial_f2(const Array& w1, const Array& w2, const Array& w3, const Array& x) {
  auto g = recompute(tutorial_g);
  return g(w3, g(w2, g(w1, x)));
}

Array tutorial_f4_names(const Array& w1, const Array& w2, const Array& w3, const Array& x) {
  auto f4 = [](const Array& w1, const Array& w2, const Array& w3, const Array& x) {
    Array a = checkpoint_name(tutorial_g(w1, x), "a");
    Array b = checkpoint_name(tutorial_g(w2, a), "b");
    return checkpoint_name(tutorial_g(w3, b), "c");
  };
  return recompute(f4, save_only_these_names("a"))(w1, w2, w3, x);
}

Array tutorial_loss(const Array& w1, const Array& w2, const Array& w3, const Array& x, const Array& y) {
  auto loss = [](const Array& w1, const Array& w2, const Array& w3, const Array& x, const Array& y) {
    return sum_square(matmul(w3, sin(matmul(w2, sin(matmul(w1, x))))) - y);
  };
  return recompute(loss, dots_with_no_batch_dims_saveable)(w1, w2, w3, x, y);
}

using Function = std::function<Array(const Array&)>;

Function recursive_checkpoint(const std::vector<Function>& funs) {
  if (funs.size() == 1) return funs[0];
  if (funs.size() == 2) return [=](const Array& x) { return funs[0](funs[1](x)); };
  auto middle = funs.begin() + static_cast<std::ptrdiff_t>(funs.size() / 2);
  Function f1 = recursive_checkpoint({funs.begin(), middle}), f2 = recursive_checkpoint({middle, funs.end()});
  return [=](const Array& x) { return f1(recompute(f2)(x)); };
}
Array tutorial_recursive_checkpoint_8(const Array& x) {
  return recursive_checkpoint(std::vector<Function>(8, [](const Array& a) { return sin(a); }))(x);
}

Array tutorial_net_scan(const Array& all_weights, const Array& all_biases, const Array& x) {
  using Layer = std::pair<Array, Array>;
  auto layer = recompute(
      [](const Array& x, const Layer& wb) { return std::pair(maximum(dot(x, wb.first) + wb.second, 0.0), none); },
      dots_with_no_batch_dims_saveable);
  return scan(layer, x, Layer(all_weights, all_biases)).first;
}

// ---- networks
Array mlp_tanh_mse(const Array& w1, const Array& b1, const Array& w2, const Array& b2, const Array& x, const Array& y) {
  return mean_square(matmul(tanh(matmul(x, w1) + b1), w2) + b2 - y);
}

Array mlp_gelu_checkpointed(const Array& w1, const Array& w2, const Array& w3, const Array& x) {
  Array h = nn::gelu(matmul(x, w1));
  h = recompute([](const Array& h, const Array& w) { return nn::gelu(matmul(h, w)) + h; })(h, w2);
  return mean_square(matmul(h, w3));
}

Array attention_causal(const Array& x, const Array& wq, const Array& wk, const Array& wv, const Array& wo) {
  const std::int64_t b = x.shape()[0], t = x.shape()[1], d = x.shape()[2];
  auto heads = [&](const Array& w) { return reshape(matmul(x, w), {b, t, 2, 2}); };
  Array q = heads(wq), k = heads(wk), v = heads(wv);
  Array s = einsum("bqhd,bkhd->bhqk", q, k) / std::sqrt(2.0);
  s = where(tril(ones({t, t}, bool_)), s, -1e30);
  Array o = reshape(einsum("bhqk,bkhd->bqhd", nn::softmax(s, -1), v), {b, t, d});
  return sum_square(matmul(o, wo));
}

Array layernorm_residual(const Array& x, const Array& g, const Array& b, const Array& w) {
  Array m = mean(x, -1, true);
  Array v = mean(power(x - m, 2), -1, true);
  Array n = (x - m) / sqrt(v + 1e-5) * g + b;
  return mean(power(x + nn::relu(matmul(n, w)), 3));
}

Array logistic_regression(const Array& w, const Array& x, const Array& y) {
  Array z = matmul(x, w);
  return mean(nn::softplus(z) - y * z) + 0.05 * sum_square(w);
}

// ---- loops
Array rnn_scan(const Array& wh, const Array& wx, const Array& b, const Array& xs, const Array& h0) {
  auto step = [&](const Array& h, const Array& x) {
    Array next = tanh(matmul(h, wh) + matmul(x, wx) + b);
    return std::pair(next, sum_square(next));
  };
  return sum(scan(step, h0, xs).second);
}

Array lstm_scan_checkpointed(const Array& w, const Array& xs, const Array& s0) {
  using State = std::pair<Array, Array>;
  auto step = recompute([&](const State& s, const Array& x) {
    auto gates = split(matmul(concatenate({x, s.first}), w), 4);
    Array c = nn::sigmoid(gates[1]) * s.second + nn::sigmoid(gates[0]) * tanh(gates[2]);
    return std::pair(State(nn::sigmoid(gates[3]) * tanh(c), c), none);
  });
  auto [last, ys] = scan(step, State(s0[0], s0[1]), xs);
  return sum(last.first) + sum_square(last.second);
}

Array leapfrog_pendulum(const Array& q0, const Array& p0, const Array& g) {
  using State = std::pair<Array, Array>;
  auto step = [&](const State& s, none_t) {
    Array p = s.second - 0.025 * g * sin(s.first);
    Array q = s.first + 0.05 * p;
    p = p - 0.025 * g * sin(q);
    return std::pair(State(q, p), none);
  };
  auto [last, ys] = scan(step, State(q0, p0), none, {.length = 20});
  return last.first + power(last.second, 2);
}

Array heat_1d(const Array& u0, const Array& kappa, const Array& target) {
  auto step = recompute(
      [&](const Array& u, none_t) { return std::pair(u + kappa * (roll(u, 1) - 2 * u + roll(u, -1)), none); });
  return sum_square(scan(step, u0, none, {.length = 10}).first - target);
}

Array wave_2d(const Array& u0, const Array& c) {
  using State = std::pair<Array, Array>;
  auto laplacian = [](const Array& u) {
    return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u;
  };
  auto step = [&](const State& s, none_t) {
    const auto& [previous, u] = s;
    return std::pair(State(u, 2 * u - previous + power(c, 2) * laplacian(u)), none);
  };
  return sum_square(scan(step, State(u0, u0), none, {.length = 6}).first.second);
}

Array scan_reverse_horner(const Array& x, const Array& a) {
  auto step = [&](const Array& c, const Array& ai) { return std::pair(c * x + ai, none); };
  return scan(step, zeros_like(x), a, {.reverse = true}).first;
}

Array fori_loop_sin(const Array& x) {
  auto step = [](const Array& x, const Array& i) { return std::pair(sin(x) + 0.1 * i * x, none); };
  return scan(step, x, arange(6, x.dtype())).first;
}

// ---- derivatives of all kinds
Array jacobian_of_layer(const Array& x, const Array& w) { return sin(matmul(w, x)) * x[0]; }

Array jacobian_matrix_to_matrix(const Array& x) { return matmul(x, x.T()); }

Array rosenbrock(const Array& x) {
  Array head = x[slice(none, -1)], tail = x[slice(1, none)];
  return sum(100.0 * power(tail - power(head, 2), 2) + power(1 - head, 2));
}

Array third_derivative(const Array& x) {
  auto f = [](const Array& x) { return exp(sin(x)) * power(x, 2); };
  return grad(grad(grad(f)))(x);
}

Array nested_checkpoint(const Array& x, const Array& w) {
  auto inner = recompute([&](const Array& a) { return sin(matmul(w, a)); });
  auto outer = recompute([&](const Array& a) { return power(inner(inner(a)), 2); });
  return sum(outer(x));
}

Array stop_gradient_mix(const Array& x) { return sum(x * stop_gradient(sin(x)) + stop_gradient(x) * power(x, 2)); }

// ---- reading at computed places
Array softmax_cross_entropy(const Array& w, const Array& b, const Array& x, const Array& labels) {
  Array logits = matmul(x, w) + b;
  Array picked = take_along_axis(logits, labels[{slice(), newaxis}], 1)[{slice(), 0}];
  return mean(nn::logsumexp(logits, 1) - picked);
}

Array embedding_tied(const Array& emb, const Array& w, const Array& tokens) {
  Array logits = matmul(emb[tokens], w), next = roll(tokens, -1);
  return mean(nn::logsumexp(logits, -1) - take_along_axis(logits, next[{slice(), newaxis}], 1)[{slice(), 0}]);
}

Array convnet_small(const Array& x, const Array& k1, const Array& w) {
  Array h = conv_general_dilated(x, k1, {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}});
  h = lax::reduce_window_max(nn::relu(h), {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  return sum_square(matmul(mean(h, {1, 2}), w));
}

Array linear_solve_loss(const Array& a, const Array& b) {
  Array m = matmul(a, a.T()) + eye(3, a.dtype());
  return dot(b, linalg::solve(m, b)) + linalg::slogdet(m).second;
}

// ---- branches, loops, rules, examples
Array while_newton_sqrt(const Array& a) {
  auto far = [&](const std::pair<Array, Array>& s) { return (abs(power(s.first, 2) - a) > 1e-12) & (s.second < 20); };
  auto improve = [&](const std::pair<Array, Array>& s) {
    return std::pair(s.first - (power(s.first, 2) - a) / (2 * s.first), s.second + 1);
  };
  return while_loop(far, improve, std::pair(ones_like(a), 0)).first;
}
Array branch(const Array& x, const Array& y) {
  return cond(x > 0, [&] { return sin(x) * y; }, [&] { return power(x, 2) + y; });
}
Array cond_true(const Array& x, const Array& y) { return branch(x, y); }
Array cond_false(const Array& x, const Array& y) { return branch(x, y); }
Array switch_in_scan(const Array& x) {
  auto step = [](const Array& c, const std::pair<Array, Array>& at) {
    const auto& [i, xi] = at;
    auto chosen = branches([&](const Array& c) { return sin(c + xi); },
                           [&](const Array& c) { return power(c, 2) - xi; }, [&](const Array& c) { return c * xi; });
    return std::pair(switch_(i % 3, chosen, c), none);
  };
  return scan(step, array(0.7, x.dtype()), std::pair(arange(4), x)).first;
}
Array cond_vmapped(const Array& x) {
  auto one = [](Array v) {
    return cond(v > 0, [](Array v) { return power(v, 2); }, [](Array v) { return power(v, 3); }, v);
  };
  return vmap(one)(x);
}
Array per_example_gradients(const Array& w, const Array& xs, const Array& ys) {
  auto loss = [](Array w, Array x, Array y) { return sum_square(tanh(matmul(x, w)) - y); };
  return vmap(grad(loss), {.in_axes = {no_axis, 0, 0}})(w, xs, ys);
}
Array custom_vjp_clip_gradient(const Array& x) {
  auto identity = custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, none); },
                             [](none_t, Array ct) { return std::tuple(clip(ct, -0.5, 0.5)); });
  return sum(3 * sin(identity(x)) * x);
}
Array custom_jvp_log1pexp(const Array& x) {
  auto value = [](Array x) { return log1p(exp(x)); };
  auto f = custom_jvp(value, [value](auto primals, auto tangents) {
    auto [x] = primals;
    auto [t] = tangents;
    return std::pair(value(x), (1 - 1 / (1 + exp(x))) * t);
  });
  return sum(f(x));
}

template <class... A, std::size_t... I>
FlatFunction flat_of(Array (*f)(A...), std::index_sequence<I...>) {
  return [f](std::span<const Array> x) {
    if (x.size() != sizeof...(A))
      throw std::runtime_error("programs: another number of inputs than the function takes");
    return Arrays{f(x[I]...)};
  };
}
template <class... A>
FlatFunction flat_of(Array (*f)(A...)) {
  return flat_of(f, std::index_sequence_for<A...>{});
}

}  // namespace

WithoutCheckpoints::WithoutCheckpoints() { checkpoints_act = false; }
WithoutCheckpoints::~WithoutCheckpoints() { checkpoints_act = true; }

const std::map<std::string, FlatFunction>& programs() {
#define PROGRAM(id) {#id, flat_of(id)}
  static const std::map<std::string, FlatFunction> table{
      PROGRAM(grad_checkpointed_stack),
      PROGRAM(seed0_mini_example),
      PROGRAM(checkpointed_layer_loss),
      PROGRAM(checkpoint_dot_policy),
      PROGRAM(seed2_mini_example),
      PROGRAM(tutorial_f_ones),
      PROGRAM(tutorial_f2),
      PROGRAM(tutorial_f4_names),
      PROGRAM(tutorial_loss),
      PROGRAM(tutorial_recursive_checkpoint_8),
      PROGRAM(tutorial_net_scan),
      PROGRAM(mlp_tanh_mse),
      PROGRAM(mlp_gelu_checkpointed),
      PROGRAM(attention_causal),
      PROGRAM(layernorm_residual),
      PROGRAM(logistic_regression),
      PROGRAM(rnn_scan),
      PROGRAM(lstm_scan_checkpointed),
      PROGRAM(leapfrog_pendulum),
      PROGRAM(heat_1d),
      PROGRAM(wave_2d),
      PROGRAM(scan_reverse_horner),
      PROGRAM(fori_loop_sin),
      PROGRAM(jacobian_of_layer),
      PROGRAM(jacobian_matrix_to_matrix),
      PROGRAM(rosenbrock),
      PROGRAM(third_derivative),
      PROGRAM(nested_checkpoint),
      PROGRAM(stop_gradient_mix),
      PROGRAM(softmax_cross_entropy),
      PROGRAM(embedding_tied),
      PROGRAM(convnet_small),
      PROGRAM(linear_solve_loss),
      PROGRAM(while_newton_sqrt),
      PROGRAM(cond_true),
      PROGRAM(cond_false),
      PROGRAM(switch_in_scan),
      PROGRAM(cond_vmapped),
      PROGRAM(per_example_gradients),
      PROGRAM(custom_vjp_clip_gradient),
      PROGRAM(custom_jvp_log1pexp),
  };
#undef PROGRAM
  return table;
}

}  // namespace anew::golden
