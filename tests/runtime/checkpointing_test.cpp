// Checkpointing of states that are no arrays: the optimal number of steps, the same bits however states are kept, and
// after every kind of fault (a call that fails, a full disk, kill -9) either an Error or the right result, and no file
// left.
#include <anew/checkpointing.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <istream>
#include <ostream>
#include <random>

#include "plan/revolve.h"
#include "support/files.h"

namespace anew {
namespace {

struct State {
  std::vector<double> u = std::vector<double>(8, 0.3);
  double t = 0;
};
struct Adjoint {
  std::vector<double> ct = std::vector<double>(8, 1.0);
  double of_step = 0;
  friend bool operator==(const Adjoint&, const Adjoint&) = default;
};
void step(State& s) {
  for (double& x : s.u) x += 0.01 * std::sin(x + s.t);
  s.t += 0.01;
}
void visit(const State& s, Adjoint& a) {
  for (std::size_t i = 0; i < a.ct.size(); ++i) {
    a.of_step += std::sin(s.u[i] + s.t) * a.ct[i];
    a.ct[i] += 0.01 * std::cos(s.u[i] + s.t) * a.ct[i];
  }
}

using Options = CheckpointingOptions<State>;
using test::calls_left;
using test::fail_once;
using test::Faults;
using test::Folder;
using test::runs;
void write(std::ostream& out, const State& s) {
  out.write(reinterpret_cast<const char*>(s.u.data()), 64).write(reinterpret_cast<const char*>(&s.t), 8);
}
void read(std::istream& in, State& s) {
  in.read(reinterpret_cast<char*>(s.u.data()), 64).read(reinterpret_cast<char*>(&s.t), 8);
}
Options on_disk(const std::string& folder, std::int64_t steps, std::int64_t slots, std::int64_t disk_slots) {
  return {.steps = steps, .slots = slots, .disk = folder, .disk_slots = disk_slots, .write = write, .read = read};
}

Adjoint back(Checkpointing<State>& run) {
  Adjoint a;
  std::int64_t next = run.steps();
  run.backward([&](const State& s, std::int64_t i) {
    EXPECT_EQ(i, --next);
    EXPECT_NEAR(s.t, 0.01 * static_cast<double>(i), 1e-9);
    visit(s, a);
  });
  EXPECT_EQ(next, 0);
  return a;
}
Adjoint plain(std::int64_t steps) {
  std::vector<State> all{State()};
  for (std::int64_t i = 0; i < steps; ++i) step(all.emplace_back(all.back()));
  Adjoint a;
  for (std::int64_t i = steps; i-- > 0;) visit(all[static_cast<std::size_t>(i)], a);
  return a;
}
void take_step(State& s, std::int64_t) { step(s); }

TEST(Checkpointing, TakesTheOptimalNumberOfSteps) {
  for (std::int64_t steps : {1, 2, 10, 100, 365, 1000})
    for (std::int64_t slots : {1, 3, 5, 10, 44, 2000}) {
      Checkpointing<State> run({.steps = steps, .slots = slots});
      EXPECT_EQ(run.forward(State(), take_step), steps);
      EXPECT_NEAR(run.state().t, 0.01 * static_cast<double>(steps), 1e-9);
      EXPECT_EQ(back(run), plain(steps));
      EXPECT_EQ(run.recomputed(), std::max(plan::extra_steps(steps, slots), steps - 1) - (steps - 1));
    }
  Checkpointing<State> run({.steps = 1000, .slots = 10});
  run.forward(State(), take_step);
  back(run);
  EXPECT_EQ(run.recomputed(), 3636 - 999);
}

TEST(Checkpointing, TheEndMayComeWhenItComes) {
  for (std::int64_t steps : {1, 2, 7, 100, 1000})
    for (std::int64_t slots : {1, 2, 10}) {
      auto until = [=](State& s, std::int64_t i) {
        step(s);
        return i + 1 < steps;
      };
      Checkpointing<State> unknown({.slots = slots}), early({.steps = 5000, .slots = slots});
      EXPECT_EQ(unknown.forward(State(), until), steps);
      EXPECT_EQ(back(unknown), plain(steps));
      EXPECT_EQ(early.forward(State(), until), steps);
      EXPECT_EQ(back(early), plain(steps));
      Folder folder;
      Options o = on_disk(folder.path, 0, slots, 5);
      o.steps.reset();
      Checkpointing<State> disk(o);
      EXPECT_EQ(disk.forward(State(), until), steps);
      EXPECT_EQ(back(disk), plain(steps));
    }
  Checkpointing<State> none({.steps = 0});
  EXPECT_EQ(none.forward(State(), take_step), 0);
  EXPECT_EQ(back(none), Adjoint());
}

TEST(Checkpointing, RunsMoreThanOnce) {
  Folder folder;
  Checkpointing<State> run(on_disk(folder.path, 100, 2, 3));
  for (int i = 0; i < 3; ++i) {
    run.forward(State(), take_step);
    if (i == 1) continue;
    EXPECT_EQ(back(run), plain(100));
  }
}

TEST(Checkpointing, StatesOnDiskSaveSteps) {
  Folder folder;
  std::int64_t before = plan::extra_steps(1000, 3);
  for (std::int64_t disk_slots : {1, 5, 30, 300}) {
    Checkpointing<State> run(on_disk(folder.path, 1000, 3, disk_slots));
    run.forward(State(), take_step);
    EXPECT_EQ(folder.files(), 0);  // unnamed
    EXPECT_EQ(back(run), plain(1000));
    EXPECT_LT(run.recomputed(), before);
    before = run.recomputed();
  }
  struct Plain {
    double x, v;
  };
  Checkpointing<Plain> trivial({.steps = 50, .slots = 1, .disk = folder.path, .disk_slots = 4});
  trivial.forward({1, 0}, [](Plain& p, std::int64_t) { p = {p.x + 0.1 * p.v, p.v - 0.1 * p.x}; });
  int visits = 0;
  trivial.backward([&](const Plain&, std::int64_t) { ++visits; });
  EXPECT_EQ(visits, 50);
}

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    const std::string text = e.what();
    const std::size_t at = text.find("; at "), hint = text.find("; hint: ");
    EXPECT_NE(at, std::string::npos);
    return text.substr(0, at) + (hint == std::string::npos ? "" : text.substr(hint));
  }
  return "no error";
}
std::string made(const Options& o) {
  return message([&] { Checkpointing<State> run(o); });
}

