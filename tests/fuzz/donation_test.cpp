// Random programs with random arguments donated: the bits of the plain program, the memory that the plan says and no
// more than without, nothing taken from others, and what was given away is an Error to use. A failing seed prints the
// smallest program that fails like it. With ANEW_LONG 4,000 of them (shard.h).
#include <random>

#include "fuzz/program.h"
#include "fuzz/shard.h"
#include "runtime/pool.h"
#include "support/plan_laws.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::fuzz::donation_test {
namespace {

using test::same_bits;

// What is done with the program: as it is, with its gradients, or a step against them (a result for each argument).
enum class Form { values, gradients, step };

// A function of two lists of arrays: those given away and those kept.
struct Subject {
  const Block* block;
  Form form;
  std::vector<int> place;     // per input of the block: a number in the first list, or behind it in the second
  std::vector<int> returned;  // inputs that are results too, as they are
  const Array* captured;      // read from the surroundings, if any

  Arrays operator()(const Arrays& given, const Arrays& kept) const {
    Arrays x, out;
    for (int p : place) {
      const auto i = static_cast<std::size_t>(p);
      x.push_back(i < given.size() ? given[i] : kept[i - given.size()]);
    }
    const FlatFunction f = function(*block);
    if (form == Form::values) {
      out = f(x);
    } else {
      auto [y, linear] = flat::linearize(f, x);
      Arrays ct, g;
      for (const Array& a : y) ct.push_back(is_float(a.dtype()) ? ones_like(a) : Array());
      g = linear.pullback(ct);
      if (form == Form::gradients) out = std::move(y);
      for (std::size_t i = 0; i < g.size(); ++i)
        out.push_back(form == Form::step && is_float(x[i].dtype()) ? x[i] - 0.125 * g[i] : g[i]);
    }
    for (int i : returned) out.push_back(x[static_cast<std::size_t>(i)]);
    if (captured) out.push_back(sum(*captured) * 2);
    return out;
  }
};
// The same without state of its own, so that calls of it are remembered.
const Subject* current = nullptr;
Arrays named(const Arrays& given, const Arrays& kept) { return (*current)(given, kept); }

// Who else has an array that is given away.
enum class Held { alone, handle, view, part, strided, twice, kept, captured, full };

class Donating {
 public:
  Donating(const Block& b, std::uint64_t seed) : engine_(seed * 77 + 5), b_(b), x_(inputs_of(b, seed)) {}

  void all() {
    choose();
    const Arrays given = fresh(0), kept = kept_;
    const Subject subject = subject_of(nullptr);
    const Arrays want = subject(given, kept);
    auto plain = jit(subject).compile(given, kept);
    const std::size_t peak = plain.plan().peak_bytes;
    require(same_bits(plain(given, kept), want), "plain: not the bits of eager evaluation");
    auto donated = jit(subject, {.threads = threads_, .donate = {0}}).compile(given, kept);
    require(donated.plan().peak_bytes <= peak,
            "peak: " + std::to_string(donated.plan().peak_bytes) + " donated, " + std::to_string(peak) + " without");
    calls("compile", donated, subject, true);
    calls("jit", jit(subject, {.threads = threads_, .donate = {0}}), subject, false);
    current = &subject;
    calls("known", jit(named, {.threads = threads_, .donate = {0}}), subject, false);
    budgets(subject);
    captures();
  }

 private:
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  // Which inputs are given away, and how they are held in each call.
  void choose() {
    form_ = static_cast<Form>(below(3));
    threads_ = 1 + below(2);
    std::vector<int> given, kept;
    for (int i = 0; i < std::ssize(x_); ++i) (below(100) < 65 ? given : kept).push_back(i);
    if (given.empty()) std::swap(given, kept);
    place_.resize(x_.size());
    for (std::size_t k = 0; k < given.size(); ++k) {
      place_[index(given[k])] = static_cast<int>(k);
      given_.push_back(x_[index(given[k])]);
    }
    for (std::size_t k = 0; k < kept.size(); ++k) {
      place_[index(kept[k])] = static_cast<int>(given.size() + k);
      kept_.push_back(x_[index(kept[k])]);
    }
    if (below(4) == 0) given_.push_back(ones({3, 0}));  // nobody reads these
    if (below(4) == 0) given_.push_back(copy(ones({2, 2}, i32)));
    for (int& p : place_)
      if (p >= std::ssize(given)) p += static_cast<int>(given_.size() - given.size());
    for (int i = 0; i < std::ssize(x_); ++i)
      if (below(8) == 0) returned_.push_back(i);
  }
  Subject subject_of(const Array* captured) const { return {&b_, form_, place_, returned_, captured}; }
  // Arrays to give away, nobody else's; other numbers in each round.
  Arrays fresh(int round) const {
    Arrays out;
    for (const Array& a : given_)
      out.push_back(copy(round && is_float(a.dtype()) ? flip(ravel(a)).reshape(a.shape()) : a));
    return out;
  }

