// How a function with a rule of its own is traced. Its Program is needed wherever something traces; but where all
// values are known a plain `if` on them works, as it does without the rule: the function then runs with each value
// beside its staged form, and the Program is that of the branches taken.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "control/custom.h"
#include "control/nested_rules.h"
#include "control/signature.h"
#include "transforms/nested.h"
#include "transforms/vmap.h"

namespace anew {
namespace {

// The concrete array behind x; empty where there is none.
Array known_value(const Array& x) {
  Array y = x;
  while (y.value()->trace && y.value()->trace->concrete_values) y = y.value()->first;
  return y.value()->concrete() ? y : Array();
}

// Carries (value, staged value); where the value is not known the staged one stands in, and asking for it is the usual
// error.
class WitnessTrace final : public Trace {
 public:
  WitnessTrace(std::shared_ptr<StagingTrace> staging, const Location& where) : staging_(std::move(staging)) {
    at = where;
    concrete_values = true;
  }
  std::string_view what() const override { return staging_->what(); }
  Array box(const Array& known, const Array& staged) {
    Array x = traced_value(shared_from_this(), type_of(staged));
    mutable_value(x).first = known.value() ? known : staged;
    mutable_value(x).second = staged;
    return x;
  }
  Array staged(const Array& x) const { return x.value()->trace.get() == this ? x.value()->second : x; }

  Arrays process(const Request& r) override {
    Arrays staged_in, known_in;
    bool all_known = !r.primitive.facts.effects;
    for (const Array& x : r.inputs) {
      staged_in.push_back(staged(x));
      known_in.push_back(known_value(x));
      all_known = all_known && known_in.back().value();
    }
    Arrays out = bind_under(staging_.get(), r.primitive, r.params, staged_in, r.at), known(out.size());
    if (all_known) {
      TraceScope nobody(nullptr);
      known = bind_under(nullptr, r.primitive, r.params, known_in, r.at);
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = box(known[i], out[i]);
    return out;
  }

 private:
  std::shared_ptr<StagingTrace> staging_;
};

Closed close_over_values(const FlatFunction& f, std::span<const Array> args, std::string_view what,
                         const Location& at) {
  auto staging = std::make_shared<StagingTrace>(what, at);
  auto trace = std::make_shared<WitnessTrace>(staging, at);
  TraceLife a(staging), b(trace);
  Arrays in, out;
  for (const Array& x : args) {
    const Array inside = exact(x);
    const Array boxed = trace->box(known_value(inside), staging->add_input(type_of(inside)));
    in.push_back(form_of(x).number ? as_number(boxed, type_of(x).dtype) : boxed);
  }
  {
    TraceScope scope(trace.get());
    out = f(in);
  }
  Forms forms;
  for (Array& y : out) {
    check_operand(y, at);
    forms.push_back(form_of(y));
    y = trace->staged(exact(y));
  }
  Closed c{staging->finish(out), staging->constants(), std::move(forms)};
  for (const Array& x : args) c.inputs.push_back(exact(x));
  c.program.constants = 0;
  return c;
}

}  // namespace

Closed close_custom(const FlatFunction& f, std::span<const Array> args, std::string_view what, const Location& at) {
  bool known = true;
  for (const Array& x : args) {
    check_operand(x, at);
    known = known && known_value(x).value();
  }
  if (!known) return close_over(f, args, what, at);
  // Values are computed beside the Program only if somebody asks for one: that costs a second run of f.
  try {
    return close_over(f, args, what, at);
  } catch (const UnknownValue&) {
    return close_over_values(f, args, what, at);
  }
}

ir::Primitive custom_row(std::string op, decltype(ir::Primitive::parse) parse, decltype(ir::Primitive::batch) batch,
                         decltype(ir::Primitive::jvp) jvp) {
  auto program = [](const ir::Params& p) -> const ir::ProgramRef& { return p.as<CustomCall>().program; };
  return {
      .name = op + "_call",
      .infer =
          [op, program](const ir::InferArgs& a) {
            require_groups(op, {a.params.as<CustomCall>().constants}, a.in.size(), a.at);
            return infer_nested(program(a.params), a, op);
          },
      .parse = parse,
      .run = [program](const ParamsRef& p, std::span<const Array> x,
                       const Location&) { return evaluate(*program(*p), x); },
      .jvp = std::move(jvp),
      .transpose = [program](const ir::TransposeArgs& a) { return transpose_program(program(*a.params), a); },
      .batch = std::move(batch),
      .facts = {.holds_programs = true, .inlines = true, .calls_user = true},
  };
}

Arrays bind_custom(const ir::Primitive& row, const ParamsRef& p, CustomCall& call, std::string_view op,
                   const FlatFunction& f, std::span<const Array> x, const CustomOptions& options, const Location& at) {
  Closed c = close_custom(f, x, op, at);
  call.constants = static_cast<int>(c.inputs.size() - x.size());
  call.program = share(std::move(c.program));
  call.symbolic_zeros = options.symbolic_zeros;
  call.in = forms_of(x, at);
  call.out = c.forms;
  return as_formed(anew::bind(row, p, c.inputs, at), c.forms);
}

CustomBatch batch_custom_call(CustomCall& call, const ir::BatchArgs& a) {
  CustomBatch b{std::find(a.mapped.begin(), a.mapped.end(), true) != a.mapped.end(),
                {a.mapped.begin() + call.constants, a.mapped.end()},
                {},
                {}};
  b.all.assign(call.program->outputs.size(), b.any);
  if (b.any) call.program = share(batch_program(call.program, a.mapped, a.size, b.all).program);
  b.variant = fmt::format(" batch {} {}", a.size, fmt::join(b.mapped, ","));
  return b;
}

}  // namespace anew
