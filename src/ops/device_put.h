// device_put: an identity that says where its result lies, for residuals that a policy offloads.
#pragma once
#include <string>

#include "ir/params.h"
#include "ir/primitive.h"

namespace anew {

struct DevicePutParams : ir::ParamsOf<DevicePutParams> {
  explicit DevicePutParams(std::string dst = "device") : dst(std::move(dst)) {}
  std::string dst;  // "pinned_host": out of memory, as far as nobody but another device_put reads it; "device": back
  bool to_host() const { return dst == "pinned_host"; }
  static auto fields() { return std::tuple{ir::field("dst", &DevicePutParams::dst)}; }
};

const ir::Primitive& device_put_row();
ir::ParamsRef device_put_params(bool to_host);
// Where a concrete array lies: in memory, or as an address that only `move_bytes` knows (runtime/spilled.h).
const std::byte* place_of(const Array& x);

}  // namespace anew
