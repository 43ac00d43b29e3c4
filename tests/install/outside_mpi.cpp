// A program of several processes, outside of the repository.
#include <anew/anew.h>
#include <anew/mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  anew::mpi::Session session(argc, argv);
  const anew::mpi::Comm world = anew::mpi::world();
  const double sum = anew::psum(anew::array({1.0, 2.0}), world).to_vector<double>()[1] + 1;
  std::printf("rank %d of %d has the sum %g\n", world.rank(), world.size(), sum);
}
