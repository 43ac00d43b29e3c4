// The table of results of transformations.
#include "transforms/remembered.h"

#include <mutex>

#include "base/lru.h"
#include "ir/effects.h"
#include "ir/inline.h"
#include "transforms/nested.h"

namespace anew {
namespace {

struct RememberedParams : ir::ParamsOf<RememberedParams> {
  ir::ProgramRef program;
  static auto fields() { return std::tuple{ir::field("program", &RememberedParams::program)}; }
};

const Primitive& remembered_row() {
  static const Primitive& row = *new Primitive{
      .name = "remembered",
      .infer = [](const ir::InferArgs& a) { return a.params.as<RememberedParams>().program->output_types(); },
      .parse = &RememberedParams::parse,
      .run = [](const ParamsRef& p, std::span<const Array> x,
                const Location&) { return evaluate(*p->as<RememberedParams>().program, x); },
      .facts = {.holds_programs = true},
  };
  return row;
}

// What a transformation made: a Program of the arrays in `own`, those that f captured, x and more, in this order. An
// output is one of its operands, a literal, or an output of the equation.
struct Made {
  std::string name;
  std::vector<std::int64_t> options;
  ir::ProgramRef of;  // f
  std::vector<Type> more;
  Arrays own;
  ParamsRef params;
  ir::ProgramRef program;
  std::vector<ir::Atom> outputs;  // of the whole: variables of `program`
  std::shared_ptr<const void> payload;
};

struct Table {
  std::mutex guard;
  Lru<std::shared_ptr<const Made>> made{512};
  std::size_t found = 0, missed = 0;
};
Table& table() {
  static Table& t = *new Table;  // static destructors may still trace
  return t;
}

std::size_t hash_of(const ir::Program& p, std::string_view name, const std::vector<std::int64_t>& options) {
  std::size_t h = ir::hash_value(p);
  hash_combine(h, std::hash<std::string_view>{}(name));
  for (std::int64_t n : options) hash_combine(h, static_cast<std::size_t>(n));
  return h;
}

std::shared_ptr<const Made> make(const Transformation& which, std::vector<std::int64_t> options, ir::ProgramRef of,
                                 std::span<const Array> x, std::span<const Array> more, const Transform& transform,
                                 const Location& at) {
  const ir::Program bare = inline_remembered(*of);
  auto captured = static_cast<std::size_t>(of->constants);
  Types types = of->input_types();
  types.resize(captured);
  auto m = std::make_shared<Made>();
  for (const Array& a : x) types.push_back(type_of(a));
  for (const Array& a : more) types.push_back(type_of(a)), m->more.push_back(type_of(a));
  auto whole = [&](std::span<const Array> in) {
    Arrays given(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(captured));
    auto g = [&](std::span<const Array> args) {
      Arrays all = given;
      all.insert(all.end(), args.begin(), args.end());
      return evaluate(bare, all);
    };
    return transform(g, in.subspan(captured, x.size()), in.subspan(captured + x.size()));
  };
  Staged s = [&] {
    TraceScope nobody(nullptr);  // what is made is the same wherever it is made
    return stage(whole, types, current_trace() ? current_trace()->what() : "jit", at);
  }();
  ir::Program q = ir::eliminate_dead_code(s.program, std::vector<bool>(s.program.outputs.size(), true), true).program;
  if (which.payload) m->payload = which.payload();
  m->name = which.name;
  m->options = std::move(options);
  m->of = std::move(of);
  m->own = std::move(s.constants);
  m->outputs = q.outputs;
  q.constants = 0;
  std::vector<ir::Atom> made;
  for (const ir::Atom& a : q.outputs) {
    bool input = a.is_var() && std::find(q.inputs.begin(), q.inputs.end(), a.var) != q.inputs.end();
    if (a.is_var() && !input && std::find(made.begin(), made.end(), a) == made.end()) made.push_back(a);
  }
  q.outputs = std::move(made);
  auto params = std::make_shared<RememberedParams>();
  params->program = m->program = share(std::move(q));
  (void)ir::hash_value(m->program);
  m->params = std::move(params);
  return m;
}

Arrays emit(const Made& m, const Arrays& captured, std::span<const Array> x, std::span<const Array> more,
            const Location& at) {
  Arrays operands = m.own;
  operands.insert(operands.end(), captured.begin(), captured.end());
  operands.insert(operands.end(), x.begin(), x.end());
  operands.insert(operands.end(), more.begin(), more.end());
  const ir::Program& q = *m.program;
  std::vector<int> where(q.types.size(), -1);  // by variable: an operand, or behind them an output
  for (std::size_t i = 0; i < operands.size(); ++i) where[static_cast<std::size_t>(q.inputs[i])] = static_cast<int>(i);
  for (std::size_t i = 0; i < q.outputs.size(); ++i)
    where[static_cast<std::size_t>(q.outputs[i].var)] = static_cast<int>(operands.size() + i);
  Arrays made = q.outputs.empty() && !ir::must_run(q) ? Arrays() : anew::bind(remembered_row(), m.params, operands, at);
  Arrays out;
  for (const ir::Atom& a : m.outputs) {
    if (!a.is_var()) {
      out.push_back(make_literal(a.literal));
      continue;
    }
    auto i = static_cast<std::size_t>(where[static_cast<std::size_t>(a.var)]);
    out.push_back(i < operands.size() ? operands[i] : made[i - operands.size()]);
  }
  return out;
}

}  // namespace

Arrays remembered(const Transformation& which, const FlatFunction& f, std::span<const Type> types,
                  std::span<const Array> x, std::span<const Array> more, const Transform& transform,
                  const Location& at) {
  bool numbers = false;  // f returns a C++ number: whoever transforms says what that is
  auto bare = [&](std::span<const Array> in) {
    Arrays out = f(in);
    for (const Array& y : out) numbers = numbers || (y.value() && y.value()->weak);
    return out;
  };
  Trace& trace = *current_trace();
  Staged s = stage(bare, types, trace.what(), trace.at);
  // Functions of the user's may do another thing each time, and may have captured values of a vmap that was traced
  // above and has ended: f is called again.
  if (numbers || ir::holds_functions(s.program)) {
    const TraceDirectly scope;
    Arrays out = transform(f, x, more);
    if (which.receive) which.receive(which.payload());
    return out;
  }
  std::vector<std::int64_t> options;
  if (which.options) options = which.options();
  options.push_back(x64_enabled());  // what rules make without saying a dtype
  const std::size_t h = hash_of(s.program, which.name, options);
  Table& t = table();
  std::shared_ptr<const Made> m;
  Types more_types = types_of(more, at);
  auto same_question = [&](const std::shared_ptr<const Made>& e) {
    return e->name == which.name && e->options == options && e->more == more_types;
  };
  {
    std::lock_guard lock(t.guard);
    if (auto* found = t.made.find(h, same_question)) m = *found;
  }
  if (m && !ir::equal(*m->of, s.program)) m = nullptr;  // a collision: the newer one stays
  std::list<std::shared_ptr<const Made>> gone;
  if (m) {
    std::lock_guard lock(t.guard);
    ++t.found;
  } else {
    m = make(which, std::move(options), share(std::move(s.program)), x, more, transform, at);
    std::lock_guard lock(t.guard);
    ++t.missed;
    gone = t.made.add(h, m);
  }
  if (which.receive) which.receive(m->payload);
  return emit(*m, s.constants, x, more, at);
}

ir::Program inline_remembered(const ir::Program& p) {
  return ir::inline_calls(p, [](const ir::Eqn& e, std::span<const Type>) -> ir::ProgramRef {
    const auto* p = e.params->if_a<RememberedParams>();
    return p ? p->program : nullptr;
  });
}

RememberedCounts remembered_counts() {
  Table& t = table();
  std::lock_guard lock(t.guard);
  return {t.made.size(), t.made.most(), t.found, t.missed};
}

void forget_remembered() {
  Table& t = table();
  std::lock_guard lock(t.guard);
  t.made.clear();
}

}  // namespace anew
