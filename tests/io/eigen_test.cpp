// Memory shared with Eigen, as docs/coming_from_mfem_eigen.md shows it. Skipped where Eigen is not installed.
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#if __has_include(<eigen3/Eigen/Dense>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <eigen3/Eigen/Dense>
#pragma GCC diagnostic pop

namespace anew::eigen_test {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

TEST(Eigen, LooksAtArrays) {
  Array x = array({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, f64);
  Eigen::Map<const RowMatrix> view(x.data<double>().data(), x.shape()[0], x.shape()[1]);
  EXPECT_EQ(view.data(), x.data<double>().data());
  EXPECT_EQ(view(1, 0), 4.0);
  const Eigen::VectorXd sums = view.rowwise().sum();
  EXPECT_EQ(sums(1), 15.0);
}

TEST(Eigen, MatricesAreBorrowed) {
  auto m = std::make_shared<Eigen::MatrixXd>(3, 2);
  *m << 1, 10, 2, 20, 3, 30;
  Array a = Array::borrow(m->data(), {m->cols(), m->rows()}, f64, m).T();
  EXPECT_EQ(a.shape(), (Shape{3, 2}));
  EXPECT_EQ(a.to_vector(), (std::vector<double>{1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(a.T().data<double>().data(), m->data());
  const std::weak_ptr<Eigen::MatrixXd> alive = m;
  m.reset();
  EXPECT_FALSE(alive.expired());
  a = Array();
  EXPECT_TRUE(alive.expired());
}

}  // namespace anew::eigen_test
#else
TEST(Eigen, LooksAtArrays) { GTEST_SKIP() << "Eigen is not installed (libeigen3-dev)"; }
#endif
