// Checkpointing<State>: the schedule of two levels, states in memory, and files behind a thread. A journal has the
// states on disk under their steps, the end of the forward run under -1, and what the visits have made under -2.
#include <anew/checkpointing.h>
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <map>
#include <ostream>
#include <set>
#include <streambuf>

#include "base/stop.h"
#include "plan/two_level.h"
#include "runtime/state_files.h"

namespace anew::detail {
namespace {

constexpr std::int64_t key_of_end = -1, key_of_adjoint = -2;

class Output final : public std::streambuf {
 public:
  std::string bytes;

 protected:
  std::streamsize xsputn(const char* s, std::streamsize n) override {
    bytes.append(s, static_cast<std::size_t>(n));
    return n;
  }
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) bytes.push_back(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
};
class Input final : public std::streambuf {
 public:
  explicit Input(std::string& bytes) { setg(bytes.data(), bytes.data(), bytes.data() + bytes.size()); }
  std::size_t left() const { return static_cast<std::size_t>(egptr() - gptr()); }
};

// The number in front of bytes: of steps at the end, or that are still to visit.
void put_number(std::ostream& out, std::int64_t n) { write_bytes(out, &n, sizeof n); }
std::int64_t take_number(std::istream& in) {
  std::int64_t n = 0;
  read_bytes(in, &n, sizeof n);
  return n;
}

template <class Write>
std::string to_bytes(std::string_view who, const Write& write, const Location& at) {
  Output buffer;
  std::ostream out(&buffer);
  write(out);
  if (!out) throw Error(fmt::format("[checkpointing] .{} left its stream in a state of failure", who), at);
  return std::move(buffer.bytes);
}
template <class Read>
void from_bytes(std::string_view who, std::string bytes, const Read& read, const Location& at) {
  Input buffer(bytes);
  std::istream in(&buffer);
  read(in);
  if (!in || buffer.left() > 0)
    throw Error(fmt::format("[checkpointing] .{} {} than was written: {} of {} bytes are left", who,
                            in ? "takes less" : "takes more", buffer.left(), bytes.size()),
                at, "read exactly what the other one writes");
}

}  // namespace

void write_bytes(std::ostream& out, const void* data, std::size_t size) {
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}
void read_bytes(std::istream& in, void* data, std::size_t size) {
  in.read(static_cast<char*>(data), static_cast<std::streamsize>(size));
}

class CheckpointRun::Impl {
 public:
  Impl(Settings settings, StateCalls calls, const Location& at) : o_(std::move(settings)), calls_(std::move(calls)) {
    check(at);
    if (o_.disk_slots == 0) return;
    const FileOwner owner{"checkpointing", o_.disk, at};
    std::unique_ptr<StateBackend> backend;
    if (o_.resume) {
      Journal journal = open_journal(owner, o_.steps.value_or(-1));
      found_.insert(journal.keys.begin(), journal.keys.end());
      backend = std::move(journal.backend);
    } else {
      backend = open_unnamed(owner);
    }
    files_ = std::make_unique<StateFiles>(std::move(backend), at);
  }

  std::int64_t forward(const void* start, Step step, bool says_when, const Location& at) {
    if (!o_.steps && !says_when)
      throw Error("[checkpointing] the step does not say when to end, and there is no .steps", at,
                  "give .steps, or return from the step whether to go on");
    at_ = at;
    check_start(start);
    reset();
    failed_ = true;
    step_ = std::move(step);
    at_hand_ = copy_of(start);
    if (found_.erase(key_of_end)) resume_end(start);
    else run_forward(start);
    failed_ = false;
    ready_ = true;
    return steps_;
  }

