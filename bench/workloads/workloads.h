// What is measured: a workload is a named program with inputs of its own, in several variants, each of which returns a
// value and gradients (or what stands for them). Sizes have names and can be set; the small ones are for tests of bits.
#pragma once
#include <anew/anew.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace workloads {

using anew::Array;
using anew::Arrays;

// One program with its inputs, without their C++ types.
struct Case {
  std::function<anew::MemoryPlan()> plan;  // without generating code
  std::function<void()> compile;           // ahead of time; then `call`, `result`, `compiled_plan` and `high_water`
  std::function<void()> call;              // for timing: the result is dropped
  std::function<Arrays()> result;          // the value, then the gradients
  std::function<anew::MemoryPlan()> compiled_plan;
  std::function<std::size_t()> high_water;
  std::function<void()> call_jit;  // through jit(f): tracing or looking up is part of it
  std::function<void()> call_eager;
  std::function<Arrays()> eager_result;
  anew::FlatFunction flat;  // the same program, of `inputs`
  Arrays inputs;
};

template <class F, class... A>
Case case_of(F f, A... args) {
  auto jitted = anew::jit(f);
  using Compiled = decltype(jitted.compile(args...));
  auto in = std::make_shared<const std::tuple<A...>>(std::move(args)...);
  auto code = std::make_shared<std::unique_ptr<Compiled>>();
  auto with = [in](auto g) { return std::apply(g, *in); };
  Case c;
  c.plan = [=] { return with([&](const A&... a) { return jitted.plan(a...); }); };
  c.compile = [=] { *code = with([&](const A&... a) { return std::make_unique<Compiled>(jitted.compile(a...)); }); };
  c.call = [=] { (void)with([&](const A&... a) { return (**code)(a...); }); };
  c.result = [=] { return anew::tree_leaves(with([&](const A&... a) { return (**code)(a...); })); };
  c.compiled_plan = [=] { return (*code)->plan(); };
  c.high_water = [=] { return (*code)->high_water_bytes(); };
  c.call_jit = [=] { (void)with([&](const A&... a) { return jitted(a...); }); };
  c.call_eager = [=] { (void)with([&](const A&... a) { return f(a...); }); };
  c.eager_result = [=] { return anew::tree_leaves(with([&](const A&... a) { return f(a...); })); };
  auto [leaves, def] = anew::tree_flatten(*in);
  c.flat = [f, def = def](std::span<const Array> x) {
    return anew::tree_leaves(std::apply(f, anew::tree_unflatten(def, Arrays(x.begin(), x.end()))));
  };
  c.inputs = leaves;
  return c;
}

// Numbers by name, such as layers and width, in the order in which a workload lists them.
class Sizes {
 public:
  using Entry = std::pair<std::string, std::int64_t>;
  Sizes(std::initializer_list<Entry> entries) : entries_(entries) {}
  std::int64_t operator[](std::string_view name) const;
  Sizes with(std::string_view text) const;  // "layers=8,width=1000" instead of its own
  std::string json() const;
  bool operator==(const Sizes&) const = default;

 private:
  std::vector<Entry> entries_;
};

struct Workload {
  std::string name;
  std::vector<std::string> variants;
  Sizes full, small;
  std::function<Case(const std::string& variant, const Sizes& sizes)> build;
  double tolerance;                             // relative, of value and norm among libraries
  std::optional<double> value = {}, norm = {};  // what other libraries compute at the full sizes
};
const Workload& find(const std::vector<Workload>& all, const std::string& name);
// A variant "x_flush" is x with subnormal numbers flushed, as XLA has them, in this process until the next one is
// built.
Case build(const Workload& w, const std::string& variant, const Sizes& sizes);

std::vector<Workload> mlp_workloads();
std::vector<Workload> transformer_workloads();
std::vector<Workload> loop_workloads();
std::vector<Workload> small_workloads();
std::vector<Workload> operation_workloads();
std::vector<Workload> untuned_networks();
std::vector<Workload> untuned_science();
std::vector<Workload> all_workloads();

// How a program is run by itself (one.cpp): `run_one` prints one line of JSON and says whether all was as expected;
// `serve` prints the line without times, then for each line of its input, which is a number of seconds, a line of
// samples.
struct RunOptions {
  int repeat = 50;
  double max_seconds = 8;
  bool eager_too = false, timed = true, runs = true;
};
bool run_one(const Workload& w, const std::string& variant, const Sizes& sizes, const RunOptions& options);
bool serve(const Workload& w, const std::string& variant, const Sizes& sizes);
std::string difference(const Arrays& a, const Arrays& b);  // empty: the same bits

// The cost of budgets, as it is modelled and as it is (extra_time.cpp).
void print_extra_time(const std::string& workload, const std::string& variant, const Case& c, int repeat,
                      double max_seconds);
void print_steps(const Case& c);
// Whether plans within 90, 80 ... 40 % of the plain peak take no more time, by the model, than the goals of the
// transformer.
bool meets_goals(const Case& c);

// checkpoint(f) as the end of the variant's name says: _ckpt everything is recomputed, _dots products are kept.
template <class F>
auto wrapped(std::string_view variant, F f) {
  using namespace anew::checkpoint_policies;
  using Any = decltype(std::function(f));
  if (variant.ends_with("ckpt")) return Any(anew::checkpoint(f));
  if (variant.ends_with("dots")) return Any(anew::checkpoint(f, dots_with_no_batch_dims_saveable));
  return Any(f);
}

}  // namespace workloads
