// Partial evaluation.
#include "transforms/split.h"

#include <algorithm>
#include <cstring>

#include "ops/device_put.h"
#include "transforms/sources.h"

namespace anew {
namespace {

// An equation of scalar literals is a number: computed here, once, it is a literal of both halves.
bool is_number(const Request& r) {
  if (r.primitive.facts.effects || r.primitive.facts.flops_per_element == 0 || r.inputs.empty()) return false;
  return r.primitive.facts.elementwise &&
         std::all_of(r.inputs.begin(), r.inputs.end(), [](const Array& x) { return x.value()->literal; });
}
Arrays fold(const Request& r) {
  Arrays out = evaluate_now(r);
  for (Array& y : out) {
    ir::Literal l{type_of(y).dtype, 0};
    std::memcpy(&l.bits, y.value()->data(), size_of(l.dtype));
    y = make_literal(l);
  }
  return out;
}

}  // namespace

SplitTrace::SplitTrace(Trace* parent, std::shared_ptr<StagingTrace> staged, std::optional<Policy> policy,
                       std::string_view what)
    : parent_(parent), staged_(std::move(staged)), policy_(std::move(policy)), what_(what) {
  concrete_values = true;
}

Array SplitTrace::both(const Array& known, const Array& staged, bool costs_nothing) {
  Array x = traced_value(shared_from_this(), type_of(known));
  mutable_value(x).first = known;
  mutable_value(x).second = staged;
  mutable_value(x).var = costs_nothing ? 0 : -1;
  return x;
}

// What shows only numbers, inputs that are there anyway, or other such values: nobody should keep it.
bool SplitTrace::costs_nothing(const Request& r) const {
  if (r.primitive.run || r.primitive.facts.effects) return false;
  const bool shows = r.primitive.facts.shows_operand;
  if (r.primitive.facts.flops_per_element != 0 && !shows) return false;
  return std::all_of(r.inputs.begin(), r.inputs.end(), [&](const Array& x) {
    return x.value()->literal || (shows && x.value()->trace.get() == this && x.value()->var == 0);
  });
}

void SplitTrace::give_reason(const Array& x, const std::string& reason) { reasons_.emplace(x.value(), reason); }

Arrays SplitTrace::offloaded(const Arrays& known, const Location& at) {
  Arrays out;
  for (const Array& y : known) {
    const Array away = bind_under(parent_, device_put_row(), device_put_params(true), std::span(&y, 1), at)[0];
    const Array back =
        bind_under(staged_.get(), device_put_row(), device_put_params(false), std::span(&away, 1), at)[0];
    out.push_back(both(y, back));
  }
  return out;
}

Arrays SplitTrace::process(const Request& r) {
  bool any_unknown = r.primitive.facts.transpose_only;
  for (const Array& x : r.inputs) any_unknown = any_unknown || unknown(x);
  if (r.primitive.split && (any_unknown || policy_)) return r.primitive.split({*this, r.params, r.inputs, r.at});

  // A row without a split rule is opaque (first-order rows, functions with custom rules): staged whole or run whole.
  Arrays operands;
  if (any_unknown) {
    for (const Array& x : r.inputs) operands.push_back(staged(x));
    return bind_under(staged_.get(), r.primitive, r.params, operands, r.at);
  }
  for (const Array& x : r.inputs) operands.push_back(known(x));
  if (is_number(r)) return fold(r);
  Arrays out = bind_under(parent_, r.primitive, r.params, operands, r.at);
  const bool free = costs_nothing(r);
  if (policy_) {
    Types in_types, out_types;
    for (const Array& x : r.inputs) in_types.push_back(type_of(x));
    for (const Array& y : out) out_types.push_back(type_of(y));
    const bool shows = free && r.primitive.facts.shows_operand;
    const Save verdict = shows ? Save::recompute : ask(*policy_, r.primitive, r.params, in_types, out_types);
    if (verdict == Save::offload) return offloaded(out, r.at);
    if (verdict == Save::save) {
      // What the policy would not let be kept is not kept in place of what it lets.
      if (!r.inputs.empty() && r.primitive.facts.shows_operand && instantiated(r.inputs[0]))
        for (Array& y : out) y = without_source(y);
      return out;
    }
  } else if (!free) {
    return out;
  }
  operands.clear();
  for (const Array& x : r.inputs) operands.push_back(staged(x));
  Arrays again = bind_under(staged_.get(), r.primitive, r.params, operands, r.at);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = both(out[i], again[i], free);
  return out;
}

Save ask(const Policy& policy, const Primitive& p, const ParamsRef& params, std::span<const Type> in,
         std::span<const Type> out) {
  // The kinds that look at nothing are answered without describing the equation.
  if (policy.kind() == Policy::Kind::everything) return Save::save;
  if (policy.kind() == Policy::Kind::nothing) return Save::recompute;
  const ir::Facts& facts = p.facts;
  const std::string text = ir::str(*params);
  return policy({.primitive = p.name,
                 .name = facts.name ? std::string_view(facts.name(*params)) : "",
                 .input_types = in,
                 .params = text,
                 .output_types = out,
                 .batched_dot = facts.batched_dot && facts.batched_dot(*params),
                 .dot = facts.batched_dot != nullptr});
}

Split split(const ir::Program& p, const std::vector<bool>& unknown, const SplitOptions& options) {
  auto known_trace = std::make_shared<StagingTrace>("split");
  auto staged_trace = std::make_shared<StagingTrace>("split");
  auto trace = std::make_shared<SplitTrace>(known_trace.get(), staged_trace, options.policy, "split");
  TraceLife a(known_trace), b(staged_trace), c(trace);

  Arrays in;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    const Type& type = p.type(p.inputs[i]);
    Array s = staged_trace->add_input(type);  // inputs that nobody reads go away below
    if (unknown[i]) {
      in.push_back(s);
      continue;
    }
    Array k = known_trace->add_input(type);
    in.push_back(options.policy ? trace->both(k, s, true) : k);
  }
  Arrays out;
  {
    SourceScope sources;
    TraceScope scope(trace.get());
    out = evaluate(p, in);
  }

