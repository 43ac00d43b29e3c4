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
    if (n.op == "jvp") {
      Arrays t;
      for (const Array& x : in) t.push_back(is_float(x.dtype()) ? cos(x) : x);
      return flat::jvp(f, in, t).second;
    }
    throw std::logic_error("no operation " + n.op);
  }
  // length (where there are no xs), reverse, carries, xs
  static Arrays scan(const Node& n, const FlatFunction& f, const Arrays& in) {
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
    Arrays init(in.begin(), in.begin() + n.params[2]), xs(in.begin() + n.params[2], in.end());
    flat::ScanResult r = flat::scan(body, init, xs, options);
    r.carry.insert(r.carry.end(), r.ys.begin(), r.ys.end());
    return r.carry;
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
