// The steps of a Body while they are fused: who writes and reads each storage, the order of the steps that are left, and
// a Draft of every kernel. Invariant: between changes made here the steps, in order, compute what the Body did.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "passes/fuse_draft.h"

namespace anew::passes {

class FuseGraph {
 public:
  static constexpr int nobody = -1, several = -2;

  // Kernels whose results nobody reads are gone.
  explicit FuseGraph(Body& body);

  const Body& body() const { return body_; }
  int count() const { return static_cast<int>(body_.steps.size()); }
  int first() const { return next_.front(); }
  int next(int s) const { return next_[static_cast<std::size_t>(s) + 1]; }
  Step& step(int s) { return body_.steps[static_cast<std::size_t>(s)]; }
  Draft& draft(int s) { return drafts_[static_cast<std::size_t>(s)]; }
  bool is_kernel(int s) const { return is_kernel_[static_cast<std::size_t>(s)]; }
  bool can_change(int s) const { return can_change_[static_cast<std::size_t>(s)]; }  // a kernel without effects

  int storage_of(int value) const { return body_.values[static_cast<std::size_t>(value)].storage; }
  const Storage& storage(int s) const { return body_.storages[static_cast<std::size_t>(s)]; }
  bool is_temporary(int s) const { return storage(s).kind == Storage::Kind::temporary; }
  // The step that writes a storage; nobody: an input, a literal, or what has vanished; several.
  int& writer(int storage) { return writer_[static_cast<std::size_t>(storage)]; }
  int& last_writer(int storage) { return last_writer_[static_cast<std::size_t>(storage)]; }
  bool is_made_here(int storage) const { return writer_[static_cast<std::size_t>(storage)] != nobody; }
  // Steps that read a storage which steps write.
  std::set<int>& readers(int storage) { return readers_[static_cast<std::size_t>(storage)]; }
  void add_reader(int storage, int s) {
    if (is_made_here(storage)) readers(storage).insert(s);
  }

  // A kernel whose stores may go elsewhere: complete values that only it writes.
  bool can_move(int g);
  // Nothing that it reads changes after it.
  bool reads_final(int g);

  void remove(int s);
  // Step c in the place of g, which is empty.
  void lift(int c, int g);
  // Step c now does what g did.
  void take_over(int g, int c);

  // Back to the Body; `pieces` are steps that became several kernels.
  void write(const std::map<int, std::vector<Draft>>& pieces);

 private:
  void drop_unread(int s);
  void write_pieces(const std::map<std::size_t, int>& at, const std::map<int, std::vector<Draft>>& pieces);

  Body& body_;
  std::vector<Draft> drafts_;
  std::vector<int> writer_, last_writer_;  // by storage
  std::vector<std::set<int>> readers_;
  std::vector<int> next_, previous_;  // steps that are left: next_[s + 1] comes after s
  std::vector<bool> is_kernel_, can_change_;
};

// Arrays that are put together from copies and constants (pad, concatenate, roll): where all their readers can be cut
// into boxes that look at one part each, the array is gone. Gives the boxes of each such reader; see fuse_parts.cpp.
std::map<int, std::vector<Draft>> read_parts(FuseGraph& graph);

}  // namespace anew::passes
