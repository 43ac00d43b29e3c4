// See emitter.h.
#include "codegen/emitter.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <limits>

#include "loops/instruction.h"

namespace anew::codegen {

using llvm::Type;
using llvm::Value;
using loops::Op;

int width_of(const Layout& layout, const Machine& machine) {
  // Wide values take two registers each, or all of a loop with many of them takes half as many lanes.
  return machine.vector_bytes / (layout.wide * 2 > layout.work ? 8 : 4);
}

Emitter::Emitter(llvm::Function* function, const Layout& l, const Machine& machine)
    : b(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
      layout(l),
      width(width_of(l, machine)),
      masks(machine.masks),
      function_(function),
      values_(l.kernel.nodes.size()),
      splats_(l.kernel.nodes.size()) {
  std::vector<Value*> base(l.kernel.operands.size());
  for (const OperandStream& s : l.streams) {
    inner_strides_.push_back(s.strides.back());
    if (s.operand < 0) {
      position_.push_back(number(0));
      continue;
    }
    Value*& pointer = base[s.operand];
    if (!pointer)
      pointer = b.CreateLoad(b.getPtrTy(),
                             b.CreateConstGEP1_64(b.getPtrTy(), argument(0), static_cast<std::uint64_t>(s.operand)));
    Type* type = memory_type(b.getContext(), s.dtype);
    position_.push_back(s.offset ? b.CreateGEP(type, pointer, number(s.offset)) : pointer);
  }
}

// ---- loops

Values Emitter::loop(Value* from, Value* to, Values carried, FunctionRef<Value*(Value*, Values&)> body) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function_); };
  llvm::BasicBlock *head = block("loop"), *inside = block("body"), *after = block("after");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(from, before);
  Values phis;
  for (Value* c : carried) {
    llvm::PHINode* phi = b.CreatePHI(c->getType(), 2);
    phi->addIncoming(c, before);
    phis.push_back(phi);
  }
  b.CreateCondBr(b.CreateICmpSLT(i, to), inside, after);
  b.SetInsertPoint(inside);
  Values next = phis;
  Value* step = body(i, next);
  i->addIncoming(step, b.GetInsertBlock());
  for (std::size_t k = 0; k < phis.size(); ++k)
    llvm::cast<llvm::PHINode>(phis[k])->addIncoming(next[k], b.GetInsertBlock());
  b.CreateBr(head);
  after->moveAfter(b.GetInsertBlock());
  b.SetInsertPoint(after);
  return phis;
}

Values Emitter::loop(Value* from, Value* to, std::int64_t step, Values carried,
                     FunctionRef<Values(Value*, const Values&)> body) {
  return loop(from, to, std::move(carried), [&](Value* i, Values& values) {
    values = body(i, values);
    return b.CreateAdd(i, number(step), "", true, true);
  });
}

void Emitter::loop(Value* from, Value* to, std::int64_t step, FunctionRef<void(Value*)> body) {
  loop(from, to, {}, [&](Value* i, Values&) {
    body(i);
    return b.CreateAdd(i, number(step), "", true, true);
  });
}

void Emitter::when(Value* condition, FunctionRef<void()> body) {
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "when", function_);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "done", function_);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  body();
  b.CreateBr(after);
  after->moveAfter(b.GetInsertBlock());
  b.SetInsertPoint(after);
}

Value* Emitter::mask_of(Value* present) {
  auto* bits = b.getIntNTy(static_cast<unsigned>(width));
  Value* n = b.CreateTrunc(smaller(present, number(width)), b.getInt32Ty());
  Value* below = b.CreateSub(b.CreateShl(b.getInt32(1), n), b.getInt32(1));
  return b.CreateBitCast(b.CreateTrunc(below, bits), lanes_of(b.getInt1Ty(), width));
}

void Emitter::for_lanes(Value* from, Value* to, int copies, FunctionRef<void(const Lanes&)> body) {
  const std::int64_t extent = layout.extents.back();
  while (copies > 1 && copies / 2 * width >= extent) copies /= 2;
  const int step = copies * width;
  if (masks)
    return loop(from, to, step, [&](Value* i) {
      Lanes lanes{i, width, copies};
      Value* present = b.CreateSub(to, i);
      for (int c = 0; c < copies; ++c)
        lanes.masks.push_back(mask_of(c ? larger(b.CreateSub(present, number(c * width)), number(0)) : present));
      body(lanes);
    });
  if (extent >= step) {
    Value* whole = b.CreateAdd(from, b.CreateAnd(b.CreateSub(to, from), number(-step)));
    loop(from, whole, step, [&](Value* i) { body({i, width, copies}); });
    from = whole;
  }
  loop(from, to, 1, [&](Value* i) { body({i, 1}); });
}

