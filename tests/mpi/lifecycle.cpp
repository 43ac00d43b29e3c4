// Before, during and after the one session of a process.
#include <anew/anew.h>
#include <anew/mpi.h>

#include <cstdio>
#include <optional>
#include <string>

namespace {

int wrong = 0;
template <class F>
void expect_error(F f, const std::string& want) {
  try {
    f();
    std::printf("no error: %s\n", want.c_str());
  } catch (const anew::Error& e) {
    if (std::string(e.what()).find(want) == 0) return;
    std::printf("%s\ninstead of %s\n", e.what(), want.c_str());
  }
  ++wrong;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace anew;
  expect_error([] { (void)mpi::world(); }, "[mpi::world] there is no session");
  std::optional<mpi::Comm> world;
  auto sum = [&](Array x) { return psum(x, *world); };
  auto compiled = jit(sum);
  {
    mpi::Session session(argc, argv);
    world = mpi::world();
    if (compiled(array(1.0)).item() != world->size()) ++wrong;
  }
  expect_error([] { (void)mpi::world(); }, "[mpi::world] the session has ended");
  expect_error([&] { (void)sum(array(1.0)); }, "[psum] the session has ended");
  expect_error([&] { (void)compiled(array(1.0)); }, "[psum] the session has ended");
  expect_error([&] { (void)world->rank(); }, "[mpi::Comm::rank] the session has ended");
  expect_error([&] { mpi::Session again; }, "[mpi::Session] a process has one session, and that has ended");
  return wrong;
}
