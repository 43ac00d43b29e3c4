// vmap.
#include "transforms/vmap.h"

#include <anew/ops.h>
#include <fmt/format.h>

namespace anew {

namespace {

// Operands of one shape or scalars stay so: what is mapped gets the whole shape unless every operand is a scalar;
// an unmapped scalar may stay one.
ir::Batched batch_elementwise(const Primitive& p, const ir::BatchArgs& a) {
  Shape shape;  // of one example
  for (std::size_t i = 0; i < a.x.size(); ++i) {
    Shape s = type_of(a.x[i]).shape;
    if (a.mapped[i]) s.erase(0);
    if (s.ndim() > shape.ndim()) shape = s;
  }
  Shape whole = with_front(a.size, shape);
  Arrays in;
  for (std::size_t i = 0; i < a.x.size(); ++i) {
    Array x = a.x[i];
    int ndim = type_of(x).shape.ndim();
    if (a.mapped[i] && ndim < whole.ndim()) x = lax::broadcast_in_dim(x, whole, {0});
    else if (!a.mapped[i] && ndim > 0) x = repeat_in_front(x, a.size);
    in.push_back(x);
  }
  return {anew::bind(p, a.params, in, a.at)};
}

}  // namespace

BatchTrace::BatchTrace(Trace* parent, std::int64_t size, std::string_view what, const Location& where)
    : parent_(parent), size_(size), what_(what) {
  at = where;
}

BatchTrace::BatchTrace(Trace* parent, std::int64_t size, const std::weak_ptr<Trace>& instead_of)
    : BatchTrace(parent, size, "vmap", Location::current()) {
  instead_of_ = instead_of.lock();
}

Array BatchTrace::box(const Array& batched) {
  Type t = type_of(batched);
  if (t.shape.ndim() == 0 || t.shape[0] != size_)
    throw InternalError(fmt::format("[vmap] {} has no mapped axis of size {} in front", t.str(), size_));
  t.shape.erase(0);
  Array x = traced_value(shared_from_this(), t);
  mutable_value(x).first = batched;
  return x;
}

Array BatchTrace::unbox(const Array& x) const {
  if (mapped(x)) return x.value()->first;
  TraceScope scope(parent_);
  return repeat_in_front(x, size_);
}

Arrays BatchTrace::process(const Request& r) {
  Arrays x;
  std::vector<bool> is_mapped;
  bool any = false;
  for (const Array& in : r.inputs) {
    x.push_back(held(in));
    is_mapped.push_back(mapped(in));
    any = any || is_mapped.back();
  }
  if (!any && !r.primitive.facts.calls_user) return bind_under(parent_, r.primitive, r.params, x, r.at);

  Types in_types;
  for (const Array& in : r.inputs) in_types.push_back(type_of(in));
  const Types out_types = infer_outputs(r, in_types);  // before the rule, so that errors speak of one example
  ir::Batched b;
  {
    TraceScope scope(parent_);
    RuleScope rule(current_rule(), r.at);
    const std::shared_ptr<Trace> self = shared_from_this();
    ir::BatchArgs args{r.params, x, is_mapped, size_, r.at, self};
    if (r.primitive.batch && !any) {
      try {
        b = r.primitive.batch(args);
      } catch (const GivesMapped& e) {
        if (e.trace != this) throw;
        x[0] = repeat_in_front(x[0], size_);
        is_mapped[0] = true;
        b = r.primitive.batch(args);
      }
    } else if (r.primitive.batch) b = r.primitive.batch(args);
    else if (r.primitive.facts.elementwise) b = batch_elementwise(r.primitive, args);
    else ir::missing_rule(r.primitive, "batch", r.at);
  }
  if (b.y.size() != out_types.size())
    throw InternalError(
        fmt::format("[{}] batch gave {} outputs instead of {}", r.primitive.name, b.y.size(), out_types.size()));
  for (std::size_t i = 0; i < b.y.size(); ++i) {
    if (b.mapped.empty() || b.mapped[i]) b.y[i] = box(b.y[i]);
    if (!(type_of(b.y[i]) == out_types[i]))
      throw InternalError(fmt::format("[{}] batch gave {} for an output {}", r.primitive.name, type_of(b.y[i]).str(),
                                      out_types[i].str()));
  }
  return std::move(b.y);
}

BatchedProgram batch_program(const ir::Program& p, const std::vector<bool>& mapped, std::int64_t size,
                             const std::vector<bool>& force) {
  auto staging = std::make_shared<StagingTrace>("vmap");
  TraceLife life(staging);
  auto trace = std::make_shared<BatchTrace>(staging.get(), size, "vmap", staging->at);
  TraceLife trace_life(trace);
  Arrays in, out;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    Type t = p.type(p.inputs[i]);
    if (mapped[i]) t.shape.insert(0, size);
    Array x = staging->add_input(t);
    in.push_back(mapped[i] ? trace->box(x) : x);
  }
  {
    TraceScope scope(trace.get());
    out = evaluate(p, in);
  }
  BatchedProgram result;
  for (std::size_t i = 0; i < out.size(); ++i) {
    bool is_mapped = trace->mapped(out[i]) || (i < force.size() && force[i]);
    out[i] = is_mapped ? trace->unbox(out[i]) : out[i];
    result.mapped.push_back(is_mapped);
  }
  result.program = staging->finish(out);
  return result;
}

