// Warnings about checkpoints (spec/checkpoint.md 2.7): a policy name that matches nothing, a checkpoint that changes nothing.
#pragma once
#include <anew/policy.h>

#include "transforms/split.h"

namespace anew {

void report_unmatched_names(const Policy& policy, const ir::Program& body, const Location& at);
// The staged half repeats nothing of the known half: the plain function keeps and computes the same.
void report_nothing_repeated(const Split& s, const Location& at);

}  // namespace anew
