// The backward pass.
#include "transforms/transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ops/known_rows.h"
#include "trace/donation.h"

namespace anew {

Array add_cotangents(const Array& so_far, const Array& more, const Location& at) {
  if (!so_far.value()) return more;
  if (!more.value()) return so_far;
  return bind1(add_any_row(), {}, {so_far, more}, at);
}

namespace {

std::size_t index(ir::Var v) { return static_cast<std::size_t>(v); }

// Whether an earlier operand is the same variable: two carries of a loop may start from one value.
bool repeats(const ir::Eqn& e, std::size_t k) {
  auto end = e.inputs.begin() + static_cast<std::ptrdiff_t>(k);
  return std::find(e.inputs.begin(), end, e.inputs[k]) != end;
}

class BackwardPass {
 public:
  BackwardPass(const ir::Program& p, const std::vector<bool>& linear)
      : p_(p),
        linear_(p.types.size()),
        maker_(p.types.size(), -1),
        first_use_(p.types.size(), p.eqns.size()),
        values_(p.types.size()),
        cts_(p.types.size()) {
    for (std::size_t i = 0; i < p.inputs.size(); ++i) linear_[index(p.inputs[i])] = linear[i];
    for (std::size_t i = 0; i < p.eqns.size(); ++i) {
      bool any = p.eqns[i].primitive->facts.transpose_only;
      for (const ir::Atom& a : p.eqns[i].inputs) {
        if (!a.is_var()) continue;
        any = any || linear_[index(a.var)];
        first_use_[index(a.var)] = std::min(first_use_[index(a.var)], i);
      }
      for (ir::Var v : p.eqns[i].outputs) {
        linear_[index(v)] = any;
        if (!any) maker_[index(v)] = static_cast<int>(i);
      }
    }
  }

  // What is known: values of the inputs that are not linear, cotangents of the others and of the outputs.
  void start(Arrays x, std::span<const Array> ct, Arrays accumulated) {
    for (std::size_t i = 0; i < p_.inputs.size(); ++i) {
      if (linear_[index(p_.inputs[i])]) cts_[index(p_.inputs[i])] = std::move(accumulated[i]);
      else values_[index(p_.inputs[i])] = std::move(x[i]);
    }
    for (std::size_t i = 0; i < p_.outputs.size(); ++i)
      if (is_linear(p_.outputs[i])) {
        Array& c = cts_[index(p_.outputs[i].var)];
        c = add_cotangents(c, ct[i], Location::current());
      }
  }

  Arrays run() {
    for (std::size_t i = p_.eqns.size(); i-- > 0;) {
      const ir::Eqn& e = p_.eqns[i];
      if (e.outputs.empty() || !linear_[index(e.outputs[0])]) continue;
      transpose(i);
      release(i);
    }
    Arrays result;
    for (ir::Var v : p_.inputs) result.push_back(linear_[index(v)] ? cts_[index(v)] : Array());
    return result;
  }

 private:
  bool is_linear(const ir::Atom& a) const { return a.is_var() && linear_[index(a.var)]; }

  // Values that no earlier equation reads.
  void release(std::size_t i) {
    for (const ir::Atom& a : p_.eqns[i].inputs)
      if (a.is_var() && first_use_[index(a.var)] == i) values_[index(a.var)] = {};
  }

  // Values that are not linear: inputs, and constants made in the program, when they are first asked for.
  Array read(const ir::Atom& a) {
    if (!a.is_var()) return make_literal(a.literal);
    Array& v = values_[index(a.var)];
    if (v.value() || maker_[index(a.var)] < 0) return v;
    const ir::Eqn& e = p_.eqns[static_cast<std::size_t>(maker_[index(a.var)])];
    Arrays operands;
    for (const ir::Atom& x : e.inputs) operands.push_back(read(x));
    RuleScope rule(e.rule_of, e.at, e.mark);
    Arrays made = anew::bind(*e.primitive, e.params, operands, e.at);
    for (std::size_t k = 0; k < made.size(); ++k) values_[index(e.outputs[k])] = made[k];
    return v;
  }

  // What derives from rows is linear; what a user's rule does with tangents may be anything.
  void check_linear(const ir::Eqn& e) const {
    const ir::Facts& f = e.primitive->facts;
    bool linear = e.primitive->transpose && !(f.quotient && in_linear_[1]);
    if (f.product) linear = linear && std::count(in_linear_.begin(), in_linear_.end(), true) < 2;
    if (linear) return;
    std::string of;
    for (const Type& t : types_) of += (of.empty() ? "" : ", ") + t.str();
    throw Error(fmt::format("[{}] a derivative is not linear in its tangents: {} of them, of {}", e.primitive->name,
                            f.product ? "a product" : "a function", of),
                e.at,
                "the rule given to custom_jvp must be linear in the tangents: sums, and products with known values");
  }

  void transpose(std::size_t i) {
    const ir::Eqn& e = p_.eqns[i];
    bool any = false;
    ct_.clear();
    for (ir::Var v : e.outputs) {
      ct_.push_back(std::move(cts_[index(v)]));
      any = any || ct_.back().value();
    }
    if (!any || std::none_of(e.inputs.begin(), e.inputs.end(), [&](const ir::Atom& a) { return is_linear(a); }))
      return;  // the cotangents go nowhere
    types_.clear(), in_linear_.clear();
    for (const ir::Atom& a : e.inputs) {
      const bool linear = is_linear(a);
      in_linear_.push_back(linear);
      types_.push_back(p_.type(a));
      x_.push_back(linear ? Array() : read(a));
      accumulated_.push_back(linear && !repeats(e, accumulated_.size()) ? cts_[index(a.var)] : Array());
    }
    release(i);  // x_ has the last handles
    RuleScope rule(e.rule_of, e.at, {e.mark.region, e.mark.operation, true});
    if (!e.primitive->higher_order()) check_linear(e);
    if (!e.primitive->transpose) ir::missing_rule(*e.primitive, "transpose", e.at);
    std::optional<Donation> donation;
    if (e.primitive->higher_order()) donation.emplace(x_);
    add(e, e.primitive->transpose({e.params, ct_, x_, types_, in_linear_, accumulated_, e.at}));
    x_.clear(), accumulated_.clear();
  }

  // What a row's transpose gave for the operands of e.
  void add(const ir::Eqn& e, const Arrays& given) {
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (!in_linear_[k]) continue;
      Array& c = cts_[index(e.inputs[k].var)];
      if (given[k].value() && !(type_of(given[k]) == types_[k]))
        throw InternalError(fmt::format("[{}] transpose gave a cotangent {} for an input {}", e.primitive->name,
                                        type_of(given[k]).str(), types_[k].str()));
      const bool whole = e.primitive->higher_order() && !repeats(e, k);  // c is part of it
      c = whole ? given[k] : add_cotangents(c, given[k], e.at);
    }
  }

  const ir::Program& p_;
  // By variable.
  std::vector<bool> linear_;
  std::vector<int> maker_;  // the equation of a value that is not linear (a constant made here)
  std::vector<std::size_t> first_use_;
  Arrays values_, cts_;
  // Of the equation at hand.
  Arrays ct_, x_, accumulated_;
  Types types_;
  std::vector<bool> in_linear_;
};

}  // namespace

Arrays backward_pass(const ir::Program& p, Arrays x, const std::vector<bool>& linear, std::span<const Array> ct,
                     Arrays accumulated) {
  BackwardPass pass(p, linear);
  pass.start(std::move(x), ct, std::move(accumulated));
  return pass.run();
}

}  // namespace anew
