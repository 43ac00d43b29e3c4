// Products against sums over indices written out: every form of dot and matmul, and einsum by brute force over its
// labels.
#include <map>

#include "ops/helpers.h"

namespace anew {
namespace {

using test::error_of;
using test::expect_values;
using test::filled;
using test::values;

// einsum without "...": a loop over all values of all labels.
Array naive(const std::string& text, const std::vector<Array>& xs) {
  std::size_t arrow = text.find("->");
  std::vector<std::string> parts(1);
  for (char c : text.substr(0, arrow)) {
    if (c == ',') parts.emplace_back();
    else parts.back() += c;
  }
  std::string out = text.substr(arrow + 2);
  std::map<char, std::int64_t> size;
  for (std::size_t k = 0; k < xs.size(); ++k)
    for (std::size_t i = 0; i < parts[k].size(); ++i)
      size[parts[k][i]] = std::max(size[parts[k][i]], xs[k].shape()[static_cast<int>(i)]);
  Shape shape;
  for (char c : out) shape.push_back(size[c]);
  std::vector<double> result(static_cast<std::size_t>(shape.size()));
  std::vector<std::vector<double>> v;
  for (const Array& x : xs) v.push_back(values(x));
  std::map<char, std::int64_t> at;
  auto offset = [&](const std::string& labels, const Shape& s) {
    std::int64_t o = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      std::int64_t n = s[static_cast<int>(i)];
      o = o * n + (n == 1 ? 0 : at[labels[i]]);
    }
    return static_cast<std::size_t>(o);
  };
  std::int64_t total = 1;
  for (auto [c, n] : size) total *= n;
  for (std::int64_t k = 0; k < total; ++k) {
    std::int64_t rest = k;
    for (auto [c, n] : size) at[c] = rest % n, rest /= n;
    double p = 1;
    for (std::size_t i = 0; i < xs.size(); ++i) p *= v[i][offset(parts[i], xs[i].shape())];
    result[offset(out, shape)] += p;
  }
  return array(result, shape);
}

void expect_product(const Array& got, const Array& want) {
  EXPECT_EQ(got.shape(), want.shape());
  expect_values(got, values(want), 1e-13);
}

TEST(Einsum, AgreesWithBruteForce) {
  const std::map<char, std::int64_t> sizes{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 2}, {'i', 3}, {'j', 4}, {'k', 5}};
  for (const std::string text :
       {"ij,jk->ik",     "ij,jk->ki",       "ij,kj->ki",  "ij,j->i",      "i,i->",       "i,j->ij",    "i,j->ji",
        "aij,ajk->aik",  "ij,ij->ij",       "ij,ji->ij",  "ij->ji",       "ij->",        "ij->i",      "ii->",
        "ii->i",         "abij,abkj->abik", "aij,iaj->i", "ij,jk,kc->ic", "ab,cd->acbd", "ijk,ijk->k", "i,ij,j->",
        "iij->j",        "aab,b->a",        "i,->i",      ",i->i",        ",->",         "iii->i",     "ij,ik,il->jkl",
        "ai,bi,ci->abc", "ij,jj->i",        "abc,b->ca"}) {
    SCOPED_TRACE(text);
    std::vector<Array> xs;
    Shape shape;
    std::uint64_t seed = 1;
    auto finish = [&] {
      xs.push_back(filled(shape, seed++));
      shape = {};
    };
    for (char c : text.substr(0, text.find("->"))) {
      if (c == ',') finish();
      else shape.push_back(sizes.count(c) ? sizes.at(c) : 2);
    }
    finish();
    expect_product(einsum_of(text, xs), naive(text, xs));
  }
}

