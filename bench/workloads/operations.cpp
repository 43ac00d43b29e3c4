// Single operations: products, Fourier transforms, running operations, sorting, reading and writing at computed places,
// random numbers, reductions, and an eager operation. There is no gradient; what is compared is the result.
#include <cmath>

#include "inputs.h"
#include "workloads.h"

using namespace anew;

namespace workloads {
namespace {

auto product(DType dtype) {
  return [dtype](const std::string& variant, const Sizes& s) {
    const std::int64_t b = s["batch"], m = s["m"], n = s["n"], k = s["k"];
    auto operand = [&](std::uint32_t seed, std::int64_t rows, std::int64_t columns) {
      return fill(seed, b > 1 ? Shape{b, rows, columns} : Shape{rows, columns}, 1, 0, dtype);
    };
    const bool ta = variant[0] == 't', tb = variant[1] == 't';
    auto f = [=](const Array& x, const Array& y) {
      return matmul(ta ? swapaxes(x, -1, -2) : x, tb ? swapaxes(y, -1, -2) : y);
    };
    return case_of(f, ta ? operand(140, k, m) : operand(140, m, k), tb ? operand(141, n, k) : operand(141, k, n));
  };
}

Case round_trip(const std::string&, const Sizes& s) {
  const std::int64_t rows = s["rows"], columns = s["columns"];
  auto f = [=](const Array& x) {
    auto [re, im] = fft::rfftn(x);
    return fft::irfftn(re, im, Shape{rows, columns});
  };
  return case_of(f, fill(142, {rows, columns}, 1, 0, f64));
}
auto fourier(DType dtype) {
  return [dtype](const std::string& variant, const Sizes& s) {
    const Shape shape{s["batch"], s["n"]};
    const Array re = fill(143, shape, 1, 0, dtype), im = fill(144, shape, 1, 0, dtype);
    if (variant == "real") return case_of([](const Array& x) { return fft::rfft(x); }, re);
    return case_of([](const Array& re, const Array& im) { return fft::fft(re, im); }, re, im);
  };
}

int axis_of(const std::string& variant) { return variant == "first" ? 0 : 1; }
Case running_sum(const std::string& variant, const Sizes& s) {
  return case_of([axis = axis_of(variant)](const Array& x) { return cumsum(x, axis); },
                 fill(145, {s["rows"], s["columns"]}));
}
Case recurrence(const std::string&, const Sizes& s) {
  const Shape shape{s["length"], s["batch"], s["width"]};
  return case_of([](const Array& a, const Array& b) { return linear_recurrence(a, b); }, fill(146, shape, 0.4, 0.5),
                 fill(147, shape));
}
struct Affine {
  Array a, b;
};
Case prefixes(const std::string&, const Sizes& s) {
  const Shape shape{s["length"], s["width"]};
  auto f = [](const Affine& x) {
    return associative_scan([](Affine p, Affine q) { return Affine{q.a * p.a, q.a * p.b + q.b}; }, x);
  };
  return case_of(f, Affine{fill(148, shape, 0.4, 0.5), fill(149, shape)});
}

Case sorted(const std::string&, const Sizes& s) {
  return case_of([](const Array& x) { return sort(x); }, fill(150, {s["rows"], s["n"]}));
}
Case gather(const std::string&, const Sizes& s) {
  const std::int64_t rows = s["rows"];
  return case_of([](const Array& x, const Array& i) { return take(x, i, 0, "clip"); }, fill(151, {rows, s["width"]}),
                 ints(152, {s["n"]}, static_cast<std::uint32_t>(rows)));
}
Case scatter(const std::string&, const Sizes& s) {
  const std::int64_t rows = s["rows"];
  return case_of([](const Array& x, const Array& i, const Array& v) { return x.at(i).add(v); },
                 fill(153, {rows, s["width"]}), ints(154, {s["n"]}, static_cast<std::uint32_t>(rows)),
                 fill(155, {s["n"], s["width"]}));
}

Case random_numbers(const std::string& variant, const Sizes& s) {
  const std::int64_t n = s["n"];
  const Array key = random::key(156);
  if (variant == "bits") return case_of([n](const Array& k) { return random::bits(k, {n}, u32); }, key);
  return case_of([n](const Array& k) { return random::normal(k, {n}); }, key);
}

Case reduction(const std::string& variant, const Sizes& s) {
  const Array x = fill(157, {s["rows"], s["columns"]});
  if (variant == "argmax") return case_of([](const Array& x) { return argmax(x, 1); }, x);
  return case_of([axis = axis_of(variant)](const Array& x) { return sum(x, axis); }, x);
}

Case addition(const std::string&, const Sizes& s) {
  return case_of([](const Array& x, const Array& y) { return x + y; }, fill(158, {s["n"]}), fill(159, {s["n"]}));
}

}  // namespace

std::vector<Workload> operation_workloads() {
  const Sizes square{{"batch", 1}, {"m", 1024}, {"n", 1024}, {"k", 1024}}, little = square.with("batch=2,m=7,n=9,k=11");
  const Sizes line{{"batch", 1}, {"n", 1024}}, short_line = line.with("batch=2,n=12");
  const Sizes table{{"rows", 1024}, {"columns", 4096}}, small_table = table.with("rows=5,columns=9");
  const Sizes places{{"rows", 100000}, {"width", 64}, {"n", 65536}}, few = places.with("rows=20,width=3,n=11");
  const Sizes many{{"n", 4194304}}, some{{"n", 50}};
  const Sizes loop{{"length", 100}, {"batch", 32}, {"width", 64}}, prefix{{"length", 4096}, {"width", 64}};
  const std::vector<std::string> forms{"nn", "nt", "tn"};
  return {{"product_f32", forms, square, little, product(f32), 1e-5},
          {"product_f64", forms, square, little, product(f64), 1e-12},
          {"rfftn_irfftn", {"jit"}, table.with("rows=64,columns=64"), small_table, round_trip, 1e-12},
          {"fft_f32", {"complex", "real"}, line, short_line, fourier(f32), 1e-5},
          {"fft_f64", {"complex", "real"}, line, short_line, fourier(f64), 1e-12},
          {"cumsum", {"first", "last"}, table, small_table, running_sum, 1e-5},
          {"linear_recurrence", {"jit"}, loop, loop.with("length=6,batch=2,width=3"), recurrence, 1e-5},
          {"associative_scan", {"jit"}, prefix, prefix.with("length=13,width=3"), prefixes, 1e-5},
          {"sort", {"jit"}, {{"rows", 1}, {"n", 1048576}}, {{"rows", 3}, {"n", 17}}, sorted, 1e-6},
          {"gather", {"jit"}, places, few, gather, 1e-6},
          {"scatter_add", {"jit"}, places, few, scatter, 1e-6},
          {"random", {"bits", "normal"}, many, some, random_numbers, 1e-5},
          {"reduction", {"first", "last", "argmax"}, table, small_table, reduction, 1e-5},
          {"eager_add", {"eager"}, {{"n", 1000}}, {{"n", 50}}, addition, 1e-6}};
}

}  // namespace workloads
