// Arrays from and to other libraries without a copy, by DLPack: the structs of its ABI, as the standard lays them out
// (unversioned, and version 1), and both directions. Pointers to the structs of another header of DLPack are taken too.
#pragma once
#include <anew/array.h>

namespace anew {

namespace dlpack {

struct Device {
  std::int32_t type;  // 1: the processor; others are refused
  std::int32_t id;
};
struct DataType {
  std::uint8_t code;  // 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};
struct Version {
  std::uint32_t major, minor;
};
inline constexpr std::uint64_t read_only = 1, is_copied = 2;  // bits of flags
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  Tensor dl_tensor;
};

template <class T>
concept Managed = requires(T& t) {
  t.dl_tensor.byte_offset;
  t.manager_ctx;
  t.deleter(&t);
};
template <class T>
inline constexpr bool versioned = requires(T& t) { t.version; };
// The struct of ours that T is laid out as.
template <Managed T>
using Same = std::conditional_t<versioned<T>, ManagedTensorVersioned, ManagedTensor>;

}  // namespace dlpack

// The memory of x, kept until somebody calls the deleter of what is returned, once. It must not be written to; only the
// versioned struct can say so (its flag read_only).
dlpack::ManagedTensor* to_dlpack(const ArrayLike& x);
dlpack::ManagedTensorVersioned* to_dlpack_versioned(const ArrayLike& x);
// The same as a struct of another header: to_dlpack<DLManagedTensor>(x).
template <dlpack::Managed T>
T* to_dlpack(const ArrayLike& x) {
  static_assert(sizeof(T) == sizeof(dlpack::Same<T>));
  if constexpr (dlpack::versioned<T>) return reinterpret_cast<T*>(to_dlpack_versioned(x));
  else return reinterpret_cast<T*>(to_dlpack(x));
}

// An array that looks at the memory of `tensor`, which belongs to it from now on: its deleter is called when the last
// array goes that looks there. Until then the memory must not change. After an Error it is still the caller's.
Array from_dlpack(dlpack::ManagedTensor* tensor, const Location& at = Location::current());
Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, const Location& at = Location::current());
template <dlpack::Managed T>
Array from_dlpack(T* tensor, const Location& at = Location::current()) {
  static_assert(sizeof(T) == sizeof(dlpack::Same<T>));
  return from_dlpack(reinterpret_cast<dlpack::Same<T>*>(tensor), at);
}

}  // namespace anew
