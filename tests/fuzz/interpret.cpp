// Runs a program: nodes in order, nested blocks as closures over what is visible where they stand.
#include <fmt/format.h>

#include <random>

#include "fuzz/program.h"
#include "support/random.h"

namespace anew::fuzz {
namespace {

using namespace checkpoint_policies;

class Interpreter {
 public:
  Interpreter(const Mode& mode, std::size_t values) : mode_(mode), values_(values) {}

  Arrays block(const Block& b, In args) {
    for (std::size_t i = 0; i < b.inputs.size(); ++i) at(b.inputs[i].id) = args[i];
    for (const Node& n : b.nodes) {
      Arrays out = node(n);
      if (out.size() != n.out.size())
        throw std::logic_error(fmt::format("{} gives {} values, not {}", n.op, out.size(), n.out.size()));
      for (std::size_t i = 0; i < out.size(); ++i) at(n.out[i]) = out[i];
    }
    return read(b.outputs);
  }

 private:
  Array& at(Id id) { return values_.at(static_cast<std::size_t>(id)); }
  Arrays read(const std::vector<Id>& ids) {
    Arrays out;
    for (Id id : ids) {
      if (!at(id).value()) throw std::logic_error(fmt::format("value {} is not visible", id));
      out.push_back(at(id));
    }
    return out;
  }
  // A closure: sees the values of now, and keeps what it computes to itself.
  FlatFunction closure(const Block& b) const {
    return [here = *this, &b](In args) {
      Interpreter inner = here;
      return inner.block(b, args);
    };
  }
  Arrays node(const Node& n) {
    Arrays in = read(n.in);
    if (const Operation* f = find_operation(n.op)) return (*f)(in, n.params);
    const FlatFunction f = closure(n.blocks.at(0));
    if (n.op == "checkpoint") {
      if (mode_.plain) return f(in);
      return flat::checkpoint(f, in, mode_.policy ? *mode_.policy : policies().at(index(n.params[0])));
    }
    if (n.op == "jit") return mode_.plain ? f(in) : flat::jit(f, in, {});
    if (n.op == "scan") return scan(n, f, in);
    if (n.op == "while") return loop(n, f, in);
    if (n.op == "fori") return counted(n, f, in);
    if (n.op == "vmap") return vmap(n, f, in);
    if (n.op == "cond") return flat::cond(in[0], f, closure(n.blocks.at(1)), In(in).subspan(1));
    if (n.op == "switch") {
      std::vector<FlatFunction> branches;
      for (const Block& b : n.blocks) branches.push_back(closure(b));
      return flat::switch_(astype(floor(2 * sum(in[0])), i32) + 1, branches, In(in).subspan(1));
    }
    if (n.op.starts_with("custom")) return custom(n, in);
    if (n.op == "jvp") {
      Arrays t;
      for (const Array& x : in) t.push_back(is_float(x.dtype()) ? cos(x) : Array());
      return flat::jvp(f, in, t).second;
    }
    throw std::logic_error("no operation " + n.op);
  }
  // Rules that are derivatives of the block itself, which sees its parameters only: a rule outlives the call, and must
  // not keep what is visible here.
  Arrays custom(const Node& n, const Arrays& in) const {
    FlatFunction f = Interpreter(mode_, values_.size()).closure(n.blocks.at(0));
    if (n.op == "custom_jvp") {
      auto rule = [f](In x, In t) { return flat::jvp(f, x, t); };
      return flat::custom_jvp(f, rule, in);
    }
    flat::VjpRules rules{[f](In x) { return std::pair(f(x), Arrays(x.begin(), x.end())); },
                         [f](In x, In ct) { return flat::linearize(f, x).second.pullback(ct); }};
    return flat::custom_vjp(f, rules, in);
  }
  // length (where there are no xs), reverse, carries, xs
  Arrays scan(const Node& n, const FlatFunction& f, const Arrays& in) const {
    std::size_t c = index(n.params[2]);
    auto body = [&](In carry, In x) {
      Arrays args(carry.begin(), carry.end());
      args.insert(args.end(), x.begin(), x.end());
      Arrays out = f(args);
      return flat::ScanResult{Arrays(out.begin(), out.begin() + n.params[2]),
                              Arrays(out.begin() + n.params[2], out.end())};
    };
    ScanOptions options{.reverse = n.params[1] != 0};
    if (in.size() == c) options.length = n.params[0];
    if (mode_.memory > 0) options.memory = mode_.memory;
    Arrays init(in.begin(), in.begin() + n.params[2]), xs(in.begin() + n.params[2], in.end());
    flat::ScanResult r = flat::scan(body, init, xs, options);
    r.carry.insert(r.carry.end(), r.ys.begin(), r.ys.end());
    return r.carry;
  }
  LoopOptions options(std::int64_t checkpoints) const {
    LoopOptions o;
    if (mode_.memory > 0) o.memory = mode_.memory;
    else if (checkpoints > 0) o.checkpoints = static_cast<int>(checkpoints);
    return o;
  }
  // trips, whether the condition looks at the carry too, checkpoints
  Arrays loop(const Node& n, const FlatFunction& f, const Arrays& in) const {
    Arrays start{array(0, i32)};
    start.insert(start.end(), in.begin(), in.end());
    auto condition = [&](In c) {
      Array more = c[0] < static_cast<int>(n.params[0]);
      return n.params[1] ? logical_and(more, sum(c[1]) < 3) : more;
    };
    auto body = [&](In c) {
      Arrays out = f(c.subspan(1));
      out.insert(out.begin(), c[0] + 1);
      return out;
    };
    Arrays out = flat::while_loop(condition, body, start, options(n.params[2]));
    out.erase(out.begin());
    return out;
  }
  // lo, hi, checkpoints, whether the bounds are arrays; the body's first parameter is the counter as a float
  Arrays counted(const Node& n, const FlatFunction& f, const Arrays& in) const {
    auto body = [&](In c) {
      Arrays args(c.begin(), c.end());
      args[0] = astype(c[0], n.blocks[0].inputs[0].type.dtype) * 0.25;
      return f(args);
    };
    auto bound = [&](std::int64_t k) {
      return n.params[3] ? array(static_cast<int>(k), i32) : Array(static_cast<int>(k));
    };
    return flat::fori_loop(bound(n.params[0]), bound(n.params[1]), body, in, options(n.params[2]));
  }
  // per operand: whether its first axis is mapped
  static Arrays vmap(const Node& n, const FlatFunction& f, const Arrays& in) {
    flat::BatchAxes axes;
    for (std::int64_t mapped : n.params) axes.in.push_back(mapped ? 0 : no_axis);
    return flat::vmap(f, in, axes);
  }
  static std::size_t index(std::int64_t k) { return static_cast<std::size_t>(k); }