namespace {

struct BatchKey {
  std::vector<bool> mapped, force;
  std::int64_t size;
  friend bool operator==(const BatchKey&, const BatchKey&) = default;
};

}  // namespace

BatchedProgram batch_program(const ir::ProgramRef& p, const std::vector<bool>& mapped, std::int64_t size,
                             const std::vector<bool>& force) {
  return *p->memo.get(BatchKey{mapped, force, size}, [&] { return batch_program(*p, mapped, size, force); });
}

namespace {

// The place that an axis given by the user means, for an array of `ndim` axes.
int axis_of(int axis, int ndim, std::string_view what, const std::string& type, const Location& at) {
  if (axis < -ndim || axis >= ndim) throw Error(fmt::format("[vmap] {} {} is not an axis of {}", what, axis, type), at);
  return axis < 0 ? axis + ndim : axis;
}

}  // namespace

MappedAxes mapped_axes(std::span<const Array> x, const flat::BatchAxes& axes, const Location& at) {
  if (axes.in.size() != x.size())
    throw Error(fmt::format("[vmap] {} axes for {} arrays", axes.in.size(), x.size()), at);
  std::optional<std::int64_t> size = axes.size;
  std::string first;  // the array that said so
  MappedAxes mapped;
  for (std::size_t i = 0; i < x.size(); ++i) {
    check_operand(x[i], at);
    Type t = type_of(x[i]);
    if (axes.in[i] == no_axis) {
      mapped.in.push_back(no_axis);
      continue;
    }
    mapped.in.push_back(axis_of(axes.in[i], t.shape.ndim(), "in_axes:", t.str() + leaf_name(x[i], ", "), at));
    std::int64_t n = t.shape[mapped.in.back()];
    if (size && *size != n)
      throw Error(
          fmt::format("[vmap] mapped axes have different sizes: {}{} has {} along axis {}, {} has {}", t.str(),
                      leaf_name(x[i], " of "), n, mapped.in.back(), first.empty() ? "the given size" : first, *size),
          at, "map axes of one size, or use no_axis for arrays that all examples share");
    if (!size) first = t.str() + leaf_name(x[i], " of ");
    size = n;
  }
  if (!size) throw Error("[vmap] no argument has a mapped axis", at, "give at least one argument an axis in .in_axes");
  mapped.size = *size;
  return mapped;
}

Array move_front_axis(const Array& x, int to, const Location& at) {
  Type one = type_of(x);
  one.shape.erase(0);
  return move_axis(x, 0, axis_of(to, one.shape.ndim() + 1, "out_axes:", one.str() + " with the mapped axis", at));
}

int out_axis(const std::vector<int>& out, std::size_t i, std::size_t count, const Location& at) {
  if (out.size() != 1 && out.size() != count)
    throw Error(fmt::format("[vmap] {} out_axes for {} results", out.size(), count), at);
  return out[out.size() == 1 ? 0 : i];
}

Arrays call_batched(const FlatFunction& f, std::span<const Array> x, const MappedAxes& mapped,
                    const std::vector<int>& out_axes, const Location& at) {
  detail::check_function(f, at);
  Trace* parent = current_trace();
  auto trace = std::make_shared<BatchTrace>(parent, mapped.size, "vmap", at);
  TraceLife life(trace);
  Arrays in, out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    PinLine line(at, "vmap");
    in.push_back(mapped.in[i] == no_axis ? x[i] : trace->box(move_axis(fresh_alias(x[i]), mapped.in[i], 0)));
  }
  {
    TraceScope scope(trace.get());
    out = f(in);
    for (Array& y : out)  // one number for each example is an array
      if (is_weak(y) && trace->mapped(y)) y = strong(y, at);
  }
  PinLine line(at, "vmap");
  for (std::size_t i = 0; i < out.size(); ++i) {
    check_operand(out[i], at);
    int to = out_axis(out_axes, i, out.size(), at);
    if (to == no_axis) {
      if (trace->mapped(out[i]))
        throw Error(fmt::format("[vmap] a result {} depends on the mapped axis but its out_axes is no_axis",
                                type_of(out[i]).str()),
                    at, "give it an axis in .out_axes");
      continue;
    }
    out[i] = move_front_axis(trace->unbox(out[i]), to, at);
  }
  return out;
}

}  // namespace anew
