// Numbers of things that stand in lists. An Id names a thing of one kind, so that a value cannot be taken for the
// storage it looks at; a Table has one element for each thing of a kind and is indexed by its Id alone. Both cost what
// an int and a vector do.
#pragma once
#include <compare>
#include <cstddef>
#include <utility>
#include <vector>

namespace anew {

template <class Kind>
struct Id {
  int number = -1;  // below 0: none
  constexpr explicit operator bool() const { return number >= 0; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

// The first n Ids of a kind, as a range.
template <class Index>
class Ids {
 public:
  struct Iterator {
    int number;
    constexpr Index operator*() const { return {number}; }
    constexpr Iterator& operator++() { return ++number, *this; }
    friend constexpr bool operator==(const Iterator&, const Iterator&) = default;
  };
  constexpr explicit Ids(std::size_t n) : n_(static_cast<int>(n)) {}
  constexpr Iterator begin() const { return {0}; }
  constexpr Iterator end() const { return {n_}; }

 private:
  int n_;
};

template <class Index, class T>
class Table {
 public:
  Table() = default;
  explicit Table(std::size_t n, const T& x = {}) : list_(n, x) {}

  decltype(auto) operator[](Index i) { return list_[static_cast<std::size_t>(i.number)]; }
  decltype(auto) operator[](Index i) const { return list_[static_cast<std::size_t>(i.number)]; }
  // The Id of the new element.
  Index add(T x) {
    list_.push_back(std::move(x));
    return {static_cast<int>(list_.size()) - 1};
  }
  std::size_t size() const { return list_.size(); }
  // Ids of all elements.
  Ids<Index> ids() const { return Ids<Index>(list_.size()); }

  auto begin() { return list_.begin(); }
  auto end() { return list_.end(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  std::vector<T> list_;
};

}  // namespace anew