TEST(Checkpointing, Errors) {
  Folder folder;
  EXPECT_EQ(made({.steps = -1}), "[checkpointing] .steps is -1; hint: leave it out if it is not known");
  EXPECT_EQ(made({.slots = 0}), "[checkpointing] .slots is 0, but at least one state is kept in memory");
  EXPECT_EQ(made({.disk_slots = -2}), "[checkpointing] .disk_slots is -2");
  EXPECT_EQ(made({.disk_slots = 2}),
            "[checkpointing] 2 states are to lie on disk, but where?; hint: give a folder: .disk = \"...\"");
  EXPECT_EQ(made({.disk = "."}),
            "[checkpointing] a folder is given, but no number of states to keep there; hint: give .disk_slots");
  EXPECT_EQ(made({.disk = ".", .disk_slots = 2}),
            "[checkpointing] states on disk need .write: this State is not trivially copyable; hint: give "
            ".write(std::ostream&, const State&) and .read(std::istream&, State&)");
  EXPECT_EQ(made({.disk = ".", .disk_slots = 2, .write = write}),
            "[checkpointing] states on disk need .read: this State is not trivially copyable; hint: give "
            ".write(std::ostream&, const State&) and .read(std::istream&, State&)");
  EXPECT_EQ(made({.resume = true}), "[checkpointing] .resume needs states on disk; hint: give .disk and .disk_slots");
  Options o = on_disk(folder.path, 10, 1, 2);
  o.write_adjoint = [](std::ostream&) {};
  EXPECT_EQ(made(o), "[checkpointing] .write_adjoint and .read_adjoint come together; hint: give both");
  o.read_adjoint = [](std::istream&) {};
  EXPECT_EQ(
      made(o),
      "[checkpointing] .write_adjoint is for runs that can be resumed; hint: give .resume = true, or leave it out");
  EXPECT_EQ(
      made(on_disk("/nowhere/at/all", 10, 1, 2)),
      "[checkpointing] cannot open a file in /nowhere/at/all: No such file or directory; hint: give a folder that "
      "exists and may be written to");
  Checkpointing<State> run({.slots = 2});
  EXPECT_EQ(
      message([&] { run.forward(State(), take_step); }),
      "[checkpointing] the step does not say when to end, and there is no .steps; hint: give .steps, or return from "
      "the step whether to go on");
  EXPECT_EQ(
      message([&] { run.backward([](const State&, std::int64_t) {}); }),
      "[checkpointing] backward without a forward run before it; hint: call forward first; a backward run uses up "
      "the states that were kept");
  EXPECT_EQ(message([&] { (void)run.state(); }),
            "[checkpointing] there is no state: forward has not been run, or backward has; hint: look at the state "
            "between forward and backward");
}

