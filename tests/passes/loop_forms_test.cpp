// Programs in which loops keep less: valid, by rising time, with the bits of the Program that keeps all.
#include "passes/loop_forms.h"

#include <anew/anew.h>

#include <filesystem>

#include "passes/pipeline.h"
#include "support/support.h"

namespace anew {
namespace loop_forms_test {
namespace {

using passes::LoopForms;
using test::same_bits;
using In = std::span<const Array>;

Array numbers(const Shape& shape) { return reshape(sin(arange(static_cast<double>(shape.size()))), shape); }

Array chain(Array w, Array xs) {
  auto step = [&](Array h, Array x) {
    Array y = tanh(matmul(h, w) + x);
    return std::pair(y, sum(y * x));
  };
  auto [h, ys] = scan(step, zeros({2, 3}), xs);
  return sum(square(h)) + sum(sin(ys));
}
// What a step keeps depends on no carry.
Array rows(Array w, Array xs) {
  auto step = [&](Array h, Array x) { return std::pair(h + sin(matmul(x, w)), none); };
  return sum(square(scan(step, zeros({2, 3}), xs).first));
}
Array nested(Array w, Array xs) {
  auto outer = [&](Array h, Array) {
    auto inner = [&](Array g, Array x) { return std::pair(sin(matmul(g, w)) * x, none); };
    return std::pair(scan(inner, h, xs, {.reverse = true}).first + 1, none);
  };
  return sum(scan(outer, ones({2, 3}), zeros({8})).first);
}
Array branches(Array w, Array xs) {
  auto loop = [&](Array x) { return chain(w, x); };
  auto other = [&](Array x) { return nested(w, x) + sum(sin(x)); };
  return cond(sum(xs) > 100, loop, other, xs) * cond(sum(xs) < 100, loop, other, xs);
}
Array until(Array w, Array xs) {
  auto more = [](Array y) { return sum(abs(y)) > 1e-2; };
  return sum(while_loop(more, [&](Array y) { return sin(matmul(y, w)) * 0.3; }, xs[0]));
}

struct Subject {
  std::string name;
  FlatFunction f;
  std::size_t least;  // forms there are at least
};
FlatFunction gradient(Array (*f)(Array, Array)) {
  return [f](In x) { return Arrays{grad([&](Array w) { return f(w, x[1]); })(x[0]), grad<1>(f)(x[0], x[1])}; };
}
// Of a gradient: forward over reverse, and reverse over reverse.
FlatFunction product(Array (*f)(Array, Array)) {
  return [f](In x) {
    auto g = [&](Array w) { return grad(f)(w, x[1]); };
    return Arrays{jvp(g, x[0], ones_like(x[0])).second};
  };
}
FlatFunction twice(Array (*f)(Array, Array)) {
  return [f](In x) { return Arrays{grad([&](Array w) { return sum(square(grad(f)(w, x[1]))); })(x[0])}; };
}
const std::vector<Subject>& subjects() {
  static const auto& all = *new std::vector<Subject>{
      {"chain", gradient(chain), 8},          {"rows", gradient(rows), 3},      {"nested", gradient(nested), 8},
      {"branches", gradient(branches), 8},    {"until", gradient(until), 8},    {"chain_product", product(chain), 4},
      {"nested_product", product(nested), 4}, {"chain_twice", twice(chain), 1}, {"nested_twice", twice(nested), 1},
  };
  return all;
}

// What a Program takes beside its arguments: estimates leave out what may lie in results.
std::int64_t planned_bytes(const ir::Program& p) {
  std::vector<ir::Strides> strides;
  for (const Type& t : p.input_types()) strides.push_back(row_major(t.shape));
  const auto placed = passes::plan_program(p, strides).placed;
  return static_cast<std::int64_t>(placed->bytes + passes::output_bytes(*placed));
}

class Forms : public testing::TestWithParam<std::size_t> {};

TEST_P(Forms, KeepBits) {
  const Subject& s = subjects()[GetParam()];
  const Arrays x{numbers({3, 3}), numbers({9, 2, 3})};
  const ir::Program program = stage(s.f, types_of(x, Location()), "test", Location()).program;
  const Arrays want = evaluate(program, x);
  for (const std::string& disk : {std::string(), std::filesystem::temp_directory_path().string()}) {
    const LoopForms forms(program, disk);
    EXPECT_GE(forms.forms().size(), s.least);
    double time = -1;
    for (std::size_t i = 0; i < forms.forms().size(); ++i) {
      EXPECT_GE(forms.forms()[i].time, time);
      time = forms.forms()[i].time;
      EXPECT_EQ(forms.forms()[i].levels.empty(), i == 0);
      const ir::Program form = forms.program(i);
      ir::verify(form);
      EXPECT_LE(forms.least_time(planned_bytes(form)), time * (1 + 1e-9)) << i;
      const Arrays got = evaluate(form, x);
      for (std::size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(same_bits(got[k], want[k])) << i << " " << k;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Forms, testing::Range(std::size_t{0}, subjects().size()),
                         [](const auto& info) { return subjects()[info.param].name; });

// Steps of the loops in a Body; and for each unwind, of those in its tape, if any.
std::int64_t loop_steps(const passes::Body& b) {
  std::int64_t steps = 0;
  for (const passes::Step& s : b.steps)
    if (auto* loop = s.as<passes::Loop>()) steps += loop->length;
  return steps;
}
void add_tapes(const passes::Body& b, std::vector<std::int64_t>& steps) {
  for (const passes::Step& s : b.steps) {
    const bool tapes = s.is<passes::Unwind>() && s.bodies.size() == 3;
    if (const std::int64_t inside = tapes ? loop_steps(*s.bodies[2]) : 0) steps.push_back(inside);
    for (const auto& nested : s.bodies) add_tapes(*nested, steps);
  }
}
// A step that runs again to keep its residuals runs the loop inside of it once: the same loop gives the next state.
TEST(LoopForms, LoopsInsideRunOnce) {
  const Arrays x{numbers({3, 3}), numbers({9, 2, 3})};
  auto memory = [](Array w, Array xs) {
    auto outer = [&](Array h, Array) {
      auto inner = [&](Array g, Array x) { return std::pair(sin(matmul(g, w)) * x, none); };
      return std::pair(scan(inner, 2 * h, xs).first + 1, none);
    };
    return sum(scan(outer, ones({2, 3}), zeros({5}), {.memory = 1000}).first);
  };
  auto tapes = [&](const ir::Program& p) {
    std::vector<ir::Strides> strides;
    for (const Type& t : p.input_types()) strides.push_back(row_major(t.shape));
    std::vector<std::int64_t> steps;
    add_tapes(*passes::plan_program(p, strides).placed, steps);
    return steps;
  };
  auto staged = [&](const FlatFunction& f) { return stage(f, types_of(x, Location()), "test", Location()).program; };
  EXPECT_EQ(tapes(staged(gradient(+memory))), std::vector<std::int64_t>(2, 9));
  const LoopForms forms(staged([](In x) { return Arrays{grad(nested)(x[0], x[1])}; }));
  std::size_t found = 0;
  for (std::size_t i = 1; i < forms.forms().size(); ++i)
    for (std::int64_t steps : tapes(forms.program(i))) {
      EXPECT_EQ(steps, 9) << i;
      ++found;
    }
  EXPECT_GT(found, 4u);
}

TEST(LoopForms, AreOneWithoutLoops) {
  const Type t{{4}, f32};
  const Types types{t};
  const ir::Program p = stage([](In x) { return Arrays{sin(x[0])}; }, types, "test", Location()).program;
  EXPECT_EQ(LoopForms(p).forms().size(), 1u);
}

// A step that is dear to run again, and keeps little: 16 bytes.
Array dear(const Array& c) { return sin(matmul(matmul(c, ones({4, 65536})), ones({65536, 4}))); }

// Residuals of 20 steps, 16 bytes each. Of one loop all are kept within as many bytes; of two, half of them, whichever
// it is; and within fewer bytes both loops run more often, though they share nothing.
TEST(LoopForms, LeastTime) {
  auto forms = [](int loops) {
    auto f = [loops](In x) {
      auto loss = [&](Array y) {
        auto step = [](Array c, none_t) { return std::pair(dear(c), none); };
        for (int i = 0; i < loops; ++i) y = scan(step, y, none, {.length = 20}).first;
        return sum(y);
      };
      return Arrays{grad(loss)(x[0])};
    };
    const Types types{{{4}, f32}};
    return LoopForms(stage(f, types, "test", Location()).program);
  };
  const LoopForms one = forms(1), two = forms(2);
  const double step = one.least_time(20 * 16) / 1;
  EXPECT_GT(step, 0);  // the way back has 16 bytes of its own
  // Where only states are kept, a step that is made where it is taken back starts fewer kernels.
  EXPECT_EQ(one.least_time(21 * 16), 0);
  EXPECT_NEAR(one.least_time(11 * 16), 10 * step, 0.4 * step);
  EXPECT_NEAR(two.least_time(21 * 16), 20 * step, 0.4 * step);
  EXPECT_NEAR(two.least_time(31 * 16), 10 * step, 0.4 * step);
  EXPECT_EQ(two.least_time(41 * 16), 0);
  EXPECT_NEAR(two.least_time(4 * 16), 2 * one.least_time(4 * 16), 0.4 * step);
  EXPECT_GT(one.least_time(4 * 16), 30 * step);
}

// Nothing is known of the least where steps are unrolled, or residuals moved out of memory.
TEST(LoopForms, LeastTimeOfOtherLoops) {
  auto least = [](const ScanOptions& o, const Policy* policy) {
    auto f = [&](In x) {
      auto loss = [&](Array y) {
        auto step = [](Array c, none_t) { return std::pair(checkpoint_name(dear(c), "s"), none); };
        auto loop = [&](Array z) { return sum(scan(step, z, none, o).first); };
        return policy ? checkpoint(loop, *policy)(y) : loop(y);
      };
      return Arrays{grad(loss)(x[0])};
    };
    const Types types{{{4}, f32}};
    return LoopForms(stage(f, types, "test", Location()).program).least_time(64);
  };
  EXPECT_GT(least({.length = 20}, nullptr), 0);
  EXPECT_EQ(least({.length = 20, .unroll = 4}, nullptr), 0);
  const Policy offload = checkpoint_policies::save_and_offload_only_these_names({.offload = {"s"}});
  EXPECT_EQ(least({.length = 20}, &offload), 0);
}

// Of scans that are in no other loop, where a step is dear.
TEST(LoopForms, StatesMayLieInAFolder) {
  auto forms = [](auto f, const std::string& disk) {
    const Types types{{{64, 64}, f32}};
    const ir::Program p = stage([&](In x) { return Arrays{grad(f)(x[0])}; }, types, "test", Location()).program;
    const LoopForms all(p, disk);
    int on_disk = 0;
    for (const LoopForms::Form& form : all.forms())
      for (const auto& [number, level] : form.levels) on_disk += level.disk == disk && !disk.empty();
    return on_disk;
  };
  auto step = [](Array c, none_t) {
    for (int i = 0; i < 8; ++i) c = sin(matmul(matmul(c, c), c));
    return std::pair(c, none);
  };
  auto loop = [=](Array x) { return sum(scan(step, x, none, {.length = 50}).first); };
  auto inside = [=](Array x) {
    auto outer = [=](Array c, none_t) { return std::pair(scan(step, c, none, {.length = 50}).first, none); };
    return sum(scan(outer, x, none, {.length = 1}).first);
  };
  EXPECT_EQ(forms(loop, ""), 0);
  EXPECT_GT(forms(loop, "there"), 0);
  EXPECT_EQ(forms(inside, "there"), 0);
}

// What users said of their loops, and what others read of what is stacked.
TEST(LoopForms, LeaveLoopsOfUsersAlone) {
  auto forms = [](const ScanOptions& o) {
    auto f = [o](In x) {
      auto loss = [&](Array y) {
        return sum(scan([](Array c, none_t) { return std::pair(sin(c), none); }, y, none, o).first);
      };
      return Arrays{grad(loss)(x[0])};
    };
    const Types types{{{4}, f32}};
    return LoopForms(stage(f, types, "test", Location()).program).forms().size();
  };
  EXPECT_GT(forms({.length = 20}), 5u);
  EXPECT_EQ(forms({.length = 20, .checkpoints = 3}), 1u);
  EXPECT_EQ(forms({.length = 20, .memory = 40}), 1u);  // a state, and the residuals of one step
}

}  // namespace
}  // namespace loop_forms_test
}  // namespace anew
