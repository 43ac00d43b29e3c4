// closure_convert: the arrays that a function captures become arguments of its Program.
#include <anew/closures.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "trace/trace.h"

namespace anew::detail {

std::pair<FlatFunction, Arrays> captured_as_arguments(const FlatFunction& f, std::span<const Array> x,
                                                      const Location& at) {
  check_function(f, at);
  Staged s = stage(f, forms_of(x, at), "closure_convert", at);
  auto program = std::make_shared<const ir::Program>(std::move(s.program));
  auto g = [program, forms = std::move(s.forms), at](std::span<const Array> in) {
    const auto captured = static_cast<std::size_t>(program->constants);
    if (in.size() != program->inputs.size())
      throw Error(fmt::format("[closure_convert] the function takes {} arrays and {} that it captured, got {}",
                              program->inputs.size() - captured, captured, in.size()),
                  at, "pass the captured arrays as they were given, behind the arguments");
    Arrays all(in.end() - static_cast<std::ptrdiff_t>(captured), in.end());
    for (std::size_t i = 0; i + captured < in.size(); ++i) all.push_back(exact(in[i]));
    for (std::size_t i = 0; i < all.size(); ++i) {
      check_operand(all[i], at);
      if (const Type& want = program->type(program->inputs[i]); !(type_of(all[i]) == want))
        throw Error(fmt::format("[closure_convert] {} {} was {} when the function was converted, is {} now",
                                i < captured ? "captured array" : "argument", i < captured ? i : i - captured,
                                want.str(), type_of(all[i]).str()),
                    at, "convert the function for arguments of these types");
    }
    return as_formed(evaluate(*program, all), forms);
  };
  return {std::move(g), std::move(s.constants)};
}

Array zero_like(const Array& x) { return zeros_like(x); }

}  // namespace anew::detail
