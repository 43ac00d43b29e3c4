// Warnings about checkpoints: a policy name that matches nothing, a checkpoint that changes nothing.
// With ANEW_LOG=residuals in the environment, what each differentiated checkpoint keeps, on stderr.
#pragma once
#include <anew/policy.h>

#include "transforms/split.h"

namespace anew {

void report_unmatched_names(const Policy& policy, const ir::Program& body, const Location& at);
// The staged half repeats nothing of the known half: the plain function keeps and computes the same.
void report_nothing_repeated(const Split& s, const Location& at);
// `unknown`: of the inputs that were split, those with a tangent.
void log_residuals(const Split& s, const ir::Program& split, const std::vector<bool>& unknown, const Location& at);

}  // namespace anew
