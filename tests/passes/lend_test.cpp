// Memory of placed programs, played through: every byte remembers which storage wrote it last, and every value that is
// read must find all of its bytes written by its own. Finds temporaries that overlap in the arena, or in the memory of
// an output that lends it to them.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <map>

#include "passes/lowered.h"
#include "passes/pipeline.h"
#include "passes/subjects.h"

namespace anew::passes {
namespace {

class Memory {
 public:
  // `storages`: of each value before it was placed.
  Memory(const Body& body, Table<ValueId, StorageId> storages) : b_(body), storages_(std::move(storages)) {}

  // How many values were read from memory that was not theirs.
  int wrong() {
    int wrong = 0;
    for (std::size_t i = 0; i < b_.steps.size(); ++i) {
      const Step& s = b_.steps[i];
      for (ValueId v : s.in) wrong += !intact(v);
      stamp(arena, b_.scratch_offsets[i], s.scratch, nobody);
      for (ValueId v : s.out) {
        auto [space, offset] = place(v);
        if (const Storage& to = b_.storage_of(v); to.kind != Storage::Kind::input)
          stamp(space, offset, value(v).type.bytes(), storages_[v]);
      }
      for (ValueId v : s.out) wrong += !intact(v);  // outputs of one step are disjoint
    }
    for (ValueId v : b_.outputs) wrong += !intact(v);
    // Memory of an output exists only if it is one still: a carry that is updated in place leaves a mere number behind.
    for (const Value& v : b_.values) {
      if (!v.storage || b_.storages[v.storage].kind != Storage::Kind::output) continue;
      wrong +=
          std::none_of(b_.outputs.begin(), b_.outputs.end(), [&](ValueId o) { return value(o).storage == v.storage; });
    }
    return wrong;
  }

 private:
  static constexpr StorageId arena{-1}, nobody{-2};
  const Value& value(ValueId v) const { return b_.values[v]; }
  std::pair<StorageId, std::size_t> place(ValueId v) const {
    const StorageId s = value(v).storage;
    const std::size_t offset = value(v).offset;
    if (b_.storages[s].kind == Storage::Kind::temporary) return {arena, b_.offsets[s] + offset};
    return {s, offset};
  }
  void stamp(StorageId space, std::size_t offset, std::size_t bytes, StorageId by) {
    std::vector<StorageId>& memory = spaces_[space];
    if (memory.size() < offset + bytes) memory.resize(offset + bytes, nobody);
    std::fill_n(memory.begin() + static_cast<std::ptrdiff_t>(offset), bytes, by);
  }
  bool intact(ValueId v) {
    const Storage::Kind kind = b_.storage_of(v).kind;
    if (kind == Storage::Kind::input || kind == Storage::Kind::literal || value(v).type.shape.size() == 0) return true;
    auto [space, offset] = place(v);
    std::size_t reach = size_of(value(v).type.dtype);
    for (int d = 0; d < value(v).type.shape.ndim(); ++d) {
      const std::int64_t stride = value(v).strides[d];
      if (stride < 0) return true;  // read backwards: the front is not known here
      reach += static_cast<std::size_t>((value(v).type.shape[d] - 1) * stride) * size_of(value(v).type.dtype);
    }
    const std::vector<StorageId>& memory = spaces_[space];
    if (memory.size() < offset + reach) return false;
    const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(offset);
    return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(reach),
                       [&](StorageId by) { return by == storages_[v]; });
  }

