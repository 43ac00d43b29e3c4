// What a gradient keeps: three layers, plain, checkpointed, by policy and by name. Then the two programs side by side.
#include <anew/anew.h>

#include "chapters.h"
#include "show.h"

using namespace anew;

namespace {

// code: three layers
Array g(Array W, Array x) {
  Array y = dot(W, x);
  return sin(y);
}
Array f(Array W1, Array W2, Array W3, Array x) {
  x = g(W1, x);
  x = g(W2, x);
  x = g(W3, x);
  return x;
}
// end

// code: checkpointed layers
Array f2(Array W1, Array W2, Array W3, Array x) {
  x = checkpoint(g)(W1, x);
  x = checkpoint(g)(W2, x);
  x = checkpoint(g)(W3, x);
  return x;
}
// end

// code: by policy
auto f3 = checkpoint(f, checkpoint_policies::dots_with_no_batch_dims_saveable);
// end

// code: by name
Array named(Array W1, Array W2, Array W3, Array x) {
  x = checkpoint_name(g(W1, x), "a");
  x = checkpoint_name(g(W2, x), "b");
  x = checkpoint_name(g(W3, x), "c");
  return x;
}
auto f4 = checkpoint(named, checkpoint_policies::save_only_these_names("a"));
// end

Array wave(Shape shape, double from) { return reshape(0.7 * sin(from + arange(shape.size())), shape); }

const Array W1 = wave({5, 4}, 1), W2 = wave({6, 5}, 2), W3 = wave({7, 6}, 3), x = wave({4}, 4);

// All four gradients of the sum of fn.
template <class Fn>
auto gradients(Fn fn) {
  return grad<0, 1, 2, 3>([fn](Array W1, Array W2, Array W3, Array x) { return sum(fn(W1, W2, W3, x)); })(W1, W2, W3,
                                                                                                          x);
}

// Equations of the backward program that the plain one does not have.
template <class Fn>
std::string again(Fn fn) {
  const Program here = vjp(fn, W1, W2, W3, x).second.program(), plain = vjp(f, W1, W2, W3, x).second.program();
  std::string out;
  for (const char* op : {"dot_general", "sin", "cos"})
    if (int more = here.count(op) - plain.count(op)) out += std::to_string(more) + " " + op + "  ";
  return out.empty() ? "nothing" : out;
}

}  // namespace

void three_layers() {
  show::chapter("What a gradient keeps");
  show::say("A function of arrays is ordinary C++. Here are three layers, each a product and a sine:");
  show::code("three layers");
  show::say(R"(
      To differentiate f backwards, some values of the forward pass must be kept until the backward pass reads
      them: the residuals. saved_residuals(f, W1, W2, W3, x) lists them, with the line of code that made each:)");
  auto plain = saved_residuals(f, ANEW_ARGS(W1, W2, W3, x));
  show::residuals("f, plain", plain);
  show::say(R"(
      checkpoint(g) is g, but the values inside are recomputed from its inputs when the backward pass needs
      them:)");
  show::code("checkpointed layers");
  auto layers = saved_residuals(f2, ANEW_ARGS(W1, W2, W3, x));
  show::residuals("f2, every layer checkpointed: the cosines are gone", layers);
  show::say("Products are dear and sines are cheap. A policy says which values may be kept; f itself is not touched:");
  show::code("by policy");
  auto policy = saved_residuals(f3, ANEW_ARGS(W1, W2, W3, x));
  show::residuals("f3, products kept, the rest recomputed", policy);
  show::say("Or values get names, and a policy picks them by name:");
  show::code("by name");
  auto names = saved_residuals(f4, ANEW_ARGS(W1, W2, W3, x));
  show::residuals("f4, only the value called a", names);

  auto row = [](const char* name, const auto& kept, const std::string& repeated) {
    return show::Row{{name, std::to_string(kept.size()), show::in_bytes(show::bytes_of(kept)), repeated}};
  };
  show::say("Side by side:");
  show::table({{{"", "values kept", "bytes", "computed again in the backward pass"}},
               row("f   plain", plain, again(f)),
               row("f2  layers", layers, again(f2)),
               row("f3  policy", policy, again(f3)),
               row("f4  name", names, again(f4))});
  show::say(R"(
      That is what waits between the passes. When the backward pass comes to a checkpoint, what is inside comes
      back for a while; with the whole of f inside, all of it at once. So checkpoint parts, and see chapter 3
      for the warning.)");
  const auto want = gradients(f);
  auto same = [&](auto fn) { return show::same_bits(want, gradients(fn)); };
  show::tick(same(f2) && same(f3) && same(f4), "all four gradients of f2, f3 and f4 equal those of f, bit for bit");
}

void forward_and_backward() {
  show::chapter("Forward and backward, side by side");
  show::say(R"(
      Under a transformation a function becomes a Program, a list of typed equations that can be read. The
      forward program returns the result and the residuals; the backward program takes the residuals and a
      cotangent. For one layer, print_fwd_bwd(g, W1, x):)");
  auto text = [](auto fn) {
    return flat::fwd_bwd_text([fn](std::span<const Array> in) { return Arrays{fn(in[0], in[1])}; }, Arrays{W1, x});
  };
  show::block(text(g));
  show::say(R"(
      print_fwd_bwd(checkpoint(g), W1, x): no cosine is kept; the backward program holds one checkpoint
      equation, which computes what it needs again and then goes back:)");
  show::block(text(checkpoint(g)));
  const Program plain = vjp(g, W1, x).second.program(), again = vjp(checkpoint(g), W1, x).second.program();
  show::tick(plain.count("cos") == 0 && again.count("cos") == 1,
             "the cosine is in the forward program of g, and in the backward program of checkpoint(g)");
}
