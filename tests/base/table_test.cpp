// Ids and the tables they index.
#include "base/table.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace anew {
namespace {

using PlantId = Id<struct Plant>;
using StoneId = Id<struct Stone>;

TEST(Table, IdsAreNumbersOfOneKind) {
  static_assert(!std::is_convertible_v<PlantId, int> && !std::is_convertible_v<PlantId, StoneId>);
  static_assert(!std::is_invocable_v<decltype([](Table<PlantId, int>& t, auto i) -> decltype(t[i]) { return t[i]; }),
                                     Table<PlantId, int>&, StoneId>);
  static_assert(sizeof(PlantId) == sizeof(int));
  EXPECT_FALSE(PlantId{});
  EXPECT_TRUE(PlantId{0});
  EXPECT_LT(PlantId{1}, PlantId{2});
  EXPECT_EQ(PlantId{1}, PlantId{1});
}

TEST(Table, HasAnElementForEachId) {
  Table<PlantId, std::string> names;
  EXPECT_EQ(names.add("oak"), PlantId{0});
  EXPECT_EQ(names.add("elm"), PlantId{1});
  Table<PlantId, bool> seen(names.size());
  seen[PlantId{1}] = true;
  std::string text;
  for (PlantId p : names.ids()) text += names[p] + (seen[p] ? "+" : "-");
  EXPECT_EQ(text, "oak-elm+");
  for (std::string& name : names) name += "s";
  EXPECT_EQ(std::as_const(names)[PlantId{0}], "oaks");
}

}  // namespace
}  // namespace anew
