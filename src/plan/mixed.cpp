// Schedules of loops within a number of bytes.
#include "plan/mixed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/lru.h"
#include "base/saturate.h"
#include "plan/revolve.h"

namespace anew::plan {
namespace {

constexpr std::int64_t most_states = 4096, most_reaches = 1 << 20;

// Rows that fit above `depth` states; of nothing, any number.
std::int64_t rows_above(const LoopBytes& b, std::int64_t depth) {
  const std::int64_t left = b.memory - depth * b.carry;
  if (left < b.residual) return 0;
  return b.residual == 0 ? std::numeric_limits<std::int64_t>::max() : left / b.residual;
}

}  // namespace

MixedSchedule::MixedSchedule(std::int64_t length, const LoopBytes& bytes, double work)
    : length_(length), bytes_(bytes) {
  if (length <= run(0)) return;
  // No sweep keeps more states than it takes for all steps to be run once more at most: fewer leave more residuals.
  std::int64_t reached = run(0), spare = 2;
  while (deepest_ < most_states && run(deepest_ + 1) > 0 && (reached < length || spare-- > 0))
    reached += run(++deepest_);
  const auto l = static_cast<double>(length);
  if (l * l / 2 * static_cast<double>(deepest_ + 1) <= work) {
    auto fits = [bytes](std::int64_t n, std::int64_t depth) {
      return rows_above(bytes, depth) >= n ? 0 : CutTable::never;
    };
    table_ = std::make_shared<const CutTable>(CutTable::Problem{length, deepest_, 0, fits, fits}, work);
    return;
  }
  reach_.resize(static_cast<std::size_t>(deepest_) + 1);
  const std::int64_t most_times = most_reaches / (deepest_ + 1);
  for (std::int64_t times = 0; times < most_times && (times == 0 || reach_[0].back() < length); ++times)
    for (std::int64_t depth = deepest_; depth >= 0; --depth) {
      const std::int64_t before = times == 0 ? 0 : reach(depth, times - 1);
      const std::int64_t behind = times == 0 ? run(depth) : std::max(run(depth), reach(depth + 1, times));
      reach_[static_cast<std::size_t>(depth)].push_back(std::min(length, before + behind));
    }
}

std::int64_t MixedSchedule::run(std::int64_t depth) const { return std::min(length_, rows_above(bytes_, depth)); }

// The longest stretch above `depth` states that goes back with every step run at most `times` times more.
std::int64_t MixedSchedule::reach(std::int64_t depth, std::int64_t times) const {
  if (times < 0 || depth > deepest_) return 0;
  return reach_[static_cast<std::size_t>(depth)][static_cast<std::size_t>(times)];
}
std::int64_t MixedSchedule::times_for(std::int64_t length, std::int64_t depth) const {
  const std::vector<std::int64_t>& row = reach_[static_cast<std::size_t>(depth)];
  return std::lower_bound(row.begin(), row.end(), length) - row.begin();
}

// As revolve: steps before the cut have one more run behind them, and so have one less to come.
Cut MixedSchedule::cut_by_reach(std::int64_t length, std::int64_t depth) const {
  const Cut run_behind{length - run(depth), false};
  if (depth >= deepest_) return run_behind;
  const std::int64_t times = times_for(length, depth);
  if (times == std::ssize(reach_[0])) return run_behind;
  const std::int64_t last = std::min(reach(depth, times - 1), length - reach(depth + 1, times - 1));
  if (length - last <= run(depth)) return run_behind;
  return {std::max<std::int64_t>(last, 1), true};
}

Cut MixedSchedule::cut(std::int64_t length, std::int64_t depth) const {
  if (length <= run(depth)) return {0, false};
  // Deeper than the table: states that a sweep of unknown length kept.
  if (is_exact() && depth <= deepest_) return table_->cut(length, depth);
  return is_exact() ? Cut{length - run(depth), false} : cut_by_reach(length, depth);
}

// By how often steps are run at least: those before `taped` once, those that `times` runs do not reach once more.
std::int64_t MixedSchedule::extra_steps() const {
  if (length_ <= run(0)) return 0;
  if (is_exact()) return static_cast<std::int64_t>(table_->cost(length_, 0));
  if (deepest_ == 0 || reach_[0].back() < length_)
    return saturating_mul(run(0), plan::extra_steps((length_ + run(0) - 1) / run(0), 1));
  std::int64_t steps = forward().taped;
  for (std::size_t times = 1; times < reach_[0].size(); ++times)
    steps = saturating_add(steps, length_ - reach_[0][times]);
  return steps;
}

std::int64_t MixedSchedule::least_extra_steps(std::int64_t length, const LoopBytes& bytes) {
  const MixedSchedule s(length, bytes, 0);
  std::int64_t steps = length - s.run(0);
  if (steps == 0 || s.deepest_ == most_states) return steps;  // more states than are looked at might reach further
  for (std::size_t times = 1; times < s.reach_[0].size(); ++times)
    steps = saturating_add(steps, length - s.reach_[0][times]);
  return steps;
}

MixedSchedule::Forward MixedSchedule::forward() const {
  Forward f{{0}, 0};
  for (std::int64_t left = length_;;) {
    const Cut c = cut(left, std::ssize(f.stops) - 1);
    f.taped += c.steps;
    left -= c.steps;
    if (!c.keeps) return f;
    f.stops.push_back(f.taped);
  }
}

std::shared_ptr<const MixedSchedule> schedule_of(std::int64_t length, const LoopBytes& bytes) {
  static std::mutex& mutex = *new std::mutex;
  static Lru<std::shared_ptr<const MixedSchedule>>& known = *new Lru<std::shared_ptr<const MixedSchedule>>(64);
  std::size_t hash = static_cast<std::size_t>(length);
  for (std::int64_t n : {bytes.memory, bytes.carry, bytes.residual}) hash = hash * 31 + static_cast<std::size_t>(n);
  auto same = [&](const auto& s) { return s->length() == length && s->bytes() == bytes; };
  {
    const std::lock_guard lock(mutex);
    if (auto* found = known.find(hash, same)) return *found;
  }
  auto made = std::make_shared<const MixedSchedule>(length, bytes);
  const std::lock_guard lock(mutex);
  known.add(hash, made);
  return made;
}
MixedSchedule quick_schedule(std::int64_t length, const LoopBytes& bytes) { return {length, bytes, 2e5}; }

namespace {

std::int64_t rounded_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

// By falling alignment: beside each other, only the last has a gap behind it.
std::vector<std::size_t> by_alignment(const RowPieces& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].element > pieces[b].element; });
  return order;
}

}  // namespace

