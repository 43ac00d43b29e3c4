// DLPack: no copies, deleters called once, and what is not ours refused.
#include <anew/dlpack.h>

#include <cstdint>

#include "io_support.h"

// Another header of DLPack, as far as its layout goes.
struct ForeignTensor {
  void* data;
  struct {
    int type, id;
  } device;
  int ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct ForeignManagedTensor {
  ForeignTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ForeignManagedTensor*);
};

namespace anew::io_test {
namespace {

using dlpack::ManagedTensor;
using dlpack::ManagedTensorVersioned;

// A tensor of somebody else, who counts what happens to it.
struct Foreign {
  std::vector<float> memory = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::int64_t shape[2] = {3, 4}, strides[2] = {4, 1};
  int deleted = 0;
  ManagedTensor managed{};
  Foreign() {
    managed.dl_tensor = {memory.data(), {1, 0}, 2, {2, 32, 1}, shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](ManagedTensor* t) { ++static_cast<Foreign*>(t->manager_ctx)->deleted; };
  }
};

TEST(Dlpack, ExportSharesMemoryAndKeepsIt) {
  for (DType d : all_dtypes) {
    Array x = sample(d);
    const std::string bytes = bytes_of(x);
    ManagedTensor* t = to_dlpack(x);
    ManagedTensorVersioned* v = to_dlpack_versioned(x);
    EXPECT_EQ(v->version.major, 1u);
    EXPECT_EQ(v->flags, dlpack::read_only);
    EXPECT_EQ(t->dl_tensor.data, v->dl_tensor.data);
    EXPECT_EQ(v->dl_tensor.device.type, 1);
    ASSERT_EQ(t->dl_tensor.ndim, 3);
    EXPECT_EQ(t->dl_tensor.shape[2], 4);
    EXPECT_EQ(t->dl_tensor.strides[0], 12);
    EXPECT_EQ(t->dl_tensor.dtype.bits, size_of(d) * 8);
    x = Array();
    EXPECT_EQ(std::string(static_cast<const char*>(t->dl_tensor.data), bytes.size()), bytes);
    const Array back = from_dlpack(t), again = from_dlpack(v);
    EXPECT_EQ(back.dtype(), d);
    EXPECT_EQ(bytes_of(back), bytes);
    EXPECT_EQ(bytes_of(again), bytes);
  }
}

TEST(Dlpack, ViewsAndNumbers) {
  const Array x = sample(f32);
  for (const Array& view :
       {transpose(x), lax::rev(x, {0, 1}), x[{1, slice(none, none, 2)}], broadcast_to(x[{0, 0}], {5, 4})}) {
    const Array back = from_dlpack(to_dlpack(view));
    expect_same(copy(back), copy(view));
  }
  EXPECT_EQ(from_dlpack(to_dlpack(2.5)).item(), 2.5);
  EXPECT_EQ(from_dlpack(to_dlpack(zeros({0, 4}))).shape(), (Shape{0, 4}));
  // What is exported is not given to a result.
  Array y = ones(1000);
  ManagedTensor* t = to_dlpack(y);
  y = jit([](Array y) { return y + 1; }, {.donate = {0}})(std::move(y));
  EXPECT_EQ(static_cast<float*>(t->dl_tensor.data)[0], 1);
  t->deleter(t);
}

TEST(Dlpack, ImportSharesMemoryAndDeletesOnce) {
  Foreign f;
  {
    const Array x = from_dlpack(&f.managed), part = x[{1}];
    EXPECT_EQ(x.data<float>().data(), f.memory.data());
    EXPECT_EQ(sum(x).item(), 66);
    const Array y = part + 1;
    EXPECT_EQ(y.to_vector(), (std::vector<double>{5, 6, 7, 8}));
    EXPECT_EQ(f.deleted, 0);
  }
  EXPECT_EQ(f.deleted, 1);
  auto read = [&](const Array& want) { expect_same(copy(from_dlpack(&f.managed)), want); };
  f.managed.dl_tensor.strides = nullptr;
  read(reshape(arange(12), {3, 4}).astype(f32));
  f.managed.dl_tensor.byte_offset = 4;
  f.shape[0] = 2;
  read(array({{1.0, 2.0, 3.0, 4.0}, {5.0, 6.0, 7.0, 8.0}}));
  f.managed.dl_tensor.byte_offset = 44;
  f.managed.dl_tensor.strides = f.strides;
  f.strides[0] = -1;
  f.strides[1] = -2;
  read(array({{11.0, 9.0, 7.0, 5.0}, {10.0, 8.0, 6.0, 4.0}}));
  f.managed.deleter = nullptr;  // allowed: nothing to be told
  read(array({{11.0, 9.0, 7.0, 5.0}, {10.0, 8.0, 6.0, 4.0}}));
  EXPECT_EQ(f.deleted, 4);
}

TEST(Dlpack, StructsOfAnotherHeader) {
  auto* const t = to_dlpack<ForeignManagedTensor>(sample(i16));
  EXPECT_EQ(t->dl_tensor.ndim, 3);
  expect_same(from_dlpack(t), sample(i16));
}

TEST(Dlpack, WhatIsRefusedStaysTheCallers) {
  Foreign f;
  auto refused = [&](const std::string& why) {
    EXPECT_ERROR(from_dlpack(&f.managed), why);
    EXPECT_EQ(f.deleted, 0);
    f = Foreign();
    f.managed.manager_ctx = &f;
    f.managed.dl_tensor.data = f.memory.data();
    f.managed.dl_tensor.shape = f.shape;
    f.managed.dl_tensor.strides = f.strides;
  };
  f.managed.dl_tensor.device.type = 2;
  refused("a device of type 2");
  f.managed.dl_tensor.dtype = {5, 64, 1};
  refused("code 5, 64 bits and 1 lanes");
  f.managed.dl_tensor.dtype = {2, 32, 4};
  refused("4 lanes");
  f.managed.dl_tensor.dtype = {10, 8, 1};
  refused("code 10");
  f.managed.dl_tensor.ndim = 17;
  refused("17 axes");
  f.managed.dl_tensor.ndim = -1;
  refused("-1 axes");
  f.shape[1] = -4;
  refused("shape [3,-4]");
  f.shape[1] = std::int64_t{1} << 62;
  refused("a tensor of shape");
  f.strides[0] = std::int64_t{1} << 62;
  refused("reach too far");
  f.managed.dl_tensor.byte_offset = 2;
  refused("not aligned for f32");
  f.managed.dl_tensor.data = nullptr;
  refused("no memory");
  EXPECT_ERROR(from_dlpack(static_cast<ManagedTensor*>(nullptr)), "null");
  ManagedTensorVersioned* v = to_dlpack_versioned(ones(3));
  v->version.major = 2;
  EXPECT_ERROR(from_dlpack(v), "version 2.0 of DLPack");
  v->deleter(v);
  EXPECT_ERROR(to_dlpack(Array()), "uninitialised");
  EXPECT_ERROR(jit([&](Array x) {
                 to_dlpack(x);
                 return x;
               })(ones(3)),
               "[to_dlpack] the memory of a traced array f32[3]");
}

TEST(Data, OfATemporaryKeepsIt) {
  const Array x = array({1.0, 2.0, 3.0});
  auto kept = (x + 1).data<float>();
  const Array other = x * 5;  // would take the memory, were it free
  EXPECT_EQ(std::vector<float>(kept.begin(), kept.end()), (std::vector<float>{2, 3, 4}));
  float total = 0;
  for (float v : (x * 2).data<float>()) total += v;
  EXPECT_EQ(total, 12);
  EXPECT_EQ(other.data<float>()[2], 15);
}

TEST(RawMemory, EveryDtype) {
  EXPECT_EQ(array({1.5, -2.0}, bf16).data<bfloat16>()[0].bits, 0x3fc0);
  EXPECT_EQ(array({1.5, -2.0}, f16).data<float16>()[1].bits, 0xc000);
  EXPECT_EQ(float(array({1.5, -2.0}, f16).data<float16>()[1]), -2.0f);
  EXPECT_EQ(bfloat16::of(1.00390625f).bits, 0x3f80);  // a tie goes to the even one
  EXPECT_EQ(float16::of(65520.0f).bits, 0x7c00);
  EXPECT_ERROR(array({1.5}, f16).data<bfloat16>(), "data<bf16>() of an array f16[1]");
  EXPECT_ERROR(array({1.5}, bf16).data<float16>(), "data<f16>() of an array bf16[1]");
  EXPECT_TRUE(array({true}).data<bool>()[0]);
  const std::vector<float16> v = array({1.0, 0.1}).to_vector<float16>();
  EXPECT_EQ(v[1].bits, float16::of(0.1f).bits);
  expect_same(copy(Array::borrow(v.data(), {2}, f16)), array({1.0, 0.1}, f16));
}

}  // namespace
}  // namespace anew::io_test
