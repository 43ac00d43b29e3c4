// Kernels that run at once: played through element by element, none writes what another one touches; and the bits are
// those of eager evaluation, however many threads share them.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <set>

#include "jit/compiled_program.h"
#include "passes/pipeline.h"
#include "passes/subjects.h"
#include "runtime/pool.h"

namespace anew::passes {
namespace neighbours_test {
namespace {

using Xs = std::span<const Array>;
// Bytes of the arena (no storage) or of a storage of the caller.
using Bytes = std::set<std::pair<StorageId, std::int64_t>>;

void touch(const Body& body, const Step& s, const loops::Access& a, const std::vector<std::int64_t>& at, Bytes& to) {
  const ValueId v = s.operand(static_cast<std::size_t>(a.operand));
  const Value& x = body.values[v];
  const Extent e = extent_of(body, v);
  std::int64_t element = 0;
  for (std::size_t d = 0; d < a.index.size(); ++d) {
    std::int64_t i = a.index[d].constant;
    for (std::size_t k = 0; k < at.size(); ++k) i += a.index[d].coefficients[k] * at[k];
    element += i * x.strides[static_cast<int>(d)];
  }
  const auto size = static_cast<std::int64_t>(size_of(x.type.dtype));
  to.insert({e.storage, e.begin + x.offset + element * size});
}

struct Touched {
  Bytes read, written;
  bool meets(const Touched& o) const {
    auto common = [](const Bytes& a, const Bytes& b) {
      return std::any_of(a.begin(), a.end(), [&](const auto& x) { return b.count(x) != 0; });
    };
    return common(written, o.written) || common(written, o.read) || common(read, o.written);
  }
};
Touched touched(const Body& body, const Step& s) {
  Touched out;
  const loops::Kernel& k = s.kernel();
  std::vector<std::int64_t> at(k.extents.size(), 0);
  if (std::any_of(k.extents.begin(), k.extents.end(), [](std::int64_t n) { return n == 0; })) return out;
  for (;;) {
    for (const loops::Access& a : k.accesses) touch(body, s, a, at, out.read);
    for (const loops::Store& t : k.stores) touch(body, s, t.to, at, out.written);
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == k.extents[d - 1]) at[--d] = 0;
    if (d == 0) return out;
  }
}

// How many kernels run at once with others; that none touches what another writes.
int checked(const Body& body) {
  int count = 0;
  std::vector<Touched> group;
  for (const Step& s : body.steps) {
    for (const auto& nested : s.bodies) count += checked(*nested);
    const Kernel* kernel = s.as<Kernel>();
    if (!kernel || !kernel->with_last) group.clear();
    if (!s.is_elementwise()) continue;
    Touched now = touched(body, s);
    for (const Touched& other : group) EXPECT_FALSE(now.meets(other)) << s.kernel().str();
    if (kernel->with_last) ++count;
    group.push_back(std::move(now));
  }
  return count;
}
int checked(const ir::Program& program) {
  std::vector<Strides> inputs;
  for (const Type& t : program.input_types()) inputs.push_back(row_major(t.shape));
  return checked(*plan_program(program, inputs).placed);
}

Array stencil(const Array& u) {
  const Array p = pad(u, {{1, 1}, {1, 1}});
  const Slice all = slice(1, -1), before = slice(none, -2), after = slice(2, none);
  return p[{before, all}] + p[{after, all}] + p[{all, before}] + p[{all, after}] - 4 * u;
}
Arrays wave(Xs x) {
  auto step = [&](Xs c, Xs) {
    return flat::ScanResult{{2 * c[0] - c[1] + x[2] * stencil(c[0]), c[0]}, {sum(c[0], 0)}};
  };
  flat::ScanResult r = flat::scan(step, {x[0], x[1]}, {}, {.length = 5});
  return {r.carry[0], r.ys[0]};
}
Arrays wave_gradient(Xs x) {
  return flat::grad([](Xs y) { return Arrays{sum(square(wave(y)[0]))}; }, x);
}
Arrays wave_inputs(std::int64_t rows, std::int64_t columns) {
  Arrays x;
  for (int i = 0; i < 3; ++i) x.push_back(sin(arange(rows * columns, f32) * 0.1 + i).reshape({rows, columns}));
  return x;
}

class ThreadThreshold {
 public:
  explicit ThreadThreshold(double ns) : before_(loops::set_thread_threshold(ns)) {}
  ~ThreadThreshold() { loops::set_thread_threshold(before_); }
  ThreadThreshold(const ThreadThreshold&) = delete;

 private:
  double before_;
};

}  // namespace

TEST(Neighbours, NoneTouchesWhatAnotherWrites) {
  int count = 0;
  for (const test::Subject& s : test::subjects()) {
    SCOPED_TRACE(s.name);
    count += checked(code(s));
  }
  EXPECT_GT(count, 0);
  EXPECT_GE(checked(*flat::make_program(wave, wave_inputs(352, 352)).code()), 8);  // the boxes of a stencil
}

TEST(Neighbours, SameBitsWithAnyThreads) {
  const ThreadThreshold all_shared(0);
  const int before = threads();
  for (auto [rows, columns] : {std::pair{352, 352}, {30, 5000}, {5000, 30}, {100, 100}}) {
    const Arrays x = wave_inputs(rows, columns), want = wave(x), gradient = wave_gradient(x);
    for (int n : {1, 2, 4}) {
      set_threads(n);
      compiled::clear_compiled();
      EXPECT_TRUE(test::same_bits(flat::compile(wave, x)(x), want)) << rows << " x " << columns << ", " << n;
      EXPECT_TRUE(test::same_bits(flat::compile(wave_gradient, x)(x), gradient))
          << rows << " x " << columns << ", " << n;
    }
  }
  set_threads(before);
}

}  // namespace neighbours_test
}  // namespace anew::passes
