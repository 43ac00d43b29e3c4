// A module: one function for each Program, and how one equation is said in StableHLO. The table (table.cpp) has a line
// for every row that is not elementwise: what writes it, or why it cannot be said. Elementwise rows need none: their
// kernels, scalar expressions, are written node by node (elementwise.cpp).
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "ir/primitive.h"
#include "stablehlo/writer.h"
#include "trace/trace.h"

namespace anew::stablehlo {

class Module;

// One equation that is being written.
struct Context {
  Module& module;
  Writer& w;
  const ir::Eqn& eqn;
  const Values& in;
  const Types& out;
  loops::Combine combine;  // of a row that joins

  // A param by the name that it has in printed Programs; `absent` where it is not written.
  template <class T>
  T param(std::string_view name, T absent = {}) const {
    for (const auto& [key, value] : eqn.params->list())
      if (key == name) {
        T v{};
        if (ir::from_param(value, v)) return v;
      }
    return absent;
  }
  // Throws: this row, its line, and why.
  [[noreturn]] void refuse(std::string_view why) const;
};

using Emit = Values (*)(const Context&);
struct Line {
  std::string_view row;
  Emit emit = nullptr;           // or
  std::string_view cannot = {};  // why there is none
  loops::Combine combine = loops::Combine::none;
};
std::span<const Line> lines();
// How a row is written; null for one that the table has forgotten.
const Line* line_of(const ir::Primitive& row);
// The operation that joins two scalars.
std::string_view word_of(loops::Combine combine);

class Module {
 public:
  // The name of the function of p; it is written when it is first asked for.
  std::string function_of(const ir::ProgramRef& p, std::string_view name);
  // Calls it.
  Values call(Writer& w, const ir::ProgramRef& p, std::string_view name, const Values& in);
  // The equations of p in the place of a call.
  Values write(Writer& w, const ir::Program& p, const Values& in);
  // A function of arrays in the place of a row that is made of others.
  Values write(Writer& w, const FlatFunction& f, const Values& in, const Location& at);
  const std::vector<std::string>& functions() const { return functions_; }

 private:
  struct Known {
    ir::ProgramRef program;
    std::string name;
  };
  std::unordered_multimap<std::size_t, Known> known_;
  std::vector<std::string> functions_;
  std::unordered_set<std::string> names_ = {"main"};
};

// ---- writers of the families
Values write_elementwise(const Context& c);
Values write_maximum(const Context& c);
Values write_minimum(const Context& c);
Values write_same(const Context& c);   // its operand
Values write_parts(const Context& c);  // what `run` is made of

}  // namespace anew::stablehlo