TEST(Einsum, BroadcastsAndImplicitOutputs) {
  Array x = filled({2, 3, 4}, 1), y = filled({2, 4, 5}, 2), m = filled({4, 5}, 3);
  expect_product(einsum("...ij,...jk->...ik", x, y), matmul(x, y));
  expect_product(einsum("...ij,jk->...ik", x, m), matmul(x, m));
  expect_product(einsum("...ij,...jk", x, y), matmul(x, y));
  expect_product(einsum("...i->...", x), sum(x, -1));
  expect_product(einsum("ij,jk", filled({2, 3}, 1), filled({3, 2}, 2)),
                 naive("ij,jk->ik", {filled({2, 3}, 1), filled({3, 2}, 2)}));
  expect_product(einsum("ba", filled({2, 3}, 1)), filled({2, 3}, 1).T());
  expect_product(einsum("ij,ij->i", filled({2, 1}, 1), filled({2, 3}, 2)),
                 naive("ij,ij->i", {filled({2, 1}, 1), filled({2, 3}, 2)}));
  expect_product(einsum("...i,...i->...", filled({3, 1, 4}, 1), filled({2, 4}, 2)),
                 sum(filled({3, 1, 4}, 1) * filled({2, 4}, 2), -1));
  EXPECT_EQ(einsum("i,i->", ones({3}, i32), 2.0 * ones({3})).dtype(), f32);
}

TEST(Einsum, Errors) {
  Array x = ones({2, 3});
  EXPECT_EQ(error_of([&] { (void)einsum("ij,jk->ik", x); }),
            "[einsum] \"ij,jk->ik\": 2 operands are described, 1 given");
  EXPECT_EQ(error_of([&] { (void)einsum("i->i", x); }), "[einsum] \"i->i\": operand 0 has 1 labels for f32[2,3]");
  EXPECT_EQ(error_of([&] { (void)einsum("ij,jk->ik", x, x); }), "[einsum] \"ij,jk->ik\": label 'j' has sizes 3 and 2");
  EXPECT_EQ(error_of([&] { (void)einsum("ij->ik", x); }),
            "[einsum] \"ij->ik\": label 'k' of the output is in no operand");
  EXPECT_EQ(error_of([&] { (void)einsum("ij->ii", x); }), "[einsum] \"ij->ii\": label 'i' is twice in the output");
  EXPECT_EQ(error_of([&] { (void)einsum("i1->i", x); }), "[einsum] \"i1->i\": unexpected '1'");
  EXPECT_EQ(error_of([&] { (void)einsum("...i...->i", x); }), "[einsum] \"...i...->i\": two \"...\" in one operand");
  EXPECT_EQ(error_of([&] { (void)einsum_of("->", {}); }), "[einsum] \"->\": no operands");
}

TEST(Dot, Forms) {
  Array v = filled({3}, 1), w = filled({3}, 2), a = filled({2, 3}, 3), b = filled({3, 4}, 4), c = filled({2, 5, 3}, 5);
  expect_product(dot(v, w), naive("i,i->", {v, w}));
  expect_product(dot(a, v), naive("ij,j->i", {a, v}));
  expect_product(dot(v, b), naive("i,ij->j", {v, b}));
  expect_product(dot(a, b), naive("ij,jk->ik", {a, b}));
  expect_product(dot(c, b), naive("aij,jk->aik", {c, b}));
  expect_product(dot(2, v), 2 * v);
  expect_product(dot(a, filled({5, 3, 2}, 6)), naive("ij,ajk->iak", {a, filled({5, 3, 2}, 6)}));
  expect_product(inner(a, c), naive("ij,abj->iab", {a, c}));
  expect_product(outer(a, v), naive("i,j->ij", {ravel(a), v}));
  expect_product(vdot(a, a), naive("i,i->", {ravel(a), ravel(a)}));
  expect_product(tensordot(c, filled({5, 3, 2}, 7)), naive("abc,bcd->ad", {c, filled({5, 3, 2}, 7)}));
  expect_product(tensordot(a, b, {1}, {0}), dot(a, b));
  expect_product(tensordot(a, b, 0), naive("ij,kl->ijkl", {a, b}));
  expect_product(kron(filled({2, 2}, 1), filled({1, 3}, 2)),
                 array(
                     [] {
                       std::vector<double> out, x = values(filled({2, 2}, 1)), y = values(filled({1, 3}, 2));
                       for (double p : x)
                         for (double q : y) out.push_back(p * q);
                       return out;
                     }(),
                     {2, 6}));
  expect_values(cross(array({1., 0., 0.}), array({0., 1., 0.})), {0, 0, 1});
  expect_values(dot(array({1, 2}), array({3, 4})), {11});
  expect_values(matmul(array({{true, false}}), array({{true}, {true}})), {1});
  EXPECT_EQ(matmul(ones({2, 3}, bf16), ones({3, 2}, bf16)).dtype(), bf16);
}

