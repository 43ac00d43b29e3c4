// memory_report: what a compiled function does with its memory and its time, step by step; as text to read, JSON to
// process and a page of HTML to look at.
#pragma once
#include <anew/jit.h>

namespace anew {

struct MemoryReport {
  MemoryReport();
  MemoryReport(const MemoryReport&);
  MemoryReport(MemoryReport&&) noexcept;
  MemoryReport& operator=(const MemoryReport&);
  MemoryReport& operator=(MemoryReport&&) noexcept;
  ~MemoryReport();

  // A step of the compiled function, or of a loop or branch in it. Steps of loops follow the loop, one deeper; figures
  // are of all runs in one call, and -1 where they are not known. Times of the steps of a loop add up to that of the
  // loop.
  struct Operation {
    std::string what;
    SourceLine line = {};
  };
  struct Step {
    int depth = 0;
    std::string what;  // "dot_general", "mul, sin, reduce_sum", "scan[10]"; "condition" where a loop has several bodies
    std::string type = {};  // of its first result
    SourceLine line = {};
    std::int64_t runs = -1;
    double seconds = -1;                     // the least of a few calls
    double bytes = -1, flops = -1;           // read and written; of elements that are read twice, once
    std::size_t live_bytes = 0;              // in the arena while it runs
    std::vector<Operation> operations = {};  // what it computes, in order: several of a fused kernel
    std::string path = {}, callers = {};     // as in LiveValue
  };
  // A piece of the arena: where it lies, and from which to which of the steps.
  struct Piece {
    std::string what;
    std::string type = {};  // empty: scratch
    SourceLine line = {};
    std::size_t offset = 0, bytes = 0;
    std::size_t first = 0, last = 0;
    std::string path = {}, callers = {};  // as in LiveValue
    bool backward = false;
  };
  // A line of a file that is named here, or near one that is.
  struct Source {
    std::string file;
    int line = 0;
    std::string text = {};
  };
  MemoryPlan plan = {};
  std::size_t measured_bytes = 0;  // at the peak of a call; 0: nothing ran, an argument is abstract
  double seconds = -1;             // of a call, the least of a few; those of its steps are at most as many
  std::vector<Step> steps = {};
  std::vector<Piece> pieces = {};
  std::vector<Source> sources = {};            // by file and line; of files that could be read
  std::vector<BudgetPoint> budget_curve = {};  // where the function has a memory budget

  // What is alive where the arena is fullest, and the time, by who asked for it; the largest first. Each list adds up
  // to the same sums.
  enum class By { line, function, path };
  struct Total {
    std::string what;      // "model.cpp:41 (layer)", "layer", "layers[3].w"; empty: unknown
    SourceLine line = {};  // by line
    std::size_t bytes = 0;
    double seconds = 0;
  };
  std::vector<Total> totals(By by) const;

  std::string str() const;  // at most 100 columns wide
  std::string json() const;
  std::string html() const;  // a page that needs nothing else
};
std::ostream& operator<<(std::ostream& os, const MemoryReport& report);

namespace flat {
MemoryReport memory_report(const FlatFunction& f, std::span<const Array> x, const JitOptions& options = {},
                           const Location& at = Location::current(), std::vector<std::string> paths = {});
}

// Compiles for these arguments and calls the function a few times (once if it prints or calls back, never if an
// argument is abstract).
template <class F, class... T>
[[nodiscard]] MemoryReport memory_report(const Jit<F>& jitted, const ArgNames& names, const T&... args) {
  using For = detail::whole_call<F, T...>;
  if constexpr (For::valid) {
    typename For::type c(jitted.function(), args...);
    JitOptions own;
    return flat::memory_report(c.flat(), c.leaves(), jitted.options_for(c, own), jitted.at(),
                               detail::call_info(c.skeleton(), names).paths);
  } else {
    return {};
  }
}
template <class F, class... T>
[[nodiscard]] MemoryReport memory_report(const Jit<F>& jitted, const T&... args) {
  return memory_report(jitted, ArgNames(), args...);
}

}  // namespace anew
