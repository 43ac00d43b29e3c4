// Checkpoint policies: values that say of each equation whether its outputs may be saved. Printable, comparable,
// hashable, combinable; any callable over a PolicyQuery is one. Constant-initialised, so usable at namespace scope.
#pragma once
#include <anew/base.h>

#include <memory>
#include <utility>

namespace anew {

enum class Save : std::uint8_t { recompute, save, offload };

// What a policy may look at: types and static parameters, never values.
struct PolicyQuery {
  std::string_view primitive;  // "sin", "dot_general", "name", ...
  std::string_view name;       // of a `name` equation, else empty
  std::span<const ShapeDtype> input_types;
  std::string_view params;  // as printed
  std::span<const ShapeDtype> output_types;
  bool batched_dot = false;  // a product with batch dimensions, as every convolution has
  bool dot = false;          // a product: a dot_general or a convolution
};

class Policy {
 public:
  enum class Kind : std::uint8_t {
    everything,
    nothing,
    automatic,
    dots,
    dots_no_batch,
    only_names,
    names_but,
    anything_except_names,
    offload_dots_no_batch,
    save_and_offload_names,
    any_of,
    all_of,
    not_,
    callable
  };
  // Names, parts and callables live behind one pointer, so that the plain policies are constant-initialised.
  struct Details {
    std::vector<std::string> names = {}, offload_names = {};
    std::vector<Policy> parts = {};
    std::string text = {};  // of a callable
    std::function<Save(const PolicyQuery&)> rule = {};
    const void* identity = nullptr;  // a callable equals its copies, one without state all of its type
    int depth = 0;                   // of the policies in `parts`
  };

  constexpr explicit Policy(Kind kind) : kind_(kind) {}
  Policy(Kind kind, Details details);
  template <class F>
    requires std::is_invocable_v<const F&, const PolicyQuery&>
  Policy(F f, const Location& at = Location::current())
      : Policy(callable(describe(at), identity_of<F>(), wrap(std::move(f), at))) {}
  template <class F>
    requires std::is_invocable_v<const F&, const PolicyQuery&>
  Policy(std::string name, F f, const Location& at = Location::current())
      : Policy(callable(std::move(name), identity_of<F>(), wrap(std::move(f), at))) {}
  // There is no moving: what was moved from is still the same policy.
  Policy(const Policy&) noexcept;
  Policy& operator=(const Policy&) noexcept;
  ~Policy();

  Save operator()(const PolicyQuery& q) const;
  Kind kind() const { return kind_; }
  const Details* details() const { return details_.get(); }
  std::string str() const;
  // Names it mentions that may be saved or refused: each must occur in the checkpointed function.
  std::vector<std::string> mentioned_names() const;
  bool offloads() const;
  std::size_t hash() const;
  friend bool operator==(const Policy& a, const Policy& b);
  friend std::ostream& operator<<(std::ostream&, const Policy&);

 private:
  using Rule = std::function<Save(const PolicyQuery&)>;
  template <class F>
  static Rule wrap(F f, const Location& at) {
    detail::check_function(f, at);
    using R = std::invoke_result_t<const F&, const PolicyQuery&>;
    static_assert(std::same_as<R, bool> || std::same_as<R, Save>,
                  "anew::Policy: the callable must return bool or anew::Save");
    if constexpr (std::same_as<R, Save>) return f;
    else return [f = std::move(f)](const PolicyQuery& q) { return f(q) ? Save::save : Save::recompute; };
  }
  static std::string describe(const Location& at);
  template <class F>
  static const void* identity_of() {
    static const char of_type = 0;
    return std::is_empty_v<F> ? &of_type : nullptr;
  }
  static Policy callable(std::string text, const void* identity, Rule rule);  // no identity: its own
  Kind kind_;
  std::shared_ptr<const Details> details_;
};

namespace detail {
Policy policy_of_names(Policy::Kind kind, std::vector<std::string> names);
Policy combined_policy(Policy::Kind kind, std::initializer_list<Policy> parts, const Location& at);
}  // namespace detail

namespace checkpoint_policies {
extern const Policy everything_saveable, nothing_saveable, dots_saveable, dots_with_no_batch_dims_saveable;
// Left to the planner where a jit around it has a memory budget; else everything is saveable.
extern const Policy automatic;
extern const Policy checkpoint_dots, checkpoint_dots_with_no_batch_dims;  // the same as the two before

template <std::convertible_to<std::string>... S>
Policy save_only_these_names(const S&... s) {
  return detail::policy_of_names(Policy::Kind::only_names, {std::string(s)...});
}
inline Policy save_only_these_names(std::vector<std::string> names) {
  return detail::policy_of_names(Policy::Kind::only_names, std::move(names));
}
template <std::convertible_to<std::string>... S>
Policy save_any_names_but_these(const S&... s) {
  return detail::policy_of_names(Policy::Kind::names_but, {std::string(s)...});
}
inline Policy save_any_names_but_these(std::vector<std::string> names) {
  return detail::policy_of_names(Policy::Kind::names_but, std::move(names));
}
template <std::convertible_to<std::string>... S>
Policy save_anything_except_these_names(const S&... s) {
  return detail::policy_of_names(Policy::Kind::anything_except_names, {std::string(s)...});
}
inline Policy save_anything_except_these_names(std::vector<std::string> names) {
  return detail::policy_of_names(Policy::Kind::anything_except_names, std::move(names));
}
// A policy and the line that names it.
struct PolicyOperand {
  template <std::convertible_to<Policy> P>
  PolicyOperand(const P& p, const Location& at = Location::current()) : policy(p), at(at) {}
  Policy policy;
  Location at;
};
Policy any_of(std::vector<Policy> p, const Location& at = Location::current());
template <std::convertible_to<Policy>... P>
  requires(sizeof...(P) > 0)
Policy any_of(const PolicyOperand& first, const P&... p) {
  return detail::combined_policy(Policy::Kind::any_of, {first.policy, Policy(p)...}, first.at);
}
Policy all_of(std::vector<Policy> p, const Location& at = Location::current());
template <std::convertible_to<Policy>... P>
  requires(sizeof...(P) > 0)
Policy all_of(const PolicyOperand& first, const P&... p) {
  return detail::combined_policy(Policy::Kind::all_of, {first.policy, Policy(p)...}, first.at);
}
Policy not_(Policy p, const Location& at = Location::current());
inline Policy save_from_both_policies(const PolicyOperand& p, const Policy& q) { return any_of(p, q); }
struct OffloadNames {
  std::vector<std::string> save = {}, offload = {};
  std::string src = "device", dst = "pinned_host";
};
Policy save_and_offload_only_these_names(OffloadNames names, const Location& at = Location::current());
Policy offload_dot_with_no_batch_dims(std::string src = "device", std::string dst = "pinned_host",
                                      const Location& at = Location::current());
}  // namespace checkpoint_policies

// What policies offload goes to an unnamed file in this folder; "": in that of ANEW_SPILL in the environment, or else
// in the system's for temporary files, as at the start. Returns the former one.
std::string set_spill_folder(std::string folder, const Location& at = Location::current());

}  // namespace anew

template <>
struct std::hash<anew::Policy> {
  std::size_t operator()(const anew::Policy& p) const { return p.hash(); }
};
