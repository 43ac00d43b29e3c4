// DLPack, both ways. Memory is shared: an export holds the array until its deleter is called, an import holds the other
// library's tensor until the last array goes.
#include <anew/dlpack.h>
#include <fmt/format.h>

#include <limits>

#include "base/dtype.h"
#include "base/size.h"
#include "trace/trace.h"

namespace anew {
namespace {

static_assert(sizeof(dlpack::Tensor) == 48 && sizeof(dlpack::ManagedTensor) == 64 &&
              sizeof(dlpack::ManagedTensorVersioned) == 80);

constexpr std::int32_t processor = 1;
constexpr std::uint32_t major_version = 1;

dlpack::DataType dlpack_dtype(DType d) {
  const auto bits = static_cast<std::uint8_t>(size_of(d) * 8);
  const int code = d == bf16                              ? 4
                   : kind_of(d) == detail::Kind::boolean  ? 6
                   : kind_of(d) == detail::Kind::floating ? 2
                   : is_signed(d)                         ? 0
                                                          : 1;
  return {static_cast<std::uint8_t>(code), bits, 1};
}

// ---- export
template <class Struct>
struct Export {
  Array array;  // holds the memory
  std::int64_t shape[Shape::max_ndim], strides[Shape::max_ndim];
  Struct managed{};
  static void drop(Struct* self) { delete static_cast<Export*>(self->manager_ctx); }
};

template <class Struct>
Struct* export_array(const ArrayLike& x) {
  const Location at = line_or(x.at);
  const Array y = strong(concrete_behind(x.value, "[to_dlpack] the memory", at), at);
  const Value& v = *y.value();
  auto e = std::make_unique<Export<Struct>>();
  e->array = y;
  const ir::Strides strides = v.literal ? ir::Strides{} : v.strides;
  for (int i = 0; i < v.type.shape.ndim(); ++i) {
    e->shape[i] = v.type.shape[i];
    e->strides[i] = strides[i];
  }
  dlpack::Tensor& t = e->managed.dl_tensor;
  t.data = const_cast<std::byte*>(v.data());
  t.device = {processor, 0};
  t.ndim = v.type.shape.ndim();
  t.dtype = dlpack_dtype(v.type.dtype);
  t.shape = e->shape;
  t.strides = e->strides;
  t.byte_offset = 0;
  e->managed.manager_ctx = e.get();
  e->managed.deleter = Export<Struct>::drop;
  return &e.release()->managed;
}

// ---- import
[[noreturn]] void refuse(const Location& at, const std::string& what, const std::string& hint = "") {
  throw Error("[from_dlpack] " + what, line_or(at), hint);
}

DType read_dtype(const dlpack::DataType& t, const Location& at) {
  for (DType d : all_dtypes) {
    const dlpack::DataType ours = dlpack_dtype(d);
    if (ours.code == t.code && ours.bits == t.bits && t.lanes == 1) return d;
  }
  refuse(at, fmt::format("elements of type code {}, {} bits and {} lanes are none of anew's", t.code, t.bits, t.lanes));
}

Type read_type(const dlpack::Tensor& t, const Location& at) {
  if (t.device.type != processor)
    refuse(at, fmt::format("the tensor lies on a device of type {}, not in the processor's memory", t.device.type),
           "move it to the processor first");
  if (t.ndim < 0 || t.ndim > Shape::max_ndim) refuse(at, fmt::format("a tensor of {} axes", t.ndim));
  if (t.ndim > 0 && !t.shape) refuse(at, "the tensor has no shape");
  Type type;
  type.dtype = read_dtype(t.dtype, at);
  for (int i = 0; i < t.ndim; ++i) type.shape.push_back(t.shape[i]);
  if (!checked_bytes(type.shape, type.dtype)) refuse(at, fmt::format("a tensor of shape {}", type.shape.str()));
  return type;
}

// Elements before and behind the first one that the strides reach.
struct Reach {
  CheckedSize before = 0, behind = 0;
};
Reach reach_of(const Type& type, const ir::Strides& strides) {
  Reach r;
  for (int i = 0; i < type.shape.ndim(); ++i) {
    const CheckedSize far = CheckedSize(type.shape[i] - 1) * CheckedSize(strides[i]);
    if (strides[i] < 0) r.before = r.before - far;
    else r.behind = r.behind + far;
  }
  return r;
}

template <class Struct>
Array import_tensor(Struct* managed, const Location& at) {
  const dlpack::Tensor& t = managed->dl_tensor;
  const Type type = read_type(t, at);
  const auto size = static_cast<std::int64_t>(size_of(type.dtype));
  auto owner = [&] {
    return std::shared_ptr<void>(managed, [](void* p) {
      auto* const self = static_cast<Struct*>(p);
      if (self->deleter) self->deleter(self);
    });
  };
  if (type.shape.size() == 0) {
    Array empty = empty_array(type, line_or(at));
    (void)owner();  // nothing is looked at: it goes at once
    return empty;
  }
  if (!t.data) refuse(at, "the tensor has no memory");
  ir::Strides strides = row_major(type.shape);
  if (t.strides)
    for (int i = 0; i < t.ndim; ++i) strides[i] = type.shape[i] == 1 ? strides[i] : t.strides[i];
  const Reach r = reach_of(type, strides);
  const auto before = r.before.value(), bytes = ((r.before + r.behind + CheckedSize(1)) * CheckedSize(size)).value();
  if (!before || !bytes) refuse(at, fmt::format("the strides {} reach too far", strides.str()));
  auto* const first = static_cast<std::byte*>(t.data) + t.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(size))
    refuse(at, fmt::format("the memory is not aligned for {}", name_of(type.dtype)), "give a copy of it");
  return make_concrete(type, borrow(first - *before * size, static_cast<std::size_t>(*bytes), owner()), *before,
                       strides);
}

}  // namespace

dlpack::ManagedTensor* to_dlpack(const ArrayLike& x) { return export_array<dlpack::ManagedTensor>(x); }

dlpack::ManagedTensorVersioned* to_dlpack_versioned(const ArrayLike& x) {
  auto* const out = export_array<dlpack::ManagedTensorVersioned>(x);
  out->version = {major_version, 0};
  out->flags = dlpack::read_only;
  return out;
}

Array from_dlpack(dlpack::ManagedTensor* tensor, const Location& at) {
  if (!tensor) refuse(at, "the pointer is null");
  return import_tensor(tensor, at);
}

Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, const Location& at) {
  if (!tensor) refuse(at, "the pointer is null");
  if (tensor->version.major != major_version)
    refuse(at, fmt::format("version {}.{} of DLPack, where 1 is known", tensor->version.major, tensor->version.minor));
  return import_tensor(tensor, at);
}

}  // namespace anew