TEST(Checkpointing, WhatIsReadIsWhatWasWritten) {
  Folder folder;
  auto both = [&](const Options& o) {
    return message([&] {
      Checkpointing<State> run(o);
      run.forward(State(), take_step);
      back(run);
    });
  };
  Options less = on_disk(folder.path, 20, 1, 2), more = less, failing = less;
  less.read = [](std::istream& in, State& s) { in.read(reinterpret_cast<char*>(s.u.data()), 64); };
  EXPECT_EQ(both(less),
            "[checkpointing] .read takes less than was written: 8 of 72 bytes are left; hint: read exactly "
            "what the other one writes");
  more.read = [](std::istream& in, State& s) {
    read(in, s);
    in.get();
  };
  EXPECT_EQ(both(more),
            "[checkpointing] .read takes more than was written: 0 of 72 bytes are left; hint: read exactly "
            "what the other one writes");
  failing.write = [](std::ostream& out, const State&) { out.setstate(std::ios::failbit); };
  EXPECT_EQ(both(failing), "[checkpointing] .write left its stream in a state of failure");
}

// ---- faults
int kill_once(const char*) {
  if (calls_left.fetch_sub(1) == 0) ::raise(SIGKILL);
  return 0;
}
Options resumable(const std::string& folder, bool known, Adjoint* a) {
  Options o = on_disk(folder, 60, 2, 5);
  if (!known) o.steps.reset();
  o.resume = true;
  if (!a) return o;
  o.write_adjoint = [a](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(a->ct.data()), 64).write(reinterpret_cast<const char*>(&a->of_step), 8);
  };
  o.read_adjoint = [a](std::istream& in) {
    in.read(reinterpret_cast<char*>(a->ct.data()), 64).read(reinterpret_cast<char*>(&a->of_step), 8);
  };
  return o;
}
// One process' try: to the end, unless something happens. `killed`: this many steps and visits before the end comes.
Adjoint whole(const std::string& folder, bool known, bool with_adjoint, int killed = -1) {
  Adjoint a;
  auto count = [&] {
    if (killed-- == 0) ::raise(SIGKILL);
  };
  Checkpointing<State> run(resumable(folder, known, with_adjoint ? &a : nullptr));
  run.forward(State(), [&](State& s, std::int64_t i) {
    count();
    step(s);
    return i + 1 < 60;
  });
  EXPECT_NEAR(run.state().t, 0.6, 1e-9);
  run.backward([&](const State& s, std::int64_t) {
    count();
    visit(s, a);
  });
  return a;
}

TEST(Checkpointing, FailingCallsAreErrors) {
  const Adjoint want = plain(60);
  std::mt19937 random(1);
  int failed = 0;
  for (int i = 0; i < runs(300); ++i) {
    Folder folder;
    const int error = random() % 2 ? ENOSPC : EIO;
    {
      Faults faults(static_cast<int>(random() % 60), error);
      try {
        Checkpointing<State> run(on_disk(folder.path, 60, 2, 5));
        run.forward(State(), take_step);
        Adjoint a;
        run.backward([&](const State& s, std::int64_t) { visit(s, a); });
        EXPECT_EQ(a, want);
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find(error == EIO ? "Input/output error" : "No space left"), std::string::npos)
            << e.what();
        ++failed;
      }
    }
    EXPECT_EQ(folder.files(), 0);
  }
  EXPECT_GT(failed, runs(300) / 8);
}

