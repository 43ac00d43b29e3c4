// See background.h.
#include "mpi/background.h"

#include <fmt/format.h>

#include <utility>

#include "base/environment.h"
#include "base/float_mode.h"
#include "runtime/in_flight.h"

namespace anew::mpi {
namespace {

constinit thread_local bool carries_out = false;

double milliseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

}  // namespace

Background& background() {
  static Background& b = *new Background;
  return b;
}

bool Background::is_this_thread() { return carries_out; }

void Background::begin(const void* memory, std::string what, std::function<void()> work) {
  auto job = std::make_shared<Job>(Job{std::move(what), std::move(work)});
  const std::lock_guard lock(guard_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  jobs_[memory] = job;
  if (failure_) end(*job, failure_);
  else waiting_.push_back(std::move(job));
  changed_.notify_all();
  InFlight::began(memory, [this, memory] {
    Clock::time_point asked;
    (void)take(memory, asked);
  });
}

void Background::finish(const void* memory) {
  InFlight::ended(memory);
  Clock::time_point asked;
  const JobRef job = take(memory, asked);
  if (environment::logged("collectives"))
    environment::log(fmt::format("[anew] {:.60}: {:.3f} ms under way, {:.3f} ms of it waited for\n", job->what,
                                 milliseconds(job->ended - job->begun),
                                 milliseconds(std::max(job->ended - asked, Clock::duration::zero()))));
  if (job->error) std::rethrow_exception(job->error);
}

void Background::clear() {
  std::unique_lock lock(guard_);
  changed_.wait(lock, [&] { return waiting_.empty() && !busy_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Background::stop() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Background::JobRef Background::take(const void* memory, Clock::time_point& asked) {
  asked = Clock::now();
  std::unique_lock lock(guard_);
  const JobRef job = jobs_.extract(memory).mapped();
  changed_.wait(lock, [&] { return job->done; });
  if (job->error) failure_ = nullptr;  // whoever has one of those that failed throws, or is throwing already
  return job;
}

void Background::end(Job& job, std::exception_ptr error) {
  job.work = {};
  job.error = std::move(error);
  job.ended = Clock::now();
  job.done = true;
}

void Background::run() {
  carries_out = true;
  std::unique_lock lock(guard_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const JobRef job = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      FloatMode::adopt();
      job->work();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    if (error) {
      failure_ = error;
      for (const JobRef& next : std::exchange(waiting_, {})) end(*next, error);
    }
    end(*job, std::move(error));
    changed_.notify_all();
  }
}

}  // namespace anew::mpi
