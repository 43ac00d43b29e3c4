// Reductions with the last variable kept, in the order of loops/interpret_reduction.h: one chain down each column in
// blocks of 128, block results by the same rule. Lanes are neighbouring columns; how many levels of blocks there are is
// known, so they are nested loops. A unit is a result, or a block of 128 of all columns of one outer index.
#include "codegen/combine.h"
#include "codegen/emitter.h"

namespace anew::codegen {
namespace {

using llvm::Value;
using loops::column_block;

class ColumnReduction : Reduction {
 public:
  explicit ColumnReduction(Emitter& e)
      : Reduction(e), reduced_(e.layout.first_of(1)), inner_(e.layout.first_of(2)), extent_(e.layout.extents.back()) {
    for (int d = 0; d < e.layout.inner(); ++d)
      if (d < reduced_ || d >= inner_) kept_.push_back(d);
  }

  void run() {
    if (layout_.schedule.reduced > 0) e_.emit(Level::entry);
    layout_.schedule.by_blocks ? blocks() : results();
  }

  void finish() {
    const std::int64_t blocks = layout_.schedule.blocks, inner = layout_.schedule.inner;
    e_.loop(e_.number(0), e_.number(layout_.schedule.outer), 1, [&](Value* o) {
      rows_of(o, [&](Value* column) {
        Value* from = at(e_.argument(1), b_.CreateAdd(b_.CreateMul(o, e_.number(blocks * inner)), column));
        e_.for_lanes(e_.number(0), e_.number(extent_), 4, [&](const Lanes& lanes) {
          const Values found = chain(e_.number(0), e_.number(blocks), levels(blocks), lanes, [&](Value* r, Values& x) {
            Value* row = at(from, b_.CreateAdd(b_.CreateMul(r, e_.number(inner)), lanes.at));
            for (int c = 0; c < lanes.copies; ++c)
              x.push_back(e_.load_dense(join_.type(), at(row, e_.number(c * lanes.width)), lanes.width, lanes.mask(c),
                                        nullptr));
          });
          store(lanes, found);
        });
      });
    });
  }

 private:
  static constexpr std::int64_t panel = 512;  // columns
  struct Panel {
    Value *first, *last;  // columns
  };

  static int levels(std::int64_t count) {
    int n = 0;
    for (; count > column_block; ++n) count = (count + column_block - 1) / column_block;
    return n;
  }
  void store(const Lanes& lanes, const Values& x) {
    for (int c = 0; c < lanes.copies; ++c) e_.store(0, lanes, join_.given(x[c]), c);
  }

  void results() {
    Value *from = e_.argument(1), *to = e_.argument(2), *extent = e_.number(extent_);
    Value* rows = b_.CreateUDiv(b_.CreateAdd(to, e_.number(extent_ - 1)), extent);
    e_.loop(b_.CreateUDiv(from, extent), rows, 1, [&](Value* row) {
      const Emitter::Position before = e_.position();
      Value* start = b_.CreateMul(row, extent);
      move(row);
      Value* lo = e_.larger(b_.CreateSub(from, start), e_.number(0));
      Value* hi = e_.smaller(b_.CreateSub(to, start), extent);
      const std::int64_t count = layout_.schedule.reduced;
      if (count > 0) e_.emit(Level::row);
      if (levels(count) > 0 && extent_ > copies() * e_.width) panels(lo, hi);
      else strips(lo, hi);
      e_.set_position(before);
    });
  }
  // Columns [lo, hi), some vectors from top to bottom at a time.
  void strips(Value* lo, Value* hi) {
    const std::int64_t count = layout_.schedule.reduced;
    e_.for_lanes(lo, hi, copies(), [&](const Lanes& lanes) {
      if (count == 0) {
        Value* x = join_.identity();
        if (lanes.width > 1) x = b_.CreateVectorSplat(static_cast<unsigned>(lanes.width), x);
        return store(lanes, Values(lanes.copies, join_.taken(x)));
      }
      e_.emit(Level::strip, lanes);
      store(lanes, chain(e_.number(0), e_.number(count), levels(count), lanes, elements(lanes)));
    });
  }
  // The same, block after block of rows: what is read lies close together, where a strip down many long rows would meet
  // a page of memory with every row.
  void panels(Value* lo, Value* hi) {
    const std::int64_t count = layout_.schedule.reduced;
    for (int l = 0; l < levels(count); ++l) sums_.push_back(e_.local(join_.type(), panel));
    e_.loop(lo, hi, panel, [&](Value* first) {
      const Panel p{first, e_.smaller(b_.CreateAdd(first, e_.number(panel)), hi)};
      down(e_.number(0), e_.number(count), levels(count), p);
      each(p, [&](const Lanes& lanes) { store(lanes, sums(levels(count), lanes, p)); });
    });
  }
  // Reduced elements [from, to) of a panel's columns into the sums of this level.
  void down(Value* from, Value* to, int level, const Panel& p) {
    each(p, [&](const Lanes& lanes) {
      set_sums(level, lanes, p, Values(static_cast<std::size_t>(lanes.copies), join_.neutral(lanes.width)));
    });
    std::int64_t step = 1;
    for (int l = 0; l < level; ++l) step *= column_block;
    e_.loop(from, to, step, [&](Value* r) {
      Value* end = e_.smaller(b_.CreateAdd(r, e_.number(step)), to);
      if (level > 1) down(r, end, level - 1, p);
      each(p, [&](const Lanes& lanes) {
        if (level == 1) e_.emit(Level::strip, lanes);
        const Values x = level > 1 ? sums(level - 1, lanes, p) : chain(r, end, 0, lanes, elements(lanes));
        Values acc = sums(level, lanes, p);
        for (std::size_t c = 0; c < acc.size(); ++c) acc[c] = join_.apply(acc[c], x[c]);
        set_sums(level, lanes, p, acc);
      });
    });
  }
  void each(const Panel& p, FunctionRef<void(const Lanes&)> body) { e_.for_lanes(p.first, p.last, copies(), body); }
  Value* place(int level, const Lanes& lanes, const Panel& p, int copy) {
    Value* column = b_.CreateAdd(b_.CreateSub(lanes.at, p.first), e_.number(copy * lanes.width));
    return at(sums_[static_cast<std::size_t>(level - 1)], column);
  }
  Values sums(int level, const Lanes& lanes, const Panel& p) {
    Values out;
    for (int c = 0; c < lanes.copies; ++c)
      out.push_back(e_.load_dense(join_.type(), place(level, lanes, p, c), lanes.width, lanes.mask(c), nullptr));
    return out;
  }
  void set_sums(int level, const Lanes& lanes, const Panel& p, const Values& x) {
    for (int c = 0; c < lanes.copies; ++c)
      e_.store_dense(x[static_cast<std::size_t>(c)], place(level, lanes, p, c), lanes.mask(c));
  }

