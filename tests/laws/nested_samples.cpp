// Samples of the rows that hold Programs: user functions are traced, and the equations that come out are the samples.
// The functions cover scalars, empty arrays, several outputs of several types, products, branches by value, loops,
// rules of the user's, and these rows inside each other.
#include <anew/nn.h>

#include "laws/cells.h"

namespace anew::test {
namespace {

using In = std::span<const Array>;

std::vector<SmallProgram> functions(DType d) {
  ir::Type scalar{{}, d}, vector{{3}, d}, matrix{{3, 3}, d}, empty{{0, 2}, d};
  Policy everything = checkpoint_policies::everything_saveable;
  return {
      {[](In x) { return Arrays{sin(x[0]) * x[1] + x[0]}; }, {scalar, scalar}},
      {[](In x) {
         Array h = tanh(dot(x[0], x[1]));
         return Arrays{h * sin(h), h > 0, sum(h)};
       },
       {matrix, vector}},
      {[](In x) { return Arrays{nn::relu(dot(x[0], nn::relu(dot(x[0], x[1])))), exp(x[1])}; }, {matrix, vector}},
      {[](In x) { return Arrays{sum(exp(x[0])), x[0] * 2}; }, {empty}},
      {[](In x) { return Arrays{where(x[1] > 0, sin(x[0]), cos(x[0]))}; }, {vector, vector}},
      {[](In x) { return Arrays{astype(x[1], x[0].dtype()) * sin(x[0])}; }, {vector, {{3}, i32}}},
      {[=](In x) {
         auto inner = [](In y) { return Arrays{sin(sin(y[0]))}; };
         Array a = flat::checkpoint(inner, x, checkpoint_policies::nothing_saveable)[0];
         Array b = flat::checkpoint(inner, Arrays{a}, everything)[0];
         return Arrays{flat::jit([](In y) { return Arrays{cos(y[0]) * y[1]}; }, Arrays{b, x[0]}, {})[0]};
       },
       {vector}},
      {[](In x) {
         auto body = [&](In c, In e) { return flat::ScanResult{{sin(c[0]) * e[0] + x[0]}, {c[0] * c[0]}}; };
         flat::ScanResult r = flat::scan(body, {x[0]}, {x[1]});
         return Arrays{r.carry[0], r.ys[0]};
       },
       {vector, matrix}},
  };
}

// What a trace of `call` hands to the row: parameters and types of each of its equations.
void collect(std::vector<ir::Sample>& out, const ir::Primitive& row, const FlatFunction& call, const Types& types) {
  Staged s = stage(call, types, "sample", Location::current());
  for (const ir::Eqn& e : s.program.eqns) {
    if (e.primitive != &row) continue;
    ir::Sample sample{e.params, {}};
    for (const ir::Atom& a : e.inputs) sample.inputs.push_back({s.program.type(a)});
    out.push_back(std::move(sample));
  }
}

// Loops of several shapes: no carry, no xs, constants, a carry that is also a y, reversed, empty, nested, with a
// checkpoint.
std::vector<SmallProgram> loops(DType d) {
  ir::Type scalar{{}, d}, vector{{3}, d}, matrix{{3, 3}, d}, none_left{{0, 3}, d};
  auto flatten = [](flat::ScanResult r) {
    r.carry.insert(r.carry.end(), r.ys.begin(), r.ys.end());
    return r.carry;
  };
  auto step = [](In c, In x) { return flat::ScanResult{{sin(c[0]) * x[0]}, {c[0] + x[0]}}; };
  return {
      {[=](In x) { return flatten(flat::scan(step, {x[0]}, {x[1]})); }, {scalar, vector}},
      {[=](In x) { return flatten(flat::scan(step, {x[0]}, {x[1]})); }, {vector, none_left}},
      {[=](In x) { return flatten(flat::scan(step, {x[0]}, {x[1]}, {.reverse = true})); }, {vector, matrix}},
      {[=](In x) {
         return flatten(
             flat::scan([](In c, In) { return flat::ScanResult{{cos(c[0])}, {}}; }, {x[0]}, {}, {.length = 4}));
       },
       {scalar}},
      {[=](In x) {
         return flatten(
             flat::scan([](In, In e) { return flat::ScanResult{{}, {exp(e[0]) * e[1]}}; }, {}, {x[0], x[1]}));
       },
       {matrix, matrix}},
      {[=](In x) {
         auto body = [&](In c, In) {
           Array h = tanh(dot(x[0], c[0]));
           return flat::ScanResult{{h, c[0]}, {h}};
         };
         return flatten(flat::scan(body, {x[1], x[2]}, {}, {.length = 3}));
       },
       {matrix, vector, vector}},
      {[=](In x) {
         auto body = [&](In c, In e) {
           auto inner = [&](In y) { return Arrays{sin(dot(x[0], y[0]) + y[1])}; };
           return flat::ScanResult{{flat::checkpoint(inner, Arrays{c[0], e[0]}, checkpoint_policies::dots_saveable)[0]},
                                   {}};
         };
         return flatten(flat::scan(body, {x[1]}, {x[2]}));
       },
       {matrix, vector, matrix}},
      {[=](In x) {
         auto outer = [=](In c, In e) {
           flat::ScanResult r = flat::scan(step, {c[0]}, {e[0]});
           return flat::ScanResult{{r.carry[0]}, {sum(r.ys[0])}};
         };
         return flatten(flat::scan(outer, {x[0]}, {x[1]}));
       },
       {scalar, matrix}},
      {[=](In x) {
         auto count = [](In c, In e) { return flat::ScanResult{{c[0] + 1, c[1] * e[0]}, {c[0]}}; };
         return flatten(flat::scan(count, {x[0], x[1]}, {x[2]}));
       },
       {{{}, i32}, scalar, vector}},
  };
}

// Branches: on operands and on captured values, several results, an index out of range, in a loop and in a checkpoint.
std::vector<SmallProgram> branches(DType d) {
  ir::Type scalar{{}, d}, vector{{3}, d}, matrix{{3, 3}, d}, empty{{0, 2}, d};
  auto sine = [](In x) { return Arrays{sin(x[0]) * x[1]}; };
  auto other = [](In x) { return Arrays{x[0] * x[0] - x[1]}; };
  return {
      {[=](In x) { return flat::cond(x[0] > 0, sine, other, Arrays{x[1], x[0] * x[1]}); }, {scalar, vector}},
      {[](In x) {
         auto first = [&](In y) { return Arrays{tanh(dot(x[1], y[0])), y[0] > 0}; };
         auto second = [&](In y) { return Arrays{y[0] * x[1][0], y[0] < 1}; };
         auto third = [](In y) { return Arrays{y[0], y[0] > 2}; };
         return flat::switch_(x[0], {first, second, third}, Arrays{x[2]});
       },
       {{{}, i32}, matrix, vector}},
      {[=](In x) { return flat::cond(x[0] > 0, sine, other, Arrays{x[1], x[1]}); }, {scalar, empty}},
      {[=](In x) {
         auto body = [&](In c, In e) {
           Array next = flat::cond(sum(e[0]) > 0, sine, other, Arrays{c[0], e[0]})[0];
           return flat::ScanResult{{next}, {c[0]}};
         };
         flat::ScanResult r = flat::scan(body, {x[0]}, {x[1]});
         return Arrays{r.carry[0], r.ys[0]};
       },
       {vector, matrix}},
      {[=](In x) {
         auto kept = [&](In y) { return flat::checkpoint(sine, y, checkpoint_policies::nothing_saveable); };
         auto called = [&](In y) { return flat::jit(other, y, {}); };
         return flat::cond(sum(x[0]) > 0, kept, called, x);
       },
       {vector, vector}},
  };
}

// Loops that count, that look at their values, with a bound that is an operand, with few states kept, and empty.
std::vector<SmallProgram> whiles(DType d) {
  ir::Type vector{{3}, d}, matrix{{3, 3}, d}, empty{{0, 2}, d};
  auto counted = [](In x) {
    auto body = [&](In c) { return Arrays{c[0] + 1, sin(c[1]) * x[1]}; };
    return flat::while_loop([](In c) { return c[0] < 4; }, body, {0, x[0]}, {2});
  };
  return {
      {counted, {vector, vector}},
      {counted, {empty, empty}},
      {[](In x) {
         auto body = [&](In c) { return Arrays{c[0] + 1, tanh(dot(x[1], c[1])) + c[1] * 1.5}; };
         return flat::while_loop([](In c) { return (c[0] < 5) & (sum(abs(c[1])) < 4); }, body, {0, x[0]}, {3});
       },
       {vector, matrix}},
      {[](In x) { return flat::fori_loop(0, x[0] + 3, [&](In c) { return Arrays{cos(c[1]) * x[2]}; }, {x[1]}, {2}); },
       {{{}, i32}, vector, vector}},
      {[](In x) {
         auto body = [&](In c, In e) { return flat::ScanResult{{sin(c[0]) * e[0] + x[0]}, {c[0] * c[0]}}; };
         flat::ScanResult r = flat::scan(body, {x[0]}, {x[1]}, {.checkpoints = 2});
         return Arrays{r.carry[0], r.ys[0]};
       },
       {vector, matrix}},
      {[](In x) {
         auto body = [&](In c, In) { return flat::ScanResult{{sin(c[0]) * x[1] + x[0]}, {c[0] * c[0]}}; };
         flat::ScanResult r = flat::scan(body, {x[0]}, {}, {.length = 40, .memory = 2000});
         return Arrays{r.carry[0], r.ys[0]};
       },
       {vector, vector}},
      {[](In x) {
         auto body = [](In c, In e) { return flat::ScanResult{{c[0] * e[0]}, {}}; };
         return flat::scan(body, {x[0]}, {x[1]}, {.checkpoints = 1}).carry;
       },
       {empty, {{3, 0, 2}, d}}},
  };
}

// Rules that state true derivatives, so that differences agree with them.
std::vector<SmallProgram> customs(DType d) {
  ir::Type vector{{3}, d}, empty{{0, 2}, d};
  FlatFunction f = [](In x) { return Arrays{sin(x[0]) * x[1]}; };
  auto with_jvp = [=](In x) {
    auto rule = [=](In p, In t) { return std::pair(f(p), Arrays{t[0] * (cos(p[0]) * p[1]) + t[1] * sin(p[0])}); };
    return flat::custom_jvp(f, rule, x);
  };
  auto with_vjp = [=](In x) {
    flat::VjpRules rules{[=](In p) { return std::pair(f(p), Arrays{p.begin(), p.end()}); },
                         [](In r, In ct) { return Arrays{ct[0] * (cos(r[0]) * r[1]), ct[0] * sin(r[0])}; }};
    return flat::custom_vjp(f, rules, x);
  };
  return {{with_jvp, {vector, vector}},
          {with_jvp, {empty, empty}},
          {with_vjp, {vector, vector}},
          {with_vjp, {empty, empty}},
          {[=](In x) {
             auto body = [&](In c, In e) { return flat::ScanResult{with_jvp(Arrays{c[0], e[0]}), {}}; };
             return flat::scan(body, {x[0]}, {x[1]}).carry;
           },
           {vector, {{3, 3}, d}}}};
}

// Equations that have a solution wherever their constants are.
std::vector<SmallProgram> equations(DType d) {
  ir::Type vector{{3}, d}, matrix{{3, 3}, d};
  auto linear = [](In x) {
    const Array a = x[0];
    FlatFunction matvec = [=](In v) { return Arrays{3 * v[0] + 0.3 * dot(a, v[0])}; };
    auto solve_by = [=](bool transposed) -> flat::LinearSolve {
      return [=](const FlatFunction&, In b) {
        return Arrays{linalg::solve(3 * eye(a.shape()[0], a.dtype()) + 0.3 * (transposed ? transpose(a) : a), b[0])};
      };
    };
    return flat::custom_linear_solve(matvec, x.subspan(1), {solve_by(false), solve_by(true)});
  };
  auto root = [](In x) {
    const Array p = x[0];
    FlatFunction f = [=](In v) { return Arrays{2 * v[0] + 0.5 * sin(v[0]) - p}; };
    FlatFunction solve = [=](In v) {
      return flat::fori_loop(0, 30, [&](In c) { return Arrays{(p - 0.5 * sin(c[1])) / 2}; }, {v[0]});
    };
    auto tangent = [](const FlatFunction& g, In y) { return Arrays{y[0] / g(Arrays{ones_like(y[0])})[0]}; };
    return flat::custom_root(f, x.subspan(1), {solve, tangent});
  };
  return {{linear, {matrix, vector}},
          {linear, {{{0, 0}, d}, {{0}, d}}},
          {root, {vector, vector}},
          {root, {{{0, 2}, d}, {{0, 2}, d}}}};
}

}  // namespace

std::vector<SmallProgram> small_programs(DType d) {
  std::vector<SmallProgram> all = functions(d);
  for (const auto& more : {loops(d), branches(d), whiles(d), customs(d), equations(d)})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<ir::Sample> nested_samples(const ir::Primitive& row) {
  using namespace checkpoint_policies;
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64}) {
    for (const SmallProgram& t : small_programs(d)) collect(out, row, t.f, t.types);
    for (const SmallProgram& t : functions(d)) {
      if (&row == &jit_row()) collect(out, row, [&](In x) { return flat::jit(t.f, x, {}); }, t.types);
      if (&row != &checkpoint_row()) continue;
      for (const Policy& p : {nothing_saveable, dots_saveable, everything_saveable})
        collect(out, row, [&](In x) { return flat::checkpoint(t.f, x, p); }, t.types);
    }
  }
  return out;
}

std::string made_by_derivatives(const ir::Primitive& row) {
  for (const SmallProgram& t : small_programs(f64)) {
    Random random(1);
    Arrays x;
    for (const ir::Type& type : t.types) x.push_back(random.array(type));
    flat::Linear linear = flat::linearize(t.f, x).second;
    if (linear.program().count(row.name) > 0)
      return "made by derivatives alone: under the laws as the derivative of what it comes from";
  }
  return "";
}

}  // namespace anew::test