  // One array as somebody holds it; others' handles go to `others`.
  Array held(Held how, const Array& a, Arrays& others) {
    switch (how) {
      case Held::handle: others.push_back(a); return a;
      case Held::view: others.push_back(a.ndim() > 0 ? flip(a, 0) : reshape(a, {1})); return a;
      case Held::part: return copy(stack({a, a}))[1];
      case Held::strided: return a.ndim() < 2 ? a : transpose(copy(transpose(a)));
      case Held::full: return full(a.shape(), 0.5, a.dtype());
      default: return a;
    }
  }

  template <class F>
  void calls(const std::string& what, const F& f, const Subject& subject, bool measured) {
    for (int round = 0; round < 3; ++round) {
      Arrays given, others, kept = kept_;
      std::vector<Held> how;
      for (const Array& a : fresh(round)) {
        how.push_back(round == 0 || below(2) ? Held::alone : static_cast<Held>(1 + below(8)));
        given.push_back(held(how.back(), copy(a), others));
      }
      meet(how, given, kept);
      const Arrays before = copies(given), theirs = copies(others), want = subject(before, kept);
      test::Warnings warnings;
      const Arrays out = f(given, kept);
      const std::string where = what + ", round " + std::to_string(round);
      require(same_bits(out, want), "bits: " + where);
      if constexpr (requires { f.high_water_bytes(); })
        require(!measured || f.high_water_bytes() == f.plan().peak_bytes, "measured: " + where);
      require(same_bits(others, theirs), "others: " + where);
      require(same_bits(kept, kept_) || kept.size() != kept_.size() || met_, "kept: " + where);
      check_given(how, given, before, where, warnings);
    }
  }
  static Arrays copies(const Arrays& a) {
    Arrays out;
    for (const Array& x : a) out.push_back(x.size() ? copy(x) : x);
    return out;
  }
  // The same array twice among those given away, or among those kept too.
  void meet(std::vector<Held>& how, Arrays& given, Arrays& kept) {
    met_ = false;
    std::vector<bool> done(given.size()), met(kept.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (done[i] || (how[i] != Held::twice && how[i] != Held::kept)) continue;
      const bool twice = how[i] == Held::twice;
      Arrays& list = twice ? given : kept;
      bool found = false;
      for (std::size_t k = 0; k < list.size() && !found; ++k) {
        if (twice ? k == i || how[k] != Held::alone : met[k]) continue;
        if (!(list[k].type() == given[i].type())) continue;
        list[k] = given[i];
        if (twice) how[k] = Held::twice;
        (twice ? done : met)[k] = found = met_ = true;
      }
      if (!found) how[i] = Held::alone;
    }
    for (std::size_t i = 0; i < given.size(); ++i)
      if (how[i] == Held::captured) how[i] = Held::alone;
  }
  static bool shared(Held how) {
    return how == Held::handle || how == Held::view || how == Held::twice || how == Held::kept || how == Held::captured;
  }
  void check_given(const std::vector<Held>& how, const Arrays& given, const Arrays& before, const std::string& where,
                   const test::Warnings& warnings) const {
    std::size_t warned = 0;
    for (const std::string& text : warnings.texts()) warned += text.find("donated arrays") != std::string::npos;
    bool any = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string which = where + ", array " + std::to_string(i) + " held " + std::to_string(int(how[i]));
      any = any || (shared(how[i]) && before[i].size() > 0);
      bool usable = true;
      try {
        (void)(given[i] + given[i]);
      } catch (const Error&) {
        usable = false;
      }
      if (usable) require(same_bits(given[i], before[i]), "destroyed: " + which);
      if (shared(how[i])) require(usable || before[i].size() == 0, "taken: " + which);
      else if (how[i] != Held::full && before[i].size() > 0) require(!usable, "left: " + which);
    }
    require(warned == (any ? 1U : 0U), "warnings: " + std::to_string(warned) + " " + where);
  }

  // Within budgets, donated and without.
  void budgets(const Subject& subject) {
    const Arrays given = fresh(0);
    bounds(subject, given);
    const auto curve = jit(subject, {.donate = {0}}).budget_curve(given, kept_);
    for (const BudgetPoint& p : {curve[curve.size() / 2], curve.back()}) {
      auto c = jit(subject, {.memory_budget = p.peak_bytes, .threads = threads_, .donate = {0}}).compile(given, kept_);
      require(c.plan().peak_bytes <= p.peak_bytes && c.plan().extra_time <= p.extra_time, "budget: not kept");
      calls("budget " + std::to_string(p.peak_bytes), c, subject, true);
    }
  }

