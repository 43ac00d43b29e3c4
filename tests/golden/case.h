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

// What does not hold, one line each; empty: the case passes. Throws NotDelivered for what this version does not have.
std::vector<std::string> run_case(const Case& c, const Operation& operation);

}  // namespace anew::golden
