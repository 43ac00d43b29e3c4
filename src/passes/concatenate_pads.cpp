// A sum of pads with zeros, none of which reaches into another, is a concatenation of what they pad: each element was
// made by one of them and added to zeros by the others. So the cotangents of the parts of an array (gates that were
// split, x[0], x[1], ... of a loop that was unrolled) are written where they belong, in place of as many arrays of the
// size of the whole. Bits stay: zeros that are added to each element make of -0.0 what they made of it before, and a
// last addend that is no pad is added to the same elements. Pads that nobody reads any more are left to dead code.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/dtype.h"
#include "ops/view_params.h"
#include "passes/named_rows.h"
#include "passes/passes.h"

namespace anew::passes {
namespace {

class Concatenator {
 public:
  explicit Concatenator(ir::Program& p)
      : p_(p),
        readers_(p.types.size()),
        makers_(p.types.size(), -1),
        holds_pads_(p.types.size()),
        gone_(p.eqns.size()),
        looks_(1000 + 32 * p.eqns.size()) {
    for (std::size_t i = 0; i < p.eqns.size(); ++i) {
      const ir::Eqn& e = p.eqns[i];
      for (const ir::Atom& a : e.inputs) count(a);
      for (ir::Var v : e.outputs) makers_[index(v)] = static_cast<int>(i);
      if (is_pad(e)) holds_pads_[index(e.outputs[0])] = true;
      else if (is_sum(e))
        holds_pads_[index(e.outputs[0])] = std::any_of(e.inputs.begin(), e.inputs.end(), [&](const ir::Atom& a) {
          return a.is_var() && holds_pads_[index(a.var)];
        });
    }
    for (const ir::Atom& a : p.outputs) count(a);
    instead_.resize(p.eqns.size());
  }

  // From the last sum to the first: the largest come before their parts.
  bool run() {
    for (std::size_t i = p_.eqns.size(); i-- > 0 && looks_ > 0;)
      if (!gone_[i] && is_sum(p_.eqns[i])) join(i);
    if (!changed_) return false;
    std::vector<ir::Eqn> old = std::move(p_.eqns);
    p_.eqns.clear();
    for (std::size_t i = 0; i < old.size(); ++i) {
      for (ir::Eqn& e : instead_[i]) p_.eqns.push_back(std::move(e));
      if (!gone_[i]) p_.eqns.push_back(std::move(old[i]));
    }
    return true;
  }

 private:
  struct Part {
    std::int64_t begin, end;  // along the axis
    ir::Atom what;
  };
  struct Sum {
    std::vector<int> sums, pads;  // equations
    std::vector<ir::Atom> others;
  };

  static std::size_t index(ir::Var v) { return static_cast<std::size_t>(v); }
  void count(const ir::Atom& a) {
    if (a.is_var()) ++readers_[index(a.var)];
  }
  bool is_sum(const ir::Eqn& e) const {
    if (e.primitive != &named_rows().add && e.primitive != &named_rows().add_any) return false;
    const ir::Type& out = p_.types[index(e.outputs[0])];
    return out.shape.ndim() > 0 && out.dtype != bool_ &&
           std::all_of(e.inputs.begin(), e.inputs.end(),
                       [&](const ir::Atom& a) { return a.is_var() && p_.types[index(a.var)] == out; });
  }
  static bool is_pad(const ir::Eqn& e) { return e.primitive == &named_rows().pad && !e.inputs[1].is_var(); }

  // The equation of the pad that x is, or of the sum, if nothing else reads that; else -1.
  int inside(const ir::Atom& x) const {
    if (!x.is_var() || !holds_pads_[index(x.var)]) return -1;
    const int maker = makers_[index(x.var)];
    return readers_[index(x.var)] == 1 || is_pad(p_.eqns[maker]) ? maker : -1;
  }
  // All that e adds up; false where two of these are no pads.
  bool collect(int e, Sum& sum) {
    std::vector<int> open{e};
    while (!open.empty() && looks_ > 0) {
      --looks_;
      const int i = open.back();
      open.pop_back();
      if (is_pad(p_.eqns[i])) {
        sum.pads.push_back(i);
        continue;
      }
      sum.sums.push_back(i);
      for (const ir::Atom& a : p_.eqns[i].inputs) {
        if (const int maker = inside(a); maker >= 0) open.push_back(maker);
        else sum.others.push_back(a);
      }
      if (sum.others.size() > 1) return false;
    }
    return open.empty() && sum.pads.size() > 1;
  }

