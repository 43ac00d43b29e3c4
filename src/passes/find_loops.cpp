// Which equations of a Program are a loop and its way back.
#include <algorithm>
#include <map>

#include "control/cond.h"
#include "ir/inline.h"
#include "passes/loop_pairs.h"

namespace anew::passes {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

// Who makes and who reads the variables of a Program.
class Uses {
 public:
  explicit Uses(const ir::Program& p) : made_(p.types.size()), readers_(p.types.size()) {
    for (std::size_t i = 0; i < p.eqns.size(); ++i) {
      for (const ir::Atom& a : p.eqns[i].inputs)
        if (a.is_var()) readers_[at(a)].push_back(i);
      for (std::size_t k = 0; k < p.eqns[i].outputs.size(); ++k)
        made_[static_cast<std::size_t>(p.eqns[i].outputs[k])] = {i, static_cast<int>(k)};
    }
    for (const ir::Atom& a : p.outputs)
      if (a.is_var()) readers_[at(a)].push_back(p.eqns.size());
  }
  struct Made {
    std::size_t equation = none;
    int output = -1;
  };
  Made made(const ir::Atom& a) const { return a.is_var() ? made_[at(a)] : Made(); }
  const std::vector<std::size_t>& readers(ir::Var v) const { return readers_[static_cast<std::size_t>(v)]; }

 private:
  static std::size_t at(const ir::Atom& a) { return static_cast<std::size_t>(a.var); }
  std::vector<Made> made_;
  std::vector<std::vector<std::size_t>> readers_;
};

bool is_scan(const ir::Eqn& e) {
  const auto* p = e.params->if_a<LoopParams>();
  return p && !p->condition && stacks_residuals(*p);
}
bool is_cond(const ir::Eqn& e) { return e.params->if_a<CondParams>() != nullptr; }
bool is_default_while(const ir::Eqn& e) {
  const auto* p = e.params->if_a<LoopParams>();
  return p && p->condition && p->records && p->checkpoints == 0 && p->memory == 0 && !p->record.empty();
}

class Finder {
 public:
  Finder(const ir::Program& p, const std::set<std::string>& kept, int& count)
      : p_(p), kept_(kept), uses_(p), count_(count), taken_(p.eqns.size()) {}

  LoopsIn run() {
    for (std::size_t i = 0; i < p_.eqns.size(); ++i) {
      const ir::Eqn& e = p_.eqns[i];
      if (is_scan(e)) scans(i);
      else if (is_cond(e)) conds(i);
      else if (const auto* unwind = e.params->if_a<UnwindParams>(); unwind && unwind->condition) whiles(i);
    }
    for (std::size_t i = 0; i < p_.eqns.size(); ++i) {
      const ir::Eqn& e = p_.eqns[i];
      const bool looked_into = e.params->if_a<LoopParams>() || e.params->if_a<UnwindParams>() || is_cond(e) ||
                               e.params->if_a<CheckpointParams>();
      if (looked_into && !taken_[i]) nested(i);
    }
    return std::move(found_);
  }

 private:
  const ir::Eqn& eqn(std::size_t i) const { return p_.eqns[i]; }

  void nested(std::size_t i) {
    const std::vector<ir::ProgramRef> programs = ir::nested_programs(eqn(i));
    for (std::size_t k = 0; k < programs.size(); ++k)
      if (LoopsIn loops = find_loops(*programs[k], kept_, count_); !loops.empty())
        found_.nested.push_back({i, k, std::move(loops)});
  }

  // The pair of two equations where the second reads outputs of the first that need not be kept for it: what is read
  // later as well stays as it is, and where `alone`, what others read at all. Operands and outputs count from these on.
  std::optional<LoopPair> pair_of(std::size_t first, std::size_t second, std::size_t operand, int output,
                                  bool alone) const {
    LoopPair pair;
    pair.first = first;
    pair.second = second;
    pair.made.assign(eqn(second).inputs.size(), -1);
    pair.kept.assign(eqn(first).outputs.size(), true);
    bool any = false;
    for (std::size_t k = operand; k < pair.made.size(); ++k) {
      const Uses::Made m = uses_.made(eqn(second).inputs[k]);
      if (m.equation != first || m.output < output) continue;
      const std::vector<std::size_t>& readers = uses_.readers(eqn(second).inputs[k].var);
      if (readers.back() > second || (alone && readers.front() < second)) continue;
      pair.made[k] = m.output;
      pair.kept[static_cast<std::size_t>(m.output)] = readers.front() < second;
      any = true;
    }
    // Operands that do not count read it as it is.
    for (std::size_t k = 0; k < operand; ++k)
      if (const Uses::Made m = uses_.made(eqn(second).inputs[k]); m.equation == first)
        pair.kept[static_cast<std::size_t>(m.output)] = true;
    return any ? std::optional(pair) : std::nullopt;
  }

