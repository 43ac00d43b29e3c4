// Every recorded draw, under both settings of the counter: keys, bits and what is made of integers bit for bit, what
// goes through log and erf_inv within the file's tolerance.
#include <anew/ops.h>
#include <anew/random.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "control/higher_order.h"
#include "golden/golden_file.h"
#include "trace/trace.h"

namespace anew::golden {
namespace {

using Draw = Array (*)(const Array& key, const Json& params);

Shape shape_of(const Json& p) { return Shape(p.at("shape").get<std::vector<std::int64_t>>()); }
DType dtype_of(const Json& p) { return parse_dtype(p.at("dtype")); }
template <Array (*draw)(const ArrayLike&, const Shape&, DType)>
Array plain(const Array& key, const Json& p) {
  return draw(key, shape_of(p), dtype_of(p));
}

const std::map<std::string, Draw>& draws() {
  static const std::map<std::string, Draw> table{
      {"split",
       [](const Array& key, const Json& p) {
         const Json& num = p.at("num");
         return random::split(
             key, num.is_array() ? Shape(num.get<std::vector<std::int64_t>>()) : Shape(num.get<std::int64_t>()));
       }},
      {"split_of_split",
       [](const Array& key, const Json&) {
         auto [first, second] = random::split(key);
         return random::split(second, 2);
       }},
      {"fold_in",
       [](const Array& key, const Json& p) { return random::fold_in(key, p.at("data").get<std::int64_t>()); }},
      {"bits",
       [](const Array& key, const Json& p) {
         return random::bits(key, shape_of(p), std::stoi(p.at("dtype").get<std::string>().substr(1)));
       }},
      {"uniform",
       [](const Array& key, const Json& p) {
         return random::uniform(key, shape_of(p), dtype_of(p), p.at("minval").get<double>(),
                                p.at("maxval").get<double>());
       }},
      {"normal", plain<random::normal>},
      {"exponential", plain<random::exponential>},
      {"gumbel", plain<random::gumbel>},
      {"laplace", plain<random::laplace>},
      {"logistic", plain<random::logistic>},
      {"truncated_normal",
       [](const Array& key, const Json& p) {
         return random::truncated_normal(key, p.at("lower").get<double>(), p.at("upper").get<double>(), shape_of(p),
                                         dtype_of(p));
       }},
      {"bernoulli",
       [](const Array& key, const Json& p) { return random::bernoulli(key, p.at("p").get<double>(), shape_of(p)); }},
      {"randint",
       [](const Array& key, const Json& p) {
         return random::randint(key, shape_of(p), p.at("minval").get<std::int64_t>(),
                                p.at("maxval").get<std::int64_t>(), dtype_of(p));
       }},
      {"permutation",
       [](const Array& key, const Json& p) { return random::permutation(key, p.at("n").get<std::int64_t>()); }},
      {"categorical",
       [](const Array& key, const Json& p) {
         Array probabilities = array(p.at("probabilities").get<std::vector<double>>(), f32);
         return random::categorical(key, log(probabilities), -1, shape_of(p));
       }},
  };
  return table;
}

class Setting {
 public:
  explicit Setting(bool partitionable) : former_(random::set_partitionable(partitionable)) {}
  ~Setting() { random::set_partitionable(former_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  bool former_;
};

Array key_of(const Json& words) { return array(words.get<std::vector<std::uint32_t>>(), u32); }

// The bit patterns of a float array, as the file writes them.
std::uint64_t recorded_bits(const Json& j) {
  return j.is_string() ? std::stoull(j.get<std::string>(), nullptr, 16) : j.get<std::uint64_t>();
}
std::uint64_t recorded_integer(const Json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_string()) return std::stoull(j.get<std::string>());
  return j.is_number_unsigned() ? j.get<std::uint64_t>() : static_cast<std::uint64_t>(j.get<std::int64_t>());
}

std::string compare(const std::string& op, const Array& got, const Json& output) {
  const Json& data = output.is_array() ? output : output.at("data");
  if (static_cast<std::int64_t>(data.size()) != got.size()) return "another number of elements";
  if (output.is_object() && got.shape() != shape_of(output)) return "another shape: " + got.shape().str();
  const bool exact = op == "uniform";
  const auto values = got.to_vector<double>();
  const auto integers = is_float(got.dtype()) ? std::vector<std::int64_t>() : got.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < data.size(); ++i) {
    std::string where = fmt::format("element {}: {} instead of {}", i, values[i], data[i].dump());
    if (!is_float(got.dtype())) {
      if (static_cast<std::uint64_t>(integers[i]) != recorded_integer(data[i])) return where;
    } else if (exact) {
      const std::uint64_t bits = got.dtype() == f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(values[i]))
                                                    : std::bit_cast<std::uint64_t>(values[i]);
      if (bits != recorded_bits(output.at("bits")[i])) return where;
    } else {
      const double tolerance = got.dtype() == f32 ? 1e-6 : 1e-12, want = data[i].get<double>();
      if (!(std::abs(values[i] - want) <= tolerance * std::abs(want) + tolerance)) return where;
    }
  }
  return "";
}

Array run(const std::string& op, const Json& row) {
  if (op == "key") return random::key(row.at("seed").get<std::int64_t>());
  return draws().at(op)(key_of(row.at("key")), row.value("params", Json::object()));
}

TEST(RandomGoldens, EveryRow) {
  const Json file = read_json(golden_path("random.json"));
  int passed = 0, total = 0;
  for (const Json& row : file.at("cases")) {
    const std::string op = row.at("op");
    ++total;
    std::string problem;
    if (op == "threefry2x32") {
      Arrays in;
      for (const char* words : {"key", "counter"})
        for (std::uint32_t w : row.at(words).get<std::vector<std::uint32_t>>()) in.push_back(array(w, u32));
      problem =
          compare(op, stack(anew::bind(*find_row(op), ir::no_params(), in, Location::current())), row.at("output"));
    } else {
      Setting setting(row.at("partitionable"));
      problem = compare(op, run(op, row), row.at("output"));
    }
    if (problem.empty()) ++passed;
    EXPECT_EQ(problem, "") << row.dump().substr(0, 200);
  }
  std::cout << fmt::format("{} of {} draws pass\n", passed, total);
  EXPECT_TRUE(random::set_partitionable(true) == file.at("jax_threefry_partitionable_default").get<bool>());
}

}  // namespace
}  // namespace anew::golden
