// Rematerialization: kernels that make and read values, and sequences of kernels with repeats. A kernel that runs again
// makes new instances of its values; a read takes the latest one; an instance lives from its kernel to its last read.
// Kept values are results: their first instance lives to the end, and all reads take that. What lies outside
// (arguments, constants) is not in the graph. One representation for every plan there is: all values kept, everything
// made again, and whatever is between. Values may also have a fetch, a kernel that reads from a file what the value's
// maker left there: no sequence needs it, each may have it anywhere behind the maker.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace anew::plan {

struct RematKernel {
  double cost = 0;                               // time to run it
  std::vector<int> reads = {}, makes = {};       // values; of a kernel that was added before, or of this one
  std::int64_t scratch = 0;                      // bytes while it runs; below 0: less than all it makes
  bool repeatable = true;                        // false: it has effects, or what it makes shall be kept
  std::vector<std::pair<int, int>> reuses = {};  // (read, made) of equal bytes: made may take the memory of read
  double first_cost = 0;                         // of a fetch, besides, when it first runs: its value is written
  bool fetch = false;
};
struct RematValue {
  std::int64_t bytes = 0;
  bool kept = false;
  int maker = -1, fetch = -1;     // kernels
  std::vector<int> readers = {};  // kernels, each once, in order
};

// Kernels in an order in which they can run, then fetches.
struct RematGraph {
  std::vector<RematKernel> kernels;
  std::vector<RematValue> values;

  int add_value(std::int64_t bytes, bool kept = false);
  // Kernels that make what it reads have been added before.
  int add_kernel(RematKernel kernel);
  // Behind all kernels. Hands the maker's run to the fetch as a value without bytes.
  int add_fetch(int value, double write, double read);
  int fetches = 0;
  int size() const { return static_cast<int>(kernels.size()) - fetches; }  // without fetches
  const RematKernel& kernel(int k) const { return kernels[static_cast<std::size_t>(k)]; }
  const RematValue& value(int v) const { return values[static_cast<std::size_t>(v)]; }
  std::int64_t bytes(int v) const { return value(v).bytes; }
  // Of a value that has a fetch: of its first one, and of any other.
  double fetch_cost(int v, bool again = false) const {
    const RematKernel& f = kernel(value(v).fetch);
    return f.cost + (again ? 0 : f.first_cost);
  }
  double total_cost() const;  // of all kernels once
};

using Sequence = std::vector<int>;  // kernels

struct Evaluation {
  bool valid = false;  // every read has an instance, every kept value is made, nothing that may not be is repeated
  double cost = 0;
  std::int64_t peak = 0;
  int at = -1;                     // the position of the peak
  std::vector<std::int64_t> live;  // bytes at each position, scratch included
};
Evaluation evaluate(const RematGraph& graph, const Sequence& sequence);
// The same graph with its kernels in another order: kernel i is kernel order[i]; fetches stay.
RematGraph reordered(const RematGraph& graph, const Sequence& order);
RematGraph without_fetches(const RematGraph& graph);
// Without runs whose results nobody reads. First runs that only later ones replace disappear too: a value that is first
// needed late is made late.
Sequence without_dead_runs(const RematGraph& graph, const Sequence& sequence);
// The most bytes that a kernel's results can take over from what it reads.
std::int64_t most_reused(const RematGraph& graph, const RematKernel& kernel);
// Every kernel once, in order.
Sequence plain_sequence(const RematGraph& graph);
// No sequence has a lower peak: what the most demanding kernel reads, makes and needs.
std::int64_t least_bytes(const RematGraph& graph);

}  // namespace anew::plan
