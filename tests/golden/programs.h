// The programs of programs.json in C++, under their ids.
#pragma once
#include <anew/flat.h>

#include <map>
#include <string>

namespace anew::golden {

// Inputs in the order of the file -> the value.
const std::map<std::string, FlatFunction>& programs();

// Within this scope the checkpoints of the programs below do nothing: gradients must not change by a bit.
class WithoutCheckpoints {
 public:
  WithoutCheckpoints();
  ~WithoutCheckpoints();
  WithoutCheckpoints(const WithoutCheckpoints&) = delete;
  WithoutCheckpoints& operator=(const WithoutCheckpoints&) = delete;
};

}  // namespace anew::golden
