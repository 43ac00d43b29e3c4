// The cost model of plans: analytic, so that the same Program has the same plan on every machine at any time. What
// counts is how times relate. The unit is one core with wide vectors: products run at its peak; a kernel takes what its
// instructions or its operands' way from memory take, whichever is longer; what a tile has seen is in the cache. More
// threads divide all of it by about the same number. docs/memory.md shows the model beside the clock.
#include <algorithm>
#include <set>

#include "passes/step_graph.h"
#include "plan/mixed.h"
#include "plan/revolve.h"

namespace anew::passes {
namespace {

constexpr double start = 0.2e-6;  // of a step
constexpr double unknown_length = 100;
// Per second: multiplications and additions of products and convolutions, those of other calls (sorts, factorizations,
// transforms), bytes from memory and from the cache, to a file and back (another thread has to be woken there).
constexpr double product_flops = 100e9, call_flops = 5e9, memory_bytes = 20e9, cache_bytes = 100e9;
constexpr double written_bytes = 0.42e9, read_bytes = 2e9, file_start = 10e-6;
// Of an element in four bytes.
constexpr double simple = 0.03e-9, division = 0.15e-9, function = 0.5e-9, remainder = 3e-9;

double length_of(std::int64_t length) { return length < 0 ? unknown_length : static_cast<double>(length); }

// Wider elements fill a vector sooner, and functions of them take longer polynomials.
double time_of(const loops::Node& n) {
  const double width = static_cast<double>(std::max<std::size_t>(size_of(n.dtype), 4)) / 4;
  switch (n.op) {
    case loops::Op::load:
    case loops::Op::index:
    case loops::Op::constant: return 0;
    case loops::Op::div:
    case loops::Op::sqrt: return division * width;
    case loops::Op::rem: return remainder * width;
    case loops::Op::call: return function * width * width;
    default: return simple * width;
  }
}

double arithmetic(const loops::Kernel& k) {
  double iterations = 1, sum = k.combine == loops::Combine::none ? 0 : simple;
  for (std::int64_t n : k.extents) iterations *= static_cast<double>(n);
  for (const loops::Node& n : k.nodes) sum += time_of(n);
  return iterations * sum;
}

double flops_of(const Body& body, const Step& s) {
  const bool wide = !s.out.empty() && size_of(body.type(s.out[0]).dtype) > 4;
  return s.primitive && s.primitive->facts.batched_dot ? product_flops / (wide ? 2 : 1) : call_flops;
}

// What a tile has seen is near: what it makes for itself, and whatever it read or wrote before.
using Near = std::set<StorageId>;

double time_to_move(const Body& body, const Step& s, Near* near) {
  double seconds = 0;
  auto add = [&](ValueId v) {
    const Storage& storage = body.storage_of(v);
    const bool known =
        near && (storage.kind == Storage::Kind::temporary || !near->insert(body.values[v].storage).second);
    seconds +=
        static_cast<double>(std::min(body.type(v).bytes(), storage.bytes)) / (known ? cache_bytes : memory_bytes);
  };
  for (ValueId v : s.in) add(v);
  for (ValueId v : s.out) add(v);
  return seconds;
}

double time_of(const Body& body, const Step& s, Near* near);

double time_of(const Body& body, Near* near = nullptr) {
  double sum = 0;
  for (const Step& s : body.steps) sum += time_of(body, s, near);
  return sum;
}

// On the way back states between those that were kept are made again by the schedule that will run.
double advances_of(const Body& body, const Step& s) {
  const Unwind& u = *s.as<Unwind>();
  const double length = length_of(u.length);
  if (!u.backward) return length;
  if (u.carries == 0) return 0;
  if (u.residuals >= 0 && u.schedule) {
    const auto last = static_cast<double>(u.schedule->length() - u.schedule->forward().taped);
    const double again = static_cast<double>(u.schedule->extra_steps()) - length;
    return std::max(0.0, u.length == u.schedule->length() ? again + last : again);
  }
  const std::size_t first = static_cast<std::size_t>(u.constants + u.xs) + (u.length < 0 ? 2 : 0);
  const std::int64_t slots = body.type(s.in[first]).shape[0];
  return static_cast<double>(plan::extra_steps(static_cast<std::int64_t>(length), std::max<std::int64_t>(slots, 1))) -
         (length - 1);
}
double time_of_unwind(const Body& body, const Step& s) {
  double each = time_of(*s.bodies[1]);
  if (s.bodies.size() > 2) each += time_of(*s.bodies[2]);
  return advances_of(body, s) * time_of(*s.bodies[0]) + length_of(s.as<Unwind>()->length) * each;
}

// States that go to a file and come back.
double time_on_disk(const Body& body, const Step& s) {
  const Loop& loop = *s.as<Loop>();
  if (loop.disk.empty() || loop.record.empty()) return 0;
  std::size_t bytes = 0;
  for (auto v = s.out.end() - std::ssize(loop.record); v != s.out.end(); ++v) bytes += body.type(*v).bytes();
  const auto slots = static_cast<double>(std::max<std::int64_t>(loop.slots, 1));
  const auto state = static_cast<std::size_t>(static_cast<double>(bytes) / slots);
  return slots * (modelled_time_to_write(state) + modelled_time_to_read(state));
}

double time_of(const Body& body, const Step& s, Near* near) {
  const double begin = near ? 0 : start;
  if (auto* loop = s.as<Loop>()) {
    const double condition = s.bodies.size() > 1 ? time_of(*s.bodies[1]) : 0;
    return begin + time_on_disk(body, s) + length_of(loop->length) * (time_of(*s.bodies[0]) + condition);
  }
  if (s.is<Branch>()) {
    double most = 0;
    for (const auto& b : s.bodies) most = std::max(most, time_of(*b));
    return begin + most;
  }
  if (s.is<Unwind>()) return begin + time_of_unwind(body, s);
  if (auto* tiles = s.as<Tiles>()) {
    double count = 1;
    for (std::int64_t n : tiles->outer) count *= static_cast<double>(n);
    Near seen;
    return begin + count * time_of(*s.bodies[0], &seen);
  }
  if (auto* call = s.as<Call>(); call && call->moves != Call::Moves::no) {
    const std::size_t bytes = body.type(s.in[0]).bytes();
    return call->moves == Call::Moves::out ? modelled_time_to_write(bytes) : modelled_time_to_read(bytes);
  }
  const double work = s.is<Kernel>() ? arithmetic(s.kernel()) : s.flops / flops_of(body, s);
  return begin + std::max(work, time_to_move(body, s, near));
}

}  // namespace

double modelled_time(const Body& body, const Step& step) { return time_of(body, step, nullptr); }
double modelled_time(const Body& body) { return time_of(body); }
double modelled_time_of_products(double flops) { return flops / product_flops; }
double modelled_time_to_write(std::size_t bytes) { return file_start + static_cast<double>(bytes) / written_bytes; }
double modelled_time_to_read(std::size_t bytes) { return file_start + static_cast<double>(bytes) / read_bytes; }

}  // namespace anew::passes
