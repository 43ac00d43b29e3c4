// What must hold of every program. Bits are those of the program run plainly, every checkpoint and jit inlined.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "fuzz/program.h"
#include "fuzz/shard.h"
#include "ir/program.h"
#include "jit/compiled_program.h"
#include "runtime/buffer.h"
#include "support/check_grads.h"
#include "support/support.h"
#include "transforms/linearize.h"

namespace anew::fuzz {
namespace {

using test::same_bits;

std::string numbers_of(const Arrays& a) {
  std::string out;
  for (const Array& x : a) {
    out += x.type().str() + " (";
    auto v = test::numbers(x);
    for (std::size_t i = 0; i < v.size() && i < 6; ++i) out += fmt::format("{}{:a}", i ? ", " : "", v[i]);
    out += ") ";
  }
  return out;
}
void require_same(const Arrays& got, const Arrays& want, const std::string& what) {
  if (same_bits(got, want)) return;
  throw Failure{fmt::format("{}\n  got  {}\n  want {}", what, numbers_of(got), numbers_of(want))};
}
Arrays without_signs_of_zeros(Arrays a) {
  for (Array& x : a)
    if (is_float(x.dtype())) x = x + zeros_like(x);
  return a;
}
bool tame(const Arrays& a) {
  for (const Array& x : a)
    for (double v : test::numbers(x))
      if (!(std::abs(v) < 1e4)) return false;
  return true;
}

class Checker {
 public:
  Checker(const Block& b, std::uint64_t seed) : b_(b), seed_(seed), random_(seed + 17), x_(inputs_of(b, seed)) {}

  void all() {
    y_ = run(b_, x_, {.plain = true});
    ct_ = test::random_like(random_, y_);
    t_ = test::random_like(random_, x_);
    grads_ = pullback(function(b_, {.plain = true}));
    // LLVM would take most of the time: it compiles every fourth program.
    compiled::set_backend(turn() % 4 == 0 ? compiled::Backend::machine_code : compiled::Backend::interpreter);
    values();
    gradients();
    within();
    compiled();
    forward();
    residuals();
    mapped();
    differences();
  }

 private:
  Arrays pullback(const FlatFunction& f) const { return flat::linearize(f, x_).second.pullback(ct_); }
  static FlatFunction checkpointed(FlatFunction f, const Policy& p) {
    return [f = std::move(f), p](In x) { return flat::checkpoint(f, x, p); };
  }
  static FlatFunction jitted(FlatFunction f) {
    return [f = std::move(f)](In x) { return flat::jit(f, x, {}); };
  }

  void values() {
    require_same(run(b_, x_), y_, "values: as written");
    require_same(jitted(function(b_))(x_), y_, "values: jit");
    Program p = flat::make_program(function(b_), x_);
    ir::verify(*p.code());
    Arrays all = p.constants();
    require_same(evaluate(p, x_), y_, "values: the traced program");
    std::string text = p.str();
    if (text.find("<fn ") == std::string::npos) {
      Program again = parse_program(text);
      require(again.str() == text, "text: a program prints otherwise after parsing\n" + text + again.str());
      all.insert(all.end(), x_.begin(), x_.end());
      require_same(evaluate(again, all), y_, "text: a parsed program");
    }
  }

  void gradients() {
    require_same(pullback(function(b_)), grads_, "bits: as written");
    require_same(pullback(jitted(function(b_))), grads_, "bits: jit");
    for (const Policy& p : policies()) {
      require_same(pullback(checkpointed(function(b_, {.plain = true}), p)), grads_, "bits: whole under " + p.str());
      require_same(pullback(function(b_, {.policy = &p})), grads_, "bits: every checkpoint with " + p.str());
    }
    const Policy& away = offloading()[seed_ % offloading().size()];
    require_same(pullback(checkpointed(function(b_, {.plain = true}), away)), grads_,
                 "bits: whole under " + away.str());
    require_same(pullback(function(b_, {.policy = &away})), grads_, "bits: every checkpoint with " + away.str());
    const Policy& p = policies()[seed_ % policies().size()];
    const Policy& q = policies()[seed_ / policies().size() % policies().size()];
    FlatFunction both = checkpointed(function(b_, {.policy = &q}), p);
    require_same(pullback(both), grads_, "bits: whole under " + p.str() + ", inner with " + q.str());
    require_same(pullback(jitted(both)), grads_, "bits: jitted, whole under " + p.str() + ", inner with " + q.str());
    auto [y, linear] = flat::linearize(both, x_);
    require_same(y, y_, "values: of linearize");
    Arrays in = linear_state(both)->residuals;
    in.insert(in.end(), ct_.begin(), ct_.end());
    Program backward = linear.pullback_program();
    ir::verify(*backward.code());
    require_same(evaluate(backward, in), grads_, "bits: the backward program");
    require_same(std::move(linear).consume(ct_), grads_, "bits: consumed");
  }