void Emitter::for_neighbours(Value* from, Value* to, FunctionRef<void(const Lanes&)> body) {
  constexpr int long_body = 512;
  if (masks && layout.extents.back() >= width && layout.work <= long_body) {
    Value* whole = b.CreateAdd(from, b.CreateAnd(b.CreateSub(to, from), number(-width)));
    loop(from, whole, width, [&](Value* i) { body({i, width}); });
    from = whole;
  }
  for_lanes(from, to, 1, body);
}

void Emitter::walk(int first, Value* from, Value* to, FunctionRef<void(const Lanes&, Value*)> body) {
  const int inner = layout.inner();
  if (first == inner) return for_neighbours(from, to, [&](const Lanes& lanes) { body(lanes, lanes.at); });
  Value* extent = number(layout.extents[inner]);
  Value* rows = b.CreateUDiv(b.CreateAdd(to, b.CreateSub(extent, number(1))), extent);
  loop(b.CreateUDiv(from, extent), rows, 1, [&](Value* row) {
    const Position before = position_;
    Value* start = b.CreateMul(row, extent);
    move_flat(first, inner, row);
    emit(Level::row);
    for_neighbours(larger(b.CreateSub(from, start), number(0)), smaller(b.CreateSub(to, start), extent),
                   [&](const Lanes& lanes) { body(lanes, b.CreateAdd(start, lanes.at)); });
    position_ = before;
  });
}

