// Laws of bits: calling through jit or checkpoint, any policy, any number of threads and any layout of operands give
// the very bits of plain eager evaluation: values, jvp, gradient and its jvp. Reverse over reverse keeps its bits
// where nothing is computed twice; a recomputed value has two copies, and what flows back to each is multiplied
// before it is added.
#include <cstdlib>

#include "laws/cells.h"
#include "runtime/pool.h"
#include "support/interpreted.h"

namespace anew::test {
namespace {

class BitLaw : public Law {
 protected:
  void TearDown() override { set_threads(threads_); }

 private:
  int threads_ = threads();
};

const LawInfo jit_is_eager("JitIsEager", nowhere_skipped);
TEST_P(BitLaw, JitIsEager) {
  // Every other cell is machine code, of four one to the second order and one as a compiled gradient; the others are
  // interpreted there. With ANEW_LONG all are machine code.
  // The compiler takes most of the time, and tests of codegen hold each row's code to the interpreter.
  const bool all = std::getenv("ANEW_LONG") != nullptr;
  int turn = 0;
  for_each_cell(jit_is_eager, [&](const Cell& c) {
    const int now = turn++ % 4;
    FlatFunction f = c.function();
    Arrays x = c.inputs();
    auto jitted = [&](std::span<const Array> in) { return flat::jit(f, in, {}); };
    {
      const Interpreted interpreted(!all && now % 2 != 0);
      expect_same(derivatives(jitted, x, 8, c.has_forward()), derivatives(f, x, 8, c.has_forward()), "jit");
    }
    if (c.has_reverse_twice()) {
      const Interpreted interpreted(!all && now != 0);
      expect_same(reverse_over_reverse(jitted, x, 8), reverse_over_reverse(f, x, 8), "jit, reverse over reverse");
    }
    Random random(9);
    Arrays ct = random_like(random, f(x));
    auto gradient = [&](std::span<const Array> in) { return flat::linearize(f, in).second.pullback(ct); };
    const Interpreted interpreted(!all && now != 2);
    expect_same(flat::jit(gradient, x, {}), gradient(x), "jit of the gradient");
  });
}

const LawInfo checkpoint_is_plain("CheckpointIsPlain", nowhere_skipped);
TEST_P(BitLaw, CheckpointIsPlain) {
  using namespace checkpoint_policies;
  Policy by_type("by_type",
                 [](const PolicyQuery& q) { return q.output_types.size() == 1 && q.output_types[0].shape.ndim() < 2; });
  Policy offloaded("offloaded", [](const PolicyQuery&) { return Save::offload; });
  // Policies and numbers of threads take turns; with ANEW_LONG each policy meets each number on each cell.
  const bool all = std::getenv("ANEW_LONG") != nullptr;
  int turn = 0;
  for_each_cell(checkpoint_is_plain, [&](const Cell& c) {
    FlatFunction f = c.function();
    const bool forward = c.has_forward(), twice = c.has_reverse_twice();
    Arrays x = c.inputs(), plain = derivatives(f, x, 8, forward), plain_second;
    if (twice) plain_second = reverse_over_reverse(f, x, 8);
    for (const Policy& p :
         {nothing_saveable, everything_saveable, dots_saveable, dots_with_no_batch_dims_saveable, by_type, offloaded}) {
      ++turn;
      for (int log = 0; log < 3; ++log) {
        if (!all && log != turn % 3) continue;
        const int n = 1 << log;
        set_threads(n);
        auto checkpointed = [&](std::span<const Array> in) { return flat::checkpoint(f, in, p); };
        expect_same(derivatives(checkpointed, x, 8, forward), plain, p.str() + " on " + std::to_string(n) + " threads");
        if (!twice) continue;
        Arrays second = reverse_over_reverse(checkpointed, x, 8);
        // Products in the derivative of cofactor_tangent, saved by these policies, are differentiated apart from the
        // rest: their cotangents are added in another order (docs/architecture.md: how far bit equality reaches).
        const bool apart = c.row->name == "cofactor_tangent" && p.str().starts_with("dots");
        if (!c.row->run && p.kind() != Policy::Kind::callable && !apart)
          expect_same(second, plain_second, p.str() + ", reverse over reverse");
        for (std::size_t i = 0; i < second.size(); ++i)
          expect_close(second[i], plain_second[i], default_tolerance(x) < 1e-4 ? 1e-12 : 1e-4, "reverse over reverse");
      }
    }
    ++turn;  // the next cell begins with another number
  });
}

// Elementwise rows at a size that several threads share.
const LawInfo threads_do_not_matter("ThreadsDoNotMatter", [](const Cell& c) -> std::string {
  if (!c.row->facts.elementwise)
    return "not elementwise: its samples fix their shapes (see tests/runtime and tests/loops)";
  for (const ir::SampleInput& in : c.sample.inputs)
    if (in.type.shape.size() > 1) return "";
  return "only samples with several elements are made long";
});
TEST_P(BitLaw, ThreadsDoNotMatter) {
  for_each_cell(threads_do_not_matter, [](const Cell& c) {
    Cell large = c;
    for (ir::SampleInput& in : large.sample.inputs)
      if (in.type.shape.ndim() > 0) in.type.shape = Shape{70001};
    Arrays x = large.inputs();
    set_threads(1);
    Arrays want = derivatives(large.function(), x, 8);
    for (int n : {2, 4}) {
      set_threads(n);
      expect_same(derivatives(large.function(), x, 8), want, std::to_string(n) + " threads");
    }
  });
}

// The same elements in another order of memory, or one element seen many times.
Array transposed_in_memory(const Array& x) { return transpose(asarray(transpose(x) + zeros({}, x.dtype()))); }
const LawInfo layout_does_not_matter("LayoutDoesNotMatter", nowhere_skipped);
TEST_P(BitLaw, LayoutDoesNotMatter) {
  for_each_cell(layout_does_not_matter, [](const Cell& c) {
    const bool forward = c.has_forward();
    Arrays x = c.inputs(), other;
    for (const Array& a : x) other.push_back(a.ndim() < 2 || a.dtype() == bool_ ? a : transposed_in_memory(a));
    Arrays same;
    for (const Array& a : other) same.push_back(contiguous(a));
    expect_same(derivatives(c.function(), other, 8, forward), derivatives(c.function(), same, 8, forward),
                "transposed operands");
    Arrays wide, copies;
    for (const Array& a : x) {
      Array first = a.size() ? ravel(a)[0] : a;
      wide.push_back(a.size() ? broadcast_to(first, a.shape()) : a);
      copies.push_back(contiguous(wide.back()));
    }
    expect_same(derivatives(c.function(), wide, 8, forward), derivatives(c.function(), copies, 8, forward),
                "broadcast operands");
  });
}

INSTANTIATE_LAW(BitLaw);

}  // namespace
}  // namespace anew::test
