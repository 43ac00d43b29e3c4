// Names that users give to functions of their own and hand to transformations. A function of ours of such a name would
// make the user's an overloaded one, which no template can take: these names stay theirs.
#include <anew/anew.h>
#include <gtest/gtest.h>

using namespace anew;

// clang-format off
#define NAMES(of) \
  of(block) of(layer) of(model) of(network) of(cell) of(head) of(body) of(encoder) of(decoder) of(embed) \
  of(attend) of(predict) of(forward) of(backward) of(apply) of(loss) of(cost) of(objective) of(misfit) \
  of(error) of(residual) of(residuals) of(energy) of(potential) of(force) of(hamiltonian) of(likelihood) \
  of(log_density) of(density) of(prior) of(step) of(advance) of(update) of(train) of(simulate) of(integrate) \
  of(rollout) of(rate) of(derivative) of(gradient) of(flux) of(laplacian) of(divergence) of(stencil) \
  of(solve) of(policy) of(reward) of(dynamics) of(control) of(sample) of(draw) of(normalize) of(activation) \
  of(dense) of(linear) of(conv)
// clang-format on
#define OWN(name)                                            \
  static Array name(const Array& x) { return sin(x) * 2.0; } \
  static bool name##_is_mine() { return array_equal(grad(checkpoint(name))(0.5), 2 * cos(Array(0.5))); }
NAMES(OWN)

TEST(UserNames, StayTheirs) {
#define MINE(name) EXPECT_TRUE(name##_is_mine());
  NAMES(MINE)
}
