// Names that users give to functions of their own and hand to transformations. A function of ours of such a name would
// make the user's an overloaded one, which no template can take: these names stay theirs.
#include <anew/anew.h>
#include <gtest/gtest.h>

using namespace anew;

#define OWN(name)                                            \
  static Array name(const Array& x) { return sin(x) * 2.0; } \
  static bool name##_is_mine() { return array_equal(grad(checkpoint(name))(0.5), 2 * cos(Array(0.5))); }
// clang-format off
OWN(block)
OWN(layer)
OWN(model) OWN(network) OWN(cell) OWN(head) OWN(body) OWN(encoder) OWN(decoder) OWN(embed) OWN(attend) OWN(predict)
OWN(forward) OWN(backward) OWN(apply) OWN(loss) OWN(cost) OWN(objective) OWN(misfit) OWN(error) OWN(residual)
OWN(residuals) OWN(energy) OWN(potential) OWN(force) OWN(hamiltonian) OWN(likelihood) OWN(log_density)
OWN(density) OWN(prior) OWN(step) OWN(advance) OWN(update) OWN(train) OWN(simulate) OWN(integrate)
OWN(rollout) OWN(rate) OWN(derivative) OWN(gradient) OWN(flux) OWN(laplacian) OWN(divergence)
OWN(stencil) OWN(solve) OWN(policy) OWN(reward) OWN(dynamics) OWN(control) OWN(sample) OWN(draw)
OWN(normalize) OWN(activation) OWN(dense) OWN(linear) OWN(conv)
    // clang-format on

    TEST(UserNames, StayTheirs) {
#define MINE(name) EXPECT_TRUE(name##_is_mine());
  MINE(block)
  MINE(layer)
  MINE(model)
  MINE(network) MINE(cell) MINE(head) MINE(body) MINE(encoder) MINE(decoder) MINE(embed) MINE(attend) MINE(predict)
      MINE(forward) MINE(backward) MINE(apply) MINE(loss) MINE(cost) MINE(objective) MINE(misfit) MINE(error)
          MINE(residual) MINE(residuals) MINE(energy) MINE(potential) MINE(force) MINE(hamiltonian) MINE(likelihood)
              MINE(log_density) MINE(density) MINE(prior) MINE(step) MINE(advance) MINE(update) MINE(train)
                  MINE(simulate) MINE(integrate) MINE(rollout) MINE(rate) MINE(derivative) MINE(gradient) MINE(flux)
                      MINE(laplacian) MINE(divergence) MINE(stencil) MINE(solve) MINE(policy) MINE(reward)
                          MINE(dynamics) MINE(control) MINE(sample) MINE(draw) MINE(normalize) MINE(activation)
                              MINE(dense) MINE(linear) MINE(conv)
}
