// Row kernels. Neighbouring kernels that go over the same rows (softmax: the largest of a row, exponentials, their sum,
// quotients) become one step that runs them all on a tile of rows before it goes to the next: what they pass on stays
// in the cache, and what nobody else reads never exists as a whole. Rows are independent of each other, so every
// element is computed as before. Conditions: a kernel reduces no variable that counts rows and does not ask for a row's
// number; what is made by one and read by another belongs to the same row in both.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "passes/lowered.h"
#include "trace/trace.h"

namespace anew::passes {
namespace {

constexpr std::int64_t most_row_elements = 1 << 16, most_lanes = 8;
TileLimits limits;  // changed by tests only

using Numbers = std::vector<std::int64_t>;

std::int64_t product(std::span<const std::int64_t> n) {
  return std::accumulate(n.begin(), n.end(), std::int64_t{1}, std::multiplies<>());
}

// The leading variables of a kernel that are not reduced; none where a reduced one comes before one that is not.
Numbers rows_of(const Step& s) {
  if (!s.is<Kernel>()) return {};
  const loops::Kernel& k = s.kernel();
  std::size_t r = 0;
  while (r < k.extents.size() && !k.reduced[r]) ++r;
  if (std::find(k.reduced.begin() + static_cast<std::ptrdiff_t>(r), k.reduced.end(), false) != k.reduced.end())
    return {};
  return {k.extents.begin(), k.extents.begin() + static_cast<std::ptrdiff_t>(r)};
}

// Elements from one value of variable `v` to the next, in an array of these strides.
std::int64_t stride_of(const loops::Access& a, const Strides& strides, std::size_t v) {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < a.index.size(); ++d) sum += a.index[d].coefficients[v] * strides[static_cast<int>(d)];
  return sum;
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
  explicit Tiling(Body& body) : b_(body), spans_(spans_of(body)), writers_(body.storages.size(), 0) {
    for (const Step& s : body.steps)
      for (ValueId v : s.out) ++writers_[value(v).storage];
  }

  void run() {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < b_.steps.size();) {
      std::size_t end = group_from(i);
      Step tiles;
      if (end - i > 1 && build(i, end, tiles)) {
        steps.push_back(std::move(tiles));
        i = end;
      } else {
        steps.push_back(std::move(b_.steps[i++]));
      }
    }
    b_.steps = std::move(steps);
  }

 private:
  const Value& value(ValueId v) const { return b_.values[v]; }
  const Step& step(std::size_t i) const { return b_.steps[i]; }

  // The end of the longest group of steps that starts at i; i + 1 where there is none.
  std::size_t group_from(std::size_t i) {
    rows_ = rows_of(step(i));
    made_.clear();
    while (!rows_.empty() && !legal(step(i), rows_.size())) rows_.pop_back();
    if (rows_.empty()) return i + 1;
    std::size_t end = i + 1, good = i + 1;
    Numbers good_rows = rows_;
    bool reduces = step(i).kernel().combine != loops::Combine::none;
    note_made(step(i));
    for (; end < b_.steps.size(); ++end) {
      const Step& next = step(end);
      Numbers rows = rows_of(next);
      auto [a, b] = std::mismatch(rows_.begin(), rows_.end(), rows.begin(), rows.end());
      rows.resize(b - rows.begin());
      while (!rows.empty() &&
             !(legal(next, rows.size()) && (rows.size() == rows_.size() || all_legal(i, end, rows.size()))))
        rows.pop_back();
      if (rows.empty() || !connected(i, end, next)) break;
      rows_ = rows;
      note_made(next);
      reduces = reduces || next.kernel().combine != loops::Combine::none;
      if (reduces && large_enough(i, end + 1, rows_)) good = end + 1, good_rows = rows_;
    }
    rows_ = good_rows;
    made_.clear();
    return good;
  }

  void note_made(const Step& s) {
    for (ValueId v : s.out) made_.push_back(value(v).storage);
  }
  bool is_made(StorageId storage) const { return std::find(made_.begin(), made_.end(), storage) != made_.end(); }

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

