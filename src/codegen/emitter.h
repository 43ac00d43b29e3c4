// Writes one LLVM function over the nest of a Layout: loops, positions in memory, loads and stores, and the nodes of a
// kernel at the place of the nest where they belong. The forms (emit_elementwise.cpp, emit_rows.cpp, emit_columns.cpp)
// are written with it. Invariant: within one pass over a place all loads come before all stores, so a result may
// replace an operand.
#pragma once
#include "codegen/layout.h"
#include "codegen/machine.h"
#include "codegen/operations.h"

namespace anew::codegen {

using Values = llvm::SmallVector<llvm::Value*, 8>;
template <class F>
using FunctionRef = llvm::function_ref<F>;

// Elements computed together: iterations at, at + 1, ... of the innermost loop, `copies` times `width` of them.
struct Lanes {
  llvm::Value* at = nullptr;
  int width = 1;
  int copies = 1;
  llvm::SmallVector<llvm::Value*, 4> masks = {};  // per copy, which of them there are; none: all
  llvm::Value* mask(int copy) const { return masks.empty() ? nullptr : masks[copy]; }
};

class Emitter {
 public:
  Emitter(llvm::Function* function, const Layout& layout, const Machine& machine);

  Builder b;
  const Layout& layout;
  const int width;   // of a vector
  const bool masks;  // for any loads and stores

  // ---- numbers and loops
  llvm::Value* number(std::int64_t n) { return b.getInt64(static_cast<std::uint64_t>(n)); }
  llvm::Value* smaller(llvm::Value* x, llvm::Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  llvm::Value* larger(llvm::Value* x, llvm::Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y); }
  llvm::Value* argument(unsigned n) { return function_->getArg(n); }
  // for (i = from; i < to; i = body(i, carried)): the body changes what is carried and gives the next i
  Values loop(llvm::Value* from, llvm::Value* to, Values carried,
              FunctionRef<llvm::Value*(llvm::Value*, Values&)> body);
  // for (i = from; i < to; i += step) carried = body(i, carried)
  Values loop(llvm::Value* from, llvm::Value* to, std::int64_t step, Values carried,
              FunctionRef<Values(llvm::Value*, const Values&)> body);
  void loop(llvm::Value* from, llvm::Value* to, std::int64_t step, FunctionRef<void(llvm::Value*)> body);
  void when(llvm::Value* condition, FunctionRef<void()> body);
  // The innermost iterations [from, to), `copies` (a power of two) vectors at a time; the last ones masked, or single
  // elements.
  void for_lanes(llvm::Value* from, llvm::Value* to, int copies, FunctionRef<void(const Lanes&)> body);
  // The same one vector after the other, whole ones without masks: loads that have one teach some machines (Zen 5) no
  // prefetching, so that memory is read at half the rate. A long body, which waits for arithmetic, is written once.
  void for_neighbours(llvm::Value* from, llvm::Value* to, FunctionRef<void(const Lanes&)> body);
  // Iterations [from, to) of the dimensions first, ..., innermost, in order, with nodes of Level::row; `body` gets the
  // flat number of its first iteration too.
  void walk(int first, llvm::Value* from, llvm::Value* to, FunctionRef<void(const Lanes&, llvm::Value*)> body);
  llvm::Value* mask_of(llvm::Value* present);  // the first `present` lanes; none or all where there are none or more
  llvm::Value* local(llvm::Type* element, std::int64_t count);  // memory of this call

  // ---- positions: every stream has one, moved by indices of dimensions
  using Position = std::vector<llvm::Value*>;
  const Position& position() const { return position_; }
  void set_position(Position p) { position_ = std::move(p); }
  void move(int dimension, llvm::Value* index);
  // From now on the stream finds its elements at `pointer`, dense along the innermost dimension.
  void replace(std::size_t stream, llvm::Value* pointer);
  // Moves by the flat number of an iteration of dimensions [first, last).
  void move_flat(int first, int last, llvm::Value* flat);

  // ---- nodes
  void emit(Level place);
  void emit(Level place, const Lanes& lanes);
  llvm::Value* value(int node, int width, int copy = 0) const;
  // Elements at `pointer`, dense, as the type of `pointer`'s elements; absent lanes are `other`.
  llvm::Value* load_dense(llvm::Type* element, llvm::Value* pointer, int width, llvm::Value* mask, llvm::Value* other);
  void store_dense(llvm::Value* x, llvm::Value* pointer, llvm::Value* mask);
  // Into the memory of store number `store`; x is a value of the node's dtype.
  void store(int store, const Lanes& lanes, llvm::Value* x, int copy = 0);
  void store_one(int store, llvm::Value* x);  // at the position itself

 private:
  llvm::Value* load(std::size_t stream, const Lanes& lanes, int copy);
  llvm::Value* indices(std::size_t stream, DType dtype, const Lanes& lanes, int copy);
  llvm::Value* lane_pointers(std::size_t stream, llvm::Value* pointer, int width);
  llvm::Value* element(std::size_t stream, const Lanes& lanes, int copy);
  void set(int node, int copy, llvm::Value* x);
  // Nodes of a place that are needed if `condition` holds somewhere (-1: always), each by `write`; with branches around
  // those that other conditions ask for.
  void for_nodes(Level place, int condition, const Lanes& lanes, FunctionRef<void(int)> write);
  void branch(Level place, int condition, const Lanes& lanes, FunctionRef<void(int)> write);

  llvm::Function* function_;
  Position position_;
  std::vector<std::int64_t> inner_strides_;  // by stream, of the innermost dimension
  std::vector<llvm::SmallVector<llvm::Value*, 4>> values_;
  std::vector<llvm::Value*> splats_;
};

// The number of lanes for a kernel.
int width_of(const Layout& layout, const Machine& machine);

// Each writes the function `run` or `finish` of a kernel of its form.
void emit_elementwise(Emitter& e);
// The same by square tiles, where an operand lies the other way round; false, and nothing written, where none does.
bool emit_tiles(Emitter& e);
void emit_rows(Emitter& e, bool finish);
void emit_columns(Emitter& e, bool finish);

}  // namespace anew::codegen
