// See operations.h. No fast-math flag is ever set, so LLVM may not contract, reassociate or drop signs of zeros.
#include "codegen/operations.h"

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/dtype.h"

namespace anew::codegen {
namespace {

using llvm::Type;
using llvm::Value;
using llvm::Intrinsic::ID;
using loops::Op;

Value* call1(Builder& b, ID id, Value* x) { return b.CreateUnaryIntrinsic(id, x); }
Value* number(Value* like, std::uint64_t value) { return llvm::ConstantInt::get(like->getType(), value); }
Value* zero(Value* like) { return llvm::Constant::getNullValue(like->getType()); }
// The type of x with other elements.
Type* with_element(Value* x, Type* element) {
  if (auto* v = llvm::dyn_cast<llvm::VectorType>(x->getType()))
    return llvm::VectorType::get(element, v->getElementCount());
  return element;
}

// In machine code integers have their own width, and stored floats are computed in f32.
DType value_dtype(DType d) { return is_float(d) ? computed_type(d) : d; }

// x / y and x - q * y; zero gives -1 and x, -1 negates and gives 0, as loops::divide and remainder say.
Value* divide(Builder& b, DType dtype, Value* x, Value* y, bool remainder) {
  const bool is_wide = size_of(dtype) == 8, sign = is_signed(dtype);
  Value* by_zero = b.CreateICmpEQ(y, zero(y));
  Value* special = by_zero;
  Value* by_minus_one = nullptr;
  if (sign) {
    by_minus_one = b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(y->getType()));
    special = b.CreateOr(by_zero, by_minus_one);
  }
  Value* safe = b.CreateSelect(special, number(y, 1), y);
  Value* quotient;
  if (is_wide || llvm::isa<llvm::Constant>(y)) {
    quotient = sign ? b.CreateSDiv(x, safe) : b.CreateUDiv(x, safe);
  } else {
    // 32-bit quotients are exact through f64, which has vector instructions.
    Type* f = with_element(x, b.getDoubleTy());
    Value* q = b.CreateFDiv(sign ? b.CreateSIToFP(x, f) : b.CreateUIToFP(x, f),
                            sign ? b.CreateSIToFP(safe, f) : b.CreateUIToFP(safe, f));
    quotient = sign ? b.CreateFPToSI(q, x->getType()) : b.CreateFPToUI(q, x->getType());
  }
  if (remainder) {
    Value* r = b.CreateSub(x, b.CreateMul(quotient, safe));  // dividing by 1 has given 0 for -1
    return b.CreateSelect(by_zero, x, r);
  }
  if (sign) quotient = b.CreateSelect(by_minus_one, b.CreateNeg(x), quotient);
  return b.CreateSelect(by_zero, llvm::Constant::getAllOnesValue(x->getType()), quotient);
}

Value* shift(Builder& b, Op op, Value* x, Value* n) {
  const unsigned bits = x->getType()->getScalarSizeInBits();
  Value* out = b.CreateICmpUGE(n, number(n, bits));
  if (op == Op::shr_arith) return b.CreateAShr(x, b.CreateSelect(out, number(n, bits - 1), n));
  Value* amount = b.CreateAnd(n, number(n, bits - 1));
  Value* shifted = op == Op::shl ? b.CreateShl(x, amount) : b.CreateLShr(x, amount);
  return b.CreateSelect(out, zero(x), shifted);
}

Value* compare(Builder& b, Op op, DType dtype, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  if (is_float(dtype)) {
    const P p = op == Op::eq   ? P::FCMP_OEQ
                : op == Op::ne ? P::FCMP_UNE
                : op == Op::lt ? P::FCMP_OLT
                : op == Op::le ? P::FCMP_OLE
                : op == Op::gt ? P::FCMP_OGT
                               : P::FCMP_OGE;
    return b.CreateFCmp(p, x, y);
  }
  if (dtype == bool_) switch (op) {  // false < true
      case Op::eq: return b.CreateNot(b.CreateXor(x, y));
      case Op::ne: return b.CreateXor(x, y);
      case Op::lt: return b.CreateAnd(b.CreateNot(x), y);
      case Op::le: return b.CreateOr(b.CreateNot(x), y);
      case Op::gt: return b.CreateAnd(x, b.CreateNot(y));
      default: return b.CreateOr(x, b.CreateNot(y));
    }
  const bool s = is_signed(dtype);
  const P p = op == Op::eq   ? P::ICMP_EQ
              : op == Op::ne ? P::ICMP_NE
              : op == Op::lt ? s ? P::ICMP_SLT : P::ICMP_ULT
              : op == Op::le ? s ? P::ICMP_SLE : P::ICMP_ULE
              : op == Op::gt ? s ? P::ICMP_SGT : P::ICMP_UGT
              : s            ? P::ICMP_SGE
                             : P::ICMP_UGE;
  return b.CreateICmp(p, x, y);
}

Value* convert(Builder& b, DType from, DType to, Value* x) {
  from = value_dtype(from), to = value_dtype(to);
  if (from == to) return x;
  Type* t = with_element(x, value_type(b.getContext(), to));
  if (to == bool_) return is_float(from) ? b.CreateFCmpUNE(x, zero(x)) : b.CreateICmpNE(x, zero(x));
  if (is_float(to)) {
    if (is_float(from)) return to == f64 ? b.CreateFPExt(x, t) : b.CreateFPTrunc(x, t);
    if (from == bool_) return b.CreateSelect(x, llvm::ConstantFP::get(t, 1.0), llvm::ConstantFP::get(t, 0.0));
    return is_signed(from) ? b.CreateSIToFP(x, t) : b.CreateUIToFP(x, t);
  }
  if (is_float(from)) {  // saturates, nan gives 0
    const ID id = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {t, x->getType()}, {x});
  }
  return is_signed_integer(from) ? b.CreateSExtOrTrunc(x, t) : b.CreateZExtOrTrunc(x, t);
}

