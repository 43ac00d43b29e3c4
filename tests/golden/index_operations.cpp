// The recorded operations of gather, scatter, take, dynamic slices, sort, top_k and cumulative operations.
#include "golden/operation.h"

namespace anew::golden {

Operations index_operations() { return {}; }

}  // namespace anew::golden
