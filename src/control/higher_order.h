// The higher-order rows, whose params hold Programs, one file each, and the list of all rows of the language.
#pragma once
#include <anew/policy.h>

#include <optional>

#include "ir/params.h"
#include "ir/primitive.h"

namespace anew {

// Policies as parameters of equations: how they are written, and read back. A policy made of a user's function is
// written <fn ...> and cannot be read.
ir::ParamValue to_param(const Policy& p);
bool from_param(const ir::ParamValue& v, Policy& p);
bool from_param(const ir::ParamValue& v, std::optional<Policy>& p);

struct JitParams : ir::ParamsOf<JitParams> {
  std::string name;
  ir::ProgramRef program;
  static auto fields() {
    return std::tuple{ir::field("name", &JitParams::name), ir::field("program", &JitParams::program)};
  }
};
const ir::Primitive& jit_row();
ir::ParamsRef jit_params(std::string name, ir::ProgramRef program);
// How a jit equation is evaluated; src/jit fills it. Without it the Program is evaluated equation by equation.
using RunCompiled = Arrays (*)(const ir::ProgramRef& program, std::span<const Array> x, const Location& at);
extern RunCompiled run_compiled;

struct CheckpointParams : ir::ParamsOf<CheckpointParams> {
  bool differentiated = false;
  Policy policy = checkpoint_policies::nothing_saveable;
  ir::ProgramRef program;
  static auto fields() {
    return std::tuple{ir::field("differentiated", &CheckpointParams::differentiated),
                      ir::field("policy", &CheckpointParams::policy), ir::field("program", &CheckpointParams::program)};
  }
};
const ir::Primitive& checkpoint_row();

// Operands: the index of the branch (i32), then what every branch takes.
struct CondParams : ir::ParamsOf<CondParams> {
  std::vector<ir::ProgramRef> branches;
  static auto fields() { return std::tuple{ir::field("branches", &CondParams::branches)}; }
};
const ir::Primitive& cond_row();

// Functions with derivatives of the user's (control/custom.h), and the linear map that a custom_vjp leaves behind.
const ir::Primitive& custom_jvp_row();
const ir::Primitive& custom_vjp_row();
const ir::Primitive& custom_lin_row();

// Values that equations define (control/implicit.h).
const ir::Primitive& linear_solve_row();
const ir::Primitive& custom_root_row();

// First-order and higher-order.
const std::vector<const ir::Primitive*>& all_rows();
const ir::Primitive* find_row(std::string_view name);

}  // namespace anew
