// Equations to steps. A view becomes a value in its operand's storage; a first-order row its kernels or call; control
// flow a step with lowered Bodies. Rows of control flow are known here by their params (docs/architecture.md,
// exceptions).
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "control/loop.h"
#include "loops/build.h"
#include "ops/device_put.h"
#include "passes/lowered.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "trace/trace.h"

namespace anew::passes {
namespace {

Strides without_front(Strides s) {
  s.erase(0);
  return s;
}

class Lowering {
 public:
  Lowering(const ir::Program& program, std::span<const Strides> inputs, int first_carry, int carries)
      : p_(program),
        first_carry_(first_carry),
        carries_(carries),
        b_(std::make_shared<Body>()),
        at_(program.types.size()),
        readers_(program.types.size()),
        reads_(program.types.size(), 0) {
    for (const ir::Eqn& e : p_.eqns)
      for (const ir::Atom& a : e.inputs) read(a, &e);
    for (const ir::Atom& a : p_.outputs) read(a, nullptr);
    for (std::size_t i = 0; i < p_.inputs.size(); ++i) {
      const Type& t = p_.type(p_.inputs[i]);
      const StorageId storage =
          b_->storages.add({.kind = Storage::Kind::input, .index = static_cast<int>(i), .bytes = t.bytes()});
      const ValueId v = b_->values.add({t, storage, 0, inputs[i]});
      b_->inputs.push_back(v);
      at_[p_.inputs[i]] = v;
    }
  }

  std::shared_ptr<Body> run() {
    for (const ir::Eqn& e : p_.eqns) lower(e);
    finish_outputs();
    return b_;
  }

 private:
  const Value& value(ValueId v) const { return b_->values[v]; }

  void read(const ir::Atom& a, const ir::Eqn* by) {
    if (!a.is_var()) return;
    readers_[a.var] = by;
    ++reads_[a.var];
  }

  ValueId value_of(const ir::Atom& a) {
    if (a.is_var()) return at_[a.var];
    const StorageId storage =
        b_->storages.add({.kind = Storage::Kind::literal, .literal = a.literal, .bytes = size_of(a.literal.dtype)});
    return b_->values.add({{{}, a.literal.dtype}, storage, 0, {}});
  }

  void lower(const ir::Eqn& e) {
    std::vector<ValueId> in;
    for (const ir::Atom& a : e.inputs) in.push_back(value_of(a));
    if (e.primitive->view) {
      at_[e.outputs[0]] = look(e, in[0]);
      return;
    }
    std::vector<ValueId> out;
    for (ir::Var v : e.outputs) {
      out.push_back(b_->add_temporary(p_.type(v), e.primitive, e.at, e.mark));
      at_[v] = out.back();
    }
    if (e.primitive->lower) first_order(e, in, out);
    else if (e.primitive->run) control(e, std::move(in), std::move(out));
    else ir::missing_rule(*e.primitive, "lower", e.at);
  }

  ValueId look(const ir::Eqn& e, ValueId of) {
    const Type& out = p_.type(e.outputs[0]);
    auto view = e.primitive->view(*e.params, value(of).type, value(of).strides, out);
    if (!view) {
      of = copied(of, e);
      view = e.primitive->view(*e.params, value(of).type, value(of).strides, out);
      if (!view) throw InternalError(fmt::format("[{}] has no view of a row-major operand", e.primitive->name));
    }
    Value v = value(of);
    v.offset += view->offset * static_cast<std::int64_t>(size_of(v.type.dtype));
    v.type = out;
    v.strides = view->strides;
    if (const auto& name = e.primitive->facts.name) b_->names.push_back({v.storage, name(*e.params)});
    return b_->values.add(std::move(v));
  }

  // The same elements, dense, in a storage of their own.
  ValueId copied(ValueId v, const ir::Eqn& e) {
    const ValueId out = b_->add_temporary(value(v).type, e.primitive, e.at, e.mark);
    b_->steps.push_back(copy(v, out));
    return out;
  }
  Step copy(ValueId from, ValueId to) const {
    Step s;
    s.kernel() = loops::elementwise({value(from).type}, [](loops::Expr x) { return x; });
    s.in = {from};
    s.out = {to};
    s.primitive = value(to).primitive;
    s.at = value(to).at;
    return s;
  }

  Step step_of(const ir::Eqn& e) {
    Step s;
    s.primitive = e.primitive;
    s.at = e.at;
    s.effects = ir::has_effects(e);
    s.made.push_back({e.primitive, e.at});
    return s;
  }

