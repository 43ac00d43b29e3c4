// Equal bits: the gradient under every policy, whole, nested and by layers, through scan and jit, is
// that of the plain program bit for bit, with one, two and four threads.
#include "runtime/pool.h"
#include "support/support.h"

namespace anew::test {
namespace {

using namespace checkpoint_policies;

// A program that wraps each of its parts by `part` (identity, checkpoint, jit, ...), and where to differentiate it.
using Part = std::function<FlatFunction(const FlatFunction&)>;
struct Subject {
  std::string name;
  std::function<FlatFunction(const Part& part)> make;
  Arrays inputs;
};

FlatFunction layer(const Part& part) {
  return part([](std::span<const Array> in) { return Arrays{checkpoint_name(sin(dot(in[0], in[1])), "a")}; });
}
FlatFunction dense(const Part& part) {
  return part([](std::span<const Array> in) { return Arrays{nn::relu(matmul(in[0], in[1]))}; });
}
Array call(const FlatFunction& f, std::initializer_list<Array> in) {
  return f(std::span<const Array>(in.begin(), in.size()))[0];
}

std::vector<Subject> subjects() {
  std::vector<Subject> out;
  out.push_back({"tutorial f",
                 [](const Part& part) -> FlatFunction {
                   FlatFunction g = layer(part);
                   return [g](std::span<const Array> in) {
                     return Arrays{sum(call(g, {in[2], call(g, {in[1], call(g, {in[0], in[3]})})}))};
                   };
                 },
                 {fill({5, 4}, 1), fill({6, 5}, 2), fill({7, 6}, 3), fill({4}, 4)}});
  out.push_back({"tutorial loss",
                 [](const Part& part) -> FlatFunction {
                   FlatFunction g = layer(part);
                   return [g](std::span<const Array> in) {
                     return Arrays{sum(square(dot(in[2], call(g, {in[1], call(g, {in[0], in[3]})})) - in[4]))};
                   };
                 },
                 {fill({4, 4}, 1), fill({4, 4}, 2), fill({4, 4}, 3), fill({4}, 4), fill({4}, 5)}});
  out.push_back({"chain of sines",
                 [](const Part& part) -> FlatFunction {
                   FlatFunction two = part([](std::span<const Array> in) { return Arrays{sin(sin(in[0]))}; });
                   return [two](std::span<const Array> in) {
                     return Arrays{sum(call(two, {call(two, {call(two, {call(two, {in[0]})})})}))};
                   };
                 },
                 {fill({9}, 3)}});
  out.push_back({"seed 1, three layers",
                 [](const Part& part) -> FlatFunction {
                   FlatFunction f = dense(part);
                   return [f](std::span<const Array> in) {
                     return Arrays{sum(square(matmul(call(f, {call(f, {in[3], in[0]}), in[1]}), in[2])))};
                   };
                 },
                 {fill({4, 4}, 1) + eye(4), fill({4, 4}, 2) + eye(4), fill({4, 4}, 3) + eye(4), fill({2, 4}, 5) + 1}});
  out.push_back({"seed 2, pipeline",
                 [](const Part& part) -> FlatFunction {
                   FlatFunction f = part(
                       [](std::span<const Array> in) { return Arrays{matmul(nn::relu(matmul(in[2], in[0])), in[1])}; });
                   return [f](std::span<const Array> in) { return Arrays{sum(square(f(in)[0]))}; };
                 },
                 {fill({4, 4}, 1) + eye(4), fill({4, 4}, 2) + eye(4), fill({2, 4}, 5) + 1}});
  out.push_back({"seed 0, stack by scan",
                 [](const Part& part) -> FlatFunction {
                   FlatFunction f = dense(part);
                   return [f](std::span<const Array> in) {
                     auto step = [&](std::span<const Array> c, std::span<const Array> w) {
                       return flat::ScanResult{{call(f, {c[0], w[0]})}, {}};
                     };
                     return Arrays{sum(square(flat::scan(step, {in[1]}, {in[0]}).carry[0]))};
                   };
                 },
                 {fill({8, 3, 3}, 1) + eye(3), fill({2, 3}, 4) + 1}});
  out.push_back({"tutorial, scan over layers",
                 [](const Part& part) -> FlatFunction {
                   FlatFunction f =
                       part([](std::span<const Array> in) { return Arrays{maximum(dot(in[0], in[1]) + in[2], 0.)}; });
                   return [f](std::span<const Array> in) {
                     auto step = [&](std::span<const Array> c, std::span<const Array> x) {
                       return flat::ScanResult{{call(f, {c[0], x[0], x[1]})}, {c[0]}};
                     };
                     flat::ScanResult r = flat::scan(step, {in[2]}, {in[0], in[1]}, {.reverse = true});
                     return Arrays{sum(r.carry[0]) + sum(r.ys[0] * r.ys[0])};
                   };
                 },
                 {fill({4, 3, 3}, 1), fill({4, 3}, 2), fill({3}, 3)}});
  return out;
}

std::vector<Policy> policies() {
  return {everything_saveable,
          nothing_saveable,
          dots_saveable,
          dots_with_no_batch_dims_saveable,
          save_only_these_names("a"),
          save_any_names_but_these("a"),
          save_anything_except_these_names("a"),
          any_of(dots_saveable, save_only_these_names("a")),
          all_of(dots_saveable, not_(save_only_these_names("a"))),
          not_(dots_saveable),
          Policy("save cos", [](const PolicyQuery& q) { return q.primitive == "cos"; })};
}

Arrays gradient(const FlatFunction& f, const Arrays& x) { return flat::grad(f, x); }
FlatFunction checkpointed(const FlatFunction& f, const Policy& p) {
  return [f, p](std::span<const Array> in) { return flat::checkpoint(f, in, p); };
}
FlatFunction jitted(const FlatFunction& f) {
  return [f, cache = flat::JitCache()](std::span<const Array> in) { return flat::jit(f, in, cache); };
}

TEST(Bits, OfTheSeedsProgramsUnderEveryPolicy) {
  Warnings quiet;
  const Part plain = [](const FlatFunction& f) { return f; };
  int compared = 0;
  for (const Subject& s : subjects()) {
    set_threads(1);
    const Arrays want = gradient(s.make(plain), s.inputs);
    for (int n : {1, 2, 4}) {
      set_threads(n);
      auto expect = [&](const FlatFunction& f, const std::string& how) {
        EXPECT_TRUE(same_bits(gradient(f, s.inputs), want)) << s.name << ", " << how << ", " << n << " threads";
        ++compared;
      };
      expect(s.make(plain), "plain");
      expect(s.make([](const FlatFunction& f) { return jitted(f); }), "jit of each part");
      for (const Policy& p : policies()) {
        const Part part = [&](const FlatFunction& f) { return checkpointed(f, p); };
        expect(checkpointed(s.make(plain), p), "whole, " + p.str());
        expect(s.make(part), "each part, " + p.str());
        expect(checkpointed(s.make(part), dots_saveable), "nested in dots_saveable, " + p.str());
        expect(jitted(checkpointed(s.make(part), p)), "nested in itself, jitted, " + p.str());
      }
    }
  }
  set_threads(2);
  EXPECT_EQ(compared, 7 * 3 * (2 + 4 * 11));
}

}  // namespace
}  // namespace anew::test
