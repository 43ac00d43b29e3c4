// Every public function is in the tables of functions.h, once: read from the headers, so that a new function without a
// case fails here.
#include "laws/functions.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

namespace anew::test {

std::vector<std::string> declared_functions() {
  static const std::regex opens(R"(^namespace ([\w:]+) \{(?:  //.*)?$)"), closes(R"(^\}.*// namespace)"),
      declares(R"(^(?:Array|Complex|GaussianKde|std::vector<Array>|std::array<Array.*>|)"
               R"(std::(?:pair|tuple)<Array[^>]*>) (\w+)\(.*)");
  std::set<std::string> names;
  for (const char* header : {"array", "convolution", "fft", "indexing", "lax", "linalg", "nn", "numpy", "ops", "random",
                             "special", "stats"}) {
    std::ifstream file(std::string(ANEW_TESTS_DIR) + "/../include/anew/" + header + ".h");
    EXPECT_TRUE(file) << header;
    std::vector<std::string> spaces;
    for (std::string line; std::getline(file, line);) {
      std::smatch m;
      if (std::regex_search(line, m, opens)) spaces.push_back(m[1]);
      else if (std::regex_search(line, closes)) spaces.pop_back();
      else if (std::regex_match(line, m, declares)) {
        std::string space;
        for (std::string s : spaces) {
          if (s == "anew" || s.starts_with("anew::")) s = s.size() > 6 ? s.substr(6) : "";
          if (!s.empty()) space += s + "::";
        }
        if (space.find("detail::") == std::string::npos) names.insert(space + m[1].str());
      }
    }
  }
  return {names.begin(), names.end()};
}

namespace {

std::string without_word(const std::string& name) { return name.substr(0, name.find(' ')); }

TEST(PublicFunctions, AllAreInTheTables) {
  std::multiset<std::string> known;
  for (const ElementwiseFunction& f : elementwise_functions()) known.insert(without_word(f.name));
  for (const ComposedFunction& f : composed_functions()) known.insert(f.name);
  for (const auto& [name, why] : functions_without_derivatives()) known.insert(name);
  const std::vector<std::string> declared = declared_functions();
  EXPECT_GT(declared.size(), 250U);
  for (const std::string& name : declared) {
    EXPECT_TRUE(known.contains(name)) << name << " is declared in a public header but has no case in tests/laws";
    known.erase(name);
  }
  for (const std::string& name : known)
    if (!name.starts_with("Array::") && !name.starts_with("AtRef::"))
      ADD_FAILURE() << name << " is in a table of tests/laws, but no public header declares it";
}

}  // namespace
}  // namespace anew::test
