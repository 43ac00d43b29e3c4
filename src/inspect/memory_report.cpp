// Gathering a memory report: the steps of a compiled Program in the order they run, what each of them moves and
// computes, what lives in the arena meanwhile, and how long it takes, as seen by a StepWatch. Formats are in
// memory_report_text.cpp, memory_report_json.cpp and memory_report_page.cpp.
// Invariant: rows of nested steps come right behind their loop or branch, so lifetimes are intervals of rows.
#include <anew/ops.h>
#include <anew/report.h>

#include <chrono>
#include <unordered_map>

#include "inspect/report_rows.h"
#include "jit/compiled_program.h"
#include "jit/describe.h"
#include "jit/labels.h"
#include "plan/offsets.h"
#include "trace/trace.h"

namespace anew {
namespace {

using passes::Body;

// ---- time

class Times final : public StepWatch {
 public:
  struct StepTime {
    std::int64_t runs = 0;
    double nanoseconds = 0;
  };
  void ran(const Code& code, std::size_t step, double nanoseconds) override {
    std::vector<StepTime>& steps = codes_[&code];
    if (steps.empty()) steps.resize(code.steps.size());
    ++steps[step].runs;
    steps[step].nanoseconds += nanoseconds;
  }
  // Nothing where the step did not run.
  const StepTime* of(const Code* code, std::size_t step) const {
    auto it = codes_.find(code);
    return it == codes_.end() || it->second[step].runs == 0 ? nullptr : &it->second[step];
  }
  // The smaller time of each step.
  void take_least(const Times& other) {
    for (const auto& [code, steps] : other.codes_) {
      auto [it, is_new] = codes_.emplace(code, steps);
      for (std::size_t i = 0; i < steps.size() && !is_new; ++i)
        it->second[i].nanoseconds = std::min(it->second[i].nanoseconds, steps[i].nanoseconds);
    }
  }

 private:
  std::unordered_map<const Code*, std::vector<StepTime>> codes_;
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

bool has_effects(const Body& body) {
  for (const passes::Step& s : body.steps) {
    if (s.effects) return true;
    for (const auto& b : s.bodies)
      if (has_effects(*b)) return true;
  }
  return false;
}

// Steps outside loops are timed with nothing watched inside, or the clock would count as part of a loop.
struct Measured {
  Times outer, nested;
  double seconds = -1;
};
Measured measure(const flat::Compiled& compiled, std::span<const Array> x) {
  Measured m;
  const Stopwatch all;
  auto call = [&](Times* times, bool nested) {
    Times now;
    now.nested = nested;
    Arrays arguments(x.begin(), x.end());  // what is donated is given away in each call
    for (int i : compiled.state().options.donate)
      if (!is_weak(arguments[i])) arguments[i] = copy(arguments[i]);  // a number has no memory to give
    const Stopwatch one;
    {
      StepWatch::Installed watch(times ? &now : nullptr);
      compiled(arguments);
    }
    if (times) times->take_least(now);
    return one.seconds();
  };
  if (has_effects(compiled.state().program->body())) {
    m.seconds = call(&m.nested, true);
    m.outer = m.nested;
    return m;
  }
  constexpr double enough = 0.3;  // seconds for all calls, as far as three rounds allow
  m.seconds = call(nullptr, false);
  for (int round = 0; round < 30 && (round < 3 || all.seconds() < enough); ++round) {
    m.seconds = std::min(m.seconds, call(nullptr, false));
    call(&m.outer, false);
    call(&m.nested, true);
    if (round == 0 && all.seconds() > 2) break;
  }
  return m;
}

// ---- what a step moves

double unique_elements(const passes::Value& v) {
  double n = 1;
  for (int d = 0; d < v.type.shape.ndim(); ++d)
    if (v.type.shape[d] == 0 || v.strides[d] != 0) n *= static_cast<double>(v.type.shape[d]);
  return n;
}

// Elements that an access visits: of every loop variable that it depends on, all values.
double visited(const loops::Kernel& kernel, const loops::Access& access) {
  double n = 1;
  for (std::size_t i = 0; i < kernel.extents.size(); ++i)
    for (const loops::Affine& f : access.index)
      if (f.coefficients[i] != 0) {
        n *= static_cast<double>(kernel.extents[i]);
        break;
      }
  return n;
}

// `near`: a storage that does not count, since its elements are in the cache already.
double moved_by_kernel(const Body& body, const passes::Step& s, passes::StorageId near = {}) {
  std::vector<double> elements(s.kernel().operands.size(), 0);
  auto visit = [&](const loops::Access& a) { elements[a.operand] += visited(s.kernel(), a); };
  for (const loops::Access& a : s.kernel().accesses) visit(a);
  for (const loops::Store& t : s.kernel().stores) visit(t.to);
  double bytes = 0;
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const passes::Value& v = body.values[s.operand(k)];
    if (v.storage == near && k < s.in.size()) continue;
    bytes += std::min(elements[k], unique_elements(v)) * static_cast<double>(size_of(v.type.dtype));
  }
  return bytes;
}

double moved_by_call(const Body& body, const passes::Step& s) {
  auto value = [&](passes::ValueId v) -> const passes::Value& { return body.values[v]; };
  auto bytes_of = [&](passes::ValueId v) {
    return unique_elements(value(v)) * static_cast<double>(size_of(value(v).type.dtype));
  };
  const int in_place = s.is<passes::Call>() ? s.as<passes::Call>()->in_place : -1;
  const bool updates = in_place >= 0 && value(s.in[in_place]).storage == value(s.out[0]).storage;
  double bytes = 0, written = 0;
  for (passes::ValueId v : s.out) written += bytes_of(v);
  for (std::size_t i = 0; i < s.in.size(); ++i) {
    if (updates && static_cast<int>(i) == in_place) continue;
    // What computes nothing takes its elements from operand 0, as many as it gives.
    const double all = bytes_of(s.in[i]);
    bytes += i == 0 && s.flops == 0 && !s.effects ? std::min(all, written) : all;
  }
  // In place no more is written than the other operands bring.
  return updates ? 2 * bytes : bytes + written;
}

// ---- rows

class Gathering {
 public:
  Gathering(MemoryReport& report, const Measured* measured, const flat::Compiled::State& compiled)
      : r_(report), measured_(measured), labels_(compiled.program->program()), paths_(compiled.paths) {}