  // The equation before `second` that makes most of what it reads.
  template <class Fits>
  std::size_t main_source(std::size_t second, std::size_t operand, Fits fits) const {
    std::map<std::size_t, std::size_t> bytes;
    for (std::size_t k = operand; k < eqn(second).inputs.size(); ++k) {
      const ir::Atom& a = eqn(second).inputs[k];
      const Uses::Made m = uses_.made(a);
      if (m.equation != none && !taken_[m.equation] && fits(m)) bytes[m.equation] += p_.type(a).bytes();
    }
    std::size_t best = none;
    for (const auto& [equation, n] : bytes)
      if (best == none || n > bytes[best]) best = equation;
    return best;
  }

  void take(LoopPair pair) {
    taken_[pair.first] = taken_[pair.second] = true;
    found_.pairs.push_back(std::move(pair));
  }

  void scans(std::size_t second) {
    const LoopParams& r = loop_of(eqn(second).params);
    const auto xs = static_cast<std::size_t>(r.constants + r.carries);
    const std::size_t first = main_source(second, xs, [&](const Uses::Made& m) {
      if (!is_scan(eqn(m.equation))) return false;
      const LoopParams& f = loop_of(eqn(m.equation).params);
      return f.length == r.length && f.reverse != r.reverse && m.output >= f.carries;
    });
    if (first == none || r.length < 2 || ir::has_effects(eqn(first)) || ir::has_effects(eqn(second))) return;
    std::optional<LoopPair> pair = pair_of(first, second, xs, loop_of(eqn(first).params).carries, false);
    if (!pair || stacks_kept_name(*pair)) return;
    pair->whole.push_back(joined(*pair, *loop_of(eqn(first).params).body, *r.body, 0));
    pair->number = count_++;
    pair->inner.push_back(find_loops(*pair->whole[0], kept_, count_));
    if (pair->inner[0].empty()) pair->sunk = sunk(*pair);
    take(std::move(*pair));
  }

  // Equations that make constants of the second of those of the first, and nothing else; the last first.
  std::vector<std::size_t> made_of_constants(const LoopPair& pair) const {
    const LoopParams &f = loop_of(eqn(pair.first).params), &r = loop_of(eqn(pair.second).params);
    const auto& in = eqn(pair.first).inputs;
    std::vector<std::size_t> out;
    auto sinks = [&](const ir::Eqn& e) {
      auto read_there = [&](ir::Var v) {
        const auto& readers = uses_.readers(v);
        return std::all_of(readers.begin(), readers.end(), [&](std::size_t k) {
          return k == pair.second || std::count(out.begin(), out.end(), k) > 0;
        });
      };
      return !e.primitive->higher_order() && !ir::has_effects(e) &&
             std::all_of(e.outputs.begin(), e.outputs.end(), read_there);
    };
    std::set<ir::Var> wanted;
    for (int k = 0; k < r.constants; ++k)
      if (const ir::Atom& a = eqn(pair.second).inputs[static_cast<std::size_t>(k)]; a.is_var()) wanted.insert(a.var);
    for (std::size_t i = pair.second; i-- > 0;) {
      const ir::Eqn& e = eqn(i);
      if (e.outputs.size() != 1 || wanted.count(e.outputs[0]) == 0 || !sinks(e)) continue;
      out.push_back(i);
      for (const ir::Atom& a : e.inputs)
        if (a.is_var()) wanted.insert(a.var);
    }
    // Some may need what the first does not take: these stay, and what is made of them.
    std::set<ir::Var> there;
    for (int k = 0; k < f.constants; ++k)
      if (in[static_cast<std::size_t>(k)].is_var()) there.insert(in[static_cast<std::size_t>(k)].var);
    std::vector<std::size_t> ready;
    for (auto i = out.rbegin(); i != out.rend(); ++i) {
      const ir::Eqn& e = eqn(*i);
      if (!std::all_of(e.inputs.begin(), e.inputs.end(),
                       [&](const ir::Atom& a) { return !a.is_var() || there.count(a.var); }))
        continue;
      there.insert(e.outputs[0]);
      ready.push_back(*i);
    }
    return ready;
  }

  std::shared_ptr<const LoopPair> sunk(LoopPair pair) const {
    const std::vector<std::size_t> equations = made_of_constants(pair);
    const auto outputs = static_cast<int>(eqn(pair.first).outputs.size());
    bool any = false;
    for (int k = 0; k < loop_of(eqn(pair.second).params).constants; ++k) {
      const Uses::Made m = uses_.made(eqn(pair.second).inputs[static_cast<std::size_t>(k)]);
      const auto at = std::find(equations.begin(), equations.end(), m.equation);
      if (at == equations.end()) continue;
      pair.made[static_cast<std::size_t>(k)] = outputs + static_cast<int>(at - equations.begin());
      any = true;
    }
    if (!any) return nullptr;
    const LoopParams &f = loop_of(eqn(pair.first).params), &r = loop_of(eqn(pair.second).params);
    pair.whole = {joined(pair, *f.body, *r.body, 0, equations)};
    return std::make_shared<const LoopPair>(std::move(pair));
  }

  bool stacks_kept_name(const LoopPair& pair) const {
    const ir::Program& body = *loop_of(eqn(pair.first).params).body;
    for (const ir::Eqn& e : body.eqns) {
      const auto& name = e.primitive->facts.name;
      if (!name || !kept_.count(name(*e.params))) continue;
      for (int i : pair.made)
        if (i >= 0 && body.outputs[static_cast<std::size_t>(i)] == ir::Atom(e.outputs[0])) return true;
    }
    return false;
  }

