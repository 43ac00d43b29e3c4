// The recorded operations of linear algebra and Fourier transforms.
#include "golden/operation.h"

namespace anew::golden {

Operations linalg_operations() { return {}; }

}  // namespace anew::golden
