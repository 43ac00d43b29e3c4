// GoogleTest on all ranks at once: each runs the same cases in the same order, and fails if one of its own does.
#include <anew/mpi.h>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  anew::mpi::Session session(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
