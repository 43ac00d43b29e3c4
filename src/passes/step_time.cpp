// The cost model of plans: analytic, so that the same Program has the same plan on every machine at any time. What
// counts is how times relate. The unit is one core with wide vectors: products run at its peak; a kernel takes what its
// instructions or its operands' way from memory take, whichever is longer; what a tile has seen is in the cache. More
// threads divide all of it by about the same number. docs/memory.md shows the model beside the clock.
#include <algorithm>

#include "passes/step_parts.h"

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

// Sine and cosine of one angle: what is dear, its reduction, is done once.
bool shares_angle(const loops::Kernel& k, std::size_t i) {
  auto is_call = [&](const loops::Node& n, loops::Math m) {
    return n.op == loops::Op::call && n.imm == static_cast<std::uint64_t>(m);
  };
  const loops::Node& n = k.nodes[i];
  const bool sine = is_call(n, loops::Math::sin);
  if (!sine && !is_call(n, loops::Math::cos)) return false;
  return std::any_of(k.nodes.begin(), k.nodes.begin() + static_cast<std::ptrdiff_t>(i), [&](const loops::Node& o) {
    return o.a == n.a && o.dtype == n.dtype && is_call(o, sine ? loops::Math::cos : loops::Math::sin);
  });
}

double arithmetic(const loops::Kernel& k) {
  double iterations = 1, sum = k.combine == loops::Combine::none ? 0 : simple;
  for (std::int64_t n : k.extents) iterations *= static_cast<double>(n);
  for (std::size_t i = 0; i < k.nodes.size(); ++i) sum += time_of(k.nodes[i]) * (shares_angle(k, i) ? 0.2 : 1);
  return iterations * sum;
}

double flops_of(const Body& body, const Step& s) {
  const bool wide = !s.out.empty() && size_of(body.type(s.out[0]).dtype) > 4;
  return s.primitive && s.primitive->facts.batched_dot ? product_flops / (wide ? 2 : 1) : call_flops;
}

double time_to_move(const Body& body, const Step& s, Near* near) {
  double seconds = 0;
  auto add = [&](ValueId v) {
    const Storage& storage = body.storage_of(v);
    const bool known =
        near && (storage.kind == Storage::Kind::temporary || !near->seen.insert(body.values[v].storage).second);
    seconds +=
        static_cast<double>(std::min(body.type(v).bytes(), storage.bytes)) / (known ? cache_bytes : memory_bytes);
  };
  for (ValueId v : s.in) add(v);
  for (ValueId v : s.out) add(v);
  return seconds;
}

}  // namespace

double length_of(std::int64_t length) { return length < 0 ? unknown_length : static_cast<double>(length); }
double time_to_begin(const Near* near) { return near ? 0 : start; }

double time_of_kernel(const Body& body, const Step& s, Near* near) {
  return time_to_begin(near) + std::max(arithmetic(s.kernel()), time_to_move(body, s, near));
}
double time_of_call(const Body& body, const Step& s, Near* near) {
  return time_to_begin(near) + std::max(s.flops / flops_of(body, s), time_to_move(body, s, near));
}

double time_of(const Body& body, Near* near) {
  double sum = 0;
  for (const Step& s : body.steps)
    sum += std::visit([&](const auto& work) { return work.time(body, s, near); }, s.work);
  return sum;
}

double modelled_time(const Body& body, const Step& step) {
  return std::visit([&](const auto& work) { return work.time(body, step, nullptr); }, step.work);
}
double modelled_time(const Body& body) { return time_of(body); }
double modelled_time_to_write(std::size_t bytes) { return file_start + static_cast<double>(bytes) / written_bytes; }
double modelled_time_to_read(std::size_t bytes) { return file_start + static_cast<double>(bytes) / read_bytes; }

}  // namespace anew::passes
