// Arguments, tangents and cotangents as transformations take them from their callers: checked, with numbers made
// arrays.
#pragma once
#include "trace/trace.h"

namespace anew {

// Tangents and cotangents: numbers take the type of what they belong to; everything else must have it.
Array matching(const Array& given, const Type& wanted, const std::string& what, const Location& at);
// Integers do not vary: what is given for one is nothing, or zeros of its type.
void check_no_tangent(const Array& given, const Type& type, std::string_view what, std::string_view which,
                      std::size_t i, const Location& at);
void check_count(std::size_t given, std::size_t wanted, std::string_view what, const Location& at);

// No literal; other arrays are themselves, since an alias would be told apart from them and kept twice.
Array as_argument(const Array& x);
Arrays arguments_of(std::span<const Array> x, const Location& at);
bool has_numbers(std::span<const Array> x);

}  // namespace anew
