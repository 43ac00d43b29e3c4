// A kernel seen from its memory: the loop nest with neighbouring loops merged where strides allow it, one stream per
// load, loop variable and store, and for every node the innermost place of the nest at which it has to be computed.
// No LLVM in it: everything follows from the kernel and the strides of its operands.
#pragma once
#include <map>

#include "codegen/codegen.h"
#include "loops/nest.h"

namespace anew::codegen {

// Where in the nest a node is computed. Places before `strip` have one value, strip and vector one per lane.
enum class Level : std::uint8_t {
  unused,
  entry,   // once per call
  result,  // per result of a reduction
  row,     // per run of the innermost loop
  down,    // columns: per reduced element, the same for all lanes
  strip,   // columns: per lane, the same for all reduced elements
  vector,  // per element
};
constexpr bool by_lane(Level p) { return p >= Level::strip; }

struct OperandStream {
  int operand = -1;  // -1: a loop variable
  DType dtype = i64;
  std::int64_t offset = 0;            // of the first element, in elements
  std::vector<std::int64_t> strides;  // by dimension of the nest, in elements
};

struct Layout {
  Layout(const Source& source, bool scales);  // with Op::scale

  const loops::Schedule& schedule;    // of the kernel as given
  loops::Kernel kernel;               // with calls expanded
  std::vector<std::int64_t> extents;  // of the merged nest: outer dimensions, then reduced, then inner ones
  std::vector<int> sections;          // 0, 1, 2
  std::vector<OperandStream> streams;
  std::vector<int> stream_of;  // by node: of a load or index, else -1
  std::vector<int> stores;     // streams of the stores
  std::vector<Level> place;    // by node
  std::vector<bool> splat;     // by node: computed once, read by lane
  // Selects by one condition that seldom holds (loops::rarely), by that condition; their operands all stand before the
  // first of them, where a branch leads around what nobody else needs: nodes for which `only_if` names the condition.
  std::map<int, std::vector<int>> rare;
  std::vector<int> only_if;  // by node; -1: needed in any case
  bool is_rare(int n) const;

  int rank() const { return static_cast<int>(extents.size()); }
  int inner() const { return rank() - 1; }
  int first_of(int section) const;  // the first dimension of the section or a later one
  const loops::Node& node(int n) const { return kernel.nodes[n]; }
  // How many nodes are computed by lane in any case, and how many of those in 8 bytes.
  int work = 0, wide = 0;

 private:
  void make_streams(const Source& source);
  void make_nest(std::vector<loops::Stream>& streams);
  void ensure(int section, std::int64_t stride_of_stores);
  void find_places();
  void find_rare();
  void find_needed();
  void count_work();
};

}  // namespace anew::codegen
