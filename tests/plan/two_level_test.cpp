// Schedules over memory and disk: every step is taken back once, in order, from its own state; never more states are
// kept on a level than it has slots; the cost is the known optimum or below it.
#include "plan/two_level.h"

#include <gtest/gtest.h>

#include <set>

namespace anew::plan::two_level_test {
namespace {

struct Tally {
  std::int64_t advanced = 0, written = 0, read = 0;
  double cost(double io) const { return static_cast<double>(advanced) + io * static_cast<double>(written + read); }
};

Tally run(const TwoLevel& plan, std::int64_t length, std::int64_t slots, std::int64_t disk_slots,
          const std::vector<Stop>& stops, bool at_last) {
  Tally r;
  std::set<std::int64_t> kept[2];
  auto put = [&](const Stop& s) {
    EXPECT_TRUE(kept[s.on_disk].insert(s.step).second) << s.step;
    EXPECT_LE(std::ssize(kept[s.on_disk]), s.on_disk ? disk_slots : slots);
    if (s.on_disk) ++r.written;
  };
  for (const Stop& s : stops) put(s);
  std::int64_t at = at_last ? length - 1 : -1, next = length - 1;
  plan.walk_back(length, stops, at_last,
                 {.load =
                      [&](std::int64_t s) {
                        EXPECT_TRUE(kept[0].count(s) || kept[1].count(s)) << s;
                        if (!kept[0].count(s)) ++r.read;
                        at = s;
                      },
                  .soon = [&](std::int64_t s) { EXPECT_TRUE(kept[1].count(s)) << s; },
                  .advance =
                      [&](std::int64_t from, std::int64_t to) {
                        EXPECT_EQ(at, from);
                        r.advanced += to - from;
                        at = to;
                      },
                  .keep =
                      [&](const Stop& s) {
                        EXPECT_EQ(at, s.step);
                        put(s);
                      },
                  .drop = [&](const Stop& s) { EXPECT_EQ(kept[s.on_disk].erase(s.step), 1U); },
                  .back =
                      [&](std::int64_t s) {
                        EXPECT_EQ(at, s);
                        EXPECT_EQ(s, next--);
                        at = -1;
                      }});
  EXPECT_EQ(next, -1);
  return r;
}

// 300 steps; per step, steps besides those taken back, and states written and read.
TEST(TwoLevel, KnownTotals) {
  struct Line {
    std::int64_t slots, disk_slots;
    double io, known;
  };
  for (const Line& line : {Line{5, 0, 1, 4.46},
                           {5, 10, 1, 2.74},
                           {5, 10, 5, 3.09},
                           {5, 60, 1, 2.13},
                           {5, 60, 5, 3.03},
                           {10, 0, 1, 2.79},
                           {10, 30, 1, 2.03},
                           {10, 30, 5, 2.60}}) {
    const TwoLevel plan(300, line.slots, line.disk_slots, line.io);
    EXPECT_LE(plan.cost() / 300, line.known + 0.005) << line.slots << " " << line.disk_slots << " " << line.io;
    EXPECT_GE(plan.cost() / 300, line.known - 0.03) << line.slots << " " << line.disk_slots << " " << line.io;
    const Tally r = run(plan, 300, line.slots, line.disk_slots, plan.forward_stops(), true);
    EXPECT_EQ(r.cost(line.io) + 299, plan.cost()) << line.slots << " " << line.disk_slots << " " << line.io;
  }
}

TEST(TwoLevel, WithoutDiskIsRevolve) {
  for (std::int64_t length : {1, 2, 10, 100, 1000})
    for (std::int64_t slots : {1, 3, 10}) {
      const TwoLevel plan(length, slots, 0);
      EXPECT_EQ(plan.cost(), static_cast<double>(extra_steps(length, slots)));
      std::vector<std::int64_t> steps;
      for (const Stop& s : plan.forward_stops()) {
        EXPECT_FALSE(s.on_disk);
        steps.push_back(s.step);
      }
      EXPECT_EQ(steps, forward_stops(length, slots));
      EXPECT_EQ(run(plan, length, slots, 0, plan.forward_stops(), true).advanced + length - 1,
                std::max(extra_steps(length, slots), length - 1));
    }
}

TEST(TwoLevel, AnyNumbers) {
  for (std::int64_t length : {1, 2, 3, 5, 17, 64, 365})
    for (std::int64_t slots : {1, 2, 5, 400})
      for (std::int64_t disk_slots : {1, 2, 7, 400}) {
        const TwoLevel plan(length, slots, disk_slots);
        for (bool at_last : {true, false}) run(plan, length, slots, disk_slots, plan.forward_stops(), at_last);
        EXPECT_LE(plan.cost(), 1 + static_cast<double>(extra_steps(length, slots)));
      }
}

TEST(TwoLevel, LongLoops) {
  const TwoLevel plan(100000, 5, 50);
  const Tally r = run(plan, 100000, 5, 50, plan.forward_stops(), true);
  EXPECT_LE(r.cost(1) + 99999, plan.cost() + 1);
  EXPECT_LE(plan.cost(), 0.5 * static_cast<double>(extra_steps(100000, 5)));
  EXPECT_LE(plan.cost(), 1.2 * static_cast<double>(extra_steps(100000, 55)));
}

// A loop whose length only its end tells, or that ends before it was to.
TEST(TwoLevel, OnlineStops) {
  for (std::int64_t slots : {1, 2, 3, 10})
    for (std::int64_t disk_slots : {0, 1, 2, 8})
      for (std::int64_t length : {1, 2, 3, 9, 40, 200, 1000}) {
        OnlineLevels online(slots, disk_slots);
        std::set<std::pair<std::int64_t, bool>> kept;
        for (std::int64_t i = 0; i < length; ++i) {
          const OnlineLevels::Placed p = online.place(i);
          for (const Stop& s : p.dropped) EXPECT_EQ(kept.erase({s.step, s.on_disk}), 1U);
          if (p.kept) kept.emplace(i, p.on_disk);
        }
        const std::vector<Stop> stops = online.stops();
        EXPECT_EQ(stops.size(), kept.size());
        for (const Stop& s : stops) EXPECT_TRUE(kept.count({s.step, s.on_disk}));
        const TwoLevel plan(length, slots, disk_slots);
        const Tally r = run(plan, length, slots, disk_slots, stops, false);
        if (disk_slots < 8 || length < 1000) continue;
        EXPECT_LT(r.advanced, extra_steps(length, slots));
      }
  const TwoLevel plan(100, 3, 4);
  std::vector<Stop> early = plan.forward_stops();
  while (early.back().step >= 30) early.pop_back();
  run(plan, 30, 3, 4, early, false);
}

}  // namespace
}  // namespace anew::plan::two_level_test
