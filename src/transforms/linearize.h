// Linearization: a jvp whose rules run under a SplitTrace, so that primals are computed now and tangents are staged.
// What the staged half captures are the residuals, in this order: constants, arguments,
// then values in the order of their equations.
#pragma once
#include "trace/trace.h"

namespace anew {

// Where a residual comes from and who reads it first.
struct ResidualSource {
  Residual::Kind kind = Residual::Kind::output;
  int argument = -1;
  Origin origin;                           // of an output
  std::string reason;                      // where a checkpoint decided; else empty
  const Primitive* reader = nullptr;       // the first equation of the linear program that reads it,
  const Primitive* reader_rule = nullptr;  // the primitive whose derivative that equation belongs to,
  Location reader_at;                      // and its line
};

}  // namespace anew

// What flat::Linear shares between its copies.
struct anew::flat::Linear::State {
  ir::Program
      program;  // residuals, then tangents of the differentiable inputs -> tangents of the outputs marked nonzero
  Arrays residuals;
  std::vector<ResidualSource> sources;  // one per residual
  Types in, out;
  std::vector<bool> nonzero;  // per output
  CallInfo info;
};

namespace anew {

// `wanted`: how many leading outputs are differentiated (the others are auxiliary); -1: all.
std::pair<Arrays, std::shared_ptr<flat::Linear::State>> linearize_first(const FlatFunction& f, std::span<const Array> x,
                                                                        int wanted, std::string_view what,
                                                                        const flat::CallInfo& info);
// Cotangents of the inputs (+0.0 where there is none). `residuals` may be moved in.
Arrays pull_back(const flat::Linear::State& s, Arrays residuals, std::span<const Array> cotangents, const Location& at);

}  // namespace anew
