// Random calls of every public function that the headers declare (tools/list_calls), with mostly bad arguments. A call
// gives an Error with the caller's line, or a result; what it gives jitted is the same, bit for bit. No other
// exception, no crash, no second of silence. 3,000 calls, 300,000 where tests are long; ANEW_CALL=<seed> makes one call
// and says it; ANEW_CALLS_FROM=<seed> goes on from there.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "calls/random_values.h"
#include "support/support.h"
#include "trace/trace.h"

namespace anew::calls {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// A value of some type to call a function with. What depends on its type is written once per type, not once per
// function: there are hundreds of those.
class Argument {
 public:
  virtual ~Argument() = default;
  virtual std::string text() const = 0;
  virtual void visit_arrays(const Visit& f) = 0;
  virtual std::unique_ptr<Argument> clone() const = 0;
};
using Arguments = std::vector<std::unique_ptr<Argument>>;
template <class T>
class ArgumentOf final : public Argument {
 public:
  explicit ArgumentOf(T value) : value(std::move(value)) {}
  std::string text() const override { return calls::text(value); }
  void visit_arrays(const Visit& f) override { calls::visit(value, f); }
  std::unique_ptr<Argument> clone() const override { return std::make_unique<ArgumentOf>(value); }
  T value;
};
template <class T>
std::unique_ptr<Argument> random_argument(Random& r) {
  return std::make_unique<ArgumentOf<T>>(make(r, Tag<T>{}));
}

struct Entry {
  std::string name;
  std::vector<std::unique_ptr<Argument> (*)(Random&)> parameters;
  void (*function)();  // of the type that `run` knows
  Arrays (*run)(void (*function)(), const Arguments&);
};
std::vector<Entry>& entries() {
  static auto* all = new std::vector<Entry>;
  return *all;
}

// A function with arguments to call it with.
class Call {
 public:
  Call(const Entry& e, Random& r) : entry_(&e) {
    for (auto parameter : e.parameters) arguments_.push_back(parameter(r));
  }
  Call(const Call& other) : entry_(other.entry_) {
    for (const auto& a : other.arguments_) arguments_.push_back(a->clone());
  }
  std::string text() const {
    std::string out;
    for (const auto& a : arguments_) out += (out.empty() ? "" : ", ") + a->text();
    return "(" + out + ")";
  }
  void visit_arrays(const Visit& f) {
    for (const auto& a : arguments_) a->visit_arrays(f);
  }
  Arrays run() const {
    const Call copy = *this;  // some arguments are written to
    return entry_->run(entry_->function, copy.arguments_);
  }