  // May this kernel run on some rows only? `rows` of its variables count them.
  bool legal(const Step& s, std::size_t rows) const {
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
        fine = fine && strides == first && (!made || stays_in_row(a, v, k, rows, strides));
      });
      if (!fine) return false;
    }
    for (std::size_t o = 0; o < s.out.size(); ++o) {
      const Value& v = value(s.out[o]);
      if (!v.dense() || v.offset != 0 || writers_[v.storage] != 1) return false;
      if (b_.storage_of(s.out[o]).bytes != v.type.bytes() || v.type.shape.ndim() < static_cast<int>(rows)) return false;
      bool fine = true;
      for_each_access(s, static_cast<int>(s.in.size() + o), [&](const loops::Access& a) {
        for (std::size_t d = 0; d < a.index.size(); ++d)
          for (std::size_t q = 0; q < rows; ++q) fine = fine && a.index[d].coefficients[q] == (d == q ? 1 : 0);
        for (std::size_t d = 0; d < rows; ++d) {
          fine = fine && a.index[d].constant == 0 && v.type.shape[static_cast<int>(d)] == k.extents[d];
          for (std::size_t q = rows; q < k.extents.size(); ++q) fine = fine && a.index[d].coefficients[q] == 0;
        }
      });
      if (!fine) return false;
    }
    return true;
  }

  // An access to a value of the group reads the row that it is for. `strides`: per row variable, 0 where there is one
  // row.
  bool stays_in_row(const loops::Access& a, const Value& v, const loops::Kernel& k, std::size_t rows,
                    const Numbers& strides) const {
    const auto bytes = static_cast<std::int64_t>(b_.storages[v.storage].bytes);
    const auto size = static_cast<std::int64_t>(size_of(v.type.dtype));
    std::int64_t row = bytes / size / std::max<std::int64_t>(1, product(std::span(k.extents).first(rows)));
    for (std::size_t q = rows; q-- > 0;) {
      std::int64_t want = row * product(std::span(k.extents).subspan(q + 1, rows - q - 1));
      if (k.extents[q] > 1 && strides[q] != want) return false;
    }
    std::int64_t low = v.offset / size, high = low;
    for (std::size_t d = 0; d < a.index.size(); ++d) low += a.index[d].constant * v.strides[static_cast<int>(d)];
    high = low;
    for (std::size_t q = rows; q < k.extents.size(); ++q) {
      std::int64_t reach = stride_of(a, v.strides, q) * (k.extents[q] - 1);
      (reach < 0 ? low : high) += reach;
    }
    return v.offset % size == 0 && low >= 0 && high < row;
  }

  std::int64_t row_elements(std::size_t i, std::size_t end, std::size_t rows) const {
    std::int64_t most = 1;
    for (std::size_t k = i; k < end; ++k)
      most = std::max(most, product(std::span(step(k).kernel().extents).subspan(rows)));
    return most;
  }
  bool large_enough(std::size_t i, std::size_t end, const Numbers& rows) const {
    const std::int64_t each = row_elements(i, end, rows.size()), count = product(rows);
    return each > 1 && each <= most_row_elements && count > 1 && each * count >= limits.least;
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
    // Fewer row variables where whole runs of the last one fit into a tile.
    while (rows_.size() > 1 && product(std::span(rows_).last(2)) * row_elements(i, end, rows_.size()) <= limits.tile &&
           all_legal_with_made(i, end, rows_.size() - 1))
      rows_.pop_back();
    std::int64_t t = std::clamp<std::int64_t>(limits.tile / row_elements(i, end, rows_.size()), 1, rows_.back());
    while (rows_.back() % t != 0) --t;
    Group g{.end = end, .rows = rows_.size(), .tile = t};
    g.work.outer = rows_;
    g.work.outer.back() /= t;
    const std::int64_t tiles = product(g.work.outer);
    if (tiles < 2) return false;
    for (std::size_t k = i; k < end; ++k) add_kernel(g, step(k), tiles);
    add_inputs(g);
    if (g.inside > g.inside_whole) return false;
    std::int64_t lanes = std::min(most_lanes, tiles);
    while (lanes > 1 && lanes * g.inside > g.inside_whole / 2) lanes /= 2;
    g.work.lanes = lanes;
    g.to.work = std::move(g.work);
    g.to.bodies.push_back(std::move(g.body));
    to = std::move(g.to);
    return true;
  }

  void add_kernel(Group& g, const Step& s, std::int64_t tiles) {
    Step n;
    n.kernel() = restricted(s.kernel(), g.rows, g.tile);
    n.primitive = s.primitive;
    n.at = s.at;
    n.flops = s.flops / static_cast<double>(tiles);
    n.made = s.made;
    g.to.flops += s.flops;
    g.to.made.insert(g.to.made.end(), s.made.begin(), s.made.end());
    g.to.primitive = s.primitive;
    g.to.at = s.at;
    for (std::size_t o = 0; o < s.in.size(); ++o) n.in.push_back(add_operand(g, s, o, n.kernel()));
    for (std::size_t o = 0; o < s.out.size(); ++o) n.out.push_back(add_result(g, s, o, n.kernel()));
    g.body->steps.push_back(std::move(n));
  }

  // Input o of step s, as the kernel of a tile sees it.
  ValueId add_operand(Group& g, const Step& s, std::size_t o, loops::Kernel& kernel) {
    const Value& v = value(s.in[o]);
    Value w = v;
    w.type.shape = touched(kernel, static_cast<int>(o), v.type.shape);
    const Strides dense = row_major(w.type.shape);
    for (int d = 0; d < dense.ndim(); ++d)
      if (w.type.shape[d] == 1) w.strides[d] = dense[d];  // of a single element they mean nothing
    if (auto it = g.storage_in.find(v.storage); it != g.storage_in.end()) {
      w.storage = it->second;
    } else {
      w.storage = storage_of_use(g, {s.in[o], tile_steps(s, o, v, g.rows, g.tile)});
      w.offset = 0;
    }
    kernel.operands[o] = w.type;
    return g.body->values.add(std::move(w));
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
  ValueId add_result(Group& g, const Step& s, std::size_t o, loops::Kernel& kernel) {
    const Value& v = value(s.out[o]);
    Value w = v;
    for (std::size_t d = 0; d + 1 < g.rows; ++d) w.type.shape[static_cast<int>(d)] = 1;
    w.type.shape[static_cast<int>(g.rows - 1)] = g.tile;
    w.strides = row_major(w.type.shape);
    Storage storage{.bytes = w.type.bytes()};
    const Storage& whole = b_.storages[v.storage];
    const bool outside = whole.kind == Storage::Kind::output || spans_[v.storage].last >= static_cast<int>(g.end);
    if (outside) {
      storage.kind = Storage::Kind::output;
      storage.index = static_cast<int>(g.to.out.size());
    } else {
      g.inside += storage.bytes + 64;
      g.inside_whole += whole.bytes;
    }
    w.storage = g.body->storages.add(storage);
    g.storage_in.emplace(v.storage, w.storage);
    kernel.operands[s.in.size() + o] = w.type;
    const ValueId made = g.body->values.add(std::move(w));
    if (outside) {
      g.to.out.push_back(s.out[o]);
      g.work.out.push_back(tile_steps(s, s.in.size() + o, v, g.rows, g.tile));
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

  static loops::Kernel restricted(const loops::Kernel& k, std::size_t rows, std::int64_t tile) {
    loops::Kernel out = k;
    const auto gone = static_cast<std::ptrdiff_t>(rows - 1);
    out.extents.erase(out.extents.begin(), out.extents.begin() + gone);
    out.reduced.erase(out.reduced.begin(), out.reduced.begin() + gone);
    out.extents[0] = tile;
    auto cut = [&](loops::Access& a) {
      for (loops::Affine& f : a.index) f.coefficients.erase(f.coefficients.begin(), f.coefficients.begin() + gone);
    };
    for (loops::Access& a : out.accesses) cut(a);
    for (loops::Store& s : out.stores) cut(s.to);
    for (loops::Node& n : out.nodes)
      if (n.op == loops::Op::index) n.imm -= rows - 1;
    return out;
  }

  // The part of an operand that a restricted kernel can reach, from its start.
  static Shape touched(const loops::Kernel& k, int operand, Shape shape) {
    Shape most = shape;
    for (int d = 0; d < most.ndim(); ++d) most[d] = 0;
    const bool empty = std::find(k.extents.begin(), k.extents.end(), 0) != k.extents.end();
    for (const loops::Access& a : k.accesses) {
      if (a.operand != operand) continue;
      for (int d = 0; d < shape.ndim(); ++d) {
        std::int64_t high = a.index[d].constant;
        for (std::size_t v = 0; v < k.extents.size(); ++v)
          high += std::max<std::int64_t>(0, a.index[d].coefficients[v] * (k.extents[v] - 1));
        most[d] = std::max(most[d], high + 1);
      }
    }
    return empty ? shape : most;
  }

  static Numbers tile_steps(const Step& s, std::size_t operand, const Value& v, std::size_t rows, std::int64_t tile) {
    Numbers steps(rows, 0);
    for_each_access(s, static_cast<int>(operand), [&](const loops::Access& a) {
      for (std::size_t q = 0; q < rows; ++q)
        if (s.kernel().extents[q] > 1)
          steps[q] = stride_of(a, v.strides, q) * static_cast<std::int64_t>(size_of(v.type.dtype));
    });
    steps.back() *= tile;
    return steps;
  }

  Body& b_;
  Table<StorageId, Span> spans_;
  Table<StorageId, int> writers_;  // steps that write each storage
  Numbers rows_;                   // extents of the row variables of the group at hand
  std::vector<StorageId> made_;    // what the group at hand writes
};

}  // namespace

TileLimits set_tile_limits(TileLimits l) { return std::exchange(limits, l); }

void tile(Body& body) {
  for (Step& s : body.steps)
    for (const auto& nested : s.bodies) tile(*nested);
  Tiling(body).run();
}

}  // namespace anew::passes
