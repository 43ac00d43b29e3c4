// See combine.h.
#include "codegen/combine.h"

#include "base/dtype.h"

namespace anew::codegen {

using llvm::Value;
using loops::Combine;

namespace {

// A value of the code, with the operators in which ANEW_COMBINES is written.
struct Number {
  Builder& b;
  DType dtype;
  Value* value;
};
Number operator+(const Number& a, const Number& x) {
  Builder& b = a.b;
  Value* sum = is_float(a.dtype) ? b.CreateFAdd(a.value, x.value) : b.CreateAdd(a.value, x.value);
  return {b, a.dtype, rounded(b, a.dtype, sum)};
}
Number operator*(const Number& a, const Number& x) {
  Builder& b = a.b;
  Value* product = is_float(a.dtype) ? b.CreateFMul(a.value, x.value) : b.CreateMul(a.value, x.value);
  return {b, a.dtype, rounded(b, a.dtype, product)};
}
Number operator&(const Number& a, const Number& x) { return {a.b, a.dtype, a.b.CreateAnd(a.value, x.value)}; }
Number operator|(const Number& a, const Number& x) { return {a.b, a.dtype, a.b.CreateOr(a.value, x.value)}; }
Value* operator<(const Number& a, const Number& x) {
  if (is_float(a.dtype)) return a.b.CreateFCmpOLT(a.value, x.value);
  return is_signed(a.dtype) ? a.b.CreateICmpSLT(a.value, x.value) : a.b.CreateICmpULT(a.value, x.value);
}
Value* operator>(const Number& a, const Number& x) {
  if (is_float(a.dtype)) return a.b.CreateFCmpOGT(a.value, x.value);
  return is_signed(a.dtype) ? a.b.CreateICmpSGT(a.value, x.value) : a.b.CreateICmpUGT(a.value, x.value);
}
// Nothing where there is no nan.
Value* is_nan(const Number& x) { return is_float(x.dtype) ? x.b.CreateFCmpUNO(x.value, x.value) : nullptr; }
Number select(Value* condition, const Number& yes, const Number& no) {
  return condition ? Number{no.b, no.dtype, no.b.CreateSelect(condition, yes.value, no.value)} : no;
}

}  // namespace

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

Value* Combiner::apply(Value* left, Value* right) const {
  const Number a{b_, dtype_, left}, x{b_, dtype_, right};
  switch (combine_) {
#define ANEW_COMBINE(name, text, joins, identity, of_bool, joined) \
  case Combine::name: return (joined).value;
    ANEW_COMBINES(ANEW_COMBINE)
#undef ANEW_COMBINE
  }
  return nullptr;
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
