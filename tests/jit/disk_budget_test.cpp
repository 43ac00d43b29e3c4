// Budgets with a folder: values lie in a file there where that takes less time than making them again, or where nothing
// else does. Kept to the byte, monotone, the same bits; faults of files are Errors and leave nothing.
#include <anew/control.h>
#include <anew/jit.h>
#include <anew/ops.h>
#include <anew/report.h>
#include <anew/transforms.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "jit/plan_programs.h"
#include "support/budget_sweep.h"
#include "support/files.h"
#include "support/support.h"

namespace anew::test::disk_budget_test {
namespace {

const std::string& anywhere() {
  static const std::string& path = *new std::string(std::filesystem::temp_directory_path().string());
  return path;
}

Array numbers(const Shape& shape, int seed) {
  return reshape(sin(arange(static_cast<double>(shape.size())) * (1 + 0.1 * seed)), shape);
}
// Products with long inner dimensions: dear to compute again.
Array network(Array w, Array x) {
  for (int i = 0; i < 8; ++i) x = tanh(matmul(matmul(x, w), transpose(w)));
  return mean(square(x));
}
const Array& weight() {
  static const Array& w = *new Array(numbers({32, 2048}, 1) * 0.05);
  return w;
}
const Array& batch() {
  static const Array& x = *new Array(numbers({512, 32}, 2));
  return x;
}
auto within(std::size_t budget, std::string disk = {}) {
  return jit(value_and_grad<0, 1>(network), {.memory_budget = budget, .disk = std::move(disk)});
}

void sweep(const FlatFunction& f, const Arrays& x, int budgets) {
  BudgetSweep s(f, x);
  s.disk = anywhere();
  EXPECT_EQ(s.run(BudgetSweep::number_of_budgets(budgets)), "");
}

class DiskBudgets : public testing::TestWithParam<std::size_t> {};
TEST_P(DiskBudgets, AreKept) {
  const PlanProgram& p = plan_programs()[GetParam()];
  sweep(p.f, p.x, 4);
}
INSTANTIATE_TEST_SUITE_P(Programs, DiskBudgets, testing::Range(std::size_t{0}, plan_programs().size()),
                         [](const auto& info) { return plan_programs()[info.param].name; });

// A folder makes no plan worse, by the model: of loops too, whose states may lie there.
TEST(DiskBudget, NeverTakesMoreTimeThanWithout) {
  const Warnings quiet;
  auto stages = [](Array u) {
    auto step = [](Array u, none_t) {
      for (int i = 0; i < 6; ++i) u = u + 0.01 * sin(u * 1.1 + 0.1 * cos(u));
      return std::pair(u, none);
    };
    return sum(scan(step, u, none, {.length = 60}).first);
  };
  auto layers = [](Array u) {
    auto layer = [](Array x, Array w) { return std::pair(x + matmul(sin(matmul(x, w)), w), none); };
    return sum(scan(layer, reshape(u, {64, 32}), numbers({12, 32, 32}, 3)).first);
  };
  const std::function<Array(Array)> losses[] = {stages, layers};
  for (const auto& loss : losses) {
    const Array u = numbers({2048}, 1);
    const std::vector<BudgetPoint> curve = jit(grad(loss)).budget_curve(u);
    for (std::size_t i = 0; i < curve.size(); i += 4) {
      const BudgetPoint& p = curve[i];
      const double with = jit(grad(loss), {.memory_budget = p.peak_bytes, .disk = anywhere()}).plan(u).extra_time;
      EXPECT_LE(with, p.extra_time + 0.01) << p.peak_bytes << " of loss " << &loss - losses;
    }
  }
}

TEST(DiskBudget, OfANetwork) {
  FlatFunction f = [](std::span<const Array> x) {
    auto [l, g] = value_and_grad<0, 1>(network)(x[0], x[1]);
    return Arrays{l, std::get<0>(g), std::get<1>(g)};
  };
  sweep(f, {weight(), batch()}, 12);
}

// With the folder no plan is costlier than without, and the smallest budget is smaller.
TEST(DiskBudget, ReachesFurther) {
  auto plain = jit(value_and_grad<0, 1>(network));
  const std::size_t most = plain.plan(weight(), batch()).peak_bytes;
  const std::vector<BudgetPoint> memory = plain.budget_curve(weight(), batch()),
                                 disk = jit(value_and_grad<0, 1>(network), {.disk = anywhere()})
                                            .budget_curve(weight(), batch());
  EXPECT_LT(disk.back().peak_bytes, memory.back().peak_bytes) << str(disk) << str(memory);
  const std::size_t least = memory.back().peak_bytes;
  for (std::size_t budget : {most * 9 / 10, most / 2, least}) {
    const MemoryPlan a = within(budget).plan(weight(), batch()), b = within(budget, anywhere()).plan(weight(), batch());
    EXPECT_EQ(a.disk_bytes, 0u);
    EXPECT_TRUE(a.offloaded.empty());
    EXPECT_LE(b.extra_time, a.extra_time * (1 + 1e-9)) << budget;
    EXPECT_LE(b.extra_time_bound, a.extra_time_bound + 1e-9);
    if (budget > least) continue;
    EXPECT_GT(b.disk_bytes, 0u);
    EXPECT_LT(b.extra_time, a.extra_time);
  }
}

TEST(DiskBudget, PlansSayWhatLiesThere) {
  const std::size_t least =
      jit(value_and_grad<0, 1>(network), {.disk = anywhere()}).budget_curve(weight(), batch()).back().peak_bytes;
  auto tight = within(least, anywhere());
  const MemoryPlan plan = tight.plan(ANEW_ARGS(weight(), batch()));
  ASSERT_FALSE(plan.offloaded.empty());
  std::size_t sum = 0;
  for (const LiveValue& v : plan.offloaded) {
    EXPECT_EQ(source_line(v.at).str().find("disk_budget_test.cpp:"), 0u);
    EXPECT_NE(v.what, "device_put");
    EXPECT_EQ(v.type.bytes(), v.bytes);
    EXPECT_NE(v.path, "");
    sum += v.bytes;
  }
  EXPECT_EQ(sum, plan.disk_bytes);
  EXPECT_LE(plan.peak_bytes, least);
  const std::string text = plan.str();
  EXPECT_NE(text.find("on disk meanwhile:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("moved "), std::string::npos) << text;
  auto compiled = tight.compile(weight(), batch());
  const auto [value, slopes] = compiled(weight(), batch());
  const auto [want, want_slopes] = value_and_grad<0, 1>(network)(weight(), batch());
  EXPECT_EQ(compiled.high_water_bytes(), plan.peak_bytes);
  EXPECT_TRUE(same_bits(value, want) && same_bits(std::get<0>(slopes), std::get<0>(want_slopes)) &&
              same_bits(std::get<1>(slopes), std::get<1>(want_slopes)));
  const MemoryReport report = memory_report(tight, weight(), batch());
  EXPECT_NE(report.str().find("% time is recomputation and files;"), std::string::npos) << report.str();
  EXPECT_NE(report.json().find("\"offloaded\": [\n    {\"what\": "), std::string::npos) << report.json();
  EXPECT_NE(report.html().find("<h2>On disk</h2>"), std::string::npos);
}

TEST(DiskBudget, RoomyOnesTouchNothing) {
  const Folder folder;
  const MemoryPlan plan = within(512_MiB, folder.path).plan(weight(), batch());
  EXPECT_EQ(plan.str(), jit(value_and_grad<0, 1>(network)).plan(weight(), batch()).str());
  EXPECT_EQ(within(512_MiB, folder.path)(weight(), batch()).first.item<float>(),
            network(weight(), batch()).item<float>());
}

// Whether or not a plan needs it.
TEST(DiskBudget, FoldersThatAreNone) {
  const auto text = [](std::string folder, std::string why) {
    return "[jit] cannot open a file in " + folder + ": " + why +
           "; hint: give a folder that exists and may be written to";
  };
  for (const auto& [folder, why] :
       {std::pair("/nowhere", "No such file or directory"), std::pair("/etc/passwd", "Not a directory")}) {
    const auto roomy = within(512_MiB, folder);
    EXPECT_EQ(ERROR_OF((void)roomy.plan(weight(), batch())), text(folder, why));
    EXPECT_EQ(ERROR_OF((void)roomy.compile(weight(), batch())), text(folder, why));
    EXPECT_EQ(ERROR_OF((void)roomy.budget_curve(weight(), batch())), text(folder, why));
    EXPECT_EQ(ERROR_OF((void)roomy(weight(), batch())), text(folder, why));
  }
}

Array products(Array w, Array x) {
  for (int i = 0; i < 6; ++i) x = tanh(checkpoint_name(matmul(x, w), "product"));
  return sum(x);
}
const auto loss = checkpoint(products, checkpoint_policies::save_only_these_names("product"));

// What a policy keeps by its name is not computed again, but may lie on disk.
TEST(DiskBudget, NamesStayAndMove) {
  Warnings quiet;
  const Array w = numbers({64, 64}, 3) * 0.2, x = numbers({256, 64}, 4);
  auto memory = jit(grad(loss)).budget_curve(w, x), disk = jit(grad(loss), {.disk = anywhere()}).budget_curve(w, x);
  EXPECT_LT(disk.back().peak_bytes + 3 * 256 * 64 * sizeof(float), memory.back().peak_bytes)
      << str(disk) << str(memory);
  auto tight = jit(grad(loss), {.memory_budget = disk.back().peak_bytes, .disk = anywhere()});
  EXPECT_TRUE(same_bits(tight(w, x), grad(loss)(w, x)));
  EXPECT_GT(tight.plan(w, x).disk_bytes, 0u);
  EXPECT_GT(disk.back().disk_bytes, 0u);
}

// Of a loop the states from which steps are made again.
TEST(DiskBudget, Loops) {
  auto loss = [](Array c, Array u) {
    auto body = [&](Array s, none_t) { return std::pair(sin(matmul(s, c)), none); };
    return sum(square(scan(body, u, none, {.length = 200}).first));
  };
  const Array c = eye(256) + 0.01 * numbers({256, 256}, 6), u = numbers({16, 256}, 7);
  const auto want = jit(grad<0, 1>(loss))(c, u);
  auto memory = jit(grad<0, 1>(loss)).budget_curve(c, u),
       disk = jit(grad<0, 1>(loss), {.disk = anywhere()}).budget_curve(c, u);
  EXPECT_LE(disk.back().peak_bytes, memory.back().peak_bytes);
  int cheaper = 0;
  for (std::size_t states : {2, 4, 8, 16, 32}) {
    const std::size_t budget = memory.back().peak_bytes + states * 4096 * sizeof(float);
    auto fewer = jit(grad<0, 1>(loss), {.memory_budget = budget}),
         spilled = jit(grad<0, 1>(loss), {.memory_budget = budget, .disk = anywhere()});
    const MemoryPlan a = fewer.plan(c, u), b = spilled.plan(c, u);
    EXPECT_LE(b.peak_bytes, budget);
    EXPECT_LE(b.extra_time, a.extra_time);
    if (b.extra_time == a.extra_time) continue;
    ++cheaper;
    EXPECT_GT(b.disk_bytes, 0u);
    EXPECT_EQ(b.offloaded[0].what, "scan");
    const auto got = spilled(c, u);
    EXPECT_TRUE(same_bits(std::get<0>(got), std::get<0>(want)) && same_bits(std::get<1>(got), std::get<1>(want)));
  }
  EXPECT_GT(cheaper, 0) << str(memory) << str(disk);
}

// A loop that has a folder of its own keeps to it, in plans that repeat other steps too.
TEST(DiskBudget, LoopsOfUsers) {
  auto loss = [](Array c, Array u) {
    for (int i = 0; i < 6; ++i) u = sin(matmul(u, c));
    auto body = [&](Array s, none_t) { return std::pair(s + 0.1 * sin(s), none); };
    u = scan(body, u, none, {.length = 50, .memory = 128_KiB, .disk = anywhere()}).first;
    for (int i = 0; i < 6; ++i) u = sin(matmul(u, c));
    return sum(square(u));
  };
  const Array c = numbers({64, 64}, 6) * 0.2, u = numbers({64, 64}, 7);
  const auto want = jit(grad<0, 1>(loss))(c, u);
  const std::size_t least = jit(grad<0, 1>(loss)).budget_curve(c, u).back().peak_bytes;
  auto tight = jit(grad<0, 1>(loss), {.memory_budget = least});
  const MemoryPlan plan = tight.plan(c, u);
  EXPECT_FALSE(plan.recomputed.empty());
  EXPECT_EQ(plan.disk_bytes, jit(grad<0, 1>(loss)).plan(c, u).disk_bytes);
  EXPECT_GT(plan.disk_bytes, 0u);
  const auto got = tight(c, u);
  EXPECT_TRUE(same_bits(std::get<0>(got), std::get<0>(want)) && same_bits(std::get<1>(got), std::get<1>(want)));
}

// ---- faults

// The smallest budget needs the folder.
auto smallest(const std::string& folder, const Array& w, const Array& x) {
  const std::size_t least = jit(grad(loss), {.disk = folder}).budget_curve(w, x).back().peak_bytes;
  return jit(grad(loss), {.memory_budget = least, .disk = folder});
}

TEST(DiskBudget, FaultsAreErrors) {
  const Folder folder;
  Warnings quiet;
  const Array w = numbers({32, 32}, 3) * 0.2, x = numbers({64, 32}, 4);
  auto tight = smallest(folder.path, w, x);
  const Array want = grad(products)(w, x);
  ASSERT_GT(tight.plan(w, x).disk_bytes, 0u);
  const int failed =
      errors_of_faults(runs(300), 16, "[jit] cannot ", [&](int) { EXPECT_TRUE(same_bits(tight(w, x), want)); });
  EXPECT_GT(failed, runs(300) / 8);
  EXPECT_TRUE(same_bits(tight(w, x), want));
  EXPECT_EQ(folder.files(), 0);
}

TEST(DiskBudget, TextsOfErrors) {
  const Folder folder;
  Warnings quiet;
  const Array w = numbers({32, 32}, 3) * 0.2, x = numbers({64, 32}, 4);
  const std::string text = [&] {
    const Faults faults(disk_is_full);
    return ERROR_OF((void)smallest(folder.path, w, x)(w, x));
  }();
  const std::string begin = "[jit] cannot write an array in " + folder.path + ": No space left on device";
  EXPECT_EQ(text, begin + "; hint: free space there, or give a folder on another disk");
  EXPECT_EQ(ERROR_OF((void)smallest("/nowhere", w, x)(w, x)),
            "[jit] cannot open a file in /nowhere: No such file or directory; hint: give a folder that exists and may "
            "be written to");
  EXPECT_EQ(ERROR_OF((void)jit(products, {.disk = folder.path})(w, x)),
            "[jit] .disk without .memory_budget; hint: give the bytes that a call may take: {.memory_budget = 512_MiB, "
            ".disk = \"...\"}");
  EXPECT_EQ(ERROR_OF((void)jit(products, {.disk = folder.path}).plan(w, x)),
            "[jit] .disk without .memory_budget; hint: give the bytes that a call may take: {.memory_budget = 512_MiB, "
            ".disk = \"...\"}");
}

}  // namespace
}  // namespace anew::test::disk_budget_test