Value* Emitter::local(Type* element, std::int64_t count) {
  Builder at(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* memory = at.CreateAlloca(llvm::ArrayType::get(element, static_cast<std::uint64_t>(count)));
  memory->setAlignment(llvm::Align(64));
  return memory;
}

// ---- positions

void Emitter::move(int dimension, Value* index) {
  for (std::size_t s = 0; s < position_.size(); ++s) {
    const std::int64_t stride = layout.streams[s].strides[dimension];
    if (stride == 0) continue;
    Value* by = stride == 1 ? index : b.CreateMul(index, number(stride));
    position_[s] = layout.streams[s].operand < 0
                       ? b.CreateAdd(position_[s], by)
                       : b.CreateGEP(memory_type(b.getContext(), layout.streams[s].dtype), position_[s], by);
  }
}

void Emitter::replace(std::size_t stream, Value* pointer) {
  position_[stream] = pointer;
  inner_strides_[stream] = 1;
}

void Emitter::move_flat(int first, int last, Value* flat) {
  for (int d = last - 1; d >= first; --d) {
    Value* extent = number(layout.extents[d]);
    move(d, d == first ? flat : b.CreateURem(flat, extent));
    if (d != first) flat = b.CreateUDiv(flat, extent);
  }
}

// ---- memory

Value* Emitter::load_dense(Type* element, Value* pointer, int lanes, Value* mask, Value* other) {
  Type* type = lanes_of(element, lanes);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  if (!mask) return b.CreateAlignedLoad(type, pointer, align);
  return b.CreateMaskedLoad(type, pointer, align, mask, other ? other : llvm::Constant::getNullValue(type));
}

void Emitter::store_dense(Value* x, Value* pointer, Value* mask) {
  const llvm::Align align(x->getType()->getScalarSizeInBits() / 8);
  if (mask) b.CreateMaskedStore(x, pointer, align, mask);
  else b.CreateAlignedStore(x, pointer, align);
}

// Where element `copy` of the lanes lies.
Value* Emitter::element(std::size_t stream, const Lanes& lanes, int copy) {
  const std::int64_t stride = inner_strides_[stream];
  Type* type = memory_type(b.getContext(), layout.streams[stream].dtype);
  if (stride == 0) return position_[stream];
  Value* at = copy ? b.CreateAdd(lanes.at, number(copy * lanes.width)) : lanes.at;
  return b.CreateGEP(type, position_[stream], stride == 1 ? at : b.CreateMul(at, number(stride)));
}

// The addresses of lanes whose elements are apart.
Value* Emitter::lane_pointers(std::size_t stream, Value* pointer, int lanes) {
  const std::int64_t stride = inner_strides_[stream];
  const bool narrow = std::abs(stride) < std::numeric_limits<std::int32_t>::max() / 64;
  llvm::SmallVector<llvm::Constant*> offsets;
  for (int l = 0; l < lanes; ++l)
    offsets.push_back(llvm::ConstantInt::getSigned(narrow ? b.getInt32Ty() : b.getInt64Ty(), stride * l));
  return b.CreateGEP(memory_type(b.getContext(), layout.streams[stream].dtype), pointer,
                     llvm::ConstantVector::get(offsets));
}

Value* Emitter::load(std::size_t stream, const Lanes& lanes, int copy) {
  const OperandStream& s = layout.streams[stream];
  const std::int64_t stride = inner_strides_[stream];
  Type* type = memory_type(b.getContext(), s.dtype);
  const llvm::Align align(size_of(s.dtype));
  Value* pointer = element(stream, lanes, copy);
  if (lanes.width == 1 || stride == 1)
    return from_memory(b, s.dtype, load_dense(type, pointer, lanes.width, lanes.mask(copy), nullptr));
  if (size_of(s.dtype) >= 4 || lanes.masks.empty()) {
    Value* mask = lanes.mask(copy);
    if (!mask) mask = llvm::Constant::getAllOnesValue(lanes_of(b.getInt1Ty(), lanes.width));
    Value* pointers = lane_pointers(stream, pointer, lanes.width);
    return from_memory(b, s.dtype,
                       b.CreateMaskedGather(lanes_of(type, lanes.width), pointers, align, mask,
                                            llvm::Constant::getNullValue(lanes_of(type, lanes.width))));
  }
  // Small elements have no gather; absent lanes read the first one of all copies, which is there: all of this one may
  // be absent.
  Value* x = llvm::Constant::getNullValue(lanes_of(type, lanes.width));
  pointer = element(stream, lanes, 0);
  for (int l = 0; l < lanes.width; ++l) {
    const int at = copy * lanes.width + l;
    Value* there = b.CreateExtractElement(lanes.mask(copy), static_cast<std::uint64_t>(l));
    Value* offset = at ? b.CreateSelect(there, number(stride * at), number(0)) : number(0);
    x = b.CreateInsertElement(x, b.CreateAlignedLoad(type, b.CreateGEP(type, pointer, offset), align),
                              static_cast<std::uint64_t>(l));
  }
  return from_memory(b, s.dtype, x);
}

Value* Emitter::indices(std::size_t stream, DType dtype, const Lanes& lanes, int copy) {
  const std::int64_t stride = inner_strides_[stream];
  Type* type = value_type(b.getContext(), dtype);
  Value* at = copy ? b.CreateAdd(lanes.at, number(copy * lanes.width)) : lanes.at;
  Value* first = b.CreateAdd(position_[stream], stride == 1 ? at : b.CreateMul(at, number(stride)));
  first = b.CreateTrunc(first, type);
  if (lanes.width == 1) return first;
  llvm::SmallVector<llvm::Constant*> offsets;
  for (int l = 0; l < lanes.width; ++l) offsets.push_back(llvm::ConstantInt::getSigned(type, stride * l));
  return b.CreateAdd(b.CreateVectorSplat(static_cast<unsigned>(lanes.width), first),
                     llvm::ConstantVector::get(offsets));
}

void Emitter::store(int store, const Lanes& lanes, Value* x, int copy) {
  const std::size_t at = layout.stores[store];
  const OperandStream& s = layout.streams[at];
  x = to_memory(b, s.dtype, layout.node(layout.kernel.stores[store].node).dtype, x);
  Value* pointer = element(at, lanes, copy);
  if (lanes.width == 1 || inner_strides_[at] == 1) return store_dense(x, pointer, lanes.mask(copy));
  b.CreateMaskedScatter(x, lane_pointers(at, pointer, lanes.width), llvm::Align(size_of(s.dtype)), lanes.mask(copy));
}

void Emitter::store_one(int store, Value* x) {
  const std::size_t at = layout.stores[store];
  const OperandStream& s = layout.streams[at];
  store_dense(to_memory(b, s.dtype, layout.node(layout.kernel.stores[store].node).dtype, x), position_[at], nullptr);
}

// ---- nodes

void Emitter::set(int node, int copy, Value* x) {
  auto& copies = values_[node];
  if (static_cast<int>(copies.size()) <= copy) copies.resize(static_cast<std::size_t>(copy) + 1);
  copies[copy] = x;
}

Value* Emitter::value(int node, int lanes, int copy) const {
  const std::size_t n = node;
  if (by_lane(layout.place[n])) return values_[n][copy];
  return lanes == 1 ? values_[n][0] : splats_[n];
}

void Emitter::for_nodes(Level place, int condition, const Lanes& lanes, FunctionRef<void(int)> write) {
  for (int n = 0; n < static_cast<int>(values_.size()); ++n) {
    if (layout.place[n] != place || layout.only_if[n] != condition) continue;
    if (!layout.is_rare(n)) write(n);
    else if (layout.rare.at(layout.node(n).a).front() == n) branch(place, layout.node(n).a, lanes, write);
  }
}

void Emitter::branch(Level place, int condition, const Lanes& lanes, FunctionRef<void(int)> write) {
  Value* anywhere = values_[condition][0];
  for (int c = 1; c < lanes.copies; ++c) anywhere = b.CreateOr(anywhere, values_[condition][c]);
  if (lanes.width > 1) {
    Value* bits = b.CreateBitCast(anywhere, b.getIntNTy(static_cast<unsigned>(lanes.width)));
    anywhere = b.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
  }
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "rare", function_);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "joined", function_);
  b.CreateCondBr(anywhere, inside, after, llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
  b.SetInsertPoint(inside);
  for_nodes(place, condition, lanes, write);
  const std::vector<int>& selects = layout.rare.at(condition);
  for (int n : selects) write(n);
  inside = b.GetInsertBlock();
  b.CreateBr(after);
  after->moveAfter(inside);
  b.SetInsertPoint(after);
  for (int n : selects)
    for (int c = 0; c < lanes.copies; ++c) {
      llvm::PHINode* phi = b.CreatePHI(values_[n][c]->getType(), 2);
      phi->addIncoming(value(layout.node(n).c, lanes.width, c), before);
      phi->addIncoming(values_[n][c], inside);
      set(n, c, phi);
    }
}

