// Kernels without a reduction over operands that lie the other way round: element by element they would touch a cache
// line each. Tiles of rows x lanes are turned in registers into a small buffer, from which (or to which) the nodes see
// them dense. All units go this way: rows that a range cuts are tiles of one row.
#include "codegen/emitter.h"

namespace anew::codegen {
namespace {

using llvm::Type;
using llvm::Value;

class TurnedTiles {
 public:
  explicit TurnedTiles(Emitter& e)
      : e_(e),
        b_(e.b),
        layout_(e.layout),
        inner_(e.layout.inner()),
        columns_(e.layout.extents.back()),
        rows_(inner_ > 0 ? e.layout.extents[inner_ - 1] : 0) {}

  bool is_turned(std::size_t stream) const {
    const OperandStream& s = layout_.streams[stream];
    const std::int64_t inner = s.strides.back(), outer = s.strides[inner_ - 1];
    return s.operand >= 0 && outer == 1 && inner != 1 && inner != 0;
  }
  bool any() const {
    // Small arrays stay in the nearest cache as they are; turning costs thrice the time to compile.
    if (layout_.rank() < 2 || rows_ < e_.width || columns_ < e_.width || layout_.schedule.iterations < 1 << 14)
      return false;
    for (std::size_t s = 0; s < layout_.streams.size(); ++s)
      if (is_turned(s)) return true;
    return false;
  }

  void run() {
    Value *begin = e_.argument(1), *end = e_.argument(2), *extent = e_.number(columns_);
    for (std::size_t s = 0; s < layout_.streams.size(); ++s)
      buffers_.push_back(is_turned(s) ? e_.local(type_of(s), e_.width * e_.width) : nullptr);
    e_.emit(Level::entry);
    Value* last = b_.CreateUDiv(b_.CreateAdd(end, e_.number(columns_ - 1)), extent);
    e_.loop(b_.CreateUDiv(begin, extent), last, {}, [&](Value* row, Values&) {
      const Emitter::Position before = e_.position();
      Value* start = b_.CreateMul(row, extent);
      Value* from = e_.larger(b_.CreateSub(begin, start), e_.number(0));
      Value* to = e_.smaller(b_.CreateSub(end, start), extent);
      // Whole rows that are left, at most a tile of them, none beyond the end of their dimension.
      Value* left = b_.CreateSub(e_.number(rows_), b_.CreateURem(row, e_.number(rows_)));
      Value* whole = e_.smaller(e_.smaller(b_.CreateUDiv(b_.CreateSub(end, start), extent), e_.number(e_.width)), left);
      Value* count = b_.CreateSelect(b_.CreateICmpEQ(from, e_.number(0)), e_.larger(whole, e_.number(1)), e_.number(1));
      e_.move_flat(0, inner_, row);
      Value* back = e_.larger(b_.CreateSub(e_.number(e_.width), left), e_.number(0));
      e_.loop(from, to, e_.width, [&](Value* at) { tile(at, b_.CreateSub(to, at), count, back); });
      e_.set_position(before);
      return b_.CreateAdd(row, count);
    });
  }

 private:
  Type* type_of(std::size_t stream) { return memory_type(b_.getContext(), layout_.streams[stream].dtype); }

  // `count` rows from the position on, columns [at, at + present). Operands are read from `back` rows before it on, so
  // that there is a whole vector of rows.
  void tile(Value* at, Value* present, Value* count, Value* back) {
    const std::size_t stores = layout_.stores[0];
    for (std::size_t s = 0; s < stores; ++s)
      if (buffers_[s]) gather(s, at, present, back);
    Value* whole = b_.CreateICmpSGE(present, e_.number(e_.width));  // without masks, see Emitter::for_neighbours
    e_.when(whole, [&] { rows({at, e_.width}, count, back); });
    e_.when(b_.CreateNot(whole), [&] { rows({at, e_.width, 1, {e_.mask_of(present)}}, count, back); });
    Value* row_mask = e_.mask_of(count);
    for (std::size_t s = stores; s < buffers_.size(); ++s)
      if (buffers_[s]) scatter(s, at, present, row_mask);
  }

