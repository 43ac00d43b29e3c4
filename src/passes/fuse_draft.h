// A kernel while it is being fused: operands are values of the Body, equal nodes are one, and its nest may be replaced
// by another through an index map. Invariant: every change keeps what is computed for each element and the order of a
// reduction, so that a Draft that is finished unchanged computes what its step did.
#pragma once
#include <vector>

#include "passes/fuse_map.h"

namespace anew::passes {

// Node ids by node; open addressing over the Draft's own list.
class NodeTable {
 public:
  // The id of an equal node, or the new one, appended.
  int add(std::vector<loops::Node>& nodes, const loops::Node& node);
  void clear() { slots_.clear(); }

 private:
  std::vector<std::int32_t> slots_;  // -1: free
};

struct DraftAccess {
  ValueId value;
  StorageId storage;
  DType dtype;
  std::vector<loops::Affine> index;
  Address address;
};

class Draft {
 public:
  Draft() = default;
  // Loads of literals are constants, and so is what is made of constants; variables that run once do not count.
  Draft(const Body& body, const Step& step);
  // An empty one over the nest of another.
  static Draft over_nest_of(const Draft& other);

  const Extents& extents() const { return extents_; }
  std::int64_t iterations() const { return iterations_; }
  const std::vector<bool>& reduced() const { return reduced_; }
  bool reduces() const { return combine_ != loops::Combine::none; }
  const std::vector<loops::Node>& nodes() const { return nodes_; }
  const std::vector<DraftAccess>& loads() const { return loads_; }
  struct Put {
    int node;
    DraftAccess to;
  };
  const std::vector<Put>& puts() const { return puts_; }
  // Nodes once every call is replaced by its expression.
  int weight() const { return weight_; }

  // The same work done by the iterations of another nest, which must visit every iteration once (or, of what computes
  // nothing, any).
  void move_to(const Map& map, const Extents& extents, const std::vector<bool>& reduced);
  void cut(const Cut& cut);
  // Takes over what `next` computes and writes, and how it reduces; both have one nest. Loads of `next` for which
  // `instead` names a node of this one read that.
  void append(const Draft& next, const std::vector<int>& instead);
  // What a reader of the value that put p writes gets: its node in the type of the memory.
  int read_back(std::size_t p);
  void drop_put(std::size_t p) { puts_.erase(puts_.begin() + static_cast<std::ptrdiff_t>(p)); }
  // A reduction in two: what it does to each element goes to `through`, an array of the nest's shape, and this one
  // reduces that.
  Draft take_arithmetic(const Body& body, ValueId through);
  // Forgets nodes and loads that no put needs.
  void prune();

  void finish(const Body& body, Step& step) const;

 private:
  DraftAccess place_of(const Body& body, ValueId value, std::vector<loops::Affine> index) const;
  // Starts with no nodes, to add them again.
  std::vector<loops::Node> take_nodes();
  int add(const loops::Node& node);
  int add_load(const DraftAccess& place);
  int add_index(const loops::Affine& f, DType dtype);
  bool has_index() const;
  std::vector<bool> used() const;  // by node

  Extents extents_;
  std::int64_t iterations_ = 1;
  std::vector<bool> reduced_;
  loops::Combine combine_ = loops::Combine::none;
  std::vector<loops::Node> nodes_;
  std::vector<DraftAccess> loads_;
  std::vector<Put> puts_;
  int weight_ = 0;
  NodeTable table_;
};

}  // namespace anew::passes
