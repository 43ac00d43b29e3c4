// See join.h.
#include "codegen/combine.h"

#include "base/dtype.h"

namespace anew::codegen {

using llvm::Value;
using loops::Combine;

Combiner::Combiner(Builder& b, const Layout& layout)
    : b_(b),
      dtype_(layout.node(layout.kernel.stores[0].node).dtype),
      combine_(combine_of(layout.kernel.combine, dtype_)),
      type_(dtype_ == bool_ ? b.getInt8Ty() : value_type(b.getContext(), computed_type(dtype_))) {}

llvm::Constant* Combiner::constant(std::uint64_t bits) const {
  if (!is_float(dtype_))
    return llvm::ConstantInt::get(type_, static_cast<std::uint64_t>(number_of_bits<std::int64_t>(dtype_, bits)), true);
  return llvm::ConstantFP::get(type_, number_of_bits<double>(dtype_, bits));
}

Value* Combiner::neutral(int width) const {
  // x + -0.0 is x for every x, which x + 0.0 is not.
  const bool of_sum = combine_ == Combine::sum && is_float(dtype_);
  llvm::Constant* c = constant(of_sum ? bits_of(dtype_, -0.0) : identity_bits(combine_, dtype_));
  return width == 1 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(width)), c);
}

Value* Combiner::identity() const { return given(constant(identity_bits(combine_, dtype_))); }

Value* Combiner::taken(Value* x) const {
  auto* v = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  llvm::Type* type = lanes_of(type_, v ? static_cast<int>(v->getNumElements()) : 1);
  if (is_float(dtype_) || x->getType() == type) return x;
  return is_signed_integer(dtype_) ? b_.CreateSExt(x, type) : b_.CreateZExt(x, type);
}
Value* Combiner::given(Value* x) const {
  if (dtype_ == bool_) return b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  if (is_float(dtype_) || !is_stored(dtype_)) return x;
  auto* v = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return b_.CreateTrunc(x,
                        lanes_of(value_type(b_.getContext(), dtype_), v ? static_cast<int>(v->getNumElements()) : 1));
}

Value* Combiner::apply(Value* a, Value* x) const {
  const bool floating = is_float(dtype_);
  switch (combine_) {
    case Combine::sum: return rounded(b_, dtype_, floating ? b_.CreateFAdd(a, x) : b_.CreateAdd(a, x));
    case Combine::product: return rounded(b_, dtype_, floating ? b_.CreateFMul(a, x) : b_.CreateMul(a, x));
    case Combine::and_: return b_.CreateAnd(a, x);
    case Combine::or_: return b_.CreateOr(a, x);
    default: break;
  }
  const bool max = combine_ == Combine::max;
  if (floating) {  // x > a, or x is a nan; two selects, since the machine has one instruction for the inner one
    Value* best = b_.CreateSelect(max ? b_.CreateFCmpOGT(x, a) : b_.CreateFCmpOLT(x, a), x, a);
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, best);
  }
  const bool sign = is_signed(dtype_);
  Value* wins = max    ? sign ? b_.CreateICmpSGT(x, a) : b_.CreateICmpUGT(x, a)
                   : sign ? b_.CreateICmpSLT(x, a)
                       : b_.CreateICmpULT(x, a);
  return b_.CreateSelect(wins, x, a);
}

Value* Combiner::across(llvm::SmallVector<Value*, 8> lanes) const {
  auto* v = llvm::cast<llvm::FixedVectorType>(lanes[0]->getType());
  int width = static_cast<int>(v->getNumElements());
  for (std::size_t half = 16 / static_cast<std::size_t>(width); half > 0; half /= 2) {
    for (std::size_t k = 0; k < half && k + half < lanes.size(); ++k) lanes[k] = apply(lanes[k], lanes[k + half]);
    if (lanes.size() > half) lanes.resize(half);
  }
  Value* x = lanes[0];
  for (width /= 2; width > 0; width /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (int l = 0; l < width; ++l) low.push_back(l), high.push_back(width + l);
    if (width == 1)
      x = apply(b_.CreateExtractElement(x, std::uint64_t{0}), b_.CreateExtractElement(x, std::uint64_t{1}));
    else x = apply(b_.CreateShuffleVector(x, low), b_.CreateShuffleVector(x, high));
  }
  return x;
}

}  // namespace anew::codegen
