// Row kernels. Neighbouring kernels that go over the same rows (softmax: the largest of a row, exponentials, their sum,
// quotients) become one step that runs them all on a tile of rows before it goes to the next: what they pass on stays
// in the cache, and what nobody else reads never exists as a whole. Rows are independent of each other, so every
// element is computed as before. Conditions: a kernel reduces no variable that counts rows and does not ask for a row's
// number; what is made by one and read by another belongs to the same row in both. Calls that can be cut along leading
// axes of their result (batched products) take part where what they hand on, or are handed, then never exists as a
// whole (the scores of attention), and only where that takes no more memory than one after the other.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "passes/lowered.h"
#include "passes/pipeline.h"
#include "passes/tile_parts.h"
#include "plan/offsets.h"
#include "trace/trace.h"

namespace anew::passes {
namespace {

constexpr std::int64_t most_row_elements = 1 << 16, most_lanes = 8;
TileLimits limits;  // changed by tests only

std::int64_t product(std::span<const std::int64_t> n) {
  return std::accumulate(n.begin(), n.end(), std::int64_t{1}, std::multiplies<>());
}

template <class F>
void for_each_access(const Step& s, int operand, F f) {
  for (const loops::Access& a : s.kernel().accesses)
    if (a.operand == operand) f(a);
  for (const loops::Store& t : s.kernel().stores)
    if (t.to.operand == operand) f(t.to);
}

class Tiling {
 public:
  Tiling(Body& body, bool calls) : b_(body), writers_(body.storages.size(), 0), with_calls_(calls) {
    if (calls) move_to_readers(body);
    spans_ = spans_of(body);
    for (const Step& s : body.steps)
      for (ValueId v : s.out) ++writers_[value(v).storage];
  }

  void run() {
    std::vector<Step> steps, narrow = b_.steps;
    for (Step& s : b_.steps)
      if (s.is_elementwise()) s.kernel() = widened(s.kernel());
    for (std::size_t i = 0; i < b_.steps.size();) {
      Step tiles, rest;
      std::size_t end = group_from(i, tiles);
      if (end == i + 1) end = blocks_from(i, tiles, rest);
      steps.push_back(end > i + 1 ? std::move(tiles) : std::move(narrow[i]));
      if (!rest.out.empty()) steps.push_back(std::move(rest));
      i = end;
    }
    b_.steps = std::move(steps);
  }

 private:
  const Value& value(ValueId v) const { return b_.values[v]; }
  const Step& step(std::size_t i) const { return b_.steps[i]; }

  // Variables of a step that may count rows, and all of them.
  Numbers rows_of(const Step& s) const {
    if (s.is<Kernel>()) return passes::rows_of(s.kernel());
    const Call* call = with_calls_ ? s.as<Call>() : nullptr;
    if (!call || call->cuts.empty()) return {};
    const Numbers all = extents(s);
    return {all.begin(), all.begin() + std::ssize(call->cuts)};
  }
  Numbers extents(const Step& s) const {
    if (s.is<Kernel>()) return s.kernel().extents;
    const Shape& shape = value(s.out[0]).type.shape;
    return {shape.begin(), shape.end()};
  }
  bool has_calls(std::size_t i, std::size_t end) const {
    return std::any_of(b_.steps.begin() + static_cast<std::ptrdiff_t>(i),
                       b_.steps.begin() + static_cast<std::ptrdiff_t>(end), [](const Step& s) { return s.is<Call>(); });
  }

  // Makes tiles of the longest group of steps from i on that gives some. Its end; i + 1 where there is none.
  std::size_t group_from(std::size_t i, Step& to) {
    std::vector<std::pair<std::size_t, Numbers>> ends = ends_from(i);
    for (; !ends.empty(); ends.pop_back()) {
      const std::size_t end = ends.back().first;
      rows_ = ends.back().second;
      if (build(i, end, to)) return end;
      if (!has_calls(i, end)) break;
    }
    return i + 1;
  }

