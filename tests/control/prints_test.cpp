// What a loop prints on the way there it does not print again on the way back, wherever in its body the print stands
// and however few states are kept.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

namespace anew {
namespace {

int lines = 0;
constexpr int steps = 6;

Array direct(Array u) {
  debug::print("{}", u[0]);
  return sin(u);
}
Array other(Array u) { return cos(u); }
Array in_cond(Array u) { return cond(sum(u) > -99.0, direct, other, u); }
Array in_switch(Array u) { return switch_(1, branches(other, direct), u); }
Array in_jit(Array u) { return jit(direct)(u); }
Array in_scan(Array u) {
  return scan([](Array c, none_t) { return std::pair(direct(c), none); }, u, none, {.length = 2}).first;
}
Array in_fori(Array u) {
  return fori_loop(0, 2, [](Array, Array c) { return direct(c); }, u);
}
Array in_cond_in_scan(Array u) {
  return scan([](Array c, none_t) { return std::pair(in_cond(c), none); }, u, none, {.length = 2}).first;
}
using Body = Array (*)(Array);
struct Where {
  Body body;
  int each;  // lines of a step
};
const std::map<std::string, Where> places{
    {"direct", {direct, 1}},
    {"in cond", {in_cond, 1}},
    {"in switch", {in_switch, 1}},
    {"in jit", {in_jit, 1}},
    {"in scan", {in_scan, 2}},
    {"in fori_loop", {in_fori, 2}},
    {"in cond in scan", {in_cond_in_scan, 2}},
};

auto with_scan(Body b, ScanOptions o) {
  o.length = steps;
  return [=](Array u) { return sum(scan([=](Array c, none_t) { return std::pair(b(c), none); }, u, none, o).first); };
}
auto with_while(Body b, LoopOptions o) {
  return [=](Array u) {
    using State = std::pair<Array, Array>;
    return sum(while_loop([](State c) { return c.first < steps; },
                          [=](State c) { return State(c.first + 1, b(c.second)); }, State(array(0), u), o)
                   .second);
  };
}

class Prints : public testing::Test {
 protected:
  void SetUp() override {
    before_ = debug::set_sink([](std::string_view) { ++lines; });
  }
  void TearDown() override { debug::set_sink(before_); }

 private:
  debug::Sink before_;
};

template <class F>
void expect(const std::string& what, int want, const F& f) {
  const Array u = arange(5.0) * 0.1;
  lines = 0;
  (void)grad(f)(u);
  EXPECT_EQ(lines, want) << what << ", eager";
  lines = 0;
  (void)jit(grad(f))(u);
  EXPECT_EQ(lines, want) << what << ", jit";
  for (const BudgetPoint& p : jit(grad(f)).budget_curve(u)) {
    lines = 0;
    (void)jit(grad(f), {.memory_budget = p.peak_bytes})(u);
    EXPECT_EQ(lines, want) << what << ", within " << p.peak_bytes;
  }
}

TEST_F(Prints, HappenOnceWhereverTheyStandInALoop) {
  for (const auto& [name, where] : places) {
    const int want = steps * where.each;
    expect("scan, " + name, want, with_scan(where.body, {}));
    expect("scan with checkpoints, " + name, want, with_scan(where.body, {.checkpoints = 2}));
    expect("scan within bytes, " + name, want, with_scan(where.body, {.memory = 120}));
    expect("while, " + name, want, with_while(where.body, {}));
    expect("while with checkpoints, " + name, want, with_while(where.body, {.checkpoints = 2}));
    expect("while within bytes, " + name, want, with_while(where.body, {.memory = 200}));
  }
}

}  // namespace
}  // namespace anew
