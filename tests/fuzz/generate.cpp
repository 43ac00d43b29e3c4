// Random well-typed programs. Operands are chosen among what is visible, recent values more often, and values are used
// again and again, so that cotangents meet; types of results are asked from the library (eval_shape). The same seed
// gives the same program on every machine.
#include <algorithm>
#include <map>
#include <random>

#include "fuzz/program.h"

namespace anew::fuzz {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const Limits& limits) : engine_(seed * 0x9E3779B97F4A7C15u + 1), limits_(limits) {}

  Block program() {
    dtype_ = chance(50) ? f64 : f32;
    Block b;
    for (int n = 1 + below(4); n-- > 0;) b.inputs.push_back({fresh(type(shape())), {}});
    for (Parameter& p : b.inputs) p.type = types_[index(p.id)];
    Scope scope;
    for (const Parameter& p : b.inputs) scope.push_back(p.id);
    fill(b, scope, 3 + below(limits_.nodes), 0);
    // What nobody reads is a result, and one or two other values.
    for (int n = 1 + below(2); n-- > 0;) b.outputs.push_back(recent(scope));
    for (Id id : scope)
      if (!read_[index(id)] && active_[index(id)] && b.outputs.size() < 6) b.outputs.push_back(id);
    return b;
  }

 private:
  using Scope = std::vector<Id>;

  int below(int n) { return n <= 0 ? 0 : static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  static std::size_t index(Id id) { return static_cast<std::size_t>(id); }
  const ShapeDtype& of(Id id) const { return types_[index(id)]; }
  bool real(Id id) const { return is_float(of(id).dtype); }
  Id fresh(ShapeDtype t) {  // by value: it may be one of types_
    types_.push_back(t);
    active_.push_back(is_float(t.dtype));
    read_.push_back(false);
    return static_cast<Id>(types_.size()) - 1;
  }
  ShapeDtype type(const Shape& s) const { return {s, dtype_}; }
  std::int64_t size() {
    const std::int64_t n = chance(4) ? 0 : 1 + below(4);
    return n > 1 ? n * limits_.scale : n;
  }
  Shape shape() {
    Shape s;
    for (int n = below(4); n-- > 0;) s.push_back(size());
    return s;
  }

  // A value of the program's dtype; there always is one. Mostly one that depends on an input, and one that nobody reads
  // yet: what is computed should matter.
  Id recent(const Scope& scope) {
    bool fresh_one = chance(60), any = chance(8);
    for (int tries = 0; tries < 60; ++tries) {
      int n = static_cast<int>(scope.size()), back = std::min(below(n), below(n));
      Id id = scope[static_cast<std::size_t>(n - 1 - back)];
      if (!real(id) || (!any && !active_[index(id)] && tries < 40)) continue;
      if (!fresh_one || !read_[index(id)] || tries > 20) return id;
    }
    return *std::find_if(scope.begin(), scope.end(), [&](Id id) { return real(id); });
  }
  // A value with a property, or none (-1).
  template <class F>
  Id some(const Scope& scope, F good) {
    Scope all;
    std::copy_if(scope.begin(), scope.end(), std::back_inserter(all), good);
    return all.empty() ? -1 : all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  }
  Id same_type(const Scope& scope, Id like) {
    return some(scope, [&](Id id) { return of(id) == of(like); });
  }

  // Adds a node if it has a type and is not too large; says whether it did.
  bool add(Block& b, Scope& scope, std::string op, Params params, std::vector<Id> in) {
    const Operation& f = *find_operation(op);
    Arrays like, out;
    for (Id id : in) like.push_back(zeros(of(id).shape, of(id).dtype));
    try {
      out = flat::eval_shape([&](In x) { return f(x, params); }, like);
    } catch (const Error&) {
      return false;  // shapes that do not fit: another choice
    }
    Node n{std::move(op), std::move(params), std::move(in), {}, {}};
    for (const Array& y : out) {
      if (y.size() > most_elements_ || y.ndim() > 4) return false;
      n.out.push_back(fresh(y.type()));
    }
    push(b, scope, std::move(n));
    return true;
  }
  void push(Block& b, Scope& scope, Node n) {
    bool active = false;
    for (Id id : n.in) {
      active = active || active_[index(id)];
      read_[index(id)] = true;
    }
    // Parameters of a block count as inputs of their own; what it returns tells whether they matter.
    for (const Block& inner : n.blocks)
      for (Id id : inner.outputs) active = active || active_[index(id)];
    for (Id id : n.out) active_[index(id)] = active && n.op != "stop" && real(id);
    scope.insert(scope.end(), n.out.begin(), n.out.end());
    b.nodes.push_back(std::move(n));
  }

  void fill(Block& b, Scope& scope, int nodes, int depth) {
    for (int made = 0, tries = 0; made < nodes && tries < 10 * nodes; ++tries) {
      bool ok = depth < limits_.depth && chance(22) ? nested(b, scope, depth) : first_order(b, scope);
      made += ok;
    }
  }

  bool first_order(Block& b, Scope& scope) {
    Id x = recent(scope);
    const Shape s = of(x).shape;
    int nd = s.ndim();
    auto axis = [&] { return below(nd); };
    switch (below(12)) {
      case 0:
      case 1:
      case 2: {
        static const std::vector<std::string> ops = {"sin",     "cos",    "tanh", "neg",   "exp",  "log",
                                                     "sqrt",    "square", "cube", "recip", "abs",  "relu",
                                                     "sigmoid", "gelu",   "erf",  "atan",  "stop", "copy"};
        return add(b, scope, pick(ops), {}, {x});
      }
      case 3: return add(b, scope, chance(50) ? "scale" : "shift", {below(13) - 6}, {x});
      case 4: return add(b, scope, "name", {below(3)}, {x});
      case 5:
      case 6:
      case 7: {
        static const std::vector<std::string> ops = {"add", "sub", "mul", "mul", "add", "div", "max", "min", "atan2"};
        std::string op = pick(ops);
        Id y = recent(scope);
        if (chance(10)) y = x;
        return chance(50) ? add(b, scope, op, {}, {x, y}) : add(b, scope, op, {}, {y, x});
      }
      case 8: {
        static const std::vector<std::string> ops = {"sum", "sum", "mean", "amax", "amin", "prod", "logsumexp"};
        std::string op = pick(ops);
        if (op != "sum" && op != "prod" && s.size() == 0) return false;
        return add(b, scope, op, {chance(30) ? -1 : nd == 0 ? -1 : axis(), chance(30)}, {x});
      }
      case 9: {
        if (limits_.attention && chance(50)) return attend(b, scope, x);
        static const std::vector<std::string> ops = {"matmul", "matmul_t", "matmul", "outer", "vdot"};
        std::string op = pick(ops);
        Id y = some(scope, [&](Id id) {
          const Shape& t = of(id).shape;
          if (!real(id)) return false;
          if (op == "matmul") return nd > 0 && t.ndim() > 0 && s[-1] == (t.ndim() == 1 ? t[0] : t[-2]);
          if (op == "matmul_t") return nd > 0 && t.ndim() > 1 && s[-1] == t[-1];
          return op == "outer" ? s.size() * t.size() < most_elements_ : s.size() == t.size();
        });
        return y >= 0 && add(b, scope, op, {}, {x, y}) &&
               (!limits_.attention || chance(60) || part(b, scope, scope.back(), 0));
      }
      case 10: return chance(70) ? arrange(b, scope, x) : read_along(b, scope, x);
      default: return choose(b, scope, x);
    }
  }
  // Attention: rows of x ask rows of others like it, in a batch of them; what lies between may be seen by others too.
  bool attend(Block& b, Scope& scope, Id x) {
    if (of(x).shape.ndim() < 2 || of(x).shape.size() == 0) return false;
    while (of(x).shape.ndim() < 3 || (of(x).shape.ndim() < 4 && chance(50))) {
      if (!add(b, scope, "spread", {2 + below(3)}, {x})) return false;
      x = scope.back();
    }
    const Id keys = same_type(scope, x), values = same_type(scope, x);
    if (!add(b, scope, "matmul_t", {}, {x, keys})) return false;
    if (chance(50)) add(b, scope, "scale", {1 + below(6)}, {scope.back()});
    if (chance(30)) add(b, scope, "tril", {}, {scope.back()});
    if (!add(b, scope, "softmax", {-1}, {scope.back()}) || !add(b, scope, "matmul", {}, {scope.back(), values}))
      return false;
    const Id y = scope.back();
    if (chance(50)) add(b, scope, "transpose", of(y).shape.ndim() == 3 ? Params{1, 0, 2} : Params{0, 2, 1, 3}, {y});
    return true;
  }
  // A part of x along an axis.
  bool part(Block& b, Scope& scope, Id x, int axis) {
    const Shape s = of(x).shape;
    if (s.ndim() == 0) return false;
    const auto n = static_cast<int>(s[axis]), lo = below(n + 1), hi = lo + below(n - lo + 1);
    return add(b, scope, "slice", {axis, lo, hi, 1 + below(2)}, {x});
  }
  const std::string& pick(const std::vector<std::string>& ops) {
    return ops[static_cast<std::size_t>(below(static_cast<int>(ops.size())))];
  }

  // Other shapes of the same elements, parts, and several arrays in one.
  bool arrange(Block& b, Scope& scope, Id x) {
    const Shape s = of(x).shape;
    int nd = s.ndim(), axis = below(nd);
    switch (below(14)) {
      case 0: {
        Shape to;
        for (std::int64_t d : s)
          if (d > 0 && chance(50)) to.push_back(d);
          else if (to.ndim() == 0) to.push_back(d);
          else to[-1] *= d;
        return add(b, scope, "reshape", Params(to.begin(), to.end()), {x});
      }
      case 1: return add(b, scope, "ravel", {}, {x});
      case 2: {
        Params p;
        for (int i = 0; i < nd; ++i) p.insert(p.begin() + below(i + 1), i);
        return add(b, scope, "transpose", p, {x});
      }
      case 3: return add(b, scope, "expand", {below(nd + 1)}, {x});
      case 4: return add(b, scope, "squeeze", {}, {x});
      case 5: return add(b, scope, "spread", {size()}, {x});
      case 6: return nd > 0 && s[0] > 0 && add(b, scope, "index", {below(static_cast<int>(2 * s[0])) - s[0]}, {x});
      case 7: return part(b, scope, x, axis);
      case 8: return nd > 0 && add(b, scope, "flip", {axis}, {x});
      case 9: return nd > 0 && add(b, scope, "roll", {below(5) - 2, axis}, {x});
      case 10: return nd > 0 && add(b, scope, "pad", {axis, below(3) - 1, below(3) - 1, below(2)}, {x});
      case 11: {
        Id y = same_type(scope, x), z = same_type(scope, x);
        if (nd > 0 && chance(50)) return add(b, scope, "concat", {axis}, {x, y, z});
        return add(b, scope, "stack", {below(nd + 1)}, {x, y});
      }
      case 12: return nd > 0 && add(b, scope, "split", {axis, below(static_cast<int>(s[axis]) + 1)}, {x});
      default: return nd > 1 && add(b, scope, "tril", {}, {x});
    }
  }

  // Along one axis: sorted, running, at places.
  bool read_along(Block& b, Scope& scope, Id x) {
    const Shape s = of(x).shape;
    if (s.ndim() == 0 || s.size() == 0) return false;
    static const std::vector<std::string> ops = {"sort", "cumsum", "cumprod", "cummax", "take", "largest", "put"};
    std::string op = pick(ops);
    int axis = below(s.ndim());
    if (op == "largest") return add(b, scope, op, {axis}, {x});
    if (op != "take" && op != "put") return add(b, scope, op, {axis, chance(40)}, {x});
    if (op == "put") axis = 0;
    Params places{axis};
    for (int n = 1 + below(3); n-- > 0;) places.push_back(below(static_cast<int>(s[axis])));
    if (op == "take") return add(b, scope, op, places, {x});
    return add(b, scope, op, places, {x, recent(scope)});
  }

  // What compares, what chooses, what starts anew.
  bool choose(Block& b, Scope& scope, Id x) {
    switch (below(7)) {
      case 0: return add(b, scope, "less", {}, {x, recent(scope)});
      case 1: return add(b, scope, "positive", {}, {x});
      case 2:
      case 3: {
        Id p = some(scope, [&](Id id) { return of(id).dtype == bool_; });
        return p >= 0 && add(b, scope, "where", {}, {p, x, recent(scope)});
      }
      case 4: return of(x).shape.ndim() > 0 && of(x).shape.size() > 0 && add(b, scope, "softmax", {-1}, {x});
      case 5: {
        Params p{below(9), dtype_ == f64};
        for (std::int64_t d : of(x).shape) p.push_back(d);
        return add(b, scope, chance(70) ? "constant" : "zeros", p, {});
      }
      default: return add(b, scope, "number", {below(9) - 4, dtype_ == f64}, {});
    }
  }

  // A block over parameters of given types, which sees the scope as well (unless it is closed).
  Block body(const Scope& scope, const std::vector<ShapeDtype>& types, int nodes, int depth, Scope* inside) {
    Block b;
    *inside = scope;
    for (const ShapeDtype& t : types) {
      b.inputs.push_back({fresh(t), t});
      inside->push_back(b.inputs.back().id);
    }
    fill(b, *inside, nodes, depth + 1);
    return b;
  }
  std::vector<Id> operands(const Scope& scope, int least) {
    std::vector<Id> in;
    for (int n = least + below(3); n-- > 0;)
      in.push_back(chance(90) ? recent(scope) : some(scope, [](Id) { return true; }));
    return in;
  }
  std::vector<ShapeDtype> types_of(const std::vector<Id>& ids) const {
    std::vector<ShapeDtype> out;
    for (Id id : ids) out.push_back(of(id));
    return out;
  }
  int few() { return 1 + below(5); }

  bool nested(Block& b, Scope& scope, int depth) {
    switch (below(13)) {
      case 0:
      case 1:
      case 2:
      case 3: return call(b, scope, "checkpoint", {below(static_cast<int>(policies().size()))}, depth);
      case 4: return call(b, scope, chance(70) ? "jit" : "jvp", {}, depth);
      case 5: return call(b, scope, forward_ || chance(50) ? "custom_jvp" : "custom_vjp", {}, depth);
      case 6: return loop(b, scope, depth);
      case 7: return vmap(b, scope, depth);
      case 8:
      case 9: return branches(b, scope, depth);
      default: return scan(b, scope, depth);
    }
  }

  bool call(Block& b, Scope& scope, std::string op, Params params, int depth) {
    bool derivative = op == "jvp", closed = op.starts_with("custom");
    Node n{std::move(op), std::move(params), operands(scope, derivative || closed ? 1 : 0), {}, {}};
    if (closed) n.in[0] = recent(scope);
    Scope inside;
    const bool before = forward_;
    forward_ = forward_ || derivative || n.op == "custom_jvp";
    n.blocks.push_back(body(closed ? Scope{} : scope, types_of(n.in), few(), depth, &inside));
    forward_ = before;
    for (int k = 1 + below(2); k-- > 0;) {
      // Mostly what was made inside; now and then a captured value or a parameter as it is.
      Id y = chance(50) ? inside.back() : recent(inside);
      if (!active_[index(y)] || (derivative && !real(y))) y = recent(inside);
      n.blocks[0].outputs.push_back(y);
      read_[index(y)] = true;
      n.out.push_back(fresh(of(y)));
    }
    push(b, scope, std::move(n));
    return true;
  }

  bool scan(Block& b, Scope& scope, int depth) {
    std::vector<Id> carry, xs;
    for (int k = below(3); k-- > 0;) carry.push_back(recent(scope));
    std::int64_t length = chance(10) ? below(2) : 1 + below(4);
    for (int k = below(3); k-- > 0;) {
      Id x = some(scope, [&](Id id) {
        const Shape& s = of(id).shape;
        return s.ndim() > 0 && (xs.empty() ? s[0] < 6 : s[0] == length);
      });
      if (x < 0) break;
      length = of(x).shape[0];
      xs.push_back(x);
    }
    std::vector<ShapeDtype> types = types_of(carry);
    for (Id x : xs) {
      ShapeDtype t = of(x);
      t.shape.erase(0);
      types.push_back(t);
    }
    Node n{"scan",
           {length, chance(40), static_cast<std::int64_t>(carry.size()), static_cast<std::int64_t>(xs.size())},
           carry,
           {},
           {}};
    n.in.insert(n.in.end(), xs.begin(), xs.end());
    Scope inside;
    Block inner = body(scope, types, few(), depth, &inside);
    carry_on(inner, inside, 0, carry.size());
    for (Id c : carry) n.out.push_back(fresh(of(c)));
    for (int k = below(3); k-- > 0;) {
      Id y = chance(80) ? recent(inside) : some(inside, [](Id) { return true; });
      ShapeDtype t = of(y);
      t.shape.insert(0, length);
      if (t.shape.ndim() > 4 || t.shape.size() > most_elements_) continue;
      inner.outputs.push_back(y);
      read_[index(y)] = true;
      n.out.push_back(fresh(t));
    }
    if (n.out.empty()) return false;
    n.blocks.push_back(std::move(inner));
    push(b, scope, std::move(n));
    return true;
  }

  // New carries: something of the type, the carry itself otherwise; made tame, for loops repeat.
  void carry_on(Block& inner, Scope& inside, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      Id c = inner.inputs[i].id, y = some(inside, [&](Id id) { return of(id) == of(c) && id > c; });
      if (y >= 0 && chance(85)) c = y;
      if (chance(80) && add(inner, inside, chance(50) ? "sin" : "tanh", {}, {c})) c = inside.back();
      inner.outputs.push_back(c);
    }
  }
  bool loop(Block& b, Scope& scope, int depth) {
    bool counted = chance(50);
    Node n{counted ? "fori" : "while", {}, {}, {}, {}};
    for (int k = 1 + below(2); k-- > 0;) n.in.push_back(recent(scope));
    std::vector<ShapeDtype> types = types_of(n.in);
    if (counted) types.insert(types.begin(), type({}));
    if (counted) n.params = {below(2), below(5), chance(60) ? 0 : 1 + below(3), chance(30)};
    else n.params = {below(6), chance(40), chance(60) ? 0 : 1 + below(3)};
    Scope inside;
    n.blocks.push_back(body(scope, types, few(), depth, &inside));
    carry_on(n.blocks[0], inside, counted, types.size());
    for (Id id : n.in) n.out.push_back(fresh(of(id)));
    push(b, scope, std::move(n));
    return true;
  }

  bool vmap(Block& b, Scope& scope, int depth) {
    std::int64_t length = -1;
    Node n{"vmap", {}, {}, {}, {}};
    std::vector<ShapeDtype> types;
    for (int k = 1 + below(3); k-- > 0;) {
      Id x = some(scope, [&](Id id) {
        const Shape& s = of(id).shape;
        return s.ndim() > 0 && (length < 0 || s[0] == length);
      });
      if (x < 0 || (length >= 0 && chance(30))) x = recent(scope);
      ShapeDtype t = of(x);
      bool mapped = t.shape.ndim() > 0 && (length < 0 || (t.shape[0] == length && chance(70)));
      if (mapped) {
        length = t.shape[0];
        t.shape.erase(0);
      }
      n.in.push_back(x);
      n.params.push_back(mapped);
      types.push_back(t);
    }
    if (length < 0) return false;
    Scope inside;
    Block inner = body(scope, types, few(), depth, &inside);
    for (int k = 1 + below(2); k-- > 0;) {
      Id y = recent(inside);
      ShapeDtype t = of(y);
      t.shape.insert(0, length);
      if (t.shape.ndim() > 4 || t.shape.size() > most_elements_) return false;
      inner.outputs.push_back(y);
      n.out.push_back(fresh(t));
    }
    n.blocks.push_back(std::move(inner));
    push(b, scope, std::move(n));
    return true;
  }

  // cond and switch: results have types of visible values, so that every branch has something to return.
  bool branches(Block& b, Scope& scope, int depth) {
    bool two = chance(70);
    Node n{two ? "cond" : "switch", {}, {}, {}, {}};
    if (two) {
      Id p = some(scope, [&](Id id) { return of(id).dtype == bool_ && of(id).shape.ndim() == 0; });
      if (p < 0 && !add(b, scope, "positive", {}, {recent(scope)})) return false;
      n.in.push_back(p < 0 ? scope.back() : p);
    } else {
      n.in.push_back(recent(scope));
    }
    std::vector<Id> args = operands(scope, 0), like;
    n.in.insert(n.in.end(), args.begin(), args.end());
    for (int k = 1 + below(2); k-- > 0;) {
      like.push_back(recent(scope));
      n.out.push_back(fresh(of(like.back())));
    }
    for (int k = two ? 2 : 1 + below(3); k-- > 0;) {
      Scope inside;
      Block inner = body(scope, types_of(args), 1 + below(4), depth, &inside);
      for (Id wanted : like) {
        Id y = some(inside, [&](Id id) { return of(id) == of(wanted) && id > n.out.back(); });
        inner.outputs.push_back(y < 0 || chance(10) ? wanted : y);
        if (y < 0 && chance(60) && add(inner, inside, "sin", {}, {wanted})) inner.outputs.back() = inside.back();
      }
      n.blocks.push_back(std::move(inner));
    }
    push(b, scope, std::move(n));
    return true;
  }

  std::mt19937_64 engine_;
  Limits limits_;
  const std::int64_t most_elements_ = 160 * limits_.scale * limits_.scale;
  DType dtype_ = f32;
  bool forward_ = false;             // inside of what is differentiated forward, where a custom_vjp has no place
  std::vector<ShapeDtype> types_;    // of every value,
  std::vector<bool> active_, read_;  // whether it depends on an input, whether anybody reads it
};

}  // namespace

Block generate(std::uint64_t seed, const Limits& limits) { return Generator(seed, limits).program(); }

}  // namespace anew::fuzz
