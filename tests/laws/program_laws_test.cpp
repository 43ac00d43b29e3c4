// Laws of Programs: what a row, its derivative, linearization and pullback trace to is valid, prints, parses back to
// itself, computes what eager evaluation computes, and keeps its results when dead code is removed.
#include "laws/cells.h"

namespace anew::test {
namespace {

class ProgramLaw : public Law {};

struct Made {
  const char* what;
  Program program;
  Arrays inputs, results;  // what eager evaluation gives
};

std::vector<Made> programs(const Cell& c) {
  FlatFunction f = c.function();
  Arrays x = c.inputs();
  Random random(c.row->name, 6);
  Arrays t = random_like(random, x), y = f(x), ct = random_like(random, y), both = x;
  both.insert(both.end(), t.begin(), t.end());
  std::size_t n = x.size();
  auto jvp = [&](std::span<const Array> in) {
    auto [value, tangents] = flat::jvp(f, in.first(n), in.subspan(n));
    value.insert(value.end(), tangents.begin(), tangents.end());
    return value;
  };
  auto gradient = [&](std::span<const Array> in) { return flat::linearize(f, in).second.pullback(ct); };
  std::vector<Made> out;
  out.push_back({"the row", flat::make_program(f, x), x, y});
  if (c.has_forward()) out.push_back({"its jvp", flat::make_program(jvp, both), both, jvp(both)});
  out.push_back({"its gradient", flat::make_program(gradient, x), x, gradient(x)});
  return out;
}

void expect_round_trip(const Program& p, const char* what) {
  SCOPED_TRACE(what);
  const ir::Program& code = *p.code();
  ASSERT_NO_THROW(ir::verify(code)) << p;
  if (p.str().find("<fn ") != std::string::npos) return;  // a user's closure does not parse
  ir::Program again = ir::parse(p.str(), find_row);
  EXPECT_TRUE(ir::equal(again, code)) << p << "\n" << ir::print(again);
  EXPECT_EQ(ir::hash_value(again), ir::hash_value(code)) << p;
  EXPECT_EQ(ir::print(again), p.str());
}

const LawInfo verifies_and_parses_back("VerifiesAndParsesBack", nowhere_skipped);
TEST_P(ProgramLaw, VerifiesAndParsesBack) {
  for_each_cell(verifies_and_parses_back, [](const Cell& c) {
    for (const Made& m : programs(c)) expect_round_trip(m.program, m.what);
    auto [y, linear] = flat::linearize(c.function(), c.inputs());
    expect_round_trip(linear.program(), "its linearization");
    expect_round_trip(linear.pullback_program(), "its pullback");
  });
}

const LawInfo evaluates_to_the_same("EvaluatesToTheSame", nowhere_skipped);
TEST_P(ProgramLaw, EvaluatesToTheSame) {
  for_each_cell(evaluates_to_the_same, [](const Cell& c) {
    for (const Made& m : programs(c)) expect_same(evaluate(m.program, m.inputs), m.results, m.what);
  });
}

// For all outputs, each alone, and none.
const LawInfo dead_code_elimination_keeps_results("DeadCodeEliminationKeepsResults", nowhere_skipped);
TEST_P(ProgramLaw, DeadCodeEliminationKeepsResults) {
  for_each_cell(dead_code_elimination_keeps_results, [](const Cell& c) {
    for (const Made& m : programs(c)) {
      SCOPED_TRACE(m.what);
      const ir::Program& code = *m.program.code();
      Arrays all = m.program.constants();
      all.insert(all.end(), m.inputs.begin(), m.inputs.end());
      std::size_t n = code.outputs.size();
      for (std::size_t k = 0; k <= n + 1; ++k) {
        std::vector<bool> used(n, k == n);
        if (k < n) used[k] = true;
        for (bool keep_inputs : {false, true}) {
          ir::Dce d = ir::eliminate_dead_code(code, used, keep_inputs);
          ASSERT_NO_THROW(ir::verify(d.program)) << ir::print(d.program);
          Arrays in, want;
          for (std::size_t i = 0; i < all.size(); ++i)
            if (d.used_inputs[i]) in.push_back(all[i]);
          for (std::size_t i = 0; i < n; ++i)
            if (used[i]) want.push_back(m.results[i]);
          expect_same(evaluate(d.program, in), want, "results after dead-code elimination");
          EXPECT_TRUE(k <= n || d.program.eqns.empty() || ir::has_effects(d.program)) << ir::print(d.program);
        }
      }
    }
  });
}

// Samples are what the laws see: none may leave out empty arrays, or scalars where all shapes are alike.
const LawInfo samples_cover_shapes("SamplesCoverShapes", nowhere_skipped);
TEST_P(ProgramLaw, SamplesCoverShapes) {
  bool empty = false, filled = false, scalar = !GetParam()->facts.elementwise;
  for_each_cell(samples_cover_shapes, [&](const Cell& c) {
    Arrays all = c.inputs(), y = c.function()(all);
    all.insert(all.end(), y.begin(), y.end());
    for (const Array& a : all) {
      empty = empty || a.size() == 0;
      filled = filled || a.size() > 1;
      scalar = scalar || a.ndim() == 0;
    }
  });
  if (IsSkipped()) return;
  EXPECT_TRUE(empty) << "no sample has an empty array";
  EXPECT_TRUE(filled) << "no sample has an array of several elements";
  EXPECT_TRUE(scalar) << "no sample has a scalar";
}

INSTANTIATE_LAW(ProgramLaw);

}  // namespace
}  // namespace anew::test
