// Methods of integration: coefficients from the literature (Hairer, Norsett and Wanner, Solving Ordinary Differential
// Equations I and II; Bogacki and Shampine 1989), and what they compute.
#include "solvers/ode_step.h"

#include <anew/linalg.h>
#include <fmt/format.h>

#include <array>

namespace anew::solvers {
namespace {

template <std::size_t N>
Array combined(const std::array<double, N>& weights, const Arrays& k) {
  Array sum;
  for (std::size_t i = 0; i < N; ++i) {
    if (weights[i] == 0) continue;
    Array term = weights[i] * k[i];
    sum = sum.value() ? sum + term : term;
  }
  return sum;
}

// r0 to r3 of a cubic with these values and slopes (times h) at both ends.
Arrays cubic(const Array& y, const Array& y_end, const Array& slope, const Array& slope_end) {
  Array change = y_end - y, bend = slope - change;
  return {y, change, bend, change - slope_end - bend};
}

OdeStep dopri5(const Rhs& f, const Array& y, const Array& fy, const Array& t, const Array& h, const Location&) {
  const Array hy = astype(h, type_of(y).dtype);
  Arrays k{fy};
  auto stage = [&](double c, const auto& a) { k.push_back(f(y + hy * combined(a, k), t + c * h)); };
  using std::array;
  stage(1. / 5, array{1. / 5});
  stage(3. / 10, array{3. / 40, 9. / 40});
  stage(4. / 5, array{44. / 45, -56. / 15, 32. / 9});
  stage(8. / 9, array{19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729});
  stage(1, array{9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656});
  const Array end = y + hy * combined(array{35. / 384, 0., 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}, k);
  k.push_back(f(end, t + h));
  const Array error =
      hy * combined(array{71. / 57600, 0., -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40}, k);
  Arrays inside = cubic(y, end, hy * k[0], hy * k[6]);
  inside.push_back(
      hy * combined(array{-12715105075. / 11282082432, 0., 87487479700. / 32700410799, -10690763975. / 1880347072,
                          701980252875. / 199316789632, -1453857185. / 822651844, 69997945. / 29380423},
                    k));
  return {end, k[6], error, stack(inside)};
}

OdeStep bosh3(const Rhs& f, const Array& y, const Array& fy, const Array& t, const Array& h, const Location&) {
  const Array hy = astype(h, type_of(y).dtype);
  Arrays k{fy};
  using std::array;
  k.push_back(f(y + hy * (k[0] * 0.5), t + 0.5 * h));
  k.push_back(f(y + hy * (k[1] * 0.75), t + 0.75 * h));
  const Array end = y + hy * combined(array{2. / 9, 1. / 3, 4. / 9}, k);
  k.push_back(f(end, t + h));
  Arrays inside = cubic(y, end, hy * k[0], hy * k[3]);
  inside.push_back(zeros_like(y));
  return {end, k[3], hy * combined(array{-5. / 72, 1. / 12, 1. / 9, -1. / 8}, k), stack(inside)};
}

// RODAS: six stages (1 / (gamma h) - J) u = ..., with one factorization; L-stable.
OdeStep rodas4(const Rhs& f, const Array& y, const Array& fy, const Array& t, const Array& h, const Location& at) {
  const Type type = type_of(y);
  const Array hy = astype(h, type.dtype);
  constexpr double gamma = 0.25;
  FlatFunction flat = [&](std::span<const Array> in) { return Arrays{f(in[0], in[1])}; };
  const flat::Linear slope = flat::linearize(flat, Arrays{y, t}, {.at = at}).second;
  FlatFunction along_y = [&](std::span<const Array> v) { return slope(Arrays{v[0], zeros_like(t)}, at); };
  const Array jacobian = transpose(flat::vmap(along_y, Arrays{eye(type.shape[0], type.dtype)}, {.in = {0}}, at)[0]);
  const Array f_t = slope(Arrays{zeros_like(y), ones_like(t)}, at)[0];
  const linalg::LuFactors factors = linalg::lu_factor(eye(type.shape[0], type.dtype) / (gamma * hy) - jacobian);
  Arrays u;
  auto stage = [&](const Array& slope_here, const auto& c, double d) {
    Array right = slope_here;
    if (!u.empty()) right = right + combined(c, u) / hy;
    if (d != 0) right = right + d * hy * f_t;
    u.push_back(linalg::lu_solve(factors, right));
  };
  using std::array;
  stage(fy, array{0.}, 0.25);
  stage(f(y + 1.544 * u[0], t + 0.386 * h), array{-5.6688}, -0.1043);
  stage(f(y + combined(array{0.9466785280815826, 0.2557011698983284}, u), t + 0.21 * h),
        array{-2.430093356833875, -0.2063599157091915}, 0.1035);
  stage(f(y + combined(array{3.314825187068521, 2.896124015972201, 0.9986419139977817}, u), t + 0.63 * h),
        array{-0.1073529058151375, -9.594562251023355, -20.47028614809616}, -0.03620000000000023);
  Array last = y + combined(array{1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950}, u);
  stage(f(last, t + h), array{7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160}, 0);
  last = last + u[4];
  stage(f(last, t + h),
        array{8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054}, 0);
  const Array end = last + u[5];
  const Array third = combined(
      array{10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662}, u);
  const Array fourth = combined(
      array{-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872}, u);
  return {end, f(end, t + h), u[5], stack({y, end - y, third, fourth, zeros_like(y)})};
}

}  // namespace

OdeMethod ode_method(const std::string& name, const Location& at) {
  if (name == "dopri5") return {dopri5, 5};
  if (name == "bosh3") return {bosh3, 3};
  if (name == "rodas4") return {rodas4, 4};
  throw Error(fmt::format("[odeint] there is no .method \"{}\"", name), at,
              "it is \"dopri5\", \"bosh3\" or, for stiff systems, \"rodas4\"");
}

Array inside_at(const Array& inside, const Array& s) {
  auto row = [&](int i) { return inside[{i}]; };
  const Array rest = 1 - s;
  return row(0) + s * (row(1) + rest * (row(2) + s * (row(3) + rest * row(4))));
}

}  // namespace anew::solvers
