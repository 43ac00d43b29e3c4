// Reductions with the last variable reduced, in the order of loops/interpret_reduction.h: blocks of 4096 elements, 32
// lanes each, lanes joined by halves, block results reduced by the same rule. A unit is a result, or a block of one.
// Light expressions over one reduced loop go straight into the lanes; others fill a small buffer that is then joined.
#include "codegen/combine.h"
#include "codegen/emitter.h"

namespace anew::codegen {
namespace {

using llvm::Value;
using loops::row_block;
using loops::row_lanes;

constexpr std::int64_t buffer_size = 512;

class RowReduction : Reduction {
 public:
  explicit RowReduction(Emitter& e)
      : Reduction(e),
        first_(e.layout.first_of(1)),
        length_(e.layout.schedule.reduced),
        vectors_(static_cast<int>(row_lanes) / e.width) {}

  void run() {
    const std::int64_t blocks = layout_.schedule.blocks;
    if (length_ > 0) e_.emit(Level::entry);
    e_.loop(e_.argument(1), e_.argument(2), 1, [&](Value* unit) {
      const Emitter::Position before = e_.position();
      if (layout_.schedule.by_blocks) {
        e_.move_flat(0, first_, b_.CreateUDiv(unit, e_.number(blocks)));
        e_.emit(Level::result);
        Value* from = b_.CreateMul(b_.CreateURem(unit, e_.number(blocks)), e_.number(row_block));
        e_.store_dense(block(from), at(e_.argument(3), unit), nullptr);
      } else {
        e_.move_flat(0, first_, unit);
        if (length_ > 0) e_.emit(Level::result);
        e_.store_one(0, length_ == 0 ? join_.identity() : join_.given(row()));
      }
      e_.set_position(before);
    });
  }

  void finish() {
    e_.loop(e_.number(0), e_.number(layout_.schedule.outer), 1, [&](Value* o) {
      const Emitter::Position before = e_.position();
      std::int64_t count = layout_.schedule.blocks;
      Value* from = at(e_.argument(1), b_.CreateMul(o, e_.number(count)));
      while (count > row_block) {  // a block's result goes where elements have been read already
        const std::int64_t blocks = (count + row_block - 1) / row_block;
        e_.loop(e_.number(0), e_.number(blocks), 1, [&](Value* k) {
          Value* start = b_.CreateMul(k, e_.number(row_block));
          Value* stop = e_.smaller(b_.CreateAdd(start, e_.number(row_block)), e_.number(count));
          e_.store_dense(joined(start, stop, count, from), at(from, k), nullptr);
        });
        count = blocks;
      }
      e_.move_flat(0, first_, o);
      e_.store_one(0, join_.given(joined(e_.number(0), e_.number(count), count, from)));
      e_.set_position(before);
    });
  }

 private:
  // One result, whole.
  Value* row() {
    if (length_ <= row_block) return block(e_.number(0));
    const std::int64_t blocks = layout_.schedule.blocks;
    Value* partials = e_.local(join_.type(), blocks);
    e_.loop(e_.number(0), e_.number(blocks), 1,
            [&](Value* k) { e_.store_dense(block(b_.CreateMul(k, e_.number(row_block))), at(partials, k), nullptr); });
    return joined(e_.number(0), e_.number(blocks), blocks, partials);
  }

  // The block of the current row that starts at `from`.
  Value* block(Value* from) {
    Value* to = length_ <= row_block ? e_.number(length_)
                                     : e_.smaller(b_.CreateAdd(from, e_.number(row_block)), e_.number(length_));
    const bool direct = first_ == layout_.inner() && layout_.work * vectors_ <= 48;
    if (!direct) return buffered(from, to);
    return joined(
        from, to, length_, [&](const Lanes& lanes) { e_.emit(Level::vector, lanes); },
        [&](const Lanes& lanes, int copy) { return join_.taken(e_.value(node_, lanes.width, copy)); });
  }

