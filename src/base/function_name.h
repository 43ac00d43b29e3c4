// The short name of a function, out of the signature a compiler puts into std::source_location.
#pragma once
#include <string>
#include <string_view>

namespace anew {

// "anew::Array ns::layer(const anew::Array&) [with T = int]" -> "layer"; any lambda -> "<lambda>".
// Knows what g++ and clang write; text of another form comes back as it is.
std::string short_function_name(std::string_view signature);

}  // namespace anew
