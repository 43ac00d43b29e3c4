// Ways to place pieces, from cheap to thorough; the first that meets the lower bound ends the search:
//   in order of time, as an allocator would (best fit), forwards and backwards;
//   in some order at the lowest gap among the pieces that live at the same time, then again and again with the pieces
//   that stick out moved nearer to the front of the order;
//   the best so far, pressed below a limit: what sticks out displaces others, which displace others;
//   where too many pieces live together for these: in some order on top of all that is there (a skyline).
// The first and the last are O(n log n). The others cost as much as there are pairs that live together, and are
// bounded.
#include "plan/offsets.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

namespace anew::plan {
namespace {

using Order = std::vector<int>;
using Offsets = std::vector<std::size_t>;  // in units of `alignment`

// Pairs that live together beyond which gaps are not looked for, comparisons that may be spent in all, and tries of an
// order.
constexpr std::size_t most_pairs = 2'000'000;
constexpr std::size_t most_work = 10'000'000, work_per_piece = 20'000;
constexpr int most_rounds = 200;

// A piece: its lifetime in ranks of the distinct begins, which overlap exactly where the steps do; its size in units.
struct Piece {
  int begin, end;
  std::size_t units;
  std::size_t length() const { return end - begin + 1; }
};
struct Problem {
  std::vector<Piece> pieces;
  Order used;  // pieces that have bytes
  int steps = 0;
  std::vector<std::size_t> live;  // units, by step
  std::size_t bound = 0;          // the most of them
};

Problem problem_of(std::span<const Interval> intervals) {
  Problem p;
  std::vector<std::int64_t> begins;
  for (const Interval& i : intervals)
    if (i.bytes) begins.push_back(i.begin);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  p.steps = static_cast<int>(begins.size());
  // The rank of the last begin that is not after `step`.
  auto rank = [&](std::int64_t step) {
    return static_cast<int>(std::upper_bound(begins.begin(), begins.end(), step) - begins.begin()) - 1;
  };
  std::vector<std::size_t> starts(begins.size() + 1), stops(begins.size() + 1);
  for (const Interval& i : intervals) {
    p.pieces.push_back({0, 0, (i.bytes + alignment - 1) / alignment});
    if (!i.bytes) continue;
    Piece& piece = p.pieces.back();
    piece.begin = rank(i.begin);
    piece.end = std::max(piece.begin, rank(i.end));
    p.used.push_back(static_cast<int>(p.pieces.size()) - 1);
    starts[piece.begin] += piece.units;
    stops[piece.end + 1] += piece.units;
  }
  std::size_t live = 0;
  for (std::size_t step = 0; step < begins.size(); ++step) {
    live = live + starts[step] - stops[step];
    p.live.push_back(live);
    p.bound = std::max(p.bound, live);
  }
  return p;
}

// ---- in order of time

// Free stretches below `top`, found by offset and by size.
class FreeList {
 public:
  std::size_t take(std::size_t units) {
    auto fit = by_size_.lower_bound({units, 0});
    if (fit == by_size_.end()) {
      std::size_t start = top_;
      if (auto last = by_offset_.rbegin(); last != by_offset_.rend() && last->first + last->second == top_) {
        start = last->first;
        erase(start, last->second);
      }
      top_ = start + units;
      return start;
    }
    auto [size, start] = *fit;
    erase(start, size);
    if (size > units) insert(start + units, size - units);
    return start;
  }
  void give(std::size_t start, std::size_t units) {
    auto next = by_offset_.lower_bound(start);
    if (next != by_offset_.end() && next->first == start + units) {
      units += next->second;
      erase(next->first, next->second);
    }
    if (auto before = by_offset_.lower_bound(start); before != by_offset_.begin()) {
      const auto [first, size] = *std::prev(before);
      if (first + size == start) {
        start = first;
        units += size;
        erase(first, size);
      }
    }
    insert(start, units);
  }

