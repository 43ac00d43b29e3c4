// Reading through: a kernel that makes for itself what it used to load. Invariant: of makers that compute something
// only those are given whose every element is loaded once; the functions here duplicate whatever they are given.
#pragma once
#include <optional>
#include <vector>

#include "passes/fuse_draft.h"

namespace anew::passes {

// `reader` with loads replaced: for each, the Draft with one put that makes what it loads; null: it stays.
// Nothing where some map is not affine.
std::optional<Draft> inlined(Draft reader, const std::vector<const Draft*>& makers);

// The same for arrays that several Drafts put together, a later one over an earlier one; for each load those of its
// array, none: it stays. The nest of the reader is cut into boxes in each of which a load meets one part.
// Nothing where that needs more than `most` boxes or parts are not boxes.
std::vector<Draft> inlined_parts(const Body& body, Draft reader, std::vector<std::vector<const Draft*>> makers,
                                 std::size_t most);

}  // namespace anew::passes
