// The pool: workers spin for a while after each job, then sleep. A job is open from publish to close; a worker that
// wakes too late finds it closed and is not waited for, so a caller never waits for a thread that has not started.
// Chunks lie in shares, one for each thread, which takes those of its own first and then helps with the others: what a
// thread worked on in one job it finds in its cache in the next one of the same form.
// Invariant: `state_` is generation << 16 | open << 15 | workers inside; the job is written only while nobody is
// inside.
#include "runtime/pool.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "base/base.h"
#include "base/environment.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace anew {
namespace {

constexpr int max_threads = 256;
constexpr auto spin_time = std::chrono::microseconds(150);

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

thread_local bool inside_chunk = false;
thread_local int thread_limit = max_threads;

// A scheduler likes to wake a thread on the core of the one that wakes it, where a worker can only be in the way and,
// because it soon sleeps again, is never moved. So it moves itself: off that core once, then free to run anywhere.
int current_core() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}
void leave_core([[maybe_unused]] int core) {
#if defined(__linux__)
  cpu_set_t allowed;
  if (core < 0 || sched_getcpu() != core || sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<std::size_t>(core), &others);
  if (CPU_COUNT(&others) == 0) return;
  sched_setaffinity(0, sizeof(others), &others);
  sched_setaffinity(0, sizeof(allowed), &allowed);
#endif
}

// The C library ends the process where a new thread finds no memory at all; so none is started where that is near.
bool room_for_worker() {
  constexpr std::size_t own = std::size_t{4} << 20;
  void* volatile some = std::malloc(own);  // volatile: a pair that does nothing else would be optimized away
  std::free(some);
  return some != nullptr;
}

class Pool {
 public:
  static Pool& instance() {
    // Never destroyed: static destructors of the user may still compute. The guard only stops the workers.
    static Pool* pool = new Pool;
    static Guard guard{pool};
    return *pool;
  }

  int threads() {
    const int n = threads_.load(std::memory_order_relaxed);
    return n > 0 ? n : first_threads();
  }
  int allowed() { return std::min(threads(), thread_limit); }

  void set_threads(int n) {
    if (inside_chunk) throw InternalError("set_threads from inside a chunk of parallel_for");
    if (n < 1 || n > max_threads)
      throw Error(fmt::format("[set_threads] the number of threads must be from 1 to {}, not {}", max_threads, n));
    while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    if (n != threads_.load(std::memory_order_relaxed)) stop();
    threads_.store(n, std::memory_order_relaxed);
    busy_.store(false, std::memory_order_release);
  }

  void run(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
    const std::int64_t chunks = n / grain + (n % grain != 0);
    if (chunks > 1 && allowed() > 1 && !busy_.exchange(true, std::memory_order_acquire)) {
      fork_join(n, grain, chunks, body);
      return;
    }
    for (std::int64_t c = 0; c < chunks; ++c) body(c * grain, c + 1 == chunks ? n : (c + 1) * grain);
  }

 private:
  static constexpr std::uint64_t open_bit = 1 << 15, inside_mask = open_bit - 1, generation_step = 1 << 16;

  struct Guard {
    Pool* pool;
    // If another thread is still computing at exit the workers stay: they die with the process.
    ~Guard() {
      if (pool->process_ != getpid() || inside_chunk || pool->busy_.exchange(true, std::memory_order_acquire)) return;
      pool->stop();
      pool->threads_.store(1, std::memory_order_relaxed);
      pool->busy_.store(false, std::memory_order_release);
    }
  };

  int first_threads() {
    const std::string text = environment::threads();
    int n = !text.empty() ? parse_threads(text.c_str()) : static_cast<int>(std::thread::hardware_concurrency());
    n = n < 1 ? 1 : n > max_threads ? max_threads : n;
    int none = 0;
    threads_.compare_exchange_strong(none, n, std::memory_order_relaxed);
    return threads_.load(std::memory_order_relaxed);
  }

  void fork_join(std::int64_t n, std::int64_t grain, std::int64_t chunks,
                 FunctionRef<void(std::int64_t, std::int64_t)> body) {
    if (workers_.empty()) start();
    n_ = n, grain_ = grain, chunks_ = chunks, body_ = &body;
    limit_.store(static_cast<std::uint64_t>(thread_limit), std::memory_order_relaxed);
    shares_ = static_cast<int>(std::min<std::int64_t>(allowed(), chunks));
    for (int s = 0; s < shares_; ++s) next_[s].chunk.store(share_begin(s), std::memory_order_relaxed);
    failed_.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
    // Pairs with sleep(): either the sleeper sees this job or we see the sleeper.
    const std::uint64_t generation = state_.load(std::memory_order_relaxed) & ~(generation_step - 1);
    state_.store((generation + generation_step) | open_bit, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) {
      caller_core_.store(current_core(), std::memory_order_relaxed);
      {
        std::lock_guard lock(mutex_);
      }
      wake_.notify_all();
    }
    inside_chunk = true;
    work(0);
    inside_chunk = false;
    state_.fetch_and(~open_bit, std::memory_order_acq_rel);
    for (int spins = 0; state_.load(std::memory_order_acquire) & inside_mask; ++spins) {
      if (spins < 4096) relax();
      else std::this_thread::yield();
    }
    std::exception_ptr error = std::exchange(error_, nullptr);
    busy_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
  }

