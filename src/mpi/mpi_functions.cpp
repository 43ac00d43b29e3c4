// The functions of users: they check, move axes to the front and bind the rows.
#include <anew/mpi.h>
#include <anew/numpy.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>

#include "base/environment.h"
#include "mpi/collective_rows.h"
#include "ops/batch.h"
#include "ops/promote.h"

namespace anew {

namespace mpi {

int Comm::rank(const Location& at) const {
  check_alive(*this, "mpi::Comm::rank", at);
  return group_->rank;
}
int Comm::size(const Location& at) const {
  check_alive(*this, "mpi::Comm::size", at);
  return group_->size;
}
Comm Comm::split(int color, const Location& at) const {
  check_alive(*this, "mpi::Comm::split", at);
  if (color < 0) throw Error(fmt::format("[mpi::Comm::split] color {} is negative", color), at);
  if (current_trace())
    throw Error("[mpi::Comm::split] inside of a function that is traced", at, "split before, and capture the result");
  return with_line("mpi::Comm::split", at, [&] {
    group_->agree("split");
    return Comm(split_group(*group_, color));
  });
}

}  // namespace mpi

namespace {

using mpi::Comm;

std::atomic<bool>& looks() {  // whether operands are looked at
  static auto& on = *new std::atomic<bool>(environment::is_on("ANEW_DEBUG_RANKS"));
  return on;
}

Array operand(std::string_view op, const ArrayLike& x, const Comm& comm) {
  mpi::check_alive(comm, op, x.at);
  return checked(x);
}
Array by_row(const ir::Primitive& row, const Array& x, const Comm& comm, const Location& at) {
  return bind1(row, mpi::comm_params(comm.group()), {x}, at);
}
// What is the same on all ranks becomes each rank's own.
Array varying(std::string_view op, const ArrayLike& x, const Comm& comm, const std::string& name) {
  Array a = operand(op, x, comm);
  if (looks()) {
    mpi::AlikeParams p;
    p.comm.group = comm.group();
    p.op = op;
    p.name = name;
    a = bind1(mpi::alike_row(), make_params(std::move(p)), {a}, x.at);
  }
  return by_row(mpi::pvary_row(), a, comm, x.at);
}
Array summable(const Array& a, const Location& at) {
  return type_of(a).dtype == bool_ ? coerce(a, default_int(), at) : a;
}
void check_equal_parts(std::string_view op, const Type& t, int axis, const Comm& comm, const Location& at) {
  const int n = comm.group()->size;
  if (t.shape[axis] % n != 0)
    fail(op, at, fmt::format("axis {} of {} cannot be cut into {} equal parts, one for each rank", axis, t.str(), n),
         "pad it to a multiple of the number of ranks");
}
// f of x with the axis in front; cut: into equal parts.
template <class F>
Array along(std::string_view op, const ArrayLike& x, const Comm& comm, int axis, bool cut, F f) {
  const Array a = operand(op, x, comm);
  PinLine pin(x.at, op);
  const Type t = type_of(a);
  if (t.shape.ndim() == 0) fail(op, x.at, fmt::format("{} has no axis", t.str()), "reshape(x, {1})");
  const int at = checked_axis(op, axis, t.shape.ndim(), t, x.at);
  if (cut) check_equal_parts(op, t, at, comm, x.at);
  return move_axis(f(move_axis(a, at, 0)), 0, at);
}

}  // namespace

Array psum(const ArrayLike& x, const Comm& comm) {
  const Array a = summable(operand("psum", x, comm), x.at);
  return by_row(mpi::psum_row(), a, comm, x.at);
}
Array pmean(const ArrayLike& x, const Comm& comm) {
  const Array a = summable(operand("pmean", x, comm), x.at);
  PinLine pin(x.at);
  return by_row(mpi::psum_row(), a, comm, x.at) / comm.group()->size;
}
Array pmax(const ArrayLike& x, const Comm& comm) {
  return by_row(mpi::pmax_row(), operand("pmax", x, comm), comm, x.at);
}
Array pmin(const ArrayLike& x, const Comm& comm) {
  return by_row(mpi::pmin_row(), operand("pmin", x, comm), comm, x.at);
}
Array pvary(const ArrayLike& x, const Comm& comm) { return detail::vary(x, comm, ""); }
Array detail::vary(const ArrayLike& x, const Comm& comm, const std::string& name) {
  return varying("pvary", x, comm, name);
}
Array axis_index(const Comm& comm, const Location& at) {
  mpi::check_alive(comm, "axis_index", at);
  return bind1(mpi::axis_index_row(), mpi::comm_params(comm.group()), {}, at);
}

Array all_gather(const ArrayLike& x, const Comm& comm, int axis) {
  return along("all_gather", x, comm, axis, false,
               [&](const Array& a) { return by_row(mpi::all_gather_row(), a, comm, x.at); });
}
Array reduce_scatter(const ArrayLike& x, const Comm& comm, int axis) {
  return along("reduce_scatter", x, comm, axis, true,
               [&](const Array& a) { return by_row(mpi::reduce_scatter_row(), summable(a, x.at), comm, x.at); });
}

Array all_to_all(const ArrayLike& x, const Comm& comm, int split_axis, int concat_axis) {
  const Array a = operand("all_to_all", x, comm);
  PinLine pin(x.at);
  const Type t = type_of(a);
  const int ndim = t.shape.ndim(), n = comm.group()->size;
  if (ndim == 0) fail("all_to_all", x.at, fmt::format("{} has no axis", t.str()), "reshape(x, {1})");
  const int split = checked_axis("all_to_all", split_axis, ndim, t, x.at);
  const int join = checked_axis("all_to_all", concat_axis, ndim, t, x.at);
  check_equal_parts("all_to_all", t, split, comm, x.at);
  Shape cut = t.shape;  // the parts in an axis of their own
  cut[split] /= n;
  Shape with_parts = cut;
  with_parts.insert(split, n);
  const Array sent = move_axis(reshape(a, with_parts), split, 0);
  const Array got = by_row(mpi::all_to_all_row(), sent, comm, x.at);
  cut[join] *= n;
  return reshape(move_axis(got, 0, join), cut);
}

Array ppermute(const ArrayLike& x, const Comm& comm, const std::vector<std::pair<int, int>>& pairs) {
  const Array a = operand("ppermute", x, comm);
  mpi::PermuteParams p;
  p.comm.group = comm.group();
  p.pairs = pairs;
  return bind1(mpi::ppermute_row(), make_params(std::move(p)), {a}, x.at);
}

Array broadcast(const ArrayLike& x, const Comm& comm, int root) {
  const Array a = operand("broadcast", x, comm);
  mpi::BroadcastFromParams p;
  p.comm.group = comm.group();
  p.root = root;
  return bind1(mpi::broadcast_from_row(), make_params(std::move(p)), {a}, x.at);
}

namespace detail {

// What is cut is the same on all ranks, and each uses a part: its cotangent is the sum of theirs.
Array shard(const ArrayLike& x, const Comm& comm, int axis, const std::string& name) {
  return along("mpi::shard", x, comm, axis, true, [&](const Array& a) {
    const std::int64_t part = type_of(a).shape[0] / comm.group()->size, begin = part * comm.group()->rank;
    return varying("mpi::shard", ArrayLike(a, x.at), comm, name)[slice(begin, begin + part)];
  });
}

namespace {

// Leaves of one dtype travel together, in buckets. Traced ones in the order in which they were made, so that a bucket
// of gradients is whole while others are still to come.
std::vector<std::vector<std::size_t>> buckets(const Arrays& xs, std::size_t most) {
  struct Open {
    std::size_t bucket, bytes;
  };
  std::vector<std::size_t> made(xs.size());
  std::iota(made.begin(), made.end(), std::size_t{0});
  auto when = [&](std::size_t i) { return xs[i].value()->trace ? xs[i].value()->origin.sequence : 0; };
  std::stable_sort(made.begin(), made.end(), [&](std::size_t a, std::size_t b) { return when(a) < when(b); });
  std::map<DType, Open> open;
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t i : made) {
    const Type t = type_of(xs[i]);
    auto it = open.find(t.dtype);
    if (it == open.end() || it->second.bytes + t.bytes() > most) {
      it = open.insert_or_assign(t.dtype, Open{out.size(), 0}).first;
      out.emplace_back();
    }
    it->second.bytes += t.bytes();
    out[it->second.bucket].push_back(i);
  }
  return out;
}
Arrays sum_leaves(const Arrays& xs, const Comm& comm, std::size_t bucket_bytes, const Location& at) {
  Arrays out(xs.size());
  for (const std::vector<std::size_t>& bucket : buckets(xs, bucket_bytes)) {
    Arrays some;
    for (std::size_t i : bucket) some.push_back(xs[i]);
    const Arrays sums = anew::bind(mpi::psum_row(), mpi::comm_params(comm.group()), some, at);
    for (std::size_t k = 0; k < bucket.size(); ++k) out[bucket[k]] = sums[k];
  }
  return out;
}

}  // namespace

Arrays collect_leaves(Collective which, LeafList xs, const Comm& comm, int root, std::size_t bucket,
                      const Location& at) {
  static constexpr std::string_view names[] = {"psum", "pmean", "pmax", "pmin", "broadcast"};
  mpi::check_alive(comm, names[static_cast<std::size_t>(which)], at);
  PinLine pin(at);
  Arrays in, out;
  for (std::size_t i = 0; i < xs.size(); ++i) in.push_back(checked(ArrayLike(xs[i], at)));
  if (which == Collective::sum || which == Collective::mean) {
    for (Array& x : in) x = summable(x, at);
    out = sum_leaves(in, comm, bucket, at);
    if (which == Collective::mean)
      for (Array& y : out) y = y / comm.group()->size;
    return out;
  }
  for (const Array& x : in)
    out.push_back(which == Collective::max   ? pmax(x, comm)
                  : which == Collective::min ? pmin(x, comm)
                                             : broadcast(x, comm, root));
  return out;
}

}  // namespace detail

namespace mpi {

Array shard(const ArrayLike& x, const Comm& comm, int axis) { return detail::shard(x, comm, axis, ""); }

bool debug_ranks_enabled() { return looks(); }
bool debug_ranks(bool on) { return looks().exchange(on); }

Array halo_exchange(const ArrayLike& x, const Comm& comm, const HaloOptions& options) {
  return along("mpi::halo_exchange", x, comm, options.axis, false, [&](const Array& a) {
    const Type t = type_of(a);
    const int width = options.width, n = comm.group()->size;
    if (width < 1 || width > t.shape[0])
      fail("mpi::halo_exchange", x.at, fmt::format("width {} of {} along axis {}", width, t.str(), options.axis),
           "from 1 to the rows of a rank");
    Pairs up, down;
    for (int r = 0; r < n; ++r)
      if (r + 1 < n || options.periodic) {
        up.emplace_back(r, (r + 1) % n);
        down.emplace_back((r + 1) % n, r);
      }
    const Array before = ppermute(a[slice(t.shape[0] - width, none)], comm, up);
    const Array behind = ppermute(a[slice(0, width)], comm, down);
    return concatenate({before, a, behind}, 0);
  });
}

}  // namespace mpi
}  // namespace anew
