// A rank that fails while the others wait for it: all of them end, with a message. usage: failing HOW [meanwhile]; with
// that it fails in a backward pass, while sums of gradients are under way.
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

// The last rank fails in its tenth backward pass, behind the first layer.
void work_meanwhile(const std::string& how) {
  const mpi::Comm world = mpi::world();
  int passes = 0;
  auto look = [&](Array ct) {
    if (++passes == 10 && world.rank() == world.size() - 1) fail(how);
    return ct;
  };
  auto watched = custom_vjp(
      [](Array x) { return x; }, [](Array x) { return std::pair(x, none); },
      [&](none_t, Array ct) { return std::tuple(pure_callback(look, ShapeDtype{ct.shape(), ct.dtype()}, ct)); });
  auto loss = [&](std::vector<Array> w, Array x) {
    x = watched(tanh(matmul(x, w[0])));
    for (std::size_t i = 1; i < w.size(); ++i) x = tanh(matmul(x, w[i]));
    return mean(square(x));
  };
  const std::vector<Array> w(6, 0.1 * ones({128, 128}));
  auto step = jit(mpi::data_parallel(grad(loss), world, {.bucket_bytes = 1}));
  for (int i = 0; i < 1000000; ++i) (void)step(w, ones({4, 128}));
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
  if (argc > 2) work_meanwhile(how);
  else work(how);
}
