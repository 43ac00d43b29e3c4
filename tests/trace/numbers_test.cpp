// Numbers: a C++ number keeps its digits until it meets an array, whatever transformation it passes through. The law:
// for every transformation, every elementwise row and every place of a number among its operands, types and bits are
// those of plain evaluation.
#include <anew/ops.h>

#include "control/higher_order.h"
#include "ops/promote.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::test {
namespace {

struct Transformation {
  std::string name;
  std::function<Arrays(const FlatFunction&, const Arrays&)> run;
  bool gives_arrays = false;  // of numbers too
};

Arrays compiled(const FlatFunction& f, const Arrays& x) { return flat::compile(f, x)(x); }
Arrays jitted(const FlatFunction& f, const Arrays& x) { return flat::jit(f, x, flat::JitCache()); }
Arrays checkpointed(const FlatFunction& f, const Arrays& x) {
  return flat::checkpoint(f, x, checkpoint_policies::nothing_saveable);
}
Arrays pushed(const FlatFunction& f, const Arrays& x) {
  Arrays t;
  for (const Array& a : x) t.push_back(is_weak(a) && is_float(a.dtype()) ? Array(0.5) : zeros(a.shape(), a.dtype()));
  return flat::jvp(f, x, t).first;
}
Arrays chosen(const FlatFunction& f, const Arrays& x) { return flat::cond(array(true), f, f, x); }
Arrays scanned(const FlatFunction& f, const Arrays& x) {
  auto body = [&](std::span<const Array>, std::span<const Array>) { return flat::ScanResult{{}, f(x)}; };
  Arrays ys = flat::scan(body, {}, {}, {.length = 2}).ys;
  for (Array& y : ys) y = y[1];
  return ys;
}
Arrays looped(const FlatFunction& f, const Arrays& x) {
  Arrays like = f(x), start{array(0)};
  for (const Array& y : like) start.push_back(zeros(y.shape(), y.dtype()));
  auto body = [&](std::span<const Array> in) {
    Arrays out = f(x);
    out.insert(out.begin(), in[0] + 1);
    return out;
  };
  Arrays out = flat::while_loop([](std::span<const Array> in) { return in[0] < 2; }, body, start);
  out.erase(out.begin());
  return out;
}
Arrays mapped(const FlatFunction& f, const Arrays& x) {
  Arrays in = x;
  in.push_back(ones({2}));
  flat::BatchAxes axes{.in = std::vector<int>(x.size(), no_axis)};
  axes.in.push_back(0);
  Arrays ys = flat::vmap([&](std::span<const Array> a) { return f(a.first(x.size())); }, in, axes);
  for (Array& y : ys) y = y[1];
  return ys;
}
Arrays with_jvp_rule(const FlatFunction& f, const Arrays& x) {
  auto rule = [&](std::span<const Array> p, std::span<const Array> t) { return flat::jvp(f, p, t); };
  return flat::custom_jvp(f, rule, x);
}
Arrays with_jvp_rule_pushed(const FlatFunction& f, const Arrays& x) {
  return pushed([&](std::span<const Array> in) { return with_jvp_rule(f, Arrays(in.begin(), in.end())); }, x);
}
Arrays with_vjp_rule(const FlatFunction& f, const Arrays& x) {
  flat::VjpRules rules{[&](std::span<const Array> in) { return std::pair(f(in), Arrays(in.begin(), in.end())); },
                       [](std::span<const Array> residuals, std::span<const Array>) {
                         return Arrays(residuals.begin(), residuals.end());
                       }};
  return flat::custom_vjp(f, rules, x);
}
using Run = Arrays (*)(const FlatFunction&, const Arrays&);
template <Run outer, Run inner>
Arrays both(const FlatFunction& f, const Arrays& x) {
  return outer([&](std::span<const Array> in) { return inner(f, Arrays(in.begin(), in.end())); }, x);
}

const std::vector<Transformation>& transformations() {
  static const std::vector<Transformation> list{
      {"jit", jitted},
      {"compile", compiled},
      {"checkpoint", checkpointed},
      {"jvp", pushed},
      {"cond", chosen},
      {"scan", scanned, true},
      {"while", looped, true},
      {"vmap", mapped, true},
      {"custom_jvp", with_jvp_rule},
      {"jvp of custom_jvp", with_jvp_rule_pushed},
      {"custom_vjp", with_vjp_rule},
      {"jit of checkpoint", both<jitted, checkpointed>},
      {"jit of cond", both<jitted, chosen>},
      {"jit of jvp", both<jitted, pushed>},
      {"jit of scan", both<jitted, scanned>, true},
      {"jit of while", both<jitted, looped>, true},
      {"jit of vmap", both<jitted, mapped>, true},
      {"jit of custom_vjp", both<jitted, with_vjp_rule>},
      {"jvp of checkpoint", both<pushed, checkpointed>},
      {"checkpoint of jit", both<checkpointed, jitted>},
      {"cond of jit", both<chosen, jitted>},
  };
  return list;
}

// Of the transformations, the first `most`.
void expect_alike(const FlatFunction& f, const Arrays& x, const std::string& what, std::size_t most) {
  const Arrays want = f(x);
  for (const Transformation& t : std::span(transformations()).first(most)) {
    const Arrays got = t.run(f, x);
    ASSERT_EQ(got.size(), want.size()) << t.name;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool number = is_weak(want[i]) && want[i].dtype() != bool_ && !t.gives_arrays;
      EXPECT_EQ(got[i].dtype(), want[i].dtype()) << t.name << " of " << what;
      EXPECT_EQ(is_weak(got[i]) && got[i].dtype() != bool_, number) << t.name << " of " << what;
      const Array a = number ? exact(got[i]) : got[i], b = number ? exact(want[i]) : strong(want[i]);
      EXPECT_TRUE(same_bits(a, b)) << t.name << " of " << what << ": " << a << " instead of " << b;
    }
  }
}

