// Recorded results of integers of every width (integers.json): types and values, eagerly and compiled.
#include <anew/anew.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/dtype.h"
#include "golden/golden_file.h"
#include "support/support.h"

namespace anew::golden {
namespace {

using Operation = std::function<Array(std::span<const Array>)>;

// As integers where they are: u64 does not fit a double.
Array read(const Json& json) {
  const DType d = parse_dtype(json.at("dtype"));
  const Shape shape(json.at("shape").get<std::vector<std::int64_t>>());
  if (!is_integer(d)) return to_array(parse_numbers(json));
  if (is_signed(d)) return array(json.at("data").get<std::vector<std::int64_t>>(), shape, d);
  return array(json.at("data").get<std::vector<std::uint64_t>>(), shape, d);
}

const std::map<std::string, Operation>& table() {
  auto unary = [](Array (*f)(const ArrayLike&)) { return [f](std::span<const Array> x) { return f(x[0]); }; };
  auto binary = [](Array (*f)(const ArrayLike&, const ArrayLike&)) {
    return [f](std::span<const Array> x) { return f(x[0], x[1]); };
  };
  auto along = [](auto f) { return [f](std::span<const Array> x) { return f(x[0]); }; };
  const Array places = array({0, 0, 2, 2});
  static const std::map<std::string, Operation> operations{
      {"abs", unary(abs)},
      {"sign", unary(sign)},
      {"negative", unary(negative)},
      {"square", unary(square)},
      {"invert", unary(invert)},
      {"logical_not", unary(logical_not)},
      {"floor", unary(floor)},
      {"sum", along([](const Array& x) { return sum(x); })},
      {"prod", along([](const Array& x) { return prod(x); })},
      {"mean", along([](const Array& x) { return mean(x); })},
      {"max", along([](const Array& x) { return max(x); })},
      {"min", along([](const Array& x) { return min(x); })},
      {"any", along([](const Array& x) { return any(x); })},
      {"all", along([](const Array& x) { return all(x); })},
      {"argmax", along([](const Array& x) { return argmax(x); })},
      {"argmin", along([](const Array& x) { return argmin(x); })},
      {"cumsum", along([](const Array& x) { return cumsum(x); })},
      {"cumprod", along([](const Array& x) { return cumprod(x); })},
      {"cummax", along([](const Array& x) { return cummax(x); })},
      {"sort", along([](const Array& x) { return sort(x); })},
      {"argsort", along([](const Array& x) { return argsort(x); })},
      {"flip", along([](const Array& x) { return flip(x); })},
      {"diff", along([](const Array& x) { return diff(x); })},
      {"median", along([](const Array& x) { return median(x); })},
      {"std", along([](const Array& x) { return std(x); })},
      {"sqrt", unary(sqrt)},
      {"exp", unary(exp)},
      {"population_count", unary(lax::population_count)},
      {"integer_pow_3", along([](const Array& x) { return lax::integer_pow(x, 3); })},
      {"plus_1", along([](const Array& x) { return x + 1; })},
      {"times_2.5", along([](const Array& x) { return x * 2.5; })},
      {"power_2", along([](const Array& x) { return power(x, 2); })},
      {"top_k_2", along([](const Array& x) { return top_k(x, 2).first; })},
      {"one_hot_9", along([](const Array& x) { return nn::one_hot(x, 9, f32); })},
      {"clip", along([](const Array& x) { return clip(x, 3, 90); })},
      {"relu", unary(nn::relu)},
      {"add", binary(add)},
      {"subtract", binary(subtract)},
      {"multiply", binary(multiply)},
      {"floor_divide", binary(floor_divide)},
      {"remainder", binary(remainder)},
      {"true_divide", binary(true_divide)},
      {"power", binary(power)},
      {"fmod", binary(fmod)},
      {"maximum", binary(maximum)},
      {"minimum", binary(minimum)},
      {"left_shift", binary(left_shift)},
      {"right_shift", binary(right_shift)},
      {"shift_right_logical", binary(lax::shift_right_logical)},
      {"bitwise_and", binary(bitwise_and)},
      {"bitwise_or", binary(bitwise_or)},
      {"bitwise_xor", binary(bitwise_xor)},
      {"div", binary(lax::div)},
      {"rem", binary(lax::rem)},
      {"equal", binary(equal)},
      {"not_equal", binary(not_equal)},
      {"less", binary(less)},
      {"less_equal", binary(less_equal)},
      {"greater", binary(greater)},
      {"greater_equal", binary(greater_equal)},
      {"dot", binary(dot)},
      {"outer", binary(outer)},
      {"where", [](std::span<const Array> x) { return where(x[0] > x[1], x[0], x[1]); }},
      {"searchsorted", [](std::span<const Array> x) { return searchsorted(sort(x[0]), x[1]); }},
      {"scatter_add", [places](std::span<const Array> x) { return x[0].at(places).add(x[1][slice(4)]); }},
      {"scatter_max", [places](std::span<const Array> x) { return x[0].at(places).max(x[1][slice(4)]); }},
      {"scatter_mul", [places](std::span<const Array> x) { return x[0].at(places).multiply(x[1][slice(4)]); }},
      {"take", [](std::span<const Array> x) { return x[0][x[1]]; }},
      {"dynamic_slice", [](std::span<const Array> x) { return dynamic_slice(x[0], {x[1][3]}, {2}); }},
  };
  return operations;
}

Operation operation_of(const Json& c) {
  const std::string op = c.at("op");
  if (auto found = table().find(op); found != table().end()) return found->second;
  const DType to = parse_dtype(c.at("to"));
  if (op == "astype") return [to](std::span<const Array> x) { return astype(x[0], to); };
  if (op == "bits") return [to](std::span<const Array>) { return random::bits(random::key(3), {7}, to); };
  if (op == "arange_300") return [to](std::span<const Array>) { return arange(300, to); };
  if (op != "randint") throw std::runtime_error("goldens: no operation " + op);
  return [to, lo = c.at("lo").get<std::int64_t>(), hi = c.at("hi").get<std::int64_t>()](std::span<const Array>) {
    return random::randint(random::key(3), {7}, lo, hi, to);
  };
}

bool equal(const Array& got, const Array& want) {
  if (!(got.type() == want.type())) return false;
  if (!is_float(got.dtype())) return array_equal(got, want);
  const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
  const double tolerance = got.dtype() == f64 ? 1e-13 : 2e-6;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (!(a[i] == b[i] || std::abs(a[i] - b[i]) <= tolerance * std::abs(b[i]))) return false;
  }
  return true;
}

TEST(Integers, RecordedResults) {
  const Json file = read_json(golden_path("integers.json"));
  std::size_t checked = 0;
  for (const Json& c : file.at("cases")) {
    const X64 scope(c.at("x64").get<bool>());
    SCOPED_TRACE(
        fmt::format("{} x64={} of {}", c.at("op").get<std::string>(), c.at("x64").get<bool>(), c.at("inputs").dump()));
    const Operation f = operation_of(c);
    Arrays in;
    for (const Json& x : c.at("inputs")) in.push_back(read(x));
    const Array want = read(c.at("output")), got = f(in);
    EXPECT_TRUE(equal(got, want)) << got.type().str() << " " << got << " is not " << want.type().str() << " " << want;
    const Array compiled = jit([&f](const std::vector<Array>& x) { return f(x); })(in);
    EXPECT_TRUE(test::same_bits(compiled, got)) << compiled;
    ++checked;
  }
  EXPECT_GT(checked, 1300u);
}

TEST(Integers, RecordedPromotion) {
  const X64 scope;
  const Json file = read_json(golden_path("integers.json"));
  for (const Json& row : file.at("promotion")) {
    const DType a = parse_dtype(row.at("a")), b = parse_dtype(row.at("b"));
    EXPECT_EQ((ones({1}, a) * ones({1}, b)).dtype(), parse_dtype(row.at("result"))) << name_of(a) << " " << name_of(b);
  }
  // The lattice, not a chain of pairs, decides: u64 and i8 alone are floats, beside a float they are what it is.
  EXPECT_EQ(concatenate({ones({1}, u64), ones({1}, i8), ones({1}, bf16)}).dtype(), bf16);
}

}  // namespace
}  // namespace anew::golden
