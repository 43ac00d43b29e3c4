// Collectives that go on while the program does other things. One thread carries them out, one after the other, in the
// order in which they were begun; all ranks begin the same ones in the same order. Invariant: a collective that fails
// is the last one carried out until its error has been thrown: those behind it fail too, on all ranks, and nothing is
// sent for them.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace anew::mpi {

class Background {
 public:
  // Work on memory that is its own until `finish`, which waits for it and throws what it threw.
  void begin(const void* memory, std::string what, std::function<void()> work);
  void finish(const void* memory);
  // Before a collective of the caller: returns when none is under way here, and throws what was not thrown yet.
  void clear();
  void stop();  // the thread ends; none is under way
  static bool is_this_thread();

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    std::string what;
    std::function<void()> work;
    Clock::time_point begun = Clock::now(), ended = {};
    bool done = false;
    std::exception_ptr error = {};
  };
  using JobRef = std::shared_ptr<Job>;
  void run();
  void end(Job& job, std::exception_ptr error);
  JobRef take(const void* memory, Clock::time_point& asked);  // when it is done

  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<JobRef> waiting_;
  std::map<const void*, JobRef> jobs_;  // begun and not finished
  std::exception_ptr failure_ = {};     // not thrown yet
  bool busy_ = false, stopping_ = false;
  std::thread thread_;
};
Background& background();

}  // namespace anew::mpi
