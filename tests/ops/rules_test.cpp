// Every first-order row on its own samples: the kernel gives what infer says; tangents agree with differences; they are
// linear; the transpose is the adjoint. A new row is tested by being in the list.
#include <set>

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

// Random numbers of the same types; nothing where there is no derivative.
Arrays directions(const Arrays& like, std::uint64_t seed) {
  Arrays t;
  for (const Array& x : like)
    t.push_back(is_float(x.dtype()) ? array(numbers(x.size(), seed++), x.shape(), x.dtype()) : Array());
  return t;
}

Arrays call(const Primitive& p, const ir::Sample& s, const Arrays& x) {
  return anew::bind(p, s.params, x, Location::current());
}

Arrays tangents(const Primitive& p, const ir::Sample& s, const Arrays& x, const Arrays& y, const Arrays& t) {
  return p.jvp({s.params, x, y, t});
}

double inner(const Arrays& a, const Arrays& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].value() || !b[i].value()) continue;
    std::vector<double> u = values(a[i]), v = values(b[i]);
    for (std::size_t k = 0; k < u.size(); ++k) s += u[k] * v[k];
  }
  return s;
}

double tolerance(const Arrays& y) {
  double most = 1;
  for (const Array& a : y)
    for (double v : values(a)) most = std::max(most, std::abs(v));
  return most;
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

// Each input alone, and all together, along random directions; in f64 against central differences.
TEST_P(Rows, TangentsAgreeWithDifferences) {
  each([](const Primitive& p, const ir::Sample& s, const Arrays& x, const Arrays& y) {
    for (std::size_t only = 0; only <= x.size(); ++only) {
      Arrays t = directions(x, 99);
      bool some = false, wide = y.at(0).dtype() != f32;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (only < x.size() && i != only) t[i] = Array();
        some = some || t[i].value();
        wide = wide && x[i].dtype() != f32;
      }
      if (!some) continue;
      Arrays dy = tangents(p, s, x, y, t);
      ASSERT_EQ(dy.size(), y.size());
      const double h = wide ? 1e-6 : 1e-2;
      Arrays up = x, down = x;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (t[i].value()) up[i] = x[i] + h * t[i], down[i] = x[i] - h * t[i];
      Arrays y_up = call(p, s, up), y_down = call(p, s, down);
      for (std::size_t k = 0; k < y.size(); ++k) {
        if (!is_float(y[k].dtype())) {
          EXPECT_FALSE(dy[k].value());
          continue;
        }
        std::vector<double> a = values(y_up[k]), b = values(y_down[k]), d(a.size());
        if (dy[k].value()) {
          ASSERT_EQ(dy[k].type(), y[k].type());
          d = values(dy[k]);
        }
        for (std::size_t i = 0; i < a.size(); ++i)
          EXPECT_NEAR(d[i], p.name == "stop_gradient" ? 0 : (a[i] - b[i]) / (2 * h),
                      (wide ? 1e-7 : 2e-2) * tolerance({y[k]}) * (1 + std::abs(d[i])));
      }
    }
  });
}

TEST_P(Rows, TangentsAreLinear) {
  each([](const Primitive& p, const ir::Sample& s, const Arrays& x, const Arrays& y) {
    Arrays t = directions(x, 5), u = directions(x, 50), sum = t;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (t[i].value()) sum[i] = 2 * t[i] - u[i];
    if (std::none_of(t.begin(), t.end(), [](const Array& a) { return a.value(); })) return;
    Arrays a = tangents(p, s, x, y, t), b = tangents(p, s, x, y, u), c = tangents(p, s, x, y, sum);
    for (std::size_t k = 0; k < y.size(); ++k)
      if (c[k].value()) {
        EXPECT_TRUE(allclose(c[k], 2 * a[k] - b[k], 1e-4, 1e-4));
      }
  });
}

// For each linear input alone (products), and for all of them (sums): <ct, f(t)> = <f'(ct), t>.
TEST_P(Rows, TheTransposeIsTheAdjoint) {
  if (!GetParam()->transpose) return;
  each([](const Primitive& p, const ir::Sample& s, const Arrays& x, const Arrays& y) {
    if (!is_float(y[0].dtype())) return;
    for (std::size_t only = 0; only < x.size(); ++only) {
      const std::vector<int>& linear_in = p.facts.linear_in;
      if (std::find(linear_in.begin(), linear_in.end(), static_cast<int>(only)) == linear_in.end()) continue;
      if (!is_float(x[only].dtype())) continue;
      Arrays t = directions(x, 7), ct = directions(y, 70), known = x;
      std::vector<bool> linear(x.size());
      Types in;
      for (std::size_t i = 0; i < x.size(); ++i) {
        in.push_back(type_of(x[i]));
        linear[i] = i == only;
        if (i == only) known[i] = Array();
        else t[i] = Array();
      }
      Arrays back = p.transpose({s.params, ct, known, in, linear});
      ASSERT_EQ(back.size(), x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(back[i].value() != nullptr, linear[i]);
        if (back[i].value()) {
          EXPECT_EQ(back[i].type(), in[i]);
        }
      }
      Arrays dy = tangents(p, s, x, y, t);
      double forward = inner(ct, dy), backward = inner(back, t);
      EXPECT_NEAR(forward, backward,
                  (x[only].dtype() == f32 || y[0].dtype() == f32 ? 1e-4 : 1e-12) * (1 + std::abs(forward)));
    }
  });
}

TEST_P(Rows, ParametersSurviveText) {
  const Primitive& p = *GetParam();
  for (const ir::Sample& s : p.samples()) {
    ParamsRef again = p.parse(s.params->list());
    ASSERT_TRUE(again) << p.name;
    EXPECT_TRUE(again->equals(*s.params)) << p.name;
    EXPECT_EQ(again->hash(), s.params->hash()) << p.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Rows, testing::ValuesIn(first_order_rows()),
                         [](const auto& info) { return info.param->name; });

TEST(RowList, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Primitive* p : first_order_rows()) {
    EXPECT_TRUE(names.insert(p->name).second) << p->name;
    EXPECT_EQ(find_first_order_row(p->name), p);
    EXPECT_TRUE(p->infer && p->jvp && p->samples && (p->lower || p->view)) << p->name;
    if (!p->facts.linear_in.empty()) {
      EXPECT_TRUE(p->transpose) << p->name;
    }
  }
  EXPECT_EQ(find_first_order_row("nothing"), nullptr);
}

}  // namespace
}  // namespace anew