TEST(Numbers, EveryElementwiseRowUnderEveryTransformation) {
  int cases = 0;
  const bool all = std::getenv("ANEW_LONG") != nullptr;  // or those that are not made of others
  const std::size_t most = all ? transformations().size() : 11;
  for (const ir::Primitive* row : all_rows()) {
    if (!row->facts.elementwise || row->facts.effects || !row->samples) continue;
    std::vector<std::string> seen;  // one sample for each list of dtypes
    for (const ir::Sample& sample : row->samples()) {
      std::string types;
      bool full = true;
      for (const ir::SampleInput& in : sample.inputs) {
        types += name_of(in.type.dtype);
        full = full && in.type.shape.size() > 1;
      }
      if (!full || std::find(seen.begin(), seen.end(), types) != seen.end()) continue;
      seen.push_back(types);
      const std::size_t n = sample.inputs.size();
      for (unsigned numbers = 1; numbers < (1u << n); ++numbers) {  // which operands are numbers
        Arrays x;
        bool fits = true;
        for (std::size_t i = 0; i < n; ++i) {
          const ir::SampleInput& in = sample.inputs[i];
          const double v = in.lo + 0.37 * (in.hi - in.lo);
          if (!(numbers >> i & 1)) x.push_back(astype(full_like(Array(in.type), v), in.type.dtype));
          else if (is_float(in.type.dtype)) x.push_back(Array(v));
          else if (in.type.dtype !=
                   bool_)  // small: what does not fit the dtype it shows is cut where it becomes an array
            x.push_back(Array(static_cast<std::int64_t>(std::min(v, 5.0))));
          else fits = false;
        }
        if (!fits) continue;
        const bool selects = row->name == "select_n";
        auto f = [&](std::span<const Array> in) {
          Arrays values(in.begin() + (selects ? 1 : 0), in.end());
          values = operands(row->name, values, Location::current());
          if (selects) values.insert(values.begin(), in[0]);
          return anew::bind(*row, sample.params, broadcast_operands(row->name, values, Location::current()),
                            Location::current());
        };
        if (row->name == "convert_element_type" || (selects && (numbers & 1))) continue;
        try {
          (void)f(x);
        } catch (const Error&) {
          continue;  // a row of one dtype, which no user gives numbers to
        }
        expect_alike(f, x, row->name + " " + types + " " + std::to_string(numbers), most);
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 200);
}

// Programs that mix numbers with arrays of every dtype: chains of numbers first, then arrays.
TEST(Numbers, ChainsOfNumbers) {
  const std::vector<std::pair<const char*, FlatFunction>> programs{
      {"x * (dt * 2)", [](auto in) { return Arrays{in[0] * (in[1] * 2)}; }},
      {"x * sin(dt)", [](auto in) { return Arrays{in[0] * sin(in[1])}; }},
      {"dt * dt + n", [](auto in) { return Arrays{in[1] * in[1] + in[2], in[2] * 3 - 1}; }},
      {"n / 3 * x", [](auto in) { return Arrays{in[2] / 3 * in[0]}; }},
      {"where(dt > n, dt, n) * x", [](auto in) { return Arrays{where(in[1] > in[2], in[1], in[2]) * in[0]}; }},
      {"numbers come back", [](auto in) { return Arrays{in[1], in[2], in[0]}; }},
      {"pow, hypot, clip",
       [](auto in) { return Arrays{pow(in[1], 3) * in[0], hypot(in[1], in[2]), clip(in[1], 0, in[2])}; }},
      {"arrays of numbers", [](auto in) { return Arrays{full({2}, in[1]) + in[2], reshape(in[1], {1})}; }},
      {"astype", [](auto in) { return Arrays{astype(in[1], f64), astype(in[2], f32), asarray(in[1])}; }},
  };
  for (DType d : {f64, f32, bf16, f16, i32, i64, u32})
    for (const auto& [name, f] : programs)
      expect_alike(f, {full({3}, 3, d), 0.1, 7}, std::string(name) + " " + std::string(name_of(d)),
                   transformations().size());
}

TEST(Numbers, ComputeAsNumbers) {
  Array x = ones({2}, f64), dt = 0.1;
  EXPECT_EQ((x * (dt * 2))[0].item(), 0.2);
  EXPECT_EQ((x * sin(dt))[0].item(), (sin(array(0.1, f64))).item());
  EXPECT_EQ(dt.dtype(), f32);
  EXPECT_EQ((dt * 2).dtype(), f32);
  EXPECT_EQ((dt * 2).item(), 0.2);
  EXPECT_EQ((ones({2}, bf16) * dt).dtype(), bf16);
  EXPECT_EQ((Array(2000000000) + 2000000000).item<std::int64_t>(), 4000000000);
  EXPECT_EQ((Array(2000000000) + 2000000000).dtype(), i64);
}

TEST(Numbers, GradientsKeepThem) {
  auto f = [](std::span<const Array> in, const Array& dt) { return Arrays{sum(in[0] * dt)}; };
  const Array x = ones({3}, f64);
  auto gradient = [&](const FlatFunction& g) { return flat::grad(g, Arrays{x})[0]; };
  const Array plain = gradient([&](auto in) { return f(in, 0.1); });
  EXPECT_EQ(plain[0].item(), 0.1);
  auto inside = [&](std::span<const Array> in) { return f(in.first(1), in[1]); };
  EXPECT_TRUE(same_bits(gradient([&](auto in) { return checkpointed(inside, {in[0], 0.1}); }), plain));
  EXPECT_TRUE(same_bits(gradient([&](auto in) { return jitted(inside, {in[0], 0.1}); }), plain));
  EXPECT_TRUE(same_bits(gradient([&](auto in) { return chosen(inside, {in[0], 0.1}); }), plain));
  EXPECT_TRUE(same_bits(
      jitted([&](auto in) { return flat::grad([&](auto y) { return f(y, in[1]); }, in.first(1)); }, {x, 0.1})[0],
      plain));
  // What is differentiated is an array of the default dtype.
  EXPECT_EQ(flat::grad([](auto in) { return Arrays{in[0] * in[0]}; }, Arrays{Array(0.1)})[0].dtype(), f32);
  EXPECT_EQ(flat::grad([](auto in) { return Arrays{in[0] * in[0]}; }, Arrays{Array(0.1)})[0].item(),
            static_cast<double>(2 * 0.1f));
}

TEST(Numbers, DerivativesByNumbersKeepThem) {
  auto [y, dy] = flat::jvp([](auto in) { return Arrays{in[0] * in[1], in[1] * in[1]}; },
                           Arrays{ones({2}, f64), Array(0.1)}, Arrays{zeros({2}, f64), Array(0.3)});
  EXPECT_EQ(y[0][0].item(), 0.1);
  EXPECT_EQ(dy[0][0].item(), 0.3);
  EXPECT_EQ(y[1].dtype(), f32);
  EXPECT_EQ(y[1].item(), 0.1 * 0.1);
  EXPECT_EQ(dy[1].item(), 0.3 * 0.1 + 0.1 * 0.3);
}

TEST(Numbers, CarriesTakeTheDtypeThatTheBodyReturns) {
  auto run = [](const Array& start, const Array& h) {
    return flat::scan([&](auto c, auto) { return flat::ScanResult{{c[0] + h}, {}}; }, {start}, {}, {.length = 10})
        .carry[0];
  };
  double sum = 0;
  for (int i = 0; i < 10; ++i) sum += 0.1;
  EXPECT_EQ(run(0.0, array(0.1, f64)).item(), sum);
  EXPECT_EQ(run(0.0, array(0.1, f64)).dtype(), f64);
  EXPECT_EQ(run(0, array(0.1, f64)).dtype(), f64);
  EXPECT_EQ(run(0.0, array(1, bf16)).dtype(), bf16);
  EXPECT_EQ(run(0.0, 0.1).item(), sum);  // numbers alone
  EXPECT_EQ(run(0.0, 0.1).dtype(), f32);
  EXPECT_EQ(run(0, 0.1).item(), sum);
}

TEST(Numbers, ProgramsHaveNone) {
  auto f = [](auto in) { return Arrays{in[0] * in[1]}; };
  EXPECT_EQ(flat::make_program(f, Arrays{Array(3.0), Array(2.0)}).inputs(),
            (std::vector<ShapeDtype>{{{}, f32}, {{}, f32}}));
  EXPECT_EQ(flat::eval_shape(f, Arrays{Array(3.0), ones({2}, f64)})[0].dtype(), f64);
}

TEST(Numbers, OneCompilationForAllOfThem) {
  flat::JitCache cache;
  auto f = [](auto in) { return Arrays{in[0] * in[1]}; };
  for (double dt : {0.1, 0.2, 0.3}) EXPECT_EQ(flat::jit(f, Arrays{ones({2}, f64), Array(dt)}, cache)[0][0].item(), dt);
  EXPECT_EQ(cache.size(), 1u);
}

// ---- x64

TEST(X64, DefaultTypes) {
  EXPECT_FALSE(x64_enabled());
  {
    X64 scope;
    EXPECT_EQ(array({0.5}).dtype(), f64);
    EXPECT_EQ(array({1}).dtype(), i64);
    EXPECT_EQ(array({Array(1), Array(0.5)}).dtype(), f64);
    EXPECT_EQ(array(1).dtype(), i64);
    EXPECT_EQ(Array(1).dtype(), i64);
    EXPECT_EQ(Array(0.1).dtype(), f64);
    for (const Array& x :
         {zeros({2}), ones({2}), eye(2), linspace(0, 1, 3), full({2}, 0.5), random::normal(random::key(0)),
          random::uniform(random::key(0)), fft::fftfreq(4), arange(3.0), nn::one_hot(array({1}), 2)})
      EXPECT_EQ(x.dtype(), f64);
    for (const Array& x : {arange(3), full({2}, 1), argmax(ones({3})), argsort(ones({3})), sum(ones({3}, bool_)),
                           sum(ones({3}, i32)), random::randint(random::key(0), {2}, 0, 5)})
      EXPECT_EQ(x.dtype(), i64);
    EXPECT_EQ((arange(3) * 0.1)[1].item(), 0.1);
    {
      X64 inner(false);
      EXPECT_EQ(array({0.5}).dtype(), f32);
    }
    EXPECT_EQ(array({0.5}).dtype(), f64);
  }
  EXPECT_EQ(array({0.5}).dtype(), f32);
  EXPECT_FALSE(enable_x64());
  EXPECT_EQ(array({0.5}).dtype(), f64);
  {
    X64 scope(false);
    EXPECT_EQ(array({0.5}).dtype(), f32);
  }
  EXPECT_TRUE(enable_x64(false));
}

TEST(X64, IsPartOfWhatACallIsKnownBy) {
  auto f = jit([](Array x) { return x * linspace(0, 1, 4)[1]; });
  const Array x = ones({2}, f64);
  const double narrow = static_cast<double>(1.0f / 3.0f);
  EXPECT_EQ(f(x)[0].item(), narrow);
  {
    X64 scope;
    EXPECT_EQ(f(x)[0].item(), 1.0 / 3.0);
  }
  EXPECT_EQ(f(x)[0].item(), narrow);
}

}  // namespace
}  // namespace anew::test
