// What the laws run on: every row of the language with every sample of it, found by enumeration, so that a new row is
// tested by existing. A cell is one (row, law, sample); a row without samples fails all its cells. Where a law leaves a
// cell out it says why, and table_test.cpp holds it to that.
#pragma once
#include <gtest/gtest.h>

#include "control/higher_order.h"
#include "ops/matrix.h"
#include "support/check_grads.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::test {

// One call of a row.
struct Cell {
  const ir::Primitive* row;
  ir::Sample sample;
  int index;

  FlatFunction function() const {
    return [row = row, params = sample.params](std::span<const Array> x) {
      Arrays in(x.begin(), x.end());
      if (row->jvp.target<NoDerivative>())  // it is asked for none
        for (Array& operand : in) operand = stop_gradient(operand);
      return anew::bind(*row, params, in, Location::current());
    };
  }
  // The sample's inputs; `wide`: all f32 as f64, where the row can take them; `example`: other numbers of the same
  // kind.
  Arrays inputs(bool wide = false, std::uint64_t example = 0) const;
  // Parameters may fix types; such rows have samples in f64 too, and those in f32 are left out of laws that need f64.
  bool can_be_wide() const;
  // What the language leaves out: forward mode of a custom_vjp, reverse over reverse of a while_loop.
  bool has_forward() const { return !mentions("custom_vjp_call"); }
  bool has_reverse_twice() const { return !mentions("while"); }
  bool mentions(std::string_view primitive) const;  // the row itself, or inside the Programs it holds
  std::string text() const;
};

// A row's own samples; for rows that hold Programs, those that tracing the functions of nested_samples.cpp gives.
std::vector<Cell> cells(const ir::Primitive& row);
std::vector<ir::Sample> nested_samples(const ir::Primitive& row);
// Why a row has no samples: nobody but a derivative binds it, with operands that only the derivative can make.
std::string made_by_derivatives(const ir::Primitive& row);
// Those functions themselves: small programs with the rows that hold Programs inside each other.
struct SmallProgram {
  FlatFunction f;
  Types types;
  bool mentions(std::string_view primitive) const;
  bool within_bytes() const;  // has a loop that is told how many bytes it may keep
};
std::vector<SmallProgram> small_programs(DType dtype);

// A law is in the list of all laws by being made. `skip`: why it leaves a cell out; "" where it holds.
struct LawInfo {
  std::string name;
  std::function<std::string(const Cell&)> skip;
  LawInfo(std::string name, std::function<std::string(const Cell&)> skip);
};
std::vector<const LawInfo*>& laws();
// Reasons that laws share.
inline std::string nowhere_skipped(const Cell&) { return ""; }
std::string skip_narrow(const Cell& c);  // laws in f64
std::string skip_no_forward(const Cell& c);
std::string skip_not_differentiable(const Cell& c);

// Parameterised by row; counts the cells it ran.
class Law : public testing::TestWithParam<const ir::Primitive*> {
 protected:
  template <class F>
  void for_each_cell(const LawInfo& info, F law) {
    std::vector<Cell> all = cells(*GetParam());
    if (std::string why = all.empty() ? made_by_derivatives(*GetParam()) : ""; !why.empty()) GTEST_SKIP() << why;
    ASSERT_FALSE(all.empty()) << "the row \"" << GetParam()->name << "\" has no samples";
    for (const Cell& c : all) {
      if (!info.skip(c).empty()) continue;
      SCOPED_TRACE(c.text());
      law(c);
      ++count;
      if (HasFatalFailure()) return;
    }
  }
  static void TearDownTestSuite() {
    std::cout << "[ cells    ] " << count << " of " << testing::UnitTest::GetInstance()->current_test_suite()->name()
              << "\n";
    count = 0;
  }
  static inline int count = 0;
  ~Law() override { debug::set_sink(sink_); }
  Warnings quiet;

 private:
  debug::Sink sink_ = debug::set_sink([](std::string_view) {});  // rows that print are run a thousand times
};

#define INSTANTIATE_LAW(suite)                                         \
  INSTANTIATE_TEST_SUITE_P(Rows, suite, testing::ValuesIn(all_rows()), \
                           [](const testing::TestParamInfo<const ir::Primitive*>& i) { return i.param->name; })

// (value, jvp where there is a forward mode, pullback, forward over reverse) of f at x, in directions that `seed`
// decides.
Arrays derivatives(const FlatFunction& f, const Arrays& x, std::uint64_t seed, bool forward = true);
Arrays reverse_over_reverse(const FlatFunction& f, const Arrays& x, std::uint64_t seed);
// Fails the test where a type or a bit differs; `zeros`: those of signs of zeros do not count.
enum class Zeros { signed_, alike };
void expect_same(const Arrays& got, const Arrays& want, std::string_view what, Zeros zeros = Zeros::signed_);

}  // namespace anew::test
