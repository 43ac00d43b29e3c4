// Trees of every kind: which types are trees, their leaves in order, rebuilding them, key paths, and what is static.
#include <anew/tree.h>
#include <gtest/gtest.h>

#include "support/support.h"

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <variant>

struct NoDefault {
  explicit NoDefault(int n) : n(n) {}
  int n;
};
template <>
inline constexpr bool anew::is_static_type<NoDefault> = true;

namespace {

using namespace anew;
using detail::accounted_for;
using detail::fixed_structure;
using detail::holds_arrays;
using detail::leaf_paths;

// Leaves as numbers: trees in these tests hold the numbers 1, 2, ... in the order expected.
template <class T>
std::vector<int> numbers(const T& tree) {
  std::vector<int> out;
  for (const Array& a : tree_leaves(tree)) out.push_back(a.item<int>());
  return out;
}
using Paths = std::vector<std::string>;
using Ints = std::vector<int>;

// Flattens, rebuilds from other numbers (ten more), and flattens again.
template <class T>
void check_round_trip(const T& tree, const Ints& want) {
  EXPECT_EQ(numbers(tree), want);
  auto [leaves, def] = tree_flatten(tree);
  Ints more;
  Arrays others;
  for (int i : want) {
    more.push_back(i + 10);
    others.push_back(i + 10);
  }
  EXPECT_EQ(leaves.size(), want.size());
  EXPECT_EQ(numbers(tree_unflatten(def, others)), more);
  EXPECT_EQ(numbers(tree_unflatten(def, leaves)), want);
}

struct DenseLayer {
  Array w, b;
};
struct TwoLayers {
  std::vector<DenseLayer> layers;
  std::map<std::string, DenseLayer> heads;
  int width = 3;
};
template <class T>
struct Two {
  T left, right;
};
struct WithStatics {
  std::string name;
  Array x = 7;
  NoDefault n;
  const int constant = 5;
  std::function<Array(Array)> activation;
};
enum class Mode { train, test };

TEST(Leaves, ArraysAndStandardContainers) {
  check_round_trip(Array(1), {1});
  check_round_trip(none, {});
  check_round_trip(std::vector<Array>{1, 2, 3}, {1, 2, 3});
  check_round_trip(std::vector<Array>{}, {});
  check_round_trip(std::array<Array, 2>{1, 2}, {1, 2});
  check_round_trip(std::pair<Array, Array>(1, 2), {1, 2});
  check_round_trip(std::tuple<Array, int, Array>(1, 9, 2), {1, 2});
  check_round_trip(std::optional<Array>(1), {1});
  check_round_trip(std::optional<Array>(), {});
  check_round_trip(std::map<std::string, Array>{{"b", 2}, {"a", 1}}, {1, 2});
  check_round_trip(std::vector<std::pair<Array, std::optional<Array>>>{{1, 2}, {3, {}}, {4, 5}}, {1, 2, 3, 4, 5});
}

TEST(Leaves, Aggregates) {
  check_round_trip(DenseLayer{1, 2}, {1, 2});
  check_round_trip(TwoLayers{{{1, 2}, {3, 4}}, {{"out", {5, 6}}}}, {1, 2, 3, 4, 5, 6});
  check_round_trip(Two<DenseLayer>{{1, 2}, {3, 4}}, {1, 2, 3, 4});
  check_round_trip(Two<Two<Array>>{{1, 2}, {3, 4}}, {1, 2, 3, 4});
  struct Local {
    Array a;
    DenseLayer d;
    std::optional<DenseLayer> maybe;
  };
  check_round_trip(Local{1, {2, 3}, {}}, {1, 2, 3});
  check_round_trip(Local{1, {2, 3}, DenseLayer{4, 5}}, {1, 2, 3, 4, 5});
}

TEST(Leaves, StaticFieldsStayAsTheyAre) {
  WithStatics s{"me", 1, NoDefault(4), 6, [](Array x) { return x; }};
  check_round_trip(s, {1});
  auto [leaves, def] = tree_flatten(s);
  WithStatics back = tree_unflatten(def, leaves);
  EXPECT_EQ(back.name, "me");
  EXPECT_EQ(back.n.n, 4);
  EXPECT_EQ(back.constant, 6);
  EXPECT_TRUE(back.activation);
}

struct Branch {
  std::vector<Branch> children;
  std::map<std::string, Branch> named;
  Array x;
};
TEST(Leaves, RecursiveTypes) {
  static_assert(holds_arrays<Branch> && accounted_for<Branch>() && !fixed_structure<Branch>());
  Branch b{{Branch{{}, {}, 1}, Branch{{}, {{"k", Branch{{}, {}, 2}}}, 3}}, {}, 4};
  check_round_trip(b, {1, 2, 3, 4});
  EXPECT_EQ(leaf_paths(b, "b"), (Paths{"b.children[0].x", "b.children[1].named['k'].x", "b.children[1].x", "b.x"}));
}

struct Wide {
  Array a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7,
      c8, c9, d0, d1;
};
TEST(Leaves, ThirtyTwoFields) {
  Wide w;
  std::vector<Array> xs;
  for (int i = 0; i < 32; ++i) xs.push_back(i);
  detail::put_leaves(w, xs);
  EXPECT_EQ(w.a0.item<int>(), 0);
  EXPECT_EQ(w.c9.item<int>(), 29);
  EXPECT_EQ(w.d1.item<int>(), 31);
  EXPECT_EQ(leaf_paths(w, "w")[31], "w.d1");
}

class Closed {
 public:
  Closed(Array w, int n, Array b) : w_(std::move(w)), n_(n), b_(std::move(b)) {}
  int n() const { return n_; }

