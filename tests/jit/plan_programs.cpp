// The programs. Sizes are small, but for a few that are split over threads or blocks.
#include "jit/plan_programs.h"

#include "support/support.h"

namespace anew::test {

using Leaves = std::span<const Array>;

FlatFunction gradient(const FlatFunction& f) {
  return [f](Leaves x) {
    Arrays all(x.begin(), x.end()), floats;
    for (const Array& a : all)
      if (is_float(a.dtype())) floats.push_back(a);
    auto of_floats = [&](Leaves y) {
      Arrays in = all;
      for (std::size_t i = 0, k = 0; i < in.size(); ++i)
        if (is_float(in[i].dtype())) in[i] = y[k++];
      return f(in);
    };
    return flat::grad(of_floats, floats);
  };
}

namespace {

FlatFunction one(const std::function<Array(Leaves)>& f) {
  return [f](Leaves x) { return Arrays{f(x)}; };
}

Array mlp(Leaves x) {
  Array y = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) y = tanh(matmul(y, x[i]));
  return mean(square(y));
}
Array checkpointed(Leaves x) {
  auto block = checkpoint([](Array y, Array w) { return y + sin(matmul(nn::gelu(matmul(y, w)), w.T())); });
  Array y = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) y = block(y, x[i]);
  return sum(square(y));
}
Array conv_net(Leaves x) {
  Array y = nn::relu(lax::conv_general_dilated(x[0], x[1], {1, 1}, "SAME"));
  y = nn::max_pool(moveaxis(y, 1, -1), {2, 2}, {2, 2});
  return sum(matmul(reshape(y, {y.shape()[0], -1}), x[2]));
}
Array rnn(Leaves x, const ScanOptions& options = {}) {
  auto cell = [&](Array h, Array u) {
    Array next = tanh(matmul(h, x[1]) + matmul(u, x[2]));
    return std::pair(next, sum(next));
  };
  auto [h, ys] = scan(cell, zeros({4, 8}), x[0], options);
  return sum(square(h)) + sum(ys);
}
Array power(Leaves x, std::optional<int> checkpoints) {
  auto body = [&](Array, Array y) { return sin(matmul(y, x[1])); };
  return sum(fori_loop(0, 7, body, x[0], {.checkpoints = checkpoints}));
}
Array newton(Leaves x) {
  auto more = [](const std::pair<Array, Array>& c) { return max(abs(c.second)) > 1e-3; };
  auto step = [&](const std::pair<Array, Array>& c) {
    Array y = c.first - (square(c.first) - x[0]) / (2 * c.first);
    return std::pair(y, y - c.first);
  };
  return while_loop(more, step, std::pair(x[0] + 1, x[0]), {.checkpoints = 3}).first;
}
Array choice(Leaves x) {
  auto yes = [](Array a, Array b) { return sin(matmul(a, b)); };
  auto no = [](Array a, Array b) { return exp(a) * cos(b) + 1; };
  return sum(cond(x[2] > 0, yes, no, x[0], x[1]));
}
Array switched(Leaves x) {
  auto body = [&](Array c, Array i) {
    Array y = switch_(
        i,
        branches([](Array c) { return sin(c); }, [](Array c) { return matmul(c, c) * 0.1; }, [](Array c) { return c; }),
        c);
    return std::pair(y, y[0]);
  };
  auto [c, ys] = scan(body, x[0], x[1]);
  return sum(c) + sum(ys);
}
Array attention(Leaves x) {
  Array scores = matmul(x[0], swapaxes(x[1], -1, -2)) / 4.0;
  return sum(square(matmul(nn::softmax(scores), x[2])));
}
Array matrices(Leaves x) {
  Array spd = matmul(x[0], x[0].T()) + 3.0 * eye(6);
  Array l = linalg::cholesky(spd);
  auto [q, r] = linalg::qr(x[0] + 2.0 * eye(6));
  return sum(linalg::solve(spd, x[1])) + sum(l) + sum(abs(q)) + sum(square(r)) + linalg::slogdet(spd).second;
}
Array spectrum(Leaves x) {
  auto [re, im] = fft::rfft(x[0]);
  return sum(square(fft::irfft(re * 0.5, im, 32)));
}
Arrays orders(Leaves x) {
  auto [best, where] = lax::top_k(x[0], 3);
  return {sort(x[0]), argsort(x[0], 0), best, where, median(x[0], 1)};
}
Array scattered(Leaves x) {
  Array y = x[0].at(x[1]).add(x[2]);
  return sum(square(take(y, x[1], 0))) + sum(y.at(x[1]).set(0.5));
}
Arrays views(Leaves x) {
  Array t = x[0].T(), flipped = x[0][{slice(none, none, -1), slice(1, 4)}];
  Array joined = concatenate({t[slice(4)], x[0]}, 1);
  return {t, flipped, joined, pad(x[0], {{1, 2}, {0, 1}}), broadcast_to(x[0][0], {3, 6}), sum(joined, 0), t + 1};
}
Arrays many_outputs(Leaves x) {
  Arrays out;
  Array y = x[0];
  for (int i = 0; i < 40; ++i) out.push_back(y = sin(y) + i);
  return out;
}
Arrays reductions(Leaves x) {
  return {sum(x[0]),       sum(x[0], 0),  sum(x[0], 1),      max(x[0]),
          argmax(x[0], 1), prod(x[0], 0), mean(x[0] * x[0]), any(x[0] > 3)};
}
Arrays running(Leaves x) {
  return {cumsum(x[0], 0), cumprod(x[0], 1), cummax(x[0], 1, true), linear_recurrence(x[0], x[0], 0),
          lax::reduce_window_sum(x[0], {2, 2}, {1, 1}, "VALID")};
}
Array draws(Leaves x) { return sum(random::normal(x[0], {50})) + sum(nn::dropout(x[0], 0.3, x[1])); }
Arrays updates(Leaves x) {
  auto body = [&](Array i, Array c) {
    Array row = lax::dynamic_index_in_dim(c, i, 0, false);
    return lax::dynamic_update_index_in_dim(c, sin(row) + 1, i + 1, 0);
  };
  return {fori_loop(0, 5, body, x[0])};
}
Arrays nested_loops(Leaves x) {
  auto inner = [](Array c, Array u) { return std::pair(c * u + 1, c); };
  auto outer = [&](Array c, Array row) {
    auto [last, all] = scan(inner, c, row, {.reverse = true});
    return std::pair(last, sum(all, 0));
  };
  auto [c, ys] = scan(outer, x[0], x[1]);
  return {c, ys};
}
Array with_rules(Leaves x) {
  auto safe = custom_vjp([](Array a) { return log(a); }, [](Array a) { return std::pair(log(a), a); },
                         [](Array a, Array ct) { return std::tuple(clip(ct / a, -1, 1)); });
  auto relu = custom_jvp([](Array a) { return maximum(a, 0.0); },
                         [](std::tuple<Array> a, std::tuple<Array> t) {
                           const auto& [x] = a;
                           const auto& [dx] = t;
                           return std::pair(maximum(x, 0.0), where(x > 0, dx, 0.1 * dx));
                         });
  return sum(safe(square(relu(x[0])) + 1));
}

