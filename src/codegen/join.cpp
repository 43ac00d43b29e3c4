// See join.h.
#include "codegen/join.h"

#include <limits>

namespace anew::codegen {

using llvm::Value;
using loops::Combine;

Join::Join(Builder& b, const Layout& layout)
    : b_(b),
      combine_(layout.kernel.combine),
      dtype_(layout.node(layout.kernel.stores[0].node).dtype),
      type_(dtype_ == bool_ ? b.getInt8Ty() : value_type(b.getContext(), dtype_)) {
  if (dtype_ == bool_)
    combine_ = combine_ == Combine::max ? Combine::or_ : combine_ == Combine::min ? Combine::and_ : combine_;
}

llvm::Constant* Join::number(double floating, std::int64_t integer) const {
  if (is_float(dtype_)) return llvm::ConstantFP::get(type_, floating);
  return llvm::ConstantInt::get(type_, static_cast<std::uint64_t>(integer), true);
}

Value* Join::neutral(int width) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool is_wide = dtype_ == i64;
  llvm::Constant* c = nullptr;
  switch (combine_) {
    case Combine::sum: c = number(-0.0, 0); break;
    case Combine::product: c = number(1, 1); break;
    case Combine::max: c = number(-infinity, dtype_ == u32 ? 0 : is_wide ? INT64_MIN : INT32_MIN); break;
    case Combine::min: c = number(infinity, dtype_ == u32 ? UINT32_MAX : is_wide ? INT64_MAX : INT32_MAX); break;
    case Combine::and_: c = number(0, dtype_ == bool_ ? 1 : -1); break;
    default: c = number(0, 0); break;
  }
  return width == 1 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(width)), c);
}

Value* Join::identity() const {
  return given(combine_ == Combine::sum ? llvm::Constant::getNullValue(type_) : neutral(1));
}

Value* Join::taken(Value* x) const {
  if (dtype_ != bool_) return x;
  auto* v = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return b_.CreateZExt(x, lanes_of(type_, v ? static_cast<int>(v->getNumElements()) : 1));
}
Value* Join::given(Value* x) const {
  return dtype_ == bool_ ? b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType())) : x;
}

Value* Join::apply(Value* a, Value* x) const {
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
  const bool sign = dtype_ != u32;
  Value* wins = max    ? sign ? b_.CreateICmpSGT(x, a) : b_.CreateICmpUGT(x, a)
                   : sign ? b_.CreateICmpSLT(x, a)
                       : b_.CreateICmpULT(x, a);
  return b_.CreateSelect(wins, x, a);
}

Value* Join::across(llvm::SmallVector<Value*, 8> lanes) const {
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
