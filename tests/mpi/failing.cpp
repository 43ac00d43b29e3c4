// A rank that fails while the others wait for it: all of them end, with a message. usage: failing HOW
#include <anew/anew.h>
#include <anew/mpi.h>
#include <signal.h>

#include <cstdlib>
#include <string>

using namespace anew;

void fail(const std::string& how) {
  if (how == "throw") throw Error("[model] this rank cannot go on");
  if (how == "caught") {
    try {
      throw 1;
    } catch (int) {
      throw Error("[model] caught, and thrown again");
    }
  }
  if (how == "kill") ::raise(SIGKILL);
  if (how == "exit") std::exit(3);
}

void work(const std::string& how) {
  const mpi::Comm world = mpi::world();
  auto step = jit([&](Array x) { return psum(x, world) / world.size(); });
  Array x = ones({1000});
  for (int i = 0; i < 1000000; ++i) {
    x = step(x);
    if (i == 100 && world.rank() == world.size() - 1) {
      if (how == "return") return;  // and the session of this rank ends
      fail(how);
    }
  }
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "scope") {  // an exception leaves the scope of the session
    try {
      mpi::Session session(argc, argv);
      work("throw");
    } catch (const Error&) {
      return 1;
    }
    return 0;
  }
  mpi::Session session(argc, argv);
  work(how);
}