  void first_order(const ir::Eqn& e, const std::vector<ValueId>& in, const std::vector<ValueId>& out) {
    std::vector<Type> in_types, out_types;
    for (ValueId v : in) in_types.push_back(value(v).type);
    for (ValueId v : out) out_types.push_back(value(v).type);
    ir::Lowered lowered = e.primitive->lower(*e.params, in_types, out_types);
    const ir::Facts& facts = e.primitive->facts;
    double elements = out_types.empty() ? 0 : static_cast<double>(out_types[0].shape.size());
    double flops = facts.flops ? facts.flops(*e.params, in_types, out_types) : facts.flops_per_element * elements;
    if (lowered.call) {
      Step s = step_of(e);
      s.in = in;
      s.out = out;
      Call call{std::move(lowered.call), std::move(lowered.scratch_of), lowered.in_place, std::move(lowered.tiled),
                std::move(lowered.cuts)};
      if (auto* put = e.params->if_a<DevicePutParams>())
        call.moves = put->to_host() ? Call::Moves::out : Call::Moves::in;
      call.halves = std::move(lowered.halves);
      s.work = std::move(call);
      s.scratch = lowered.scratch;
      s.flops = flops;
      if (lowered.writes) lay_out(out[0], e.outputs[0], lowered.writes);
      b_->steps.push_back(std::move(s));
      return;
    }
    for (loops::Kernel& kernel : lowered.kernels) {
      Step s = step_of(e);
      s.flops = flops / static_cast<double>(lowered.kernels.size());
      only_used(std::move(kernel), in, out, s);
      b_->steps.push_back(std::move(s));
    }
  }

  // A value that is only read through a view with its axes in another order lies in memory as the view wants it, where
  // the call can write it so: the view is row-major then, and needs no copy. A view of a part of it wants no place for
  // the rest: that is no order of axes.
  void lay_out(ValueId v, ir::Var var, const std::function<bool(const Strides&)>& writes) {
    const ir::Eqn* reader = readers_[var];
    if (reads_[var] != 1 || !reader || !reader->primitive->view) return;
    const Type &type = p_.type(var), &seen = p_.type(reader->outputs[0]);
    const Strides now = row_major(type.shape), want = row_major(seen.shape);
    auto look = [&](const Strides& s) { return reader->primitive->view(*reader->params, type, s, seen); };
    auto view = look(now);
    if (!view || view->offset != 0 || view->strides == want || seen.shape.ndim() != type.shape.ndim()) return;
    Strides strides = now;
    std::vector<bool> found(type.shape.ndim(), false);
    for (int i = 0; i < seen.shape.ndim(); ++i)
      for (int a = 0; a < type.shape.ndim(); ++a) {
        if (found[a] || type.shape[a] != seen.shape[i] || now[a] != view->strides[i]) continue;
        found[a] = true;
        strides[a] = want[i];
        break;
      }
    if (std::find(found.begin(), found.end(), false) != found.end()) return;
    view = look(strides);
    if (view && view->offset == 0 && view->strides == want && writes(strides)) b_->values[v].strides = strides;
  }

  // The kernels of one equation have all its operands; a step keeps those that it touches.
  static void only_used(loops::Kernel kernel, const std::vector<ValueId>& in, const std::vector<ValueId>& out,
                        Step& s) {
    std::vector<bool> used(kernel.operands.size(), false);
    for (const loops::Access& a : kernel.accesses) used[a.operand] = true;
    for (const loops::Store& t : kernel.stores) used[t.to.operand] = true;
    std::vector<int> position(kernel.operands.size(), -1);
    std::vector<ShapeDtype> operands;
    for (std::size_t k = 0; k < used.size(); ++k) {
      if (!used[k]) continue;
      position[k] = static_cast<int>(operands.size());
      operands.push_back(kernel.operands[k]);
      if (k < in.size()) s.in.push_back(in[k]);
      else s.out.push_back(out[k - in.size()]);
    }
    s.kernel() = loops::over(std::move(kernel), std::move(operands), position);
  }

  std::vector<Strides> layouts(std::span<const ValueId> values) const {
    std::vector<Strides> out;
    for (ValueId v : values) out.push_back(value(v).strides);
    return out;
  }
  std::vector<Strides> layouts_of_rows(std::span<const ValueId> values) const {
    std::vector<Strides> out;
    for (ValueId v : values) out.push_back(without_front(value(v).strides));
    return out;
  }
  static std::vector<Strides> row_major_layouts(std::span<const Type> types) {
    std::vector<Strides> out;
    for (const Type& t : types) out.push_back(row_major(t.shape));
    return out;
  }
  template <class... Parts>
  static std::vector<Strides> joined(Parts... parts) {
    std::vector<Strides> out;
    (out.insert(out.end(), parts.begin(), parts.end()), ...);
    return out;
  }