  // Where groups that start at i could end, and what counts their rows.
  std::vector<std::pair<std::size_t, Numbers>> ends_from(std::size_t i) {
    std::vector<std::pair<std::size_t, Numbers>> ends;
    rows_ = rows_of(step(i));
    made_.clear();
    while (!rows_.empty() && !legal(step(i), rows_.size())) rows_.pop_back();
    if (rows_.empty()) return ends;
    bool reduces = step(i).is_reduction(), kernels = step(i).is<Kernel>();
    note_made(step(i));
    for (std::size_t end = i + 1; end < b_.steps.size(); ++end) {
      const Step& next = step(end);
      Numbers rows = rows_of(next);
      auto [a, b] = std::mismatch(rows_.begin(), rows_.end(), rows.begin(), rows.end());
      rows.resize(b - rows.begin());
      while (!rows.empty() &&
             !(legal(next, rows.size()) && (rows.size() == rows_.size() || all_legal(i, end, rows.size()))))
        rows.pop_back();
      if (rows.empty() || !connected(i, end, next)) break;
      // Larger tiles for a kernel that goes over other rows cost products more than they save.
      if (next.is<Kernel>() && rows.size() < rows_.size() && kernels && has_calls(i, end)) break;
      kernels = kernels || next.is<Kernel>();
      rows_ = rows;
      note_made(next);
      reduces = reduces || next.is_reduction();
      if (reduces && large_enough(i, end + 1, rows_) && hands_on(i, i, end + 1) && hands_on(end, i, end + 1))
        ends.emplace_back(end + 1, rows_);
    }
    made_.clear();
    return ends;
  }

  // Whether what a call at the edge of a group makes, or takes from the group, is nobody else's.
  bool hands_on(std::size_t at, std::size_t begin, std::size_t end) const {
    if (!step(at).is<Call>()) return true;
    auto within = [&](ValueId v) { return is_made(value(v).storage) && inside(value(v).storage, end); };
    const Step& s = step(at);
    return (at + 1 < end && within(s.out[0])) || (at > begin && std::any_of(s.in.begin(), s.in.end(), within));
  }
  // Of what a group makes that ends there.
  bool inside(StorageId storage, std::size_t end) const {
    return b_.storages[storage].kind != Storage::Kind::output && spans_[storage].last < static_cast<int>(end);
  }

  void note_made(const Step& s) { made_.insert(made_.end(), s.out.begin(), s.out.end()); }
  // The value that the group at hand makes in this storage.
  const Value* made_in(StorageId storage) const {
    auto it = std::find_if(made_.begin(), made_.end(), [&](ValueId v) { return value(v).storage == storage; });
    return it == made_.end() ? nullptr : &value(*it);
  }
  bool is_made(StorageId storage) const { return made_in(storage) != nullptr; }

  bool connected(std::size_t i, std::size_t end, const Step& next) const {
    for (std::size_t k = i; k < end; ++k)
      for (ValueId v : next.in) {
        auto same = [&](ValueId w) { return value(w).storage == value(v).storage; };
        if (b_.storage_of(v).kind == Storage::Kind::literal) continue;
        if (std::any_of(step(k).in.begin(), step(k).in.end(), same) ||
            std::any_of(step(k).out.begin(), step(k).out.end(), same))
          return true;
      }
    return false;
  }

  bool all_legal(std::size_t i, std::size_t end, std::size_t rows) const {
    for (std::size_t k = i; k < end; ++k)
      if (!legal(step(k), rows)) return false;
    return true;
  }

  // May this step run on some rows only? `rows` of its variables count them.
  bool legal(const Step& s, std::size_t rows) const {
    for (ValueId out : s.out)
      if (const Value& v = value(out); v.offset != 0 || writers_[v.storage] != 1 ||
                                       b_.storages[v.storage].bytes != v.type.bytes() ||
                                       v.type.shape.ndim() < static_cast<int>(rows))
        return false;
    return s.is<Kernel>() ? legal_kernel(s, rows) : legal_call(s, rows);
  }

