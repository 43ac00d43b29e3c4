// A bounded cache, found by hash: when it is full, the entry that was not used for longest goes. Not locked: its owner
// does that.
#pragma once
#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

namespace anew {

template <class Value>
class Lru {
 public:
  explicit Lru(std::size_t most) : most_(most) {}
  Lru(const Lru&) = delete;
  Lru& operator=(const Lru&) = delete;

  // The entry with this hash for which `same` holds, or null; it is the one used last then.
  template <class Same>
  Value* find(std::size_t hash, const Same& same) {
    auto [begin, end] = index_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (!same(it->second->value)) continue;
      if (it->second != entries_.begin()) entries_.splice(entries_.begin(), entries_, it->second);
      return &it->second->value;
    }
    return nullptr;
  }
  // Gives back what had to go, so that its owner can drop it without a lock.
  std::list<Value> add(std::size_t hash, Value value) {
    std::list<Value> gone;
    entries_.push_front({hash, std::move(value)});
    index_.emplace(hash, entries_.begin());
    if (entries_.size() <= most_) return gone;
    auto last = std::prev(entries_.end());
    auto [begin, end] = index_.equal_range(last->hash);
    while (begin != end && begin->second != last) ++begin;
    index_.erase(begin);
    gone.push_back(std::move(last->value));
    entries_.pop_back();
    return gone;
  }
  template <class F>
  void for_each(const F& f) const {
    for (const Entry& e : entries_) f(e.value);
  }
  std::size_t size() const { return entries_.size(); }
  std::size_t most() const { return most_; }
  void clear() {
    index_.clear();
    entries_.clear();
  }

 private:
  struct Entry {
    std::size_t hash;
    Value value;
  };
  std::size_t most_;
  std::list<Entry> entries_;  // used last first
  std::unordered_multimap<std::size_t, typename std::list<Entry>::iterator> index_;
};

}  // namespace anew
