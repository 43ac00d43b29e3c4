// checkpoint_name: names a value for name-aware policies.
#include "ops/known_rows.h"
#include "trace/trace.h"

namespace anew::flat {

Array name(const Array& x, std::string_view name, const Location& at) {
  if (name.empty()) throw Error("[checkpoint_name] the name is empty", at);
  return bind1(name_row(), std::make_shared<NameParams>(std::string(name)), {strong(x, at)}, at);
}

}  // namespace anew::flat
