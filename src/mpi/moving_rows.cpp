// Rows that move arrays between ranks: all_gather and reduce_scatter, each other's transposes; all_to_all, its own;
// ppermute, whose transpose sends back; broadcast, whose transpose sums at the root.
#include <anew/ops.h>
#include <fmt/format.h>

#include "mpi/collective_rows.h"
#include "ops/batch.h"

namespace anew::mpi {
namespace {

const Type& one_operand(std::string_view op, const ir::InferArgs& a) {
  if (a.in.size() != 1) fail(op, a.at, fmt::format("takes one array, got {}", a.in.size()));
  return a.in[0];
}
void check_parts(std::string_view op, const Type& t, const Group& g, const Location& at) {
  if (t.shape.ndim() == 0 || t.shape[0] % g.size != 0)
    fail(op, at, fmt::format("{} cannot be cut into {} equal parts, one for each rank", t.str(), g.size),
         "the size of the axis is a multiple of the number of ranks; pad it");
}
std::size_t aligned_bytes(const Type& t) { return (t.bytes() + 63) / 64 * 64; }

// A row of one operand that is linear in it; `back` is its transpose, and `along` says that it cuts the first axis, so
// that vmap has to put the mapped one behind it.
Primitive moving(std::string name, const Primitive& (*self)(), bool along, Arrays (*back)(const ir::TransposeArgs&)) {
  Primitive p;
  p.name = std::move(name);
  p.jvp = [self](const ir::JvpArgs& a) { return Arrays{bind1(self(), a.params, {a.t[0]}, a.at)}; };
  p.transpose = back;
  p.batch = [self, along](const ir::BatchArgs& a) {
    const Array x = along ? move_axis(a.x[0], 0, 1) : a.x[0];
    const Array y = bind1(self(), a.params, {x}, a.at);
    return ir::Batched{{along ? move_axis(y, 0, 1) : y}};
  };
  p.facts.effects = true;
  p.facts.linear_in = {0};
  return p;
}
template <const Primitive& (*row)()>
Arrays by_row(const ir::TransposeArgs& a) {
  return {bind1(row(), a.params, {a.ct[0]}, a.at)};
}

// Work with x dense: as it lies, or a copy in scratch behind `work` bytes of it.
template <class F>
ir::Lowered with_dense(const Type& in, std::size_t work, F run) {
  ir::Lowered l;
  const std::size_t copy = aligned_bytes(in);
  l.scratch = work + copy;
  l.scratch_of = [in, work, copy](std::span<const ir::Strides> strides) {
    return ir::Scratch{work + (is_dense({nullptr, in, strides[0]}) ? 0 : copy)};
  };
  l.call = [run, work](std::span<const ir::Memory> x, std::span<const ir::Memory> y, std::byte* scratch) {
    const bool dense = is_dense(x[0]);
    std::byte* const from = dense ? x[0].data : scratch + work;
    if (!dense) pack(x[0], from);
    run(x, from, y[0], scratch);
  };
  return l;
}

// ---- all_gather, reduce_scatter
Primitive gathering() {
  Primitive p = moving("all_gather", all_gather_row, true, by_row<reduce_scatter_row>);
  p.parse = &CommParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    Type t = one_operand("all_gather", a);
    if (t.shape.ndim() == 0)
      fail("all_gather", a.at, fmt::format("{} has no axis to join along", t.str()), "reshape(x, {1})");
    Shape shape = t.shape;
    shape[0] *= a.params.as<CommParams>().comm.group->size;
    return Types{{shape, t.dtype}};
  };
  p.lower = [](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    ir::Lowered l;
    l.call = [g = params.as<CommParams>().comm.group](std::span<const ir::Memory> x, std::span<const ir::Memory> y,
                                                      std::byte*) {
      g->agree(describe("all_gather", x));
      const std::size_t bytes = x[0].type.bytes();
      pack(x[0], y[0].data + static_cast<std::size_t>(g->rank) * bytes);
      all_gather(*g, y[0].data, bytes);
    };
    return l;
  };
  return p;
}
Primitive scattering() {
  Primitive p = moving("reduce_scatter", reduce_scatter_row, true, by_row<all_gather_row>);
  p.parse = &CommParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    const Type& t = one_operand("reduce_scatter", a);
    const Group& g = *a.params.as<CommParams>().comm.group;
    check_parts("reduce_scatter", t, g, a.at);
    if (t.dtype == bool_) fail("reduce_scatter", a.at, fmt::format("has no sum of {}", t.str()), "astype(x, i32)");
    Shape shape = t.shape;
    shape[0] /= g.size;
    return Types{{shape, t.dtype}};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    const auto g = params.as<CommParams>().comm.group;
    return with_dense(in[0], scatter_scratch(*g, in[0].shape.size(), in[0].dtype),
                      [g](std::span<const ir::Memory> x, std::byte* from, const ir::Memory& y, std::byte* scratch) {
                        g->agree(describe("reduce_scatter", x));
                        reduce_scatter(*g, from, y.data, x[0].type.shape.size(), x[0].type.dtype, scratch);
                      });
  };
  return p;
}

