// Program: a typed SSA list. Inputs (the first `constants` of them are captured arrays), equations, outputs; operands
// are variables or scalar literals; nested Programs only as params of higher-order primitives. Variables are dense
// indices into `types`, defined once, before use. Immutable once built; shared by reference.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/base.h"
#include "ir/mark.h"
#include "ir/memo.h"
#include "ir/params.h"

namespace anew::ir {

struct Primitive;

using Type = ShapeDtype;
using Var = std::int32_t;

// A scalar known while tracing, stored as the bits of its dtype.
struct Literal {
  DType dtype = f32;
  std::uint64_t bits = 0;
  static Literal of(DType dtype, double v);
  static Literal of(DType dtype, std::int64_t v);
  double as_double() const;
  std::int64_t as_integer() const;
  std::string str() const;  // "2.0:f32[]"
  friend bool operator==(const Literal&, const Literal&) = default;
};

struct Atom {
  Var var = -1;  // a variable, or the literal
  Literal literal = {};
  Atom() = default;
  Atom(Var v) : var(v) {}
  Atom(Literal l) : literal(l) {}
  bool is_var() const { return var >= 0; }
  friend bool operator==(const Atom& a, const Atom& b) {
    return a.var == b.var && (a.is_var() || a.literal == b.literal);
  }
};

struct Eqn {
  const Primitive* primitive = nullptr;
  ParamsRef params;
  std::vector<Atom> inputs;
  std::vector<Var> outputs;
  Location at;                         // the user's line; derived equations inherit it
  const Primitive* rule_of = nullptr;  // the primitive whose derivative rule made this equation
  Mark mark = {};
};

struct Program {
  Program();
  Program(const Program&);
  Program(Program&&) noexcept;
  Program& operator=(const Program&);
  Program& operator=(Program&&) noexcept;
  ~Program();

  std::vector<Type> types;  // by variable
  std::vector<Var> inputs;
  int constants = 0;  // how many leading inputs are captured arrays
  std::vector<Eqn> eqns;
  std::vector<Atom> outputs;
  int depth = 0;  // of the Programs nested in it, as `nesting` says; set when it becomes a param
  Memo memo;      // of a shared Program

  const Type& type(Var v) const { return types[static_cast<std::size_t>(v)]; }
  Type type(const Atom& a) const { return a.is_var() ? type(a.var) : Type{{}, a.literal.dtype}; }
  std::vector<Type> input_types() const;
  std::vector<Type> output_types() const;
};

// Structural equality and hash: locations do not count. (Of shared Programs: params.h; their hash is computed once.)
bool equal(const Program& a, const Program& b);
std::size_t hash_value(const Program& p);

// Equations with this primitive, nested programs included; one that several equations hold counts once.
int count(const Program& p, std::string_view primitive);
// Calls fn on p and every program nested in it, each distinct object once.
void for_each_program(const Program& p, const std::function<void(const Program&)>& fn);
std::vector<ProgramRef> nested_programs(const Eqn& e);
// How deep Programs are nested in p, itself not counted. Recursion over nested Programs, and their destruction, is as
// deep as this; so whoever makes an equation refuses one that would nest them deeper than max_nesting.
int nesting(const Program& p);
int nesting(const Params& p);  // that of a Program with this equation

// JAX's notation, 80 columns wide. Variables are named a, b, ..., z, ba, ... in the order they are printed; no two
// have one name, in nested Programs either.
std::string print(const Program& p, int width = 80);
std::string types_text(std::span<const Type> types);  // (f32[3], i32[])
// The inverse of print, and verified: types are those that `infer` says. `find` looks a primitive up by name. Throws
// Error with line and column.
using FindPrimitive = std::function<const Primitive*(std::string_view)>;
Program parse(std::string_view text, const FindPrimitive& find);
// Throws InternalError at the first broken invariant: definition before use, types as infer says, no dangling variable.
void verify(const Program& p);
// The same where the environment has ANEW_VERIFY (as in the tests): called wherever a Program has been made.
void verify_if_asked(const Program& p);

// Keeps what the used outputs need; recursive through higher-order rows.
struct Dce {
  Program program;  // outputs: the used ones; inputs: the used ones (all if `keep_inputs`)
  std::vector<bool> used_inputs;
};
Dce eliminate_dead_code(const Program& p, const std::vector<bool>& used_outputs, bool keep_inputs = false);
// The same for a shared Program, which remembers it; one that has no dead code is itself the result.
struct SharedDce {
  ProgramRef program;
  std::vector<bool> used_inputs;
};
SharedDce eliminate_dead_code(const ProgramRef& p, const std::vector<bool>& used_outputs, bool keep_inputs = false);

}  // namespace anew::ir

extern template class std::vector<anew::ir::Atom>;
extern template class std::vector<anew::ir::Eqn>;