  std::int64_t share_begin(int share) const {
    return chunks_ / shares_ * share + std::min<std::int64_t>(chunks_ % shares_, share);
  }

  // Only chunks behind one that threw are left out, so the exception that is kept is the one a serial run would have
  // met.
  void work(int thread) {
    for (int s = 0; s < shares_; ++s) {
      const int share = (thread + s) % shares_;
      std::atomic<std::int64_t>& next = next_[share].chunk;
      const std::int64_t end = share_begin(share + 1);
      // Asked first: who comes late shall not count on for ever.
      for (std::int64_t c;
           next.load(std::memory_order_relaxed) < end && (c = next.fetch_add(1, std::memory_order_relaxed)) < end;)
        run_chunk(c);
    }
  }

  void run_chunk(std::int64_t c) {
    if (failed_.load(std::memory_order_relaxed) < c) return;
    try {
      (*body_)(c* grain_, c + 1 == chunks_ ? n_ : (c + 1) * grain_);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (c < failed_.load(std::memory_order_relaxed)) {
        failed_.store(c, std::memory_order_relaxed);
        error_ = std::current_exception();
      }
    }
  }

  void start() {
    process_ = getpid();
    stopping_.store(false, std::memory_order_relaxed);
    // More threads than cores: spinning would only steal time from those that work.
    const bool crowded = threads() > static_cast<int>(std::thread::hardware_concurrency());
    for (int i = 1; i < threads() && room_for_worker(); ++i) {
      try {
        workers_.emplace_back([this, i, crowded] { loop(i, crowded); });
      } catch (const std::exception&) {
        break;  // the system has no more threads
      }
    }
    threads_.store(static_cast<int>(workers_.size()) + 1, std::memory_order_relaxed);  // the threads at hand do it
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_.store(true, std::memory_order_seq_cst);
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void loop(int thread, bool crowded) {
    inside_chunk = true;
    std::uint64_t done = 0;
    while (true) {
      std::uint64_t state = state_.load(std::memory_order_acquire);
      if (fresh(state, done)) {
        done = state / generation_step;
        if (!enter(state)) continue;
        FloatMode::adopt();
        work(thread);
        state_.fetch_sub(1, std::memory_order_acq_rel);
      }
      if (!spin(done, crowded) && !sleep(done)) return;
    }
  }

  static bool fresh(std::uint64_t state, std::uint64_t done) {
    return (state & open_bit) && state / generation_step != done;
  }

  // Not where the job has as many threads as it may. The limit that is read is that of this generation, or the state
  // has changed since and the exchange fails.
  bool enter(std::uint64_t state) {
    const std::uint64_t generation = state / generation_step;
    while ((state & open_bit) && state / generation_step == generation &&
           (state & inside_mask) + 1 < limit_.load(std::memory_order_relaxed))
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel, std::memory_order_acquire))
        return true;
    return false;
  }

  bool spin(std::uint64_t done, bool crowded) {
    const auto end = std::chrono::steady_clock::now() + (crowded ? std::chrono::microseconds(2) : spin_time);
    do {
      for (int i = 0; i < 32; ++i) {
        if (fresh(state_.load(std::memory_order_relaxed), done)) return true;
        relax();
      }
      if (stopping_.load(std::memory_order_relaxed)) return false;
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  bool sleep(std::uint64_t done) {
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    wake_.wait(lock, [&] { return stopping_.load() || fresh(state_.load(std::memory_order_seq_cst), done); });
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    lock.unlock();
    leave_core(caller_core_.load(std::memory_order_relaxed));
    return !stopping_.load();
  }

  alignas(64) std::atomic<std::uint64_t> state_{0};
  struct alignas(64) Next {
    std::atomic<std::int64_t> chunk{0};
  };
  Next next_[max_threads];  // to be taken, of each share
  alignas(64) std::atomic<std::int64_t> failed_{0};
  std::int64_t n_ = 0, grain_ = 1, chunks_ = 0;
  int shares_ = 1;
  FunctionRef<void(std::int64_t, std::int64_t)>* body_ = nullptr;
  std::exception_ptr error_;
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int> threads_{0}, sleepers_{0}, caller_core_{-1};
  std::atomic<std::uint64_t> limit_{max_threads};  // of threads in the job
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
  pid_t process_ = getpid();
};

}  // namespace

int parse_threads(const char* text) {
  int n = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, n);
  if (error != std::errc{} || stop != end || n < 1 || n > max_threads)
    throw Error(fmt::format("[threads] ANEW_THREADS must be a number from 1 to {}, not '{}'", max_threads, text),
                Location());
  return n;
}

void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  if (grain < 1) throw InternalError("parallel_for needs a grain of at least 1");
  Pool::instance().run(n, grain, body);
}

int threads() { return inside_chunk ? 1 : Pool::instance().allowed(); }

void set_threads(int n) { Pool::instance().set_threads(n); }

ThreadLimit::ThreadLimit(int n) : before_(thread_limit) {
  if (n < 0) throw Error(fmt::format("[threads] a limit of threads is 0 or more, not {}", n));
  if (n > 0) thread_limit = std::min(thread_limit, n);
}

ThreadLimit::~ThreadLimit() { thread_limit = before_; }

}  // namespace anew