  bool legal_kernel(const Step& s, std::size_t rows) const {
    const loops::Kernel& k = s.kernel();
    for (const loops::Node& n : k.nodes)
      if (n.op == loops::Op::index && n.imm < rows) return false;
    for (std::size_t o = 0; o < s.in.size(); ++o) {
      const Value& v = value(s.in[o]);
      const bool made = is_made(v.storage);
      Numbers first;
      bool fine = true;
      for_each_access(s, static_cast<int>(o), [&](const loops::Access& a) {
        Numbers strides;
        for (std::size_t q = 0; q < rows; ++q) strides.push_back(k.extents[q] > 1 ? stride_of(a, v.strides, q) : 0);
        if (first.empty()) first = strides;
        fine = fine && strides == first && (!made || access_stays_in_row(a, v, k, rows, strides));
      });
      if (!fine) return false;
    }
    for (std::size_t o = 0; o < s.out.size(); ++o) {
      const Value& v = value(s.out[o]);
      if (!v.dense()) return false;
      bool fine = true;
      for_each_access(s, static_cast<int>(s.in.size() + o), [&](const loops::Access& a) {
        for (std::size_t d = 0; d < a.index.size(); ++d)
          for (std::size_t q = 0; q < rows; ++q)
            fine = fine && (k.extents[q] == 1 || a.index[d].coefficients[q] == (d == q ? 1 : 0));
        for (std::size_t d = 0; d < rows; ++d) {
          fine = fine && a.index[d].constant == 0 && v.type.shape[static_cast<int>(d)] == k.extents[d];
          for (std::size_t q = rows; q < k.extents.size(); ++q) fine = fine && a.index[d].coefficients[q] == 0;
        }
      });
      if (!fine) return false;
    }
    return true;
  }

  // A call works in the workspaces of threads, where several tiles are at work.
  bool legal_call(const Step& s, std::size_t rows) const {
    if (s.effects || s.out.size() != 1 || !spares_scratch(b_, s)) return false;
    const Numbers all = extents(s);
    for (std::size_t o = 0; o < s.in.size(); ++o) {
      const Value& v = value(s.in[o]);
      if (!is_made(v.storage)) continue;
      const Numbers axes = row_axes(s, o, rows);
      std::int64_t low = first_element(v), high = low;
      for (int d = 0; d < v.type.shape.ndim(); ++d) {
        if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
        const std::int64_t reach = v.strides[d] * (v.type.shape[d] - 1);
        (reach < 0 ? low : high) += reach;
      }
      if (!stays_in_row(v, std::span(all).first(rows), row_strides(s, o, rows), low, high)) return false;
    }
    return true;
  }

  // Of a call: the axis of operand o that goes with each row variable, -1 for none.
  static Numbers row_axes(const Step& s, std::size_t o, std::size_t rows) {
    Numbers axes;
    for (std::size_t q = 0; q < rows; ++q)
      axes.push_back(o < s.in.size() ? s.as<Call>()->cuts[q][o] : static_cast<std::int64_t>(q));
    return axes;
  }
  // Elements from one row to the next, along each row variable of more than one.
  Numbers row_strides(const Step& s, std::size_t o, std::size_t rows) const {
    const Value& v = value(s.operand(o));
    const Numbers all = extents(s);
    Numbers strides(rows, 0);
    if (s.is<Call>()) {
      const Numbers axes = row_axes(s, o, rows);
      for (std::size_t q = 0; q < rows; ++q)
        if (axes[q] >= 0 && all[q] > 1) strides[q] = v.strides[static_cast<int>(axes[q])];
    } else {
      for_each_access(s, static_cast<int>(o), [&](const loops::Access& a) {
        for (std::size_t q = 0; q < rows; ++q)
          if (all[q] > 1) strides[q] = stride_of(a, v.strides, q);
      });
    }
    return strides;
  }

  static std::int64_t first_element(const Value& v) {
    return v.offset / static_cast<std::int64_t>(size_of(v.type.dtype));
  }
  bool access_stays_in_row(const loops::Access& a, const Value& v, const loops::Kernel& k, std::size_t rows,
                           const Numbers& strides) const {
    std::int64_t low = first_element(v);
    for (std::size_t d = 0; d < a.index.size(); ++d) low += a.index[d].constant * v.strides[static_cast<int>(d)];
    std::int64_t high = low;
    for (std::size_t q = rows; q < k.extents.size(); ++q) {
      const std::int64_t reach = stride_of(a, v.strides, q) * (k.extents[q] - 1);
      (reach < 0 ? low : high) += reach;
    }
    return stays_in_row(v, std::span(k.extents).first(rows), strides, low, high);
  }