  void run(const Body& body, const Code* code) { walk(body, code, 0, 0, 0, 1); }

 private:
  // Sums over a Body's steps.
  struct Sums {
    double seconds = 0, bytes = 0, flops = 0;
  };

  // `live`: bytes in use outside this Body; `base`: where its part of the arena begins; `runs`: -1 where unknown.
  Sums walk(const Body& body, const Code* code, int depth, std::size_t live, std::size_t base, std::int64_t runs) {
    const Table<passes::StorageId, passes::Span> spans = passes::spans_of(body);
    const std::vector<std::size_t> own = compiled::live_bytes(body, spans);
    std::vector<std::size_t> first_row, last_row;
    Sums sums;
    auto add = [](double& sum, double x) { sum = sum < 0 || x < 0 ? -1 : sum + x; };
    for (std::size_t i = 0; i < body.steps.size(); ++i) {
      const passes::Step& s = body.steps[i];
      if (const auto* kernel = s.as<passes::Kernel>(); kernel && kernel->on_tiles) {
        const double bytes = r_.steps.back().bytes, flops = r_.steps.back().flops;
        std::size_t begun = s.scratch;
        for (passes::StorageId k : spans.ids())
          if (spans[k].first == static_cast<int>(i) && body.storages[k].kind == passes::Storage::Kind::temporary)
            begun += body.storages[k].bytes;
        join(body, body.steps[i - 1], s, begun);
        add(sums.bytes, r_.steps.back().bytes - bytes);
        add(sums.flops, r_.steps.back().flops - flops);
        first_row.push_back(first_row.back());
        last_row.push_back(last_row.back());
        continue;
      }
      first_row.push_back(r_.steps.size());
      row(body, s, code, i, depth, live + own[i] + s.scratch, runs);
      if (compiled::is_control(s))
        nested(s, compiled::mark_of(body, s), code, i, depth, live + own[i], base + body.scratch_offsets[i], runs);
      else if (s.scratch)
        piece({"scratch of " + compiled::step_name(s), "", source_line(s.at), base + body.scratch_offsets[i], s.scratch,
               first_row[i], first_row[i]},
              compiled::mark_of(body, s));
      last_row.push_back(r_.steps.size() - 1);
      const MemoryReport::Step& done = r_.steps[first_row[i]];
      add(sums.seconds, done.seconds);
      add(sums.bytes, done.bytes);
      add(sums.flops, done.flops);
    }
    pieces(body, spans, first_row, last_row, base);
    return sums;
  }

