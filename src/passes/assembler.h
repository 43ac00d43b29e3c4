// What a kind of step (lowered.h) asks for where it says what runs: places of values and scratch, the code of kernels
// and of nested Bodies. One Assembler per Body; those of nested Bodies share kernels and regions of files.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "passes/lowered.h"
#include "runtime/executable.h"

namespace anew::passes {

// All kernels of a Body and those nested in it, each distinct one once: equal ones on equal layouts share their code.
class KernelTable {
 public:
  explicit KernelTable(const Body& body) { collect(body); }
  const std::vector<loops::LaidKernel>& kernels() const { return kernels_; }
  std::size_t of(const Step& step) const { return index_.at(&step); }

 private:
  void collect(const Body& body);
  std::vector<loops::LaidKernel> kernels_;
  std::unordered_multimap<std::size_t, std::size_t> seen_;
  std::unordered_map<const Step*, std::size_t> index_;
};

class Assembler {
 public:
  Assembler(const Body& body, const KernelTable& table, const loops::Codes& codes, std::vector<Code::Region>& regions)
      : body_(body), table_(table), codes_(codes), regions_(regions) {}
  std::unique_ptr<Code> run();

  const Body& body() const { return body_; }
  const Value& value(ValueId v) const { return body_.values[v]; }
  Place place(ValueId v) const { return {value(v).storage.number, value(v).offset}; }
  StridedPlace strided(ValueId v) const { return {place(v), value(v).type, value(v).strides}; }
  StackedPlace rows(ValueId v) const;
  CarryPlace carry(ValueId in, ValueId out, Place other) const {
    return {strided(in), place(out), other, value(out).type.bytes()};
  }
  std::vector<Place> operands_of(const Step& step) const;  // of a kernel
  // A part of the scratch of step i.
  Place scratch(std::size_t i, const Part& part = {}) const {
    return {base_, static_cast<std::int64_t>(body_.scratch_offsets[i] + part.offset)};
  }
  // Step i is a kernel that the step before it runs.
  bool on_tiles(std::size_t i) const;
  bool with_last(std::size_t i) const;
  const std::shared_ptr<const loops::KernelCode>& code_of(const Step& kernel) const {
    return codes_[table_.of(kernel)];
  }
  std::unique_ptr<const Code> nested(const Body& body) const { return Assembler(body, table_, codes_, regions_).run(); }
  // The step uses so many pointers behind its table.
  void needs(int pointers) { deepest_ = std::max(deepest_, pointers); }
  // The region of files that a storage of this Body is; null: none.
  Code::Region* region_of(StorageId storage) const;

 private:
  const Body& body_;
  const KernelTable& table_;
  const loops::Codes& codes_;
  int base_ = 0, deepest_ = 0;
  std::vector<Code::Region>& regions_;               // of the outermost Body and all nested in it
  std::map<StorageId, std::size_t> region_of_ = {};  // of this Body
};

}  // namespace anew::passes
