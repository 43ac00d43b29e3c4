// Where little passes from equation to equation, stretches end; groups of them are the blocks.
#include "passes/block_forms.h"

#include <algorithm>
#include <map>
#include <optional>

#include "control/higher_order.h"
#include "plan/remat_plans.h"
#include "transforms/split.h"

namespace anew::passes {
namespace {

class Blocks {
 public:
  Blocks(const ir::Program& p, const std::set<std::string>& names) : p_(p), maker_(p.types.size(), -1) {
    output_.resize(p.types.size());
    for (const ir::Atom& a : p.outputs)
      if (a.is_var()) output_[at(a.var)] = true;
    for (std::size_t i = 0; i < p.eqns.size(); ++i) {
      const ir::Eqn& e = p.eqns[i];
      for (ir::Var v : e.outputs) maker_[at(v)] = static_cast<int>(i);
      once_.push_back(ir::has_effects(e) ||
                      (e.primitive->facts.name && names.count(e.primitive->facts.name(*e.params))));
    }
  }

  // Equations as kernels of a graph.
  plan::RematGraph graph() const {
    plan::RematGraph g;
    std::vector<int> value(p_.types.size(), -1);
    for (const ir::Eqn& e : p_.eqns) {
      plan::RematKernel k;
      std::int64_t most = std::numeric_limits<std::int64_t>::max();
      for (const ir::Atom& a : e.inputs) {
        if (!a.is_var()) continue;
        if (e.primitive->facts.shows_operand) most = bytes(a.var);
        if (const int v = value[at(a.var)]; v >= 0 && std::count(k.reads.begin(), k.reads.end(), v) == 0)
          k.reads.push_back(v);
      }
      for (ir::Var v : e.outputs)
        k.makes.push_back(value[at(v)] = g.add_value(std::min(most, bytes(v)), output_[at(v)]));
      g.add_kernel(std::move(k));
    }
    return g;
  }

  // `group` of each equation before the turn, of which the last group runs once.
  struct Choice {
    const std::vector<int>* group;
    const Policy* policy;
    double flops = 0, bytes = 0;  // of what runs again; that are kept until then, and that the largest group makes
  };
  // What is kept of it, and what that costs, about.
  const std::vector<char>& weigh(Choice& c) {
    choose(c);
    std::vector<double> made(static_cast<std::size_t>(last_) + 1);
    for (int i = turn_ - 1; i >= 0; --i) {
      const bool again = runs_again(i);
      const ir::Eqn& e = p_.eqns[i];
      if (again) c.flops += flops_of(p_, e);
      for (ir::Var v : e.outputs)
        if (wanted_[at(v)]) (kept_[at(v)] ? c.bytes : made[(*group_)[i]]) += static_cast<double>(bytes(v));
    }
    c.bytes += *std::max_element(made.begin(), made.end());
    return kept_;
  }

  BlockForm form(const Choice& c) {
    choose(c);
    std::vector<std::vector<int>> again(static_cast<std::size_t>(last_));  // equations of each group, the last first
    BlockForm out{p_, {}};
    for (int i = turn_ - 1; i >= 0; --i) {
      if (!runs_again(i)) continue;
      again[(*group_)[i]].push_back(i);
      out.again.push_back({&p_.eqns[i], flops_of(p_, p_.eqns[i]), 1});
    }
    out.program.eqns.resize(static_cast<std::size_t>(turn_));
    std::map<ir::Var, ir::Var> instead;
    for (std::size_t i = static_cast<std::size_t>(turn_); i < p_.eqns.size(); ++i) {
      ir::Eqn e = p_.eqns[i];
      for (ir::Atom& a : e.inputs) {
        if (!a.is_var() || !gone(a.var)) continue;
        if (instead.count(a.var) == 0) add(again[(*group_)[maker_[at(a.var)]]], e, instead, out.program);
        a.var = instead.at(a.var);
      }
      out.program.eqns.push_back(std::move(e));
    }
    return out;
  }

 private:
  static std::size_t at(ir::Var v) { return static_cast<std::size_t>(v); }
  std::int64_t bytes(ir::Var v) const { return static_cast<std::int64_t>(p_.type(v).bytes()); }

  // What is made before the turn and made again behind it.
  bool gone(ir::Var v) const { return maker_[at(v)] >= 0 && maker_[at(v)] < turn_ && !kept_[at(v)]; }

  void choose(const Choice& c) {
    group_ = c.group;
    turn_ = static_cast<int>(group_->size());
    last_ = group_->back();
    kept_.assign(p_.types.size(), false);
    wanted_.assign(p_.types.size(), false);
    for (int i = 0; i < turn_; ++i) {
      const ir::Eqn& e = p_.eqns[i];
      bool keeps = (*group_)[i] == last_ || once_[i];
      if (!keeps && e.primitive->facts.batched_dot) {
        Types in, out;
        for (const ir::Atom& a : e.inputs) in.push_back(p_.type(a));
        for (ir::Var v : e.outputs) out.push_back(p_.type(v));
        keeps = ask(*c.policy, *e.primitive, e.params, in, out) == Save::save;
      }
      for (ir::Var v : e.outputs) kept_[at(v)] = keeps || output_[at(v)];
    }
    for (int i = 0; i < static_cast<int>(p_.eqns.size()); ++i)
      for (const ir::Atom& a : p_.eqns[i].inputs) {
        const int from = a.is_var() ? maker_[at(a.var)] : -1;
        if (from < 0 || from >= turn_) continue;
        if (i >= turn_) wanted_[at(a.var)] = true;
        else if ((*group_)[i] != (*group_)[from]) kept_[at(a.var)] = true;
      }
  }
  // Called from the last equation to the first.
  bool runs_again(int i) {
    const ir::Eqn& e = p_.eqns[i];
    if (std::none_of(e.outputs.begin(), e.outputs.end(), [&](ir::Var v) { return wanted_[at(v)] && !kept_[at(v)]; }))
      return false;
    for (const ir::Atom& a : e.inputs)
      if (a.is_var()) wanted_[at(a.var)] = true;
    return true;
  }

