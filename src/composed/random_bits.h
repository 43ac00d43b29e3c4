// Keys and random bits, from which everything else is drawn.
#pragma once
#include <string_view>

#include "trace/trace.h"

namespace anew {

// The key itself; throws "[op] needs a key, u32[2], got ..." for anything else.
Array checked_key(std::string_view op, const ArrayLike& key);
// 8, 16 or 32 random bits in u32, or 64 in i64.
Array random_bits(std::string_view op, const Array& key, const Shape& shape, int width, const Location& at);

}  // namespace anew
