// The demonstration: gradient checkpointing, told to a newcomer. One chapter per file; all of them are ordinary
// programs against <anew/anew.h>. Every claim about equal gradients is checked while it is told: the exit code says
// whether all of them held.
#include "chapters.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>

#include "show.h"

int main() try {
  const auto start = std::chrono::steady_clock::now();
  show::title("anew", "differentiable arrays with gradient checkpointing, in C++");
  show::keep_warnings();
  three_layers();
  forward_and_backward();
  save_policies();
  recursive_checkpointing();
  deep_stack();
  two_spirals();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("\n%s, in %.1f s.\n", show::failures() ? "Some checks FAILED" : "Every check held", seconds.count());
  std::printf("Where to go on: README.md, docs/checkpointing.md; the code of this story is examples/demo.\n\n");
  return show::failures() ? 1 : 0;
} catch (const std::exception& e) {
  std::cout << std::flush;
  std::cerr << "the demonstration stopped: " << e.what() << '\n';
  return 1;
}
