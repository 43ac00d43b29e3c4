// scan: carry and stacked outputs of a body applied along the leading axis (spec/checkpoint.md part 3).
#include "control/scan.h"

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "base/stop.h"
#include "control/carry.h"
#include "control/loop.h"
#include "control/signature.h"

namespace anew {
namespace {

const ScanParams& of(const ParamsRef& p) { return static_cast<const ScanParams&>(*p); }

Types infer_scan(const ir::InferArgs& a) {
  const auto& p = static_cast<const ScanParams&>(a.params);
  auto fit = [&](bool ok, std::string_view what) { require_fit(ok, "scan", what, a.at); };
  auto [want, out] = signature_of("scan", "the body", p.program, a.at);
  require_groups("scan", {p.constants, p.carries}, a.in.size(), a.at);
  const auto k = static_cast<std::size_t>(p.constants), c = static_cast<std::size_t>(p.carries);
  fit(p.length >= 0 && p.unroll >= 0, "a length or unroll is negative");
  fit(want.size() == a.in.size() && out.size() >= c, "operands do not fit the body");
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(a.in[i] == (i < k + c ? want[i] : stacked(want[i], p.length))))
      fit(false, fmt::format("operand {} is {}, the body takes {}", i, a.in[i].str(), want[i].str()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i >= c) out[i] = stacked(out[i], p.length);
    else fit(out[i] == want[k + i], "a carry changes its type");
  }
  return std::move(out);
}

Arrays run_scan(const ParamsRef& params, std::span<const Array> x, const Location& at) {
  const ScanParams& p = of(params);
  auto k = static_cast<std::size_t>(p.constants), c = static_cast<std::size_t>(p.carries);
  Arrays in(x.begin(), x.end()),
      out(x.begin() + static_cast<std::ptrdiff_t>(k), x.begin() + static_cast<std::ptrdiff_t>(k + c));
  Types types = p.program->output_types();
  for (std::size_t i = c; i < types.size(); ++i) out.push_back(empty_array(stacked(types[i], p.length), at));
  for (std::int64_t step = 0; step < p.length; ++step) {
    check_stop("scan", step, at);
    std::int64_t at_step = p.reverse ? p.length - 1 - step : step;
    for (std::size_t i = 0; i < c; ++i) in[k + i] = std::move(out[i]);
    for (std::size_t i = k + c; i < x.size(); ++i) in[i] = row_of(x[i], at_step);
    Arrays made = evaluate(*p.program, in);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i < c) {
        out[i] = std::move(made[i]);
        continue;
      }
      write_row(out[i], at_step, made[i]);
    }
  }
  return out;
}

}  // namespace

Array row_of(const Array& stack, std::int64_t i) {
  const Value& v = *stack.value();
  Type t{v.type.shape, v.type.dtype};
  t.shape.erase(0);
  ir::Strides strides = v.strides;
  strides.erase(0);
  return make_concrete(t, v.buffer, v.offset + i * v.strides[0], strides);
}

void write_row(const Array& stack, std::int64_t i, const Array& y) {
  Array dense = contiguous(y);
  if (std::size_t bytes = type_of(y).bytes())
    std::memcpy(stack.value()->buffer->data() + static_cast<std::size_t>(i) * bytes, dense.value()->data(), bytes);
}

Type stacked(const Type& t, std::int64_t length) {
  Type s = t;
  s.shape.insert(0, length);
  return s;
}

const ir::Primitive& scan_row() {
  static const ir::Primitive& row = *new ir::Primitive{
      .name = "scan",
      .infer = infer_scan,
      .parse = &ScanParams::parse,
      .batch = batch_scan,
      .run = run_scan,
      .nested_jvp = jvp_scan,
      .split = split_scan,
      .nested_transpose = transpose_scan,
      .dce = dce_scan,
  };
  return row;
}