  void conds(std::size_t second) {
    const std::size_t first = main_source(second, 1, [&](const Uses::Made& m) {
      return is_cond(eqn(m.equation)) && eqn(m.equation).inputs[0] == eqn(second).inputs[0];
    });
    if (first == none || ir::has_effects(eqn(first)) || ir::has_effects(eqn(second))) return;
    std::optional<LoopPair> pair = pair_of(first, second, 1, 0, true);
    if (!pair) return;
    pair->kind = LoopPair::Kind::conds;
    const auto& a = eqn(first).params->as<CondParams>().branches;
    const auto& b = eqn(second).params->as<CondParams>().branches;
    bool any = false;
    for (std::size_t k = 0; k < a.size(); ++k) {
      pair->whole.push_back(joined(*pair, *a[k], *b[k], 1));
      pair->inner.push_back(find_loops(*pair->whole[k], kept_, count_));
      any = any || !pair->inner[k].empty();
    }
    if (any) take(std::move(*pair));
  }

  // Their Programs may hold loops of their own, so both stay to be looked into.
  void whiles(std::size_t second) {
    const ir::Eqn& e = eqn(second);
    const LoopForm f = form_of(e.params->as<UnwindParams>());
    const std::vector<std::size_t> states = f.operands.positions().merge({Role::counters, Role::carries});
    const std::size_t first = uses_.made(e.inputs[states[0]]).equation;
    if (first == none || taken_[first] || !is_default_while(eqn(first))) return;
    const auto recorded = static_cast<std::size_t>(loop_of(eqn(first).params).carries);
    for (std::size_t k = recorded; k < eqn(first).outputs.size(); ++k)
      for (std::size_t reader : uses_.readers(eqn(first).outputs[k]))
        if (reader != second) return;
    LoopPair pair;
    pair.kind = LoopPair::Kind::whiles;
    pair.number = count_++;
    pair.first = first;
    pair.second = second;
    found_.pairs.push_back(std::move(pair));
  }

  // What equations make of the operands of the first.
  Arrays made_by(const std::vector<std::size_t>& equations, std::size_t first, std::span<const Array> in) const {
    std::map<ir::Var, Array> known;
    for (std::size_t k = 0; k < eqn(first).inputs.size(); ++k)
      if (const ir::Atom& a = eqn(first).inputs[k]; a.is_var()) known.emplace(a.var, in[k]);
    Arrays out;
    for (std::size_t i : equations) {
      const ir::Eqn& e = eqn(i);
      Arrays operands;
      for (const ir::Atom& a : e.inputs) operands.push_back(a.is_var() ? known.at(a.var) : make_literal(a.literal));
      const RuleScope scope(e.rule_of, e.at, e.mark);
      out.push_back(anew::bind(*e.primitive, e.params, operands, e.at)[0]);
      known.emplace(e.outputs[0], out.back());
    }
    return out;
  }

  // Both Programs in one; operands of the equations before `lead` are not theirs.
  ir::ProgramRef joined(const LoopPair& pair, const ir::Program& a, const ir::Program& b, std::size_t lead,
                        const std::vector<std::size_t>& sunk = {}) const {
    Types types = a.input_types();
    const Types second = b.input_types();
    for (std::size_t k = 0; k < second.size(); ++k)
      if (pair.made[lead + k] < 0) types.push_back(second[k]);
    Staged s = stage(
        [&](std::span<const Array> in) {
          Arrays made = evaluate(a, in.first(a.inputs.size()));
          Arrays operands, out = chosen(made, pair.kept);
          if (!sunk.empty()) append(made, made_by(sunk, pair.first, in));
          std::size_t next = a.inputs.size();
          for (std::size_t k = 0; k < second.size(); ++k) {
            const int from = pair.made[lead + k];
            operands.push_back(from < 0 ? in[next++] : made[static_cast<std::size_t>(from)]);
          }
          append(out, evaluate(b, operands));
          return out;
        },
        types, "unwind_loops", eqn(pair.first).at);
    s.program.constants = 0;
    return share(std::move(s.program));
  }

  const ir::Program& p_;
  const std::set<std::string>& kept_;
  Uses uses_;
  int& count_;
  Flags taken_;
  LoopsIn found_;
};

}  // namespace

ir::Program without_calls(const ir::Program& p) {
  return ir::inline_calls(p, [](const ir::Eqn& e, std::span<const ir::Type>) -> ir::ProgramRef {
    if (!e.primitive->facts.inlines) return nullptr;
    if (auto* c = e.params->if_a<CheckpointParams>(); c && !(c->policy == checkpoint_policies::automatic))
      return nullptr;
    const std::vector<ir::ProgramRef> programs = ir::nested_programs(e);
    return programs.size() == 1 ? programs[0] : nullptr;
  });
}

LoopsIn find_loops(const ir::Program& p, const std::set<std::string>& kept, int& count) {
  return Finder(p, kept, count).run();
}

}  // namespace anew::passes
