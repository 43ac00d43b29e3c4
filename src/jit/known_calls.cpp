// What is remembered of the calls of one jitted function.
#include <anew/jit.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/lru.h"
#include "base/per_thread.h"
#include "trace/trace.h"

namespace anew::flat {

// ---- keys

CallKey::CallKey() = default;
CallKey::CallKey(const CallKey&) = default;
CallKey::CallKey(CallKey&&) noexcept = default;
CallKey& CallKey::operator=(const CallKey&) = default;
CallKey& CallKey::operator=(CallKey&&) noexcept = default;
CallKey::~CallKey() = default;

void CallKey::number(std::uint64_t bits) {
  numbers_.push_back({words().size(), argument_});
  word(bits);
}

void CallKey::add(std::shared_ptr<const void> value, bool (*same)(const void*, const void*)) {
  values_.push_back({std::move(value), same});
}

void CallKey::text(std::string_view s) {
  word(s.size());
  for (std::size_t i = 0; i < s.size(); i += 8) {
    std::uint64_t w = 0;
    std::memcpy(&w, s.data() + i, std::min<std::size_t>(8, s.size() - i));
    word(w);
  }
}

void CallKey::add_more(std::uint64_t w) {
  if (more_.empty()) more_.assign(few_, few_ + few);
  more_.push_back(w);
}

void CallKey::arrays(std::span<const Array> x) {
  word(x64_enabled());
  for (const Array& a : x) {
    const anew::Value& v = *a.value();
    word(static_cast<std::uint64_t>(v.type.dtype) | std::uint64_t{v.weak} << 8 |
         static_cast<std::uint64_t>(v.type.shape.ndim()) << 16);
    for (std::int64_t n : v.type.shape) word(static_cast<std::uint64_t>(n));
  }
}

std::size_t CallKey::hash() const {
  std::size_t h = words().size();
  for (std::uint64_t w : words()) hash_combine(h, w);
  return h;
}

bool operator==(const CallKey& a, const CallKey& b) {
  return std::ranges::equal(a.words(), b.words()) &&
         std::equal(
             a.values_.begin(), a.values_.end(), b.values_.begin(), b.values_.end(),
             [](const auto& x, const auto& y) { return x.same == y.same && x.same(x.value.get(), y.value.get()); });
}

CallKey CallKey::without_numbers() const {
  CallKey out = *this;
  for (const NumberAt& n : numbers_) (out.more_.empty() ? out.few_[n.word] : out.more_[n.word]) = 0;
  return out;
}

std::size_t CallKey::other_number(const CallKey& before) const {
  for (const NumberAt& n : numbers_)
    if (words()[n.word] != before.words()[n.word]) return n.argument;
  return 0;
}

// ---- calls

struct KnownCalls::State {
  std::mutex guard;
  Lru<std::shared_ptr<const Entry>> entries{256};
  const std::uint64_t id = [] {
    static std::atomic<std::uint64_t> count = 0;
    return ++count;
  }();  // never that of another, as its address may be
  std::atomic<bool> captures = false;
  // Of calls that differ in static numbers only: how often they were compiled.
  struct Repeated {
    CallKey key, last;
    int times = 1;
  };
  Lru<Repeated> repeated{64};
  bool warned = false;
};
namespace {
// What a thread found last, mostly to be asked for again; a call takes it out while it runs, since it may call others.
struct LastCall {
  std::uint64_t of = 0;  // KnownCalls::State::id
  std::shared_ptr<const KnownCalls::Entry> entry;
};
}  // namespace

KnownCalls::KnownCalls() : state_(std::make_shared<State>()) {}
KnownCalls::KnownCalls(const KnownCalls&) noexcept = default;
KnownCalls& KnownCalls::operator=(const KnownCalls&) noexcept = default;
KnownCalls::~KnownCalls() = default;

std::size_t KnownCalls::size() const {
  std::lock_guard lock(state_->guard);
  return state_->entries.size();
}

void KnownCalls::captures() const { state_->captures = true; }
bool KnownCalls::capturing() const { return state_->captures; }

std::shared_ptr<const KnownCalls::Entry> KnownCalls::find(const CallKey& key) const {
  LastCall& last = PerThread<LastCall>::get();
  if (last.of == state_->id && last.entry && last.entry->key == key) return std::move(last.entry);
  std::lock_guard lock(state_->guard);
  auto* found = state_->entries.find(key.hash(), [&](const auto& e) { return e->key == key; });
  return found ? *found : nullptr;
}

void KnownCalls::keep(std::shared_ptr<const Entry> found) const {
  LastCall& last = PerThread<LastCall>::get();
  last.of = state_->id;
  last.entry.swap(found);
}

std::shared_ptr<const KnownCalls::Entry> KnownCalls::add(Entry entry) const {
  const std::size_t h = entry.key.hash();
  auto shared = std::make_shared<const Entry>(std::move(entry));
  std::list<std::shared_ptr<const Entry>> gone;
  std::lock_guard lock(state_->guard);
  if (auto* found = state_->entries.find(h, [&](const auto& e) { return e->key == shared->key; }))
    return *found;  // another thread was first
  gone = state_->entries.add(h, shared);
  return shared;
}

void KnownCalls::compiled(const CallKey& key, const Location& at) const {
  constexpr int too_often = 10;
  CallKey rest = key.without_numbers();
  const std::size_t h = rest.hash();
  std::size_t argument = 0;
  {
    std::lock_guard lock(state_->guard);
    auto* group = state_->repeated.find(h, [&](const State::Repeated& r) { return r.key == rest; });
    if (!group) return void(state_->repeated.add(h, {std::move(rest), key}));
    if (group->last == key) return;  // another reason
    argument = key.other_number(group->last);
    group->last = key;
    if (++group->times < too_often || state_->warned) return;
    state_->warned = true;
  }
  warn(fmt::format("[jit] compiled {} times because argument {} is a C++ number, which is static: each of its values "
                   "has code of its own; hint: pass it as an Array, or let the parameter be an Array",
                   too_often, argument),
       at);
}

}  // namespace anew::flat
