// An end to recursion before the stack has one: functions nest as deep as users nest them, on stacks that users choose.
#pragma once
#include "base/base.h"

namespace anew {

// Throws Error where little is left of this thread's stack. Called wherever functions or Programs are entered.
void check_stack(const Location& at);

}  // namespace anew