Arrays bind_scan(ScanParams params, const ir::Program& body, std::span<const Array> inputs, const Location& at) {
  auto k = static_cast<std::size_t>(params.constants), c = static_cast<std::size_t>(params.carries);
  std::vector<ir::Var> const_vars, carry_vars, x_vars;
  Arrays constants, carries, xs;
  std::map<ir::Var, ir::Atom> instead;  // inputs of the body that are another variable or a literal
  std::map<Identity, ir::Var> seen;
  auto add_constant = [&](ir::Var v, const Array& a) {
    if (a.value()->literal) return void(instead.emplace(v, literal_of(a)));
    auto [it, fresh] = seen.emplace(identity(a), v);
    if (!fresh) return void(instead.emplace(v, it->second));
    const_vars.push_back(v);
    constants.push_back(a);
  };
  for (std::size_t i = 0; i < k; ++i) add_constant(body.inputs[i], inputs[i]);

  Arrays result(body.outputs.size());
  std::vector<ir::Atom> carry_out, y_out;
  std::vector<std::size_t> carry_slot, y_slot;  // outputs of the scan that the new equation gives, in its order
  for (std::size_t i = 0; i < c; ++i) {
    ir::Var v = body.inputs[k + i];
    if (body.outputs[i] == ir::Atom(v)) {
      add_constant(v, inputs[k + i]);
      result[i] = inputs[k + i];
      continue;
    }
    carry_vars.push_back(v);
    carries.push_back(inputs[k + i]);
    carry_out.push_back(body.outputs[i]);
    carry_slot.push_back(i);
  }
  std::map<ir::Var, Array> x_of;
  for (std::size_t i = k + c; i < body.inputs.size(); ++i) {
    x_vars.push_back(body.inputs[i]);
    xs.push_back(inputs[i]);
    x_of.emplace(body.inputs[i], inputs[i]);
  }
  std::map<ir::Var, std::size_t> y_seen;  // variable -> position among the new ys
  std::vector<std::pair<std::size_t, std::size_t>> copies;
  for (std::size_t i = c; i < body.outputs.size(); ++i) {
    const ir::Atom& a = body.outputs[i];
    if (a.is_var()) {
      if (auto it = x_of.find(a.var); it != x_of.end()) {
        result[i] = it->second;
        continue;
      }
      auto [it, fresh] = y_seen.emplace(a.var, y_out.size());
      if (!fresh) {
        copies.emplace_back(i, it->second);
        continue;
      }
    }
    y_out.push_back(a);
    y_slot.push_back(i);
  }

  ir::Program q = body;
  auto replace = [&](ir::Atom& a) {
    if (!a.is_var()) return;
    if (auto it = instead.find(a.var); it != instead.end()) a = it->second;
  };
  for (ir::Eqn& e : q.eqns)
    for (ir::Atom& a : e.inputs) replace(a);
  q.outputs = carry_out;
  q.outputs.insert(q.outputs.end(), y_out.begin(), y_out.end());
  for (ir::Atom& a : q.outputs) replace(a);
  q.inputs = const_vars;
  q.inputs.insert(q.inputs.end(), carry_vars.begin(), carry_vars.end());
  q.inputs.insert(q.inputs.end(), x_vars.begin(), x_vars.end());
  q.constants = 0;
  params.constants = static_cast<int>(const_vars.size());
  params.carries = static_cast<int>(carry_vars.size());

  if (!q.outputs.empty() || ir::has_effects(q)) {
    Arrays operands = constants;
    operands.insert(operands.end(), carries.begin(), carries.end());
    operands.insert(operands.end(), xs.begin(), xs.end());
    params.program = share(std::move(q));
    Arrays out = anew::bind(scan_row(), std::make_shared<const ScanParams>(std::move(params)), operands, at);
    for (std::size_t i = 0; i < carry_slot.size(); ++i) result[carry_slot[i]] = out[i];
    for (std::size_t i = 0; i < y_slot.size(); ++i) result[y_slot[i]] = out[carry_slot.size() + i];
    for (auto [to, from] : copies) result[to] = out[carry_slot.size() + from];
  }
  return result;
}

namespace flat {
namespace {

std::int64_t length_of(const Arrays& xs, const ScanOptions& o, const Location& at) {
  std::vector<std::string> sizes;
  std::int64_t length = o.length.value_or(-1);
  bool differ = false;
  for (const Array& x : xs) {
    check_operand(x, at);
    Type t = type_of(x);
    if (t.shape.ndim() == 0)
      throw Error(fmt::format("[scan] an array in xs has no leading axis to scan over: {}", t.str()), at);
    sizes.push_back(std::to_string(t.shape[0]));
    differ = differ || t.shape[0] != type_of(xs[0]).shape[0];
  }
  if (o.length && *o.length < 0) throw Error(fmt::format("[scan] the length is negative: {}", *o.length), at);
  if (differ)
    throw Error(fmt::format("[scan] arrays in xs have different leading axis sizes: {}", fmt::join(sizes, ", ")), at);
  if (xs.empty() && !o.length)
    throw Error("[scan] got no xs to scan over and no length", at, "give xs, or {.length = n} with xs = none");
  if (!xs.empty()) {
    std::int64_t n = type_of(xs[0]).shape[0];
    if (o.length && n != length)
      throw Error(fmt::format("[scan] a length of {} disagrees with the leading axis size {}", length, n), at);
    length = n;
  }
  return length;
}

}  // namespace

ScanResult scan(const ScanBody& body, const Arrays& init, const Arrays& xs, const ScanOptions& options,
                const std::vector<std::string>& carry_paths, const Location& at) {
  detail::check_function(body, at);
  ScanParams params;
  params.length = length_of(xs, options, at);
  params.reverse = options.reverse;
  params.unroll = options.unroll;
  if (options.unroll < 0) throw Error(fmt::format("[scan] unroll is negative: {}", options.unroll), at);
  if (options.checkpoints && *options.checkpoints < 1)
    throw Error(
        fmt::format("[scan] .checkpoints is {}, but at least one state, the first, is kept", *options.checkpoints), at);

  Arrays start = init;
  std::size_t c = init.size();
  Forms forms = forms_of(start, at);
  for (const Array& x : xs) {
    Type t = type_of(x);
    t.shape.erase(0);
    forms.push_back({t, false});
  }
  Staged s = stage_body(
      "scan",
      [&](std::span<const Array> in) {
        ScanResult r = body(in.first(c), in.subspan(c));
        if (r.carry.size() != c)
          throw Error(fmt::format("[scan] the carry has {} arrays, the body returns {}", c, r.carry.size()), at,
                      "the body must return a carry of the same structure as it takes");
        Arrays out = std::move(r.carry);
        out.insert(out.end(), r.ys.begin(), r.ys.end());
        return out;
      },
      start, forms, carry_paths, at);
  params.constants = s.program.constants;
  params.carries = static_cast<int>(c);
  s.program.constants = 0;
  Arrays inputs = s.constants;
  for (const Array& a : start) inputs.push_back(exact(a));
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  Arrays out;
  if (options.checkpoints) {
    LoopParams sweep;
    sweep.constants = params.constants;
    sweep.carries = params.carries;
    sweep.length = params.length;
    sweep.reverse = params.reverse;
    sweep.checkpoints = *options.checkpoints;
    out = bind_loop(sweep, s.program, inputs, at);
  } else {
    out = bind_scan(params, s.program, inputs, at);
  }
  forms.resize(c);
  out = as_formed(std::move(out), forms);
  auto split = out.begin() + static_cast<std::ptrdiff_t>(c);
  return {Arrays(out.begin(), split), Arrays(split, out.end())};
}

}  // namespace flat
}  // namespace anew
