// bf16 and f16 are stored types: every row computes in f32 what it is given and rounds its result once. Rows are found
// by enumeration; those that take no stored type are named here, and have functions in front of them that convert.
#include <anew/anew.h>

#include <set>

#include "ops/helpers.h"
#include "ops/rows.h"
#include "support/random.h"
#include "trace/trace.h"

namespace anew {
namespace {

bool all_f32(const ir::Sample& s) {
  for (const auto& in : s.inputs)
    if (in.type.dtype != f32) return false;
  return !s.inputs.empty();
}

Arrays run(const ir::Primitive& row, const ir::Sample& s, const Arrays& x) {
  return anew::bind(row, s.params, x, Location::current());
}

TEST(StoredTypes, EveryRowComputesInF32AndRoundsOnce) {
  std::set<std::string> refusing;
  int checked = 0;
  for (const ir::Primitive* row : first_order_rows()) {
    if (row->run) continue;  // made of others, which round each
    for (const ir::Sample& sample : row->samples()) {
      if (!all_f32(sample)) continue;
      for (DType d : {bf16, f16}) {
        test::Random random(row->name, static_cast<std::uint64_t>(checked));
        Arrays narrow, wide;
        for (const auto& in : sample.inputs) {
          narrow.push_back(astype(random.array(in.type, in.lo, in.hi), d));
          wide.push_back(astype(narrow.back(), f32));
        }
        Arrays got;
        try {
          got = run(*row, sample, narrow);
        } catch (const Error&) {
          refusing.insert(row->name);
          break;
        }
        Arrays want = run(*row, sample, wide);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_TRUE(got[i].dtype() == d || got[i].dtype() == want[i].dtype()) << row->name;
          if (row->name == "nextafter") continue;  // steps in the type it is given
          EXPECT_TRUE(array_equal(astype(got[i], f64), astype(astype(want[i], got[i].dtype()), f64)))
              << row->name << " " << got[i] << want[i];
        }
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 300);
  const std::set<std::string> known{"cholesky",
                                    "bitcast_convert_type",
                                    "cofactor",
                                    "cofactor_tangent",
                                    "conv_general_dilated",
                                    "cummax",
                                    "cummin",
                                    "cumprod",
                                    "cumsum",
                                    "det",
                                    "dot_general",
                                    "eigh",
                                    "fft",
                                    "hessenberg",
                                    "irfft",
                                    "linear_recurrence",
                                    "lu",
                                    "qr",
                                    "reduce_window_argmax",
                                    "reduce_window_argmin",
                                    "reduce_window_max",
                                    "reduce_window_min",
                                    "reduce_window_sum",
                                    "rfft",
                                    "solve",
                                    "schur",
                                    "svd",
                                    "triangular_solve"};
  for (const std::string& name : refusing) EXPECT_TRUE(known.contains(name)) << name << " takes no stored types";
}

// The functions in front of rows that take no stored type.
TEST(StoredTypes, ProductsAccumulateInF32) {
  for (DType d : {bf16, f16}) {
    Array a = test::filled({3, 300}, 1, d), b = test::filled({300, 2}, 2, d);
    Array y = matmul(a, b);
    EXPECT_EQ(y.dtype(), d);
    EXPECT_TRUE(array_equal(y, astype(matmul(astype(a, f32), astype(b, f32)), d)));
    auto f = [](Array a, Array b) { return sum(sin(matmul(a, b))); };
    EXPECT_EQ(grad(f)(a, b).dtype(), d);
    EXPECT_EQ(sum(a).dtype(), d);
    EXPECT_TRUE(array_equal(sum(a), astype(sum(astype(a, f32)), d)));
  }
}

TEST(StoredTypes, RunningAndWindowedFunctionsRoundOnce) {
  for (DType d : {bf16, f16}) {
    Array x = test::filled({3, 50}, 1, d), wide = astype(x, f32);
    EXPECT_TRUE(array_equal(cumsum(x, 1), astype(cumsum(wide, 1), d)));
    EXPECT_TRUE(array_equal(cumprod(x, 0), astype(cumprod(wide, 0), d)));
    EXPECT_TRUE(array_equal(cummax(x, 1), cummax(wide, 1)));
    EXPECT_TRUE(array_equal(lax::reduce_window_sum(x, {1, 5}, {1, 2}, "SAME"),
                            astype(lax::reduce_window_sum(wide, {1, 5}, {1, 2}, "SAME"), d)));
    EXPECT_TRUE(array_equal(lax::reduce_window_max(x, {1, 5}, {1, 2}, "SAME"),
                            lax::reduce_window_max(wide, {1, 5}, {1, 2}, "SAME")));
  }
}

TEST(StoredTypes, RoundingFollowsEveryOperation) {
  // 1 + 2^-8 is not a bf16: (x + e) + e rounds twice and stays 1, x + 2e in one step would not.
  Array x = array(1.0, bf16), e = array(0x1p-9, bf16);
  EXPECT_EQ(((x + e) + e).item(), 1.0);
  EXPECT_EQ((astype(x, f32) + astype(e, f32) + astype(e, f32)).astype(bf16).item(), 1.0);  // a tie, to even
  EXPECT_EQ((x + (e + e) * 1.5).item(), 1 + 0x1p-7);
  Array big = array(300.0, f16);
  EXPECT_TRUE(std::isinf((big * big).item()));
  EXPECT_EQ((astype(big, bf16) * astype(big, bf16)).item(), 90112.0);
  auto f = [](Array v) { return (v * v) / v; };
  EXPECT_TRUE(std::isinf(jit(f)(big).item()));  // also where operations are fused
  EXPECT_TRUE(std::isinf(checkpoint(f)(big).item()));
}

}  // namespace
}  // namespace anew
