// Rows of random numbers: the cipher threefry2x32, and fma, by which draws are scaled.
#include "ops/random.h"

#include <anew/ops.h>
#include <fmt/format.h>

#include "ops/elementwise.h"
#include "ops/promote.h"
#include "ops/rows.h"

namespace anew {
namespace {

struct Words {
  Expr a, b;
};

Expr rotate_left(Expr x, int by) { return shl(x, like(x, by)) | shr_logical(x, like(x, 32 - by)); }

// Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
Words threefry(Expr key_a, Expr key_b, Expr a, Expr b) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Expr keys[3] = {key_a, key_b, key_a ^ key_b ^ like(key_a, 0x1BD11BDA)};
  a = a + keys[0];
  b = b + keys[1];
  for (int group = 0; group < 5; ++group) {
    for (int r : rotations[group % 2]) {
      a = a + b;
      b = rotate_left(b, r) ^ a;
    }
    a = a + keys[(group + 1) % 3];
    b = b + keys[(group + 2) % 3] + like(b, group + 1);
  }
  return {a, b};
}

Primitive threefry_row() {
  Primitive p = elementwise_row("threefry2x32", 4, Accepts::integers, false, 120, {});
  p.infer = [one = p.infer](const ir::InferArgs& a) {
    Types out = one(a);
    if (out[0].dtype != u32) fail("threefry2x32", a.at, fmt::format("needs u32, got {}", a.in[0].str()));
    out.push_back(out[0]);
    return out;
  };
  p.lower = [](const ir::Params&, std::span<const Type> in, std::span<const Type>) {
    int second = 0;
    loops::Kernel k = loops::elementwise(in, [&](std::span<const Expr> x) {
      Words w = threefry(x[0], x[1], x[2], x[3]);
      second = w.b.id();
      return w.a;
    });
    loops::Store store = k.stores[0];  // the second output lies as the first does
    store.node = second;
    ++store.to.operand;
    k.stores.push_back(store);
    k.operands.push_back(k.operands.back());
    return ir::Lowered{{std::move(k)}, {}};
  };
  p.jvp = [](const ir::JvpArgs&) { return Arrays{Array(), Array()}; };
  p.samples = [] {
    std::vector<ir::Sample> out;
    ir::SampleInput scalar{{{}, u32}, 0, 1e9}, vector{{{5}, u32}, 0, 1e9};
    for (const Shape& s : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 2}})
      out.push_back({ir::no_params(), std::vector<ir::SampleInput>(4, {{s, u32}, 0, 1e9})});
    out.push_back({ir::no_params(), {scalar, scalar, scalar, vector}});
    return out;
  };
  return p;
}

// x * y + z with one rounding: what uniform numbers are scaled by.
Primitive fma_row() {
  Primitive p = elementwise_row("fma", 3, Accepts::floats, false, 2,
                                [](std::span<const Expr> x) { return loops::fma(x[0], x[1], x[2]); });
  p.jvp = [](const ir::JvpArgs& a) {
    Array t;
    if (a.t[0].value()) t = fitted(a.t[0] * a.x[1], a.y[0]);
    if (a.t[1].value()) t = add_tangents(t, fitted(a.t[1] * a.x[0], a.y[0]));
    if (a.t[2].value()) t = add_tangents(t, fitted(a.t[2], a.y[0]));
    return Arrays{t};
  };
  p.samples = [] {
    std::vector<ir::Sample> out;
    for (ir::Sample& s : binary_samples({}, {})) {
      s.inputs.push_back(s.inputs[0]);
      out.push_back(s);
    }
    return out;
  };
  return p;
}

struct RandomRows : Family {
  const Primitive& fma = row(fma_row());
  const Primitive& threefry2x32 = row(threefry_row());
};
}  // namespace

std::span<const ir::Primitive* const> random_rows() { return rows<RandomRows>().list(); }

Array scaled(const Array& x, const Array& y, const Array& z, const Location& at) {
  return anew::bind(rows<RandomRows>().fma, ir::no_params(), operands("fma", {x, y, z}, at), at)[0];
}

std::pair<Array, Array> threefry(const Array& key, const Array& hi, const Array& lo) {
  Location at = Location::current();
  Arrays words = anew::bind(rows<RandomRows>().threefry2x32, ir::no_params(), {key[0], key[1], hi, lo}, at);
  return {words[0], words[1]};
}

}  // namespace anew