  void control(const ir::Eqn& e, std::vector<ValueId> in, std::vector<ValueId> out) {
    const ir::Params& params = *e.params;
    Step s = step_of(e);
    if (auto* loop = params.if_a<LoopParams>()) lower_loop(e, *loop, in, s);
    else if (auto* cond = params.if_a<CondParams>()) lower_cond(*cond, in, s);
    else if (auto* unwind = params.if_a<UnwindParams>()) lower_unwind(*unwind, in, s);
    else if (e.primitive->facts.transpose_only) (void)e.primitive->run(e.params, {}, e.at);  // says why it cannot
    else ir::missing_rule(*e.primitive, "lower", e.at);
    s.in = std::move(in);
    s.out = std::move(out);
    b_->steps.push_back(std::move(s));
  }

  std::shared_ptr<Body> loop_body(const ir::Program& program, const Loop& l, std::span<const ValueId> in) const {
    const std::size_t k = l.constants, c = l.carries;
    std::vector<Type> types = program.input_types();
    return passes::lower(program,
                         joined(layouts(in.first(k)), row_major_layouts(std::span(types).subspan(k, c)),
                                layouts_of_rows(in.subspan(k + c))),
                         l.constants, l.carries);
  }

  // Whether states that the loop of this equation records are seen by others than its own way back.
  bool shown(const ir::Eqn& loop, const LoopParams& p) const {
    const auto recorded = std::span(loop.outputs).subspan(form_of(p).results.size());
    auto records = [&](const ir::Atom& a) {
      return a.is_var() && std::find(recorded.begin(), recorded.end(), a.var) != recorded.end();
    };
    auto shows = [&](const ir::Eqn& e) {
      if (std::none_of(e.inputs.begin(), e.inputs.end(), records)) return false;
      const auto* unwind = e.params->if_a<UnwindParams>();
      if (!unwind) return true;
      const auto kept = form_of(*unwind).operands.partition(e.inputs).merge({Role::counters, Role::carries});
      return !std::all_of(kept.begin(), kept.end(), records);
    };
    return std::any_of(p_.outputs.begin(), p_.outputs.end(), records) ||
           std::any_of(p_.eqns.begin(), p_.eqns.end(), shows);
  }

  void lower_loop(const ir::Eqn& e, const LoopParams& p, std::span<const ValueId> in, Step& s) {
    Loop loop{{.constants = p.constants,
               .carries = p.carries,
               .length = p.length,
               .reverse = p.reverse,
               .records = p.records,
               .record = p.record,
               .slots = slots_of(p),
               .fill = p.records && shown(e, p)}};
    if (p.records && !p.condition && p.budget.ndim() > 0) {
      loop.stops = recorded_stops(p);
      loop.disk = p.disk;
    }
    if (auto counter = counter_of(p)) {
      loop.counter = counter->carry;
      loop.end_constant = counter->end_constant;
      loop.end_literal = counter->end_literal;
    }
    s.bodies.push_back(loop_body(*p.body, loop, in));
    s.work = std::move(loop);
    if (!p.condition) return;
    std::size_t k = p.constants;
    std::vector<Type> types = p.condition->input_types();
    s.bodies.push_back(
        passes::lower(*p.condition, joined(layouts(in.first(k)), row_major_layouts(std::span(types).subspan(k)))));
  }

  void lower_cond(const CondParams& p, std::span<const ValueId> in, Step& s) {
    s.work = Branch{};
    std::vector<Strides> inputs = layouts(in.subspan(1));
    for (const ir::ProgramRef& branch : p.branches) s.bodies.push_back(passes::lower(*branch, inputs));
  }