  // The only axis along which these pads differ from what they pad.
  std::optional<int> axis_of(const Sum& sum) const {
    std::optional<int> axis;
    for (int i : sum.pads) {
      const auto& config = p_.eqns[i].params->as<PadParams>().padding_config;
      for (int d = 0; d < std::ssize(config); ++d) {
        const auto& [before, after, between] = config[d];
        if (before < 0 || after < 0 || between != 0) return {};
        if (before + after == 0) continue;
        if (axis.value_or(d) != d) return {};
        axis = d;
      }
    }
    return axis;
  }

  void join(std::size_t i) {
    Sum sum;
    if (!collect(static_cast<int>(i), sum)) return;
    const ir::Eqn root = p_.eqns[i];
    const ir::Type whole = p_.types[index(root.outputs[0])];
    const std::optional<int> axis = axis_of(sum);
    if (!axis) return;
    const ir::Literal zero = p_.eqns[sum.pads[0]].inputs[1].literal;
    if (zero.as_double() != 0) return;
    std::vector<Part> parts;
    for (int k : sum.pads) {
      const ir::Eqn& e = p_.eqns[k];
      if (!(e.inputs[1].literal == zero)) return;
      const auto [begin, after, between] = e.params->as<PadParams>().padding_config[*axis];
      parts.push_back({begin, begin + p_.type(e.inputs[0]).shape[*axis], e.inputs[0]});
    }
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
    for (std::size_t k = 1; k < parts.size(); ++k)
      if (parts[k].begin < parts[k - 1].end) return;
    std::vector<ir::Eqn>& made = instead_[i];
    const auto add = [&](const ir::Primitive& row, ir::ParamsRef params, std::vector<ir::Atom> in,
                         const ir::Type& type) {
      p_.types.push_back(type);
      const auto out = static_cast<ir::Var>(p_.types.size()) - 1;
      made.push_back({&row, std::move(params), std::move(in), {out}, root.at, root.rule_of, root.mark});
      return ir::Atom(out);
    };
    const NamedRows& rows = named_rows();
    std::vector<ir::Atom> all;
    std::int64_t at = 0;
    const auto fill = [&](std::int64_t to) {
      if (at == to) return;
      ir::Type gap = whole;
      gap.shape[*axis] = to - at;
      all.push_back(
          add(rows.broadcast_in_dim, std::make_shared<BroadcastParams>(std::vector<int>(), gap.shape), {zero}, gap));
    };
    const bool adds_nothing = !is_float(zero.dtype) || std::signbit(zero.as_double());
    for (const Part& part : parts) {
      fill(part.begin);
      const ir::Type type = p_.type(part.what);
      all.push_back(adds_nothing ? part.what : add(*root.primitive, root.params, {part.what, zero}, type));
      at = part.end;
    }
    fill(whole.shape[*axis]);
    ir::Atom y = add(rows.concatenate, std::make_shared<ConcatenateParams>(*axis), std::move(all), whole);
    if (!sum.others.empty()) y = add(*root.primitive, root.params, {sum.others[0], y}, whole);
    made.back().outputs = root.outputs;
    for (int k : sum.sums) gone_[k] = true;
    changed_ = true;
  }

  ir::Program& p_;
  std::vector<int> readers_, makers_;          // by variable: how often it is read; the equation that makes it
  std::vector<bool> holds_pads_;               // by variable: a pad, or a sum with one
  std::vector<bool> gone_;                     // by equation
  std::vector<std::vector<ir::Eqn>> instead_;  // by equation: what stands there now
  std::size_t looks_;                          // at equations, before it is given up
  bool changed_ = false;
};

}  // namespace

ir::Program concatenate_pads(const ir::Program& p) {
  return rewrite(p, [](ir::Program& q) { return Concatenator(q).run(); });
}

}  // namespace anew::passes
