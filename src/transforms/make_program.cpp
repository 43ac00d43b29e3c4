// The public Program: text, equations, evaluation; and functions as Programs.
#include <fmt/format.h>

#include <ostream>

#include "base/float_mode.h"
#include "ops/promote.h"
#include "trace/trace.h"

namespace anew {

Program::Program() = default;
Program::Program(const Program&) = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(const Program&) = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;
Program::Program(std::shared_ptr<const ir::Program> code, Arrays constants)
    : code_(std::move(code)), constants_(std::move(constants)) {}

std::string Program::str() const {
  const FloatMode mode;
  return code_ ? ir::print(*code_) : "{ lambda ; . let  in () }";
}
std::ostream& operator<<(std::ostream& out, const Program& p) { return out << p.str(); }
int Program::count(std::string_view primitive) const { return code_ ? ir::count(*code_, primitive) : 0; }

std::vector<ShapeDtype> Program::inputs() const {
  if (!code_) return {};
  Types types = code_->input_types();
  return {types.begin() + code_->constants, types.end()};
}
std::vector<ShapeDtype> Program::outputs() const { return code_ ? code_->output_types() : Types{}; }

std::vector<Equation> Program::equations() const {
  std::vector<Equation> out;
  if (!code_) return out;
  for (const ir::Eqn& e : code_->eqns) {
    Equation q{e.primitive->name, ir::str(*e.params), {}, {}, source_line(e.at)};
    for (const ir::Atom& a : e.inputs) q.inputs.push_back(code_->type(a));
    for (ir::Var v : e.outputs) q.outputs.push_back(code_->type(v));
    out.push_back(std::move(q));
  }
  return out;
}

Arrays evaluate(const Program& program, std::span<const Array> arrays, const Location& at) {
  if (!program.code()) throw Error("[evaluate] an empty Program", at);
  Arrays in = program.constants();
  in.insert(in.end(), arrays.begin(), arrays.end());
  Types want = program.code()->input_types();
  if (in.size() != want.size())
    throw Error(fmt::format("[evaluate] the Program takes {} arrays, got {}", want.size() - program.constants().size(),
                            arrays.size()),
                at,
                program.constants().empty() && program.code()->constants
                    ? "parsed text has no constants: they come first"
                    : "");
  for (std::size_t i = 0; i < in.size(); ++i) {
    check_operand(in[i], at);
    if (is_weak(in[i]) && want[i].shape.ndim() == 0) in[i] = coerce(in[i], want[i].dtype, at);
    if (!(type_of(in[i]) == want[i]))
      throw Error(fmt::format("[evaluate] input {} must be {}, got {}", i - program.constants().size(), want[i].str(),
                              type_of(in[i]).str()),
                  at);
  }
  PinLine pin(at);
  return evaluate(*program.code(), in);
}

namespace flat {

Program make_program(const FlatFunction& f, std::span<const Array> x, const Location& at) {
  Staged s = stage(f, types_of(x, at), "make_program", at);
  return {std::make_shared<const ir::Program>(std::move(s.program)), std::move(s.constants)};
}

Arrays eval_shape(const FlatFunction& f, std::span<const Array> x, const Location& at) {
  Arrays out;
  for (const Type& t : stage(f, types_of(x, at), "eval_shape", at).program.output_types()) out.emplace_back(t);
  return out;
}

}  // namespace flat
}  // namespace anew
