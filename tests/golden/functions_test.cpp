// Recorded results of the functions in functions/*.def: each row is called with the inputs of its cases, eagerly,
// jitted and differentiated (case.cpp). Cases of f64 were recorded with 64-bit default types.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include "golden/case.h"

namespace anew::golden {
namespace {

struct FunctionRow {
  std::string name, python;
  Arrays (*f)(std::span<const Array> x);
};

Arrays listed(Array x) { return {std::move(x)}; }
Arrays listed(std::vector<Array> xs) { return xs; }
Arrays listed(const std::pair<Array, Array>& xs) { return {xs.first, xs.second}; }

#define FUNCTION(name, python, call, ...) \
  {#name, python, []([[maybe_unused]] std::span<const Array> x) { return listed(call); }},
#define EDGE FUNCTION

// The parts are functions of their own: one long list takes the compiler a minute.
std::vector<FunctionRow> numpy_rows() {
  return {
#include "golden/functions/numpy.def"
  };
}

std::vector<FunctionRow> lax_rows() {
  return {
#include "golden/functions/lax.def"
  };
}
std::vector<FunctionRow> special_rows() {
  return {
#include "golden/functions/special.def"
  };
}
std::vector<FunctionRow> stats_rows() {
  return {
#include "golden/functions/stats.def"
  };
}
std::vector<FunctionRow> linalg_rows() {
  return {
#include "golden/functions/linalg.def"
  };
}
std::vector<FunctionRow> empty_rows() {
  return {
#include "golden/functions/empty.def"
  };
}
std::vector<FunctionRow> random_rows() {
  return {
#include "golden/functions/random.def"
  };
}

void check_rows(const std::string& file, const std::vector<FunctionRow>& rows) {
  const QuietWarnings quiet;
  std::size_t seen = 0;
  const Json recorded = read_json(golden_path("functions/" + file + ".json"));
  for (const Json& json : recorded.at("cases")) {
    const Case c = parse_case(json);
    SCOPED_TRACE(c.id);
    const std::size_t row = json.at("row");
    ASSERT_LT(row, rows.size()) << "the data is older than the rows: tools/function_goldens " << file;
    ASSERT_EQ(rows[row].name, c.op) << "the data is older than the rows: tools/function_goldens " << file;
    ASSERT_EQ(rows[row].python, c.params.expression());
    seen = std::max(seen, row + 1);
    const X64 types(c.params.run_dtype() == f64);
    for (const std::string& problem : run_case(c, [&](const Arrays& x, const Params&) { return rows[row].f(x); }))
      ADD_FAILURE() << problem << "  # " << c.params.expression();
  }
  EXPECT_EQ(seen, rows.size()) << "rows without data: tools/function_goldens " << file;
}

TEST(RecordedFunctions, Numpy) { check_rows("numpy", numpy_rows()); }
TEST(RecordedFunctions, Lax) { check_rows("lax", lax_rows()); }
TEST(RecordedFunctions, Special) { check_rows("special", special_rows()); }
TEST(RecordedFunctions, Stats) { check_rows("stats", stats_rows()); }
TEST(RecordedFunctions, Empty) { check_rows("empty", empty_rows()); }
TEST(RecordedFunctions, Linalg) { check_rows("linalg", linalg_rows()); }
TEST(RecordedFunctions, Random) { check_rows("random", random_rows()); }

}  // namespace
}  // namespace anew::golden
