// Reading recorded results. Anything unexpected in a file throws: a case that cannot be read must not look like a pass.
#include "golden/golden_file.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>

#include "base/dtype.h"

namespace anew::golden {
namespace {

double parse_number(const Json& j) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (j.is_boolean()) return j.get<bool>() ? 1 : 0;
  if (j.is_number()) return j.get<double>();
  const auto text = j.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return inf;
  if (text == "-inf") return -inf;
  throw std::runtime_error(fmt::format("goldens: \"{}\" is no number", text));
}

}  // namespace

std::string golden_path(const std::string& name) { return std::string(ANEW_TESTS_DIR) + "/data/goldens/" + name; }

Json read_json(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(fmt::format("goldens: cannot read {}", path));
  return Json::parse(in);
}

DType parse_dtype(const std::string& name) {
  for (DType d : all_dtypes)
    if (name_of(d) == name) return d;
  throw std::runtime_error(fmt::format("goldens: unknown dtype {}", name));
}

Numbers parse_numbers(const Json& json) {
  Numbers n{Shape(json.at("shape").get<std::vector<std::int64_t>>()), parse_dtype(json.at("dtype")), {}};
  for (const Json& item : json.at("data")) n.data.push_back(parse_number(item));
  if (static_cast<std::int64_t>(n.data.size()) != n.shape.size())
    throw std::runtime_error(fmt::format("goldens: {} numbers for shape {}", n.data.size(), n.shape.str()));
  return n;
}

NumbersList parse_list(const Json& json, const std::string& key) {
  NumbersList out;
  if (auto it = json.find(key); it != json.end())
    for (const Json& item : *it)
      out.push_back(item.is_null() ? std::optional<Numbers>() : std::optional(parse_numbers(item)));
  return out;
}

Array to_array(const Numbers& n) { return to_array(n, n.dtype); }
Array to_array(const Numbers& n, DType dtype) { return array(n.data, n.shape, dtype); }

Numbers to_numbers(const Array& x) { return {x.shape(), x.dtype(), x.to_vector<double>()}; }

}  // namespace anew::golden
