// Graphs of gradients for the tests of rematerialization: chains, networks with skips, U-nets, transformers and random
// ones, forward and backward, with costs by a roofline of 50 GFLOP/s and 10 GB/s, in microseconds.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "plan/remat_plans.h"

namespace anew::test {

using plan::RematGraph;

struct TapeOperand {
  int value;
  double cost;         // of its cotangent
  std::int64_t bytes;  // 0: the cotangent passes through
  std::vector<int> reads = {};
};
struct TapeWeight {
  double cost = 0;
  std::int64_t bytes = 0;
  std::vector<int> reads = {};
};

// Records operations on activations (values of the graph; -1: an argument), then writes their backward pass behind
// them.
class Tape {
 public:
  RematGraph graph;
  using Operand = TapeOperand;
  using Weight = TapeWeight;
  // `self`: cotangents read what the operation makes.
  int op(double cost, std::int64_t bytes, std::vector<Operand> operands, Weight weight = {}, bool self = false) {
    const int made = graph.add_value(bytes);
    std::vector<int> reads;
    for (const Operand& o : operands)
      if (o.value >= 0) reads.push_back(o.value);
    graph.add_kernel({cost, reads, {made}});
    if (self)
      for (Operand& o : operands) o.reads.push_back(made);
    operations_.push_back({made, std::move(operands), std::move(weight)});
    return made;
  }
  static double flops(double n) { return n / 50e9 * 1e6; }
  static double moved(double bytes) { return bytes / 10e9 * 1e6; }

  int matmul(int x, std::int64_t m, std::int64_t k, std::int64_t n) {
    const double cost = flops(2.0 * static_cast<double>(m * k * n));
    return op(cost, m * n * 4, {{x, cost, m * k * 4}}, {cost, k * n * 4, {x}});
  }
  int products(int x, int y, std::int64_t b, std::int64_t m, std::int64_t k, std::int64_t n) {
    const double cost = flops(2.0 * static_cast<double>(b * m * k * n));
    return op(cost, b * m * n * 4, {{x, cost, b * m * k * 4, {y}}, {y, cost, b * k * n * 4, {x}}});
  }
  int elementwise(int x, std::int64_t elements, bool reads_input, double passes) {
    const auto bytes = elements * 4;
    Operand o{x, moved((passes + 1) * static_cast<double>(bytes)), bytes};
    if (reads_input) o.reads.push_back(x);
    return op(moved(passes * static_cast<double>(bytes)), bytes, {o}, {}, !reads_input);
  }
  int add(int x, int y, std::int64_t elements) {
    return op(moved(12.0 * static_cast<double>(elements)), elements * 4, {{x, 0, 0}, {y, 0, 0}});
  }
  int normalize(int x, std::int64_t elements) {
    const auto bytes = static_cast<double>(elements * 4);
    return op(moved(3 * bytes), elements * 4, {{x, moved(5 * bytes), elements * 4, {x}}});
  }
  int loss(int x, std::int64_t elements) {
    const auto bytes = static_cast<double>(elements);
    return op(moved(4 * bytes), 4, {{x, moved(8 * bytes), elements * 4, {x}}});
  }

  // The cotangents of all operations, from the last. `kept`: of the first activation too.
  RematGraph gradient(bool kept_first = false) {
    std::map<int, int> cotangent;
    const int last = operations_.back().made;
    cotangent[last] = add_kernel(0.01, graph.bytes(last), {last});
    for (auto o = operations_.rbegin(); o != operations_.rend(); ++o) {
      if (!cotangent.count(o->made)) continue;
      const int ct = cotangent[o->made];
      if (o->weight.bytes) add_kernel(o->weight.cost, o->weight.bytes, with(o->weight.reads, ct), true);
      for (const Operand& operand : o->operands) {
        if (operand.value < 0) continue;
        const int part = operand.bytes == 0 ? ct : add_kernel(operand.cost, operand.bytes, with(operand.reads, ct));
        auto [it, first] = cotangent.try_emplace(operand.value, part);
        const std::int64_t bytes = graph.bytes(operand.value);
        if (!first) it->second = add_kernel(moved(3.0 * static_cast<double>(bytes)), bytes, {it->second, part});
      }
    }
    if (kept_first) graph.values[static_cast<std::size_t>(cotangent[operations_.front().made])].kept = true;
    return compact();
  }

