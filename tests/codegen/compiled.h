// Compiled kernels against the block interpreter, bit for bit: the same memory, the same strides, cut in pieces at odd
// places. The interpreter itself is held to a scalar reference by tests/loops.
#pragma once
#include "codegen/machine.h"
#include "loops/memory.h"

namespace anew::codegen::test {

using loops::Bytecode;
using loops::Kernel;
using loops::Operand;
using loops::Range;
using loops::test::pick;
using loops::test::Random;
using loops::test::same;
using loops::test::Tensor;
using loops::test::uniform;

// Elements from the edges of the dtype, and any bits at all.
inline void make_special(Tensor& t, Random& g) {
  static const std::vector<double> edges = {0.0,        -0.0,          INFINITY,     -INFINITY, NAN,    1e-45,   -1e-45,
                                            1e-40,      1.2e-38,       3.4e38,       -3.4e38,   5e-324, -1e-310, 1e308,
                                            -1e308,     6e-8,          65504,        65520,     1,      -1,      0.5,
                                            2147483648, -2147483648.0, 4294967296.0, 9.3e18,    -9.3e18};
  const std::size_t size = size_of(t.type.dtype);
  for (std::size_t at = 0; at < t.bytes.size(); at += size) {
    std::uint64_t bits = g();
    if (t.type.dtype == bool_) bits &= 1;
    else if (is_float(t.type.dtype) && bits % 2)
      bits = loops::reference::converted(f64, loops::reference::of(pick(g, edges)), t.type.dtype);
    else if (bits % 3 == 0)
      bits = pick(g, std::vector<std::uint64_t>{0, 1, ~0ull, 0x80000000ull, 0x7fffffffull, 1ull << 63, ~0ull >> 1});
    std::memcpy(&t.bytes[at], &bits, size);
  }
}

// A kernel with memory for it.
struct Trial {
  Kernel kernel;
  std::vector<Tensor> memory;

  Trial(Kernel k, Random& g, bool plain) : kernel(std::move(k)) {
    for (const ShapeDtype& t : kernel.operands) memory.emplace_back(t, g, plain);
    for (Tensor& t : memory) t.randomize(g);
    if (plain) return;
    // What is only read may repeat its elements.
    for (std::size_t o = 0; o < memory.size(); ++o) {
      auto writes = [&](const loops::Store& s) { return s.to.operand == static_cast<int>(o); };
      if (std::any_of(kernel.stores.begin(), kernel.stores.end(), writes)) continue;
      for (std::int64_t& stride : memory[o].strides)
        if (uniform(g, 0, 6) == 0) stride = 0;
    }
  }
  Source source() const {
    Source s{&kernel, loops::schedule_of(kernel), {}};
    for (const Tensor& t : memory) s.strides.emplace_back(t.strides);
    return s;
  }
};

// A lesser processor than this one: vectors of half the size, no masks.
inline Machine plain_machine() {
  Machine m = host();
#if defined(__x86_64__)
  m.cpu = "x86-64-v3", m.features = "", m.vector_bytes = 32;
#endif
  m.masks = false;
  return m;
}

// All units in pieces of random size in random order.
inline void run_pieces(const Function& f, const loops::Schedule& p, std::vector<Tensor>& memory, Random& g) {
  std::vector<std::byte*> operands;
  for (Tensor& t : memory) operands.push_back(static_cast<std::byte*>(t.operand().data));
  anew::test::GuardedVector<std::uint64_t> scratch((p.scratch + 7) / 8, 0xabababababababab);
  auto* bytes = reinterpret_cast<std::byte*>(scratch.data());
  std::vector<Range> ranges;
  const bool whole = uniform(g, 0, 2) == 0;
  for (std::int64_t at = 0; at < p.units;) {
    const std::int64_t n =
        whole ? p.units : std::min(p.units - at, uniform(g, 1, std::max<std::int64_t>(1, p.units / 2)));
    ranges.push_back({at, at + n});
    at += n;
  }
  std::shuffle(ranges.begin(), ranges.end(), g);
  for (Range r : ranges) f.run(operands.data(), r.begin, r.end, bytes);
  if (f.finish) f.finish(operands.data(), bytes);
}

// Compiles all of them as one module and compares each with the interpreter; gives how many were compiled.
inline std::size_t check(std::vector<Trial>& trials, Random& g, const Machine& machine = host()) {
  std::vector<Source> sources;
  for (const Trial& t : trials) sources.push_back(t.source());
  const auto module = compile(sources, machine);
  std::size_t compiled = 0;
  for (std::size_t n = 0; n < trials.size(); ++n) {
    const Function& f = module->functions()[n];
    if (!f.run) continue;
    ++compiled;
    Trial& t = trials[n];
    const Bytecode code(t.kernel);
    EXPECT_EQ(f.finish != nullptr, code.schedule().scratch != 0);
    std::vector<Tensor> expected = t.memory, found = t.memory;
    std::vector<Operand> operands;
    for (Tensor& m : expected) operands.push_back(m.operand());
    loops::run(code, operands);
    run_pieces(f, code.schedule(), found, g);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      std::string why;
      EXPECT_TRUE(same(found[o], expected[o], why)) << "kernel " << n << ", operand #" << o << ": " << why << "\n"
                                                    << t.kernel.str();
      if (!why.empty()) return compiled;
    }
  }
  return compiled;
}

}  // namespace anew::codegen::test
