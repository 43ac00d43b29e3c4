// Operations that change no number but its type or its standing: conversion, stop_gradient, name.
#include <anew/lax.h>
#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/known_rows.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct ConvertParams : ir::ParamsOf<ConvertParams> {
  explicit ConvertParams(DType d = f32) : new_dtype(d) {}
  DType new_dtype;
  static auto fields() { return std::tuple{ir::field("new_dtype", &ConvertParams::new_dtype)}; }
};

Primitive conversion() {
  Primitive p = elementwise_row("convert_element_type", 1, Accepts::anything, false, 1, {});
  p.parse = &ConvertParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_count("convert_element_type", 1, a.in, a.at);
    return Types{{a.in[0].shape, a.params.as<ConvertParams>().new_dtype}};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    DType to = params.as<ConvertParams>().new_dtype;
    return ir::Lowered{{loops::elementwise({in[0]}, [to](Expr x) { return convert(x, to); })}, {}};
  };
  p.jvp = [](const ir::JvpArgs& a) {
    DType to = a.params->as<ConvertParams>().new_dtype;
    return Arrays{is_float(to) ? lax::convert_element_type(a.t[0], to) : Array()};
  };
  p.transpose = [](const ir::TransposeArgs& a) { return Arrays{lax::convert_element_type(a.ct[0], a.in[0].dtype)}; };
  p.facts.linear_in = {0};
  p.facts.shows_operand = true;
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (auto [from, to] : {std::pair{f32, f64}, {f64, f32}, {f32, i32}, {i32, f32}, {bool_, f32}, {f32, bool_}})
      for (const Shape& s : {Shape{}, Shape{2, 3}, Shape{0}})
        out.push_back({make_params(ConvertParams(to)), {{{s, from}, 0.2, 0.8}}});
    return out;
  };
  return p;
}

Primitive bitcast() {
  Primitive p = elementwise_row("bitcast_convert_type", 1, Accepts::anything, false, 1, {});
  p.parse = &ConvertParams::parse;
  p.infer = [](const ir::InferArgs& a) {
    require_count("bitcast_convert_type", 1, a.in, a.at);
    const DType from = a.in[0].dtype, to = a.params.as<ConvertParams>().new_dtype;
    auto whole = [](DType d) { return d != bool_ && size_of(d) >= 4; };
    if (!whole(from) || !whole(to) || size_of(from) != size_of(to))
      fail("bitcast_convert_type", a.at, fmt::format("from {} to {}", a.in[0].str(), name_of(to)),
           "both have 32 bits, or both have 64");
    return Types{{a.in[0].shape, to}};
  };
  p.lower = [](const ir::Params& params, std::span<const Type> in, std::span<const Type>) {
    DType to = params.as<ConvertParams>().new_dtype;
    return ir::Lowered{{loops::elementwise({in[0]}, [to](Expr x) { return loops::bitcast(x, to); })}, {}};
  };
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array()}; };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (auto [from, to] : {std::pair{f32, i32}, {f64, u64}, {i32, u32}, {u32, f32}, {i64, f64}})
      for (const Shape& s : {Shape{}, Shape{2, 3}, Shape{0}})
        out.push_back({make_params(ConvertParams(to)), {{{s, from}, 1, 9}}});
    return out;
  };
  return p;
}

// The same elements under another equation.
Primitive same(std::string name) {
  Primitive p;
  p.name = std::move(name);
  p.infer = [op = p.name](const ir::InferArgs& a) {
    require_count(op, 1, a.in, a.at);
    return Types{a.in[0]};
  };
  p.view = [](const ir::Params&, const Type&, const ir::Strides& strides, const Type&) { return ir::View{0, strides}; };
  p.facts.elementwise = true;
  return p;
}

Primitive stopping() {
  Primitive p = same("stop_gradient");
  p.facts.shows_operand = true;
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array()}; };
  // A tangent that a custom rule sends through it comes out as it is; so does the cotangent.
  p.transpose = [](const ir::TransposeArgs& a) { return Arrays{a.ct[0]}; };
  p.samples = [] { return unary_samples(-1, 1); };
  return p;
}

Primitive naming() {
  Primitive p = same("name");
  p.parse = &NameParams::parse;
  p.facts.name = [](const ir::Params& q) -> const std::string& { return q.as<NameParams>().name; };
  p.jvp = [](const ir::JvpArgs& a) { return Arrays{a.t[0]}; };
  p.transpose = [](const ir::TransposeArgs& a) { return Arrays{a.ct[0]}; };
  p.samples = [] { return unary_samples(-1, 1, make_params(NameParams("here"))); };
  return p;
}

struct ConvertRows : Family {
  const Primitive& convert_element_type = row(conversion());
  const Primitive& bitcast_convert_type = row(bitcast());
  const Primitive& stop_gradient = row(stopping());
  const Primitive& name = row(naming());
};

}  // namespace

std::span<const ir::Primitive* const> convert_rows() { return rows<ConvertRows>().list(); }
const ir::Primitive& name_row() { return rows<ConvertRows>().name; }
const ir::Primitive& convert_row() { return rows<ConvertRows>().convert_element_type; }
ir::ParamsRef convert_params(DType to) { return make_params(ConvertParams(to)); }

Array stop_gradient(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return bind1(rows<ConvertRows>().stop_gradient, ir::no_params(), {x.value}, x.at);
}
Array astype(const ArrayLike& x, DType dtype) { return coerce(x.value, dtype, x.at); }
Array Array::astype(DType dtype, const Location& at) const { return coerce(*this, dtype, at); }
Array asarray(const ArrayLike& x) {
  check_operand(x.value, line_or(x.at));
  return strong(x.value, x.at);
}

namespace flat {
Array name(const Array& x, std::string_view name, const Location& at) {
  if (name.empty()) throw Error("[checkpoint_name] the name is empty", at);
  return bind1(name_row(), std::make_shared<NameParams>(std::string(name)), {strong(x, at)}, at);
}
}  // namespace flat

namespace lax {
Array bitcast_convert_type(const ArrayLike& x, DType dtype) {
  Array a = checked(x);
  if (type_of(a).dtype == dtype) return a;
  return bind1(rows<ConvertRows>().bitcast_convert_type, make_params(ConvertParams(dtype)), {a}, x.at);
}
Array convert_element_type(const ArrayLike& x, DType dtype) {
  check_operand(x.value, line_or(x.at));
  if (is_weak(x.value) || type_of(x.value).dtype == dtype) return coerce(x.value, dtype, x.at);
  return bind1(rows<ConvertRows>().convert_element_type, make_params(ConvertParams(dtype)), {x.value}, x.at);
}
}  // namespace lax

namespace {
[[maybe_unused]] const bool installed =
    (convert_scalar =
         [](const Array& x, DType to, const Location& at) { return lax::convert_element_type(ArrayLike(x, at), to); },
     true);
}  // namespace
}  // namespace anew
