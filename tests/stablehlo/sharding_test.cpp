// Meshes and how arrays are split over them, as Shardy's attributes.
#include <anew/stablehlo.h>

#include "support/expect_error.h"
#include "support/support.h"

namespace anew::sharding_test {
namespace {

using test::expect_error;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
struct Params {
  Array w, b;
};
Array f(const Params& p, Array x) { return matmul(x, p.w) + p.b; }
const Array x = ones({8, 4});
const Params p{ones({4, 6}), ones(6)};

TEST(Sharding, Text) {
  const Mesh mesh({{"data", 4}, {"model", 2}});
  EXPECT_EQ(mesh.size(), 8);
  const std::string text = to_stablehlo(
      f, {.mesh = mesh, .in_specs = {replicated, PartitionSpec{"data"}}, .out_specs = {PartitionSpec{"data", "model"}}},
      p, x);
  for (const char* part : {"mhlo.num_partitions = 8 : i32", "sdy.mesh @mesh = <[\"data\"=4, \"model\"=2]>",
                           "%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} loc(\"p.w\")",
                           "%arg2: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>} loc(\"x\")",
                           "sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {\"model\"}]>}) {"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  // Two axes of the mesh on one of the array; an axis that is not split.
  const PartitionSpec both{std::vector<std::string>{"data", "model"}, none};
  EXPECT_TRUE(
      contains(to_stablehlo(f, {.mesh = mesh, .in_specs = {replicated, both}}, p, x), "[{\"data\", \"model\"}, {}]"));
  // A mesh alone: XLA splits as it likes.
  EXPECT_FALSE(contains(to_stablehlo(f, {.mesh = mesh}, p, x), "sdy.sharding"));
}

TEST(Sharding, SpecsOfResults) {
  auto two = [](Array a) { return std::pair(Params{a, a + 1}, sum(a)); };
  const Mesh mesh({{"d", 2}});
  const std::string text = to_stablehlo(
      two, {.mesh = mesh, .in_specs = {PartitionSpec{"d"}}, .out_specs = {PartitionSpec{"d"}, replicated}}, x);
  EXPECT_TRUE(contains(text, "jax.result_info = \"[0].b\", sdy.sharding = #sdy.sharding<@mesh, [{\"d\"}, {}]>"))
      << text;
  EXPECT_TRUE(contains(text, "jax.result_info = \"[1]\", sdy.sharding = #sdy.sharding<@mesh, []>")) << text;
}

TEST(Sharding, Errors) {
  const Mesh mesh({{"data", 4}});
  auto with = [&](const StableHloOptions& o) { (void)to_stablehlo(f, o, p, x); };
  expect_error([&] { with({.in_specs = {replicated, replicated}}); }, {"specs without a mesh"});
  expect_error([&] { with({.mesh = mesh, .in_specs = {replicated}}); }, {".in_specs has 1 specs for 2 arguments"});
  expect_error([&] { with({.mesh = mesh, .out_specs = {replicated, replicated}}); },
               {".out_specs has 2 specs for 1 results"});
  expect_error([&] { with({.mesh = mesh, .in_specs = {replicated, {"model"}}}); },
               {"x f32[8,4] cannot be split so: the mesh has no axis \"model\""});
  expect_error([&] { with({.mesh = mesh, .in_specs = {PartitionSpec{none, "data"}, replicated}}); },
               {"p.w f32[4,6]", "axis 1 of size 6 in 4 parts", "divisible"});
  expect_error([&] { with({.mesh = mesh, .in_specs = {replicated, PartitionSpec{"data", "data"}}}); }, {"named twice"});
  expect_error([&] { with({.mesh = mesh, .in_specs = {replicated, PartitionSpec{none, none, "data"}}}); },
               {"its PartitionSpec names 3 axes"});
  expect_error([] { Mesh m({{"data", 0}}); }, {"[Mesh] the axis \"data\" has size 0"});
  expect_error([] { Mesh m({{"a", 2}, {"a", 2}}); }, {"[Mesh] two axes are called \"a\""});
}

}  // namespace
}  // namespace anew::sharding_test
