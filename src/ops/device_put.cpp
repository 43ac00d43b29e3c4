// The row that moves a value out of memory and back: evaluated, its result is an array in a file (runtime/spilled.h);
// compiled, a copy between places of which one may lie there. Derivatives pass: what is moved are residuals.
#include "ops/device_put.h"

#include <fmt/format.h>

#include "ops/batch.h"
#include "ops/elementwise.h"
#include "ops/rows.h"
#include "runtime/spilled.h"
#include "runtime/strided.h"

namespace anew {
namespace {

bool is_dense(const Type& type, const ir::Strides& strides) {
  return type.shape.size() == 0 || is_row_major(type.shape, strides);
}

Arrays run(const ParamsRef& params, std::span<const Array> x, const Location& at) {
  const Value& v = *x[0].value();
  const bool spilled = !v.literal && is_spilled(place_of(x[0])), out = params->as<DevicePutParams>().to_host();
  if (spilled == out) return {x[0]};
  const Array from = is_dense(v.type, v.strides) ? x[0] : contiguous(x[0]);
  const Array to = out ? make_concrete(v.type, allocate_spilled(v.type.bytes(), at), 0, row_major(v.type.shape))
                       : empty_array(v.type, at);
  move_bytes(to.value()->buffer->data(), place_of(from), v.type.bytes());
  return {to};
}

ir::Lowered lower(const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
  const bool out = params.as<DevicePutParams>().to_host();
  const std::size_t bytes = out ? (in[0].bytes() + 63) / 64 * 64 : 0;
  ir::Lowered l;
  l.call = [bytes](std::span<const ir::Memory> x, std::span<const ir::Memory> y, std::byte* scratch) {
    if (is_dense(x[0].type, x[0].strides)) return move_bytes(y[0].data, x[0].data, x[0].type.bytes());
    std::byte* const to = bytes > 0 ? scratch : y[0].data;
    copy_array({to, y[0].type.dtype, y[0].type.shape, y[0].strides},
               {x[0].data, x[0].type.dtype, x[0].type.shape, x[0].strides});
    if (bytes > 0) move_bytes(y[0].data, scratch, x[0].type.bytes());
  };
  // What does not lie dense is copied on its way out.
  l.scratch = bytes;
  l.scratch_of = [bytes, type = in[0]](std::span<const ir::Strides> strides) {
    return ir::Scratch{is_dense(type, strides[0]) ? 0 : bytes};
  };
  return l;
}

Primitive putting() {
  Primitive p;
  p.name = "device_put";
  p.parse = &DevicePutParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_count("device_put", 1, a.in, a.at);
    const std::string& dst = a.params.as<DevicePutParams>().dst;
    if (dst != "pinned_host" && dst != "device")
      fail("device_put", a.at, fmt::format("dst is '{}'", dst), "it is 'pinned_host' or 'device'");
    return Types{a.in[0]};
  };
  p.run = run;
  p.lower = lower;
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{a.t[0]}; };
  p.transpose = [](const ir::TransposeArgs& a) { return Arrays{a.ct[0]}; };
  p.batch = [](const ir::BatchArgs& a) { return ir::Batched{anew::bind(device_put_row(), a.params, a.x, a.at)}; };
  p.facts.linear_in = {0};
  p.samples = [] {
    std::vector<ir::Sample> all = unary_samples(-1, 1, device_put_params(true));
    for (ir::Sample& s : unary_samples(-1, 1, device_put_params(false))) all.push_back(std::move(s));
    return all;
  };
  return p;
}

struct MemoryRows : Family {
  const Primitive& device_put = row(putting());
};

}  // namespace

const std::byte* place_of(const Array& x) {
  const Value& v = *x.value();
  return v.literal ? v.data() : v.buffer->data() + v.offset * static_cast<std::int64_t>(size_of(v.type.dtype));
}

std::span<const ir::Primitive* const> memory_rows() { return rows<MemoryRows>().list(); }
const ir::Primitive& device_put_row() { return rows<MemoryRows>().device_put; }
ir::ParamsRef device_put_params(bool to_host) {
  return make_params(DevicePutParams(to_host ? "pinned_host" : "device"));
}

}  // namespace anew