  const Body& b_;
  Table<ValueId, StorageId> storages_;
  std::map<StorageId, std::vector<StorageId>> spaces_;  // by storage of an output; the arena
};

using Before = std::map<const Body*, Table<ValueId, StorageId>>;
void remember(const Body& body, Before& before) {
  for (const Value& v : body.values) before[&body].add(v.storage);
  for (const Step& s : body.steps)
    for (const auto& nested : s.bodies) remember(*nested, before);
}
int wrong_in(const Body& body, const Before& before) {
  int wrong = Memory(body, before.at(&body)).wrong();
  for (const Step& s : body.steps)
    for (const auto& nested : s.bodies) wrong += wrong_in(*nested, before);
  return wrong;
}
int lent_in(const Body& body, const Before& before) {
  int lent = 0;
  for (ValueId v : body.values.ids()) lent += body.values[v].storage != before.at(&body)[v];
  for (const Step& s : body.steps)
    for (const auto& nested : s.bodies) lent += lent_in(*nested, before);
  return lent;
}

struct Placed {
  std::shared_ptr<Body> body;
  Before before;
};
Placed placed(const ir::Program& program) {
  const ir::Program prepared = prepare(program);
  std::vector<Strides> inputs;
  for (const Type& t : prepared.input_types()) inputs.push_back(row_major(t.shape));
  Placed out{lower(prepared, inputs), {}};
  fuse(*out.body);
  order(*out.body);
  schedule(*out.body);
  alias(*out.body);
  remember(*out.body, out.before);
  plan_memory(*out.body);
  verify(*out.body);
  return out;
}

TEST(Lend, NobodyReadsWhatAnotherWrote) {
  for (const test::Subject& s : test::subjects()) {
    SCOPED_TRACE(s.name);
    const Placed p = placed(code(s));
    EXPECT_EQ(wrong_in(*p.body, p.before), 0);
  }
}

// The gradient of a stack of layers, unrolled and as a scan, small enough to play through.
struct Layers {
  std::vector<Array> w;
};
Array unrolled(Layers p, Array x) {
  for (const Array& w : p.w) x = tanh(matmul(x, w));
  return sum(x);
}
Array scanned(Array w, Array x) {
  return sum(scan([](Array h, Array w) { return std::pair(tanh(matmul(h, w)), none); }, x, w).first);
}

TEST(Lend, ResidualsLieInTheGradients) {
  Layers p;
  for (int i = 0; i < 6; ++i) p.w.push_back(sin(arange(32.0 * 32) + i).reshape({32, 32}));
  const Array x = cos(arange(4.0 * 32)).reshape({4, 32});
  const Program program = make_program(grad(unrolled))(p, x);
  const Placed placed_program = placed(*program.code());
  EXPECT_EQ(wrong_in(*placed_program.body, placed_program.before), 0);
  EXPECT_GT(lent_in(*placed_program.body, placed_program.before), 0);
  // Five activations of 512 bytes live until the way back; a gradient has 4096.
  EXPECT_LE(placed_program.body->bytes, 2 * x.nbytes());
  const Layers got = jit(grad(unrolled))(p, x), want = grad(unrolled)(p, x);
  for (std::size_t i = 0; i < p.w.size(); ++i) EXPECT_TRUE(array_equal(got.w[i], want.w[i])) << i;
}

TEST(Lend, RowsOfAScanLendToo) {
  const Array w = sin(arange(6.0 * 32 * 32)).reshape({6, 32, 32}), x = cos(arange(4.0 * 32)).reshape({4, 32});
  const Program program = make_program(grad(scanned))(w, x);
  const Placed placed_program = placed(*program.code());
  EXPECT_EQ(wrong_in(*placed_program.body, placed_program.before), 0);
  EXPECT_TRUE(array_equal(jit(grad(scanned))(w, x), grad(scanned)(w, x)));
}

// Carries that are updated in place have no memory to lend.
TEST(Lend, NotWhatIsUpdatedInPlace) {
  auto f = grad([](Array c, Array u) {
    auto step = [c](std::pair<Array, Array> s, none_t) {
      return std::pair(std::pair(2 * s.first - s.second + square(0.5 * c) * sin(s.first), s.first), none);
    };
    auto outer = checkpoint([step](std::pair<Array, Array> s, none_t) {
      return std::pair(scan(step, s, none, {.length = 3}).first, none);
    });
    return sum(scan(outer, std::pair(u, u), none, {.length = 2}).first.first);
  });
  const Array x = sin(arange(512.0));
  const Program program = make_program(f)(x, x);
  const Placed placed_program = placed(*program.code());
  EXPECT_EQ(wrong_in(*placed_program.body, placed_program.before), 0);
  EXPECT_TRUE(array_equal(jit(f)(x, x), f(x, x)));
}

}  // namespace
}  // namespace anew::passes
