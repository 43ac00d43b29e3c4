// Programs of several processes: under `mpirun -n 4 program` each process is a rank, runs the same program on its part
// of the data, and meets the others in the collectives below. They are operations like any other: they have
// derivatives, are mapped and compiled, and stand in loops and checkpoints. All ranks run them in one order, that of
// the program. A library of its own: link anew-mpi (pkg-config) or anew::mpi (CMake).
//
// What is the same on all ranks has one cotangent. psum, pmean, pmax and pmin give such a value: their transposes hand
// the cotangent to each rank as it is. pvary marks that such a value is about to be used by each rank in its own way:
// its transpose is psum. What all_gather, reduce_scatter, all_to_all, ppermute and broadcast give belongs to each rank
// by itself.
#pragma once
#include <anew/call.h>
#include <anew/tree.h>

namespace anew {

namespace mpi {

struct Group;  // of ranks; inside the library

// Some ranks, of which this process is one: mpi::world(), or a part of it.
class Comm {
 public:
  int rank(const Location& at = Location::current()) const;  // of this process: 0 to size() - 1
  int size(const Location& at = Location::current()) const;
  // The ranks that give the same color, in their order; called by all ranks of this one.
  Comm split(int color, const Location& at = Location::current()) const;
  friend bool operator==(const Comm&, const Comm&) = default;

  explicit Comm(std::shared_ptr<const Group> group) : group_(std::move(group)) {}  // inside the library
  const std::shared_ptr<const Group>& group() const { return group_; }

