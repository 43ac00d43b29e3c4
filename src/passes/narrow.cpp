// Slices move up to what they cut: an elementwise equation that only a slice reads is computed for that slice, and a
// pad that only a slice reads pads less. So the cotangents of neighbours in a stencil, which are padded, added up and
// cut again, are added where they are needed and fit one kernel. A transpose of what is made of products alone moves up
// to these, which write their results in any order: so two products of a second derivative are added in place. Every
// element that is left is made by the same operations. Invariant: nothing is computed twice, as what moves has one
// reader.
#include <algorithm>
#include <optional>

#include "ops/view_params.h"
#include "passes/named_rows.h"
#include "passes/passes.h"

namespace anew::passes {
namespace {

class Narrower {
 public:
  explicit Narrower(ir::Program& p) : p_(p), readers_(p.types.size()), makers_(p.types.size(), -1) {
    for (std::size_t i = 0; i < p.eqns.size(); ++i) {
      for (const ir::Atom& a : p.eqns[i].inputs) count(a);
      for (ir::Var v : p.eqns[i].outputs) makers_[index(v)] = static_cast<int>(i);
    }
    for (const ir::Atom& a : p.outputs) count(a);
    wanted_.resize(p.eqns.size());
  }

  // From the last equation to the first: a view meets what it shows.
  bool run() {
    for (std::size_t i = p_.eqns.size(); i-- > 0;) {
      ir::Eqn& e = p_.eqns[i];
      if (wanted_[i]) narrow(e, *wanted_[i]);
      else if (!moves(e) || !move_up(e.inputs[0], {e.primitive, e.params, e.outputs[0], e.at, e.rule_of}))
        kept_.push_back(std::move(e));
    }
    std::reverse(kept_.begin(), kept_.end());
    p_.eqns = std::move(kept_);
    return changed_;
  }

 private:
  struct View {  // a slice or a transpose
    const ir::Primitive* primitive;
    ir::ParamsRef params;
    ir::Var out;
    Location at;
    const ir::Primitive* rule_of;
  };

  static std::size_t index(ir::Var v) { return static_cast<std::size_t>(v); }
  void count(const ir::Atom& a) {
    if (a.is_var()) ++readers_[index(a.var)];
  }

  // The equation that makes x, if nothing else reads it; else -1.
  int maker_of(const ir::Atom& x) const {
    return x.is_var() && readers_[index(x.var)] == 1 ? makers_[index(x.var)] : -1;
  }
  static bool is_each(const ir::Eqn& e) {
    return e.primitive->facts.elementwise && e.outputs.size() == 1 && !e.primitive->facts.effects;
  }
  // Whether x is made of products and nothing else of its size.
  bool of_products(const ir::Atom& x) const {
    const int maker = maker_of(x);
    if (maker < 0) return false;
    const ir::Eqn& e = p_.eqns[maker];
    if (e.primitive->facts.batched_dot) return true;
    return is_each(e) && std::all_of(e.inputs.begin(), e.inputs.end(), [&](const ir::Atom& a) {
             return !a.is_var() || p_.type(a).shape.ndim() == 0 || of_products(a);
           });
  }
  bool moves(const ir::Eqn& e) const {
    return e.primitive == &named_rows().slice || (e.primitive == &named_rows().transpose && of_products(e.inputs[0]));
  }

  // Whether the view has gone into the equation that makes x.
  bool move_up(const ir::Atom& x, const View& s) {
    const int maker = maker_of(x);
    if (maker < 0) return false;
    const ir::Eqn& e = p_.eqns[maker];
    const bool pads =
        e.primitive == &named_rows().pad && s.primitive == &named_rows().slice && !s.params->as<SliceParams>().strides;
    if (!pads && !is_each(e)) return false;
    wanted_[maker] = s;
    return changed_ = true;
  }

  // e for what s shows of its result. What its operands need comes before it, so later here.
  void narrow(ir::Eqn& e, const View& s) {
    const Shape whole = p_.type(e.outputs[0]).shape;
    e.outputs = {s.out};
    if (e.primitive == &named_rows().pad) return narrow_pad(e, s, whole);
    std::vector<std::pair<ir::Atom, View>> parts;
    for (ir::Atom& a : e.inputs) {
      if (!a.is_var() || p_.type(a).shape != whole || whole.ndim() == 0) continue;
      auto known = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == a; });
      if (known == parts.end()) {
        const ir::Type cut{p_.type(s.out).shape, p_.type(a).dtype};
        p_.types.push_back(cut);
        parts.emplace_back(a, View{s.primitive, s.params, static_cast<ir::Var>(p_.types.size()) - 1, s.at, s.rule_of});
        known = std::prev(parts.end());
      }
      a = ir::Atom(known->second.out);
    }
    kept_.push_back(std::move(e));
    for (const auto& [x, part] : parts) cut(x, part);
  }

  void cut(const ir::Atom& x, const View& s) {
    if (move_up(x, s)) return;
    kept_.push_back({s.primitive, s.params, {x}, {s.out}, s.at, s.rule_of});
  }

  // Where the slice takes all of the padding and some of the operand, it cuts the operand.
  void narrow_pad(ir::Eqn& e, const View& s, const Shape& whole) {
    std::vector<lax::Padding> config = e.params->as<PadParams>().padding_config;
    const auto& c = s.params->as<SliceParams>();
    const ir::Type in = p_.type(e.inputs[0]);
    Shape start, limit;
    for (int i = 0; i < whole.ndim(); ++i) {
      auto& [before, after, between] = config[i];
      before -= c.start_indices[i];
      after -= whole[i] - c.limit_indices[i];
      const std::int64_t first = std::max<std::int64_t>(0, -before),
                         last = in.shape[i] + std::min<std::int64_t>(0, after);
      const bool some = between == 0 && first < last;  // else paddings may be negative
      start.push_back(some ? first : 0);
      limit.push_back(some ? last : in.shape[i]);
      if (some) before = std::max<std::int64_t>(0, before), after = std::max<std::int64_t>(0, after);
    }
    e.params = std::make_shared<PadParams>(std::move(config));
    Shape cut_shape;
    for (int i = 0; i < whole.ndim(); ++i) cut_shape.push_back(limit[i] - start[i]);
    const ir::Atom x = e.inputs[0];
    if (cut_shape == in.shape) return kept_.push_back(std::move(e));
    p_.types.push_back({cut_shape, in.dtype});
    const auto part = static_cast<ir::Var>(p_.types.size()) - 1;
    e.inputs[0] = ir::Atom(part);
    kept_.push_back(std::move(e));
    cut(x, {s.primitive, std::make_shared<SliceParams>(start, limit), part, s.at, s.rule_of});
  }

  ir::Program& p_;
  std::vector<int> readers_, makers_;        // by variable: how often it is read; the equation that makes it
  std::vector<std::optional<View>> wanted_;  // by equation: all that is read of it
  std::vector<ir::Eqn> kept_;                // the last first
  bool changed_ = false;
};

}  // namespace

ir::Program narrow(const ir::Program& p) {
  return rewrite(p, [](ir::Program& q) { return Narrower(q).run(); });
}

}  // namespace anew::passes
