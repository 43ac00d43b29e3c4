// What plans and reports say of a lowered Program: names of steps, what lives in the arena at each of them, sizes for
// people to read.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "passes/lowered.h"

namespace anew::compiled {

// "512 B", "8.0 KiB", "1.5 GiB".
std::string readable_bytes(double bytes);
// "scan[10]" and "while" of loops, the primitive of a call, "mul, sin x3, reduce_sum" of a kernel, "copy" of one without
// arithmetic.
std::string step_name(const passes::Step& step);
// Loops and branches. Bodies of other steps are how they work, not what the user wrote.
bool is_control(const passes::Step& step);
// Whether a value lies in the arena.
bool in_arena(const passes::Body& body, passes::ValueId value);
// Bytes of the Body's own temporaries that live at each step; scratch does not count.
std::vector<std::size_t> live_bytes(const passes::Body& body, const Table<passes::StorageId, passes::Span>& spans);
// Of each storage: the value that was last written into it when the step has run, if any.
Table<passes::StorageId, passes::ValueId> written_values(const passes::Body& body, std::size_t step);

}  // namespace anew::compiled