  void row(const Body& body, const passes::Step& s, const Code* code, std::size_t i, int depth, std::size_t live,
           std::int64_t runs) {
    MemoryReport::Step row;
    row.depth = depth;
    row.what = compiled::step_name(s);
    if (!s.out.empty()) row.type = body.type(s.out[0]).str();
    if (s.at.line()) row.line = source_line(s.at);
    for (const passes::Step::Made& made : s.made) row.operations.push_back(operation(made));
    label(row, compiled::mark_of(body, s));
    row.live_bytes = live;
    row.runs = runs;
    if (measured_) {
      const Times::StepTime* t = (depth == 0 ? measured_->outer : measured_->nested).of(code, code->doer[i]);
      row.runs = t ? t->runs : 0;
      row.seconds = t ? t->nanoseconds * 1e-9 * share(body, code, i) : 0;
    }
    if (!compiled::is_control(s) && row.runs >= 0) {
      const auto n = static_cast<double>(row.runs);
      row.bytes = n * (s.is<passes::Kernel>() ? moved_by_kernel(body, s) : moved_by_call(body, s));
      row.flops = n * s.flops;
    }
    r_.steps.push_back(std::move(row));
  }

  // Of the time of kernels that run at once, each has as much as it moves of the bytes.
  static double share(const Body& body, const Code* code, std::size_t i) {
    double own = 0, all = 0;
    for (std::size_t k = 0; k < body.steps.size(); ++k) {
      const auto* kernel = body.steps[k].as<passes::Kernel>();
      if (code->doer[k] != code->doer[i] || !kernel || kernel->on_tiles) continue;
      const double bytes = 1 + moved_by_kernel(body, body.steps[k]);
      all += bytes;
      if (k == i) own = bytes;
    }
    return own == 0 ? 1 : own / all;
  }

  // A kernel that runs on parts of a product as they are finished: one row for both.
  void join(const Body& body, const passes::Step& product, const passes::Step& s, std::size_t begun) {
    MemoryReport::Step& row = r_.steps.back();
    row.what += ", " + compiled::step_name(s);
    if (!s.out.empty()) row.type = body.type(s.out[0]).str();
    for (const passes::Step::Made& made : s.made) row.operations.push_back(operation(made));
    row.live_bytes += begun;
    if (row.runs < 0) return;
    const auto n = static_cast<double>(row.runs);
    row.bytes += n * moved_by_kernel(body, s, body.values[product.out[0]].storage);
    row.flops += n * s.flops;
  }
  static MemoryReport::Operation operation(const passes::Step::Made& made) {
    return {made.primitive->name, made.at.line() ? source_line(made.at) : SourceLine{}};
  }

  // Rows of a loop or branch. What it moves and computes is the sum of them.
  void nested(const passes::Step& s, const ir::Mark& mark, const Code* code, std::size_t i, int depth, std::size_t live,
              std::size_t base, std::int64_t runs) {
    const std::size_t own = r_.steps.size() - 1;
    const auto* loop = s.as<passes::Loop>();
    const std::int64_t length = loop && s.bodies.size() == 1 ? loop->length : -1;
    double bytes = 0, flops = 0;
    for (std::size_t k = 0; k < s.bodies.size(); ++k) {
      const Body& body = *s.bodies[k];
      const std::size_t outside = live + s.scratch - body.bytes;
      const bool header = s.bodies.size() > 1;
      const std::size_t at = r_.steps.size();
      if (header) {
        MemoryReport::Step row{.depth = depth + 1, .what = passes::name_of(s, k), .live_bytes = outside + body.bytes};
        r_.steps.push_back(std::move(row));
      }
      const Sums sums = walk(body, code->steps[code->doer[i]]->nested(k), depth + 1 + header, outside,
                             base + passes::plan_of(s, k).offset, runs < 0 || length < 0 ? -1 : runs * length);
      if (header) {
        MemoryReport::Step& row = r_.steps[at];
        if (!body.steps.empty()) row.runs = r_.steps[at + 1].runs;
        row.seconds = measured_ ? sums.seconds : -1;
        row.bytes = sums.bytes;
        row.flops = sums.flops;
      }
      bytes = bytes < 0 || sums.bytes < 0 ? -1 : bytes + sums.bytes;
      flops = flops < 0 || sums.flops < 0 ? -1 : flops + sums.flops;
    }
    r_.steps[own].bytes = bytes;
    r_.steps[own].flops = flops;
    for (const passes::Part& part : passes::buffers_of(s)) {
      const std::size_t end = std::min(plan::rounded(part.offset + part.bytes), s.scratch);
      if (end > part.offset)
        piece({"buffer of " + compiled::step_name(s), "", source_line(s.at), base + part.offset, end - part.offset, own,
               r_.steps.size() - 1},
              mark);
    }
  }

