// Samples of the rows that hold Programs: user functions traced under jit, checkpoint and scan; the equations that come
// out are the samples. The functions cover scalars, empty arrays, several outputs of several types, products, branches
// by value (select), and each of the three rows inside each other.
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

}  // namespace

std::vector<SmallProgram> small_programs(DType d) {
  std::vector<SmallProgram> all = functions(d);
  for (SmallProgram& p : loops(d)) all.push_back(std::move(p));
  return all;
}

std::vector<ir::Sample> nested_samples(const ir::Primitive& row) {
  using namespace checkpoint_policies;
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64}) {
    if (&row == &scan_row())
      for (const SmallProgram& t : loops(d)) collect(out, row, t.f, t.types);
    for (const SmallProgram& t : functions(d)) {
      if (&row == &jit_row()) collect(out, row, [&](In x) { return flat::jit(t.f, x, {}); }, t.types);
      if (&row != &checkpoint_row()) continue;
      for (const Policy& p : {nothing_saveable, dots_saveable, everything_saveable})
        collect(out, row, [&](In x) { return flat::checkpoint(t.f, x, p); }, t.types);
    }
  }
  return out;
}

}  // namespace anew::test