  void bounds(const Subject& subject, const Arrays& given) const {
    Arrays x = given;
    x.insert(x.end(), kept_.begin(), kept_.end());
    const auto count = static_cast<std::ptrdiff_t>(given.size());
    auto flat = [&](In in) { return subject({in.begin(), in.begin() + count}, {in.begin() + count, in.end()}); };
    const ir::ProgramRef program = flat::make_program(flat, x).code();
    std::vector<ir::Strides> strides;
    for (const ir::Type& t : program->input_types()) strides.push_back(row_major(t.shape));
    std::vector<int> donated(given.size());
    std::iota(donated.begin(), donated.end(), static_cast<int>(program->inputs.size() - x.size()));
    const std::string below = test::below_least_bytes(*program, strides, donated);
    require(below.empty(), "least: " + below);
    passes::BudgetChoices choices(*program, strides, donated);
    const std::string above = test::above_a_plan(choices), time = test::other_time(choices);
    require(time.empty(), "time: " + time);
    require(above.empty(), "bound: " + above);
  }

  // An argument that the function reads from its surroundings as well is not alone, whoever holds it.
  void captures() {
    Arrays given = fresh(1);
    const auto i = index(below(static_cast<int>(given.size())));
    if (!is_float(given[i].dtype())) return;
    const Array& captured = given[i];
    const Subject subject = subject_of(&captured);
    const Arrays before = copies(given);
    const Arrays want = subject(before, kept_);
    std::vector<Held> how(given.size(), Held::alone);
    how[i] = Held::captured;
    test::Warnings warnings;
    require(same_bits(jit(subject, {.donate = {0}})(given, kept_), want), "captured: bits");
    check_given(how, given, before, "captured", warnings);
  }

  std::mt19937_64 engine_;
  const Block& b_;
  Arrays x_, given_, kept_;
  std::vector<int> place_, returned_;
  Form form_ = Form::values;
  int threads_ = 1;
  bool met_ = false;
};

std::uint64_t turn(std::uint64_t seed) { return seed / 16 + seed % 16; }
Block program(std::uint64_t seed) { return generate(seed, {.scale = seed % 2 ? 8 : 1, .attention = seed % 5 == 4}); }

std::string check_donation(const Block& b, std::uint64_t seed) {
  const test::Warnings quiet;
  const SmallPieces pieces;
  const Interpreted interpreted(turn(seed) % 4 != 0);
  return failure_of([&] { Donating(b, seed).all(); });
}

// The smallest budget was refused: buffers of a loop counted that another order does without.
TEST(FuzzDonations, SmallestBudgetOfLoops) {
  const Block b = parse(R"(
in 0:f32[24] ;
27 28 29 30 = scan[0,0,1,0] 0 0 {
  in 12:f32[] 13:f32[] ;
  25 = sin 12 ;
  out 25 25 13 25 ;
} ;
50 51 = fori[0,0,1,0] 30 30 {
  in 36:f32[] 37:f32[24,1] 38:f32[24,1] ;
  out 38 28 ;
} ;
54 = vdot 50 51 ;
out 54 ;
)");
  EXPECT_EQ(check_donation(b, 2133), "");
}

// The plan for a budget took longer than that of the curve, which was passed over.
TEST(FuzzDonations, BudgetOfResultsInPlace) {
  const Block b = parse(R"(
in 0:f64[24] ;
18 19 = scan[3,0,1,0] 0 {
  in 3:f64[24] ;
  out 3 3 ;
} ;
20 = min 18 19 ;
22 = matmul_t 19 20 ;
out 22 ;
)");
  EXPECT_EQ(check_donation(b, 111), "");
}

// The bound was above a plan: of a form that takes less time than the plain one, which paid for what it repeats.
TEST(FuzzDonations, BoundOfAFasterForm) {
  const Block b = parse(R"(
in 0:f64[16] 1:f64[24,1] ;
3 = atan2 0 1 ;
4 = outer 3 1 ;
5 = cos 4 ;
6 = vdot 5 4 ;
out 6 ;
)");
  EXPECT_EQ(check_donation(b, 481), "");
}

// The same of a form of loops whose steps take less than those that they were counted by.
TEST(FuzzDonations, BoundOfLoopsWhoseStepsTakeLess) {
  const Block b = parse(R"(
in 1:f64[2,2,4] ;
24 25 = scan[0,0,1,0] 1 1 {
  in 2:f64[2,2,4] 3:f64[] ;
  23 = tanh 2 ;
  out 23 23 ;
} ;
54 55 56 = scan[0,0,0,0] 24 24 {
  in 28:f64[2,2,4] 29:f64[2,4] ;
  30 = atan 29 ;
  52 53 = custom_vjp 30 30 25 {
    in 40:f64[2,4] 41:f64[2,4] 42:f64[2,2,2,4] ;
    43 = amin[1,0] 41 ;
    44 = max 43 43 ;
    out 44 44 ;
  } ;
  out 24 30 53 ;
} ;
out 56 ;
)");
  EXPECT_EQ(check_donation(b, 2988), "");
}

constexpr std::uint64_t shards = 4;
class FuzzDonation : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FuzzDonation, Shard) {
  set_threads(2);
  Shard{GetParam(), shards, 2, 1000, program, check_donation}.run();
  set_threads(1);
}
INSTANTIATE_TEST_SUITE_P(All, FuzzDonation, testing::Range(std::uint64_t{0}, shards));

}  // namespace
}  // namespace anew::fuzz::donation_test
