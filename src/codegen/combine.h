// How a reduction joins values, in LLVM IR. Accumulators start from a neutral value, which no join can tell from an
// absent one (-0 for sums of floats), so chains, lanes and masks need no case for the first element.
#pragma once
#include "codegen/emitter.h"
#include "codegen/layout.h"
#include "codegen/operations.h"

namespace anew::codegen {

class Combiner {
 public:
  Combiner(Builder& b, const Layout& layout);

  llvm::Type* type() const {
    return type_;
  }  // of an accumulator, in memory too: bool is a byte, narrow integers 32 bits
  llvm::Value* neutral(int width) const;     // join(neutral, x) = x, join(x, neutral) = x
  llvm::Value* identity() const;             // the result of no elements, as a value of the node
  llvm::Value* taken(llvm::Value* x) const;  // from a value of the node
  llvm::Value* given(llvm::Value* x) const;  // to one
  llvm::Value* apply(llvm::Value* a, llvm::Value* x) const;
  // Joins lanes by halves: lane l with l + 16, then l + 8, ..., of vectors that together hold 32 lanes; absent vectors
  // at the end are left out.
  llvm::Value* across(llvm::SmallVector<llvm::Value*, 8> lanes) const;

 private:
  llvm::Constant* constant(std::uint64_t bits) const;

  Builder& b_;
  DType dtype_;
  loops::Combine combine_;
  llvm::Type* type_;
};

// What code for a reduction is made with, in rows and in columns.
struct Reduction {
  explicit Reduction(Emitter& e)
      : e_(e), b_(e.b), layout_(e.layout), join_(e.b, e.layout), node_(e.layout.kernel.stores[0].node) {}
  llvm::Value* at(llvm::Value* pointer, llvm::Value* index) { return b_.CreateGEP(join_.type(), pointer, index); }

  Emitter& e_;
  Builder& b_;
  const Layout& layout_;
  Combiner join_;
  int node_;  // whose values are joined
};

}  // namespace anew::codegen
