// Work that an exception leaves under way is waited for by the call that owns its memory, the last first; what has
// ended is not, nor what belongs to a call around it.
#include "runtime/in_flight.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace anew::in_flight_test {
namespace {

TEST(InFlight, WhatIsLeftIsWaitedFor) {
  std::string waited;
  int a = 0, b = 0, c = 0, outer = 0;
  auto begin = [&](const int& memory, char name) { InFlight::began(&memory, [&waited, name] { waited += name; }); };
  const InFlight around;
  begin(outer, 'o');
  try {
    const InFlight call;
    begin(a, 'a');
    begin(b, 'b');
    begin(c, 'c');
    InFlight::ended(&b);
    throw std::runtime_error("a step failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(waited, "ca");
  InFlight::ended(&outer);
  InFlight::ended(&outer);  // not under way any more
  EXPECT_EQ(waited, "ca");
}

}  // namespace
}  // namespace anew::in_flight_test
