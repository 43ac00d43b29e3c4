// What environment variables say.
#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace anew {
namespace {

TEST(Environment, LogIsAListOfWords) {
  ::unsetenv("ANEW_LOG");
  EXPECT_FALSE(environment::logged("residuals"));
  ::setenv("ANEW_LOG", "passes,residuals", 1);
  EXPECT_TRUE(environment::logged("passes"));
  EXPECT_TRUE(environment::logged("residuals"));
  EXPECT_FALSE(environment::logged("programs"));
  EXPECT_FALSE(environment::logged("pass"));
  ::unsetenv("ANEW_LOG");
}

TEST(Environment, X64IsAnyWordButZero) {
  const char* before = std::getenv("ANEW_ENABLE_X64");
  const std::string saved = before ? before : "";
  for (const char* off : {"", "0"}) {
    ::setenv("ANEW_ENABLE_X64", off, 1);
    EXPECT_FALSE(environment::enables_x64());
  }
  ::setenv("ANEW_ENABLE_X64", "1", 1);
  EXPECT_TRUE(environment::enables_x64());
  before ? ::setenv("ANEW_ENABLE_X64", saved.c_str(), 1) : ::unsetenv("ANEW_ENABLE_X64");
}

}  // namespace
}  // namespace anew
