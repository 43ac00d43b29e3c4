// What SciPy and JAX gave (tools/solver_goldens), and the systems that both solve.
#pragma once
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/support.h"

namespace anew::test {

// Tests run in the root of the sources.
inline const nlohmann::json& solver_goldens() {
  static const nlohmann::json all = nlohmann::json::parse(std::ifstream("tests/data/solvers.json"));
  return all;
}
inline void expect_golden(const std::string& name, const Array& got, double tolerance) {
  const auto want = solver_goldens().at(name).get<std::vector<double>>();
  const auto have = astype(got, f64).to_vector<double>();
  ASSERT_EQ(have.size(), want.size()) << name;
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(have[i], want[i], tolerance * (1 + std::abs(want[i]))) << name << " " << i;
}
inline void expect_close(const Array& a, const Array& b, double tolerance) {
  EXPECT_TRUE(a.shape() == b.shape() && allclose(a, b, tolerance, tolerance)) << a << "\n" << b;
}

inline Array general_matrix(DType dtype = f64) {
  const Array i = arange(6, f64);
  return astype(sin(3.0 * expand_dims(i, 1) + 1.7 * i) + 4.0 * eye(6, f64), dtype);
}
inline Array symmetric_matrix(DType dtype = f64) {
  const Array g = general_matrix();
  return astype(matmul(g, transpose(g)) / 4 + eye(6, f64), dtype);
}
inline Array right_side(DType dtype = f64) { return astype(cos(arange(6, f64) * 1.3), dtype); }

}  // namespace anew::test
