// The text of a function in MLIR's notation: one line per operation, values named %0, %1, ... as they are made. Helpers
// for the operations that many rows are made of; whatever else StableHLO has is written by `op`, in the generic form.
#pragma once
#include <fmt/format.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "ir/program.h"

namespace anew::stablehlo {

using ir::Type;

// Of the text: "%3", or "%3#1" where an operation has several results.
struct Value {
  std::string name;
  Type type;
};
using Values = std::vector<Value>;
using Types = std::vector<Type>;

// ---- words
std::string element_text(DType d);                 // "f32", "ui8", "i1"
std::string text_of(const Type& type);             // "tensor<2x3xf32>"
std::string text_of(std::span<const Type> types);  // "tensor<f32>, tensor<i1>"
std::string quoted(std::string_view s);            // with escapes
std::string listed(const Shape& s);                // "0, 1"
std::string listed(const std::vector<int>& s);
std::string array_text(const Shape& s);  // "array<i64: 0, 1>", "array<i64>" where it is empty
// The numbers of an array, row-major, as `dense<...>` says them; and one number everywhere.
std::string dense_text(const Type& type, const std::byte* data);
std::string splat_text(DType d, std::uint64_t bits);

class Writer {
 public:
  // A function with these parameters: begins with `header`, the text up to its brace.
  Writer() = default;

  // ---- any operation
  struct Op {
    std::string_view name;        // "stablehlo.sort"
    std::string attributes = {};  // inside <{ }>
    std::vector<std::function<void(Writer&, const Values&)>> regions = {};
    Types arguments = {};  // of each region
  };
  Values op(const Op& what, const Values& in, const Types& out);
  Value op1(const Op& what, const Values& in, const Type& out) { return op(what, in, {out})[0]; }
  Values call(const std::string& function, const Values& in, const Types& out);
  void give(const Values& out);    // ends a region
  void finish(const Values& out);  // ends the function
  void line(const std::string& text);

  // ---- those that are written all the time
  Value constant(const Type& type, std::uint64_t bits);  // everywhere
  Value number(const Type& type, double v) { return constant(type, bits_of(type.dtype, v)); }
  Value integer(const Type& type, std::int64_t v) { return constant(type, bits_of(type.dtype, v)); }
  Value integers(DType d, const std::vector<std::int64_t>& v);  // a vector
  Value array(const Type& type, const std::byte* data);
  Value unary(std::string_view name, const Value& x);
  Value binary(std::string_view name, const Value& x, const Value& y);
  Value compare(std::string_view direction, const Value& x, const Value& y);  // "LT", "EQ", ...
  Value select(const Value& c, const Value& yes, const Value& no);
  Value convert(const Value& x, DType d);
  Value broadcast(const Value& x, const Shape& shape, const std::vector<int>& dims);
  Value spread(const Value& scalar, const Shape& shape);  // a scalar, everywhere
  Value reshape(const Value& x, const Shape& shape);
  Value transpose(const Value& x, const std::vector<int>& permutation);
  Value slice(const Value& x, const Shape& start, const Shape& limit, const Shape& strides);
  Value pad(const Value& x, const Value& value, const Shape& before, const Shape& after, const Shape& between);
  Value concatenate(const Values& x, int axis);
  Value reverse(const Value& x, const std::vector<int>& axes);
  Value iota(const Type& type, int axis);
  Value dynamic_slice(const Value& x, const Values& starts, const Shape& sizes);
  Value dynamic_update_slice(const Value& x, const Value& update, const Values& starts);
  // Joined along axes by one operation of two scalars, which gives `init` where there is nothing.
  Value reduce(std::string_view name, const Value& x, const std::vector<int>& axes, std::uint64_t init);
  Value is_nan(const Value& x) { return compare("NE", x, x); }
  // Element i of the leading axis, and writing it.
  Value row(const Value& stack, const Value& i);
  Value with_row(const Value& stack, const Value& i, const Value& row);

  std::string take() { return std::move(text_); }
  std::string next_name() { return fmt::format("%{}", next_++); }

 private:
  std::string text_;
  int next_ = 0, depth_ = 2;
};

Shape repeated(int n, std::int64_t v);
Type scalar(DType d);
Type with_dtype(Type t, DType d);

}  // namespace anew::stablehlo