  void backward(const Visit& visit, const Location& at) {
    if (!ready_ && failed_)
      throw Error("[checkpointing] backward after a forward run that failed", at, "call forward again");
    if (!ready_)
      throw Error("[checkpointing] backward without a forward run before it", at,
                  "call forward first; a backward run uses up the states that were kept");
    at_ = at;
    ready_ = false;
    const std::int64_t length = still_to_visit();
    const bool at_last = last_ && length == steps_;
    if (at_last) at_hand_ = std::move(last_);
    last_.reset();
    std::vector<plan::Stop> stops;
    for (std::int64_t s : on_disk_) stops.push_back({s, true});
    for (const auto& [s, state] : in_memory_) stops.push_back({s, false});
    if (length > 0)
      plan::TwoLevel(length, o_.slots, o_.disk_slots)
          .walk_back(length, stops, at_last,
                     {.load = [&](std::int64_t s) { load(s); },
                      .soon = [&](std::int64_t s) { files_->read_ahead(s); },
                      .advance = [&](std::int64_t from, std::int64_t to) { advance(from, to); },
                      .keep = [&](const plan::Stop& s) { keep(s); },
                      .drop =
                          [&](const plan::Stop& s) {
                            if (s.on_disk && o_.resume && o_.write_adjoint) write_adjoint(s.step);
                            drop(s);
                          },
                      .back = [&](std::int64_t i) { visit(at_hand_.get(), i); }});
    reset();
    if (files_) files_->finish();
  }

  const void* state(const Location& at) const {
    if (!ready_ && failed_)
      throw Error("[checkpointing] there is no state: the forward run failed", at, "call forward again");
    if (!ready_)
      throw Error("[checkpointing] there is no state: forward has not been run, or backward has", at,
                  "look at the state between forward and backward");
    return at_hand_.get();
  }
  std::int64_t steps() const { return steps_; }
  std::int64_t recomputed() const { return recomputed_; }

 private:
  using Box = std::unique_ptr<void, void (*)(void*)>;

  void check(const Location& at) const {
    auto refuse = [&](bool wrong, const std::string& what, const std::string& hint) {
      if (wrong) throw Error("[checkpointing] " + what, at, hint);
    };
    refuse(o_.steps && *o_.steps < 0, fmt::format(".steps is {}", o_.steps.value_or(0)),
           "leave it out if it is not known");
    refuse(o_.slots < 1, fmt::format(".slots is {}, but at least one state is kept in memory", o_.slots), "");
    refuse(o_.disk_slots < 0, fmt::format(".disk_slots is {}", o_.disk_slots), "");
    refuse(o_.disk_slots > 0 && o_.disk.empty(), fmt::format("{} states are to lie on disk, but where?", o_.disk_slots),
           "give a folder: .disk = \"...\"");
    refuse(o_.disk_slots == 0 && !o_.disk.empty(), "a folder is given, but no number of states to keep there",
           "give .disk_slots");
    refuse(
        o_.disk_slots > 0 && (!calls_.write || !calls_.read),
        fmt::format("states on disk need .{}: this State is not trivially copyable", calls_.write ? "read" : "write"),
        "give .write(std::ostream&, const State&) and .read(std::istream&, State&)");
    refuse(o_.resume && o_.disk_slots == 0, ".resume needs states on disk", "give .disk and .disk_slots");
    const bool writes = static_cast<bool>(o_.write_adjoint);
    refuse(writes != static_cast<bool>(o_.read_adjoint), ".write_adjoint and .read_adjoint come together", "give both");
    refuse(writes && !o_.resume, ".write_adjoint is for runs that can be resumed",
           "give .resume = true, or leave it out");
  }

  Box copy_of(const void* state) const { return {calls_.copy(state), calls_.destroy}; }

  // What another process has left is of a run from this state, as far as the first state of that run is still there.
  void check_start(const void* start) {
    if (!found_.count(0)) return;
    const std::string stored = files_->read(0);
    bool same = false;
    if (calls_.same) {
      const Box first = copy_of(start);
      from_bytes("read", stored, [&](std::istream& in) { calls_.read(in, first.get()); }, at_);
      same = calls_.same(start, first.get());
    } else {
      same = stored == to_bytes("write", [&](std::ostream& out) { calls_.write(out, start); }, at_);
    }
    if (!same)
      throw Error(fmt::format("[checkpointing] the states in {} belong to a run from another initial state", o_.disk),
                  at_, "begin with the state of that run, empty the folder, or leave out .resume");
  }

