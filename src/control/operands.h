// Operands and results of loops come in groups, each with a role. A list is cut into its groups (`partition`), a group
// by flags (`chosen`), and both are put together again (`merge`), in any order of roles: rules never compute positions.
#pragma once
#include <algorithm>
#include <array>
#include <numeric>

#include "trace/trace.h"

namespace anew {

using Flags = std::vector<bool>;

enum class Role : std::uint8_t {
  constants,         // the same at each step
  carries,           // the state; of an unwind the states that were kept
  xs,                // one row at each step
  counters,          // of an unwind of a while: its number of steps, and the steps of the kept states
  linear_constants,  // an unwind is linear in these
  linear_carries,
  linear_xs,
  ys,  // results: one row of each step
  linear_ys,
};
inline constexpr std::size_t role_count = 9;
using Roles = std::vector<Role>;
inline bool is_carried(Role r) { return r == Role::carries || r == Role::linear_carries; }

// A list in its groups.
template <class T>
class Lists {
 public:
  std::vector<T>& operator[](Role r) & { return lists_[static_cast<std::size_t>(r)]; }
  const std::vector<T>& operator[](Role r) const& { return lists_[static_cast<std::size_t>(r)]; }
  std::vector<T> operator[](Role r) && { return std::move(lists_[static_cast<std::size_t>(r)]); }
  std::vector<T> merge(const Roles& order) const& { return Lists(*this).merged(order); }
  std::vector<T> merge(const Roles& order) && { return merged(order); }

 private:
  std::vector<T> merged(const Roles& order) {
    std::vector<T> out;
    for (Role r : order)
      for (auto&& x : (*this)[r]) out.push_back(std::move(x));
    return out;
  }
  std::array<std::vector<T>, role_count> lists_;
};

// How a list is made of groups.
class Groups {
 public:
  struct Group {
    Role role;
    std::size_t size;
  };
  Groups() = default;
  Groups(std::initializer_list<Group> groups) {
    for (const Group& g : groups) {
      order_.push_back(g.role);
      size(g.role) = g.size;
    }
  }
  const Roles& order() const { return order_; }
  std::size_t& size(Role r) { return sizes_[static_cast<std::size_t>(r)]; }
  std::size_t size(Role r) const { return sizes_[static_cast<std::size_t>(r)]; }
  std::size_t size() const { return std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0}); }

  // Some of the groups, in this order.
  Groups only(const Roles& order) const {
    Groups g;
    g.order_ = order;
    for (Role r : order) g.size(r) = size(r);
    return g;
  }

  // Of a list that begins with these groups.
  template <class List>
  auto partition(const List& list) const {
    Lists<std::remove_cvref_t<typename List::value_type>> out;
    auto at = list.begin();
    for (Role r : order_)
      for (std::size_t i = 0; i < size(r); ++i) out[r].push_back(*at++);
    return out;
  }
  Lists<std::size_t> positions() const {
    std::vector<std::size_t> all(size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return partition(all);
  }

 private:
  Roles order_;
  std::array<std::size_t, role_count> sizes_ = {};
};

// The elements whose flag is `value`.
template <class T>
std::vector<T> chosen(const std::vector<T>& list, const Flags& flags, bool value = true) {
  std::vector<T> out;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (flags[i] == value) out.push_back(list[i]);
  return out;
}
// The list whose elements are those of `yes` where the flag is set, else those of `no`, each in order; an empty `no`
// stands for as many default values.
template <class T>
std::vector<T> merge(const Flags& flags, const std::vector<T>& yes, const std::vector<T>& no = {}) {
  std::vector<T> out;
  std::size_t y = 0, n = 0;
  for (bool flag : flags) out.push_back(flag ? yes[y++] : no.empty() ? T() : no[n++]);
  return out;
}
inline std::size_t count(const Flags& flags) {
  return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), true));
}
template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace anew
