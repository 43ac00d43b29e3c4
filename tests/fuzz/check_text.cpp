// Everything that can be done to a Program that parsed. Eager evaluation is bounded by counting equations; what it
// cannot finish is not compiled, and what would be large by its types is not run at all.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "control/loop.h"
#include "fuzz/text.h"
#include "ir/program.h"
#include "jit/compiled_program.h"
#include "support/check_grads.h"
#include "support/support.h"

namespace anew::fuzz {

const std::string* current_text = nullptr;

namespace {

struct OutOfBudget {};
constexpr std::int64_t most_elements = 4096, most_trips = 64;
constexpr double most_seconds = 1;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Whether types and trip counts, as far as they are written down, let it be run in a moment.
bool small(const ir::Program& p) {
  bool ok = true;
  ir::for_each_program(p, [&](const ir::Program& q) {
    std::int64_t sum = 0;
    for (const ir::Type& t : q.types) sum += ok = ok && t.shape.size() <= most_elements, t.shape.size();
    ok = ok && sum <= 64 * most_elements;
    for (const ir::Eqn& e : q.eqns) {
      if (auto* unwind = dynamic_cast<const UnwindParams*>(e.params.get())) ok = ok && unwind->length <= most_trips;
      auto* loop = dynamic_cast<const LoopParams*>(e.params.get());
      if (!loop) continue;
      ok = ok && loop->length <= most_trips && loop->checkpoints <= most_elements;
      ok = ok && !(loop->condition && loop->condition->eqns.empty());  // turns that count nothing
    }
  });
  return ok;
}

// Nested calls are evaluated equation by equation, and all equations together are not many.
class Budget {
 public:
  explicit Budget(int equations)
      : saved_(set_observer([n = equations](const ir::Primitive&) mutable {
          if (--n < 0) throw OutOfBudget{};
        })),
        run_(std::exchange(run_compiled, nullptr)) {}
  ~Budget() {
    set_observer(saved_);
    run_compiled = run_;
  }
  Budget(const Budget&) = delete;

 private:
  Observer saved_;
  RunCompiled run_;
};

class TextChecker {
 public:
  TextChecker(Outcome& o, bool machine_code) : o_(o), machine_code_(machine_code), random_(7) {}

  void run(const std::string& text) {
    try {
      program_ = parse_program(text);
    } catch (const Error&) {
      return;
    }
    o_.parsed = true;
    ir::verify(*program_.code());
    const std::string printed = program_.str();
    if (std::string again = parse_program(printed).str(); again != printed)
      throw std::logic_error("prints otherwise after parsing:\n" + printed + "\n" + again);
    if (!small(*program_.code())) return;
    for (const ir::Type& t : program_.code()->input_types()) inputs_.push_back(random_.array(t, -2, 3));
    if (!evaluated()) return;
    compiled();
    o_.differentiated = attempt([&] { differentiated(); });
    o_.mapped = attempt([&] { mapped(); });
  }

 private:
  // An Error is an answer; running out of budget is none of the program's faults.
  template <class F>
  static bool attempt(F f) {
    try {
      const Budget budget(4000);
      f();
      return true;
    } catch (const Error&) {
      return false;
    } catch (const OutOfBudget&) {
      return false;
    }
  }
  bool evaluated() {
    return o_.evaluated = attempt([&] { results_ = evaluate(program_, inputs_); });
  }
  void compiled() {
    const compiled::Backend before = compiled::backend();
    compiled::set_backend(machine_code_ ? before : compiled::Backend::interpreter);
    std::vector<ir::Strides> strides;
    for (Array& x : inputs_) {
      x = contiguous(x);
      strides.push_back(row_major(x.shape()));
    }
    compiled::CompiledProgram c(program_.code(), strides);
    Arrays y = c.run(inputs_, Location::current());
    compiled::set_backend(before);
    if (!test::same_bits(y, results_)) throw std::logic_error("jit gives other bits than eager evaluation");
    o_.compiled = true;
  }
  FlatFunction function() const {
    return [this](std::span<const Array> x) { return evaluate(program_, x); };
  }
  void differentiated() {
    auto [y, linear] = flat::linearize(function(), inputs_);
    if (!test::same_bits(y, results_)) throw std::logic_error("linearize gives other values");
    Arrays ct = test::random_like(random_, y);
    linear.pullback(ct);
    ir::verify(*linear.program().code());
  }
  void mapped() {
    Arrays x;
    for (const Array& a : inputs_) x.push_back(stack({a, a}));
    flat::vmap(function(), x, {.in = std::vector<int>(x.size(), 0), .size = 2});
  }

  Outcome& o_;
  bool machine_code_;
  test::Random random_;
  Program program_;
  Arrays inputs_, results_;
};

}  // namespace

Outcome check_text(const std::string& text, bool machine_code) {
  current_text = &text;
  Outcome o;
  test::Warnings quiet;
  debug::Sink sink = debug::set_sink([](std::string_view) {});
  const double start = cpu_seconds();
  try {
    TextChecker(o, machine_code).run(text);
  } catch (const std::exception& e) {
    o.failure = e.what();
  }
  debug::set_sink(sink);
  if (const double seconds = cpu_seconds() - start; o.failure.empty() && seconds > most_seconds)
    o.failure = fmt::format("took {:.1f} s", seconds);
  current_text = nullptr;
  return o;
}

}  // namespace anew::fuzz