TEST(Checkpointing, ResumesAfterFailingCalls) {
  const Adjoint want = plain(60);
  std::mt19937 random(2);
  int failed = 0;
  for (int i = 0; i < runs(300); ++i) {
    Folder folder;
    const bool known = random() % 2, with_adjoint = random() % 2;
    for (int tries = 0;; ++tries) {
      Faults faults(static_cast<int>(random() % 90), ENOSPC, tries < 3 ? fail_once : nullptr);
      try {
        EXPECT_EQ(whole(folder.path, known, with_adjoint), want);
        break;
      } catch (const Error&) {
        ++failed;
      }
    }
    EXPECT_EQ(folder.files(), 0);
  }
  EXPECT_GT(failed, runs(300) / 8);
}

// A process that is killed, by a step or visit or in the middle of a call of the system, any number of times.
TEST(Checkpointing, ResumesAfterKill) {
  const Adjoint want = plain(60);
  std::mt19937 random(3);
  int killed = 0;
  for (int i = 0; i < runs(200); ++i) {
    Folder folder;
    const bool known = random() % 2, with_adjoint = random() % 2;
    for (int tries = 0; tries < 3; ++tries) {
      const bool by_step = random() % 2;
      const int when = static_cast<int>(random() % 150);
      const pid_t child = ::fork();
      if (child == 0) {
        Faults faults(when, 0, by_step ? nullptr : kill_once);
        ::_exit(whole(folder.path, known, with_adjoint, by_step ? when : -1) == want ? 0 : 1);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      killed += WIFSIGNALED(status);
      EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    }
    EXPECT_EQ(whole(folder.path, known, with_adjoint), want);
    EXPECT_EQ(folder.files(), 0);
  }
  EXPECT_GT(killed, runs(200) / 2);
}

// Resumed runs do less: forward from the last state on disk, backward from the last state that is done with.
TEST(Checkpointing, ResumedRunsRepeatLittle) {
  Folder folder;
  for (int killed : {55, 62, 100}) {
    if (const pid_t child = ::fork(); child == 0) {
      whole(folder.path, true, true, killed);
      ::_exit(0);
    } else {
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status));
    }
  }
  Adjoint a;
  Checkpointing<State> run(resumable(folder.path, true, &a));
  int ran = 0, visited = 0;
  run.forward(State(), [&](State& s, std::int64_t) { ++ran, step(s); });
  EXPECT_EQ(ran, 0);
  EXPECT_NEAR(run.state().t, 0.6, 1e-9);
  run.backward([&](const State& s, std::int64_t) { ++visited, visit(s, a); });
  EXPECT_LT(visited, 60);
  EXPECT_EQ(a, plain(60));
  EXPECT_EQ(folder.files(), 0);
}

TEST(Checkpointing, TornFilesAreIgnored) {
  for (int tear = 0; tear < 3; ++tear) {
    Folder folder;
    if (const pid_t child = ::fork(); child == 0) {
      whole(folder.path, true, false, 70);
      ::_exit(0);
    } else {
      int status = 0;
      ::waitpid(child, &status, 0);
    }
    EXPECT_GT(folder.files(), 1);
    for (const auto& file : std::filesystem::directory_iterator(folder.path)) {
      if (tear == 0) std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 1);
      if (tear == 1) std::filesystem::resize_file(file.path(), 10);
      if (tear == 2) {
        std::fstream f(file.path(), std::ios::in | std::ios::out | std::ios::binary);
        f.seekp(60).put('x');
      }
    }
    EXPECT_EQ(whole(folder.path, true, false), plain(60));
    EXPECT_EQ(folder.files(), 0);
  }
}

