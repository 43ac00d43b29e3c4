// The matrix product beside oneDNN's: GF/s for the forms NN, NT and TN, one and two threads, and the ratio of the two.
// oneDNN counts with the better of dnnl_sgemm and its matmul primitive. Both sides read the same memory, in turns, and
// the best of several rounds counts, so that a busy machine disturbs both alike.
// f64 stands alone: oneDNN has no product of doubles. Usage: bench_product [part of a name, or a shape such as
// 64x256x256] ...
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/pool.h"
#include "runtime/product.h"

#ifdef ANEW_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace {

using namespace anew;

struct Case {
  std::int64_t m, n, k, batch = 1;
  std::string name() const { return fmt::format("{}{}x{}x{}", batch > 1 ? fmt::format("{} of ", batch) : "", m, n, k); }
};

double seconds(FunctionRef<void()> f) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
  auto start = Clock::now();
  f();
  const int calls = std::clamp(static_cast<int>(2e-3 / (since(start) + 1e-9)), 1, 20000);
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < 3; ++round) {
    start = Clock::now();
    for (int i = 0; i < calls; ++i) f();
    best = std::min(best, since(start) / calls);
  }
  return best;
}

template <class T>
struct Operands {
  explicit Operands(const Case& s)
      : a(random(s.batch * s.m * s.k, 1)), b(random(s.batch * s.k * s.n, 2)), c(random(s.batch * s.m * s.n, 3)) {}
  static BufferRef random(std::int64_t n, unsigned seed) {
    BufferRef buffer = allocate(static_cast<std::size_t>(n) * sizeof(T));
    std::mt19937 bits(seed);
    std::normal_distribution<T> normal;
    for (std::int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(buffer->data())[i] = normal(bits);
    return buffer;
  }
  static T* of(const BufferRef& b) { return reinterpret_cast<T*>(b->data()); }
  BufferRef a, b, c;
};

template <class T>
void ours(const Case& s, const Operands<T>& x, char ta, char tb) {
  const Matrix<T> a = ta == 'N' ? Matrix<T>{x.of(x.a), s.k, 1} : Matrix<T>{x.of(x.a), 1, s.m};
  const Matrix<T> b = tb == 'N' ? Matrix<T>{x.of(x.b), s.n, 1} : Matrix<T>{x.of(x.b), 1, s.k};
  const BatchDim batch{s.batch, s.m * s.k, s.k * s.n, s.m * s.n};
  if (s.batch == 1) product(s.m, s.n, s.k, a, b, x.of(x.c), s.n, 1);
  else batched_product(std::span(&batch, 1), s.m, s.n, s.k, a, b, x.of(x.c), s.n, 1);
}

#ifdef ANEW_ONEDNN
void set_openmp_threads(int n) {
  if (void* f = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(f)(n);
}

void sgemm(const Case& s, const Operands<float>& x, char ta, char tb) {
  for (std::int64_t i = 0; i < s.batch; ++i)
    dnnl_sgemm(ta, tb, s.m, s.n, s.k, 1.f, x.of(x.a) + i * s.m * s.k, ta == 'N' ? s.k : s.m, x.of(x.b) + i * s.k * s.n,
               tb == 'N' ? s.n : s.k, 0.f, x.of(x.c) + i * s.m * s.n, s.n);
}

// The primitive is made once, as its users do.
class Matmul {
 public:
  Matmul(const Case& s, const Operands<float>& x, char ta, char tb)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using Desc = dnnl::memory::desc;
    const auto type = dnnl::memory::data_type::f32;
    const Desc a({s.batch, s.m, s.k}, type,
                 ta == 'N' ? dnnl::memory::dims{s.m * s.k, s.k, 1} : dnnl::memory::dims{s.m * s.k, 1, s.m});
    const Desc b({s.batch, s.k, s.n}, type,
                 tb == 'N' ? dnnl::memory::dims{s.k * s.n, s.n, 1} : dnnl::memory::dims{s.k * s.n, 1, s.k});
    const Desc c({s.batch, s.m, s.n}, type, dnnl::memory::dims{s.m * s.n, s.n, 1});
#if DNNL_VERSION_MAJOR >= 3
    matmul_ = dnnl::matmul(dnnl::matmul::primitive_desc(engine_, a, b, c));
#else
    matmul_ = dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine_));
#endif
    arguments_ = {{DNNL_ARG_SRC, dnnl::memory(a, engine_, x.of(x.a))},
                  {DNNL_ARG_WEIGHTS, dnnl::memory(b, engine_, x.of(x.b))},
                  {DNNL_ARG_DST, dnnl::memory(c, engine_, x.of(x.c))}};
  }
  void operator()() { matmul_.execute(stream_, arguments_); }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul matmul_;
  std::unordered_map<int, dnnl::memory> arguments_;
};
#endif

