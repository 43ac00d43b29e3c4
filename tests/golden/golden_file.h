// Recorded results: files of tests/data/goldens read into plain numbers, and numbers turned into arrays.
// Every figure is held as a double, in which f32, f64, i32 and bool are exact.
#pragma once
#include <anew/array.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace anew::golden {

using Json = nlohmann::json;

struct Numbers {
  Shape shape;
  DType dtype = f32;
  std::vector<double> data;
};
using NumbersList = std::vector<std::optional<Numbers>>;  // null: an input or output without derivative

// A file of the repository ("ops.json"), and any file.
std::string golden_path(const std::string& name);
Json read_json(const std::string& path);

DType parse_dtype(const std::string& name);
Numbers parse_numbers(const Json& json);
// The list under `key`; empty if there is none.
NumbersList parse_list(const Json& json, const std::string& key);

Array to_array(const Numbers& n);
Array to_array(const Numbers& n, DType dtype);
Numbers to_numbers(const Array& x);

// Whole functions are checkpointed here, which saves nothing and is worth a warning elsewhere.
class QuietWarnings {
 public:
  QuietWarnings() : former_(set_warning_handler([](const Warning&) {})) {}
  ~QuietWarnings() { set_warning_handler(former_); }
  QuietWarnings(const QuietWarnings&) = delete;
  QuietWarnings& operator=(const QuietWarnings&) = delete;

 private:
  WarningHandler former_;
};

}  // namespace anew::golden
