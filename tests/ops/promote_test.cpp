// Promotion against the recorded table. The library always has 64-bit types, so arrays follow the rows recorded with
// them on; default types are 32 bits, so rows with a C++ number (weak in the table) follow those recorded with them
// off.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "ops/helpers.h"
#include "ops/promote.h"

namespace anew {
namespace {

using test::error_of;
using Json = nlohmann::json;

Json table() {
  std::ifstream in(ANEW_TESTS_DIR "/data/goldens/promotion.json");
  return Json::parse(in);
}

const std::map<std::string, DType> dtypes = [] {
  std::map<std::string, DType> out;
  for (DType d : all_dtypes) out.emplace(name_of(d), d);
  return out;
}();

bool is_number(const std::string& kind) { return kind.starts_with("python"); }
Array operand(const std::string& kind) {
  if (kind == "python_int") return 2;
  if (kind == "python_float") return 2.0;
  return ones({3}, dtypes.at(kind));
}

// JAX with 64 bits on makes 64-bit results of numbers; ours are 32 bits there, so the other setting decides.
bool applies(const Json& row, const std::string& a, const std::string& b) {
  bool wide = a == "i64" || a == "f64" || b == "i64" || b == "f64";
  bool number_decides = (a == "python_float" && (b == "i64" || is_number(b))) ||
                        (b == "python_float" && (a == "i64" || is_number(a))) || (a == "python_int" && b == "i64");
  return row["x64"].get<bool>() == (wide && !number_decides);
}

// Powers are recorded of scalars, at whose values JAX looks: an exponent that it knows does not widen the base. Of
// arrays it promotes, as all operations do; bools are numbers then.
DType power_of_arrays(const Json& row) {
  const std::string a = row["a"], b = row["b"];
  const DType promoted = dtypes.at(row["mul"]["dtype"]);
  if (is_number(b) || is_float(promoted)) return dtypes.at(row["pow"]["dtype"]);
  return promoted == bool_ ? i32 : promoted;
}

TEST(Promotion, BinaryTable) {
  int checked = 0;
  std::size_t rows = 0;
  const Json recorded = table();
  for (const Json& row : recorded["binary"]) {
    std::string a = row["a"], b = row["b"];
    if (!applies(row, a, b)) continue;
    ++rows;
    Array x = operand(a), y = operand(b);
    auto expect = [&](const char* what, auto f) {
      if (row[what].is_null()) return;
      EXPECT_EQ(f().dtype(), dtypes.at(row[what]["dtype"])) << what << " of " << a << " and " << b;
      ++checked;
    };
    if (a == "python_int" && b == "i64") continue;  // 32 bits by default types there; i64 here, tested below
    expect("mul", [&] { return x * y; });
    expect("true_divide", [&] { return x / y; });
    EXPECT_EQ(power(x, y).dtype(), power_of_arrays(row)) << a << " to the power " << b;
    expect("where", [&] { return where(true, x, y); });
  }
  EXPECT_GT(checked, 200);
  // Every pair is recorded with and without JAX's 64 bit mode: here a type is what it is, and one of the two applies.
  EXPECT_EQ(rows, recorded["binary"].size() / 2);
}

// With x64 every row that was recorded so applies.
TEST(Promotion, BinaryTableWithX64) {
  X64 scope;
  int checked = 0;
  const Json recorded = table();
  for (const Json& row : recorded["binary"]) {
    if (!row["x64"].get<bool>()) continue;
    std::string a = row["a"], b = row["b"];
    Array x = operand(a), y = operand(b);
    auto expect = [&](const char* what, auto f) {
      if (row[what].is_null()) return;
      EXPECT_EQ(f().dtype(), dtypes.at(row[what]["dtype"])) << what << " of " << a << " and " << b;
      ++checked;
    };
    expect("mul", [&] { return x * y; });
    expect("true_divide", [&] { return x / y; });
    EXPECT_EQ(power(x, y).dtype(), power_of_arrays(row)) << a << " to the power " << b;
    expect("where", [&] { return where(true, x, y); });
  }
  EXPECT_GT(checked, 200);
}

// Of every two integer types, eagerly and compiled; values as JAX has them.
TEST(Promotion, PowersOfIntegersPromote) {
  for (DType a : all_dtypes)
    for (DType b : all_dtypes) {
      if (is_float(a) || is_float(b) || (a == bool_ && b == bool_)) continue;
      Array x = ones({3}, a), y = ones({3}, b);
      EXPECT_EQ(power(x, y).dtype(), (x * y).dtype()) << name_of(a) << " to the power " << name_of(b);
      EXPECT_EQ(power(x, 2).dtype(), a == bool_ ? i32 : a);
      EXPECT_EQ(power(2, x).dtype(), (2 * x).dtype());
    }
  auto check = [](const Array& x, const Array& y, std::vector<std::int64_t> want) {
    EXPECT_EQ(power(x, y).to_vector<std::int64_t>(), want);
    EXPECT_EQ(jit([](Array x, Array y) { return pow(x, y); })(x, y).to_vector<std::int64_t>(), want);
  };
  check(array({10, 100}, i8), array({3, 2}), {1000, 10000});
  check(array({2, 3}, u8), array({10, 20}, i32), {1024, -808182895});
  check(array({10, 3}), array({10, 2}, i64), {10000000000, 9});
  EXPECT_EQ(power(2, array({1, 2, 7}, i8)).to_vector<int>(), (std::vector<int>{2, 4, -128}));
}

TEST(Promotion, NumbersYieldToArraysOfTheirKind) {
  EXPECT_EQ((2 * ones({3}, i64)).dtype(), i64);
  EXPECT_EQ((2 / ones({3}, i64)).dtype(), f64);
  EXPECT_EQ((2.5 * ones({3}, i64)).dtype(), f32);
  EXPECT_EQ((2.5 * ones({3}, f64)).dtype(), f64);
  EXPECT_EQ((0.1 * ones({}, f64)).item<double>(), 0.1);  // the whole double, not a rounded one
  EXPECT_EQ((Array(3) * 2).dtype(), i32);
  EXPECT_EQ((Array(3) * 2.0).dtype(), f32);
  EXPECT_EQ((Array(3) / 2).dtype(), f32);
  EXPECT_EQ((Array(true) + true).dtype(), bool_);
}

TEST(Promotion, NumbersThatDoNotFitAreErrors) {
  const std::string hint = "; hint: give the dtype i64, or convert the array beside it with astype(x, i64)";
  EXPECT_EQ(error_of([] { (void)(ones({2}, i32) + 5000000000); }),
            std::string("[array] the number 5000000000 does not fit i32") + hint);
  EXPECT_EQ(error_of([] { (void)full({2}, -5000000000, u32); }),
            std::string("[full] the number -5000000000 does not fit u32") + hint);
  EXPECT_EQ((ones({}, i64) + 5000000000).item<std::int64_t>(), 5000000001);
  EXPECT_EQ((ones({}, u32) * 0xffffffffu).item<std::int64_t>(), 0xffffffff);
  EXPECT_EQ((ones({}, f64) + 5000000000).item<double>(), 5000000001.);
}

TEST(Promotion, UnsignedMeetSigned) {
  EXPECT_EQ(promote(i32, u32), i64);
  EXPECT_EQ(promote(u32, i64), i64);
  EXPECT_EQ(promote(bool_, u32), u32);
  EXPECT_EQ(promote(u32, f16), f16);
  EXPECT_EQ(promote(bf16, f16), f32);
}

TEST(Promotion, UnaryTable) {
  const Json recorded = table();
  for (const Json& row : recorded["unary"]) {
    std::string a = row["a"];
    // Without x64 the library has 64-bit types all the same; only what is made of 32 bits stays so.
    bool x64 = row["x64"].get<bool>(), wide = a == "i64" || a == "f64";
    if (!x64 && wide) continue;
    X64 scope(x64);
    Array x = operand(a);
    auto expect = [&](const char* what, auto f) {
      if (!row[what].is_null()) {
        EXPECT_EQ(f(x).dtype(), dtypes.at(row[what]["dtype"])) << what << " of " << a;
      }
    };
    expect("asarray", [](const Array& v) { return asarray(v); });
    expect("neg", [](const Array& v) { return -v; });
    expect("sin", [](const Array& v) { return sin(v); });
    expect("sqrt", [](const Array& v) { return sqrt(v); });
    expect("exp", [](const Array& v) { return exp(v); });
    expect("sum", [](const Array& v) { return sum(v); });
    expect("prod", [](const Array& v) { return prod(v); });
    expect("mean", [](const Array& v) { return mean(v); });
    expect("max", [](const Array& v) { return max(v); });
    expect("floor", [](const Array& v) { return floor(v); });
    expect("round", [](const Array& v) { return round(v); });
    expect("square", [](const Array& v) { return square(v); });
    expect("abs", [](const Array& v) { return abs(v); });
    if (x.ndim()) expect("matmul", [](const Array& v) { return matmul(v, v); });
  }
  EXPECT_EQ(argmax(ones({3}, i64)).dtype(), i32);
  X64 scope;
  EXPECT_EQ(argmax(ones({3}, i64)).dtype(), i64);
}

TEST(Promotion, Broadcasting) {
  EXPECT_EQ((ones({3, 1}) + ones({4})).shape(), (Shape{3, 4}));
  EXPECT_EQ((ones({2, 1, 4}) * ones({3, 1})).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ((ones({0, 3}) + ones({1})).shape(), (Shape{0, 3}));
  EXPECT_EQ(error_of([] { (void)(ones({2, 3}) + ones({4})); }), "[add] shapes do not broadcast: f32[2,3] and f32[4]");
  EXPECT_EQ(error_of([] { (void)where(ones({2}, bool_), ones({3}), 0); }),
            "[where] shapes do not broadcast: bool[2], f32[] and f32[3]");
}

TEST(Promotion, AnUninitialisedArrayIsReported) {
  Array x;
  const std::string text =
      "uninitialised Array used as an operand; hint: `Array x;` is no array yet, one that was moved from is none any "
      "more: assign one first";
  EXPECT_EQ(error_of([&] { (void)(x + 1); }), text);
  EXPECT_EQ(error_of([&] { (void)sin(x); }), text);
  EXPECT_EQ(error_of([&] { (void)sum(x); }), text);
  EXPECT_EQ(error_of([&] { (void)x[0]; }), text);
}

}  // namespace
}  // namespace anew
