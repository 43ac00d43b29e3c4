// xla_modules <folder> [--programs N] [--filter text] [--devices N]: modules for `anew-xla check`, each with its inputs
// and the results that this library gives: every row's samples, special values of elementwise rows in every dtype,
// small programs with their derivatives, the public functions with theirs, recorded operations and programs, and random
// programs. With --devices the first axis of each array that can be is split over so many.
#include <fmt/format.h>

#include <iostream>
#include <limits>

#include "base/dtype.h"
#include "fuzz/program.h"
#include "golden/case.h"
#include "golden/programs.h"
#include "laws/cells.h"
#include "laws/functions.h"
#include "xla/cases.h"

namespace anew {
namespace {

using test::Cases;
using test::Cell;

void add_rows(Cases& cases) {
  for (const ir::Primitive* row : all_rows())
    for (const Cell& c : test::cells(*row)) cases.add("rows", c.text(), c.function(), c.inputs());
}

// Every pair of special values, in every dtype that the row takes.
Array special_values(DType d) {
  std::vector<double> v;
  if (d == bool_) v = {0, 1};
  else if (is_float(d)) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    v = {nan, -inf, inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 1000, -1000, 1e-3};
  } else {
    const int bits = static_cast<int>(8 * size_of(d));
    v = {0, 1, 2, 3, 7, 31, 33, 100};
    if (is_signed_integer(d)) v.insert(v.end(), {-1, -2, -7, -100, -std::ldexp(1, bits - 1)});
    else v.push_back(200);
  }
  return array(v, {static_cast<std::int64_t>(v.size())}, d);
}
void add_special_values(Cases& cases) {
  for (const ir::Primitive* row : all_rows()) {
    if (!row->facts.elementwise || !row->samples) continue;
    std::vector<ir::Sample> samples = row->samples();
    std::vector<ir::ParamsRef> seen;
    for (const ir::Sample& s : samples) {
      bool known = false;
      for (const ir::ParamsRef& p : seen) known = known || p->equals(*s.params);
      if (known) continue;
      seen.push_back(s.params);
      for (const DType d : {bool_, i8, i16, i32, i64, u8, u16, u32, u64, bf16, f16, f32, f64}) {
        const Array v = special_values(d);
        const std::int64_t n = v.shape()[0];
        const std::size_t arity = s.inputs.size();
        Arrays x;
        for (std::size_t i = 0; i < arity; ++i)
          x.push_back(i == 0   ? reshape(broadcast_to(v.reshape({n, 1}), {n, n}), {n * n})
                      : i == 1 ? reshape(broadcast_to(v, {n, n}), {n * n})
                               : roll(reshape(broadcast_to(v, {n, n}), {n * n}), static_cast<int>(3 * i)));
        if (arity == 1) x[0] = v;
        ir::Types types;
        for (const Array& a : x) types.push_back({a.shape(), a.dtype()});
        try {
          row->infer({*s.params, types, Location::current()});
        } catch (const std::exception&) {
          continue;
        }
        const Cell c{row, {s.params, {}}, 0};
        cases.add("special values", fmt::format("{}[{}] {}", row->name, ir::str(*s.params), name_of(d)), c.function(),
                  x);
      }
    }
  }
}

void add_small_programs(Cases& cases) {
  for (DType d : {f32, f64}) {
    std::size_t number = 0;
    for (const test::SmallProgram& p : test::small_programs(d)) {
      test::Random random("xla", number);
      Arrays x;
      for (const ShapeDtype& t : p.types) x.push_back(random.array(t, 0.3, 1));
      const std::string name = fmt::format("{} {}", number++, name_of(d));
      cases.add("small programs", name, p.f, x);
      bool floats = true;
      for (const ShapeDtype& t : p.types) floats = floats && is_float(t.dtype);
      if (!floats) continue;
      cases.add_with_gradient("small programs, gradients", name, p.f, x);
      // Loops walked forward, and derivatives of walks back.
      if (p.mentions("custom_vjp_call")) continue;
      cases.add(
          "small programs, derivatives", name,
          [f = p.f](std::span<const Array> v) { return test::derivatives(f, Arrays(v.begin(), v.end()), 3); }, x);
    }
  }
}

void add_functions(Cases& cases) {
  test::Random random(7);
  for (const test::ElementwiseFunction& e : test::elementwise_functions())
    for (DType d : {f32, f64}) {
      Arrays x{random.array({{3, 4}, d}, e.lo, e.hi)};
      if (e.arity == 2) x.push_back(random.array({{3, 4}, d}, e.second_lo, e.second_hi));
      cases.add_with_gradient(
          "functions", fmt::format("{} {}", e.name, name_of(d)),
          [f = e.f](std::span<const Array> v) { return Arrays{f(v)}; }, x);
    }
  for (const test::ComposedFunction& c : test::composed_functions()) {
    Arrays x;
    for (const ir::SampleInput& in : c.inputs) {
      Array v = random.array(in.type, in.lo, in.hi);
      if (in.diagonal != 0) {
        const std::int64_t columns = v.shape()[-1];
        v = v + eye(v.shape()[-2], columns, 0, v.dtype()) * (arange(1, columns + 1, 1, v.dtype()) * in.diagonal);
      }
      x.push_back(v);
    }
    cases.add_with_gradient("functions", c.name, c.f, x);
  }
}

void add_recorded(Cases& cases) {
  using namespace golden;
  const Json operations_file = read_json(golden_path("ops.json")),
             programs_file = read_json(golden_path("programs.json"));
  for (const Json& json : operations_file.at("cases")) {
    const Case c = parse_case(json);
    const auto op = operations().find(c.op);
    if (op == operations().end()) continue;
    Arrays x;
    for (const auto& n : c.inputs)
      if (n) x.push_back(to_array(*n));
    cases.add(
        "recorded operations", c.id,
        [&c, f = op->second](std::span<const Array> v) { return f(Arrays(v.begin(), v.end()), c.params); }, x);
  }
  for (const Json& json : programs_file.at("programs")) {
    const std::string id = json.at("id");
    const auto f = programs().find(id);
    if (f == programs().end()) continue;
    Arrays x;
    for (const auto& n : parse_list(json, "inputs"))
      if (n) x.push_back(to_array(*n));
    cases.add("recorded programs", id, f->second, x);
    cases.add_with_gradient("recorded programs, gradients", id, f->second, x);
  }
}

void add_random_programs(Cases& cases, std::uint64_t programs) {
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    const fuzz::Block b = fuzz::generate(seed);
    const Arrays x = fuzz::inputs_of(b, seed);
    const std::string name = fmt::format("seed {}", seed);
    cases.add_with_gradient("random programs", name, fuzz::function(b), x);
  }
}

}  // namespace
}  // namespace anew

int main(int argc, char** argv) {
  using namespace anew;
  std::string folder, filter;
  std::uint64_t programs = 100;
  std::int64_t devices = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--programs" && i + 1 < argc) programs = std::stoull(argv[++i]);
    else if (arg == "--filter" && i + 1 < argc) filter = argv[++i];
    else if (arg == "--devices" && i + 1 < argc) devices = std::stoll(argv[++i]);
    else folder = arg;
  }
  if (folder.empty()) return std::cerr << "usage: xla_modules folder [--programs N] [--filter text] [--devices N]\n", 2;
  const golden::QuietWarnings quiet;
  debug::set_sink([](std::string_view) {});
  Cases cases(folder, filter, devices);
  add_rows(cases);
  add_special_values(cases);
  add_small_programs(cases);
  add_functions(cases);
  add_recorded(cases);
  add_random_programs(cases, programs);
  std::cout << cases.count() << " modules\n";
  return cases.failed() ? 1 : 0;
}