 private:
  void insert(std::size_t start, std::size_t units) {
    by_offset_.emplace(start, units);
    by_size_.emplace(units, start);
  }
  void erase(std::size_t start, std::size_t units) {
    by_offset_.erase(start);
    by_size_.erase({units, start});
  }
  std::size_t top_ = 0;
  std::map<std::size_t, std::size_t> by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
};

Offsets in_time(const Problem& p, bool backwards) {
  std::vector<Order> begins(p.steps), ends(p.steps);
  for (int i : p.used) {
    const Piece& piece = p.pieces[i];
    int begin = backwards ? p.steps - 1 - piece.end : piece.begin;
    int end = backwards ? p.steps - 1 - piece.begin : piece.end;
    begins[begin].push_back(i);
    ends[end].push_back(i);
  }
  Offsets offsets(p.pieces.size());
  FreeList free;
  for (int step = 0; step < p.steps; ++step) {
    Order& now = begins[step];
    std::sort(now.begin(), now.end(),
              [&](int a, int b) { return std::pair(p.pieces[b].length(), a) < std::pair(p.pieces[a].length(), b); });
    for (int i : now) offsets[i] = free.take(p.pieces[i].units);
    for (int i : ends[step]) free.give(offsets[i], p.pieces[i].units);
  }
  return offsets;
}

// ---- on top of what is there

// The height at every step: largest over a range, and a range set to one height that is not below what it holds.
class Skyline {
 public:
  explicit Skyline(int steps)
      : leaves_(std::bit_ceil(static_cast<std::size_t>(std::max(steps, 1)))), most_(2 * leaves_), set_(2 * leaves_) {}
  std::size_t most(int begin, int end) const { return most(1, 0, leaves_, begin, end + 1); }
  void raise(int begin, int end, std::size_t height) { raise(1, 0, leaves_, begin, end + 1, height); }

