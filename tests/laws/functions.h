// The public functions of arrays, as laws of derivatives see them: every function that a public header declares is in
// one of three tables, or a test fails (functions_test.cpp): elementwise functions of one or two operands, other
// functions with an example of each, and those that have no derivative, with the reason.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ir/primitive.h"

namespace anew::test {

struct ElementwiseFunction {
  std::string name;  // "nn::gelu exact": behind the function's name a word for its static arguments
  int arity;
  std::function<Array(std::span<const Array>)> f;
  // Inside the domain, away from kinks.
  double lo = -2, hi = 2, second_lo = 0.3, second_hi = 2;
  std::string same_as = "";  // another name of this one
};
const std::vector<ElementwiseFunction>& elementwise_functions();

struct ComposedFunction {
  std::string name;
  FlatFunction f;
  std::vector<ir::SampleInput> inputs;
};
const std::vector<ComposedFunction>& composed_functions();

// Name and reason.
const std::vector<std::pair<std::string, std::string>>& functions_without_derivatives();

// The names of all functions that the public headers declare to return arrays, with their namespaces: "nn::relu".
std::vector<std::string> declared_functions();

}  // namespace anew::test
