// Identities that keep every bit: x * 1, x / 1, x - 0, x + -0.0, -(-x), conversions there and back, selects of equal
// cases, views that change nothing, chains of views that one row can say, reductions of single elements, broadcasts of
// scalars under elementwise rows (which take scalars as they are). Never x + 0.0 (-0.0 becomes 0.0), x * 0 (nan) or a /
// b -> a * (1 / b). An equation is looked at once, after its operands: once is enough. What is no longer read is left
// to dead code.
#include <cmath>

#include "base/dtype.h"
#include "control/higher_order.h"
#include "ops/view_params.h"
#include "passes/named_rows.h"
#include "passes/passes.h"
#include "passes/view_map.h"

namespace anew::passes {

static const ir::Primitive& row(std::string_view name) {
  const ir::Primitive* p = find_row(name);
  if (!p) throw InternalError("[passes] there is no row " + std::string(name));
  return *p;
}

NamedRows::NamedRows()
    : add(row("add")),
      add_any(row("add_any")),
      sub(row("sub")),
      mul(row("mul")),
      div(row("div")),
      neg(row("neg")),
      not_(row("not")),
      convert_element_type(row("convert_element_type")),
      select_n(row("select_n")),
      broadcast_in_dim(row("broadcast_in_dim")),
      reshape(row("reshape")),
      transpose(row("transpose")),
      slice(row("slice")),
      pad(row("pad")),
      concatenate(row("concatenate")),
      reductions{&row("reduce_sum"), &row("reduce_prod"), &row("reduce_max"), &row("reduce_min")} {}

const NamedRows& named_rows() {
  static const NamedRows& rows = *new NamedRows;
  return rows;
}

namespace {

bool is_one(const ir::Literal& l) { return l.as_double() == 1; }
bool is_zero(const ir::Literal& l, bool negative) {  // of integers there is one zero
  return l.as_double() == 0 && (!is_float(l.dtype) || std::signbit(l.as_double()) == negative);
}

// Whether every value of `from`, converted to `to` and back, is itself.
bool holds_exactly(DType from, DType to) {
  if (from == bool_) return true;
  if (is_float(from)) return is_float(to) && size_of(to) > size_of(from);
  const int bits = static_cast<int>(8 * size_of(from));
  if (is_float(to)) return (to == f64 && bits <= 32) || (to == f32 && bits <= 16);
  return size_of(to) > size_of(from) && (is_signed(to) || !is_signed(from));
}

class Simplifier {
 public:
  explicit Simplifier(ir::Program& p, bool names_stay)
      : p_(p), names_stay_(names_stay), instead_(p.types.size()), maps_(p.types.size()), makers_(p.types.size(), -1) {}

  bool run() {
    std::vector<ir::Eqn> old = std::move(p_.eqns);
    kept_.reserve(old.size());
    for (ir::Eqn& e : old) {
      for (ir::Atom& a : e.inputs) replace(a);
      if (std::optional<ir::Atom> same =
              e.primitive->higher_order() || e.primitive->facts.effects ? std::nullopt : equal_atom(e)) {
        instead_[index(e.outputs[0])] = same;
        changed_ = true;
        continue;
      }
      keep(std::move(e));
    }
    for (ir::Atom& a : p_.outputs) replace(a);
    p_.eqns = std::move(kept_);
    return changed_;
  }

 private:
  static std::size_t index(ir::Var v) { return static_cast<std::size_t>(v); }
  void replace(ir::Atom& a) const {
    if (a.is_var() && instead_[index(a.var)]) a = *instead_[index(a.var)];
  }

  void keep(ir::Eqn e) {
    for (ir::Var v : e.outputs) makers_[index(v)] = static_cast<int>(kept_.size());
    kept_.push_back(std::move(e));
  }

  // What the only output of e is, if it is something that exists already. May rewrite e in place.
  std::optional<ir::Atom> equal_atom(ir::Eqn& e) {
    if (e.outputs.size() != 1 || (names_stay_ && e.primitive->facts.name)) return {};
    const ir::Type out = p_.type(e.outputs[0]);
    if (reduces_single_elements(e, out))
      look_instead(e, named_rows().reshape, std::make_shared<ReshapeParams>(out.shape));
    if (e.primitive->view) return equal_view(e, out);
    std::optional<ir::Atom> same = equal_operand(e);
    if (same && p_.type(*same) == out) return same;
    if (!e.primitive->facts.elementwise || out.shape.ndim() == 0) return {};
    take_scalars(e, out);
    if (std::all_of(e.inputs.begin(), e.inputs.end(), [&](const ir::Atom& a) { return scalar_of(a).has_value(); }))
      return compute_once(e, out);
    return {};
  }

  void look_instead(ir::Eqn& e, const ir::Primitive& row, ir::ParamsRef params) {
    e.primitive = &row;
    e.params = std::move(params);
    changed_ = true;
  }
  bool reduces_single_elements(const ir::Eqn& e, const ir::Type& out) const {
    const auto& rows = named_rows().reductions;
    return std::find(rows.begin(), rows.end(), e.primitive) != rows.end() &&
           p_.type(e.inputs[0]).shape.size() == out.shape.size();
  }

  // ---- views
  ViewMap map_of(const ir::Atom& a) const {
    if (a.is_var() && maps_[index(a.var)]) return *maps_[index(a.var)];
    return root_map(a, p_.type(a));
  }

  std::optional<ir::Atom> equal_view(ir::Eqn& e, const ir::Type& out) {
    std::optional<ViewMap> map = looked_through(map_of(e.inputs[0]), e, p_.type(e.inputs[0]), out);
    if (!map) return {};
    if (is_identity(*map, out)) return map->root;
    maps_[index(e.outputs[0])] = map;
    if (e.inputs[0] == map->root) return {};
    if (std::optional<OneView> one = as_one_view(*map, out)) {
      look_instead(e, *one->primitive, one->params);
      e.inputs[0] = map->root;
    }
    return {};
  }