struct Rates {
  double ours = 0, theirs = 0;
};

template <class T>
Rates measure(const Case& s, const Operands<T>& x, char ta, char tb, int threads) {
  set_threads(threads);
  const double flops = 2e-9 * static_cast<double>(s.m * s.n * s.k * s.batch);
  // Two pools that spin at once would slow each other: let one fall asleep before the other is measured.
  const auto rest = [&] { std::this_thread::sleep_for(std::chrono::milliseconds(threads > 1 ? 20 : 0)); };
  Rates best;
#ifdef ANEW_ONEDNN
  set_openmp_threads(threads);
  std::optional<Matmul> matmul;
  if constexpr (std::is_same_v<T, float>) matmul.emplace(s, x, ta, tb);
#endif
  for (int round = 0; round < 7; ++round) {
    best.ours = std::max(best.ours, flops / seconds([&] { ours(s, x, ta, tb); }));
    rest();
#ifdef ANEW_ONEDNN
    if constexpr (std::is_same_v<T, float>) {
      best.theirs = std::max(best.theirs, flops / seconds([&] { sgemm(s, x, ta, tb); }));
      best.theirs = std::max(best.theirs, flops / seconds([&] { (*matmul)(); }));
      rest();
    }
#endif
  }
  return best;
}

template <class T>
void table(const char* title, const std::vector<Case>& cases, const std::vector<std::string>& filters) {
  fmt::print("{:<18} {:>4} {:>26} {:>26} {:>20}\n", title, "thr", "ours NN/NT/TN GF/s", "oneDNN NN/NT/TN", "ratio");
  for (const Case& s : cases) {
    if (!filters.empty() && std::none_of(filters.begin(), filters.end(),
                                         [&](const std::string& f) { return s.name().find(f) != std::string::npos; }))
      continue;
    const Operands<T> x(s);
    for (int threads : {1, 2}) {
      Rates r[3];
      const char* forms[] = {"NN", "NT", "TN"};
      for (int f = 0; f < 3; ++f) r[f] = measure<T>(s, x, forms[f][0], forms[f][1], threads);
      fmt::print("{:<18} {:>4}  {:>8.1f}{:>8.1f}{:>8.1f}", s.name(), threads, r[0].ours, r[1].ours, r[2].ours);
      if (r[0].theirs > 0)
        fmt::print("   {:>8.1f}{:>8.1f}{:>8.1f}  {:>6.2f}{:>6.2f}{:>6.2f}", r[0].theirs, r[1].theirs, r[2].theirs,
                   r[0].ours / r[0].theirs, r[1].ours / r[1].theirs, r[2].ours / r[2].theirs);
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> filters(argv + 1, argv + argc);
  std::vector<Case> cases = {{1024, 1024, 1024}, {512, 512, 512}, {128, 1024, 1024}, {1024, 1024, 128}, {64, 256, 256},
                             {128, 128, 64, 64}, {32, 64, 64},    {37, 53, 71},      {8, 1024, 1024},   {1, 1024, 1024},
                             {1024, 1, 1024},    {1000, 10, 784}, {16, 16, 16},      {4, 4, 4},         {32, 1024, 256},
                             {32, 256, 1024},    {256, 1024, 32}, {32, 256, 256},    {256, 256, 32},    {1, 128, 128},
                             {1, 1000, 1000},    {24, 1024, 4096}};
  for (const std::string& f : filters) {  // other shapes
    Case other{};
    char more = 0;
    const bool is_shape = std::sscanf(f.c_str(), "%ldx%ldx%ld%c", &other.m, &other.n, &other.k, &more) == 3;
    if (is_shape && std::none_of(cases.begin(), cases.end(), [&](const Case& c) { return c.name() == other.name(); }))
      cases.push_back(other);
  }
  table<float>("f32", cases, filters);
  table<double>("f64", {{1024, 1024, 1024}, {64, 256, 256}, {1, 1024, 1024}, {4, 4, 4}}, filters);
}