  // Elements [from, to) of a row of `length`, at most 4096 of them; only the last block of a row is not whole.
  Value* joined(Value* from, Value* to, std::int64_t length, FunctionRef<void(const Lanes&)> prepare,
                FunctionRef<Value*(const Lanes&, int)> value) {
    const std::int64_t rest = length % row_lanes;
    const int vectors = static_cast<int>(std::min<std::int64_t>(vectors_, (length + e_.width - 1) / e_.width));
    Values lanes(vectors, join_.neutral(e_.width));
    auto join_in = [&](Lanes& these, Values acc) {
      prepare(these);
      for (int v = 0; v < these.copies; ++v) {
        Value* x = value(these, v);
        if (Value* mask = these.mask(v)) x = b_.CreateSelect(mask, x, join_.neutral(e_.width));
        acc[v] = join_.apply(acc[v], x);
      }
      return acc;
    };
    Value* whole = from;
    if (length >= row_lanes) {
      whole = b_.CreateAdd(from, b_.CreateAnd(b_.CreateSub(to, from), e_.number(-row_lanes)));
      lanes = e_.loop(from, whole, row_lanes, lanes, [&](Value* i, const Values& acc) {
        Lanes these{i, e_.width, vectors};
        return join_in(these, acc);
      });
    }
    if (rest) {
      auto last = [&](Value* i, const Values& acc) {
        Lanes these{i, e_.width, static_cast<int>((rest + e_.width - 1) / e_.width)};
        for (int v = 0; v < these.copies; ++v) these.masks.push_back(mask_of(rest - v * e_.width));
        return join_in(these, acc);
      };
      lanes = length <= row_block ? last(whole, lanes) : e_.loop(whole, to, row_lanes, lanes, last);
    }
    return join_.across(lanes);
  }
  // The same of values that lie dense at `pointer`.
  Value* joined(Value* from, Value* to, std::int64_t length, Value* pointer) {
    return joined(
        from, to, length, [](const Lanes&) {},
        [&](const Lanes& lanes, int copy) {
          Value* place = at(pointer, b_.CreateAdd(lanes.at, e_.number(copy * lanes.width)));
          return e_.load_dense(join_.type(), place, lanes.width, lanes.mask(copy), join_.neutral(lanes.width));
        });
  }

  // A constant mask of the first `present` lanes; null for all.
  Value* mask_of(std::int64_t present) {
    llvm::SmallVector<llvm::Constant*> bits;
    for (int l = 0; l < e_.width; ++l) bits.push_back(b_.getInt1(l < present));
    return llvm::ConstantVector::get(bits);
  }

  Value* buffered(Value* from, Value* to) {
    if (!buffer_) buffer_ = e_.local(join_.type(), buffer_size);
    const Values none(vectors_, join_.neutral(e_.width));
    return join_.across(e_.loop(from, to, buffer_size, none, [&](Value* start, const Values& acc) {
      Value* n = e_.smaller(b_.CreateSub(to, start), e_.number(buffer_size));
      Value* last = b_.CreateAnd(b_.CreateSub(n, e_.number(1)), e_.number(-row_lanes));
      for (int v = 0; v < vectors_; ++v)
        e_.store_dense(join_.neutral(e_.width), at(buffer_, b_.CreateAdd(last, e_.number(v * e_.width))), nullptr);
      e_.walk(first_, start, b_.CreateAdd(start, n), [&](const Lanes& lanes, Value* flat) {
        e_.emit(Level::vector, lanes);
        e_.store_dense(join_.taken(e_.value(node_, lanes.width)), at(buffer_, b_.CreateSub(flat, start)),
                       lanes.mask(0));
      });
      return e_.loop(e_.number(0), n, row_lanes, acc, [&](Value* i, Values lanes) {
        for (int v = 0; v < vectors_; ++v) {
          Value*& lane = lanes[v];
          Value* place = at(buffer_, b_.CreateAdd(i, e_.number(v * e_.width)));
          lane = join_.apply(lane, e_.load_dense(join_.type(), place, e_.width, nullptr, nullptr));
        }
        return lanes;
      });
    }));
  }

  int first_;            // reduced dimension
  std::int64_t length_;  // of a row
  int vectors_;          // that hold the lanes of a row
  Value* buffer_ = nullptr;
};

}  // namespace

void emit_rows(Emitter& e, bool finish) {
  if (finish) RowReduction(e).finish();
  else RowReduction(e).run();
}

}  // namespace anew::codegen