Array called(Leaves x) {
  auto inner = jit([w = x[1]](Array y) { return tanh(matmul(y, w)); });
  return sum(inner(inner(x[0])));
}
Array while_in_scan(Leaves x) {
  auto body = [&](Array c, Array u) {
    Array y = fori_loop(0, 3, [&](Array i, Array y) { return sin(y) * u + i; }, c);
    return std::pair(y, sum(y));
  };
  auto [c, ys] = scan(body, x[0], x[1]);
  return sum(c * 2) + sum(ys);
}
Array prefixes(Leaves x) {
  auto join = [](std::pair<Array, Array> a, std::pair<Array, Array> b) {
    return std::pair(a.first * b.first, b.first * a.second + b.second);
  };
  return sum(square(associative_scan(join, std::pair(x[0], x[1])).second));
}
Array block(Leaves x) {
  Array y = nn::layer_norm(x[0], x[1], x[2]);
  Array h = nn::gelu(matmul(y, x[3]));
  return sum(nn::softmax_cross_entropy(x[0] + matmul(h, x[3].T()), array({1, 0, 3})));
}

std::vector<PlanProgram> make() {
  const Arrays weights{fill({16, 12}, 1), fill({12, 20}, 2), fill({20, 12}, 3), fill({12, 5}, 4)};
  const Arrays sequence{fill({9, 4, 6}, 1), fill({8, 8}, 2), fill({6, 8}, 3)};
  const Array m = fill({6, 5}, 3), ids = array({4, 0, 2, 0});
  Array captured = fill({5, 7}, 9);
  std::vector<PlanProgram> out;
  auto add = [&](std::string name, FlatFunction f, Arrays x) {
    out.push_back({std::move(name), std::move(f), std::move(x)});
  };

  add("chain", one([](Leaves x) { return sin(exp(x[0]) * x[1] + 2) / x[0]; }), {m, fill({6, 5}, 1)});
  add("scalars", one([](Leaves x) { return sin(x[0]) * x[1]; }), {array(0.5), array(2.0)});
  add("no_arguments", one([](Leaves) { return arange(5) * 2; }), {});
  add("empty", [](Leaves x) { return Arrays{sin(x[0]) + 1, sum(x[0], 0), matmul(x[0].T(), x[0])}; }, {zeros({0, 4})});
  add("passed_through", [](Leaves x) { return Arrays{x[0], x[0], x[1].T(), Array(3.0), x[1]}; }, {m, fill({2, 3}, 1)});
  add("constants", one([=](Leaves x) { return sin(matmul(x[0], captured)) + sum(captured); }), {m});
  add("many_outputs", many_outputs, {m});
  add("views", views, {fill({4, 6}, 1)});
  add("reductions", reductions, {fill({7, 9}, 2)});
  add("large_sum", [](Leaves x) { return Arrays{sum(sin(x[0])), sum(x[0] * 2, 0)}; }, {fill({300, 400}, 1)});
  add("mlp", one(mlp), weights);
  add(
      "mlp_gradient",
      [](Leaves x) {
        Arrays out = flat::grad(one(mlp), x);
        out.push_back(mlp(x));
        return out;
      },
      weights);
  add(
      "mlp_curvature",
      [](Leaves x) {
        auto g = gradient(one(mlp));
        return flat::jvp(g, x, Arrays(x.begin(), x.end())).second;
      },
      weights);
  add("large_product", one([](Leaves x) { return matmul(x[0], x[1]); }), {fill({150, 300}, 1), fill({300, 170}, 2)});
  add("batched_product", one([](Leaves x) { return matmul(x[0], x[1]); }),
      {fill({3, 5, 7}, 1, f64), fill({3, 7, 4}, 2, f64)});
  add("bf16", gradient(one([](Leaves x) { return astype(mlp(x), f32); })),
      {fill({8, 6}, 1, bf16), fill({6, 9}, 2, bf16), fill({9, 4}, 3, bf16)});
  add("checkpointed_blocks", gradient(one(checkpointed)),
      {fill({8, 6}, 0), fill({6, 10}, 1), fill({6, 10}, 2), fill({6, 10}, 3)});
  add("conv_net", gradient(one(conv_net)), {fill({2, 3, 8, 8}, 1), fill({4, 3, 3, 3}, 2), fill({64, 5}, 3)});
  add("attention", gradient(one(attention)), {fill({2, 2, 7, 4}, 1), fill({2, 2, 9, 4}, 2), fill({2, 2, 9, 5}, 3)});
  add("rnn", one([](Leaves x) { return rnn(x); }), sequence);
  add("rnn_gradient", gradient(one([](Leaves x) { return rnn(x); })), sequence);
  // A carry that is updated in place leaves an output without use; values here are large enough to be moved about.
  add("rnn_by_weights",
      [](Leaves x) {
        auto [y, g] = value_and_grad([xs = x[0], u = x[2]](Array w) { return rnn(Arrays{xs, w, u}); })(x[1]);
        return Arrays{y, g};
      },
      {fill({6, 4, 64}, 1), fill({8, 8}, 2), fill({64, 8}, 3)});
  add("wide_rnn",
      [](Leaves x) {
        auto cell = [](Array w, Array xs) {
          auto step = [&](Array h, Array u) { return std::pair(tanh(matmul(h, w) + u), sin(h)); };
          auto [h, ys] = scan(step, zeros({16, 32}), xs);
          return sum(h) + sum(square(ys));
        };
        auto [y, g] = value_and_grad(cell)(x[0], x[1]);
        return Arrays{y, g};
      },
      {fill({32, 32}, 1), fill({7, 16, 32}, 2)});
  add("rnn_few_states", gradient(one([](Leaves x) { return rnn(x, {.checkpoints = 3}); })), sequence);
  add("sweep_gradient", gradient(one([](Leaves x) { return power(x, 3); })), {fill({4, 5}, 1), fill({5, 5}, 2)});
  add("newton", one(newton), {array({2.0, 9.0, 30.0})});
  add("newton_gradient", gradient(one([](Leaves x) { return sum(newton(x)); })), {array({2.0, 9.0, 30.0})});
  add("branch_taken", gradient(one(choice)), {fill({5, 5}, 1), fill({5, 5}, 2), array(1.0)});
  add("branch_not_taken", gradient(one(choice)), {fill({5, 5}, 1), fill({5, 5}, 2), array(-1.0)});
  add("switch_in_scan", gradient(one(switched)), {fill({3, 3}, 1), array({0, 2, 1, 1, 0})});
  add("nested_loops", nested_loops, {fill({4}, 1), fill({3, 6, 4}, 2)});
  add("updates_in_a_loop", updates, {fill({7, 3}, 1)});
  add("linear_algebra", gradient(one(matrices)), {fill({6, 6}, 1), fill({6, 2}, 2)});
  add("spectrum", gradient(one(spectrum)), {fill({3, 32}, 1)});
  add("orders", orders, {fill({6, 5}, 2)});
  add("scatter_gradient", gradient(one(scattered)), {fill({6, 3}, 1), ids, fill({4, 3}, 2)});
  add("running", running, {fill({6, 5}, 2)});
  add("draws", one(draws), {random::key(3), fill({10}, 1)});
  add("per_example_gradients",
      [](Leaves x) { return Arrays{vmap(grad([w = x[1]](Array v) { return sum(tanh(matmul(w, v))); }))(x[0])}; },
      {fill({5, 4}, 1), fill({3, 4}, 2)});
  add("custom_rules", gradient(one(with_rules)), {fill({8}, 1)});
  add("integers", one([](Leaves x) { return (x[0] * 3 + x[0] % 4) ^ (x[0] & 5); }), {array({1, -7, 12, 0})});
  // Large enough to be tiled, lent and shared out to threads.
  add("wide_mlp", gradient(one(mlp)), {fill({192, 128}, 1), fill({128, 160}, 2), fill({160, 64}, 3)});
  add("wide_blocks", gradient(one(checkpointed)),
      {fill({128, 64}, 0), fill({64, 96}, 1), fill({64, 96}, 2), fill({64, 96}, 3), fill({64, 96}, 4)});
  add("wide_block",
      gradient(one([](Leaves x) { return sum(nn::softmax(nn::gelu(nn::layer_norm(x[0], x[1], x[2]))) * x[0]); })),
      {fill({256, 300}, 1), fill({300}, 2), fill({300}, 3)});
  add("wide_attention", gradient(one(attention)),
      {fill({2, 4, 64, 16}, 1), fill({2, 4, 80, 16}, 2), fill({2, 4, 80, 16}, 3)});
  add("wide_conv_net", gradient(one(conv_net)), {fill({4, 3, 32, 32}, 1), fill({8, 3, 3, 3}, 2), fill({2048, 10}, 3)});
  add("wide_rows",
      [](Leaves x) {
        Array y = exp(x[0] - max(x[0], 1, true));
        Array p = y / sum(y, 1, true);
        return Arrays{p, sum(log(p) * p, 1), sum(p, 0), y};
      },
      {fill({400, 257}, 1)});
  add("wide_doubles", [](Leaves x) { return Arrays{nn::standardize(x[0]), cumsum(x[0], 1), sort(x[0])}; },
      {fill({200, 150}, 1, f64)});
  add("called", gradient(one(called)), {fill({4, 5}, 1), fill({5, 5}, 2)});
  add("while_in_scan", gradient(one(while_in_scan)), {fill({6}, 1), fill({4}, 2)});
  add("prefixes", gradient(one(prefixes)), {fill({11, 2}, 1), fill({11, 2}, 2)});
  add("block", gradient(one(block)), {fill({3, 8}, 1), fill({8}, 2), fill({8}, 3), fill({8, 16}, 4)});
  return out;
}

}  // namespace

const std::vector<PlanProgram>& plan_programs() {
  static const std::vector<PlanProgram> programs = make();
  return programs;
}

}  // namespace anew::test