  // Of a value of the group, elements `low` to `high` are read for the first row: do they lie in that row, and go with
  // it to the next? `strides`: per row variable, 0 where there is one row.
  bool stays_in_row(const Value& v, std::span<const std::int64_t> rows, const Numbers& strides, std::int64_t low,
                    std::int64_t high) const {
    const auto bytes = static_cast<std::int64_t>(b_.storages[v.storage].bytes);
    const auto size = static_cast<std::int64_t>(size_of(v.type.dtype));
    const std::int64_t row = bytes / size / std::max<std::int64_t>(1, product(rows));
    for (std::size_t q = 0; q < rows.size(); ++q)
      if (rows[q] > 1 && strides[q] != row * product(rows.subspan(q + 1))) return false;
    return v.offset % size == 0 && low >= 0 && high < row && rows_together(*made_in(v.storage), rows.size());
  }
  // Whether the elements of a row lie beside each other, and rows one behind the other.
  static bool rows_together(const Value& v, std::size_t rows) {
    std::int64_t step = v.type.shape.size();
    for (std::size_t q = 0; q < rows; ++q) {
      const std::int64_t n = v.type.shape[static_cast<int>(q)];
      step /= std::max<std::int64_t>(1, n);
      if (n > 1 && v.strides[static_cast<int>(q)] != step) return false;
    }
    return true;
  }

  std::int64_t row_elements(std::size_t i, std::size_t end, std::size_t rows) const {
    std::int64_t most = 1;
    for (std::size_t k = i; k < end; ++k) {
      const Numbers all = extents(step(k));
      most = std::max(most, product(std::span(all).subspan(rows)));
    }
    return most;
  }
  bool large_enough(std::size_t i, std::size_t end, const Numbers& rows) const {
    const std::int64_t each = row_elements(i, end, rows.size()), count = product(rows);
    return each > 1 && each <= most_row_elements && count > 1 && each * count >= limits.least;
  }

