// One chapter of the demonstration as a program of its own: the build names it.
#include <exception>
#include <iostream>

#include "chapters.h"
#include "show.h"

int main() try {
  show::keep_warnings();
  CHAPTER();
  return show::failures() ? 1 : 0;
} catch (const std::exception& e) {
  std::cout << std::flush;
  std::cerr << "the chapter stopped: " << e.what() << '\n';
  return 1;
}