TEST(Matmul, Batches) {
  auto expect = [](const Shape& sa, const Shape& sb, const std::string& text) {
    SCOPED_TRACE(text);
    Array a = filled(sa, 1), b = filled(sb, 2);
    expect_product(matmul(a, b), naive(text, {a, b}));
  };
  expect({2, 3}, {3, 4}, "ij,jk->ik");
  expect({3}, {3, 4}, "j,jk->k");
  expect({2, 3}, {3}, "ij,j->i");
  expect({3}, {3}, "j,j->");
  expect({2, 4, 3}, {2, 3, 5}, "aij,ajk->aik");
  expect({2, 4, 3}, {3, 5}, "aij,jk->aik");
  expect({4, 3}, {2, 3, 5}, "ij,ajk->aik");
  expect({3}, {2, 3, 5}, "j,ajk->ak");
  expect({2, 4, 3}, {3}, "aij,j->ai");
  expect({2, 1, 4, 3}, {5, 3, 2}, "abij,bjk->abik");
  expect({1, 4, 3}, {2, 3, 5}, "aij,ajk->aik");
  expect({2, 4, 3}, {1, 3, 5}, "aij,ajk->aik");
  expect({2, 1, 4, 3}, {1, 6, 3, 5}, "abij,abjk->abik");
  expect({1, 4, 3}, {1, 3, 5}, "aij,ajk->aik");
  expect({2, 0}, {0, 3}, "ij,jk->ik");
}

TEST(Dot, Errors) {
  Array a = ones({2, 3}), b = ones({4, 5});
  EXPECT_EQ(error_of([&] { (void)dot(a, b); }),
            "[dot] contracting dimensions differ: f32[2,3] axis 1 has 3, f32[4,5] axis 0 has 4");
  EXPECT_EQ(error_of([&] { (void)matmul(a, b); }),
            "[matmul] contracting dimensions differ: f32[2,3] axis 1 has 3, f32[4,5] axis 0 has 4");
  EXPECT_EQ(error_of([&] { (void)matmul(ones({7, 2, 3}), ones({7, 4, 5})); }),
            "[matmul] contracting dimensions differ: f32[7,2,3] axis 2 has 3, f32[7,4,5] axis 1 has 4");
  EXPECT_EQ(error_of([&] { (void)matmul(ones({2, 2, 3}), ones({3, 3, 5})); }),
            "[matmul] batch dimensions do not broadcast: f32[2,2,3] and f32[3,3,5]");
  EXPECT_EQ(error_of([&] { (void)matmul(2, a); }),
            "[matmul] needs arrays of at least one axis, got f32[] and f32[2,3]; hint: multiply by a scalar with *");
  EXPECT_EQ(error_of([&] { (void)inner(a, b); }),
            "[inner] contracting dimensions differ: f32[2,3] axis 1 has 3, f32[4,5] axis 1 has 5");
  EXPECT_EQ(error_of([&] { (void)tensordot(a, b, 1); }),
            "[tensordot] contracting dimensions differ: f32[2,3] axis 1 has 3, f32[4,5] axis 0 has 4");
  EXPECT_EQ(error_of([&] { (void)tensordot(a, b, 3); }), "[tensordot] 3 axes of f32[2,3] and f32[4,5]");
  EXPECT_EQ(error_of([&] { (void)tensordot(a, b, {0, 1}, {0}); }), "[tensordot] 2 axes against 1");
  EXPECT_EQ(error_of([&] { (void)cross(a, b); }),
            "[cross] needs vectors of 3 along the last axis, got f32[2,3] and f32[4,5]");
  EXPECT_EQ(error_of([&] { (void)lax::dot_general(a, b, {{0}, {0, 1}}); }),
            "[dot_general] the dimension numbers do not fit f32[2,3] and f32[4,5]");
  EXPECT_EQ(error_of([&] { (void)lax::dot_general(a, b, {{1}, {1}}); }),
            "[dot_general] contracting dimensions differ: f32[2,3] axis 1 has 3, f32[4,5] axis 1 has 5");
  EXPECT_EQ(error_of([&] { (void)lax::dot_general(a, b, {{}, {}, {0}, {0}}); }),
            "[dot_general] batch dimensions differ: f32[2,3] axis 0 has 2, f32[4,5] axis 0 has 4");
}

}  // namespace
}  // namespace anew
