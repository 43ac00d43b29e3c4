// What has been derived from a Program, kept with it: a Program that is shared never changes again, so each question
// about it is answered once. A copy starts without, since it may be changed; only shared Programs are asked.
// At most `most` answers are kept; then the oldest goes.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace anew::ir {

class Memo {
 public:
  Memo() = default;
  Memo(const Memo&) noexcept {}
  Memo& operator=(const Memo&) noexcept {  // whoever assigns is alone with the Program
    entries_.clear();
    hash = 0;
    return *this;
  }
  ~Memo() = default;

  // The answer for this key, or nothing.
  template <class Value, class Key>
  std::shared_ptr<const Value> find(const Key& key) const {
    using Both = Kept<Key, Value>;
    std::lock_guard lock(guard_);
    for (const Entry& e : entries_)
      if (e.kind == &kind<Both>)
        if (const auto* both = static_cast<const Both*>(e.kept.get()); both->key == key) return {e.kept, &both->value};
    return nullptr;
  }
  template <class Key, class Value>
  void add(Key key, Value value) const {
    using Both = Kept<Key, Value>;
    auto both = std::make_shared<const Both>(Both{std::move(key), std::move(value)});
    std::shared_ptr<const void> old;  // goes after the lock: it may hold Programs
    std::lock_guard lock(guard_);
    if (entries_.size() < most) return void(entries_.push_back({&kind<Both>, std::move(both)}));
    old = std::exchange(entries_[next_], {&kind<Both>, std::move(both)}).kept;
    next_ = (next_ + 1) % most;
  }
  template <class Key, class Make>
  auto get(const Key& key, const Make& make) const {
    using Value = std::invoke_result_t<const Make&>;
    auto found = find<Value>(key);
    if (found) return found;
    found = std::make_shared<const Value>(make());
    add(key, *found);
    return found;
  }
  static constexpr std::size_t most = 24;
  std::size_t size() const {
    std::lock_guard lock(guard_);
    return entries_.size();
  }

  mutable std::atomic<std::size_t> hash = 0;  // 0: not asked for yet

 private:
  template <class Key, class Value>
  struct Kept {
    Key key;
    Value value;
  };
  template <class T>
  static constexpr char kind = 0;
  struct Entry {
    const void* kind;
    std::shared_ptr<const void> kept;
  };
  mutable std::mutex guard_;
  mutable std::vector<Entry> entries_;
  mutable std::size_t next_ = 0;
};

}  // namespace anew::ir
