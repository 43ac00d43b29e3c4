// Canonical form of equations that hold Programs.
#include "transforms/nested.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "ir/effects.h"
#include "ops/known_rows.h"

namespace anew {

ir::ProgramRef share(ir::Program p) {
  p.depth = ir::nesting(p);
  return std::make_shared<const ir::Program>(std::move(p));
}

bool Substitution::keeps(std::size_t i, const Array& x) {
  if (x.value()->literal) return literals_.emplace(i, literal_of(x)), false;
  auto [it, fresh] = seen_.emplace(identity(x), i);
  if (!fresh) same_.emplace(i, it->second);
  return fresh;
}

void Substitution::apply(ir::Program& p) const {
  std::unordered_map<ir::Var, ir::Atom> instead;
  for (auto [i, same] : same_)
    if (i < p.inputs.size()) instead.emplace(p.inputs[i], p.inputs[same]);
  for (const auto& [i, literal] : literals_)
    if (i < p.inputs.size()) instead.emplace(p.inputs[i], literal);
  auto replace = [&](ir::Atom& a) {
    if (auto it = a.is_var() ? instead.find(a.var) : instead.end(); it != instead.end()) a = it->second;
  };
  // Numbers become literals where they are known, and so do their conversions.
  std::erase_if(p.eqns, [&](ir::Eqn& e) {
    std::for_each(e.inputs.begin(), e.inputs.end(), replace);
    if (e.inputs.size() != 1 || e.inputs[0].is_var() || e.primitive != &convert_row()) return false;
    const ir::Literal& l = e.inputs[0].literal;
    const DType to = p.type(e.outputs[0]).dtype;
    instead.emplace(e.outputs[0],
                    is_float(l.dtype) ? ir::Literal::of(to, l.as_double()) : ir::Literal::of(to, l.as_integer()));
    return true;
  });
  std::for_each(p.outputs.begin(), p.outputs.end(), replace);
}

namespace {

// Where each result of the Programs comes from.
struct Results {
  struct Result {
    Array around;          // it goes around the equation, or
    std::size_t made = 0;  // is this output of it
  };
  std::vector<Result> all;
  std::vector<std::size_t> made;  // outputs of the equation, as outputs of the Programs
};

Results find_results(const std::vector<ir::Program>& branches, std::span<const Array> operands) {
  std::vector<std::unordered_map<ir::Var, std::size_t>> operand_of(branches.size());
  for (std::size_t b = 0; b < branches.size(); ++b)
    for (std::size_t i = 0; i < operands.size(); ++i) operand_of[b].emplace(branches[b].inputs[i], i);
  Results r;
  using Key = std::tuple<ir::Var, DType, std::uint64_t>;
  std::map<std::vector<Key>, std::size_t> twins;  // what it is in every branch
  for (std::size_t i = 0; i < branches[0].outputs.size(); ++i) {
    const ir::Atom& first = branches[0].outputs[i];
    auto it = operand_of[0].find(first.var);
    const std::size_t operand = first.is_var() && it != operand_of[0].end() ? it->second : operands.size();
    bool literal = !first.is_var(), same = operand < operands.size();
    std::vector<Key> key;
    for (std::size_t b = 0; b < branches.size(); ++b) {
      const ir::Atom& a = branches[b].outputs[i];
      literal = literal && a == first;
      same = same && a == ir::Atom(branches[b].inputs[operand]);
      key.emplace_back(a.var, a.is_var() ? f32 : a.literal.dtype, a.is_var() ? 0 : a.literal.bits);
    }
    if (literal || same) {
      r.all.push_back({literal ? make_literal(first.literal) : operands[operand]});
      continue;
    }
    auto [twin, fresh] = twins.emplace(std::move(key), r.made.size());
    if (fresh) r.made.push_back(i);
    r.all.push_back({{}, twin->second});
  }
  return r;
}

}  // namespace

Arrays bind_branches(const Primitive& primitive, const MakeBranches& params, std::vector<ir::Program> branches,
                     Arrays lead, std::span<const Array> operands, const Location& at) {
  Substitution same;
  std::vector<std::size_t> kept;
  Arrays kept_operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!same.keeps(i, operands[i])) continue;
    kept.push_back(i);
    kept_operands.push_back(operands[i]);
  }
  auto choose = [](auto& list, const std::vector<std::size_t>& which) {
    std::remove_reference_t<decltype(list)> out;
    for (std::size_t i : which) out.push_back(std::move(list[i]));
    list = std::move(out);
  };
  for (ir::Program& p : branches) {
    same.apply(p);
    choose(p.inputs, kept);
    p.constants = 0;
  }
  const Results r = find_results(branches, kept_operands);
  Arrays made;
  if (!r.made.empty() ||
      std::any_of(branches.begin(), branches.end(), [](const ir::Program& p) { return ir::must_run(p); })) {
    const std::vector<bool> all(r.made.size(), true);
    std::vector<bool> used(kept.size());  // by any branch
    std::vector<ir::Dce> live;
    for (ir::Program& p : branches) {
      choose(p.outputs, r.made);
      live.push_back(ir::eliminate_dead_code(p, all));
      for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] || live.back().used_inputs[i];
    }
    std::vector<std::size_t> read;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (used[i]) read.push_back(i);
    std::vector<ir::ProgramRef> programs;
    for (std::size_t b = 0; b < branches.size(); ++b) {
      if (live[b].used_inputs != used) {
        choose(branches[b].inputs, read);
        live[b] = ir::eliminate_dead_code(branches[b], all, true);
      }
      programs.push_back(share(std::move(live[b].program)));
    }
    for (std::size_t i : read) lead.push_back(kept_operands[i]);
    made = anew::bind(primitive, params(std::move(programs)), lead, at);
  }
  Arrays out;
  for (const Results::Result& x : r.all) out.push_back(x.around.value() ? x.around : made[x.made]);
  return out;
}

Arrays bind_nested(const Primitive& primitive, const MakeParams& params, const ir::Program& p,
                   std::span<const Array> inputs, const Location& at) {
  return bind_branches(
      primitive, [&](std::vector<ir::ProgramRef> programs) { return params(std::move(programs[0])); }, {p}, {}, inputs,
      at);
}

Closed close_over(const FlatFunction& f, std::span<const Array> args, std::string_view what, const Location& at) {
  const RegionScope region(what, at);
  Staged s = stage(f, forms_of(args, at), what, at);
  Closed c{std::move(s.program), std::move(s.constants), std::move(s.forms)};
  for (const Array& x : args) c.inputs.push_back(exact(x));
  c.program.constants = 0;
  return c;
}

}  // namespace anew