// By the instruction that AVX-512 has, for a register at a time.
Value* scaled(Builder& b, Value* x, Value* n) {
  namespace intrinsic = llvm::Intrinsic;
  const bool wide = x->getType()->getScalarType()->isDoubleTy();
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!type) {
    Value* room = llvm::PoisonValue::get(lanes_of(x->getType(), wide ? 2 : 4));
    Value* r =
        scaled(b, b.CreateInsertElement(room, x, std::uint64_t{0}), b.CreateInsertElement(room, n, std::uint64_t{0}));
    return b.CreateExtractElement(r, std::uint64_t{0});
  }
  const unsigned lanes = type->getNumElements(), bits = lanes * (wide ? 64 : 32);
  if (bits > 512) {
    llvm::SmallVector<int> low, high, all;
    for (int l = 0; l < static_cast<int>(lanes); ++l) (l < static_cast<int>(lanes) / 2 ? low : high).push_back(l);
    all.append(low), all.append(high);
    return b.CreateShuffleVector(scaled(b, b.CreateShuffleVector(x, low), b.CreateShuffleVector(n, low)),
                                 scaled(b, b.CreateShuffleVector(x, high), b.CreateShuffleVector(n, high)), all);
  }
  const ID single = bits == 512   ? intrinsic::x86_avx512_mask_scalef_ps_512
                    : bits == 256 ? intrinsic::x86_avx512_mask_scalef_ps_256
                                  : intrinsic::x86_avx512_mask_scalef_ps_128;
  const ID twice = bits == 512   ? intrinsic::x86_avx512_mask_scalef_pd_512
                   : bits == 256 ? intrinsic::x86_avx512_mask_scalef_pd_256
                                 : intrinsic::x86_avx512_mask_scalef_pd_128;
  Value* everywhere = llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8u, lanes)));
  llvm::SmallVector<Value*> arguments{x, n, x, everywhere};
  if (bits == 512) arguments.push_back(b.getInt32(4));  // rounding as usual
  return b.CreateIntrinsic(wide ? twice : single, {}, arguments);
}

Value* float_operation(Builder& b, Op op, Value* x, Value* y, Value* z) {
  switch (op) {
    case Op::add: return b.CreateFAdd(x, y);
    case Op::sub: return b.CreateFSub(x, y);
    case Op::mul: return b.CreateFMul(x, y);
    case Op::div: return b.CreateFDiv(x, y);
    case Op::rem: return b.CreateFRem(x, y);
    case Op::scale: return scaled(b, x, y);
    case Op::fma: return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
    case Op::neg: return b.CreateFNeg(x);
    case Op::abs: return call1(b, llvm::Intrinsic::fabs, x);
    case Op::sqrt: return call1(b, llvm::Intrinsic::sqrt, x);
    case Op::floor: return call1(b, llvm::Intrinsic::floor, x);
    case Op::ceil: return call1(b, llvm::Intrinsic::ceil, x);
    case Op::trunc: return call1(b, llvm::Intrinsic::trunc, x);
    case Op::round_even: return call1(b, llvm::Intrinsic::roundeven, x);
    default: return nullptr;
  }
}

