// Functions whose derivatives the user gives. Rules are closures that the equation owns; as parameters they are written
// <fn name>, do not parse, and are equal where they are copies of one rule.
#pragma once
#include <anew/custom.h>

#include "control/higher_order.h"
#include "trace/trace.h"
#include "transforms/nested.h"

namespace anew {

// A user's function in the parameters of an equation. `variant` tells derived ones (batched) apart.
template <class F>
struct UserRule {
  F f = {};
  std::shared_ptr<const void> key = {};
  std::string name = {}, variant = {};
  friend bool operator==(const UserRule& a, const UserRule& b) { return a.key == b.key && a.variant == b.variant; }
};
template <class F>
ir::ParamValue to_param(const UserRule<F>& r) {
  return {ir::ParamFunction{r.name}};
}
template <class F>
bool from_param(const ir::ParamValue&, UserRule<F>&) {
  return false;
}

// What the calls of both kinds have: f as a Program, and what its rules are told.
struct CustomCall {
  int constants = 0;  // leading operands that f captured: rules are not told of them
  ir::ProgramRef program;
  bool symbolic_zeros = false;
  Forms in = {}, out = {};  // of the arguments and results: which of them are numbers to the rules
};
struct CustomJvpParams final : ir::ParamsOf<CustomJvpParams>, CustomCall {
  UserRule<flat::JvpRule> rule;
  static auto fields() {
    using P = CustomJvpParams;
    return std::tuple{ir::field("num_consts", &P::constants), ir::field("program", &P::program),
                      ir::field("rule", &P::rule), ir::field("symbolic_zeros", &P::symbolic_zeros)};
  }
};
struct CustomVjpParams final : ir::ParamsOf<CustomVjpParams>, CustomCall {
  UserRule<detail::VjpForward> forward;
  static auto fields() {
    using P = CustomVjpParams;
    return std::tuple{ir::field("forward", &P::forward), ir::field("num_consts", &P::constants),
                      ir::field("program", &P::program), ir::field("symbolic_zeros", &P::symbolic_zeros)};
  }
};
// The row of one kind; `op` is what users call it. Evaluated, it is f; its derivative is the rule's.
ir::Primitive custom_row(std::string op, decltype(ir::Primitive::parse) parse, decltype(ir::Primitive::batch) batch,
                         decltype(ir::Primitive::jvp) jvp);
// Traces f into `call`, the part of p that both kinds have, and binds the row.
Arrays bind_custom(const ir::Primitive& row, const ParamsRef& p, CustomCall& call, std::string_view op,
                   const FlatFunction& f, std::span<const Array> x, const CustomOptions& options, const Location& at);
// Of a call that is mapped: f of all examples, where there is an argument of several, and what the rule must know.
struct CustomBatch {
  bool any;                       // whether an operand is mapped
  std::vector<bool> mapped, all;  // arguments that are; the same for each output
  std::string variant;
};
CustomBatch batch_custom_call(CustomCall& call, const ir::BatchArgs& a);

// The tangents of a custom_vjp: linear in its last operands, known by its transpose only. Operands: residuals, then the
// tangents of the arguments that have one. Outputs: tangents of the floating-point outputs.
struct LinearMap {
  detail::VjpBackward backward;
  Types in, out;  // of the function: one cotangent per `out` comes, one per `in` goes
  Forms in_forms = {}, out_forms = {}, residuals = {};
  std::vector<bool> active;  // per `in`: has a tangent
  bool symbolic_zeros = false;
};
struct CustomLinParams : ir::ParamsOf<CustomLinParams> {
  int residuals = 0;
  UserRule<LinearMap> backward;
  static auto fields() {
    return std::tuple{ir::field("backward", &CustomLinParams::backward),
                      ir::field("num_res", &CustomLinParams::residuals)};
  }
};

// close_over, where a plain `if` on values that are known works.
Closed close_custom(const FlatFunction& f, std::span<const Array> args, std::string_view what, const Location& at);
// What a rule gave, as an array of this type: numbers take it, an empty Array stays. Where the type stands for a number
// (`form`), any floating-point scalar does. `what` begins the message.
Array checked_result(const Array& given, const Type& type, const Form& form, const std::string& what,
                     const Location& at);
// Arguments, tangents and cotangents as the rule sees them: numbers where the function was given numbers.
Arrays for_rule(std::span<const Array> x, const Forms& forms);
// Throws where a value that f captured has a tangent, which no rule can give back.
void check_captured(std::span<const Array> t, int constants, std::span<const Array> x, std::string_view op,
                    const Location& at);
// What a rule gave that ran under `trace` in the place of `by`: with the mapped axis in front; or, where no argument is
// mapped, as it is, and GivesMapped is thrown if it has that axis all the same.
class BatchTrace;
void outputs_of_rule(Arrays& y, const BatchTrace& trace, bool mapped, const std::weak_ptr<Trace>& by);
// Primal outputs of a rule as the primal side of the derivative sees them; throws where one depends on a tangent.
Array primal_of_rule(const Array& y, std::string_view op, const Location& at);

}  // namespace anew

template <class F>
struct std::hash<anew::UserRule<F>> {
  std::size_t operator()(const anew::UserRule<F>& r) const {
    return std::hash<const void*>{}(r.key.get()) ^ std::hash<std::string>{}(r.variant);
  }
};
