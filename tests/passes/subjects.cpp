// The programs, made by tracing.
#include "passes/subjects.h"

#include "passes/pipeline.h"

namespace anew::test {
namespace {

using Function = std::function<Array(Array)>;

Array mlp(Array w, bool checkpointed) {
  auto layer = [](Array w, Array x) { return tanh(matmul(x, w) + 0.5); };
  Array x = fill({3, 4}, 2);
  for (int i = 0; i < 3; ++i) x = checkpointed ? checkpoint(layer)(w, x) : layer(w, x);
  return sum(square(x));
}

Array rnn(Array w, bool checkpointed) {
  auto step = [w](Array h, Array x) {
    Array next = tanh(matmul(h, w) + x);
    return std::pair(next, sum(next));
  };
  auto [h, ys] = checkpointed ? scan(checkpoint(step), zeros({2, 4}), fill({5, 2, 4}, 1))
                              : scan(step, zeros({2, 4}), fill({5, 2, 4}, 1));
  return sum(h) + sum(ys);
}

Array branches(Array x) {
  Array a = cond(sum(x) > 0, [](Array v) { return sin(v) * 2; }, [](Array v) { return v - 0.0; }, x);
  return sum(a * cond(sum(x) < 0, [](Array v) { return exp(v); }, [](Array v) { return square(v) * 1; }, a));
}

Array loop(Array x) {
  using Carry = std::pair<Array, Array>;
  auto [y, n] = while_loop([](Carry c) { return c.second < 4; },
                           [](Carry c) { return Carry(sin(c.first) * 0.9 + c.first, c.second + 1); }, Carry(x, 0));
  return sum(y);
}

Array few_states(Array x) {
  auto step = [](Array c, none_t) { return std::pair(sin(c) + c * 0.5, none); };
  return sum(scan(step, x, none, {.length = 9, .checkpoints = 3}).first);
}

Array custom(Array x) {
  using One = std::tuple<Array>;
  auto f = custom_jvp([](Array v) { return tanh(v); },
                      [](One v, One t) {
                        Array y = tanh(std::get<0>(v));
                        return std::pair(y, std::get<0>(t) * (1 - square(y)));
                      });
  auto g = custom_vjp([](Array v) { return sin(v); }, [](Array v) { return std::pair(sin(v), v); },
                      [](Array v, Array ct) { return One(ct * cos(v)); });
  return sum(f(x) * g(x) + f(g(x)));
}

Array attention(Array w, bool checkpointed) {
  Array x = fill({2, 6, 8}, 3);
  auto block = [w](Array x) {
    Array q = reshape(matmul(x, w), {2, 6, 2, 4});
    Array y = nn::dot_product_attention(q, q, q, {.is_causal = true});
    return x + nn::gelu(nn::layer_norm(reshape(y, {2, 6, 8})));
  };
  for (int i = 0; i < 2; ++i) x = checkpointed ? checkpoint(block)(x) : block(x);
  return sum(nn::softmax(x) * x);
}

Array calls(Array x) {
  auto inner = jit([](Array v) { return nn::softmax(sin(v) * cos(v)); });
  auto outer = jit([inner](Array v) { return inner(v) + inner(v * 2); });
  return sum(outer(x) * transpose(transpose(inner(x))));
}

}  // namespace

std::vector<Subject> subjects() {
  std::vector<Subject> out;
  auto add = [&](const std::string& name, const Function& f, const Array& x) {
    out.push_back({name, make_program(f)(x), {x}});
    out.push_back({name + ", gradient", make_program(grad(f))(x), {x}});
    out.push_back({name + ", jvp", make_program([f](Array v) { return jvp(f, v, v * 0.5); })(x), {x}});
  };
  for (bool checkpointed : {false, true}) {
    std::string how = checkpointed ? ", checkpointed" : "";
    add("mlp" + how, [=](Array w) { return mlp(w, checkpointed); }, fill({4, 4}, 1));
    add("rnn" + how, [=](Array w) { return rnn(w, checkpointed); }, fill({4, 4}, 1));
    add("attention" + how, [=](Array w) { return attention(w, checkpointed); }, fill({8, 8}, 1));
  }
  add("branches", branches, fill({3}, 1));
  add("loop", loop, fill({3}, 1));
  add("few states", few_states, fill({3}, 1));
  add("calls", calls, fill({3, 4}, 1));
  Array x = fill({3}, 1);
  out.push_back({"custom rules", make_program(custom)(x), {x}});
  out.push_back({"custom rules, gradient", make_program(grad(custom))(x), {x}});
  out.push_back({"mapped mlp, gradient",
                 make_program(vmap(grad([](Array w) { return mlp(w, true); })))(fill({2, 4, 4}, 1)),
                 {fill({2, 4, 4}, 1)}});
  return out;
}

ir::Program expect_sound(const Subject& s, ir::Program (*pass)(const ir::Program&)) {
  SCOPED_TRACE(s.name);
  ir::Program p = pass(code(s));
  ir::verify(p);
  EXPECT_EQ(p.input_types(), code(s).input_types());
  EXPECT_EQ(p.output_types(), code(s).output_types());
  EXPECT_EQ(p.constants, code(s).constants);
  EXPECT_TRUE(same_bits(evaluate(p, operands(s)), evaluate(code(s), operands(s)))) << ir::print(p);
  return p;
}

}  // namespace anew::test
