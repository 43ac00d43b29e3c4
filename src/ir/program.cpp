// Programs as values: types of inputs and outputs, structural equality and hash, and walks over nested programs.
// Equality looks through the numbering of variables (each is known by where it is defined) and at neither lines nor
// at which rule made an equation; two programs that print alike are equal.
#include "ir/program.h"

#include <algorithm>
#include <unordered_set>

#include "ir/effects.h"

namespace anew::ir {
namespace {

void visit_programs(const Program& p, std::unordered_set<const Program*>& seen,
                    const std::function<void(const Program&)>& fn) {
  if (!seen.insert(&p).second) return;
  fn(p);
  for (const Eqn& e : p.eqns)
    for (const ProgramRef& nested : nested_programs(e)) visit_programs(*nested, seen, fn);
}

// Variables numbered in the order of their definition: what equality and hash see instead of the variables themselves.
class Numbering {
 public:
  explicit Numbering(const Program& p) : numbers_(p.types.size(), -1) {
    for (Var v : p.inputs) define(v);
    for (const Eqn& e : p.eqns)
      for (Var v : e.outputs) define(v);
  }
  int operator[](Var v) const { return numbers_[static_cast<std::size_t>(v)]; }

 private:
  void define(Var v) { numbers_[static_cast<std::size_t>(v)] = next_++; }
  std::vector<int> numbers_;
  int next_ = 0;
};

class Comparison {
 public:
  Comparison(const Program& a, const Program& b) : a_(a), b_(b), a_numbers_(a), b_numbers_(b) {}

  bool equal() const {
    return a_.constants == b_.constants && all(a_.inputs, b_.inputs) && all(a_.outputs, b_.outputs) &&
           all(a_.eqns, b_.eqns);
  }

 private:
  template <class T>
  bool all(const std::vector<T>& a, const std::vector<T>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const T& x, const T& y) { return same(x, y); });
  }
  bool same(Var a, Var b) const { return a_numbers_[a] == b_numbers_[b] && a_.type(a) == b_.type(b); }
  bool same(const Atom& a, const Atom& b) const {
    if (a.is_var() != b.is_var()) return false;
    return a.is_var() ? same(a.var, b.var) : a.literal == b.literal;
  }
  bool same(const Eqn& a, const Eqn& b) const {
    return a.primitive == b.primitive && all(a.inputs, b.inputs) && all(a.outputs, b.outputs) &&
           (a.params == b.params || a.params->equals(*b.params));
  }
  const Program& a_;
  const Program& b_;
  Numbering a_numbers_, b_numbers_;
};

}  // namespace

Program::Program() = default;
Program::Program(const Program&) = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(const Program&) = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

std::vector<Type> Program::input_types() const {
  std::vector<Type> out;
  for (Var v : inputs) out.push_back(type(v));
  return out;
}

std::vector<Type> Program::output_types() const {
  std::vector<Type> out;
  for (const Atom& a : outputs) out.push_back(type(a));
  return out;
}

bool equal(const Program& a, const Program& b) { return &a == &b || Comparison(a, b).equal(); }

bool equal(const ProgramRef& a, const ProgramRef& b) {
  return a == b || (a && b && hash_value(a) == hash_value(b) && equal(*a, *b));
}

std::size_t hash_value(const Program& p) {
  const Numbering numbers(p);
  std::size_t h = p.inputs.size();
  auto add_atom = [&](const Atom& a) {
    hash_combine(h, a.is_var() ? static_cast<std::size_t>(numbers[a.var])
                               : a.literal.bits ^ (static_cast<std::size_t>(a.literal.dtype) + 1) << 56);
  };
  hash_combine(h, static_cast<std::size_t>(p.constants));
  for (Var v : p.inputs) hash_combine(h, anew::hash_value(p.type(v)));
  for (const Eqn& e : p.eqns) {
    hash_combine(h, std::hash<const Primitive*>{}(e.primitive));
    hash_combine(h, e.params->hash());
    for (const Atom& a : e.inputs) add_atom(a);
    for (Var v : e.outputs) hash_combine(h, anew::hash_value(p.type(v)));
  }
  for (const Atom& a : p.outputs) add_atom(a);
  return h;
}

