// Errors whose text names things: a call throws an Error that contains each of these.
#pragma once
#include <anew/anew.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace anew::test {

template <class F>
void expect_error(F f, std::initializer_list<std::string_view> parts, const Location& at = Location::current()) {
  SCOPED_TRACE("at line " + std::to_string(at.line()));
  try {
    f();
    ADD_FAILURE() << "no Error was thrown";
  } catch (const Error& e) {
    const std::string_view text = e.what();
    for (std::string_view part : parts) EXPECT_NE(text.find(part), text.npos) << "no '" << part << "' in: " << text;
    EXPECT_NE(text.find("; at "), text.npos) << "no line in: " << text;
  }
}

}  // namespace anew::test