  Split result;
  Arrays known_outputs, staged_outputs;
  for (std::size_t i = 0; i < out.size(); ++i) {
    bool is_unknown = trace->unknown(out[i]);
    bool force = i < options.force.size() && options.force[i];
    result.unknown_outputs.push_back(is_unknown);
    if (!is_unknown) known_outputs.push_back(trace->known(out[i]));
    if (is_unknown || force || (options.all_instantiated && trace->instantiated(out[i]))) {
      result.staged_outputs.push_back(static_cast<int>(i));
      staged_outputs.push_back(trace->staged(out[i]));
    }
  }
  ir::Program staged = staged_trace->finish(staged_outputs);
  Arrays residuals = staged_trace->constants();
  ir::Dce d = ir::eliminate_dead_code(staged, std::vector<bool>(staged_outputs.size(), true));
  Arrays kept;
  for (std::size_t i = 0; i < residuals.size(); ++i)
    if (d.used_inputs[i]) kept.push_back(residuals[i]);
  for (std::size_t i = residuals.size(); i < d.used_inputs.size(); ++i)
    if (d.used_inputs[i]) result.staged_inputs.push_back(static_cast<int>(i - residuals.size()));
  result.staged = std::move(d.program);
  std::vector<ir::Var>& staged_in = result.staged.inputs;
  std::vector<ir::Var> vars(staged_in.begin(), staged_in.begin() + static_cast<std::ptrdiff_t>(kept.size()));
  staged_in.erase(staged_in.begin(), staged_in.begin() + static_cast<std::ptrdiff_t>(kept.size()));
  keep_sources(result.staged, vars, kept);
  staged_in.insert(staged_in.begin(), vars.begin(), vars.end());
  result.residuals = static_cast<int>(kept.size());
  result.staged.constants = 0;

  known_outputs.insert(known_outputs.end(), kept.begin(), kept.end());
  ir::Program known = known_trace->finish(known_outputs);
  result.known = ir::eliminate_dead_code(known, std::vector<bool>(known_outputs.size(), true), true).program;
  return result;
}

namespace {

struct SplitKey {
  std::vector<bool> unknown;
  SplitOptions options;
  friend bool operator==(const SplitKey&, const SplitKey&) = default;
};

}  // namespace

Split split(const ir::ProgramRef& p, const std::vector<bool>& unknown, const SplitOptions& options) {
  return *p->memo.get(SplitKey{unknown, options}, [&] { return split(*p, unknown, options); });
}

}  // namespace anew