  // ---- kernels and the sum of all they make
  // The order of a sum is that of its blocks, then that of their results: kernels from i on, and the sum behind them of
  // what nobody else reads, are cut into rows of a block each; `rest` sums up the results. Where they end; i + 1 where
  // there is nothing of the kind.
  std::size_t blocks_from(std::size_t i, Step& to, Step& rest) {
    std::size_t end = i;
    while (end < b_.steps.size() && step(end).is_elementwise() && in_any_shape(step(end), elements(i))) ++end;
    if (end == i || end == b_.steps.size() || !step(end).is_reduction() || !in_any_shape(step(end), elements(i)))
      return i + 1;
    const Step& sum = step(end);
    auto handed_over = [&](ValueId v) {
      const Span& s = spans_[value(v).storage];
      return is_temporary(v) && s.first >= static_cast<int>(i) && s.last == static_cast<int>(end);
    };
    auto read = [&](ValueId v) { return reads_next(i, end, v); };
    if (std::none_of(sum.in.begin(), sum.in.end(), handed_over) ||
        std::none_of(step(i).out.begin(), step(i).out.end(), read))
      return i + 1;
    std::vector<Step> before(b_.steps.begin() + static_cast<std::ptrdiff_t>(i),
                             b_.steps.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    std::map<ValueId, ValueId> shown;  // of values in blocks: as they were
    rest = sum;
    rest.flops = 0;
    b_.steps[end].made.clear();
    for (std::size_t k = i; k <= end; ++k) put_in_blocks(b_.steps[k], shown);
    rest.in = {step(end).out[0]};
    rest.kernel() = sum_of_blocks(before.back().kernel(), value(rest.in[0]).type);
    spans_.add({static_cast<int>(end), static_cast<int>(end) + 1});
    writers_.add(1);
    rows_ = {elements(i) / loops::row_block};
    const bool made = all_legal_with_made(i, end + 1, 1) && build(i, end + 1, to);
    std::move(before.begin(), before.end(), b_.steps.begin() + static_cast<std::ptrdiff_t>(i));
    if (!made) rest = {};
    for (auto* list : {&to.in, &to.out})
      for (ValueId& v : *list)
        if (auto it = shown.find(v); made && it != shown.end()) v = it->second;
    return made ? end + 1 : i + 1;
  }
  // Whether a step behind i, up to `last`, reads what lies where v does.
  bool reads_next(std::size_t i, std::size_t last, ValueId v) const {
    for (std::size_t k = i + 1; k <= last; ++k)
      for (ValueId in : step(k).in)
        if (value(in).storage == value(v).storage) return true;
    return false;
  }
  std::int64_t elements(std::size_t i) const { return step(i).is<Kernel>() ? product(step(i).kernel().extents) : 0; }
  bool in_any_shape(const Step& s, std::int64_t n) const {
    if (n < limits.least || n % loops::row_block != 0 || product(s.kernel().extents) != n || s.effects) return false;
    for (std::size_t o = 0; o < s.in.size() + s.out.size(); ++o)
      if (const Value& v = value(s.operand(o)); v.type.shape.ndim() > 0 && !v.dense()) return false;
    return has_any_shape(s.kernel());
  }
  void put_in_blocks(Step& s, std::map<ValueId, ValueId>& shown) {
    s.kernel() = in_blocks(s.kernel());
    for (std::size_t o = 0; o < s.in.size() + s.out.size(); ++o) {
      ValueId& v = o < s.in.size() ? s.in[o] : s.out[o - s.in.size()];
      Value w = value(v);
      if (w.type == s.kernel().operands[o]) continue;
      if (o >= s.in.size() && s.is_reduction()) w.storage = b_.storages.add({.bytes = s.kernel().operands[o].bytes()});
      w.type = s.kernel().operands[o];
      w.strides = row_major(w.type.shape);
      const ValueId fresh = b_.values.add(std::move(w));
      if (!s.is_reduction() || o < s.in.size()) shown.emplace(fresh, v);
      v = fresh;
    }
  }
  // ---- making the step
  struct Use {
    ValueId value;
    Numbers steps;  // bytes from tile to tile
    bool operator==(const Use&) const = default;
  };

  // A step of tiles on its way: tiles of `tile` rows each, over `rows` row variables, of the steps before `end`.
  struct Group {
    Step to = {};
    Tiles work = {};
    std::shared_ptr<Body> body = std::make_shared<Body>();
    std::size_t end, rows;
    std::int64_t tile;
    std::map<StorageId, StorageId> storage_in = {};  // of what the group makes
    std::vector<Use> uses = {};
    std::vector<StorageId> use_storage = {};
    std::size_t inside = 0, inside_whole = 0;  // bytes of what nobody else reads: of a tile, of the whole
  };

  bool build(std::size_t i, std::size_t end, Step& to) {
    const std::int64_t t = rows_of_tile(i, end);
    if (t == 0) return false;
    Group g{.end = end, .rows = rows_.size(), .tile = t};
    g.work.outer = rows_;
    g.work.outer.back() /= t;
    const std::int64_t tiles = product(g.work.outer);
    if (tiles < 2) return false;
    for (std::size_t k = i; k < end; ++k) add_step(g, step(k), tiles);
    add_inputs(g);
    if (g.inside > g.inside_whole) return false;
    const bool calls = has_calls(i, end);
    const std::size_t each = calls ? planned_bytes(*g.body) : g.inside;
    std::int64_t lanes = std::min(most_lanes, tiles);
    auto too_many = [&] {
      return lanes * each > g.inside_whole / 2 || (calls && !no_larger(b_, i, end, lanes * each));
    };
    while (lanes > 1 && too_many()) lanes /= 2;
    // A product alone would use every thread.
    if (calls && (lanes < limits.call_lanes || too_many())) return false;
    g.work.lanes = lanes;
    g.to.work = std::move(g.work);
    g.to.bodies.push_back(std::move(g.body));
    to = std::move(g.to);
    return true;
  }

  // Of a tile alone, as it will be.
  static std::size_t planned_bytes(const Body& body) {
    Body copy = clone(body);
    schedule(copy);
    alias(copy);
    plan_memory(copy);
    return plan::rounded(copy.bytes);
  }

  // How many rows a tile has; row variables that it takes whole are dropped. 0: there are no good tiles.
  std::int64_t rows_of_tile(std::size_t i, std::size_t end) {
    const bool calls = has_calls(i, end);
    std::int64_t most = limits.tile;
    if (calls) most = std::clamp(product(rows_) * row_elements(i, end, rows_.size()) / 16, most, limits.call_tile);
    while (rows_.size() > 1 && product(std::span(rows_).last(2)) * row_elements(i, end, rows_.size()) <= most &&
           all_legal_with_made(i, end, rows_.size() - 1))
      rows_.pop_back();
    const std::int64_t n = rows_.back();
    std::int64_t t = std::clamp<std::int64_t>(most / row_elements(i, end, rows_.size()), 1, n);
    const bool cut = calls && reads_whole_operands(i, end);
    if (cut) t = std::max(t, std::min(n, limits.call_rows));
    while (n % t != 0) --t;
    return cut && t < std::min(n, limits.call_rows / 4) ? 0 : t;
  }
  // Whether a call reads an operand again for each tile along the last row variable: few rows are not worth that.
  bool reads_whole_operands(std::size_t i, std::size_t end) const {
    for (std::size_t k = i; k < end; ++k)
      if (const Call* call = step(k).as<Call>()) {
        const std::vector<int>& axes = call->cuts[rows_.size() - 1];
        if (std::find(axes.begin(), axes.end(), -1) != axes.end()) return true;
      }
    return false;
  }

  bool is_temporary(ValueId v) const { return b_.storage_of(v).kind == Storage::Kind::temporary; }

  void add_step(Group& g, const Step& s, std::int64_t tiles) {
    Step n;
    if (s.is<Kernel>()) n.kernel() = restricted(s.kernel(), g.rows, g.tile);
    else n.work = Call{s.as<Call>()->call};
    n.primitive = s.primitive;
    n.at = s.at;
    n.flops = s.flops / static_cast<double>(tiles);
    n.made = s.made;
    g.to.flops += s.flops;
    g.to.made.insert(g.to.made.end(), s.made.begin(), s.made.end());
    g.to.primitive = s.primitive;
    g.to.at = s.at;
    for (std::size_t o = 0; o < s.in.size(); ++o) n.in.push_back(add_operand(g, s, o, n));
    for (std::size_t o = 0; o < s.out.size(); ++o) n.out.push_back(add_result(g, s, o, n));
    g.body->steps.push_back(std::move(n));
  }

  // The part of operand o that a call on a tile sees.
  static Shape cut_shape(const Group& g, const Step& s, std::size_t o, Shape shape) {
    const Numbers axes = row_axes(s, o, g.rows);
    for (std::size_t q = 0; q < g.rows; ++q)
      if (axes[q] >= 0) shape[static_cast<int>(axes[q])] = q + 1 < g.rows ? 1 : g.tile;
    return shape;
  }

  // Input o of step s, as the step `n` of a tile sees it.
  ValueId add_operand(Group& g, const Step& s, std::size_t o, Step& n) {
    const Value& v = value(s.in[o]);
    Value w = v;
    w.type.shape =
        n.is<Kernel>() ? touched(n.kernel(), static_cast<int>(o), v.type.shape) : cut_shape(g, s, o, v.type.shape);
    settle_strides(w);
    if (auto it = g.storage_in.find(v.storage); it != g.storage_in.end()) {
      w.storage = it->second;
    } else {
      w.storage = storage_of_use(g, {s.in[o], tile_steps(g, s, o)});
      w.offset = 0;
    }
    if (n.is<Kernel>()) n.kernel().operands[o] = w.type;
    return g.body->values.add(std::move(w));
  }
  // Of a single element they mean nothing.
  static void settle_strides(Value& v) {
    const Strides dense = row_major(v.type.shape);
    for (int d = 0; d < dense.ndim(); ++d)
      if (v.type.shape[d] == 1) v.strides[d] = dense[d];
  }

  static StorageId storage_of_use(Group& g, const Use& use) {
    auto found = std::find(g.uses.begin(), g.uses.end(), use);
    if (found != g.uses.end()) return g.use_storage[found - g.uses.begin()];
    g.use_storage.push_back(
        g.body->storages.add({.kind = Storage::Kind::input, .index = static_cast<int>(g.uses.size())}));
    g.uses.push_back(use);
    return g.use_storage.back();
  }

  // Output o of step s, a tile of it: an output of the body where anybody else reads it.
  ValueId add_result(Group& g, const Step& s, std::size_t o, Step& n) {
    const Value& v = value(s.out[o]);
    Value w = v;
    for (std::size_t d = 0; d < g.rows; ++d) w.type.shape[static_cast<int>(d)] = d + 1 < g.rows ? 1 : g.tile;
    settle_strides(w);
    Storage storage{.bytes = w.type.bytes()};
    if (!rows_together(v, g.rows)) {  // a call may leave gaps, where other tiles lie
      storage.gaps = true;
      for (int d = 0; d < w.strides.ndim(); ++d)
        storage.bytes += static_cast<std::size_t>((w.type.shape[d] - 1) * w.strides[d]) * size_of(w.type.dtype);
    }
    const bool outside = !inside(v.storage, g.end);
    if (outside) {
      storage.kind = Storage::Kind::output;
      storage.index = static_cast<int>(g.to.out.size());
    } else {
      g.inside += storage.bytes + 64;
      g.inside_whole += b_.storages[v.storage].bytes;
    }
    w.storage = g.body->storages.add(storage);
    g.storage_in.emplace(v.storage, w.storage);
    if (n.is<Kernel>()) n.kernel().operands[s.in.size() + o] = w.type;
    const ValueId made = g.body->values.add(std::move(w));
    if (outside) {
      g.to.out.push_back(s.out[o]);
      g.work.out.push_back(tile_steps(g, s, s.in.size() + o));
      g.body->outputs.push_back(made);
    }
    return made;
  }

  // The body's inputs: of each use the largest value that looks at it.
  static void add_inputs(Group& g) {
    Body& body = *g.body;
    for (std::size_t u = 0; u < g.uses.size(); ++u) {
      g.to.in.push_back(g.uses[u].value);
      g.work.in.push_back(g.uses[u].steps);
      ValueId largest;
      for (ValueId v : body.values.ids())
        if (body.values[v].storage == g.use_storage[u] &&
            (!largest || body.values[v].type.bytes() > body.type(largest).bytes()))
          largest = v;
      body.inputs.push_back(largest);
      body.storages[g.use_storage[u]].bytes = body.type(largest).bytes();
    }
  }

  bool all_legal_with_made(std::size_t i, std::size_t end, std::size_t rows) {
    made_.clear();
    bool fine = true;
    for (std::size_t k = i; k < end && fine; ++k) {
      fine = legal(step(k), rows);
      note_made(step(k));
    }
    made_.clear();
    return fine;
  }

  // Bytes from tile to tile of operand o.
  Numbers tile_steps(const Group& g, const Step& s, std::size_t o) const {
    Numbers steps = row_strides(s, o, g.rows);
    for (std::int64_t& n : steps) n *= static_cast<std::int64_t>(size_of(value(s.operand(o)).type.dtype));
    steps.back() *= g.tile;
    return steps;
  }

  Body& b_;
  Table<StorageId, Span> spans_;
  Table<StorageId, int> writers_;  // steps that write each storage
  Numbers rows_;                   // extents of the row variables of the group at hand
  std::vector<ValueId> made_;      // what the group at hand writes
  bool with_calls_;
};

}  // namespace

TileLimits set_tile_limits(TileLimits l) { return std::exchange(limits, l); }

static void tile(Body& body, bool calls) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) tile(*nested, calls);
  Tiling(body, calls).run();
}

void tile(Body& body) { tile(body, true); }
void tile_kernels(Body& body) { tile(body, false); }

}  // namespace anew::passes
