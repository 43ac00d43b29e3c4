// Every kernel that a row of the language lowers to, compiled, against the interpreter: every sample of every row, in
// the dtypes the row takes, on usual and on special values, dense and with other strides. A new row is tested by
// existing.
#include <set>

#include "compiled.h"
#include "control/higher_order.h"

namespace anew::codegen::test {
namespace {

using ir::Types;

Types with_floats(const ir::Sample& sample, DType dtype) {
  Types types;
  for (const ir::SampleInput& in : sample.inputs) {
    types.push_back(in.type);
    if (types.back().dtype == f32) types.back().dtype = dtype;
  }
  return types;
}

// The kernels of one sample; none where the row does not take these types or calls the runtime.
std::vector<Kernel> kernels_of(const ir::Primitive& row, const ir::Sample& sample, DType dtype) {
  const Types in = with_floats(sample, dtype);
  Types out;
  try {
    out = row.infer({*sample.params, in, Location::current()});
  } catch (const std::exception&) {
    return {};
  }
  return row.lower(*sample.params, in, out).kernels;
}

class Rows : public testing::TestWithParam<const ir::Primitive*> {};

TEST_P(Rows, CompiledEqualsInterpreted) {
  const ir::Primitive& row = *GetParam();
  if (!row.lower || !row.samples) GTEST_SKIP() << "it lowers to no kernel";
  Random g(row.name.size());
  std::vector<Kernel> seen;
  std::vector<Trial> trials;
  for (const ir::Sample& sample : row.samples())
    for (DType dtype : {f32, f64, bf16, f16})
      for (Kernel& k : kernels_of(row, sample, dtype)) {
        if (std::find(seen.begin(), seen.end(), k) != seen.end()) continue;
        seen.push_back(k);
        trials.emplace_back(k, g, true);
        trials.emplace_back(k, g, false);
        for (Tensor& t : trials.back().memory) make_special(t, g);
      }
  test::check(trials, g);
  if (!HasFailure() && !seen.empty()) test::check(trials, g, plain_machine());
}

INSTANTIATE_TEST_SUITE_P(Language, Rows, testing::ValuesIn(all_rows()),
                         [](const testing::TestParamInfo<const ir::Primitive*>& i) { return i.param->name; });

}  // namespace
}  // namespace anew::codegen::test
