// Schedules of states and residuals within a number of bytes: every step is taken back once, in order, from its own
// residuals; never more lies in memory than there is room for; the number of steps is the exact optimum.
#include "plan/mixed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

#include "plan/revolve.h"

namespace anew::plan {
namespace {

// Runs a loop forward and back; the steps run besides those of the forward sweep.
std::int64_t steps_of(const MixedSchedule& m, std::int64_t length, const LoopBytes& b,
                      const MixedSchedule::Forward& kept) {
  std::map<std::int64_t, std::int64_t> slots;  // step of the state in each
  std::vector<std::int64_t> rows;              // step of the residuals in each
  for (std::size_t i = 0; i < kept.stops.size(); ++i) slots[static_cast<std::int64_t>(i)] = kept.stops[i];
  for (std::int64_t i = kept.taped; i < length; ++i) rows.push_back(i);
  std::int64_t at = -1, next = length - 1, ran = 0;
  auto count = [&](std::int64_t used, std::int64_t taped) {
    EXPECT_LE((used - 1) * b.carry + taped * b.residual, b.memory);
  };
  count(std::ssize(kept.stops), std::ssize(rows));
  walk_back(m, length, kept,
            {.load = [&](std::int64_t s) { at = slots.at(s); },
             .advance =
                 [&](std::int64_t from, std::int64_t to) {
                   EXPECT_EQ(at, from);
                   EXPECT_LT(from, to);
                   ran += to - from;
                   at = to;
                 },
             .store =
                 [&](std::int64_t s) {
                   EXPECT_TRUE(rows.empty());
                   slots[s] = at;
                   count(s + 1, 0);
                 },
             .tape =
                 [&](std::int64_t from, std::int64_t to, std::int64_t used) {
                   EXPECT_EQ(at, from);
                   EXPECT_TRUE(rows.empty());
                   for (std::int64_t i = from; i < to; ++i) rows.push_back(i);
                   ran += to - from;
                   count(used, std::ssize(rows));
                 },
             .back =
                 [&](std::int64_t step, std::int64_t row, std::int64_t) {
                   EXPECT_EQ(step, next--);
                   EXPECT_EQ(row, std::ssize(rows) - 1);
                   EXPECT_EQ(rows.back(), step);
                   rows.pop_back();
                 }});
  EXPECT_EQ(next, -1);
  return ran;
}

// The recursions of the optimum, written down: the residuals of the first step, or a cut; `direct`: the state at the
// cut need not be kept where a run follows.
using Optimum = std::vector<std::vector<double>>;
Optimum optimum(int length, int memory, int carry, int residual, bool direct) {
  Optimum e(static_cast<std::size_t>(memory) + 1,
            std::vector<double>(static_cast<std::size_t>(length) + 1, CutTable::never));
  auto at = [&](int m, int l) -> double& { return e[static_cast<std::size_t>(m)][static_cast<std::size_t>(l)]; };
  for (int m = 0; m <= memory; ++m) {
    at(m, 0) = 0;
    for (int l = 1; l <= length; ++l) {
      double& best = at(m, l);
      if (m >= residual) best = l == 1 ? 0 : at(m - residual, l - 1);
      for (int k = 1; k < l; ++k) {
        if (m >= carry) best = std::min(best, k + at(m - carry, l - k) + at(m, k));
        if (direct && (l - k) * residual <= m) best = std::min(best, k + at(m, k));
      }
    }
  }
  return e;
}

struct Line {
  std::int64_t residual, memory, recursion, ours;
};
constexpr Line lines[] = {{1, 11, 2921, 2787}, {1, 21, 1823, 1804},   {1, 45, 992, 990},  {4, 48, 1732, 1724},
                          {4, 104, 987, 987},  {16, 116, 1628, 1627}, {16, 200, 995, 995}};

// A thousand steps, states of one unit, residuals of some: the known totals of the recursion that keeps the state at
// each cut. A state that only a run follows is not kept here, so schedules take no more steps than these, and often
// fewer.
TEST(Mixed, KnownTotals) {
  for (const Line& line : lines) {
    auto fits = [&](std::int64_t l, std::int64_t n) {
      return l * line.residual <= line.memory - n ? 0 : CutTable::never;
    };
    const CutTable table({1000, line.memory - line.residual, 0, fits, [](auto, auto) { return CutTable::never; }});
    ASSERT_TRUE(table.exact());
    EXPECT_EQ(table.cost(1000, 0), static_cast<double>(line.recursion));
    const LoopBytes b{line.memory, 1, line.residual};
    const MixedSchedule m(1000, b);
    EXPECT_EQ(m.extra_steps(), line.ours);
    EXPECT_EQ(steps_of(m, 1000, b, m.forward()), line.ours);
    EXPECT_LE(line.ours, line.recursion);
    EXPECT_LT(line.ours, extra_steps(1000, line.memory - line.residual));
  }
}

TEST(Mixed, IsTheOptimumOfSmallLoops) {
  for (int carry : {1, 2, 3, 5})
    for (int residual : {1, 2, 3, 7}) {
      const Optimum e = optimum(60, 40, carry, residual, true), known = optimum(60, 40, carry, residual, false);
      for (int memory = residual; memory <= 40; memory += 3)
        for (int length : {1, 2, 3, 7, 20, 41, 60}) {
          const double want = e[static_cast<std::size_t>(memory)][static_cast<std::size_t>(length)];
          EXPECT_LE(want, known[static_cast<std::size_t>(memory)][static_cast<std::size_t>(length)]);
          const LoopBytes b{memory, carry, residual};
          const MixedSchedule m(length, b);
          EXPECT_EQ(static_cast<double>(m.extra_steps()), want)
              << length << " " << memory << " " << carry << " " << residual;
          EXPECT_EQ(steps_of(m, length, b, m.forward()), m.extra_steps());
          const auto least = static_cast<double>(MixedSchedule::least_extra_steps(length, b));
          EXPECT_LE(least, want);
          EXPECT_GE(least, 0.75 * want);
        }
    }
}

TEST(Mixed, TheLeastOfLongLoops) {
  for (const Line& line : lines) {
    const std::int64_t least = MixedSchedule::least_extra_steps(1000, {line.memory, 1, line.residual});
    EXPECT_LE(least, line.ours);
    EXPECT_GE(least, line.ours * 9 / 10);
    EXPECT_GE(least, MixedSchedule::least_extra_steps(1000, {line.memory + 1, 1, line.residual}));
  }
  // More states than are looked at: those that do not fit run once more.
  EXPECT_EQ(MixedSchedule::least_extra_steps(1'000'000'000, {1'000'000, 1, 1000}), 999'999'000);
  EXPECT_EQ(MixedSchedule::least_extra_steps(100, {700, 3, 7}), 0);
}

TEST(Mixed, TheLeastIsTheResidualsOfOneStep) {
  const LoopBytes b{7, 100, 7};
  const MixedSchedule m(10, b);
  EXPECT_EQ(m.extra_steps(), 45);
  EXPECT_EQ(m.forward().stops, std::vector<std::int64_t>{0});
  EXPECT_EQ(m.forward().taped, 9);
  EXPECT_EQ(steps_of(m, 10, b, m.forward()), 45);
}

TEST(Mixed, WhatFitsIsKept) {
  const MixedSchedule m(100, {700, 3, 7});
  EXPECT_EQ(m.extra_steps(), 0);
  EXPECT_EQ(m.forward().taped, 0);
  EXPECT_EQ(MixedSchedule(100, {0, 3, 0}).extra_steps(), 0);
  EXPECT_EQ(MixedSchedule(100, {70, 0, 7}).extra_steps(), 90);  // states of no bytes
}

// States kept by a sweep that did not know its length, with any number of them.
TEST(Mixed, WalksBackOverAnyStops) {
  const LoopBytes b{60, 4, 3};
  const MixedSchedule m(200, b);
  for (const std::vector<std::int64_t>& stops : {std::vector<std::int64_t>{0},
                                                 {0, 1},
                                                 {0, 199},
                                                 {0, 50, 120, 121, 198},
                                                 {0, 10, 20, 30, 40, 50, 60, 70, 80, 90}})
    EXPECT_GE(steps_of(m, 200, b, {stops, 200}), 0);
}

// Cut by reach: the work of choosing does not grow with the length, and little is lost.
TEST(Mixed, LongLoops) {
  for (const Line& line : lines) {
    const LoopBytes b{line.memory, 1, line.residual};
    const MixedSchedule quick(1000, b, 0);
    const std::int64_t steps = steps_of(quick, 1000, b, quick.forward());
    EXPECT_GE(steps, line.ours);
    EXPECT_LE(steps + 1000, (line.ours + 1000) * 104 / 100);
    EXPECT_NEAR(static_cast<double>(quick.extra_steps()), static_cast<double>(steps), 200);
  }
  for (std::int64_t length : {3000, 20000})
    for (std::int64_t memory : {4, 5, 8, 40, 300, 5000}) {
      const LoopBytes b{memory, 1, 4};
      const MixedSchedule m(length, b, 0);
      if (memory < 8) continue;
      EXPECT_LE(steps_of(m, length, b, m.forward()), extra_steps(length, memory - 4));
    }
  for (std::int64_t length : {std::int64_t{1000000}, std::int64_t{1000000000000}})
    for (std::int64_t memory : {4, 5, 40, 1000000})
      EXPECT_GT(MixedSchedule(length, {memory, 1, 4}).extra_steps(), length / 2) << length << " " << memory;
}

// Rows lie behind the states in use and beside each other, in the stacks or in a pool that is no larger than it must
// be.
TEST(Mixed, RowsLieBesideEachOther) {
  const RowPieces states{{100, 4}, {256, 8}}, pieces{{60, 4}, {200, 8}, {10, 2}};
  const std::int64_t slots = 4;
  const LoopBytes b{3000, 356, row_bytes(pieces)};
  const MixedSchedule m(50, b);
  const RowPlaces places(slots, states, pieces);
  const std::int64_t pool = places.pool_bytes(m, 50);
  EXPECT_EQ(b.residual, 272);
  EXPECT_LE(slots * 356 + pool, b.memory + 356 + 2 * 200);  // the first state, and what no piece fits into
  for (std::int64_t used = 1; used <= m.deepest() + 1; ++used) {
    std::vector<RowPlaces::Place> at;
    places.place(used, m.run(used - 1), at);
    ASSERT_EQ(std::ssize(at), 3 * m.run(used - 1));
    std::vector<std::vector<char>> taken{std::vector<char>(400), std::vector<char>(1024),
                                         std::vector<char>(static_cast<std::size_t>(pool))};
    auto take = [&](std::int64_t where, std::int64_t offset, std::int64_t bytes) {
      std::vector<char>& in = taken[static_cast<std::size_t>(where < 0 ? 2 : where)];
      ASSERT_LE(offset + bytes, std::ssize(in));
      for (std::int64_t i = offset; i < offset + bytes; ++i) EXPECT_EQ(in[static_cast<std::size_t>(i)]++, 0);
    };
    for (std::int64_t s = 0; s < used; ++s)
      for (std::size_t c = 0; c < 2; ++c)
        if (s < slots) take(static_cast<std::int64_t>(c), s * states[c].bytes, states[c].bytes);
        else take(-1, places.state(s, c).offset, states[c].bytes);
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_EQ(at[i].offset % pieces[i % 3].element, 0);
      take(at[i].stack, at[i].offset, pieces[i % 3].bytes);
    }
  }
}

TEST(Mixed, SlotsAreSorted) {
  std::vector<std::int64_t> slots{7, -1, 0, 3, 12};
  auto swap = [&](std::int64_t a, std::int64_t b) {
    std::swap(slots[static_cast<std::size_t>(a)], slots[static_cast<std::size_t>(b)]);
  };
  EXPECT_EQ(sort_slots(slots, swap), (std::vector<std::int64_t>{0, 3, 7, 12}));
  EXPECT_EQ(slots, (std::vector<std::int64_t>{0, 3, 7, 12, -1}));
}

TEST(Mixed, OneScheduleForEqualLoops) {
  const LoopBytes b{500, 16, 48};
  EXPECT_EQ(schedule_of(300, b), schedule_of(300, b));
  EXPECT_NE(schedule_of(300, b), schedule_of(301, b));
}

TEST(Mixed, Menu) {
  const std::vector<LoopPoint> menu = loop_menu(1000, 16384, 49152);
  ASSERT_GT(menu.size(), 10U);
  EXPECT_EQ(menu.front().bytes, 49152);
  EXPECT_EQ(menu.back().bytes, 49152000);
  EXPECT_EQ(menu.back().extra_steps, 0);
  for (std::size_t i = 1; i < menu.size(); ++i) {
    EXPECT_LT(menu[i - 1].bytes, menu[i].bytes);
    EXPECT_GT(menu[i - 1].extra_steps, menu[i].extra_steps);
  }
}

// Elements are aligned to their size; beside each other rows of one dtype leave nothing free.
TEST(RowPlaces, RowsLieDense) {
  EXPECT_EQ(row_bytes({{8, 8}, {8, 8}, {24, 8}}), 40);
  EXPECT_EQ(row_bytes({{8, 4}, {4, 4}}), 12);
  EXPECT_EQ(row_bytes({{1, 1}, {8, 8}, {4, 4}}), 16);
  EXPECT_EQ(row_bytes({{1, 1}, {0, 8}, {3, 1}}), 4);
  EXPECT_EQ(row_bytes({}), 0);
  const std::vector<RowPieces> all{
      {{8, 8}}, {{8, 8}, {24, 8}, {8, 8}}, {{8, 4}, {4, 4}}, {{1, 1}, {8, 8}, {4, 4}}, {{3, 1}, {1, 1}}};
  for (const RowPieces& pieces : all) {
    const std::int64_t row = row_bytes(pieces);
    const MixedSchedule m(100, {40 * row + 40, 24, row});
    const RowPlaces places(2, {{16, 8}, {8, 8}}, pieces);
    EXPECT_LE(places.pool_bytes(m, 100) + 2 * 24, m.bytes().memory + 2 * 24);
    std::vector<RowPlaces::Place> at;
    places.place(5, 7, at);
    EXPECT_EQ(places.state(4, 0).offset, 2 * 24);
    EXPECT_EQ(places.state(4, 1).offset, 2 * 24 + 16);
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_LT(at[i].stack, 0);
      EXPECT_LE(at[i].offset + pieces[i % pieces.size()].bytes, 3 * 24 + 7 * row);
    }
  }
}

// Residuals without elements: as many steps as there may be are one run, of which nothing is placed.
// What a pool takes is counted, not placed, and is what placing gives: of many rows in no time.
TEST(RowPlaces, PoolsAreWhatPlacingGives) {
  const std::int64_t length = std::numeric_limits<std::int32_t>::max();
  const std::vector<RowPieces> rows{
      {{8, 4}, {12, 4}}, {{8, 8}, {4, 4}, {4, 4}, {2, 2}}, {{100, 4}}, {{0, 8}, {3, 1}, {10, 2}}, {{200, 8}, {1, 1}}};
  for (const RowPieces& pieces : rows)
    for (const RowPieces& states : {RowPieces{{16, 8}, {4, 4}}, RowPieces{{3, 1}, {40, 8}, {0, 4}}, RowPieces{}})
      for (std::int64_t slots : {1, 3, 20})
        for (std::int64_t memory : {300, 1000, 3000}) {
          const MixedSchedule m =
              quick_schedule(length, {memory, std::max<std::int64_t>(row_bytes(states), 1), row_bytes(pieces)});
          const RowPlaces places(slots, states, pieces);
          std::int64_t want = 0;
          std::vector<RowPlaces::Place> at;
          for (std::int64_t used = 1; used <= std::max(slots, m.deepest() + 1); ++used) {
            want = std::max(want, std::max<std::int64_t>(used - slots, 0) * row_bytes(states));
            places.place(used, m.run(used - 1), at);
            for (std::size_t i = 0; i < at.size(); ++i)
              if (at[i].stack < 0) want = std::max(want, at[i].offset + pieces[i % pieces.size()].bytes);
          }
          EXPECT_EQ(places.pool_bytes(m, length), want) << slots << " " << memory << " " << pieces.size();
        }
  const auto start = std::chrono::steady_clock::now();
  for (const RowPieces& pieces : rows) {
    const RowPieces states{{16, 8}, {4, 4}};
    const MixedSchedule m = quick_schedule(length, {std::int64_t{1} << 23, 24, row_bytes(pieces)});
    EXPECT_LE(RowPlaces(100000, states, pieces).pool_bytes(m, length), (std::int64_t{1} << 23) + 1000);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(RowPlaces, RowsWithoutBytesTakeNone) {
  const std::int64_t length = std::numeric_limits<std::int32_t>::max();
  const MixedSchedule schedule(length, {0, 4, 0}, 1e6);
  EXPECT_EQ(schedule.run(0), length);
  EXPECT_EQ(RowPlaces(1, {{4, 4}, {0, 4}}, {{0, 4}}).pool_bytes(schedule, length), 0);
}

}  // namespace
}  // namespace anew::plan