  void blocks() {
    const std::int64_t count = layout_.schedule.blocks, inner = layout_.schedule.inner;
    e_.loop(e_.argument(1), e_.argument(2), 1, [&](Value* unit) {
      Value* from = b_.CreateMul(b_.CreateURem(unit, e_.number(count)), e_.number(column_block));
      Value* to = e_.smaller(b_.CreateAdd(from, e_.number(column_block)), e_.number(layout_.schedule.reduced));
      rows_of(b_.CreateUDiv(unit, e_.number(count)), [&](Value* column) {
        e_.emit(Level::row);
        Value* out = at(e_.argument(3), b_.CreateAdd(b_.CreateMul(unit, e_.number(inner)), column));
        e_.for_lanes(e_.number(0), e_.number(extent_), copies(), [&](const Lanes& lanes) {
          e_.emit(Level::strip, lanes);
          const Values found = chain(from, to, 0, lanes, elements(lanes));
          for (int c = 0; c < lanes.copies; ++c)
            e_.store_dense(found[c], at(out, b_.CreateAdd(lanes.at, e_.number(c * lanes.width))), lanes.mask(c));
        });
      });
    });
  }

  // Vectors side by side: several where the expression is short, since each is a chain that waits for itself.
  int copies() const { return layout_.work <= 12 ? 4 : 1; }

  // All rows of the innermost loop of outer index o; `body` gets the number of the first column.
  void rows_of(Value* o, FunctionRef<void(Value*)> body) {
    const std::int64_t rows = layout_.schedule.inner / extent_;
    e_.loop(e_.number(0), e_.number(rows), 1, [&](Value* row) {
      const Emitter::Position before = e_.position();
      move(b_.CreateAdd(b_.CreateMul(o, e_.number(rows)), row));
      body(b_.CreateMul(row, e_.number(extent_)));
      e_.set_position(before);
    });
  }
  void move(Value* row) {
    for (std::size_t k = kept_.size(); k-- > 0;) {
      Value* extent = e_.number(layout_.extents[kept_[k]]);
      e_.move(kept_[k], k == 0 ? row : b_.CreateURem(row, extent));
      if (k > 0) row = b_.CreateUDiv(row, extent);
    }
  }

  using Source = FunctionRef<void(Value*, Values&)>;
  // Reduced elements [from, to) with `levels` levels of blocks above them.
  Values chain(Value* from, Value* to, int levels, const Lanes& lanes, Source element) {
    const Values none(lanes.copies, join_.neutral(lanes.width));
    std::int64_t step = 1;
    for (int l = 0; l < levels; ++l) step *= column_block;
    return e_.loop(from, to, step, none, [&](Value* r, Values acc) {
      Values x;
      if (levels == 0) element(r, x);
      else x = chain(r, e_.smaller(b_.CreateAdd(r, e_.number(step)), to), levels - 1, lanes, element);
      for (std::size_t c = 0; c < acc.size(); ++c) acc[c] = join_.apply(acc[c], x[c]);
      return acc;
    });
  }
  // The kernel's values.
  std::function<void(Value*, Values&)> elements(const Lanes& lanes) {
    return [this, lanes](Value* r, Values& x) {
      const Emitter::Position before = e_.position();
      e_.move_flat(reduced_, inner_, r);
      e_.emit(Level::down);
      e_.emit(Level::vector, lanes);
      for (int c = 0; c < lanes.copies; ++c) x.push_back(join_.taken(e_.value(node_, lanes.width, c)));
      e_.set_position(before);
    };
  }

  int reduced_, inner_;       // first dimensions of these sections
  std::int64_t extent_;       // of the innermost dimension
  std::vector<int> kept_;     // dimensions of the results but for the innermost
  std::vector<Value*> sums_;  // of a panel, by level of blocks
};

}  // namespace

void emit_columns(Emitter& e, bool finish) {
  if (finish) ColumnReduction(e).finish();
  else ColumnReduction(e).run();
}

}  // namespace anew::codegen
