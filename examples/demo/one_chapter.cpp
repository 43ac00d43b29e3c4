// One chapter of the demonstration as a program of its own: the build names it.
#include "chapters.h"

int main() { return run_alone(CHAPTER); }
