// Running one recorded operation. Besides its figures two promises are held, bit for bit: jit(f) = f, and the pullback
// of checkpoint(f) = the pullback of f. Inputs without a tangent are captured, so closures are exercised too.
#include "golden/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace anew::golden {
namespace {

Arrays arrays_of(const NumbersList& list) {
  Arrays out;
  for (const auto& n : list) out.push_back(n ? to_array(*n) : Array());
  return out;
}

const Numbers* entry(const NumbersList& list, std::size_t i) {
  return i < list.size() && list[i] ? &*list[i] : nullptr;
}

// The operation as a function of those inputs that have a derivative.
struct Differentiable {
  std::vector<std::size_t> which;
  Arrays at;
  FlatFunction f;
};
Differentiable differentiable(const Case& c, const FlatFunction& whole, const Arrays& inputs) {
  Differentiable d;
  for (std::size_t i = 0; i < c.tangents.size(); ++i)
    if (c.tangents[i]) {
      d.which.push_back(i);
      d.at.push_back(inputs.at(i));
    }
  d.f = [=, which = d.which](std::span<const Array> x) {
    Arrays all = inputs;
    for (std::size_t i = 0; i < which.size(); ++i) all[which[i]] = x[i];
    return whole(all);
  };
  return d;
}

bool all_finite(const std::vector<double>& v) {
  return std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); });
}

bool is_left_out(const LeftOut& l, const Case& c, std::size_t i) {
  return c.op == l.op && c.params.run_dtype() == l.dtype && c.inputs.at(0)->data[i] == l.input;
}

// Entries of an array with the shape of the first input that are compared.
std::vector<bool> compared(const Case& c, const Numbers& n) {
  std::vector<bool> counts(n.data.size(), true);
  if (c.inputs.empty() || !(c.inputs[0]->shape == n.shape)) return counts;
  for (const LeftOut& l : left_out())
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (is_left_out(l, c, i)) counts[i] = false;
  return counts;
}

// Where a derivative of a case of category `special` counts: both it and the output that it belongs to are finite.
// A reduced output belongs to the whole line of inputs that it comes from.
std::vector<bool> both_finite(const Case& c, const Numbers& derivative, const Numbers& output) {
  const std::size_t n = derivative.data.size();
  std::vector<bool> counts = compared(c, derivative);
  const bool reduced = derivative.shape.ndim() == 2 && output.shape.ndim() == 1 && c.params.has("axis");
  for (std::size_t i = 0; i < n; ++i) {
    bool finite = false;
    if (derivative.shape == output.shape) {
      finite = std::isfinite(output.data[i]);
    } else if (reduced) {
      const int axis = c.params.ints("axis").at(0);
      const auto width = static_cast<std::size_t>(derivative.shape[1]);
      finite = std::isfinite(output.data[axis == 1 || axis == -1 ? i / width : i % width]);
    } else {
      finite = all_finite(output.data);
    }
    counts[i] = counts[i] && finite && std::isfinite(derivative.data[i]);
  }
  return counts;
}

class Run {
 public:
  Run(const Case& c, const Operation& operation) : c_(c), inputs_(arrays_of(c.inputs)) {
    whole_ = [&c, operation](std::span<const Array> x) { return operation(Arrays(x.begin(), x.end()), c.params); };
  }

  std::vector<std::string> failures() {
    guarded("outputs", [&] { outputs(); });
    guarded("jit", [&] { jit(); });
    if (!c_.tangents.empty()) {
      guarded("jvp", [&] { jvp(); });
      guarded("vjp", [&] { vjp(); });
    }
    return failures_;
  }

 private:
  // A throw fails the part it came from; the other parts still run.
  template <class F>
  void guarded(const std::string& what, F f) {
    try {
      f();
    } catch (const NotDelivered&) {
      throw;
    } catch (const std::exception& e) {
      fail(what, fmt::format("threw: {}", e.what()));
    }
  }
  void fail(const std::string& what, const std::string& why) {
    if (!why.empty()) failures_.push_back(fmt::format("{}: {}", what, why));
  }
  bool same_count(const std::string& what, std::size_t got, std::size_t wanted) {
    if (got != wanted) fail(what, fmt::format("{} arrays, wanted {}", got, wanted));
    return got == wanted;
  }

  void outputs() {
    eager_ = whole_(inputs_);
    if (const std::string key = c_.params.ignored(); !key.empty()) throw NotDelivered(c_.op + " with " + key);
    if (!same_count("outputs", eager_.size(), c_.outputs.size())) return;
    for (std::size_t i = 0; i < eager_.size(); ++i) {
      const std::vector<bool> counts = compared(c_, *c_.outputs[i]);
      fail(fmt::format("output {}", i),
           difference(*c_.outputs[i], eager_[i], c_.rule, entry(c_.f32_outputs, i), &counts));
    }
  }

