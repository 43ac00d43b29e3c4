// The steps of a Body while they are fused: who writes and reads each storage, the order of the steps that are left,
// and a Draft of every kernel. Invariant: between changes made here the steps, in order, compute what the Body did.
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
  int next(int s) const { return next_[s + 1]; }
  Step& step(int s) { return body_.steps[s]; }
  Draft& draft(int s) { return drafts_[s]; }
  bool is_kernel(int s) const { return is_kernel_[s]; }
  bool can_change(int s) const { return can_change_[s]; }  // a kernel without effects

  StorageId storage_of(ValueId value) const { return body_.values[value].storage; }
  const Storage& storage(StorageId s) const { return body_.storages[s]; }
  bool is_temporary(StorageId s) const { return storage(s).kind == Storage::Kind::temporary; }
  // The step that writes a storage; nobody: an input, a literal, or what has vanished; several.
  int& writer(StorageId storage) { return writer_[storage]; }
  int& last_writer(StorageId storage) { return last_writer_[storage]; }
  bool is_made_here(StorageId storage) const { return writer_[storage] != nobody; }
  // Steps that read a storage which steps write.
  std::set<int>& readers(StorageId storage) { return readers_[storage]; }
  void add_reader(StorageId storage, int s) {
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
  void write_pieces(const std::map<int, int>& at, const std::map<int, std::vector<Draft>>& pieces);

  Body& body_;
  std::vector<Draft> drafts_;
  Table<StorageId, int> writer_, last_writer_;
  Table<StorageId, std::set<int>> readers_;
  std::vector<int> next_, previous_;  // steps that are left: next_[s + 1] comes after s
  std::vector<bool> is_kernel_, can_change_;
};

// Arrays that are put together from copies and constants (pad, concatenate, roll): where all their readers can be cut
// into boxes that look at one part each, the array is gone. Gives the boxes of each such reader; see fuse_parts.cpp.
std::map<int, std::vector<Draft>> read_parts(FuseGraph& graph);

}  // namespace anew::passes