 private:
  Array w_;
  int n_;
  Array b_;
  ANEW_TREE(Closed, w_, n_, b_);
};
struct Base {
  Array a;
};
struct Derived : Base {
  std::vector<Array> more;
  ANEW_TREE(Derived, a, more);
};
struct Empty {
  ANEW_TREE(Empty);
};

TEST(Leaves, ClassesWithAnewTree) {
  check_round_trip(Closed(1, 5, 2), {1, 2});
  EXPECT_EQ(leaf_paths(Closed(1, 5, 2), "c"), (Paths{"c.w_", "c.b_"}));
  check_round_trip(Derived{{1}, {2, 3}}, {1, 2, 3});
  EXPECT_EQ(leaf_paths(Derived{{1}, {2, 3}}, "d"), (Paths{"d.a", "d.more[0]", "d.more[1]"}));
  static_assert(!holds_arrays<Empty> && accounted_for<Empty>());
}

namespace inner {
namespace {
struct Hidden {
  Array x_1, Y;
};
}  // namespace
}  // namespace inner

TEST(Paths, OfEveryKind) {
  EXPECT_EQ(leaf_paths(Array(1), "x"), Paths{"x"});
  EXPECT_EQ(leaf_paths(std::vector<Array>{1, 2}, "p"), (Paths{"p[0]", "p[1]"}));
  EXPECT_EQ(leaf_paths(std::pair<Array, Array>(1, 2), "x"), (Paths{"x[0]", "x[1]"}));
  EXPECT_EQ(leaf_paths(std::tuple<Array, int, Array>(1, 2, 3), "x"), (Paths{"x[0]", "x[2]"}));
  EXPECT_EQ(leaf_paths(std::optional<Array>(1), "x"), Paths{"x"});
  EXPECT_EQ(leaf_paths(std::map<std::string, DenseLayer>{{"enc", {1, 2}}}, "m.blocks"),
            (Paths{"m.blocks['enc'].w", "m.blocks['enc'].b"}));
  EXPECT_EQ(leaf_paths(TwoLayers{{{1, 2}}, {{"out", {3, 4}}}}, "net"),
            (Paths{"net.layers[0].w", "net.layers[0].b", "net.heads['out'].w", "net.heads['out'].b"}));
  EXPECT_EQ(leaf_paths(inner::Hidden{1, 2}, "h"), (Paths{"h.x_1", "h.Y"}));
  EXPECT_EQ(leaf_paths(Two<Two<Array>>{{1, 2}, {3, 4}}, "0"),
            (Paths{"0.left.left", "0.left.right", "0.right.left", "0.right.right"}));
  struct Local {
    int n;
    Array first;
    std::array<Array, 2> rest;
  };
  EXPECT_EQ(leaf_paths(Local{1, 2, {3, 4}}, "l"), (Paths{"l.first", "l.rest[0]", "l.rest[1]"}));
  WithStatics s{"me", 1, NoDefault(4), 6, {}};
  EXPECT_EQ(leaf_paths(s, "s"), Paths{"s.x"});
}

TEST(Types, WhatIsATree) {
  static_assert(Tree<Array> && Tree<none_t> && Tree<std::vector<DenseLayer>> && Tree<TwoLayers> &&
                Tree<std::pair<int, Array>>);
  static_assert(!Tree<int> && !Tree<std::vector<int>> && !Tree<std::string> && !Tree<Mode> && !Tree<ShapeDtype>);
  static_assert(!Tree<std::map<std::string, int>> && !Tree<std::tuple<>> && !Tree<std::optional<double>>);
}

TEST(Types, WhatIsStatic) {
  auto lambda = [](auto x) { return x; };
  static_assert(accounted_for<int>() && accounted_for<Mode>() && accounted_for<std::string>() &&
                accounted_for<const char*>());
  static_assert(accounted_for<decltype(lambda)>() && accounted_for<std::function<Array(Array)>>());
  static_assert(accounted_for<Array (*)(Array)>() && accounted_for<std::vector<std::string>>());
  static_assert(accounted_for<std::map<int, std::string>>() && accounted_for<std::set<int>>() &&
                accounted_for<std::list<int>>());
  static_assert(accounted_for<ShapeDtype>() && accounted_for<Policy>() && accounted_for<Axes>() &&
                accounted_for<ScanOptions>());
  static_assert(accounted_for<std::string_view>() && accounted_for<Location>() && accounted_for<NoDefault>());
  static_assert(accounted_for<int*>() && accounted_for<struct Incomplete*>() && accounted_for<void*>());
}

struct HasPointer {
  Array* x;
};
struct HasConst {
  const Array x;
};
struct Cell {
  Array x;
  Cell* next;
};
class Opaque {
  Array x_;
};

TEST(Types, WhatMightHideAnArrayIsNeither) {
  static_assert(!accounted_for<std::variant<Array, int>>() && !accounted_for<std::variant<int>>());
  static_assert(!accounted_for<Opaque>() && !accounted_for<std::vector<Opaque>>() && !accounted_for<Two<Opaque>>());
  static_assert(!accounted_for<std::shared_ptr<Array>>() && !accounted_for<std::unique_ptr<int>>());
  static_assert(!accounted_for<std::map<int, Array>>() && !accounted_for<std::list<Array>>());
  static_assert(!accounted_for<std::reference_wrapper<Array>>());
  static_assert(!accounted_for<Array*>() && !accounted_for<const DenseLayer*>() && !accounted_for<HasPointer>());
  static_assert(!accounted_for<HasConst>() && !accounted_for<Cell>());
}

TEST(Types, StructureKnownFromTheType) {
  static_assert(fixed_structure<Array>() && fixed_structure<DenseLayer>() &&
                fixed_structure<std::array<DenseLayer, 3>>());
  static_assert(fixed_structure<std::pair<Array, std::vector<int>>>() && fixed_structure<none_t>());
  static_assert(!fixed_structure<std::vector<Array>>() && !fixed_structure<TwoLayers>());
  static_assert(!fixed_structure<std::optional<Array>>() && !fixed_structure<std::map<std::string, Array>>());
}

TEST(TreeFlatten, LeavesNoArrayBehind) {
  Array x = 3;
  auto [leaves, def] = tree_flatten(DenseLayer{x, x});
  EXPECT_EQ(def.size, 2u);
  EXPECT_EQ(def.skeleton.w.value(), nullptr);
  EXPECT_EQ(def.skeleton.b.value(), nullptr);
}

TEST(TreeMap, OneAndSeveralTrees) {
  TwoLayers a{{{1, 2}, {3, 4}}, {{"out", {5, 6}}}, 8};
  TwoLayers b = tree_map([](Array x) { return Array(2 * x.item<int>()); }, a);
  EXPECT_EQ(numbers(b), (Ints{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(b.width, 8);
  TwoLayers c = tree_map(
      [](const Array& x, const Array& y, Array z) { return x.item<int>() + y.item<int>() + z.item<int>(); }, a, b, a);
  EXPECT_EQ(numbers(c), (Ints{4, 8, 12, 16, 20, 24}));
  EXPECT_EQ(numbers(tree_map([](Array x) { return x; }, Array(3))), Ints{3});
}

template <class F>
std::string text_of_error(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Errors, TreesThatDoNotCorrespond) {
  using V = std::vector<Array>;
  using M = std::map<std::string, Array>;
  auto first = [](Array x, Array) { return x; };
  EXPECT_EQ(ERROR_OF(tree_map(first, V{1, 2}, V{1})),
            "[tree_map] the tree has 1 leaves and the first tree has 2, which do not correspond: tree[1] is missing");
  EXPECT_EQ(ERROR_OF(tree_map(first, V{1}, V{1, 2})),
            "[tree_map] the tree has 2 leaves and the first tree has 1, which do not correspond: tree[1] is too much");
  EXPECT_EQ(
      ERROR_OF(tree_map(first, M{{"a", 1}, {"b", 2}}, M{{"a", 1}, {"c", 2}})),
      "[tree_map] the tree has 2 leaves and the first tree has 2, which do not correspond: tree['c'] stands in the "
      "place of first tree['b']");
}

TEST(Errors, WrongNumberOfLeaves) {
  auto [leaves, def] = tree_flatten(DenseLayer{1, 2});
  leaves.pop_back();
  int line = 0;
  std::string text = text_of_error([&, &def = def, &leaves = leaves] {
    line = __LINE__ + 1;
    tree_unflatten(def, leaves);
  });
  EXPECT_TRUE(text.starts_with("[tree_unflatten] the tree has 2 leaves, 1 were given; at tree_test.cpp:" +
                               std::to_string(line)))
      << text;
  DenseLayer d;
  EXPECT_THROW(detail::put_leaves(d, std::vector<Array>(1)), InternalError);
  EXPECT_THROW(detail::put_leaves(d, std::vector<Array>(3)), InternalError);
}

}  // namespace