  void jit() {
    const Arrays compiled = flat::jit(whole_, inputs_, flat::JitCache());
    same_bits("jit(f) and f", compiled, eager_);
  }

  void jvp() {
    const Differentiable d = differentiable(c_, whole_, inputs_);
    Arrays tangents;
    for (std::size_t i : d.which) tangents.push_back(to_array(*c_.tangents[i]));
    const auto [y, dy] = flat::jvp(d.f, d.at, tangents);
    same_bits("value of jvp(f) and f", y, eager_);
    if (!same_count("jvp", dy.size(), c_.jvp.size())) return;
    for (std::size_t i = 0; i < dy.size(); ++i)
      if (c_.jvp[i]) derivative(fmt::format("jvp {}", i), *c_.jvp[i], dy[i], entry(c_.f32_jvp, i), i);
  }

  void vjp() {
    const Differentiable d = differentiable(c_, whole_, inputs_);
    const Arrays cotangents = arrays_of(c_.cotangents);
    const auto [y, linear] = flat::linearize(d.f, d.at);
    same_bits("value of vjp(f) and f", y, eager_);
    const Arrays got = linear.pullback(cotangents);
    if (!same_count("vjp", got.size(), d.which.size())) return;
    for (std::size_t k = 0; k < got.size(); ++k) {
      const std::size_t i = d.which[k];
      if (c_.vjp.at(i)) derivative(fmt::format("vjp {}", i), *c_.vjp[i], got[k], entry(c_.f32_vjp, i), 0);
    }
    FlatFunction checkpointed = [&](std::span<const Array> x) {
      return flat::checkpoint(d.f, x, checkpoint_policies::nothing_saveable);
    };
    const auto [again, recomputing] = flat::linearize(checkpointed, d.at);
    same_bits("checkpoint(f) and f", again, eager_);
    same_bits("vjp of checkpoint(f) and of f", recomputing.pullback(cotangents), got);
  }

  void derivative(const std::string& what, const Numbers& wanted, const Array& got, const Numbers* either,
                  std::size_t output) {
    Rule rule = c_.rule;
    rule.signed_zeros = false;
    if (rule.kind == Rule::Kind::element) rule.kind = Rule::Kind::slope;
    const std::vector<bool> counts =
        c_.category == "special" ? both_finite(c_, wanted, *c_.outputs.at(output)) : compared(c_, wanted);
    fail(what, difference(wanted, got, rule, either, &counts));
  }

  void same_bits(const std::string& what, const Arrays& a, const Arrays& b) {
    if (!same_count(what, a.size(), b.size())) return;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::string why = bit_difference(a[i], b[i]);
      if (!why.empty()) fail(what, fmt::format("bits of {} differ, {}", i, why));
    }
  }

  const Case& c_;
  FlatFunction whole_;
  Arrays inputs_, eager_;
  std::vector<std::string> failures_;
};

}  // namespace

Case parse_case(const Json& json) {
  const Json params = json.value("params", Json::object()), in_f32 = json.value("jax_f32", Json::object());
  const std::string category = json.at("category"), op = json.at("op");
  Rule rule;
  if (json.contains("tol")) {
    rule.tol = json.at("tol");
    rule.kind = json.at("tol_rule") == "array" ? Rule::Kind::array : Rule::Kind::element;
  }
  rule.signed_zeros = category == "special" && op != "maximum" && op != "minimum" && op != "sort";
  return {.id = json.at("id"),
          .category = category,
          .op = op,
          .note = json.value("note", ""),
          .params = Params(params, json.value("jax", ""), parse_dtype(json.at("dtype"))),
          .rule = rule,
          .inputs = parse_list(json, "inputs"),
          .outputs = parse_list(json, "outputs"),
          .tangents = parse_list(json, "tangents"),
          .jvp = parse_list(json, "jvp"),
          .cotangents = parse_list(json, "cotangents"),
          .vjp = parse_list(json, "vjp"),
          .f32_outputs = parse_list(in_f32, "outputs"),
          .f32_jvp = parse_list(in_f32, "jvp"),
          .f32_vjp = parse_list(in_f32, "vjp")};
}

const std::vector<LeftOut>& left_out() {
  static const std::vector<LeftOut> entries{
      {"exp2", f64, 1024, "2^1024 is past the largest f64; the recorded finite figure is that of exp(x ln 2)"},
      {"gather", f64, -1.3559396774347152,
       "an index out of bounds reads the last element, so its cotangent goes there; the recorded vjp drops it"},
  };
  return entries;
}

std::size_t entries_of(const LeftOut& entry, const Case& c) {
  std::size_t n = 0;
  if (!c.inputs.empty())
    for (std::size_t i = 0; i < c.inputs[0]->data.size(); ++i) n += is_left_out(entry, c, i);
  return n;
}

std::vector<std::string> run_case(const Case& c, const Operation& operation) { return Run(c, operation).failures(); }

}  // namespace anew::golden
