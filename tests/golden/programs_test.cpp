// Whole programs against their recorded figures, in f32 and f64: value, gradient, Hessian-vector product, Hessian, jvp,
// vjp, Jacobian; each again under jit, and without the program's checkpoints, which must not change a bit.
#include "golden/programs.h"

#include <anew/anew.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "golden/compare.h"
#include "support/budget_sweep.h"

namespace anew::golden {
namespace {

const Json& file() {
  static const Json json = read_json(golden_path("programs.json"));
  return json;
}

// One program at its inputs, as a function of those that are differentiated.
class ProgramRun {
 public:
  ProgramRun(const Json& json, DType dtype) : json_(json), dtype_(dtype) {
    rule_ = {Rule::Kind::array, json.at(dtype == f32 ? "tol_f32" : "tol_f64"), false};
    std::vector<std::string> names;
    for (const Json& input : json.at("inputs")) {
      Numbers n = parse_numbers(input);
      names.push_back(input.at("name"));
      inputs_.push_back(to_array(n, is_float(n.dtype) ? dtype : n.dtype));
    }
    for (const std::string name : json.at("wrt")) {
      auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      which_.push_back(at);
      wrt_.push_back(inputs_.at(at));
    }
    const FlatFunction& program = programs().at(json.at("id"));
    f_ = [this, &program](std::span<const Array> x) {
      Arrays all = inputs_;
      for (std::size_t i = 0; i < which_.size(); ++i) all[which_[i]] = x[i];
      return program(all);
    };
  }

  void check() const {
    check_figures();
    if (::testing::Test::HasFailure()) return;
    const Arrays plain = derivatives(f_);
    same_bits("jit", derivatives([this](std::span<const Array> x) { return flat::jit(f_, x, flat::JitCache()); }),
              plain);
    repeat(f_);
    if (has("grad")) repeat([this](std::span<const Array> x) { return flat::grad(f_, x); });
    {
      WithoutCheckpoints scope;
      same_bits("without checkpoints", derivatives(f_), plain);
    }
    for (const Policy& policy : {checkpoint_policies::nothing_saveable, checkpoint_policies::dots_saveable}) {
      FlatFunction g = [&](std::span<const Array> x) { return flat::checkpoint(f_, x, policy); };
      same_bits("checkpoint " + policy.str(), derivatives(g), plain);
    }
  }

  // All of its derivatives as one program, within budgets.
  void sweep() const {
    test::BudgetSweep sweep([this](std::span<const Array> x) { return derivatives(f_, x); }, wrt_);
    const compiled::Backend before = compiled::backend();
    if (!std::getenv("ANEW_LONG")) compiled::set_backend(compiled::Backend::interpreter);  // nothing to compile
    EXPECT_EQ(sweep.run(test::BudgetSweep::number_of_budgets(2)), "");
    compiled::set_backend(before);
  }

 private:
  bool has(const char* key) const { return json_.contains(key); }
  Array figure(const char* key) const { return cast(parse_numbers(json_.at(key))); }
  Arrays figures(const char* key) const {
    Arrays out;
    for (const auto& n : parse_list(json_, key)) out.push_back(cast(n.value()));
    return out;
  }
  Array cast(const Numbers& n) const { return to_array(n, is_float(n.dtype) ? dtype_ : n.dtype); }

  void meet(const std::string& what, const Json& wanted, const Array& got) const {
    Numbers n = parse_numbers(wanted);
    n.dtype = dtype_;
    EXPECT_EQ(difference(n, got, rule_), "") << what;
  }
  void meet_all(const char* key, const Arrays& got) const {
    ASSERT_EQ(got.size(), json_.at(key).size()) << key;
    for (std::size_t i = 0; i < got.size(); ++i) meet(fmt::format("{} {}", key, i), json_.at(key)[i], got[i]);
  }
  static void same_bits(const std::string& what, const Arrays& a, const Arrays& b) {
    ASSERT_EQ(a.size(), b.size()) << what;
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(bit_difference(a[i], b[i]), "") << what << ", array " << i;
  }

  // A hundred calls of the compiled function.
  void repeat(const FlatFunction& f) const {
    const Arrays once = f(wrt_);
    const flat::Compiled compiled = flat::compile(f, wrt_);
    for (int i = 0; i < 100 && !::testing::Test::HasFailure(); ++i)
      same_bits(fmt::format("call {} of the compiled function", i), compiled(wrt_), once);
  }

  // Value, then gradient and Hessian-vector product, or jvp and vjp: whatever the file has.
  Arrays derivatives(const FlatFunction& f) const { return derivatives(f, wrt_); }
  Arrays derivatives(const FlatFunction& f, std::span<const Array> x) const {
    Arrays out = f(x);
    auto add = [&](const Arrays& more) { out.insert(out.end(), more.begin(), more.end()); };
    FlatFunction gradient = [&](std::span<const Array> y) { return flat::grad(f, y); };
    if (has("grad")) add(gradient(x));
    if (has("hvp")) add(flat::jvp(gradient, x, figures("tangents")).second);
    if (has("jvp")) add(flat::jvp(f, x, figures("tangents")).second);
    if (has("vjp")) add(flat::linearize(f, x).second.pullback(Arrays{figure("cotangent")}));
    return out;
  }