std::size_t hash_value(const ProgramRef& p) {
  if (!p) return 0;
  std::size_t h = p->memo.hash.load(std::memory_order_relaxed);
  if (h == 0) p->memo.hash.store(h = hash_value(*p), std::memory_order_relaxed);
  return h;
}

std::vector<ProgramRef> nested_programs(const Eqn& e) { return e.params->programs(); }

int nesting(const Params& p) {
  int deepest = 0;
  for (const ProgramRef& q : p.programs()) deepest = std::max(deepest, q->depth + 1);
  return deepest;
}

int nesting(const Program& p) {
  int deepest = 0;
  for (const Eqn& e : p.eqns) deepest = std::max(deepest, nesting(*e.params));
  return deepest;
}

void for_each_program(const Program& p, const std::function<void(const Program&)>& fn) {
  std::unordered_set<const Program*> seen;
  visit_programs(p, seen, fn);
}

int count(const Program& p, std::string_view primitive) {
  int n = 0;
  for_each_program(p, [&](const Program& q) {
    for (const Eqn& e : q.eqns) n += e.primitive->name == primitive;
  });
  return n;
}

namespace {

// Of a Program and all that it holds.
struct Effects {
  bool any = false, must_run = false;
  const Primitive* io = nullptr;  // the first with io
  bool user = false;              // runs_user
};
struct AskEffects {
  friend bool operator==(AskEffects, AskEffects) = default;
};
Effects effects_of(const ProgramRef& p);
void add_effects(const Eqn& e, Effects& out) {
  const Facts& facts = e.primitive->facts;
  if (facts.io && !out.io) out.io = e.primitive;
  out.user = out.user || facts.runs_user;
  if (!e.primitive->higher_order()) {
    out.any = out.any || facts.effects;
    out.must_run = out.must_run || (facts.effects && (facts.io || e.outputs.empty()));
  } else
    for (const ProgramRef& p : nested_programs(e)) {
      Effects nested = effects_of(p);
      out.any = out.any || nested.any;
      out.must_run = out.must_run || nested.must_run;
      out.user = out.user || nested.user;
      if (!out.io) out.io = nested.io;
    }
}
Effects effects_of(const Program& p) {
  Effects out;
  for (const Eqn& e : p.eqns) add_effects(e, out);
  return out;
}
Effects effects_of(const ProgramRef& p) {
  if (!p) return {};
  return *p->memo.get(AskEffects{}, [&] { return effects_of(*p); });
}

}  // namespace

bool has_effects(const Eqn& e) {
  Effects out;
  add_effects(e, out);
  return out.any;
}

bool has_effects(const Program& p) {
  return std::any_of(p.eqns.begin(), p.eqns.end(), [](const Eqn& e) { return has_effects(e); });
}

bool must_run(const Eqn& e) {
  Effects out;
  add_effects(e, out);
  return out.must_run;
}
bool must_run(const Program& p) {
  return std::any_of(p.eqns.begin(), p.eqns.end(), [](const Eqn& e) { return must_run(e); });
}

std::string find_io(const Program& p) {
  const Primitive* io = effects_of(p).io;
  return io ? io->name : "";
}

bool runs_user(const Program& p) { return effects_of(p).user; }

void missing_rule(const Primitive& p, std::string_view rule, const Location& at) {
  const char* folder = p.higher_order() ? "control" : "ops";
  throw Error(fmt::format("[{0}] has no {1} rule", p.name, rule), at,
              fmt::format("add `{1}` to the row \"{0}\" in src/{2}", p.name, rule, folder));
}

}  // namespace anew::ir

template class std::vector<anew::ir::Atom>;
template class std::vector<anew::ir::Eqn>;