 private:
  std::size_t most(std::size_t node, std::size_t lo, std::size_t hi, std::size_t begin, std::size_t end) const {
    if (begin >= hi || end <= lo) return 0;
    if (begin <= lo && hi <= end) return most_[node];
    std::size_t middle = (lo + hi) / 2;
    return std::max({set_[node], most(2 * node, lo, middle, begin, end), most(2 * node + 1, middle, hi, begin, end)});
  }
  void raise(std::size_t node, std::size_t lo, std::size_t hi, std::size_t begin, std::size_t end, std::size_t height) {
    if (begin >= hi || end <= lo) return;
    most_[node] = std::max(most_[node], height);
    if (begin <= lo && hi <= end) return void(set_[node] = std::max(set_[node], height));
    std::size_t middle = (lo + hi) / 2;
    raise(2 * node, lo, middle, begin, end, height);
    raise(2 * node + 1, middle, hi, begin, end, height);
  }
  std::size_t leaves_;
  std::vector<std::size_t> most_;  // over the node's range
  std::vector<std::size_t> set_;   // everywhere in the node's range
};

Offsets on_top(const Problem& p, const Order& order) {
  Offsets offsets(p.pieces.size());
  Skyline skyline(p.steps);
  for (int i : order) {
    const Piece& piece = p.pieces[i];
    offsets[i] = skyline.most(piece.begin, piece.end);
    skyline.raise(piece.begin, piece.end, offsets[i] + piece.units);
  }
  return offsets;
}

// ---- into gaps

// Whom each piece lives together with.
struct Neighbours {
  std::vector<std::size_t> first;
  Order list;
  std::span<const int> of(int i) const { return std::span(list).subspan(first[i], first[i + 1] - first[i]); }
};
// False where there are too many pairs.
bool find_neighbours(const Problem& p, Neighbours& n) {
  std::vector<std::size_t> begun(p.steps), ended(p.steps + 1);  // by the end of a step; before it
  for (int i : p.used) ++begun[p.pieces[i].begin], ++ended[p.pieces[i].end + 1];
  std::partial_sum(begun.begin(), begun.end(), begun.begin());
  std::partial_sum(ended.begin(), ended.end(), ended.begin());
  n.first.assign(p.pieces.size() + 1, 0);
  for (int i : p.used) n.first[i + 1] = begun[p.pieces[i].end] - ended[p.pieces[i].begin] - 1;
  std::partial_sum(n.first.begin(), n.first.end(), n.first.begin());
  if (n.first.back() > 2 * most_pairs) return false;
  Order by_begin = p.used, live;
  std::sort(by_begin.begin(), by_begin.end(),
            [&](int a, int b) { return std::pair(p.pieces[a].begin, a) < std::pair(p.pieces[b].begin, b); });
  n.list.resize(n.first.back());
  std::vector<std::size_t> next(n.first.begin(), n.first.end() - 1);
  for (int i : by_begin) {
    std::erase_if(live, [&](int j) { return p.pieces[j].end < p.pieces[i].begin; });
    for (int j : live) {
      n.list[next[i]++] = j;
      n.list[next[j]++] = i;
    }
    live.push_back(i);
  }
  return true;
}

constexpr std::size_t nowhere = ~std::size_t{0};
// The first `known` of the order have their offsets already. Nothing where the work is spent.
Offsets into_gaps(const Problem& p, const Neighbours& neighbours, const Order& order, std::size_t& work,
                  std::size_t known = 0, Offsets offsets = {}) {
  offsets.resize(p.pieces.size());
  for (std::size_t k = known; k < order.size(); ++k) offsets[order[k]] = nowhere;
  std::vector<std::pair<std::size_t, std::size_t>> taken;
  for (std::size_t k = known; k < order.size(); ++k) {
    const int i = order[k];
    taken.clear();
    for (int j : neighbours.of(i))
      if (offsets[j] != nowhere) taken.emplace_back(offsets[j], offsets[j] + p.pieces[j].units);
    std::size_t cost = neighbours.of(i).size() + taken.size() * std::bit_width(taken.size());
    if (cost > work) return {};
    work -= cost;
    std::sort(taken.begin(), taken.end());
    std::size_t start = 0;
    for (auto [from, to] : taken) {
      if (from >= start + p.pieces[i].units) break;
      start = std::max(start, to);
    }
    offsets[i] = start;
  }
  return offsets;
}

std::size_t height(const Problem& p, const Offsets& offsets) {
  std::size_t h = 0;
  for (int i : p.used) h = std::max(h, offsets[i] + p.pieces[i].units);
  return h;
}

// Keeps the best; `done` once it cannot be better.
struct Search {
  const Problem& problem;
  Offsets best = {};
  std::size_t best_height = nowhere;
  bool done() const { return best_height == problem.bound; }
  std::size_t offer(Offsets offsets) {
    std::size_t h = height(problem, offsets);
    if (h < best_height) {
      best_height = h;
      best = std::move(offsets);
    }
    return h;
  }
};

// Moves what reaches above `limit` below it, and then whatever that displaced, and so on: always to where the least is
// displaced, and what has been displaced often weighs more. Nothing where the work is spent before all fit.
Offsets pressed_below(const Problem& p, const Neighbours& neighbours, Offsets offsets, std::size_t limit,
                      std::size_t& work) {
  std::vector<std::size_t> times(p.pieces.size(), 1);
  std::priority_queue<std::pair<std::size_t, int>> outside;  // the largest first
  for (int i : p.used)
    if (offsets[i] + p.pieces[i].units > limit) {
      outside.emplace(p.pieces[i].units, i);
      offsets[i] = nowhere;
    }
  struct Change {
    std::size_t start, cost;
    bool begins;
    bool operator<(const Change& b) const { return std::tie(start, begins) < std::tie(b.start, b.begins); }
  };
  std::vector<Change> changes;
  while (!outside.empty()) {
    const auto [units, i] = outside.top();
    outside.pop();
    if (units > limit) return {};
    // A neighbour is in the way of starts in (its offset - units, its end).
    changes.clear();
    std::size_t cost = 0;
    for (int j : neighbours.of(i)) {
      const std::size_t start = offsets[j];
      if (start == nowhere) continue;
      const std::size_t each = p.pieces[j].units * times[j];
      if (start < units) cost += each;
      else changes.push_back({start - units + 1, each, true});
      changes.push_back({start + p.pieces[j].units, each, false});
    }
    const std::size_t steps = neighbours.of(i).size() + changes.size() * std::bit_width(changes.size());
    if (steps > work) return {};
    work -= steps;
    std::sort(changes.begin(), changes.end());
    std::size_t best = cost, place = 0;
    for (const Change& c : changes) {
      if (best == 0 || c.start + units > limit) break;
      cost = c.begins ? cost + c.cost : cost - c.cost;
      if (cost < best) {
        best = cost;
        place = c.start;
      }
    }
    offsets[i] = place;
    for (int j : neighbours.of(i)) {
      const std::size_t start = offsets[j];
      if (start == nowhere || start >= place + units || start + p.pieces[j].units <= place) continue;
      offsets[j] = nowhere;
      ++times[j];
      outside.emplace(p.pieces[j].units, j);
    }
  }
  return offsets;
}

// Pieces that reach the height come nearer to the front, so that they are placed before those they lie on. How much of
// the front stays as it was.
std::size_t bring_forward(const Problem& p, const Offsets& offsets, std::size_t height, Order& order) {
  std::size_t same = order.size();
  for (std::size_t k = 0; k < order.size(); ++k) {
    const int i = order[k];
    if (offsets[i] + p.pieces[i].units < height) continue;
    same = std::min(same, k / 2);
    auto from = order.begin() + static_cast<std::ptrdiff_t>(k);
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(k / 2), from, from + 1);
  }
  return same;
}

std::vector<Order> orders_of(const Problem& p) {
  Skyline live(p.steps);
  for (int step = 0; step < p.steps; ++step) live.raise(step, step, p.live[step]);
  std::vector<std::size_t> crowd(p.pieces.size());  // the most that is live while a piece is
  for (int i : p.used) crowd[i] = live.most(p.pieces[i].begin, p.pieces[i].end);
  std::vector<Order> orders;
  auto add = [&](auto key) {  // the largest key first, else as given
    std::vector<std::pair<decltype(key(p.pieces[0], crowd[0])), int>> keys;
    for (int i : p.used) keys.emplace_back(key(p.pieces[i], crowd[i]), -i);
    std::sort(keys.begin(), keys.end(), std::greater<>());
    orders.emplace_back();
    for (const auto& [k, i] : keys) orders.back().push_back(-i);
  };
  add([](const Piece& x, std::size_t crowded) { return std::pair(crowded, x.units); });
  add([](const Piece& x, std::size_t crowded) { return std::pair(crowded, x.length()); });
  add([](const Piece& x, std::size_t) { return x.length(); });
  add([](const Piece& x, std::size_t) { return x.length() * x.units; });
  add([](const Piece& x, std::size_t) { return x.units; });
  return orders;
}

void search(Search& s) {
  const Problem& p = s.problem;
  for (bool backwards : {false, true}) {
    s.offer(in_time(p, backwards));
    if (s.done()) return;
  }
  std::vector<Order> orders = orders_of(p);
  Neighbours neighbours;
  if (!find_neighbours(p, neighbours)) {
    for (std::size_t i = 0; i < orders.size() && !s.done(); ++i) s.offer(on_top(p, orders[i]));
    return;
  }
  std::size_t work = std::min(most_work, work_per_piece * p.used.size());
  struct Start {
    std::size_t height, number;
    Order order;
    Offsets offsets;
  };
  std::vector<Start> starts;
  for (Order& order : orders) {
    Offsets offsets = into_gaps(p, neighbours, order, work);
    if (offsets.empty()) break;
    std::size_t h = s.offer(offsets);
    if (s.done()) return;
    starts.push_back({h, starts.size(), std::move(order), std::move(offsets)});
  }
  std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) {
    return std::pair(a.height, a.number) < std::pair(b.height, b.number);
  });
  for (Start& start : starts) {
    std::size_t share = work / 4;
    work -= share;
    for (int round = 0; round < most_rounds && !start.offsets.empty(); ++round) {
      std::size_t same = bring_forward(p, start.offsets, start.height, start.order);
      start.offsets = into_gaps(p, neighbours, start.order, share, same, std::move(start.offsets));
      if (!start.offsets.empty()) start.height = s.offer(start.offsets);
      if (s.done()) return;
    }
    work += share;
  }
  // Pressed below the bound itself; then half way to it, as long as there is a way.
  for (std::size_t limit = p.bound; limit < s.best_height; limit = (limit + s.best_height + 1) / 2) {
    std::size_t share = work / 3;
    work -= share;
    Offsets offsets = pressed_below(p, neighbours, s.best, limit, share);
    work += share;
    if (offsets.empty()) continue;
    s.offer(std::move(offsets));
    limit = p.bound;
  }
}

}  // namespace

Placement place(std::span<const Interval> intervals) {
  Problem p = problem_of(intervals);
  Placement result{Offsets(intervals.size()), 0};
  if (p.used.empty()) return result;
  Search s{p};
  search(s);
  for (int i : p.used) {
    result.offsets[i] = s.best[i] * alignment;
    result.bytes = std::max(result.bytes, result.offsets[i] + intervals[i].bytes);
  }
  return result;
}

std::size_t lower_bound(std::span<const Interval> intervals) { return problem_of(intervals).bound * alignment; }

}  // namespace anew::plan
