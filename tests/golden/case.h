// One recorded operation: read, run in all the ways that must agree, compared with its figures.
#pragma once
#include "golden/compare.h"
#include "golden/operation.h"

namespace anew::golden {

struct Case {
  std::string id, category, op, note;
  Params params;
  Rule rule;  // for outputs; derivatives under the element rule use Rule::Kind::slope
  NumbersList inputs, outputs, tangents, jvp, cotangents, vjp;
  NumbersList f32_outputs, f32_jvp, f32_vjp;  // what the recording library gives in f32, where that differs
};
Case parse_case(const Json& json);

// An entry where the recorded figure is wrong and ours is kept: never compared, always reported by the runner.
struct LeftOut {
  std::string op;
  DType dtype;
  double input;  // of the first input
  std::string reason;
};
const std::vector<LeftOut>& left_out();
// How many entries of a case that is.
std::size_t entries_of(const LeftOut& entry, const Case& c);

// What does not hold, one line each; empty: the case passes. Throws NotDelivered for what this version does not have.
std::vector<std::string> run_case(const Case& c, const Operation& operation);

}  // namespace anew::golden