 private:
  std::shared_ptr<const Group> group_;
};

// Starts MPI; a process has one, in main, and it lives as long as anything is computed. Its end waits for all ranks. A
// rank that ends by an exception ends all of them, with one message.
class Session {
 public:
  explicit Session(const Location& at = Location::current());
  Session(int& argc, char**& argv, const Location& at = Location::current());
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

// All ranks.
Comm world(const Location& at = Location::current());

// What this rank has sent since the start of the session: messages and bytes of arrays, and the short agreements on
// types that precede them.
struct Traffic {
  std::int64_t messages = 0, bytes = 0, agreements = 0;
};
Traffic traffic();

// Whether pvary and shard look if their operand is the same on all ranks, as they take it to be, and throw an Error on
// all of them where it is not: which rank differs, and which argument. What was compiled before stays as it was. At the
// start off, unless the environment has ANEW_DEBUG_RANKS=1. Returns the former setting.
bool debug_ranks(bool on = true);
bool debug_ranks_enabled();

// The part of x that belongs to this rank: of size() equal parts along an axis, in the order of ranks.
Array shard(const ArrayLike& x, const Comm& comm, int axis = 0);

struct HaloOptions {
  int axis = 0;
  int width = 1;
  bool periodic = false;  // the last rank is the neighbour of the first; else the outer ends are zeros
};
// x with `width` rows of the neighbouring ranks before and behind it, along an axis along which a grid is cut.
Array halo_exchange(const ArrayLike& x, const Comm& comm, const HaloOptions& options = {});

}  // namespace mpi

template <>
inline constexpr bool is_static_type<mpi::Comm> = true;

// The sum over all ranks, in one order: the same bits in every run. The same for the mean, the largest, the smallest.
Array psum(const ArrayLike& x, const mpi::Comm& comm);
Array pmean(const ArrayLike& x, const mpi::Comm& comm);
Array pmax(const ArrayLike& x, const mpi::Comm& comm);
Array pmin(const ArrayLike& x, const mpi::Comm& comm);
// x, of which each rank goes on by itself; its transpose is psum.
Array pvary(const ArrayLike& x, const mpi::Comm& comm);
// The rank of this process, as a scalar i32.
Array axis_index(const mpi::Comm& comm, const Location& at = Location::current());
// The arrays of all ranks one behind the other along an axis.
Array all_gather(const ArrayLike& x, const mpi::Comm& comm, int axis = 0);
// The part of psum(x) that belongs to this rank, as in mpi::shard.
Array reduce_scatter(const ArrayLike& x, const mpi::Comm& comm, int axis = 0);
// Cuts x into size() parts along one axis, sends part r to rank r, and joins what arrives along another.
Array all_to_all(const ArrayLike& x, const mpi::Comm& comm, int split_axis = 0, int concat_axis = 0);
// Sends x from rank first to rank second of each pair; a rank to which nobody sends gets zeros.
Array ppermute(const ArrayLike& x, const mpi::Comm& comm, const std::vector<std::pair<int, int>>& pairs);
// The x of one rank, on all of them.
Array broadcast(const ArrayLike& x, const mpi::Comm& comm, int root = 0);

namespace detail {
enum class Collective : std::uint8_t { sum, mean, max, min, broadcast };
constexpr std::size_t bucket_bytes = std::size_t{4} << 20;
// Of all leaves at once: of sums and means, those of one dtype travel together, in buckets of about so many bytes.
Arrays collect_leaves(Collective which, LeafList xs, const mpi::Comm& comm, int root, std::size_t bucket,
                      const Location& at);
template <class T>
concept OtherTree = Tree<T> && !std::convertible_to<const T&, Array>;
template <class T>
T collect(Collective which, T tree, const mpi::Comm& comm, const Location& at, int root = 0,
          std::size_t bucket = bucket_bytes) {
  const Arrays xs = take_leaves(tree);
  put_leaves(tree, collect_leaves(which, xs, comm, root, bucket, at));
  return tree;
}
// pvary and mpi::shard of a leaf, by its name where debug_ranks asks for names.
Array vary(const ArrayLike& x, const mpi::Comm& comm, const std::string& name);
Array shard(const ArrayLike& x, const mpi::Comm& comm, int axis, const std::string& name);
template <class T, class F>
T for_named_leaves(T tree, F f) {
  const std::vector<std::string> names = mpi::debug_ranks_enabled() ? leaf_paths(tree, "") : std::vector<std::string>();
  Arrays xs = take_leaves(tree);
  for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = f(xs[i], names.empty() ? "" : names[i]);
  put_leaves(tree, std::move(xs));
  return tree;
}
}  // namespace detail

// The same of every leaf of a tree.
template <detail::OtherTree T>
T psum(T tree, const mpi::Comm& comm, const Location& at = Location::current()) {
  return detail::collect(detail::Collective::sum, std::move(tree), comm, at);
}
template <detail::OtherTree T>
T pmean(T tree, const mpi::Comm& comm, const Location& at = Location::current()) {
  return detail::collect(detail::Collective::mean, std::move(tree), comm, at);
}
template <detail::OtherTree T>
T pmax(T tree, const mpi::Comm& comm, const Location& at = Location::current()) {
  return detail::collect(detail::Collective::max, std::move(tree), comm, at);
}
template <detail::OtherTree T>
T pmin(T tree, const mpi::Comm& comm, const Location& at = Location::current()) {
  return detail::collect(detail::Collective::min, std::move(tree), comm, at);
}
template <detail::OtherTree T>
T pvary(T tree, const mpi::Comm& comm, const Location& at = Location::current()) {
  return detail::for_named_leaves(std::move(tree), [&](const Array& x, const std::string& name) {
    return detail::vary(ArrayLike(x, at), comm, name);
  });
}
template <detail::OtherTree T>
T broadcast(T tree, const mpi::Comm& comm, int root = 0, const Location& at = Location::current()) {
  return detail::collect(detail::Collective::broadcast, std::move(tree), comm, at, root);
}

template <detail::OtherTree T>
T all_gather(const T& tree, const mpi::Comm& comm, int axis = 0, const Location& at = Location::current()) {
  return tree_map([&](const Array& x) { return all_gather(ArrayLike(x, at), comm, axis); }, tree);
}
template <detail::OtherTree T>
T reduce_scatter(const T& tree, const mpi::Comm& comm, int axis = 0, const Location& at = Location::current()) {
  return tree_map([&](const Array& x) { return reduce_scatter(ArrayLike(x, at), comm, axis); }, tree);
}
template <detail::OtherTree T>
T ppermute(const T& tree, const mpi::Comm& comm, const std::vector<std::pair<int, int>>& pairs,
           const Location& at = Location::current()) {
  return tree_map([&](const Array& x) { return ppermute(ArrayLike(x, at), comm, pairs); }, tree);
}

namespace mpi {

template <detail::OtherTree T>
T shard(T tree, const Comm& comm, int axis = 0, const Location& at = Location::current()) {
  return detail::for_named_leaves(std::move(tree), [&](const Array& x, const std::string& name) {
    return detail::shard(ArrayLike(x, at), comm, axis, name);
  });
}

struct DataParallelOptions {
  std::size_t bucket_bytes = detail::bucket_bytes;  // results of one dtype travel together, up to so many of them
};

template <class F>
class DataParallel : public detail::Calls<DataParallel<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  DataParallel(F f, Comm comm, const DataParallelOptions& options, const Location& at)
      : f_(std::move(f)), comm_(std::move(comm)), options_(options), at_(at) {}

  template <class... T>
  auto apply(T&&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      using R = typename For::type::Result;
      constexpr bool arrays = detail::holds_arrays<R>;
      static_assert(arrays, "anew::mpi::data_parallel: the function returns no array to take the mean of");
      if constexpr (arrays)
        return detail::collect(detail::Collective::mean, R(detail::call(f_, std::forward<T>(args)...)), comm_, at_, 0,
                               options_.bucket_bytes);
    }
  }

  const Location& at() const { return at_; }

 private:
  F f_;
  Comm comm_;
  DataParallelOptions options_;
  Location at_;
};
// f of each rank's own arguments, then the means of its results over all ranks: with value_and_grad(loss) those of the
// whole batch, where the ranks have parts of one size and the loss is a mean. Compiled, a bucket of results is on its
// way while f still computes the others.
template <class F>
[[nodiscard]] auto data_parallel(F f, Comm comm, const DataParallelOptions& options = {},
                                 const Location& at = Location::current()) {
  return DataParallel<F>(std::move(f), std::move(comm), options, at);
}

}  // namespace mpi
}  // namespace anew