  // Every loop within the fewest bytes that all of them can do with, and within a few more.
  void within() {
    std::size_t memory = 1;
    for (const std::size_t more : {std::size_t{0}, seed_ % 7 * 40}) {
      const std::size_t least = memory;
      for (memory += more;;) {
        const FlatFunction f = function(b_, {.plain = true, .memory = memory});
        try {
          require_same(pullback(f), grads_, fmt::format("bits: loops within {} bytes", memory));
          if (turn() % 4 == 0)
            require_same(jitted([&](In) { return pullback(f); })(x_), grads_,
                         fmt::format("bits: compiled, loops within {} bytes", memory));
          break;
        } catch (const Error& e) {
          const std::string text = e.what(), word = "the smallest that can be met is ";
          const std::size_t at = text.find(word);
          if (at == std::string::npos) throw;
          const std::size_t smallest = std::stoull(text.substr(at + word.size()));
          require(smallest > memory, "loops: the smallest number of bytes is not enough");
          memory = smallest;
        }
      }
      if (memory == least && more == 0) return;  // there is no loop that keeps anything
    }
  }

  // Counts the programs of a shard, so that every shard has its share of what is rare.
  std::uint64_t turn() const { return seed_ / 16 + seed_ % 16; }

  // Value and gradient as one compiled program: every policy, both backends, one to four threads even where they do not
  // pay, tiles of few elements, and the memory that the plan says. Compiling costs most of the time, so this is for
  // every fourth program: two policies in turn, one of them by machine code, and one that offloads; all of them and
  // threads are rarer still.
  void compiled() {
    if (turn() % 4 != 0) return;
    Arrays want = y_;
    want.insert(want.end(), grads_.begin(), grads_.end());
    const bool threads = turn() % 16 == 0;
    const SmallPieces pieces;
    if (threads) set_threads(4);
    const std::size_t all = policies().size();
    for (std::size_t n = 0; n < (turn() % 32 == 0 ? all : 2); ++n) {
      const std::size_t i = (turn() / 4 + n) % all;
      const Interpreted interpreted(n > 0);
      compiled_under(policies()[i], want, static_cast<int>(1 + (seed_ + i) % 4), n > 0);
    }
    const std::uint64_t fourth = turn() / 4;
    const Interpreted interpreted(fourth % 2 == 0);
    compiled_under(offloading()[fourth / 2 % offloading().size()], want, 2, fourth % 2 == 0);
    if (threads) set_threads(1);
  }

  void compiled_under(const Policy& p, const Arrays& want, int threads, bool also_budgets) {
    FlatFunction f = checkpointed(function(b_, {.policy = &p}), p);
    auto both = [&](In x) {
      auto [y, linear] = flat::linearize(f, x);
      Arrays g = linear.pullback(ct_);
      y.insert(y.end(), g.begin(), g.end());
      return y;
    };
    flat::Compiled c = flat::compile(both, x_, {.threads = threads});
    const bool machine = compiled::backend() == compiled::Backend::machine_code;
    const std::string what = fmt::format("under {} by {}", p.str(), machine ? "machine code" : "the interpreter");
    require_same(c(x_), want, "compiled: " + what);
    require(c.high_water_bytes() == c.plan().peak_bytes,
            fmt::format("compiled: {} bytes {}, planned {}", c.high_water_bytes(), what, c.plan().peak_bytes));
    if (also_budgets) budgets(both, want);
  }

