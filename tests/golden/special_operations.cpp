// The recorded operations of special functions.
#include "golden/operation.h"

namespace anew::golden {

Operations special_operations() { return {}; }

}  // namespace anew::golden
