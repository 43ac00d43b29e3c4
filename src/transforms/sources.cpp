// Which values to keep is a choice in a forest: a value stands below the one that it shows. Whatever is read must be
// kept or stand below something that is; of the ways to do that the one of the fewest bytes is taken, the higher of two
// equals.
#include "transforms/sources.h"

#include <algorithm>
#include <map>

namespace anew {
namespace {

struct Node {
  Array value;
  int source = -1;        // the node that it shows; -1: none
  bool free = false;      // a number, or made of nothing but params: need not be kept at all
  int residual = -1;      // place among the residuals, if it is read
  std::size_t least = 0;  // bytes that must be kept for it and all below it
  std::size_t below = 0;  // the same if it is not kept itself
  bool covered = false;   // it is kept, or what it shows is covered
  bool kept = false;
  ir::Var var = -1;
};

class Forest {
 public:
  explicit Forest(const Arrays& residuals) {
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      Node& n = nodes_[static_cast<std::size_t>(add(residuals[i]))];
      if (n.residual < 0) n.residual = static_cast<int>(i);
    }
    choose();
  }
  std::vector<Node>& nodes() { return nodes_; }
  int find(const Array& x) const { return at_.at(identity(x)); }

 private:
  // A number of another type, such as the index of a branch, is kept as it is.
  static bool worth_it(const Array& x) {
    const Array& source = x.value()->origin.source;
    return !source.value() || type_of(x).shape.ndim() > 0 || type_of(x).dtype == type_of(source).dtype;
  }
  // What a node shows comes before it.
  int add(const Array& x) {
    if (auto it = at_.find(identity(x)); it != at_.end()) return it->second;
    const Origin& o = x.value()->origin;
    Node n{.value = x};
    n.free = x.value()->literal;
    const bool shows = !n.free && o.remakes && worth_it(x);
    if (shows && o.source.value()) n.source = add(o.source);
    if (shows && !o.source.value()) n.free = true;
    int place = static_cast<int>(nodes_.size());
    nodes_.push_back(n);
    at_.emplace(identity(x), place);
    return place;
  }
  void choose() {
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      Node& n = nodes_[i];
      std::size_t bytes = n.free ? 0 : type_of(n.value).bytes();
      n.least = n.residual >= 0 || bytes <= n.below ? bytes : n.below;
      n.kept = n.residual >= 0 || bytes <= n.below;
      if (n.source >= 0) nodes_[static_cast<std::size_t>(n.source)].below += n.least;
    }
    for (Node& n : nodes_) {
      bool above = n.source >= 0 && nodes_[static_cast<std::size_t>(n.source)].covered;
      n.kept = n.kept && !above;
      n.covered = n.kept || above;
    }
  }

  std::vector<Node> nodes_;
  std::map<Identity, int> at_;
};

// The variable `from` of p becomes `to`.
void rename(ir::Program& p, ir::Var from, ir::Var to) {
  auto rename_in = [&](std::vector<ir::Atom>& atoms) {
    for (ir::Atom& a : atoms)
      if (a.is_var() && a.var == from) a = to;
  };
  for (ir::Eqn& e : p.eqns) rename_in(e.inputs);
  rename_in(p.outputs);
}

// The equation that makes n again from what it shows, of which there is a variable already.
ir::Eqn make_again(const Node& n, const std::vector<Node>& nodes) {
  const Origin& o = n.value.value()->origin;
  ir::Eqn e{o.primitive, o.params, {}, {n.var}, o.at, o.rule_of};
  if (n.source >= 0) {
    const Node& from = nodes[static_cast<std::size_t>(n.source)];
    e.inputs.push_back(from.value.value()->literal ? ir::Atom(literal_of(from.value)) : ir::Atom(from.var));
  }
  return e;
}

// p with these equations, by the variables they make, each before its first reader.
using Makes = std::map<ir::Var, ir::Eqn>;
void insert_before_readers(ir::Program& p, Makes makes) {
  std::vector<ir::Eqn> eqns;
  auto make = [&](const ir::Atom& a, auto&& self) -> void {
    auto it = a.is_var() ? makes.find(a.var) : makes.end();
    if (it == makes.end()) return;
    ir::Eqn e = std::move(it->second);
    makes.erase(it);
    for (const ir::Atom& in : e.inputs) self(in, self);
    eqns.push_back(std::move(e));
  };
  for (ir::Eqn& e : p.eqns) {
    for (const ir::Atom& a : e.inputs) make(a, make);
    eqns.push_back(std::move(e));
  }
  for (const ir::Atom& a : p.outputs) make(a, make);
  p.eqns = std::move(eqns);
}

}  // namespace

void keep_sources(ir::Program& p, std::vector<ir::Var>& vars, Arrays& residuals) {
  if (std::none_of(residuals.begin(), residuals.end(), [](const Array& x) { return x.value()->origin.remakes; }))
    return;
  Forest forest(residuals);
  std::vector<Node>& nodes = forest.nodes();
  for (Node& n : nodes)
    if (n.residual >= 0) n.var = vars[static_cast<std::size_t>(n.residual)];

  // Kept values take the place of the first residual that needs them.
  std::vector<ir::Var> kept_vars;
  Arrays kept;
  Makes makes;
  std::vector<bool> placed(nodes.size());
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const int place = forest.find(residuals[i]);
    std::vector<std::size_t> chain;  // from the residual up to what is kept or free
    for (int k = place;; k = nodes[chain.back()].source) {
      chain.push_back(static_cast<std::size_t>(k));
      if (nodes[chain.back()].kept || nodes[chain.back()].free) break;
    }
    for (auto k = chain.rbegin(); k != chain.rend(); ++k) {
      Node& n = nodes[*k];
      const bool literal = n.value.value()->literal;
      if (n.var < 0 && !literal) {
        n.var = static_cast<ir::Var>(p.types.size());
        p.types.push_back(type_of(n.value));
      }
      if (n.kept && !n.free) {
        if (!placed[*k]) kept_vars.push_back(n.var), kept.push_back(n.value);
        placed[*k] = true;
      } else if (!literal) {
        makes.emplace(n.var, make_again(n, nodes));
      }
    }
    // Two handles of one value: the second variable becomes the first.
    const ir::Var var = nodes[static_cast<std::size_t>(place)].var;
    if (var != vars[i]) rename(p, vars[i], var);
  }
  vars = std::move(kept_vars);
  residuals = std::move(kept);
  if (!makes.empty()) insert_before_readers(p, std::move(makes));
}

}  // namespace anew