  // The smallest budget, and one between; of programs with loops six, from the smallest to the plain peak: kept,
  // monotone, the same bits.
  void budgets(const FlatFunction& f, const Arrays& want) {
    const std::vector<BudgetPoint> curve = flat::budget_curve(f, x_);
    const std::size_t least = curve.back().peak_bytes, most = curve[0].peak_bytes;
    std::vector<std::size_t> bytes{least, curve[curve.size() / 2].peak_bytes};
    bool loops = false;
    for_each_node(b_, [&](const Node& n) { loops = loops || n.op == "scan" || n.op == "while" || n.op == "fori"; });
    for (std::size_t i = 1; loops && i < 5; ++i) bytes.push_back(least + (most - least) * i / 4);
    std::sort(bytes.begin(), bytes.end());
    std::size_t peak = 0;
    double extra = std::numeric_limits<double>::infinity();
    for (std::size_t budget : bytes) {
      flat::Compiled c = flat::compile(f, x_, {.memory_budget = budget});
      require_same(c(x_), want, fmt::format("budget: {} bytes", budget));
      const MemoryPlan& plan = c.plan();
      require(plan.peak_bytes <= budget && plan.peak_bytes >= peak && plan.extra_time <= extra &&
                  c.high_water_bytes() == plan.peak_bytes,
              fmt::format("budget: {} bytes planned, {} used of {}", plan.peak_bytes, c.high_water_bytes(), budget));
      peak = plan.peak_bytes;
      extra = plan.extra_time;
    }
  }

  void forward() {
    if (contains(b_, "custom_vjp")) return;  // has no forward derivative
    auto plain = function(b_, {.plain = true}), written = function(b_);
    auto [y, dy] = flat::jvp(plain, x_, t_);
    require_same(y, y_, "values: of jvp");
    require_same(flat::jvp(written, x_, t_).second, dy, "forward: jvp as written");
    require_same(flat::linearize(plain, x_).second(t_), dy, "forward: linearize");
    const Policy& p = policies()[seed_ % policies().size()];
    require_same(flat::linearize(checkpointed(written, p), x_).second(t_), dy, "forward: linearize under " + p.str());
    // Forward over reverse.
    auto backward = [&](const FlatFunction& f) -> FlatFunction {
      return [&f, this](In x) { return flat::linearize(f, x).second.pullback(ct_); };
    };
    FlatFunction under = checkpointed(written, p);
    // A tangent that is zero for certain comes to the user as +0.0, one that is computed as the -0.0 of zeros inside;
    // which of the two a gradient's is depends on what is known before it, so on the policy.
    require_same(without_signs_of_zeros(flat::jvp(backward(under), x_, t_).second),
                 without_signs_of_zeros(flat::jvp(backward(plain), x_, t_).second),
                 "forward: of the gradient under " + p.str());
    // Reverse over reverse: to rounding. A while loop has none.
    bool dynamic = false;
    for_each_node(b_, [&](const Node& n) { dynamic = dynamic || n.op == "while" || (n.op == "fori" && n.params[3]); });
    if (dynamic) return;
    Arrays a = flat::linearize(backward(under), x_).second.pullback(t_);
    Arrays b = flat::linearize(backward(plain), x_).second.pullback(t_);
    if (tame(b)) close(a, b, "reverse over reverse: under " + p.str());
  }
  static void close(const Arrays& a, const Arrays& b, const std::string& what) {
    require(a.size() == b.size(), what);
    for (std::size_t i = 0; i < a.size(); ++i) {
      require(a[i].type() == b[i].type(), what + ": types");
      if (!is_float(a[i].dtype())) continue;
      auto x = test::numbers(a[i]), y = test::numbers(b[i]);
      double scale = 1;
      for (double v : y) scale = std::max(scale, std::abs(v));
      double tolerance = a[i].dtype() == f64 ? 1e-11 : 1e-2;
      for (std::size_t k = 0; k < x.size(); ++k)
        require(std::abs(x[k] - y[k]) <= tolerance * scale,
                fmt::format("{}: result {} element {}: {} is not {}", what, i, k, x[k], y[k]));
    }
  }

