// Hand-made rows for the tests of src/ir: a row needs only a name and an infer to be printed, parsed and verified.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "ir/primitive.h"
#include "ir/program.h"

namespace anew::ir::testing {

inline Types same_type(const InferArgs& a) {
  if (a.in.empty()) throw Error("needs an operand", Location());
  return {a.in[0]};
}

// Written with [] where the notation has them.
struct Dims {
  std::vector<std::int64_t> v;
  friend bool operator==(const Dims&, const Dims&) = default;
  auto begin() const { return v.begin(); }
  auto end() const { return v.end(); }
};
inline ParamValue to_param(const Dims& d) {
  ParamValue p = ir::to_param(d.v);
  std::get<ParamList>(p.v).square = true;
  return p;
}
inline bool from_param(const ParamValue& p, Dims& d) { return ir::from_param(p, d.v); }

struct DotParams : ParamsOf<DotParams> {
  using Pair = std::pair<Dims, Dims>;
  std::pair<Pair, Pair> dimension_numbers;
  DType preferred_element_type = f32;
  static auto fields() {
    return std::tuple{field("dimension_numbers", &DotParams::dimension_numbers),
                      field("preferred_element_type", &DotParams::preferred_element_type)};
  }
};
struct PrecisionParams : ParamsOf<PrecisionParams> {
  int mantissa_bits = 23, exponent_bits = 8;
  static auto fields() {
    return std::tuple{field("mantissa_bits", &PrecisionParams::mantissa_bits),
                      field("exponent_bits", &PrecisionParams::exponent_bits)};
  }
};
struct CallParams : ParamsOf<CallParams> {
  ProgramRef program;
  std::string name = "f";
  static auto fields() { return std::tuple{field("program", &CallParams::program), field("name", &CallParams::name)}; }
};
struct CondParams : ParamsOf<CondParams> {
  std::vector<ProgramRef> branches;
  static auto fields() { return std::tuple{field("branches", &CondParams::branches)}; }
};
// One field of every kind.
struct AllParams : ParamsOf<AllParams> {
  bool flag = false;
  std::int64_t big = 0;
  double scale = 0;
  std::string label;
  DType dtype = f32;
  Shape shape;
  std::optional<int> axis;
  std::vector<std::string> names;
  std::tuple<int, bool, double> mixed{};
  ProgramRef body;
  static auto fields() {
    return std::tuple{field("flag", &AllParams::flag),   field("big", &AllParams::big),
                      field("scale", &AllParams::scale), field("label", &AllParams::label),
                      field("dtype", &AllParams::dtype), field("shape", &AllParams::shape),
                      field("axis", &AllParams::axis),   field("names", &AllParams::names),
                      field("mixed", &AllParams::mixed), field("body", &AllParams::body)};
  }
};

inline Types infer_dot(const InferArgs& a) {
  const auto& p = a.params.as<DotParams>();
  auto free = [](const Type& t, const Dims& contract) {
    Shape s;
    for (int i = 0; i < t.shape.ndim(); ++i)
      if (std::find(contract.begin(), contract.end(), i) == contract.end()) s.push_back(t.shape[i]);
    return s;
  };
  Shape out = free(a.in[0], p.dimension_numbers.first.first);
  for (std::int64_t d : free(a.in[1], p.dimension_numbers.first.second)) out.push_back(d);
  return {{out, p.preferred_element_type}};
}

inline const Primitive sin_row{.name = "sin", .infer = same_type};
inline const Primitive cos_row{.name = "cos", .infer = same_type};
inline const Primitive mul_row{.name = "mul", .infer = same_type};
inline const Primitive dot_row{.name = "dot_general", .infer = infer_dot, .parse = &DotParams::parse};
inline const Primitive precision_row{.name = "reduce_precision", .infer = same_type, .parse = &PrecisionParams::parse};
inline const Primitive split_row{.name = "halves",
                                 .infer = [](const InferArgs& a) { return Types{same_type(a)[0], same_type(a)[0]}; }};
inline const Primitive print_row{.name = "debug_print", .infer = [](const InferArgs&) { return Types{}; }};
inline const Primitive seed_row{.name = "seed", .infer = [](const InferArgs&) { return Types{{{}, f32}}; }};
inline const Primitive all_row{.name = "everything", .infer = same_type, .parse = &AllParams::parse};
inline const Primitive call_row{
    .name = "call",
    .infer = [](const InferArgs& a) { return a.params.as<CallParams>().program->output_types(); },
    .parse = &CallParams::parse};
inline const Primitive cond_row{
    .name = "cond",
    .infer = [](const InferArgs& a) { return a.params.as<CondParams>().branches.at(0)->output_types(); },
    .parse = &CondParams::parse};

inline const Primitive* find_row(std::string_view name) {
  for (const Primitive* p : {&sin_row, &cos_row, &mul_row, &dot_row, &precision_row, &split_row, &print_row, &seed_row,
                             &all_row, &call_row, &cond_row})
    if (p->name == name) return p;
  return nullptr;
}

// Builds programs by hand.
struct Builder {
  Program p;
  Var input(Type t) { return p.inputs.emplace_back(var(t)); }
  Var var(Type t) {
    p.types.push_back(t);
    return static_cast<Var>(p.types.size() - 1);
  }
  std::vector<Var> add(const Primitive& row, std::vector<Atom> in, ParamsRef params = no_params()) {
    Types types;
    for (const Atom& a : in) types.push_back(p.type(a));
    Eqn e{&row, params, std::move(in), {}, Location::current(), nullptr};
    for (const Type& t : row.infer({*params, types, e.at})) e.outputs.push_back(var(t));
    p.eqns.push_back(e);
    return e.outputs;
  }
  Var add1(const Primitive& row, std::vector<Atom> in, ParamsRef params = no_params()) {
    return add(row, std::move(in), std::move(params)).at(0);
  }
  ProgramRef ref() const { return std::make_shared<const Program>(p); }
};

inline ParamsRef dot_params(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  auto p = std::make_shared<DotParams>();
  p->dimension_numbers = {{{a}, {b}}, {}};
  return p;
}
inline ParamsRef call_params(ProgramRef q, std::string name = "f") {
  auto p = std::make_shared<CallParams>();
  p->program = std::move(q);
  p->name = std::move(name);
  return p;
}
inline ParamsRef cond_params(std::vector<ProgramRef> branches) {
  auto p = std::make_shared<CondParams>();
  p->branches = std::move(branches);
  return p;
}

}  // namespace anew::ir::testing