 private:
  const Entry* entry_;
  Arguments arguments_;
};

template <class P>
struct Stored {
  using type = std::remove_cvref_t<P>;
};
template <>
struct Stored<std::string_view> {
  using type = std::string;
};
template <class T>
struct Stored<std::span<const T>> {
  using type = std::vector<T>;
};
template <class P>
using stored_t = typename Stored<P>::type;

Arrays arrays_of(const Array& x) { return {x}; }
Arrays arrays_of(const Arrays& x) { return x; }
Arrays arrays_of(const flat::ScanResult& x) {
  Arrays out = x.carry;
  out.insert(out.end(), x.ys.begin(), x.ys.end());
  return out;
}
Arrays arrays_of(const stats::GaussianKde& x) { return {x.covariance, x.inv_cov, x.neff, x.resample(random::key(0))}; }
// What they do is what is looked at.
Arrays arrays_of(const optim::Schedule& x) { return {x(array(3, i32)), x(-1)}; }
Arrays arrays_of(const optim::Optimizer& x) {
  const std::pair<Array, Array> p(ones({2, 3}), array({0.5, -2.0}, f64)),
      g(full({2, 3}, 0.25f), array({1.0, 3.0}, f64));
  auto [updates, state] = x.update(g, x.init(p), p);
  auto [more, next] = x.update(updates, state, p);
  Arrays out = tree_leaves(more);
  for (const auto& [key, value] : next) out.push_back(value);
  return out;
}
template <class A, class B>
Arrays arrays_of(const std::pair<A, B>& x);
Arrays arrays_of(const std::tuple<Array, Array, Array>& x) { return {std::get<0>(x), std::get<1>(x), std::get<2>(x)}; }
template <class T>
Arrays arrays_of(const T&) {
  return {};
}
template <class A, class B>
Arrays arrays_of(const std::pair<A, B>& x) {
  Arrays out = arrays_of(x.first);
  const Arrays more = arrays_of(x.second);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

template <class R, class... P, std::size_t... I>
Arrays run_call(R (*f)(P...), const Arguments& a, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>) {
    f(static_cast<ArgumentOf<stored_t<P>>&>(*a[I]).value...);
    return {};
  } else {
    return arrays_of(f(static_cast<ArgumentOf<stored_t<P>>&>(*a[I]).value...));
  }
}

template <class R, class... P>
bool add(const char* name, R (*f)(P...)) {
  entries().push_back({name,
                       {random_argument<stored_t<P>>...},
                       reinterpret_cast<void (*)()>(f),
                       [](void (*function)(), [[maybe_unused]] const Arguments& a) {
                         return run_call(reinterpret_cast<R (*)(P...)>(function), a, std::index_sequence_for<P...>());
                       }});
  return true;
}

}  // namespace
}  // namespace anew::calls

#include "calls.inc"