  // The nodes of `count` rows, of these columns.
  void rows(const Lanes& lanes, Value* count, Value* back) {
    const std::size_t stores = layout_.stores[0];
    e_.loop(e_.number(0), count, 1, [&](Value* row) {
      const Emitter::Position before = e_.position();
      e_.move(inner_ - 1, row);
      for (std::size_t s = 0; s < buffers_.size(); ++s)
        if (buffers_[s]) {
          Value* in_buffer = s < stores ? b_.CreateAdd(row, back) : row;
          Value* first = b_.CreateSub(b_.CreateMul(in_buffer, e_.number(e_.width)), lanes.at);
          e_.replace(s, b_.CreateGEP(type_of(s), buffers_[s], first));
        }
      e_.emit(Level::row);
      e_.emit(Level::vector, lanes);
      for (std::size_t s = 0; s < layout_.stores.size(); ++s)
        e_.store(static_cast<int>(s), lanes, e_.value(layout_.kernel.stores[s].node, e_.width));
      e_.set_position(before);
    });
  }

  Value* column(std::size_t s, Value* at, Value* number) {
    return b_.CreateGEP(type_of(s), e_.position()[s],
                        b_.CreateMul(b_.CreateAdd(at, number), e_.number(layout_.streams[s].strides.back())));
  }
  Value* row_of_buffer(std::size_t s, int row) {
    return b_.CreateGEP(type_of(s), buffers_[s], e_.number(row * e_.width));
  }

  void gather(std::size_t s, Value* at, Value* present, Value* back) {
    Values x;
    Value* last = b_.CreateSub(present, e_.number(1));
    for (int c = 0; c < e_.width; ++c) {  // columns that are not there repeat the last one
      Value* pointer = column(s, at, c ? e_.smaller(e_.number(c), last) : e_.number(0));
      pointer = b_.CreateGEP(type_of(s), pointer, b_.CreateNeg(back));
      x.push_back(e_.load_dense(type_of(s), pointer, e_.width, nullptr, nullptr));
    }
    x = turned(std::move(x));
    for (int r = 0; r < e_.width; ++r) e_.store_dense(x[r], row_of_buffer(s, r), nullptr);
  }
  void scatter(std::size_t s, Value* at, Value* present, Value* row_mask) {
    Values x;
    for (int r = 0; r < e_.width; ++r)
      x.push_back(e_.load_dense(type_of(s), row_of_buffer(s, r), e_.width, nullptr, nullptr));
    x = turned(std::move(x));
    for (int c = 0; c < e_.width; ++c) {
      Value* there = b_.CreateICmpSLT(e_.number(c), present);
      Value* mask = b_.CreateSelect(there, row_mask, llvm::Constant::getNullValue(row_mask->getType()));
      e_.store_dense(x[c], column(s, at, e_.number(c)), mask);
    }
  }

  // Transposes: each step exchanges the off-diagonal quarters of blocks of twice the size.
  Values turned(Values x) {
    for (int half = 1; half < e_.width; half *= 2) {
      llvm::SmallVector<int, 16> low, high;
      for (int l = 0; l < e_.width; ++l) {
        const bool second = l & half;
        low.push_back(second ? e_.width + l - half : l);
        high.push_back(second ? e_.width + l : l + half);
      }
      for (std::size_t r = 0, apart = static_cast<std::size_t>(half); r < x.size(); ++r) {
        if (r & apart) continue;
        Value *&a = x[r], *&c = x[r + apart];
        Value *first = b_.CreateShuffleVector(a, c, low), *second = b_.CreateShuffleVector(a, c, high);
        a = first, c = second;
      }
    }
    return x;
  }

  Emitter& e_;
  Builder& b_;
  const Layout& layout_;
  int inner_;
  std::int64_t columns_, rows_;  // of the last two dimensions
  std::vector<Value*> buffers_;  // by stream; null where it lies the usual way
};

}  // namespace

bool emit_tiles(Emitter& e) {
  TurnedTiles tiles(e);
  if (!e.masks || !tiles.any()) return false;
  tiles.run();
  return true;
}

}  // namespace anew::codegen
