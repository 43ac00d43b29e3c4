// jit: functions of trees, compiled per types of their arguments; the exact memory plan, before anything runs;
// functions compiled ahead of time.
#pragma once
#include <anew/call_key.h>
#include <anew/linearize.h>

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace anew {

// A value in the arena, the line that made it, and what it was made for.
struct LiveValue {
  std::string what;  // the operation, or whose scratch it is
  ShapeDtype type;   // of scratch: bytes
  std::size_t bytes = 0;
  Location at = {};
  std::string inside = {};  // the loops and branches it lies in, outermost first: "scan[10] / cond"
  bool scratch = false;
  // The leaf of the arguments that it was made with: the one that its operation reads, or that an operand was made
  // with.
  int leaf = -1;             // -1: none is known
  bool backward = false;     // made by a backward pass, or of what that made
  std::string path = {};     // of that leaf: "layers[3].w"; where it is of a backward pass "d layers[3].w"
  std::string callers = {};  // the calls it lies in, innermost first: "checkpoint 3 of model.cpp:88 (loss)"
};

// What a budget has computed more than once.
struct Recomputed {
  std::string what;  // the operations of the step
  Location at = {};
  int times = 0;          // besides the first
  double extra_time = 0;  // all of them, as a fraction of the time of the plain call
};

// What a call of a compiled function takes, known before it runs. A call allocates its outputs (those that do not lie
// in donated arguments) and one arena, which holds every temporary and all scratch, and nothing else.
struct MemoryPlan {
  std::size_t argument_bytes = 0, constant_bytes = 0, output_bytes = 0, arena_bytes = 0;
  std::size_t peak_bytes = 0;          // their sum
  std::size_t donated_bytes = 0;       // outputs in the memory of arguments; in none of the others
  std::size_t disk_bytes = 0;          // kept in files meanwhile
  std::vector<LiveValue> live{};       // in the arena where most of it is in use, largest first
  std::vector<LiveValue> offloaded{};  // what is kept in files, largest first
  // With a memory budget, by a model of times: what recomputation and files add, as a fraction of the time of the plain
  // call; the least that any plan within the budget adds; what one more byte would save, in seconds.
  double extra_time = 0, extra_time_bound = 0, price = 0;
  std::vector<Recomputed> recomputed{};  // what takes longest first
  std::string str() const;
};
std::ostream& operator<<(std::ostream& os, const MemoryPlan& plan);

// A point of the curve of memory against time: a budget of `peak_bytes` can be met.
struct BudgetPoint {
  std::size_t peak_bytes = 0;
  double extra_time = 0, extra_time_bound = 0;  // as in MemoryPlan
  std::size_t disk_bytes = 0;
};
// A table; a picture (SVG).
std::string str(const std::vector<BudgetPoint>& curve);
std::string svg(const std::vector<BudgetPoint>& curve);
std::ostream& operator<<(std::ostream& os, const std::vector<BudgetPoint>& curve);

// Keeps machine code in this folder, for later processes; "" keeps none, as at the start (unless the environment has
// ANEW_CODE_CACHE). Returns the former one. Files that do not fit are ignored with a warning.
std::string set_code_cache(std::string path);

namespace flat {

// A function compiled for arguments of given types. Copies share the code; several threads may call one at a time.
class Compiled {
 public:
  Arrays operator()(std::span<const Array> x) const;
  // The same where arrays are known to have data and to be of the types that it was compiled for; not measured.
  Arrays call_known(std::span<const Array> x) const;
  const MemoryPlan& plan() const;
  // What the last finished call took at its peak, as measured.
  std::size_t high_water_bytes() const;
  // Whether the function captured arrays that were there before it was traced; the code keeps them as they were.
  bool captures() const;
  struct State;
  explicit Compiled(std::shared_ptr<State> state);
  // There is no moving: what was moved from is still the same code.
  Compiled(const Compiled&) noexcept;
  Compiled& operator=(const Compiled&) noexcept;
  ~Compiled();
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<State> state_;
};
// Arguments may be abstract. The function is traced once; arrays it captures are kept.
Compiled compile(const FlatFunction& f, std::span<const Array> x, const JitOptions& options = {},
                 const Location& at = Location::current(), std::vector<std::string> paths = {});
// The plan alone: no code is generated. `paths` name the arguments: one per leaf; none: "0", "1", ...
MemoryPlan plan(const FlatFunction& f, std::span<const Array> x, const JitOptions& options = {},
                const Location& at = Location::current(), std::vector<std::string> paths = {});
// Peaks and modelled times of all plans that a budget would choose from, from the plain one down to the smallest.
std::vector<BudgetPoint> budget_curve(const FlatFunction& f, std::span<const Array> x, const JitOptions& options = {},
                                      const Location& at = Location::current());
// What a jitted function remembers of its calls: of one without state code, and the shape of its result, by CallKey; of
// any function how often static numbers had it compiled. Bounded: what was not used for longest goes.
class KnownCalls {
 public:
  struct Entry {
    CallKey key;
    Compiled code;
    std::shared_ptr<const void> result;
  };
  KnownCalls();
  KnownCalls(const KnownCalls&) noexcept;  // what was moved from is still the same
  KnownCalls& operator=(const KnownCalls&) noexcept;
  ~KnownCalls();
  // Nothing where the call is new. What was found and is kept again is found without a lock by the next call of this
  // thread.
  std::shared_ptr<const Entry> find(const CallKey& key) const;
  void keep(std::shared_ptr<const Entry> found) const;
  std::shared_ptr<const Entry> add(Entry entry) const;
  std::size_t size() const;
  // Whether a call with these arrays can be remembered at all: nobody traces, all have data, and none is large and laid
  // out in a way of its own (code that reads it where it lies is found by its Program).
  bool usable(std::span<const Array> x) const;
  // The function captures arrays: it is traced at each call from now on.
  void captures() const;
  bool capturing() const;
  // The function was compiled for this key. Warns, once, where static numbers made it ten.
  void compiled(const CallKey& key, const Location& at) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};
// flat::jit; says whether it had to compile.
Arrays jit(const FlatFunction& f, std::span<const Array> x, const JitCache& cache, const JitOptions& options,
           const Location& at, bool& compiled);

[[noreturn]] void other_static_argument(std::size_t number, const Location& at);

}  // namespace flat

namespace detail {

// Numbers of the arrays that arguments of these numbers hold; `leaves`: how many each argument has.
std::vector<int> donated_leaves(const std::vector<int>& arguments, std::span<const std::size_t> leaves,
                                const Location& at);

// A function that computes the same whenever it is called with the same arguments, as far as C++ can tell: a function
// or an object without members, or a transformation of one.
template <class F>
inline constexpr bool stateless = std::is_empty_v<F> || std::is_function_v<std::remove_pointer_t<F>>;
template <class F>
  requires requires { typename F::anew_function; }
inline constexpr bool stateless<F> = stateless<typename F::anew_function>;

// The name of a function that is a template argument, without scopes and template arguments, out of
// "... [with auto F = ns::step<int>; ...]" or "... [F = &ns::step]".
template <auto F>
consteval std::string_view function_name() {
  std::string_view s = __PRETTY_FUNCTION__;
  s.remove_prefix(s.find("F = ") + 4);
  std::size_t begin = 0, end = 0, i = 0;
  for (int depth = 0; depth > 0 || (s[i] != ';' && s[i] != ']'); ++i) {
    if (s[i] == '<' && depth++ == 0) end = i;
    else if (s[i] == '>') --depth;
    else if (depth == 0 && (s[i] == ':' || s[i] == '&')) begin = i + 1;
  }
  return s.substr(begin, (end > begin ? end : i) - begin);
}

}  // namespace detail

namespace detail {

// A static string of a compiled function: told apart by what it says, not by where it lies.
class StaticText {
 public:
  StaticText(const char* s) : text_(s ? s : ""), null_(!s) {}
  StaticText(std::string s) : text_(std::move(s)) {}
  StaticText(std::string_view s) : text_(s) {}
  friend bool operator==(const StaticText&, const StaticText&) = default;

 private:
  std::string text_;
  bool null_ = false;
};
template <class A>
using compiled_argument_t =
    std::conditional_t<(std::is_pointer_v<A> && Text<A>) || std::same_as<A, std::string_view>, StaticText, A>;

}  // namespace detail

// A function of A... with result R, compiled ahead of time.
template <class R, class... A>
class Compiled {
 public:
  using anew_params = detail::types<const A&...>;
  Compiled(const flat::Compiled& code, detail::Pack<A...> arguments, detail::ResultShape<R> result, const Location& at)
      : code_(code),
        arguments_(std::move(arguments)),
        keys_(keys(std::index_sequence_for<A...>{})),
        result_(std::move(result)),
        at_(at) {}

  R operator()(const A&... args, const Location& at = Location::current()) const {
    return call(std::index_sequence_for<A...>{}, at, args...);
  }
  const MemoryPlan& plan() const { return code_.plan(); }
  std::size_t high_water_bytes() const { return code_.high_water_bytes(); }

 private:
  template <std::size_t... I>
  R call(std::index_sequence<I...>, const Location& at, const A&... args) const {
    present_.check(at_);
    Arrays leaves;
    detail::LeafPass pass(detail::LeafPass::Action::copy, leaves);
    (add<I>(args, pass, at), ...);
    return result_.rebuild(code_(detail::LeafList(leaves)));
  }
  template <std::size_t I, class T>
  void add(const T& arg, detail::LeafPass& pass, const Location& at) const {
    const T& like = detail::get<I>(arguments_);
    if constexpr (detail::holds_arrays<T>) {
      detail::check_same_tree(arg, like, keys_[I], "compile", I, at);
      detail::walk(const_cast<T&>(arg), pass);
    } else if constexpr (std::equality_comparable<T>) {
      if (!(arg == like)) flat::other_static_argument(I, at);
    }
  }
  flat::Compiled code_;
  template <std::size_t... I>
  std::vector<flat::CallKey> keys(std::index_sequence<I...>) const {
    return {detail::key_of_tree(detail::get<I>(arguments_))...};
  }
  detail::Pack<A...> arguments_;  // without their arrays
  std::vector<flat::CallKey> keys_;
  detail::ResultShape<R> result_;
  Location at_;
  detail::Present present_;
};

template <class F>
class Jit : public detail::CallsInPlace<Jit<F>, detail::params_t<F>> {
 public:
  using anew_params = detail::params_t<F>;
  using anew_function = F;
  Jit(F f, JitOptions options, const Location& at) : f_(std::move(f)), options_(std::move(options)), at_(at) {}

  template <class... T>
  auto apply(const T&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      using C = typename For::type;
      constexpr bool remembered = detail::stateless<F> && describable(typename For::arguments{});
      if constexpr (remembered && std::same_as<typename For::arguments, detail::types<T...>>) {
        Arrays leaves;  // of a call that is known nothing else is copied
        detail::LeafPass pass(detail::LeafPass::Action::copy, leaves);
        (detail::walk(const_cast<T&>(args), pass), ...);
        const detail::LeafList x(leaves);
        if (known_.usable(x))
          if (auto entry = known_.find(key_of(x, std::index_sequence_for<T...>{}, args...)))
            return rebuilt<C>(std::move(entry), x);
      }
      C c(f_, args...);
      if constexpr (remembered) {
        if (known_.usable(c.leaves())) {
          flat::CallKey key = key_of(c);
          auto entry = known_.find(key);
          if (!entry) entry = remember(c, std::move(key));
          if (entry) return rebuilt<C>(std::move(entry), c.leaves());
        }
      }
      bool compiled = false;
      JitOptions own;
      Arrays out = flat::jit(c.flat(), c.leaves(), cache_, options_for(c, own), at_, compiled);
      if constexpr (describable(typename For::arguments{}))
        if (compiled) known_.compiled(key_of(c), at_);
      return c.rebuild(out);
    }
  }
  // The memory a call with these arguments takes, to the byte; arguments may be abstract. ANEW_ARGS names them.
  template <class... T>
  MemoryPlan plan(const ArgNames& names, const T&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      typename For::type c(this->wrapper().f_, args...);
      JitOptions own;
      return flat::plan(c.flat(), c.leaves(), options_for(c, own), at_, detail::call_info(c.skeleton(), names).paths);
    } else {
      return {};
    }
  }
  template <class... T>
  MemoryPlan plan(const T&... args) const {
    return plan(ArgNames(), args...);
  }
  // The curve of memory against time, from the plain plan down to the smallest; arguments may be abstract.
  template <class... T>
  std::vector<BudgetPoint> budget_curve(const T&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      typename For::type c(this->wrapper().f_, args...);
      JitOptions own;
      return flat::budget_curve(c.flat(), c.leaves(), options_for(c, own), at_);
    } else {
      return {};
    }
  }
  // Compiled now, for arguments of these types and these static values; no look-up per call.
  template <class... T>
  [[nodiscard]] auto compile(const T&... args) const {
    using For = detail::whole_call<F, T...>;
    if constexpr (For::valid) {
      typename For::type c(this->wrapper().f_, args...);
      return compiled(c, typename For::arguments{});
    }
  }
  std::size_t cache_size() const { return cache_.size() + known_.size(); }
  const F& function() const { return f_; }
  const JitOptions& options() const { return options_; }
  const Location& at() const { return at_; }
  // Options as flat functions take them: .donate counts arrays, not arguments. `own` is where they are if they differ.
  template <class C>
  const JitOptions& options_for(const C& c, JitOptions& own) const {
    if (options_.donate.empty()) return options_;
    own = options_;
    own.donate = detail::donated_leaves(options_.donate, leaf_counts(c.skeleton()), at_);
    return own;
  }

 private:
  template <std::size_t... I, class... A>
  static std::vector<std::size_t> leaf_counts(const detail::Slots<std::index_sequence<I...>, A...>& args) {
    return {detail::leaves(detail::get<I>(args)).size()...};
  }
  template <class... A>
  static consteval bool describable(detail::types<A...>) {
    return (detail::describable<A>() && ...);
  }
  template <std::size_t... I, class... A>
  static flat::CallKey key_of(std::span<const Array> leaves, std::index_sequence<I...>, const A&... args) {
    flat::CallKey key;
    ((key.argument(I), detail::describe(args, key)), ...);
    key.arrays(leaves);
    return key;
  }
  template <class C>
  static flat::CallKey key_of(const C& c) {
    return key_of_slots(c.leaves(), c.skeleton());
  }
  template <std::size_t... I, class... A>
  static flat::CallKey key_of_slots(std::span<const Array> leaves,
                                    const detail::Slots<std::index_sequence<I...>, A...>& args) {
    return key_of(leaves, std::index_sequence<I...>{}, detail::get<I>(args)...);
  }
  template <class C>
  typename C::Result rebuilt(std::shared_ptr<const flat::KnownCalls::Entry> e, std::span<const Array> x) const {
    const Arrays out = e->code.call_known(x);
    typename C::Result result =
        static_cast<const detail::ResultShape<typename C::Result>*>(e->result.get())->rebuild(detail::LeafList(out));
    known_.keep(std::move(e));
    return result;
  }
  // Nothing where the call cannot be remembered: the function captures arrays.
  template <class C>
  std::shared_ptr<const flat::KnownCalls::Entry> remember(C& c, flat::CallKey key) const {
    JitOptions own;
    flat::Compiled code = flat::compile(c.flat(), c.leaves(), options_for(c, own), at_);
    if (code.captures()) {
      known_.captures();
      return nullptr;
    }
    known_.compiled(key, at_);
    return known_.add({std::move(key), std::move(code),
                       std::make_shared<const detail::ResultShape<typename C::Result>>(c.result_shape())});
  }
  template <class C, class... A>
  auto compiled(C& c, detail::types<A...>) const {
    JitOptions own;
    flat::Compiled code = flat::compile(c.flat(), c.leaves(), options_for(c, own), at_,
                                        detail::call_info(c.skeleton(), ArgNames()).paths);
    using Arguments = detail::Pack<detail::compiled_argument_t<A>...>;
    auto kept = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Arguments{{detail::compiled_argument_t<A>(detail::get<I>(c.skeleton()))}...};
    }(std::index_sequence_for<A...>{});
    return Compiled<typename C::Result, detail::compiled_argument_t<A>...>(std::move(code), std::move(kept),
                                                                           c.result_shape(), at_);
  }
  F f_;
  JitOptions options_;
  Location at_;
  flat::JitCache cache_;  // shared by copies
  flat::KnownCalls known_;
};
// Compiled per types and structure of the arguments and static values. A closure, and a function that reads arrays of
// its surroundings, is traced at each call and its code found by its Program, so nothing that it captures goes stale.
template <class F = detail::Elementwise>
[[nodiscard]] auto jit(F f, JitOptions options = {}, const Location& at = Location::current()) {
  return Jit<F>(std::move(f), std::move(options), at);
}
[[nodiscard]] inline auto jit(detail::ElementwisePair f, JitOptions options = {},
                              const Location& at = Location::current()) {
  return Jit<detail::ElementwisePair>(f, std::move(options), at);
}
// jit<step>(): of a function that is known by its name, which Programs and lists of residuals then show.
template <auto F>
  requires(std::is_pointer_v<decltype(F)> || std::is_member_pointer_v<decltype(F)>)
[[nodiscard]] auto jit(JitOptions options = {}, const Location& at = Location::current()) {
  if (options.name == JitOptions().name) options.name = detail::function_name<F>();
  return Jit<decltype(F)>(F, std::move(options), at);
}

}  // namespace anew