  // What another process has left is used once; whatever else was kept goes.
  void reset() {
    for (std::int64_t s : on_disk_) files_->drop(s);
    if (o_.resume && !std::exchange(first_, false)) {
      files_->drop(key_of_adjoint);
      files_->drop(key_of_end);
      found_.clear();
    }
    on_disk_.clear();
    in_memory_.clear();
    last_.reset();
    ready_ = false;
  }

  void resume_end(const void* start) {
    from_bytes(
        "read", files_->read(key_of_end),
        [&](std::istream& in) {
          steps_ = take_number(in);
          calls_.read(in, at_hand_.get());
        },
        at_);
    has_adjoint_ = found_.erase(key_of_adjoint) > 0 && o_.read_adjoint;
    on_disk_ = std::exchange(found_, {});
    keep_start(start);
  }
  // The first state, should another process have left all but that one.
  void keep_start(const void* start) {
    if (!on_disk_.insert(0).second) return;
    files_->write(0, to_bytes("write", [&](std::ostream& out) { calls_.write(out, start); }, at_));
  }

  // Which states a forward sweep keeps; of a resumed one those on disk that it would have kept, and none in memory.
  class Placement {
   public:
    explicit Placement(const Settings& o) {
      if (o.steps) {
        for (const plan::Stop& s : plan::TwoLevel(*o.steps, o.slots, o.disk_slots).forward_stops())
          known_.emplace(s.step, s.on_disk);
      } else {
        online_.emplace(o.slots, o.disk_slots);
      }
    }
    plan::OnlineLevels::Placed place(std::int64_t step) {
      if (online_) return online_->place(step);
      auto it = known_.find(step);
      return {it != known_.end(), it != known_.end() && it->second, {}};
    }

   private:
    std::map<std::int64_t, bool> known_;
    std::optional<plan::OnlineLevels> online_;
  };

  // The step from which to go on: that of the last state on disk.
  std::int64_t resume_forward(Placement& placement, const void* start) {
    found_.erase(key_of_adjoint);
    if (found_.empty()) return 0;
    on_disk_ = std::exchange(found_, {});
    keep_start(start);
    const std::int64_t begin = *on_disk_.rbegin();
    load(begin);
    std::set<std::int64_t> expected;
    for (std::int64_t i = 0; i < begin; ++i) {
      const plan::OnlineLevels::Placed p = placement.place(i);
      if (p.kept && p.on_disk) expected.insert(i);
      for (const plan::Stop& s : p.dropped) expected.erase(s.step);
    }
    for (std::int64_t s : std::set(on_disk_))
      if (s < begin && !expected.count(s)) drop({s, true});
    return begin;
  }

  void run_forward(const void* start) {
    Placement placement(o_);
    steps_ = resume_forward(placement, start);
    for (bool on = true; on && (!o_.steps || steps_ < *o_.steps); ++steps_) {
      check_stop("checkpointing", steps_, at_);
      const plan::OnlineLevels::Placed p = placement.place(steps_);
      if (p.kept && !(p.on_disk && on_disk_.count(steps_))) keep({steps_, p.on_disk});
      for (const plan::Stop& s : p.dropped)
        if (s.on_disk ? on_disk_.count(s.step) : in_memory_.count(s.step)) drop(s);
      if (o_.steps && steps_ == *o_.steps - 1) last_ = copy_of(at_hand_.get());
      on = step_(at_hand_.get(), steps_);
    }
    if (!o_.resume) return;
    files_->write(key_of_end, to_bytes(
                                  "write",
                                  [&](std::ostream& out) {
                                    put_number(out, steps_);
                                    calls_.write(out, at_hand_.get());
                                  },
                                  at_));
    files_->finish();
  }

