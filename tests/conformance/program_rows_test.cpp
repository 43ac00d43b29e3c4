// Rows D and X: dead-code elimination through loops, and Programs as text.
#include "conformance/conformance.h"
#include "ir/primitive.h"

namespace anew::test {
namespace {

using Flags = std::vector<bool>;
using In = std::span<const Array>;

Flags flags(std::string_view bits) {
  Flags out;
  for (char c : bits) out.push_back(c == '1');
  return out;
}
std::string text(const Flags& f) {
  std::string out;
  for (bool b : f) out += b ? '1' : '0';
  return out;
}
// Equations, those of nested programs included.
int equations(const ir::Program& p) {
  int n = 0;
  ir::for_each_program(p, [&](const ir::Program& q) { n += static_cast<int>(q.eqns.size()); });
  return n;
}
void expect_dce(const Program& p, std::string_view used, std::string_view inputs, int count) {
  ir::Dce d = ir::eliminate_dead_code(*p.code(), flags(used));
  EXPECT_NO_THROW(ir::verify(d.program));
  EXPECT_EQ(text(d.used_inputs), inputs) << "of outputs " << used << "\n" << ir::print(d.program);
  EXPECT_EQ(equations(d.program), count) << "of outputs " << used << "\n" << ir::print(d.program);
}
// Each choice of used outputs gives what the whole gives.
void expect_same_results(const Program& p, const Arrays& x) {
  Arrays all = evaluate(p, x);
  for (unsigned mask = 0; mask < 1u << all.size(); ++mask) {
    Flags used;
    Arrays want;
    for (std::size_t i = 0; i < all.size(); ++i) {
      used.push_back(mask >> i & 1);
      if (used.back()) want.push_back(all[i]);
    }
    ir::Dce d = ir::eliminate_dead_code(*p.code(), used);
    Arrays in;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (d.used_inputs[i]) in.push_back(x[i]);
    EXPECT_TRUE(same_bits(evaluate(d.program, in), want)) << text(used);
  }
}

Arrays carries_of(const flat::ScanBody& body, In init, std::int64_t length) {
  return flat::scan(body, Arrays(init.begin(), init.end()), {}, {.length = length}).carry;
}
flat::ScanResult neighbours(In c, In) { return {{c[0], c[0] + c[1], c[1] + c[2], c[2] + c[3]}, {}}; }
flat::ScanResult rotate(In c, In) { return {{c[3], c[0], c[1], c[2]}, {c[3]}}; }
flat::ScanResult product(In c, In x) { return {{c[0] * x[0]}, {c[0]}}; }
const Arrays four{Array(1.0), Array(2.0), Array(3.0), Array(4.0)};

TEST_F(Conformance, D1) {
  Program p = flat::make_program([](In x) { return carries_of(neighbours, x, 4); }, four);
  expect_dce(p, "1110", "1110", 3);
  expect_dce(p, "0010", "1110", 3);
  expect_dce(p, "1100", "1100", 2);
  expect_dce(p, "0001", "1111", 4);
}
TEST_F(Conformance, D3) {
  Program p = flat::make_program(
      [](In x) { return flat::scan(rotate, Arrays(x.begin(), x.end()), {}, {.length = 4}).ys; }, four);
  expect_dce(p, "1", "1111", 1);
  expect_dce(p, "0", "0000", 0);
}
TEST_F(Conformance, D4) {
  auto cumprod = [](In x) {
    flat::ScanResult r = flat::scan(product, {Array(1.0)}, {x[0]});
    return Arrays{r.carry[0], r.ys[0]};
  };
  Program p = flat::make_program(cumprod, Arrays{arange(1.0, 4.0)});
  expect_dce(p, "10", "1", 2);
  expect_dce(p, "01", "1", 2);
  expect_dce(p, "00", "0", 0);
  expect_same_results(p, {arange(1.0, 4.0)});
}
TEST_F(Conformance, D7) {
  expect_same_results(flat::make_program([](In x) { return carries_of(neighbours, x, 4); }, four), four);
  auto rotated = [](In x) {
    flat::ScanResult r = flat::scan(rotate, Arrays(x.begin(), x.end()), {}, {.length = 5});
    r.carry.push_back(r.ys[0]);
    return r.carry;
  };
  expect_same_results(flat::make_program(rotated, four), four);
  auto passed = [](In x) {
    auto body = [](In c, In e) { return flat::ScanResult{{c[0] + e[0], c[1]}, {e[0], sin(e[0]) * c[1], c[0]}}; };
    flat::ScanResult r = flat::scan(body, {x[0], x[1]}, {x[2]});
    r.carry.insert(r.carry.end(), r.ys.begin(), r.ys.end());
    return r.carry;
  };
  Arrays x{Array(1.0), Array(2.0), arange(3.0)};
  expect_same_results(flat::make_program(passed, x), x);
}

TEST_F(Conformance, X1) {
  Program p = make_program([](Array x) { return x + 2; })(1.0);
  EXPECT_TRUE(p.constants().empty());
  EXPECT_EQ(p.code()->constants, 0);
  EXPECT_EQ(p.inputs().size(), 1u);
}
TEST_F(Conformance, X2) {
  Program p = make_program([](Array x, Array y) { return dot(x, y); })(ShapeDtype{{2, 3}, f32}, ShapeDtype{{3}, f32});
  EXPECT_EQ(p.inputs()[0].str(), "f32[2,3]");
  EXPECT_EQ(p.outputs()[0].str(), "f32[2]");
}
TEST_F(Conformance, X3) {
  Array one = array({1.0});
  Program p = make_program([&](Array x) { return std::tuple(x, Array(1.0), one); })(ShapeDtype{{}, f32});
  EXPECT_EQ(p.str(), "{ lambda a:f32[1]; b:f32[]. let  in (b, 1.0:f32[], a) }");
}
TEST_F(Conformance, X7) {
  auto f = [](Array x) { return std::pair(sum(x), astype(x, i32)); };
  Program p = make_program(f)(zeros({2, 3}));
  ASSERT_EQ(p.outputs().size(), 2u);
  EXPECT_EQ(p.outputs()[0].str(), "f32[]");
  EXPECT_EQ(p.outputs()[1].str(), "i32[2,3]");
  auto [a, b] = eval_shape(f, zeros({2, 3}));
  EXPECT_EQ(a.type().str(), "f32[]");
  EXPECT_EQ(b.type().str(), "i32[2,3]");
}

}  // namespace
}  // namespace anew::test
