// The demonstration: gradient checkpointing, told to a newcomer. One chapter per file; all of them are ordinary
// programs against <anew/anew.h>. Every claim about equal gradients is checked while it is told: the exit code says
// whether all of them held.
#include "chapters.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>

#include "show.h"

int main(int argc, char** argv) try {
  constexpr void (*chapters[])() = {three_layers, forward_and_backward, save_policies, recursive_checkpointing,
                                    deep_stack,   two_spirals};
  constexpr int count = std::size(chapters);
  const std::string only = argc > 1 ? argv[1] : "";
  if (argc > 2 || (!only.empty() && (only.size() != 1 || only[0] < '1' || only[0] > '0' + count))) {
    std::fprintf(stderr, "usage: demo [chapter]; chapters are 1 to %d\n", count);
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  show::title("anew", "differentiable arrays with gradient checkpointing, in C++");
  show::keep_warnings();
  for (int i = 0; i < count; ++i)
    if (only.empty() || only[0] == '1' + i) show::number(i + 1), chapters[i]();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("\n%d of %d checks held, in %.1f s.\n", show::checks() - show::failures(), show::checks(),
              seconds.count());
  std::printf("One chapter again: ./dev demo 4. To read on: README.md, docs/checkpointing.md, and examples/demo,\n");
  std::printf("the code of this story.\n\n");
  return show::failures() ? 1 : 0;
} catch (const std::exception& e) {
  std::cout << std::flush;
  std::cerr << "the demonstration stopped: " << e.what() << '\n';
  return 1;
}