  // States past what is still to visit go: the visits that needed them are in what read_adjoint gives back.
  std::int64_t still_to_visit() {
    std::int64_t length = steps_;
    if (std::exchange(has_adjoint_, false))
      from_bytes(
          "read_adjoint", files_->read(key_of_adjoint),
          [&](std::istream& in) {
            length = take_number(in);
            o_.read_adjoint(in);
          },
          at_);
    for (std::int64_t s : std::set(on_disk_))
      if (s > 0 && s >= length) drop({s, true});
    return length;
  }
  void write_adjoint(std::int64_t length) {
    files_->write(key_of_adjoint, to_bytes(
                                      "write_adjoint",
                                      [&](std::ostream& out) {
                                        put_number(out, length);
                                        o_.write_adjoint(out);
                                      },
                                      at_));
  }

  void load(std::int64_t step) {
    if (auto it = in_memory_.find(step); it != in_memory_.end()) return calls_.assign(at_hand_.get(), it->second.get());
    from_bytes("read", files_->read(step), [&](std::istream& in) { calls_.read(in, at_hand_.get()); }, at_);
  }
  void advance(std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      check_stop("checkpointing", i, at_);
      step_(at_hand_.get(), i);
      ++recomputed_;
    }
  }
  void keep(const plan::Stop& s) {
    if (s.on_disk) {
      files_->write(s.step, to_bytes("write", [&](std::ostream& out) { calls_.write(out, at_hand_.get()); }, at_));
      on_disk_.insert(s.step);
    } else if (spare_.empty()) {
      in_memory_.emplace(s.step, copy_of(at_hand_.get()));
    } else {
      calls_.assign(spare_.back().get(), at_hand_.get());
      in_memory_.emplace(s.step, std::move(spare_.back()));
      spare_.pop_back();
    }
  }
  void drop(const plan::Stop& s) {
    if (s.on_disk) {
      files_->drop(s.step);
      on_disk_.erase(s.step);
    } else {
      spare_.push_back(std::move(in_memory_.extract(s.step).mapped()));
    }
  }

  Settings o_;
  StateCalls calls_;
  Location at_;
  Step step_;
  Box at_hand_{nullptr, nullptr}, last_{nullptr, nullptr};  // last_: before the last step
  std::map<std::int64_t, Box> in_memory_;
  std::vector<Box> spare_;
  std::set<std::int64_t> on_disk_, found_;  // found_: what another process has left
  std::unique_ptr<StateFiles> files_;
  std::int64_t steps_ = 0, recomputed_ = 0;
  bool first_ = true, ready_ = false, failed_ = false, has_adjoint_ = false;
};

CheckpointRun::CheckpointRun(Settings settings, StateCalls calls, const Location& at)
    : impl_(std::make_unique<Impl>(std::move(settings), std::move(calls), at)) {}
CheckpointRun::~CheckpointRun() = default;
CheckpointRun::CheckpointRun(CheckpointRun&&) noexcept = default;
CheckpointRun& CheckpointRun::operator=(CheckpointRun&&) noexcept = default;

CheckpointRun::Impl& CheckpointRun::impl(const Location& at) const {
  if (!impl_) throw Error("[checkpointing] an object that was moved from is used", at, "use what it was moved to");
  return *impl_;
}
std::int64_t CheckpointRun::forward(const void* start, Step step, bool says_when, const Location& at) {
  return impl(at).forward(start, std::move(step), says_when, at);
}
void CheckpointRun::backward(const Visit& visit, const Location& at) { impl(at).backward(visit, at); }
const void* CheckpointRun::state(const Location& at) const { return impl(at).state(at); }
std::int64_t CheckpointRun::steps(const Location& at) const { return impl(at).steps(); }
std::int64_t CheckpointRun::recomputed(const Location& at) const { return impl(at).recomputed(); }

}  // namespace anew::detail