// ---- all_to_all
Primitive exchanging() {
  Primitive p = moving("all_to_all", all_to_all_row, true, by_row<all_to_all_row>);
  p.parse = &CommParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    const Type& t = one_operand("all_to_all", a);
    check_parts("all_to_all", t, *a.params.as<CommParams>().comm.group, a.at);
    return Types{t};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    return with_dense(in[0], 0,
                      [g = params.as<CommParams>().comm.group](std::span<const ir::Memory> x, std::byte* from,
                                                               const ir::Memory& y, std::byte*) {
                        g->agree(describe("all_to_all", x));
                        all_to_all(*g, from, y.data, x[0].type.bytes() / static_cast<std::size_t>(g->size));
                      });
  };
  return p;
}

// ---- ppermute
std::string written(const Pairs& pairs) {
  std::string out;
  for (auto [from, to] : pairs) out += fmt::format("{}{{{}, {}}}", out.empty() ? "" : ", ", from, to);
  return out;
}
void check_pairs(const Pairs& pairs, const Group& g, const Location& at) {
  std::vector<bool> sends(static_cast<std::size_t>(g.size)), gets(static_cast<std::size_t>(g.size));
  for (auto [from, to] : pairs) {
    for (int r : {from, to})
      if (r < 0 || r >= g.size)
        fail("ppermute", at, fmt::format("the pair {{{}, {}}} names rank {}, of {} ranks", from, to, r, g.size));
    if (sends[static_cast<std::size_t>(from)] || gets[static_cast<std::size_t>(to)])
      fail("ppermute", at, fmt::format("the pairs {} are no part of a permutation of ranks", written(pairs)),
           "a rank sends at most once and gets at most once");
    sends[static_cast<std::size_t>(from)] = gets[static_cast<std::size_t>(to)] = true;
  }
}
Primitive permuting() {
  Primitive p = moving("ppermute", ppermute_row, false, [](const ir::TransposeArgs& a) {
    PermuteParams q = a.params->as<PermuteParams>();
    for (auto& [from, to] : q.pairs) std::swap(from, to);
    return Arrays{bind1(ppermute_row(), make_params(std::move(q)), {a.ct[0]}, a.at)};
  });
  p.parse = &PermuteParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    const auto& q = a.params.as<PermuteParams>();
    check_pairs(q.pairs, *q.comm.group, a.at);
    return Types{one_operand("ppermute", a)};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    const auto& q = params.as<PermuteParams>();
    return with_dense(in[0], 0,
                      [g = q.comm.group, pairs = q.pairs](std::span<const ir::Memory> x, std::byte* from,
                                                          const ir::Memory& y, std::byte*) {
                        g->agree(fmt::format("{} by {}", describe("ppermute", x), written(pairs)));
                        const std::size_t bytes = y.type.bytes();
                        std::vector<Parcel> out, in;
                        bool gets = false;
                        for (auto [source, to] : pairs) {
                          gets = gets || to == g->rank;
                          if (source == to && to == g->rank && bytes) std::memcpy(y.data, from, bytes);
                          if (source == to) continue;
                          if (source == g->rank) out.push_back({to, from, bytes});
                          if (to == g->rank) in.push_back({source, y.data, bytes});
                        }
                        if (!gets && bytes) std::memset(y.data, 0, bytes);
                        g->exchange(out, in);
                      });
  };
  return p;
}

// ---- broadcast
Primitive broadcasting_from() {
  Primitive p = moving("broadcast_from", broadcast_from_row, false, [](const ir::TransposeArgs& a) {
    const auto& q = a.params->as<BroadcastFromParams>();
    const ParamsRef comm = comm_params(q.comm.group);
    const Array sum = bind1(pvary_row(), comm, {bind1(psum_row(), comm, {a.ct[0]}, a.at)}, a.at);
    const Array here = bind1(axis_index_row(), comm, {}, a.at) == q.root;
    return Arrays{where(here, sum, zeros_like(sum))};
  });
  p.parse = &BroadcastFromParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    const auto& q = a.params.as<BroadcastFromParams>();
    const int size = q.comm.group->size;
    if (q.root < 0 || q.root >= size) fail("broadcast", a.at, fmt::format("root {} is no rank of {}", q.root, size));
    return Types{one_operand("broadcast", a)};
  };
  p.lower = [](const ir::Params& params, std::span<const Type>, std::span<const Type>) {
    const auto& q = params.as<BroadcastFromParams>();
    ir::Lowered l;
    l.call = [g = q.comm.group, root = q.root](std::span<const ir::Memory> x, std::span<const ir::Memory> y,
                                               std::byte*) {
      g->agree(fmt::format("{} from rank {}", describe("broadcast", x), root));
      if (g->rank == root) pack(x[0], y[0].data);
      broadcast(*g, y[0].data, y[0].type.bytes(), root);
    };
    return l;
  };
  return p;
}

struct MovingRows : Family {
  const Primitive& all_gather = row(gathering());
  const Primitive& reduce_scatter = row(scattering());
  const Primitive& all_to_all = row(exchanging());
  const Primitive& ppermute = row(permuting());
  const Primitive& broadcast = row(broadcasting_from());
};

}  // namespace

const Primitive& all_gather_row() { return rows<MovingRows>().all_gather; }
const Primitive& reduce_scatter_row() { return rows<MovingRows>().reduce_scatter; }
const Primitive& all_to_all_row() { return rows<MovingRows>().all_to_all; }
const Primitive& ppermute_row() { return rows<MovingRows>().ppermute; }
const Primitive& broadcast_from_row() { return rows<MovingRows>().broadcast; }
std::span<const Primitive* const> moving_rows() { return rows<MovingRows>().list(); }

}  // namespace anew::mpi