  void lower_unwind(const UnwindParams& p, std::span<const ValueId> in, Step& s) {
    s.work = Unwind{{.constants = p.constants,
                     .xs = p.xs,
                     .carries = p.carries,
                     .linear_constants = p.linear_constants,
                     .linear_carries = p.linear_carries,
                     .length = p.condition ? -1 : p.length,
                     .reverse = p.reverse,
                     .backward = p.backward}};
    const LoopForm f = form_of(p);
    const Lists<ValueId> values = f.operands.partition(in);
    const Lists<Type> types = f.operands.only(f.parts.back().takes).partition(p.step->input_types());
    Lists<Strides> strides;
    for (Role r : {Role::constants, Role::linear_constants}) strides[r] = layouts(values[r]);
    for (Role r : {Role::carries, Role::linear_carries}) strides[r] = row_major_layouts(types[r]);
    for (Role r : {Role::xs, Role::linear_xs}) strides[r] = layouts_of_rows(values[r]);
    const LoopForm::Part &advance = f.parts[f.parts.size() - 2], &step = f.parts.back();
    s.bodies.push_back(passes::lower(*advance.program, strides.merge(advance.takes)));
    auto linear_step = [&](const ir::Program& program) {
      const int first = p.constants + std::ssize(strides[Role::carries]) + p.xs + p.linear_constants;
      s.bodies.push_back(passes::lower(program, strides.merge(step.takes), first, p.linear_carries));
    };
    if (!p.keeps_residuals()) return linear_step(*step.program);
    TapedStep taped = taped_step(p, s.at);
    for (ir::Program* half : {&taped.tape, &taped.back}) *half = prepare(*half);  // its calls are still there
    // The next state is that of the loops and branches that keep residuals.
    const auto tape = passes::lower(eliminate_parts(eliminate_common(taped.tape)), strides.merge(advance.takes));
    const Types made = taped.tape.output_types();
    strides[Role::carries] = row_major_layouts(std::span(made).subspan(static_cast<std::size_t>(p.carries)));
    linear_step(taped.back);
    s.bodies.push_back(tape);
    set_budget(p, static_cast<int>(strides[Role::carries].size()), *s.as<Unwind>());
  }
  static void set_budget(const UnwindParams& p, int residuals, Unwind& u) {
    const LoopBudget budget = LoopBudget::of(p.budget);
    u.residuals = residuals;
    u.bytes = budget.bytes;
    if (p.condition) return;
    const bool on_disk = !p.disk.empty();
    u.stops = stops_within(p.budget, p.length, on_disk);
    u.schedule = on_disk ? std::make_shared<const plan::MixedSchedule>(plan::quick_schedule(p.length, budget.bytes))
                         : plan::schedule_of(budget.steps, budget.bytes);
  }

  // Whether output k is a carry that only moves, of which no other output is the next one.
  bool moves(std::size_t k, ValueId v) const {
    const Storage& s = b_->storage_of(v);
    const int carry = s.index - first_carry_;
    return static_cast<int>(k) < carries_ && s.kind == Storage::Kind::input && carry >= 0 && carry < carries_ &&
           value(v).dense() && value(v).offset == 0 && s.bytes == value(v).type.bytes() &&
           std::find(b_->outputs.begin(), b_->outputs.end(), v) == b_->outputs.end();
  }

  // Every output gets memory of the caller: the storage of its value where that is a whole temporary or a carry that
  // moves, else a copy. A temporary is copied as soon as it is written, so that it need not live until the end; an
  // input at the end, where it may be a carry that is updated in place.
  void finish_outputs() {
    std::vector<std::vector<Step>> copies(b_->steps.size());  // behind each step
    Table<StorageId, std::size_t> written(b_->storages.size(), b_->steps.size());
    for (std::size_t i = 0; i < b_->steps.size(); ++i)
      for (ValueId v : b_->steps[i].out) written[value(v).storage] = i;
    std::vector<Step> last;
    auto copied = [&](ValueId v) {
      const ValueId out = b_->add_temporary(value(v).type, value(v).primitive, value(v).at, value(v).mark);
      const StorageId from = value(v).storage;
      const std::size_t i = from.number < std::ssize(written) ? written[from] : copies.size();
      (i < copies.size() ? copies[i] : last).push_back(copy(v, out));
      return out;
    };
    for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
      ValueId v = value_of(p_.outputs[k]);
      if (moves(k, v)) {
        b_->outputs.push_back(v);
        continue;
      }
      const Value& x = value(v);
      const Storage& s = b_->storage_of(v);
      bool whole = s.kind == Storage::Kind::temporary && x.dense() && x.offset == 0 && s.bytes == x.type.bytes();
      if (!whole) v = copied(v);
      Storage& own = b_->storage_of(v);
      own.kind = Storage::Kind::output;
      own.index = static_cast<int>(k);
      b_->outputs.push_back(v);
    }
    std::vector<Step> steps;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      steps.push_back(std::move(b_->steps[i]));
      std::move(copies[i].begin(), copies[i].end(), std::back_inserter(steps));
    }
    std::move(last.begin(), last.end(), std::back_inserter(steps));
    b_->steps = std::move(steps);
  }

  const ir::Program& p_;
  int first_carry_, carries_;  // of a loop's body: which inputs are carries
  std::shared_ptr<Body> b_;
  std::vector<ValueId> at_;              // value of each variable
  std::vector<const ir::Eqn*> readers_;  // who reads each variable last; null: it is an output
  std::vector<int> reads_;               // how often each is read
};

}  // namespace

std::shared_ptr<Body> lower(const ir::Program& program, std::span<const Strides> inputs, int first_carry, int carries) {
  if (inputs.size() != program.inputs.size()) throw InternalError("[lower] one layout per input");
  return Lowering(program, inputs, first_carry, carries).run();
}

}  // namespace anew::passes
