// Programs as functions, equations one by one.
#include "stablehlo/module.h"

#include <algorithm>
#include <cctype>

#include "base/float_mode.h"
#include "control/higher_order.h"

namespace anew::stablehlo {

void Context::refuse(std::string_view why) const {
  throw Error(fmt::format("[to_stablehlo] {} cannot be said in StableHLO: {}", eqn.primitive->name, why), eqn.at,
              "keep it out of the function that is exported; docs/stablehlo.md lists what XLA has no word for");
}

namespace {

// What MLIR takes as the name of a function.
std::string symbol(std::string_view name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  while (!out.empty() && out[0] == '_') out.erase(0, 1);
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "f" + out : out;
}

}  // namespace

std::string Module::function_of(const ir::ProgramRef& p, std::string_view name) {
  const std::size_t hash = ir::hash_value(p);
  auto [first, last] = known_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (ir::equal(it->second.program, p)) return it->second.name;
  const std::string wanted = symbol(name);
  std::string unique = wanted;
  for (int n = 1; !names_.insert(unique).second; ++n) unique = fmt::format("{}_{}", wanted, n);
  known_.emplace(hash, Known{p, unique});
  Writer w;
  Values in;
  std::string parameters;
  for (const Type& t : p->input_types()) {
    in.push_back({fmt::format("%arg{}", in.size()), t});
    parameters += fmt::format("{}{}: {}", parameters.empty() ? "" : ", ", in.back().name, text_of(t));
  }
  const Types out = p->output_types();
  w.finish(write(w, *p, in));
  functions_.push_back(
      fmt::format("  func.func private @{}({}) -> ({}) {{\n{}  }}\n", unique, parameters, text_of(out), w.take()));
  return unique;
}

Values Module::call(Writer& w, const ir::ProgramRef& p, std::string_view name, const Values& in) {
  const std::string function = function_of(p, name);
  return w.call(function, in, p->output_types());
}

Values Module::write(Writer& w, const ir::Program& p, const Values& in) {
  std::vector<Value> values(p.types.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i) values[static_cast<std::size_t>(p.inputs[i])] = in[i];
  auto value_of = [&](const ir::Atom& a) {
    return a.is_var() ? values[static_cast<std::size_t>(a.var)] : w.constant(scalar(a.literal.dtype), a.literal.bits);
  };
  for (const ir::Eqn& e : p.eqns) {
    Values operands;
    for (const ir::Atom& a : e.inputs) operands.push_back(value_of(a));
    Types out;
    for (ir::Var v : e.outputs) out.push_back(p.type(v));
    const Line* line = line_of(*e.primitive);
    const Context c{*this, w, e, operands, out, line ? line->combine : loops::Combine::none};
    if (!line) c.refuse("it belongs to another library");
    if (!line->emit) c.refuse(line->cannot);
    Values made = line->emit(c);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!(made[i].type == out[i]))
        throw InternalError(
            fmt::format("{} was written as {}, it is {}", e.primitive->name, made[i].type.str(), out[i].str()));
      values[static_cast<std::size_t>(e.outputs[i])] = std::move(made[i]);
    }
  }
  Values out;
  for (const ir::Atom& a : p.outputs) out.push_back(value_of(a));
  return out;
}

Values Module::write(Writer& w, const FlatFunction& f, const Values& in, const Location& at) {
  Types types;
  for (const Value& v : in) types.push_back(v.type);
  const Staged s = stage(f, types, "to_stablehlo", at);
  Values all;
  for (const Array& x : s.constants) {
    const Array dense = contiguous(x);
    all.push_back(w.array(type_of(dense), dense.value()->data()));
  }
  all.insert(all.end(), in.begin(), in.end());
  return write(w, s.program, all);
}

Values write_same(const Context& c) { return {c.in[0]}; }
Values write_parts(const Context& c) {
  const ir::Eqn& e = c.eqn;
  return c.module.write(c.w, [&](std::span<const Array> x) { return e.primitive->run(e.params, x, e.at); }, c.in, e.at);
}

}  // namespace anew::stablehlo