std::int64_t row_bytes(const RowPieces& pieces) {
  std::int64_t bytes = 0, most = 1;
  for (const RowPiece& p : pieces) {
    if (p.bytes == 0) continue;
    bytes = saturating_add(bytes, p.bytes);
    most = std::max(most, p.element);
  }
  return bytes > std::numeric_limits<std::int64_t>::max() - most ? bytes : rounded_up(bytes, most);
}

RowPlaces::RowPlaces(std::int64_t slots, RowPieces states, RowPieces pieces)
    : slots_(slots), states_(std::move(states)), pieces_(std::move(pieces)), order_(by_alignment(pieces_)) {
  state_at_.resize(states_.size());
  std::int64_t offset = 0;
  for (std::size_t i : by_alignment(states_)) {
    state_at_[i] = offset;
    offset += states_[i].bytes;
  }
}

RowPlaces::Place RowPlaces::state(std::int64_t slot, std::size_t carry) const {
  return {-1, begin(slot) + state_at_[carry]};
}

std::int64_t RowPlaces::begin(std::int64_t used) const {
  return std::max<std::int64_t>(used - slots_, 0) * row_bytes(states_);
}

void RowPlaces::place(std::int64_t used, std::int64_t rows, std::vector<Place>& out) const {
  std::vector<std::int64_t> at;  // the free end of each stack
  for (const RowPiece& state : states_) at.push_back(std::min(used, slots_) * state.bytes);
  std::int64_t pool = begin(used);
  out.resize(static_cast<std::size_t>(rows) * pieces_.size());
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
    for (std::size_t i : order_) {
      const auto [piece, to] = pieces_[i];
      if (piece == 0) {
        out[r * pieces_.size() + i] = {-1, begin(used)};
        continue;
      }
      std::size_t k = 0;
      while (k < at.size() && rounded_up(at[k], to) + piece > slots_ * states_[k].bytes) ++k;
      std::int64_t& end = k < at.size() ? at[k] : pool;
      end = rounded_up(end, to);
      out[r * pieces_.size() + i] = {k < at.size() ? static_cast<std::int64_t>(k) : -1, end};
      end += piece;
    }
}