TEST(Checkpointing, FoldersBelongToOneRun) {
  Folder folder;
  Adjoint a;
  {
    Checkpointing<State> run(resumable(folder.path, true, &a));
    run.forward(State(), take_step);
    EXPECT_EQ(made(resumable(folder.path, true, &a)),
              "[checkpointing] another run uses " + folder.path + "; hint: give each run a folder of its own");
  }
  Options other = resumable(folder.path, true, &a);
  other.steps = 61;
  EXPECT_EQ(made(other), "[checkpointing] the states in " + folder.path +
                             " belong to another run; hint: give a folder for each run, or remove anew-state-* there");
  EXPECT_EQ(whole(folder.path, true, true), plain(60));
  EXPECT_EQ(folder.files(), 0);
}

// A run that ended or stopped on its way, and one that begins elsewhere.
TEST(Checkpointing, FoldersBelongToOneInitialState) {
  for (bool known : {false, true})
    for (int stop : {40, 60}) {
      Folder folder;
      Adjoint a;
      try {
        Checkpointing<State> run(resumable(folder.path, known, &a));
        run.forward(State(), [&](State& s, std::int64_t i) {
          if (i == stop) throw stop;
          step(s);
          return i + 1 < 60;
        });
      } catch (int) {
      }
      State other;
      other.u[3] = 0.4;
      Checkpointing<State> run(resumable(folder.path, known, &a));
      auto forward = [&](const State& from) {
        run.forward(from, [](State& s, std::int64_t i) { return step(s), i + 1 < 60; });
      };
      EXPECT_EQ(message([&] { forward(other); }),
                "[checkpointing] the states in " + folder.path +
                    " belong to a run from another initial state; hint: begin with the state of that run, empty the "
                    "folder, or leave out .resume");
      forward(State());  // nothing is lost
      run.backward([&](const State& s, std::int64_t) { visit(s, a); });
      EXPECT_EQ(a, plain(60));
      forward(other);  // a second run of this object
      EXPECT_NEAR(run.state().t, 0.6, 1e-9);
      EXPECT_NE(run.state().u[3], run.state().u[2]);
      run.backward([](const State&, std::int64_t) {});
      EXPECT_EQ(folder.files(), 0);
    }
}

// What lies between the members of a state says nothing.
TEST(Checkpointing, PaddingIsNoPartOfAState) {
  struct Padded {
    char kind;
    double x;
  };
  auto with_padding = [](int byte, double x) {
    alignas(Padded) unsigned char bytes[sizeof(Padded)];
    std::memset(bytes, byte, sizeof bytes);
    Padded p;
    std::memcpy(&p, bytes, sizeof p);
    p.kind = 'a';
    p.x = x;
    return p;
  };
  auto run_from = [](const std::string& folder, const Padded& first) {
    Checkpointing<Padded> run({.steps = 20, .slots = 1, .disk = folder, .disk_slots = 4, .resume = true});
    run.forward(first, [](Padded& p, std::int64_t) { p.x += 1; });
    return run.state().x;
  };
  Folder folder;
  EXPECT_EQ(run_from(folder.path, with_padding(0, 1)), 21);
  EXPECT_EQ(run_from(folder.path, with_padding(0, 1)), 21);
#ifdef __GNUC__
#ifndef __clang__
  EXPECT_EQ(run_from(folder.path, with_padding(7, 1)), 21);
#endif
#endif
  EXPECT_NE(message([&] { run_from(folder.path, with_padding(0, 2)); }).find("another initial state"),
            std::string::npos);
}

TEST(Checkpointing, AForwardRunThatFailedIsNone) {
  Checkpointing<State> run({.steps = 10, .slots = 2});
  try {
    run.forward(State(), [](State&, std::int64_t i) {
      if (i == 4) throw 4;
    });
  } catch (int) {
  }
  EXPECT_EQ(message([&] { run.backward([](const State&, std::int64_t) {}); }),
            "[checkpointing] backward after a forward run that failed; hint: call forward again");
  EXPECT_EQ(message([&] { (void)run.state(); }),
            "[checkpointing] there is no state: the forward run failed; hint: call forward again");
  run.forward(State(), take_step);
  EXPECT_EQ(back(run), plain(10));
}

}  // namespace
}  // namespace anew
