// See anew/function_key.h.
#include <anew/function_key.h>

#include <mutex>

#include "base/base.h"
#include "base/lru.h"

namespace anew::detail {
namespace {

struct Known {
  FunctionKey function;  // kept, so that no other one gets its address
  flat::CallKey values;
  FunctionKey key;
};

}  // namespace

FunctionKey new_function_key() { return std::make_shared<char>(); }

FunctionKey key_of_values(const FunctionKey& function, flat::CallKey values) {
  static std::mutex& guard = *new std::mutex;
  static auto& known = *new Lru<Known>(1024);  // what falls out gets another key, and is compiled again
  std::size_t hash = values.hash();
  hash_combine(hash, std::hash<const void*>{}(function.get()));
  std::list<Known> gone;
  std::lock_guard lock(guard);
  auto same = [&](const Known& k) { return k.function == function && k.values == values; };
  if (const Known* found = known.find(hash, same)) return found->key;
  FunctionKey key = new_function_key();
  gone = known.add(hash, {function, std::move(values), key});
  return key;
}

}  // namespace anew::detail