  // ---- scalars behind broadcasts
  std::optional<ir::Atom> scalar_of(const ir::Atom& a) const {
    if (!a.is_var() || p_.type(a).shape.ndim() == 0) return a;
    const std::optional<ViewMap>& map = maps_[index(a.var)];
    return map && map->type.shape.ndim() == 0 ? std::optional(map->root) : std::nullopt;
  }
  std::optional<ir::Literal> constant_of(const ir::Atom& a) const {
    std::optional<ir::Atom> scalar = scalar_of(a);
    return scalar && !scalar->is_var() ? std::optional(scalar->literal) : std::nullopt;
  }

  // One operand keeps the shape of the result.
  void take_scalars(ir::Eqn& e, const ir::Type& out) {
    int full = 0;
    for (const ir::Atom& a : e.inputs) full += p_.type(a).shape == out.shape;
    for (ir::Atom& a : e.inputs) {
      if (full < 2) return;
      std::optional<ir::Atom> scalar = scalar_of(a);
      if (!scalar || p_.type(a).shape != out.shape) continue;
      a = *scalar;
      --full;
      changed_ = true;
    }
  }

  // All operands are the same everywhere: the result is a scalar, broadcast.
  std::optional<ir::Atom> compute_once(ir::Eqn& e, const ir::Type& out) {
    ir::Eqn scalar{e.primitive, e.params, {}, {static_cast<ir::Var>(p_.types.size())}, e.at, e.rule_of, e.mark};
    for (const ir::Atom& a : e.inputs) scalar.inputs.push_back(*scalar_of(a));
    p_.types.push_back({{}, out.dtype});
    instead_.emplace_back();
    maps_.emplace_back();
    makers_.push_back(-1);
    std::optional<ir::Atom> known = equal_atom(scalar);
    e.inputs = {known ? *known : ir::Atom(scalar.outputs[0])};
    if (!known) keep(std::move(scalar));
    look_instead(e, named_rows().broadcast_in_dim, std::make_shared<BroadcastParams>(std::vector<int>(), out.shape));
    return equal_view(e, out);
  }

  // ---- rows known by name
  const ir::Eqn* maker(const ir::Atom& a, const ir::Primitive& row) const {
    if (!a.is_var() || makers_[index(a.var)] < 0) return nullptr;
    const ir::Eqn& e = kept_[makers_[index(a.var)]];
    return e.primitive == &row ? &e : nullptr;
  }

  // The operand (of this equation, or of one it undoes) that the result is equal to, were it of the same shape.
  std::optional<ir::Atom> equal_operand(const ir::Eqn& e) const {
    const NamedRows& rows = named_rows();
    const ir::Primitive* row = e.primitive;
    const std::vector<ir::Atom>& x = e.inputs;
    auto constant = [&](std::size_t i, auto is) {
      std::optional<ir::Literal> l = constant_of(x[i]);
      return l && is(*l);
    };
    auto plus_zero = [](const ir::Literal& l) { return is_zero(l, false); };
    auto minus_zero = [](const ir::Literal& l) { return is_zero(l, true); };
    if (row == &rows.mul) {
      if (constant(1, is_one)) return x[0];
      if (constant(0, is_one)) return x[1];
    } else if (row == &rows.div) {
      if (constant(1, is_one)) return x[0];
    } else if (row == &rows.sub) {
      if (constant(1, plus_zero)) return x[0];
    } else if (row == &rows.add || row == &rows.add_any) {
      if (constant(1, minus_zero)) return x[0];
      if (constant(0, minus_zero)) return x[1];
    } else if (row == &rows.neg || row == &rows.not_) {
      if (const ir::Eqn* inner = maker(x[0], *row)) return inner->inputs[0];
    } else if (row == &rows.convert_element_type) {
      return equal_conversion(e);
    } else if (row == &rows.select_n) {
      return equal_case(x);
    }
    return {};
  }

  std::optional<ir::Atom> equal_conversion(const ir::Eqn& e) const {
    const DType to = p_.type(e.outputs[0]).dtype;
    if (p_.type(e.inputs[0]).dtype == to) return e.inputs[0];
    const ir::Eqn* inner = maker(e.inputs[0], named_rows().convert_element_type);
    if (!inner) return {};
    const DType from = p_.type(inner->inputs[0]).dtype;
    if (from == to && holds_exactly(from, p_.type(e.inputs[0]).dtype)) return inner->inputs[0];
    return {};
  }

  std::optional<ir::Atom> equal_case(const std::vector<ir::Atom>& x) const {
    if (std::all_of(x.begin() + 1, x.end(), [&](const ir::Atom& a) { return a == x[1]; })) return x[1];
    std::optional<ir::Literal> which = constant_of(x[0]);
    if (!which) return {};
    auto cases = static_cast<std::int64_t>(x.size()) - 1;
    return x[1 + std::clamp<std::int64_t>(which->as_integer(), 0, cases - 1)];
  }

  ir::Program& p_;
  bool names_stay_;
  std::vector<std::optional<ir::Atom>> instead_;
  std::vector<std::optional<ViewMap>> maps_;  // of views
  std::vector<int> makers_;                   // by variable: the equation in kept_
  std::vector<ir::Eqn> kept_;
  bool changed_ = false;
};

}  // namespace

ir::Program simplify(const ir::Program& p) {
  return rewrite(p, [](ir::Program& q) { return Simplifier(q, false).run(); });
}
ir::Program simplify_around_names(const ir::Program& p) {
  return rewrite(p, [](ir::Program& q) { return Simplifier(q, true).run(); });
}

}  // namespace anew::passes
