// Schedules: every step is taken back once, in order, from its own state; no more states are kept than there are slots;
// the number of steps is the known optimum, or near it where the length is not known before.
#include "plan/revolve.h"

#include <gtest/gtest.h>

#include <anew/base.h>

#include <algorithm>
#include <limits>
#include <set>

namespace anew::plan {
namespace {

struct Tally {
  std::int64_t advanced = 0, most_kept = 0;
};
Tally run(std::int64_t length, std::int64_t slots, const std::vector<std::int64_t>& stops, bool at_last) {
  Tally r;
  std::set<std::int64_t> kept(stops.begin(), stops.end());
  std::int64_t at = at_last ? length - 1 : -1, next = length - 1;
  auto count = [&] { r.most_kept = std::max(r.most_kept, static_cast<std::int64_t>(kept.size())); };
  count();
  walk_back(length, slots, stops, at_last,
            {.load =
                 [&](std::int64_t s) {
                   EXPECT_TRUE(kept.count(s));
                   at = s;
                 },
             .advance =
                 [&](std::int64_t from, std::int64_t to) {
                   EXPECT_EQ(at, from);
                   r.advanced += to - from;
                   at = to;
                 },
             .keep =
                 [&](std::int64_t s) {
                   EXPECT_EQ(at, s);
                   EXPECT_TRUE(kept.insert(s).second);
                   count();
                 },
             .drop = [&](std::int64_t s) { EXPECT_EQ(kept.erase(s), 1U); },
             .back =
                 [&](std::int64_t s) {
                   EXPECT_EQ(at, s);
                   EXPECT_EQ(s, next--);
                   at = -1;
                 }});
  EXPECT_EQ(next, -1);
  EXPECT_LE(r.most_kept, slots);
  return r;
}

TEST(Revolve, ClosedFormEqualsDynamicProgramming) {
  const int most = 120, slots = 12;
  std::vector<std::vector<std::int64_t>> p(slots + 1, std::vector<std::int64_t>(most + 1, 0));
  for (int s = 1; s <= slots; ++s)
    for (int l = 2; l <= most; ++l) {
      std::int64_t best = std::int64_t{l} * (l - 1) / 2;
      for (int m = 1; s > 1 && m < l; ++m) best = std::min(best, m + p[s][m] + p[s - 1][l - m]);
      p[s][l] = best;
      EXPECT_EQ(extra_steps(l, s), best) << l << " " << s;
      if (s == 1) continue;
      std::int64_t m = next_stop(l, s);
      EXPECT_EQ(m + p[s][m] + p[s - 1][l - m], best) << l << " " << s;
    }
}

TEST(Revolve, KnownTotals) {
  EXPECT_EQ(extra_steps(10, 3), 15);
  EXPECT_EQ(extra_steps(100, 5), 316);
  EXPECT_EQ(extra_steps(1000, 1), 499500);
  EXPECT_EQ(extra_steps(1000, 3), 12155);
  EXPECT_EQ(extra_steps(1000, 10), 3636);
  EXPECT_EQ(extra_steps(1000, 44), 1954);
  EXPECT_EQ(extra_steps(10000, 140), 19858);
  EXPECT_EQ(extra_steps(100000, 20), 534220);
  EXPECT_EQ(extra_steps(1000000, 50), 4658945);
}

TEST(Revolve, SweepAndWalkTakeTheOptimum) {
  for (std::int64_t length : {1, 2, 3, 5, 10, 17, 64, 100, 365, 1000})
    for (std::int64_t slots : {1, 2, 3, 5, 10, 44, 2000}) {
      // The sweep runs to the last step (whose own run gives the loop's result) and keeps states on its way.
      Tally r = run(length, slots, forward_stops(length, slots), true);
      EXPECT_EQ(r.advanced + length - 1, std::max(extra_steps(length, slots), length - 1)) << length << " " << slots;
    }
  Tally r = run(10000, 20, forward_stops(10000, 20), true);
  EXPECT_EQ(r.advanced + 9999, 37976);
}

TEST(Revolve, WithoutTheLastStateOneStretchIsRunAgain) {
  for (std::int64_t length : {2, 10, 100}) run(length, 3, {0}, false);
}

TEST(Revolve, OnlineIsNearTheOptimum) {
  for (int slots : {5, 10, 20, 50, 64})
    for (std::int64_t length : {1, 2, 7, 50, 200, 1000, 10000, 100000}) {
      OnlineStops online(slots);
      std::vector<std::int64_t> at(static_cast<std::size_t>(slots), -1);
      for (std::int64_t i = 0; i < length; ++i)
        if (int slot = online.place(i); slot >= 0) at[static_cast<std::size_t>(slot)] = i;
      std::erase(at, -1);
      std::sort(at.begin(), at.end());
      ASSERT_EQ(at.front(), 0);
      Tally r = run(length, slots, at, true);
      double total = static_cast<double>(r.advanced + 2 * length - 1);
      double best = static_cast<double>(std::max(extra_steps(length, slots), length - 1) + length);
      EXPECT_LE(total, 1.16 * best) << length << " " << slots;
    }
}

TEST(Revolve, OnlineWithOneSlotKeepsTheFirst) {
  OnlineStops online(1);
  EXPECT_EQ(online.place(0), 0);
  EXPECT_EQ(online.place(1), -1);
  EXPECT_EQ(online.place(2), -1);
}

// What a branch that was not taken leaves (zeros), or another loop's numbers, is no list of kept states.
TEST(Rewind, RefusesStatesOfNoLoop) {
  auto fits = [](const std::vector<std::int64_t>& steps, std::int64_t length) {
    try {
      Rewind rewind(length, steps);
      return true;
    } catch (const Error& e) {
      EXPECT_STREQ(e.what(), "[unwind] the kept states fit no loop");
      return false;
    }
  };
  EXPECT_TRUE(fits({0, 5, 9, -1}, 10));
  EXPECT_TRUE(fits({7, 0, -1}, 8));
  EXPECT_FALSE(fits({0, 0, 0}, 3));
  EXPECT_FALSE(fits({1, 2}, 3));
  EXPECT_FALSE(fits({0, 10}, 10));
  EXPECT_FALSE(fits({-1, -1}, 4));
  EXPECT_FALSE(fits({0, -2}, 4));
}

// A walk back over what a Recorder kept finds the state of every step in the slot it is told to load.
TEST(Rewind, FindsWhatWasRecorded) {
  for (bool known : {true, false})
    for (std::int64_t length = 0; length < 40; ++length)
      for (std::int64_t slots = 1; slots < 9; ++slots) {
        Recorder recorder(known ? length : -1, slots);
        std::vector<std::int64_t> in_slot(static_cast<std::size_t>(slots), -1);  // step of the state in each
        for (std::int64_t i = 0; i < length; ++i)
          if (std::int64_t s = recorder.slot_for(i); s >= 0) in_slot[static_cast<std::size_t>(s)] = i;
        EXPECT_TRUE(std::equal(in_slot.begin(), in_slot.end(), recorder.steps().begin(), recorder.steps().end()));
        std::int64_t at = -1, next = length;
        const Rewind::Moves moves{.load = [&](std::int64_t s) { at = in_slot[static_cast<std::size_t>(s)]; },
                                  .advance =
                                      [&](std::int64_t from, std::int64_t to) {
                                        EXPECT_EQ(at, from);
                                        at = to;
                                      },
                                  .store = [&](std::int64_t s) { in_slot[static_cast<std::size_t>(s)] = at; },
                                  .step =
                                      [&](std::int64_t i) {
                                        EXPECT_EQ(at, i);
                                        EXPECT_EQ(i, --next);
                                      }};
        (known ? Rewind(length, slots) : Rewind(length, in_slot)).back(moves);
        EXPECT_EQ(next, 0);
      }
}

TEST(Rewind, CountsSteps) {
  EXPECT_EQ(count_steps(-2, 3), 5);
  EXPECT_EQ(count_steps(3, 3), 0);
  EXPECT_EQ(count_steps(4, 3), 0);
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(count_steps(least, most), most);
}

}  // namespace
}  // namespace anew::plan