  void check_figures() const {
    FlatFunction gradient = [this](std::span<const Array> x) { return flat::grad(f_, x); };
    const Arrays value = f_(wrt_);
    ASSERT_EQ(value.size(), 1u);
    meet("value", json_.at("value"), value[0]);
    if (has("grad")) meet_all("grad", gradient(wrt_));
    if (has("hvp")) {
      const Arrays tangents = figures("tangents");
      meet_all("hvp", flat::jvp(gradient, wrt_, tangents).second);
      meet_all("hvp", flat::linearize(gradient, wrt_).second(tangents));
      // The Hessian is symmetric, so reverse over reverse gives the same product.
      meet_all("hvp", flat::linearize(gradient, wrt_).second.pullback(tangents));
    }
    if (has("jvp")) meet_all_of_one("jvp", flat::jvp(f_, wrt_, figures("tangents")).second);
    if (has("vjp")) meet_all("vjp", flat::linearize(f_, wrt_).second.pullback(Arrays{figure("cotangent")}));
    if (has("hessian")) {
      meet("hessian, forward over reverse", json_.at("hessian"), columns(gradient));
      meet("hessian, reverse over reverse", json_.at("hessian"), rows(gradient, 0));
    }
    if (has("jacobian")) {
      for (std::size_t i = 0; i < wrt_.size(); ++i)
        meet(fmt::format("jacobian {} by rows", i), json_.at("jacobian")[i], rows(f_, i));
      if (wrt_.size() == 1) meet("jacobian by columns", json_.at("jacobian")[0], columns(f_));
    }
  }
  void meet_all_of_one(const char* key, const Arrays& got) const {
    ASSERT_EQ(got.size(), 1u);
    meet(key, json_.at(key), got[0]);
  }

  Array unit(const Shape& shape, std::int64_t i) const {
    std::vector<double> v(static_cast<std::size_t>(shape.size()));
    v[static_cast<std::size_t>(i)] = 1;
    return array(v, shape, dtype_);
  }
  static Shape joined(const Shape& outer, const Shape& inner) {
    Shape s = outer;
    for (std::int64_t d : inner) s.push_back(d);
    return s;
  }
  // The Jacobian of the only output, one pullback per output entry or one jvp per input entry.
  Array rows(const FlatFunction& f, std::size_t input) const {
    auto [y, linear] = flat::linearize(f, wrt_);
    Arrays all;
    for (std::int64_t i = 0; i < y[0].size(); ++i)
      all.push_back(linear.pullback(Arrays{unit(y[0].shape(), i)}).at(input));
    return reshape(stack(all), joined(y[0].shape(), wrt_[input].shape()));
  }
  Array columns(const FlatFunction& f) const {
    Arrays all;
    const Shape& in = wrt_[0].shape();
    for (std::int64_t i = 0; i < in.size(); ++i) all.push_back(flat::jvp(f, wrt_, Arrays{unit(in, i)}).second[0]);
    return reshape(stack(all, -1), joined(all[0].shape(), in));
  }

  const Json& json_;
  DType dtype_;
  Rule rule_;
  Arrays inputs_, wrt_;
  std::vector<std::size_t> which_;
  FlatFunction f_;
};

class Programs : public ::testing::TestWithParam<std::string> {
 protected:
  void run(DType dtype, void (ProgramRun::*what)() const = &ProgramRun::check) {
    const QuietWarnings quiet;
    for (const Json& json : file().at("programs"))
      if (json.at("id") == GetParam()) (ProgramRun(json, dtype).*what)();
  }
};

TEST_P(Programs, F64) { run(f64); }
TEST_P(Programs, F32) { run(f32); }
TEST_P(Programs, WithinBudgets) { run(f32, &ProgramRun::sweep); }

std::vector<std::string> ids() {
  std::vector<std::string> out;
  for (const auto& [id, f] : programs()) out.push_back(id);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Golden, Programs, ::testing::ValuesIn(ids()), [](const auto& info) { return info.param; });

// No program of the file is forgotten.
TEST(ProgramTable, IsComplete) {
  std::size_t written = 0, total = 0;
  for (const Json& json : file().at("programs")) {
    const std::string id = json.at("id");
    EXPECT_EQ(programs().count(id), 1u) << id;
    written += programs().count(id);
    ++total;
  }
  EXPECT_EQ(programs().size(), total);
  std::cout << fmt::format("{} of {} programs run\n", written, total);
}

}  // namespace
}  // namespace anew::golden