void Emitter::emit(Level place) {
  for_nodes(place, -1, {}, [&](int n) {
    const loops::Node& node = layout.node(n);
    Value* x;
    if (node.op == Op::load || node.op == Op::index) {
      const std::size_t at = layout.stream_of[n];
      const OperandStream& s = layout.streams[at];
      if (node.op == Op::load)
        x = from_memory(b, s.dtype,
                        load_dense(memory_type(b.getContext(), s.dtype), position_[at], 1, nullptr, nullptr));
      else x = b.CreateTrunc(position_[at], value_type(b.getContext(), node.dtype));
    } else {
      auto operand = [&](std::int32_t o) { return o < 0 ? nullptr : value(o, 1); };
      x = operate(b, node, node.a < 0 ? node.dtype : layout.node(node.a).dtype, operand(node.a), operand(node.b),
                  operand(node.c), 1);
    }
    set(n, 0, x);
  });
  for (std::size_t n = 0; n < values_.size(); ++n)
    if (layout.place[n] == place && layout.splat[n])
      splats_[n] = b.CreateVectorSplat(static_cast<unsigned>(width), values_[n][0]);
}

void Emitter::emit(Level place, const Lanes& lanes) {
  for_nodes(place, -1, lanes, [&](int n) {
    const loops::Node& node = layout.node(n);
    for (int copy = 0; copy < lanes.copies; ++copy) {
      if (node.op == Op::load || node.op == Op::index) {
        const std::size_t at = layout.stream_of[n];
        set(n, copy, node.op == Op::load ? load(at, lanes, copy) : indices(at, node.dtype, lanes, copy));
        continue;
      }
      auto operand = [&](std::int32_t o) { return o < 0 ? nullptr : value(o, lanes.width, copy); };
      set(n, copy,
          operate(b, node, layout.node(node.a).dtype, operand(node.a), operand(node.b), operand(node.c), lanes.width));
    }
  });
}

}  // namespace anew::codegen