namespace anew::calls {
namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
// Of all threads, in milliseconds.
std::int64_t process_time() { return std::clock() / (CLOCKS_PER_SEC / 1000); }

// Bytes mapped now: a sanitizer's shadow alone has terabytes.
std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// Stops loops of arguments that ask for years; says which call it was where the process dies or hangs.
class Watch {
 public:
  Watch() {
    set_interrupt(token_);
    // A sanitizer reports the others itself, and aborts where its option abort_on_error is set.
    for (int s : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
      if (!sanitized || s == SIGABRT) std::signal(s, died);
    thread_ = std::thread([this] { watch(); });
  }
  ~Watch() {
    done_ = true;
    thread_.join();
    set_interrupt({});
  }
  void begin(std::uint64_t seed) {
    current = seed;
    token_.reset();
    since_ = now();
    worked_ = process_time();
  }
  bool stopped() const { return token_.stopped(); }

 private:
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void watch() {
    while (!done_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::int64_t waited = now() - since_;
      if (waited > 400) token_.stop();
      // Both clocks: on a busy machine a large array takes minutes.
      if (waited > 120'000 && process_time() - worked_ > 60'000) {
        std::fprintf(stderr, "hangs: ANEW_CALL=%llu\n", static_cast<unsigned long long>(current));
        std::abort();
      }
    }
  }
  static void died(int s) {
    std::fprintf(stderr, "signal %d: ANEW_CALL=%llu\n", s, static_cast<unsigned long long>(current));
    std::signal(s, SIG_DFL);
    std::raise(s);
  }
  static inline std::atomic<std::uint64_t> current = 0;
  StopToken token_;
  std::atomic<std::int64_t> since_ = now(), worked_ = process_time();
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

bool same(const Array& a, const Array& b) {
  if (!a.value() || !b.value()) return !a.value() && !b.value();
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.value()->abstract || b.value()->abstract) return true;
  const DType d = is_float(a.dtype()) ? computed_type(a.dtype()) : a.dtype();
  return test::same_bits(astype(a, d), astype(b, d));
}

struct Counts {
  std::map<std::string, int> kinds;
  std::map<std::string, int> results;  // by function
};

// What is wrong with the call; empty where nothing is.
// What a function captures is what it is passed: the call inside of jit, linearize and vmap of another array.
std::string try_captured(const Call& call, const Arrays& eager) {
  const FlatFunction f = [&](std::span<const Array> xs) {
    Arrays y = call.run();
    y.push_back(xs[0] * 2);
    return y;
  };
  for (const Array& y : eager)
    if (!y.value() || y.value()->abstract || y.ndim() == Shape::max_ndim) return "";  // no axis more for vmap
  const Arrays x{ones(3)};
  const flat::BatchAxes axes{.in = {0}};
  const std::vector<std::pair<const char*, std::function<Arrays()>>> ways = {
      {"jit", [&] { return flat::jit(f, x, flat::JitCache()); }},
      {"linearize", [&] { return flat::linearize(f, x).first; }},
      {"vmap", [&] { return flat::vmap(f, x, axes); }}};
  for (const auto& [name, way] : ways) {
    Arrays got;
    try {
      got = way();
    } catch (const Stopped&) {
      return "";
    } catch (const Error& error) {
      return std::string("a result, but captured in ") + name + ": " + error.what();
    }
    if (got.size() != eager.size() + 1) return std::string("captured in ") + name + ": another number of arrays";
    for (std::size_t i = 0; i < eager.size(); ++i) {
      const Array y = std::string_view(name) == "vmap" ? got[i][1] : got[i];
      if (!same(eager[i], y))
        return std::string("captured in ") + name + " differs: " + text(eager[i]) + " and " + text(y);
    }
  }
  return "";
}

// "[solve] ...", "[random.gamma] ...": in brackets stands what a user can look up, the function that was called or one
// that it is a form of; never a helper of ours. Templates are not in the list of calls.
bool names_a_function(const std::string& text) {
  static const std::set<std::string> known = [] {
    std::set<std::string> names{"add",         "array",         "at",        "bicgstab", "bitwise_and", "bitwise_not",
                                "bitwise_or",  "bitwise_xor",   "callback",  "cg",       "chain",       "compile",
                                "custom_root", "divide",        "einsum",    "equal",    "gmres",       "grad",
                                "greater",     "greater_equal", "index",     "jit",      "jvp",         "less",
                                "less_equal",  "multiply",      "not_equal", "parse",    "print",       "schedule",
                                "subtract",    "vjp",           "vmap"};
    for (const Entry& e : entries()) names.insert(e.name.substr(e.name.rfind(':') + 1));
    return names;
  }();
  if (!text.starts_with('[')) return true;
  const std::string tag = text.substr(1, text.find(']') - 1);
  return known.contains(tag.substr(tag.find_last_of(".:") + 1));
}

std::string try_call(const Entry& e, const Call& call, Watch& watch, Counts& counts) {
  Arrays leaves;
  const_cast<Call&>(call).visit_arrays([&](Array& x) {
    if (x.value() && x.value()->concrete() && !x.value()->weak) leaves.push_back(x);
  });
  const FlatFunction f = [&](std::span<const Array> xs) {
    Call copy = call;
    std::size_t next = 0;
    copy.visit_arrays([&](Array& x) {
      if (x.value() && x.value()->concrete() && !x.value()->weak) x = xs[next++];
    });
    return copy.run();
  };
  auto check_error = [&](const Error& error) -> std::string {
    if (error.line() <= 0 || error.file().find("tests/calls") == std::string::npos)
      return std::string("an Error without the caller's line: ") + error.what();
    return names_a_function(error.what()) ? "" : std::string("an Error that names no function: ") + error.what();
  };
  constexpr double most_bytes = 1 << 24, most_seconds = sanitized ? 10 : 1;
  std::string untraceable;
  Arrays eager, jitted;
  const double start = cpu_seconds();
  try {
    const Program p = flat::make_program(f, leaves);
    double bytes = 0;
    for (const Equation& q : p.equations())
      for (const ShapeDtype& t : q.outputs) bytes += static_cast<double>(t.bytes());
    if (bytes > most_bytes) return ++counts.kinds["large, only traced"], "";
  } catch (const Error& error) {
    untraceable = error.what();
    if (std::string s = check_error(error); !s.empty()) return s;
  }
  try {
    eager = call.run();
  } catch (const Stopped&) {
    return ++counts.kinds["stopped"], "";
  } catch (const Error& error) {
    ++counts.kinds["Error"];
    if (std::string s = check_error(error); !s.empty()) return s;
    const double took = cpu_seconds() - start;
    return took > most_seconds && !watch.stopped() ? "an Error after " + std::to_string(took) + " s" : "";
  }
  ++counts.kinds["result"];
  ++counts.results[e.name];
  for (const Array& x : eager)
    if (x.value() && x.value()->concrete() && x.size() < 1000) text(x);  // reads every element
  if (const double took = cpu_seconds() - start; took > most_seconds && !watch.stopped())
    return "a result after " + std::to_string(took) + " s";
  if (!untraceable.empty())
    return untraceable.find("traced") != std::string::npos || untraceable.find("abstract") != std::string::npos
               ? ""
               : "a result, but traced: " + untraceable;
  try {
    jitted = flat::jit(f, leaves, flat::JitCache());
  } catch (const Stopped&) {
    return ++counts.kinds["stopped"], "";
  } catch (const Error& error) {
    return std::string("a result, but jitted: ") + error.what();
  }
  ++counts.kinds["jitted"];
  if (jitted.size() != eager.size()) return "jit gives another number of arrays";
  for (std::size_t i = 0; i < eager.size(); ++i)
    if (!same(eager[i], jitted[i])) return "jit differs: " + text(eager[i]) + " and " + text(jitted[i]);
  static const bool all = std::getenv("ANEW_LONG") || std::getenv("ANEW_CALL");
  return all || counts.results[e.name] == 1 ? try_captured(call, eager) : "";  // once per function: it compiles again
}

TEST(Calls, GiveAnErrorOrAResultThatJitGivesToo) {
  ASSERT_GT(entries().size(), 350u);
  const char* one = std::getenv("ANEW_CALL");
  const char* first = std::getenv("ANEW_CALLS_FROM");
  const std::uint64_t begin = one ? std::strtoull(one, nullptr, 10) : first ? std::strtoull(first, nullptr, 10) : 0;
  const std::uint64_t all = std::getenv("ANEW_LONG") ? 300'000 : 3'000;
  const std::uint64_t end = one ? begin + 1 : begin < all ? all : begin + all;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit limit{address_space() + (std::uint64_t{2} << 30), before.rlim_max};
  setrlimit(RLIMIT_AS, &limit);
  const test::Warnings quiet;
  const auto sink = debug::set_sink([](std::string_view) {});
  Counts counts;
  std::map<std::string, int> failures;
  {
    Watch watch;
    for (std::uint64_t seed = begin; seed < end; ++seed) {
      const Entry& e = entries()[seed % entries().size()];
      watch.begin(seed);
      std::string wrong;
      std::optional<Call> call;
      try {
        Random r(seed);
        call.emplace(e, r);
        if (one) std::printf("%s%s\n", e.name.c_str(), call->text().c_str()), std::fflush(stdout);
        wrong = try_call(e, *call, watch, counts);
      } catch (const std::exception& x) {
        wrong = std::string("another exception: ") + x.what();
      }
      if (wrong.empty()) continue;
      if (++failures[e.name + wrong.substr(0, 60)] > 1 || failures.size() > 60) continue;
      ADD_FAILURE() << e.name << (call ? call->text() : "") << "\n  gives " << wrong << "\n  ANEW_CALL=" << seed;
    }
  }
  debug::set_sink(sink);
  setrlimit(RLIMIT_AS, &before);
  std::printf("%zu functions:", entries().size());
  for (const auto& [kind, n] : counts.kinds) std::printf(" %d %s,", n, kind.c_str());
  std::printf(" %zu functions gave a result\n", counts.results.size());
}

}  // namespace
}  // namespace anew::calls