  Mode mode_;
  std::vector<Array> values_;
};

}  // namespace

const std::vector<Policy>& policies() {
  static const std::vector<Policy> all = {
      nothing_saveable,
      everything_saveable,
      dots_saveable,
      dots_with_no_batch_dims_saveable,
      save_only_these_names("a"),
      save_any_names_but_these("a"),
      save_anything_except_these_names("a", "b"),
      any_of(dots_saveable, save_only_these_names("b")),
      all_of(not_(dots_saveable), not_(save_only_these_names("a"))),
      not_(save_anything_except_these_names("a")),
      Policy("save cos", [](const PolicyQuery& q) { return q.primitive == "cos" || q.primitive == "tanh"; }),
      Policy("by length of the name", [](const PolicyQuery& q) { return q.primitive.size() % 2 == 0; }),
  };
  return all;
}

const std::vector<Policy>& offloading() {
  static const std::vector<Policy> all = {
      offload_dot_with_no_batch_dims(),
      save_and_offload_only_these_names({.save = {"a"}, .offload = {"b"}}),
      Policy("offload", [](const PolicyQuery&) { return Save::offload; }),
      Policy("three ways", [](const PolicyQuery& q) { return static_cast<Save>(q.primitive.size() % 3); }),
  };
  return all;
}

Arrays run(const Block& b, In inputs, const Mode& mode) {
  return Interpreter(mode, static_cast<std::size_t>(next_id(b))).block(b, inputs);
}
FlatFunction function(const Block& b, const Mode& mode) {
  return [&b, mode](In x) { return run(b, x, mode); };
}
Arrays inputs_of(const Block& b, std::uint64_t seed) {
  test::Random random(seed * 2 + 1);
  Arrays out;
  for (const Parameter& p : b.inputs)
    out.push_back(random.array(p.type, p.type.dtype == i32 ? 0 : -1, p.type.dtype == i32 ? 3 : 1));
  return out;
}

}  // namespace anew::fuzz
