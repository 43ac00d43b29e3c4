// The exact text of errors, and that they keep the place they were given.
#include <anew/base.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/base.h"

namespace anew {
namespace {

Error made_here() { return Error("[dot] sizes differ: f32[2,3], f32[4,5]"); }

TEST(Error, TextNamesFileLineAndFunction) {
  const Error e = made_here();
  EXPECT_STREQ(e.what(), "[dot] sizes differ: f32[2,3], f32[4,5]; at error_test.cpp:12 (made_here)");
  EXPECT_EQ(e.line(), 12);
  EXPECT_EQ(e.file(), __FILE__);
}

TEST(Error, HintComesLast) {
  const Location at = Location::current();
  const Error e("[sum] axis 3 is out of range for f32[2]", at, "axes count from 0");
  EXPECT_EQ(std::string(e.what()),
            "[sum] axis 3 is out of range for f32[2]; at " + source_line(at).str() + "; hint: axes count from 0");
}

TEST(Error, WithoutAPlace) {
  const Error e("[shape] text", Location(), "a hint");
  EXPECT_STREQ(e.what(), "[shape] text; hint: a hint");
  EXPECT_EQ(e.line(), 0);
  EXPECT_EQ(e.file(), "");
}

// What had no line when it was thrown gets that of the call, in its place.
TEST(Error, HintsStayLast) {
  const Location at = Location::current();
  const std::string text = "[jit] a budget of 1000 bytes can not be met";
  try {
    with_line("jit", at, [&] { throw Error(text, Location(), "smaller batches need less"); });
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), text + "; at " + source_line(at).str() + "; hint: smaller batches need less");
    EXPECT_EQ(e.line(), static_cast<int>(at.line()));
  }
}

TEST(Error, InternalErrorsSaySo) {
  const Location at = Location::current();
  EXPECT_EQ(
      std::string(InternalError("rule missing", at).what()),
      "internal error: rule missing; at " + source_line(at).str() + "; hint: this is a bug of anew, please report it");
}

TEST(SourceLine, ShowsTheBaseName) {
  EXPECT_EQ((SourceLine{"/home/me/model.cpp", 41, "layer"}.str()), "model.cpp:41 (layer)");
  EXPECT_EQ((SourceLine{"model.cpp", 41, "layer"}.str()), "model.cpp:41 (layer)");
  EXPECT_EQ((SourceLine{"a/model.cpp", 41, ""}.str()), "model.cpp:41");
}

TEST(SourceLine, KeepsTheWholePath) {
  const SourceLine s = source_line(Location::current());
  EXPECT_EQ(s.file, __FILE__);
  EXPECT_EQ(s.line, __LINE__ - 2);
  EXPECT_EQ(s.function, "TestBody");
}

}  // namespace
}  // namespace anew
