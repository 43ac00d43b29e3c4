// What the machine can do: fused multiply-adds per second in f32 and f64, and bytes of memory per second, by one thread
// and by as many as its argument says (all cores without one). One line of JSON, the best of several rounds. Nothing of
// the library is used; vectors are as wide as the widest registers found when it runs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Twelve chains of multiply-adds, so that no unit waits for a result and all stay in registers. The sum leaves the
// loop, so that it stays.
template <class V, class T>
[[gnu::always_inline]] inline double chains(std::int64_t rounds) {
  V a[12], x = V{} + T(0.5), y = V{} + T(0.25);
  for (int i = 0; i < 12; ++i) a[i] = V{} + static_cast<T>(i);
  asm volatile("" : "+m"(x), "+m"(y));  // unknown to the compiler
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) a[i] = a[i] * x + y;
  }
  for (int i = 1; i < 12; ++i) a[0] += a[i];
  return static_cast<double>(a[0][0]);
}

template <class V>
[[gnu::always_inline]] inline double sum_of(const float* a, std::int64_t n) {
  const V* p = reinterpret_cast<const V*>(a);
  V sum[8] = {};
  for (std::int64_t i = 0; i < n / static_cast<std::int64_t>(sizeof(V) / 4); i += 8) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) sum[k] += p[i + k];
  }
  for (int k = 1; k < 8; ++k) sum[0] += sum[k];
  return static_cast<double>(sum[0][0]);
}

struct Loops {
  int bytes;  // of a register
  double (*fma32)(std::int64_t rounds), (*fma64)(std::int64_t rounds);
  double (*read)(const float* a, std::int64_t n);
};

// The same loops, compiled for registers of several widths.
#define ANEW_LOOPS(name, width, target)                                                   \
  struct name {                                                                           \
    using F = float __attribute__((vector_size(width)));                                  \
    using D = double __attribute__((vector_size(width)));                                 \
    target static double fma32(std::int64_t rounds) { return chains<F, float>(rounds); }  \
    target static double fma64(std::int64_t rounds) { return chains<D, double>(rounds); } \
    target static double read(const float* a, std::int64_t n) { return sum_of<F>(a, n); } \
    static Loops loops() { return {width, fma32, fma64, read}; }                          \
  }
ANEW_LOOPS(Narrow, 16, );
#if defined(__x86_64__)
ANEW_LOOPS(Avx2, 32, __attribute__((target("avx2,fma"))));
ANEW_LOOPS(Avx512, 64, __attribute__((target("avx512f,avx512dq,fma"))));
#endif

Loops widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return Avx512::loops();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Avx2::loops();
#endif
  return Narrow::loops();
}

// Past the caches where the machine can: what is only written need not be read before.
void write_all(float* a, std::int64_t n) {
#if defined(__x86_64__)
  for (std::int64_t i = 0; i < n; i += 4) _mm_stream_ps(a + i, _mm_set1_ps(1.5f));
  _mm_sfence();
#else
  std::fill_n(a, n, 1.5f);
#endif
}
void triad(float* a, const float* b, const float* c, std::int64_t n) {
#if defined(__x86_64__)
  for (std::int64_t i = 0; i < n; i += 4)
    _mm_stream_ps(a + i, _mm_add_ps(_mm_load_ps(b + i), _mm_mul_ps(_mm_set1_ps(0.5f), _mm_load_ps(c + i))));
  _mm_sfence();
#else
  for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + 0.5f * c[i];
#endif
}

// The most that `threads` at once do per second, of `amount` each; they start together, and the last to end counts.
double rate(int threads, double amount, const std::function<void(int)>& work) {
  double best = 0;
  for (int round = 0; round < 24; ++round) {
    std::vector<std::thread> others;
    const double start = seconds();
    for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& t : others) t.join();
    best = std::max(best, amount * threads / (seconds() - start));
  }
  return best;
}

void print_rates(const Loops& loops, int threads) {
  constexpr std::int64_t rounds = 1'000'000, n = 1 << 24;  // of floats in each array of a thread: 64 MiB
  volatile double sink = 0;
  const double operations = static_cast<double>(rounds) * 12 * 2;
  std::vector<std::unique_ptr<float, decltype(&std::free)>> arrays;
  for (int i = 0; i < 3 * threads; ++i)
    arrays.emplace_back(static_cast<float*>(std::aligned_alloc(4096, n * sizeof(float))), &std::free);
  for (auto& a : arrays) std::fill_n(a.get(), n, 1.0f);
  auto array = [&](int thread, int i) {
    return arrays[3 * static_cast<std::size_t>(thread) + static_cast<std::size_t>(i)].get();
  };
  const double bytes = static_cast<double>(n) * sizeof(float);
  std::printf(
      "{\"threads\": %d, \"register_bytes\": %d, \"fma_f32\": %.5g, \"fma_f64\": %.5g, \"read\": %.5g, \"write\": "
      "%.5g, "
      "\"triad\": %.5g}",
      threads, loops.bytes, rate(threads, operations * loops.bytes / 4, [&](int) { sink = loops.fma32(rounds); }),
      rate(threads, operations * loops.bytes / 8, [&](int) { sink = loops.fma64(rounds); }),
      rate(threads, bytes, [&](int t) { sink = loops.read(array(t, 0), n); }),
      rate(threads, bytes, [&](int t) { write_all(array(t, 0), n); }),
      rate(threads, 3 * bytes, [&](int t) { triad(array(t, 0), array(t, 1), array(t, 2), n); }));
}

}  // namespace

int main(int argc, char** argv) {
  const int all = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  if (all < 1) {
    std::fprintf(stderr, "usage: floors [threads]\n");
    return 2;
  }
  const Loops loops = widest();
  std::printf("[");
  print_rates(loops, 1);
  if (all > 1) {
    std::printf(", ");
    print_rates(loops, all);
  }
  std::printf("]\n");
}
