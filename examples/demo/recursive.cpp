// Checkpoints inside checkpoints: the memory of a chain of n functions grows like log2(n).
#include <anew/anew.h>

#include <functional>
#include <span>

#include "chapters.h"
#include "show.h"

using namespace anew;

namespace {

// code: recursive checkpointing
using Fn = std::function<Array(Array)>;

Fn chain(std::vector<Fn> funs) {
  return [funs](Array x) {
    for (const Fn& fun : funs) x = fun(x);
    return x;
  };
}
Fn recursive_checkpoint(std::span<const Fn> funs) {
  if (funs.size() == 1) return funs[0];
  if (funs.size() == 2) return [f1 = funs[0], f2 = funs[1]](Array x) { return f1(f2(x)); };
  const std::size_t half = funs.size() / 2;
  Fn f1 = recursive_checkpoint(funs.first(half)), f2 = recursive_checkpoint(funs.subspan(half));
  return [=](Array x) { return f1(checkpoint(f2)(x)); };
}
// end

}  // namespace

void recursive_checkpointing() {
  show::chapter("Checkpoints inside checkpoints");
  show::say("A chain of n functions keeps n values. Halve it again and again, and checkpoint one half each time:");
  show::code("recursive checkpointing");
  std::vector<show::Row> rows{{{"", "scalars kept", "sines again"}}};
  bool same = true;
  for (std::size_t n : {8, 16, 32}) {
    const std::vector<Fn> sines(n, ANEW_FN(sin));
    auto add = [&](const std::string& name, const Fn& f) {
      const std::size_t kept = saved_residuals(f, 3.0).size();
      const int again = vjp(f, 3.0).second.program().count("sin");
      rows.push_back({{name, std::to_string(kept), std::to_string(again)}, static_cast<double>(kept)});
    };
    const Fn plain = chain(sines), tree = recursive_checkpoint(sines);
    add(std::to_string(n) + " sines, plain", plain);
    add(std::to_string(n) + " sines, recursive", tree);
    same = same && show::same_bits(grad(plain)(3.0), grad(tree)(3.0));
  }
  show::table(rows);
  show::say("Twice the depth costs one value more; what is computed again grows like n log n.");
  show::tick(same, "the gradient of the chain is the same with and without, bit for bit");
}