// As `place`, but where whole rows lie behind each other they are counted: what is placed is the rows at the ends of
// stacks.
std::int64_t RowPlaces::pool_end(std::int64_t used, std::int64_t rows) const {
  std::int64_t sum = 0, align = 1;
  for (const RowPiece& p : pieces_) {
    sum += p.bytes;
    if (p.bytes) align = std::max(align, p.element);
  }
  const std::int64_t row = rounded_up(sum, align);
  std::vector<std::int64_t> at;
  for (const RowPiece& state : states_) at.push_back(std::min(used, slots_) * state.bytes);
  std::int64_t pool = begin(used);
  auto fits = [&](std::size_t k, const RowPiece& p) {
    return rounded_up(at[k], p.element) + p.bytes <= slots_ * states_[k].bytes;
  };
  std::size_t front = 0;  // stacks before it have no room for any piece
  while (rows > 0) {
    auto here = [&](const RowPiece& p) { return p.bytes > 0 && fits(front, p); };
    while (front < at.size() && std::none_of(pieces_.begin(), pieces_.end(), here)) ++front;
    const bool in_pool = front == at.size();
    const std::int64_t start = rounded_up(in_pool ? pool : at[front], align);
    const std::int64_t whole = in_pool ? rows : std::min(rows, (slots_ * states_[front].bytes - start) / row);
    if (whole > 0) {
      (in_pool ? pool : at[front]) = saturating_add(saturating_add(start, saturating_mul(whole - 1, row)), sum);
      rows -= whole;
      continue;
    }
    for (std::size_t i : order_) {
      if (pieces_[i].bytes == 0) continue;
      std::size_t k = front;
      while (k < at.size() && !fits(k, pieces_[i])) ++k;
      std::int64_t& end = k < at.size() ? at[k] : pool;
      end = rounded_up(end, pieces_[i].element) + pieces_[i].bytes;
    }
    --rows;
  }
  return pool;
}

std::int64_t RowPlaces::pool_bytes(const MixedSchedule& schedule, std::int64_t length) const {
  // Rows without bytes lie anywhere, and no schedule says how many there are.
  if (std::all_of(pieces_.begin(), pieces_.end(), [](const RowPiece& p) { return p.bytes == 0; })) length = 0;
  std::int64_t bytes = 0;
  for (std::int64_t used = 1; used <= std::max(slots_, schedule.deepest() + 1); ++used)
    bytes = std::max(bytes, pool_end(used, std::min(length, schedule.run(used - 1))));
  return bytes;
}

std::vector<LoopPoint> loop_menu(std::int64_t length, std::int64_t carry, std::int64_t residual) {
  constexpr double work = 1e6;
  constexpr int points = 40;
  std::vector<LoopPoint> menu;
  const double least = static_cast<double>(residual), most = least * static_cast<double>(length);
  for (int i = 0; i <= points; ++i) {
    const double share = static_cast<double>(i) / points;
    const std::int64_t bytes = i == points
                                   ? length * residual
                                   : static_cast<std::int64_t>(least * std::pow(most / std::max(least, 1.0), share));
    const std::int64_t steps = MixedSchedule(length, {std::max(bytes, residual), carry, residual}, work).extra_steps();
    if (menu.empty() || steps < menu.back().extra_steps) menu.push_back({std::max(bytes, residual), steps});
  }
  return menu;
}

void walk_back(const MixedSchedule& schedule, std::int64_t length, const MixedSchedule::Forward& kept,
               const MixedMoves& moves) {
  struct Stretch {
    std::int64_t begin, length;
  };
  // Stretches lie inside each other as deep as states are kept: that of the last one is worked on.
  std::vector<Stretch> open;
  for (std::int64_t s : kept.stops) {
    if (!open.empty()) open.back().length = s - open.back().begin;
    open.push_back({s, length - s});
  }
  auto rewind = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = to; i-- > from;) moves.back(i, i - from, std::ssize(open));
  };
  rewind(kept.taped, length);
  open.back().length = kept.taped - open.back().begin;
  while (!open.empty()) {
    Stretch& s = open.back();
    const std::int64_t slot = std::ssize(open) - 1, end = s.begin + s.length;
    if (s.length == 0) {
      open.pop_back();
      continue;
    }
    const Cut c = schedule.cut(s.length, slot);
    const std::int64_t at = s.begin + c.steps;
    moves.load(slot);
    if (c.steps > 0) moves.advance(s.begin, at);
    s.length = c.steps;
    if (c.keeps) {
      moves.store(slot + 1);
      open.push_back({at, end - at});
      // The state at hand is the start of the new stretch; its next move loads it all the same.
    } else {
      moves.tape(at, end, std::ssize(open));
      rewind(at, end);
    }
  }
}

std::vector<std::int64_t> sort_slots(std::vector<std::int64_t> steps,
                                     const std::function<void(std::int64_t, std::int64_t)>& swap) {
  std::vector<std::int64_t> sorted;
  for (std::int64_t s : steps)
    if (s >= 0) sorted.push_back(s);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto at = static_cast<std::size_t>(std::find(steps.begin(), steps.end(), sorted[i]) - steps.begin());
    if (at == i) continue;
    swap(static_cast<std::int64_t>(i), static_cast<std::int64_t>(at));
    std::swap(steps[i], steps[at]);
  }
  return sorted;
}

}  // namespace anew::plan