  // A group again, in a checkpoint, where nobody merges it with what ran before.
  void add(const std::vector<int>& again, const ir::Eqn& reader, std::map<ir::Var, ir::Var>& instead,
           ir::Program& to) const {
    ir::Program inner;
    std::map<ir::Var, ir::Var> inside;
    auto fresh = [](ir::Program& p, const ir::Type& t) {
      p.types.push_back(t);
      return static_cast<ir::Var>(p.types.size()) - 1;
    };
    ir::Eqn call{&checkpoint_row(), nullptr, {}, {}, reader.at, reader.rule_of, reader.mark};
    for (auto i = again.rbegin(); i != again.rend(); ++i) {
      ir::Eqn e = p_.eqns[*i];
      for (ir::Atom& a : e.inputs) {
        if (!a.is_var()) continue;
        auto [known, first] = inside.try_emplace(a.var);
        if (first) {
          known->second = fresh(inner, p_.type(a.var));
          inner.inputs.push_back(known->second);
          call.inputs.push_back(a.var);
        }
        a.var = known->second;
      }
      for (ir::Var& v : e.outputs) {
        const ir::Var now = fresh(inner, p_.type(v));
        if (gone(v)) {
          inside[v] = now;
          inner.outputs.push_back(now);
          call.outputs.push_back(instead[v] = fresh(to, p_.type(v)));
        }
        v = now;
      }
      inner.eqns.push_back(std::move(e));
    }
    CheckpointParams c;
    c.differentiated = true;
    c.program = std::make_shared<const ir::Program>(std::move(inner));
    call.params = std::make_shared<const CheckpointParams>(std::move(c));
    to.eqns.push_back(std::move(call));
  }

  const ir::Program& p_;
  std::vector<int> maker_;
  std::vector<char> output_, once_;
  const std::vector<int>* group_ = nullptr;
  int turn_ = 0, last_ = 0;
  std::vector<char> kept_, wanted_;
};

std::size_t smallest(const std::vector<Blocks::Choice>& all) {
  auto fewer = [](const auto& a, const auto& b) { return a.bytes < b.bytes; };
  return static_cast<std::size_t>(std::min_element(all.begin(), all.end(), fewer) - all.begin());
}

// Of the choices of each policy those that no other beats in both time and bytes, evenly, the smallest among them, or
// all; at most so many in all, one more of the policies that come first. Sorted by time: what repeats few operations is
// seen to first.
std::vector<Blocks::Choice> front(std::vector<Blocks::Choice> all, std::span<const Policy* const> policies,
                                  std::size_t most, bool beaten_too) {
  auto sooner = [](const auto& a, const auto& b) { return a.flops != b.flops ? a.flops < b.flops : a.bytes < b.bytes; };
  std::stable_sort(all.begin(), all.end(), sooner);
  std::vector<Blocks::Choice> out;
  for (std::size_t k = 0; k < policies.size(); ++k) {
    std::vector<Blocks::Choice> best;
    for (const Blocks::Choice& c : all)
      if (c.policy == policies[k] && c.flops > 0 && (beaten_too || best.empty() || c.bytes < best.back().bytes))
        best.push_back(c);
    const std::size_t share = (most + policies.size() - 1 - k) / policies.size(), last = smallest(best);
    for (std::size_t i = 0; i < best.size(); ++i)
      if ((i + 1) * share / best.size() > i * share / best.size() || (share > 0 && i == last)) out.push_back(best[i]);
  }
  std::stable_sort(out.begin(), out.end(), sooner);
  return out;
}

}  // namespace

double flops_of(const ir::Program& p, const ir::Eqn& e) {
  const ir::Facts& facts = e.primitive->facts;
  Types in, out;
  for (const ir::Atom& a : e.inputs) in.push_back(p.type(a));
  for (ir::Var v : e.outputs) out.push_back(p.type(v));
  if (facts.flops) return facts.flops(*e.params, in, out);
  return out.empty() ? 0 : facts.flops_per_element * static_cast<double>(out[0].shape.size());
}

std::vector<BlockForm> block_forms(const ir::Program& p, const std::set<std::string>& kept) {
  return block_forms(p, kept, std::min<std::size_t>(6'000 / (p.eqns.size() + 1), 6), false);  // each is lowered
}
std::vector<BlockForm> block_forms(const ir::Program& p, const std::set<std::string>& kept, std::size_t most,
                                   bool beaten_too) {
  if (p.eqns.size() < 8 || most == 0) return {};
  Blocks blocks(p, kept);
  const std::vector<std::vector<int>> groups = plan::block_groups(blocks.graph());
  std::vector<Blocks::Choice> choices;
  std::set<std::vector<char>> known;
  const Policy* const policies[] = {&checkpoint_policies::nothing_saveable,
                                    &checkpoint_policies::dots_with_no_batch_dims_saveable,
                                    &checkpoint_policies::dots_saveable};
  for (const std::vector<int>& group : groups)
    for (const Policy* policy : policies) {
      Blocks::Choice c{&group, policy};
      if (known.insert(blocks.weigh(c)).second) choices.push_back(c);
    }
  std::vector<BlockForm> out;
  for (const Blocks::Choice& c : front(std::move(choices), policies, most, beaten_too)) out.push_back(blocks.form(c));
  return out;
}

}  // namespace anew::passes
