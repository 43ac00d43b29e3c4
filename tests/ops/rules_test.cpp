// Every first-order row on its own samples: the kernel gives what infer says, and the row has what its facts promise. A
// new row is tested by being in the list; derivatives and everything else that rows owe are the laws' (tests/laws).
#include <set>

#include "control/higher_order.h"
#include "ops/helpers.h"
#include "ops/rows.h"
#include "trace/trace.h"

namespace anew {
namespace {

using test::numbers;
using test::values;

Arrays inputs_of(const ir::Sample& s, std::uint64_t seed) {
  Arrays x;
  for (const ir::SampleInput& i : s.inputs) {
    std::vector<double> v = numbers(i.type.shape.size(), seed++, i.lo, i.hi);
    if (!is_float(i.type.dtype))
      for (double& e : v) e = std::floor(i.lo + (e - i.lo) * (i.hi - i.lo + 1) / std::max(1e-9, i.hi - i.lo));
    x.push_back(array(v, i.type.shape, i.type.dtype));
  }
  return x;
}

Arrays call(const Primitive& p, const ir::Sample& s, const Arrays& x) {
  return anew::bind(p, s.params, x, Location::current());
}

class Rows : public testing::TestWithParam<const Primitive*> {
 protected:
  // Calls check(sample, inputs, outputs) for every sample.
  template <class F>
  void each(F check) {
    const Primitive& p = *GetParam();
    std::vector<ir::Sample> samples = p.samples();
    ASSERT_FALSE(samples.empty());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      SCOPED_TRACE(p.name + ", sample " + std::to_string(i));
      Arrays x = inputs_of(samples[i], 17 * i + 3);
      check(p, samples[i], x, call(p, samples[i], x));
    }
  }
};

TEST_P(Rows, GivesWhatInferSays) {
  each([](const Primitive& p, const ir::Sample& s, const Arrays& x, const Arrays& y) {
    Types in;
    for (const Array& a : x) in.push_back(type_of(a));
    Types out = p.infer({*s.params, in, Location::current()});
    ASSERT_EQ(out.size(), y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i].type(), out[i]);
      EXPECT_EQ(values(y[i]).size(), static_cast<std::size_t>(out[i].shape.size()));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Rows, testing::ValuesIn(first_order_rows()),
                         [](const auto& info) { return info.param->name; });

TEST(RowList, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Primitive* p : first_order_rows()) {
    EXPECT_TRUE(names.insert(p->name).second) << p->name;
    EXPECT_EQ(find_row(p->name), p);
    EXPECT_TRUE(p->infer && p->samples) << p->name;
    EXPECT_TRUE(p->facts.effects || (p->jvp && (p->lower || p->view || p->run))) << p->name;
    EXPECT_TRUE(p->facts.elementwise || p->batch || p->samples()[0].inputs.empty()) << p->name;
    if (!p->facts.linear_in.empty()) {
      EXPECT_TRUE(p->transpose) << p->name;
    }
  }
  EXPECT_EQ(find_row("nothing"), nullptr);
}

}  // namespace
}  // namespace anew