  std::shared_ptr<flat::Linear::State> linear_state(const FlatFunction& f) const {
    return linearize_first(f, x_, -1, "linearize", {}).second;
  }
  // What the report says is what is kept: the same types in the same order, and no other memory.
  void residuals() {
    for (const FlatFunction& f :
         {function(b_), function(b_, {.plain = true}), checkpointed(function(b_), policies()[seed_ % 12])}) {
      std::vector<Residual> said = flat::saved_residuals(f, x_), kept;
      std::size_t before = memory_statistics().live_bytes, bytes = 0;
      auto state = linear_state(f);
      std::size_t after = memory_statistics().live_bytes;
      std::string types, real;
      for (const Residual& r : said) types += r.type.str() + " ";
      std::map<const void*, std::size_t> buffers;
      for (const Array& r : state->residuals) {
        real += r.type().str() + " ";
        if (r.value()->buffer) buffers[r.value()->buffer.get()] = r.value()->buffer->bytes();
      }
      require(types == real, "residuals: said " + types + "but kept " + real);
      for (const Array& x : x_) buffers.erase(x.value()->buffer.get());
      for (auto [buffer, n] : buffers) bytes += n;
      require(after <= before + bytes,
              fmt::format("residuals: {} bytes live, {} of them residuals' buffers ({})", after - before, bytes, real));
    }
  }

  // vmap is a loop over examples.
  void mapped() {
    constexpr std::int64_t n = 3;
    std::vector<Arrays> examples{x_, inputs_of(b_, seed_ + 1000003), inputs_of(b_, seed_ + 2000003)};
    Arrays stacked;
    flat::BatchAxes axes;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      bool shared = x_.size() > 1 && (seed_ >> i) % 3 == 0 && (i + 1 < x_.size() || axes_mapped(axes));
      if (shared) {
        for (Arrays& e : examples) e[i] = x_[i];
        stacked.push_back(x_[i]);
        axes.in.push_back(no_axis);
      } else {
        stacked.push_back(stack({examples[0][i], examples[1][i], examples[2][i]}));
        axes.in.push_back(0);
      }
    }
    auto compare = [&](const FlatFunction& f, const char* what) {
      Arrays got = flat::vmap(f, stacked, axes);
      for (std::int64_t k = 0; k < n; ++k) {
        Arrays one;
        for (const Array& y : got) one.push_back(y[k]);
        require_same(one, f(examples[static_cast<std::size_t>(k)]), fmt::format("vmap: {}, example {}", what, k));
      }
    };
    compare(function(b_), "value");
    compare([&](In x) { return flat::linearize(function(b_), x).second.pullback(ct_); }, "gradient");
  }
  static bool axes_mapped(const flat::BatchAxes& a) {
    return std::any_of(a.in.begin(), a.in.end(), [](int i) { return i != no_axis; });
  }

  // Central differences along one direction; where the two one-sided slopes differ, a kink is near.
  void differences() {
    bool wide = !y_.empty();
    for (const Parameter& p : b_.inputs) wide = wide && p.type.dtype != f32;
    if (!wide || contains(b_, "mixed") || contains(b_, "stop") || !tame(y_) || !tame(grads_)) return;
    auto f = function(b_, {.plain = true});
    auto slope = [&](double from, double to) {
      Arrays a = f(test::moved(x_, t_, to)), b = f(test::moved(x_, t_, from)), d;
      for (std::size_t i = 0; i < a.size(); ++i)
        d.push_back(is_float(a[i].dtype()) ? (a[i] - b[i]) / (to - from) : a[i]);
      return test::inner_product(d, ct_);
    };
    double h = 1e-5, central = slope(-h, h), left = slope(-h, 0), right = slope(0, h);
    double want = test::inner_product(t_, grads_);
    double scale = 1 + std::abs(want) + test::sum_of_sizes(t_, grads_);
    if (std::abs(left - right) > 1e-3 * scale) return;
    require(std::abs(central - want) <= 1e-5 * scale,
            fmt::format("differences: {} by differences, {} by the gradient", central, want));
  }

  const Block& b_;
  std::uint64_t seed_;
  test::Random random_;
  Arrays x_, y_, ct_, t_, grads_;
};

}  // namespace

std::string check(const Block& b, std::uint64_t seed) {
  const test::Warnings quiet;
  return failure_of([&] { Checker(b, seed).all(); });
}

}  // namespace anew::fuzz
