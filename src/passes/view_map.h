// Where a chain of views finds its elements: element (i, j, ...) of the last is element offset + i * strides[0] + ...
// of the first, counted in row-major order. A number that does not depend on how either lies in memory.
#pragma once
#include <optional>

#include "ir/primitive.h"

namespace anew::passes {

struct ViewMap {
  ir::Atom root;  // of no view itself
  ir::Type type;  // of the root
  std::int64_t offset = 0;
  ir::Strides strides;
};

ViewMap root_map(const ir::Atom& root, const ir::Type& type);
// One view more; nothing where it is not a strided view of the root.
std::optional<ViewMap> looked_through(const ViewMap& map, const ir::Eqn& view, const ir::Type& in, const ir::Type& out);
// Whether the elements of type `out` are those of the root, in its order and shape.
bool is_identity(const ViewMap& map, const ir::Type& out);

// The one row that says the same of the root, if there is one.
struct OneView {
  const ir::Primitive* primitive;
  ir::ParamsRef params;
};
std::optional<OneView> as_one_view(const ViewMap& map, const ir::Type& out);

}  // namespace anew::passes