Value* integer_operation(Builder& b, Op op, DType dtype, Value* x, Value* y) {
  switch (op) {
    case Op::add: return b.CreateAdd(x, y);
    case Op::sub: return b.CreateSub(x, y);
    case Op::mul: return b.CreateMul(x, y);
    case Op::div: return divide(b, dtype, x, y, false);
    case Op::rem: return divide(b, dtype, x, y, true);
    case Op::neg: return b.CreateNeg(x);
    case Op::abs: return is_signed(dtype) ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
    case Op::and_: return b.CreateAnd(x, y);
    case Op::or_: return b.CreateOr(x, y);
    case Op::xor_: return b.CreateXor(x, y);
    case Op::not_: return b.CreateNot(x);
    case Op::shl:
    case Op::shr_arith:
    case Op::shr_logical: return shift(b, op, x, y);
    case Op::popcount: return call1(b, llvm::Intrinsic::ctpop, x);
    default: return nullptr;
  }
}

Value* constant(Builder& b, const loops::Node& node, int width) {
  Type* t = value_type(b.getContext(), node.dtype);
  llvm::Constant* c;
  if (node.dtype == f64) {
    c = llvm::ConstantFP::get(b.getContext(), llvm::APFloat(std::bit_cast<double>(node.imm)));
  } else if (is_float(node.dtype)) {
    c = llvm::ConstantFP::get(b.getContext(), llvm::APFloat(float_of_bits(node.dtype, node.imm)));
  } else {
    const unsigned bits = t->getScalarSizeInBits();
    c = llvm::ConstantInt::get(t, bits == 64 ? node.imm : node.imm & ((std::uint64_t{1} << bits) - 1));
  }
  return width == 1 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(width)), c);
}

}  // namespace

Type* memory_type(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case bool_: return Type::getInt8Ty(context);
    case bf16: return Type::getInt16Ty(context);
    case f16: return Type::getHalfTy(context);
    default: return value_type(context, dtype);
  }
}
Type* value_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == bool_) return Type::getInt1Ty(context);
  if (!is_float(dtype)) return Type::getIntNTy(context, static_cast<unsigned>(8 * size_of(dtype)));
  return dtype == f64 ? Type::getDoubleTy(context) : Type::getFloatTy(context);
}
Type* lanes_of(Type* type, int width) {
  return width == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(width));
}

Value* rounded(Builder& b, DType dtype, Value* x) {
  if (!is_float(dtype) || !is_stored(dtype)) return x;
  if (dtype == f16) return b.CreateFPExt(b.CreateFPTrunc(x, with_element(x, b.getHalfTy())), x->getType());
  Value* u = b.CreateBitCast(x, with_element(x, b.getInt32Ty()));
  Value* odd = b.CreateAnd(b.CreateLShr(u, number(u, 16)), number(u, 1));
  Value* r = b.CreateAdd(b.CreateAdd(u, number(u, 0x7fff)), odd);
  Value* quiet = b.CreateOr(u, number(u, 0x400000));
  Value* bits = b.CreateSelect(b.CreateFCmpOEQ(x, x), r, quiet);
  return b.CreateBitCast(b.CreateAnd(bits, number(u, 0xffff0000u)), x->getType());
}

Value* from_memory(Builder& b, DType dtype, Value* x) {
  if (dtype == bool_) return b.CreateICmpNE(x, zero(x));
  if (dtype == f16) return b.CreateFPExt(x, with_element(x, b.getFloatTy()));
  if (dtype != bf16) return x;
  Value* wide = b.CreateZExt(x, with_element(x, b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(wide, number(wide, 16)), with_element(x, b.getFloatTy()));
}

Value* to_memory(Builder& b, DType dtype, DType node, Value* x) {
  if (dtype == bool_) return b.CreateZExt(x, with_element(x, b.getInt8Ty()));
  if (dtype == f16) return b.CreateFPTrunc(x, with_element(x, b.getHalfTy()));
  if (dtype != bf16) return x;
  if (node != bf16) x = rounded(b, bf16, x);
  Value* u = b.CreateBitCast(x, with_element(x, b.getInt32Ty()));
  return b.CreateTrunc(b.CreateLShr(u, number(u, 16)), with_element(x, b.getInt16Ty()));
}

Value* operate(Builder& b, const loops::Node& node, DType operand, Value* x, Value* y, Value* z, int width) {
  if (node.op == Op::constant) return constant(b, node, width);
  if (node.op >= Op::eq && node.op <= Op::ge) return compare(b, node.op, operand, x, y);
  if (node.op == Op::select) return b.CreateSelect(x, y, z);
  if (node.op == Op::bitcast) return b.CreateBitCast(x, with_element(x, value_type(b.getContext(), node.dtype)));
  if (node.op == Op::convert) return rounded(b, node.dtype, convert(b, operand, node.dtype, x));
  Value* r =
      is_float(node.dtype) ? float_operation(b, node.op, x, y, z) : integer_operation(b, node.op, node.dtype, x, y);
  if (!r) throw InternalError(fmt::format("[codegen] no code for {} of {}", name_of(node.op), name_of(node.dtype)));
  return rounded(b, node.dtype, r);
}

}  // namespace anew::codegen