 private:
  struct Operation {
    int made;
    std::vector<Operand> operands;
    Weight weight;
  };
  static std::vector<int> with(std::vector<int> reads, int ct) {
    reads.push_back(ct);
    std::erase(reads, -1);
    return reads;
  }
  int add_kernel(double cost, std::int64_t bytes, std::vector<int> reads, bool kept = false) {
    const int made = graph.add_value(bytes, kept);
    graph.add_kernel({cost, std::move(reads), {made}});
    return made;
  }
  // Without what no result needs.
  RematGraph compact() const {
    RematGraph out;
    std::map<int, int> values;
    for (int k : plan::without_dead_runs(graph, plan::plain_sequence(graph))) {
      plan::RematKernel kernel = graph.kernel(k);
      for (int& v : kernel.reads) v = values.at(v);
      for (int& v : kernel.makes) v = values[v] = out.add_value(graph.bytes(v), graph.value(v).kept);
      out.add_kernel(std::move(kernel));
    }
    return out;
  }
  std::vector<Operation> operations_;
};

// One unit each; the cotangent of a step reads what the step read.
inline RematGraph chain_graph(int length) {
  RematGraph g;
  std::vector<int> states;
  for (int i = 0; i < length; ++i) {
    states.push_back(g.add_value(1));
    g.add_kernel({1, i ? std::vector{states[states.size() - 2]} : std::vector<int>{}, {states.back()}});
  }
  int ct = g.add_value(1, length == 1);
  g.add_kernel({0.01, {states.back()}, {ct}});
  for (int i = length - 1; i >= 1; --i) {
    const int next = g.add_value(1, i == 1);
    g.add_kernel({2, {ct, states[static_cast<std::size_t>(i) - 1]}, {next}});
    ct = next;
  }
  return g;
}

inline RematGraph uneven_chain_graph(int length, std::uint64_t seed) {
  Tape t;
  int x = -1;
  std::int64_t before = 0;
  for (int i = 0; i < length; ++i) {
    const double cost = 1 + 9 * plan::next_random(seed) * plan::next_random(seed);
    const auto bytes = 1 + static_cast<std::int64_t>(7 * plan::next_random(seed));
    x = t.op(cost, bytes, {{x, 2 * cost, before, x < 0 ? std::vector<int>{} : std::vector{x}}}, {}, true);
    before = bytes;
  }
  return t.gradient(true);
}

// Blocks x + f(g(x)) of uneven sizes.
inline RematGraph residual_graph(int blocks, std::uint64_t seed) {
  Tape t;
  auto some = [&](double most) { return 1 + static_cast<std::int64_t>(most * plan::next_random(seed)); };
  std::int64_t bytes = some(5);
  int x = t.op(static_cast<double>(some(5)), bytes, {});
  for (int b = 0; b < blocks; ++b) {
    const std::int64_t inner = some(7);
    const auto c1 = static_cast<double>(some(9)), c2 = static_cast<double>(some(5));
    const int h = t.op(c1, inner, {{x, c1, bytes, {x}}}, {c1, some(2), {x}});
    const int y = t.op(c2, bytes, {{h, c2, inner, {h}}});
    x = t.op(1, bytes, {{x, 0, 0}, {y, 0, 0}});
  }
  const int loss = t.op(1, 1, {{x, 1, bytes, {x}}});
  (void)loss;
  return t.gradient(true);
}

inline RematGraph small_unet_graph(int depth, std::uint64_t seed) {
  Tape t;
  auto some = [&](double most) { return 1 + static_cast<std::int64_t>(most * plan::next_random(seed)); };
  std::vector<std::pair<int, std::int64_t>> skips;
  std::int64_t bytes = 4 + some(4);
  int x = t.op(static_cast<double>(some(6)), bytes, {});
  for (int d = 0; d < depth; ++d) {
    skips.push_back({x, bytes});
    const auto cost = static_cast<double>(some(6));
    const std::int64_t smaller = std::max<std::int64_t>(1, bytes / 2);
    x = t.op(cost, smaller, {{x, cost, bytes, {x}}});
    bytes = smaller;
  }
  for (int d = 0; d < depth; ++d) {
    const auto [skip, larger] = skips.back();
    skips.pop_back();
    const auto cost = static_cast<double>(some(6));
    x = t.op(cost, larger, {{x, cost, bytes, {x}}, {skip, cost, larger, {skip}}});
    bytes = larger;
  }
  t.op(1, 1, {{x, 1, bytes, {x}}});
  return t.gradient(true);
}

// Every operation reads one or two of those before it.
inline RematGraph random_graph(int operations, std::uint64_t seed) {
  Tape t;
  auto some = [&](double most) { return 1 + static_cast<std::int64_t>(most * plan::next_random(seed)); };
  std::vector<std::pair<int, std::int64_t>> made;
  for (int i = 0; i < operations; ++i) {
    std::vector<Tape::Operand> operands;
    for (int o = 0; o < 2 && i > 0; ++o) {
      if (o == 1 && plan::next_random(seed) < 0.5) break;
      const auto back = o == 0 ? 1 : static_cast<std::size_t>(some(std::min(3, i) - 0.001));
      const auto [x, bytes] = made[made.size() - back];
      if (!operands.empty() && operands[0].value == x) break;
      operands.push_back({x, static_cast<double>(some(6)), bytes});
      if (plan::next_random(seed) < 0.7) operands.back().reads.push_back(x);
    }
    const std::int64_t bytes = some(6);
    const auto cost = static_cast<double>(some(8));
    made.push_back({t.op(cost, bytes, operands, {}, plan::next_random(seed) < 0.3), bytes});
  }
  return t.gradient(true);
}

inline RematGraph transformer_graph(int layers, std::int64_t batch = 8, std::int64_t length = 256,
                                    std::int64_t width = 512, std::int64_t heads = 8) {
  Tape t;
  const std::int64_t tokens = batch * length, state = tokens * width;
  int x = t.op(Tape::moved(8.0 * static_cast<double>(state)), state * 4, {});
  for (int l = 0; l < layers; ++l) {
    const int n1 = t.normalize(x, state);
    const int q = t.matmul(n1, tokens, width, width), k = t.matmul(n1, tokens, width, width),
              v = t.matmul(n1, tokens, width, width);
    const int scores = t.products(q, k, batch * heads, length, width / heads, length);
    const int soft = t.elementwise(scores, batch * heads * length * length, false, 4);
    const int mixed = t.products(soft, v, batch * heads, length, length, width / heads);
    const int middle = t.add(x, t.matmul(mixed, tokens, width, width), state);
    const int up = t.matmul(t.normalize(middle, state), tokens, width, 4 * width);
    const int active = t.elementwise(up, tokens * 4 * width, true, 4);
    x = t.add(middle, t.matmul(active, tokens, 4 * width, width), state);
  }
  t.loss(t.normalize(x, state), state);
  return t.gradient();
}

}  // namespace anew::test
