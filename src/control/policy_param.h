// Policies as parameters of equations: how they are written, and read back. A policy made of a user's function is
// written <fn ...> and cannot be read.
#pragma once
#include <anew/policy.h>

#include <optional>

#include "ir/params.h"

namespace anew {

ir::ParamValue to_param(const Policy& p);
bool from_param(const ir::ParamValue& v, Policy& p);
bool from_param(const ir::ParamValue& v, std::optional<Policy>& p);

}  // namespace anew
