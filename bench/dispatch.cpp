// What an eager operation costs beside its arithmetic, and what tracing and differentiating cost per equation.
#include <anew/anew.h>
#include <benchmark/benchmark.h>

using namespace anew;

static void add_of_4(benchmark::State& state) {
  Array x = ones({4}) + 0, y = ones({4}) + 1;
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}
BENCHMARK(add_of_4);

static void sin_of_4(benchmark::State& state) {
  Array x = ones({4}) + 0;
  for (auto _ : state) benchmark::DoNotOptimize(sin(x));
}
BENCHMARK(sin_of_4);

static void times_number(benchmark::State& state) {
  Array x = ones({4}) + 0;
  for (auto _ : state) benchmark::DoNotOptimize(x * 2.0);
}
BENCHMARK(times_number);

static void transpose_of_4x4(benchmark::State& state) {
  Array x = ones({4, 4}) + 0;
  for (auto _ : state) benchmark::DoNotOptimize(x.T());
}
BENCHMARK(transpose_of_4x4);

static void product_of_4x4(benchmark::State& state) {
  Array x = ones({4, 4}) + 0;
  for (auto _ : state) benchmark::DoNotOptimize(matmul(x, x));
}
BENCHMARK(product_of_4x4);

static void add_large(benchmark::State& state) {
  Array x = zeros({state.range(0)}) + 1, y = x + 1;
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
  state.SetBytesProcessed(state.iterations() * state.range(0) * 12);
}
BENCHMARK(add_large)->Arg(1 << 12)->Arg(1 << 16)->Arg(1 << 20)->Arg(1 << 24);

static void exp_large(benchmark::State& state) {
  Array x = zeros({state.range(0)}) + 1;
  for (auto _ : state) benchmark::DoNotOptimize(exp(x));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(exp_large)->Arg(1 << 12)->Arg(1 << 16)->Arg(1 << 20);

static Array chain(Array x) {
  for (int i = 0; i < 100; ++i) x = sin(x);
  return x;
}
static void trace_of_100_sines(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make_program(chain)(1.0));
}
BENCHMARK(trace_of_100_sines);
static void grad_of_100_sines(benchmark::State& state) {
  auto g = grad(chain);
  for (auto _ : state) benchmark::DoNotOptimize(g(1.0));
}
BENCHMARK(grad_of_100_sines);