  // A storage is a piece for each value that lies in it, one after the other.
  void pieces(const Body& body, const Table<passes::StorageId, passes::Span>& spans,
              const std::vector<std::size_t>& first_row, const std::vector<std::size_t>& last_row, std::size_t base) {
    Table<passes::StorageId, std::vector<std::pair<std::size_t, passes::ValueId>>> written(body.storages.size());
    for (std::size_t i = 0; i < body.steps.size(); ++i)
      for (passes::ValueId v : body.steps[i].out) {
        auto& values = written[body.values[v].storage];
        if (values.empty() || made_by(body, values.back().second) != made_by(body, v)) values.emplace_back(i, v);
      }
    for (passes::StorageId s : body.storages.ids()) {
      if (written[s].empty() || !compiled::in_arena(body, written[s][0].second) || body.storages[s].bytes == 0)
        continue;
      written[s][0].first = spans[s].first;
      for (std::size_t k = 0; k < written[s].size(); ++k) {
        const auto& [step, value] = written[s][k];
        const passes::Value& v = body.values[value];
        const std::size_t from = first_row[step];
        const std::size_t end = k + 1 < written[s].size()
                                    ? first_row[written[s][k + 1].first]
                                    : last_row[std::min<std::size_t>(spans[s].last, body.steps.size() - 1)] + 1;
        if (from < end)
          piece({v.primitive ? v.primitive->name : "copy", v.type.str(), v.at.line() ? source_line(v.at) : SourceLine{},
                 base + body.offsets[s], body.storages[s].bytes, from, end - 1},
                compiled::mark_of(body, value));
      }
    }
  }
  // Steps that write one value in parts make it together.
  static std::tuple<const ir::Primitive*, std::uint64_t, bool> made_by(const Body& body, passes::ValueId v) {
    const passes::Value& value = body.values[v];
    return {value.primitive, value.mark.operation, value.mark.backward};
  }

  template <class Row>
  void label(Row& row, const ir::Mark& mark) const {
    const compiled::Label label = labels_.of(mark);
    row.path = compiled::path_of(label.leaf, label.backward, paths_);
    row.callers = ir::str(mark.region);
  }
  void piece(MemoryReport::Piece p, const ir::Mark& mark) {
    label(p, mark);
    p.backward = labels_.of(mark).backward;
    r_.pieces.push_back(std::move(p));
  }

  MemoryReport& r_;
  const Measured* measured_;
  const compiled::Labels labels_;
  const std::vector<std::string>& paths_;
};

// ---- times that add up. Steps in loops are watched in other calls than the loop, and by a clock that takes time
// itself: of theirs only the proportions are right.

double time_of(const MemoryReport& r, const std::vector<std::size_t>& rows) {
  double seconds = 0;
  for (std::size_t i : rows) seconds += std::max(0.0, r.steps[i].seconds);
  return seconds;
}
void add_up(MemoryReport& r, const std::vector<std::size_t>& rows, double seconds) {
  const double sum = time_of(r, rows);
  for (std::size_t i : rows) {
    if (sum > 0) r.steps[i].seconds *= seconds / sum;
    if (const std::vector<std::size_t> inner = rows_below(r.steps, i); !inner.empty())
      add_up(r, inner, r.steps[i].seconds);
  }
}

}  // namespace

namespace flat {

MemoryReport memory_report(const FlatFunction& f, std::span<const Array> x, const JitOptions& options,
                           const Location& at, std::vector<std::string> paths) {
  const Compiled compiled = compile(f, x, options, at, std::move(paths));
  MemoryReport report;
  report.plan = compiled.plan();
  if (options.memory_budget) report.budget_curve = budget_curve(f, x, options, at);
  const compiled::CompiledProgram& program = *compiled.state().program;
  const bool runs = std::all_of(x.begin(), x.end(), [](const Array& a) { return !a.value()->abstract; });
  Measured measured;
  if (runs) {
    measured = measure(compiled, x);
    report.seconds = measured.seconds;
    report.measured_bytes = compiled.high_water_bytes();
  }
  Gathering(report, runs ? &measured : nullptr, compiled.state()).run(program.body(), &program.code());
  if (runs) {
    const std::vector<std::size_t> outermost = rows_below(report.steps);
    add_up(report, outermost, std::min(report.seconds, time_of(report, outermost)));
  }
  read_sources(report);
  return report;
}

}  // namespace flat
}  // namespace anew
