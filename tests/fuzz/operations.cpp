// First-order operations of random programs. Those that could leave the range where derivatives are checked have a
// tame inner function: exp(tanh(x)), a / (2 + sin(b)).
#include <cmath>
#include <map>

#include "fuzz/program.h"

namespace anew::fuzz {
namespace {

int number(std::int64_t k) { return static_cast<int>(k); }
Axes axes(std::int64_t k) { return k < 0 ? Axes{} : Axes(number(k)); }
Shape shape_from(const Params& p, std::size_t from = 0) {
  return Shape(std::span<const std::int64_t>(p).subspan(from));
}
std::vector<int> numbers(const Params& p) { return {p.begin(), p.end()}; }

// Indices, without the first parameter.
Array places(const Params& p) { return array(std::vector<std::int64_t>(p.begin() + 1, p.end()), i32); }

// An array that the program captures: no input, not a literal.
Array constant(const Shape& shape, std::int64_t k, DType d) {
  std::vector<double> v(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<double>(k) + static_cast<double>(i));
  return array(v, shape, d);
}

template <class F>
Operation unary(F f) {
  return [f](In x, const Params&) { return Arrays{f(x[0])}; };
}
template <class F>
Operation binary(F f) {
  return [f](In x, const Params&) { return Arrays{f(x[0], x[1])}; };
}
template <class F>
Operation with(F f) {  // f(x, params)
  return [f](In x, const Params& k) { return Arrays{f(x[0], k)}; };
}
template <class F>
Operation reduction(F f) {
  return with([f](const Array& x, const Params& k) { return f(x, axes(k[0]), k[1] != 0); });
}

std::map<std::string, Operation, std::less<>> make_operations() {
  return {
      {"sin", unary([](const Array& x) { return sin(x); })},
      {"cos", unary([](const Array& x) { return cos(x); })},
      {"tanh", unary([](const Array& x) { return tanh(x); })},
      {"neg", unary([](const Array& x) { return -x; })},
      {"exp", unary([](const Array& x) { return exp(tanh(x)); })},
      {"log", unary([](const Array& x) { return log1p(square(x)); })},
      {"sqrt", unary([](const Array& x) { return sqrt(1 + square(x)); })},
      {"square", unary([](const Array& x) { return square(sin(x)); })},
      {"cube", unary([](const Array& x) { return lax::integer_pow(tanh(x), 3); })},
      {"recip", unary([](const Array& x) { return 1 / (2 + cos(x)); })},
      {"abs", unary([](const Array& x) { return abs(x); })},
      {"relu", unary([](const Array& x) { return nn::relu(x); })},
      {"sigmoid", unary([](const Array& x) { return nn::sigmoid(x); })},
      {"gelu", unary([](const Array& x) { return nn::gelu(x); })},
      {"erf", unary([](const Array& x) { return erf(x); })},
      {"atan", unary([](const Array& x) { return atan(x); })},
      {"softplus", unary([](const Array& x) { return nn::softplus(x); })},
      {"log_sigmoid", unary([](const Array& x) { return nn::log_sigmoid(x); })},
      {"silu", unary([](const Array& x) { return nn::silu(x); })},
      {"elu", unary([](const Array& x) { return nn::elu(x); })},
      {"leaky_relu", unary([](const Array& x) { return nn::leaky_relu(x); })},
      {"hard_tanh", unary([](const Array& x) { return nn::hard_tanh(x); })},
      {"mish", unary([](const Array& x) { return nn::mish(x); })},
      {"stop", unary([](const Array& x) { return stop_gradient(x); })},
      {"copy", unary([](const Array& x) { return x; })},
      {"mixed", unary([](const Array& x) { return astype(astype(x, x.dtype() == f32 ? f64 : f32), x.dtype()); })},
      {"scale", with([](const Array& x, const Params& k) { return x * (static_cast<double>(k[0]) / 4); })},
      {"shift", with([](const Array& x, const Params& k) { return x + static_cast<double>(k[0]) / 4; })},
      {"name", with([](const Array& x, const Params& k) {
         return flat::name(x, std::string(1, static_cast<char>('a' + k[0])));
       })},
      {"add", binary([](const Array& a, const Array& b) { return a + b; })},
      {"sub", binary([](const Array& a, const Array& b) { return a - b; })},
      {"mul", binary([](const Array& a, const Array& b) { return a * b; })},
      {"div", binary([](const Array& a, const Array& b) { return a / (2 + sin(b)); })},
      {"max", binary([](const Array& a, const Array& b) { return maximum(a, b); })},
      {"min", binary([](const Array& a, const Array& b) { return minimum(a, b); })},
      {"atan2", binary([](const Array& a, const Array& b) { return atan2(a, 2 + cos(b)); })},
      {"logaddexp", binary([](const Array& a, const Array& b) { return logaddexp(a, b); })},
      {"less", binary([](const Array& a, const Array& b) { return a < b; })},
      {"where", [](In x, const Params&) { return Arrays{where(x[0], x[1], x[2])}; }},
      {"positive", unary([](const Array& x) { return sum(x) > 0; })},
      {"sum", reduction([](const Array& x, const Axes& a, bool keep) { return sum(x, a, keep); })},
      {"mean", reduction([](const Array& x, const Axes& a, bool keep) { return mean(x, a, keep); })},
      {"amax", reduction([](const Array& x, const Axes& a, bool keep) { return max(x, a, keep); })},
      {"amin", reduction([](const Array& x, const Axes& a, bool keep) { return min(x, a, keep); })},
      {"prod", reduction([](const Array& x, const Axes& a, bool keep) { return prod(tanh(x), a, keep); })},
      {"logsumexp", reduction([](const Array& x, const Axes& a, bool keep) { return logsumexp(x, a, keep); })},
      {"var", reduction([](const Array& x, const Axes& a, bool keep) { return var(x, a, keep); })},
      {"log_softmax", with([](const Array& x, const Params& k) { return nn::log_softmax(x, number(k[0])); })},
      {"standardize", with([](const Array& x, const Params& k) { return nn::standardize(x, number(k[0])); })},
      {"layer_norm", [](In x, const Params&) { return Arrays{nn::layer_norm(x[0], x[1], x[2])}; }},
      {"rms_norm", [](In x, const Params&) { return Arrays{nn::rms_norm(x[0], x[1])}; }},
      {"einsum3", [](In x, const Params&) { return Arrays{einsum("ij,jk,k->i", x[0], x[1], x[2])}; }},
      {"softmax", with([](const Array& x, const Params& k) { return nn::softmax(x, number(k[0])); })},
      {"matmul", binary([](const Array& a, const Array& b) { return matmul(a, b); })},
      {"matmul_t", binary([](const Array& a, const Array& b) { return matmul(a, swapaxes(b, -1, -2)); })},
      {"outer", binary([](const Array& a, const Array& b) { return outer(ravel(a), ravel(b)); })},
      {"vdot", binary([](const Array& a, const Array& b) { return vdot(a, b); })},
      {"reshape", with([](const Array& x, const Params& k) { return reshape(x, shape_from(k)); })},
      {"ravel", unary([](const Array& x) { return ravel(x); })},
      {"transpose", with([](const Array& x, const Params& k) { return transpose(x, numbers(k)); })},
      {"expand", with([](const Array& x, const Params& k) { return expand_dims(x, number(k[0])); })},
      {"squeeze", unary([](const Array& x) { return squeeze(x); })},
      {"spread",  // a new axis in front, of size k
       with([](const Array& x, const Params& k) {
         Shape s = x.shape();
         s.insert(0, k[0]);
         return broadcast_to(x, s);
       })},
      {"index", with([](const Array& x, const Params& k) { return x[k[0]]; })},
      {"slice",  // along one axis: axis, start, stop, step
       with([](const Array& x, const Params& k) {
         Shape start = x.shape(), stop = x.shape(), step = x.shape();
         for (int i = 0; i < start.ndim(); ++i) start[i] = 0, step[i] = 1;
         start[number(k[0])] = k[1], stop[number(k[0])] = k[2], step[number(k[0])] = k[3];
         return lax::slice(x, start, stop, step);
       })},
      {"flip", with([](const Array& x, const Params& k) { return flip(x, number(k[0])); })},
      {"roll", with([](const Array& x, const Params& k) { return roll(x, k[0], number(k[1])); })},
      {"pad",  // axis, before, after, between
       with([](const Array& x, const Params& k) {
         std::vector<lax::Padding> config(static_cast<std::size_t>(x.ndim()), {0, 0, 0});
         config[static_cast<std::size_t>(k[0])] = {k[1], k[2], k[3]};
         return lax::pad(x, 0.5, config);
       })},
      {"concat", [](In x, const Params& k) { return Arrays{concatenate(Arrays(x.begin(), x.end()), number(k[0]))}; }},
      {"stack", [](In x, const Params& k) { return Arrays{stack(Arrays(x.begin(), x.end()), number(k[0]))}; }},
      {"split", [](In x, const Params& k) { return split(x[0], std::vector<std::int64_t>{k[1]}, number(k[0])); }},
      {"sort", with([](const Array& x, const Params& k) { return sort(x, number(k[0]), k[1] != 0); })},
      {"cumsum", with([](const Array& x, const Params& k) { return cumsum(x, number(k[0]), k[1] != 0); })},
      {"cumprod", with([](const Array& x, const Params& k) { return cumprod(tanh(x), number(k[0]), k[1] != 0); })},
      {"cummax", with([](const Array& x, const Params& k) { return cummax(x, number(k[0]), k[1] != 0); })},
      {"take",  // axis, then the places
       with([](const Array& x, const Params& k) { return take(x, places(k), number(k[0])); })},
      {"largest",  // the place of the largest element, which varies, decides what is read
       with([](const Array& x, const Params& k) { return take(x, argmax(x, number(k[0])), number(k[0])); })},
      {"put",  // rows of the second operand added at places along the first axis of the first
       [](In x, const Params& k) { return Arrays{x[0].at(places(k)).add(x[1])}; }},
      {"tril", unary([](const Array& x) { return tril(x); })},
      {"constant",  // k, f64?, shape
       [](In, const Params& k) { return Arrays{constant(shape_from(k, 2), k[0], k[1] ? f64 : f32)}; }},
      {"zeros", [](In, const Params& k) { return Arrays{zeros(shape_from(k, 2), k[1] ? f64 : f32)}; }},
      {"number", [](In, const Params& k) { return Arrays{array(static_cast<double>(k[0]) / 8, k[1] ? f64 : f32)}; }},
  };
}

}  // namespace

const Operation* find_operation(std::string_view name) {
  static const auto all = make_operations();
  auto it = all.find(name);
  return it == all.end() ? nullptr : &it->second;
}

}  // namespace anew::fuzz
