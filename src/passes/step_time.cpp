// The cost model of plans: analytic, so that the same Program has the same plan on every machine and at every time.
#include <algorithm>

#include "passes/step_graph.h"

namespace anew::passes {
namespace {

// Of calls (products, convolutions) and of kernels: about what two cores of a server do.
constexpr double flops_of_calls = 150e9, flops_of_kernels = 10e9, bytes_a_second = 10e9, start = 1e-6;
constexpr double unknown_length = 100;

double length_of(std::int64_t length) { return length < 0 ? unknown_length : static_cast<double>(length); }

double bytes_of(const Body& body, ValueId v) {
  return static_cast<double>(std::min(body.type(v).bytes(), body.storage_of(v).bytes));
}

double time_of(const Body& body, const Step& s, double to_start);

double time_of(const Body& body, double to_start) {
  double sum = 0;
  for (const Step& s : body.steps) sum += time_of(body, s, to_start);
  return sum;
}

double time_of(const Body& body, const Step& s, double to_start) {
  if (auto* loop = s.as<Loop>()) {
    const double condition = s.bodies.size() > 1 ? time_of(*s.bodies[1], start) : 0;
    return to_start + length_of(loop->length) * (time_of(*s.bodies[0], start) + condition);
  }
  if (s.is<Branch>()) {
    double most = 0;
    for (const auto& b : s.bodies) most = std::max(most, time_of(*b, start));
    return to_start + most;
  }
  if (auto* unwind = s.as<Unwind>())  // states between kept ones are made again, about twice
    return to_start + length_of(unwind->length) * (2 * time_of(*s.bodies[0], start) + time_of(*s.bodies[1], start));
  if (auto* tiles = s.as<Tiles>()) {
    double count = 1;
    for (std::int64_t n : tiles->outer) count *= static_cast<double>(n);
    return to_start + count * time_of(*s.bodies[0], 0);
  }
  double bytes = 0;
  for (ValueId v : s.in) bytes += bytes_of(body, v);
  for (ValueId v : s.out) bytes += bytes_of(body, v);
  return to_start + std::max(s.flops / (s.is<Call>() ? flops_of_calls : flops_of_kernels), bytes / bytes_a_second);
}

}  // namespace

double modelled_time(const Body& body, const Step& step) { return time_of(body, step, start); }

}  // namespace anew::passes
