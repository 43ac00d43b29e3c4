// Infer, lower and samples of elementwise rows.
#include "ops/elementwise.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include "base/dtype.h"
#include "ops/known_rows.h"

namespace anew {

void require(std::string_view op, Accepts accepts, const Type& type, const Location& at) {
  DType d = type.dtype;
  auto need = [&](bool ok, std::string_view what) {
    if (!ok) fail(op, at, fmt::format("needs {}, got {}", what, type.str()));
  };
  switch (accepts) {
    case Accepts::floats: return need(is_float(d), "a floating type");
    case Accepts::numbers: return need(d != bool_, "numbers");
    case Accepts::integers: return need(is_integer(d), "integers");
    case Accepts::logical: return need(!is_float(d), "bool or integers");
    case Accepts::anything: return;
  }
}

void require_count(std::string_view op, std::size_t wanted, std::span<const Type> in, const Location& at) {
  if (in.size() != wanted) fail(op, at, fmt::format("takes {} operands, got {}", wanted, in.size()));
}

Shape common_shape(std::string_view op, std::span<const Type> in, const Location& at) {
  const Type* full = nullptr;
  for (const Type& t : in) {
    if (t.shape.ndim() == 0) continue;
    if (!full) full = &t;
    if (t.shape != full->shape)
      fail(op, at, fmt::format("operands have different shapes: {} and {}", full->str(), t.str()));
  }
  return full ? full->shape : Shape{};
}

ir::Lowered lower_elementwise(std::span<const Type> in, const Body& body) {
  ir::Lowered out;
  out.kernels.push_back(loops::elementwise(in, [&](std::span<const Expr> x) {
    std::vector<Expr> wide;
    DType stored = f32;
    for (Expr e : x) {
      bool narrow = is_float(e.dtype()) && is_stored(e.dtype());
      if (narrow) stored = e.dtype();
      wide.push_back(narrow ? convert(e, f32) : e);
    }
    Expr y = body(wide);
    return stored != f32 && y.dtype() == f32 ? convert(y, stored) : y;
  }));
  return out;
}

Primitive elementwise_row(std::string name, int arity, Accepts accepts, bool gives_bool, double flops, Body body) {
  Primitive p;
  p.name = std::move(name);
  p.infer = [op = p.name, arity, accepts, gives_bool](const ir::InferArgs& a) {
    require_count(op, static_cast<std::size_t>(arity), a.in, a.at);
    for (const Type& t : a.in) {
      require(op, accepts, t, a.at);
      if (t.dtype != a.in[0].dtype)
        fail(op, a.at, fmt::format("operands have different types: {} and {}", a.in[0].str(), t.str()));
    }
    return Types{{common_shape(op, a.in, a.at), gives_bool ? bool_ : a.in[0].dtype}};
  };
  p.lower = [body = std::move(body)](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    return lower_elementwise(in, body);
  };
  p.facts.elementwise = true;
  p.facts.flops_per_element = flops;
  return p;
}

Array fitted(const Array& t, const Array& y) {
  const Shape& shape = type_of(y).shape;
  return type_of(t).shape == shape ? t : lax::broadcast_in_dim(t, shape, {});
}

Array unfitted(const Array& ct, const Type& operand) {
  return operand.shape.ndim() == 0 && type_of(ct).shape.ndim() != 0 ? sum(ct) : ct;
}

Array add_tangents(const Array& a, const Array& b) {
  if (!a.value()) return b;
  return b.value() ? bind1(add_any_row(), ir::no_params(), {a, b}, Location::current()) : a;
}

namespace {
constexpr std::array<Shape, 4> sample_shapes = {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 2}};
}

std::vector<ir::Sample> unary_samples(double lo, double hi, const ParamsRef& params) {
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64})
    for (const Shape& s : sample_shapes) out.push_back({params, {{{s, d}, lo, hi}}});
  return out;
}

std::vector<ir::Sample> binary_samples(SampleRange a, SampleRange b) {
  std::vector<ir::Sample> out;
  for (DType d : {f32, f64}) {
    for (const Shape& s : sample_shapes) out.push_back({ir::no_params(), {{{s, d}, a.lo, a.hi}, {{s, d}, b.lo, b.hi}}});
    out.push_back({ir::no_params(), {{{Shape{}, d}, a.lo, a.hi}, {{Shape{2, 3}, d}, b.lo, b.hi}}});
    out.push_back({ir::no_params(), {{{Shape{2, 3}, d}, a.lo, a.hi}, {{Shape{}, d}, b.lo, b.hi}}});
  }
  return out;
}

std::vector<ir::Sample> integer_samples(int arity, double lo, double hi, bool with_bool) {
  std::vector<ir::Sample> out;
  for (DType d : all_dtypes)
    for (const Shape& s : sample_shapes) {
      if (!is_integer(d) && !(with_bool && d == bool_)) continue;
      out.push_back({ir::no_params(), std::vector<ir::SampleInput>(static_cast<std::size_t>(arity), {{s, d}, lo, hi})});
    }
  return out;
}

std::vector<ir::Sample> with_integers(std::vector<ir::Sample> floats, Accepts accepts) {
  if (accepts == Accepts::floats || floats.empty()) return floats;
  const ir::Sample model = floats[0];
  for (DType d : all_dtypes)
    if (is_integer(d))
      floats.push_back({model.params, std::vector<ir::SampleInput>(model.inputs.size(), {{{2, 3}, d}, -9, 120})});
  return floats;
}

}  // namespace anew
