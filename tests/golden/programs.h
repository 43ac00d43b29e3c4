// The programs of programs.json in C++, under their ids, and those that wait for a feature of the library.
#pragma once
#include <anew/flat.h>

#include <map>
#include <string>

namespace anew::golden {

// Inputs in the order of the file -> the value.
const std::map<std::string, FlatFunction>& programs();
// Programs that cannot be written yet, and what they miss.
const std::map<std::string, std::string>& later();

// Within this scope the checkpoints of the programs below do nothing: gradients must not change by a bit.
class WithoutCheckpoints {
 public:
  WithoutCheckpoints();
  ~WithoutCheckpoints();
  WithoutCheckpoints(const WithoutCheckpoints&) = delete;
  WithoutCheckpoints& operator=(const WithoutCheckpoints&) = delete;
};

}  // namespace anew::golden
