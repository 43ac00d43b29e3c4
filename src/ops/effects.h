// The rows with effects, and a user's function as a parameter of an equation: equal to its copies only, written <fn
// ...>, not read back.
#pragma once
#include <anew/effects.h>

#include <memory>
#include <string>

#include "ir/primitive.h"

namespace anew {

struct Callback {
  std::shared_ptr<const FlatFunction> f;
  std::shared_ptr<const void> key;  // of the function (anew/function_key.h)
  std::string name;
  friend bool operator==(const Callback& a, const Callback& b) { return a.key == b.key; }
};
ir::ParamValue to_param(const Callback& c);
bool from_param(const ir::ParamValue& v, Callback& c);

const ir::Primitive& debug_print_row();
const ir::Primitive& io_callback_row();
const ir::Primitive& debug_callback_row();
const ir::Primitive& pure_callback_row();

}  // namespace anew

template <>
struct std::hash<anew::Callback> {
  std::size_t operator()(const anew::Callback& c) const { return std::hash<const void*>{}(c.key.get()); }
};
