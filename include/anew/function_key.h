// Which functions that equations hold are the same. Two Programs are equal, and share code, only where their functions
// are: those without state are known by their types, others by the object that holds them; the values of static
// arguments tell calls of one apart.
#pragma once
#include <anew/call_key.h>

namespace anew::detail {

using FunctionKey = std::shared_ptr<const void>;
FunctionKey new_function_key();
template <class... T>
FunctionKey key_of_types() {
  static const auto& key = *new FunctionKey(new_function_key());  // never destroyed: static objects may call
  return key;
}
// The same function with these values, such as static arguments.
FunctionKey key_of_values(const FunctionKey& function, flat::CallKey values);

}  // namespace anew::detail
