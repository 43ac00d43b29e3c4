// The rows that passes know by name, because no fact says what is wanted of them: identities that keep every bit, and
// the views that others are rewritten to. The only such list; docs/architecture.md names it too.
#pragma once
#include "ir/primitive.h"

namespace anew::passes {

struct NamedRows {
  NamedRows();
  const ir::Primitive &add, &add_any, &sub, &mul, &div, &neg, &not_, &convert_element_type, &select_n;
  const ir::Primitive &broadcast_in_dim, &reshape, &transpose, &slice, &pad, &concatenate;
  std::vector<const ir::Primitive*> reductions;  // that give a single element as it is
};
const NamedRows& named_rows();

}  // namespace anew::passes
