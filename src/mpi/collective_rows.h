// The rows of collectives. All have effects: they keep the order of the program and are never dropped or merged, so
// that all ranks meet in all of them; recomputed, they meet again. Arrays travel dense, cut and joined along their
// first axis; the functions of users move axes.
#pragma once
#include "base/strides.h"
#include "ir/primitive.h"
#include "mpi/collectives.h"
#include "runtime/strided.h"

namespace anew::mpi {

// A communicator as a parameter of an equation: written by its name, read back where a session has one of that name.
struct CommField {
  std::shared_ptr<const Group> group;
  friend bool operator==(const CommField&, const CommField&) = default;
};
ir::ParamValue to_param(const CommField& c);
bool from_param(const ir::ParamValue& v, CommField& c);

struct CommParams : ir::ParamsOf<CommParams> {
  CommField comm;
  static auto fields() { return std::tuple{ir::field("comm", &CommParams::comm)}; }
};
struct BroadcastFromParams : ir::ParamsOf<BroadcastFromParams> {
  CommField comm;
  int root = 0;
  static auto fields() {
    return std::tuple{ir::field("comm", &BroadcastFromParams::comm), ir::field("root", &BroadcastFromParams::root)};
  }
};
using Pairs = std::vector<std::pair<int, int>>;
struct PermuteParams : ir::ParamsOf<PermuteParams> {
  CommField comm;
  Pairs pairs;
  static auto fields() {
    return std::tuple{ir::field("comm", &PermuteParams::comm), ir::field("pairs", &PermuteParams::pairs)};
  }
};
struct AlikeParams : ir::ParamsOf<AlikeParams> {
  CommField comm;
  std::string op, name;  // what takes the operand; of a tree: which leaf that is
  static auto fields() {
    return std::tuple{ir::field("comm", &AlikeParams::comm), ir::field("op", &AlikeParams::op),
                      ir::field("name", &AlikeParams::name)};
  }
};
ir::ParamsRef comm_params(const std::shared_ptr<const Group>& group);

const ir::Primitive& psum_row();  // of several arrays of one dtype
const ir::Primitive& pmax_row();
const ir::Primitive& pmin_row();
const ir::Primitive& pvary_row();
const ir::Primitive& alike_row();  // its operand; an Error where ranks have different ones
const ir::Primitive& axis_index_row();
const ir::Primitive& all_gather_row();      // along the first axis
const ir::Primitive& reduce_scatter_row();  // along the first axis
const ir::Primitive& all_to_all_row();      // parts of the first axis
const ir::Primitive& ppermute_row();
const ir::Primitive& broadcast_from_row();
std::span<const ir::Primitive* const> reducing_rows();
std::span<const ir::Primitive* const> moving_rows();

// What an agreement is about: "psum of f32[2,3]".
std::string describe(std::string_view op, std::span<const ir::Memory> in);
// m row-major: where it lies, or copied to `to`.
inline bool is_dense(const ir::Memory& m) { return m.type.shape.size() == 0 || is_row_major(m.type.shape, m.strides); }
void pack(const ir::Memory& m, std::byte* to);
void unpack(const ir::Memory& m, const std::byte* from);

}  // namespace anew::mpi

template <>
struct std::hash<anew::mpi::CommField> {
  std::size_t operator()(const anew::mpi::CommField& c) const { return std::hash<const void*>{}(c.group.get()); }
};
